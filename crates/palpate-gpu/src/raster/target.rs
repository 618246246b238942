//! Pictures that are drawn into, and what reads them.

use super::program::{COUNTS, FORCES, NEAREST};
use crate::device::{Gpu, GpuError};
use crate::kernel::{self, Kernel};
use crate::mesh::next_id;
use wgpu::{BindingResource, TextureFormat, TextureUsages, TextureView};

/// Rows and columns of a square that a workgroup adds up, as in the shaders.
const SQUARE: u32 = 16;
/// Most workgroups that add up a picture: what a large device runs at once.
pub(super) const GROUPS: u32 = 1056;

/// Pictures of one size.
#[derive(Debug)]
pub(super) struct Targets {
    pub(super) size: [u32; 2],
    /// What bind groups are made for.
    pub(super) id: u64,
    /// Counts, forces, torques; made when forces are first asked for.
    pub(super) sums: Option<Sums>,
    /// Distances with triangles, and the depth that sorts them.
    pub(super) nearest: Option<[TextureView; 2]>,
}

#[derive(Debug)]
pub(super) struct Sums {
    pub(super) views: [TextureView; 3],
    pub(super) group: wgpu::BindGroup,
}

impl Targets {
    pub(super) fn new(size: [u32; 2]) -> Self {
        Self { size, id: next_id(), sums: None, nearest: None }
    }

    /// Workgroups that add it up.
    pub(super) fn groups(&self) -> u32 {
        let [x, y] = self.size.map(|n| n.div_ceil(SQUARE));
        (x * y).clamp(1, GROUPS)
    }

    pub(super) fn sums(
        &mut self,
        gpu: &Gpu,
        sum: &Kernel,
        partials: &wgpu::Buffer,
        answer: &wgpu::Buffer,
    ) -> Result<&Sums, GpuError> {
        if self.sums.is_none() {
            let views = [
                picture(gpu, "counts", self.size, COUNTS)?,
                picture(gpu, "forces", self.size, FORCES)?,
                picture(gpu, "torques", self.size, FORCES)?,
            ];
            let [counts, forces, torques] = views.each_ref().map(BindingResource::TextureView);
            let all = [counts, forces, torques, partials.as_entire_binding(), answer.as_entire_binding()];
            let group = sum.bind(gpu, &all);
            self.sums = Some(Sums { views, group });
        }
        self.sums.as_ref().ok_or_else(|| super::missing(gpu))
    }

    pub(super) fn nearest(&mut self, gpu: &Gpu) -> Result<&[TextureView; 2], GpuError> {
        if self.nearest.is_none() {
            let found = picture(gpu, "nearest", self.size, NEAREST)?;
            let depth = picture(gpu, "depth", self.size, TextureFormat::Depth32Float)?;
            self.nearest = Some([found, depth]);
        }
        self.nearest.as_ref().ok_or_else(|| super::missing(gpu))
    }
}

/// A picture that is drawn into, and read by kernels.
pub(super) fn picture(
    gpu: &Gpu,
    label: &'static str,
    size: [u32; 2],
    format: TextureFormat,
) -> Result<TextureView, GpuError> {
    let limit = gpu.device.limits().max_texture_dimension_2d;
    let largest = size[0].max(size[1]);
    if largest > limit {
        return Err(GpuError::TooLarge {
            what: "a picture of this size",
            needed: largest.into(),
            limit: limit.into(),
            unit: "pixels along a side",
            device: gpu.name().to_owned(),
            instead: "use a smaller size, or the compute path",
        });
    }
    // Out of memory is told here, not by the next question: nothing is lost by it.
    let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some(label),
        size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
        view_formats: &[],
    });
    if pollster::block_on(scope.pop()).is_some() {
        return Err(GpuError::Unsupported {
            device: gpu.name().to_owned(),
            what: "memory left for pictures of this size",
            instead: "use a smaller size, or the compute path",
        });
    }
    gpu.check()?;
    Ok(texture.create_view(&Default::default()))
}

/// What a pass draws into: cleared to a value, or kept from the pass before.
pub(super) fn attach<'a>(
    view: &'a TextureView,
    clear: Option<wgpu::Color>,
) -> Option<wgpu::RenderPassColorAttachment<'a>> {
    let load = clear.map_or(wgpu::LoadOp::Load, wgpu::LoadOp::Clear);
    let ops = wgpu::Operations { load, store: wgpu::StoreOp::Store };
    Some(wgpu::RenderPassColorAttachment { view, depth_slice: None, resolve_target: None, ops })
}

/// Memory for the sums of workgroups.
pub(super) fn partials(gpu: &Gpu) -> wgpu::Buffer {
    kernel::room(gpu, "partials", 64 * u64::from(GROUPS), wgpu::BufferUsages::STORAGE)
}
