use super::*;
use palpate::force::Twist;

/// A reproducible sequence in [−1, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next())
    }
}

fn force(force: DVec3) -> Wrench {
    Wrench { force, torque: DVec3::ZERO }
}

/// Nobody holds it, nothing rubs.
fn bare() -> SimParams {
    SimParams { hand: None, damping: 0.0, angular_damping: 0.0, ..SimParams::default() }
}

/// A hand's spring without damping.
fn springy() -> Hand {
    Hand { damping: 0.0, angular_damping: 0.0, ..Hand::default() }
}

#[test]
fn left_alone_it_keeps_its_energy_or_loses_it() {
    let twist = Twist { linear: DVec3::new(0.3, -0.2, 0.1), angular: DVec3::new(1.0, 2.0, -3.0) };
    let rubbing =
        SimParams { damping: 0.3, angular_damping: 1e-3, friction: 0.05, angular_friction: 1e-4, ..bare() };
    for (params, keeps) in [(bare(), true), (rubbing, false)] {
        let mut device = SimDevice::new(params).unwrap();
        device.place(Pose::IDENTITY, twist);
        let probe = device.probe();
        let start = probe.state().energy.kinetic;
        let mut before = start;
        for _ in 0..20_000 {
            device.exchange(&Wrench::ZERO).unwrap();
            let now = probe.state().energy.kinetic;
            assert!(now <= before * (1.0 + 1e-14), "{now} after {before}");
            before = now;
        }
        let kept = before / start;
        assert!(if keeps { (kept - 1.0).abs() < 1e-10 } else { kept < 1e-6 }, "kept {kept}");
    }
}

/// Kinetic energy and that of the hand's springs. The rule keeps the sum of squares; for turns the spring's is one only as far as
/// turns in different directions commute, so they may gain 1e-4 of it in 1e4 swings, and the first kind nothing.
#[test]
fn free_oscillation_loses_energy() {
    for (damping, angular_damping, friction) in [(0.0, 0.0, 0.0), (0.5, 5e-4, 0.0), (0.5, 5e-4, 0.02)] {
        let hand = Some(springy());
        let mut device =
            SimDevice::new(SimParams { hand, damping, angular_damping, friction, ..bare() }).unwrap();
        let rotation = turn::rotation(DVec3::new(0.2, 0.1, -0.3));
        let out = Pose { rotation, translation: DVec3::new(0.01, 0.02, -0.01) };
        device.place(out, Twist::ZERO);
        let probe = device.probe();
        let total = |s: &SimState| s.energy.kinetic + s.energy.held;
        let start = total(&probe.state());
        let mut before = start;
        let mut turned = 0;
        let mut speed = 0.0;
        for _ in 0..20_000 {
            device.exchange(&Wrench::ZERO).unwrap();
            let state = probe.state();
            let now = total(&state);
            assert!(now <= before + 1e-7 * start, "{now} after {before}");
            before = now;
            if speed * state.twist.linear.x < 0.0 {
                turned += 1;
            }
            speed = state.twist.linear.x;
        }
        if damping == 0.0 {
            // sqrt(300 / 0.3) rad/s for 20 s: 101 swings.
            assert!((200..=204).contains(&turned), "{turned} turns");
            assert!((before / start - 1.0).abs() < 1e-4, "{}", before / start);
        } else {
            assert!(before < 1e-3 * start, "{}", before / start);
        }
    }
}

#[test]
fn poses_and_forces_are_late_by_whole_periods() {
    for (force_delay, pose_delay) in [(0, 0), (1, 0), (0, 1), (2, 3), (5, 5)] {
        let mut device = SimDevice::new(SimParams { force_delay, pose_delay, ..bare() }).unwrap();
        let probe = device.probe();
        let mut truth = vec![probe.state().pose];
        let mut random = Random(7);
        let mut asked = vec![];
        for tick in 0..200_usize {
            let wrench = Wrench { force: random.vector(), torque: 0.01 * random.vector() };
            asked.push(wrench);
            let told = device.exchange(&wrench).unwrap();
            let state = probe.state();
            truth.push(state.pose);
            let acted = tick.checked_sub(force_delay as usize).map_or(Wrench::ZERO, |i| asked[i]);
            assert_eq!(state.wrench, acted);
            let seen = truth[(tick + 1).saturating_sub(pose_delay as usize)];
            assert_eq!(told.pose, seen, "{pose_delay} late");
        }
        assert!(truth[200].translation.length() > 1e-4, "it moved");
    }
}

