//! A graphics processor that can be asked: found, opened, and what it can do.

use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{Backends, DeviceType, Features, Limits};

/// Bytes of immediate data the kernels use where the device has it; elsewhere a uniform buffer.
pub(crate) const IMMEDIATE: u32 = 128;

/// Which device to open. The default takes the fastest one, a processor in software only where there is no other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuParams {
    /// Part of the name the device must have, in any case. Empty: any.
    pub name: String,
    /// Refuse processors in software, such as Mesa's llvmpipe.
    pub hardware_only: bool,
}

/// Why the GPU does not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// There is no device.
    #[error(
        "no GPU was found{}; install a Vulkan, Metal or DX12 driver (Debian: mesa-vulkan-drivers has one in software), or use the CPU",
        if found.is_empty() { String::new() } else { format!(" that is asked for, only: {found}") }
    )]
    NoAdapter {
        /// Devices that are there but do not suit.
        found: String,
    },
    /// The device lacks something.
    #[error("{device} has no {what}; {instead}")]
    Unsupported {
        /// The device's name.
        device: String,
        /// What it lacks.
        what: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// The driver refused the device.
    #[error("{device} could not be opened: {reason}")]
    Open {
        /// The device's name.
        device: String,
        /// What the driver said.
        reason: String,
    },
    /// More than the device can hold in one piece.
    #[error("{what} needs {needed} {unit}, but {device} has at most {limit}; {instead}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How much it needs.
        needed: u64,
        /// How much there may be.
        limit: u64,
        /// Of what.
        unit: &'static str,
        /// The device's name.
        device: String,
        /// What to do.
        instead: &'static str,
    },
    /// The device was lost, or ran out of memory: everything on it is gone.
    #[error("{device} was lost: {reason}; open it again, and put everything on it again")]
    Lost {
        /// The device's name.
        device: String,
        /// What the driver said.
        reason: String,
    },
    /// A parameter is out of range.
    #[error("{name} is {value}; {expected}")]
    BadParameter {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
}

/// An open device. Clones share it; everything made on one belongs to it and must be used with it.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    name: Arc<str>,
    software: bool,
    vulkan: bool,
    trouble: Arc<Mutex<Option<String>>>,
}

/// What kernels can use where it is there.
const WANTED: Features = Features::FLOAT32_FILTERABLE
    .union(Features::FLOAT32_BLENDABLE)
    .union(Features::IMMEDIATES)
    .union(Features::MAPPABLE_PRIMARY_BUFFERS)
    .union(Features::SUBGROUP)
    .union(Features::TIMESTAMP_QUERY);

impl Gpu {
    /// Opens the device that suits best. About half a second on a machine with one.
    pub fn open(params: &GpuParams) -> Result<Self, GpuError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::PRIMARY));
        let name = params.name.to_lowercase();
        let rank = |a: &wgpu::Adapter| match a.get_info().device_type {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        };
        adapters.sort_by_key(rank);
        let suits = |a: &&wgpu::Adapter| {
            let info = a.get_info();
            info.name.to_lowercase().contains(&name)
                && !(params.hardware_only && info.device_type == DeviceType::Cpu)
        };
        let Some(adapter) = adapters.iter().find(suits) else {
            let found: Vec<String> = adapters.iter().map(|a| a.get_info().name).collect();
            return Err(GpuError::NoAdapter { found: found.join(", ") });
        };
        let info = adapter.get_info();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("palpate"),
            required_features: adapter.features() & WANTED,
            required_limits: Limits { max_immediate_size: immediates(adapter), ..adapter.limits() },
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| GpuError::Open { device: info.name.clone(), reason: e.to_string() })?;
        Ok(Self::from_wgpu(device, queue, &info))
    }

    /// A device of the caller's own, so that its buffers can be used. Errors of the device, which wgpu would otherwise panic for, are kept and
    /// told by the next question.
    ///
    /// Limits to ask for: the adapter's own, and ten storage buffers a kernel at least. Features that are worth asking for: immediates, float32-filterable, float32-blendable, mappable primary buffers, subgroups.
    pub fn from_wgpu(device: wgpu::Device, queue: wgpu::Queue, info: &wgpu::AdapterInfo) -> Self {
        let trouble = Arc::new(Mutex::new(None));
        let keep = |trouble: &Arc<Mutex<Option<String>>>, text: String| {
            trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
        };
        let kept = Arc::clone(&trouble);
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| keep(&kept, e.to_string())));
        let kept = Arc::clone(&trouble);
        device.set_device_lost_callback(move |reason, text| {
            // Given back by us: nobody asks any more.
            if reason != wgpu::DeviceLostReason::Destroyed {
                keep(&kept, format!("{reason:?} {text}"));
            }
        });
        let software = info.device_type == DeviceType::Cpu;
        let vulkan = info.backend == wgpu::Backend::Vulkan;
        Self { device, queue, name: info.name.as_str().into(), software, vulkan, trouble }
    }

    /// The device's name, as its driver says it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a processor in software.
    pub fn is_software(&self) -> bool {
        self.software
    }

    /// wgpu's device, to make buffers and kernels of one's own.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// wgpu's queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    pub(crate) fn has(&self, feature: Features) -> bool {
        self.device.features().contains(feature)
    }

    /// Whether a frame's numbers go with the commands instead of through a buffer.
    pub(crate) fn immediate(&self) -> bool {
        self.has(Features::IMMEDIATES) && self.device.limits().max_immediate_size >= IMMEDIATE
    }

    /// Whether results are written where the host can read them, without a copy.
    pub(crate) fn direct(&self) -> bool {
        self.has(Features::MAPPABLE_PRIMARY_BUFFERS)
    }

    /// Whether a storage barrier holds for the whole device, so that the last workgroup may read what others wrote. Vulkan's does.
    pub(crate) fn fuses(&self) -> bool {
        self.vulkan
    }

    /// An error the device had since it was opened. It stays: what is on the device may be incomplete.
    pub fn check(&self) -> Result<(), GpuError> {
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(reason) => Err(GpuError::Lost { device: self.name.to_string(), reason: reason.clone() }),
        }
    }

    /// The most bytes of a buffer that is bound in one piece, in whole sixteens.
    pub(crate) fn most_bytes(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !15
    }

    /// Refuses a device whose kernels cannot have so many storage buffers.
    pub(crate) fn binds(&self, buffers: u32) -> Result<(), GpuError> {
        if self.device.limits().max_storage_buffers_per_shader_stage >= buffers {
            return Ok(());
        }
        Err(GpuError::Unsupported {
            device: self.name.to_string(),
            what: "kernel with ten storage buffers",
            instead: "open it with its adapter's own limits, or interpolate by textures",
        })
    }

    /// Refuses a buffer that cannot be bound in one piece.
    pub(crate) fn fits(&self, what: &'static str, bytes: u64, instead: &'static str) -> Result<(), GpuError> {
        let limit = self.most_bytes();
        if bytes <= limit {
            return Ok(());
        }
        Err(GpuError::TooLarge {
            what,
            needed: bytes,
            limit,
            unit: "bytes",
            device: self.name.to_string(),
            instead,
        })
    }
}

fn immediates(adapter: &wgpu::Adapter) -> u32 {
    if adapter.features().contains(Features::IMMEDIATES) {
        adapter.limits().max_immediate_size.min(IMMEDIATE)
    } else {
        0
    }
}
