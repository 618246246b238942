//! The loop in real time, on this machine.

use super::{Found, Lab, Scene, bunny, nut, peg, row};
use anyhow::Result;
use palpate_haptic::exercise::{Exercise, Kind};
use palpate_haptic::sim::{SimDevice, SimParams};
use palpate_haptic::{
    Device, DeviceLimits, Mode, Report, Rig, RigParams, RunParams, Times, ToolParams, run as feel,
};
use std::sync::atomic::AtomicBool;

/// A scene felt by a wedging hand: how the loop fared.
fn felt(scene: Scene, rate: f64, mode: Mode, seconds: f64) -> Result<Report> {
    let limits = DeviceLimits::SIGMA7;
    let depth = 0.2 * scene.pair.radius();
    let exercise = Exercise::new(&scene.pair, &limits, scene.start, scene.up, Kind::Wedge, depth);
    let mut device = SimDevice::new(SimParams {
        limits,
        period: 1.0 / rate,
        motion: exercise.motion,
        position_step: 5e-6,
        velocity: false,
        ..SimParams::default()
    })?;
    let tool = ToolParams { friction: 0.2, ..ToolParams::default() };
    let mut rig = Rig::new(
        scene.pair,
        &device.limits(),
        exercise.mapping,
        &RigParams { mode, tool, ..RigParams::default() },
    )?;
    let params = RunParams { rate, seconds: Some(seconds), ..RunParams::default() };
    let health = feel(&mut device, &mut rig, &params, &AtomicBool::new(false), &mut |_| true)?;
    Ok(health.report())
}

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    type Make = fn(&Lab<'_>) -> Result<Scene>;
    let scenes: [(&str, Make); 3] = [("nut", |_| nut()), ("bunny", bunny), ("peg", |_| peg())];
    for (which, scene) in scenes {
        for (rate, mode) in [(1000.0, Mode::Held), (4000.0, Mode::Held), (1000.0, Mode::Soft)] {
            if rate > 1000.0 && which != "nut" {
                continue;
            }
            let scene = scene(lab)?;
            let case =
                format!("{}, {rate} Hz, {}", scene.name, if mode == Mode::Held { "held" } else { "soft" });
            eprintln!("{case}");
            let r = felt(scene, rate, mode, lab.seconds())?;
            let times = |t: &Times| {
                format!("{:.1} median, {:.1} p99, {:.1} p99.9, {:.1} worst", t.p50, t.p99, t.p999, t.worst)
            };
            let note = format!(
                "compute {} µs; own work {} µs; period {} µs; late wake-ups {} µs; {} ticks, {} in touch; missed by us {} ({} of them after the machine had stood still), by the machine {}; \
                 force cut {} times by the watch; least energy {:.1e} J, reduced in {} ticks; largest step {:.2} N",
                times(&r.compute),
                times(&r.work),
                times(&r.period),
                times(&r.late),
                r.ticks,
                r.touching,
                r.missed_by_us,
                r.missed_cold,
                r.missed_by_machine,
                r.trips,
                r.least_energy,
                r.reduced,
                r.largest_step,
            );
            found.rows.push(row(&case, "compute p99.9", "s", 1e-6 * r.compute.p999, note.clone()));
            found.rows.push(row(&case, "own work p99.9", "s", 1e-6 * r.work.p999, String::new()));
            found.rows.push(row(&case, "missed by us", "1", r.missed_by_us as f64, String::new()));
        }
    }
    Ok(found)
}
