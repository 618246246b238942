// Exclusive sums of marks, 1024 to a group, and of the groups' totals. What is found for mark i is ranks[i] + sums[i / 1024].
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> marks: array<u32>;
@group(0) @binding(2) var<storage, read_write> ranks: array<u32>;
@group(0) @binding(3) var<storage, read_write> sums: array<u32>;

var<workgroup> part: array<u32, 256>;

// The sum of all earlier threads' values; `part` ends with the total.
fn before(local: u32, value: u32) -> u32 {
    part[local] = value;
    workgroupBarrier();
    for (var step = 1u; step < 256u; step *= 2u) {
        var add = 0u;
        if (local >= step) {
            add = part[local - step];
        }
        workgroupBarrier();
        part[local] += add;
        workgroupBarrier();
    }
    return part[local] - value;
}

@compute @workgroup_size(256)
fn groups_of(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let g = linear(group, groups, 0u, 1u);
    let first = 1024u * g + 4u * local;
    var own = array<u32, 4>();
    var sum = 0u;
    for (var k = 0u; k < 4u; k++) {
        own[k] = sum;
        if (first + k < build.length) {
            sum += marks[first + k];
        }
    }
    let base = before(local, sum);
    for (var k = 0u; k < 4u; k++) {
        if (first + k < build.length) {
            ranks[first + k] = base + own[k];
        }
    }
    if (local == 255u && 1024u * g < build.length) {
        sums[g] = part[255];
    }
}

// One group: the totals, 256 at a time. The last entry is the sum of all.
@compute @workgroup_size(256)
fn totals(@builtin(local_invocation_index) local: u32) {
    let count = (build.length + 1023u) / 1024u;
    var carry = 0u;
    for (var first = 0u; first < count; first += 256u) {
        var value = 0u;
        if (first + local < count) {
            value = sums[first + local];
        }
        let sum = carry + before(local, value);
        if (first + local < count) {
            sums[first + local] = sum;
        }
        carry += part[255];
        workgroupBarrier();
    }
    if (local == 0u) {
        sums[count] = carry;
    }
}
