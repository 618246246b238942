//! Two waving meshes that move from apart into each other.

use crate::models;
use anyhow::{Result, ensure};
use glam::{DQuat, DVec3};
use palpate::math::Aabb;
use palpate::mesh::{RawMesh, samples};

/// Largest side of the mesh at rest [m]. Peers have tolerances that fit no shapes of centimetres, see `lab/peers/README.md`.
pub(super) const EXTENT: f64 = 10.0;
/// How far apart the meshes are at the first step [largest side].
const APART: f64 = 1.3;
/// Of the waves [largest side].
const AMPLITUDE: f64 = 0.03;
/// Waves on the largest side.
const WAVES: f64 = 2.0;
/// Periods of the waves in a motion.
const PERIODS: f64 = 10.0;

/// A mesh at rest that is used twice, and how it moves.
pub(super) struct Scene {
    pub(super) name: String,
    /// Around the origin, [`EXTENT`] large.
    pub(super) rest: RawMesh,
    pub(super) steps: usize,
}

impl Scene {
    pub(super) fn new(name: impl Into<String>, mut rest: RawMesh, steps: usize) -> Result<Self> {
        let aabb = models::aabb(&rest);
        let size = (aabb.max - aabb.min).max_element();
        ensure!(size > 0.0 && size.is_finite(), "a mesh without a size cannot wave");
        let middle = 0.5 * (aabb.min + aabb.max);
        rest.positions.iter_mut().for_each(|p| *p = (*p - middle) * (EXTENT / size));
        Ok(Self { name: name.into(), rest, steps })
    }

    /// A knot of about this many triangles.
    pub(super) fn knot(triangles: usize, steps: usize) -> Result<Self> {
        // Ten times as many along it as around: triangles of about equal sides.
        let around = ((triangles as f64 / 20.0).sqrt().round() as usize).max(3);
        let along = (triangles as f64 / (2 * around) as f64).round() as usize;
        let mesh = samples::torus_knot(2, 3, 0.06, 0.02, 0.012, along, around);
        Self::new(format!("knot {}", mesh.triangles.len()), mesh, steps)
    }

    /// How far apart the centres are at a step [largest side].
    pub(super) fn offset(&self, step: usize) -> f64 {
        APART * (1.0 - step as f64 / self.steps.saturating_sub(1).max(1) as f64)
    }

    /// Where the vertices of both meshes are at a step [m], rounded to what `f32` has: everybody gets the same.
    pub(super) fn at(&self, step: usize) -> [Vec<DVec3>; 2] {
        let offset = self.offset(step);
        let time = std::f64::consts::TAU * PERIODS * (1.0 - offset / APART);
        let turned = DQuat::from_axis_angle(DVec3::new(1.0, 1.0, 0.3).normalize(), 0.6);
        let moved = DVec3::new(1.0, 0.12, 0.07).normalize() * (offset * EXTENT);
        let round = |p: DVec3| p.as_vec3().as_dvec3();
        let of =
            |place: &dyn Fn(DVec3) -> DVec3| self.rest.positions.iter().map(|p| round(place(*p))).collect();
        [of(&|p| wave(p, time)), of(&|p| turned * wave(p, 1.1 * time + 2.0) + moved)]
    }

    /// The part of the smaller mesh's box that is in the other's [1].
    pub(super) fn overlap([a, b]: &[Vec<DVec3>; 2]) -> f64 {
        let [a, b] = [a, b].map(|p| Aabb::of_points(p.iter().copied()));
        let volume = |low: DVec3, high: DVec3| (high - low).max(DVec3::ZERO).element_product();
        let smaller = volume(a.min, a.max).min(volume(b.min, b.max));
        if smaller > 0.0 { volume(a.min.max(b.min), a.max.min(b.max)) / smaller } else { 0.0 }
    }
}

/// Waves run along each axis and move points along the next.
fn wave(p: DVec3, time: f64) -> DVec3 {
    let along = p * (std::f64::consts::TAU * WAVES / EXTENT);
    let phases = DVec3::new(along.y + time, along.z + 1.3 * time, along.x + 0.7 * time);
    p + AMPLITUDE * EXTENT * DVec3::new(phases.x.sin(), phases.y.sin(), phases.z.sin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_motion_begins_apart_and_ends_in_the_other() {
        let scene = Scene::knot(1500, 20).expect("a knot");
        assert_eq!(scene.rest.triangles.len(), 1494);
        assert_eq!((scene.offset(0), scene.offset(19)), (APART, 0.0));
        assert_eq!(Scene::overlap(&scene.at(0)), 0.0);
        assert!(Scene::overlap(&scene.at(19)) > 0.7);
        assert_ne!(scene.at(3)[0], scene.at(4)[0]);
    }
}
