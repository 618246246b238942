//! Triangle meshes: reading them, repairing them, and saying what was found.

pub mod samples;

use crate::math::Aabb;
use glam::DVec3;

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
}

impl Mesh {
    /// A mesh from parts whose invariants the caller vouches for: shapes made in code, never input.
    #[doc(hidden)]
    pub fn from_parts_unchecked(positions: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Self {
        Self { positions, triangles }
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
        self.triangles[t].map(|v| self.positions[v as usize])
    }

    /// The box of all vertices.
    pub fn aabb(&self) -> Aabb {
        Aabb::of_points(self.positions.iter().copied())
    }
}
