//! `palpate feel`: a haptic device, or a simulated one, moves one shape against another.

use crate::feel::device::{DeviceArgs, Kinds, Modes};
use crate::feel::{self, Row};
use crate::outcome::Outcome;
use crate::pair::PairArgs;
use crate::progress::Reporter;
use crate::{Global, files, parse};
use anyhow::{Context, Result, bail};
use palpate::Shape;
use palpate::progress::Progress;
use palpate::shell::{Shell, ShellParams};
use palpate::tree::{Tree, TreeParams};
use palpate_haptic::exercise::above;
use palpate_haptic::{Pair, Rig, RigParams, RunParams, ToolParams, run as run_loop};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const EXAMPLES: &str = "Examples:
  palpate feel sample:hole sample:peg                     a simulated hand presses one onto the other
  palpate feel bolt.palp nut.palp --pose \"0 0 0.01\" --motion wedge --seconds 60 --json
  palpate feel hole.stl peg.stl --unit mm --device haply  a Haply Inverse3, through its service on this machine
  palpate feel a.palp b.palp --device replay --path hand.csv -o felt.csv

A stays; B is the tool, which a spring ties to the handle. --pose says where the tool is, seen from A, when the handle is at its
origin; it must touch nothing there. A path has a row t,x,y,z,qx,qy,qz,qw for each moment: where the handle is, in metres and
seconds. Points on surfaces are four voxels apart unless --spacing says otherwise: more take longer. The log has a row for each tick: handle, tool, force, torque, contacts, depth, microseconds.";

/// Feels a shape with another, at 1 kHz and above: on a haptic device or with a simulated hand.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pair: PairArgs,
    /// What moves the tool: sim, haply or replay
    #[arg(long, value_enum, default_value_t = Kinds::Sim, hide_possible_values = true)]
    device: Kinds,
    /// How long [s]
    #[arg(long, value_name = "S", allow_hyphen_values = true, default_value_t = 10.0)]
    seconds: f64,
    /// Ticks in a second [Hz], 10 to 10000
    #[arg(long, value_name = "HZ", allow_hyphen_values = true, default_value_t = 1000.0)]
    rate: f64,
    /// How the tool meets A: held (it never enters) or soft (it gives)
    #[arg(long, value_enum, default_value_t = Modes::Held, hide_possible_values = true)]
    mode: Modes,
    /// Coulomb friction [1]
    #[arg(long, value_name = "MU", allow_hyphen_values = true, default_value_t = 0.2)]
    friction: f64,
    /// Where the tool is at first, seen from A: "x y z qx qy qz qw" or "x y z" [default: above A]
    #[arg(long, value_name = "POSE", allow_hyphen_values = true)]
    pose: Option<String>,
    #[command(flatten)]
    how: DeviceArgs,
    /// Let energy grow, to see what that is like
    #[arg(long)]
    no_passivity: bool,
    /// Log of every tick
    #[arg(long, short, value_name = "LOG.csv")]
    output: Option<PathBuf>,
}

/// Voxels between points, unless --spacing says otherwise.
const APART: f64 = 4.0;
/// Rows of a log that are kept at most: a quarter of an hour at 4 kHz.
const MOST_ROWS: f64 = 4e6;

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let params = RunParams { rate: args.rate, seconds: Some(args.seconds), ..RunParams::default() };
    if !(args.friction >= 0.0 && args.friction.is_finite()) {
        bail!("--friction must be a number from 0 on");
    }
    args.how.check(args.device)?;
    params.check().context("--rate must be 10 to 10000 Hz, and --seconds a time")?;
    if args.output.is_some() && args.seconds * args.rate > MOST_ROWS {
        bail!(
            "a log of {:.0} rows is too long; log less time, or at a lower --rate",
            args.seconds * args.rate
        );
    }
    if let Some(path) = &args.output {
        files::Temporary::beside(path)?;
    }
    let reporter = Reporter::new(global.quiet || global.json);
    let shapes = args.pair.load(&reporter)?;
    let up = shapes.a.up;
    let title = format!("{} on {}", shapes.b.title, shapes.a.title);
    let [a, b] = [shapes.a.shape, shapes.b.shape]
        .map(|s| if args.pair.build.spacing.is_some() { Ok(s) } else { wider(s, &reporter) });
    let pair = Pair::new(Arc::new(a?), Arc::new(b?));
    let start = match &args.pose {
        Some(text) => parse::pose(text).with_context(|| format!("--pose \"{text}\""))?.0,
        None => above(&pair, up),
    };
    if palpate::Query::new().intersects(pair.fixed(), pair.tool(), &start) {
        bail!("the tool is inside {} at its start; say with --pose where it is free", shapes.a.title);
    }
    let (mut device, mapping, delay) = args.how.open(args.device, &pair, start, up, args.rate)?;
    let limits = device.limits();
    let rig_params = RigParams {
        mode: args.mode.mode(),
        tool: ToolParams { friction: args.friction, ..ToolParams::default() },
        delay,
        passive: !args.no_passivity,
    };
    let mut rig = Rig::new(pair, &limits, mapping, &rig_params)?;
    // Reserved before the loop begins, so that it does not stop for memory.
    let mut rows: Vec<Row> =
        Vec::with_capacity(if args.output.is_some() { (args.seconds * args.rate) as usize + 1 } else { 0 });
    let stop = AtomicBool::new(false);
    let logs = args.output.is_some();
    reporter.stage("feel", args.seconds.ceil() as u64);
    let mut told = 0;
    let health = run_loop(&mut *device, &mut rig, &params, &stop, &mut |tick| {
        if logs && rows.len() < rows.capacity() {
            rows.push(Row::of(tick));
        }
        let whole = tick.seconds as u64;
        if whole > told {
            reporter.advance(whole - told);
            told = whole;
        }
        !reporter.cancelled()
    })?;
    reporter.finish();
    let log = match &args.output {
        Some(path) => {
            Some((path.display().to_string(), files::write(path, |out| feel::write_log(out, &rows))?))
        }
        None => None,
    };
    let felt = feel::Felt {
        title,
        device: device.name(),
        rate: args.rate,
        params: rig_params,
        report: health.report(),
        log,
    };
    Ok(Outcome::new(felt.text(), felt.json()))
}

/// The shape with points as far apart as a loop has time for: a quarter as many feel the same.
fn wider(shape: Shape, reporter: &Reporter) -> Result<Shape> {
    let spacing = APART * shape.field().lattice().voxel;
    if shape.tree().shell_report().spacing >= spacing {
        return Ok(shape);
    }
    let shell = Shell::build_with(shape.mesh(), shape.field(), spacing, &ShellParams::default(), reporter)?;
    Ok(shape.with_tree(Tree::build(&shell, &TreeParams::default())))
}
