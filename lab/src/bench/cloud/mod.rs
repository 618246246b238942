//! `bench cloud`: points of z = cos x + cos y touched with a probe, beside nanoflann, kiddo, SciPy and Open3D; and the tables of the 2007
//! paper.
//!
//! Parts, for `--only`: accuracy, nearest, build, edits, continuity, scan.

mod accuracy;
mod build;
mod continuity;
mod edits;
mod nearest;
pub(crate) mod peers;
mod scan;
mod scene;

use super::cpu_time::thread_time;
use super::engines::{Found, report};
use super::table::Report;
use super::{Options, Work};
use crate::models;
use anyhow::Result;
use std::path::PathBuf;

/// What the parts share.
struct Lab<'a> {
    options: &'a Options,
    models: Option<PathBuf>,
    work: Work,
    /// Whom to ask besides.
    peers: &'a [&'a str],
}

impl Lab<'_> {
    /// Points along each side of the large cloud.
    fn side(&self) -> usize {
        if self.options.quick { 200 } else { 1000 }
    }
}

type Part = fn(&Lab<'_>) -> Result<Found>;

/// Every part, in the order of the report.
const PARTS: [(&str, Part); 6] = [
    ("accuracy", accuracy::run),
    ("nearest", nearest::run),
    ("build", build::run),
    ("edits", edits::run),
    ("continuity", continuity::run),
    ("scan", scan::run),
];

/// Runs the parts that `--only` names, or all.
pub fn run(options: &Options) -> Result<Report> {
    run_beside(options, &peers::NAMES)
}

fn run_beside(options: &Options, peers: &[&str]) -> Result<Report> {
    let lab = Lab { options, models: models::folder(options.models.as_deref()), work: Work::new()?, peers };
    let mut all = Found::default();
    all.notes.push(
        "the surface is z = cos x + cos y over a square of 2.5 m; times of single calls are those of the thread, the least of their \
         repetitions, less that of measuring nothing"
            .into(),
    );
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
    Ok(report("cloud", options, all))
}

/// What measuring nothing takes, the median of many [µs].
fn nothing() -> f64 {
    let mut all: Vec<f64> = (0..1001)
        .map(|_| {
            let start = thread_time();
            (thread_time() - start).as_secs_f64() * 1e6
        })
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}

/// The time of the thread that one call takes, less that of measuring nothing [µs].
fn micros<T>(nothing: f64, call: impl FnOnce() -> T) -> f64 {
    let start = thread_time();
    std::hint::black_box(call());
    ((thread_time() - start).as_secs_f64() * 1e6 - nothing).max(0.0)
}

/// For each of `n` calls the least of `repeat` passes [µs], and the mean of the best pass by the clock on the wall [µs].
fn passes<T>(n: usize, repeat: usize, call: impl Fn(usize) -> T) -> (Vec<f64>, f64) {
    let nothing = nothing();
    let mut least = vec![f64::INFINITY; n];
    let mut mean = f64::INFINITY;
    for _ in 0..repeat.max(1) {
        let start = std::time::Instant::now();
        for i in 0..n {
            std::hint::black_box(call(i));
        }
        mean = mean.min(start.elapsed().as_secs_f64() * 1e6 / n.max(1) as f64);
        for (i, least) in least.iter_mut().enumerate() {
            *least = least.min(micros(nothing, || call(i)));
        }
    }
    (least, mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_needs_no_peers_and_every_answer_is_right() {
        let options = Options {
            name: Some("cloud".into()),
            json: false,
            models: None,
            quick: true,
            only: None,
            threads: 2,
            repeat: 1,
            setup: false,
            list: false,
            save: None,
            size: None,
            angles: None,
            device: None,
        };
        let report = run_beside(&options, &[]).expect("a run");
        assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
        let wrong: Vec<_> = report.rows.iter().filter(|r| r.metric.starts_with("differences")).collect();
        assert!(wrong.len() >= 4);
        assert!(wrong.iter().all(|r| r.ours == Some(0.0)), "{wrong:?}");
        assert!(!report.pictures.is_empty());
    }
}
