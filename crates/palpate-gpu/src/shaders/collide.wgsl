// Samples of a mesh in a field: what those within the margin push, and the deepest of all.

struct Partial {
    // Force, area.
    force: vec4<f32>,
    // Torque about the middle of the box, sum of normal forces.
    torque: vec4<f32>,
    // Samples within the margin that have depth, those that slide, samples in all, items that were sampled.
    counts: vec4<u32>,
    // Distance of the deepest as bits that sort, its item, its sample, divisions of the item.
    deepest: vec4<u32>,
}

struct Answer {
    sums: Partial,
    // Where the deepest is, its distance.
    point: vec4<f32>,
    // Gradient there; triangle.
    gradient: vec4<f32>,
    // Shares of the corners.
    shares: vec4<f32>,
}

// An item in the field's frame: a corner and two edges, velocities in the same way.
struct Item {
    a: vec3<f32>,
    n: u32,
    ab: vec3<f32>,
    area: f32,
    ac: vec3<f32>,
    start: u32,
}

@group(0) @binding(3) var<storage, read> balls: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> speeds: array<f32>;
// A sum of each workgroup, then of each set of them.
@group(0) @binding(8) var<storage, read_write> partials: array<Partial>;
@group(0) @binding(9) var<storage, read_write> answer: Answer;
@group(0) @binding(10) var<storage, read_write> state: State;

struct State {
    // Bits that sort of a distance that some sample has.
    bound: atomic<u32>,
    // Sets of workgroups that are done, then workgroups of each set.
    done: array<atomic<u32>>,
}

const NOTHING: u32 = 0xffffffffu;
override THREADS: u32 = 128u;
// Whether the last workgroup finishes, which needs a barrier for the whole device; else another kernel does.
override FUSED: bool = false;

var<workgroup> work: array<Item, 64>;
var<workgroup> ends: array<u32, 64>;
var<workgroup> kept: array<Partial, THREADS>;
// Clusters that are looked at, a bit each.
var<workgroup> looked: array<atomic<u32>, 32>;
var<workgroup> shared_word: u32;

