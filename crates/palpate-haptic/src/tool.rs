//! The simulated tool: it follows the handle through a spring, and what it touches pushes it back.
//!
//! Based on: Wan, McNeely, Quasi-static approximation for six-degrees-of-freedom haptic rendering, 2003 [wan03]; Otaduy, Lin, A modular
//! haptic rendering algorithm for stable and transparent manipulation, 2006 [otaduy06] (implicit, with the derivative of contacts).
//! Differs: one formula for both: without mass a step is one step of Newton towards the balance of forces, with mass it is
//! one of implicit Euler. Steps are no longer than fields are sure of, several in a tick if need be.

use crate::gains::Gains;
use crate::scene::{Pair, Push};
use crate::six::{Six, lower, moved, six, solve, turn, twist_about, upper};
use glam::DVec3;
use palpate::force::{ForceParams, Law, Twist};
use palpate::math::{Pose, Wrench};

/// Longest step in free space and in touch [voxels]. More in touch: force jumps where a tool slips over an edge. Less: it lags behind.
const FREE: f64 = 2.0;
const SLOW: f64 = 0.1;

/// How the tool moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Body {
    /// Without mass: in balance after every tick. Nothing is felt in free space.
    #[default]
    QuasiStatic,
    /// With mass [kg]; its inertia is that of a ball of the tool's radius. It is felt, swings and rattles.
    Dynamic(f64),
}

/// What the tool feels like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolParams {
    /// How it moves.
    pub body: Body,
    /// Coulomb friction of what it touches [1].
    pub friction: f64,
    /// Most steps in a tick.
    pub steps: usize,
}

impl Default for ToolParams {
    fn default() -> Self {
        Self { body: Body::QuasiStatic, friction: 0.0, steps: 4 }
    }
}

/// Where a tool is after a tick, and what it feels. World frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Felt {
    /// `world_from_tool`.
    pub pose: Pose,
    /// What the spring pulls the handle with, about where the tool's origin would be if it followed [N, N m].
    pub wrench: Wrench,
    /// What is touched does to the tool, about its origin [N, N m].
    pub contact: Wrench,
    /// Contacts, and the depth of the deepest [m]; in the mode without penetration: walls that hold, and 0.
    pub contacts: usize,
    /// See `contacts`.
    pub depth: f64,
    /// Steps that this tick took.
    pub steps: usize,
    /// The target was not finite, or the tool's engine failed: nothing moved.
    pub non_finite: bool,
}

/// What follows the handle: a free body and what it touches, or one among others in a physics engine. World frame.
pub trait Tool: Send + core::fmt::Debug {
    /// One tick of `dt` seconds towards `target` (`world_from_tool` if nothing were in the way), which moves with `motion`. What is not finite
    /// moves nothing.
    fn tick(&mut self, target: &Pose, motion: &Twist, gains: &Gains, dt: f64) -> Felt;

    /// Puts it at rest at `world_from_tool`.
    fn place(&mut self, pose: Pose);

    /// `world_from_tool`.
    fn pose(&self) -> Pose;

    /// Its middle, in its own frame, where the spring holds it [m].
    fn centre(&self) -> DVec3;

    /// Of a ball about its middle that it is in [m].
    fn radius(&self) -> f64;

    /// The distance that it keeps between surfaces [m].
    fn gap(&self) -> f64 {
        0.0
    }

    /// Why it gives no force, where what moves it has failed; [`Tool::place`] tries again.
    fn fault(&self) -> Option<&str> {
        None
    }

    /// What it touches, where that is one shape.
    fn pair(&self) -> Option<&Pair> {
        None
    }
}

/// A free tool and what it touches.
#[derive(Debug)]
pub(crate) struct Paired<T> {
    pub(crate) pair: Pair,
    pub(crate) tool: T,
}

macro_rules! paired {
    ($tool:ty) => {
        impl Tool for Paired<$tool> {
            fn tick(&mut self, target: &Pose, motion: &Twist, gains: &Gains, dt: f64) -> Felt {
                self.tool.tick(&mut self.pair, target, motion, gains, dt)
            }
            fn place(&mut self, pose: Pose) {
                self.tool.place(pose);
            }
            fn pose(&self) -> Pose {
                self.tool.pose()
            }
            fn centre(&self) -> DVec3 {
                self.pair.centre()
            }
            fn radius(&self) -> f64 {
                self.pair.radius()
            }
            fn gap(&self) -> f64 {
                self.tool.gap()
            }
            fn pair(&self) -> Option<&Pair> {
                Some(&self.pair)
            }
        }
    };
}
paired!(SoftTool);
paired!(crate::held::HeldTool);

/// A tool that gives: what it touches pushes in proportion to depth.
#[derive(Clone, Debug)]
pub struct SoftTool {
    pose: Pose,
    /// Of the centre.
    velocity: Six,
    smoothed: Six,
    push: Option<(Pose, Push)>,
    params: ToolParams,
}

impl SoftTool {
    /// A tool at rest, at `world_from_tool`.
    pub fn new(pose: Pose, params: ToolParams) -> Self {
        Self { pose, velocity: [0.0; 6], smoothed: [0.0; 6], push: None, params }
    }

    /// The distance that it keeps between surfaces: none [m].
    pub fn gap(&self) -> f64 {
        0.0
    }

    /// `world_from_tool`.
    pub fn pose(&self) -> Pose {
        self.pose
    }

    /// Puts the tool at rest somewhere.
    pub fn place(&mut self, pose: Pose) {
        self.pose = pose;
        (self.velocity, self.smoothed) = ([0.0; 6], [0.0; 6]);
    }

