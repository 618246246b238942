// A field in a 3D texture, a texel for each node. Lengths in voxels, relative to the grid's first node. Filtered by the texture units: their
// weights have eight bits, so a value is off by at most 1/256 of what neighbours differ by along each axis.

fn distance_inside(u: vec3<f32>) -> f32 {
    return textureSampleLevel(volume, filtering, (u + 0.5) * field.texel.xyz, 0.0).DISTANCE;
}

// Gradient, then distance.
fn sample_inside(u: vec3<f32>) -> vec4<f32> {
    let size = vec3<f32>(field.cells.xyz * 8u);
    let voxel = min(vec3<i32>(u), vec3<i32>(size) - 1);
    let at = u - vec3<f32>(voxel);
    let a = vec4(node(voxel), node(voxel + vec3(1, 0, 0)), node(voxel + vec3(0, 1, 0)), node(voxel + vec3(1, 1, 0)));
    let up = voxel + vec3(0, 0, 1);
    let b = vec4(node(up), node(up + vec3(1, 0, 0)), node(up + vec3(0, 1, 0)), node(up + vec3(1, 1, 0)));
    let step = b - a;
    let z = a + at.z * step;
    let across = z.yw - z.xz;
    let x = z.xz + at.x * across;
    let rise = step.xz + at.x * (step.yw - step.xz);
    let gradient = vec3(across.x + at.y * (across.y - across.x), x.y - x.x, rise.x + at.y * (rise.y - rise.x));
    return vec4(gradient, distance_inside(u));
}

fn node(n: vec3<i32>) -> f32 {
    return textureLoad(volume, n, 0).DISTANCE;
}
