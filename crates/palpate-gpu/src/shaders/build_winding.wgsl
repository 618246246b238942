// The winding number around a point: solid angles of near triangles, dipoles of groups of 64 that are far.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> triangles: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> vertices: array<u32>;
// Middle and radius, then the sum of area vectors, in the units of the source.
@group(0) @binding(3) var<storage, read> dipoles: array<vec4<f32>>;

// Farther than so many radii a group is a dipole.
const FAR = 2.0;
const WHOLE = 12.566371;

// Positive from the back of triangle `t` (Van Oosterom and Strackee). 0 in its plane.
fn solid_angle(t: u32, p: vec3<f32>) -> f32 {
    let a = triangles[4u * t].xyz - p;
    let b = triangles[4u * t + 1u].xyz - p;
    let c = triangles[4u * t + 2u].xyz - p;
    let la = length(a);
    let lb = length(b);
    let lc = length(c);
    let numerator = dot(a, cross(b, c));
    let denominator = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
    if (abs(numerator) < 1e-30) {
        return 0.0;
    }
    return 2.0 * atan2(numerator, denominator);
}

// From `p` to the middle of a group.
fn away_from(g: u32, p: vec3<f32>) -> vec3<f32> {
    let middle = dipoles[2u * g].xyz;
    return middle * build.scale + (middle * build.scale_rest + build.offset) - p;
}

fn is_far(g: u32, away: vec3<f32>) -> bool {
    return length(away) > FAR * dipoles[2u * g].w * build.scale;
}

// The angle of a group that is far.
fn dipole_angle(g: u32, away: vec3<f32>) -> f32 {
    let d = length(away);
    // A group of sheets alone has no area and no radius.
    let area = dipoles[2u * g + 1u].xyz * build.scale * build.scale;
    return dot(area, away / d) / (d * d);
}

fn groups() -> u32 {
    return (build.triangles + 63u) / 64u;
}
