//! `palpate drop`: parts fall on a ground, in an engine, and the motion is kept and played.

use crate::cmd::BuildArgs;
use crate::drop::{self, Engine, Physics, Scene, SceneParams, Told};
use crate::outcome::{Outcome, rows};
use crate::progress::Reporter;
use crate::{Global, files, parse};
use anyhow::{Context, Result, bail};
use palpate::progress::Progress;
use palpate_view::player::{PageParams, page};
use palpate_view::recording::{About, Recording};
use palpate_view::strip::{StripParams, film_strip};
use palpate_view::{png, units};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  palpate drop sample:gear -o fall                         a gear on a plane; watch fall/motion.html
  palpate drop bunny.obj --onto terrain --seconds 5 --random-rotation --seed 3 -o fall
  palpate drop nut.stl bolt.stl --unit mm --count 20 --onto bin.stl --rate 480 -o pour
  palpate drop gear.palp --friction 0.2 --json

GROUND is plane, box, terrain, or a shape that stays: mesh file, .palp file or sample:NAME. z is up; parts of files whose
y is up are turned. Bodies start above the middle of the ground, in columns if there are many.
FOLDER receives motion.palprec (the recording), motion.csv (a row for each frame and body), motion.html (plays it in 3D,
with contacts and charts) and motion.png (frames side by side). Ctrl-C ends the simulation and keeps what there is.";

/// Most steps of a run.
const MAX_STEPS: f64 = 1e8;
/// Most bodies of a run.
const MAX_BODIES: usize = 10_000;

/// Lets parts fall: simulates them in an engine, writes the motion and a page that plays it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What falls: mesh files, built .palp files or sample:NAME
    #[arg(value_name = "PART", required = true)]
    parts: Vec<String>,
    /// What they fall on: plane, box, terrain, or a shape
    #[arg(long, value_name = "GROUND", default_value = "plane")]
    onto: String,
    /// Engine that moves them: own, rapier or bullet
    #[arg(long, value_enum, default_value_t = Engine::Own, hide_possible_values = true)]
    engine: Engine,
    /// Simulated time
    #[arg(long, value_name = "S", default_value = "3", value_parser = positive)]
    seconds: f64,
    /// Steps a second
    #[arg(long, value_name = "HZ", default_value = "240", value_parser = positive)]
    rate: f64,
    /// Copies of each part
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_BODIES as i64))]
    count: u32,
    /// Between the ground and the lowest part at the start, for example 20cm [default: the size of the largest part]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::signed_length)]
    height: Option<f64>,
    /// Number that decides random rotations and places
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Turn each part at random
    #[arg(long)]
    random_rotation: bool,
    /// Share of the speed an impact gives back, 0 to 1
    #[arg(long, value_name = "E", default_value = "0", allow_hyphen_values = true, value_parser = share)]
    restitution: f64,
    /// Coulomb friction coefficient
    #[arg(long, value_name = "MU", default_value = "0.5", allow_hyphen_values = true, value_parser = least)]
    friction: f64,
    /// Density in kg/m³
    #[arg(long, value_name = "RHO", default_value = "1000", allow_hyphen_values = true, value_parser = positive)]
    density: f64,
    /// Gravity in m/s², downward
    #[arg(long, value_name = "G", default_value = "9.81", allow_hyphen_values = true, value_parser = least)]
    gravity: f64,
    /// Folder to write the motion to; made if it is not there
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    build: BuildArgs,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("not a number above 0".into()),
    }
}

