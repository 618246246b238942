//! Fields, their packed copies and exact surfaces in another scale.
//!
//! What is in voxels stays as it is and is shared: the triangles of [`Exact`], its tree and pieces, [`super::FarGrid`], the directory
//! and 16-bit values. What is in metres is multiplied: places, voxels, single-precision values, steps, and everything a report
//! bounds. With a power of two that is exact; otherwise values are rounded once more, and bounds widened by it.

use super::encode::Values;
use super::packed::Packed;
use super::{Encoding, Exact, Field, FieldReport, Lattice};
use crate::math::Aabb;
use crate::par;
use std::sync::{Arc, OnceLock};

/// Relative rounding of a number in single precision [1].
pub(crate) const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;

/// Values per parallel work item.
const CHUNK: usize = 1 << 16;

/// Whether multiplying by `factor` is exact.
pub(crate) fn is_power_of_two(factor: f64) -> bool {
    factor.is_normal() && factor.to_bits() & ((1 << 52) - 1) == 0
}

/// [`ROUNDING`], or 0 where multiplying by `factor` is exact.
pub(crate) fn rounding(factor: f64) -> f64 {
    if is_power_of_two(factor) { 0.0 } else { ROUNDING }
}

/// All numbers of a list times `factor`, rounded once.
pub(crate) fn times(values: &[f32], factor: f64) -> Vec<f32> {
    let mut out = vec![0.0; values.len()];
    par::chunks_mut(&mut out, CHUNK, |chunk, out| {
        for (to, v) in out.iter_mut().zip(&values[chunk * CHUNK..]) {
            *to = (f64::from(*v) * factor) as f32;
        }
    });
    out
}

impl Lattice {
    fn scaled(&self, factor: f64) -> Self {
        Self { origin: self.origin * factor, voxel: self.voxel * factor, cells: self.cells }
    }
}

impl FieldReport {
    /// In another scale; values may be off by `more` than before [m].
    fn scaled(&self, factor: f64, more: f64) -> Self {
        Self {
            sign_method: self.sign_method,
            sign_confidence: self.sign_confidence,
            sign_repaired: self.sign_repaired,
            holes: self.holes.iter().map(|h| h.scaled(factor)).collect(),
            bricks: self.bricks,
            bytes: self.bytes,
            band: self.band * factor,
            error_bound_band: self.error_bound_band * factor + more,
            error_bound_far: self.error_bound_far * factor + more,
            excess_background: self.excess_background * factor + more,
            excess_bricks: self.excess_bricks * factor + more,
            lipschitz: self.lipschitz,
            surface: Aabb { min: self.surface.min * factor, max: self.surface.max * factor },
        }
    }
}

impl Field {
    /// The same field in another scale, a positive number that keeps it in the range of single precision.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let values = match &self.values {
            Values::Float(v) => Values::Float(times(v, factor).into()),
            Values::Scaled { values, step, encoding } => Values::Scaled {
                values: values.clone(),
                step: (f64::from(*step) * factor) as f32,
                // Its step is no power of ten any more.
                encoding: match encoding {
                    Encoding::Scaled { .. } => Encoding::Scaled { precision: None },
                    other => *other,
                },
            },
        };
        let lattice = self.lattice.scaled(factor);
        // No distance in the box is larger than its diagonal.
        let more = rounding(factor) * lattice.aabb().extent().length();
        let (directory, closest) = (self.directory.clone(), self.closest.clone());
        Self { lattice, directory, values, closest, report: self.report.scaled(factor, more) }
    }
}

impl Packed {
    /// The same values in another scale.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let scale = self.scale.map(|s| (f64::from(s) * factor) as f32);
        // The units are rounded, and the field's values: each by this share of the largest, 16 bits of units. With 16-bit values of
        // the field's own both are the same product.
        let largest = f64::from(scale[0].max(scale[1])) * f64::from(1u32 << 15);
        let more = if self.error > 0.0 { 2.0 * rounding(factor) * largest } else { 0.0 };
        Self {
            lattice: self.lattice.scaled(factor),
            directory: Arc::clone(&self.directory),
            quads: Arc::clone(&self.quads),
            steepness: Arc::clone(&self.steepness),
            scale,
            error: self.error * factor + more,
        }
    }
}

impl Exact {
    /// The same surface in another scale; the memory is shared.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let pieces = OnceLock::new();
        if let Some(known) = self.pieces.get() {
            pieces.get_or_init(|| known.clone());
        }
        Self {
            origin: self.origin * factor,
            voxel: self.voxel * factor,
            positions: Arc::clone(&self.positions),
            triangles: Arc::clone(&self.triangles),
            original: Arc::clone(&self.original),
            place: Arc::clone(&self.place),
            bvh: Arc::clone(&self.bvh),
            middle: self.middle,
            radius: self.radius,
            slack: self.slack,
            pieces,
            compact: self.compact.clone(),
            sheet: Arc::clone(&self.sheet),
            dipoles: self.dipoles.clone(),
        }
    }
}