#[test]
fn poses_and_forces_come_in_steps() {
    let params = SimParams {
        position_step: 20e-6,
        angle_step: 1e-3,
        force_step: 0.01,
        torque_step: 1e-4,
        ..SimParams::default()
    };
    let mut device = SimDevice::new(params).unwrap();
    let probe = device.probe();
    let mut random = Random(3);
    let whole = |v: DVec3, step: f64| (v / step - (v / step).round()).length() < 1e-6;
    let mut off = 0.0_f64;
    for _ in 0..500 {
        let wrench = Wrench { force: 3.0 * random.vector(), torque: 0.1 * random.vector() };
        let told = device.exchange(&wrench).unwrap();
        let state = probe.state();
        let away = told.pose.translation - state.pose.translation;
        off = off.max(away.abs().max_element());
        assert!(whole(told.pose.translation, 20e-6) && away.abs().max_element() <= 10.001e-6);
        assert!(whole(turn::vector(told.pose.rotation), 1e-3));
        assert!(turn::between(told.pose.rotation, state.pose.rotation).length() <= 1e-3);
        assert!(whole(state.wrench.force, 0.01) && whole(state.wrench.torque, 1e-4));
        assert!((state.wrench.force - wrench.force).abs().max_element() <= 0.005_001);
    }
    assert!(off > 9e-6, "what is told is rounded, by up to half a step: {off}");
}

#[test]
fn motors_do_what_they_can() {
    let mut device = SimDevice::new(SimParams { limits: DeviceLimits::INVERSE3, ..bare() }).unwrap();
    let probe = device.probe();
    for (asked, acts) in [
        (DVec3::new(30.0, 0.0, 40.0), DVec3::new(6.0, 0.0, 8.0)),
        (DVec3::new(1e300, 0.0, 0.0), DVec3::new(10.0, 0.0, 0.0)),
        (DVec3::new(1.0, f64::NAN, 0.0), DVec3::ZERO),
        (DVec3::new(f64::INFINITY, 0.0, 0.0), DVec3::ZERO),
        (DVec3::new(1.0, 2.0, 3.0), DVec3::new(1.0, 2.0, 3.0)),
    ] {
        let told = device.exchange(&Wrench { force: asked, torque: DVec3::X }).unwrap();
        let state = probe.state();
        assert!((state.wrench.force - acts).length() < 1e-12, "{asked}: {}", state.wrench.force);
        assert_eq!(state.wrench.torque, DVec3::ZERO, "it has no motors for torque");
        assert!(told.is_finite());
    }
    // Without sensors for it rotation is not told.
    let limits = DeviceLimits::OMEGA3;
    let mut device = SimDevice::new(SimParams { limits, ..bare() }).unwrap();
    device.place(Pose::from_translation(DVec3::X), Twist { angular: DVec3::X, ..Twist::ZERO });
    let told = device.exchange(&Wrench::ZERO).unwrap();
    assert_eq!(told.pose, Pose::from_translation(DVec3::X));
    assert_eq!(told.twist, Some(Twist::ZERO));
}

/// Everything on: books close to 1e-6 of what went through them.
#[test]
fn energy_is_accounted_for() {
    let start = Pose::IDENTITY;
    let (axis, depth, seconds) = (DVec3::NEG_Z, 0.02, 0.4);
    let turn = DVec3::new(0.3, 0.1, 0.2);
    let travel = DVec3::X * 0.05;
    for motion in [
        HandMotion::Wedge { start, axis, depth, turn, press_seconds: 0.5, seconds },
        HandMotion::Slide { start, axis, depth, travel, press_seconds: 0.5, seconds },
        HandMotion::Circle { centre: start, axis, depth, radius: 0.02, seconds },
    ] {
        let params = SimParams {
            motion,
            friction: 0.05,
            angular_friction: 1e-3,
            force_delay: 2,
            pose_delay: 1,
            position_step: 10e-6,
            force_step: 0.01,
            ..SimParams::default()
        };
        let mut device = SimDevice::new(params).unwrap();
        let probe = device.probe();
        let mut random = Random(11);
        let mut wrench = Wrench::ZERO;
        let (mut through, mut work, mut before) = (0.0, 0.0, probe.state());
        for tick in 0..10_000 {
            if tick % 20 == 0 {
                wrench = Wrench { force: 20.0 * random.vector(), torque: 0.3 * random.vector() };
            }
            device.exchange(&wrench).unwrap();
            let now = probe.state();
            let e = now.energy;
            through += (e.by_wrench - before.energy.by_wrench).abs();
            assert!(e.lost >= before.energy.lost);
            assert!(e.residual().abs() <= 1e-6 * (through + e.kinetic), "{} of {through}", e.residual());
            // The same work by another way: the force that acts times the way it went.
            work += now.wrench.force.dot(now.pose.translation - before.pose.translation);
            work += now.wrench.torque.dot(turn::between(before.pose.rotation, now.pose.rotation));
            before = now;
        }
        assert!(through > 1.0, "{through} J went through");
        // Turns within a period do not quite commute: 1e-3 of what went through.
        assert!(
            (work - before.energy.by_wrench).abs() < 1e-3 * through,
            "{work} {}",
            before.energy.by_wrench
        );
    }
}

