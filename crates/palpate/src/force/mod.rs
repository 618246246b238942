//! Forces between shapes in contact: penalty, damping, friction, their derivative, and limits.
//!
//! Based on: Morvan, Reimers, Samset, 2008, section 3.4 [morvan08]; Sagardia, Stouraitis, Silva, 2014, section 2.2
//! [sagardia14]. Differs: see the files.
//!
//! Every wrench acts ON B, about B's origin, in A's frame; A receives the opposite. [`Wrench::about`] moves it: about a
//! point `p` of A's frame it is `wrench.about(p - a_from_b.translation)`.
//!
//! ```
//! use palpate::force::{self, ForceParams};
//! use palpate::{Contact, Contacts, Pose};
//!
//! // One square centimetre of B, 1 mm deep in A, which pushes it along +z.
//! let mut contacts = Contacts::default();
//! contacts.list.push(Contact {
//!     distance: -1e-3,
//!     normal: [0.0, 0.0, 1.0],
//!     shell_normal: [0.0, 0.0, -1.0],
//!     area: 1e-4,
//!     ..Contact::default()
//! });
//! let params = ForceParams::new(1e8); // [N/m³]
//! let push = force::penalty(&contacts, &params, &Pose::IDENTITY, None, None);
//! assert!((push.wrench.force.z - 10.0).abs() < 1e-5);
//! ```

mod batch;
mod derivative;
mod friction;
mod limits;
mod penalty;

pub use batch::{PoseSummary, summary_batch};
pub use derivative::{Derivative, derivative};
pub use friction::ContactState;
pub use limits::{LimitState, Limited, Limits};
pub use penalty::{both, penalty};

use crate::math::Wrench;
use glam::DVec3;
use thiserror::Error;

/// How the forces of the contacts make one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Law {
    /// Their sum, each weighted with its area (morvan08 Eq. 11, 12): pressure is stiffness × depth, and stiffness is in
    /// N/m³. A larger contact pushes more.
    #[default]
    Integrated,
    /// That sum divided by the area in contact (morvan08 Eq. 14, 15): stiffness is in N/m, and a peg pushes the same
    /// with its end and its side.
    Averaged,
}

/// Along what a contact pushes B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Along [`Contact::normal`](crate::Contact), the gradient of the field (morvan08 Eq. 4).
    #[default]
    Field,
    /// Along the normal of the shape that gave the points (sagardia14 Eq. 2): into B where B gave them, out of A where A
    /// did.
    Shell,
}

/// Coulomb friction. The default has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrictionParams {
    /// Largest friction at rest over normal force [1]. One that is smaller than `dynamic` counts as `dynamic`.
    pub static_coefficient: f64,
    /// Friction of a sliding contact over its normal force [1].
    pub dynamic_coefficient: f64,
    /// Stiffness along the surface over the one across it [1]: how far a sticking contact gives. Only with a
    /// [`ContactState`].
    pub stiffness_ratio: f64,
    /// Damping along the surface of a contact that sticks [N s/m³; N s/m for [`Law::Averaged`]]. Only with a
    /// [`ContactState`].
    pub damping: f64,
    /// Without a [`ContactState`] nothing can stick: friction then grows in proportion to the speed up to this one, and
    /// stays from there on [m/s].
    pub creep: f64,
}

impl Default for FrictionParams {
    fn default() -> Self {
        Self {
            static_coefficient: 0.0,
            dynamic_coefficient: 0.0,
            stiffness_ratio: 1.0,
            damping: 0.0,
            creep: 1e-3,
        }
    }
}

/// What a force is made of. The default pushes with nothing: see [`ForceParams::new`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForceParams {
    /// How the forces of the contacts make one.
    pub law: Law,
    /// Along what each pushes.
    pub direction: Direction,
    /// Force for each metre of depth [N/m³; N/m for [`Law::Averaged`]]. 0: no force but that of damping.
    pub stiffness: f64,
    /// Force for each metre a second of approach [N s/m³; N s/m for [`Law::Averaged`]]. It never makes a contact pull.
    pub damping: f64,
    /// Force along the surface.
    pub friction: FrictionParams,
}

