//! A field on the GPU: sparse, as the engine has it, and where asked for as a 3D texture.
//!
//! Based on: Morvan, Reimers, Samset, 2008, section 3.1 [morvan08].
//! Differs: the field is the engine's sparse one, interpolated in the shader, which gives the CPU's numbers; the paper's texture of
//! directions and distances is there too, filled from it on the GPU. Lengths are in voxels on the device, so that any scale keeps
//! its digits.

use crate::device::{Gpu, GpuError};
use crate::kernel::{self, Kernel, Slot};
use palpate::field::{Field, Lattice};
use wgpu::{BufferUsages, Features, TextureFormat};

/// How a field's values are found between its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// In the shader, from the sparse field: the CPU's numbers within rounding. Needs nothing of the device.
    #[default]
    Shader,
    /// By the texture units, from a texture of distances: their weights have 8 bits. Directions from the eight nodes around.
    Texture,
    /// By the texture units, from a texture of directions and distances: the paper's way. 16 bytes a node.
    Directions,
}

/// Numbers of a field that kernels read, as `Field` in `field.wgsl`.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Info {
    cells: [u32; 4],
    texel: [f32; 4],
    reach: [f32; 4],
}

/// A signed distance field on the GPU, in the frame of the shape it was built from.
#[derive(Debug)]
pub struct GpuField {
    pub(crate) lattice: Lattice,
    pub(crate) info: wgpu::Buffer,
    /// Offsets of bricks, and nodes [voxels].
    pub(crate) directory: wgpu::Buffer,
    pub(crate) values: wgpu::Buffer,
    /// A texel for each node, and with whether it holds directions too.
    pub(crate) volume: Option<(wgpu::TextureView, wgpu::Sampler, bool)>,
    /// The least and the largest value of a node [voxels].
    pub(crate) range: [f32; 2],
    /// Steepest slope [1] and largest stored error [voxels].
    pub(crate) steep: f32,
    pub(crate) stored: f32,
    /// What bind groups are made for.
    pub(crate) id: u64,
    interpolation: Interpolation,
}

/// Nodes of a workgroup of the kernel that fills a texture, along each axis.
const TILE: u32 = 4;

impl GpuField {
    /// Puts a field on the device: its sparse nodes, and the texture that `interpolation` needs.
    ///
    /// Cost: the field's own bytes, once across the bus; a texture is filled on the device, 4 or 16 bytes a node of the whole grid.
    pub fn new(gpu: &Gpu, field: &Field, interpolation: Interpolation) -> Result<Self, GpuError> {
        let lattice = *field.lattice();
        let values = field.decoded();
        let nodes = 4 * values.len() as u64;
        gpu.fits("a field", nodes, "use larger voxels, or a narrower band")?;
        gpu.fits("a field's directory", 4 * field.directory().len() as u64, "use larger voxels")?;
        let scale = (1.0 / lattice.voxel) as f32;
        let scaled: Vec<f32> = values.iter().map(|v| v * scale).collect();
        let range =
            scaled.iter().fold([f32::INFINITY, f32::NEG_INFINITY], |[l, h], v| [l.min(*v), h.max(*v)]);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let directory = kernel::buffer(gpu, "directory", field.directory(), usage);
        let values = kernel::buffer(gpu, "values", &scaled, usage);
        let r = field.report();
        let reach = [
            r.lipschitz.max(1.0) * (1.0 + 1e-5),
            2.0 * r.error_bound_far / lattice.voxel,
            2.0 * r.error_bound_band / lattice.voxel,
            (r.band - 4.0 * r.error_bound_band) / lattice.voxel,
        ];
        let stored = 2.0 * field.stored_error() / lattice.voxel;
        Self::assemble(gpu, lattice, directory, values, range, reach, stored, interpolation)
    }

    /// From nodes that are on the device already. `reach` as in `field.wgsl`; `stored` twice the largest error of a stored node
    /// [voxels].
    #[expect(clippy::too_many_arguments, reason = "the parts a field is made of")]
    pub(crate) fn assemble(
        gpu: &Gpu,
        lattice: Lattice,
        directory: wgpu::Buffer,
        values: wgpu::Buffer,
        range: [f32; 2],
        reach: [f64; 4],
        stored: f64,
        interpolation: Interpolation,
    ) -> Result<Self, GpuError> {
        let [x, y, z] = lattice.cells;
        let texel = lattice.dims().map(|d| 1.0 / (d as f32 + 1.0));
        let info = Info {
            cells: [x, y, z, 0],
            texel: [texel[0], texel[1], texel[2], 0.0],
            reach: reach.map(|v| v as f32),
        };
        let info = kernel::buffer(gpu, "field", &[info], BufferUsages::UNIFORM);
        let steep = reach[0] as f32;
        let mut out = Self {
            lattice,
            info,
            directory,
            values,
            volume: None,
            range,
            steep,
            stored: stored as f32,
            id: crate::mesh::next_id(),
            interpolation,
        };
        match interpolation {
            Interpolation::Shader => {}
            Interpolation::Texture => out.fill(gpu, false)?,
            Interpolation::Directions => out.fill(gpu, true)?,
        }
        gpu.check()?;
        Ok(out)
    }

