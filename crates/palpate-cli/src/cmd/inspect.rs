//! `palpate inspect`: what a mesh or a scan is, and what is wrong with it.

use crate::cmd::MeshArgs;
use crate::engine::{self, Input};
use crate::outcome::{Outcome, rows};
use crate::progress::Reporter;
use crate::touch::{self, Scan};
use crate::{Global, describe, saved};
use anyhow::Result;
use palpate::cloud::CloudParams;
use palpate::mesh::ReadError;

const EXAMPLES: &str = "Examples:
  palpate inspect gear.stl --unit mm
  palpate inspect bunny.obj --json | jq .watertight
  palpate inspect sample:nut-and-bolt
  palpate inspect gear.palp                    the mesh a built file came from
  palpate inspect scan.laz                     points without faces: how many, how far apart, twins, memory";

/// Says what a mesh is, what is wrong with it and which voxel size suits it; what a scan is, for points without faces.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Mesh file, scan, .palp file or sample:NAME
    #[arg(value_name = "MESH")]
    input: String,
    #[command(flatten)]
    mesh: MeshArgs,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let input = Input::parse(&args.input);
    let points = match &input {
        Input::File(path) => touch::only_points(path),
        Input::Sample(name) => name == touch::WAVES,
        Input::Asset(_) => false,
    };
    if points {
        return scan(&input, args, global);
    }
    let info = match &input {
        Input::Asset(path) => saved::open(path)?.mesh_info,
        _ => {
            let loaded = engine::load_mesh(&engine::read(&input, args.mesh.unit)?);
            let bare = |e: &anyhow::Error| matches!(e.downcast_ref(), Some(ReadError::NoTriangles { .. }));
            if loaded.as_ref().is_err_and(bare) {
                return scan(&input, args, global);
            }
            let (mesh, mut info) = loaded?;
            engine::foresee(&mesh, &mut info);
            info
        }
    };
    let mut table = describe::mesh_rows(&info);
    table.push(("sign from".into(), info.sign_method.clone().unwrap_or_else(|| "unknown".into())));
    let mut text = format!("{}\n{}", input.title(), rows(&table));
    let warnings = describe::mesh_warnings(&info);
    if warnings.is_empty() {
        text += "nothing wrong with it\n";
    }
    for warning in &warnings {
        text += &format!("! {warning}\n");
    }
    Ok(Outcome::new(text, describe::mesh_json(&info)))
}

/// What points without faces are.
fn scan(input: &Input, args: &Args, global: &Global) -> Result<Outcome> {
    let reporter = Reporter::new(global.quiet || global.json);
    let raw = touch::read_scan(input, args.mesh.unit, touch::SPACING, &reporter)?;
    let scan = Scan::build(input, raw, &CloudParams::default(), &reporter)?;
    reporter.finish();
    let text = format!(
        "{}: points without faces\n{}`palpate touch {}` moves a probe over them\n",
        scan.title,
        rows(&scan.rows()),
        args.input
    );
    Ok(Outcome::new(text, scan.json()))
}
