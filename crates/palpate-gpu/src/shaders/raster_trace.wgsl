// The depth at which each pixel's line first may be inside the body: section 4.1, traced through the field instead of drawn.

// Where a line stops [voxels]. Smaller: more steps along surfaces; it must stay above what is kept back.
const STOP: f32 = 0.25;
// Kept back from each step: twice what filters with 8-bit weights are off by [voxels].
const BACK: f32 = 0.05;
// Most steps; then the depth reached so far, which is on the safe side.
const STEPS: u32 = 8192u;

struct Line {
    @builtin(position) at: vec4<f32>,
    @location(0) @interpolate(flat) view: u32,
}

// One triangle over the whole picture. `view`: the axis, or ALL where the picture has the three views below each other.
@vertex
fn cover(@builtin(vertex_index) n: u32, @builtin(instance_index) view: u32) -> Line {
    let corner = vec2(select(-1.0, 3.0, n == 1u), select(-1.0, 3.0, n == 2u));
    return Line(vec4(corner, 0.0, 1.0), view);
}

@fragment
fn trace(f: Line) -> @builtin(frag_depth) f32 {
    let k = select(f.view, min(u32(f.at.y) / max(frame.counts.x, 1u), 2u), f.view == ALL);
    let axis = axes(k);
    let place = across(f.at.xy, k);
    let high = box_high();
    if place.x > pick(high, axis.x) || place.y > pick(high, axis.y) {
        return 1.0;
    }
    let behind = from_behind(k);
    let end = pick(high, k);
    var along = 0.0;
    for (var i = 0u; i < STEPS; i++) {
        let u = on_plane(vec2(0.0), select(along, end - along, behind), k, place);
        let d = distance_at(u);
        if !(d > STOP) {
            break;
        }
        along += (d - BACK) / field.reach.x;
        if along > end {
            return 1.0;
        }
    }
    // Depths of triangles are interpolated between corners that are moved by up to 1/256 of a pixel.
    return clamp((along - STOP - frame.law.z / 64.0) / end, 0.0, 1.0);
}
