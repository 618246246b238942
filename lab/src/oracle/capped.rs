//! The referee for meshes with holes: it closes them as the field does.

use super::{Oracle, OracleError, PairOracle};
use palpate::Mesh;
use palpate::mesh::{CapParams, cap_holes};

impl Oracle {
    /// Exact answers about `mesh` with the caps that `Field::build` adds, so that both speak of the same surface.
    pub fn capped(mesh: &Mesh) -> Result<Self, OracleError> {
        let caps = cap_holes(mesh.positions(), mesh.triangles(), mesh.topology(), &CapParams::default());
        Self::new(
            &[mesh.positions(), &caps.positions].concat(),
            &[mesh.triangles(), &caps.triangles].concat(),
        )
    }
}

impl PairOracle {
    /// Exact answers about two meshes with the caps that `Field::build` adds: see [`Oracle::capped`].
    pub fn capped(a: &Mesh, b: &Mesh) -> Result<Self, OracleError> {
        Ok(Self::of(Oracle::capped(a)?, Oracle::capped(b)?))
    }
}
