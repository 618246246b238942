//! Contact, distance and force between 3D shapes of any complexity.
//!
//! Data flows one way: [`mesh`] → [`voxmap`] → [`field`]. Units are SI, frames right-handed,
//! `distance` is signed and negative inside. See CONVENTIONS.md in the repository.

pub mod field;
pub mod math;
pub mod mesh;
pub mod par;
pub mod progress;
mod simd;
pub mod voxmap;

pub use field::Field;
pub use mesh::Mesh;
pub use voxmap::Voxmap;
