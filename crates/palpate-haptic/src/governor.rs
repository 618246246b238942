//! What stands between a computed wrench and a motor: a filter that softens steps, limits, a slow start, a quick end.

use crate::device::DeviceLimits;
use glam::DVec3;
use palpate::force::{LimitState, Limits};
use palpate::math::Wrench;

/// How long force takes to come in after a start or a fault [s].
pub const ENGAGE: f64 = 0.25;
/// The same after [`Governor::cut`], when the loop had stood still for a moment and the device had not failed [s]. Longer: the hand sinks in
/// meanwhile. Shorter: a kick.
pub const RESUME: f64 = 0.05;
/// How long it takes to go after a fault [s].
pub const FADE: f64 = 2e-3;
/// How long the whole range of force takes at least [s]: steps become ramps of some ticks.
const RANGE: f64 = 10e-3;

/// How long a softened step takes to come through, for all but a third of it [s]. Longer: edges feel round. Shorter: they click.
const SOFTENED: f64 = 5e-3;
/// How long the whole range of force takes at least where nothing is softened [s].
const GENTLE: f64 = 50e-3;
/// How much more than the hand's motion explains is let through at once [1]: contacts may be stiffer than the spring for a moment.
const EXPLAINED: f64 = 1.5;

/// Takes steps out of a force that the hand's motion does not explain, such as where a tool slips off an edge, and lets them come through
/// within some milliseconds. What the hand does itself is not delayed.
#[derive(Clone, Debug, Default)]
struct Softener {
    last: Wrench,
    /// What is still to come, with the opposite sign.
    left: Wrench,
}

impl Softener {
    fn pass(&mut self, wrench: &Wrench, explained: [f64; 2], limits: &Limits, dt: f64) -> Wrench {
        let keep = (-dt / SOFTENED).exp();
        let soften = |left: DVec3, change: DVec3, explained: f64, range: f64| {
            let most = EXPLAINED * explained + range * dt / GENTLE;
            left * keep - (change - change.clamp_length_max(most))
        };
        self.left = Wrench {
            force: soften(self.left.force, wrench.force - self.last.force, explained[0], limits.force),
            torque: soften(self.left.torque, wrench.torque - self.last.torque, explained[1], limits.torque),
        };
        self.last = *wrench;
        Wrench { force: wrench.force + self.left.force, torque: wrench.torque + self.left.torque }
    }
}

/// Keeps a wrench within what a device may be given.
#[derive(Clone, Debug)]
pub struct Governor {
    limits: Limits,
    state: LimitState,
    softener: Softener,
    /// Share of the force that is let through [1].
    share: f64,
    /// How long it takes to become 1 [s].
    engage: f64,
    faulty: bool,
    saturated: u64,
    slewed: u64,
}

impl Governor {
    /// For a device. Torque that it cannot give is left out: what is felt of a wrench is then its force at the handle's origin.
    pub fn new(limits: &DeviceLimits) -> Self {
        let limits = Limits {
            force: limits.force,
            torque: limits.torque,
            force_rate: limits.force / RANGE,
            torque_rate: limits.torque / RANGE,
        };
        Self {
            limits,
            state: LimitState::default(),
            softener: Softener::default(),
            share: 0.0,
            engage: ENGAGE,
            faulty: false,
            saturated: 0,
            slewed: 0,
        }
    }

    /// Something is wrong: force goes within [`FADE`] seconds and comes back, after [`Governor::clear`], within [`ENGAGE`].
    pub fn fault(&mut self) {
        self.faulty = true;
        self.engage = ENGAGE;
    }

    /// Force is gone already: nothing is on the motors. It comes back within [`RESUME`] seconds.
    pub fn cut(&mut self) {
        self.faulty = true;
        self.share = 0.0;
        self.engage = RESUME;
        self.state = LimitState::default();
        self.softener = Softener::default();
    }

    /// All is well again.
    pub fn clear(&mut self) {
        self.faulty = false;
    }

    /// Share of the force that is let through [1]: 0 at the start and after faults.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// How often force was cut to what the device may be given, and how often it changed too fast.
    pub fn counts(&self) -> (u64, u64) {
        (self.saturated, self.slewed)
    }

