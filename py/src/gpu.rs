//! Graphics processors: listed, opened, and what stays on them.
//!
//! `device.rs` speaks to them; without the feature `gpu`, `absent.rs` is in its place and there are none.

#[cfg(not(feature = "gpu"))]
mod absent;
#[cfg(feature = "gpu")]
mod device;
#[cfg(feature = "gpu")]
mod soft;

#[cfg(not(feature = "gpu"))]
pub(crate) use absent::{Device, Resident, SoftOnDevice, list};
#[cfg(feature = "gpu")]
pub(crate) use device::{Device, Resident, list};
#[cfg(feature = "gpu")]
pub(crate) use soft::SoftOnDevice;

use crate::guard;
use crate::shape::PyShape;
use pyo3::prelude::*;
use std::sync::Arc;

/// A graphics processor of this machine.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct GpuInfo {
    /// As its driver says it; ``Gpu(name)`` takes any part of it.
    pub(crate) name: String,
    /// "discrete", "integrated", "virtual", "software" or "other".
    pub(crate) kind: String,
    /// The interface it is reached by: "vulkan", "metal" or "dx12".
    pub(crate) backend: String,
    /// The driver and its version.
    pub(crate) driver: String,
    /// The largest piece of memory a kernel sees [bytes]; drivers do not say how much there is in all.
    pub(crate) largest_buffer: u64,
}

#[pymethods]
impl GpuInfo {
    fn __repr__(&self) -> String {
        format!("<palpate.GpuInfo: {}, {}, {}>", self.name, self.kind, self.backend)
    }
}

/// The graphics processors of this machine, in the order in which ``Gpu()`` prefers them; an empty list where there are none. Opens none.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>) -> PyResult<Vec<GpuInfo>> {
    guard::alone(py, list)
}

/// An open graphics processor, given to batches, points, ``SoftPair`` and ``Shape`` as ``gpu=``; by Vulkan, Metal or DX12.
///
/// ``name`` is any part of a name of ``gpus()``, in any case; without it the fastest is taken, one in software only where there is no
/// other and ``hardware_only`` is false. Where there is none, ``GpuError`` says what was found. Takes up to a second, and the first
/// question of each kind compiles kernels.
///
/// Shapes are put there when they are first asked about, and stay until they, or this, are gone or ``release`` is called. Answers are the
/// CPU's but for rounding in single precision, the same bits every time on one device; one thread at a time is answered, others wait. After an
/// error of the device every question raises ``GpuError``: open it again. It does not work in a forked process: open one there.
#[pyclass(name = "Gpu", module = "palpate", frozen, weakref)]
pub(crate) struct PyGpu {
    pub(crate) device: Arc<Device>,
}

#[pymethods]
impl PyGpu {
    #[new]
    #[pyo3(signature = (name=None, hardware_only=false))]
    fn new(py: Python<'_>, name: Option<String>, hardware_only: bool) -> PyResult<Self> {
        let device = guard::alone(py, || Device::open(name.unwrap_or_default(), hardware_only))??;
        Ok(Self { device: Arc::new(device) })
    }

    /// Its name, as its driver says it.
    #[getter]
    fn name(&self) -> &str {
        self.device.name()
    }

    /// Whether it is a processor in software, such as Mesa's llvmpipe.
    #[getter]
    fn software(&self) -> bool {
        self.device.is_software()
    }

    /// Memory that fields and points of shapes take there now [bytes].
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        guard::alone(py, || self.device.bytes())
    }

    /// Frees what a shape has there; without one, what all shapes and calls have. It is put there again when it is asked about.
    #[pyo3(signature = (shape=None))]
    fn release(&self, py: Python<'_>, shape: Option<&PyShape>) -> PyResult<()> {
        guard::alone(py, || self.device.release(shape.map(|s| &*s.resident)))
    }

    fn __repr__(&self) -> String {
        format!("<palpate.Gpu: {}>", self.name())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(pyo3::exceptions::PyTypeError::new_err("a Gpu is not pickled: open one in each process"))
    }
}
