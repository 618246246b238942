// Many poses of a shell in a field: contacts of each, their force, the deepest. A workgroup has one pose and one chunk of the shell.

const POINTS: u32 = 32u;
const CLUSTERS: u32 = 512u;
const THREADS: u32 = 128u;
const EACH: u32 = 4u;
const NOTHING: u32 = 0xffffffffu;

const MOVING: u32 = 1u;
const OWN_NORMAL: u32 = 2u;
const LIST_BRIEF: u32 = 4u;
const LIST_FULL: u32 = 8u;

struct Frame {
    // Damper [s], friction coefficient, spring, speed up to which friction grows [voxels/s].
    law: vec4<f32>,
    // Margin, rounding of coordinates and values [voxels], one over the voxel [1/m], voxel [m].
    lengths: vec4<f32>,
    // Points, clusters, chunks, what is asked for.
    counts: vec4<u32>,
    // Poses, the first of them and of their answers, entries there is room for in the list, the first partial.
    places: vec4<u32>,
}

struct Pose {
    // The field's frame [voxels] from the shell's [m].
    x: vec4<f32>,
    y: vec4<f32>,
    z: vec4<f32>,
    // Velocity at the middle of the field's box [voxels/s], 1 where there is no pose; rotation vector [1/s].
    linear: vec4<f32>,
    angular: vec4<f32>,
}

struct Partial {
    // Force, area.
    force: vec4<f32>,
    // Torque about the middle of the box, sum of normal forces.
    torque: vec4<f32>,
    // Contacts, those with depth, those that slide, unused.
    counts: vec4<u32>,
    // Distance of the deepest as bits that sort, its point; where the list begins, how long it is.
    deepest: vec4<u32>,
}

struct Answer {
    sums: Partial,
    // The deepest contact, in the field's frame [m]: point and distance, normal and number, own normal and area.
    point: vec4<f32>,
    normal: vec4<f32>,
    own: vec4<f32>,
}

@group(0) @binding(0) var<storage, read> poses: array<Pose>;
// Position [m] and area [m²].
@group(0) @binding(1) var<storage, read> points: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> normals: array<vec4<f32>>;
// A point of each cluster and how far its others are from it; then one for each chunk [m].
@group(0) @binding(3) var<storage, read> balls: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> partials: array<Partial>;
@group(0) @binding(8) var<storage, read_write> answers: array<Answer>;
// Where the list ends; then its entries.
@group(0) @binding(9) var<storage, read_write> list: array<atomic<u32>>;

var<workgroup> chosen: array<u32, CLUSTERS>;
var<workgroup> masks: array<atomic<u32>, CLUSTERS>;
var<workgroup> before: array<u32, CLUSTERS>;
var<workgroup> sums: array<u32, THREADS>;
var<workgroup> kept: array<Partial, THREADS>;
var<workgroup> base: u32;

