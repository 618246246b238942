// Bricks as they are kept: 9³ nodes, the upper faces from the cells that own them; nodes on a face shared with a cell without a brick
// take the background's interpolated value, so the field has no jump there. And how steep the result is.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> list: array<u32>;
@group(0) @binding(2) var<storage, read> directory: array<i32>;
@group(0) @binding(3) var<storage, read> slots: array<u32>;
@group(0) @binding(4) var<storage, read> own: array<f32>;
@group(0) @binding(5) var<storage, read> background: array<f32>;
@group(0) @binding(6) var<storage, read_write> values: array<f32>;
@group(0) @binding(7) var<storage, read_write> status: array<atomic<u32>>;

var<workgroup> open: array<u32, 27>;
var<workgroup> corner: array<f32, 8>;
var<workgroup> node: array<f32, 729>;
var<workgroup> steepest: atomic<u32>;
var<workgroup> bricks: u32;

fn lerp(a: f32, b: f32, k: f32) -> f32 {
    return a * (1.0 - k) + b * k;
}

// The background at node `at` of the cell.
fn interpolated(at: vec3<u32>) -> f32 {
    let k = vec3<f32>(at) / 8.0;
    let low = lerp(lerp(corner[0], corner[2], k.y), lerp(corner[4], corner[6], k.y), k.z);
    let high = lerp(lerp(corner[1], corner[3], k.y), lerp(corner[5], corner[7], k.y), k.z);
    return lerp(low, high, k.x);
}

// Whether a node on `side` of the brick (along each axis 0: lower face, 1: between, 2: upper face) touches a cell without a brick.
fn touches_open(side: vec3<u32>) -> bool {
    var any_open = 0u;
    for (var z = min(side.z, 1u); z <= max(side.z, 1u); z++) {
        for (var y = min(side.y, 1u); y <= max(side.y, 1u); y++) {
            for (var x = min(side.x, 1u); x <= max(side.x, 1u); x++) {
                any_open |= open[(z * 3u + y) * 3u + x];
            }
        }
    }
    return any_open != 0u;
}

fn value(cell: vec3<u32>, at: vec3<u32>) -> f32 {
    let side = select(select(vec3<u32>(1u), vec3<u32>(2u), at == vec3<u32>(8u)), vec3<u32>(0u), at == vec3<u32>(0u));
    let inner = side == vec3<u32>(1u);
    if (!any(inner) || touches_open(side)) {
        return interpolated(at);
    }
    let up = vec3<u32>(side == vec3<u32>(2u));
    let owner = cell + up;
    let slot = slots[index(owner, build.cells + 1u)];
    let local = at - 8u * up;
    var d = ABSENT;
    if (slot != NONE) {
        d = own[512u * slot + (local.z * 8u + local.y) * 8u + local.x];
    }
    if (any(owner == build.cells)) {
        // The upper border of the grid, which is outside.
        return select(interpolated(at), abs(d), abs(d) <= build.half_width);
    }
    return d;
}

@compute @workgroup_size(256)
fn assemble(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let brick = build.first + group.x;
    // There are as many groups as there may be bricks.
    if (local == 0u) {
        bricks = atomicLoad(&status[1]);
    }
    if (brick >= workgroupUniformLoad(&bricks)) {
        return;
    }
    let i = list[brick];
    let cell = place(i, build.cells);
    if (local == 0u) {
        atomicStore(&steepest, 0u);
    }
    if (local < 27u) {
        let c = vec3<i32>(cell) + vec3<i32>(vec3<u32>(local % 3u, local / 3u % 3u, local / 9u)) - 1;
        let inside = all(c >= vec3<i32>(0)) && all(c < vec3<i32>(build.cells));
        var is_open = false;
        if (inside) {
            is_open = directory[index(vec3<u32>(c), build.cells)] < 0;
        }
        open[local] = u32(is_open);
    }
    if (local < 8u) {
        let c = cell + vec3<u32>(local & 1u, (local >> 1u) & 1u, local >> 2u);
        corner[local] = background[index(c, build.cells + 1u)];
    }
    workgroupBarrier();
    let first = u32(directory[i]);
    for (var n = local; n < NODES; n += 256u) {
        let v = value(cell, place(n, vec3<u32>(9u)));
        node[n] = v;
        values[first + n] = v;
    }
    workgroupBarrier();
    // The gradient of a voxel is longest at a corner, where it is made of the differences along three edges.
    var most = 0.0;
    for (var n = local; n < 512u; n += 256u) {
        let at = ((n >> 6u) * 9u + ((n >> 3u) & 7u)) * 9u + (n & 7u);
        var v = array<f32, 8>();
        for (var k = 0u; k < 8u; k++) {
            v[k] = node[at + (k & 1u) + ((k >> 1u) & 1u) * 9u + (k >> 2u) * 81u];
        }
        for (var k = 0u; k < 8u; k++) {
            let d = vec3<f32>(v[k] - v[k ^ 1u], v[k] - v[k ^ 2u], v[k] - v[k ^ 4u]);
            most = max(most, dot(d, d));
        }
    }
    atomicMax(&steepest, bitcast<u32>(most));
    workgroupBarrier();
    if (local == 0u) {
        atomicMax(&status[2], atomicLoad(&steepest));
    }
}
