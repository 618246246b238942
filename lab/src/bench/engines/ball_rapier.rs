//! The bouncing ball in Rapier: its own ball and ours.

use super::ball::{Bounces, Case, RADIUS, RATE, VOXEL, report};
use super::rapier::{Ground, Settings, Thing, plane};
use super::{Found, Lab};
use anyhow::{Context, Result};
use glam::{DMat3, DVec3};
use palpate::Shape;
use palpate::mesh::{Mesh, RepairParams, samples};
use palpate::shape::ShapeParams;
use palpate_rapier::{PalpateDispatcher, PalpateShape};
use palpate_sim::Engine;
use rapier3d::prelude::{Pose, SharedShape, Vector};

/// As in Bullet [m/s², s].
const GRAVITY: f64 = 10.0;
const SECONDS: f64 = 3.0;

/// A ball with points `spacing` apart [m].
pub(super) fn ball(spacing: f64) -> Result<Shape> {
    let mesh = Mesh::new(samples::sphere(RADIUS, 6), &RepairParams::default())?;
    let params = ShapeParams { spacing: Some(spacing), ..ShapeParams::default() };
    Ok(Shape::build(mesh, VOXEL, &params)?)
}

/// A ball of 1 kg, of this shape or Rapier's own, at rest with its centre at a height [m].
pub(super) fn thing(shape: Option<&Shape>, height: f64, restitution: f64) -> Thing {
    let shape = match shape {
        Some(shape) => PalpateShape::new(shape.clone()).into(),
        None => SharedShape::ball(RADIUS as f32),
    };
    let inertia = DMat3::from_diagonal(DVec3::splat(0.4 * RADIUS * RADIUS));
    let pose = Pose::from_translation(Vector::Z * height as f32);
    Thing { shape, pose, mass: 1.0, inertia, surface: (0.5, restitution) }
}

/// Settings for balls: with Rapier's own they are its defaults.
pub(super) fn settings(gravity: f64, own: bool) -> Settings {
    Settings { gravity, rate: RATE, size: 2.0 * RADIUS, defaults: own }
}

/// Table 1 and Figure 6.
pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut built: Vec<(f64, Shape)> = Vec::new();
    report(lab, Engine::Rapier, &mut |case| {
        if let Some(spacing) = case.spacing
            && !built.iter().any(|b| b.0 == spacing)
        {
            built.push((spacing, ball(spacing)?));
        }
        bounces(case, built.iter().find(|b| Some(b.0) == case.spacing).map(|b| &b.1))
    })
}

/// Falls from every height of a case.
fn bounces(case: &Case, shape: Option<&Shape>) -> Result<Bounces> {
    let points: Vec<DVec3> = shape.map_or_else(Vec::new, |s| {
        let tree = s.tree();
        (0..tree.len()).map(|i| tree.position(i)).collect()
    });
    let mut all = Bounces { points: points.len(), ..Bounces::default() };
    let (dispatcher, ground) = (PalpateDispatcher::new(), plane());
    let count = case.heights.2.max(1) as f64;
    for (n, height) in case.each().enumerate() {
        let mut world = Ground::new(&settings(GRAVITY, shape.is_none()), &dispatcher, &ground);
        let body = world.add(&thing(shape, height + RADIUS, case.restitution));
        let (mut deepest, mut apex) = (0.0f64, 0.0f64);
        let (mut rising, mut over) = (false, false);
        for step in 0..(SECONDS * RATE) as usize {
            world.step();
            let (pose, linear, _) = world.state(body).context("the ball is gone")?;
            let mut bottom = f64::from(pose.translation.z) - RADIUS;
            rising = rising || linear.z > 0.01;
            over = over || (rising && linear.z < -0.01);
            if rising && !over {
                apex = apex.max(bottom);
            }
            // No point of a ball is lower than that.
            if !points.is_empty() && (bottom < 0.0 || case.trace) {
                bottom = lowest(&pose, &points);
            }
            deepest = deepest.max(-bottom);
            if case.trace && n == 0 {
                all.trace.push((step as f64 / RATE, bottom + RADIUS));
            }
        }
        let error = (apex - case.restitution * case.restitution * height).abs();
        all.worst = all.worst.max(deepest);
        all.mean += deepest / count;
        all.apex_worst = all.apex_worst.max(error);
        all.apex_mean += error / count;
    }
    Ok(all)
}

/// The least z of a point under a pose [m].
pub(super) fn lowest(pose: &Pose, points: &[DVec3]) -> f64 {
    // A row of the rotation: what a point's coordinates add to its height.
    let row = (pose.rotation.inverse() * Vector::Z).as_dvec3();
    points.iter().map(|p| row.dot(*p)).fold(f64::INFINITY, f64::min) + f64::from(pose.translation.z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_point_is_found_in_the_world() {
        let points = [DVec3::X, DVec3::new(0.0, 2.0, 0.0), DVec3::Z];
        // A quarter turn about x takes y to z, and z to −y.
        let turn = Pose::new(Vector::Z * 5.0, Vector::X * std::f32::consts::FRAC_PI_2);
        assert!((lowest(&turn, &points) - 5.0).abs() < 1e-6);
        let back = Pose::new(Vector::Z * 5.0, Vector::X * -std::f32::consts::FRAC_PI_2);
        assert!((lowest(&back, &points) - 3.0).abs() < 1e-6);
    }

    #[test]
    fn a_ball_of_rapier_comes_back_about_as_high_as_its_restitution_says() {
        let case = Case { restitution: 0.5, spacing: None, heights: (1.0, 1.0, 1), trace: true };
        let found = bounces(&case, None).unwrap();
        assert_eq!(found.trace.len(), 600);
        assert!(found.apex_worst < 0.15 && found.worst < 0.05, "{found:?}");
        // It fell at all.
        assert!(found.trace.iter().any(|(_, z)| *z < RADIUS + 0.05));
    }
}
