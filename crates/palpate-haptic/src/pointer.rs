//! A device that another thread moves: the mouse and the keyboard of a page.
//!
//! Based on: a critically damped spring, x″ = ω² (target − x) − 2 ω x′, solved exactly over each period.
//! Differs: the pull is cut where the target is far, so that speed has a limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use glam::DVec3;
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};

use crate::device::{Device, DeviceError, DeviceLimits, Reading};
use crate::turn;

/// How a pointer follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointerParams {
    /// Time between exchanges [s].
    pub period: f64,
    /// How far behind a steady motion it is [s]. At least the time between two calls of [`PointerHandle::set`], or it stops between them.
    pub lag: f64,
    /// Largest speed [m/s].
    pub speed: f64,
    /// Largest turning speed [rad/s].
    pub turning: f64,
    /// What it says it can do: nobody feels its force, so any will do that the scene is to be shown with.
    pub limits: DeviceLimits,
}

impl Default for PointerParams {
    /// 1 kHz, for pages that tell at 60 Hz; forces and torques as of [`DeviceLimits::SIGMA7`], in a ball of 0.3 m.
    fn default() -> Self {
        Self {
            period: 1e-3,
            lag: 0.04,
            speed: 2.0,
            turning: 20.0,
            limits: DeviceLimits { workspace: 0.3, ..DeviceLimits::SIGMA7 },
        }
    }
}

impl PointerParams {
    /// Whether every number is finite and above 0.
    pub fn check(&self) -> Result<(), DeviceError> {
        self.limits.check()?;
        let values = [
            ("period", self.period),
            ("lag", self.lag),
            ("speed", self.speed),
            ("turning speed", self.turning),
        ];
        match values.into_iter().find(|(_, v)| !v.is_finite() || *v <= 0.0) {
            Some((name, value)) => Err(DeviceError::BadLimit { name, value }),
            None => Ok(()),
        }
    }
}

#[derive(Debug)]
struct Shared {
    target: Pose,
    buttons: u32,
    wrench: Wrench,
    pose: Pose,
}

/// The values are copied in and out: it is held for some nanoseconds, and whole also after a thread died with it.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves a [`Pointer`], from any thread.
#[derive(Clone, Debug)]
pub struct PointerHandle(Arc<Mutex<Shared>>);

impl PointerHandle {
    /// Where the handle should go (`world_from_handle`), and which buttons are held. A pose that is not finite is not heeded.
    pub fn set(&self, pose: Pose, buttons: u32) {
        let mut shared = lock(&self.0);
        // Its rotation may be far from unit: that of a page is not ours.
        let pose = Pose::new(pose.rotation, pose.translation);
        if pose.is_finite() {
            shared.target = pose;
        }
        shared.buttons = buttons;
    }

    /// The wrench that the loop gave last, on the handle about its origin, in the world's frame [N, N m].
    pub fn wrench(&self) -> Wrench {
        lock(&self.0).wrench
    }

    /// Where the handle was told to be in the last exchange.
    pub fn pose(&self) -> Pose {
        lock(&self.0).pose
    }
}

/// A device that goes where its [`PointerHandle`] says, smoothly. It has no motors.
#[derive(Debug)]
pub struct Pointer {
    params: PointerParams,
    pose: Pose,
    twist: Twist,
    shared: Arc<Mutex<Shared>>,
}

impl Pointer {
    /// A pointer at rest at `start` (`world_from_handle`).
    pub fn new(start: Pose, params: PointerParams) -> Result<Self, DeviceError> {
        params.check()?;
        let start = Pose::new(start.rotation, start.translation);
        if !start.is_finite() {
            let reason = "the pointer's start is not finite".to_owned();
            return Err(DeviceError::BadMotion { line: 1, reason });
        }
        let shared = Shared { target: start, buttons: 0, wrench: Wrench::ZERO, pose: start };
        Ok(Self { params, pose: start, twist: Twist::ZERO, shared: Arc::new(Mutex::new(shared)) })
    }

    /// What moves it.
    pub fn handle(&self) -> PointerHandle {
        PointerHandle(self.shared.clone())
    }

    /// One period: how far a coordinate goes whose target is `error` away; changes its velocity. Its speed stays within `most`.
    fn follow(&self, error: DVec3, v: &mut DVec3, most: f64) -> DVec3 {
        // Behind a target of constant speed by 2 / ω; a target farther than `most` times that pulls no harder.
        let omega = 2.0 / self.params.lag;
        let error = error.clamp_length_max(most * self.params.lag);
        let t = self.params.period;
        let decay = (-omega * t).exp();
        // y = x − target = (y0 + c t) exp(−ω t), c = v + ω y0.
        let c = *v - omega * error;
        let left = (c * t - error) * decay;
        *v = (*v - omega * c * t) * decay;
        error + left
    }
}

impl Device for Pointer {
    fn name(&self) -> String {
        "pointer".to_owned()
    }

    fn limits(&self) -> DeviceLimits {
        self.params.limits
    }

