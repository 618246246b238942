//! The volume that two sides of a moving polygon span with its first corner: without a root there is no contact.

use super::polygon::Motion;
use glam::DVec3;

/// Bound of the rounding of a coefficient, as a part of the sum of the absolute values of its products [1].
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Bound of the rounding of values and times on a window, as a part of the largest coefficient [1]: values are three means deep,
/// a time that is off by half a unit changes them by 6 of these at most.
const WINDOW: f64 = 24.0 * f64::EPSILON;
/// More than what products lose by underflow.
const UNDERFLOW: f64 = 1e-300;
/// Most windows of one call; each is a quarter of the last one at most, or ends at it.
const WINDOWS: usize = 32;

/// Bernstein coefficients that the volume, and its opposite, are above for certain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    above: [[f64; 4]; 2],
}

impl Cubic {
    /// `sides` at both ends of time, each off by half a unit of its last digit at most.
    pub(super) fn new<const K: usize>(sides: &[[DVec3; 2]; 2], motion: &Motion<K>) -> Self {
        let mut sums = [(0.0, 0.0); 4];
        let mut across = [DVec3::ZERO; 3];
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (u, v) = (sides[i][0], sides[j][1]);
            let (ua, va) = (u.abs(), v.abs());
            let area = u.cross(v);
            // The cross product of absolute values with a sum for the difference.
            let size =
                DVec3::new(ua.y * va.z + ua.z * va.y, ua.z * va.x + ua.x * va.z, ua.x * va.y + ua.y * va.x);
            across[i + j] += size;
            for k in 0..2 {
                let p = motion.ends[k][0];
                sums[i + j + k].0 += area.dot(p);
                sums[i + j + k].1 += size.dot(p.abs());
            }
        }
        // Volume = height · area: beyond the separation it is above that times the largest area.
        let areas = [across[0], across[1] / 2.0, across[2]].map(DVec3::length);
        let area = areas[0].max(areas[1]).max(areas[2]) * (1.0 + 16.0 * f64::EPSILON);
        let apart = motion.separation * area * (1.0 + 4.0 * f64::EPSILON) + UNDERFLOW;
        let bound = |sign: f64| {
            core::array::from_fn(|i| {
                let (sum, size) = sums[i];
                let count = if i == 1 || i == 2 { 3.0 } else { 1.0 };
                (sign * sum - ROUNDING * size) / count - apart
            })
        };
        Self { above: [bound(1.0), bound(-1.0)] }
    }

    /// Until when the volume has no root from `time` on, for certain; `time` if that cannot be told.
    pub(super) fn free_until(&self, time: f64) -> f64 {
        let [a, b] = &self.above;
        free_until(a, time).max(free_until(b, time))
    }
}

/// The value at three times: the mean of coefficients that all three give (the polar form).
#[inline(always)]
fn polar(c: &[f64; 4], r: f64, s: f64, t: f64) -> f64 {
    let mix = |a: f64, b: f64, x: f64| a * (1.0 - x) + b * x;
    let first = [mix(c[0], c[1], r), mix(c[1], c[2], r), mix(c[2], c[3], r)];
    mix(mix(first[0], first[1], s), mix(first[1], first[2], s), t)
}

/// Until when the polynomial is above 0 from `time` on.
fn free_until(c: &[f64; 4], time: f64) -> f64 {
    if c.iter().all(|c| *c > 0.0) {
        return 1.0;
    }
    let error = WINDOW * c.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
    let (mut time, mut end) = (time, 1.0_f64);
    for _ in 0..WINDOWS {
        let value = polar(c, time, time, time) - error;
        if value <= 0.0 || value.is_nan() {
            break;
        }
        let others = [polar(c, time, time, end), polar(c, time, end, end), polar(c, end, end, end)];
        // All coefficients of the window are above the line of the steepest fall from the first.
        let mut fall = 0.0_f64;
        let mut positive = true;
        for (i, other) in others.into_iter().enumerate() {
            let other = other - error;
            positive &= other > 0.0;
            fall = fall.max((value - other) * (3.0 / (i + 1) as f64));
        }
        if positive {
            return end;
        }
        let width = end - time;
        let step = width * (value / fall).min(1.0);
        time = (time + step).min(end);
        // Near a root only a narrow window is nearly straight.
        if step < 0.25 * width {
            end = (time + 0.25 * width).min(1.0);
        }
        if end - time <= f64::EPSILON {
            break;
        }
    }
    time
}
