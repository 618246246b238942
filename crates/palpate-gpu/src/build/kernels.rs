//! The kernels of a build, compiled once, and the numbers they share.

use super::source::GpuMeshSource;
use crate::device::Gpu;
use crate::kernel::Slot::{Paint, Read, Uniform, Write};
use crate::kernel::{Kernel, Slot, buffer, module};
use palpate::field::Lattice;
use wgpu::{BufferUsages, TextureFormat};

const COMMON: &str = include_str!("../shaders/build_common.wgsl");
const NEAREST: &str = include_str!("../shaders/build_nearest.wgsl");
const FRONT: &str = include_str!("../shaders/build_front.wgsl");
const WINDING: &str = include_str!("../shaders/build_winding.wgsl");
const AROUND: &str = include_str!("../shaders/build_around.wgsl");

/// `Build` of the shaders.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Numbers {
    pub(super) cells: [u32; 3],
    pub(super) triangles: u32,
    pub(super) offset: [f32; 3],
    pub(super) scale: f32,
    pub(super) scale_rest: f32,
    pub(super) half_width: f32,
    pub(super) slack: f32,
    pub(super) spare: f32,
    pub(super) counts: [u32; 8],
    pub(super) starts: [u32; 8],
    pub(super) vertices: u32,
    pub(super) mode: u32,
    pub(super) candidates: u32,
    pub(super) first: u32,
    pub(super) length: u32,
    pub(super) windows: u32,
    pub(super) length_at_once: u32,
    pub(super) spares: [u32; 1],
}

/// How much farther than the CPU's band nodes give their cell a brick [voxels]: above all rounding, so that no cell is missed.
pub(super) const BAND_SLACK: f64 = 1e-3;

impl Numbers {
    pub(super) fn new(source: &GpuMeshSource, lattice: &Lattice, half_width: f64) -> Self {
        let parts = &source.parts;
        let scale = parts.unit / lattice.voxel;
        let largest = f64::from(*lattice.dims().iter().max().unwrap_or(&8));
        Self {
            cells: lattice.cells,
            triangles: source.triangles() as u32,
            offset: ((parts.middle - lattice.origin) / lattice.voxel).as_vec3().to_array(),
            scale: scale as f32,
            scale_rest: (scale - f64::from(scale as f32)) as f32,
            half_width: (half_width + BAND_SLACK) as f32,
            slack: (1e-4 + 1e-6 * largest) as f32,
            counts: source.counts,
            starts: source.starts,
            vertices: parts.positions().len() as u32,
            ..Default::default()
        }
    }

    pub(super) fn corners(&self) -> u32 {
        self.cells.iter().map(|c| c + 1).product()
    }

    /// A buffer of these numbers, for one dispatch or several.
    pub(super) fn uniform(&self, gpu: &Gpu) -> wgpu::Buffer {
        buffer(gpu, "build", core::slice::from_ref(self), BufferUsages::UNIFORM)
    }
}

#[derive(Debug)]
pub(super) struct Kernels {
    pub(super) scale: Kernel,
    pub(super) background: Kernel,
    pub(super) scan: [Kernel; 2],
    pub(super) gather: Kernel,
    pub(super) bricks: Kernel,
    pub(super) refine: Kernel,
    pub(super) directory: Kernel,
    pub(super) assemble: Kernel,
    pub(super) finish: Kernel,
    pub(super) check: Kernel,
    pub(super) faults: [Kernel; 2],
    /// Decide, settle.
    pub(super) resign: [Kernel; 2],
    /// Begin, join, flatten, choose, apply.
    pub(super) sets: [Kernel; 6],
    /// Collect, decide.
    pub(super) sides: [Kernel; 2],
    pub(super) dense: Kernel,
}

/// What [`NEAREST`] is bound to; [`FRONT`] searches it.
const SEARCH: [Slot; 5] = [Uniform, Read, Read, Read, Read];
/// What [`WINDING`] is bound to.
const WOUND: [Slot; 4] = [Uniform, Read, Read, Read];

