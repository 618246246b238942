//! Parts that fit into each other: nut on bolt, peg in hole, gear on peg; and a part that has to come to rest.

use super::{Found, Lab, line, number, row};
use crate::bench::svg::{self, Labels, Picture, Series};
use crate::bench::table::Row;
use crate::scenes;
use anyhow::Result;
use glam::{DMat3, DVec3};
use palpate::{Pose, Shape, manifold::Choice};
use palpate_sim::depth::Referee;
use palpate_sim::{Body, Engine, Motion, Options, Scene, Simulation, State, start};
use std::fmt::Write as _;

/// Rate of all of these [Hz].
const RATE: f64 = 240.0;
/// Spacing of the points of small parts [m].
const SPACING: f64 = 2e-4;

/// What a run of a scene's last body gave.
struct Run {
    states: Vec<State>,
    /// Deepest penetration as the referee sees it [m].
    deepest: f64,
    /// Fastest speed [m/s].
    fastest: f64,
    lost: usize,
    step_us: f64,
    narrow_us: Option<f64>,
}

fn options() -> Options {
    Options { rate: RATE, choice: Some(Choice::Patches(16)), both: true, ..Options::default() }
}

fn simulate(engine: Engine, scene: &Scene, options: &Options, seconds: f64) -> Result<Run> {
    let mut sim: Box<dyn Simulation> = start(engine, scene, options)?;
    let mut referee = Referee::new(scene);
    let body = scene.bodies.len() - 1;
    let steps = (seconds * options.rate).round() as usize;
    let mut run =
        Run { states: Vec::new(), deepest: 0.0, fastest: 0.0, lost: 0, step_us: 0.0, narrow_us: None };
    for _ in 0..steps {
        let step = sim.step()?;
        let state = sim.state(body);
        run.step_us += step.step_us / steps as f64;
        if let Some(us) = step.narrow_us {
            *run.narrow_us.get_or_insert(0.0) += us / steps as f64;
        }
        run.lost += step.lost;
        run.deepest = run.deepest.max(referee.deepest(&*sim).0);
        run.fastest = run.fastest.max(state.linear.length());
        run.states.push(state);
        if step.lost > 0 {
            break;
        }
    }
    Ok(run)
}

impl Run {
    fn last(&self) -> State {
        self.states.last().copied().unwrap_or_default()
    }

    /// Height of the body's frame over time.
    fn heights(&self) -> Vec<(f64, f64)> {
        self.states
            .iter()
            .enumerate()
            .step_by(4)
            .map(|(i, s)| (i as f64 / RATE, 1e3 * s.pose.translation.z))
            .collect()
    }

    /// Angle from upright [°].
    fn tilt(&self) -> f64 {
        (self.last().pose.rotation * DVec3::Z).z.clamp(-1.0, 1.0).acos().to_degrees()
    }

    fn said(&self) -> String {
        let narrow = self.narrow_us.map_or_else(String::new, |us| format!(", narrow phase {us:.0} µs"));
        format!(
            "penetration {:.0} µm, fastest {:.2} m/s, at the end {:.2} mm high, tilt {:.2}°, {:.2} mm/s; step {:.0} µs{narrow}",
            1e6 * self.deepest,
            self.fastest,
            1e3 * self.last().pose.translation.z,
            self.tilt(),
            1e3 * self.last().linear.length(),
            self.step_us
        )
    }
}

fn picture(name: &str, title: &str, lines: Vec<Series>) -> Picture {
    let labels =
        Labels { title: title.into(), x: "time [s]".into(), y: "height [mm]".into(), marks: Vec::new() };
    Picture { name: name.into(), svg: svg::plot(&labels, &lines) }
}

