//! Energy between the hand and the scene, with delays, with and without the controller.

use super::{Found, Lab, Scene, peg, row, shape};
use crate::bench::svg::{Labels, Picture, Series, semilog};
use anyhow::Result;
use glam::{DQuat, DVec3};
use palpate::math::{Pose, Wrench};
use palpate::mesh::samples;
use palpate_haptic::sim::{Hand, HandMotion, SimDevice, SimParams};
use palpate_haptic::{Device, DeviceLimits, Mapping, Mode, Pair, Rig, RigParams, ToolParams};

/// Seconds between points of a curve.
const EVERY: f64 = 0.1;

fn block() -> Result<Scene> {
    let block = samples::moved(samples::cuboid(DVec3::new(0.1, 0.1, 0.04)), DVec3::Z * -0.02);
    let pair = Pair::new(shape(block)?, shape(samples::cuboid(DVec3::splat(0.02)))?);
    Ok(Scene { name: "cube on block", pair, start: Pose::from_translation(DVec3::Z * 0.0125), up: DVec3::Z })
}

fn motion(which: &str, start: Pose) -> HandMotion {
    let axis = DVec3::NEG_Z;
    match which {
        "press" => HandMotion::Press { start, axis, depth: 0.012, seconds: 1.0 },
        "slide" => HandMotion::Slide {
            start,
            axis,
            depth: 0.01,
            travel: DVec3::X * 0.03,
            press_seconds: 0.5,
            seconds: 0.8,
        },
        _ => HandMotion::Wedge {
            start,
            axis,
            depth: 0.012,
            turn: DVec3::new(0.15, 0.1, 0.3),
            press_seconds: 1.0,
            seconds: 0.7,
        },
    }
}

/// What the hand had been given in all, at the end of each step of time [J], and the largest speed in the last tenth [m/s].
fn felt(
    scene: Scene,
    which: &str,
    late: u32,
    (mode, passive): (Mode, bool),
    seconds: f64,
) -> Result<(Vec<(f64, f64)>, f64)> {
    let motion = motion(which, scene.start);
    let mut device = SimDevice::new(SimParams {
        limits: DeviceLimits { stiffness: 5000.0, ..DeviceLimits::SIGMA7 },
        motion,
        hand: Some(Hand { stiffness: 500.0, damping: 2.0, ..Hand::default() }),
        force_delay: late / 2,
        pose_delay: late - late / 2,
        position_step: 1e-5,
        velocity: false,
        ..SimParams::default()
    })?;
    let mapping = Mapping { rotation: DQuat::IDENTITY, scale: 1.0, start: Pose::IDENTITY };
    let tool = ToolParams { friction: 0.2, ..ToolParams::default() };
    let params = RigParams { mode, tool, delay: late as usize, passive };
    let mut rig = Rig::new(scene.pair, &device.limits(), mapping, &params)?;
    rig.place(scene.start);
    let probe = device.probe();
    let (mut wrench, mut curve, mut speed, mut most) = (Wrench::ZERO, Vec::new(), 0.0f64, 0.0f64);
    let ticks = (seconds * 1000.0) as usize;
    for i in 0..ticks {
        let reading = device.exchange(&wrench)?;
        wrench = rig.tick(&reading, 1e-3).wrench;
        let state = probe.state();
        most = most.max(state.energy.by_wrench);
        if i % (EVERY * 1000.0) as usize == 0 {
            curve.push((i as f64 * 1e-3, most));
        }
        if i > ticks * 9 / 10 {
            speed = speed.max(state.twist.linear.length());
        }
    }
    Ok((curve, speed))
}

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let mut series = Vec::new();
    for which in ["press", "slide", "wedge"] {
        for late in [0, 1, 2, 5] {
            for (mode, passive) in [(Mode::Held, true), (Mode::Soft, true), (Mode::Held, false)] {
                let scene = if which == "wedge" { peg()? } else { block()? };
                let (curve, speed) = felt(scene, which, late, (mode, passive), lab.seconds())?;
                let most = curve.last().map_or(0.0, |c| c.1);
                let sixth = curve.get(curve.len() / 6).map_or(0.0, |c| c.1);
                let how = match (mode, passive) {
                    (Mode::Held, true) => "controlled",
                    (Mode::Soft, true) => "soft, controlled",
                    _ => "as it is",
                };
                let case = format!("{which}, {late} ms late, {how}");
                eprintln!("{case}: {most:.2e} J");
                let note = format!(
                    "{sixth:.2e} J of it in the first sixth of the time; {:.1} mm/s at most in the last tenth",
                    1e3 * speed
                );
                found.rows.push(row(&case, "most energy given to the hand", "J", most, note));
                if which == "press" && late > 0 && mode == Mode::Held {
                    let colour = ["#1f77b4", "#2ca02c", "#d62728"]
                        [[1, 2, 5].iter().position(|l| *l == late).unwrap_or(0)];
                    series.push(Series {
                        name: case,
                        colour,
                        dashed: passive,
                        points: curve.iter().map(|c| (c.0, c.1.max(1e-9))).collect(),
                    });
                }
            }
        }
    }
    let labels = Labels {
        title: "Energy that the hand was given".into(),
        x: "time [s]".into(),
        y: "[J]".into(),
        marks: Vec::new(),
    };
    found.pictures.push(Picture { name: "haptic-energy.svg".into(), svg: semilog(&labels, &series) });
    Ok(found)
}
