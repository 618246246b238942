//! How good the force is along fixed paths of which the answer is known.

use super::{Found, Lab, peg, row, shape};
use anyhow::Result;
use glam::{DQuat, DVec3};
use palpate::force::Twist;
use palpate::math::Pose;
use palpate::mesh::samples;
use palpate::soft::{Soft, SoftMesh, SoftParams};
use palpate_haptic::{DeviceLimits, Felt, Gains, HeldTool, Pair, SoftTool, ToolParams};

/// Ticks between two looks at the meshes themselves.
const EVERY: usize = 5;

/// A path: a pair, where the target is in tick `i`, how many ticks, and the direction of the force where it is known.
struct Path {
    name: &'static str,
    pair: Pair,
    target: fn(usize, Pose) -> Pose,
    start: Pose,
    ticks: usize,
    along: Option<DVec3>,
}

fn block(tool: palpate::mesh::RawMesh) -> Result<Pair> {
    let block = samples::moved(samples::cuboid(DVec3::new(0.1, 0.1, 0.04)), DVec3::Z * -0.02);
    Ok(Pair::new(shape(block)?, shape(tool)?))
}

fn paths() -> Result<[Path; 3]> {
    let scene = peg()?;
    Ok([
        Path {
            name: "press, ball on plane",
            pair: block(samples::sphere(0.02, 4))?,
            target: |i, _| Pose::from_translation(DVec3::Z * (0.03 - 1e-5 * i as f64)),
            start: Pose::from_translation(DVec3::Z * 0.03),
            ticks: 1500,
            along: Some(DVec3::Z),
        },
        Path {
            name: "slide over an edge, cube on block",
            pair: block(samples::cuboid(DVec3::splat(0.02)))?,
            target: |i, start| {
                let down = (4.5e-5 * i as f64).min(0.018);
                let along = (2.5e-5 * (i as f64 - 400.0).max(0.0)).min(0.05);
                Pose { translation: start.translation + DVec3::new(along, 0.0, -down), ..start }
            },
            start: Pose::new(DQuat::from_rotation_y(0.3), DVec3::new(0.03, 0.0, 0.03)),
            ticks: 3000,
            along: None,
        },
        Path {
            name: "wedge, peg in hole",
            pair: scene.pair,
            target: |i, start| {
                let t = 1e-3 * i as f64;
                let wedge = (t - 1.0).max(0.0);
                let turn = DVec3::new(0.1 * (3.0 * wedge).sin(), 0.08 * wedge.sin(), 0.3 * wedge.sin());
                let side =
                    DVec3::new(2e-3 * (2.0 * wedge).sin(), 1e-3 * (1.3 * wedge).sin(), -0.02 * t.min(1.0));
                Pose::new(DQuat::from_scaled_axis(turn) * start.rotation, start.translation + side)
            },
            start: scene.start,
            ticks: 5000,
            along: None,
        },
    ])
}

pub(super) fn run(_: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    for soft in [false, true] {
        for mut path in paths()? {
            let gains = Gains::of(&DeviceLimits::SIGMA7, 1.0, path.pair.radius())?;
            let a = SoftMesh::from_mesh(path.pair.fixed().mesh());
            let mut b = SoftMesh::from_mesh(path.pair.tool().mesh());
            let rest = b.positions().to_vec();
            let mut meshes = Soft::new();
            let mut held = HeldTool::new(&path.pair, path.start, 0.0);
            let mut gives = SoftTool::new(path.start, ToolParams::default());
            let (mut last, mut step, mut off, mut met, mut looked, mut touching, mut depth) =
                (DVec3::ZERO, 0.0f64, 0.0f64, 0, 0, 0, 0.0f64);
            for i in 0..path.ticks {
                let target = (path.target)(i, path.start);
                let felt: Felt = if soft {
                    gives.tick(&mut path.pair, &target, &Twist::ZERO, &gains, 1e-3)
                } else {
                    held.tick(&mut path.pair, &target, &Twist::ZERO, &gains, 1e-3)
                };
                let force = felt.wrench.force;
                step = step.max((force - last).length());
                last = force;
                depth = depth.max(felt.depth);
                touching += usize::from(felt.contacts > 0);
                if let Some(along) = path.along.filter(|_| force.length() > 0.2) {
                    off = off.max(force.angle_between(along).to_degrees());
                }
                if i % EVERY == 0 {
                    b.deform(|k, _| felt.pose.point(rest[k]));
                    looked += 1;
                    met += usize::from(!meshes.pairs(&a, &b, &SoftParams::default()).list.is_empty());
                }
            }
            let mode = if soft { "soft" } else { "held" };
            let case = format!("{}, {mode}", path.name);
            let note = format!("{touching} of {} ticks in touch; deepest {:.3} mm", path.ticks, 1e3 * depth);
            eprintln!("{case}: step {step:.3} N, {met} of {looked} poses meet");
            found.rows.push(row(&case, "largest step of force", "N", step, note));
            if path.along.is_some() {
                found.rows.push(row(&case, "direction error", "degrees", off, String::new()));
            }
            let note = format!("of {looked} poses, by triangles of the drawn meshes");
            found.rows.push(row(&case, "poses in which meshes meet", "1", met as f64, note));
        }
    }
    Ok(found)
}
