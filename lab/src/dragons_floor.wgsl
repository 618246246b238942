// The floor of the scene `dragons` at a time: a thread for each vertex. The same formula as `Wave::height`.

struct Wave {
    // Time [s], length of the side [m], height of the waves [m], height of the rim [m].
    a: vec4<f32>,
    // What positions are relative to [m]; one over the wavelength, as an angle [1/m].
    b: vec4<f32>,
    // Squares along a side.
    n: vec4<u32>,
}

@group(0) @binding(0) var<uniform> wave: Wave;
@group(0) @binding(1) var<storage, read_write> vertices: array<f32>;

@compute @workgroup_size(64)
fn floor_at(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = wave.n.x + 1u;
    if id.x >= row * row {
        return;
    }
    let share = vec2(f32(id.x % row), f32(id.x / row)) / f32(wave.n.x) - 0.5;
    let p = share * wave.a.y;
    let out = 2.0 * max(abs(share.x), abs(share.y));
    let rim = out * out * out;
    let z = wave.a.z * sin(wave.b.w * p.x + 3.1 * wave.a.x) * cos(wave.b.w * p.y + 2.3 * wave.a.x) + wave.a.w * rim * rim;
    let place = vec3(p, z) - wave.b.xyz;
    vertices[3u * id.x] = place.x;
    vertices[3u * id.x + 1u] = place.y;
    vertices[3u * id.x + 2u] = place.z;
}
