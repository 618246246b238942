//! Fields built on the device: the same grid, bricks and numbers as [`palpate::Field::build`] makes on the CPU.
//!
//! Based on: Bærentzen, Aanæs, Signed distance computation using the angle weighted pseudonormal, 2005 [baerentzen05] (sides); Barill
//! et al., Fast winding numbers for soups and clouds, 2018 [barill18] (dipoles); Morvan, Reimers, Samset, 2008, section 3.1 [morvan08].
//! Differs: nothing is propagated. Every node, of bricks and of the background, searches its closest triangle in a tree of
//! boxes; so all are exact up to rounding, as with `exact_background` and `exact_bricks` on the CPU. A cell has a brick if its
//! closed cube holds a node within the band (plus 1.38 voxels, plus 0.001 above rounding): a superset of the CPU's by at most
//! the nodes within that thousandth.
//!
//! Steps: triangles and boxes are scaled to voxels; the background is measured, and cells near the surface are listed; their number
//! comes back, the one wait in the middle; their nodes are measured, bricks are put in order and fitted together; sides are
//! checked. Signs are the pseudonormal's where the surface is closed; where the winding number contradicts it, or for open
//! surfaces and overlapping parts, sets of nodes that free space connects are decided by the winding number at their farthest node.

mod kernels;
mod read;
mod run;
mod sign;
mod source;

pub use source::GpuMeshSource;

use crate::device::{Gpu, GpuError};
use kernels::Kernels;
use palpate::field::parts::NodesReport;
use palpate::field::{FieldError, FieldParams, FieldReport, Lattice};
use palpate::progress::Progress;
use run::Scratch;
use std::sync::{Arc, Mutex};

/// Why a field was not built on the device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The same that the CPU says.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The device has no answer.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// Cells whose nodes one submission measures: about 600 million tests of triangles against nodes for a fine scan. Fewer: more
/// submissions, each a few microseconds. More: a weak device may take longer than its driver allows.
const CELLS_AT_ONCE: u32 = 8192;

/// The kernels that build fields, and memory that builds share. One build at a time; others wait.
#[derive(Debug)]
pub struct FieldBuilder {
    gpu: Gpu,
    kernels: Arc<Kernels>,
    scratch: Mutex<Scratch>,
    /// Submit and wait at the end of each stage, so that [`Progress::stage`] tells when each began. Slower; for measurements.
    pub separate_stages: bool,
    /// Cells of 8³ nodes that one submission measures, 1 to 32768. Fewer for a weak device whose driver ends what takes seconds. Results
    /// do not depend on it.
    pub cells_at_once: u32,
}

/// A field on the device.
#[derive(Clone, Debug)]
pub struct BuiltField {
    /// Where the nodes are, in the shape's frame.
    pub lattice: Lattice,
    /// For each cell, x fastest, where its brick begins in `values`, or −1: `i32`.
    pub directory: wgpu::Buffer,
    /// Background nodes, then bricks of 9³ nodes, x fastest: `f32` [voxels], negative inside. What is behind the last brick is not used.
    pub values: wgpu::Buffer,
    /// Number of bricks.
    pub bricks: usize,
    /// What was built, and how far it can be trusted; bounds are those of `f32` values.
    pub report: FieldReport,
    params: FieldParams,
    known: NodesReport,
    kernels: Arc<Kernels>,
}

impl FieldBuilder {
    /// Compiles the kernels, once.
    pub fn new(gpu: &Gpu) -> Result<Self, BuildError> {
        let kernels = Arc::new(Kernels::new(gpu));
        gpu.check()?;
        let scratch = Mutex::new(Scratch::default());
        Ok(Self { gpu: gpu.clone(), kernels, scratch, separate_stages: false, cells_at_once: CELLS_AT_ONCE })
    }

    /// The field of a source with voxels of edge `voxel` [m], on the device.
    ///
    /// Frame: the mesh's. Every node of bricks and background is within 1e-4 + 4.8e-7·n voxels of the exact distance, n voxels along the
    /// grid's longest side; nodes on a face beside a cell without a brick interpolate between background nodes. Signs are
    /// those of [`palpate::Field::build`], except nearer to the surface than rounding. Refuses what that refuses, and
    /// `keep_triangles`; `threads`, `exact_background` and `exact_bricks` change nothing. The encoding is that of a field read back.
    ///
    /// Waits for the device: once for the number of cells, once for the end. Stops between submissions if asked to.
    pub fn build(
        &self,
        source: &GpuMeshSource,
        voxel: f64,
        params: &FieldParams,
        progress: &dyn Progress,
    ) -> Result<BuiltField, BuildError> {
        run::build(self, source, voxel, params, progress)
    }
}
