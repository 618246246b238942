//! `palpate press`: a scan against a part: contact, distance and force, in a pose or in many.

use crate::cmd::{BuildArgs, solid};
use crate::engine::Input;
use crate::outcome::{Outcome, rows};
use crate::pair::{Solid, not_unit, read_poses};
use crate::progress::Reporter;
use crate::touch::{self, Scan};
use crate::{Global, parse};
use anyhow::{Context, Result};
use palpate::cloud::{CloudParams, Surfels};
use palpate::force::{self, ForceParams};
use palpate::progress::Progress;
use palpate::query::QueryParams;
use palpate::tree::{Tree, TreeParams};
use palpate::{Pose, Query, Shape, Wrench};
use palpate_view::units;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

const EXAMPLES: &str = "Examples:
  palpate press gripper.palp scan.ply --pose \"0 0 0.1\"
  palpate press housing.stl scan.laz --unit mm --poses path.csv --stiffness 1e8 --json > answers.json

PART is a mesh, a .palp file or sample:NAME and gives its field; SCAN is a file of points and gives its points: nothing
has to be reconstructed. --unit is that of both files. A pose says where the scan is, seen from the part: x y z, then
qx qy qz qw; numbers are metres. Answers are in the part's frame; force and torque act on the scan, about its
origin. Areas of points, which forces count, are estimated from the points around.";

/// Says where a scan touches a part, how deep, how far apart they are, and with which force.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The part, which stays: built .palp file, mesh file or sample:NAME
    #[arg(value_name = "PART")]
    part: String,
    /// The scan, which a pose moves
    #[arg(value_name = "SCAN")]
    scan: String,
    /// Where the scan is, seen from the part: "x y z qx qy qz qw" or "x y z" [default: as the files have them]
    #[arg(long, value_name = "POSE", allow_hyphen_values = true)]
    pose: Option<String>,
    /// File of poses, one x,y,z,qx,qy,qz,qw a line
    #[arg(long, value_name = "POSES.csv", conflicts_with = "pose")]
    poses: Option<PathBuf>,
    /// Stiffness of the contact [N/m³]; without it no force is given
    #[arg(long, value_name = "K", allow_hyphen_values = true, value_parser = parse::stiffness)]
    stiffness: Option<f64>,
    /// Points up to this far outside count as contacts too, for example 0.1mm
    #[arg(long, value_name = "LENGTH", default_value = "0", allow_hyphen_values = true, value_parser = parse::least_length)]
    margin: f64,
    /// List the contacts of each pose too, with --poses
    #[arg(long)]
    contacts: bool,
    #[command(flatten)]
    build: BuildArgs,
}

/// The part's shape and the scan's points.
struct Pressed {
    part: Shape,
    tree: Arc<Tree>,
    surfels: Surfels,
}

/// What one pose gave, for machines, with what people are told of it.
struct Answer {
    json: Value,
    distance: f64,
    count: usize,
    area: f64,
    force: Option<Wrench>,
    micros: f64,
}

