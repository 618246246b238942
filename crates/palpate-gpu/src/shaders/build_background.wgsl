// Background nodes, and which cells need a closer look. One thread for each node and the cell above it; nodes on the upper border of
// the grid have a cell beyond it, of which only the face in the grid counts.
@group(0) @binding(5) var<storage, read_write> background: array<f32>;
@group(0) @binding(6) var<storage, read_write> marks: array<u32>;
// The closest triangle of each node: where searches around it begin.
@group(0) @binding(7) var<storage, read_write> nearest: array<u32>;

fn start_of(level: u32) -> u32 {
    if (level < 4u) {
        return build.starts[level];
    }
    return build.starts_high[level - 4u];
}

fn count_of(level: u32) -> u32 {
    if (level < 4u) {
        return build.counts[level];
    }
    return build.counts_high[level - 4u];
}

// As `search`, for threads whose points are far apart: each goes its own way through the boxes until it has triangles to measure, and
// then all that have measure at once. Nested loops would do one thread's triangles after the other's.
fn search_apart(p: vec3<f32>, found: Nearest) -> Nearest {
    var best = found;
    var level = 5u;
    var at = 0u;
    loop {
        var leaf = NONE;
        loop {
            if (level == 5u && at >= build.counts_high.y) {
                break;
            }
            let hit = gap(start_of(level) + at, p, vec3<f32>(0.0)) <= best.squared;
            if (hit && level > 0u) {
                level -= 1u;
                at *= 8u;
                continue;
            }
            if (hit) {
                leaf = at;
            }
            // The next box, or the one after the parent.
            at += 1u;
            loop {
                if (level == 5u || ((at & 7u) != 0u && at < count_of(level))) {
                    break;
                }
                at = (at - 1u) / 8u + 1u;
                level += 1u;
            }
            if (leaf != NONE) {
                break;
            }
        }
        if (leaf == NONE) {
            break;
        }
        best = offer_leaf(best, leaf, p);
    }
    return best;
}

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
    let far = build.half_width + length(half);
    return to_triangle(t, m) <= far * far;
}

fn is_near(m: vec3<f32>, half: vec3<f32>) -> bool {
    let limit = build.half_width * build.half_width;
    for (var f = 0u; f < build.counts_high.y; f++) {
        if (gap(build.starts_high.y + f, m, half) > limit) { continue; }
        let end_e = min(8u * f + 8u, build.counts_high.x);
        for (var e = 8u * f; e < end_e; e++) {
            if (gap(build.starts_high.x + e, m, half) > limit) { continue; }
            let end_d = min(8u * e + 8u, build.counts.w);
            for (var d = 8u * e; d < end_d; d++) {
                if (gap(build.starts.w + d, m, half) > limit) { continue; }
                let end_c = min(8u * d + 8u, build.counts.z);
                for (var c = 8u * d; c < end_c; c++) {
                    if (gap(build.starts.z + c, m, half) > limit) { continue; }
                    let end_b = min(8u * c + 8u, build.counts.y);
                    for (var b = 8u * c; b < end_b; b++) {
                        if (gap(build.starts.y + b, m, half) > limit) { continue; }
                        let end_a = min(8u * b + 8u, build.counts.x);
                        for (var a = 8u * b; a < end_a; a++) {
                            if (gap(a, m, half) > limit) { continue; }
                            let end = min(2u * a + 2u, build.triangles);
                            for (var t = 2u * a; t < end; t++) {
                                if (reaches(t, m, half)) {
                                    return true;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    return false;
}

@compute @workgroup_size(4, 4, 4)
fn measure(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let dims = build.cells + 1u;
    let at = 4u * (group + vec3<u32>(0u, 0u, build.first)) + local;
    if (any(at >= dims)) {
        return;
    }
    let i = index(at, dims);
    let p = 8.0 * vec3<f32>(at);
    var found = offer_leaf(Nearest(3e38, NONE), leaf_near(p), p);
    found = search_apart(p, found);
    background[i] = signed(found, p);
    nearest[i] = found.triangle;
    // The closed cube of the cell, without what is beyond the grid.
    let half = select(vec3<f32>(4.0), vec3<f32>(0.0), at == build.cells);
    marks[i] = u32(is_near(p + half, half));
}
