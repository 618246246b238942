// Distances to boxes and triangles. Six levels of boxes, of 2, 16, 128, … 65536 triangles along the curve.
@group(0) @binding(0) var<uniform> build: Build;
// Four for each triangle, then four for each in its frame.
@group(0) @binding(1) var<storage, read> triangles: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> boxes: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> vertices: array<u32>;
// Three for each triangle, of its edges, then one for each vertex.
@group(0) @binding(4) var<storage, read> pseudonormals: array<f32>;

struct Nearest {
    squared: f32,
    triangle: u32,
}

// Squared distance to a box of half size `more` larger.
fn gap(at: u32, p: vec3<f32>, more: vec3<f32>) -> f32 {
    let g = max(abs(p - boxes[2u * at].xyz) - boxes[2u * at + 1u].xyz - more, vec3<f32>(0.0));
    return dot(g, g);
}

// Squared distance to triangle `t`, in its frame: the first corner in the middle, the second at (b, 0), the third at c. About half the
// work of doing it in space. A point is inside the triangle if it is left of all edges; if rounding says otherwise near an edge, or
// for slivers, it is at most that much off.
fn to_triangle(t: u32, p: vec3<f32>) -> f32 {
    let at = 4u * (build.triangles + t);
    let first = triangles[at];
    let second = triangles[at + 1u];
    let third = triangles[at + 2u];
    let inverse = triangles[at + 3u].xy;
    let away = p - first.xyz;
    let q = vec2<f32>(dot(second.xyz, away), dot(cross(third.xyz, second.xyz), away));
    let h = dot(third.xyz, away);
    let b = first.w;
    let c = vec2<f32>(second.w, third.w);
    let r = vec2<f32>(q.x - b, q.y);
    let bc = vec2<f32>(c.x - b, c.y);
    let low = vec2<f32>(q.x - clamp(q.x, 0.0, b), q.y);
    let right = r - bc * saturate(dot(bc, r) * inverse.x);
    let left = q - c * saturate(dot(c, q) * inverse.y);
    let outer = min(min(dot(low, low), dot(right, right)), dot(left, left));
    let inner = min(min(q.y, bc.x * r.y - bc.y * r.x), c.y * q.x - c.x * q.y);
    return h * h + select(outer, 0.0, inner > 0.0);
}

// The better of two: the nearer, and of equals the first.
fn offer(found: Nearest, t: u32, p: vec3<f32>) -> Nearest {
    let squared = to_triangle(t, p);
    if (squared < found.squared || (squared == found.squared && t < found.triangle)) {
        return Nearest(squared, t);
    }
    return found;
}

fn offer_leaf(found: Nearest, leaf: u32, p: vec3<f32>) -> Nearest {
    var out = found;
    let end = min(2u * leaf + 2u, build.triangles);
    for (var t = 2u * leaf; t < end; t++) {
        out = offer(out, t, p);
    }
    return out;
}

fn edge_normal(t: u32, e: u32) -> vec3<f32> {
    let at = 9u * t + 3u * e;
    return vec3<f32>(pseudonormals[at], pseudonormals[at + 1u], pseudonormals[at + 2u]);
}

fn vertex_normal(t: u32, c: u32) -> vec3<f32> {
    let at = 9u * build.triangles + 3u * (vertices[3u * t + c] & 0x7fffffffu);
    return vec3<f32>(pseudonormals[at], pseudonormals[at + 1u], pseudonormals[at + 2u]);
}

// The distance with its side, by the pseudonormal of the feature of the triangle that `p` is closest to. Measured anew, in space. Which
// region a point is in is told by the normal, not by barycentric products, which cancel for slivers.
fn signed(found: Nearest, p: vec3<f32>) -> f32 {
    let t = found.triangle;
    var corners = array<vec4<f32>, 3>(triangles[4u * t], triangles[4u * t + 1u], triangles[4u * t + 2u]);
    let n = vec3<f32>(corners[0].w, corners[1].w, corners[2].w);
    let inverse = triangles[4u * t + 3u].xyz;
    var inner = 3e38;
    var least = 3e38;
    var away = p - corners[0].xyz;
    var out = n;
    for (var e = 0u; e < 3u; e++) {
        let next = (e + 1u) % 3u;
        let to = p - corners[e].xyz;
        let along = corners[next].xyz - corners[e].xyz;
        inner = min(inner, dot(n, cross(along, to)));
        let s = saturate(dot(along, to) * inverse[e]);
        let rest = to - along * s;
        let squared = dot(rest, rest);
        if (squared < least) {
            least = squared;
            away = rest;
            if (s <= 0.0) {
                out = vertex_normal(t, e);
            } else if (s >= 1.0) {
                out = vertex_normal(t, next);
            } else {
                out = edge_normal(t, e);
            }
        }
    }
    if (inner >= 0.0) {
        away = p - corners[0].xyz;
        out = n;
        let h = dot(away, n);
        least = h * h;
    }
    let d = sqrt(least);
    if (build.mode == 1u) {
        return d;
    }
    return select(d, -d, dot(away, out) < 0.0);
}
