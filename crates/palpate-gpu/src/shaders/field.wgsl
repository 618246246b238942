// What every field has: where it is, how steep, how far off; and its value outside its box.

struct Field {
    // Cells of 8³ voxels along each axis.
    cells: vec4<u32>,
    // One over the number of nodes along each axis.
    texel: vec4<f32>,
    // How much a value can be above that of a point some way from it: slope, twice the error anywhere, twice that near the
    // surface, how near that is.
    reach: vec4<f32>,
}

fn box_high() -> vec3<f32> {
    return vec3<f32>(field.cells.xyz * 8u);
}

// Signed distance at a point [voxels]; outside the box the least it can be.
fn distance_at(u: vec3<f32>) -> f32 {
    let q = clamp(u, vec3(0.0), box_high());
    let d = distance_inside(q);
    let away = u - q;
    let squared = dot(away, away);
    if squared == 0.0 {
        return d;
    }
    return sqrt(squared + d * d);
}

// Gradient, not always unit, and signed distance at a point [voxels].
fn sample_at(u: vec3<f32>) -> vec4<f32> {
    let q = clamp(u, vec3(0.0), box_high());
    let s = sample_inside(q);
    let away = u - q;
    let squared = dot(away, away);
    if squared == 0.0 {
        return s;
    }
    let distance = sqrt(squared + s.w * s.w);
    let free = select(away, s.xyz * s.w, away == vec3(0.0));
    return vec4(free / distance, distance);
}

// The largest distance at the centre of a ball in which some point may be at most `cut` away.
fn limit(cut: f32, radius: f32, slack: f32) -> f32 {
    let anywhere = min(field.reach.x * radius, radius * 1.00001 + field.reach.y);
    let near = min(1.7321 * radius, radius * 1.00001 + field.reach.z);
    let banded = cut >= 0.0 && cut + radius < field.reach.w;
    return cut + slack + select(anywhere, min(near, anywhere), banded);
}

// Whether numbers are finite and small enough for their squares to be.
fn is_place(p: vec3<f32>) -> bool {
    let bits = bitcast<vec3<u32>>(p) & vec3(0x7fffffffu);
    return all(bits <= vec3(0x5d5e0b6bu));
}
