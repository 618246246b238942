//! Assemblies: what the user named, and findings in words.

mod page;
mod picture;

pub(crate) use page::{About, page};

use crate::progress::Reporter;
use anyhow::{Result, bail};
use glam::DVec3;
use palpate::progress::Progress;
use palpate_assembly::sample::{self, Planted};
use palpate_assembly::{Finding, Job, Kind, Report, read};
use palpate_view::units;
use std::path::PathBuf;

/// Most parts of a sample.
const MAX_SAMPLE: usize = 100_000;

/// What the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A folder of meshes, or a glTF or GLB file.
    Path(PathBuf),
    /// So many parts made up, with a seed.
    Sample(usize, u64),
}

impl Input {
    /// `sample:N`, `sample:N:SEED`, or a path.
    ///
    /// # Errors
    /// When a sample's numbers are none.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let Some(numbers) = text.strip_prefix("sample:") else { return Ok(Self::Path(text.into())) };
        let (parts, seed) = numbers.split_once(':').unwrap_or((numbers, "1"));
        match (parts.parse(), seed.parse()) {
            (Ok(parts @ 1..=MAX_SAMPLE), Ok(seed)) => Ok(Self::Sample(parts, seed)),
            _ => bail!(
                "{text} is no sample; write sample:200, or sample:200:SEED, with at most {MAX_SAMPLE} parts"
            ),
        }
    }

    /// The parts, and what is planted in a sample. `scale`: metres per unit of the files.
    ///
    /// # Errors
    /// When there is nothing to read.
    pub(crate) fn job(&self, scale: f64, reporter: &Reporter) -> Result<(Job, Option<Truth>)> {
        match self {
            Self::Path(path) => Ok((read(path, scale, reporter)?, None)),
            Self::Sample(parts, seed) => {
                reporter.stage("make parts", 0);
                let sample = sample::assembly(*parts, *seed);
                Ok((sample.job, Some(Truth(sample.planted))))
            }
        }
    }
}

/// What is planted in a sample.
#[derive(Debug)]
pub(crate) struct Truth(pub(crate) Vec<Planted>);

impl Truth {
    /// How many were found, of the right kind, and how many were found that are not there.
    pub(crate) fn compare(&self, report: &Report) -> (usize, usize) {
        let violations = || report.findings.iter().filter(|f| f.outcome.kind.is_violation());
        let same = |p: &Planted, f: &Finding| p.pair == f.pair && p.kind == f.outcome.kind;
        let found = self.0.iter().filter(|p| violations().any(|f| same(p, f))).count();
        let invented = violations().filter(|f| !self.0.iter().any(|p| same(p, f))).count();
        (found, invented)
    }
}

/// Findings to tell of, the worst first: clashes by depth, then the smallest clearances, then contact if it is wanted.
pub(crate) fn ordered(report: &Report, contacts: bool) -> Vec<Finding> {
    let wanted = |f: &&Finding| contacts || f.outcome.kind.is_violation();
    let mut all: Vec<Finding> = report.findings.iter().filter(wanted).copied().collect();
    all.sort_by(|x, y| {
        let (a, b) = (&x.outcome, &y.outcome);
        a.kind.cmp(&b.kind).then(a.distance.total_cmp(&b.distance)).then(x.pair.cmp(&y.pair))
    });
    all
}

/// A finding on one line.
pub(crate) fn line(job: &Job, f: &Finding) -> String {
    let [a, b] = f.pair.map(|i| &job.instances[i as usize].name);
    let o = &f.outcome;
    let mut text = match o.kind {
        Kind::Clash => format!("clash      {a} and {b}: {} deep", units::length(o.depth())),
        Kind::Clearance => format!("clearance  {a} and {b}: {} apart", units::length(o.distance)),
        Kind::Contact => format!("contact    {a} and {b}"),
    };
    if let Some(region) = &o.region {
        text += &format!(", {}", units::volume(region.volume));
        text += &format!(
            ", {} apart by the shortest way found",
            units::length(DVec3::from_array(o.way).length())
        );
    }
    if let Some(time) = o.time {
        text += &format!(", at {time:.3} of the motion");
    }
    text
}
