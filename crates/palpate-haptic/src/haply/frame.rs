//! From Haply's frame to the world's and back.

use glam::{DQuat, DVec3};
use palpate::force::Twist;
use palpate::math::Pose;

use crate::device::{DeviceError, DeviceLimits};

/// Where the device stands in the world: `world_from_device`, with a scale of motion.
///
/// Haply's frame is right-handed, x to the right, y forward, z up, seen from the user. A rotation keeps it right-handed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Turns the device's axes into the world's.
    pub rotation: DQuat,
    /// Where the device's origin is in the world [m].
    pub offset: DVec3,
    /// How far the handle goes in the world when the device goes 1 m [1]. Forces are not scaled: what is commanded is felt.
    pub scale: f64,
}

impl Frame {
    /// The world's axes are the device's: z is up, y forward.
    pub const Z_UP: Self = Self { rotation: DQuat::IDENTITY, offset: DVec3::ZERO, scale: 1.0 };

    /// A world whose y is up and whose z comes towards the user, as in many viewers.
    pub fn y_up() -> Self {
        Self { rotation: DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2), ..Self::Z_UP }
    }

    /// Whether it is finite, the rotation unit to 1e-6, and the scale above 0.
    pub fn check(&self) -> Result<(), DeviceError> {
        let unit = self.rotation.length();
        let values = [
            ("frame's offset", self.offset.x + self.offset.y + self.offset.z, self.offset.is_finite()),
            ("frame's rotation's length", unit, (unit - 1.0).abs() <= 1e-6),
            ("frame's scale", self.scale, self.scale.is_finite() && self.scale > 0.0),
        ];
        match values.into_iter().find(|v| !v.2) {
            Some((name, value, _)) => Err(DeviceError::BadLimit { name, value }),
            None => Ok(()),
        }
    }

    /// `world_from_handle` of a cursor and what its grip's orientation is (`device_from_grip`).
    ///
    /// A grip that lies along the device's axes leaves the handle along the world's: a turn about an axis of the device is the same
    /// turn about that axis as it lies in the world.
    pub fn pose(&self, position: DVec3, grip: DQuat) -> Pose {
        let rotation = self.rotation * grip * self.rotation.conjugate();
        Pose::new(rotation, self.offset + self.scale * (self.rotation * position))
    }

    /// Velocity of the handle in the world, for a cursor that does not turn.
    pub fn twist(&self, velocity: DVec3) -> Twist {
        Twist { linear: self.scale * (self.rotation * velocity), angular: DVec3::ZERO }
    }

    /// A force of the world, as the device has it [N].
    pub fn force(&self, force: DVec3) -> DVec3 {
        self.rotation.conjugate() * force
    }

    /// What the device can do, in the world's lengths: a spring of the world feels `scale` times as stiff.
    pub fn limits(&self, device: &DeviceLimits) -> DeviceLimits {
        DeviceLimits {
            stiffness: device.stiffness / self.scale,
            damping: device.damping / self.scale,
            workspace: device.workspace * self.scale,
            ..*device
        }
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self::Z_UP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_go_where_they_should_and_stay_right_handed() {
        let (right, forward, up) = (DVec3::X, DVec3::Y, DVec3::Z);
        let y_up = Frame::y_up();
        let at = |p| y_up.pose(p, DQuat::IDENTITY).translation;
        assert!((at(right) - DVec3::X).length() < 1e-15);
        assert!((at(up) - DVec3::Y).length() < 1e-15, "up is y");
        assert!((at(forward) - DVec3::NEG_Z).length() < 1e-15, "forward is away from the viewer");
        assert!((at(right).cross(at(forward)) - at(up)).length() < 1e-15, "right-handed");
        // Forces go back the same way.
        assert!((y_up.force(DVec3::Y) - up).length() < 1e-15);
        assert!((y_up.force(DVec3::NEG_Z) - forward).length() < 1e-15);
    }

    #[test]
    fn a_known_pose_comes_out() {
        let rotation = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
        let frame = Frame { rotation, offset: DVec3::new(1.0, 2.0, 3.0), scale: 2.0 };
        // A grip that is turned by 0.3 about the device's x, which lies along the world's y.
        let pose = frame.pose(DVec3::new(0.1, 0.0, -0.2), DQuat::from_rotation_x(0.3));
        assert!((pose.translation - DVec3::new(1.0, 2.2, 2.6)).length() < 1e-15);
        assert!((pose.rotation - DQuat::from_rotation_y(0.3)).length() < 1e-15);
        assert!((frame.twist(DVec3::X).linear - DVec3::new(0.0, 2.0, 0.0)).length() < 1e-15);
        assert!((frame.force(DVec3::Y) - DVec3::X).length() < 1e-15);
        assert_eq!(frame.pose(DVec3::ZERO, DQuat::IDENTITY).rotation, DQuat::IDENTITY);
        let limits = frame.limits(&DeviceLimits::INVERSE3);
        assert_eq!((limits.stiffness, limits.damping, limits.workspace), (500.0, 3.0, 0.3));
        assert_eq!(limits.force, 10.0);
    }

    #[test]
    fn frames_that_make_no_sense_are_refused() {
        assert!(Frame::y_up().check().is_ok());
        assert!(Frame { scale: 0.0, ..Frame::Z_UP }.check().is_err());
        assert!(Frame { offset: DVec3::NAN, ..Frame::Z_UP }.check().is_err());
        assert!(Frame { rotation: DQuat::from_xyzw(0.0, 0.0, 0.0, 2.0), ..Frame::Z_UP }.check().is_err());
    }
}
