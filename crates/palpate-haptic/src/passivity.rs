//! Energy between the hand and what it feels: watched, and never given back more than was put in.
//!
//! Based on: Hannaford, Ryu, Time-domain passivity control of haptic interfaces, 2002 [hannaford02].
//! Differs: force is paired with the motion that it really met, some ticks of delay later; what may be given back is at most what the
//! spring holds, so that energy that friction took is not saved up; what the steps of a sampled spring give, half a tick of it, is
//! not counted: a hand's damping takes it [colgate97]. And not a damper, whose velocities are old and noisy, but less force is what
//! keeps the account above zero: at once while the hand is pushed back, and lastingly, until the tool is free again, so that a spring
//! that is too stiff for the delay becomes one that is not.

use glam::DVec3;
use palpate::math::{Pose, Wrench};

/// Most ticks of delay.
const MOST_DELAY: usize = 64;
/// How much more than the spring's energy the account may hold [1]: estimates of it differ by what moves within a tick.
const ROOM: f64 = 1.1;
/// How fast force comes back after it was taken away, of all in a second [1/s].
const BACK: f64 = 20.0;
/// How much softer the spring becomes in each tick in which the account is overdrawn [1], and how fast it is itself again in free space
/// [1/s].
const SOFTER: f64 = 0.005;
const HARDER: f64 = 2.0;
/// The same in touch, while the account holds what the spring does [1/s].
const RECOVERS: f64 = 0.1;
/// Share of the spring's energy below which the account counts as overdrawn [1].
const EMPTY: f64 = 0.3;
/// Share from which on it counts as full [1].
const FULL: f64 = 0.9;
/// How soft it may become [1].
const SOFTEST: f64 = 0.02;
/// Without force for so long, the tool is free: nothing is owed any more [s].
const FREE: f64 = 10e-3;
/// How much of the fastest speed is remembered after a second [1].
const MEMORY: f64 = 1e-3;

/// Watches energy and keeps it from growing.
#[derive(Clone, Debug)]
pub struct Passivity {
    /// What the hand has put in and not got back [J].
    energy: f64,
    least: f64,
    /// What was sent, the newest first; the force that met a motion is the one sent `delay` ticks before it.
    sent: [Wrench; MOST_DELAY + 2],
    delay: usize,
    last: Option<Pose>,
    /// Speeds of the handle, with a memory [m/s, rad/s].
    fast: [f64; 2],
    share: f64,
    /// How much of the spring is left [1].
    spring: f64,
    /// What the spring held when force was taken away: the hand has paid for it, and it is there again when force comes back [J].
    owed: f64,
    /// How long there has been no force [s].
    free: f64,
    on: bool,
}

impl Passivity {
    /// `delay`: ticks from a force that is sent to the first reading that shows what it did, beyond one; 64 at most. `on`: whether force is
    /// taken away where energy would grow; else it is only watched.
    pub fn new(delay: usize, on: bool) -> Self {
        Self {
            energy: 0.0,
            least: 0.0,
            sent: [Wrench::ZERO; MOST_DELAY + 2],
            delay: delay.min(MOST_DELAY),
            last: None,
            fast: [0.0; 2],
            share: 1.0,
            spring: 1.0,
            owed: 0.0,
            free: 0.0,
            on,
        }
    }

    /// What the hand has put in and not got back, at most what the spring holds [J]. Below zero the hand was given energy.
    pub fn energy(&self) -> f64 {
        self.energy
    }

    /// The least that [`Passivity::energy`] ever was [J].
    pub fn least(&self) -> f64 {
        self.least
    }

    /// Share of the force that was let through last [1].
    pub fn share(&self) -> f64 {
        self.share * self.spring
    }

