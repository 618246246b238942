// A field as the engine stores it: a background node every eight voxels, bricks of 9³ nodes near the surface. Lengths in voxels,
// relative to the grid's first node. Interpolated here, not by the texture units: the numbers of the CPU, within rounding.

const SIDE: u32 = 9u;
const BRICK: f32 = 8.0;

// The eight nodes around a point, where it is between them, and how far apart they are.
struct Around {
    low: vec4<f32>,
    high: vec4<f32>,
    at: vec3<f32>,
    spacing: f32,
}

fn around(u: vec3<f32>) -> Around {
    let cell = min(vec3<u32>(u * (1.0 / BRICK)), field.cells.xyz - 1u);
    let local = u - vec3<f32>(cell) * BRICK;
    let entry = directory[(cell.z * field.cells.y + cell.y) * field.cells.x + cell.x];
    var out: Around;
    var first: u32;
    var y: u32;
    var z: u32;
    if entry >= 0 {
        let voxel = min(vec3<u32>(local), vec3<u32>(7u));
        first = u32(entry) + (voxel.z * SIDE + voxel.y) * SIDE + voxel.x;
        y = SIDE;
        z = SIDE * SIDE;
        out.at = local - vec3<f32>(voxel);
        out.spacing = 1.0;
    } else {
        let side = field.cells.xyz + 1u;
        first = (cell.z * side.y + cell.y) * side.x + cell.x;
        y = side.x;
        z = side.x * side.y;
        out.at = local * (1.0 / BRICK);
        out.spacing = BRICK;
    }
    out.low = vec4(values[first], values[first + 1u], values[first + y], values[first + y + 1u]);
    first += z;
    out.high = vec4(values[first], values[first + 1u], values[first + y], values[first + y + 1u]);
    return out;
}

fn distance_inside(u: vec3<f32>) -> f32 {
    let n = around(u);
    let z = n.low + n.at.z * (n.high - n.low);
    let x = z.xz + n.at.x * (z.yw - z.xz);
    return x.x + n.at.y * (x.y - x.x);
}

// Gradient, then distance.
fn sample_inside(u: vec3<f32>) -> vec4<f32> {
    let n = around(u);
    let step = n.high - n.low;
    let z = n.low + n.at.z * step;
    let across = z.yw - z.xz;
    let x = z.xz + n.at.x * across;
    let up = step.xz + n.at.x * (step.yw - step.xz);
    let gradient = vec3(across.x + n.at.y * (across.y - across.x), x.y - x.x, up.x + n.at.y * (up.y - up.x));
    return vec4(gradient / n.spacing, x.x + n.at.y * (x.y - x.x));
}
