//! A device, its kernels, and what shapes have on it.

use super::GpuInfo;
use crate::error;
use crate::shape::PyShape;
use glam::DVec3;
use palpate::contact::Contact;
use palpate::force::{ForceParams, PoseSummary};
use palpate::progress::Silent;
use palpate::query::QueryParams;
use palpate::shape::{ShapeError, ShapeParams};
use palpate::{Field, Mesh, Pose};
use palpate_gpu::{
    BatchParams, BuildError, FieldBuilder, Gpu, GpuBatch, GpuContacts, GpuError, GpuField, GpuMeshSource,
    GpuParams, GpuPoints, GpuSampler, GpuShell, Interpolation, Lists, PairJob,
};
use pyo3::PyErr;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The devices of this machine.
pub(crate) fn list() -> Vec<GpuInfo> {
    let info = |d: palpate_gpu::DeviceInfo| GpuInfo {
        kind: d.kind.name().to_owned(),
        name: d.name,
        backend: d.interface,
        driver: d.driver,
        largest_buffer: d.largest_binding.min(d.largest_buffer),
    };
    palpate_gpu::devices().into_iter().map(info).collect()
}

/// What a shape has on a device.
#[derive(Default)]
struct Parts {
    device: u64,
    field: Option<Arc<GpuField>>,
    shell: Option<Arc<GpuShell>>,
}

impl Parts {
    fn bytes(&self) -> u64 {
        self.field.as_ref().map_or(0, |f| f.bytes()) + self.shell.as_ref().map_or(0, |s| s.bytes())
    }
}

/// What a shape has on devices: freed with it.
#[derive(Default)]
pub(crate) struct Resident(Mutex<Vec<Parts>>);

