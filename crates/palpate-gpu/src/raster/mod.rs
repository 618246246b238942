//! A field against a mesh by drawing it: the closest or deepest point, or the force.
//!
//! Based on: Morvan, Reimers, Samset, 2008, sections 3.2 to 3.4, 4.1 and 4.2 [morvan08].
//! Differs: the area of a pixel comes from the triangle's own normal (Eq. 8 takes the interpolated one), and its point from the
//! triangle's plane at the middle of the pixel; damping never pulls (Eq. 4) and friction is none at rest (Eq. 5). Pixels of the three
//! views have one size. Pictures are added up by kernels, not by drawing smaller ones. The picture of the closest point has the
//! distance and the triangle, 8 bytes instead of 16: pixel and triangle say where the point is. Proximity draws each triangle once, as
//! the force does. Depth maps are traced through the field, not drawn from the body's mesh: what they leave out is what the field
//! says is outside, so the answer does not change. The view of a triangle is chosen where its corners are fetched, as there is no
//! geometry shader; early-Z works with that too, where the views are below each other.
//!
//! Legend: `M` the rigid body, with the field; `N` the mesh; `P_i` the square of `law.z` in the shaders; `S_i` `area`.

mod passes;
mod program;
mod target;
mod view;

use crate::device::{Gpu, GpuError};
use crate::field::GpuField;
use crate::frame::Frame;
use crate::kernel::{self, Answer, Kernel};
use crate::mesh::GpuMesh;
use crate::sampler::Told;
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::soft::FieldSummary;
use program::{PUSHED_BYTES, Program};
use target::Targets;
use view::Views;
use wgpu::{BufferUsages, Features, TextureView};

/// Pictures of different sizes, bindings of pairs, and depth maps that are kept.
const KEPT_TARGETS: usize = 4;
const KEPT_PAIRS: usize = 64;
const KEPT_MAPS: usize = 24;
/// Smallest and largest size of a picture.
const SIZES: core::ops::RangeInclusive<u32> = 16..=4096;

/// How finely a mesh is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RasterParams {
    /// Pixels along the longest side of the box that is drawn, 16 to 4096. Pixels are square and the same in all three views: a shorter
    /// side has fewer.
    pub size: u32,
    /// How much is drawn around the field's box when the closest point is asked for [largest extents of the box]. Pixels grow with it.
    pub pad: f64,
}

impl Default for RasterParams {
    /// The paper's 1024, and half the box on each side.
    fn default() -> Self {
        Self { size: 1024, pad: 0.5 }
    }
}

impl RasterParams {
    /// Whether they are in range.
    pub fn check(&self) -> Result<(), GpuError> {
        if !SIZES.contains(&self.size) {
            return Err(GpuError::BadParameter {
                name: "size",
                value: self.size.to_string(),
                expected: "give 16 to 4096 pixels",
            });
        }
        if !(0.0..=16.0).contains(&self.pad) {
            return Err(GpuError::BadParameter {
                name: "pad",
                value: self.pad.to_string(),
                expected: "give 0 to 16 times the largest extent of the box",
            });
        }
        Ok(())
    }
}

/// How forces are drawn. The answer is the same but for the order of its sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RasterMode {
    /// Three times over the mesh, once along each axis: section 3.4.
    Basic,
    /// The same, with what is in front of the body, seen from the mesh's side, left out by the depth test: section 4.1.
    EarlyZ,
    /// Once over the mesh, each triangle in its own view: section 4.2.
    #[default]
    SinglePass,
    /// Once over the mesh with the depth test: the views are below each other, in pictures three times as large.
    SinglePassEarlyZ,
}

impl RasterMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Basic, Self::EarlyZ, Self::SinglePass, Self::SinglePassEarlyZ];

    fn early(self) -> bool {
        matches!(self, Self::EarlyZ | Self::SinglePassEarlyZ)
    }
}

/// Pipelines, pictures and memory for questions about a field and a mesh. One for each thread.
///
/// A mesh is sampled where a pixel's middle is on one of its triangles: what falls between them is not seen. So sums over an area are off
/// by about its border times the edge of a pixel, at most, and a closest point by that of the field within a pixel's diagonal.
#[derive(Debug)]
pub struct GpuRaster {
    gpu: Gpu,
    params: RasterParams,
    programs: [Option<Program>; 3],
    sum: (Kernel, Kernel),
    partials: wgpu::Buffer,
    frame: wgpu::Buffer,
    answer: Answer,
    targets: Vec<Targets>,
    pairs: Vec<Pair>,
    maps: Vec<Map>,
}

/// Bindings of a field and a mesh.
#[derive(Debug)]
struct Pair {
    key: (u64, u64),
    draw: wgpu::BindGroup,
    /// With the picture they are for.
    least: Option<(u64, wgpu::BindGroup)>,
}

/// Where a field's body begins, seen along an axis from one side; or along all three, from the sides that the bits say.
#[derive(Clone, Debug)]
struct Map {
    key: (u64, u32, u32),
    view: TextureView,
}

