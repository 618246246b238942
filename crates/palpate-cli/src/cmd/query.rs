//! `palpate query`: two shapes in a pose, or in many: contact, distance, force.

use crate::ask::{Answer, Choice, Method, Question};
use crate::gpu::{By, GpuArgs};
use crate::outcome::Outcome;
use crate::pair::{Pair, PairArgs, not_unit, read_poses};
use crate::parse::Limit;
use crate::progress::Reporter;
use crate::{Global, files, parse, picture, tell};
use anyhow::{Context, Result, bail};
use palpate::force::{Direction, ForceParams, Law};
use palpate::progress::Progress;
use palpate::query::{Roles, batch};
use palpate::{Pose, Query};
use palpate_view::png;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  palpate query bolt.palp nut.palp --pose \"0 0 0.01 0 0 0 1\"
  palpate query bolt.stl nut.stl --unit mm --pose \"0 0 10mm\" --picture nut.png
  palpate query sample:hole sample:peg --pose \"0.1mm 0 -20mm\" --stiffness 1e9
  palpate query a.palp b.palp --pose \"0.01 0 0\" --penetration
  palpate query a.palp b.palp --poses poses.csv --json > answers.json
  palpate query a.palp b.palp --stiffness 1e9 --reduce 8       eight contacts that push as all do
  palpate query a.palp b.palp --stiffness 1e9 --budget 20us    as much as 20 µs allow
  palpate query a.palp b.palp --poses poses.csv --stiffness 1e9 --gpu       ten thousand poses at once

A pose says where B is, seen from A: x y z, then the rotation as a quaternion qx qy qz qw (none: not rotated).
Numbers are metres unless a unit follows, whatever --unit says about the files. poses.csv has one pose a line.
Answers are in A's frame; force and torque act on B, about B's origin. Distances are measured between points
of the surfaces: the true one is never larger, and smaller by the bound at most.
Force and number are those of all contacts that were found; --segments and --reduce choose which of them are
listed. A budget that does not suffice gives a coarser picture of the whole contact, and says how far it came.
The GPU finds the same contacts as the CPU but for rounding, and so the same force; its distance is measured from
the nearest point of a surface, not from the nearest place between points, so that its bound is wider.
`palpate gpu` lists devices. --penetration, --reduce and pictures work with it, from what it found.
Meshes are built each time: `palpate build` keeps them, and answers then come at once.";

/// How the forces of the contacts make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LawArg {
    Integrated,
    Averaged,
}

/// Along what a contact pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DirectionArg {
    Field,
    Shell,
}

/// Which shape gives the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PointsArg {
    Fewer,
    A,
    B,
    Both,
}

/// Says whether two shapes touch, where, how deep, how far apart they are, and with which force.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where B is, seen from A: "x y z qx qy qz qw" or "x y z" [default: as the files have them]
    #[arg(long, value_name = "POSE", allow_hyphen_values = true)]
    pose: Option<String>,
    /// File of poses, one x,y,z,qx,qy,qz,qw a line
    #[arg(long, value_name = "POSES.csv", conflicts_with = "pose")]
    poses: Option<PathBuf>,
    /// Stiffness of the contact: N/m³ for the integrated law, N/m for the averaged one; without it no force is given
    #[arg(long, value_name = "K", allow_hyphen_values = true, value_parser = parse::stiffness)]
    stiffness: Option<f64>,
    /// integrated (a larger contact pushes more) or averaged (divided by the area in contact)
    #[arg(long, value_enum, default_value_t = LawArg::Integrated, hide_possible_values = true)]
    law: LawArg,
    /// Along what contacts push: field (the gradient) or shell (the normal of the surface with the points)
    #[arg(long, value_enum, default_value_t = DirectionArg::Field, hide_possible_values = true)]
    direction: DirectionArg,
    /// Points up to this far outside count as contacts too, for example 0.1mm
    #[arg(long, value_name = "LENGTH", default_value = "0", allow_hyphen_values = true, value_parser = parse::least_length)]
    margin: f64,
    /// Which shape's points are looked for in the other: fewer, a, b or both (forces take half of each)
    #[arg(long, value_enum, default_value_t = PointsArg::Fewer, hide_possible_values = true)]
    points_of: PointsArg,
    /// Test every point instead of asking the tree: the same contacts, slowly
    #[arg(long)]
    plain: bool,
    /// What finding contacts may cost, in each direction: points and balls tested, for example 4000 (the same answer
    /// each time; 0 finds none), or a time, for example 20us (0us stops at once, with the coarsest points)
    #[arg(long, value_name = "POINTS|TIME", allow_hyphen_values = true, value_parser = parse::limit, conflicts_with = "plain")]
    budget: Option<Limit>,
    /// List the deepest contact of each segment of the surface only: about 15 segments, the tree's nearest level
    #[arg(long, conflicts_with_all = ["plain", "budget"])]
    segments: bool,
    /// List at most N contacts that together push as all do (same force, torque and area), or bullet: the four that
    /// Bullet keeps, the deepest and those that span the largest area
    #[arg(long, value_name = "N|bullet", allow_hyphen_values = true, value_parser = choice, conflicts_with = "segments")]
    reduce: Option<Choice>,
    /// Find the shortest translation that separates the shapes, too: how far B must go, and which way (milliseconds)
    #[arg(long)]
    penetration: bool,
    /// List the contacts of each pose too, with --poses
    #[arg(long)]
    contacts: bool,
    /// Picture of both shapes with contacts or the shortest line between them, .png
    #[arg(long, value_name = "FILE", conflicts_with = "poses")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    gpu: GpuArgs,
    #[command(flatten)]
    pair: PairArgs,
}

