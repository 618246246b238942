//! palpate's queries on the GPU.
mod batch;
pub mod build;
mod device;
mod field;
mod frame;
mod kernel;
mod mesh;
mod raster;
mod sampler;
mod shell;

pub use batch::{BatchParams, GpuBatch, Job, Lists};
pub use build::{BuildError, BuiltField, FieldBuilder, GpuMeshSource};
pub use device::{Gpu, GpuError, GpuParams};
pub use field::{GpuField, Interpolation};
pub use mesh::{GpuMesh, VertexLayout};
pub use raster::{GpuRaster, RasterMode, RasterParams};
pub use sampler::GpuSampler;
pub use shell::GpuShell;
