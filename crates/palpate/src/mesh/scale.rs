//! A mesh in another scale.

use super::{Caps, Closed, Hole, Mesh, MeshReport};
use glam::DVec3;
use std::sync::OnceLock;

impl Hole {
    /// The same hole in another scale.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let Self { edges, centre, area, perimeter, component, outcome } = *self;
        Self {
            edges,
            centre: centre * factor,
            area: area * factor * factor,
            perimeter: perimeter * factor,
            component,
            outcome,
        }
    }
}

impl Mesh {
    /// The same mesh in another scale, a positive number that keeps coordinates in their range. Vertices and triangles keep their
    /// numbers, and the caps of its holes their triangles.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let scaled = |all: &[DVec3]| -> Vec<DVec3> { all.iter().map(|p| *p * factor).collect() };
        let positions = scaled(&self.positions);
        let r = &self.report;
        let report = MeshReport {
            welded_vertices: r.welded_vertices,
            degenerate: r.degenerate,
            duplicate_faces: r.duplicate_faces,
            stitched_edges: r.stitched_edges,
            flipped_faces: r.flipped_faces,
            ..MeshReport::of(&positions, &self.triangles, &self.topology, Default::default())
        };
        let closed = OnceLock::new();
        // Sought again they might be triangulated otherwise where rounding decides, but points and fields know their numbers.
        if r.boundary_edges > 0 {
            let Closed { caps, triangles, topology } = self.closed();
            let caps = Caps {
                positions: scaled(&caps.positions),
                triangles: caps.triangles.clone(),
                holes: caps.holes.iter().map(|h| h.scaled(factor)).collect(),
            };
            let all = Closed { caps, triangles: triangles.clone(), topology: topology.clone() };
            closed.get_or_init(|| all);
        }
        let (triangles, topology) = (self.triangles.clone(), self.topology.clone());
        Self { positions, triangles, topology, report, closed }
    }
}
