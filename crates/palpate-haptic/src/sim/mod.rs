//! A simulated device: a handle with mass, a hand that moves it, and what real devices do to forces and poses on their way.
//!
//! Simulated time goes on by one period for each exchange, whatever the clock says: the same calls give the same bits. Nothing
//! here sleeps, but the fault that is there to.
//!
//! ```
//! use glam::DVec3;
//! use palpate::math::{Pose, Wrench};
//! use palpate_haptic::Device;
//! use palpate_haptic::sim::{HandMotion, SimDevice, SimParams};
//! let (start, axis) = (Pose::IDENTITY, DVec3::NEG_Z);
//! let motion = HandMotion::Press { start, axis, depth: 0.01, seconds: 0.5 };
//! let mut device = SimDevice::new(SimParams { motion, ..SimParams::default() })?;
//! let probe = device.probe();
//! let mut force = DVec3::ZERO;
//! for _ in 0..2000 {
//!     let handle = device.exchange(&Wrench { force, torque: DVec3::ZERO })?;
//!     // A wall at z = −5 mm.
//!     force = DVec3::Z * 1000.0 * (-0.005 - handle.pose.translation.z).max(0.0);
//! }
//! assert!((probe.state().wrench.force.z - 1.15).abs() < 0.1, "300 N/m of hand against 1000 N/m of wall");
//! # Ok::<(), palpate_haptic::DeviceError>(())
//! ```

mod body;
mod motion;
mod probe;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use glam::{DQuat, DVec3};
use palpate::math::{Pose, Wrench};

use crate::device::{Device, DeviceError, DeviceLimits, Guard, Reading};
use crate::turn;
use body::{Axis, Body, Flow};
pub use motion::{HandMotion, Waypoint};
pub use probe::{Energy, Fault, SimFaults, SimProbe, SimState};
use probe::{Release, Shared, lock};

/// A hand that holds the handle: its mass moves with it, its spring and damper pull it to where the hand wants it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// What moves with the handle [kg].
    pub mass: f64,
    /// [N/m]
    pub stiffness: f64,
    /// [N s/m]
    pub damping: f64,
    /// What turns with the handle [kg m²].
    pub inertia: f64,
    /// [N m/rad]
    pub angular_stiffness: f64,
    /// [N m s/rad]
    pub angular_damping: f64,
}

impl Default for Hand {
    /// A hand in a usual grip. What is measured of people spreads over 100 to 1000 N/m and 2 to 20 N s/m.
    fn default() -> Self {
        Self {
            mass: 0.1,
            stiffness: 300.0,
            damping: 5.0,
            inertia: 2e-4,
            angular_stiffness: 1.0,
            angular_damping: 0.01,
        }
    }
}

/// What a simulated device is like.
#[derive(Clone, Debug, PartialEq)]
pub struct SimParams {
    /// What it says it can do; forces and torques beyond are cut to it in length.
    pub limits: DeviceLimits,
    /// One step of the device, and of simulated time in each exchange [s].
    pub period: f64,
    /// Steps of integration in a period.
    pub substeps: u32,
    /// Of the handle, as it feels at the hand [kg].
    pub mass: f64,
    /// Of the handle, the same about every axis [kg m²].
    pub inertia: f64,
    /// Of the device [N s/m].
    pub damping: f64,
    /// Of the device [N m s/rad].
    pub angular_damping: f64,
    /// Dry friction [N]. Below 1 mm/s it grows with speed.
    pub friction: f64,
    /// Dry friction of rotation [N m]. Below 1 mrad/s it grows with speed.
    pub angular_friction: f64,
    /// None: nobody holds it.
    pub hand: Option<Hand>,
    /// Where the hand goes; where the handle is at the start, with or without a hand.
    pub motion: HandMotion,
    /// How many periods a wrench is on its way. 0: it acts during the exchange that brings it.
    pub force_delay: u32,
    /// How many periods a pose is on its way. 0: the one at the end of the exchange.
    pub pose_delay: u32,
    /// Positions are told in multiples of it [m]; 0: as they are.
    pub position_step: f64,
    /// Rotation vectors are told in multiples of it [rad]; 0: as they are.
    pub angle_step: f64,
    /// Forces act in multiples of it [N]; 0: as they are.
    pub force_step: f64,
    /// Torques act in multiples of it [N m]; 0: as they are.
    pub torque_step: f64,
    /// Whether velocity is told: the true one, as late as the pose.
    pub velocity: bool,
    /// Whether whoever calls should keep to the clock. The device itself does not look at it.
    pub real_time: bool,
}

