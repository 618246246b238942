//! `palpate demo`: a sample shape from mesh to page, to see what the program does.

use crate::Global;
use crate::ask::Question;
use crate::cmd::report::Wanted;
use crate::cmd::{BuildArgs, report};
use crate::engine::Input;
use crate::motion::Motion;
use crate::outcome::Outcome;
use crate::pair::Pair;
use crate::progress::Reporter;
use anyhow::{Context, Result};
use clap::{FromArgMatches, Parser};
use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::query::batch;
use std::path::Path;

/// The shape shown first: it has thin teeth, a bore and sharp edges, which a field must get right.
const SAMPLE: &str = "gear";
const FOLDER: &str = "palpate-report";

/// Poses of a gear that rolls around an equal one over three teeth: with play, then nearer and nearer.
fn rolling() -> Vec<Pose> {
    /// Number of teeth, and the distance of the axes at which the flanks would just touch [m].
    const TEETH: f64 = 24.0;
    const AXES: f64 = 0.06;
    const STEPS: usize = 180;
    let tooth = std::f64::consts::TAU / TEETH;
    (0..=STEPS)
        .map(|i| {
            let t = i as f64 / STEPS as f64;
            let angle = 3.0 * tooth * t;
            // From 0.8 mm too far to 0.5 mm too near.
            let axes = AXES + 8e-4 - 1.3e-3 * (2.0 * t - 1.0).max(0.0);
            // A gap faces a tooth; rolling turns the gear twice as far as its axis goes around.
            let rotation = DQuat::from_rotation_z(0.5 * tooth + 2.0 * angle);
            Pose::new(rotation, axes * DVec3::new(angle.cos(), angle.sin(), 0.0))
        })
        .collect()
}

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
    let reporter = Reporter::new(true);
    let name = format!("sample:{SAMPLE}");
    let pair = Pair::load(&name, &name, &build, &reporter)?;
    let poses = rolling();
    let question = Question::default();
    let answers = batch(&poses, |query, pose| pair.ask(query, pose, &question));
    let numbers = (1..=poses.len()).map(|i| i as f64).collect();
    let motion = Motion { pair: &pair, poses, numbers, answers, min: 0.0, warnings: Vec::new(), sweep: None };
    let words = "A second gear rolls around the first one, first with some play, then ever closer. Below zero the teeth overlap; \
                 the picture shows the deepest pose, with the points of one gear in the other coloured by depth.";
    let motion = Some(("Contact: two gears in mesh", words, &motion));
    let wanted = Wanted { output: &output, up: Some(DVec3::Z), command: "palpate demo", motion };
    let mut outcome = report::write(&Input::Sample(SAMPLE.into()), &build, &wanted, global)?;
    outcome.text += "two gears in mesh: try `palpate query sample:gear sample:gear --pose \"60.3mm 0 0 0 0 0.0654 0.9979\"`\n";
    outcome.text += "open the page in a browser; then try `palpate report YOUR-MESH.stl --unit mm`\n";
    Ok(outcome)
}
