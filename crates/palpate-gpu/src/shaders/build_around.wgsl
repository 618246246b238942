// The winding number around one point, by a group of 64 threads.
//
// A thread for each group of triangles would wait for the few that are near, which are 64 times the work of a dipole. So the near ones
// are marked first, and then each thread has a triangle of them.

// Which of 1024 groups of triangles are near.
var<workgroup> near: array<atomic<u32>, 32>;
var<workgroup> part: array<f32, 64>;

// 1 inside, 0 outside of a closed surface; in a fixed order. Every thread must come here, with one point.
fn around(p: vec3<f32>, l: u32) -> f32 {
    var sum = 0.0;
    for (var base = 0u; base < groups(); base += 1024u) {
        if (l < 32u) {
            atomicStore(&near[l], 0u);
        }
        workgroupBarrier();
        let end = min(base + 1024u, groups());
        for (var g = base + l; g < end; g += 64u) {
            let away = away_from(g, p);
            if (is_far(g, away)) {
                sum += dipole_angle(g, away);
            } else {
                atomicOr(&near[(g - base) >> 5u], 1u << (g & 31u));
            }
        }
        workgroupBarrier();
        for (var word = 0u; word < 32u; word++) {
            for (var left = atomicLoad(&near[word]); left != 0u; left &= left - 1u) {
                let t = 64u * (base + 32u * word + firstTrailingBit(left)) + l;
                // Sheets have no say.
                if (t < build.triangles && (vertices[3u * t] >> 31u) == 0u) {
                    sum += solid_angle(t, p);
                }
            }
        }
        workgroupBarrier();
    }
    part[l] = sum;
    workgroupBarrier();
    for (var step = 32u; step > 0u; step /= 2u) {
        if (l < step) {
            part[l] += part[l + step];
        }
        workgroupBarrier();
    }
    return part[0] / WHOLE;
}
