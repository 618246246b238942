// Every node of the grid in a volume: from its brick, or between background nodes.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> directory: array<i32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var volume: texture_storage_3d<r32float, write>;

@compute @workgroup_size(8, 8, 4)
fn dense(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = id + vec3<u32>(0u, 0u, build.first);
    if (any(at > 8u * build.cells)) {
        return;
    }
    let cell = min(at / 8u, build.cells - 1u);
    let local = at - 8u * cell;
    let first = directory[index(cell, build.cells)];
    var v = 0.0;
    if (first >= 0) {
        v = values[u32(first) + (local.z * 9u + local.y) * 9u + local.x];
    } else {
        let k = vec3<f32>(local) / 8.0;
        let row = build.cells.x + 1u;
        let layer = row * (build.cells.y + 1u);
        let c = index(cell, build.cells + 1u);
        let y0 = mix(vec2<f32>(values[c], values[c + 1u]), vec2<f32>(values[c + row], values[c + row + 1u]), k.y);
        let d = c + layer;
        let y1 = mix(vec2<f32>(values[d], values[d + 1u]), vec2<f32>(values[d + row], values[d + row + 1u]), k.y);
        let z = mix(y0, y1, k.z);
        v = mix(z.x, z.y, k.x);
    }
    textureStore(volume, at, vec4<f32>(v, 0.0, 0.0, 0.0));
}
