//! `palpate report`: everything about a mesh on one page.

use crate::cmd::{BuildArgs, Up, open_or_build, stages_json};
use crate::engine::Input;
use crate::motion::Motion;
use crate::outcome::{Outcome, rows};
use crate::page::{self, Story};
use crate::progress::{Reporter, peak_memory};
use crate::{Global, describe, files};
use anyhow::Result;
use glam::DVec3;
use palpate::progress::Progress;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  palpate report gear.stl --unit mm -o gear.html
  palpate report bunny.obj --resolution 128 --up y
  palpate report gear.palp";

/// Builds the field of a mesh and writes one page with report, warnings, pictures and times.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Mesh file, .palp file or sample:NAME
    #[arg(value_name = "MESH")]
    input: String,
    /// Page to write [default: NAME.html]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Axis that is up in the pictures: x, y or z [default: z for STL and samples, y otherwise]
    #[arg(long, value_enum, hide_possible_values = true)]
    up: Option<Up>,
    #[command(flatten)]
    build: BuildArgs,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let input = Input::parse(&args.input);
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", input.title())));
    let up = args.up.map(Up::axis);
    let command = format!("palpate report {}", args.input);
    let wanted = Wanted { output: &output, up, command: &command, motion: None };
    write(&input, &args.build, &wanted, global)
}

/// What a page is to be.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) output: &'a Path,
    /// Up in the pictures; none: as the mesh's file has it.
    pub(crate) up: Option<DVec3>,
    /// The command that makes it again.
    pub(crate) command: &'a str,
    /// See [`Story::motion`].
    pub(crate) motion: Option<(&'a str, &'a str, &'a Motion<'a>)>,
}

/// Builds or opens `input`, writes the page and answers with the field's report.
pub(crate) fn write(
    input: &Input,
    build: &BuildArgs,
    wanted: &Wanted<'_>,
    global: &Global,
) -> Result<Outcome> {
    let &Wanted { output, up, command, motion } = wanted;
    // Refuse a place that cannot be written before the work, not after it.
    drop(files::Temporary::beside(output)?);
    let reporter = Reporter::new(global.quiet || global.json);
    let model = open_or_build(input, build, true, &reporter)?;
    let up = up.or(model.up).unwrap_or_else(|| input.up());
    let (seconds, mut stages) = reporter.finish();
    let peak = peak_memory();
    if matches!(input, Input::Asset(_)) {
        stages.clear();
    }
    let drawing = Reporter::new(global.quiet || global.json);
    drawing.stage("draw pictures", 0);
    let title = input.title();
    let story = Story { title: &title, model: &model, up, stages: &stages, seconds, command, motion };
    let html = palpate::par::with_threads(build.threads, || page::page(&story))?;
    files::write(output, |out| Ok(out.write_all(html.as_bytes())?))?;
    drawing.finish();
    let mut json = describe::field_json(&model.info);
    json["mesh"] = describe::mesh_json(&model.mesh_info);
    json["seconds"] = json!(seconds);
    json["stages"] = stages_json(&stages);
    json["peak_rss_bytes"] = json!(peak);
    json["cached"] = Value::Bool(false);
    json["warnings"] = json!(describe::warnings(&model));
    json["voxmap"] = describe::voxels_json(model.voxels.as_ref());
    json["page"] = json!(output.display().to_string());
    let mut text = format!("{title}\n{}", rows(&describe::mesh_rows(&model.mesh_info)));
    for warning in describe::warnings(&model) {
        text += &format!("! {warning}\n");
    }
    text += &format!("field\n{}", rows(&describe::field_rows(&model)));
    text += &format!("page: {}\n", output.display());
    Ok(Outcome::new(text, json))
}
