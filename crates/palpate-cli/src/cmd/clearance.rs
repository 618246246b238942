//! `palpate clearance`: how far apart two shapes stay along a motion.

use crate::ask::{Answer, Question};
use crate::motion::{self, Motion, State, Sweep};
use crate::outcome::{Outcome, rows};
use crate::pair::{PairArgs, not_unit, read_poses};
use crate::progress::Reporter;
use crate::{Global, files, parse};
use anyhow::Result;
use palpate::progress::Progress;
use palpate::query::batch;
use palpate_view::units;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  palpate clearance cell.palp arm.palp --trajectory poses.csv --min 5mm
  palpate clearance bolt.stl nut.stl --unit mm --trajectory unscrew.csv --between 20 --min 0.1mm -o out.csv
  palpate clearance a.palp b.palp --trajectory poses.csv --min 0.5mm --report motion.html --json

poses.csv has one pose of B, seen from A, a line: x,y,z,qx,qy,qz,qw in metres (or x,y,z without a rotation).
Each pose is clear (certainly at least --min apart), violated (certainly not) or uncertain: closer to --min than
the bound of the distance, which points nearer to each other make smaller (--spacing).
--continuous follows the motion between the poses and says whether the shapes certainly do not touch anywhere.
Exit codes: 0 when no pose is violated, 1 when one is (with --strict also when one is uncertain), 2 on failure.
Columns: pose,x,y,z,qx,qy,qz,qw,distance,bound,state,contacts,depth,ax,ay,az,bx,by,bz; a and b are the nearest
points of the two surfaces. Without -o the table goes to standard output and the summary to standard error.";

/// Checks that two shapes stay apart along a motion: table, page with plot and pictures, exit code.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File of the poses of B, one x,y,z,qx,qy,qz,qw a line
    #[arg(long, value_name = "POSES.csv")]
    trajectory: PathBuf,
    /// Distance that must be kept, for example 0.5mm; 0 asks for no overlap only
    #[arg(long, value_name = "LENGTH", default_value = "0", allow_hyphen_values = true, value_parser = parse::least_length)]
    min: f64,
    /// Poses added between two of the file: rotations turn evenly, places move straight
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    between: u32,
    /// Make certain that nothing touches between the poses of the file either, by following the motion
    #[arg(long)]
    continuous: bool,
    /// Table to write, .csv; - is standard output
    #[arg(long, short, value_name = "OUT.csv")]
    output: Option<PathBuf>,
    /// Page to write, with the plot and the worst poses pictured, .html
    #[arg(long, value_name = "PAGE.html")]
    report: Option<PathBuf>,
    /// Exit with code 1 also when a pose is uncertain
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    pair: PairArgs,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    // Poses and places first: what is wrong with them should not cost a build.
    let (given, noted) = read_poses(&args.trajectory)?;
    let output = args.output.as_ref().filter(|p| p.as_os_str() != "-");
    for path in [output, args.report.as_ref()].into_iter().flatten() {
        drop(files::Temporary::beside(path)?);
    }
    let (poses, numbers) = motion::between(&given, args.between)?;
    let reporter = Reporter::new(global.quiet || global.json);
    let pair = args.pair.load(&reporter)?;
    reporter.stage("ask", poses.len() as u64);
    let question = Question::default();
    let answers = palpate::par::with_threads(args.pair.build.threads, || {
        batch(&poses, |query, pose| {
            reporter.advance(1);
            // After Ctrl-C the rest is not worth waiting for; `check` below ends the command.
            (!reporter.cancelled()).then(|| pair.ask(query, pose, &question))
        })
    });
    reporter.check()?;
    let answers: Vec<Answer> = answers.into_iter().flatten().collect();
    let mut warnings = pair.warnings();
    warnings.extend(not_unit(noted));
    let sweep = match args.continuous {
        true => {
            reporter.stage("follow", given.len().saturating_sub(1) as u64);
            let sweep = palpate::par::with_threads(args.pair.build.threads, || {
                Sweep::follow(&pair, &given, &reporter)
            });
            reporter.check()?;
            Some(sweep)
        }
        false => None,
    };
    let motion = Motion { pair: &pair, poses, numbers, answers, min: args.min, warnings, sweep };
    let csv = motion.csv();
    // The page before the table: if it fails nothing is written.
    let html = match &args.report {
        None => None,
        Some(_) => {
            reporter.stage("draw pictures", 0);
            let command = format!(
                "palpate clearance {} {} --trajectory {} --min {}",
                args.pair.a,
                args.pair.b,
                args.trajectory.display(),
                crate::pair::option(args.min)
            );
            Some(palpate::par::with_threads(args.pair.build.threads, || motion.page(&command))?)
        }
    };
    reporter.check()?;
    if let (Some(path), Some(html)) = (&args.report, html) {
        files::write(path, |out| Ok(out.write_all(html.as_bytes())?))?;
    }
    if let Some(path) = output {
        files::write(path, |out| Ok(out.write_all(csv.as_bytes())?))?;
    }
    let (seconds, _) = reporter.finish();
    let [clear, uncertain, violated] = motion.counts();
    let state = motion.state();
    let fails = state == State::Violated || (args.strict && state == State::Uncertain);
    let summary = motion.summary();
    let json = json!({
        "state": state.name(),
        "min": args.min,
        "poses": motion.poses.len(),
        "clear": clear,
        "uncertain": uncertain,
        "violated": violated,
        "least_distance": summary.least.map(|i| motion.answers[i].distance.distance),
        "least_bound": summary.least.map(|i| motion.answers[i].distance.bound),
        "least_pose": summary.least.map(|i| motion.numbers[i]),
        "in_contact": summary.in_contact,
        "deepest": summary.deepest,
        "largest_step": summary.largest_step,
        "free_between": motion.sweep.as_ref().map(|s| s.first.is_none()),
        "first_approach": motion.sweep.as_ref().and_then(|s| s.first),
        "micros_mean": summary.micros_mean,
        "seconds": seconds,
        "shapes": pair.json(),
        "warnings": motion.warnings,
        "output": output.map(|p| p.display().to_string()),
        "report": args.report.as_ref().map(|p| p.display().to_string()),
    });
    let mut text = format!("{} (A) and {} (B): {}\n", pair.a.title, pair.b.title, motion.verdict());
    text += &rows(&motion.rows());
    for warning in &motion.warnings {
        let _ = writeln!(text, "! {warning}");
    }
    for path in [output, args.report.as_ref()].into_iter().flatten() {
        let _ = writeln!(text, "written: {}", path.display());
    }
    let _ =
        writeln!(text, "{} poses in {}", units::count(motion.poses.len() as u64), units::seconds(seconds));
    if output.is_none() && !global.json {
        // The table is the answer; the words are for whoever watches.
        if !global.quiet {
            eprint_quietly(&text);
        }
        text = csv;
    }
    Ok(Outcome { code: u8::from(fails), ..Outcome::new(text, json) })
}

/// To standard error; whoever closed it does not want to know.
fn eprint_quietly(text: &str) {
    use std::io::Write as _;
    let _ = std::io::stderr().write_all(text.as_bytes());
}
