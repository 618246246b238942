//! `palpate query`: two shapes in a pose, or in many: contact, distance, force.

use crate::cmd::{BuildArgs, Up};
use crate::outcome::{Outcome, rows};
use crate::pair::{Answer, Pair, Question};
use crate::progress::Reporter;
use crate::{Global, files, parse, picture};
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::force::{Direction, ForceParams, Law};
use palpate::progress::Progress;
use palpate::query::{Roles, batch};
use palpate::{Pose, Query};
use palpate_view::{png, units};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  palpate query bolt.palp nut.palp --pose \"0 0 0.01 0 0 0 1\"
  palpate query bolt.stl nut.stl --unit mm --pose \"0 0 10mm\" --picture nut.png
  palpate query sample:hole sample:peg --pose \"0.1mm 0 -20mm\" --stiffness 1e9
  palpate query a.palp b.palp --pose \"0.01 0 0\" --penetration
  palpate query a.palp b.palp --poses poses.csv --json > answers.json

A pose says where B is, seen from A: x y z, then the rotation as a quaternion qx qy qz qw (none: not rotated).
Numbers are metres unless a unit follows, whatever --unit says about the files. poses.csv has one pose a line.
Answers are in A's frame; force and torque act on B, about B's origin. Distances are measured between points
of the surfaces: the true one is never larger, and smaller by the bound at most.
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
    /// First shape: built .palp file, mesh file or sample:NAME
    #[arg(value_name = "A")]
    a: String,
    /// Second shape
    #[arg(value_name = "B")]
    b: String,
    /// Where B is, seen from A: "x y z qx qy qz qw" or "x y z" [default: as the files have them]
    #[arg(long, value_name = "POSE", allow_hyphen_values = true)]
    pose: Option<String>,
    /// File of poses, one x,y,z,qx,qy,qz,qw a line
    #[arg(long, value_name = "POSES.csv", conflicts_with = "pose")]
    poses: Option<PathBuf>,
    /// Stiffness of the contact: N/m³ for the integrated law, N/m for the averaged one; without it no force is given
    #[arg(long, value_name = "K", allow_hyphen_values = true, value_parser = stiffness)]
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
    /// Find the shortest translation that separates the shapes, too: how far B must go, and which way (milliseconds)
    #[arg(long)]
    penetration: bool,
    /// List the contacts of each pose too, with --poses
    #[arg(long)]
    contacts: bool,
    /// Picture of both shapes with contacts or the shortest line between them, .png
    #[arg(long, value_name = "FILE", conflicts_with = "poses")]
    picture: Option<PathBuf>,
    /// Axis of A that is up in pictures: x, y or z [default: z for STL and samples, y otherwise]
    #[arg(long, value_enum, hide_possible_values = true)]
    up: Option<Up>,
    #[command(flatten)]
    build: BuildArgs,
}

/// A stiffness: finite and not negative.
fn stiffness(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(k) if k >= 0.0 && k.is_finite() => Ok(k),
        _ => Err("not a stiffness; write a number of 0 or more, for example 1e9".into()),
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
    let mut pair = Pair::load(&args.a, &args.b, &args.build, &reporter)?;
    if let Some(up) = args.up {
        pair.a.up = up.axis();
    }
    let single = args.poses.is_none();
    let question = args.question(single);
    let answers = palpate::par::with_threads(args.build.threads, || {
        if single {
            // Once before: the first query grows its memory.
            let mut query = Query::new();
            let _ = pair.ask(&mut query, &poses[0], &question);
            vec![pair.ask(&mut query, &poses[0], &question)]
        } else {
            reporter.stage("ask", poses.len() as u64);
            batch(&poses, |query, pose| {
                reporter.advance(1);
                pair.ask(query, pose, &question)
            })
        }
    });
    reporter.check()?;
    let mut warnings = pair.warnings();
    if noted > 0 {
        warnings.push(match single {
            true => "the quaternion was not of length 1 and was made so".to_owned(),
            false => format!("{noted} quaternions were not of length 1 and were made so"),
        });
    }
    if let Some(path) = &args.picture {
        reporter.stage("picture", 0);
        let image = palpate::par::with_threads(args.build.threads, || {
            picture::pair(&pair, &poses[0], &answers[0], picture::SIZE)
        });
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
    json["picture"] = json!(args.picture.as_ref().map(|p| p.display().to_string()));
    let mut text = if single { args.told(&pair, &poses[0], &answers[0]) } else { table(&pair, &answers) };
    for warning in &warnings {
        let _ = writeln!(text, "! {warning}");
    }
    if let Some(path) = &args.picture {
        let _ = writeln!(text, "picture: {}", path.display());
    }
    Ok(Outcome::new(text, json))
}

/// The poses of a file and how many quaternions were not unit.
///
/// # Errors
/// Names file, line and column.
pub(crate) fn read_poses(path: &std::path::Path) -> Result<(Vec<Pose>, usize)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse::poses(&text, &path.display().to_string())
}

/// A place in one unit: `(1.2, 0, -3) mm`.
pub(crate) fn place(p: DVec3) -> String {
    let largest = p.abs().max_element();
    let (unit, scale) = match largest {
        x if x >= 1.0 => ("m", 1.0),
        x if x >= 1e-3 => ("mm", 1e-3),
        x if x > 0.0 => ("µm", 1e-6),
        _ => ("m", 1.0),
    };
    // Rounding errors are no coordinates.
    let digits = p.to_array().map(|x| units::number(if x.abs() < 1e-6 * largest { 0.0 } else { x / scale }));
    format!("({}) {unit}", digits.join(", "))
}