impl Default for SimParams {
    /// A handle of 6 degrees of freedom as that of [`DeviceLimits::SIGMA7`], held still by a usual hand at the world's origin; no
    /// delay, nothing rounded.
    fn default() -> Self {
        Self {
            limits: DeviceLimits::SIGMA7,
            period: 1e-3,
            substeps: 8,
            mass: 0.2,
            inertia: 2e-4,
            damping: 0.5,
            angular_damping: 5e-4,
            friction: 0.0,
            angular_friction: 0.0,
            hand: Some(Hand::default()),
            motion: HandMotion::STILL,
            force_delay: 0,
            pose_delay: 0,
            position_step: 0.0,
            angle_step: 0.0,
            force_step: 0.0,
            torque_step: 0.0,
            velocity: true,
            real_time: false,
        }
    }
}

impl SimParams {
    /// Largest delay, in periods: more would only take memory.
    const LONGEST_DELAY: u32 = 10_000;

    /// Whether every number makes sense.
    pub fn check(&self) -> Result<(), DeviceError> {
        self.limits.check()?;
        self.motion.check()?;
        let hand = self.hand.unwrap_or(Hand {
            mass: 0.0,
            stiffness: 0.0,
            damping: 0.0,
            inertia: 0.0,
            angular_stiffness: 0.0,
            angular_damping: 0.0,
        });
        let positive = [
            ("period", self.period),
            ("substeps", f64::from(self.substeps)),
            ("mass", self.mass),
            ("inertia", self.inertia),
        ];
        let others = [
            ("damping", self.damping),
            ("angular damping", self.angular_damping),
            ("friction", self.friction),
            ("angular friction", self.angular_friction),
            ("position step", self.position_step),
            ("angle step", self.angle_step),
            ("force step", self.force_step),
            ("torque step", self.torque_step),
            ("hand's mass", hand.mass),
            ("hand's stiffness", hand.stiffness),
            ("hand's damping", hand.damping),
            ("hand's inertia", hand.inertia),
            ("hand's angular stiffness", hand.angular_stiffness),
            ("hand's angular damping", hand.angular_damping),
        ];
        for (i, (name, value)) in positive.into_iter().chain(others).enumerate() {
            if !value.is_finite() || value < 0.0 || (i < positive.len() && value == 0.0) {
                return Err(DeviceError::BadLimit { name, value });
            }
        }
        for (name, value) in [("force delay", self.force_delay), ("pose delay", self.pose_delay)] {
            if value > Self::LONGEST_DELAY {
                return Err(DeviceError::BadLimit { name, value: f64::from(value) });
            }
        }
        Ok(())
    }
}

/// A simulated device. See [`SimParams`] for what it models.
#[derive(Debug)]
pub struct SimDevice {
    params: SimParams,
    body: Body,
    ticks: u64,
    energy: Energy,
    /// Wrenches on their way to the handle, oldest first.
    wrenches: VecDeque<Wrench>,
    /// Readings on their way from it.
    readings: VecDeque<Reading>,
    /// What was told last.
    told: Reading,
    shared: Arc<Mutex<Shared>>,
}

impl SimDevice {
    /// A device at rest where its hand's motion begins.
    pub fn new(params: SimParams) -> Result<Self, DeviceError> {
        params.check()?;
        let hand = params.hand;
        let of = |f: fn(&Hand) -> f64| hand.as_ref().map_or(0.0, f);
        let linear = Axis {
            mass: params.mass + of(|h| h.mass),
            damping: params.damping,
            friction: params.friction,
            stiffness: of(|h| h.stiffness),
            hand_damping: of(|h| h.damping),
        };
        let angular = Axis {
            mass: params.inertia + of(|h| h.inertia),
            damping: params.angular_damping,
            friction: params.angular_friction,
            stiffness: of(|h| h.angular_stiffness),
            hand_damping: of(|h| h.angular_damping),
        };
        let (pose, twist) = params.motion.at(0.0);
        let mut device = Self {
            wrenches: vec![Wrench::ZERO; params.force_delay as usize].into(),
            readings: VecDeque::new(),
            body: Body { linear, angular, pose, twist },
            ticks: 0,
            energy: Energy::default(),
            told: Reading::default(),
            shared: Arc::default(),
            params,
        };
        device.begin();
        Ok(device)
    }

    /// Puts the handle at a place, at a velocity; the books and the delays begin anew.
    pub fn place(&mut self, pose: Pose, twist: palpate::force::Twist) {
        self.body.pose = pose;
        self.body.twist = twist;
        self.begin();
    }

    fn begin(&mut self) {
        self.energy = Energy { initial: self.body.kinetic(), ..Energy::default() };
        self.told = self.sense();
        self.readings = vec![self.told; self.params.pose_delay as usize].into();
        self.wrenches.iter_mut().for_each(|w| *w = Wrench::ZERO);
        self.tell(Wrench::ZERO);
    }

    /// What it is like.
    pub fn params(&self) -> &SimParams {
        &self.params
    }

    /// Looks at the device from elsewhere, while the loop has it.
    pub fn probe(&self) -> SimProbe {
        SimProbe(self.shared.clone())
    }

