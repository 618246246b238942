// The least distance of a picture, the first of several, and the point it belongs to.

struct Answer {
    // Forces, of which there are none here.
    unused: array<vec4<f32>, 2>,
    counts: vec4<u32>,
    // Distance as bits that sort; NOTHING where there is none.
    deepest: vec4<u32>,
    // Where it is, its distance.
    point: vec4<f32>,
    // Gradient there; triangle.
    gradient: vec4<f32>,
    // Shares of the corners.
    shares: vec4<f32>,
}

@group(0) @binding(6) var picture: texture_2d<u32>;
// Distance as bits that sort, pixel, pixels with something.
@group(0) @binding(7) var<storage, read_write> partials: array<vec4<u32>>;
@group(0) @binding(8) var<storage, read_write> answer: Answer;

const THREADS: u32 = 256u;
const SQUARE: u32 = 16u;
// Most workgroups that are started, as in `target.rs`: as many have a partial.
const MOST_GROUPS: u32 = 1056u;

var<workgroup> kept: array<vec4<u32>, THREADS>;

fn nearer(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    let first = a.x < b.x || (a.x == b.x && a.y <= b.y);
    let least = select(b, a, first);
    return vec4(least.xy, a.z + b.z, 0u);
}

fn reduce(own: vec4<u32>, t: u32) -> vec4<u32> {
    kept[t] = own;
    workgroupBarrier();
    for (var step = THREADS / 2u; step > 0u; step /= 2u) {
        if t < step {
            kept[t] = nearer(kept[t], kept[t + step]);
        }
        workgroupBarrier();
    }
    return kept[0];
}

@compute @workgroup_size(THREADS)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let size = textureDimensions(picture);
    let squares = (size + SQUARE - 1u) / SQUARE;
    var own = vec4(NOTHING, NOTHING, 0u, 0u);
    for (var square = group.x; square < squares.x * squares.y; square += groups.x) {
        let pixel = vec2(square % squares.x, square / squares.x) * SQUARE + vec2(t % SQUARE, t / SQUARE);
        if any(pixel >= size) {
            continue;
        }
        let found = textureLoad(picture, pixel, 0).x;
        if found != NOTHING {
            own = nearer(own, vec4(found, pixel.y * size.x + pixel.x, 1u, 0u));
        }
    }
    let all = reduce(own, t);
    if t == 0u {
        partials[group.x] = all;
    }
}

@compute @workgroup_size(THREADS)
fn finish(@builtin(local_invocation_index) t: u32) {
    let size = textureDimensions(picture);
    let squares = (size + SQUARE - 1u) / SQUARE;
    var own = vec4(NOTHING, NOTHING, 0u, 0u);
    for (var i = t; i < min(squares.x * squares.y, MOST_GROUPS); i += THREADS) {
        own = nearer(own, partials[i]);
    }
    let all = reduce(own, t);
    if t != 0u {
        return;
    }
    answer.unused = array(vec4(0.0), vec4(0.0));
    answer.counts = vec4(0u, 0u, all.z, 0u);
    answer.deepest = vec4(all.x, NOTHING, NOTHING, NOTHING);
    if all.x == NOTHING {
        return;
    }
    // The pixel and the triangle say where.
    let pixel = vec2(all.y % size.x, all.y / size.x);
    let code = textureLoad(picture, pixel, 0).y;
    let item = items[code >> 3u];
    let a = vertex(item.x);
    let p = plane_along(placed(a), cross(turned(vertex(item.y) - a), turned(vertex(item.z) - a)), code & 3u);
    let u = on_plane(p.slope, p.base, p.axis, across(vec2<f32>(pixel) + 0.5, p.axis));
    let s = sample_at(u);
    answer.point = vec4(u, s.w);
    answer.gradient = vec4(s.xyz, bitcast<f32>(item.w));
    answer.shares = vec4(shares(item, u, p.axis), 0.0);
}
