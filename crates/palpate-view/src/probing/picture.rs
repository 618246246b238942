//! A probe's way over a scan as one picture.

use super::{ProbeStep, Probing, quarter};
use crate::camera::{Camera, Lens};
use crate::image::{Image, Rgb};
use crate::raster::{RenderParams, render};
use crate::scene::Scene;
use crate::strip::PAPER;
use glam::DVec3;
use palpate::math::Aabb;
use std::collections::BTreeMap;

/// Pieces of the path and arrows that are drawn, at most.
const PIECES: usize = 3000;
const ARROWS: usize = 90;
/// Radius of points over how far they are apart \[1\], and thickness of path and arrows over the radius of the scan \[1\].
const POINT: f64 = 0.8;
const PATH: f64 = 0.0035;
const ARROW: f64 = 0.0045;
/// Length of the arrow of the largest force, over the radius of the scan \[1\].
const LONGEST: f64 = 0.3;
const FORCE: Rgb = [24, 112, 74];

/// The scan with the path of the probe on it, coloured where it touches, and arrows for the force, on a light background. Seen from the
/// scan as it was in the first step: where a moving scan was touched is shown, not where that was in the world. While there is a force
/// the path is drawn on the surface, at the proxy or the nearest point: the probe itself is hidden behind the points.
///
/// Cost: about 1 s of processor time for 60,000 points at 1200 x 900.
pub fn picture(probing: &Probing, width: u32, height: u32) -> Image {
    let params = RenderParams { width, height, supersample: 2, background: Some(PAPER), ground: false };
    let Some(first) = probing.steps.first().map(|s| s.scan).filter(|p| p.is_finite()) else {
        return Image::new(width, height).over(PAPER);
    };
    let (radius, most) = (probing.radius(), probing.most_force());
    // Everything about the middle of the scan.
    let place = |step: &ProbeStep, p: DVec3| first.vector(step.scan.inverse().point(p));
    let mut scene = Scene::around(DVec3::ZERO);
    let mut by_colour: BTreeMap<Rgb, Vec<DVec3>> = BTreeMap::new();
    for (p, c) in probing.scan.points.iter().zip(probing.point_colours()) {
        // Shades that the eye does not tell apart are drawn at once.
        by_colour.entry(c.map(|x| x & 0xf8 | 4)).or_default().push(first.vector(p.as_dvec3()));
    }
    let size = (POINT * probing.scan.spacing).clamp(1e-3 * radius, 0.05 * radius);
    for (colour, points) in &by_colour {
        scene.points(points, size, *colour);
    }
    let steps = &probing.steps;
    let stride = steps.len().div_ceil(PIECES).max(1);
    let shown: Vec<&ProbeStep> = steps.iter().step_by(stride).collect();
    // On top of the points, not amid them.
    let seen = |s: &ProbeStep| match s.force.try_normalize() {
        Some(out) => place(s, s.proxy.or(s.nearest).unwrap_or(s.probe) + size * out),
        None => place(s, s.probe),
    };
    for two in shown.windows(2) {
        let [from, to] = [seen(two[0]), seen(two[1])];
        scene.stick(from, to, PATH * radius, false, probing.path_colour(two[1], most));
    }
    let felt: Vec<&&ProbeStep> = shown.iter().filter(|s| s.force.length() > 0.0).collect();
    for s in felt.iter().step_by(felt.len().div_ceil(ARROWS).max(1)) {
        let from = place(s, s.proxy.or(s.nearest).unwrap_or(s.probe));
        let along = first.vector(s.scan.inverse().vector(s.force)) * (LONGEST * radius / most);
        scene.stick(from, from + along, ARROW * radius, true, FORCE);
    }
    // A probe that strays far away does not make the scan small.
    let far = scene.aabb().min.abs().max(scene.aabb().max.abs()).max_element() > 2.0 * radius;
    let frame = far.then(|| Aabb { min: DVec3::splat(-radius), max: DVec3::splat(radius) });
    let usual = Camera::three_quarter(probing.up);
    let toward = quarter(probing.up, probing.quarters()) * usual.toward;
    let camera = Camera { toward, lens: Lens::Perspective(0.5), frame, ..usual };
    render(&scene, &camera, &params)
}
