// Background nodes, and which cells need a closer look. One group of threads for each node and the cell above it; nodes on the upper
// border of the grid have a cell beyond it, of which only the face in the grid counts.
//
// Nodes are few and far apart: one thread for each would leave the device idle but for the longest walks.
@group(0) @binding(5) var<storage, read_write> background: array<f32>;
@group(0) @binding(6) var<storage, read_write> marks: array<u32>;
// The closest triangle of each node: where searches around it begin.
@group(0) @binding(7) var<storage, read_write> nearest: array<u32>;

// Bits of the least square of a distance, and the first triangle that has it.
var<workgroup> least: atomic<u32>;
var<workgroup> first: atomic<u32>;

// Whether triangle `t` may be within the band of a box: by boxes, by its plane and by the ball around the box, each of which
// can only say no.
fn reaches(t: u32, m: vec3<f32>, half: vec3<f32>) -> bool {
    let a = triangles[4u * t];
    let b = triangles[4u * t + 1u];
    let c = triangles[4u * t + 2u];
    let low = min(min(a.xyz, b.xyz), c.xyz) - (m + half);
    let high = (m - half) - max(max(a.xyz, b.xyz), c.xyz);
    let g = max(max(low, high), vec3<f32>(0.0));
    if (dot(g, g) > build.half_width * build.half_width) {
        return false;
    }
    let n = vec3<f32>(a.w, b.w, c.w);
    if (abs(dot(n, m - a.xyz)) - dot(abs(n), half) > build.half_width) {
        return false;
    }
    let far = build.half_width + sqrt(dot(half, half));
    return to_triangle(t, m) <= far * far;
}

// Whether a triangle in box `box` of level `root` may be within the band of a box.
fn reaches_below(root: u32, box: u32, m: vec3<f32>, half: vec3<f32>) -> bool {
    let limit = build.half_width * build.half_width;
    var at = vec2<u32>(root, box);
    loop {
        let hit = gap(start_of(at.x) + at.y, m, half) <= limit;
        if (hit && at.x > 0u) {
            at = vec2<u32>(at.x - 1u, 8u * at.y);
            continue;
        }
        if (hit) {
            let end = min(2u * at.y + 2u, build.triangles);
            for (var t = 2u * at.y; t < end; t++) {
                if (reaches(t, m, half)) {
                    return true;
                }
            }
        }
        at = after(root, at.x, at.y);
        if (at.x >= root) {
            break;
        }
    }
    return false;
}

// The closest triangle: of equals the first.
fn closest(p: vec3<f32>, local: u32) -> Nearest {
    if (local == 0u) {
        atomicStore(&bound, 0x7f7fffffu);
        atomicStore(&least, 0x7f7fffffu);
        atomicStore(&first, NONE);
    }
    workgroupBarrier();
    let front = narrow(p, vec3<f32>(0.0), false, local);
    // The bound alone is no triangle; that of its vertex is as near, but for rounding.
    var best = Nearest(bitcast<f32>(atomicLoad(&bound)) * 1.0001, NONE);
    for (var j = local; j < front.size; j += THREADS) {
        best = search_below(front.level, box_of(front, j), p, best);
    }
    if (best.triangle != NONE) {
        atomicMin(&least, bitcast<u32>(best.squared));
    }
    workgroupBarrier();
    let squared = atomicLoad(&least);
    if (best.triangle != NONE && bitcast<u32>(best.squared) == squared) {
        atomicMin(&first, best.triangle);
    }
    workgroupBarrier();
    return Nearest(bitcast<f32>(squared), atomicLoad(&first));
}

// Whether a triangle may be within the band of the cell.
fn is_near(m: vec3<f32>, half: vec3<f32>, local: u32) -> bool {
    if (local == 0u) {
        atomicStore(&bound, bitcast<u32>(build.half_width * build.half_width));
        atomicStore(&least, 0u);
    }
    workgroupBarrier();
    let front = narrow(m, half, true, local);
    for (var j = local; j < front.size; j += THREADS) {
        if (atomicLoad(&least) != 0u) {
            break;
        }
        if (reaches_below(front.level, box_of(front, j), m, half)) {
            atomicStore(&least, 1u);
        }
    }
    workgroupBarrier();
    return atomicLoad(&least) != 0u;
}

@compute @workgroup_size(64)
fn measure(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = build.first + linear(group, groups, 0u, 1u);
    if (i >= build.length) {
        return;
    }
    let dims = build.cells + 1u;
    let at = place(i, dims);
    let p = 8.0 * vec3<f32>(at);
    let found = closest(p, local);
    if (local == 0u) {
        background[i] = signed(found, p);
        nearest[i] = found.triangle;
        told = bitcast<u32>(found.squared);
    }
    let d = sqrt(bitcast<f32>(workgroupUniformLoad(&told)));
    // The closed cube of the cell, without what is beyond the grid. Most are told by the distance of their first node.
    let half = select(vec3<f32>(4.0), vec3<f32>(0.0), at == build.cells);
    var mark = d <= build.half_width;
    if (!mark && d <= build.half_width + 2.0 * sqrt(dot(half, half)) + 0.01) {
        mark = is_near(p + half, half, local);
    }
    if (local == 0u) {
        marks[i] = u32(mark);
    }
}
