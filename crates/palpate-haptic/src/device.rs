//! What a haptic device is to the loop: a handle that moves, and a wrench that it can be given.
//!
//! World frame: right-handed, the one the scene is in. Adapters turn their device's own frame into it.

use palpate::force::Twist;
use palpate::math::{Pose, Wrench};

/// What a device tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// `world_from_handle`. The rotation is the identity where the device senses none.
    pub pose: Pose,
    /// Velocity of the handle, in the world's frame, where the device measures it.
    pub twist: Option<Twist>,
    /// Buttons that are held, a bit each.
    pub buttons: u32,
}

impl Reading {
    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.pose.is_finite() && self.twist.is_none_or(|t| t.is_finite())
    }
}

/// What a device can do. Gains, limits and the scale of motion are chosen from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceLimits {
    /// Largest force that may be asked for [N].
    pub force: f64,
    /// Largest torque [N m]; 0: the device has no motors for it.
    pub torque: f64,
    /// Largest stiffness that it renders stably at 1 kHz, by its maker [N/m].
    pub stiffness: f64,
    /// The same for rotation [N m/rad]; 0 without torque.
    pub angular_stiffness: f64,
    /// Largest damping that it renders stably [N s/m].
    pub damping: f64,
    /// The same for rotation [N m s/rad].
    pub angular_damping: f64,
    /// Radius of the ball that the handle moves in [m].
    pub workspace: f64,
    /// Whether rotation is sensed.
    pub rotation: bool,
}

impl DeviceLimits {
    /// Haply Inverse3: force in three directions, rotation sensed by a grip.
    pub const INVERSE3: Self = Self {
        force: 10.0,
        torque: 0.0,
        stiffness: 1000.0,
        angular_stiffness: 0.0,
        damping: 6.0,
        angular_damping: 0.0,
        workspace: 0.15,
        rotation: true,
    };
    /// Force Dimension omega.3: force in three directions, no rotation.
    pub const OMEGA3: Self = Self {
        force: 12.0,
        torque: 0.0,
        stiffness: 5000.0,
        angular_stiffness: 0.0,
        damping: 30.0,
        angular_damping: 0.0,
        workspace: 0.08,
        rotation: false,
    };
    /// Force Dimension sigma.7: force and torque.
    pub const SIGMA7: Self = Self {
        force: 12.0,
        torque: 0.2,
        stiffness: 4000.0,
        angular_stiffness: 1.0,
        damping: 20.0,
        angular_damping: 0.005,
        workspace: 0.08,
        rotation: true,
    };

    /// Whether every number is finite and not negative, and a force can be felt at all.
    pub fn check(&self) -> Result<(), DeviceError> {
        let values = [
            ("force", self.force),
            ("torque", self.torque),
            ("stiffness", self.stiffness),
            ("angular stiffness", self.angular_stiffness),
            ("damping", self.damping),
            ("angular damping", self.angular_damping),
            ("workspace", self.workspace),
        ];
        for (name, value) in values {
            let needed = matches!(name, "force" | "stiffness" | "workspace");
            if !value.is_finite() || value < 0.0 || (needed && value == 0.0) {
                return Err(DeviceError::BadLimit { name, value });
            }
        }
        Ok(())
    }
}

/// A haptic device. The loop calls it from one thread.
pub trait Device: Send {
    /// What it is called, for people.
    fn name(&self) -> String;

    /// What it can do. Does not change.
    fn limits(&self) -> DeviceLimits;

    /// Gives the handle a wrench, about the handle's origin in the world's frame, until the next call; tells where the handle is.
    ///
    /// One round trip. Must come back within some milliseconds, with an error if the device does not answer; the loop treats a
    /// reading that is not finite as an error.
    fn exchange(&mut self, wrench: &Wrench) -> Result<Reading, DeviceError>;

    /// What takes the force away while another thread is in [`Device::exchange`], or has stalled elsewhere. None: a device that
    /// lets go by itself.
    fn guard(&self) -> Option<Box<dyn Guard>> {
        None
    }
}

/// Takes a device's force away, from any thread.
pub trait Guard: Send {
    /// Asks for zero force at once. It stays so until the next [`Device::exchange`].
    fn release(&mut self) -> Result<(), DeviceError>;
}

/// Why a device cannot be used, or no longer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// Nothing answers.
    #[error("{device} at {address} does not answer: {reason}; {advice}")]
    Absent {
        /// The kind of device.
        device: &'static str,
        /// Where it was sought.
        address: String,
        /// What the system says.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
    /// It answered once, and no longer does.
    #[error("{device} was lost: {reason}")]
    Lost {
        /// The device.
        device: String,
        /// What happened.
        reason: String,
    },
    /// Its answer cannot be understood.
    #[error("{device} sent what cannot be understood: {reason}")]
    Garbled {
        /// The device.
        device: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A limit that makes no sense.
    #[error(
        "the device's {name} is {value}; it must be a finite number, and more than 0 where force is felt"
    )]
    BadLimit {
        /// Which.
        name: &'static str,
        /// What it is.
        value: f64,
    },
    /// A recorded motion that cannot be played.
    #[error("line {line} of the recorded motion: {reason}")]
    BadMotion {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}
