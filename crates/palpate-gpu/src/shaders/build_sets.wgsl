// Sets of nodes that free space connects, and of each set the node farthest from the surface, where the winding number is clearest.
//
// Nodes are numbered: the background, then 512 for each cell looked at. A set is called by its least number. Sets are joined by
// minima alone, so that the outcome does not depend on the order of threads.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read> list: array<u32>;
@group(0) @binding(3) var<storage, read_write> background: array<f32>;
@group(0) @binding(4) var<storage, read_write> own: array<f32>;
@group(0) @binding(5) var<storage, read_write> parents: array<atomic<u32>>;
// The farthest distance of each set, as bits; later the list of sets.
@group(0) @binding(6) var<storage, read_write> work: array<atomic<u32>>;
// The farthest node of each set; later whether the set is inside.
@group(0) @binding(7) var<storage, read_write> heads: array<atomic<u32>>;

// Two nodes one spacing apart are connected when their balls of free space overlap by more than rounding.
const CONNECTED = 1.0001;

fn total() -> u32 {
    return build.length + 512u * build.candidates;
}

fn value(i: u32) -> f32 {
    if (i < build.length) {
        return background[i];
    }
    return own[i - build.length];
}

fn join(a: u32, b: u32) {
    var x = a;
    var y = b;
    loop {
        if (x == y) {
            return;
        }
        let high = max(x, y);
        let low = min(x, y);
        let old = atomicMin(&parents[high], low);
        if (old == high) {
            return;
        }
        x = old;
        y = low;
    }
}

// Whether nodes of these distances from the surface, one spacing apart, are connected.
fn linked(a: f32, b: f32, spacing: f32) -> bool {
    return a < ABSENT && b < ABSENT && a + b > spacing * CONNECTED;
}

fn connect(i: u32, j: u32, spacing: f32) {
    if (linked(abs(value(i)), abs(value(j)), spacing)) {
        join(i, j);
    }
}

fn thread(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
    return linear(group, groups, local, 256u);
}

// Background nodes: each a set of its own.
@compute @workgroup_size(256)
fn begin(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) gs: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    let i = thread(g, gs, l);
    if (i < build.length) {
        atomicStore(&parents[i], i);
        atomicStore(&work[i], 0u);
        atomicStore(&heads[i], NONE);
    }
}

var<workgroup> roots: array<atomic<u32>, 512>;
var<workgroup> away: array<f32, 512>;

fn join_near(a: u32, b: u32) {
    var x = a;
    var y = b;
    loop {
        if (x == y) {
            return;
        }
        let high = max(x, y);
        let low = min(x, y);
        let old = atomicMin(&roots[high], low);
        if (old == high) {
            return;
        }
        x = old;
        y = low;
    }
}

// The nodes of a cell: most connections are within cells, and are made where they cost little. A group of threads for each cell.
@compute @workgroup_size(256)
fn begin_cells(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) gs: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    let cell = linear(g, gs, 0u, 1u);
    if (cell >= build.candidates) {
        return;
    }
    for (var n = l; n < 512u; n += 256u) {
        atomicStore(&roots[n], n);
        away[n] = abs(own[512u * cell + n]);
    }
    workgroupBarrier();
    for (var n = l; n < 512u; n += 256u) {
        for (var shift = 0u; shift < 9u; shift += 3u) {
            if (((n >> shift) & 7u) < 7u) {
                let other = n + (1u << shift);
                if (linked(away[n], away[other], 1.0)) {
                    join_near(n, other);
                }
            }
        }
    }
    workgroupBarrier();
    for (var n = l; n < 512u; n += 256u) {
        var at = n;
        loop {
            let next = atomicLoad(&roots[at]);
            if (next == at) {
                break;
            }
            at = next;
        }
        let i = build.length + 512u * cell + n;
        atomicStore(&parents[i], build.length + 512u * cell + at);
        atomicStore(&work[i], 0u);
        atomicStore(&heads[i], NONE);
    }
}

// Connections that leave cells.
@compute @workgroup_size(256)
fn join_all(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) gs: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    let i = thread(g, gs, l);
    if (i >= total()) {
        return;
    }
    let dims = build.cells + 1u;
    if (i < build.length) {
        let at = place(i, dims);
        for (var axis = 0u; axis < 3u; axis++) {
            if (at[axis] + 1u < dims[axis]) {
                var up = at;
                up[axis] += 1u;
                connect(i, index(up, dims), 8.0);
            }
        }
        if (slots[i] != NONE) {
            join(i, build.length + 512u * slots[i]);
        }
        return;
    }
    let candidate = (i - build.length) / 512u;
    let n = (i - build.length) % 512u;
    let cell = place(list[candidate], dims);
    for (var axis = 0u; axis < 3u; axis++) {
        let shift = 3u * axis;
        if (((n >> shift) & 7u) < 7u) {
            continue;
        }
        var up = cell;
        up[axis] += 1u;
        if (any(up >= dims)) {
            continue;
        }
        let above = index(up, dims);
        let other = n - (7u << shift);
        if (slots[above] != NONE) {
            connect(i, build.length + 512u * slots[above] + other, 1.0);
        } else if (other == 0u) {
            connect(i, above, 1.0);
        }
    }
}

@compute @workgroup_size(256)
fn flatten(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) gs: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    let i = thread(g, gs, l);
    if (i >= total()) {
        return;
    }
    var at = i;
    loop {
        let next = atomicLoad(&parents[at]);
        if (next == at) {
            break;
        }
        at = next;
    }
    atomicMin(&parents[i], at);
    // Most nodes are in two sets, and most are less far than what is known already: they need not wait for one another.
    let far = bitcast<u32>(abs(value(i)));
    if (far > atomicLoad(&work[at])) {
        atomicMax(&work[at], far);
    }
}

@compute @workgroup_size(256)
fn choose(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) gs: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    let i = thread(g, gs, l);
    if (i >= total()) {
        return;
    }
    let one = atomicLoad(&parents[i]);
    if (bitcast<u32>(abs(value(i))) == atomicLoad(&work[one])) {
        atomicMin(&heads[one], i);
    }
}

@compute @workgroup_size(256)
fn apply(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) gs: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    let i = thread(g, gs, l);
    if (i >= total()) {
        return;
    }
    let d = abs(value(i));
    let inside = atomicLoad(&heads[atomicLoad(&parents[i])]) == 1u && d < ABSENT;
    let signed = select(d, -d, inside);
    if (i < build.length) {
        background[i] = signed;
    } else {
        own[i - build.length] = signed;
    }
}
