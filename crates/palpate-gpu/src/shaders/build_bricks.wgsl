// The nodes of cells near the surface: one group of threads for each, every thread two nodes. Which nodes are in the band.
@group(0) @binding(5) var<storage, read> list: array<u32>;
@group(0) @binding(6) var<storage, read_write> own: array<f32>;
@group(0) @binding(7) var<storage, read_write> flags: array<u32>;
@group(0) @binding(8) var<storage, read> nearest: array<u32>;

var<workgroup> seen: atomic<u32>;

// Which of the eight cells on the lower side (bit 0 of their number: x − 1, …) share a node that is on these lower faces.
fn sharing(low: vec3<bool>) -> u32 {
    var mask = 1u;
    mask |= select(0u, mask << 1u, low.x);
    mask |= select(0u, mask << 2u, low.y);
    mask |= select(0u, mask << 4u, low.z);
    return mask;
}

@compute @workgroup_size(256)
fn measure(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let candidate = build.first + group.x;
    if (local == 0u) {
        atomicStore(&seen, 0u);
    }
    workgroupBarrier();
    let cell = place(list[candidate], build.cells + 1u);
    // Eight waves, each a block of 4³ nodes, so that its points are near each other.
    let wave = local >> 5u;
    let corner = 4u * vec3<u32>(wave & 1u, (wave >> 1u) & 1u, wave >> 2u);
    let start = corner + vec3<u32>(local & 3u, (local >> 2u) & 3u, (local >> 4u) & 1u);
    // A search begins with the triangle of the last node of the thread, or of the cell's corner that the block is at.
    var guess = nearest[index(min(cell + corner / 4u, build.cells), build.cells + 1u)];
    for (var k = 0u; k < 2u; k++) {
        let at = start + vec3<u32>(0u, 0u, 2u * k);
        let node = 8u * cell + at;
        var d = ABSENT;
        if (all(node <= 8u * build.cells)) {
            let p = vec3<f32>(node);
            let found = search(p, Nearest(to_triangle(guess, p), guess));
            guess = found.triangle;
            d = signed(found, p);
            if (abs(d) <= build.half_width) {
                atomicOr(&seen, sharing(at == vec3<u32>(0u)));
            }
        }
        own[512u * candidate + (at.z * 8u + at.y) * 8u + at.x] = d;
    }
    workgroupBarrier();
    if (local == 0u) {
        flags[candidate] = atomicLoad(&seen);
    }
}
