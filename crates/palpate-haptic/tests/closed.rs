//! The whole loop with a simulated hand: energy, and what faults do.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests stop where something fails, and tell what they measured"
)]

mod common;

use common::{block_and_cube, peg_and_hole};
use glam::DVec3;
use palpate::math::{Pose, Wrench};
use palpate_haptic::sim::{Hand, HandMotion, SimDevice, SimParams};
use palpate_haptic::{Device, DeviceLimits, Mapping, Mode, Pair, Rig, RigParams, ToolParams};

const DT: f64 = 1e-3;

/// What a minute of a hand's motion gave.
#[derive(Debug)]
struct Minute {
    /// Most that the hand ever had been given in all [J].
    given: f64,
    /// The same of the last ten seconds [J].
    late: f64,
    /// Ticks with contact.
    touching: usize,
    /// Largest speed in the last ten seconds [m/s].
    speed: f64,
    largest: f64,
}

/// Closes the loop for `seconds`; the force path and the pose path are late by so many ticks.
fn feel(pair: Pair, motion: HandMotion, mode: Mode, delays: [u32; 2], passive: bool, seconds: f64) -> Minute {
    let start = motion.at(0.0).0;
    let hand = Hand { stiffness: 500.0, damping: 2.0, ..Hand::default() };
    let mut device = SimDevice::new(SimParams {
        limits: DeviceLimits { stiffness: 5000.0, ..DeviceLimits::SIGMA7 },
        motion,
        hand: Some(hand),
        force_delay: delays[0],
        pose_delay: delays[1],
        position_step: 1e-5,
        velocity: false,
        ..SimParams::default()
    })
    .unwrap();
    let limits = device.limits();
    let mapping = Mapping { rotation: glam::DQuat::IDENTITY, scale: 1.0, start: Pose::IDENTITY };
    let delay = (delays[0] + delays[1]) as usize;
    let tool = ToolParams { friction: 0.2, ..ToolParams::default() };
    let mut rig = Rig::new(pair, &limits, mapping, &RigParams { mode, tool, delay, passive }).unwrap();
    rig.place(start);
    let probe = device.probe();
    let (mut wrench, mut out) =
        (Wrench::ZERO, Minute { given: 0.0, late: 0.0, touching: 0, speed: 0.0, largest: 0.0 });
    let ticks = (seconds / DT) as usize;
    let mut then = 0.0;
    for i in 0..ticks {
        let reading = device.exchange(&wrench).unwrap();
        let told = rig.tick(&reading, DT);
        wrench = told.wrench;
        let state = probe.state();
        out.given = out.given.max(state.energy.by_wrench);
        if i == ticks * 5 / 6 {
            then = state.energy.by_wrench;
        }
        if i > ticks * 5 / 6 {
            out.late = out.late.max(state.energy.by_wrench - then);
            out.speed = out.speed.max(state.twist.linear.length());
        }
        out.touching += usize::from(told.felt.contacts > 0);
        out.largest = out.largest.max(wrench.force.length());
        assert!(state.energy.by_wrench.is_finite() && wrench.force.length() <= limits.force * (1.0 + 1e-9));
    }
    out
}

fn press() -> HandMotion {
    let start = Pose::from_translation(DVec3::Z * 0.0125);
    HandMotion::Press { start, axis: DVec3::NEG_Z, depth: 0.012, seconds: 1.0 }
}

fn slide() -> HandMotion {
    let start = Pose::from_translation(DVec3::new(-0.02, 0.0, 0.0125));
    HandMotion::Slide {
        start,
        axis: DVec3::NEG_Z,
        depth: 0.010,
        travel: DVec3::X * 0.04,
        press_seconds: 0.5,
        seconds: 0.8,
    }
}

fn wedge(pair: &Pair) -> HandMotion {
    let high = pair.fixed().aabb().max.z - pair.tool().aabb().min.z + 0.001;
    HandMotion::Wedge {
        start: Pose::from_translation(DVec3::Z * high),
        axis: DVec3::NEG_Z,
        depth: 0.012,
        turn: DVec3::new(0.15, 0.1, 0.3),
        press_seconds: 1.0,
        seconds: 0.7,
    }
}

/// Pressing, sliding and wedging, with delays up to 5 ms at the device's largest stiffness: the hand is never given more than it put in.
#[test]
fn the_hand_is_never_given_energy() {
    for mode in [Mode::Held, Mode::Soft] {
        for delays in [[0, 0], [1, 0], [3, 2]] {
            for which in 0..3 {
                let (pair, motion) = match which {
                    0 => (block_and_cube(), press()),
                    1 => (block_and_cube(), slide()),
                    _ => {
                        let pair = peg_and_hole(4e-4);
                        let motion = wedge(&pair);
                        (pair, motion)
                    }
                };
                let found = feel(pair, motion, mode, delays, true, 5.0);
                println!("{mode:?} {delays:?} {which}: {found:?}");
                assert!(found.touching > 3000, "{found:?}");
                // What is on its way when force first meets the hand cannot be called back: millijoules, once.
                assert!(found.given < 3e-3, "{mode:?} {delays:?} {which}: {found:?}");
                // At rest the hand is at rest: no buzz.
                assert!(which > 0 || found.speed < 0.01, "{mode:?} {delays:?}: {found:?}");
            }
        }
    }
}

/// Without the controller the same hand is given energy without end: the test above can fail.
#[test]
fn without_the_controller_energy_grows() {
    for delays in [[0, 0], [1, 1], [3, 2]] {
        let found = feel(block_and_cube(), press(), Mode::Held, delays, false, 6.0);
        println!("{delays:?}: {found:?}");
        // The sampling alone a hand can bear; delay it cannot.
        assert!(
            delays == [0, 0] || (found.given > 1.0 && found.late > 0.1 && found.speed > 0.3),
            "{found:?}"
        );
    }
}
