//! Meshes that deform: which triangles of two of them meet, wherever their vertices are now.
//!
//! Based on: Hatab, Kheddar, 2006 [hatab06]; van den Bergen, 1997 [bergen97] for the boxes beside it.
//! Differs: pairs are decided exactly; [`Method::Auto`] takes boxes or cuts, whichever needs less work.
//!
//! ```
//! use glam::DVec3;
//! use palpate::mesh::samples;
//! use palpate::soft::{Soft, SoftMesh, SoftParams, contacts};
//!
//! let ball = samples::sphere(1.0, 3);
//! let mut a = SoftMesh::new(ball.positions.clone(), ball.triangles.clone())?;
//! let b = SoftMesh::new(ball.positions.iter().map(|p| *p + DVec3::X * 2.1).collect(), ball.triangles)?;
//! let mut soft = Soft::new(); // memory, reused from step to step
//! assert!(soft.pairs(&a, &b, &SoftParams::default()).list.is_empty());
//! assert!((soft.distance(&a, &b).ok_or("nothing")?.distance - 0.1).abs() < 0.03);
//!
//! // It grows; nothing else has to be told.
//! a.deform(|_, p| 1.2 * p);
//! let pairs = soft.pairs(&a, &b, &SoftParams::default());
//! assert!(!pairs.list.is_empty());
//! let found = contacts(&a, &b, pairs);
//! assert!(found.iter().all(|c| c.point.x > 0.9 && c.depth >= 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod auto;
mod boxes;
mod contacts;
mod continuous;
mod cut;
mod distance;
mod field;
mod field_force;
mod field_reach;
mod field_rigid;
mod field_sample;
mod field_summary;
mod field_vertices;
mod first_contact;
mod hull;
mod leaf;
mod meeting;
mod mesh;
mod pairs;
mod parting;
mod predicates;
mod project;
#[cfg(test)]
mod referee;
mod refit;
mod split;
#[cfg(test)]
mod tests;
mod tri_tri;
mod triangle_distance;

pub use contacts::{SoftContact, contacts};
pub use continuous::{ContinuousParams, Impact, edge_edge, vertex_face};
pub use distance::SoftDistance;
pub use field::{Deepest, FieldContacts, FieldSampler, Place, Sampling, SamplingError};
pub use field_force::{FieldFriction, MeshMotion};
pub use field_rigid::Rigid;
pub use field_summary::FieldSummary;
pub use first_contact::{FirstContact, Touch};
pub use hull::{Hulls, hulls};
pub use meeting::{Meeting, meeting};
pub use mesh::SoftMesh;
pub use pairs::{Method, Pairs, Soft, SoftParams, Stats};
pub use parting::{Parting, parting};
pub use tri_tri::triangles_meet;
pub use triangle_distance::triangle_distance;

/// Why a soft mesh was left as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SoftError {
    /// A triangle names a vertex that is not there.
    #[error("triangle {triangle} names a vertex beyond the {vertices} there are")]
    Index {
        /// Which, in the list that was given.
        triangle: usize,
        /// How many vertices there are.
        vertices: usize,
    },
    /// As many positions as vertices are needed.
    #[error(
        "{given} positions for {has} vertices: give one for each; add_vertices adds some, a new mesh has others"
    )]
    Length {
        /// Vertices of the mesh.
        has: usize,
        /// Positions that were given.
        given: usize,
    },
    /// No such triangle, or it was removed.
    #[error("there is no triangle {triangle} among {count}, or it was removed")]
    NoTriangle {
        /// Its number.
        triangle: u32,
        /// How many numbers there are.
        count: usize,
    },
    /// More than two thousand million of something.
    #[error("a soft mesh has at most 2,147,483,647 vertices and triangles")]
    TooMany,
}
