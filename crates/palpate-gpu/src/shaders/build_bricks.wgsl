// The nodes of cells near the surface: one group of threads for each block of 4³ of them. Which nodes are in the band.
@group(0) @binding(5) var<storage, read> list: array<u32>;
@group(0) @binding(6) var<storage, read_write> own: array<f32>;
@group(0) @binding(7) var<storage, read_write> flags: array<atomic<u32>>;
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

@compute @workgroup_size(64)
fn measure(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let candidate = build.first + group.y;
    let cell = place(list[candidate], build.cells + 1u);
    let corner = 4u * vec3<u32>(group.x & 1u, (group.x >> 1u) & 1u, group.x >> 2u);
    let at = corner + vec3<u32>(local & 3u, (local >> 2u) & 3u, local >> 4u);
    let to = 512u * candidate + (at.z * 8u + at.y) * 8u + at.x;
    if (local == 0u) {
        atomicStore(&seen, 0u);
        atomicStore(&bound, 0x7f7fffffu);
        // Whether the block is beyond the grid.
        told = u32(any(8u * cell + corner > 8u * build.cells));
    }
    if (workgroupUniformLoad(&told) != 0u) {
        own[to] = ABSENT;
        return;
    }
    let front = narrow(vec3<f32>(8u * cell + corner) + 1.5, vec3<f32>(1.5), false, local);
    let node = 8u * cell + at;
    let p = vec3<f32>(node);
    // A search begins with the triangle of the cell's corner that the block is at.
    let guess = nearest[index(min(cell + corner / 4u, build.cells), build.cells + 1u)];
    var best = Nearest(to_triangle(guess, p), guess);
    for (var j = 0u; j < front.size; j++) {
        best = search_below(front.level, box_of(front, j), p, best);
    }
    var d = ABSENT;
    if (all(node <= 8u * build.cells)) {
        d = signed(best, p);
        if (abs(d) <= build.half_width) {
            atomicOr(&seen, sharing(at == vec3<u32>(0u)));
        }
    }
    own[to] = d;
    workgroupBarrier();
    if (local == 0u) {
        atomicOr(&flags[candidate], atomicLoad(&seen));
    }
}
