//! What there is without the feature `gpu`: no device, and words that say so.

use super::GpuInfo;
use crate::error;
use crate::shape::PyShape;
use glam::DVec3;
use palpate::contact::{Contact, Contacts};
use palpate::force::{ForceParams, PoseSummary, Twist};
use palpate::query::QueryParams;
use palpate::shape::ShapeParams;
use palpate::soft::{FieldSummary, SoftMesh};
use palpate::{Field, Mesh, Pose};
use pyo3::PyErr;

pub(crate) fn list() -> Vec<GpuInfo> {
    Vec::new()
}

/// Nothing.
#[derive(Default)]
pub(crate) struct Resident;

/// There is none.
pub(crate) enum Device {}

impl Device {
    pub(crate) fn open(_: String, _: bool) -> Result<Self, PyErr> {
        Err(error::gpu("no GPU can be opened: this palpate was built without its feature gpu; use the CPU"))
    }

    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn is_software(&self) -> bool {
        match *self {}
    }

    pub(crate) fn bytes(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn release(&self, _: Option<&Resident>) {
        match *self {}
    }

    pub(crate) fn pair(
        &self,
        _: [&PyShape; 2],
        _: &[Pose],
        _: &QueryParams,
        _: Option<&ForceParams>,
        _: bool,
    ) -> Result<(Vec<PoseSummary>, Vec<Contact>), PyErr> {
        match *self {}
    }

    pub(crate) fn distances(
        &self,
        _: &PyShape,
        _: usize,
        _: impl Fn(usize) -> DVec3 + Sync,
        _: bool,
        _: impl FnMut(usize, DVec3, f64),
    ) -> Result<(), PyErr> {
        match *self {}
    }

    pub(crate) fn build(&self, _: &Mesh, _: f64, _: &ShapeParams) -> Result<Field, PyErr> {
        match *self {}
    }
}

/// Nothing.
#[derive(Default)]
pub(crate) struct SoftOnDevice;

impl SoftOnDevice {
    pub(crate) fn wrench(
        &mut self,
        device: &Device,
        _: &PyShape,
        _: (&SoftMesh, (u64, u64)),
        _: f64,
        _: &Pose,
        _: &ForceParams,
        _: (Twist, Option<&[DVec3]>),
    ) -> Result<FieldSummary, PyErr> {
        match *device {}
    }

    pub(crate) fn nearest(
        &mut self,
        device: &Device,
        _: &PyShape,
        _: (&SoftMesh, (u64, u64)),
        _: f64,
        _: &Pose,
    ) -> Result<FieldSummary, PyErr> {
        match *device {}
    }

    pub(crate) fn contacts(
        &mut self,
        device: &Device,
        _: &PyShape,
        _: (&SoftMesh, (u64, u64)),
        _: f64,
        _: &Pose,
        _: f64,
    ) -> Result<Contacts, PyErr> {
        match *device {}
    }
}