/// How the swing of a handle grows in 2 s, when a spring of `stiffness` [N/m] at z = 0 is rendered to it; the wall pushes only, if it
/// is one, and a constant pull of the hand keeps the handle on it.
fn swing(params: SimParams, stiffness: f64, wall: bool) -> f64 {
    let pull = 1.0;
    let rest = if wall { -pull / stiffness } else { 0.0 };
    let mut device = SimDevice::new(params).unwrap();
    // A swing that stays within the wall, so that both kinds are linear as long as it does not grow.
    let amplitude = if wall { 0.2 * rest.abs() } else { 1e-3 };
    device.place(Pose::from_translation(DVec3::Z * (rest + amplitude)), Twist::ZERO);
    let mut z: f64 = rest + amplitude;
    let (mut early, mut late) = (0.0_f64, 0.0_f64);
    for tick in 0..2000 {
        let push = if wall { stiffness * (-z).max(0.0) - pull } else { -stiffness * z };
        z = device.exchange(&force(DVec3::Z * push)).unwrap().pose.translation.z;
        let away = (z - rest).abs();
        if tick < 200 {
            early = early.max(away);
        } else if tick >= 1800 {
            late = late.max(away);
        }
    }
    late / early
}

/// Sampled at T and late by d, a spring K needs damping b > K T / 2 + K d (Colgate and Schenkel, 1997). Without a hand it is the
/// limit of stability too, but for sin(ωτ) / (ωτ) ≥ 0.94, τ = T / 2 + d: 0.8 of that stiffness is stable, 1.25 of it is not.
#[test]
fn walls_are_stable_up_to_what_damping_and_delay_allow() {
    let damping = 5.0;
    for wall in [false, true] {
        for (force_delay, pose_delay) in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, 3)] {
            let limits = DeviceLimits { force: 1e9, ..DeviceLimits::SIGMA7 };
            let params = SimParams { limits, force_delay, pose_delay, damping, mass: 0.2, ..bare() };
            let late = 0.5e-3 + 1e-3 * f64::from(force_delay + pose_delay);
            let most = damping / late;
            let stable = swing(params.clone(), 0.8 * most, wall);
            let unstable = swing(params.clone(), 1.25 * most, wall);
            assert!(stable < 0.9, "{stable} at 0.8 of {most} N/m, {wall}");
            assert!(unstable > 1.1, "{unstable} at 1.25 of {most} N/m, {wall}");
        }
    }
}

/// The same in energy: within the bound a wall that the handle runs into never gives back more than it took; beyond it does.
#[test]
fn walls_give_no_energy_within_the_bound() {
    let (mass, damping) = (0.2, 5.0);
    for (delay, share, passive) in [(0, 0.9, true), (2, 0.9, true), (0, 3.0, false), (2, 3.0, false)] {
        let late = 0.5e-3 + 1e-3 * f64::from(delay);
        let stiffness = share * damping / late;
        let limits = DeviceLimits { force: 1e9, ..DeviceLimits::SIGMA7 };
        let mut device =
            SimDevice::new(SimParams { limits, force_delay: delay, damping, mass, ..bare() }).unwrap();
        let twist = Twist { linear: DVec3::NEG_Z * 0.3, angular: DVec3::ZERO };
        device.place(Pose::from_translation(DVec3::Z * 1e-3), twist);
        let probe = device.probe();
        let (mut z, mut most, mut touched) = (1e-3_f64, 0.0_f64, false);
        for _ in 0..500 {
            let push = force(DVec3::Z * stiffness * (-z).max(0.0));
            z = device.exchange(&push).unwrap().pose.translation.z;
            touched |= z < 0.0;
            // What the wall gave beyond what the device's damping took.
            let e = probe.state().energy;
            most = most.max((e.by_wrench - e.lost) / e.initial);
        }
        assert!(touched && z > 0.0, "it bounced");
        assert_eq!(most <= 0.0, passive, "{most} of the energy it came with, {share} at {delay}");
    }
}

