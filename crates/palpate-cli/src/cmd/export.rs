//! `palpate export`: surfaces, voxels, pictures and dense grids of a field.

use crate::cmd::{BuildArgs, open_or_build};
use crate::engine::{Input, Model};
use crate::files;
use crate::formats::{self, Dense, Surface};
use crate::outcome::Outcome;
use crate::progress::Reporter;
use crate::{Global, page};
use anyhow::{Result, bail};
use glam::DVec3;
use palpate::progress::Progress;
use palpate_view::{png, slice, units};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  palpate export gear.palp --iso gear.ply
  palpate export gear.palp --iso grown.stl --level 1mm    all points 1 mm outside
  palpate export gear.palp --slice z.png --axis z --at 0.5
  palpate export gear.palp --picture gear.png --voxels voxels.obj
  palpate export gear.palp --nrrd gear.nrrd --npy gear.npy

Several can be asked for at once. Coordinates in the files are metres.";

/// The axis a slice is perpendicular to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AxisArg {
    X,
    Y,
    Z,
}

/// Writes a field as files other programs read: surface, voxels, pictures, dense grid.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "palpate export [OPTIONS] <X>")]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(crate) struct Args {
    /// Built .palp file, mesh file or sample:NAME (a mesh is built first)
    #[arg(value_name = "X")]
    input: String,
    /// Surface as triangles: .obj, .ply or .stl
    #[arg(long, value_name = "FILE", group = "what")]
    iso: Option<PathBuf>,
    /// Distance of the surface for --iso, negative inside, for example 1mm
    #[arg(long, value_name = "LENGTH", default_value = "0", allow_hyphen_values = true, value_parser = crate::parse::signed_length)]
    level: f64,
    /// Surface voxels as cubes: .obj, .ply or .stl
    #[arg(long, value_name = "FILE", group = "what")]
    voxels: Option<PathBuf>,
    /// Picture of a plane through the field, .png
    #[arg(long, value_name = "FILE", group = "what")]
    slice: Option<PathBuf>,
    /// Axis the slice is perpendicular to: x, y or z
    #[arg(long, value_enum, default_value_t = AxisArg::Z, hide_possible_values = true)]
    axis: AxisArg,
    /// Where on that axis: 0 is the lower, 1 the upper face of the box
    #[arg(long, default_value_t = 0.5, value_parser = share)]
    at: f64,
    /// Width of the slice picture in pixels
    #[arg(long, default_value_t = 1200, value_parser = clap::value_parser!(u32).range(64..=16384))]
    width: u32,
    /// Picture of the mesh, .png
    #[arg(long, value_name = "FILE", group = "what")]
    picture: Option<PathBuf>,
    /// Picture of the mesh cut in half with the field on the cut, .png
    #[arg(long, value_name = "FILE", group = "what")]
    cutaway: Option<PathBuf>,
    /// Dense field as NRRD (f32, raw)
    #[arg(long, value_name = "FILE", group = "what")]
    nrrd: Option<PathBuf>,
    /// Dense field as NumPy array (f32, indexed [x, y, z])
    #[arg(long, value_name = "FILE", group = "what")]
    npy: Option<PathBuf>,
    #[command(flatten)]
    build: BuildArgs,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if (0.0..=1.0).contains(&x) => Ok(x),
        _ => Err("not a place; write a number from 0 (lower face of the box) to 1 (upper face)".into()),
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    // Wrong names are found before the work.
    for path in [&args.iso, &args.voxels].into_iter().flatten() {
        Surface::from_path(path)?;
    }
    for path in [&args.slice, &args.picture, &args.cutaway].into_iter().flatten() {
        if files::extension(path) != "png" {
            bail!("{}: pictures are written as .png", path.display());
        }
    }
    let input = Input::parse(&args.input);
    let reporter = Reporter::new(global.quiet || global.json);
    let model = open_or_build(&input, &args.build, false, &reporter)?;
    let mut written = Vec::new();
    palpate::par::with_threads(args.build.threads, || {
        write_all(args, &input, &model, &reporter, &mut written)
    })?;
    reporter.finish();
    let text = written.iter().fold(String::new(), |text, w: &Value| {
        let size = units::bytes(w["bytes"].as_u64().unwrap_or(0));
        text + &format!(
            "{} ({}, {size})\n",
            w["path"].as_str().unwrap_or(""),
            w["kind"].as_str().unwrap_or("")
        )
    });
    let (origin, dims) = model.grid();
    let json = json!({
        "written": written,
        "voxel": model.info.voxel,
        "origin": origin.to_array(),
        "dims": dims,
    });
    Ok(Outcome::new(text, json))
}