impl Pressed {
    fn ask(&self, query: &mut Query, pose: &Pose, args: &Args, list: bool) -> Answer {
        let start = Instant::now();
        let distance = query.distance_to_points(&self.part, &self.tree, pose);
        let found = query.contacts_of_points(
            &self.part,
            &self.tree,
            pose,
            &QueryParams { margin: args.margin, ..QueryParams::default() },
        );
        let force =
            args.stiffness.map(|k| force::penalty(found, &ForceParams::new(k), pose, None, None).wrench);
        let micros = start.elapsed().as_secs_f64() * 1e6;
        let area: f64 = found.list.iter().filter(|c| c.distance <= 0.0).map(|c| f64::from(c.area)).sum();
        let (t, q) = (pose.translation, pose.rotation);
        let mut json = json!({
            "pose": [t.x, t.y, t.z, q.x, q.y, q.z, q.w],
            "intersects": distance.distance <= 0.0,
            "distance": distance.distance,
            "distance_bound": distance.bound,
            "witness_a": distance.witness_a.to_array(),
            "witness_b": distance.witness_b.to_array(),
            "contact_count": found.list.len(),
            "contact_area": area,
            "force": force.map(|f| f.force.to_array()),
            "torque": force.map(|f| f.torque.to_array()),
            "micros": micros,
        });
        if list {
            let all = found.list.iter().map(|c| {
                json!({
                    "point": found.position(c).to_array(),
                    "normal": c.normal,
                    "shell_normal": c.shell_normal,
                    "distance": c.distance,
                    "area": c.area,
                    "id": self.surfels.source(&self.tree, c.id),
                })
            });
            json["contacts"] = Value::Array(all.collect());
        }
        Answer { json, distance: distance.distance, count: found.list.len(), area, force, micros }
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let (poses, noted) = match &args.poses {
        Some(path) => read_poses(path)?,
        None => {
            let text = args.pose.as_deref().unwrap_or("0 0 0");
            let (pose, noted) = parse::pose(text).with_context(|| format!("--pose \"{text}\""))?;
            (vec![pose], usize::from(noted))
        }
    };
    let reporter = Reporter::new(global.quiet || global.json);
    let threads = args.build.threads;
    let input = Input::parse(&args.scan);
    let raw = touch::read_scan(&input, args.build.mesh.unit, touch::SPACING, &reporter)?;
    let scan = Scan::build(&input, raw, &CloudParams { threads, ..CloudParams::default() }, &reporter)?;
    let part = Solid::load(&Input::parse(&args.part), &args.build, &reporter)?;
    let surfels = solid::surfels(&scan, true, None, threads, &reporter)?;
    reporter.stage("tree", 0);
    let tree = palpate::par::with_threads(threads, || surfels.tree(&TreeParams::default()));
    reporter.check()?;
    let pressed = Pressed { part: part.shape.clone(), tree, surfels };
    let single = args.poses.is_none();
    reporter.stage("ask", poses.len() as u64);
    let mut query = Query::new();
    // Once before: the first query grows its memory.
    let _ = pressed.ask(&mut query, &poses[0], args, false);
    let mut answers = Vec::with_capacity(poses.len());
    for pose in &poses {
        reporter.check()?;
        answers.push(pressed.ask(&mut query, pose, args, single || args.contacts));
        reporter.advance(1);
    }
    reporter.finish();

    let mut warnings: Vec<String> = part.notes.iter().map(|n| format!("{}: {n}", part.title)).collect();
    warnings.extend(not_unit(noted));
    let text = told(&scan, &part.title, &answers, single, &warnings);
    let mut all: Vec<Value> = answers.into_iter().map(|a| a.json).collect();
    let mut json = if single { all.swap_remove(0) } else { json!({ "results": all }) };
    json["part"] = json!(part.title);
    json["scan"] = scan.json();
    json["warnings"] = json!(warnings);
    Ok(Outcome::new(text, json))
}

/// The answers in words.
fn told(scan: &Scan, part: &str, answers: &[Answer], single: bool, warnings: &[String]) -> String {
    let mut table = vec![
        ("points".to_owned(), units::count(scan.cloud.len() as u64)),
        ("spacing".into(), units::length(scan.cloud.spacing())),
    ];
    if let (true, [a]) = (single, answers) {
        let touch = if a.distance <= 0.0 { "they touch" } else { "they are apart" };
        table.push(("distance".into(), format!("{}: {touch}", units::length(a.distance))));
        table.push(("contacts".into(), format!("{}, {}", units::count(a.count as u64), units::area(a.area))));
        if let Some(f) = a.force {
            let [x, y, z] = f.force.to_array();
            table.push(("force on the scan".into(), format!("{x:.4} {y:.4} {z:.4} N")));
        }
    } else {
        let touching = answers.iter().filter(|a| a.distance <= 0.0).count();
        let least = answers.iter().map(|a| a.distance).fold(f64::INFINITY, f64::min);
        let most = answers.iter().filter_map(|a| a.force).map(|f| f.force.length()).fold(0.0, f64::max);
        table.push(("poses".into(), format!("{}, {touching} touching", answers.len())));
        table.push(("least distance".into(), units::length(least)));
        table.push(("most contacts".into(), answers.iter().map(|a| a.count).max().unwrap_or(0).to_string()));
        if answers.iter().any(|a| a.force.is_some()) {
            table.push(("largest force".into(), format!("{most:.4} N")));
        }
    }
    let mean = answers.iter().map(|a| a.micros).sum::<f64>() / answers.len().max(1) as f64;
    table.push(("asked in".into(), units::seconds(1e-6 * mean)));
    let mut text = format!("{} against {part}\n{}", scan.title, rows(&table));
    for warning in warnings {
        let _ = writeln!(text, "! {warning}");
    }
    text
}
