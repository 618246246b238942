//! Contact, distance and force between 3D shapes of any complexity.
//!
//! Data flows one way: [`mesh`] → [`voxmap`] → [`field`]; [`asset`] keeps what was built in a file. Units are SI, frames right-handed,
//! `distance` is signed and negative inside. See CONVENTIONS.md in the repository.
//!
//! From a mesh to a field that can be asked and that says how far it can be trusted:
//!
//! ```
//! use glam::DVec3;
//! use palpate::field::FieldParams;
//! use palpate::mesh::{RepairParams, samples};
//! use palpate::{Field, Mesh};
//!
//! // A gear that the crate makes itself; `Mesh::load("gear.stl", 1e-3)` reads a file in millimetres.
//! let gear = samples::by_name("gear").ok_or("no such sample")?;
//! let mesh = Mesh::new(gear, &RepairParams::default())?;
//! assert!(mesh.report().watertight);
//!
//! let voxel = 1e-3; // [m]
//! let field = Field::build(&mesh, voxel, &FieldParams::default())?;
//!
//! // Far above the gear: positive, and the gradient points away from it.
//! let above = field.sample(mesh.aabb().centre() + DVec3::Z * 0.05);
//! assert!(above.distance > 0.0 && above.gradient.z > 0.0);
//!
//! // Close to a vertex: on the surface, within the error that the field reports.
//! let on_surface = field.sample(mesh.positions()[0]);
//! assert!(on_surface.distance.abs() <= field.report().error_bound_band);
//! assert!(field.report().error_bound_band < voxel);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod asset;
pub mod contact;
pub mod field;
pub mod force;
pub mod manifold;
pub mod math;
pub mod mesh;
pub mod par;
pub mod progress;
pub mod query;
pub mod reduce;
pub mod shape;
pub mod shell;
mod simd;
mod store;
pub mod tree;
pub mod voxmap;
pub mod world;

pub use asset::Asset;
pub use contact::{Contact, Contacts};
pub use field::Field;
pub use math::{Pose, Wrench};
pub use mesh::Mesh;
pub use query::Query;
pub use shape::Shape;
pub use shell::Shell;
pub use tree::Tree;
pub use voxmap::Voxmap;
pub use world::World;
