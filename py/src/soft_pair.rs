//! A rigid shape and a mesh that deforms: contacts, force, the closest point; on the CPU or on a graphics processor.

use crate::answers::Wrench;
use crate::array::{Points, from_contacts, three, vector};
use crate::gpu::{Device, PyGpu, SoftOnDevice};
use crate::params::{self, Coefficients};
use crate::pose::{Placed, move_contacts};
use crate::shape::PyShape;
use crate::soft::PySoftMesh;
use crate::{error, guard};
use glam::DVec3;
use numpy::PyArray1;
use palpate::contact::Contacts;
use palpate::force::Twist;
use palpate::soft::{FieldSampler, MeshMotion, Sampling, SamplingError};
use pyo3::prelude::*;
use std::sync::Arc;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;
/// Where, how far, on which triangle.
type Nearest = (Py<PyArray1<f64>>, f64, u32);

/// A rigid shape, A, and a mesh that deforms, B, and the memory of questions about them: keep it from step to step.
///
/// Poses, frames and signs are those of ``Pair``. The mesh is asked about at samples: no edge of a part of a triangle is longer than ``spacing`` [m], by
/// default the shape's voxel. Distances have the error bounds of the shape's field. With ``gpu`` the field and the mesh stay on that device, and
/// where it moves only its vertices go there; parts are cut otherwise than on the CPU, so that forces and areas agree as two samplings at one
/// spacing do.
#[pyclass(module = "palpate")]
pub(crate) struct SoftPair {
    shape: Py<PyShape>,
    mesh: Py<PySoftMesh>,
    spacing: f64,
    sampler: FieldSampler,
    device: Option<Arc<Device>>,
    there: SoftOnDevice,
}

#[pymethods]
impl SoftPair {
    #[new]
    #[pyo3(signature = (shape, mesh, spacing=None, gpu=None))]
    fn new(
        shape: Py<PyShape>,
        mesh: Py<PySoftMesh>,
        spacing: Option<f64>,
        gpu: Option<&PyGpu>,
    ) -> PyResult<Self> {
        let spacing = spacing.unwrap_or_else(|| shape.get().shape.field().lattice().voxel);
        if !(spacing > 0.0 && spacing.is_finite()) {
            return Err(error::input(format!("spacing is {spacing}; it must be positive and finite")));
        }
        Ok(Self {
            shape,
            mesh,
            spacing,
            sampler: FieldSampler::new(),
            device: gpu.map(|g| Arc::clone(&g.device)),
            there: Default::default(),
        })
    }