fn least(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x >= 0.0 && x.is_finite() => Ok(x),
        _ => Err("not a number of 0 or more".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    least(text).ok().filter(|x| *x <= 1.0).ok_or_else(|| "not a number from 0 to 1".into())
}

/// The files of a motion.
const NAMES: [&str; 4] = ["motion.palprec", "motion.csv", "motion.html", "motion.png"];

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    // What is wrong with numbers and places should not cost a build.
    let steps = (args.seconds * args.rate).round();
    if !(1.0..=MAX_STEPS).contains(&steps) {
        bail!(
            "--seconds {} at --rate {} makes {steps} steps; between 1 and {MAX_STEPS} are possible",
            args.seconds,
            args.rate
        );
    }
    let bodies = args.count as usize * args.parts.len();
    if bodies > MAX_BODIES {
        bail!("{bodies} bodies are too many; at most {MAX_BODIES} are possible");
    }
    let (steps, seconds) = (steps as usize, args.seconds);
    args.engine.check()?;
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        drop(files::Temporary::beside(&folder.join(NAMES[0]))?);
    }
    let reporter = Reporter::new(global.quiet || global.json);
    let params = SceneParams {
        count: args.count as usize,
        height: args.height,
        seed: args.seed,
        random_rotation: args.random_rotation,
    };
    let scene = Scene::load(&args.parts, &args.onto, &args.build, &params, &reporter)?;
    let physics = Physics {
        gravity: args.gravity,
        friction: args.friction,
        restitution: args.restitution,
        density: args.density,
        rate: args.rate,
    };
    reporter.stage("set up", 0);
    let mut simulation = drop::start(args.engine, &scene, &physics)?;
    reporter.check()?;
    let mut run = palpate::par::with_threads(args.build.threads, || {
        drop::run(simulation.as_mut(), &scene, steps, args.rate, &reporter)
    })?;
    let frames = std::mem::take(&mut run.frames);
    let mut recording = Recording { frames, ..scene.recording() };
    let told = Told {
        scene: &scene,
        run: &run,
        frames: &recording.frames,
        rate: args.rate,
        engine: args.engine.name(),
    };
    let names: Vec<&str> = scene.parts.iter().map(|p| p.title.as_str()).collect();
    let what = match names.len() {
        1..=3 => names.join(", "),
        n => format!("{n} parts"),
    };
    let copies = if args.count > 1 { format!("{} x ", args.count) } else { String::new() };
    let title = format!("{copies}{what} on {}", told.ground());
    let (mut json, figures, warnings) = (told.json(), told.rows(), told.warnings());
    recording.about = About {
        title: title.clone(),
        engine: args.engine.name().to_owned(),
        rate: args.rate,
        command: command(args, seconds),
    };
    let written = match &args.output {
        Some(folder) => {
            let params = PageParams { rows: figures.clone(), warnings: warnings.clone() };
            palpate::par::with_threads(args.build.threads, || write(folder, &recording, &params, &reporter))?
        }
        None => Vec::new(),
    };
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
        text += "nothing was written: -o FOLDER keeps the motion and a page that plays it\n";
    }
    let _ = writeln!(text, "done in {}", units::seconds(took));
    Ok(Outcome::new(text, json))
}

/// The command line, as one would type it again.
fn command(args: &Args, seconds: f64) -> String {
    let mut text = String::from("palpate drop");
    for part in &args.parts {
        let _ = write!(text, " {part}");
    }
    let _ = write!(text, " --onto {} --engine {}", args.onto, args.engine.name());
    let _ = write!(text, " --seconds {seconds} --rate {}", args.rate);
    if args.count > 1 {
        let _ = write!(text, " --count {}", args.count);
    }
    if let Some(height) = args.height {
        let _ = write!(text, " --height {height}");
    }
    if args.random_rotation {
        text += " --random-rotation";
    }
    if args.random_rotation || args.count > 1 || args.parts.len() > 1 {
        let _ = write!(text, " --seed {}", args.seed);
    }
    for (name, value, usual) in [
        ("restitution", args.restitution, 0.0),
        ("friction", args.friction, 0.5),
        ("density", args.density, 1000.0),
        ("gravity", args.gravity, 9.81),
        ("unit", args.build.mesh.unit, 1.0),
    ] {
        if value != usual {
            let _ = write!(text, " --{name} {value}");
        }
    }
    let build = &args.build;
    for (name, value) in [("voxel", build.voxel), ("spacing", build.spacing)] {
        if let Some(value) = value {
            let _ = write!(text, " --{name} {value}");
        }
    }
    if let Some(cells) = build.resolution {
        let _ = write!(text, " --resolution {cells}");
    }
    text
}

/// Writes all files of a motion, each whole or not at all.
fn write(
    folder: &Path,
    recording: &Recording,
    params: &PageParams,
    reporter: &Reporter,
) -> Result<Vec<PathBuf>> {
    let paths = NAMES.map(|n| folder.join(n));
    reporter.stage("write motion", 0);
    let bytes = recording.to_bytes()?;
    files::write(&paths[0], |out| Ok(out.write_all(&bytes)?))?;
    files::write(&paths[1], |out| Ok(recording.write_csv(out)?))?;
    reporter.stage("draw page", 0);
    let html = page(recording, params)?;
    files::write(&paths[2], |out| Ok(out.write_all(html.as_bytes())?))?;
    reporter.stage("draw film strip", 0);
    let strip = png::encode(&film_strip(recording, &StripParams::default()))?;
    files::write(&paths[3], |out| Ok(out.write_all(&strip)?))?;
    Ok(paths.to_vec())
}
