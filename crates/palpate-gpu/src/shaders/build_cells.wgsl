// Lists of cells: those to look at, those with a node of the band in their closed cube, and the directory of bricks.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> ranks: array<u32>;
@group(0) @binding(2) var<storage, read> sums: array<u32>;
@group(0) @binding(3) var<storage, read_write> marks: array<u32>;
@group(0) @binding(4) var<storage, read_write> list: array<u32>;
@group(0) @binding(5) var<storage, read_write> slots: array<u32>;
@group(0) @binding(6) var<storage, read_write> status: array<u32>;
@group(0) @binding(7) var<storage, read> flags: array<u32>;

fn rank(i: u32) -> u32 {
    return ranks[i] + sums[i / 1024u];
}

// The place of each marked cell in the list, and how many there are.
@compute @workgroup_size(256)
fn gather(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = linear(group, groups, local, 256u);
    if (i == 0u) {
        status[0] = sums[(build.length + 1023u) / 1024u];
    }
    if (i >= build.length) {
        return;
    }
    slots[i] = NONE;
    if (marks[i] != 0u) {
        slots[i] = rank(i);
        list[rank(i)] = i;
    }
}

// A cell is refined if it, or a cell above it, has a node of the band that is in its closed cube.
@compute @workgroup_size(256)
fn refine(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = linear(group, groups, local, 256u);
    if (i >= build.length) {
        return;
    }
    let cell = place(i, build.cells);
    var mark = 0u;
    for (var o = 0u; o < 8u; o++) {
        let owner = cell + vec3<u32>(o & 1u, (o >> 1u) & 1u, o >> 2u);
        let slot = slots[index(owner, build.cells + 1u)];
        if (slot != NONE) {
            mark |= (flags[slot] >> o) & 1u;
        }
    }
    // Where the cell itself was not looked at, a node of the band is in its cube by rounding only.
    if (slots[index(cell, build.cells + 1u)] == NONE) {
        mark = 0u;
    }
    marks[i] = mark;
}
