//! Many parts at once: random overlaps that must not explode, dragons on a terrain, a bin that is filled.

use super::{Found, Lab, row};
use crate::oracle::Random;
use crate::scenes;
use anyhow::Result;
use glam::{DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::mesh::{Mesh, RepairParams, samples};
use palpate::{Pose, Query, Shape};
use palpate_sim::depth::Referee;
use palpate_sim::{Body, Engine, Motion, Options, Scene, start};

/// Parts that random scenes are made of.
const PARTS: [&str; 6] = ["gear", "nut", "bolt", "torus-knot", "bumpy-sphere", "peg"];

fn rotation(r: &mut Random) -> DQuat {
    let p = r.point_in(DVec3::splat(-1.0), DVec3::ONE);
    DQuat::from_scaled_axis(p * 3.0)
}

/// What many steps of a scene gave.
#[derive(Default)]
struct Tally {
    fastest: f64,
    lost: usize,
    step_us: f64,
    narrow_us: f64,
    deepest: f64,
}

impl Tally {
    /// What the narrow phase took, where the engine says.
    fn narrow(&self) -> String {
        if self.narrow_us.is_nan() {
            String::new()
        } else {
            format!("narrow phase {:.2} ms; ", 1e-3 * self.narrow_us)
        }
    }
}

fn tally(engine: Engine, scene: &Scene, options: &Options, seconds: f64, refereed: bool) -> Result<Tally> {
    let mut sim = start(engine, scene, options)?;
    let mut referee = Referee::new(scene);
    let steps = (seconds * options.rate).round() as usize;
    let mut all = Tally::default();
    for i in 0..steps {
        let step = sim.step()?;
        all.step_us += step.step_us / steps as f64;
        all.narrow_us += step.narrow_us.unwrap_or(f64::NAN) / steps as f64;
        all.lost += step.lost;
        for b in 0..scene.bodies.len() {
            all.fastest = all.fastest.max(sim.state(b).linear.length());
        }
        if refereed && (i + 1 == steps || i % 24 == 0) {
            all.deepest = all.deepest.max(referee.deepest(&*sim).0);
        }
    }
    Ok(all)
}

/// Overlaps in our own world.
pub(super) fn overlap_own(lab: &Lab<'_>) -> Result<Found> {
    overlap(lab, Engine::Own)
}

/// In Rapier.
pub(super) fn overlap_rapier(lab: &Lab<'_>) -> Result<Found> {
    overlap(lab, Engine::Rapier)
}

/// In Bullet.
pub(super) fn overlap_bullet(lab: &Lab<'_>) -> Result<Found> {
    overlap(lab, Engine::Bullet)
}

/// Random scenes of two to six parts that begin in each other.
fn overlap(lab: &Lab<'_>, engine: Engine) -> Result<Found> {
    let mut found = Found::default();
    let shapes: Vec<Shape> = PARTS.iter().map(|n| scenes::sample(n, 30.0)).collect::<Result<_>>()?;
    let count = if lab.options.quick { 20 } else { 1000 };
    let (mut r, mut query) = (Random::new(44), Query::new());
    let (mut worst, mut lost, mut failed, mut overlapping) = (0.0f64, 0, 0, 0);
    for _ in 0..count {
        let mut scene = Scene::default();
        let mut placed: Vec<(Shape, Pose)> = Vec::new();
        for i in 0..2 + r.below(5) {
            let shape = shapes[r.below(shapes.len())].clone();
            let turn = rotation(&mut r);
            let off = r.point_in(DVec3::splat(-1.0), DVec3::ONE) * 0.3 * shape.aabb().extent().max_element();
            let pose = Pose::new(turn, off - turn * shape.aabb().centre());
            placed.push((shape.clone(), pose));
            scene.add(Body::new(format!("part {i}"), shape, Motion::Density(1000.0), pose));
        }
        let mut pairs = (0..placed.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
        overlapping += usize::from(pairs.any(|(i, j)| {
            let ((a, w_from_a), (b, w_from_b)) = (&placed[i], &placed[j]);
            query.intersects(a, b, &(w_from_a.inverse() * *w_from_b))
        }));
        let options = Options { rate: 240.0, ..Options::default() };
        match tally(engine, &scene, &options, 0.5, false) {
            Ok(t) => (worst, lost) = (worst.max(t.fastest), lost + t.lost),
            Err(error) => {
                failed += 1;
                found.notes.push(format!("overlap, {}: {error:#}", engine.name()));
            }
        }
    }
    let note = format!(
        "{count} scenes of 2 to 6 parts, {overlapping} of them overlapping, 0.5 s each: {lost} not finite, {failed} failed (limit 20 m/s)"
    );
    found.rows.push(row(format!("overlap, {}", engine.name()), "fastest", "m/s", worst, note));
    Ok(found)
}

/// A terrain of 20,000 triangles as a closed slab.
fn terrain(side: f64, relief: f64, spacing: f64) -> Result<Shape> {
    let mesh = Mesh::new(samples::terrain_slab(side, relief, 100, 1), &RepairParams::default())?;
    scenes::build(mesh, spacing)
}

/// Fifteen dragons of 871,414 triangles fall on a terrain.
pub(super) fn dragons(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let dragon = scenes::load(lab.models()?, "dragon.ply", 1.0, 1.6e-3)?;
    let ground = terrain(1.5, 0.1, 10e-3)?;
    let mut scene = Scene::default();
    let under = -ground.aabb().max.z;
    scene.add(Body::new("terrain", ground, Motion::Static, Pose::from_translation(DVec3::Z * under)));
    let mut r = Random::new(15);
    for i in 0..15 {
        let turn = rotation(&mut r);
        let place = DVec3::new(
            0.25 * (i % 3) as f64 - 0.25,
            0.25 * (i / 3 % 2) as f64 - 0.12,
            0.2 + 0.22 * (i / 6) as f64,
        );
        let pose = Pose::new(turn, place - turn * dragon.aabb().centre());
        scene.add(Body::new(format!("dragon {i}"), dragon.clone(), Motion::Density(1000.0), pose));
    }
    for engine in lab.engines() {
        let seconds = if lab.options.quick { 0.5 } else { 4.0 };
        let all = tally(engine, &scene, &Options { rate: 240.0, ..Options::default() }, seconds, true)?;
        let note = format!(
            "{} points each; {}penetration {:.2} mm, fastest {:.1} m/s (2008 paper: 70 ms on its GPU)",
            dragon.tree().len(),
            all.narrow(),
            1e3 * all.deepest,
            all.fastest
        );
        found.rows.push(row(
            format!("15 dragons, {}", engine.name()),
            "step mean",
            "s",
            1e-6 * all.step_us,
            note,
        ));
    }
    Ok(found)
}

/// Two hundred mixed parts are poured into a bin.
pub(super) fn bin(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let shapes: Vec<Shape> = PARTS.iter().map(|n| scenes::sample(n, 24.0)).collect::<Result<_>>()?;
    let size = shapes.iter().map(|s| s.aabb().extent().max_element()).fold(0.0, f64::max);
    let count = if lab.options.quick { 20 } else { 200 };
    let half = 2.5 * size;
    let mut scene = Scene::default();
    scene.add(scenes::floor(0.0)?);
    for (i, (x, y)) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)].into_iter().enumerate() {
        let normal = DVec3::new(-x, -y, 0.0);
        let wall = Analytic::half_space(normal, -half)?;
        scene.add(Body::new(format!("wall {i}"), wall, Motion::Static, Pose::IDENTITY));
    }
    let mut r = Random::new(200);
    for i in 0..count {
        let shape = shapes[i % shapes.len()].clone();
        let turn = rotation(&mut r);
        let cell = i % 9;
        let place =
            DVec3::new((cell % 3) as f64 - 1.0, (cell / 3) as f64 - 1.0, 0.8 + (i / 9) as f64) * 1.3 * size;
        let pose = Pose::new(turn, place - turn * shape.aabb().centre());
        scene.add(Body::new(format!("part {i}"), shape, Motion::Density(1000.0), pose));
    }
    for engine in lab.engines() {
        let seconds = if lab.options.quick { 1.0 } else { 6.0 };
        let all = tally(engine, &scene, &Options { rate: 240.0, ..Options::default() }, seconds, true)?;
        let note = format!(
            "{}penetration {:.2} mm of parts of {:.0} mm, fastest {:.1} m/s, {} not finite",
            all.narrow(),
            1e3 * all.deepest,
            1e3 * size,
            all.fastest,
            all.lost
        );
        found.rows.push(row(
            format!("{count} parts in a bin, {}", engine.name()),
            "step mean",
            "s",
            1e-6 * all.step_us,
            note,
        ));
    }
    Ok(found)
}
