//! A mesh that deforms on a device, against a field there.

use super::Device;
use super::device::{made, trouble};
use crate::shape::PyShape;
use glam::DVec3;
use palpate::Pose;
use palpate::contact::Contacts;
use palpate::force::{ForceParams, Twist};
use palpate::soft::{FieldSummary, SoftMesh};
use palpate_gpu::{GpuContacts, GpuMesh, GpuSampler, MeshJob};
use pyo3::PyErr;

/// A mesh on a device, as it was when it was last asked about.
#[derive(Default)]
pub(crate) struct SoftOnDevice {
    mesh: Option<GpuMesh>,
    /// What it was made of: the edits and the moves of the mesh, and its vertices without a place.
    state: (u64, u64, usize),
    rubbed: bool,
}

impl SoftOnDevice {
    /// Brings it up to date: triangles where they were edited, else vertices where they moved.
    fn follow(
        &mut self,
        device: &Device,
        mesh: &SoftMesh,
        (edits, moves): (u64, u64),
        spacing: f64,
        velocities: Option<&[DVec3]>,
    ) -> Result<&mut GpuMesh, PyErr> {
        let gpu = device.gpu()?;
        let state = (edits, moves, mesh.lost_vertices());
        let mut there = match self.mesh.take() {
            // Triangles of vertices that come back must be there.
            Some(there) if self.state.0 == edits && self.state.2 == 0 && there.spacing() == spacing => there,
            _ => {
                self.rubbed = false;
                self.state = state;
                GpuMesh::new(gpu, mesh, spacing).map_err(trouble)?
            }
        };
        if self.state.1 != moves {
            there.update(gpu, mesh.positions()).map_err(trouble)?;
        }
        if velocities.is_some() || self.rubbed {
            there.set_velocities(gpu, velocities).map_err(trouble)?;
        }
        (self.state, self.rubbed) = (state, velocities.is_some());
        Ok(self.mesh.insert(there))
    }

    /// The force on the mesh, and its deepest point.
    pub(crate) fn wrench(
        &mut self,
        device: &Device,
        shape: &PyShape,
        (mesh, at): (&SoftMesh, (u64, u64)),
        spacing: f64,
        pose: &Pose,
        push: &ForceParams,
        (motion, velocities): (Twist, Option<&[DVec3]>),
    ) -> Result<FieldSummary, PyErr> {
        let field = device.field(shape)?;
        let there = self.follow(device, mesh, at, spacing, velocities)?;
        let mut kernels = device.kernels();
        let sampler = made(&mut kernels.sampler, || GpuSampler::new(device.gpu()?).map_err(trouble))?;
        sampler.collide(&field, there, pose, 0.0, push, &motion).map_err(trouble)
    }

    /// The point of the mesh that is closest to the shape, or deepest in it.
    pub(crate) fn nearest(
        &mut self,
        device: &Device,
        shape: &PyShape,
        (mesh, at): (&SoftMesh, (u64, u64)),
        spacing: f64,
        pose: &Pose,
    ) -> Result<FieldSummary, PyErr> {
        let field = device.field(shape)?;
        let there = self.follow(device, mesh, at, spacing, None)?;
        let mut kernels = device.kernels();
        let sampler = made(&mut kernels.sampler, || GpuSampler::new(device.gpu()?).map_err(trouble))?;
        sampler.nearest(&field, there, pose).map_err(trouble)
    }

    /// Samples of the mesh within the margin.
    pub(crate) fn contacts(
        &mut self,
        device: &Device,
        shape: &PyShape,
        (mesh, at): (&SoftMesh, (u64, u64)),
        spacing: f64,
        pose: &Pose,
        margin: f64,
    ) -> Result<Contacts, PyErr> {
        let field = device.field(shape)?;
        let there = self.follow(device, mesh, at, spacing, None)?;
        let mut kernels = device.kernels();
        let finder = made(&mut kernels.contacts, || GpuContacts::new(device.gpu()?).map_err(trouble))?;
        let job = MeshJob { field: &field, field_from_mesh: *pose, margin };
        let mut found = Vec::new();
        finder.find(there, &[job], &mut found).map_err(trouble)?;
        Ok(found.pop().unwrap_or_default().contacts)
    }
}