    /// Looks at where the handle is now, `dt` seconds after the last time, and lets through what it may feel of `wrench`, about the
    /// handle's origin. `held`: the energy of the spring behind it [J].
    pub fn pass(&mut self, handle: &Pose, wrench: &Wrench, held: f64, dt: f64) -> Wrench {
        let (by, turn) = match &self.last {
            Some(last) => (handle.translation - last.translation, crate::six::turn(last, handle)),
            None => (DVec3::ZERO, DVec3::ZERO),
        };
        self.last = Some(*handle);
        let met = &self.sent[self.delay];
        self.energy -= met.force.dot(by) + met.torque.dot(turn);
        self.least = self.least.min(self.energy);
        let held = held.max(0.0) * self.spring;
        if held > 0.0 {
            // Of a spring: force² = 2 stiffness energy.
            let stiffness = |f: DVec3| self.spring * f.length_squared() / (2.0 * held);
            let step =
                stiffness(met.force) * by.length_squared() + stiffness(met.torque) * turn.length_squared();
            self.energy += 0.5 * step;
        }
        let back = (held - self.energy).clamp(0.0, self.owed);
        self.energy = (self.energy + back).min(ROOM * held);
        self.owed -= back;
        let keep = MEMORY.powf(dt);
        self.fast =
            [(by.length() / dt).max(keep * self.fast[0]), (turn.length() / dt).max(keep * self.fast[1])];
        let out = if self.on { self.allowed(wrench, by, turn, held, dt) } else { *wrench };
        self.sent.rotate_right(1);
        self.sent[0] = out;
        out
    }

    fn allowed(&mut self, wrench: &Wrench, by: DVec3, turn: DVec3, held: f64, dt: f64) -> Wrench {
        if *wrench == Wrench::ZERO {
            self.spring = (self.spring + HARDER * dt).min(1.0);
            self.share = 1.0;
            self.free += dt;
            if self.free > FREE {
                self.owed = 0.0;
            }
            return *wrench;
        }
        self.free = 0.0;
        let wrench = *wrench * self.spring;
        let gives = wrench.force.dot(by) + wrench.torque.dot(turn) > 0.0;
        // What forces on their way, and those sent before anyone sees what they did, may give at most.
        let ticks = (self.delay + 2) as f64;
        let reserve =
            ticks * dt * (wrench.force.length() * self.fast[0] + wrench.torque.length() * self.fast[1]);
        let wanted = if gives && reserve > 0.0 { (self.energy / reserve).clamp(0.0, 1.0) } else { 1.0 };
        // An account that is emptier than the spring was given more than it holds.
        if gives && self.energy < EMPTY * held {
            self.spring = (self.spring * (1.0 - SOFTER)).max(SOFTEST);
        } else if self.energy > FULL * held {
            self.spring = (self.spring + RECOVERS * dt).min(1.0);
        }
        self.share = if wanted < self.share { wanted } else { (self.share + BACK * dt).min(wanted) };
        wrench * self.share
    }

    /// The device was away: what is on its way is nothing, and where the handle was says nothing.
    pub fn forget(&mut self) {
        self.sent = [Wrench::ZERO; MOST_DELAY + 2];
        self.last = None;
        self.owed += self.energy.max(0.0);
        self.energy = self.energy.min(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Presses a wall of 1000 N/m by 5 mm; force is taken away and comes back within a quarter of a second: no more of it is missing then than
    /// before, and the hand that goes back slowly is not given more than it put in.
    #[test]
    fn force_that_was_taken_away_comes_back_whole() {
        let mut passivity = Passivity::new(0, true);
        let (mut given, mut last, mut sent) = (0.0, 0.0, Wrench::ZERO);
        let mut shares = vec![];
        for i in 0..4000 {
            let x = if i < 1000 { 5e-6 * f64::from(i) } else { 5e-3 - 2e-6 * f64::from((i - 2500).max(0)) };
            given += sent.force.dot(DVec3::NEG_Z) * (x - last);
            last = x;
            if i == 1500 {
                passivity.forget();
            }
            let ramp = if i < 1500 { 1.0 } else { (f64::from(i - 1500) / 250.0).min(1.0) };
            let wrench = Wrench { force: DVec3::Z * (1e3 * x * ramp), torque: DVec3::ZERO };
            let held = 500.0 * x * x * ramp * (2.0 - ramp);
            let pose = Pose::from_translation(DVec3::NEG_Z * x);
            sent = passivity.pass(&pose, &wrench, held, 1e-3);
            shares.push(if wrench.force.z > 0.0 { sent.force.z / wrench.force.z } else { 1.0 });
        }
        assert!(shares[2000] > 0.99 && shares[3000] > 0.9, "{} {}", shares[2000], shares[3000]);
        assert!(given < 1e-5, "{given} J");
    }
}
