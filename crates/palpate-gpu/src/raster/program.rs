//! Pipelines that draw, and kernels that add up what was drawn.

use crate::device::{Gpu, IMMEDIATE};
use crate::field::{GpuField, Interpolation};
use crate::kernel::{self, Kernel, Slot};
use wgpu::{BlendComponent, CompareFunction, ShaderStages, TextureFormat};

/// Formats of the pictures: samples in contact; forces and torques; distances with triangles.
pub(super) const COUNTS: TextureFormat = TextureFormat::R32Float;
pub(super) const FORCES: TextureFormat = TextureFormat::Rgba32Float;
pub(super) const NEAREST: TextureFormat = TextureFormat::Rg32Uint;
/// Bytes of a pixel of the three that forces are drawn into.
pub(super) const PUSHED_BYTES: u32 = 36;

/// What draws fields of one interpolation.
#[derive(Debug)]
pub(super) struct Program {
    /// Bindings of everything that is drawn.
    pub(super) layout: wgpu::BindGroupLayout,
    /// Forces; made when they are first asked for, as not every device can.
    pub(super) push: Option<wgpu::RenderPipeline>,
    /// Forces of what is not in front of a depth map, and what draws that.
    pub(super) push_behind: Option<(wgpu::RenderPipeline, wgpu::RenderPipeline)>,
    pub(super) near: wgpu::RenderPipeline,
    pub(super) gather: Kernel,
    pub(super) finish: Kernel,
    draw: wgpu::ShaderModule,
    pipeline_layout: wgpu::PipelineLayout,
}

impl Program {
    pub(super) fn new(gpu: &Gpu, interpolation: Interpolation) -> Self {
        let field = GpuField::shader(interpolation, 3);
        let mesh = include_str!("../shaders/raster_mesh.wgsl");
        let head = "FRAME frame: Frame;\n";
        let parts = [
            head,
            mesh,
            &field,
            include_str!("../shaders/raster_draw.wgsl"),
            include_str!("../shaders/raster_trace.wgsl"),
        ];
        let draw = kernel::module(gpu, "raster", &kernel::source(gpu, &parts, 6));
        let [info, first, second] = GpuField::slots(interpolation);
        let read = Slot::Read;
        let mut slots = vec![read, read, read, info, first, second];
        let mut least = slots.clone();
        least.extend([Slot::Picture { whole: true }, Slot::Write, Slot::Write]);
        if !gpu.immediate() {
            slots.push(Slot::Uniform);
            least.push(Slot::Uniform);
        }
        let layout = kernel::bindings(gpu, "raster", &slots, ShaderStages::VERTEX_FRAGMENT);
        let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("raster"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: if gpu.immediate() { IMMEDIATE } else { 0 },
        });
        let parts = [head, mesh, &field, include_str!("../shaders/raster_least.wgsl")];
        let module = kernel::module(gpu, "raster least", &kernel::source(gpu, &parts, 9));
        let least = kernel::bindings(gpu, "raster least", &least, ShaderStages::COMPUTE);
        let kernel = |label, entry| Kernel::with_layout(gpu, label, &module, entry, &least, true, &[]);
        let (gather, finish) = (kernel("raster least", "gather"), kernel("raster least", "finish"));
        Self {
            near: pipeline(gpu, &pipeline_layout, &draw, Drawing::Near),
            layout,
            push: None,
            push_behind: None,
            gather,
            finish,
            draw,
            pipeline_layout,
        }
    }

    /// Makes what forces need.
    pub(super) fn prepare(&mut self, gpu: &Gpu, early: bool) {
        let make = |drawing| pipeline(gpu, &self.pipeline_layout, &self.draw, drawing);
        if early && self.push_behind.is_none() {
            self.push_behind = Some((make(Drawing::PushBehind), make(Drawing::Trace)));
        } else if !early && self.push.is_none() {
            self.push = Some(make(Drawing::Push));
        }
    }
}

/// The kernels that add up forces: they need no field.
pub(super) fn sums(gpu: &Gpu) -> (Kernel, Kernel) {
    let module = kernel::module(gpu, "raster sum", include_str!("../shaders/raster_sum.wgsl"));
    let picture = Slot::Picture { whole: false };
    let slots = [picture, picture, picture, Slot::Write, Slot::Write];
    let layout = kernel::bindings(gpu, "raster sum", &slots, ShaderStages::COMPUTE);
    let kernel = |entry| Kernel::with_layout(gpu, "raster sum", &module, entry, &layout, false, &[]);
    (kernel("gather"), kernel("finish"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawing {
    Push,
    PushBehind,
    Near,
    Trace,
}

fn pipeline(
    gpu: &Gpu,
    layout: &wgpu::PipelineLayout,
    module: &wgpu::ShaderModule,
    drawing: Drawing,
) -> wgpu::RenderPipeline {
    let (vertex, fragment) = match drawing {
        Drawing::Push | Drawing::PushBehind => ("draw", "push"),
        Drawing::Near => ("draw", "near"),
        Drawing::Trace => ("cover", "trace"),
    };
    let add = BlendComponent {
        src_factor: wgpu::BlendFactor::One,
        dst_factor: wgpu::BlendFactor::One,
        operation: wgpu::BlendOperation::Add,
    };
    let target =
        |format, blend| Some(wgpu::ColorTargetState { format, blend, write_mask: wgpu::ColorWrites::ALL });
    let blend = Some(wgpu::BlendState { color: add, alpha: add });
    let targets = match drawing {
        Drawing::Push | Drawing::PushBehind => {
            vec![target(COUNTS, blend), target(FORCES, blend), target(FORCES, blend)]
        }
        Drawing::Near => vec![target(NEAREST, None)],
        Drawing::Trace => Vec::new(),
    };
    let depth = |write, compare| {
        Some(wgpu::DepthStencilState {
            format: TextureFormat::Depth32Float,
            depth_write_enabled: Some(write),
            depth_compare: Some(compare),
            stencil: Default::default(),
            bias: Default::default(),
        })
    };
    let depth_stencil = match drawing {
        Drawing::Push => None,
        Drawing::PushBehind => depth(false, CompareFunction::GreaterEqual),
        Drawing::Near => depth(true, CompareFunction::Less),
        Drawing::Trace => depth(true, CompareFunction::Always),
    };
    gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("raster"),
        layout: Some(layout),
        vertex: wgpu::VertexState {
            module,
            entry_point: Some(vertex),
            compilation_options: Default::default(),
            buffers: &[],
        },
        // Triangles are seen from both sides.
        primitive: Default::default(),
        depth_stencil,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some(fragment),
            compilation_options: Default::default(),
            targets: &targets,
        }),
        multiview_mask: None,
        cache: None,
    })
}