/// The same scene in Bullet with each part as eight convex hulls: where the last body is at the end [m], and what Bullet says.
fn decomposed(lab: &Lab<'_>, scene: &Scene, files: &[(usize, &str)], seconds: f64) -> Result<Row> {
    let mut text = format!("gravity 0 0 -9.81\nrate {RATE}\nseconds {seconds}\n");
    for (i, b) in scene.bodies.iter().enumerate() {
        let (p, q) = (b.pose.translation, b.pose.rotation);
        let _ =
            writeln!(text, "body {}\npose {} {} {} {} {} {} {}", b.name, p.x, p.y, p.z, q.x, q.y, q.z, q.w);
        let _ = writeln!(text, "mass {}\nfriction {}", b.mass().map_or(0.0, |m| m.0), b.friction);
        match files.iter().find(|f| f.0 == i) {
            Some((_, file)) => {
                let mesh = lab.models()?.join(file);
                let _ = writeln!(
                    text,
                    "kind hulls\nmesh {}\nhulls {}\nmargin 0.00001",
                    mesh.display(),
                    lab.hulls(file)?
                );
            }
            None => text += "kind plane 0 0 1 -0.020\n",
        }
    }
    let (file, poses) = (lab.work.file("hulls.scene"), lab.work.file("hulls.csv"));
    std::fs::write(&file, text)?;
    let last = lab.bullet_last(&["scene", "--file", &file, "--poses", &poses])?;
    let csv = std::fs::read_to_string(&poses)?;
    let cells: Vec<f64> =
        csv.lines().last().map_or(Vec::new(), |l| l.split(',').filter_map(|c| c.parse().ok()).collect());
    // step, time, x, y, z, …: the name is no number.
    let place = cells.get(2..5).map_or(DVec3::splat(f64::NAN), DVec3::from_slice);
    let note = format!(
        "8 hulls for each part: after {seconds} s at x {:.1} y {:.1} z {:.1} mm; fastest {:.2} m/s",
        1e3 * place.x,
        1e3 * place.y,
        1e3 * place.z,
        number(&last, "fastest")?
    );
    let name = scene.bodies.last().map_or("", |b| b.name.as_str());
    Ok(row(format!("{name} as hulls, bullet"), "height at the end", "m", place.z, note))
}

/// A nut turns down its bolt by its own weight, from 10 mm above the head.
pub(super) fn nut(lab: &Lab<'_>) -> Result<Found> {
    let (mut found, mut lines) = (Found::default(), Vec::new());
    let seconds = if lab.options.quick { 3.0 } else { 20.0 };
    for friction in [0.0, 0.01] {
        let scene = scenes::nut_on_bolt(lab.models()?, friction, SPACING)?;
        for engine in lab.engines() {
            let run = simulate(engine, &scene, &options(), seconds)?;
            let z = run.last().pose.translation.z;
            let turned = z < 0.0011 && z > -0.0005 && run.tilt() < 2.0;
            let kept = run.states.iter().all(|s| s.pose.translation.truncate().length() < 1e-3);
            let verdict = match (turned, kept, run.lost) {
                (true, true, 0) => "turned down",
                (false, true, 0) => "did not arrive",
                _ => "left the bolt",
            };
            let note = format!("{verdict}; {}", run.said());
            let case = format!("nut on bolt, friction {friction}, {}", engine.name());
            found.rows.push(row(case, "penetration worst", "m", run.deepest, note).finish());
            lines.push(line(
                format!("{}, friction {friction}", engine.name()),
                lines.len(),
                friction > 0.0,
                run.heights(),
            ));
        }
    }
    let scene = scenes::nut_on_bolt(lab.models()?, 0.0, SPACING)?;
    let files = [(0, "bolt-m16-loose.obj"), (1, "nut-m16-loose.obj")];
    found.rows.push(decomposed(lab, &scene, &files, 3.0)?);
    found.pictures.push(picture("engines-nut.svg", "Nut on bolt: height above its place on the head", lines));
    Ok(found)
}

