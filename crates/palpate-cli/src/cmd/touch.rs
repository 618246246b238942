//! `palpate touch`: moves a probe over a scan; contact, nearest point and force are kept and played.

use crate::cmd::{MeshArgs, Up};
use crate::engine::Input;
use crate::outcome::{Outcome, rows};
use crate::progress::Reporter;
use crate::touch::{self, Feel, Mode, Moving, Question, Scan, Told};
use crate::{Global, files, pair, parse};
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::cloud::{CloudParams, MOST_IN_LEAF, ProxyParams, Scene, TouchParams};
use palpate::math::Aabb;
use palpate::progress::Progress;
use palpate::{Pose, par};
use palpate_view::player::PageParams;
use palpate_view::probing::{Probing, page, picture};
use palpate_view::{png, units};
use serde_json::json;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "Examples:
  palpate touch -o felt                          the waves of the paper; watch felt/touch.html
  palpate touch scan.las --probe path.csv -o felt
  palpate touch statue.ply --unit mm --stiffness 800 --friction 0.4,0.3 -o felt
  palpate touch scan.pcd --mode paper --force nearest --leaf 10 --json
                                                 as the paper of 2007 does it, figures alone
  palpate touch --spin \"0 0 0.5\" --velocity \"0 0 0.1\" -o turning
                                                 the scan moves under the probe

SCAN is a PLY, XYZ, CSV, PTS, PCD, LAS or LAZ file, a mesh file (OBJ, STL, OFF, glTF: its vertices),
sample:waves (z = cos x + cos y, points --spacing apart) or another sample:NAME. Without one, sample:waves.
path.csv has one x,y,z a line, in metres in the world's frame, whatever --unit is; a first line of names is
skipped. A fourth column is the time in seconds; without it there are --rate steps a second. Without --probe a
path is made that swings over the scan, as seen from above, and dips into it.
A step touches when the probe is in the box around a point: boxes of --box, in the frame of the scan.
The force is that of a proxy which stays on the surface of the points while the probe goes in (--force proxy), or
the paper's spring to the nearest point (nearest). Points need no normals; those of the file help thin walls.
FOLDER receives touch.csv (a row for each step), touch.html (plays it in 3D with curves of distance, force and
depth) and touch.png. Ids in the table count the points of the scan from 0, without those that are not finite.
Ctrl-C ends the path and keeps what there is.";

/// Moves a probe over a scan: contact, nearest point and force in every step.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scan, mesh file or sample:NAME [default: sample:waves]
    #[arg(value_name = "SCAN")]
    scan: Option<String>,
    /// Path of the probe, one x,y,z or x,y,z,time a line; - is standard input
    #[arg(long, value_name = "PATH.csv")]
    probe: Option<PathBuf>,
    /// Steps a second of a path without times
    #[arg(long, value_name = "HZ", default_value = "1000", allow_hyphen_values = true, value_parser = positive)]
    rate: f64,
    /// Folder to write table, page and picture to; made if it is not there
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    mesh: MeshArgs,
    /// How far points of sample:waves are apart [default: 5mm]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::length)]
    spacing: Option<f64>,
    /// How boxes and nearest points are found: exact, or paper (the six-point rule, at most 7 leaves)
    #[arg(long, value_enum, default_value_t = Mode::Exact, hide_possible_values = true)]
    mode: Mode,
    /// Edge of the box around each point [default: 1.25 spacings]
    #[arg(long = "box", value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::least_length)]
    box_edge: Option<f64>,
    /// How far the six points of --mode paper are from the probe [default: the spacing]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::least_length)]
    six_point: Option<f64>,
    /// Most points in a leaf of the octree, 1 to 1024 [default: 48; the paper has 10]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=MOST_IN_LEAF as i64))]
    leaf: Option<u32>,
    /// What is felt: proxy (stays on the surface), nearest (the paper's) or none
    #[arg(long, value_enum, default_value_t = Feel::Proxy, hide_possible_values = true)]
    force: Feel,
    /// Force for each metre [N/m]
    #[arg(long, value_name = "N/M", default_value = "500", allow_hyphen_values = true, value_parser = not_negative)]
    stiffness: f64,
    /// Force for each metre a second [N s/m]
    #[arg(long, value_name = "NS/M", default_value = "0", allow_hyphen_values = true, value_parser = not_negative)]
    damping: f64,
    /// Friction over normal force, at rest and sliding; one number: both
    #[arg(long, value_name = "STATIC,KINETIC", default_value = "0,0", allow_hyphen_values = true, value_parser = friction)]
    friction: [f64; 2],
    /// Largest force [N] [default: no limit]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = not_negative)]
    most_force: Option<f64>,
    /// Radius of the points that make the surface at a place [default: about three spacings]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::length)]
    support: Option<f64>,
    /// Do not use the normals of the file
    #[arg(long)]
    no_normals: bool,
    /// Where the scan is in the world: "x y z qx qy qz qw", or "x y z"
    #[arg(long, value_name = "POSE", allow_hyphen_values = true)]
    pose: Option<String>,
    /// Velocity of the middle of the scan, "x y z" [m/s]
    #[arg(long, value_name = "V", default_value = "0 0 0", hide_default_value = true, allow_hyphen_values = true, value_parser = vector)]
    velocity: DVec3,
    /// Turn of the scan about its middle, "x y z" [rad/s]
    #[arg(long, value_name = "W", default_value = "0 0 0", hide_default_value = true, allow_hyphen_values = true, value_parser = vector)]
    spin: DVec3,
    /// Up in pictures [default: y for PLY, OBJ, OFF and glTF, z for others]
    #[arg(long, value_enum)]
    up: Option<Up>,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() && x.recip().is_finite() => Ok(x),
        _ => Err("not a number above 0".to_owned()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x >= 0.0 && x.is_finite() => Ok(x),
        _ => Err("not a number of 0 or more".to_owned()),
    }
}

