//! `palpate solid`: a scan becomes a closed mesh, which every other command takes.

use crate::cmd::MeshArgs;
use crate::engine::Input;
use crate::formats::Surface;
use crate::outcome::{Outcome, rows};
use crate::progress::Reporter;
use crate::touch::{self, Scan};
use crate::{Global, files, parse};
use anyhow::{Context, Result};
use palpate::cloud::{
    CloudParams, Facing, SolidParams, SurfelParams, SurfelReport, Surfels, Towards, close_with, sheet_with,
};
use palpate::mesh::RawMesh;
use palpate_view::units;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  palpate solid vase.ply -o vase.stl               scanned all around: closed, holes too
  palpate solid wall.laz --sheet 5mm -o wall.ply   scanned from one side: a sheet of this thickness
  palpate solid scan.xyz --unit mm --towards \"0 0 2\" -o scan.obj
                                                   normals face the scanner at 0 0 2 m
  palpate build vase.stl -o vase.palp              then it is a shape as any other

Normals of the file are used unless --no-normals; where there are none they are estimated from the points around and
made to agree. What encloses something is closed by winding numbers; where inside and outside are doubtful the report
says so. A sheet needs neither: it is all that is within half its thickness of the surface of the points.";

/// Makes a closed mesh of a scan.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scan: PLY, XYZ, CSV, PTS, PCD, LAS or LAZ, the vertices of a mesh file, or sample:NAME
    #[arg(value_name = "SCAN")]
    scan: String,
    /// File to write: .obj, .ply or .stl
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Make a sheet of this thickness instead of closing the surface, for example 2mm
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::length)]
    sheet: Option<f64>,
    /// Edge of the voxels in which the surface is sought [default: three quarters of the spacing]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::length)]
    voxel: Option<f64>,
    /// How far along the surface points are averaged, in spacings, 1.5 to 20: more for noisy scans
    #[arg(long, value_name = "SPACINGS", default_value_t = 2.5, allow_hyphen_values = true)]
    support: f64,
    /// Where the scanner was: the surface faces it, "x y z" in metres
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    towards: Option<String>,
    /// Estimate normals even where the file has them
    #[arg(long)]
    no_normals: bool,
    /// Most memory to use, for example 4GiB
    #[arg(long, value_name = "BYTES", default_value = "2GiB", value_parser = parse::bytes)]
    max_memory: u64,
    #[command(flatten)]
    mesh: MeshArgs,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

/// The points of a scan with normals and areas: given ones, those of the file, or estimated ones.
pub(crate) fn surfels(
    scan: &Scan,
    given: bool,
    towards: Option<&str>,
    threads: usize,
    reporter: &Reporter,
) -> Result<Surfels> {
    let towards = match towards {
        Some(text) => {
            let (pose, _) = parse::pose(text).with_context(|| format!("--towards \"{text}\""))?;
            Towards::Point(pose.translation)
        }
        None => scan.raw.viewpoint.map_or(Towards::Unknown, Towards::Point),
    };
    let normals: Option<Vec<_>> =
        scan.raw.normals.as_ref().filter(|_| given).map(|all| all.iter().map(|n| n.as_dvec3()).collect());
    let params = SurfelParams { towards, threads, ..SurfelParams::default() };
    Surfels::build_with(&scan.cloud, normals.as_deref(), &params, reporter)
        .with_context(|| scan.title.clone())
}

/// What decided which way the parts of a scan face, in words.
pub(crate) fn facing(report: &SurfelReport) -> String {
    let mut ways: Vec<&str> = report
        .components
        .iter()
        .map(|c| match c.facing {
            Facing::Given => "given normals",
            Facing::Sensor => "where the scanner was",
            Facing::Volume => "what it encloses",
            Facing::Bend => "the outside of its bend",
            Facing::Axis => "an axis, a guess",
            _ => "another way",
        })
        .collect();
    ways.sort_unstable();
    ways.dedup();
    ways.join(", ")
}

/// Below this confidence a warning is due [1].
const SURE: f64 = 0.9;

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let format = Surface::from_path(&args.output)?;
    drop(files::Temporary::beside(&args.output)?);
    let params = SolidParams {
        voxel: args.voxel,
        support: args.support,
        max_memory: args.max_memory,
        threads: args.threads,
    };
    params.check()?;
    let reporter = Reporter::new(global.quiet || global.json);
    let input = Input::parse(&args.scan);
    let raw = touch::read_scan(&input, args.mesh.unit, touch::SPACING, &reporter)?;
    let octree = CloudParams { threads: args.threads, ..CloudParams::default() };
    let scan = Scan::build(&input, raw, &octree, &reporter)?;
    let surfels = surfels(&scan, !args.no_normals, args.towards.as_deref(), args.threads, &reporter)?;
    let solid = match args.sheet {
        Some(thickness) => sheet_with(&surfels, thickness, &params, &reporter),
        None => close_with(&surfels, &params, &reporter),
    };
    reporter.check()?;
    let solid = solid.with_context(|| scan.title.clone())?;
    let mesh =
        RawMesh { positions: solid.mesh.positions().to_vec(), triangles: solid.mesh.triangles().to_vec() };
    let bytes = files::write(&args.output, |out| format.write(&mesh, out))?;
    reporter.finish();

    let (r, s) = (&solid.report, surfels.report());
    let volume = solid.mesh.mass_properties().volume;
    let mut warnings = Vec::new();
    if r.confidence < SURE {
        warnings.push(format!(
            "inside and outside are doubtful ({:.0} % sure): say where the scanner was with --towards, or make a sheet with --sheet",
            100.0 * r.confidence
        ));
    }
    if s.unplanar > 0 {
        let n = units::count(s.unplanar as u64);
        warnings.push(format!("{n} points are not on a surface of others: noise, lines or strays"));
    }
    let json = json!({
        "scan": scan.json(),
        "triangles": mesh.triangles.len(),
        "vertices": mesh.positions.len(),
        "volume": volume,
        "area": s.area,
        "spacing": r.spacing,
        "voxel": r.voxel,
        "support": r.support,
        "components": r.components,
        "holes": r.holes,
        "bridged_area": r.bridged,
        "confidence": r.confidence,
        "residual": r.residual,
        "facing": facing(s),
        "given_normals": s.given,
        "sheet": args.sheet,
        "output": args.output.display().to_string(),
        "bytes": bytes,
        "warnings": warnings,
    });
    let mut table = vec![
        ("points".to_owned(), units::count(scan.cloud.len() as u64)),
        ("spacing".into(), units::length(r.spacing)),
        ("triangles".into(), units::count(mesh.triangles.len() as u64)),
        ("volume".into(), units::volume(volume)),
        ("parts".into(), units::count(r.components as u64)),
    ];
    if r.holes > 0 {
        let text = format!("{}, {} bridged", units::count(r.holes as u64), units::area(r.bridged));
        table.push(("holes".into(), text));
    }
    table.push(("facing by".into(), format!("{}, {:.0} % sure", facing(s), 100.0 * r.confidence)));
    table.push((
        "points off it by".into(),
        format!("{} (root of the mean square)", units::length(r.residual)),
    ));
    table.push(("written".into(), format!("{}, {}", args.output.display(), units::bytes(bytes))));
    let mut text = format!("{}\n{}", scan.title, rows(&table));
    for warning in &warnings {
        let _ = writeln!(text, "! {warning}");
    }
    Ok(Outcome::new(text, json))
}
