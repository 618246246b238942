//! The devices of this machine, and what they can do.

use wgpu::{Backends, DeviceType, Features};

/// What sort of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A card of its own.
    Discrete,
    /// In the processor.
    Integrated,
    /// Lent by the host of a virtual machine.
    Virtual,
    /// The processor plays one, such as Mesa's llvmpipe.
    Software,
    /// The driver does not say.
    Other,
}

impl DeviceKind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Software => "software",
            Self::Other => "other",
        }
    }
}

/// A device and what it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// As its driver says it; [`crate::GpuParams::name`] may be a part of it.
    pub name: String,
    /// What sort it is.
    pub kind: DeviceKind,
    /// The interface it is reached by: vulkan, metal, dx12.
    pub interface: String,
    /// The driver and its version.
    pub driver: String,
    /// Whether 32-bit floats can be blended: forces by drawing need it.
    pub float_blending: bool,
    /// Whether textures of 32-bit floats can be filtered: [`crate::Interpolation::Texture`] and `Directions` need it.
    pub filtered_floats: bool,
    /// Whether results are written where the host reads them, without a copy.
    pub direct_results: bool,
    /// Largest 3D texture along an axis [texels].
    pub largest_texture_3d: u32,
    /// Largest buffer [bytes].
    pub largest_buffer: u64,
    /// Most of a buffer that a kernel sees [bytes].
    pub largest_binding: u64,
}

/// Every device of this machine, in the order in which [`crate::Gpu::open`] prefers them; empty where there is none. Opens none.
pub fn devices() -> Vec<DeviceInfo> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = pollster::block_on(instance.enumerate_adapters(Backends::PRIMARY));
    let mut out: Vec<DeviceInfo> = adapters.iter().map(info).collect();
    out.sort_by_key(|d| match d.kind {
        DeviceKind::Discrete => 0,
        DeviceKind::Integrated => 1,
        DeviceKind::Virtual => 2,
        DeviceKind::Other => 3,
        DeviceKind::Software => 4,
    });
    out
}

fn info(adapter: &wgpu::Adapter) -> DeviceInfo {
    let (info, limits, features) = (adapter.get_info(), adapter.limits(), adapter.features());
    DeviceInfo {
        kind: match info.device_type {
            DeviceType::DiscreteGpu => DeviceKind::Discrete,
            DeviceType::IntegratedGpu => DeviceKind::Integrated,
            DeviceType::VirtualGpu => DeviceKind::Virtual,
            DeviceType::Cpu => DeviceKind::Software,
            DeviceType::Other => DeviceKind::Other,
        },
        interface: info.backend.to_string(),
        driver: [info.driver.as_str(), &info.driver_info].join(" ").trim().to_owned(),
        name: info.name,
        float_blending: features.contains(Features::FLOAT32_BLENDABLE),
        filtered_floats: features.contains(Features::FLOAT32_FILTERABLE),
        direct_results: features.contains(Features::MAPPABLE_PRIMARY_BUFFERS),
        largest_texture_3d: limits.max_texture_dimension_3d,
        largest_buffer: limits.max_buffer_size,
        largest_binding: limits.max_storage_buffer_binding_size,
    }
}
