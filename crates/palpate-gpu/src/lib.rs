//! palpate's queries on the GPU.
mod batch;
mod contacts;
mod device;
mod field;
mod frame;
mod kernel;
mod mesh;
mod sampler;
mod shell;
mod world;

pub use batch::{BatchParams, GpuBatch, Job, Lists};
pub use contacts::{GpuContacts, MeshContacts, MeshJob};
pub use device::{Gpu, GpuError, GpuParams};
pub use field::{GpuField, Interpolation};
pub use mesh::{GpuMesh, VertexLayout};
pub use sampler::GpuSampler;
pub use shell::GpuShell;
pub use wgpu;
pub use world::GpuNarrow;
