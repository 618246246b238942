// Sides that contradict each other: neighbours of opposite sign with free space between them. State of a background node, then of
// the cells looked at: 0 nothing found, 1 doubtful. Each is listed once, when it is first found.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read> list: array<u32>;
@group(0) @binding(3) var<storage, read> background: array<f32>;
@group(0) @binding(4) var<storage, read> own: array<f32>;
@group(0) @binding(5) var<storage, read_write> states: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> status: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> doubts: array<u32>;

const APART = 1.001;

fn opposed(a: f32, b: f32, spacing: f32) -> bool {
    let known = abs(a) < ABSENT && abs(b) < ABSENT;
    return known && (a < 0.0) != (b < 0.0) && abs(a) + abs(b) > spacing * APART;
}

fn doubt(i: u32) {
    if (atomicMax(&states[i], 1u) == 0u) {
        doubts[atomicAdd(&status[3], 1u)] = i;
        if (i >= build.length) {
            atomicAdd(&status[8], 1u);
        }
    }
}

@compute @workgroup_size(256)
fn background_faults(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = linear(group, groups, local, 256u);
    // Nothing was decided since sides were last compared.
    if (i >= build.length || atomicLoad(&status[10]) != 0u) {
        return;
    }
    let dims = build.cells + 1u;
    let at = place(i, dims);
    for (var axis = 0u; axis < 3u; axis++) {
        if (at[axis] + 1u < dims[axis]) {
            var up = at;
            up[axis] += 1u;
            let j = index(up, dims);
            if (opposed(background[i], background[j], 8.0)) {
                doubt(i);
                doubt(j);
            }
        }
    }
}

@compute @workgroup_size(256)
fn brick_faults(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if (atomicLoad(&status[10]) != 0u) {
        return;
    }
    let candidate = build.first + group.x;
    let dims = build.cells + 1u;
    let cell = place(list[candidate], dims);
    let mine = 512u * candidate;
    var faults = 0u;
    for (var n = local; n < 512u; n += 256u) {
        let d = own[mine + n];
        for (var axis = 0u; axis < 3u; axis++) {
            let shift = 3u * axis;
            if (((n >> shift) & 7u) < 7u) {
                faults |= u32(opposed(d, own[mine + n + (1u << shift)], 1.0));
                continue;
            }
            var up = cell;
            up[axis] += 1u;
            if (any(up >= dims)) {
                continue;
            }
            let slot = slots[index(up, dims)];
            if (slot != NONE && opposed(d, own[512u * slot + n - (7u << shift)], 1.0)) {
                faults = 1u;
                doubt(build.length + slot);
            }
        }
    }
    if (local == 0u) {
        // Both hold the same distance; they must be on the same side too.
        let i = list[candidate];
        if (own[mine] * background[i] < 0.0) {
            faults = 1u;
            doubt(i);
        }
    }
    if (faults != 0u) {
        doubt(build.length + candidate);
    }
}
