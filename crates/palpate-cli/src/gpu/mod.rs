//! Questions that the GPU answers: which device, and what happens without one.

#[cfg(feature = "gpu")]
mod answer;
#[cfg(feature = "gpu")]
mod ask;

use crate::ask::{Answer, Question};
use crate::pair::Pair;
use crate::progress::Reporter;
use anyhow::Result;
use palpate::Pose;
use std::io::Write;

/// Whether the GPU must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    Always,
    Auto,
}

/// Options of commands that the GPU can answer.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options for the GPU")]
pub(crate) struct GpuArgs {
    /// Ask the GPU: all poses at once, the same contacts. --gpu=auto asks the CPU where there is none, and says so
    #[arg(
        long,
        value_enum,
        value_name = "always|auto",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always",
        hide_possible_values = true,
        conflicts_with_all = ["plain", "budget", "segments"]
    )]
    pub(crate) gpu: Option<When>,
    /// Part of the name of the device: `palpate gpu` lists them [default: the fastest]
    #[arg(long, value_name = "NAME", requires = "gpu")]
    pub(crate) gpu_name: Option<String>,
}

/// What a device found.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) answers: Vec<Answer>,
    /// The device's name.
    pub(crate) device: String,
    pub(crate) warnings: Vec<String>,
}

/// Who answered, where the GPU was asked for.
#[derive(Debug)]
pub(crate) enum By {
    Gpu(Asked),
    /// The CPU has to, and why.
    Cpu(String),
}

impl GpuArgs {
    /// Asks the device everything about all poses. None without `--gpu`.
    ///
    /// # Errors
    /// When there is no device or it does not answer, unless the CPU may then.
    pub(crate) fn ask(
        &self,
        pair: &Pair,
        poses: &[Pose],
        question: &Question,
        reporter: &Reporter,
    ) -> Result<Option<By>> {
        let Some(when) = self.gpu else { return Ok(None) };
        let name = self.gpu_name.as_deref().unwrap_or_default();
        // A device in software is no gain: it is taken by name only, where nobody insists.
        let hardware = when == When::Auto && name.is_empty();
        match (ask(pair, poses, question, name, hardware, reporter), when) {
            (Ok(asked), _) => Ok(Some(By::Gpu(asked))),
            (Err(error), When::Always) => Err(error),
            (Err(error), When::Auto) => {
                let why = crate::outcome::message(&error);
                let _ = writeln!(std::io::stderr(), "palpate: the CPU answers: {why}");
                Ok(Some(By::Cpu(why)))
            }
        }
    }
}

#[cfg(feature = "gpu")]
use ask::ask;

#[cfg(not(feature = "gpu"))]
fn ask(_: &Pair, _: &[Pose], _: &Question, _: &str, _: bool, _: &Reporter) -> Result<Asked> {
    anyhow::bail!("{}", MISSING)
}

/// Said by programs that were built without it.
#[cfg(not(feature = "gpu"))]
pub(crate) const MISSING: &str =
    "this build has no GPU; build it with `--features gpu` of palpate-cli, or leave out --gpu";
