// Decides doubtful nodes by the winding number of each: a group of threads for every 2³ nodes, which share what is read of the surface.
@group(0) @binding(4) var<storage, read> list: array<u32>;
@group(0) @binding(5) var<storage, read_write> background: array<f32>;
@group(0) @binding(6) var<storage, read_write> own: array<f32>;
// Background nodes, then cells (their numbers after those of the background), in any order: none depends on another.
@group(0) @binding(7) var<storage, read> doubts: array<u32>;
@group(0) @binding(8) var<storage, read_write> status: array<u32>;

// Half of a block's diagonal.
const REACH = 0.8661;
const OFF_X = vec4<f32>(0.0, 1.0, 0.0, 1.0);
const OFF_Y = vec4<f32>(0.0, 0.0, 1.0, 1.0);

var<workgroup> task: vec2<u32>;
// Which of 1024 groups of triangles are near the block.
var<workgroup> near: array<atomic<u32>, 32>;
var<workgroup> bits: u32;
// By threads, and for each of them by nodes.
var<workgroup> sums: array<f32, 2048>;
var<workgroup> part: array<f32, 256>;

// Where the doubts of this round end: some are left for the next, if they are many.
fn end_of_round() -> u32 {
    return min(status[3], status[9] + build.length_at_once);
}

// Angles of a group of triangles, as a dipole, at four nodes of which the first is `away` from its middle.
fn far_angles(area: vec3<f32>, away: vec3<f32>) -> vec4<f32> {
    let x = away.x - OFF_X;
    let y = away.y - OFF_Y;
    let inverse = inverseSqrt(x * x + y * y + away.z * away.z);
    return (area.x * x + area.y * y + area.z * away.z) * (inverse * inverse * inverse);
}

// The winding numbers of the block's nodes, from `first` on; the thread of a node's number has its own. In a fixed order.
fn windings(first: vec3<f32>, local: u32) -> f32 {
    let middle = first + 0.5;
    var low = vec4<f32>(0.0);
    var high = vec4<f32>(0.0);
    // Near triangles: a thread has one node, and every 32nd triangle.
    let mine = first + vec3<f32>(vec3<u32>(local & 1u, (local >> 1u) & 1u, (local >> 2u) & 1u));
    var close = 0.0;
    for (var base = 0u; base < groups(); base += 1024u) {
        if (local < 32u) {
            atomicStore(&near[local], 0u);
        }
        workgroupBarrier();
        for (var k = 0u; k < 1024u; k += 256u) {
            let g = base + k + local;
            if (g < groups()) {
                let ball = dipoles[2u * g];
                let at = ball.xyz * build.scale + (ball.xyz * build.scale_rest + build.offset);
                let limit = FAR * ball.w * build.scale + REACH;
                let away = at - middle;
                if (dot(away, away) > limit * limit) {
                    let area = dipoles[2u * g + 1u].xyz * build.scale * build.scale;
                    low += far_angles(area, at - first);
                    high += far_angles(area, at - first - vec3<f32>(0.0, 0.0, 1.0));
                } else {
                    atomicOr(&near[(k + local) >> 5u], 1u << (local & 31u));
                }
            }
        }
        workgroupBarrier();
        for (var word = 0u; word < 32u; word++) {
            if (local == 0u) {
                bits = atomicLoad(&near[word]);
            }
            var left = workgroupUniformLoad(&bits);
            while (left != 0u) {
                let g = base + 32u * word + firstTrailingBit(left);
                left &= left - 1u;
                let end = min(64u * g + 64u, build.triangles);
                for (var t = 64u * g + (local >> 3u); t < end; t += 32u) {
                    // Sheets have no say.
                    if ((vertices[3u * t] >> 31u) == 0u) {
                        close += solid_angle(t, mine);
                    }
                }
            }
        }
        workgroupBarrier();
    }
    for (var k = 0u; k < 4u; k++) {
        sums[8u * local + k] = low[k];
        sums[8u * local + 4u + k] = high[k];
    }
    sums[8u * local + (local & 7u)] += close;
    workgroupBarrier();
    var sum = 0.0;
    for (var i = local; i < 2048u; i += 256u) {
        sum += sums[i];
    }
    part[local] = sum;
    workgroupBarrier();
    for (var step = 128u; step >= 8u; step /= 2u) {
        if (local < step) {
            part[local] += part[local + step];
        }
        workgroupBarrier();
    }
    return part[local & 7u] / WHOLE;
}

// Blocks one after the other, as many groups of threads as keep the device busy: how many doubts there are is known here only.
@compute @workgroup_size(256)
fn resign(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if (local == 0u) {
        task = vec2<u32>(64u * status[9], 64u * end_of_round());
    }
    let range = workgroupUniformLoad(&task);
    for (var i = range.x + group.x; i < range.y; i += groups.x) {
        let doubt = doubts[i / 64u];
        let block = 2u * place(i % 64u, vec3<u32>(4u));
        let node = block + vec3<u32>(local & 1u, (local >> 1u) & 1u, (local >> 2u) & 1u);
        if (doubt < build.length) {
            if (i % 64u == 0u) {
                let inside = windings(8.0 * vec3<f32>(place(doubt, build.cells + 1u)), local) > 0.5;
                if (local == 0u) {
                    background[doubt] = select(abs(background[doubt]), -abs(background[doubt]), inside);
                }
            }
        } else {
            let candidate = doubt - build.length;
            let first = 8u * place(list[candidate], build.cells + 1u) + block;
            let inside = windings(vec3<f32>(first), local) > 0.5;
            let at = 512u * candidate + (node.z * 8u + node.y) * 8u + node.x;
            if (local < 8u && own[at] < ABSENT) {
                own[at] = select(abs(own[at]), -abs(own[at]), inside);
            }
        }
        workgroupBarrier();
    }
}

// After a round: how many are decided, and whether none were.
@compute @workgroup_size(1)
fn settle() {
    let end = end_of_round();
    status[10] = u32(end == status[9]);
    status[9] = end;
}