impl Kernels {
    pub(super) fn new(gpu: &Gpu) -> Self {
        let make = |label, parts: &[&str], entries: &[&str], slots: &[Slot]| -> Vec<Kernel> {
            let module = module(gpu, label, &parts.concat());
            entries.iter().map(|e| Kernel::of(gpu, label, &module, e, slots, false, &[])).collect()
        };
        let one = |label, parts: &[&str], entry, slots: &[Slot]| {
            Kernel::new(gpu, label, &parts.concat(), entry, slots, false)
        };
        let cells = include_str!("../shaders/build_cells.wgsl");
        let cell_slots = [Uniform, Read, Read, Write, Write, Write, Write, Read];
        let sets = make(
            "sets",
            &[COMMON, include_str!("../shaders/build_sets.wgsl")],
            &["begin", "join_all", "flatten", "choose", "apply", "begin_cells"],
            &[Uniform, Read, Read, Write, Write, Write, Write, Write],
        );
        let resign = make(
            "sides anew",
            &[COMMON, WINDING, include_str!("../shaders/build_resign.wgsl")],
            &["resign", "settle"],
            &[&WOUND[..], &[Read, Write, Write, Read, Write]].concat(),
        );
        Self {
            scale: one(
                "scale",
                &[COMMON, include_str!("../shaders/build_scale.wgsl")],
                "scale",
                &[Uniform, Read, Read, Read, Read, Write, Write],
            ),
            background: one(
                "background",
                &[COMMON, NEAREST, FRONT, include_str!("../shaders/build_background.wgsl")],
                "measure",
                &[&SEARCH[..], &[Write, Write, Write]].concat(),
            ),
            scan: pair(make(
                "sums",
                &[COMMON, include_str!("../shaders/build_scan.wgsl")],
                &["groups_of", "totals"],
                &[Uniform, Read, Write, Write],
            )),
            gather: one("cells", &[COMMON, cells], "gather", &cell_slots),
            bricks: one(
                "bricks",
                &[COMMON, NEAREST, FRONT, include_str!("../shaders/build_bricks.wgsl")],
                "measure",
                &[&SEARCH[..], &[Read, Write, Write, Read]].concat(),
            ),
            refine: one("cells", &[COMMON, cells], "refine", &cell_slots),
            directory: one(
                "directory",
                &[COMMON, include_str!("../shaders/build_directory.wgsl")],
                "write",
                &[Uniform, Read, Read, Read, Write, Write, Write],
            ),
            assemble: one(
                "assemble",
                &[COMMON, include_str!("../shaders/build_assemble.wgsl")],
                "assemble",
                &[Uniform, Read, Read, Read, Read, Read, Write, Write],
            ),
            finish: one(
                "finish",
                &[COMMON, include_str!("../shaders/build_finish.wgsl")],
                "finish",
                &[Uniform, Read, Read, Write, Write],
            ),
            check: one(
                "check",
                &[COMMON, WINDING, AROUND, include_str!("../shaders/build_check.wgsl")],
                "check",
                &[&WOUND[..], &[Read, Write]].concat(),
            ),
            faults: pair(make(
                "faults",
                &[COMMON, include_str!("../shaders/build_faults.wgsl")],
                &["background_faults", "brick_faults"],
                &[Uniform, Read, Read, Read, Read, Write, Write, Write],
            )),
            resign: pair(resign),
            sets: pair(sets),
            sides: pair(make(
                "sides of sets",
                &[COMMON, WINDING, AROUND, include_str!("../shaders/build_sides.wgsl")],
                &["collect", "decide"],
                &[&WOUND[..], &[Read, Read, Write, Write, Write]].concat(),
            )),
            dense: one(
                "dense",
                &[COMMON, include_str!("../shaders/build_dense.wgsl")],
                "dense",
                &[Uniform, Read, Read, Paint(TextureFormat::R32Float)],
            ),
        }
    }
}

/// As many as were asked for.
fn pair<const N: usize>(kernels: Vec<Kernel>) -> [Kernel; N] {
    kernels.try_into().unwrap_or_else(|_| unreachable!())
}
