//! The paper's raster path, as the parts call it.

use super::paper::Way;
use anyhow::Result;
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::soft::FieldSummary;
use palpate_gpu::{Gpu, GpuField, GpuMesh, GpuRaster, RasterMode, RasterParams};

/// Ways that are measured.
pub(super) const WAYS: [(&str, Way); 3] =
    [("basic", Way::Basic), ("early-Z", Way::EarlyZ), ("single pass", Way::SinglePass)];

/// Draws of one framebuffer size.
#[derive(Debug)]
pub(super) struct Raster(GpuRaster);

impl Raster {
    /// With `size` pixels along the longest side of the box.
    pub(super) fn new(gpu: &Gpu, size: u32) -> Result<Self> {
        Ok(Self(GpuRaster::new(gpu, RasterParams { size, ..RasterParams::default() })?))
    }

    /// Forces: fragments are `samples` of the summary.
    pub(super) fn collide(
        &mut self,
        field: &GpuField,
        mesh: &mut GpuMesh,
        pose: &Pose,
        params: &ForceParams,
        way: Way,
    ) -> Result<FieldSummary> {
        let mode = match way {
            Way::Basic => RasterMode::Basic,
            Way::EarlyZ => RasterMode::EarlyZ,
            Way::SinglePass | Way::Best => RasterMode::SinglePass,
        };
        Ok(self.0.collide(field, mesh, pose, params, &Twist::ZERO, mode)?)
    }

    /// The closest point; early-Z plays no part in it.
    pub(super) fn nearest(
        &mut self,
        field: &GpuField,
        mesh: &mut GpuMesh,
        pose: &Pose,
        way: Way,
    ) -> Result<FieldSummary> {
        Ok(self.0.nearest(field, mesh, pose, way == Way::SinglePass)?)
    }
}
