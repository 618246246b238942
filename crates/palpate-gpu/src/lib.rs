//! palpate's queries on the GPU: a field against any mesh, thousands of poses at once, and fields built there.
//!
//! Runs on wgpu: Vulkan, Metal and DX12, and without a window on Mesa's llvmpipe. Results are the engine's own types
//! ([`palpate::soft::FieldSummary`], [`palpate::force::PoseSummary`]), in its frames, units and signs; the CPU is the referee, and what
//! differs from it is stated where it is asked.
//!
//! - [`Gpu`] is an open device, [`GpuField`], [`GpuMesh`] and [`GpuShell`] are what stays on it between questions.
//! - [`GpuSampler`] asks about a field and a mesh whose vertices move: the closest or deepest point, or the force. Compute kernels,
//!   at a stated spacing; the same bits every time.
//! - [`GpuBatch`] asks about many poses of many pairs in one submission: contacts, the deepest, the force, the nearest point;
//!   [`GpuBatch::pair`] about any number of poses of one pair, as the CPU's batches tell them.
//! - [`GpuPoints`] asks how far many points are from a surface.
//! - [`GpuNarrow`] finds the contacts of a [`palpate::world::World`], [`GpuContacts`] those of a mesh in many fields, one by one.
//! - [`FieldBuilder`] builds fields.
//!
//! ```
//! use glam::DVec3;
//! use palpate::field::Field;
//! use palpate::force::{ForceParams, Twist};
//! use palpate::mesh::{Mesh, samples};
//! use palpate::{Pose, soft::SoftMesh};
//! use palpate_gpu::{Gpu, GpuError, GpuField, GpuMesh, GpuParams, GpuSampler, Interpolation};
//!
//! let gpu = match Gpu::open(&GpuParams::default()) {
//!     Err(GpuError::NoAdapter { .. }) => return Ok(()), // Ask the CPU.
//!     other => other?,
//! };
//! let ball = Mesh::new(samples::sphere(0.05, 4), &Default::default())?;
//! let field = GpuField::new(&gpu, &Field::build(&ball, 2e-3, &Default::default())?, Interpolation::Shader)?;
//! let mut skin = SoftMesh::from_mesh(&ball);
//! let mut mesh = GpuMesh::new(&gpu, &skin, 2e-3)?; // samples every 2 mm
//! let mut sampler = GpuSampler::new(&gpu)?;
//!
//! // Every frame: move the vertices, then ask.
//! skin.deform(|_, p| p * 0.9);
//! mesh.update(&gpu, skin.positions())?;
//! let field_from_mesh = Pose::from_translation(DVec3::X * 0.08);
//! let found = sampler.collide(&field, &mut mesh, &field_from_mesh, 0.0, &ForceParams::new(1e8), &Twist::ZERO)?;
//! assert!(found.force.wrench.force.x > 0.0); // it is pushed out
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
pub mod build;
mod contacts;
mod device;
mod field;
mod frame;
mod kernel;
mod list;
mod mesh;
mod pair;
mod points;
mod raster;
mod sampler;
mod shell;
mod world;

pub use batch::{BatchParams, GpuBatch, Job, Lists};
pub use build::{BuildError, BuiltField, FieldBuilder, GpuMeshSource};
pub use contacts::{GpuContacts, MeshContacts, MeshJob};
pub use device::{Gpu, GpuError, GpuParams};
pub use field::{GpuField, Interpolation};
pub use list::{DeviceInfo, DeviceKind, devices};
pub use mesh::{GpuMesh, VertexLayout};
pub use pair::{PairFound, PairJob};
pub use points::GpuPoints;
pub use raster::{GpuRaster, RasterMode, RasterParams};
pub use sampler::GpuSampler;
pub use shell::GpuShell;
pub use wgpu;
pub use world::GpuNarrow;
