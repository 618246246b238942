//! Says what a mesh is and what was repaired.

use super::hole_trace::trace;
use super::topology::Topology;
use crate::math::Aabb;
use crate::par;
use glam::DVec3;

/// Triangles summed together. Fixed, so that the sums do not depend on the number of threads.
const CHUNK: usize = 1 << 14;

/// What a mesh is, and what had to be done to it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshReport {
    /// Vertices after the repair.
    pub vertices: usize,
    /// Triangles after the repair.
    pub triangles: usize,

    // Filled by the repair.
    /// Vertices that became one with an earlier vertex.
    pub welded_vertices: usize,
    /// Triangles removed because they had no area; where that would have opened a slit, the neighbour was split instead.
    pub degenerate: usize,
    /// Triangles removed because the same three vertices had one already, whichever way it faced.
    pub duplicate_faces: usize,
    /// Boundary edges divided at vertices of another boundary that lay on them, by splitting their triangles.
    pub stitched_edges: usize,
    /// Triangles turned around.
    pub flipped_faces: usize,

    // Filled from the topology of the repaired mesh.
    /// Edges with one face.
    pub boundary_edges: usize,
    /// Edges with three or more faces, or with two that run the same way.
    pub nonmanifold_edges: usize,
    /// Parts connected through edges.
    pub components: usize,
    /// Parts without boundary and without non-manifold edges.
    pub closed_components: usize,
    /// No boundary edge and no non-manifold edge.
    pub watertight: bool,
    /// Loops of boundary edges, and chains of them that do not close.
    pub holes: usize,

    // Filled from the positions.
    /// Signed volume [m³]; see [`super::Mesh::mass_properties`] for open meshes.
    pub volume: f64,
    /// Area of all triangles [m²].
    pub area: f64,
    /// Box of all vertices, in the mesh's frame.
    pub aabb: Aabb,
    /// Mean length of an edge [m]; an edge with three or more faces counts once for each.
    pub mean_edge: f64,
    /// Length of the shortest edge [m].
    pub min_edge: f64,
    /// Length of the longest edge [m].
    pub max_edge: f64,
    /// A voxel size to start with [m]: half the mean edge, or a quarter of the box's smallest side (if it has one) if that is less,
    /// but at least 1/512 and at most 1/128 of its largest side; two digits.
    ///
    /// Half an edge resolves what the triangles show. A thin plate needs some voxels across. Below 1/512 a field takes
    /// hundreds of megabytes; above 1/128 the sharp edges of coarse CAD parts are visibly rounded.
    pub suggested_voxel: f64,
}

/// Number of vertices and triangles that each step of the repair touched.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repairs {
    pub(super) welded_vertices: usize,
    pub(super) degenerate: usize,
    pub(super) duplicate_faces: usize,
    pub(super) stitched_edges: usize,
    pub(super) flipped_faces: usize,
}

impl MeshReport {
    /// The report of a mesh with its topology. Linear in the triangles, parallel.
    pub(super) fn of(
        positions: &[DVec3],
        triangles: &[[u32; 3]],
        topology: &Topology,
        repairs: Repairs,
    ) -> Self {
        let ((label, components), (aabb, sums)) =
            par::join(|| topology.components(), || measure(positions, triangles, topology));

        let mut is_closed = vec![true; components];
        for (across, &c) in topology.neighbours.iter().zip(&label) {
            is_closed[c as usize] &= across.iter().all(|&n| n < Topology::NONMANIFOLD);
        }
        let holes = if topology.boundary_edges() > 0 { trace(triangles, topology).len() } else { 0 };
        let mean_edge = if sums.edges > 0.0 { sums.length / sums.edges } else { 0.0 };
        Self {
            vertices: positions.len(),
            triangles: triangles.len(),
            welded_vertices: repairs.welded_vertices,
            degenerate: repairs.degenerate,
            duplicate_faces: repairs.duplicate_faces,
            stitched_edges: repairs.stitched_edges,
            flipped_faces: repairs.flipped_faces,
            boundary_edges: topology.boundary_edges(),
            nonmanifold_edges: topology.nonmanifold_edges(),
            components,
            closed_components: is_closed.iter().filter(|c| **c).count(),
            watertight: topology.boundary_edges() == 0 && topology.nonmanifold_edges() == 0,
            holes,
            volume: sums.volume,
            area: sums.area,
            aabb,
            mean_edge,
            min_edge: sums.shortest,
            max_edge: sums.longest,
            suggested_voxel: suggested_voxel(aabb, mean_edge),
        }
    }
}

#[derive(Clone, Copy)]
struct Sums {
    volume: f64,
    area: f64,
    length: f64,
    edges: f64,
    shortest: f64,
    longest: f64,
}

fn measure(positions: &[DVec3], triangles: &[[u32; 3]], topology: &Topology) -> (Aabb, Sums) {
    let aabb = Aabb::of_points(positions.iter().copied());
    let origin = aabb.centre();
    let zero =
        Sums { volume: 0.0, area: 0.0, length: 0.0, edges: 0.0, shortest: f64::INFINITY, longest: 0.0 };
    let parts = par::map(triangles.len().div_ceil(CHUNK), |i| {
        let mut s = zero;
        let run = i * CHUNK..triangles.len().min((i + 1) * CHUNK);
        for (tri, across) in triangles[run.clone()].iter().zip(&topology.neighbours[run]) {
            let p = tri.map(|v| positions[v as usize] - origin);
            let normal = (p[1] - p[0]).cross(p[2] - p[0]);
            s.volume += p[0].dot(normal) / 6.0;
            s.area += 0.5 * normal.length();
            for (e, &across) in across.iter().enumerate() {
                let length = p[e].distance(p[(e + 1) % 3]);
                // An edge between two triangles is seen twice.
                let share = if across < Topology::NONMANIFOLD { 0.5 } else { 1.0 };
                s.length += share * length;
                s.edges += share;
                s.shortest = s.shortest.min(length);
                s.longest = s.longest.max(length);
            }
        }
        s
    });
    let sums = parts.into_iter().fold(zero, |a, b| Sums {
        volume: a.volume + b.volume,
        area: a.area + b.area,
        length: a.length + b.length,
        edges: a.edges + b.edges,
        shortest: a.shortest.min(b.shortest),
        longest: a.longest.max(b.longest),
    });
    (aabb, sums)
}

/// See [`MeshReport::suggested_voxel`].
fn suggested_voxel(aabb: Aabb, mean_edge: f64) -> f64 {
    let extent = aabb.extent();
    let largest = extent.max_element();
    // A side below the smallest voxel is that of a flat sheet or of a plate too thin to help.
    let thin = extent.to_array().into_iter().filter(|x| *x > largest / 512.0).fold(largest, f64::min);
    let voxel = (0.5 * mean_edge).min(0.25 * thin).clamp(largest / 512.0, largest / 128.0);
    // Through text, because a product with a power of ten is not the nearest number to two digits.
    format!("{voxel:.1e}").parse().unwrap_or(voxel)
}
