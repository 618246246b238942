// A ball around each cluster, in the mesh's frame [m]; a negative radius: nothing in it has a place.

@group(0) @binding(3) var<storage, read_write> balls: array<vec4<f32>>;

var<workgroup> low: array<vec3<f32>, 64>;
var<workgroup> high: array<vec3<f32>, 64>;

@compute @workgroup_size(64)
fn fit(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    for (var cluster = group.x; cluster < frame.counts.x; cluster += groups.x) {
        let item = items[cluster * CLUSTER + t];
        let whole = array(vertex(item.x), vertex(item.y), vertex(item.z));
        let usable = item.w != 0xffffffffu && is_place(whole[0]) && is_place(whole[1]) && is_place(whole[2]);
        let code = parts[cluster * CLUSTER + t];
        var p = whole;
        if (code >> 16u) > 1u {
            let c = corners_of(code & 0xffffu, code >> 16u);
            p[0] = within(whole, c.a);
            p[1] = within(whole, c.b);
            p[2] = within(whole, c.c);
        }
        low[t] = select(vec3(3e38), min(min(p[0], p[1]), p[2]), usable);
        high[t] = select(vec3(-3e38), max(max(p[0], p[1]), p[2]), usable);
        workgroupBarrier();
        for (var step = 32u; step > 0u; step /= 2u) {
            if t < step {
                low[t] = min(low[t], low[t + step]);
                high[t] = max(high[t], high[t + step]);
            }
            workgroupBarrier();
        }
        let bottom = low[0];
        let top = high[0];
        let empty = bottom.x > top.x;
        let centre = select(0.5 * bottom + 0.5 * top, vec3(0.0), empty);
        workgroupBarrier();
        let farthest = max(max(distance(p[0], centre), distance(p[1], centre)), distance(p[2], centre));
        low[t] = vec3(select(-1.0, farthest, usable), 0.0, 0.0);
        workgroupBarrier();
        for (var step = 32u; step > 0u; step /= 2u) {
            if t < step {
                low[t] = max(low[t], low[t + step]);
            }
            workgroupBarrier();
        }
        if t == 0u {
            let size = max(max(abs(centre.x), abs(centre.y)), abs(centre.z));
            // Rounded up.
            let radius = low[0].x;
            balls[cluster] = vec4(centre, select(radius, radius * 1.00001 + size * 1e-6, radius >= 0.0));
        }
        workgroupBarrier();
    }
}

fn within(p: array<vec3<f32>, 3>, share: vec2<f32>) -> vec3<f32> {
    return p[0] + share.x * (p[1] - p[0]) + share.y * (p[2] - p[0]);
}