    /// Switches faults on from elsewhere, while the loop has it.
    pub fn faults(&self) -> SimFaults {
        SimFaults(self.shared.clone())
    }

    /// Simulated time [s].
    pub fn time(&self) -> f64 {
        self.ticks as f64 * self.params.period
    }

    /// What its sensors say now, before any delay.
    fn sense(&self) -> Reading {
        let (pose, p) = (self.body.pose, &self.params);
        let translation = rounded(pose.translation, p.position_step);
        let mut rotation = pose.rotation;
        if p.angle_step > 0.0 {
            rotation = turn::rotation(rounded(turn::vector(rotation), p.angle_step));
        }
        let mut twist = self.body.twist;
        if !p.limits.rotation {
            rotation = DQuat::IDENTITY;
            twist.angular = DVec3::ZERO;
        }
        Reading { pose: Pose { rotation, translation }, twist: p.velocity.then_some(twist), buttons: 0 }
    }

    /// What its motors make of a wrench that is asked for: in their steps, and cut to their limits. One that is not finite is none.
    fn motors(&self, wrench: &Wrench) -> Wrench {
        let p = &self.params;
        if !wrench.force.is_finite() || !wrench.torque.is_finite() {
            return Wrench::ZERO;
        }
        Wrench {
            force: cut(rounded(wrench.force, p.force_step), p.limits.force),
            torque: cut(rounded(wrench.torque, p.torque_step), p.limits.torque),
        }
    }

    /// Moves the handle for a period.
    fn advance(&mut self, wrench: &Wrench) {
        let h = self.params.period / f64::from(self.params.substeps);
        let start = self.time();
        let mut flow = Flow::default();
        for i in 0..self.params.substeps {
            let target = self.params.motion.at(start + (f64::from(i) + 0.5) * h);
            self.body.step(h, wrench, &target, &mut flow);
        }
        self.ticks += 1;
        self.energy.by_wrench += flow.by_wrench;
        self.energy.by_hand += flow.by_hand;
        self.energy.lost += flow.lost;
    }

    /// Lets probes see where it is.
    fn tell(&mut self, wrench: Wrench) {
        let (goal, _) = self.params.motion.at(self.time());
        self.energy.kinetic = self.body.kinetic();
        self.energy.held = self.body.held(&goal);
        let mut shared = lock(&self.shared);
        let wrench = if shared.released { Wrench::ZERO } else { wrench };
        shared.state = SimState {
            time: self.time(),
            ticks: self.ticks,
            pose: self.body.pose,
            twist: self.body.twist,
            wrench,
            energy: self.energy,
        };
    }
}

/// Each coordinate to the nearest multiple of `step`; as it is where that is 0.
fn rounded(v: DVec3, step: f64) -> DVec3 {
    if step > 0.0 { (v / step).round() * step } else { v }
}

/// A vector that is at most `most` long.
fn cut(v: DVec3, most: f64) -> DVec3 {
    if v.length() <= most {
        return v;
    }
    // By its largest part first: squares of very long vectors are not finite.
    (v / v.abs().max_element()).normalize() * most
}

impl Device for SimDevice {
    fn name(&self) -> String {
        "simulated device".to_owned()
    }

    fn limits(&self) -> DeviceLimits {
        self.params.limits
    }

    fn exchange(&mut self, wrench: &Wrench) -> Result<Reading, DeviceError> {
        let fault = {
            let mut shared = lock(&self.shared);
            if std::mem::take(&mut shared.released) {
                self.wrenches.iter_mut().for_each(|w| *w = Wrench::ZERO);
            }
            let fault = shared.fault;
            if matches!(fault, Some(Fault::Stall(_))) {
                shared.fault = None;
            }
            fault
        };
        match fault {
            Some(Fault::Silent) => {
                let reason = "it does not answer".to_owned();
                return Err(DeviceError::Lost { device: self.name(), reason });
            }
            Some(Fault::Stall(time)) => std::thread::sleep(time),
            _ => {}
        }
        // Released while it stalled: what this exchange brought is taken away too.
        let released = lock(&self.shared).released;
        self.wrenches.push_back(if released { Wrench::ZERO } else { *wrench });
        let asked = self.wrenches.pop_front().unwrap_or(*wrench);
        let acts = self.motors(&if released { Wrench::ZERO } else { asked });
        self.advance(&acts);
        let now = self.sense();
        self.readings.push_back(now);
        let mut told = self.readings.pop_front().unwrap_or(now);
        self.tell(acts);
        match fault {
            Some(Fault::Frozen) => told = self.told,
            Some(Fault::NotFinite) => told.pose.translation.x = f64::NAN,
            Some(Fault::Jump(by)) => told.pose.translation += by,
            _ => self.told = told,
        }
        Ok(told)
    }

    fn guard(&self) -> Option<Box<dyn Guard>> {
        Some(Box::new(Release(self.shared.clone())))
    }
}
