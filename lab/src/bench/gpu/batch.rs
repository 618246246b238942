//! Ten thousand poses of the bunny's points in its field, in one submission.

use super::scene::{self, Model, Poses, Random, turns};
use super::{Lab, name, quantile};
use crate::bench::engines::{Found, row};
use crate::bench::table::Row;
use anyhow::Result;
use glam::{DQuat, DVec3};
use palpate::force::{ForceParams, summary_batch};
use palpate::math::Pose;
use palpate::par;
use palpate::query::{QueryParams, Roles};
use palpate::shape::{Shape, ShapeParams};
use palpate_gpu::{BatchParams, GpuBatch, GpuField, GpuShell, Interpolation, Job, Lists};
use std::time::Instant;

/// Points of the bunny's shell at this spacing are about 35,000 [voxels].
const SPACING: f64 = 1.79;
/// How much a pose is jittered: of the extent along each axis, and of the axis it turns about [1].
const JITTER: [f64; 2] = [0.05, 0.1];

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let mesh = scene::mesh(lab, "bunny")?;
    let voxel = mesh.aabb().extent().max_element() / lab.voxels();
    let shape =
        Shape::build(mesh, voxel, &ShapeParams { spacing: Some(SPACING * voxel), ..ShapeParams::default() })?;
    let count = if lab.quick { 64 } else { 10_000 };
    let poses = jittered(lab, count)?;
    let points = shape.tree().len();
    let case = format!("bunny, {points} points, {count} poses");
    let force = ForceParams::new(1e8);

    let query = QueryParams { roles: Roles::PointsOfB, ..QueryParams::default() };
    let threads = lab.options.threads;
    let start = Instant::now();
    let referee = par::with_threads(threads, || summary_batch(&shape, &shape, &poses, &query, &force));
    let cpu = start.elapsed().as_secs_f64();
    let all: usize = referee.iter().map(|p| p.contacts).sum();
    let peer = || Some(format!("CPU, {threads} threads"));

    let shell = GpuShell::new(&lab.gpu, shape.tree())?;
    for interpolation in [Interpolation::Shader, Interpolation::Texture] {
        let field = match GpuField::new(&lab.gpu, shape.field(), interpolation) {
            Ok(field) => field,
            Err(error) => {
                found.notes.push(format!("batch, {}: {error}", name(interpolation)));
                continue;
            }
        };
        let mut batch = GpuBatch::new(&lab.gpu)?;
        let job = [Job { field: &field, shell: &shell, poses: &poses, motions: &[] }];
        for (word, lists) in
            [("no lists", Lists::None), ("brief lists", Lists::Brief), ("full lists", Lists::Full)]
        {
            // Room for all of them: they were counted.
            let room = Some(if lists == Lists::None { 0 } else { all + all / 64 + 1024 });
            let params = BatchParams { force, lists, room, ..BatchParams::default() };
            let (seconds, contacts) = match timed(lab, || {
                let got = batch.contacts(&job, &params)?;
                Ok(got[0].iter().map(|p| p.contacts).sum::<usize>())
            }) {
                Ok(told) => told,
                Err(error) => {
                    found.notes.push(format!("batch, {word}: {error:#}"));
                    continue;
                }
            };
            let note = format!(
                "{:.1} ns a pose and 1000 points; p99 {:.3} ms; {contacts} contacts, CPU {all}",
                1e12 * quantile(&seconds, 0.5) / (count * points) as f64,
                1e3 * quantile(&seconds, 0.99)
            );
            let metric = format!("contacts, {word}, {}", name(interpolation));
            let row = row(&case, &metric, "s", quantile(&seconds, 0.5), note);
            found.rows.push(
                Row {
                    peer: peer(),
                    theirs: Some(cpu),
                    seconds_ours: seconds,
                    count_ours: Some(contacts as u64),
                    count_theirs: Some(all as u64),
                    ..row
                }
                .finish(),
            );
        }
        let (seconds, _) = timed(lab, || Ok(batch.nearest(&job)?[0].len()))?;
        let note = format!("p99 {:.3} ms", 1e3 * quantile(&seconds, 0.99));
        let metric = format!("nearest point, {}", name(interpolation));
        found.rows.push(row(&case, &metric, "s", quantile(&seconds, 0.5), note).finish());
    }
    found.notes.push(format!(
        "batch: the protocol's poses in a shuffled order, moved by up to {} of the extent and turned about axes {} off; for each the number of \
         contacts, the deepest and the wrench are read back; lists stay on the device",
        0.5 * JITTER[0],
        JITTER[1]
    ));
    Ok(found)
}

/// The protocol's collision poses, one after the other and again, each jittered.
fn jittered(lab: &Lab<'_>, count: usize) -> Result<Vec<Pose>> {
    // Separations need no fine field.
    let model = Model::load(lab, "bunny", lab.voxels().min(100.0))?;
    let angles = lab.angles();
    let first_free = Poses::of(lab, &model, 1)?.first_free;
    let mut random = Random(1);
    let turns = turns(angles);
    let pose = |_| {
        let turn = turns[(random.next() * turns.len() as f64) as usize % turns.len()];
        let (axis, angle) = turn.to_axis_angle();
        let axis = (axis + (random.vector() - 0.5) * 2.0 * JITTER[1]).normalize_or(DVec3::Y);
        let rotation = DQuat::from_axis_angle(axis, angle + 0.1 * (random.next() - 0.5));
        let s = (random.next() * 11.0).floor() / 10.0;
        let at = model.at(rotation, s * first_free);
        let shift = (random.vector() - 0.5) * JITTER[0] * model.extent;
        Pose { translation: at.translation + shift, ..at }
    };
    Ok((0..count).map(pose).collect())
}

/// Times of repetitions after the first [s], and what the last said.
fn timed(lab: &Lab<'_>, mut f: impl FnMut() -> Result<usize>) -> Result<(Vec<f64>, usize)> {
    let mut told = f()?;
    let mut seconds = Vec::new();
    for _ in 0..if lab.quick { 2 } else { 50 } {
        let start = Instant::now();
        told = f()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok((seconds, told))
}
