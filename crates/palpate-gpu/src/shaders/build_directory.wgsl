// Where each refined cell's brick is among the values, and which cell each brick belongs to.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> ranks: array<u32>;
@group(0) @binding(2) var<storage, read> sums: array<u32>;
@group(0) @binding(3) var<storage, read> marks: array<u32>;
@group(0) @binding(4) var<storage, read_write> list: array<u32>;
@group(0) @binding(5) var<storage, read_write> directory: array<i32>;
@group(0) @binding(6) var<storage, read_write> status: array<u32>;

@compute @workgroup_size(256)
fn write(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = linear(group, groups, local, 256u);
    if (i == 0u) {
        status[1] = sums[(build.length + 1023u) / 1024u];
    }
    if (i >= build.length) {
        return;
    }
    directory[i] = -1;
    if (marks[i] != 0u) {
        let brick = ranks[i] + sums[i / 1024u];
        let corners = build.cells + 1u;
        directory[i] = i32(corners.x * corners.y * corners.z + NODES * brick);
        list[brick] = i;
    }
}