// Floats as integers that sort in the same way.
fn sortable(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn unsorted(k: u32) -> f32 {
    return bitcast<f32>(select(k & 0x7fffffffu, ~k, (k >> 31u) == 0u));
}

fn none() -> Partial {
    return Partial(vec4(0.0), vec4(0.0), vec4(0u), vec4(NOTHING));
}

// The deeper of two, the earlier of two as deep.
fn deeper(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    let first = a.x < b.x || (a.x == b.x && (a.y < b.y || (a.y == b.y && a.z <= b.z)));
    return select(b, a, first);
}

fn sum(a: Partial, b: Partial) -> Partial {
    return Partial(a.force + b.force, a.torque + b.torque, a.counts + b.counts, deeper(a.deepest, b.deepest));
}

// Loads an item; without divisions if it has no place.
fn load(at: u32) -> Item {
    var out: Item;
    let item = items[at];
    out.n = 0u;
    if item.w == NOTHING {
        return out;
    }
    let code = parts[at];
    var a = placed(vertex(item.x));
    var ab = placed(vertex(item.y)) - a;
    var ac = placed(vertex(item.z)) - a;
    if !(is_place(a) && is_place(ab) && is_place(ac)) {
        return out;
    }
    if (code >> 16u) > 1u {
        let c = corners_of(code & 0xffffu, code >> 16u);
        let first = a + c.a.x * ab + c.a.y * ac;
        let b = (c.b.x - c.a.x) * ab + (c.b.y - c.a.y) * ac;
        ac = (c.c.x - c.a.x) * ab + (c.c.y - c.a.y) * ac;
        ab = b;
        a = first;
    }
    let longest = sqrt(max(max(dot(ab, ab), dot(ac, ac)), dot(ac - ab, ac - ab)));
    out.a = a;
    out.ab = ab;
    out.ac = ac;
    out.n = clamp(u32(ceil(longest / frame.law.z)), 1u, MOST);
    out.area = 0.5 * length(cross(ab, ac)) / f32(out.n * out.n);
    return out;
}

// Whether a point of an item may be at most `cut` away.
fn may_reach(item: Item, cut: f32) -> bool {
    let third = (item.ab + item.ac) * (1.0 / 3.0);
    let squared = max(max(dot(third, third), dot(item.ab - third, item.ab - third)), dot(item.ac - third, item.ac - third));
    return !(distance_at(item.a + third) > limit(cut, sqrt(squared), frame.slack.x));
}

fn ball_may_reach(cluster: u32, cut: f32) -> bool {
    let ball = balls[cluster];
    if ball.w < 0.0 {
        return false;
    }
    // The rows have one length: that of one over the voxel.
    let radius = ball.w * length(frame.x.xyz);
    return !(distance_at(placed(ball.xyz)) > limit(cut, radius, frame.slack.x));
}

// Which item has sample `s` of a cluster. Written out: loops cost as much again.
fn find(s: u32) -> u32 {
    var low = select(0u, 32u, ends[31] <= s);
    low += select(0u, 16u, ends[low + 15u] <= s);
    low += select(0u, 8u, ends[low + 7u] <= s);
    low += select(0u, 4u, ends[low + 3u] <= s);
    low += select(0u, 2u, ends[low + 1u] <= s);
    return low + select(0u, 1u, ends[low] <= s);
}

// Keeps the items of a cluster that may reach `cut`, counts their samples; how many there are. Every thread must come here.
fn gather(cluster: u32, cut: f32, t: u32, used: ptr<function, u32>) -> u32 {
    if t < CLUSTER {
        var item = load(cluster * CLUSTER + t);
        if item.n > 0u && !may_reach(item, cut) {
            item.n = 0u;
        }
        *used += min(item.n, 1u);
        work[t] = item;
        ends[t] = item.n * item.n;
    }
    workgroupBarrier();
    for (var step = 1u; step < CLUSTER; step *= 2u) {
        var before = 0u;
        if t < CLUSTER && t >= step {
            before = ends[t - step];
        }
        workgroupBarrier();
        if t < CLUSTER {
            ends[t] += before;
        }
        workgroupBarrier();
    }
    return ends[CLUSTER - 1u];
}

// Where sample `s` of a cluster is; its item in w.
struct Place {
    u: vec3<f32>,
    item: u32,
    sample: u32,
}

fn place(s: u32) -> Place {
    let i = find(s);
    let n = work[i].n;
    let j = s - (ends[i] - n * n);
    let share = middle(j, n);
    return Place(work[i].a + share.x * work[i].ab + share.y * work[i].ac, i, j);
}

// Adds up what the threads of a workgroup have, in one order; the sum is in the first.
fn reduce(own: Partial, t: u32) -> Partial {
    kept[t] = own;
    workgroupBarrier();
    for (var step = THREADS / 2u; step > 0u; step /= 2u) {
        if t < step {
            kept[t] = sum(kept[t], kept[t + step]);
        }
        workgroupBarrier();
    }
    return kept[0];
}

// Velocity of a place of the mesh [voxels/s].
fn velocity(at: u32, sample: u32, n: u32, r: vec3<f32>) -> vec3<f32> {
    var v = frame.linear.xyz + cross(frame.angular.xyz, r);
    if (frame.counts.w & VELOCITIES) != 0u {
        let share = share_of(at, sample, n);
        let item = items[at];
        let own = share.x * speed(item.x) + share.y * speed(item.y) + share.z * speed(item.z);
        v += turned(own);
    }
    return v;
}

fn speed(i: u32) -> vec3<f32> {
    return vec3(speeds[3u * i], speeds[3u * i + 1u], speeds[3u * i + 2u]);
}

// Shares of the corners of the whole triangle, of a sample of an item.
fn share_of(at: u32, sample: u32, n: u32) -> vec3<f32> {
    var share = middle(sample, n);
    let code = parts[at];
    if (code >> 16u) > 1u {
        let c = corners_of(code & 0xffffu, code >> 16u);
        share = c.a + share.x * (c.b - c.a) + share.y * (c.c - c.a);
    }
    return vec3(1.0 - share.x - share.y, share);
}

// Zero for the normal of a triangle without area, as on the CPU.
fn unit(v: vec3<f32>) -> vec3<f32> {
    let l = length(v);
    return select(vec3(0.0), v / l, l > 0.0);
}

// What a sample adds: morvan08 Eq. 4 to 12, with a damper that never pulls and friction that begins at rest with none.
fn push(own: ptr<function, Partial>, p: Place, at: u32, s: vec4<f32>) {
    let item = work[p.item];
    let normal = cross(item.ab, item.ac);
    var along = s.xyz;
    let steep = length(along);
    along = select(-unit(normal), along / steep, steep > 1e-12);
    if (frame.counts.w & OWN_NORMAL) != 0u {
        along = -unit(normal);
    }
    let r = p.u - 0.5 * box_high();
    var pressure = frame.law.x * -s.w;
    var traction = along * pressure;
    if (frame.counts.w & MOVING) != 0u {
        let v = velocity(at, p.sample, item.n, r);
        let closing = dot(along, v);
        pressure = max(pressure - frame.linear.w * closing, 0.0);
        let across = v - along * closing;
        let fast = length(across);
        traction = along * pressure - across * (frame.angular.w * pressure / max(fast, frame.law.y));
        (*own).counts.y += select(0u, 1u, frame.angular.w > 0.0 && fast >= frame.law.y);
    }
    let force = traction * item.area;
    (*own).force += vec4(force, item.area);
    (*own).torque += vec4(cross(r, force), pressure * item.area);
    (*own).counts.x += 1u;
}

// Marks which of the next clusters of this workgroup may reach `cut`: thread t looks at cluster `first + t * stride`.
fn mark(first: u32, stride: u32, cut: f32, t: u32) {
    if t < THREADS / 32u {
        atomicStore(&looked[t], 0u);
    }
    workgroupBarrier();
    let cluster = first + t * stride;
    if cluster < frame.counts.x {
        if ball_may_reach(cluster, cut) {
            atomicOr(&looked[t / 32u], 1u << (t % 32u));
        }
    }
    workgroupBarrier();
}

// The same word for all threads.
fn marked(word: u32) -> u32 {
    return atomicLoad(&looked[word]);
}

@compute @workgroup_size(THREADS)
fn collide(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    var own = none();
    var some = false;
    let margin = frame.law.w;
    for (var first = group.x; first < frame.counts.x; first += groups.x * THREADS) {
        var used = 0u;
        mark(first, groups.x, margin, t);
        for (var word = 0u; word < THREADS / 32u; word += 1u) {
            for (var bits = marked(word); bits != 0u; bits &= bits - 1u) {
                let cluster = first + (32u * word + firstTrailingBit(bits)) * groups.x;
                some = true;
                let count = gather(cluster, margin, t, &used);
                for (var s = t; s < count; s += THREADS) {
                    let p = place(s);
                    let found = sample_at(p.u);
                    let at = cluster * CLUSTER + p.item;
                    own.counts.z += 1u;
                    if found.w <= margin {
                        own.deepest = deeper(own.deepest, vec4(sortable(found.w), at, p.sample, work[p.item].n));
                        if found.w < 0.0 {
                            push(&own, p, at, found);
                        }
                    }
                }
                workgroupBarrier();
            }
        }
        own.counts.w += used;
        workgroupBarrier();
    }
    conclude(own, group.x, groups.x, some, t);
}

var<workgroup> lowest: atomic<u32>;

// A distance that some sample has: one of the first item of each cluster.
@compute @workgroup_size(64)
fn least(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    if t == 0u {
        atomicStore(&lowest, NOTHING);
    }
    workgroupBarrier();
    for (var cluster = id.x; cluster < frame.counts.x; cluster += groups.x * 64u) {
        let item = load(cluster * CLUSTER);
        if item.n > 0u {
            let share = middle(0u, item.n);
            let d = distance_at(item.a + share.x * item.ab + share.y * item.ac);
            // A distance that is no number sorts last.
            atomicMin(&lowest, sortable(d));
        }
    }
    workgroupBarrier();
    // One of each workgroup: those of a large mesh would wait for one another.
    if t == 0u {
        atomicMin(&state.bound, atomicLoad(&lowest));
    }
}

@compute @workgroup_size(THREADS)
fn nearest(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    var own = none();
    var some = false;
    let known = atomicLoad(&state.bound);
    let cut = select(unsorted(known), 3e38, known == NOTHING);
    for (var first = group.x; first < frame.counts.x; first += groups.x * THREADS) {
        var used = 0u;
        mark(first, groups.x, cut, t);
        for (var word = 0u; word < THREADS / 32u; word += 1u) {
            for (var bits = marked(word); bits != 0u; bits &= bits - 1u) {
                let cluster = first + (32u * word + firstTrailingBit(bits)) * groups.x;
                some = true;
                let count = gather(cluster, cut, t, &used);
                for (var s = t; s < count; s += THREADS) {
                    let p = place(s);
                    let key = vec4(sortable(distance_at(p.u)), cluster * CLUSTER + p.item, p.sample, work[p.item].n);
                    own.counts.z += 1u;
                    own.deepest = deeper(own.deepest, key);
                }
                workgroupBarrier();
            }
        }
        own.counts.w += used;
        workgroupBarrier();
    }
    conclude(own, group.x, groups.x, some, t);
}

// Workgroups whose sums the last of them adds up; then the last of those does the same once more.
const SET: u32 = 64u;

// Keeps what a workgroup has; where kernels finish themselves, adds up what is complete.
fn conclude(own: Partial, group: u32, groups: u32, some: bool, t: u32) {
    // Most have nothing.
    var all = none();
    if some {
        all = reduce(own, t);
    }
    if t == 0u {
        partials[group] = all;
    }
    if !FUSED {
        return;
    }
    let own_set = group / SET;
    let sets = (groups + SET - 1u) / SET;
    if !is_last(1u + own_set, min(SET, groups - own_set * SET), t) {
        return;
    }
    let of_set = add_up(own_set * SET, min(SET, groups - own_set * SET), t);
    if t == 0u {
        partials[groups + own_set] = of_set;
    }
    if is_last(0u, sets, t) {
        finish_with(add_up(groups, sets, t), t);
    }
}

// Whether this workgroup is the last of `count` to come here: what the others wrote can be read. The count begins anew.
fn is_last(counter: u32, count: u32, t: u32) -> bool {
    storageBarrier();
    if t == 0u {
        shared_word = atomicAdd(&state.done[counter], 1u);
    }
    workgroupBarrier();
    let last = shared_word + 1u == count;
    if last && t == 0u {
        atomicStore(&state.done[counter], 0u);
    }
    storageBarrier();
    return last;
}

// The sum of stored ones, in one order.
fn add_up(first: u32, count: u32, t: u32) -> Partial {
    var own = none();
    for (var i = t; i < count; i += THREADS) {
        own = sum(own, partials[first + i]);
    }
    return reduce(own, t);
}

// Answers, and looks once more at the deepest.
fn finish_with(all: Partial, t: u32) {
    if t != 0u {
        return;
    }
    answer.sums = all;
    // For the next question.
    atomicStore(&state.bound, NOTHING);
    if all.deepest.x != NOTHING {
        let at = all.deepest.y;
        let item = load(at);
        let n = all.deepest.w;
        let share = middle(all.deepest.z, n);
        let u = item.a + share.x * item.ab + share.y * item.ac;
        let s = sample_at(u);
        answer.point = vec4(u, s.w);
        answer.gradient = vec4(s.xyz, bitcast<f32>(items[at].w));
        answer.shares = vec4(share_of(at, all.deepest.z, n), 0.0);
    }
}

@compute @workgroup_size(THREADS)
fn finish(@builtin(local_invocation_index) t: u32) {
    finish_with(add_up(0u, u32(frame.slack.y), t), t);
}

// An answer without a question.
@compute @workgroup_size(1)
fn nothing() {
    answer.sums = none();
}
