//! The handle as a body: one step of its motion, and where its energy goes.
//!
//! Based on: the implicit midpoint rule.
//! Differs: dry friction is solved with it, exactly: its force points against the velocity in the middle of the step.
//!
//! A step changes the kinetic energy by exactly the work of the forces over the step's displacement, whatever they are; what is
//! not the wrench or the hand only takes energy. So books close to rounding, and a handle that is left alone never gains.

use glam::DVec3;
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};

use crate::turn;

/// Below this speed dry friction grows with it [m/s, rad/s]. Larger: a handle at rest creeps faster. Smaller: a step of 0.1 ms
/// rings about rest.
const CREEP: f64 = 1e-3;

/// What holds a coordinate back, or pulls it: for translation in N, m and kg, for rotation in N m, rad and kg m².
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) mass: f64,
    pub(super) damping: f64,
    pub(super) friction: f64,
    /// Of the hand.
    pub(super) stiffness: f64,
    pub(super) hand_damping: f64,
}

/// Where the energy of a step went [J].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    pub(super) by_wrench: f64,
    pub(super) by_hand: f64,
    pub(super) lost: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    pub(super) linear: Axis,
    pub(super) angular: Axis,
    pub(super) pose: Pose,
    pub(super) twist: Twist,
}

impl Axis {
    /// The velocity in the middle of a step of `h`: from `v`, under `force`, with the hand's target `error` away and moving at `pace`.
    fn middle(&self, h: f64, v: DVec3, force: DVec3, error: DVec3, pace: DVec3) -> DVec3 {
        // (2m/h + b + B + K h/2) u + friction(u) = 2m/h v + F + K e + B w.
        let inert = 2.0 * self.mass / h;
        let resists = inert + self.damping + self.hand_damping + 0.5 * h * self.stiffness;
        let push = inert * v + force + self.stiffness * error + self.hand_damping * pace;
        let sticky = self.friction / CREEP;
        let slow = push / (resists + sticky);
        if slow.length() <= CREEP || self.friction == 0.0 {
            slow
        } else {
            push * ((1.0 - self.friction / push.length()) / resists)
        }
    }

    /// Moves `v` over a step of `h`; tells the velocity in its middle.
    fn step(&self, h: f64, v: &mut DVec3, force: DVec3, error: DVec3, pace: DVec3, flow: &mut Flow) -> DVec3 {
        let u = self.middle(h, *v, force, error, pace);
        let hand = self.stiffness * (error - 0.5 * h * u) + self.hand_damping * (pace - u);
        let speed = u.length();
        let rubbed = if speed > 0.0 { self.friction * (speed / CREEP).min(1.0) } else { 0.0 };
        flow.by_wrench += h * force.dot(u);
        flow.by_hand += h * hand.dot(u);
        flow.lost += h * (self.damping * speed * speed + rubbed * speed);
        *v = 2.0 * u - *v;
        u
    }
}

impl Body {
    /// Moves the body for `h` seconds under a wrench that does not change, with the hand's target in the middle of the step.
    pub(super) fn step(&mut self, h: f64, wrench: &Wrench, target: &(Pose, Twist), flow: &mut Flow) {
        let (goal, pace) = target;
        let error = goal.translation - self.pose.translation;
        let u = self.linear.step(h, &mut self.twist.linear, wrench.force, error, pace.linear, flow);
        self.pose.translation += h * u;
        let error = turn::between(self.pose.rotation, goal.rotation);
        let u = self.angular.step(h, &mut self.twist.angular, wrench.torque, error, pace.angular, flow);
        self.pose.rotation = (turn::rotation(h * u) * self.pose.rotation).normalize();
    }

    /// Kinetic energy [J].
    pub(super) fn kinetic(&self) -> f64 {
        0.5 * (self.linear.mass * self.twist.linear.length_squared()
            + self.angular.mass * self.twist.angular.length_squared())
    }

    /// What the hand's springs hold [J].
    pub(super) fn held(&self, goal: &Pose) -> f64 {
        let away = (goal.translation - self.pose.translation).length_squared();
        let turned = turn::between(self.pose.rotation, goal.rotation).length_squared();
        0.5 * (self.linear.stiffness * away + self.angular.stiffness * turned)
    }
}