/// Tight pegs, released 0.3 mm and 0.5° off their holes.
pub(super) fn peg(lab: &Lab<'_>) -> Result<Found> {
    let (mut found, mut lines) = (Found::default(), Vec::new());
    for kind in ["round", "rect"] {
        let scene = scenes::peg_in_hole(lab.models()?, kind, 3e-4, 0.5f64.to_radians(), 0.1, SPACING)?;
        for engine in lab.engines() {
            let run = simulate(engine, &scene, &options(), if lab.options.quick { 2.0 } else { 5.0 })?;
            let verdict = peg_verdict(&run);
            let case = format!("{kind} peg, {}", engine.name());
            found.rows.push(
                row(case, "penetration worst", "m", run.deepest, format!("{verdict}; {}", run.said()))
                    .finish(),
            );
            lines.push(line(
                format!("{kind}, {}", engine.name()),
                lines.len(),
                kind == "rect",
                run.heights(),
            ));
        }
    }
    // Within its clearance of 0.07 mm, where no rim is in its way.
    let scene = scenes::peg_in_hole(lab.models()?, "rect", 5e-5, 0.5f64.to_radians(), 0.1, SPACING)?;
    for engine in lab.engines() {
        let run = simulate(engine, &scene, &options(), 2.0)?;
        let case = format!("rect peg, 0.05 mm off, {}", engine.name());
        let note = format!("{}; {}", peg_verdict(&run), run.said());
        found.rows.push(row(case, "penetration worst", "m", run.deepest, note).finish());
    }
    // What short steps say of the same: whether a peg falls over should not hang on the rate.
    for (kind, rate) in [("round", 1000.0), ("round", 4000.0), ("rect", 1000.0), ("rect", 4000.0)] {
        let scene = scenes::peg_in_hole(lab.models()?, kind, 3e-4, 0.5f64.to_radians(), 0.1, SPACING)?;
        let run = simulate(Engine::Own, &scene, &Options { rate, ..options() }, 2.0)?;
        let case = format!("{kind} peg at {rate} Hz, own");
        let note = format!("{}; {}", peg_verdict(&run), run.said());
        found.rows.push(row(case, "penetration worst", "m", run.deepest, note).finish());
    }
    for kind in ["round", "rect"] {
        let scene = scenes::peg_in_hole(lab.models()?, kind, 3e-4, 0.5f64.to_radians(), 0.1, SPACING)?;
        let (hole, peg) = (format!("hole-{kind}-8mm.obj"), format!("peg-{kind}-8mm-tight.obj"));
        found.rows.push(decomposed(lab, &scene, &[(1, &hole), (2, &peg)], 3.0)?);
    }
    found.pictures.push(picture(
        "engines-peg.svg",
        "Tight pegs through a plate: height of the lower end",
        lines,
    ));
    Ok(found)
}

fn peg_verdict(run: &Run) -> &'static str {
    let z = run.last().pose.translation.z;
    if (z + 0.020).abs() < 5e-4 { "stands on the floor" } else { "did not arrive" }
}

/// A gear falls onto its peg.
pub(super) fn gear(lab: &Lab<'_>) -> Result<Found> {
    let (mut found, mut lines) = (Found::default(), Vec::new());
    let scene = scenes::gear_on_peg(lab.models()?, 2e-4, 0.5f64.to_radians(), 0.1, SPACING)?;
    for engine in lab.engines() {
        let run = simulate(engine, &scene, &options(), if lab.options.quick { 2.0 } else { 5.0 })?;
        let z = run.last().pose.translation.z;
        let verdict = if z.abs() < 5e-4 { "sits on the base" } else { "did not arrive" };
        let case = format!("gear on peg, {}", engine.name());
        found.rows.push(
            row(case, "penetration worst", "m", run.deepest, format!("{verdict}; {}", run.said())).finish(),
        );
        lines.push(line(engine.name(), lines.len(), false, run.heights()));
    }
    found.pictures.push(picture("engines-gear.svg", "A gear on its peg: height above its place", lines));
    Ok(found)
}

