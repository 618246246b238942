//! `palpate soft`: two meshes wave and come together; which triangles meet, in each step, is kept and played.

use crate::cmd::MeshArgs;
use crate::outcome::{Outcome, rows};
use crate::progress::Reporter;
use crate::soft::{self, MotionParams, Question, Scene, Told, Way};
use crate::{Global, files};
use anyhow::{Context, Result};
use palpate::progress::Progress;
use palpate_view::deforming::{Deforming, film_strip, page};
use palpate_view::player::PageParams;
use palpate_view::strip::StripParams;
use palpate_view::{png, units};
use serde_json::json;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  palpate soft -o waves                          two knots; watch waves/motion.html
  palpate soft bunny.obj --wave 0.05 --own       two copies, and each with itself
  palpate soft cloth.obj hand.stl --unit mm --contacts -o touch
                                                 also where they meet, along what, how deep
  palpate soft --remove 0.3 -o cut               triangles are switched off on the way
  palpate soft --method cut --steps 1000 --json  figures alone

Waves run over both meshes while the second comes nearer: every vertex moves in every step.
Which triangles meet is decided exactly, in each step, with the vertices where they are then.
When they first touch is told to a part of a step, vertices going straight from one to the next.
MESH is a mesh file, a .palp file or sample:NAME; without one, a knot.
FOLDER receives motion.html (plays it in 3D, with the triangles that meet coloured, and charts),
motion.csv (a row for each step), motion.png (frames side by side) and, with --contacts,
contacts.csv (a row for each pair; the page draws the normals of 64). Ctrl-C ends the motion
and keeps what there is.";

/// Moves two waving meshes into each other and finds the triangles that meet, in every step.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// One mesh, which is there twice, or two [default: knots]
    #[arg(value_name = "MESH", num_args = 0..=2)]
    meshes: Vec<String>,
    /// Steps of the motion
    #[arg(long, value_name = "N", default_value_t = 240, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,
    /// Amplitude of the waves, a part of the mesh's size, 0 to 1
    #[arg(long, value_name = "PART", default_value = "0.03", allow_hyphen_values = true, value_parser = share)]
    wave: f64,
    /// Room between the meshes at the first step, in sizes, 0 to 10
    #[arg(long, value_name = "SIZES", default_value = "0.2", allow_hyphen_values = true, value_parser = sizes)]
    apart: f64,
    /// How far they are in each other at the last step, in sizes, 0 to 10; 1: their middles coincide
    #[arg(long, value_name = "SIZES", default_value = "0.8", allow_hyphen_values = true, value_parser = sizes)]
    overlap: f64,
    /// How pairs are looked for: auto, cut (lists are cut to where they can meet) or refit (boxes fitted anew); all find the
    /// same
    #[arg(long, value_enum, default_value_t = Way::Auto, hide_possible_values = true)]
    method: Way,
    /// Also find triangles of a mesh that meet others of the same
    #[arg(long)]
    own: bool,
    /// Also find where pairs meet, the way apart and how far it is
    #[arg(long)]
    contacts: bool,
    /// Share of the triangles that is switched off, one after the other, until the last step
    #[arg(long, value_name = "SHARE", default_value = "0", allow_hyphen_values = true, value_parser = share)]
    remove: f64,
    /// Folder to write the motion to; made if it is not there
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    mesh: MeshArgs,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

fn within(text: &str, most: f64) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if (0.0..=most).contains(&x) => Ok(x),
        _ => Err(format!("not a number from 0 to {most}")),
    }
}

fn share(text: &str) -> Result<f64, String> {
    within(text, 1.0)
}

fn sizes(text: &str) -> Result<f64, String> {
    within(text, 10.0)
}

/// The files of a motion.
const NAMES: [&str; 3] = ["motion.csv", "motion.html", "motion.png"];
const CONTACTS: &str = "contacts.csv";
/// Size of a page that some browsers do not open [bytes].
const LARGE: u64 = 100_000_000;

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    // What is wrong with places should not cost a motion.
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let probe = files::Temporary::beside(&folder.join(NAMES[0]))?;
        File::create(probe.path())
            .with_context(|| format!("cannot write to the folder {}", folder.display()))?;
    }
    let reporter = Reporter::new(global.quiet || global.json);
    reporter.stage("read", 0);
    let motion = MotionParams {
        steps: args.steps as usize,
        wave: args.wave,
        apart: args.apart,
        overlap: args.overlap,
        remove: args.remove,
    };
    palpate::par::with_threads(args.threads, || {
        let scene = Scene::load(&args.meshes, args.mesh.unit, motion)?;
        reporter.check()?;
        answer(args, &scene, &reporter)
    })
}

