//! palpate's queries on the GPU.
mod device;
mod kernel;

pub use device::{Gpu, GpuError, GpuParams};
