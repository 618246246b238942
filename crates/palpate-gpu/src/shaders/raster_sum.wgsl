// Adds up a picture of forces, in one order: morvan08 Eq. 11 to 13.

struct Partial {
    force: vec4<f32>,
    torque: vec4<f32>,
    counts: vec4<u32>,
    deepest: vec4<u32>,
}

@group(0) @binding(0) var counted: texture_2d<f32>;
@group(0) @binding(1) var forces: texture_2d<f32>;
@group(0) @binding(2) var torques: texture_2d<f32>;
@group(0) @binding(3) var<storage, read_write> partials: array<Partial>;
// As `Answer` in `collide.wgsl`.
@group(0) @binding(4) var<storage, read_write> answer: Partial;

const THREADS: u32 = 256u;
const SQUARE: u32 = 16u;

var<workgroup> kept: array<Partial, THREADS>;

fn add(a: Partial, b: Partial) -> Partial {
    return Partial(a.force + b.force, a.torque + b.torque, a.counts + b.counts, vec4(0xffffffffu));
}

fn reduce(own: Partial, t: u32) -> Partial {
    kept[t] = own;
    workgroupBarrier();
    for (var step = THREADS / 2u; step > 0u; step /= 2u) {
        if t < step {
            kept[t] = add(kept[t], kept[t + step]);
        }
        workgroupBarrier();
    }
    return kept[0];
}

// Squares of the picture, some for each workgroup.
@compute @workgroup_size(THREADS)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let size = textureDimensions(counted);
    let squares = (size + SQUARE - 1u) / SQUARE;
    var own = Partial(vec4(0.0), vec4(0.0), vec4(0u), vec4(0xffffffffu));
    for (var square = group.x; square < squares.x * squares.y; square += groups.x) {
        let pixel = vec2(square % squares.x, square / squares.x) * SQUARE + vec2(t % SQUARE, t / SQUARE);
        if any(pixel >= size) {
            continue;
        }
        let count = textureLoad(counted, pixel, 0).x;
        // Most pixels have nothing.
        if count > 0.0 {
            own.force += textureLoad(forces, pixel, 0);
            own.torque += textureLoad(torques, pixel, 0);
            let whole = u32(count);
            own.counts += vec4(whole & 4095u, whole >> 12u, 0u, 0u);
        }
    }
    let all = reduce(own, t);
    if t == 0u {
        partials[group.x] = all;
    }
}

@compute @workgroup_size(THREADS)
fn finish(@builtin(local_invocation_index) t: u32) {
    let size = textureDimensions(counted);
    let squares = (size + SQUARE - 1u) / SQUARE;
    var own = Partial(vec4(0.0), vec4(0.0), vec4(0u), vec4(0xffffffffu));
    for (var i = t; i < min(squares.x * squares.y, arrayLength(&partials)); i += THREADS) {
        own = add(own, partials[i]);
    }
    let all = reduce(own, t);
    if t == 0u {
        answer = all;
        answer.counts.z = all.counts.x;
    }
}
