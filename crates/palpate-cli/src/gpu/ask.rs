//! All poses of a pair in one submission: the nearest points both ways, then the contacts.

use super::Asked;
use super::answer::{Direction, Found};
use crate::ask::{Answer, Question};
use crate::pair::Pair;
use crate::progress::Reporter;
use anyhow::{Context, Result};
use palpate::force::ForceParams;
use palpate::progress::Progress;
use palpate::{Pose, Query, par};
use palpate_gpu::{BatchParams, Gpu, GpuBatch, GpuField, GpuParams, GpuShell, Interpolation, Job, Lists};
use std::time::Instant;

/// Asks everything about every pose.
pub(super) fn ask(
    pair: &Pair,
    poses: &[Pose],
    question: &Question,
    name: &str,
    hardware_only: bool,
    reporter: &Reporter,
) -> Result<Asked> {
    let shapes = [&pair.a, &pair.b];
    reporter.stage("GPU", 0);
    let gpu = Gpu::open(&GpuParams { name: name.to_owned(), hardware_only })?;
    let field = |i: usize| {
        GpuField::new(&gpu, shapes[i].shape.field(), Interpolation::Shader)
            .with_context(|| shapes[i].title.clone())
    };
    let shell =
        |i: usize| GpuShell::new(&gpu, shapes[i].shape.tree()).with_context(|| shapes[i].title.clone());
    let (fields, shells) = ([field(0)?, field(1)?], [shell(0)?, shell(1)?]);
    let inverse: Vec<Pose> = poses.iter().map(Pose::inverse).collect();
    let job = |swapped: bool, poses| {
        let (field, points) = if swapped { (1, 0) } else { (0, 1) };
        Job { field: &fields[field], shell: &shells[points], poses, motions: &[] }
    };
    let both = [job(false, poses), job(true, &inverse)];
    let swapped = question.roles.swapped(&pair.a.shape, &pair.b.shape);
    let wanted: Vec<bool> = if question.both { vec![false, true] } else { vec![swapped] };
    let jobs: Vec<Job<'_>> = wanted.iter().map(|s| both[usize::from(*s)]).collect();
    let listed = question.keep_contacts || question.choice.is_some();
    let params = BatchParams {
        margin: question.margin,
        // Without a force the area is still wanted.
        force: question.force.unwrap_or_else(|| ForceParams::new(1.0)),
        lists: if listed { Lists::Full } else { Lists::None },
        room: None,
    };
    let mut kernels = GpuBatch::new(&gpu)?;
    // Once before: the first question compiles kernels.
    kernels.nearest(&[first(&both[0]), first(&both[1])])?;
    kernels.contacts(&jobs.iter().map(first).collect::<Vec<_>>(), &params)?;
    reporter.stage("ask", 0);
    let start = Instant::now();
    let nearest = kernels.nearest(&both)?;
    let after_nearest = Instant::now();
    let contacts = kernels.contacts(&jobs, &params)?;
    let ended = Instant::now();
    let share = 1e6 / poses.len().max(1) as f64;
    let micros =
        [(after_nearest - start).as_secs_f64() * share, (ended - after_nearest).as_secs_f64() * share];

    let mut found = Vec::with_capacity(poses.len());
    let (mut left_out, mut told) = (0usize, 0usize);
    for i in 0..poses.len() {
        let mut directions = Vec::with_capacity(jobs.len());
        for (j, swapped) in wanted.iter().enumerate() {
            let summary = contacts[j][i];
            let list = if listed && summary.contacts > 0 { kernels.read_list(j, i)? } else { Vec::new() };
            told += summary.contacts;
            left_out += if listed { summary.contacts.saturating_sub(list.len()) } else { 0 };
            directions.push(Direction { swapped: *swapped, summary, list: listed.then_some(list) });
        }
        found.push(Found { nearest: [nearest[0][i], nearest[1][i]], directions, micros });
    }
    let answers: Vec<Answer> =
        par::map(poses.len(), |i| found[i].answer(pair, &mut Query::new(), &poses[i], question));
    let mut warnings = Vec::new();
    if left_out > 0 {
        warnings.push(format!(
            "{left_out} of {told} contacts found no room on the device and are not listed; they are counted, and push; ask for fewer poses at once"
        ));
    }
    Ok(Asked { answers, device: gpu.name().to_owned(), warnings })
}

/// The same about the first pose alone.
fn first<'a>(job: &Job<'a>) -> Job<'a> {
    Job { poses: &job.poses[..job.poses.len().min(1)], ..*job }
}