fn sortable(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn unsorted(k: u32) -> f32 {
    return bitcast<f32>(select(k & 0x7fffffffu, ~k, (k >> 31u) == 0u));
}

fn placed(pose: u32, p: vec3<f32>) -> vec3<f32> {
    let x = poses[pose].x;
    let y = poses[pose].y;
    let z = poses[pose].z;
    return vec3(dot(x.xyz, p) + x.w, dot(y.xyz, p) + y.w, dot(z.xyz, p) + z.w);
}

fn turned(pose: u32, v: vec3<f32>) -> vec3<f32> {
    return vec3(dot(poses[pose].x.xyz, v), dot(poses[pose].y.xyz, v), dot(poses[pose].z.xyz, v));
}

fn none() -> Partial {
    return Partial(vec4(0.0), vec4(0.0), vec4(0u), vec4(NOTHING, NOTHING, 0u, 0u));
}

fn deeper(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    return select(b, a, a.x < b.x || (a.x == b.x && a.y <= b.y));
}

fn sum(a: Partial, b: Partial) -> Partial {
    return Partial(a.force + b.force, a.torque + b.torque, a.counts + b.counts, deeper(a.deepest, b.deepest));
}

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

// The sum of `n` of all threads before this one; that of all is in `sums` at the end.
fn scan(n: u32, t: u32) -> u32 {
    sums[t] = n;
    workgroupBarrier();
    for (var step = 1u; step < THREADS; step *= 2u) {
        var earlier = 0u;
        if t >= step {
            earlier = sums[t - step];
        }
        workgroupBarrier();
        sums[t] += earlier;
        workgroupBarrier();
    }
    return sums[t] - n;
}

// Where the k-th bit that is set is.
fn bit(mask: u32, k: u32) -> u32 {
    var at = 0u;
    var rest = k;
    for (var width = 16u; width > 0u; width /= 2u) {
        let here = countOneBits(extractBits(mask, at, width));
        if here <= rest {
            rest -= here;
            at += width;
        }
    }
    return at;
}

struct Push {
    traction: vec3<f32>,
    pressure: f32,
    slides: bool,
}

fn pushed(pose: u32, r: vec3<f32>, along: vec3<f32>, depth: f32) -> Push {
    var pressure = frame.law.z * depth;
    if (frame.counts.w & MOVING) == 0u {
        return Push(along * pressure, pressure, false);
    }
    let v = poses[pose].linear.xyz + cross(poses[pose].angular.xyz, r);
    let closing = dot(along, v);
    pressure = max(pressure - frame.law.x * closing, 0.0);
    let across = v - along * closing;
    let fast = length(across);
    let rub = frame.law.y * pressure / max(fast, frame.law.w);
    return Push(along * pressure - across * rub, pressure, frame.law.y > 0.0 && fast >= frame.law.w);
}

// The direction a contact is pushed along: the field's, or away from the point's own normal.
fn normal_of(gradient: vec3<f32>, own: vec3<f32>) -> vec3<f32> {
    let steep = length(gradient);
    return select(-own, gradient / steep, steep > 1e-12);
}

fn own_normal(pose: u32, i: u32) -> vec3<f32> {
    return turned(pose, normals[i].xyz) * frame.lengths.w;
}

// Writes a contact to the list, if there is room.
fn keep(at: u32, pose: u32, i: u32, u: vec3<f32>, s: vec4<f32>, area: f32) {
    if at >= frame.places.z {
        return;
    }
    let d = s.w * frame.lengths.w;
    if (frame.counts.w & LIST_BRIEF) != 0u {
        atomicStore(&list[4u + 2u * at], i);
        atomicStore(&list[5u + 2u * at], bitcast<u32>(d));
        return;
    }
    let p = bitcast<vec3<u32>>(u * frame.lengths.w);
    let own = own_normal(pose, i);
    let n = bitcast<vec3<u32>>(normal_of(s.xyz, own));
    let o = bitcast<vec3<u32>>(own);
    let first = 4u + 12u * at;
    atomicStore(&list[first], p.x);
    atomicStore(&list[first + 1u], p.y);
    atomicStore(&list[first + 2u], p.z);
    atomicStore(&list[first + 3u], bitcast<u32>(d));
    atomicStore(&list[first + 4u], n.x);
    atomicStore(&list[first + 5u], n.y);
    atomicStore(&list[first + 6u], n.z);
    atomicStore(&list[first + 7u], i);
    atomicStore(&list[first + 8u], o.x);
    atomicStore(&list[first + 9u], o.y);
    atomicStore(&list[first + 10u], o.z);
    atomicStore(&list[first + 11u], bitcast<u32>(area));
}

@compute @workgroup_size(THREADS)
fn touch(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let job = group.y * groups.x + group.x;
    if job >= frame.places.x * frame.counts.z {
        return;
    }
    let pose = frame.places.y + job / frame.counts.z;
    let chunk = job % frame.counts.z;
    let margin = frame.lengths.x;
    let slack = frame.lengths.y;
    let first = chunk * CLUSTERS;
    let place = frame.places.w + job;
    let whole = balls[frame.counts.y + chunk];
    let lost = poses[pose].linear.w != 0.0;
    if lost || distance_at(placed(pose, whole.xyz)) > limit(margin, whole.w * frame.lengths.z, slack) {
        if t == 0u {
            partials[place] = none();
        }
        return;
    }
    // Clusters that may have contacts, in order; of those that are inside as a whole all points are.
    var marks: array<u32, EACH>;
    var count = 0u;
    for (var k = 0u; k < EACH; k += 1u) {
        let c = first + t * EACH + k;
        marks[k] = 0u;
        if c < frame.counts.y {
            let ball = balls[c];
            let d = distance_at(placed(pose, ball.xyz));
            let radius = ball.w * frame.lengths.z;
            if !(d > limit(margin, radius, slack)) {
                marks[k] = select(1u, 2u, d + radius * field.reach.x + slack < margin);
                count += 1u;
            }
        }
    }
    var at = scan(count, t);
    for (var k = 0u; k < EACH; k += 1u) {
        if marks[k] > 0u {
            let c = first + t * EACH + k;
            chosen[at] = c;
            let left = min(frame.counts.x - c * POINTS, POINTS);
            let all = select((1u << left) - 1u, NOTHING, left == POINTS);
            atomicStore(&masks[at], select(0u, all, marks[k] == 2u));
            // Whether its points need not be asked.
            before[at] = marks[k] - 1u;
            at += 1u;
        }
    }
    let clusters = sums[THREADS - 1u];
    workgroupBarrier();
    for (var i = t; i < clusters * POINTS; i += THREADS) {
        let c = i / POINTS;
        let point = chosen[c] * POINTS + i % POINTS;
        if before[c] == 0u && point < frame.counts.x {
            if distance_at(placed(pose, points[point].xyz)) <= margin {
                atomicOr(&masks[c], 1u << (i % POINTS));
            }
        }
    }
    workgroupBarrier();
    // How many contacts there are before each cluster.
    var own_count = 0u;
    for (var k = 0u; k < EACH; k += 1u) {
        if t * EACH + k < clusters {
            own_count += countOneBits(atomicLoad(&masks[t * EACH + k]));
        }
    }
    at = scan(own_count, t);
    for (var k = 0u; k < EACH; k += 1u) {
        if t * EACH + k < clusters {
            before[t * EACH + k] = at;
            at += countOneBits(atomicLoad(&masks[t * EACH + k]));
        }
    }
    let contacts = sums[THREADS - 1u];
    let listed = (frame.counts.w & (LIST_BRIEF | LIST_FULL)) != 0u;
    if t == 0u && listed && contacts > 0u {
        base = atomicAdd(&list[0], contacts);
    }
    workgroupBarrier();
    var own = none();
    for (var i = t; i < contacts; i += THREADS) {
        var low = 0u;
        for (var step = CLUSTERS / 2u; step > 0u; step /= 2u) {
            if low + step < clusters && before[low + step] <= i {
                low += step;
            }
        }
        let point = chosen[low] * POINTS + bit(atomicLoad(&masks[low]), i - before[low]);
        let p = points[point];
        let u = placed(pose, p.xyz);
        let s = sample_at(u);
        own.deepest = deeper(own.deepest, vec4(sortable(s.w), point, 0u, 0u));
        own.counts.x += 1u;
        if s.w < 0.0 {
            var along = normal_of(s.xyz, vec3(0.0));
            if (frame.counts.w & OWN_NORMAL) != 0u || dot(s.xyz, s.xyz) <= 1e-24 {
                along = -own_normal(pose, point);
            }
            let r = u - 0.5 * box_high();
            let area = p.w * frame.lengths.z * frame.lengths.z;
            let f = pushed(pose, r, along, -s.w);
            let force = f.traction * area;
            own.force += vec4(force, area);
            own.torque += vec4(cross(r, force), f.pressure * area);
            own.counts.y += 1u;
            own.counts.z += select(0u, 1u, f.slides);
        }
        if listed {
            keep(base + i, pose, point, u, s, p.w);
        }
    }
    var all = reduce(own, t);
    if t == 0u {
        all.deepest.z = select(0u, base, listed && contacts > 0u);
        all.deepest.w = contacts;
        partials[place] = all;
    }
}

// The point that is nearest or deepest, of each pose: a workgroup has a pose.
@compute @workgroup_size(THREADS)
fn nearest(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let job = group.y * groups.x + group.x;
    if job >= frame.places.x {
        return;
    }
    let pose = frame.places.y + job;
    let slack = frame.lengths.y;
    var own = none();
    // Of a point of each cluster.
    for (var c = t; c < frame.counts.y; c += THREADS) {
        let d = distance_at(placed(pose, balls[c].xyz));
        own.deepest = deeper(own.deepest, vec4(sortable(d), NOTHING - 1u, 0u, 0u));
    }
    let cut = unsorted(reduce(own, t).deepest.x);
    workgroupBarrier();
    own = none();
    for (var start = 0u; start < frame.counts.y; start += CLUSTERS) {
        var marks = 0u;
        for (var k = 0u; k < EACH; k += 1u) {
            let c = start + t * EACH + k;
            if c < frame.counts.y {
                let ball = balls[c];
                if !(distance_at(placed(pose, ball.xyz)) > limit(cut, ball.w * frame.lengths.z, slack)) {
                    marks |= 1u << k;
                }
            }
        }
        var at = scan(countOneBits(marks), t);
        for (var k = 0u; k < EACH; k += 1u) {
            if (marks >> k & 1u) == 1u {
                chosen[at] = start + t * EACH + k;
                at += 1u;
            }
        }
        let clusters = sums[THREADS - 1u];
        workgroupBarrier();
        for (var i = t; i < clusters * POINTS; i += THREADS) {
            let point = chosen[i / POINTS] * POINTS + i % POINTS;
            if point < frame.counts.x {
                let d = distance_at(placed(pose, points[point].xyz));
                own.deepest = deeper(own.deepest, vec4(sortable(d), point, 0u, 0u));
            }
        }
        workgroupBarrier();
    }
    let all = reduce(own, t);
    if t == 0u {
        partials[frame.places.w + job * frame.counts.z] = all;
        for (var chunk = 1u; chunk < frame.counts.z; chunk += 1u) {
            partials[frame.places.w + job * frame.counts.z + chunk] = none();
        }
    }
}

// Adds up the chunks of each pose, in order, and looks once more at the deepest.
@compute @workgroup_size(64)
fn close(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let i_pose = (group.y * groups.x + group.x) * 64u + t;
    if i_pose >= frame.places.x {
        return;
    }
    let pose = frame.places.y + i_pose;
    var all = none();
    for (var chunk = 0u; chunk < frame.counts.z; chunk += 1u) {
        all = sum(all, partials[frame.places.w + i_pose * frame.counts.z + chunk]);
    }
    var out: Answer;
    out.sums = all;
    let i = all.deepest.y;
    if all.deepest.x != NOTHING && i < frame.counts.x {
        let u = placed(pose, points[i].xyz);
        let s = sample_at(u);
        let own = own_normal(pose, i);
        out.point = vec4(u, s.w) * frame.lengths.w;
        out.normal = vec4(normal_of(s.xyz, own), bitcast<f32>(i));
        out.own = vec4(own, points[i].w);
    }
    answers[pose] = out;
}
