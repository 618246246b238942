//! What can be seen of a simulated device, and done to it, while the loop has it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use glam::DVec3;
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};

use crate::device::{DeviceError, Guard};

/// Where the energy of a handle came from and went, since it was placed [J].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Kinetic energy at the start.
    pub initial: f64,
    /// Kinetic energy now, of the handle and of what of the hand moves with it.
    pub kinetic: f64,
    /// Work of the wrench that really acts: late, rounded and cut. Positive: the loop moved the handle.
    pub by_wrench: f64,
    /// Work of the hand's spring and damper. Positive: the hand moved the handle.
    pub by_hand: f64,
    /// What the device's own damping and friction took; never less than before.
    pub lost: f64,
    /// What the hand's springs hold now.
    pub held: f64,
}

impl Energy {
    /// What the books leave unexplained [J]: rounding.
    pub fn residual(&self) -> f64 {
        self.kinetic - self.initial - self.by_wrench - self.by_hand + self.lost
    }
}

/// A simulated device as it truly is, in the world's frame: nothing late, nothing rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SimState {
    /// Simulated [s].
    pub time: f64,
    /// Exchanges that moved it.
    pub ticks: u64,
    /// `world_from_handle`.
    pub pose: Pose,
    /// Velocity of the handle.
    pub twist: Twist,
    /// What the motors do now, on the handle about its origin [N, N m].
    pub wrench: Wrench,
    /// Where energy came from and went.
    pub energy: Energy,
}

/// What can go wrong with a device.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// It does not answer: each exchange is an error, and the motors keep what they last did.
    Silent,
    /// Its pose is not a number.
    NotFinite,
    /// Its pose is off by this [m].
    Jump(DVec3),
    /// It tells the last pose again and again.
    Frozen,
    /// The next exchange takes this long by the clock, once.
    Stall(Duration),
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) state: SimState,
    pub(super) fault: Option<Fault>,
    /// The guard took the force away, and no exchange has begun since.
    pub(super) released: bool,
}

/// The lock, also after a thread died with it: every value it guards is whole at any time.
pub(super) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at a simulated device, from any thread.
#[derive(Clone, Debug)]
pub struct SimProbe(pub(super) Arc<Mutex<Shared>>);

impl SimProbe {
    /// How it is after the last exchange, or after its guard took the force away.
    pub fn state(&self) -> SimState {
        lock(&self.0).state
    }
}

/// Switches faults of a simulated device on and off, from any thread.
#[derive(Clone, Debug)]
pub struct SimFaults(pub(super) Arc<Mutex<Shared>>);

impl SimFaults {
    /// From the next exchange on, instead of any other.
    pub fn set(&self, fault: Fault) {
        lock(&self.0).fault = Some(fault);
    }

    /// As it should be again.
    pub fn clear(&self) {
        lock(&self.0).fault = None;
    }
}

/// Takes the force of a simulated device away: it acts at once, not after the delay.
#[derive(Debug)]
pub(super) struct Release(pub(super) Arc<Mutex<Shared>>);

impl Guard for Release {
    fn release(&mut self) -> Result<(), DeviceError> {
        let mut shared = lock(&self.0);
        shared.released = true;
        shared.state.wrench = Wrench::ZERO;
        Ok(())
    }
}
