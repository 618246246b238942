// Whether each set of nodes is inside: the winding number at its farthest node.
@group(0) @binding(4) var<storage, read> list: array<u32>;
@group(0) @binding(5) var<storage, read> parents: array<u32>;
@group(0) @binding(6) var<storage, read_write> sets: array<u32>;
@group(0) @binding(7) var<storage, read_write> heads: array<u32>;
@group(0) @binding(8) var<storage, read_write> status: array<atomic<u32>>;

// The sets, in any order.
@compute @workgroup_size(256)
fn collect(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) gs: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    let i = linear(g, gs, l, 256u);
    if (i < build.length + 512u * build.candidates && parents[i] == i) {
        sets[atomicAdd(&status[7], 1u)] = i;
    }
}

// A workgroup for each set.
@compute @workgroup_size(64)
fn decide(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    let i = g.x + build.first;
    if (i >= atomicLoad(&status[7])) {
        return;
    }
    let one = sets[i];
    let head = heads[one];
    let dims = build.cells + 1u;
    var p = 8.0 * vec3<f32>(place(head, dims));
    if (head >= build.length) {
        let n = head - build.length;
        p = vec3<f32>(8u * place(list[n / 512u], dims) + place(n % 512u, vec3<u32>(8u)));
    }
    let w = around(p, l);
    if (l == 0u) {
        heads[one] = u32(w > 0.5);
    }
}
