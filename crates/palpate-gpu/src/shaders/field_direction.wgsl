// A field in a 3D texture that holds the direction too: outward, unit at the nodes, as the 2008 paper has it.

fn distance_inside(u: vec3<f32>) -> f32 {
    return textureSampleLevel(volume, filtering, (u + 0.5) * field.texel.xyz, 0.0).w;
}

// Direction, then distance.
fn sample_inside(u: vec3<f32>) -> vec4<f32> {
    return textureSampleLevel(volume, filtering, (u + 0.5) * field.texel.xyz, 0.0);
}
