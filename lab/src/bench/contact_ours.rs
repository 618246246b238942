//! Our own engine's side of `bench contact`.

use crate::poses::Poses;
use anyhow::Result;
use palpate::mesh::{RawMesh, RepairParams};
use palpate::query::{Distance, QueryParams};
use palpate::shape::ShapeParams;
use palpate::{Mesh, Pose, Query, Shape};
use std::time::Instant;

/// Voxels along the largest extent: a field of 256 with three of padding on each side.
const ACROSS: f64 = 250.0;
/// Distance between points [voxels]: about 35,000 points for the bunny.
const SPACING_VOX: f64 = 1.81;
/// Orientations whose first touch is timed, and how near to it they are placed, relative to the first separation [1].
const TOUCHES: usize = 20;
const TOUCH: f64 = 1e-5;

/// One kind of query over a set of poses, in the set's order.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Time of each pose, the best of its repetitions [µs].
    pub micros: Vec<f64>,
    /// What it gave: contacts (a boolean: 1 for touching, 0 for not), or a distance [m].
    pub values: Vec<f64>,
}

/// What our engine needed for the poses of a pair.
#[derive(Clone, Debug, Default)]
pub struct OursTimes {
    /// Do they touch: collision set.
    pub boolean: Series,
    /// All contacts: collision set.
    pub contacts: Series,
    /// Separation: proximity set.
    pub distance: Series,
    /// The bound that each distance of `distance` reports [m].
    pub distance_bounds: Vec<f64>,
    /// Distances of the collision set, for judging booleans by their bounds.
    pub collision_distances: Vec<Distance>,
    /// All contacts where each orientation begins to touch.
    pub first_touch: Series,
    /// Every point tested, no tree: proximity set.
    pub plain_apart: Series,
    /// Every point tested at the deepest step of the collision set.
    pub plain_deepest: Series,
    /// Distance between points of the shape that gives them [m].
    pub spacing: f64,
    /// Grid, points and whatever else a reader must know.
    pub note: String,
}

/// A shape as the benchmark has it.
pub fn shape(raw: &RawMesh) -> Result<Shape> {
    let mesh = Mesh::new(raw.clone(), &RepairParams::default())?;
    let voxel = mesh.aabb().extent().max_element() / ACROSS;
    let params = ShapeParams { spacing: Some(SPACING_VOX * voxel), ..Default::default() };
    Ok(Shape::build(mesh, voxel, &params)?)
}

/// Runs our engine over the poses, one thread, each query `repeat` times; `a` and `b` as loaded, holes still open.
pub fn ours(a: &RawMesh, b: &RawMesh, poses: &Poses, repeat: usize) -> Result<OursTimes> {
    let (a, b) = (shape(a)?, shape(b)?);
    let (mut query, params) = (Query::new(), QueryParams::default());
    let deepest = poses.collision.len() - poses.collision.len().min(2 * TOUCHES)..poses.collision.len();
    let touches: Vec<Pose> = poses
        .collision
        .iter()
        .take(TOUCHES)
        .map(|p| first_touch(&a, &b, p, TOUCH * poses.first_free))
        .collect();
    // Memory grows with the first queries of each kind.
    for pose in poses.collision.iter().rev().take(4) {
        query.contacts(&a, &b, pose, &params);
        query.intersects(&a, &b, pose);
        query.distance(&a, &b, pose);
    }
    let boolean = timed(&poses.collision, repeat, |p| f64::from(u8::from(query.intersects(&a, &b, p))));
    let contacts = timed(&poses.collision, repeat, |p| query.contacts(&a, &b, p, &params).list.len() as f64);
    let distance = timed(&poses.proximity, repeat, |p| query.distance(&a, &b, p).distance);
    let first_touch = timed(&touches, repeat, |p| query.contacts(&a, &b, p, &params).list.len() as f64);
    let plain = |query: &mut Query, p: &Pose| query.plain(&a, &b, p, &params).list.len() as f64;
    let plain_apart = timed(&poses.proximity, repeat, |p| plain(&mut query, p));
    let plain_deepest = timed(&poses.collision[deepest], repeat, |p| plain(&mut query, p));
    let points = if a.tree().len() < b.tree().len() { a.tree() } else { b.tree() };
    let note = format!(
        "fields of 256 voxels; {:.1} and {:.1} MiB with the packed copies and points; {} and {} points, {SPACING_VOX} voxels apart",
        a.bytes() as f64 / f64::from(1 << 20),
        b.bytes() as f64 / f64::from(1 << 20),
        a.tree().len(),
        b.tree().len()
    );
    Ok(OursTimes {
        distance_bounds: poses.proximity.iter().map(|p| query.distance(&a, &b, p).bound).collect(),
        collision_distances: poses.collision.iter().map(|p| query.distance(&a, &b, p)).collect(),
        spacing: points.shell_report().spacing,
        boolean,
        contacts,
        distance,
        first_touch,
        plain_apart,
        plain_deepest,
        note,
    })
}

/// Each pose `repeat` times, the best time counts.
fn timed(poses: &[Pose], repeat: usize, mut ask: impl FnMut(&Pose) -> f64) -> Series {
    let mut series = Series::default();
    for pose in poses {
        let (mut best, mut value) = (f64::INFINITY, 0.0);
        for _ in 0..repeat.max(1) {
            let start = Instant::now();
            value = std::hint::black_box(ask(pose));
            best = best.min(start.elapsed().as_secs_f64());
        }
        series.micros.push(best * 1e6);
        series.values.push(value);
    }
    series
}

/// The orientation of `pose`, moved along x to where it just touches, to `precision` [m].
fn first_touch(a: &Shape, b: &Shape, pose: &Pose, precision: f64) -> Pose {
    let mut query = Query::new();
    let at = |x: f64| Pose { translation: pose.translation + glam::DVec3::X * x, ..*pose };
    let size = a.aabb().extent().length() + b.aabb().extent().length();
    // From far away inward, past the outermost touch, then halves.
    let (mut free, mut step) = (size, size / 64.0);
    while !query.intersects(a, b, &at(free - step)) && free > -size {
        free -= step;
    }
    while step > precision {
        step *= 0.5;
        if !query.intersects(a, b, &at(free - step)) {
            free -= step;
        }
    }
    at(free - step)
}
