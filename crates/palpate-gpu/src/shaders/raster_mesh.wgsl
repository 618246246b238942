// Triangles seen along the axes of a field's box: each along the axis its normal is closest to. Lengths in voxels of the field, relative
// to its first node.

struct Frame {
    // The field's frame [voxels] from the mesh's [m].
    x: vec4<f32>,
    y: vec4<f32>,
    z: vec4<f32>,
    // Velocity of the mesh's frame at the middle of the field's box [voxels/s]; damper [s].
    linear: vec4<f32>,
    // Rotation vector [1/s]; friction coefficient.
    angular: vec4<f32>,
    // Spring; speed up to which friction grows [voxels/s]; edge of a pixel [voxels]; how much is drawn around the field's box [voxels].
    law: vec4<f32>,
    // Depth of a distance: least distance, one over the range of distances; from voxels to the picture's coordinates along x and y.
    scale: vec4<f32>,
    // Rows from one view to the next, 0 where they are on top of each other; numbers from one vertex to the next; where the first
    // is; flags: what is asked for, the axes from the longest to the shortest (from bit 8), which views are seen from behind (from bit 16).
    counts: vec4<u32>,
}

const MOVING: u32 = 1u;
const VELOCITIES: u32 = 2u;
const OWN_NORMAL: u32 = 4u;
const NOTHING: u32 = 0xffffffffu;
// A view that takes every triangle.
const ALL: u32 = 3u;

// Corners, then the number of the triangle.
@group(0) @binding(0) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> vertices: array<f32>;
@group(0) @binding(2) var<storage, read> speeds: array<f32>;

fn vertex(i: u32) -> vec3<f32> {
    let at = i * frame.counts.y + frame.counts.z;
    return vec3(vertices[at], vertices[at + 1u], vertices[at + 2u]);
}

fn turned(v: vec3<f32>) -> vec3<f32> {
    return vec3(dot(frame.x.xyz, v), dot(frame.y.xyz, v), dot(frame.z.xyz, v));
}

fn placed(p: vec3<f32>) -> vec3<f32> {
    return turned(p) + vec3(frame.x.w, frame.y.w, frame.z.w);
}

// A coordinate by its axis, and a point from its coordinates along two axes and a third. By choice: indices would go through memory.
fn pick(v: vec3<f32>, axis: u32) -> f32 {
    return select(select(v.z, v.y, axis == 1u), v.x, axis == 0u);
}

fn put(across: vec2<f32>, along: f32, axis: vec2<u32>) -> vec3<f32> {
    let own = vec3(0u, 1u, 2u);
    let rest = select(vec3(along), vec3(across.y), own == vec3(axis.y));
    return select(rest, vec3(across.x), own == vec3(axis.x));
}

// The picture's axes of the view along axis `k`: the longer one across, the shorter one down.
fn axes(k: u32) -> vec2<u32> {
    let order = frame.counts.w >> 8u;
    let first = order & 3u;
    let second = (order >> 2u) & 3u;
    let third = (order >> 4u) & 3u;
    return vec2(select(first, second, k == first), select(third, second, k == third));
}

fn from_behind(k: u32) -> bool {
    return ((frame.counts.w >> (16u + k)) & 1u) == 1u;
}

// Where a point is in the picture of view `k`.
fn projected(u: vec3<f32>, k: u32) -> vec4<f32> {
    let axis = axes(k);
    let pad = frame.law.w;
    let down = f32(frame.counts.x * k) * frame.law.z;
    let x = (pick(u, axis.x) + pad) * frame.scale.z - 1.0;
    let y = 1.0 - (pick(u, axis.y) + pad + down) * frame.scale.w;
    let z = (pick(u, k) + pad) / (pick(box_high(), k) + 2.0 * pad);
    return vec4(x, y, select(z, 1.0 - z, from_behind(k)), 1.0);
}

// The middle of a pixel of view `k`, along the picture's axes.
fn across(pixel: vec2<f32>, k: u32) -> vec2<f32> {
    return (pixel - vec2(0.0, f32(frame.counts.x * k))) * frame.law.z - frame.law.w;
}

// A triangle as a view sees it: depth = base + slope · place across. The same in every pixel: no corner is interpolated.
struct Plane {
    slope: vec2<f32>,
    base: f32,
    // The axis it is seen along, whether its normal goes against that; ALL: it is not drawn.
    axis: u32,
    against: bool,
}

// The axis is that of the largest coordinate of the normal, the first of several: slopes are at most 1, and no triangle is on edge.
fn plane(a: vec3<f32>, normal: vec3<f32>) -> Plane {
    let n = abs(normal);
    return plane_along(a, normal, select(select(2u, 1u, n.y >= n.z), 0u, n.x >= n.y && n.x >= n.z));
}

// The same along an axis that was chosen before: of two equal coordinates another shader may take the other.
fn plane_along(a: vec3<f32>, normal: vec3<f32>, k: u32) -> Plane {
    var out: Plane;
    let steepest = pick(normal, k);
    if steepest == 0.0 {
        out.axis = ALL;
        return out;
    }
    let axis = axes(k);
    let slope = -vec2(pick(normal, axis.x), pick(normal, axis.y)) / steepest;
    out.slope = slope;
    out.base = pick(a, k) - dot(slope, vec2(pick(a, axis.x), pick(a, axis.y)));
    out.axis = k;
    out.against = steepest < 0.0;
    return out;
}

fn on_plane(slope: vec2<f32>, base: f32, k: u32, place: vec2<f32>) -> vec3<f32> {
    return put(place, base + dot(slope, place), axes(k));
}

// Shares of a triangle's corners at a point of its plane, seen along axis `k`; none is negative.
fn shares(item: vec4<u32>, u: vec3<f32>, k: u32) -> vec3<f32> {
    let axis = axes(k);
    let corner = vertex(item.x);
    let a = placed(corner);
    let ab = turned(vertex(item.y) - corner);
    let ac = turned(vertex(item.z) - corner);
    let b = vec2(pick(ab, axis.x), pick(ab, axis.y));
    let c = vec2(pick(ac, axis.x), pick(ac, axis.y));
    let p = vec2(pick(u - a, axis.x), pick(u - a, axis.y));
    let twice = b.x * c.y - b.y * c.x;
    let second = clamp((p.x * c.y - p.y * c.x) / twice, 0.0, 1.0);
    let third = clamp((b.x * p.y - b.y * p.x) / twice, 0.0, 1.0);
    let more = max(second + third, 1.0);
    return vec3(max(1.0 - second - third, 0.0), second / more, third / more);
}
