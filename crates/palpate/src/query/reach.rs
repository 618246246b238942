//! How far a ball reaches: when none of its points can be within a margin.

use super::Side;
use super::frame::Frame;
use crate::field::{BRICK, pack::known};
use crate::simd::{LANES, Lanes, Plain};

/// Steepness of interpolated distances whose nodes are exact, rounded up: √3 [1].
const GENTLE: f32 = 1.7321;

/// How large the sampled distance at the centre of a ball can be while one of its points is at most a margin away.
///
/// Five arguments, of which the least counts. With f the sampled and D the true distance, q the error near the surface and
/// h the edge of a voxel:
/// - f grows by at most `slope` times the radius;
/// - on the way from a point at the margin to the centre f is above the margin from somewhere on, so that only voxels outside count.
///   As long as f stays below what the slopes were measured up to, it grows by that of the cells around the centre, for balls that
///   do not reach beyond them: little more than the radius where the surface is smooth;
/// - a point with f <= margin has D <= margin + q, so the centre has D <= margin + q + radius, and f there is at most D and the
///   error far from the surface;
/// - as long as that is in the band, where all nodes are exact, f² <= D² + 3/4·h², as in `field/far.rs`: the limit is hardly more
///   than the radius;
/// - there too, nodes that are neighbours differ by at most h, so that f is no steeper than √3, all the way from the centre to the
///   point: less than the above for balls smaller than a voxel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// [m]
    pub(crate) margin: f32,
    /// Steepness of the field [1].
    pub(crate) slope: f32,
    /// Largest |f − D| of a point at the margin [m].
    near: f32,
    /// Largest |f − D| of any point [m].
    far: f32,
    /// Centres with D below this have exact nodes around them [m].
    band: f32,
    /// Margins from 0 to this are in the band, with all errors of points there [m].
    tight: f32,
    /// 3/4·h² [m²].
    spread: f32,
    /// What else may be wrong with f in the band: rounding, stored values, nodes with hardly any weight [m].
    slack: f32,
    /// Largest difference of two samples beyond `slope` times their distance [m].
    jump: f32,
    /// Balls up to this size stay in the cells around that of their centre [m].
    local: f32,
    /// Voxels with a value up to this count in the measured slopes [m].
    known: f32,
}

impl Reach {
    pub(crate) fn new(side: &Side<'_>, frame: &Frame, margin: f64) -> Self {
        let field = side.field;
        let r = field.report();
        let voxel = field.lattice().voxel;
        let slope = r.lipschitz.max(1.0) * (1.0 + 1e-5);
        let rounding = 2.0 * f64::from(frame.rounding);
        let packed = side.packed.map_or(0.0, |p| p.error);
        let stored = 2.0 * (field.values.error() + packed);
        Self {
            margin: margin as f32,
            slope: slope as f32,
            near: (r.error_bound_band + packed + rounding) as f32,
            far: (r.error_bound_far + packed + rounding) as f32,
            band: r.band as f32,
            tight: (r.band - 2.0 * r.error_bound_band) as f32,
            spread: (0.75 * voxel * voxel) as f32,
            // What the error in the band is more than half a diagonal of a voxel.
            slack: (r.error_bound_band - 0.5 * 3f64.sqrt() * voxel + stored + rounding).max(0.0) as f32,
            jump: (slope * rounding + stored) as f32,
            // Less what rounding does to a centre.
            known: known(field) as f32,
            local: (0.99 * BRICK as f64 * voxel - rounding) as f32,
        }
    }

    /// The same for points that may yet come nearer by `guard` [m]: the slope says nothing of those.
    #[inline(always)]
    pub(crate) fn guarded(self, guard: f32) -> Self {
        Self { near: self.near + guard, far: self.far + guard, jump: f32::MAX, ..self }
    }

    /// The same for another margin.
    #[inline(always)]
    pub(crate) fn at(self, margin: f32) -> Self {
        Self { margin, ..self }
    }

    /// The limit of one ball.
    pub(crate) fn limit_of(&self, radius: f32) -> f32 {
        let mut limits = [0.0; LANES];
        self.limit(Plain::splat(radius), Plain::splat(f32::INFINITY)).store(&mut limits);
        limits[0]
    }

    /// The limits of balls; `steepness`: of the field in the cells around each centre, infinite where it is not known [1].
    #[inline(always)]
    pub(crate) fn limit<L: Lanes>(&self, radius: L, steepness: L) -> L {
        // Points above the band, or inside, may be farther from the truth.
        let tight = self.margin >= 0.0 && self.margin < self.tight;
        let (near, band) = if tight { (self.near, self.band) } else { (self.far, f32::NEG_INFINITY) };
        let steep = radius.mul(L::splat(self.slope)).add(L::splat(self.margin)).add(L::splat(self.jump));
        let around = radius.mul(steepness).add(L::splat(self.margin)).add(L::splat(self.jump));
        let local = if self.margin >= 0.0 { self.local } else { -1.0 };
        let measured = L::and(L::splat(local).ge(radius), L::splat(self.known).ge(around));
        let steep = L::select(measured, around, steep).min(steep);
        let true_distance = radius.add(L::splat(self.margin + near));
        let anywhere = true_distance.add(L::splat(self.far));
        let in_band = true_distance.mul(true_distance).add(L::splat(self.spread)).sqrt();
        let in_band = in_band.add(L::splat(self.slack));
        let gentle = radius.mul(L::splat(GENTLE)).add(L::splat(self.margin)).add(L::splat(self.jump));
        let in_band = in_band.min(gentle);
        steep.min(L::select(true_distance.lt(L::splat(band)), in_band.min(anywhere), anywhere))
    }
}
