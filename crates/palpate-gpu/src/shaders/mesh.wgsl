// Triangles of a mesh, in parts that are sampled: clusters of 64 that lie near each other.

const CLUSTER: u32 = 64u;

struct Frame {
    // The field's frame [voxels] from the mesh's [m].
    x: vec4<f32>,
    y: vec4<f32>,
    z: vec4<f32>,
    // Velocity of the mesh's frame at the middle of the field's box [voxels/s]; damper [s].
    linear: vec4<f32>,
    // Rotation vector [1/s]; friction coefficient.
    angular: vec4<f32>,
    // Spring; speed up to which friction grows [voxels/s]; longest edge of a part [voxels]; margin [voxels].
    law: vec4<f32>,
    // Rounding of coordinates and values [voxels]; unused.
    slack: vec4<f32>,
    // Clusters; numbers from one vertex to the next; where the first is; what is asked for.
    counts: vec4<u32>,
}

const MOVING: u32 = 1u;
const VELOCITIES: u32 = 2u;
const OWN_NORMAL: u32 = 4u;

// Most divisions of a part along an edge.
const MOST: u32 = 64u;

// Corners, then the number of the triangle.
@group(0) @binding(0) var<storage, read> items: array<vec4<u32>>;
// Which part of its triangle: divisions along an edge in the upper half, number in the lower.
@group(0) @binding(1) var<storage, read> parts: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<f32>;

fn vertex(i: u32) -> vec3<f32> {
    let at = i * frame.counts.y + frame.counts.z;
    return vec3(vertices[at], vertices[at + 1u], vertices[at + 2u]);
}

fn placed(p: vec3<f32>) -> vec3<f32> {
    return turned(p) + vec3(frame.x.w, frame.y.w, frame.z.w);
}

fn turned(v: vec3<f32>) -> vec3<f32> {
    return vec3(dot(frame.x.xyz, v), dot(frame.y.xyz, v), dot(frame.z.xyz, v));
}

// Row and place in it of part `j` of a triangle that is divided evenly; its three corners and its middle in those numbers, along the
// first edge and then along the opposite one.
struct Row {
    row: u32,
    place: u32,
    down: bool,
}

fn row_of(j: u32) -> Row {
    // Between whole roots by far more than roots are rounded by.
    let row = u32(sqrt(f32(j) + 0.5));
    let k = j - row * row;
    return Row(row, k / 2u, (k & 1u) == 1u);
}

// The middle of part `j` of `n` divisions: shares of the second and the third corner.
fn middle(j: u32, n: u32) -> vec2<f32> {
    let r = row_of(j);
    let level = f32(r.row) + select(2.0, 1.0, r.down) / 3.0;
    let along = f32(r.place) + select(1.0, 2.0, r.down) / 3.0;
    return vec2(level - along, along) / f32(n);
}

// The corners of part `j` of `n` divisions, the same way round.
struct Corners {
    a: vec2<f32>,
    b: vec2<f32>,
    c: vec2<f32>,
}

fn corners_of(j: u32, n: u32) -> Corners {
    let r = row_of(j);
    let level = f32(r.row);
    let along = f32(r.place);
    // Level, and how far along it.
    let a = vec2(level, along);
    let b = select(vec2(level + 1.0, along), vec2(level + 1.0, along + 1.0), r.down);
    let c = select(vec2(level + 1.0, along + 1.0), vec2(level, along + 1.0), r.down);
    let scale = 1.0 / f32(n);
    return Corners(vec2(a.x - a.y, a.y) * scale, vec2(b.x - b.y, b.y) * scale, vec2(c.x - c.y, c.y) * scale);
}