fn write_all(
    args: &Args,
    input: &Input,
    model: &Model,
    reporter: &Reporter,
    written: &mut Vec<Value>,
) -> Result<()> {
    let mut note = |path: &Path, kind: &str, bytes: u64| {
        written.push(json!({ "path": path.display().to_string(), "kind": kind, "bytes": bytes }));
    };
    if let Some(path) = &args.iso {
        reporter.stage("surface", 0);
        let mesh = model.iso_surface(args.level)?;
        if mesh.triangles.is_empty() {
            bail!("the field has no surface at {}; choose another --level", units::length(args.level));
        }
        let bytes = files::write(path, |out| Surface::from_path(path)?.write(&mesh, out))?;
        note(path, "surface", bytes);
    }
    if let Some(path) = &args.voxels {
        reporter.stage("voxels", 0);
        let (cells, origin) = model.surface_cells(model.info.voxel)?;
        let mesh = formats::cubes(&cells, origin, model.info.voxel);
        let bytes = files::write(path, |out| Surface::from_path(path)?.write(&mesh, out))?;
        note(path, "voxels", bytes);
    }
    if let Some(path) = &args.slice {
        reporter.stage("slice", 0);
        let axis = match args.axis {
            AxisArg::X => slice::Axis::X,
            AxisArg::Y => slice::Axis::Y,
            AxisArg::Z => slice::Axis::Z,
        };
        let image = page::slice_picture(model, axis, args.at, args.width);
        let bytes = files::write(path, |out| Ok(out.write_all(&png::encode(&image)?)?))?;
        note(path, "slice", bytes);
    }
    if let Some(path) = &args.picture {
        reporter.stage("picture", 0);
        let image = page::mesh_picture(model, model.up.unwrap_or_else(|| input.up()))?;
        let bytes = files::write(path, |out| Ok(out.write_all(&png::encode(&image)?)?))?;
        note(path, "picture", bytes);
    }
    if let Some(path) = &args.cutaway {
        reporter.stage("cutaway", 0);
        let Some(image) = page::cut_picture(model, model.up.unwrap_or_else(|| input.up())) else {
            bail!("{} has no inside to show; --slice shows any plane", input.title());
        };
        let bytes = files::write(path, |out| Ok(out.write_all(&png::encode(&image)?)?))?;
        note(path, "cutaway", bytes);
    }
    for (path, kind) in [(&args.nrrd, "nrrd"), (&args.npy, "npy")] {
        let Some(path) = path else { continue };
        let (origin, dims) = model.grid();
        reporter.stage("dense grid", dims[2] as u64);
        let layer = |k: usize| layer(model, origin, dims, k, reporter);
        let dense = Dense { origin, voxel: model.info.voxel, dims, layer: &layer };
        let bytes = files::write(path, |out: &mut dyn Write| {
            if kind == "nrrd" {
                dense.write_nrrd(out)?
            } else {
                dense.write_npy(out)?
            }
            reporter.check()
        })?;
        note(path, kind, bytes);
    }
    Ok(())
}

/// One layer of the dense grid, row by row in parallel; an error once Ctrl-C was pressed.
fn layer(model: &Model, origin: DVec3, dims: [usize; 3], k: usize, reporter: &Reporter) -> Result<Vec<f32>> {
    reporter.check()?;
    let rows = palpate::par::map(dims[1], |j| {
        let at = |i: usize| origin + model.info.voxel * DVec3::new(i as f64, j as f64, k as f64);
        (0..dims[0]).map(|i| model.distance(at(i)) as f32).collect::<Vec<f32>>()
    });
    reporter.advance(1);
    Ok(rows.concat())
}