/// Which contacts to list: a number of 1 or more, or `bullet`.
fn choice(text: &str) -> Result<Choice, String> {
    match (text.trim(), text.trim().parse::<usize>()) {
        ("bullet", _) => Ok(Choice::Bullet),
        (_, Ok(n)) if n > 0 => Ok(Choice::Reduce(n)),
        _ => {
            Err("not a number of contacts; write 1 or more, for example 8, or bullet for Bullet's four"
                .into())
        }
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    // Poses and places first: what is wrong with them should not cost a build.
    let (poses, noted) = match &args.poses {
        Some(path) => read_poses(path)?,
        None => {
            let text = args.pose.as_deref().unwrap_or("0 0 0");
            let (pose, noted) = parse::pose(text).with_context(|| format!("--pose \"{text}\""))?;
            (vec![pose], usize::from(noted))
        }
    };
    if let Some(path) = &args.picture {
        if files::extension(path) != "png" {
            bail!("{}: pictures are written as .png", path.display());
        }
        drop(files::Temporary::beside(path)?);
    }
    let reporter = Reporter::new(global.quiet || global.json);
    let pair = args.pair.load(&reporter)?;
    let single = args.poses.is_none();
    let question = args.question(single);
    let by = palpate::par::with_threads(args.pair.build.threads, || {
        args.gpu.ask(&pair, &poses, &question, &reporter)
    })?;
    let mut warnings = pair.warnings();
    let device;
    let answers = match by {
        Some(By::Gpu(asked)) => {
            warnings.extend(asked.warnings);
            device = Some((asked.device, None));
            asked.answers
        }
        other => {
            device = other.map(|by| match by {
                By::Cpu(why) => ("cpu".to_owned(), Some(why)),
                By::Gpu(asked) => (asked.device, None),
            });
            args.ask_cpu(&pair, &poses, &question, &reporter)
        }
    };
    reporter.check()?;
    warnings.extend(question.warnings());
    warnings.extend(not_unit(noted));
    if let Some(path) = &args.picture {
        reporter.stage("picture", 0);
        let image = palpate::par::with_threads(args.pair.build.threads, || {
            picture::pair(&pair, &poses[0], &answers[0], picture::SIZE)
        });
        reporter.check()?;
        files::write(path, |out| Ok(out.write_all(&png::encode(&image)?)?))?;
    }
    reporter.finish();
    let result = |(pose, answer): (&Pose, &Answer), contacts: bool| {
        let mut out = answer.json(contacts);
        let (t, q) = (pose.translation, pose.rotation);
        out["pose"] = json!([t.x, t.y, t.z, q.x, q.y, q.z, q.w]);
        out
    };
    let mut json = if single {
        result((&poses[0], &answers[0]), true)
    } else {
        let all = poses.iter().zip(&answers);
        json!({ "results": all.map(|both| result(both, args.contacts)).collect::<Vec<Value>>() })
    };
    json["shapes"] = pair.json();
    json["warnings"] = json!(warnings);
    if let Some((name, fallback)) = &device {
        json["device"] = json!(name);
        json["fallback"] = json!(fallback);
    }
    json["picture"] = json!(args.picture.as_ref().map(|p| p.display().to_string()));
    let mut text = match single {
        true => tell::one(&pair, &poses[0], &question, &answers[0]),
        false => tell::many(&pair, &answers),
    };
    if let Some((name, _)) = &device {
        let _ = writeln!(text, "  answered by {}", if name == "cpu" { "the CPU" } else { name });
    }
    for warning in &warnings {
        let _ = writeln!(text, "! {warning}");
    }
    if let Some(path) = &args.picture {
        let _ = writeln!(text, "picture: {}", path.display());
    }
    Ok(Outcome::new(text, json))
}

impl Args {
    /// Every answer, one after the other or on all threads; fewer after Ctrl-C.
    fn ask_cpu(&self, pair: &Pair, poses: &[Pose], question: &Question, reporter: &Reporter) -> Vec<Answer> {
        palpate::par::with_threads(self.pair.build.threads, || {
            if self.poses.is_none() {
                // Once before: the first query grows its memory.
                let mut query = Query::new();
                let _ = pair.ask(&mut query, &poses[0], question);
                return vec![pair.ask(&mut query, &poses[0], question)];
            }
            reporter.stage("ask", poses.len() as u64);
            let all = batch(poses, |query, pose| {
                reporter.advance(1);
                // After Ctrl-C the rest is not worth waiting for; `check` then ends the command.
                (!reporter.cancelled()).then(|| pair.ask(query, pose, question))
            });
            all.into_iter().flatten().collect()
        })
    }

    fn question(&self, single: bool) -> Question {
        let force = self.stiffness.map(|k| ForceParams {
            law: match self.law {
                LawArg::Integrated => Law::Integrated,
                LawArg::Averaged => Law::Averaged,
            },
            direction: match self.direction {
                DirectionArg::Field => Direction::Field,
                DirectionArg::Shell => Direction::Shell,
            },
            ..ForceParams::new(k)
        });
        let roles = match self.points_of {
            PointsArg::Fewer | PointsArg::Both => Roles::Fewer,
            PointsArg::A => Roles::PointsOfA,
            PointsArg::B => Roles::PointsOfB,
        };
        let method = match self.budget {
            Some(limit) => Method::Budget(limit),
            None if self.plain => Method::Plain,
            None => Method::Tree,
        };
        Question {
            margin: self.margin,
            roles,
            both: self.points_of == PointsArg::Both,
            method,
            choice: self.reduce.or(self.segments.then_some(Choice::Segments)),
            force,
            penetration: self.penetration,
            keep_contacts: single || self.contacts,
        }
    }
}
