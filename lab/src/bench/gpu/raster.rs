//! The paper's raster path, as the parts call it.

use super::paper::Way;
use anyhow::{Result, bail};
use palpate::force::ForceParams;
use palpate::math::Pose;
use palpate::soft::FieldSummary;
use palpate_gpu::{Gpu, GpuField, GpuMesh};

/// Ways that are measured.
pub(super) const WAYS: [(&str, Way); 3] =
    [("basic", Way::Basic), ("early-Z", Way::EarlyZ), ("single pass", Way::SinglePass)];

/// Draws of one framebuffer size.
#[derive(Debug)]
pub(super) struct Raster {}

impl Raster {
    /// With `size` pixels along the longest side of the box.
    pub(super) fn new(_gpu: &Gpu, _size: u32) -> Result<Self> {
        bail!("the raster path is not in this build")
    }

    /// Forces: fragments are `samples` of the summary.
    pub(super) fn collide(
        &mut self,
        _field: &GpuField,
        _mesh: &mut GpuMesh,
        _pose: &Pose,
        _params: &ForceParams,
        _way: Way,
    ) -> Result<FieldSummary> {
        bail!("the raster path is not in this build")
    }

    /// The closest point; none of early-Z.
    pub(super) fn nearest(
        &mut self,
        _field: &GpuField,
        _mesh: &mut GpuMesh,
        _pose: &Pose,
        _way: Way,
    ) -> Result<FieldSummary> {
        bail!("the raster path is not in this build")
    }
}
