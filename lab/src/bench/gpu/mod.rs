//! `bench gpu`: a field against meshes, thousands of poses at once and fields built on the GPU, beside the CPU and the 2008 paper.
//!
//! Parts, for `--only`: equal, mesh, overlap, batch, build, dragons. On a device in software, or with `--quick`, models are few and small.

mod batch;
mod build;
mod dragons;
mod equal;
mod equal_batch;
mod equal_bounds;
mod mesh;
mod overlap;
mod paper;
mod raster;
mod scene;

use super::Options;
use super::engines::{Found, report};
use super::table::Report;
use crate::models;
use anyhow::Result;
use palpate_gpu::{Gpu, GpuParams, Interpolation};
use std::path::PathBuf;

/// What the parts share.
struct Lab<'a> {
    options: &'a Options,
    models: Option<PathBuf>,
    gpu: Gpu,
    /// Few and small models: the device is in software, or it was asked for.
    quick: bool,
}

impl Lab<'_> {
    /// Pixels along the box, or what makes as many samples.
    fn sizes(&self) -> Vec<u32> {
        match (self.options.size, self.quick) {
            (Some(size), _) => vec![size],
            (None, true) => vec![128],
            (None, false) => vec![512, 1024, 2048],
        }
    }

    /// The size where one must do.
    fn size(&self) -> u32 {
        self.options.size.unwrap_or(if self.quick { 128 } else { 1024 })
    }

    /// Angles about each of two axes.
    fn angles(&self) -> u32 {
        self.options.angles.unwrap_or(if self.quick { 2 } else { 36 }).max(1)
    }

    /// Voxels along the largest extent of a model.
    fn voxels(&self) -> f64 {
        if self.quick { 60.0 } else { 250.0 }
    }
}

type Part = fn(&Lab<'_>) -> Result<Found>;

/// Every part, in the order of the report.
const PARTS: [(&str, Part); 6] = [
    ("equal", equal::run),
    ("mesh", mesh::run),
    ("overlap", overlap::run),
    ("batch", batch::run),
    ("build", build::run),
    ("dragons", dragons::run),
];

/// Runs the parts that `--only` names, or all.
pub fn run(options: &Options) -> Result<Report> {
    let name = options.device.clone().unwrap_or_default();
    let gpu = Gpu::open(&GpuParams { name, hardware_only: false })?;
    let quick = options.quick || gpu.is_software();
    let models = if quick { None } else { models::folder(options.models.as_deref()) };
    let lab = Lab { options, models, gpu, quick };
    let mut all = Found::default();
    all.notes.push(format!(
        "device: {}{}{}; times are whole calls with their read-back, by the clock",
        lab.gpu.name(),
        if lab.gpu.is_software() { ", in software: times say nothing of a GPU" } else { "" },
        if quick { "; quick: few and small models, few orientations" } else { "" }
    ));
    if lab.models.is_none() && !quick {
        all.notes.push(
            "no models folder (--models or PALPATE_MODELS): generated shapes in place of the scans".into(),
        );
    }
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
    Ok(report("gpu", options, all))
}

/// In a word.
fn name(interpolation: Interpolation) -> &'static str {
    match interpolation {
        Interpolation::Shader => "shader",
        Interpolation::Texture => "texture",
        Interpolation::Directions => "directions",
    }
}

/// The least time that the given share of them does not exceed; 0 for none.
fn quantile(times: &[f64], share: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
}

/// A table in Markdown; the first row is the head.
fn markdown(title: &str, rows: &[Vec<String>]) -> String {
    let mut out = format!("## {title}\n\n");
    for (i, row) in rows.iter().enumerate() {
        out += &format!("| {} |\n", row.join(" | "));
        if i == 0 {
            out += &format!("|{}\n", "---|".repeat(row.len()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_one_to_a_hundred() {
        let times: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(
            (quantile(&times, 0.5), quantile(&times, 0.99), quantile(&times, 1.0)),
            (50.0, 99.0, 100.0)
        );
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_quick_run_in_software_is_equal_to_the_cpu_within_its_bounds() {
        let options = Options {
            name: Some("gpu".into()),
            json: false,
            models: None,
            quick: true,
            only: Some("equal".into()),
            threads: 2,
            repeat: 1,
            setup: false,
            list: false,
            save: None,
            size: Some(48),
            angles: Some(1),
            device: None,
        };
        let report = match run(&options) {
            Err(e) if e.to_string().contains("no GPU") && std::env::var("PALPATE_GPU").is_err() => {
                eprintln!("skipped: no GPU");
                return;
            }
            other => other.expect("a run"),
        };
        let wrong: Vec<_> = report.notes.iter().filter(|n| n.starts_with("WRONG")).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(report.rows.len() > 10, "{:?}", report.notes);
    }
}