/// A direction or a vector without unit.
fn vector(v: DVec3) -> String {
    let largest = v.abs().max_element();
    let digits = v.to_array().map(|x| units::number(if x.abs() < 1e-4 * largest { 0.0 } else { x }));
    format!("({})", digits.join(", "))
}

impl Args {
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
            PointsArg::Fewer => Some(Roles::Fewer),
            PointsArg::A => Some(Roles::PointsOfA),
            PointsArg::B => Some(Roles::PointsOfB),
            PointsArg::Both => None,
        };
        Question {
            margin: self.margin,
            roles,
            force,
            penetration: self.penetration,
            keep_contacts: single || self.contacts,
        }
    }

    /// The answer for people.
    fn told(&self, pair: &Pair, pose: &Pose, answer: &Answer) -> String {
        let (a, b, d) = (&pair.a.title, &pair.b.title, &answer.distance);
        let row = |name: &str, value: String| (name.to_owned(), value);
        let mut text = format!("{a} (A) and {b} (B), B at {}", place(pose.translation));
        let angle = 2.0 * pose.rotation.w.abs().clamp(0.0, 1.0).acos();
        if angle > 1e-9 {
            let _ = write!(text, ", turned by {}°", units::number(angle.to_degrees()));
        }
        text += ": ";
        let mut out = Vec::new();
        if d.distance.is_infinite() {
            text += "no answer, one of them has no points\n";
        } else if answer.intersects {
            let _ = writeln!(text, "they overlap");
            let most = units::length(answer.depth() + d.bound);
            out.push(row("depth", format!("{}, at most {most}", units::length(answer.depth()))));
            out.push(row("deepest at", format!("{} in A's frame", place(d.witness_b))));
        } else {
            let _ = writeln!(text, "they are apart");
            let least = (d.distance - d.bound).max(0.0);
            out.push(row(
                "distance",
                format!("{}, at least {}", units::length(d.distance), units::length(least)),
            ));
            out.push(row("from A at", place(d.witness_a)));
            out.push(row("to B at", place(d.witness_b)));
            if least == 0.0 && d.distance > 0.0 {
                let finer = crate::pair::option(0.6 * d.distance);
                out.push(row("", format!("touching is not excluded; --spacing {finer} or less would tell")));
            }
        }
        for list in &answer.lists {
            let (points, other) = if list.of_a { ("A", "B") } else { ("B", "A") };
            let outside = if self.margin > 0.0 {
                format!(" or within {} of it", units::length(self.margin))
            } else {
                String::new()
            };
            let mut said =
                format!("{} points of {points} in {other}{outside}", units::count(list.count as u64));
            if list.deepest < 0.0 {
                let _ = write!(said, ", the deepest {} by the field", units::length(-list.deepest));
            }
            out.push(row("contacts", said));
        }
        if answer.contact_area > 0.0 {
            out.push(row("surface in contact", units::area(answer.contact_area)));
            out.push(row("B is pushed along", vector(answer.push.normalize_or_zero())));
        } else if answer.intersects {
            let hint = "none of those points: the shapes overlap the other way round; try --points-of both";
            out.push(row("", hint.to_owned()));
        }
        if let Some(force) = &answer.force {
            let f = force.wrench.force;
            out.push(row("force on B", format!("{} N = {} N", vector(f), units::number(f.length()))));
            out.push(row("torque on B", format!("{} N m about B's origin", vector(force.wrench.torque))));
        } else if answer.intersects {
            out.push(row("force", "not asked for: --stiffness 1e9 gives it (N/m³)".to_owned()));
        }
        let seconds = |micros: f64| units::seconds(1e-6 * micros);
        if let (Some(p), Some(micros)) = (&answer.penetration, answer.micros_penetration) {
            let text = if p.overlapping {
                format!(
                    "{} along {} parts them, {} certainly (found in {})",
                    units::length(p.depth),
                    vector(p.direction),
                    units::length(p.depth + p.bound),
                    seconds(micros)
                )
            } else {
                "none needed".to_owned()
            };
            out.push(row("shortest way out", text));
        }
        out.push(row(
            "asked in",
            format!(
                "{} (distance {}, contacts {})",
                seconds(answer.micros),
                seconds(answer.micros_distance),
                seconds(answer.micros_contacts)
            ),
        ));
        text + &rows(&out)
    }
}

/// One line a pose.
fn table(pair: &Pair, answers: &[Answer]) -> String {
    let mut text = format!("{} (A) and {} (B)\n", pair.a.title, pair.b.title);
    let forces = answers.iter().any(|a| a.force.is_some());
    let head = if forces { "  force on B [N]" } else { "" };
    let _ = writeln!(text, "  pose     distance        bound  contacts{head}");
    for (i, answer) in answers.iter().enumerate() {
        let force = answer.force.map_or(String::new(), |f| format!("  {}", vector(f.wrench.force)));
        let _ = writeln!(
            text,
            "  {:>4} {:>12} {:>12} {:>9}{force}",
            i + 1,
            units::length(answer.distance.distance),
            units::length(answer.distance.bound),
            units::count(answer.contact_count as u64)
        );
    }
    let touching = answers.iter().filter(|a| a.intersects).count();
    let mean = answers.iter().map(|a| a.micros).sum::<f64>() / answers.len().max(1) as f64;
    let _ = writeln!(
        text,
        "  {touching} of {} poses overlap; {} a pose",
        answers.len(),
        units::seconds(1e-6 * mean)
    );
    text
}
