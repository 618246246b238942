//! `palpate inspect`: what a mesh is, and what is wrong with it.

use crate::cmd::MeshArgs;
use crate::engine::{self, Input};
use crate::outcome::{Outcome, rows};
use crate::{Global, describe, saved};
use anyhow::Result;

const EXAMPLES: &str = "Examples:
  palpate inspect gear.stl --unit mm
  palpate inspect bunny.obj --json | jq .watertight
  palpate inspect sample:nut-and-bolt
  palpate inspect gear.palp                    the mesh a built file came from";

/// Says what a mesh is, what is wrong with it and which voxel size suits it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Mesh file, .palp file or sample:NAME
    #[arg(value_name = "MESH")]
    input: String,
    #[command(flatten)]
    mesh: MeshArgs,
}

pub(crate) fn run(args: &Args, _global: &Global) -> Result<Outcome> {
    let input = Input::parse(&args.input);
    let info = match &input {
        Input::Asset(path) => saved::open(path)?.mesh_info,
        _ => {
            let (mesh, mut info) = engine::load_mesh(&engine::read(&input, args.mesh.unit)?)?;
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