fn friction(text: &str) -> Result<[f64; 2], String> {
    let all: Vec<f64> = text.split(',').map(not_negative).collect::<Result<_, _>>()?;
    match all[..] {
        [both] => Ok([both; 2]),
        [rest, sliding] if rest >= sliding => Ok([rest, sliding]),
        [_, _] => {
            Err("friction at rest must not be less than that of sliding; write for example 0.4,0.3"
                .to_owned())
        }
        _ => Err("write one number, or two: at rest and sliding, for example 0.4,0.3".to_owned()),
    }
}

fn vector(text: &str) -> Result<DVec3, String> {
    let fields = text.split([',', ' ']).filter(|f| !f.is_empty()).map(str::parse::<f64>);
    match fields.collect::<Result<Vec<f64>, _>>().as_deref() {
        Ok(&[x, y, z]) if DVec3::new(x, y, z).is_finite() => Ok(DVec3::new(x, y, z)),
        _ => Err("not three finite numbers; write for example \"0 0 0.5\"".to_owned()),
    }
}

/// The files of a path.
const NAMES: [&str; 3] = ["touch.csv", "touch.html", "touch.png"];

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    // What is wrong with places and paths should not cost the reading of a scan.
    let input = Input::parse(args.scan.as_deref().unwrap_or("sample:waves"));
    if args.spacing.is_some() && input != Input::Sample(touch::WAVES.to_owned()) {
        bail!("--spacing belongs to sample:waves; points of {} are where they are", input.title());
    }
    let (pose, noted) = match &args.pose {
        Some(text) => parse::pose(text).context("--pose")?,
        None => (Pose::IDENTITY, false),
    };
    let path = args.probe.as_deref().map(|p| read_path(p, args.rate)).transpose()?;
    if let Some(folder) = &args.output {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        for name in NAMES {
            let probe = files::Temporary::beside(&folder.join(name))?;
            File::create(probe.path())
                .with_context(|| format!("cannot write to the folder {}", folder.display()))?;
        }
    }
    let reporter = Reporter::new(global.quiet || global.json);
    par::with_threads(args.threads, || {
        let raw =
            touch::read_scan(&input, args.mesh.unit, args.spacing.unwrap_or(touch::SPACING), &reporter)?;
        let leaf = args.leaf.map_or(CloudParams::default().leaf, |m| m as usize);
        let params = CloudParams { leaf, threads: args.threads, ..CloudParams::default() };
        let scan = Scan::build(&input, raw, &params, &reporter)?;
        reporter.check()?;
        let mut outcome = answer(args, &scan, pose, path, leaf, &reporter)?;
        if let Some(words) = pair::not_unit(usize::from(noted)) {
            outcome.text = format!("! {words}\n{}", outcome.text);
        }
        Ok(outcome)
    })
}

