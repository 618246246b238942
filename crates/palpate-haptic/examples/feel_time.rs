//! Times the ticks of a simulated hand, without waiting for the clock.
//!
//! `cargo run --release -p palpate-haptic --example feel_time nut|peg|FILE_A:FILE_B [--soft] [--seconds N] [--rate HZ] [--untimed] [--voxels N] [--spacing VOXELS]`
#![expect(clippy::print_stdout, reason = "a program")]

use glam::DVec3;
use palpate::math::{Pose, Wrench};
use palpate::mesh::{Mesh, RawMesh, RepairParams, samples};
use palpate::shape::{Shape, ShapeParams};
use palpate_haptic::clock::thread_time;
use palpate_haptic::exercise::{Exercise, Kind, above};
use palpate_haptic::health::Histogram;
use palpate_haptic::sim::{SimDevice, SimParams};
use palpate_haptic::{Device, DeviceLimits, Mode, Pair, Rig, RigParams, ToolParams};
use std::sync::Arc;

fn shape(raw: RawMesh, voxels: f64, apart: f64) -> Result<Arc<Shape>, Box<dyn std::error::Error>> {
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let voxel = mesh.aabb().extent().max_element() / voxels;
    let params = ShapeParams { spacing: Some(apart * voxel), ..ShapeParams::default() };
    Ok(Arc::new(Shape::build(mesh, voxel, &params)?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after =
        |name: &str| arguments.iter().skip_while(|a| *a != name).nth(1).and_then(|n| n.parse::<f64>().ok());
    let rate = after("--rate").unwrap_or(1000.0);
    let what = arguments.first().map_or("peg", String::as_str);
    let voxels = after("--voxels").unwrap_or(250.0);
    let (a, b, start) = match what {
        "nut" => {
            let (bolt, nut) = samples::nut_and_bolt(samples::NUT_AND_BOLT_FINENESS);
            (bolt, nut, Some(Pose::from_translation(DVec3::Z * after("--height").unwrap_or(0.012))))
        }
        "peg" => {
            let (peg, hole) = samples::peg_and_hole(4e-4, 64);
            (hole, peg, None)
        }
        files => {
            let (a, b) = files.split_once(':').ok_or("A:B, nut or peg")?;
            (RawMesh::load(a, 1.0)?, RawMesh::load(b, 1.0)?, None)
        }
    };
    let apart = after("--spacing").unwrap_or(4.0);
    let pair = Pair::new(shape(a, voxels, apart)?, shape(b, voxels, apart)?);
    println!("{} and {} points", pair.fixed().tree().len(), pair.tool().tree().len());
    let up = if what.contains(':') { DVec3::Y } else { DVec3::Z };
    let start = start.unwrap_or_else(|| above(&pair, up));
    let free = !palpate::query::Query::new().intersects(pair.fixed(), pair.tool(), &start);
    let limits = DeviceLimits::SIGMA7;
    let exercise = Exercise::new(&pair, &limits, start, up, Kind::Wedge, 0.2 * pair.radius());
    println!(
        "starts {}, touches after {:.4} m, scale {:.2}",
        if free { "free" } else { "inside" },
        exercise.free,
        exercise.mapping.scale
    );
    let sim = SimParams {
        limits,
        period: 1.0 / rate,
        motion: exercise.motion,
        position_step: 5e-6,
        velocity: false,
        ..SimParams::default()
    };
    let mut device = SimDevice::new(sim)?;
    let mode = if arguments.iter().any(|a| a == "--soft") { Mode::Soft } else { Mode::Held };
    let tool = ToolParams { friction: 0.2, ..ToolParams::default() };
    let mut rig =
        Rig::new(pair, &limits, exercise.mapping, &RigParams { mode, tool, ..RigParams::default() })?;
    let (mut wrench, mut times) = (Wrench::ZERO, Histogram::default());
    let (mut contacts, mut most, mut touching, mut reduced, mut steps) = (0, 0, 0, 0, 0);
    let ticks = (rate * after("--seconds").unwrap_or(10.0)) as usize;
    let timed = !arguments.iter().any(|a| a == "--untimed");
    for _ in 0..ticks {
        let reading = device.exchange(&wrench)?;
        let from = if timed { thread_time() } else { None };
        let told = rig.tick(&reading, 1.0 / rate);
        if let Some((from, to)) = from.and_then(|f| Some((f, thread_time()?))) {
            times.add((to - from).as_secs_f64() * 1e6);
        }
        wrench = told.wrench;
        let near = rig.tool().pair().map_or(0, |p| p.contacts().iter().map(|c| c.list.len()).sum());
        (contacts, most) = (contacts + near, most.max(near));
        touching += usize::from(told.felt.contacts > 0);
        reduced += usize::from(told.share < 1.0);
        steps += told.felt.steps;
    }
    println!("{:?}", times.times());
    println!(
        "{touching} of {ticks} in touch, {:.0} near points in the mean, {most} at most; {:.2} steps a tick; reduced in {reduced}, spring {:.2}",
        contacts as f64 / ticks as f64,
        steps as f64 / ticks as f64,
        rig.passivity().share(),
    );
    Ok(())
}
