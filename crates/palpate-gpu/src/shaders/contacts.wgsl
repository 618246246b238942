// Samples of a mesh within the margin of many fields, as lists. With the helpers of `collide.wgsl`, whose frame is here one of many.

@group(0) @binding(8) var<storage, read> frames: array<Frame>;
// How many there are, three words; then entries of sixteen words.
@group(0) @binding(9) var<storage, read_write> list: array<atomic<u32>>;

// Of this workgroup. `slack.y` is the number of the job, `slack.z` how many entries there is room for, `linear.x` the voxel [m].
var<workgroup> frame: Frame;

const WORDS: u32 = 16u;

fn put(first: u32, v: vec4<f32>) {
    let bits = bitcast<vec4<u32>>(v);
    atomicStore(&list[first], bits.x);
    atomicStore(&list[first + 1u], bits.y);
    atomicStore(&list[first + 2u], bits.z);
    atomicStore(&list[first + 3u], bits.w);
}

fn keep(p: Place, at: u32, s: vec4<f32>) {
    let place = atomicAdd(&list[0], 1u);
    if place >= u32(frame.slack.z) {
        return;
    }
    let item = work[p.item];
    let voxel = frame.linear.x;
    let own = unit(cross(item.ab, item.ac));
    let steep = length(s.xyz);
    let first = 4u + WORDS * place;
    put(first, vec4(p.u, s.w) * voxel);
    put(first + 4u, vec4(select(-own, s.xyz / steep, steep > 1e-12), 0.0));
    atomicStore(&list[first + 7u], items[at].w);
    put(first + 8u, vec4(own, item.area * voxel * voxel));
    atomicStore(&list[first + 12u], u32(frame.slack.y));
    // Part of the triangle and sample of the part: no two are the same.
    atomicStore(&list[first + 13u], (parts[at] & 0xffffu) << 12u | p.sample);
}

@compute @workgroup_size(THREADS)
fn contacts(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    if t == 0u {
        frame = frames[group.y];
    }
    workgroupBarrier();
    let margin = frame.law.w;
    for (var first = group.x; first < frame.counts.x; first += groups.x * THREADS) {
        var used = 0u;
        mark(first, groups.x, margin, t);
        for (var word = 0u; word < THREADS / 32u; word += 1u) {
            for (var bits = marked(word); bits != 0u; bits &= bits - 1u) {
                let cluster = first + (32u * word + firstTrailingBit(bits)) * groups.x;
                let count = gather(cluster, margin, t, &used);
                for (var s = t; s < count; s += THREADS) {
                    let p = place(s);
                    let found = sample_at(p.u);
                    if found.w <= margin {
                        keep(p, cluster * CLUSTER + p.item, found);
                    }
                }
                workgroupBarrier();
            }
        }
        workgroupBarrier();
    }
}
