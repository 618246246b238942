// Many points in a field: distance, or gradient and distance [voxels].

@group(0) @binding(0) var<uniform> frame: vec4<u32>;
@group(0) @binding(1) var<storage, read> points: array<f32>;
@group(0) @binding(2) var<storage, read_write> answers: array<f32>;

fn place(i: u32) -> vec3<f32> {
    return vec3(points[3u * i], points[3u * i + 1u], points[3u * i + 2u]);
}

@compute @workgroup_size(64)
fn distances(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= frame.x {
        return;
    }
    answers[id.x] = distance_at(place(id.x));
}

@compute @workgroup_size(64)
fn samples(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= frame.x {
        return;
    }
    let s = sample_at(place(id.x));
    answers[4u * id.x] = s.x;
    answers[4u * id.x + 1u] = s.y;
    answers[4u * id.x + 2u] = s.z;
    answers[4u * id.x + 3u] = s.w;
}
