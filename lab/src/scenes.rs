//! Scenes for physics engines: what the experiments, the tests and the benches share. World frame, z up, metres.

use anyhow::{Context, Result};
use glam::{DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::mesh::{CapParams, Mesh, RawMesh, RepairParams, cap_holes, samples};
use palpate::shape::ShapeParams;
use palpate::{Pose, Shape};
use palpate_sim::{Body, Motion, Scene};
use std::path::Path;

/// Steel [kg/m³].
const STEEL: f64 = 7850.0;

/// A shape from a file, with points `spacing` apart; the field's voxel is half of it [m].
pub fn load(models: &Path, file: &str, scale: f64, spacing: f64) -> Result<Shape> {
    let path = models.join(file);
    let mesh = Mesh::load(&path, scale).with_context(|| path.display().to_string())?;
    build(mesh, spacing)
}

/// A shape with points `spacing` apart [m].
pub fn build(mesh: Mesh, spacing: f64) -> Result<Shape> {
    let params = ShapeParams { spacing: Some(spacing), ..ShapeParams::default() };
    Ok(Shape::build(mesh, 0.5 * spacing, &params)?)
}

/// The same mesh with its holes closed: its mass is that of its inside, whoever integrates it.
pub fn closed(mesh: &Mesh) -> Result<Mesh> {
    let caps = cap_holes(mesh.positions(), mesh.triangles(), mesh.topology(), &CapParams::default());
    let positions = [mesh.positions(), &caps.positions].concat();
    let triangles = [mesh.triangles(), &caps.triangles].concat();
    Ok(Mesh::new(RawMesh { positions, triangles }, &RepairParams::default())?)
}

/// A sample with points a `count`-th of its largest extent apart.
pub fn sample(name: &str, count: f64) -> Result<Shape> {
    let raw = samples::by_name(name).with_context(|| format!("there is no sample {name}"))?;
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let spacing = mesh.aabb().extent().max_element() / count;
    build(mesh, spacing)
}

/// Everything below a height, as a body.
pub fn floor(height: f64) -> Result<Body> {
    let solid = Analytic::half_space(DVec3::Z, height)?;
    Ok(Body::new("floor", solid, Motion::Static, Pose::IDENTITY))
}

/// A loose M16 nut near the top of its bolt, which stands on its head: it can only turn down.
pub fn nut_on_bolt(models: &Path, friction: f64, spacing: f64) -> Result<Scene> {
    let mut scene = Scene::default();
    let bolt = load(models, "bolt-m16-loose.obj", 1.0, spacing)?;
    let nut = load(models, "nut-m16-loose.obj", 1.0, spacing)?;
    scene.add(Body { friction, ..Body::new("bolt", bolt, Motion::Static, Pose::IDENTITY) });
    // Five turns of the pitch of 2 mm above its place on the head.
    let pose = Pose::from_translation(DVec3::Z * 0.010);
    scene.add(Body { friction, ..Body::new("nut", nut, Motion::Density(STEEL), pose) });
    Ok(scene)
}

/// A peg above its hole, `off` to the side [m] and `tilt` from upright [rad]; the plate is 20 mm above the floor.
pub fn peg_in_hole(
    models: &Path,
    kind: &str,
    off: f64,
    tilt: f64,
    friction: f64,
    spacing: f64,
) -> Result<Scene> {
    let mut scene = Scene::default();
    let hole = load(models, &format!("hole-{kind}-8mm.obj"), 1.0, spacing)?;
    let peg = load(models, &format!("peg-{kind}-8mm-tight.obj"), 1.0, spacing)?;
    scene.add(Body { friction, ..floor(-0.020)? });
    scene.add(Body { friction, ..Body::new("plate", hole, Motion::Static, Pose::IDENTITY) });
    let turn = DQuat::from_rotation_y(tilt);
    // Its lower end is half a millimetre above the plate.
    let pose = Pose::new(turn, DVec3::new(off, 0.0, 0.009 + 0.0005));
    scene.add(Body { friction, ..Body::new("peg", peg, Motion::Density(STEEL), pose) });
    Ok(scene)
}

/// A small gear over its peg, `off` to the side [m] and `tilt` from upright [rad].
pub fn gear_on_peg(models: &Path, off: f64, tilt: f64, friction: f64, spacing: f64) -> Result<Scene> {
    let mut scene = Scene::default();
    // The base gives its field; the gear has the points.
    let base = load(models, "gear-base-loose.obj", 1.0, 3.0 * spacing)?;
    let gear = load(models, "gear-small.obj", 1.0, spacing)?;
    scene.add(Body { friction, ..Body::new("base", base, Motion::Static, Pose::IDENTITY) });
    // Above the peg's end, about the gear's own middle.
    let middle = DVec3::new(0.0505, 0.0, 0.005);
    let place = Pose::from_translation(middle + DVec3::new(off, 0.0, 0.0205));
    let pose = place * Pose::new(DQuat::from_rotation_y(tilt), DVec3::ZERO) * Pose::from_translation(-middle);
    scene.add(Body { friction, ..Body::new("gear", gear, Motion::Density(STEEL), pose) });
    Ok(scene)
}
