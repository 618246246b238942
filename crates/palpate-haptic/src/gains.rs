//! How stiff the coupling between the handle and the tool is: from what the device can do.
//!
//! Based on: Colgate, Schenkel, Passivity of a class of sampled-data systems, 1997 [colgate97]; Barbagli, Prattichizzo,
//! Salisbury, A multirate approach to haptic interaction with deformable objects, 2005 (gains of six degrees of freedom).
//! Differs: a device without torque still turns the tool by a spring, whose torque nobody feels.

use crate::device::{DeviceError, DeviceLimits};

/// Share of a device's stiffness that the coupling takes: the rest is for what it touches [1].
pub const SHARE: f64 = 0.8;
/// Share of its damping. Velocities are differences of quantised positions: more of it is noise.
const DAMPED: f64 = 0.1;
/// How many times stiffer than the coupling what is touched is. More is not felt, as both are in series.
const STIFFER: f64 = 8.0;

/// A spring and a damper between the handle and the tool, in the scene's metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// [N/m]
    pub stiffness: f64,
    /// [N m/rad]
    pub angular_stiffness: f64,
    /// [N s/m]
    pub damping: f64,
    /// [N m s/rad]
    pub angular_damping: f64,
    /// Of what is touched, for [`palpate::force::Law::Averaged`] [N/m].
    pub contact: f64,
}

impl Gains {
    /// Gains for a device, when the handle's motion is made `scale` times larger in the scene and the tool has this radius [m].
    ///
    /// The handle feels `scale` times the stiffness that the scene has, so that the scene's is divided by it; torques the other way round. Without
    /// torque
    /// the tool turns as if the spring sat at its radius.
    pub fn of(limits: &DeviceLimits, scale: f64, radius: f64) -> Result<Self, DeviceError> {
        limits.check()?;
        for (name, value) in [("scale of motion", scale), ("radius of the tool", radius)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(DeviceError::BadLimit { name, value });
            }
        }
        let stiffness = SHARE * limits.stiffness / scale;
        let damping = DAMPED * limits.damping / scale;
        // What the scene turns by is what the handle turns by, and the handle feels a torque divided by the scale.
        let (angular_stiffness, angular_damping) = if limits.torque > 0.0 && limits.angular_stiffness > 0.0 {
            (SHARE * limits.angular_stiffness * scale, DAMPED * limits.angular_damping * scale)
        } else {
            (stiffness * radius * radius, damping * radius * radius)
        };
        Ok(Self { stiffness, angular_stiffness, damping, angular_damping, contact: STIFFER * stiffness })
    }

    /// The spring as a diagonal.
    pub(crate) fn spring(&self) -> [f64; 6] {
        let (k, r) = (self.stiffness, self.angular_stiffness);
        [k, k, k, r, r, r]
    }

    pub(crate) fn damper(&self) -> [f64; 6] {
        let (b, r) = (self.damping, self.angular_damping);
        [b, b, b, r, r, r]
    }

    /// Whether all are finite, springs positive and dampers not negative.
    pub fn is_valid(&self) -> bool {
        let springs = [self.stiffness, self.angular_stiffness, self.contact];
        let dampers = [self.damping, self.angular_damping];
        springs.iter().all(|k| *k > 0.0 && k.is_finite())
            && dampers.iter().all(|b| *b >= 0.0 && b.is_finite())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop where something fails")]
    use super::*;

    #[test]
    fn gains_are_below_what_the_device_can_do_at_any_scale() {
        for limits in [DeviceLimits::INVERSE3, DeviceLimits::OMEGA3, DeviceLimits::SIGMA7] {
            for scale in [0.01, 1.0, 250.0] {
                let gains = Gains::of(&limits, scale, 0.02).unwrap();
                assert!(gains.is_valid());
                assert!(gains.stiffness * scale < limits.stiffness && gains.damping * scale < limits.damping);
                assert!(limits.torque == 0.0 || gains.angular_stiffness / scale < limits.angular_stiffness);
            }
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Gains::of(&DeviceLimits::OMEGA3, bad, 1.0).is_err());
            assert!(Gains::of(&DeviceLimits { stiffness: bad, ..DeviceLimits::OMEGA3 }, 1.0, 1.0).is_err());
        }
    }
}
