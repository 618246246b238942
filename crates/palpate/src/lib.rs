//! Contact, distance and force between 3D shapes of any complexity.
//!
//! Data flows one way: [`mesh`] → [`voxmap`] → [`field`]; [`asset`] keeps what was built in a file. Units are SI, frames right-handed,
//! `distance` is signed and negative inside. See CONVENTIONS.md in the repository.

pub mod asset;
pub mod field;
pub mod math;
pub mod mesh;
pub mod par;
pub mod progress;
mod simd;
mod store;
pub mod voxmap;

pub use asset::Asset;
pub use field::Field;
pub use mesh::Mesh;
pub use voxmap::Voxmap;
