//! `palpate distance`: signed distances of points.

use crate::cmd::{BuildArgs, open_or_build};
use crate::engine::{Input, Model};
use crate::outcome::Outcome;
use crate::progress::Reporter;
use crate::{Global, parse};
use anyhow::{Context, Result, bail};
use glam::DVec3;
use serde_json::json;
use std::fmt::Write;
use std::io::Read;

const EXAMPLES: &str = "Examples:
  palpate distance gear.palp --points p.csv
  echo 0.01,0,0.002 | palpate distance gear.palp --points -
  palpate distance bunny.obj --resolution 128 --points p.csv --json
  palpate distance sample:gear --points p.csv --witness

Prints one line a point: distance,gx,gy,gz in metres, negative inside; the gradient points outward.
With --witness: distance,x,y,z,triangle, measured to a point of the mesh itself.
p.csv has x,y,z a line, in metres, without a header; lines that start with # are skipped.";

/// Gives the signed distance and its gradient at each point of a list.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Built .palp file, mesh file or sample:NAME (a mesh is built first)
    #[arg(value_name = "X")]
    input: String,
    /// File of points, x,y,z a line; - reads standard input
    #[arg(long, value_name = "P.csv")]
    points: String,
    /// Give the point of the mesh that each distance is measured to, and its triangle, instead of the gradient; a .palp
    /// file must have been built with --triangles
    #[arg(long)]
    witness: bool,
    #[command(flatten)]
    build: BuildArgs,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    // Points first: a wrong list should not cost a build.
    let (text, name) = if args.points == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read points from standard input")?;
        (text, "standard input")
    } else {
        let text =
            std::fs::read_to_string(&args.points).with_context(|| format!("cannot read {}", args.points))?;
        (text, args.points.as_str())
    };
    let points = parse::points(&text, name)?;
    drop(text);
    let reporter = Reporter::new(global.quiet || global.json);
    let mut build = args.build.clone();
    build.triangles |= args.witness;
    let model = open_or_build(&Input::parse(&args.input), &build, false, &reporter)?;
    reporter.finish();
    if args.witness {
        return witnesses(&model, &points, args, global);
    }
    let samples = palpate::par::with_threads(args.build.threads, || model.sample_batch(&points));
    if global.json {
        let json = json!({
            "distances": samples.iter().map(|s| s.0).collect::<Vec<f64>>(),
            "gradients": samples.iter().map(|s| s.1.to_array()).collect::<Vec<_>>(),
            "error_bound_band": model.info.error_bound_band,
            "error_bound_far": model.info.error_bound_far,
        });
        return Ok(Outcome::new(String::new(), json));
    }
    let mut out = String::new();
    for (distance, g) in &samples {
        let _ = writeln!(out, "{distance},{},{},{}", g.x, g.y, g.z);
    }
    Ok(Outcome::new(out, json!(null)))
}

/// The answer with witness points.
fn witnesses(model: &Model, points: &[DVec3], args: &Args, global: &Global) -> Result<Outcome> {
    if !model.field().has_triangles() {
        bail!("{} was built without its triangles; build it again with --triangles", args.input);
    }
    let mesh = model.mesh()?;
    let found = palpate::par::with_threads(args.build.threads, || {
        palpate::par::map(points.len(), |i| model.field().witness(mesh, points[i]))
    });
    if global.json {
        let json = json!({
            "distances": found.iter().map(|w| w.map(|w| w.distance)).collect::<Vec<_>>(),
            "points": found.iter().map(|w| w.map(|w| w.point.to_array())).collect::<Vec<_>>(),
            "triangles": found.iter().map(|w| w.map(|w| w.triangle)).collect::<Vec<_>>(),
        });
        return Ok(Outcome::new(String::new(), json));
    }
    let mut out = String::new();
    for w in &found {
        let _ = match w {
            Some(w) => {
                writeln!(out, "{},{},{},{},{}", w.distance, w.point.x, w.point.y, w.point.z, w.triangle)
            }
            None => writeln!(out, "NaN,NaN,NaN,NaN,"),
        };
    }
    Ok(Outcome::new(out, json!(null)))
}
