//! How good the force is along fixed paths of which the answer is known.

use super::{Found, Lab, nut, peg, row, shape};
use anyhow::Result;
use glam::{DQuat, DVec3};
use palpate::force::Twist;
use palpate::math::Pose;
use palpate::mesh::samples;
use palpate::soft::{Soft, SoftMesh, SoftParams};
use palpate_haptic::{DeviceLimits, Felt, Gains, HeldTool, Pair, SoftTool, ToolParams};

/// Ticks between two looks at the meshes themselves.
const EVERY: usize = 5;

/// What the answer must be: the direction of the force and of the torque about the tool's centre, where they are known.
type Known = [Option<DVec3>; 2];

/// A path: a pair, where the target is in tick `i`, how many ticks, and what is known of the answer.
struct Path {
    name: &'static str,
    pair: Pair,
    target: fn(usize, Pose) -> Pose,
    start: Pose,
    ticks: usize,
    known: fn(usize, &Felt) -> Known,
}

fn block(tool: palpate::mesh::RawMesh) -> Result<Pair> {
    let block = samples::moved(samples::cuboid(DVec3::new(0.1, 0.1, 0.04)), DVec3::Z * -0.02);
    Ok(Pair::new(shape(block)?, shape(tool)?))
}

fn paths() -> Result<[Path; 6]> {
    let (scene, aside, tilted) = (peg()?, peg()?, peg()?);
    Ok([
        Path {
            name: "press, ball on plane",
            pair: block(samples::sphere(0.02, 4))?,
            target: |i, _| Pose::from_translation(DVec3::Z * (0.03 - 1e-5 * i as f64)),
            start: Pose::from_translation(DVec3::Z * 0.03),
            ticks: 1500,
            known: |_, _| [Some(DVec3::Z), None],
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
            // Until its lower edge passes the block's it rests on the block's face, then on the block's edge with its own face.
            known: |_, felt| {
                let past = felt.pose.point(DVec3::new(0.01, 0.0, -0.01)).x - 0.05;
                let normal = if past < 0.0 { DVec3::Z } else { felt.pose.vector(DVec3::Z) };
                [(past.abs() > 2e-4).then_some(normal), None]
            },
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
            known: |_, _| [None; 2],
        },
        Path {
            name: "aside, peg in hole",
            pair: aside.pair,
            target: |i, start| {
                let round = aside_of(i) * 2e-3 * (1e-3 * i as f64 - 1.0).clamp(0.0, 1.0);
                let down = DVec3::Z * -0.019 * (1e-3 * i as f64).min(1.0);
                Pose { translation: start.translation + round + down, ..start }
            },
            start: aside.start,
            ticks: 5000,
            // Back to the axis, once it is as far aside as it goes.
            known: |i, _| [(i > 2000).then(|| -aside_of(i)), None],
        },
        Path {
            name: "tilted, peg in hole",
            pair: tilted.pair,
            target: |i, start| {
                let tilt = aside_of(i) * 0.15 * (1e-3 * i as f64 - 1.0).clamp(0.0, 1.0);
                let down = DVec3::Z * -0.019 * (1e-3 * i as f64).min(1.0);
                // About the tool's own centre: its origin is at its end.
                let middle = DVec3::Z * 0.015;
                let rotation = DQuat::from_scaled_axis(tilt) * start.rotation;
                let at = start.translation + down + start.rotation * middle - rotation * middle;
                Pose::new(rotation, at)
            },
            start: tilted.start,
            ticks: 5000,
            // Everything else lies in the plane that the tilt is in.
            known: |i, _| [None, (i > 2000).then(|| -aside_of(i))],
        },
        Path {
            name: "turned, nut on bolt",
            pair: nut()?.pair,
            target: |i, start| {
                let turn = (1e-3 * i as f64).min(std::f64::consts::PI);
                Pose { rotation: DQuat::from_rotation_z(turn) * start.rotation, ..start }
            },
            start: Pose::IDENTITY,
            ticks: 4000,
            known: |_, _| [None; 2],
        },
    ])
}

/// How far a direction is from what it must be [degrees].
#[derive(Clone, Copy, Debug, Default)]
struct Off {
    most: f64,
    sum: f64,
    ticks: usize,
}

impl Off {
    fn look(&mut self, known: Option<DVec3>, found: DVec3) {
        if let Some(known) = known {
            let angle = found.angle_between(known).to_degrees();
            (self.most, self.sum, self.ticks) = (self.most.max(angle), self.sum + angle, self.ticks + 1);
        }
    }
}

/// A direction that goes round once in six seconds.
fn aside_of(i: usize) -> DVec3 {
    let angle = 1e-3 * i as f64 * std::f64::consts::TAU / 6.0;
    DVec3::new(angle.cos(), angle.sin(), 0.0)
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
            let (mut last, mut step, mut met, mut looked, mut touching, mut depth) =
                (DVec3::ZERO, 0.0f64, 0, 0, 0, 0.0f64);
            let mut off = [Off::default(); 2];
            let (mut before, mut last_pose) = (path.start, path.start);
            for i in 0..path.ticks {
                let target = (path.target)(i, path.start);
                let turn = target.rotation * before.rotation.conjugate();
                let motion = Twist {
                    linear: (target.translation - before.translation) * 1e3,
                    angular: turn.to_scaled_axis() * 1e3,
                };
                before = target;
                let felt: Felt = if soft {
                    gives.tick(&mut path.pair, &target, &motion, &gains, 1e-3)
                } else {
                    held.tick(&mut path.pair, &target, &motion, &gains, 1e-3)
                };
                let force = felt.wrench.force;
                last_pose = felt.pose;
                step = step.max((force - last).length());
                last = force;
                depth = depth.max(felt.depth);
                touching += usize::from(felt.contacts > 0);
                let torque = felt.wrench.about(target.vector(path.pair.centre())).torque;
                let known = (path.known)(i, &felt);
                off[0].look(known[0].filter(|_| force.length() > 0.2), force);
                off[1].look(known[1].filter(|_| torque.length() > 2e-3), torque);
                if i % EVERY == 0 {
                    b.deform(|k, _| felt.pose.point(rest[k]));
                    looked += 1;
                    met += usize::from(!meshes.pairs(&a, &b, &SoftParams::default()).list.is_empty());
                }
            }
            let mode = if soft { "soft" } else { "held" };
            let case = format!("{}, {mode}", path.name);
            let end = last_pose.rotation.to_scaled_axis();
            let note = format!(
                "{touching} of {} ticks in touch; deepest {:.3} mm; at the end {:.3} mm from the start, turned by {:.3} rad",
                path.ticks,
                1e3 * depth,
                1e3 * (last_pose.translation - path.start.translation).length(),
                end.length()
            );
            eprintln!("{case}: step {step:.3} N, {met} of {looked} poses meet");
            found.rows.push(row(&case, "largest step of force", "N", step, note));
            for (off, what) in off.iter().zip(["force", "torque"]).filter(|(off, _)| off.ticks > 0) {
                let mean = off.sum / off.ticks as f64;
                let note = format!("of the {what}; {mean:.3} in the mean of {} ticks", off.ticks);
                eprintln!("   {what} off by {:.3} degrees at most, {mean:.3} in the mean", off.most);
                found.rows.push(row(&case, "direction error", "degrees", off.most, note));
            }
            let note = format!("of {looked} poses, by triangles of the drawn meshes");
            found.rows.push(row(&case, "poses in which meshes meet", "1", met as f64, note));
        }
    }
    Ok(found)
}