fn read_path(path: &Path, rate: f64) -> Result<Vec<touch::Stop>> {
    if path.as_os_str() == "-" {
        let text = std::io::read_to_string(std::io::stdin()).context("cannot read standard input")?;
        return touch::parse_path(&text, "standard input", rate);
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    touch::parse_path(&text, &path.display().to_string(), rate)
}

fn answer(
    args: &Args,
    scan: &Scan,
    pose: Pose,
    path: Option<Vec<touch::Stop>>,
    leaf: usize,
    reporter: &Reporter,
) -> Result<Outcome> {
    let mode = args.mode.of_cloud();
    let params = TouchParams { mode, box_edge: args.box_edge, six_point_distance: args.six_point };
    params.check()?;
    let [static_friction, kinetic_friction] = args.friction;
    let proxy = ProxyParams {
        damping: args.damping,
        static_friction,
        kinetic_friction,
        most_force: args.most_force.unwrap_or(f64::INFINITY),
        radius: args.support,
        ..ProxyParams::new(args.stiffness)
    };
    proxy.check()?;
    let middle = Aabb::of_points(scan.raw.points.iter().copied()).centre();
    let moving = Moving { pose, middle, velocity: args.velocity, spin: args.spin };
    let question = Question { feel: args.force, proxy, moving };
    let up = args.up.map_or(scan.up, Up::axis);
    reporter.stage("prepare", 0);
    let path = path.unwrap_or_else(|| touch::demonstration(scan, up, &pose, args.rate));
    let mut scene = Scene::new(params);
    let id = scene.add(Arc::new(scan.cloud.clone()), moving.at(path[0].time).0);
    if let Some(normals) = scan.raw.normals.as_ref().filter(|_| !args.no_normals) {
        scene.set_normals(id, Some(normals.iter().map(|n| n.as_dvec3()).collect()));
    }
    reporter.stage("touch", path.len() as u64);
    let run = touch::run(&mut scene, &path, &question, reporter);
    if run.rows.is_empty() {
        reporter.check()?;
    }
    let told = Told {
        scan,
        run: &run,
        question: &question,
        mode: args.mode,
        touch: params,
        leaf,
        steps: path.len(),
    };
    let (mut json, figures, warnings) = (told.json(), told.rows(), told.warnings(args.output.is_some()));
    let title = told.title();
    let mut written = Vec::new();
    if let Some(folder) = &args.output {
        reporter.stage("look at points", 0);
        let probing = touch::probing(scan, &run, &question, up, &title, &command(args));
        let params = PageParams { rows: figures.clone(), warnings: warnings.clone() };
        written = write(folder, &run, &probing, &params, reporter)?;
    }
    let (took, _) = reporter.finish();
    json["warnings"] = json!(warnings);
    json["files"] = json!(written.iter().map(|p| p.display().to_string()).collect::<Vec<_>>());
    let mut text = format!("{title}\n{}", rows(&figures));
    for warning in &warnings {
        let _ = writeln!(text, "! {warning}");
    }
    for path in &written {
        let _ = writeln!(text, "written: {}", path.display());
    }
    if written.is_empty() {
        text += "nothing was written: -o FOLDER keeps a table, a picture and a page that plays it\n";
    }
    let _ = writeln!(text, "done in {}", units::seconds(took));
    Ok(Outcome::new(text, json))
}

/// Writes the files of a path, each whole or not at all.
fn write(
    folder: &Path,
    run: &touch::Run,
    probing: &Probing,
    params: &PageParams,
    reporter: &Reporter,
) -> Result<Vec<PathBuf>> {
    let paths = NAMES.map(|n| folder.join(n));
    reporter.stage("write table", 0);
    files::write(&paths[0], |out| Ok(touch::write_table(out, &run.rows)?))?;
    reporter.stage("draw page", 0);
    let html = page(probing, params)?;
    files::write(&paths[1], |out| Ok(out.write_all(html.as_bytes())?))?;
    reporter.stage("draw picture", 0);
    let image = png::encode(&picture(probing, 1400, 900))?;
    files::write(&paths[2], |out| Ok(out.write_all(&image)?))?;
    Ok(paths.to_vec())
}

/// The command line, as one would type it again.
fn command(args: &Args) -> String {
    let mut text = String::from("palpate touch");
    if let Some(scan) = &args.scan {
        let _ = write!(text, " {scan}");
    }
    if let Some(probe) = &args.probe {
        let _ = write!(text, " --probe {}", probe.display());
    }
    let _ = write!(text, " --mode {} --force {}", args.mode.name(), args.force.name());
    let more = [
        ("unit", Some(args.mesh.unit), 1.0),
        ("rate", Some(args.rate), 1e3),
        ("spacing", args.spacing, 0.0),
        ("box", args.box_edge, -1.0),
        ("six-point", args.six_point, -1.0),
        ("leaf", args.leaf.map(f64::from), 0.0),
        ("stiffness", Some(args.stiffness), 500.0),
        ("damping", Some(args.damping), 0.0),
        ("most-force", args.most_force, -1.0),
        ("support", args.support, 0.0),
    ];
    for (name, value, usual) in more {
        if let Some(value) = value.filter(|v| *v != usual) {
            let _ = write!(text, " --{name} {value}");
        }
    }
    if args.friction != [0.0; 2] {
        let _ = write!(text, " --friction {},{}", args.friction[0], args.friction[1]);
    }
    if args.no_normals {
        text += " --no-normals";
    }
    if let Some(pose) = &args.pose {
        let _ = write!(text, " --pose \"{pose}\"");
    }
    for (name, v) in [("velocity", args.velocity), ("spin", args.spin)] {
        if v != DVec3::ZERO {
            let _ = write!(text, " --{name} \"{} {} {}\"", v.x, v.y, v.z);
        }
    }
    text
}
