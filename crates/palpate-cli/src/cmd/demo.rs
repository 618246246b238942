//! `palpate` alone: a sample shape from mesh to page, to see what the program does.

use crate::Global;
use crate::cmd::{BuildArgs, report};
use crate::engine::Input;
use crate::outcome::Outcome;
use anyhow::{Context, Result};
use clap::{FromArgMatches, Parser};
use glam::DVec3;
use std::path::Path;

/// The shape shown first: it has thin teeth, a bore and sharp edges, which a field must get right.
const SAMPLE: &str = "gear";
const FOLDER: &str = "palpate-report";

/// The defaults of all build options, without a command line.
#[derive(Debug, Parser)]
struct Defaults {
    #[command(flatten)]
    build: BuildArgs,
}

pub(crate) fn run(global: &Global) -> Result<Outcome> {
    let folder = Path::new(FOLDER);
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {FOLDER}"))?;
    let matches = <Defaults as clap::CommandFactory>::command().try_get_matches_from(["palpate"])?;
    let build = Defaults::from_arg_matches(&matches)?.build;
    let output = folder.join("index.html");
    let mut outcome =
        report::write(&Input::Sample(SAMPLE.into()), &build, &output, DVec3::Z, "palpate", global)?;
    outcome.text += "open the page in a browser; then try `palpate report YOUR-MESH.stl --unit mm`\n";
    Ok(outcome)
}
