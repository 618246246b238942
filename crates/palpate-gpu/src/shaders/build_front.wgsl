// Boxes of triangles near a point or a block of points. A group of threads goes down level by level, with the list of all boxes that
// may matter, each thread a box of them.

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

const THREADS = 64u;
// Boxes that a list holds. If there are more, every thread walks down from some of the last list that fits.
const ROOM = 1024u;

var<workgroup> lists: array<u32, 2048>;
var<workgroup> found_boxes: atomic<u32>;
// Bits of the square of the distance that boxes must be within.
var<workgroup> bound: atomic<u32>;
var<workgroup> told: u32;

// Boxes of a level: where they begin among the lists, and how many.
struct Front {
    level: u32,
    begin: u32,
    size: u32,
}

// The boxes that may be within the bound of a block of half size `half` around `m`. `fixed`: the bound is what it is; else it shrinks
// to what some vertex in each box proves for every point of the block. Lists come in any order; what is found does not depend on it.
fn narrow(m: vec3<f32>, half: vec3<f32>, fixed: bool, local: u32) -> Front {
    var out = Front(6u, 0u, 1u);
    loop {
        if (out.level == 0u || out.size == 0u) {
            break;
        }
        let level = out.level - 1u;
        let top = level == 5u;
        let start = start_of(level);
        let count = count_of(level);
        let tests = select(8u * out.size, count, top);
        let begin = ROOM - out.begin;
        if (!fixed) {
            for (var j = local; j < tests; j += THREADS) {
                let box = select(8u * lists[out.begin + (j >> 3u)] + (j & 7u), j, top);
                if (box < count) {
                    let away = abs(triangles[4u * (box << (3u * level + 1u))].xyz - m) + half;
                    atomicMin(&bound, bitcast<u32>(dot(away, away) * 1.000001));
                }
            }
        }
        if (local == 0u) {
            atomicStore(&found_boxes, 0u);
        }
        workgroupBarrier();
        let limit = bitcast<f32>(atomicLoad(&bound));
        for (var j = local; j < tests; j += THREADS) {
            let box = select(8u * lists[out.begin + (j >> 3u)] + (j & 7u), j, top);
            if (box < count) {
                if (gap(start + box, m, half) <= limit) {
                    let k = atomicAdd(&found_boxes, 1u);
                    if (k < ROOM) {
                        lists[begin + k] = box;
                    }
                }
            }
        }
        workgroupBarrier();
        if (local == 0u) {
            told = atomicLoad(&found_boxes);
        }
        let size = workgroupUniformLoad(&told);
        if (size > ROOM) {
            break;
        }
        out = Front(level, begin, size);
    }
    if (out.level == 6u) {
        // More of the largest boxes than a list holds: all of them.
        return Front(5u, NONE, build.counts_high.y);
    }
    return out;
}

fn box_of(front: Front, j: u32) -> u32 {
    if (front.begin == NONE) {
        return j;
    }
    return lists[front.begin + j];
}

// The box after box `at` of `level` in a walk that does not go below it, and its level; that of `root` when there is none.
fn after(root: u32, level: u32, at: u32) -> vec2<u32> {
    var l = level;
    var next = at + 1u;
    loop {
        if (l >= root || ((next & 7u) != 0u && next < count_of(l))) {
            break;
        }
        next = (next - 1u) / 8u + 1u;
        l += 1u;
    }
    return vec2<u32>(l, next);
}

// The closest triangle of those in box `box` of level `root`, and `found`. No box that may hold a nearer or equal one is passed by.
fn search_below(root: u32, box: u32, p: vec3<f32>, found: Nearest) -> Nearest {
    var best = found;
    if (root == 0u) {
        if (gap(box, p, vec3<f32>(0.0)) <= best.squared) {
            best = offer_leaf(best, box, p);
        }
        return best;
    }
    if (root == 1u) {
        // Written out, so that threads with neighbouring points stay together.
        if (gap(build.starts.y + box, p, vec3<f32>(0.0)) <= best.squared) {
            let end = min(8u * box + 8u, build.counts.x);
            for (var leaf = 8u * box; leaf < end; leaf++) {
                if (gap(leaf, p, vec3<f32>(0.0)) <= best.squared) {
                    best = offer_leaf(best, leaf, p);
                }
            }
        }
        return best;
    }
    var at = vec2<u32>(root, box);
    loop {
        let hit = gap(start_of(at.x) + at.y, p, vec3<f32>(0.0)) <= best.squared;
        if (hit && at.x > 0u) {
            at = vec2<u32>(at.x - 1u, 8u * at.y);
            continue;
        }
        if (hit) {
            best = offer_leaf(best, at.y, p);
        }
        at = after(root, at.x, at.y);
        if (at.x >= root) {
            break;
        }
    }
    return best;
}
