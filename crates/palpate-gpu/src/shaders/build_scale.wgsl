// The source in voxels of this grid: triangles with their normals and the inverse squares of their edges; then the same triangles, each
// in a frame of its own; and the boxes around groups of them.
@group(0) @binding(0) var<uniform> build: Build;
@group(0) @binding(1) var<storage, read> points: array<f32>;
@group(0) @binding(2) var<storage, read> vertices: array<u32>;
@group(0) @binding(3) var<storage, read> normals: array<f32>;
@group(0) @binding(4) var<storage, read> units: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> triangles: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> boxes: array<vec4<f32>>;

// Two products: the scale itself is rounded.
fn scaled(u: vec3<f32>) -> vec3<f32> {
    return u * build.scale + (u * build.scale_rest + build.offset);
}

// A vector across `n`, not of unit length; some vector if that is 0.
fn across(n: vec3<f32>) -> vec3<f32> {
    if (dot(n, n) == 0.0) {
        return vec3<f32>(1.0, 0.0, 0.0);
    }
    return cross(n, select(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0), abs(n.x) > abs(n.y)));
}

@compute @workgroup_size(256)
fn scale(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = linear(group, groups, local, 256u);
    if (i < build.triangles) {
        var corners = array<vec3<f32>, 3>();
        for (var c = 0u; c < 3u; c++) {
            // The highest bit says that it is a sheet's.
            let v = 3u * (vertices[3u * i + c] & 0x7fffffffu);
            let p = scaled(vec3<f32>(points[v], points[v + 1u], points[v + 2u]));
            triangles[4u * i + c] = vec4<f32>(p, normals[3u * i + c]);
            corners[c] = p;
        }
        let ab = corners[1] - corners[0];
        let bc = corners[2] - corners[1];
        let ca = corners[0] - corners[2];
        let squares = vec3<f32>(dot(ab, ab), dot(bc, bc), dot(ca, ca));
        let inverse = 1.0 / max(squares, vec3<f32>(1e-30));
        triangles[4u * i + 3u] = vec4<f32>(inverse, 0.0);
        // The frame: at the first corner, along the first edge, which is made perpendicular to the normal, as corners are rounded.
        var n = vec3<f32>(normals[3u * i], normals[3u * i + 1u], normals[3u * i + 2u]);
        var u = ab - n * dot(n, ab);
        if (dot(u, u) < 1e-24) {
            u = n * dot(n, ca) - ca;
        }
        if (dot(u, u) < 1e-24) {
            u = across(n);
        }
        u = normalize(u);
        if (dot(n, n) < 0.5) {
            // No area, no normal: any across its edges.
            n = normalize(across(u));
        }
        let at = 4u * (build.triangles + i);
        triangles[at] = vec4<f32>(corners[0], max(dot(ab, u), 0.0));
        triangles[at + 1u] = vec4<f32>(u, -dot(ca, u));
        triangles[at + 2u] = vec4<f32>(n, -dot(ca, cross(n, u)));
        triangles[at + 3u] = vec4<f32>(inverse.y, inverse.z, 0.0, 0.0);
    }
    if (i < build.starts_high.y + build.counts_high.y) {
        let half = units[2u * i + 1u].xyz * (build.scale * 1.000001) + vec3<f32>(build.slack);
        boxes[2u * i] = vec4<f32>(scaled(units[2u * i].xyz), 0.0);
        boxes[2u * i + 1u] = vec4<f32>(half, 0.0);
    }
}