    fn exchange(&mut self, wrench: &Wrench) -> Result<Reading, DeviceError> {
        let (target, buttons) = {
            let mut shared = lock(&self.shared);
            shared.wrench = *wrench;
            (shared.target, shared.buttons)
        };
        let mut twist = self.twist;
        let error = target.translation - self.pose.translation;
        self.pose.translation += self.follow(error, &mut twist.linear, self.params.speed);
        let error = turn::between(self.pose.rotation, target.rotation);
        let turned = self.follow(error, &mut twist.angular, self.params.turning);
        self.pose.rotation = (turn::rotation(turned) * self.pose.rotation).normalize();
        self.twist = twist;
        lock(&self.shared).pose = self.pose;
        Ok(Reading { pose: self.pose, twist: Some(twist), buttons })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    /// A target that jumps at 60 Hz along a line is followed without a stop: speed between half and twice its mean, once under way.
    #[test]
    fn steps_of_a_page_become_a_motion() {
        let mut pointer = Pointer::new(Pose::IDENTITY, PointerParams::default()).unwrap();
        let handle = pointer.handle();
        let mut last = pointer.exchange(&Wrench::ZERO).unwrap();
        for tick in 0..1000_u32 {
            if tick % 17 == 0 {
                let x = 0.1 * f64::from(tick) * 1e-3;
                handle.set(Pose::new(DQuat::from_rotation_z(x), DVec3::X * x), tick);
            }
            let now = pointer.exchange(&Wrench::ZERO).unwrap();
            let speed = (now.pose.translation - last.pose.translation).length() * 1e3;
            let told = now.twist.unwrap().linear;
            if tick > 200 {
                assert!((0.05..0.2).contains(&speed), "{speed} at {tick}");
                let mean = 0.5 * (told + last.twist.unwrap().linear);
                assert!((speed - mean.length()).abs() < 1e-3 * speed + 1e-4, "{speed} {mean}");
                assert_eq!(now.buttons, tick / 17 * 17);
            }
            last = now;
        }
        for _ in 0..1000 {
            last = pointer.exchange(&Wrench::ZERO).unwrap();
        }
        // It arrives, without having gone beyond.
        assert!((last.pose.translation.x - 0.0986).abs() < 1e-9, "{}", last.pose.translation);
        assert!((turn::vector(last.pose.rotation).z - 0.0986).abs() < 1e-9);
    }

    #[test]
    fn speed_has_a_limit() {
        let params = PointerParams { speed: 0.5, turning: 2.0, ..PointerParams::default() };
        let mut pointer = Pointer::new(Pose::IDENTITY, params).unwrap();
        let handle = pointer.handle();
        let (mut fastest, mut fastest_turn) = (0.0_f64, 0.0_f64);
        let mut last = Pose::IDENTITY;
        for tick in 0..6000 {
            // Far away, then back at once: turns of nearly π, to a place out of all proportion.
            let sign = if tick / 1500 % 2 == 0 { 1.0 } else { -1.0 };
            let far = DVec3::new(sign * 1e6, 2.0, 3.0);
            handle.set(Pose::new(DQuat::from_rotation_x(3.0 * sign), far), 0);
            let now = pointer.exchange(&Wrench::ZERO).unwrap();
            assert!(now.is_finite());
            fastest = fastest.max((now.pose.translation - last.translation).length() * 1e3);
            fastest_turn = fastest_turn.max(turn::between(last.rotation, now.pose.rotation).length() * 1e3);
            last = now.pose;
        }
        assert!((0.49..=0.5 + 1e-9).contains(&fastest), "{fastest}");
        assert!((1.8..=2.0 + 1e-9).contains(&fastest_turn), "{fastest_turn}");
    }

    #[test]
    fn the_page_sees_the_wrench_and_cannot_break_it() {
        let mut pointer = Pointer::new(Pose::IDENTITY, PointerParams::default()).unwrap();
        let handle = pointer.handle();
        let wrench = Wrench { force: DVec3::X, torque: DVec3::Y };
        pointer.exchange(&wrench).unwrap();
        assert_eq!(handle.wrench(), wrench);
        for bad in [f64::NAN, f64::INFINITY] {
            handle.set(Pose::from_translation(DVec3::splat(bad)), 1);
            handle.set(Pose { rotation: DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), ..Pose::IDENTITY }, 2);
            let told = pointer.exchange(&Wrench::ZERO).unwrap();
            assert!(told.is_finite() && told.pose == Pose::IDENTITY && told.buttons == 2);
        }
        assert!(Pointer::new(Pose::from_translation(DVec3::NAN), PointerParams::default()).is_err());
        let params = PointerParams { lag: 0.0, ..PointerParams::default() };
        assert!(Pointer::new(Pose::IDENTITY, params).is_err());
    }

    /// Threads that set as fast as they can: the loop goes on, and each pose it sees is one that was set.
    #[test]
    fn threads_may_move_it_at_once() {
        let params = PointerParams { speed: 1e3, lag: 1e-5, ..PointerParams::default() };
        let mut pointer = Pointer::new(Pose::IDENTITY, params).unwrap();
        std::thread::scope(|scope| {
            for side in [-1.0, 1.0] {
                let handle = pointer.handle();
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        handle.set(Pose::from_translation(DVec3::splat(side)), 0);
                        assert!(handle.pose().is_finite());
                    }
                });
            }
            for _ in 0..5_000 {
                let p = pointer.exchange(&Wrench::ZERO).unwrap().pose.translation;
                assert!(p.abs().max_element() <= 1.0 + 1e-9 && p.x == p.y && p.y == p.z, "{p}");
            }
        });
    }
}