    /// Where its nodes are.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// How values are found between nodes.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// Memory on the device [bytes].
    pub fn bytes(&self) -> u64 {
        let texels: u64 = self.lattice.dims().map(|d| u64::from(d) + 1).iter().product();
        let texture =
            self.volume.as_ref().map_or(0, |(_, _, directions)| if *directions { 16 } else { 4 } * texels);
        self.directory.size() + self.values.size() + texture
    }

    /// What a kernel declares and calls to sample a field with this interpolation, from binding `first` of group 0 on.
    pub(crate) fn shader(interpolation: Interpolation, first: u32) -> String {
        let head = format!("@group(0) @binding({first}) var<uniform> field: Field;\n");
        let volume = format!(
            "@group(0) @binding({}) var volume: texture_3d<f32>;\n@group(0) @binding({}) var filtering: sampler;\n",
            first + 1,
            first + 2
        );
        let common = include_str!("shaders/field.wgsl");
        let (bindings, body) = match interpolation {
            Interpolation::Shader => (
                format!(
                    "@group(0) @binding({}) var<storage, read> directory: array<i32>;\n@group(0) @binding({}) var<storage, read> values: array<f32>;\n",
                    first + 1,
                    first + 2
                ),
                include_str!("shaders/field_sparse.wgsl").to_owned(),
            ),
            Interpolation::Texture => {
                (volume, include_str!("shaders/field_texture.wgsl").replace("DISTANCE", "x"))
            }
            Interpolation::Directions => (volume, include_str!("shaders/field_direction.wgsl").to_owned()),
        };
        [head.as_str(), &bindings, common, &body].concat()
    }

    /// The slots of [`GpuField::shader`].
    pub(crate) fn slots(interpolation: Interpolation) -> [Slot; 3] {
        match interpolation {
            Interpolation::Shader => [Slot::Uniform, Slot::Read, Slot::Read],
            _ => [Slot::Uniform, Slot::Volume { filter: true }, Slot::Filter],
        }
    }

    /// What is bound to them.
    pub(crate) fn resources(&self) -> [wgpu::BindingResource<'_>; 3] {
        let info = self.info.as_entire_binding();
        match &self.volume {
            None => [info, self.directory.as_entire_binding(), self.values.as_entire_binding()],
            Some((view, sampler, _)) => {
                [info, wgpu::BindingResource::TextureView(view), wgpu::BindingResource::Sampler(sampler)]
            }
        }
    }

    /// Makes the texture, from the sparse nodes.
    fn fill(&mut self, gpu: &Gpu, directions: bool) -> Result<(), GpuError> {
        if !gpu.has(Features::FLOAT32_FILTERABLE) {
            return Err(GpuError::Unsupported {
                device: gpu.name().to_owned(),
                what: "filtered textures of 32-bit floats",
                instead: "interpolate in the shader",
            });
        }
        let size = self.lattice.dims().map(|d| d + 1);
        let limit = gpu.device.limits().max_texture_dimension_3d;
        let largest = size.into_iter().max().unwrap_or(1);
        if largest > limit {
            return Err(GpuError::TooLarge {
                what: "a 3D texture of the field",
                needed: largest.into(),
                limit: limit.into(),
                unit: "texels along an axis",
                device: gpu.name().to_owned(),
                instead: "use larger voxels, or interpolate in the shader, which needs no texture",
            });
        }
        let format = if directions { TextureFormat::Rgba32Float } else { TextureFormat::R32Float };
        let [width, height, depth_or_array_layers] = size;
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("volume"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D3,
            format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::STORAGE_BINDING,
            view_formats: &[],
        });
        gpu.check()?;
        let view = texture.create_view(&Default::default());
        let paint = include_str!("shaders/fill.wgsl")
            .replace("FORMAT", if directions { "rgba32float" } else { "r32float" })
            .replace("TEXEL", if directions { "vec4(direction(u), d)" } else { "vec4(d, 0.0, 0.0, 0.0)" });
        let source = [Self::shader(Interpolation::Shader, 0).as_str(), &paint].concat();
        let [a, b, c] = Self::slots(Interpolation::Shader);
        let kernel = Kernel::new(gpu, "fill", &source, "fill", &[a, b, c, Slot::Paint(format)], false);
        let [a, b, c] = self.resources();
        let group = kernel.bind(gpu, &[a, b, c, wgpu::BindingResource::TextureView(&view)]);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&kernel.pipeline);
            pass.set_bind_group(0, &group, &[]);
            let [x, y, z] = size.map(|s| s.div_ceil(TILE));
            pass.dispatch_workgroups(x, y, z);
        }
        gpu.queue.submit([encoder.finish()]);
        let linear = wgpu::FilterMode::Linear;
        let sampler = gpu.device.create_sampler(&wgpu::SamplerDescriptor {
            mag_filter: linear,
            min_filter: linear,
            ..Default::default()
        });
        self.volume = Some((view, sampler, directions));
        gpu.check()
    }
}