    /// One tick of `dt` seconds towards `target` (`world_from_tool` if nothing were in the way), which moves with `motion`.
    ///
    /// Cost: a contact query, the force and its derivative for each step; one step where the target is less than two voxels away.
    pub fn tick(&mut self, pair: &mut Pair, target: &Pose, motion: &Twist, gains: &Gains, dt: f64) -> Felt {
        let ok =
            target.is_finite() && motion.is_finite() && dt > 0.0 && gains.is_valid() && self.pose.is_finite();
        if !ok {
            return Felt { pose: self.pose, non_finite: true, ..Felt::default() };
        }
        let force = ForceParams {
            law: Law::Averaged,
            friction: palpate::force::FrictionParams {
                static_coefficient: self.params.friction,
                dynamic_coefficient: self.params.friction,
                ..Default::default()
            },
            ..ForceParams::new(gains.contact)
        };
        let start = self.pose;
        // What was pushed at the end of the last tick is pushed now.
        let mut push = match self.push {
            Some((at, push)) if at == self.pose => push,
            _ => pair.push(&self.pose, &Twist::ZERO, &force),
        };
        let mut taken = 0;
        while taken < self.params.steps.max(1) {
            taken += 1;
            // In touch, a tool that loses its hold, as at an edge, goes over some ticks to where it is held again: no faster than the hand, but
            // for a little.
            let touching = push.contacts > 0;
            let most = if touching {
                let hand = motion.linear.length() + motion.angular.length() * pair.radius();
                SLOW * pair.voxel() + 2.0 * hand * dt
            } else {
                FREE * pair.voxel()
            };
            let whole = self.step(pair, target, motion, gains, dt, &push, most);
            push = pair.push(&self.pose, &Twist::ZERO, &force);
            if whole || touching {
                break;
            }
        }
        self.push = Some((self.pose, push));
        let centre = pair.centre();
        let by = difference(&start, &self.pose, centre);
        self.velocity = by.map(|d| d / dt);
        smooth(&mut self.smoothed, &by, dt);
        let touching = push.contacts > 0 || self.params.body != Body::QuasiStatic;
        let r = self.pose.vector(centre);
        let contact = Wrench { force: upper(&push.wrench), torque: lower(&push.wrench) }.about(-r);
        Felt {
            pose: self.pose,
            wrench: pull(&self.pose, target, touching.then_some((&self.smoothed, motion)), gains, centre),
            contact,
            contacts: push.contacts,
            depth: push.depth,
            steps: taken,
            non_finite: false,
        }
    }

    /// Moves towards balance, by `most` at most [m]; whether all the way.
    #[expect(clippy::too_many_arguments, reason = "what one step depends on")]
    fn step(
        &mut self,
        pair: &Pair,
        target: &Pose,
        motion: &Twist,
        gains: &Gains,
        dt: f64,
        push: &Push,
        most: f64,
    ) -> bool {
        let centre = pair.centre();
        let away = difference(&self.pose, target, centre);
        let (spring, damper) = (gains.spring(), gains.damper());
        let handle = twist_about(motion, target.vector(centre));
        let (mass, damped) = match self.params.body {
            Body::QuasiStatic => ([0.0; 6], false),
            Body::Dynamic(kg) => {
                let kg = if kg > 0.0 && kg.is_finite() { kg } else { 0.0 };
                let inertia = 0.4 * kg * pair.radius() * pair.radius();
                ([kg, kg, kg, inertia, inertia, inertia], true)
            }
        };
        let mut matrix = push.derivative.map(|row| row.map(|x| -x));
        let mut right = push.wrench;
        for i in 0..6 {
            let b = if damped { damper[i] / dt } else { 0.0 };
            matrix[i][i] += spring[i] + b + mass[i] / (dt * dt);
            right[i] += spring[i] * away[i] + b * dt * handle[i] + mass[i] / dt * self.velocity[i];
        }
        // What contacts alone cannot be solved with, the spring can.
        let by = solve(matrix, right).unwrap_or(away);
        let length = upper(&by).length() + lower(&by).length() * pair.radius();
        let share = if length > most { most / length } else { 1.0 };
        self.pose = moved(&self.pose, centre, &by.map(|x| x * share));
        share >= 1.0
    }
}

/// The motion of the centre from pose to pose.
pub(crate) fn difference(from: &Pose, to: &Pose, centre: DVec3) -> Six {
    six(to.point(centre) - from.point(centre), turn(from, to))
}

/// A velocity that forgets within some milliseconds: what the tool does in a single tick is not felt by the damper.
pub(crate) fn smooth(velocity: &mut Six, by: &Six, dt: f64) {
    const SECONDS: f64 = 5e-3;
    let share = dt / (dt + SECONDS);
    for (v, d) in velocity.iter_mut().zip(by) {
        *v += share * (d / dt - *v);
    }
}

/// What the spring pulls the handle with, about the origin of the tool's target; and the damper, where the tool is in touch and moves:
/// in free space there is nothing to damp.
pub(crate) fn pull(
    pose: &Pose,
    target: &Pose,
    moving: Option<(&Six, &Twist)>,
    gains: &Gains,
    centre: DVec3,
) -> Wrench {
    let away = difference(target, pose, centre);
    let (spring, damper) = (gains.spring(), gains.damper());
    let mut w: Six = core::array::from_fn(|i| spring[i] * away[i]);
    if let Some((velocity, motion)) = moving {
        let handle = twist_about(motion, target.vector(centre));
        for i in 0..6 {
            w[i] += damper[i] * (velocity[i] - handle[i]);
        }
    }
    Wrench { force: upper(&w), torque: lower(&w) }.about(-target.vector(centre))
}
