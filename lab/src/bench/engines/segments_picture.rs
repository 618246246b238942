//! The bunny as physics engines see it (2014 paper, Figure 9): a hull, hulls, and our segments, with the contacts of a step.

use super::drop_rapier::{farthest, groups};
use super::{Lab, segments::SCALE};
use anyhow::{Context, Result};
use glam::{DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::manifold::{Choice, Collider, ManifoldParams, Pair};
use palpate::{Pose, Shape, Tree};
use palpate_sim::{Body, Engine, Motion, Options, Scene as World, start};
use palpate_view::image::Rgb;
use palpate_view::{Camera, Image, Paint, RenderParams, Scene, font, render};
use rapier3d::parry::transformation::try_convex_hull;

/// Levels that are shown.
const LEVELS: std::ops::RangeInclusive<usize> = 1..=4;
/// Size of one picture, and of its caption [pixels].
const SIZE: (u32, u32) = (520, 400);
const CAPTION: u32 = 36;
const COLUMNS: u32 = 3;
const BACK: Rgb = [250, 250, 250];
const INK: Rgb = [40, 40, 40];
const MARK: Rgb = [20, 20, 20];
/// How far outside a contact of the step may be [m].
const MARGIN: f64 = 1e-3;

/// A colour for each number, far from those of its neighbours: the hue goes on by the golden ratio.
fn colour(i: usize) -> Rgb {
    let hue = 6.0 * (0.57 + 0.618_034 * i as f64).fract();
    let value = [0.95, 0.75, 0.85][i % 3];
    // Of full saturation less a fifth.
    let channel = |shift: f64| {
        let k = (hue + shift).rem_euclid(6.0);
        let one = 1.0 - 0.75 * k.min(4.0 - k).clamp(0.0, 1.0);
        (255.0 * value * one) as u8
    };
    [channel(5.0), channel(3.0), channel(1.0)]
}

/// The points of each node of a level, 1 being the root.
fn segments(tree: &Tree, level: usize) -> Vec<Vec<DVec3>> {
    let level = level.saturating_sub(1);
    let points = |node| tree.points_of(level, node).map(|i| tree.position(i)).collect();
    (0..tree.nodes(level)).map(points).collect()
}

/// Where the bunny lies after a fall of 20 mm onto its feet: `w_from_b`.
fn rest(shape: &Shape) -> Result<Pose> {
    // The scan has y up.
    let turn = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let low = shape.mesh().positions().iter().map(|p| (turn * *p).z).fold(f64::INFINITY, f64::min);
    let mut world = World::default();
    world.add(crate::scenes::floor(0.0)?);
    let pose = Pose::new(turn, DVec3::Z * (0.02 - low));
    let body = world.add(Body::new("bunny", shape.clone(), Motion::Mass(1.0), pose));
    let mut sim = start(Engine::Own, &world, &Options::default())?;
    for _ in 0..720 {
        sim.step()?;
    }
    Ok(sim.state(body).pose)
}

/// Panels with captions, side by side.
fn sheet(panels: &[(String, Image)]) -> Image {
    let rows = (panels.len() as u32).div_ceil(COLUMNS);
    let mut all = Image::new(COLUMNS * SIZE.0, rows * (SIZE.1 + CAPTION)).over(BACK);
    for (i, (caption, image)) in panels.iter().enumerate() {
        let (x, y) = (i as u32 % COLUMNS * SIZE.0, i as u32 / COLUMNS * (SIZE.1 + CAPTION));
        all.paste(image, x, y);
        let wide = font::width(caption, 13.0);
        let left = x as f32 + 0.5 * (SIZE.0 as f32 - wide);
        font::draw(&mut all, left, (y + SIZE.1) as f32 + 20.0, 13.0, INK, caption);
    }
    all
}

/// The picture, and what it shows in words.
pub(super) fn picture(lab: &Lab<'_>, shape: &Shape, spacing: f64) -> Result<(Image, String)> {
    let w_from_b = rest(shape)?;
    let at = |p: &DVec3| w_from_b.point(*p);
    // From below, where it touches.
    let frame = palpate::math::Aabb::of_points(shape.mesh().positions().iter().map(at));
    let camera = Camera {
        toward: DVec3::new(0.5, -1.0, -0.75),
        frame: Some(frame),
        ..Camera::three_quarter(DVec3::Z)
    };
    let params = RenderParams {
        width: SIZE.0,
        height: SIZE.1,
        background: Some(BACK),
        ground: false,
        ..RenderParams::default()
    };
    let mut panels = Vec::new();
    let hull = |scene: &mut Scene, points: &[DVec3], tint: Rgb| -> Result<()> {
        let narrow: Vec<_> = points.iter().map(|p| at(p).as_vec3()).collect();
        let (positions, triangles) = try_convex_hull(&narrow)?;
        let positions: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
        scene.mesh(&positions, &triangles, Paint::Plain(tint));
        Ok(())
    };
    let mut scene = Scene::new();
    let far: Vec<DVec3> = farthest(shape.mesh().positions()).iter().map(|p| p.as_dvec3()).collect();
    hull(&mut scene, &far, colour(0))?;
    panels.push(("hull of 42 points".to_owned(), render(&scene, &camera, &params)));
    // Needs V-HACD.
    if let Ok(file) = lab.hulls("bunny.obj") {
        let mut scene = Scene::new();
        let all = groups(&std::fs::read_to_string(file)?)?;
        for (i, group) in all.iter().enumerate() {
            let scaled: Vec<DVec3> = group.iter().map(|p| *p * SCALE).collect();
            hull(&mut scene, &scaled, colour(i))?;
        }
        panels.push((format!("{} hulls", all.len()), render(&scene, &camera, &params)));
    }
    let floor = Collider::from(Analytic::half_space(DVec3::Z, 0.0)?);
    let body = Collider::from(shape.clone());
    let mut said = Vec::new();
    for level in LEVELS {
        let mut scene = Scene::new();
        let all = segments(shape.tree(), level);
        for (i, points) in all.iter().enumerate() {
            let placed: Vec<DVec3> = points.iter().map(at).collect();
            scene.points(&placed, 0.75 * spacing, colour(i));
        }
        let choice = Choice::Segmented(level);
        let step = ManifoldParams { margin: MARGIN, choice, ..ManifoldParams::default() };
        let mut pair = Pair::new();
        let found = pair.update(&floor, &body, &w_from_b, &step);
        for p in found.points {
            // Against what pushes it, where it can be seen.
            let end = p.point_a - p.normal * 0.03;
            scene.points(&[p.point_a], 2.0 * spacing, MARK);
            scene.stick(end, p.point_a, 0.6 * spacing, true, MARK);
        }
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let (segments, contacts) = (count(all.len(), "segment"), count(found.points.len(), "contact"));
        let words = format!("level {level}: {segments}, {contacts}");
        panels.push((words.clone(), render(&scene, &camera, &params)));
        said.push(words);
    }
    Ok((sheet(&panels), said.join("; ")))
}

/// As a file's bytes.
pub(super) fn png(image: &Image) -> Result<Vec<u8>> {
    palpate_view::png::encode(image).context("segments.png")
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate::mesh::{Mesh, RepairParams, samples};

    #[test]
    fn neighbours_have_colours_that_differ() {
        for i in 0..64 {
            let (a, b) = (colour(i), colour(i + 1));
            let apart: i32 = (0..3).map(|k| (i32::from(a[k]) - i32::from(b[k])).abs()).sum();
            assert!(apart > 120, "{i}: {a:?} {b:?}");
        }
    }

    #[test]
    fn every_level_has_every_point_once() {
        let mesh = Mesh::new(samples::sphere(0.1, 3), &RepairParams::default()).unwrap();
        let shape = Shape::build(mesh, 0.01, &Default::default()).unwrap();
        let mut counts = Vec::new();
        for level in 1..=shape.tree().levels() {
            let all = segments(shape.tree(), level);
            counts.push(all.len());
            assert_eq!(all.iter().map(Vec::len).sum::<usize>(), shape.tree().len());
        }
        assert!(counts.first() == Some(&1) && counts.is_sorted() && counts.last() > Some(&4), "{counts:?}");
        assert!(segments(shape.tree(), 99).is_empty());
    }
}
