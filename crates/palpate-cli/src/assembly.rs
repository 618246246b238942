//! What the user named as an assembly.

use crate::progress::Reporter;
use anyhow::{Result, bail};
use palpate::progress::Progress;
use palpate_assembly::sample::{self, Planted};
use palpate_assembly::{Job, read};
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
    pub(crate) fn job(&self, scale: f64, reporter: &Reporter) -> Result<(Job, Option<Vec<Planted>>)> {
        match self {
            Self::Path(path) => Ok((read(path, scale, reporter)?, None)),
            Self::Sample(parts, seed) => {
                reporter.stage("make parts", 0);
                let sample = sample::assembly(*parts, *seed);
                Ok((sample.job, Some(sample.planted)))
            }
        }
    }
}