impl ForceParams {
    /// Pushes with this stiffness [N/m³; N/m for [`Law::Averaged`]], without damping and friction.
    pub fn new(stiffness: f64) -> Self {
        Self { stiffness, ..Self::default() }
    }

    /// Whether every value is in its range: all finite and not negative, `creep` positive, and no static coefficient
    /// below the dynamic one.
    ///
    /// Forces do not check: a negative value counts as 0, one that is not finite gives the zero wrench and a flag.
    pub fn check(&self) -> Result<(), ForceError> {
        let f = &self.friction;
        let values = [
            ("stiffness", self.stiffness),
            ("damping", self.damping),
            ("static coefficient", f.static_coefficient),
            ("dynamic coefficient", f.dynamic_coefficient),
            ("stiffness ratio", f.stiffness_ratio),
            ("friction damping", f.damping),
            ("creep", f.creep),
        ];
        for (name, value) in values {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(ForceError::BadParameter { name, value, range: "finite and not negative" });
            }
        }
        if f.creep == 0.0 {
            return Err(ForceError::BadParameter { name: "creep", value: 0.0, range: "positive" });
        }
        if f.static_coefficient < f.dynamic_coefficient {
            return Err(ForceError::BadParameter {
                name: "static coefficient",
                value: f.static_coefficient,
                range: "at least the dynamic coefficient",
            });
        }
        Ok(())
    }

    /// Whether there is friction at all. A coefficient that is not a number counts as none.
    fn rubs(&self) -> bool {
        self.friction.static_coefficient > 0.0 || self.friction.dynamic_coefficient > 0.0
    }

    /// Whether every number is finite.
    fn is_finite(&self) -> bool {
        let f = &self.friction;
        [
            self.stiffness,
            self.damping,
            f.static_coefficient,
            f.dynamic_coefficient,
            f.stiffness_ratio,
            f.damping,
        ]
        .iter()
        .all(|v| v.is_finite())
            && f.creep.is_finite()
    }
}

/// Why parameters of a force are refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ForceError {
    /// A parameter is out of range.
    #[error("{name} is {value}; it must be {range}")]
    BadParameter {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
}

/// The velocity of B as A sees it, or a small motion of it. Frame A.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Of B's origin [m/s, or m].
    pub linear: DVec3,
    /// Rotation vector, about B's origin [rad/s, or rad].
    pub angular: DVec3,
}

impl Twist {
    /// No motion.
    pub const ZERO: Self = Self { linear: DVec3::ZERO, angular: DVec3::ZERO };

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.linear.is_finite() && self.angular.is_finite()
    }

    /// Velocity of the point of B that lies `offset` from B's origin, in A's frame [m/s, or m].
    pub fn at(&self, offset: DVec3) -> DVec3 {
        self.linear + self.angular.cross(offset)
    }
}

/// What the contacts do to B, in A's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Force {
    /// On B, about B's origin [N, N m].
    pub wrench: Wrench,
    /// Surface in contact: the S of morvan08 Eq. 13 [m²].
    pub area: f64,
    /// Sum of the lengths of the contacts' normal forces, by the same law as the wrench [N].
    pub normal_force: f64,
    /// Contacts with depth.
    pub used: usize,
    /// Those of them that friction holds; without a [`ContactState`] those slower than the creep speed.
    pub sticking: usize,
    /// Those of them that slide. 0 without friction.
    pub sliding: usize,
    /// The pose, the motion, a parameter or a contact was not finite: everything else here is 0, and a state is as it
    /// was.
    pub non_finite: bool,
    /// Contacts were not in the order of their ids: friction has forgotten some of them.
    pub unsorted: bool,
}

/// `v` with a negative value, or one that is no number, as 0.
fn positive(v: f64) -> f64 {
    if v > 0.0 { v } else { 0.0 }
}

#[cfg(test)]
mod referee;
#[cfg(test)]
mod tests;
