//! Triangle meshes: reading them, repairing them, and saying what was found.
//!
//! A [`RawMesh`] is what a file holds; a [`Mesh`] keeps its invariants, and its [`MeshReport`] says what that took.
//!
//! ```
//! use palpate::mesh::{Format, Mesh, RawMesh, RepairParams};
//!
//! // One face of the tetrahedron looks inward, another comes twice; numbers are millimetres.
//! let obj = b"v 0 0 0\nv 10 0 0\nv 0 10 0\nv 0 0 10\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 4 3\nf 1 4 3\n";
//! let mesh = Mesh::new(RawMesh::from_bytes(obj, Format::Obj, 1e-3)?, &RepairParams::default())?;
//!
//! let report = mesh.report();
//! assert_eq!((report.triangles, report.duplicate_faces, report.flipped_faces), (4, 1, 1));
//! assert!(report.watertight);
//! let exact = 1e-2_f64.powi(3) / 6.0; // [m³]
//! assert!((report.volume - exact).abs() < 1e-12 * exact);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod build;
mod cap;
mod check;
mod error;
mod gltf;
mod gltf_data;
mod gltf_instances;
mod hash_table;
mod hole_fill;
mod hole_trace;
mod load;
mod mass;
mod obj;
mod off;
mod orient;
pub(crate) mod ply;
pub(crate) mod ply_header;
pub(crate) mod read_error;
#[cfg(test)]
mod repair_tests;
pub mod samples;
mod scale;
#[cfg(test)]
pub(crate) mod shapes;
pub(crate) mod sliver;
mod soup;
mod stitch;
mod stl;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod thicken;
pub(crate) mod topology;
mod triangulate;
mod weld;
mod winding;
mod write;

use crate::math::Aabb;
use glam::DVec3;
use std::sync::OnceLock;

pub use build::RepairParams;
pub use cap::{CapParams, Caps, Hole, HoleOutcome, cap_holes};
pub use check::MeshReport;
pub use error::MeshError;
pub use gltf_instances::{MeshInstance, MeshInstances};
pub use load::{Format, unit_scale};
pub use mass::MassProperties;
pub use read_error::{Place, ReadError};
pub use thicken::{Thickened, below_front, thicken};
pub use topology::Topology;
pub use winding::winding_number_exact;
pub use write::{write_obj, write_ply, write_stl};

/// Triangles as a file or a generator gives them: nothing is promised, indices may be out of range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawMesh {
    /// Vertex positions [m].
    pub positions: Vec<DVec3>,
    /// Vertex indices, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// A cleaned triangle mesh, in its own frame [m].
///
/// Invariants: at least one triangle; every position finite; every index in range; no two vertices at the same
/// position (within the weld tolerance); no triangle of zero area; no triangle twice; orientation consistent
/// within each connected component.
#[derive(Clone, Debug)]
pub struct Mesh {
    pub(crate) positions: Vec<DVec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) topology: Topology,
    pub(crate) report: MeshReport,
    /// Made on first use.
    pub(crate) closed: OnceLock<Closed>,
}

/// A mesh with the caps of its holes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closed {
    pub(crate) caps: Caps,
    /// The mesh's triangles, then the caps', and their neighbours; empty without caps.
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) topology: Topology,
}

impl Mesh {
    /// Reads and repairs a mesh file; `scale` is metres per file unit. See [`RawMesh::load`] and [`Mesh::new`].
    pub fn load(path: impl AsRef<std::path::Path>, scale: f64) -> Result<Self, MeshError> {
        Self::new(RawMesh::load(path, scale)?, &RepairParams::default())
    }

    /// A mesh from parts whose invariants the test vouches for.
    #[cfg(test)]
    pub(crate) fn from_parts_unchecked(positions: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Self {
        let topology = Topology::build(&triangles, positions.len());
        let report = MeshReport::of(&positions, &triangles, &topology, Default::default());
        Self { positions, triangles, topology, report, closed: OnceLock::new() }
    }

    /// The mesh with its holes capped: found once, however many fields are built.
    pub(crate) fn closed(&self) -> &Closed {
        self.closed.get_or_init(|| {
            let caps = cap_holes(&self.positions, &self.triangles, &self.topology, &CapParams::default());
            if caps.triangles.is_empty() {
                return Closed { caps, ..Default::default() };
            }
            let triangles = [&self.triangles[..], &caps.triangles].concat();
            let topology = Topology::build(&triangles, self.positions.len() + caps.positions.len());
            Closed { caps, triangles, topology }
        })
    }

    /// Vertex positions [m].
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// Vertex indices, counter-clockwise from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The three corners of triangle `t` [m].
    pub fn corners(&self, t: usize) -> [DVec3; 3] {
        // Not `map`, which stays a call.
        let [a, b, c] = self.triangles[t];
        [self.positions[a as usize], self.positions[b as usize], self.positions[c as usize]]
    }

    /// Which triangle lies across each edge.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What the mesh is, and what was repaired.
    pub fn report(&self) -> &MeshReport {
        &self.report
    }

    /// The box of all vertices.
    pub fn aabb(&self) -> Aabb {
        self.report.aabb
    }
}
