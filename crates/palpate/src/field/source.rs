//! The interface that every signed distance shares, whether it was built from a mesh or is a formula.

use crate::math::Aabb;
use glam::DVec3;

/// Distance and direction at a point, in the source's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Signed distance to the surface, negative inside [m]. NaN where the point asked for was not finite.
    pub distance: f64,
    /// Derivative of the distance, outward [1]. Unit for exact sources; zero where it is undefined
    /// (on a medial axis, on an edge).
    pub gradient: DVec3,
}

impl Sample {
    /// The answer for a point that is not finite: NaN distance, zero gradient.
    pub const UNDEFINED: Self = Self { distance: f64::NAN, gradient: DVec3::ZERO };

    /// How deep the point is inside: `max(0, -distance)` [m].
    pub fn depth(&self) -> f64 {
        (-self.distance).max(0.0)
    }
}

/// Anything that gives a signed distance: a built field or an analytic shape. Frame: the source's own.
pub trait Source: Sync {
    /// Distance and gradient at `p`.
    fn sample(&self, p: DVec3) -> Sample;

    /// Signed distance at `p`, negative inside [m].
    fn distance(&self, p: DVec3) -> f64 {
        self.sample(p).distance
    }

    /// Lower and upper bound of the true signed distance at `p` [m]; equal up to rounding for exact sources.
    fn bounds(&self, p: DVec3) -> (f64, f64);

    /// A box that holds the whole surface. Infinite along the axes in which the surface is.
    fn aabb(&self) -> Aabb;

    /// The point of the surface closest to `p`, one of them when there are several; `None` when the source
    /// does not know it.
    fn closest_point(&self, p: DVec3) -> Option<DVec3> {
        let _ = p;
        None
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn sample(&self, p: DVec3) -> Sample {
        (**self).sample(p)
    }
    fn distance(&self, p: DVec3) -> f64 {
        (**self).distance(p)
    }
    fn bounds(&self, p: DVec3) -> (f64, f64) {
        (**self).bounds(p)
    }
    fn aabb(&self) -> Aabb {
        (**self).aabb()
    }
    fn closest_point(&self, p: DVec3) -> Option<DVec3> {
        (**self).closest_point(p)
    }
}

/// Random numbers for the tests of this stage: splitmix64, the same on every machine.
#[cfg(test)]
pub(crate) mod random {
    use glam::{DQuat, DVec3};

    #[derive(Debug)]
    pub(crate) struct Random(pub(crate) u64);

    impl Random {
        pub(crate) fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
        /// Uniform in [low, high).
        pub(crate) fn range(&mut self, low: f64, high: f64) -> f64 {
            low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
        }
        /// Uniform in the cube of half edge `half`.
        pub(crate) fn point(&mut self, half: f64) -> DVec3 {
            DVec3::new(self.range(-half, half), self.range(-half, half), self.range(-half, half))
        }
        /// Uniform on the unit sphere.
        pub(crate) fn direction(&mut self) -> DVec3 {
            loop {
                let v = self.point(1.0);
                if (0.01..1.0).contains(&v.length_squared()) {
                    return v.normalize();
                }
            }
        }
        pub(crate) fn rotation(&mut self) -> DQuat {
            DQuat::from_axis_angle(self.direction(), self.range(-3.0, 3.0))
        }
    }
}