impl GpuRaster {
    /// Compiles what every question needs; the rest is compiled, and pictures are made, when they are first asked for.
    pub fn new(gpu: &Gpu, params: RasterParams) -> Result<Self, GpuError> {
        params.check()?;
        let out = Self {
            gpu: gpu.clone(),
            params,
            programs: [None, None, None],
            sum: program::sums(gpu),
            partials: target::partials(gpu),
            frame: kernel::room(gpu, "frame", 128, BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            answer: Answer::new(gpu, "answer", size_of::<Told>() as u64),
            targets: Vec::new(),
            pairs: Vec::new(),
            maps: Vec::new(),
        };
        gpu.check()?;
        Ok(out)
    }

    /// How finely it draws.
    pub fn params(&self) -> &RasterParams {
        &self.params
    }

    /// Edge of a pixel when forces in this field are drawn [m].
    pub fn pixel(&self, field: &GpuField) -> f64 {
        f64::from(Views::new(field.lattice.dims(), 0.0, self.params.size, false).edge) * field.lattice.voxel
    }

    /// The force of the field's body on the mesh.
    ///
    /// As [`crate::GpuSampler::collide`] but for what is sampled: pixels instead of parts of triangles, and no deepest point. `samples` and
    /// `used` of the force are the pixels inside the body, one for each triangle there; up to 4095 of them on one pixel are counted right.
    /// The mesh's own spacing plays no part. Area and force are off by at most about the border of the area in contact times the edge of a
    /// pixel, [`GpuRaster::pixel`], and usually far less; distances as the field's interpolation has them. Graphics interfaces promise that
    /// pixels are blended in the order of the triangles, so the same bits come every time on one device.
    ///
    /// Needs blending of 32-bit floats; where a device has none the error says so. Cost: one submission and one wait; time grows with
    /// triangles, pixels, and those of them inside the body, which are blended. Pictures take 36 bytes a pixel; depth maps are made with the first question that
    /// needs them, 4 bytes a pixel.
    pub fn collide(
        &mut self,
        field: &GpuField,
        mesh: &GpuMesh,
        field_from_mesh: &Pose,
        params: &ForceParams,
        motion: &Twist,
        mode: RasterMode,
    ) -> Result<FieldSummary, GpuError> {
        self.can_blend()?;
        let Some(frame) = Frame::new(field, mesh, field_from_mesh, 0.0, params, motion) else {
            return Ok(FieldSummary { non_finite: true, ..FieldSummary::default() });
        };
        let tiled = mode == RasterMode::SinglePassEarlyZ;
        let views = Views::new(field.lattice.dims(), 0.0, self.params.size, tiled);
        let behind = if mode.early() { view::behind(field, field_from_mesh.point(mesh.centre)) } else { 0 };
        let mut numbers = frame.numbers;
        views.number(&mut numbers, field, behind);
        let told = self.push(field, mesh, &views, behind, mode, &numbers)?;
        let found = frame.summary(&told, field, field_from_mesh, params, true);
        Ok(FieldSummary { coarse: false, culled: 0, ..found })
    }

    /// The point of the mesh that is closest to the field's body, or deepest in it: section 3.3.
    ///
    /// The least of all pixels; of several as deep the first. Above the least value on the mesh by at most the field's steepness times 1.3
    /// pixels inside of triangles, 2 at their edges; what is smaller than a pixel may be missed. Only what is in the field's box and
    /// [`RasterParams::pad`] around it is drawn, in pixels that are as much larger; outside the field's box a distance is the least it
    /// can be, as [`palpate::field::Field::sample`] has it. Where nothing is drawn there is no deepest point; there, and where what is drawn is farther than the pad, `farther_than` is the pad
    /// [m]. `samples` are pixels with something. The same bits every time on one device.
    ///
    /// `single_pass`: once over the mesh instead of once along each axis; the same answer but for ties. Cost as
    /// [`GpuRaster::collide`]; pictures take 12 bytes a pixel.
    pub fn nearest(
        &mut self,
        field: &GpuField,
        mesh: &GpuMesh,
        field_from_mesh: &Pose,
        single_pass: bool,
    ) -> Result<FieldSummary, GpuError> {
        let params = ForceParams::default();
        let Some(frame) = Frame::new(field, mesh, field_from_mesh, 0.0, &params, &Twist::ZERO) else {
            return Ok(FieldSummary { non_finite: true, ..FieldSummary::default() });
        };
        let dims = field.lattice.dims();
        let pad = self.params.pad * f64::from(dims.into_iter().max().unwrap_or(0));
        let views = Views::new(dims, pad, self.params.size, false);
        let mut numbers = frame.numbers;
        views.number(&mut numbers, field, 0);
        let told = self.near(field, mesh, &views, single_pass, &numbers)?;
        let found = frame.summary(&told, field, field_from_mesh, &params, false);
        let reach = pad * field.lattice.voxel;
        // What is not drawn may be nearer than what is.
        let farther_than = found.deepest.is_none_or(|d| d.distance > reach).then_some(reach);
        Ok(FieldSummary { coarse: false, culled: 0, farther_than, ..found })
    }

    fn can_blend(&self) -> Result<(), GpuError> {
        let bytes = self.gpu.device.limits().max_color_attachment_bytes_per_sample;
        if self.gpu.has(Features::FLOAT32_BLENDABLE) && bytes >= PUSHED_BYTES {
            return Ok(());
        }
        Err(GpuError::Unsupported {
            device: self.gpu.name().to_owned(),
            what: "blending of 32-bit floats",
            instead: "use GpuSampler, the compute path, which needs none",
        })
    }
}

fn missing(gpu: &Gpu) -> GpuError {
    GpuError::Lost { device: gpu.name().to_owned(), reason: "a pipeline could not be made".to_owned() }
}

#[cfg(test)]
mod tests;
