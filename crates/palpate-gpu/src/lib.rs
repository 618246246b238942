//! palpate's queries on the GPU.
mod device;
mod field;
mod frame;
mod kernel;
mod mesh;
mod raster;
mod sampler;

pub use device::{Gpu, GpuError, GpuParams};
pub use field::{GpuField, Interpolation};
pub use mesh::{GpuMesh, VertexLayout};
pub use raster::{GpuRaster, RasterMode, RasterParams};
pub use sampler::GpuSampler;
