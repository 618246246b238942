//! Limits on a wrench before it reaches a device or an integrator: how large, and how fast it may change.

use super::ForceError;
use crate::math::Wrench;
use glam::DVec3;

/// How large a force and a torque may be, and how fast they may change. The default limits nothing.
///
/// Lengths of vectors are limited, directions are kept. The torque is limited about the wrench's point of reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest force [N].
    pub force: f64,
    /// Largest torque [N m].
    pub torque: f64,
    /// Largest change of the force in a second [N/s].
    pub force_rate: f64,
    /// Largest change of the torque in a second [N m/s].
    pub torque_rate: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            force: f64::INFINITY,
            torque: f64::INFINITY,
            force_rate: f64::INFINITY,
            torque_rate: f64::INFINITY,
        }
    }
}

/// The wrench that a limit let through last. Kept by the caller; starts at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitState {
    /// In the same frame and about the same point as the next one.
    pub last: Wrench,
}

/// A wrench within limits, and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limited {
    /// The wrench.
    pub wrench: Wrench,
    /// It was too large.
    pub saturated: bool,
    /// It changed too fast.
    pub slewed: bool,
    /// The wrench or the time was not finite: the wrench here is zero.
    pub non_finite: bool,
}

impl Limits {
    /// Whether every limit is a number and not negative; infinity is no limit.
    ///
    /// [`Limits::saturate`] and [`Limits::apply`] do not check: a limit that is NaN or negative counts as 0.
    pub fn check(&self) -> Result<(), ForceError> {
        let values = [
            ("force limit", self.force),
            ("torque limit", self.torque),
            ("force rate", self.force_rate),
            ("torque rate", self.torque_rate),
        ];
        for (name, value) in values {
            if value.is_nan() || value < 0.0 {
                return Err(ForceError::BadParameter {
                    name,
                    value,
                    range: "0 or more; infinity for no limit",
                });
            }
        }
        Ok(())
    }

    /// The wrench with force and torque no longer than allowed, in the same directions.
    pub fn saturate(&self, wrench: &Wrench) -> Limited {
        if !(wrench.force.is_finite() && wrench.torque.is_finite()) {
            return Limited { non_finite: true, ..Limited::default() };
        }
        let (force, a) = shorten(wrench.force, self.force);
        let (torque, b) = shorten(wrench.torque, self.torque);
        Limited { wrench: Wrench { force, torque }, saturated: a || b, ..Limited::default() }
    }

    /// The wrench saturated, and no farther from the last one than `dt` seconds allow; `state` keeps it.
    ///
    /// For limits of a call instead of a second, let `dt` be 1. A `dt` of 0 or less holds the last wrench where rates are
    /// limited. A wrench or `dt` that is not finite gives the zero wrench at once, and the next one starts from there.
    pub fn apply(&self, wrench: &Wrench, dt: f64, state: &mut LimitState) -> Limited {
        let mut out = self.saturate(wrench);
        let last = state.last;
        if out.non_finite || !dt.is_finite() || !(last.force.is_finite() && last.torque.is_finite()) {
            *state = LimitState::default();
            return Limited { non_finite: true, ..Limited::default() };
        }
        let (force, a) = follow(last.force, out.wrench.force, self.force_rate, dt);
        let (torque, b) = follow(last.torque, out.wrench.torque, self.torque_rate, dt);
        // Again: the limit may be lower than it was for the last one.
        let kept = self.saturate(&Wrench { force, torque });
        out = Limited {
            wrench: kept.wrench,
            saturated: out.saturated || kept.saturated,
            slewed: a || b,
            ..out
        };
        state.last = out.wrench;
        out
    }
}

/// `v` no longer than `most`, and whether it was. A `most` that is NaN or negative is 0.
fn shorten(v: DVec3, most: f64) -> (DVec3, bool) {
    let most = super::positive(most);
    // Scaled first: squares of large finite numbers overflow, of small ones vanish.
    let largest = v.abs().max_element();
    if largest == 0.0 {
        return (v, false);
    }
    let unit = v / largest;
    let length = unit.length();
    if length * largest <= most { (v, false) } else { (unit * (most / length), true) }
}

/// `to`, or the point towards it that can be reached from `from`, and whether it was too far.
fn follow(from: DVec3, to: DVec3, rate: f64, dt: f64) -> (DVec3, bool) {
    let rate = super::positive(rate);
    if rate == f64::INFINITY {
        return (to, false);
    }
    // Halves: the difference of two finite numbers can be infinite.
    let (step, cut) = shorten(0.5 * to - 0.5 * from, 0.5 * (rate * dt.max(0.0)));
    if cut { (from + 2.0 * step, true) } else { (to, false) }
}
