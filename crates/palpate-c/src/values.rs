//! Small values of the header and what they are in the engine.

use crate::error::{Failure, Status};
use bytemuck::AnyBitPattern;
use glam::{DQuat, DVec3};
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};
use palpate::{Contact, Contacts};

/// Most threads a caller may ask for. More is a mistake: starting them would take minutes.
const MOST_THREADS: u32 = 1024;

/// `palp_pose`: target-from-source.
#[derive(Clone, Copy, Debug, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct PoseValue {
    /// Quaternion x y z w, of any length but 0.
    pub rotation: [f64; 4],
    /// [m]
    pub translation: [f64; 3],
}

impl Default for PoseValue {
    fn default() -> Self {
        Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3] }
    }
}

impl PoseValue {
    /// The engine's; not finite where this is not.
    pub(crate) fn pose(&self) -> Pose {
        Pose::new(DQuat::from_array(self.rotation), DVec3::from_array(self.translation))
    }
}

impl From<Pose> for PoseValue {
    fn from(p: Pose) -> Self {
        Self { rotation: p.rotation.to_array(), translation: p.translation.to_array() }
    }
}

/// `palp_wrench`
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct WrenchValue {
    /// [N]
    pub force: [f64; 3],
    /// [N m]
    pub torque: [f64; 3],
}

impl From<Wrench> for WrenchValue {
    fn from(w: Wrench) -> Self {
        Self { force: w.force.to_array(), torque: w.torque.to_array() }
    }
}

impl From<WrenchValue> for Wrench {
    fn from(w: WrenchValue) -> Self {
        Self { force: w.force.into(), torque: w.torque.into() }
    }
}

/// `palp_twist`
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct TwistValue {
    /// [m/s]
    pub linear: [f64; 3],
    /// [rad/s]
    pub angular: [f64; 3],
}

impl From<TwistValue> for Twist {
    fn from(t: TwistValue) -> Self {
        Self { linear: t.linear.into(), angular: t.angular.into() }
    }
}

/// `palp_contacts`: a view of contacts that an object of the library owns.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ContactsView {
    /// The first; null without contacts.
    pub list: *const Contact,
    /// How many.
    pub count: usize,
    /// What points are relative to, in A's frame [m].
    pub origin: [f64; 3],
    /// Whether A gave the points.
    pub swapped: i32,
    /// Whether there is no answer.
    pub non_finite: i32,
}

impl ContactsView {
    pub(crate) fn new(contacts: &Contacts, non_finite: bool) -> Self {
        let list = if contacts.list.is_empty() { core::ptr::null() } else { contacts.list.as_ptr() };
        Self {
            list,
            count: contacts.list.len(),
            origin: contacts.origin.to_array(),
            swapped: contacts.swapped.into(),
            non_finite: non_finite.into(),
        }
    }
}

impl Default for ContactsView {
    fn default() -> Self {
        Self { list: core::ptr::null(), count: 0, origin: [0.0; 3], swapped: 0, non_finite: 0 }
    }
}

/// What a query of a pose that is not finite ends with, after its result was written.
pub(crate) fn answered(non_finite: bool) -> Result<(), Failure> {
    if non_finite {
        return Err(Failure::new(
            Status::NonFinite,
            "the pose or the motion has a number that is not finite, or farther than 1e15 m, or a rotation of no length: no answer",
        ));
    }
    Ok(())
}

/// The number of threads a caller asks for; 0: all.
pub(crate) fn threads(n: u32) -> Result<usize, Failure> {
    if n > MOST_THREADS {
        return Err(Failure::argument(format!(
            "threads is {n}; give 1 to {MOST_THREADS}, or 0 for as many as the machine has"
        )));
    }
    Ok(n as usize)
}

/// The value of a number that is 0 for the default; refuses negative ones and those that are not finite.
pub(crate) fn or_default(value: f64, name: &str) -> Result<Option<f64>, Failure> {
    if value == 0.0 {
        return Ok(None);
    }
    if value > 0.0 && value.is_finite() {
        return Ok(Some(value));
    }
    Err(Failure::argument(format!("{name} is {value}; give a positive number, or 0 for the default")))
}

/// A flag; anything but 0 is true.
pub(crate) fn flag(value: i32) -> bool {
    value != 0
}

/// Refuses the number of an enumeration that has none such.
pub(crate) fn unknown<T>(value: i32, name: &str, most: i32) -> Result<T, Failure> {
    Err(Failure::argument(format!("{name} is {value}; it must be 0 to {most}")))
}
