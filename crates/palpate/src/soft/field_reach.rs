//! Which balls can hold a point that is near enough.

use super::Rigid;

/// Steepness of interpolated distances whose nodes are exact, rounded up: √3 [1].
const GENTLE: f32 = 1.7321;

/// How much a sampled distance can be above that of another point that is some way from it.
///
/// With f the sampled and D the true distance, f(c) <= f(p) + slope·r; also f(c) <= D(c) + e <= D(p) + r + e <= f(p) + r + 2e. Near
/// the surface, where nodes are exact, the error is smaller and the slope is at most √3.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    slope: f32,
    /// Twice the largest error, anywhere and near the surface [m].
    far: f32,
    near: f32,
    /// Where the latter holds [m].
    band: f32,
    /// Rounding of coordinates and values [m].
    slack: f32,
    /// Rounding of coordinates [m].
    rounding: f32,
}

impl Reach {
    pub(super) fn new(rigid: &Rigid<'_>, farthest: f64) -> Self {
        let (slope, far, near, band, stored) = match rigid {
            Rigid::Field(field) => {
                let r = field.report();
                let stored = 2.0 * field.values.error();
                (r.lipschitz.max(1.0), r.error_bound_far, r.error_bound_band, r.band, stored)
            }
            Rigid::Source(_) => (1.0, 0.0, 0.0, 0.0, 0.0),
        };
        let slope = slope * (1.0 + 1e-5);
        let rounding = 8.0 * f64::from(f32::EPSILON) * farthest;
        Self {
            slope: slope as f32,
            far: 2.0 * far as f32,
            near: 2.0 * near as f32,
            band: (band - 2.0 * near) as f32,
            slack: (slope * rounding + stored) as f32,
            rounding: rounding as f32,
        }
    }

    /// Below this length f32 does not tell points apart [m].
    pub(super) fn least_spacing(&self) -> f32 {
        self.rounding
    }

    /// The largest distance at the centre of a ball in which some point may be at most `cut` away.
    #[inline(always)]
    pub(super) fn limit(&self, cut: f32, radius: f32) -> f32 {
        let anywhere = (self.slope * radius).min(radius * 1.00001 + self.far);
        let in_band = (GENTLE * radius).min(radius * 1.00001 + self.near);
        let banded = cut >= 0.0 && cut + radius < self.band;
        cut + self.slack + if banded { in_band.min(anywhere) } else { anywhere }
    }
}