    /// Longest edge of a part of the mesh [m].
    #[getter]
    fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Samples of the mesh that are inside the shape, or at most ``margin`` [m] outside: an array of dtype ``palpate.CONTACT``.
    ///
    /// Fields as in ``palpate.contacts``: ``normal`` is the shape's, outward; ``id`` is the number of the triangle, ``shell_normal`` its own normal, ``area``
    /// what the sample stands for. In the order of triangles. ``origin`` as there.
    #[pyo3(signature = (pose_a=None, pose_b=None, margin=0.0, origin=None, threads=0))]
    fn contacts<'py>(
        &mut self,
        py: Python<'py>,
        pose_a: Any<'_, 'py>,
        pose_b: Any<'_, 'py>,
        margin: f64,
        origin: Any<'_, 'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let placed = Placed::new(pose_a, pose_b)?;
        params::query(margin, None)?;
        let origin = origin.map_or(Ok(DVec3::ZERO), |o| vector("origin", o))?;
        let (mesh, shape) = (self.mesh.borrow(py), self.shape.get());
        let (soft, at, pose) = (&mesh.mesh, mesh.version(), &placed.a_from_b);
        let Self { sampler, device, there, spacing, .. } = self;
        let list = guard::on_threads(py, threads, || -> PyResult<_> {
            let on_device: Contacts;
            let found = match device {
                Some(device) => {
                    on_device = there.contacts(device, shape, (soft, at), *spacing, pose, margin)?;
                    &on_device
                }
                None => {
                    let by = Sampling::Area { spacing: *spacing };
                    &sampler.find(&shape.shape, soft, pose, by, margin).map_err(sampling)?.contacts
                }
            };
            let mut list = found.list.clone();
            move_contacts(&mut list, found.origin, placed.world.as_ref(), origin);
            Ok(list)
        })??;
        from_contacts(py, list)
    }

    /// The penalty force and torque on the mesh, about the origin of its frame; the shape receives the opposite [N, N m].
    ///
    /// ``stiffness``, ``law``, ``direction``, ``damping``, ``friction`` and ``velocity``, of the mesh's frame, as in ``palpate.wrench``; ``vertex_velocities`` (n, 3) [m/s]
    /// are those of the vertices in the mesh's frame. Friction has no memory here: nothing sticks.
    #[pyo3(signature = (pose_a=None, pose_b=None, *, stiffness, law="integrated", direction="field", damping=0.0, friction=None, velocity=None, vertex_velocities=None, threads=0))]
    fn wrench<'py>(
        &mut self,
        py: Python<'py>,
        pose_a: Any<'_, 'py>,
        pose_b: Any<'_, 'py>,
        stiffness: f64,
        law: &str,
        direction: &str,
        damping: f64,
        friction: Option<Coefficients>,
        velocity: Any<'_, 'py>,
        vertex_velocities: Any<'_, 'py>,
        threads: usize,
    ) -> PyResult<Wrench> {
        let placed = Placed::new(pose_a, pose_b)?;
        let push = params::force(stiffness, law, direction, damping, friction.as_ref())?;
        let frame = params::twist(velocity, &placed)?.unwrap_or(Twist::ZERO);
        let rows = vertex_velocities.map(|v| Points::new("vertex_velocities", v)).transpose()?;
        let vertices = rows.as_ref().map(Points::as_slice).transpose()?;
        let (mesh, shape) = (self.mesh.borrow(py), self.shape.get());
        if let Some(given) = vertices.map(<[DVec3]>::len)
            && given != mesh.mesh.positions().len()
        {
            let n = mesh.mesh.positions().len();
            return Err(error::input(format!(
                "vertex_velocities has {given} rows but the mesh {n} vertices"
            )));
        }
        let (soft, at, pose) = (&mesh.mesh, mesh.version(), &placed.a_from_b);
        let Self { sampler, device, there, spacing, .. } = self;
        let force = guard::on_threads(py, threads, || -> PyResult<_> {
            if let Some(device) = device {
                let moves = (frame, vertices);
                return Ok(there.wrench(device, shape, (soft, at), *spacing, pose, &push, moves)?.force);
            }
            let by = Sampling::Area { spacing: *spacing };
            let found = sampler.find(&shape.shape, soft, pose, by, 0.0).map_err(sampling)?;
            let motion = MeshMotion { frame, vertices: vertices.unwrap_or_default() };
            Ok(found.force(soft, &push, &motion, None, None))
        })??;
        Ok(Wrench::new(py, &force, &placed))
    }

    /// The sample of the mesh that is closest to the shape, or deepest in it: where (3,) [m], how far [m], negative inside, and on which
    /// triangle; none without triangles.
    ///
    /// The least distance of the mesh is smaller by at most 2/3 ``spacing`` and the field's error. Outside the field's box a lower bound.
    #[pyo3(signature = (pose_a=None, pose_b=None, threads=0))]
    fn nearest<'py>(
        &mut self,
        py: Python<'py>,
        pose_a: Any<'_, 'py>,
        pose_b: Any<'_, 'py>,
        threads: usize,
    ) -> PyResult<Option<Nearest>> {
        let placed = Placed::new(pose_a, pose_b)?;
        let (mesh, shape) = (self.mesh.borrow(py), self.shape.get());
        let (soft, at, pose) = (&mesh.mesh, mesh.version(), &placed.a_from_b);
        let Self { sampler, device, there, spacing, .. } = self;
        let deepest = guard::on_threads(py, threads, || -> PyResult<_> {
            if let Some(device) = device {
                return Ok(there.nearest(device, shape, (soft, at), *spacing, pose)?.deepest);
            }
            let by = Sampling::Area { spacing: *spacing };
            Ok(sampler.find(&shape.shape, soft, pose, by, 0.0).map_err(sampling)?.deepest)
        })??;
        Ok(deepest.map(|d| (three(py, placed.point(d.point)), d.distance, d.place.triangle)))
    }

    fn __repr__(&self) -> String {
        let on = self.device.as_ref().map_or(String::new(), |d| format!(", on {}", d.name()));
        format!("<palpate.SoftPair: samples every {} m{on}>", self.spacing)
    }
}

fn sampling(e: SamplingError) -> PyErr {
    error::input(e)
}
