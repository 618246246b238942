//! Kernels, what they are bound to, and the small answer that comes back.

use crate::device::{Gpu, GpuError, IMMEDIATE};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use wgpu::util::DeviceExt;
use wgpu::{BufferUsages, ShaderStages};

/// How long a wait spins before it sleeps.
const SPIN: Duration = Duration::from_millis(2);

/// What a kernel reads and writes, by the order of the bindings in its first group.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// `var<uniform>`.
    Uniform,
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`.
    Write,
    /// `texture_3d<f32>`, with whether it is sampled with a filter.
    Volume { filter: bool },
    /// `sampler`.
    Filter,
    /// `texture_2d<f32>`, or of whole numbers, read without a filter.
    Picture { whole: bool },
    /// `texture_storage_3d<…, write>`.
    Paint(wgpu::TextureFormat),
}

/// A compute pipeline and the layout of its bindings.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    label: &'static str,
}

impl Kernel {
    /// Compiles `entry` of `source`. `immediate`: it has a `FRAME` (see [`source`]).
    pub(crate) fn new(
        gpu: &Gpu,
        label: &'static str,
        source: &str,
        entry: &str,
        slots: &[Slot],
        immediate: bool,
    ) -> Self {
        let module = module(gpu, label, source);
        Self::of(gpu, label, &module, entry, slots, immediate, &[])
    }

    /// [`Kernel::new`] of a module that is compiled already, with values for its `override` constants.
    pub(crate) fn of(
        gpu: &Gpu,
        label: &'static str,
        module: &wgpu::ShaderModule,
        entry: &str,
        slots: &[Slot],
        immediate: bool,
        constants: &[(&str, f64)],
    ) -> Self {
        let layout = bindings(gpu, label, slots, ShaderStages::COMPUTE);
        Self::with_layout(gpu, label, module, entry, &layout, immediate, constants)
    }

    /// [`Kernel::of`] with bindings that other kernels have too, so that one group serves all of them.
    pub(crate) fn with_layout(
        gpu: &Gpu,
        label: &'static str,
        module: &wgpu::ShaderModule,
        entry: &str,
        layout: &wgpu::BindGroupLayout,
        immediate: bool,
        constants: &[(&str, f64)],
    ) -> Self {
        let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(label),
            bind_group_layouts: &[Some(layout)],
            immediate_size: if immediate && gpu.immediate() { IMMEDIATE } else { 0 },
        });
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(label),
            layout: Some(&pipeline_layout),
            module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants,
                // Every kernel sets what it reads.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        Self { pipeline, layout: layout.clone(), label }
    }

    /// What it is run on, in the order of its slots.
    pub(crate) fn bind(&self, gpu: &Gpu, resources: &[wgpu::BindingResource<'_>]) -> wgpu::BindGroup {
        bind(gpu, self.label, &self.layout, resources)
    }
}

/// A module of WGSL, with wgpu's checks: without them it is no faster.
pub(crate) fn module(gpu: &Gpu, label: &str, source: &str) -> wgpu::ShaderModule {
    let descriptor =
        wgpu::ShaderModuleDescriptor { label: Some(label), source: wgpu::ShaderSource::Wgsl(source.into()) };
    gpu.device.create_shader_module(descriptor)
}

/// The layout of one group of bindings.
pub(crate) fn bindings(
    gpu: &Gpu,
    label: &str,
    slots: &[Slot],
    visibility: ShaderStages,
) -> wgpu::BindGroupLayout {
    let buffer = |ty| wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
    let entries: Vec<wgpu::BindGroupLayoutEntry> = slots
        .iter()
        .enumerate()
        .map(|(i, slot)| wgpu::BindGroupLayoutEntry {
            binding: i as u32,
            visibility,
            ty: match slot {
                Slot::Uniform => buffer(wgpu::BufferBindingType::Uniform),
                Slot::Read => buffer(wgpu::BufferBindingType::Storage { read_only: true }),
                Slot::Write => buffer(wgpu::BufferBindingType::Storage { read_only: false }),
                Slot::Volume { filter } => wgpu::BindingType::Texture {
                    sample_type: wgpu::TextureSampleType::Float { filterable: *filter },
                    view_dimension: wgpu::TextureViewDimension::D3,
                    multisampled: false,
                },
                Slot::Picture { whole } => wgpu::BindingType::Texture {
                    sample_type: if *whole {
                        wgpu::TextureSampleType::Uint
                    } else {
                        wgpu::TextureSampleType::Float { filterable: false }
                    },
                    view_dimension: wgpu::TextureViewDimension::D2,
                    multisampled: false,
                },
                Slot::Filter => wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
                Slot::Paint(format) => wgpu::BindingType::StorageTexture {
                    access: wgpu::StorageTextureAccess::WriteOnly,
                    format: *format,
                    view_dimension: wgpu::TextureViewDimension::D3,
                },
            },
            count: None,
        })
        .collect();
    let descriptor = wgpu::BindGroupLayoutDescriptor { label: Some(label), entries: &entries };
    gpu.device.create_bind_group_layout(&descriptor)
}

/// A group of bindings, in the order of its layout.
pub(crate) fn bind(
    gpu: &Gpu,
    label: &str,
    layout: &wgpu::BindGroupLayout,
    resources: &[wgpu::BindingResource<'_>],
) -> wgpu::BindGroup {
    let entries: Vec<wgpu::BindGroupEntry<'_>> = resources
        .iter()
        .enumerate()
        .map(|(i, r)| wgpu::BindGroupEntry { binding: i as u32, resource: r.clone() })
        .collect();
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout, entries: &entries })
}

/// WGSL whose `FRAME(n)` says where a frame's numbers are: immediate data, or a uniform buffer at binding n.
pub(crate) fn source(gpu: &Gpu, parts: &[&str], frame_binding: u32) -> String {
    let frame = if gpu.immediate() {
        "var<immediate>".to_owned()
    } else {
        format!("@group(0) @binding({frame_binding}) var<uniform>")
    };
    parts.concat().replace("FRAME", &frame)
}

/// A buffer that begins with these numbers. Never empty, as nothing can be bound to that.
pub(crate) fn buffer<T: bytemuck::NoUninit>(
    gpu: &Gpu,
    label: &str,
    data: &[T],
    usage: BufferUsages,
) -> wgpu::Buffer {
    let bytes: &[u8] = bytemuck::cast_slice(data);
    let contents = if bytes.is_empty() { &[0u8; 16] } else { bytes };
    gpu.device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some(label), contents, usage })
}

/// A buffer of so many bytes, at least 16, rounded up to whole words.
pub(crate) fn room(gpu: &Gpu, label: &str, bytes: u64, usage: BufferUsages) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.max(16).next_multiple_of(16),
        usage,
        mapped_at_creation: false,
    })
}

/// Memory for results: kernels write to `buffer`, the host reads it. Where the device allows, both are one.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What kernels write to.
    pub(crate) buffer: wgpu::Buffer,
    /// What the host maps, if it is another.
    staging: Option<wgpu::Buffer>,
    bytes: u64,
}

impl Answer {
    pub(crate) fn new(gpu: &Gpu, label: &str, bytes: u64) -> Self {
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let bytes = bytes.max(16).next_multiple_of(16);
        // Large answers are read back by a copy: kernels write across the bus slowly.
        if gpu.direct() && bytes <= 4096 {
            let buffer = room(gpu, label, bytes, storage | BufferUsages::MAP_READ);
            return Self { buffer, staging: None, bytes };
        }
        let buffer = room(gpu, label, bytes, storage);
        let staging = Some(room(gpu, label, bytes, BufferUsages::COPY_DST | BufferUsages::MAP_READ));
        Self { buffer, staging, bytes }
    }

    /// Submits what was encoded and waits for the answer: `read` is given its first `bytes` bytes.
    ///
    /// One submission, one wait. It spins at first, as sleeping costs more than most answers take.
    pub(crate) fn take<R>(
        &self,
        gpu: &Gpu,
        mut encoder: wgpu::CommandEncoder,
        bytes: u64,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, GpuError> {
        let bytes = bytes.next_multiple_of(16).min(self.bytes);
        if let Some(staging) = &self.staging {
            encoder.copy_buffer_to_buffer(&self.buffer, 0, staging, 0, bytes);
        }
        let mapped = self.staging.as_ref().unwrap_or(&self.buffer);
        gpu.queue.submit([encoder.finish()]);
        let (send, receive) = mpsc::sync_channel(1);
        mapped.map_async(wgpu::MapMode::Read, 0..bytes, move |r| {
            let _ = send.send(r.map_err(|e| e.to_string()));
        });
        let began = Instant::now();
        let told = loop {
            let spins = !gpu.is_software() && began.elapsed() < SPIN;
            let polled = gpu.device.poll(if spins {
                wgpu::PollType::Poll
            } else {
                wgpu::PollType::wait_indefinitely()
            });
            if let Err(e) = polled {
                break Err(e.to_string());
            }
            match receive.try_recv() {
                Ok(told) => break told,
                Err(mpsc::TryRecvError::Empty) => core::hint::spin_loop(),
                Err(e) => break Err(e.to_string()),
            }
            gpu.check()?;
        };
        gpu.check()?;
        let lost = |reason: String| GpuError::Lost { device: gpu.name().to_owned(), reason };
        told.map_err(lost)?;
        let out = {
            let view = mapped.get_mapped_range(0..bytes).map_err(|e| lost(e.to_string()))?;
            read(&view)
        };
        mapped.unmap();
        Ok(out)
    }
}
