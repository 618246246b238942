// Checks the pseudonormal's sides by the winding number, at one node inside and one outside of each part of the background.
@group(0) @binding(4) var<storage, read> background: array<f32>;
@group(0) @binding(5) var<storage, read_write> status: array<atomic<u32>>;

// Winding numbers this near to 1/2 decide nothing.
const UNDECIDED = 0.2;

var<workgroup> chosen: atomic<u32>;
var<workgroup> pick: u32;

@compute @workgroup_size(64)
fn check(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let dims = build.cells + 1u;
    let part = (build.length + build.windows - 1u) / build.windows;
    for (var side = 0u; side < 2u; side++) {
        if (local == 0u) {
            atomicStore(&chosen, NONE);
        }
        workgroupBarrier();
        let end = min(part * (group.x + 1u), build.length);
        for (var i = part * group.x + local; i < end; i += 64u) {
            let d = background[i];
            if (abs(d) > 0.5 && (d < 0.0) == (side == 0u)) {
                atomicMin(&chosen, i);
                break;
            }
        }
        workgroupBarrier();
        if (local == 0u) {
            pick = atomicLoad(&chosen);
        }
        let at = workgroupUniformLoad(&pick);
        if (at == NONE) {
            continue;
        }
        let p = 8.0 * vec3<f32>(place(at, dims));
        let w = around(p, local);
        if (local == 0u) {
            let agrees = abs(w - 0.5) <= UNDECIDED || (w > 0.5) == (side == 0u);
            let decided = abs(w - round(w)) < UNDECIDED;
            atomicAdd(&status[4], 1u);
            atomicAdd(&status[5], u32(agrees));
            atomicAdd(&status[6], u32(decided));
        }
        workgroupBarrier();
    }
}
