// What is drawn: every triangle in its own view, and at each pixel the field's distance or push. morvan08, sections 3.2 to 3.4.

struct Drawn {
    // Of every pipeline the same: none may draw other pixels than another.
    @builtin(position) @invariant at: vec4<f32>,
    // Slope and base of the triangle's plane.
    @location(0) @interpolate(flat) plane: vec3<f32>,
    // The axis it is seen along, whether its normal goes against that, its place in the list.
    @location(1) @interpolate(flat) code: u32,
}

// A corner of a triangle. `view`: the axis that is drawn, or ALL; triangles of other views are put where nothing is.
@vertex
fn draw(@builtin(vertex_index) n: u32, @builtin(instance_index) view: u32) -> Drawn {
    var out: Drawn;
    out.at = vec4(2.0, 2.0, 2.0, 1.0);
    let number = n / 3u;
    let item = items[number];
    if item.w == NOTHING {
        return out;
    }
    let a = vertex(item.x);
    let first = placed(a);
    let ab = turned(vertex(item.y) - a);
    let ac = turned(vertex(item.z) - a);
    if !(is_place(first) && is_place(ab) && is_place(ac)) {
        return out;
    }
    let p = plane(first, cross(ab, ac));
    if p.axis == ALL || (view != ALL && view != p.axis) {
        return out;
    }
    let corner = n - 3u * number;
    // The place that other triangles with this corner have, to the last bit: no gaps between them.
    let own = placed(vertex(select(select(item.z, item.y, corner == 1u), item.x, corner == 0u)));
    out.at = projected(own, p.axis);
    out.plane = vec3(p.slope, p.base);
    out.code = p.axis | select(0u, 4u, p.against) | (number << 3u);
    return out;
}

fn place(f: Drawn) -> vec3<f32> {
    let k = f.code & 3u;
    return on_plane(f.plane.xy, f.plane.z, k, across(f.at.xy, k));
}

struct Pushed {
    // Samples, and 4096 for each that slides.
    @location(0) counts: f32,
    // Force, area.
    @location(1) force: vec4<f32>,
    // Torque about the middle of the box, normal force.
    @location(2) torque: vec4<f32>,
}

// What a pixel adds: Eq. 4 to 10, with a damper that never pulls and friction that begins at rest with none. The area is that of the
// triangle's plane over the pixel.
@fragment
fn push(f: Drawn) -> Pushed {
    let u = place(f);
    let d = distance_at(u);
    if !(d < 0.0) {
        discard;
    }
    let s = sample_at(u);
    let k = f.code & 3u;
    let secant = sqrt(1.0 + dot(f.plane.xy, f.plane.xy));
    let area = frame.law.z * frame.law.z * secant;
    let flip = select(1.0, -1.0, (f.code & 4u) != 0u);
    let inward = put(f.plane.xy, -1.0, axes(k)) * (flip / secant);
    let steep = length(s.xyz);
    var along = select(inward, s.xyz / steep, steep > 1e-12);
    if (frame.counts.w & OWN_NORMAL) != 0u {
        along = inward;
    }
    let r = u - 0.5 * box_high();
    var pressure = frame.law.x * -d;
    var traction = along * pressure;
    var count = 1.0;
    if (frame.counts.w & MOVING) != 0u {
        var v = frame.linear.xyz + cross(frame.angular.xyz, r);
        if (frame.counts.w & VELOCITIES) != 0u {
            let item = items[f.code >> 3u];
            let share = shares(item, u, k);
            v += turned(share.x * speed(item.x) + share.y * speed(item.y) + share.z * speed(item.z));
        }
        let closing = dot(along, v);
        pressure = max(pressure - frame.linear.w * closing, 0.0);
        let sliding = v - along * closing;
        let fast = length(sliding);
        traction = along * pressure - sliding * (frame.angular.w * pressure / max(fast, frame.law.y));
        count += select(0.0, 4096.0, frame.angular.w > 0.0 && fast >= frame.law.y);
    }
    let force = traction * area;
    return Pushed(count, vec4(force, area), vec4(cross(r, force), pressure * area));
}

fn speed(i: u32) -> vec3<f32> {
    return vec3(speeds[3u * i], speeds[3u * i + 1u], speeds[3u * i + 2u]);
}

struct Nearer {
    // Distance as bits that sort; the axis it was seen along, and the triangle's place in the list.
    @location(0) found: vec2<u32>,
    @builtin(frag_depth) depth: f32,
}

// Floats as integers that sort in the same way.
fn sortable(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

// Eq. 3: the distance is the depth, so that the least one stays.
@fragment
fn near(f: Drawn) -> Nearer {
    let u = place(f);
    let d = distance_at(u);
    // Views share a picture: what is beside the box of one is not beside that of another.
    let outside = any(u < vec3(-frame.law.w)) || any(u > box_high() + frame.law.w);
    if outside || (bitcast<u32>(d) & 0x7fffffffu) > 0x7f7fffffu {
        discard;
    }
    let depth = clamp((d - frame.scale.x) * frame.scale.y, 0.0, 1.0);
    return Nearer(vec2(sortable(d), f.code), depth);
}
