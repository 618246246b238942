// A texel for each node of the grid, from the sparse field.

@group(0) @binding(3) var texels: texture_storage_3d<FORMAT, write>;

// Outward and unit, by differences of neighbouring nodes; zero where there is none.
fn direction(u: vec3<f32>) -> vec3<f32> {
    let x = vec3(1.0, 0.0, 0.0);
    let high = box_high();
    let a = vec3(inside(u + x.xyy, high), inside(u + x.yxy, high), inside(u + x.yyx, high));
    let b = vec3(inside(u - x.xyy, high), inside(u - x.yxy, high), inside(u - x.yyx, high));
    let g = a - b;
    let length = length(g);
    return select(vec3(0.0), g / length, length > 0.0);
}

fn inside(u: vec3<f32>, high: vec3<f32>) -> f32 {
    return distance_inside(clamp(u, vec3(0.0), high));
}

@compute @workgroup_size(4, 4, 4)
fn fill(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id > field.cells.xyz * 8u) {
        return;
    }
    let u = vec3<f32>(id);
    let d = distance_inside(u);
    textureStore(texels, id, TEXEL);
}