fn answer(args: &Args, scene: &Scene, reporter: &Reporter) -> Result<Outcome> {
    let keep = args.output.is_some();
    let question = Question { way: args.method, own: args.own, contacts: args.contacts, keep };
    // Contacts are many: they go to their file as they come, which gets its name at the end.
    let mut table = match &args.output {
        Some(folder) if args.contacts => {
            let file = files::Temporary::beside(&folder.join(CONTACTS))?;
            let mut out = BufWriter::with_capacity(1 << 20, File::create(file.path())?);
            writeln!(out, "{}", soft::contact_columns())?;
            Some((file, out))
        }
        _ => None,
    };
    let sink = table.as_mut().map(|(_, out)| out as &mut dyn std::io::Write);
    let mut run = soft::run(scene, &question, sink, reporter)?;
    let title = Told { scene, run: &run, question: &question }.title();
    let motion = soft::deforming(scene, &mut run, &title, &command(args));
    let told = Told { scene, run: &run, question: &question };
    let (mut json, figures, mut warnings) = (told.json(), told.rows(), told.warnings());
    let mut written = Vec::new();
    if let Some(folder) = &args.output {
        let stale = folder.join(CONTACTS);
        if table.is_none() && stale.exists() {
            warnings.push(format!("{} is of another motion", stale.display()));
        }
        match motion.segments_left_out() {
            0 => {}
            n => warnings.push(format!(
                "{} segments where triangles meet are not on the page, because there are many; --contacts keeps a table of all",
                units::count(n as u64)
            )),
        }
        let params = PageParams { rows: figures.clone(), warnings: warnings.clone() };
        written = write(folder, &run, &motion, &params, reporter)?;
        if let Some((file, mut out)) = table {
            out.flush().context("cannot write the contacts")?;
            drop(out);
            file.keep()?;
            written.push(folder.join(CONTACTS));
        }
    }
    let large = |p: &PathBuf| p.metadata().is_ok_and(|m| m.len() > LARGE) && p.ends_with(NAMES[1]);
    if let Some(path) = written.iter().find(|p| large(p)) {
        warnings.push(format!("{} is large: browsers may refuse it; reduce the meshes", path.display()));
    }
    let (took, _) = reporter.finish();
    json["frames"] = json!(motion.frames.len());
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
fn command(args: &Args) -> String {
    let mut text = String::from("palpate soft");
    for mesh in &args.meshes {
        let _ = write!(text, " {mesh}");
    }
    let _ = write!(text, " --steps {} --method {}", args.steps, args.method.name());
    for (name, value, usual) in [
        ("wave", args.wave, 0.03),
        ("apart", args.apart, 0.2),
        ("overlap", args.overlap, 0.8),
        ("remove", args.remove, 0.0),
        ("unit", args.mesh.unit, 1.0),
    ] {
        if value != usual {
            let _ = write!(text, " --{name} {value}");
        }
    }
    for (name, on) in [("own", args.own), ("contacts", args.contacts)] {
        if on {
            let _ = write!(text, " --{name}");
        }
    }
    text
}

/// Writes the files of a motion, each whole or not at all.
fn write(
    folder: &Path,
    run: &soft::Run,
    motion: &Deforming,
    params: &PageParams,
    reporter: &Reporter,
) -> Result<Vec<PathBuf>> {
    let paths = NAMES.map(|n| folder.join(n));
    reporter.stage("write motion", 0);
    files::write(&paths[0], |out| Ok(soft::write_steps(out, &run.rows)?))?;
    reporter.stage("draw page", 0);
    let html = page(motion, params)?;
    files::write(&paths[1], |out| Ok(out.write_all(html.as_bytes())?))?;
    reporter.stage("draw film strip", 0);
    let strip = png::encode(&film_strip(motion, &StripParams { height: 300, ..StripParams::default() }))?;
    files::write(&paths[2], |out| Ok(out.write_all(&strip)?))?;
    Ok(paths.to_vec())
}
