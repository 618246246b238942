//! The surface of the 2007 paper, its points and its paths.
//!
//! The paper names the surface, the separations, the numbers of points of its paths and their heights, but neither its domain nor the
//! paths. Here: a square of 2.5 m, which has a million points at the smallest separation; a figure of Lissajous over it; and heights that
//! alternate between tracing the surface and hovering above it.

use crate::oracle::Random;
use glam::DVec3;
use palpate::math::Pose;

/// Edge of the square [m].
pub(super) const SIDE: f64 = 2.4975;

/// Points of the first path.
pub(super) const TRACE: usize = 6820;

/// Points of the second.
pub(super) const CRISSCROSS: usize = 3000;

/// The paper's boxes and six points [m].
pub(super) const BOX: f64 = 0.0025;

/// What a haptic device can tell apart [m]: answers that differ by less are right.
pub(super) const MARGIN: f64 = 5e-6;

/// Height of the surface [m].
pub(super) fn height(x: f64, y: f64) -> f64 {
    x.cos() + y.cos()
}

/// A grid of n × n points on the surface.
pub(super) fn waves(n: usize, separation: f64) -> Vec<DVec3> {
    let at = |k: usize| {
        let (x, y) = ((k % n) as f64 * separation, (k / n) as f64 * separation);
        DVec3::new(x, y, height(x, y))
    };
    (0..n * n).map(at).collect()
}

/// A place of the square: a curve that never closes in the time a path takes.
fn curve(t: f64) -> (f64, f64) {
    let wave = |k: f64, phase: f64| 0.5 * SIDE * (1.0 + 0.98 * (k * t + phase).sin());
    (wave(17.31, 0.3), wave(23.77, 1.1))
}

/// A path that traces and hovers: 100 points on the surface, then 100 in an arc of 2 cm above it, and so on. `turn` tells paths apart.
pub(super) fn trace(turn: f64) -> Vec<DVec3> {
    let at = |i: usize| {
        let (x, y) = curve(turn + i as f64 / TRACE as f64);
        let arc = (i % 200) as f64 / 100.0 - 1.0;
        let above = if arc > 0.0 { 0.02 * (core::f64::consts::PI * arc).sin() } else { 0.0 };
        DVec3::new(x, y, height(x, y) + above)
    };
    (0..TRACE).map(at).collect()
}

/// Whether the surface itself is at a point, give or take a margin along z [m].
pub(super) fn on_surface(p: DVec3, margin: f64) -> bool {
    (p.z - height(p.x, p.y)).abs() <= margin
}

/// The path that crisscrosses the surface, from 5 cm below to 1 cm above it.
pub(super) fn crisscross() -> Vec<DVec3> {
    let mut random = Random::new(2007);
    let mut at = |i: usize| {
        let (x, y) = curve(i as f64 / CRISSCROSS as f64);
        DVec3::new(x, y, height(x, y) - 0.05 + 0.06 * random.unit())
    };
    (0..CRISSCROSS).map(&mut at).collect()
}

/// Probes at random places, from 5 cm below the surface to 1 cm above it.
pub(super) fn probes(n: usize, side: f64) -> Vec<DVec3> {
    let mut random = Random::new(6820);
    let mut at = |_| {
        let (x, y) = (side * random.unit(), side * random.unit());
        DVec3::new(x, y, height(x, y) - 0.05 + 0.06 * random.unit())
    };
    (0..n).map(&mut at).collect()
}

/// Where a model is that moves while a path is followed.
pub(super) fn moving(i: usize) -> Pose {
    let t = i as f64 / TRACE as f64;
    let axis = DVec3::new(0.3, -0.5, 0.8).normalize();
    Pose::new(glam::DQuat::from_axis_angle(axis, 2.0 * t), DVec3::new(0.5 * t, -0.2, 0.1 * (9.0 * t).sin()))
}
