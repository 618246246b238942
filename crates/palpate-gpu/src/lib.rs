//! palpate's queries on the GPU.
pub mod build;
mod device;
mod kernel;

pub use build::{BuildError, BuiltField, FieldBuilder, GpuMeshSource};
pub use device::{Gpu, GpuError, GpuParams};
