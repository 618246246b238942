//! `palpate build`: a mesh to a `.palp` file.

use crate::cmd::{BuildArgs, stages_json};
use crate::engine::{self, Input};
use crate::outcome::{Outcome, rows};
use crate::progress::{Reporter, peak_memory};
use crate::{Global, describe, files, saved};
use anyhow::{Context, Result, bail};
use palpate::progress::Progress;
use palpate_view::units;
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  palpate build gear.stl --unit mm -o gear.palp
  palpate build gear.stl --unit mm --voxel 0.1mm -o gear.palp
  palpate build bunny.obj --resolution 512 --encoding scaled -o bunny.palp
  palpate build nut.stl --unit mm --voxel 0.1mm --spacing 0.3mm -o nut.palp
  palpate build big.ply --max-memory 2GiB --threads 4 -o big.palp

The file holds the mesh, the field and, unless --no-points, points on the surface for `palpate query` and
`palpate clearance`. Building again with the same mesh and options takes the finished file; --force builds anyway.
The file is written beside its place and moved there, so a failure never leaves half of one.";

/// Builds the signed distance field of a mesh and points on its surface, and writes them to a .palp file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Mesh file or sample:NAME
    #[arg(value_name = "MESH")]
    input: String,
    /// File to write
    #[arg(long, short, value_name = "X.palp")]
    output: PathBuf,
    /// Build even when the file has this result already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    build: BuildArgs,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let input = Input::parse(&args.input);
    if let Input::Asset(path) = &input {
        bail!("{} is built already; give the mesh it comes from", path.display());
    }
    refuse_same(&input, &args.output)?;
    let options = args.build.options()?;
    let reporter = Reporter::new(global.quiet || global.json);
    reporter.stage("read file", 0);
    let source = engine::read(&input, args.build.mesh.unit)?;
    let key = saved::key(&source, &options);
    let kept = if args.force { None } else { saved::current(&args.output, key) };
    let reuse = kept.is_some();
    let model = match kept {
        Some(model) => model,
        None => {
            // Refuse a place that cannot be written before the work, not after it.
            let temporary = files::Temporary::beside(&args.output)?;
            reporter.stage("read mesh", 0);
            let (mesh, info) = engine::load_mesh(&source)?;
            drop(source);
            let mut model = engine::build(mesh, info, &options, &reporter).with_context(|| input.title())?;
            model.up = Some(input.up());
            reporter.stage("write file", 0);
            saved::write(temporary.path(), &model, key)?;
            reporter.check()?;
            temporary.keep()?;
            model
        }
    };
    let (seconds, stages) = reporter.finish();
    let mut json = describe::field_json(&model.info);
    json["seconds"] = json!(seconds);
    json["stages"] = stages_json(&stages);
    json["peak_rss_bytes"] = json!(peak_memory());
    json["cached"] = json!(reuse);
    json["warnings"] = json!(describe::warnings(&model));
    json["voxmap"] = describe::voxels_json(model.voxels.as_ref());
    json["file_bytes"] = json!(std::fs::metadata(&args.output).map(|m| m.len()).ok());
    json["output"] = json!(args.output.display().to_string());
    let mut text = format!("{}\n{}", input.title(), rows(&describe::field_rows(&model)));
    for warning in describe::warnings(&model) {
        text += &format!("! {warning}\n");
    }
    let verb = if reuse { "is cached: up to date, checked in" } else { "written in" };
    text += &format!("{} {verb} {}\n", args.output.display(), units::seconds(seconds));
    Ok(Outcome::new(text, json))
}

/// Never write over the mesh itself.
fn refuse_same(input: &Input, output: &Path) -> Result<()> {
    let Input::File(path) = input else { return Ok(()) };
    let same = matches!((path.canonicalize(), output.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same {
        bail!("{} is the mesh itself; write to another file with -o", output.display());
    }
    Ok(())
}
