// The closest triangle of a point, exactly: down six levels of boxes, of 2, 16, 128, … 65536 triangles along the curve.
//
// Loops are nested and have no stack, so that the threads of a wave, whose points are neighbours, stay together: a box that none
// of them needs is passed by all, and what one reads is read by all at once.
@group(0) @binding(0) var<uniform> build: Build;
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

// Squared distance from `a` + `to` to the edge from `a` along `ab`, of which the inverse square is known.
fn edge(ab: vec3<f32>, to: vec3<f32>, inverse: f32) -> f32 {
    let q = to - ab * saturate(dot(ab, to) * inverse);
    return dot(q, q);
}

// Squared distance to triangle `t`. Which region a point is in is told by the normal, not by barycentric products, which cancel for
// slivers: a wrong region is then at most rounding off.
fn to_triangle(t: u32, p: vec3<f32>) -> f32 {
    let a = triangles[4u * t];
    let b = triangles[4u * t + 1u];
    let c = triangles[4u * t + 2u];
    let inverse = triangles[4u * t + 3u];
    let n = vec3<f32>(a.w, b.w, c.w);
    let pa = p - a.xyz;
    let pb = p - b.xyz;
    let pc = p - c.xyz;
    let ab = b.xyz - a.xyz;
    let bc = c.xyz - b.xyz;
    let ca = a.xyz - c.xyz;
    let inner = min(min(dot(n, cross(ab, pa)), dot(n, cross(bc, pb))), dot(n, cross(ca, pc)));
    let h = dot(pa, n);
    let outer = min(min(edge(ab, pa, inverse.x), edge(bc, pb, inverse.y)), edge(ca, pc, inverse.z));
    return select(outer, h * h, inner >= 0.0);
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

// The closest triangle, at most as far as `found`, which must be one. No box that may hold a nearer or equal one is passed by.
fn search(p: vec3<f32>, found: Nearest) -> Nearest {
    let none = vec3<f32>(0.0);
    var best = found;
    for (var f = 0u; f < build.counts_high.y; f++) {
        if (gap(build.starts_high.y + f, p, none) > best.squared) { continue; }
        let end_e = min(8u * f + 8u, build.counts_high.x);
        for (var e = 8u * f; e < end_e; e++) {
            if (gap(build.starts_high.x + e, p, none) > best.squared) { continue; }
            let end_d = min(8u * e + 8u, build.counts.w);
            for (var d = 8u * e; d < end_d; d++) {
                if (gap(build.starts.w + d, p, none) > best.squared) { continue; }
                let end_c = min(8u * d + 8u, build.counts.z);
                for (var c = 8u * d; c < end_c; c++) {
                    if (gap(build.starts.z + c, p, none) > best.squared) { continue; }
                    let end_b = min(8u * c + 8u, build.counts.y);
                    for (var b = 8u * c; b < end_b; b++) {
                        if (gap(build.starts.y + b, p, none) > best.squared) { continue; }
                        let end_a = min(8u * b + 8u, build.counts.x);
                        for (var a = 8u * b; a < end_a; a++) {
                            if (gap(a, p, none) > best.squared) { continue; }
                            best = offer_leaf(best, a, p);
                        }
                    }
                }
            }
        }
    }
    return best;
}

fn edge_normal(t: u32, e: u32) -> vec3<f32> {
    let at = 9u * t + 3u * e;
    return vec3<f32>(pseudonormals[at], pseudonormals[at + 1u], pseudonormals[at + 2u]);
}

fn vertex_normal(t: u32, c: u32) -> vec3<f32> {
    let at = 9u * build.triangles + 3u * (vertices[3u * t + c] & 0x7fffffffu);
    return vec3<f32>(pseudonormals[at], pseudonormals[at + 1u], pseudonormals[at + 2u]);
}

// The distance with its side, by the pseudonormal of the feature of triangle `t` that `p` is closest to.
fn signed(found: Nearest, p: vec3<f32>) -> f32 {
    let d = sqrt(found.squared);
    if (build.mode == 1u) {
        return d;
    }
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
    }
    return select(d, -d, dot(away, out) < 0.0);
}