    /// The wrench that may be given, `dt` seconds after the last one. `explained`: by how much force and torque change because the handle moved
    /// [N, N m]; larger steps are softened. A wrench that is not finite counts as a fault.
    pub fn pass(&mut self, wrench: &Wrench, explained: [f64; 2], dt: f64) -> Wrench {
        let finite = wrench.force.is_finite() && wrench.torque.is_finite();
        if self.faulty || !finite {
            // From what is on the motors now, whatever was wanted.
            let before = self.share;
            self.share = (self.share - dt / FADE).max(0.0);
            let keep = if before > 0.0 { self.share / before } else { 0.0 };
            self.state.last = self.state.last * keep;
            self.softener = Softener::default();
            return self.state.last;
        }
        self.share = (self.share + dt / self.engage).min(1.0);
        let wrench = self.softener.pass(wrench, explained, &self.limits, dt);
        let found = self.limits.apply(&(wrench * self.share), dt, &mut self.state);
        self.saturated += u64::from(found.saturated);
        self.slewed += u64::from(found.slewed);
        found.wrench
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(z: f64) -> Wrench {
        Wrench { force: DVec3::Z * z, torque: DVec3::X * 0.1 }
    }

    #[test]
    fn force_comes_slowly_goes_quickly_and_stays_within_limits() {
        let limits = DeviceLimits::INVERSE3;
        let mut governor = Governor::new(&limits);
        let mut last = 0.0;
        for _ in 0..300 {
            assert_eq!(governor.pass(&push(0.0), [1e3; 2], 1e-3).force, DVec3::ZERO);
        }
        for i in 0..400 {
            let out = governor.pass(&push(50.0), [1e3; 2], 1e-3);
            assert!(out.force.z <= limits.force && out.force.z - last <= limits.force / 10.0 + 1e-12, "{i}");
            assert!(out.torque == DVec3::ZERO, "no motors for it");
            last = out.force.z;
        }
        assert!((last - limits.force).abs() < 1e-9, "{last}");
        governor.fault();
        let steps: Vec<f64> = (0..5).map(|_| governor.pass(&push(50.0), [1e3; 2], 1e-3).force.z).collect();
        assert!(steps[0] < limits.force && steps[1..].iter().all(|f| *f < 1e-9), "{steps:?}");
        governor.clear();
        assert!(governor.pass(&push(50.0), [1e3; 2], 1e-3).force.z < 1.0);
        assert!(governor.counts().0 > 0 && governor.counts().1 > 0);
    }

    #[test]
    fn no_number_is_no_force() {
        let mut governor = Governor::new(&DeviceLimits::SIGMA7);
        for _ in 0..300 {
            governor.pass(&push(5.0), [1e3; 2], 1e-3);
        }
        for _ in 0..4 {
            let out = governor.pass(&push(f64::NAN), [1e3; 2], 1e-3);
            assert!(out.force.is_finite() && out.force.z < 5.0);
        }
        assert_eq!(governor.pass(&push(f64::NAN), [1e3; 2], 1e-3), Wrench::ZERO);
    }

    /// A step of 2 N that the hand has no part in comes through gently and wholly; one that its motion explains comes at once.
    #[test]
    fn steps_that_the_hand_does_not_explain_are_softened() {
        let limits = DeviceLimits::SIGMA7;
        let after = |explained: f64| {
            let mut governor = Governor::new(&limits);
            for _ in 0..300 {
                governor.pass(&push(1.0), [0.0; 2], 1e-3);
            }
            (0..60)
                .map(|_| governor.pass(&push(3.0), [explained, 0.0], 1e-3).force.z - 1.0)
                .collect::<Vec<_>>()
        };
        let soft = after(0.0);
        let least = limits.force * 1e-3 / GENTLE;
        assert!(soft[0] <= least + 1e-9, "{soft:?}");
        let largest = soft.windows(2).map(|w| w[1] - w[0]).fold(soft[0], f64::max);
        assert!(largest < 0.45 && (soft[59] - 2.0).abs() < 1e-3, "{largest} {soft:?}");
        assert!(soft.windows(2).all(|w| w[1] >= w[0] - 1e-12), "it does not swing");
        let hard = after(2.0);
        // The slew of the motors is all that is left.
        assert!((hard[1] - 2.0).abs() < 1e-9, "{hard:?}");
    }
}
