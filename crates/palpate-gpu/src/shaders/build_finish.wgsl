// The background among the values, and how steep cells without a brick are.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> directory: array<i32>;
@group(0) @binding(2) var<storage, read> background: array<f32>;
@group(0) @binding(3) var<storage, read_write> values: array<f32>;
@group(0) @binding(4) var<storage, read_write> status: array<atomic<u32>>;

var<workgroup> steepest: atomic<u32>;

@compute @workgroup_size(256)
fn finish(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if (local == 0u) {
        atomicStore(&steepest, 0u);
    }
    workgroupBarrier();
    let i = linear(group, groups, local, 256u);
    let dims = build.cells + 1u;
    if (i < build.length) {
        values[i] = background[i];
        let cell = place(i, dims);
        var counts = all(cell < build.cells);
        if (counts) {
            counts = directory[index(cell, build.cells)] < 0;
        }
        if (counts) {
            var v = array<f32, 8>();
            for (var k = 0u; k < 8u; k++) {
                v[k] = background[index(cell + vec3<u32>(k & 1u, (k >> 1u) & 1u, k >> 2u), dims)];
            }
            var most = 0.0;
            for (var k = 0u; k < 8u; k++) {
                let d = vec3<f32>(v[k] - v[k ^ 1u], v[k] - v[k ^ 2u], v[k] - v[k ^ 4u]) / 8.0;
                most = max(most, dot(d, d));
            }
            atomicMax(&steepest, bitcast<u32>(most));
        }
    }
    workgroupBarrier();
    if (local == 0u) {
        atomicMax(&status[2], atomicLoad(&steepest));
    }
}
