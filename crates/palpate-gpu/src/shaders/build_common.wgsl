// What every step of a build knows. Lengths are in voxels, relative to the grid's first node.
struct Build {
    cells: vec3<u32>,       // cells of 8³ voxels along each axis
    triangles: u32,
    offset: vec3<f32>,      // the middle of the mesh's box
    scale: f32,             // voxels of one unit of the source, and what that rounding left
    scale_rest: f32,
    half_width: f32,        // nodes this near are exact, and give their cells a brick
    slack: f32,             // what boxes are widened by, above all rounding
    spare: f32,
    counts: vec4<u32>,      // boxes of 2, 16, 128 and 1024 triangles
    counts_high: vec4<u32>, // boxes of 8192 and 65536
    starts: vec4<u32>,      // where each kind begins
    starts_high: vec4<u32>,
    vertices: u32,
    mode: u32,              // 1: no signs
    candidates: u32,        // cells whose nodes are measured
    first: u32,             // of this dispatch
    length: u32,            // of what is scanned
    windows: u32,           // parts of the background in which sides are checked
    length_at_once: u32,    // doubtful cells that one round decides at most
    spare_b: u32,
}

const NONE = 0xffffffffu;
// A node outside the grid, which no one asks for.
const ABSENT = 1e30;
// Nodes of a stored brick.
const NODES = 729u;

// One index for a dispatch of any size.
fn linear(group: vec3<u32>, groups: vec3<u32>, local: u32, size: u32) -> u32 {
    return ((group.z * groups.y + group.y) * groups.x + group.x) * size + local;
}

// Coordinates of index `i` in a box of so many, x fastest.
fn place(i: u32, dims: vec3<u32>) -> vec3<u32> {
    return vec3<u32>(i % dims.x, i / dims.x % dims.y, i / (dims.x * dims.y));
}

fn index(p: vec3<u32>, dims: vec3<u32>) -> u32 {
    return (p.z * dims.y + p.y) * dims.x + p.x;
}