#[test]
fn a_hand_presses_against_a_wall() {
    let (start, axis) = (Pose::IDENTITY, DVec3::NEG_Z);
    let motion = HandMotion::Press { start, axis, depth: 0.02, seconds: 0.3 };
    let mut device = SimDevice::new(SimParams { motion, force_delay: 1, ..SimParams::default() }).unwrap();
    let probe = device.probe();
    let mut push = 0.0;
    for _ in 0..3000 {
        let told = device.exchange(&force(DVec3::Z * push)).unwrap();
        push = 700.0 * (-0.01 - told.pose.translation.z).max(0.0);
    }
    // 300 N/m of hand, 10 mm beyond, against 700 N/m.
    let state = probe.state();
    assert!((state.wrench.force.z - 2.1).abs() < 1e-3, "{:?}", state.wrench);
    assert!((state.pose.translation.z + 0.013).abs() < 1e-6 && state.twist.linear.length() < 1e-4);
}

#[test]
fn faults_are_as_they_are_called() {
    let mut device = SimDevice::new(SimParams::default()).unwrap();
    let (probe, faults) = (device.probe(), device.faults());
    let push = force(DVec3::X);
    let fine = device.exchange(&push).unwrap();
    faults.set(Fault::Silent);
    assert!(matches!(device.exchange(&push), Err(DeviceError::Lost { .. })));
    assert_eq!(probe.state().wrench, push, "motors keep what they did");
    faults.set(Fault::Frozen);
    assert_eq!(device.exchange(&push).unwrap().pose, fine.pose);
    assert_eq!(device.exchange(&push).unwrap().pose, fine.pose);
    faults.set(Fault::NotFinite);
    assert!(!device.exchange(&push).unwrap().is_finite());
    faults.set(Fault::Jump(DVec3::Y));
    assert!((device.exchange(&push).unwrap().pose.translation.y - 1.0).abs() < 1e-2);
    faults.clear();
    let after = device.exchange(&push).unwrap();
    assert!(after.is_finite() && after.pose.translation.x > fine.pose.translation.x);
    let clock = std::time::Instant::now();
    faults.set(Fault::Stall(std::time::Duration::from_millis(20)));
    device.exchange(&push).unwrap();
    assert!(clock.elapsed().as_millis() >= 20);
    device.exchange(&push).unwrap();
}

#[test]
fn the_guard_takes_the_force_away_from_another_thread() {
    let mut device = SimDevice::new(SimParams { force_delay: 3, ..SimParams::default() }).unwrap();
    let (probe, faults) = (device.probe(), device.faults());
    let mut guard = device.guard().unwrap();
    let push = force(DVec3::X);
    for _ in 0..5 {
        device.exchange(&push).unwrap();
    }
    assert_eq!(probe.state().wrench, push);
    faults.set(Fault::Stall(std::time::Duration::from_millis(200)));
    std::thread::scope(|scope| {
        let stalled = scope.spawn(|| device.exchange(&push).unwrap());
        // Once the fault has been taken up the other thread is in its exchange.
        while lock(&faults.0).fault.is_some() {
            std::thread::yield_now();
        }
        guard.release().unwrap();
        assert_eq!(probe.state().wrench, Wrench::ZERO);
        stalled.join().unwrap();
    });
    assert_eq!(probe.state().wrench, Wrench::ZERO, "what the stalled exchange brought is late");
    // From the next exchange on it obeys again, after the delay.
    for tick in 0..5 {
        device.exchange(&push).unwrap();
        let acts = if tick < 3 { Wrench::ZERO } else { push };
        assert_eq!(probe.state().wrench, acts, "{tick}");
    }
}

#[test]
fn the_same_calls_give_the_same_bits() {
    let run = || {
        let mut device = SimDevice::new(SimParams { friction: 0.1, ..SimParams::default() }).unwrap();
        let mut random = Random(5);
        let mut last = Reading::default();
        for _ in 0..1000 {
            last = device.exchange(&force(random.vector())).unwrap();
        }
        (last, device.probe().state())
    };
    assert_eq!(run(), run());
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let ok = SimParams::default;
    for params in [
        SimParams { mass: 0.0, ..ok() },
        SimParams { period: f64::NAN, ..ok() },
        SimParams { substeps: 0, ..ok() },
        SimParams { friction: -1.0, ..ok() },
        SimParams { force_delay: u32::MAX, ..ok() },
        SimParams { hand: Some(Hand { stiffness: f64::INFINITY, ..Hand::default() }), ..ok() },
        SimParams { motion: HandMotion::Path(vec![]), ..ok() },
    ] {
        assert!(SimDevice::new(params).is_err());
    }
}