impl Resident {
    fn parts(&self) -> MutexGuard<'_, Vec<Parts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Kernels, compiled when they are first used.
#[derive(Default)]
pub(super) struct Kernels {
    batch: Option<GpuBatch>,
    points: Option<GpuPoints>,
    pub(super) sampler: Option<GpuSampler>,
    pub(super) contacts: Option<GpuContacts>,
    builder: Option<FieldBuilder>,
}

/// An open device.
pub(crate) struct Device {
    name: String,
    software: bool,
    /// What shapes know it by.
    id: u64,
    process: u32,
    /// None only while it is dropped.
    gpu: Option<Gpu>,
    kernels: Mutex<Kernels>,
    known: Mutex<Vec<Weak<Resident>>>,
}

impl Device {
    pub(crate) fn open(name: String, hardware_only: bool) -> Result<Self, PyErr> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let gpu = Gpu::open(&GpuParams { name, hardware_only }).map_err(trouble)?;
        Ok(Self {
            name: gpu.name().to_owned(),
            software: gpu.is_software(),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            process: process::id(),
            gpu: Some(gpu),
            kernels: Mutex::default(),
            known: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_software(&self) -> bool {
        self.software
    }

    /// The device, unless this process is a copy of the one that opened it, or it was lost.
    pub(super) fn gpu(&self) -> Result<&Gpu, PyErr> {
        match &self.gpu {
            Some(gpu) if process::id() == self.process => {
                gpu.check().map_err(trouble)?;
                Ok(gpu)
            }
            _ => Err(error::gpu(format!("{} was opened before a fork; open it in this process", self.name))),
        }
    }

    pub(super) fn kernels(&self) -> MutexGuard<'_, Kernels> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Vec<Weak<Resident>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory that shapes have there [bytes].
    pub(crate) fn bytes(&self) -> u64 {
        let shapes: Vec<Arc<Resident>> = self.known().iter().filter_map(Weak::upgrade).collect();
        let each = |r: &Arc<Resident>| -> u64 {
            r.parts().iter().filter(|p| p.device == self.id).map(Parts::bytes).sum()
        };
        shapes.iter().map(each).sum()
    }

    /// Frees what a shape has there; of all, and kernels with their memory, without one.
    pub(crate) fn release(&self, shape: Option<&Resident>) {
        if let Some(shape) = shape {
            shape.parts().retain(|p| p.device != self.id);
            return;
        }
        let shapes: Vec<Weak<Resident>> = std::mem::take(&mut *self.known());
        for shape in shapes.iter().filter_map(Weak::upgrade) {
            shape.parts().retain(|p| p.device != self.id);
        }
        *self.kernels() = Kernels::default();
    }

    /// What a shape has there, put there by `put` where it is missing.
    fn part<T>(
        &self,
        shape: &PyShape,
        of: impl Fn(&mut Parts) -> &mut Option<Arc<T>>,
        put: impl FnOnce(&Gpu) -> Result<T, GpuError>,
    ) -> Result<Arc<T>, PyErr> {
        let gpu = self.gpu()?;
        let mut parts = shape.resident.parts();
        let at = match parts.iter().position(|p| p.device == self.id) {
            Some(at) => at,
            None => {
                parts.push(Parts { device: self.id, ..Parts::default() });
                let mut known = self.known();
                known.retain(|k| k.strong_count() > 0);
                known.push(Arc::downgrade(&shape.resident));
                parts.len() - 1
            }
        };
        let place = of(&mut parts[at]);
        match place {
            Some(there) => Ok(Arc::clone(there)),
            None => Ok(Arc::clone(place.insert(Arc::new(put(gpu).map_err(trouble)?)))),
        }
    }

    pub(super) fn field(&self, shape: &PyShape) -> Result<Arc<GpuField>, PyErr> {
        let put = |gpu: &Gpu| GpuField::new(gpu, shape.shape.field(), Interpolation::Shader);
        self.part(shape, |p| &mut p.field, put)
    }

    fn shell(&self, shape: &PyShape) -> Result<Arc<GpuShell>, PyErr> {
        self.part(shape, |p| &mut p.shell, |gpu| GpuShell::new(gpu, shape.shape.tree()))
    }

    /// Contacts of two shapes in each of many poses.
    pub(crate) fn pair(
        &self,
        [a, b]: [&PyShape; 2],
        poses: &[Pose],
        query: &QueryParams,
        push: Option<&ForceParams>,
        full: bool,
    ) -> Result<(Vec<PoseSummary>, Vec<Contact>), PyErr> {
        let swapped = query.roles.swapped(&a.shape, &b.shape);
        let (with_field, with_points) = if swapped { (b, a) } else { (a, b) };
        let (field, shell) = (self.field(with_field)?, self.shell(with_points)?);
        let params = BatchParams {
            margin: query.margin,
            force: push.copied().unwrap_or_default(),
            lists: if full { Lists::Full } else { Lists::None },
            room: None,
        };
        let mut kernels = self.kernels();
        let batch = made(&mut kernels.batch, || GpuBatch::new(self.gpu()?).map_err(trouble))?;
        let job = PairJob { a: &a.shape, swapped, field: &field, shell: &shell };
        let found = batch.pair(&job, poses, &params).map_err(trouble)?;
        Ok((found.poses, found.contacts))
    }

    /// Distances of points [m], and gradients where they are asked for.
    pub(crate) fn distances(
        &self,
        shape: &PyShape,
        count: usize,
        place: impl Fn(usize) -> DVec3 + Sync,
        gradients: bool,
        mut told: impl FnMut(usize, DVec3, f64),
    ) -> Result<(), PyErr> {
        let field = self.field(shape)?;
        let mut kernels = self.kernels();
        let points = made(&mut kernels.points, || GpuPoints::new(self.gpu()?).map_err(trouble))?;
        if gradients {
            return points.samples(&field, count, place, told).map_err(trouble);
        }
        points.distances(&field, count, place, |i, d| told(i, DVec3::ZERO, d)).map_err(trouble)
    }

    /// The field of a mesh, built there and read back.
    pub(crate) fn build(&self, mesh: &Mesh, voxel: f64, params: &ShapeParams) -> Result<Field, PyErr> {
        let gpu = self.gpu()?;
        let mut kernels = self.kernels();
        let builder = made(&mut kernels.builder, || FieldBuilder::new(gpu).map_err(not_built))?;
        let source = GpuMeshSource::with_caps(gpu, mesh, params.field.cap_holes).map_err(not_built)?;
        let built = builder.build(&source, voxel, &params.field, &Silent).map_err(not_built)?;
        built.read(gpu).map_err(not_built)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if process::id() == self.process {
            self.release(None);
        } else {
            // The driver's threads stayed behind in the process that opened it: it would wait for them for ever.
            std::mem::forget((self.gpu.take(), std::mem::take(&mut *self.kernels())));
        }
    }
}

/// Makes what is missing.
pub(super) fn made<T>(
    place: &mut Option<T>,
    make: impl FnOnce() -> Result<T, PyErr>,
) -> Result<&mut T, PyErr> {
    match place {
        Some(there) => Ok(there),
        None => Ok(place.insert(make()?)),
    }
}

/// The engine's words in our exceptions.
pub(super) fn trouble(e: GpuError) -> PyErr {
    match e {
        GpuError::BadParameter { .. } => error::input(e),
        other => error::gpu(other),
    }
}

fn not_built(e: BuildError) -> PyErr {
    match e {
        BuildError::Field(e) => error::build(ShapeError::from(e)),
        BuildError::Gpu(e) => trouble(e),
        other => error::gpu(other),
    }
}