/// A bunny comes to rest and stays, without sleep; a free body keeps its energy.
pub(super) fn rest(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let bunny = scenes::load(lab.models()?, "bunny.obj", 1.7354, 2.1e-3)?;
    // Closed, for the engine's own hull to have the same mass.
    let closed = scenes::build(scenes::closed(bunny.mesh())?, 2.1e-3)?;
    let seconds = if lab.options.quick { 6.0 } else { 65.0 };
    for engine in lab.engines() {
        let mut scene = Scene::default();
        scene.add(scenes::floor(0.0)?);
        let low = bunny.aabb().min.z;
        scene.add(Body::new(
            "bunny",
            bunny.clone(),
            Motion::Mass(1.0),
            Pose::from_translation(DVec3::Z * (0.05 - low)),
        ));
        let run = simulate(engine, &scene, &Options { rate: RATE, ..Options::default() }, seconds)?;
        let still = |s: &State| s.linear.length() < 1e-3;
        let quiet = run.states.iter().rposition(|s| !still(s)).map_or(0, |i| i + 1);
        let rest = (run.states.len() - quiet) as f64 / RATE;
        let note = format!(
            "below 1 mm/s from {:.2} s on, for {rest:.1} s, to the end; {}",
            quiet as f64 / RATE,
            run.said()
        );
        found.rows.push(row(format!("bunny at rest, {}", engine.name()), "rest", "s", rest, note));

        // The same body as a hull of the engine's own: what the engine itself does to the energy.
        let ours = tumbled(engine, &closed, false)?;
        let note = "largest relative change of energy in 10 s of free tumbling; theirs: a hull of the engine's own, same mass and inertia";
        let drift = row(format!("free bunny, {}", engine.name()), "energy drift", "%", 100.0 * ours, note);
        let theirs = match engine {
            Engine::Own => None,
            _ => Some(100.0 * tumbled(engine, &closed, true)?),
        };
        let peer = theirs.map(|_| engine.name().to_owned());
        found.rows.push(Row { peer, theirs, ..drift });
    }
    Ok(found)
}

/// Mass of the bunny that tumbles [kg]. Bullet forgets the gyroscopic torque of bodies whose principal moments have a product below 1.2e-7
/// (`btMatrix3x3::solve33`), whatever their shape: a bunny of 1 kg is on the edge of that.
const TUMBLING: f64 = 10.0;

/// Largest relative change of the energy of a body that tumbles freely for 10 s [1], as one of ours or as a hull of the engine's own.
fn tumbled(engine: Engine, shape: &Shape, hulls: bool) -> Result<f64> {
    let mut free = Scene { gravity: DVec3::ZERO, ..Scene::default() };
    let spin = DVec3::new(3.0, 1.0, 2.0);
    let body = Body::new("bunny", shape.clone(), Motion::Mass(TUMBLING), Pose::IDENTITY);
    let (_, _, inertia) = body.mass().unwrap_or_default();
    free.add(Body { angular: spin, ..body });
    let run = simulate(engine, &free, &Options { rate: RATE, hulls, ..Options::default() }, 10.0)?;
    Ok(drift(&inertia, spin, &run.states))
}

/// Largest relative change of the energy of rotation [1].
fn drift(inertia: &DMat3, spin: DVec3, states: &[State]) -> f64 {
    let energy = |w: DVec3| 0.5 * w.dot(*inertia * w);
    let began = energy(spin);
    let turned = states.iter().map(|s| energy(s.pose.rotation.inverse() * s.angular));
    turned.map(|e| (e / began - 1.0).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn energy_is_that_of_the_turned_body() {
        let inertia = DMat3::from_diagonal(DVec3::new(1.0, 2.0, 3.0));
        let turned = |angle: f64, angular| State {
            pose: Pose::new(DQuat::from_rotation_z(angle), DVec3::ZERO),
            angular,
            ..State::default()
        };
        let quarter = std::f64::consts::FRAC_PI_2;
        // About its own x, wherever that has turned to.
        let same = [turned(0.0, DVec3::X), turned(quarter, DVec3::Y)];
        assert!(drift(&inertia, DVec3::X, &same) < 1e-12);
        // About its own y instead: twice the energy.
        assert!((drift(&inertia, DVec3::X, &[turned(quarter, DVec3::X)]) - 1.0).abs() < 1e-12);
    }
}
