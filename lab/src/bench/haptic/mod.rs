//! `bench haptic`: a simulated hand feels shapes in real time; energy with delays; how good the force is.
//!
//! Parts, for `--only`: loop, energy, quality.

mod energy;
mod quality;
mod real_time;

use super::Options;
use super::engines::{Found, report};
use super::table::{Report, Row};
use crate::models;
use anyhow::{Context, Result};
use glam::DVec3;
use palpate::math::Pose;
use palpate::mesh::{Mesh, RawMesh, RepairParams, samples};
use palpate::shape::{Shape, ShapeParams};
use palpate_haptic::Pair;
use palpate_haptic::exercise::above;
use std::path::PathBuf;
use std::sync::Arc;

/// Voxels along the longest side, and voxels from point to point.
const VOXELS: f64 = 250.0;
const APART: f64 = 4.0;

/// What the parts share.
struct Lab<'a> {
    options: &'a Options,
    models: Option<PathBuf>,
}

impl Lab<'_> {
    /// How long each motion is felt [s].
    fn seconds(&self) -> f64 {
        if self.options.quick { 2.0 } else { 60.0 }
    }
}

/// A pair, where the tool begins, and which way is up.
struct Scene {
    name: &'static str,
    pair: Pair,
    start: Pose,
    up: DVec3,
}

type Part = fn(&Lab<'_>) -> Result<Found>;

const PARTS: [(&str, Part); 3] =
    [("loop", real_time::run), ("energy", energy::run), ("quality", quality::run)];

/// Runs the parts that `--only` names, or all.
pub fn run(options: &Options) -> Result<Report> {
    let lab = Lab { options, models: models::folder(options.models.as_deref()) };
    let mut all = Found::default();
    all.notes.push(format!(
        "shapes have {VOXELS} voxels along their longest side and points {APART} voxels apart; the hand and its device are simulated: 0.3 kg, \
         300 N/m, limits of a sigma.7, positions in steps of 5 µm"
    ));
    for (name, part) in PARTS {
        if options.only.as_ref().is_some_and(|o| !name.contains(o.as_str())) {
            continue;
        }
        eprintln!("== {name}");
        match part(&lab) {
            Ok(found) => all.extend(found),
            Err(error) => all.notes.push(format!("{name} did not run: {error:#}")),
        }
    }
    Ok(report("haptic", options, all))
}

fn shape(raw: RawMesh) -> Result<Arc<Shape>> {
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let voxel = mesh.aabb().extent().max_element() / VOXELS;
    let params = ShapeParams { spacing: Some(APART * voxel), ..ShapeParams::default() };
    Ok(Arc::new(Shape::build(mesh, voxel, &params)?))
}

/// A nut on its bolt, where the threads mesh.
fn nut() -> Result<Scene> {
    let (bolt, nut) = samples::nut_and_bolt(samples::NUT_AND_BOLT_FINENESS);
    let pair = Pair::new(shape(bolt)?, shape(nut)?);
    Ok(Scene { name: "nut on bolt", pair, start: Pose::IDENTITY, up: DVec3::Z })
}

/// A peg above a hole that it fits with 0.4 mm of play.
fn peg() -> Result<Scene> {
    let (peg, hole) = samples::peg_and_hole(4e-4, 64);
    let pair = Pair::new(shape(hole)?, shape(peg)?);
    let start = above(&pair, DVec3::Z);
    Ok(Scene { name: "peg in hole", pair, start, up: DVec3::Z })
}

/// The bunny above the dragon; two bumpy shapes where the scans are not there.
fn bunny(lab: &Lab<'_>) -> Result<Scene> {
    let scans = lab.models.as_ref().map(|f| (f.join("dragon.ply"), f.join("bunny.obj")));
    let (name, a, b) = match scans.filter(|(a, b)| a.is_file() && b.is_file()) {
        Some((a, b)) => {
            let load = |p: &PathBuf| RawMesh::load(p, 1.0).with_context(|| p.display().to_string());
            ("bunny in dragon", load(&a)?, load(&b)?)
        }
        None => (
            "bumpy sphere in knot",
            samples::torus_knot(2, 3, 0.06, 0.02, 0.012, 400, 24),
            samples::bumpy_sphere(0.05, 0.005, 6, 5, 1),
        ),
    };
    let pair = Pair::new(shape(a)?, shape(b)?);
    let start = above(&pair, DVec3::Y);
    Ok(Scene { name, pair, start, up: DVec3::Y })
}

fn row(case: &str, metric: &str, unit: &str, ours: f64, note: String) -> Row {
    super::engines::row(case, metric, unit, ours, note).finish()
}
