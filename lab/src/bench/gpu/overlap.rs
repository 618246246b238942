//! Time against overlap: Figures 8 and 9 of the paper, by compute, by drawing, and on the CPU.

use super::paper::Way;
use super::raster::{Raster, WAYS};
use super::scene::{Model, Poses};
use super::{Lab, quantile};
use crate::bench::engines::{Found, line, row};
use crate::bench::svg::{self, Labels, Picture};
use anyhow::Result;
use glam::DQuat;
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::par;
use palpate::soft::{FieldSampler, MeshMotion, Sampling};
use palpate_gpu::{GpuField, GpuMesh, GpuSampler, Interpolation};
use std::time::Instant;

/// Most orientations of a step that the CPU is asked about.
const CPU: usize = 8;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let model = Model::load(lab, "bunny", lab.voxels())?;
    let poses = Poses::of(lab, &model, lab.angles())?;
    let size = lab.size();
    let spacing = model.spacing(size);
    let field = GpuField::new(&lab.gpu, &model.field, Interpolation::Shader)?;
    let mut mesh = GpuMesh::new(&lab.gpu, &model.soft, spacing)?;
    let mut sampler = GpuSampler::new(&lab.gpu)?;
    let mut raster = match Raster::new(&lab.gpu, size) {
        Ok(raster) => Some(raster),
        Err(error) => {
            found.notes.push(format!("overlap: {error:#}"));
            None
        }
    };
    let params = ForceParams::new(1e6);
    for (collision, set) in [(true, &poses.collision), (false, &poses.proximity)] {
        let steps = steps(set);
        let mut lines = Vec::new();
        // A device that had little to do lowers its clocks: it is given much, for as long as they take to rise.
        let warm = Instant::now();
        while warm.elapsed().as_secs_f64() < 0.5 {
            sampler.collide(
                &field,
                &mut mesh,
                &model.at(DQuat::IDENTITY, 0.0),
                0.0,
                &params,
                &Twist::ZERO,
            )?;
        }
        let compute = timed(&steps, usize::MAX, |pose| {
            if collision {
                sampler.collide(&field, &mut mesh, pose, 0.0, &params, &Twist::ZERO)?;
            } else {
                sampler.nearest(&field, &mut mesh, pose)?;
            }
            Ok(())
        })?;
        lines.push(("compute".to_owned(), compute));
        for (name, way) in WAYS {
            let Some(raster) = raster.as_mut().filter(|_| collision || way != Way::EarlyZ) else { continue };
            let drawn = timed(&steps, usize::MAX, |pose| {
                if collision {
                    raster.collide(&field, &mut mesh, pose, &params, way)?;
                } else {
                    raster.nearest(&field, &mut mesh, pose, way)?;
                }
                Ok(())
            })?;
            lines.push((format!("raster, {name}"), drawn));
        }
        let empty = timed(&steps, usize::MAX, |_| Ok(sampler.round_trip(&field, &mut mesh)?))?;
        lines.push(("empty round trip".to_owned(), empty));
        let mut cpu = FieldSampler::new();
        let threads = lab.options.threads;
        let host = par::with_threads(threads, || {
            timed(&steps, CPU, |pose| {
                let seen = cpu.find(&model.field, &model.soft, pose, Sampling::Area { spacing }, 0.0)?;
                std::hint::black_box(seen.summary(&model.soft, &params, &MeshMotion::default()));
                Ok(())
            })
        })?;
        lines.push((format!("CPU, {threads} threads"), host));
        let what = if collision { "collision" } else { "proximity" };
        for (name, points) in &lines {
            let times: Vec<f64> = points.iter().map(|p| 1e-3 * p.1).collect();
            let (least, most) = (quantile(&times, 0.0), quantile(&times, 1.0));
            let note = format!(
                "medians of steps from {:.3} to {:.3} ms: slowest over fastest {:.2}",
                1e3 * least,
                1e3 * most,
                most / least
            );
            found.rows.push(
                row(
                    format!("bunny {size}, by distance"),
                    &format!("{what}, {name}"),
                    "s",
                    quantile(&times, 0.5),
                    note,
                )
                .finish(),
            );
        }
        let labels = Labels {
            title: format!(
                "{} of the bunny with itself on {}{}: time of a query",
                if collision { "Collision" } else { "Proximity" },
                lab.gpu.name(),
                if lab.quick { " (quick)" } else { "" }
            ),
            x: "distance [smallest separations]".into(),
            y: "time [ms]".into(),
            marks: Vec::new(),
        };
        let drawn: Vec<_> =
            lines.into_iter().enumerate().map(|(i, (name, p))| line(name, i, i >= 4, p)).collect();
        found
            .pictures
            .push(Picture { name: format!("gpu-overlap-{what}.svg"), svg: svg::semilog(&labels, &drawn) });
    }
    found.notes.push(format!(
        "overlap: smallest separation {:.4} m of an extent of {:.4} m",
        poses.first_free, model.extent.x
    ));
    Ok(found)
}

/// Poses of each step.
fn steps(set: &[(f64, Pose)]) -> Vec<(f64, Vec<Pose>)> {
    let mut out: Vec<(f64, Vec<Pose>)> = Vec::new();
    for (s, pose) in set {
        match out.last_mut() {
            Some((last, poses)) if last == s => poses.push(*pose),
            _ => out.push((*s, vec![*pose])),
        }
    }
    out
}

/// The median of each step, of at most so many of its poses [ms]. The first question is asked once before.
fn timed(
    steps: &[(f64, Vec<Pose>)],
    most: usize,
    mut f: impl FnMut(&Pose) -> Result<()>,
) -> Result<Vec<(f64, f64)>> {
    if let Some(pose) = steps.first().and_then(|s| s.1.first()) {
        f(pose)?;
    }
    let mut out = Vec::new();
    for (s, poses) in steps {
        let mut times = Vec::new();
        for pose in poses.iter().step_by(poses.len().div_ceil(most).max(1)) {
            let start = Instant::now();
            f(pose)?;
            times.push(start.elapsed().as_secs_f64());
        }
        out.push((*s, 1e3 * quantile(&times, 0.5)));
    }
    Ok(out)
}
