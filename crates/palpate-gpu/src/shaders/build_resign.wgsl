// Decides doubtful nodes by the winding number of each.
@group(0) @binding(4) var<storage, read> list: array<u32>;
@group(0) @binding(5) var<storage, read_write> background: array<f32>;
@group(0) @binding(6) var<storage, read_write> own: array<f32>;
@group(0) @binding(7) var<storage, read_write> states: array<u32>;

fn decided(d: f32, p: vec3<f32>) -> f32 {
    return select(abs(d), -abs(d), winding(p) > 0.5);
}

@compute @workgroup_size(256)
fn resign_background(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = linear(group, groups, local, 256u);
    if (i < build.length && states[i] == 1u) {
        background[i] = decided(background[i], 8.0 * vec3<f32>(place(i, build.cells + 1u)));
    }
}

@compute @workgroup_size(256)
fn resign_bricks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let candidate = build.first + group.x;
    if (states[build.length + candidate] != 1u) {
        return;
    }
    let first = 8u * place(list[candidate], build.cells + 1u);
    for (var n = local; n < 512u; n += 256u) {
        let at = 512u * candidate + n;
        if (own[at] < ABSENT) {
            own[at] = decided(own[at], vec3<f32>(first + place(n, vec3<u32>(8u))));
        }
    }
}

@compute @workgroup_size(256)
fn settle(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = linear(group, groups, local, 256u);
    if (i < build.length + build.candidates && states[i] == 1u) {
        states[i] = 2u;
    }
}
