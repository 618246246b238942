//! `palpate assembly`: every clash and every clearance too small among many parts.

use crate::assembly::Input;
use crate::outcome::{Outcome, rows};
use crate::progress::Reporter;
use crate::{Global, files, parse};
use anyhow::{Context, Result, bail};
use palpate::progress::Progress;
use palpate_assembly::{Finding, Job, Kind, Params, Place, Report, csv, json, run as look, sample};
use palpate_view::assembly::{self, About};
use palpate_view::units;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  palpate assembly gearbox/ --unit mm --clearance 0.5mm -o check     watch check/assembly.html
  palpate assembly gearbox.glb --clearance 0.2mm --json
  palpate assembly sample:200 -o check        200 parts made up, with clashes at known places
  palpate assembly gearbox/ --unit mm --clearance 1mm --tolerance 0.1mm --contacts -o check

ASSEMBLY is a folder of mesh files, each a part in its place in one common frame; or a glTF or GLB file, whose nodes are the
parts; or sample:N. A folder may hold an assembly.json, which says which part is where, how often, and how it moves:
  { \"unit\": \"mm\", \"instances\": [
    { \"part\": \"bolt.stl\", \"name\": \"bolt 1\", \"position\": [10, 0, 4], \"rotation\": [0, 0, 0, 1] },
    { \"part\": \"door.stl\", \"to\": { \"position\": [0, 80, 0], \"rotation\": [0, 0, 0.7071, 0.7071] } } ] }
or an assembly.csv with the columns part,name,x,y,z,qx,qy,qz,qw and, for motions, to_x,to_y,to_z,to_qx,to_qy,to_qz,to_qw.

A pair is a clash where it overlaps by more than --tolerance, a clearance where it is nearer than --clearance, and contact
by design where it touches: parts that lie flush on each other, a pin in a bore of its size. Gaps and depths are measured on
the triangles. Of parts that move: the first clash, or the least clearance, and when.

FOLDER receives assembly.html (a table and a picture of each finding), findings.csv (a row for each), findings.json and
a journal: run the same command again after a kill, Ctrl-C or a full disk, and it goes on where it was; after a part was
changed, it looks at the pairs of that part alone. FOLDER/cache keeps built shapes; --cache shares one between runs.
A part that cannot be read is told, and the others go on.
Exit codes: 0 nothing found, 1 clashes or clearances too small, 2 bad input or a part that could not be read.";

/// Checks an assembly: every pair of parts that clash or come too near, with depth, place, volume and picture.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of meshes, glTF or GLB file, or sample:N
    #[arg(value_name = "ASSEMBLY")]
    assembly: String,
    /// Distance that parts should keep from each other, for example 0.5mm [default: 0.5mm]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::length, default_value = "0.5mm", hide_default_value = true)]
    clearance: f64,
    /// Overlaps and gaps of at most this are contact by design [default: a tenth of the clearance]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse::least_length)]
    tolerance: Option<f64>,
    /// Tell of contact by design as well
    #[arg(long)]
    contacts: bool,
    /// Folder to write findings, page and pictures to; made if it is not there
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Folder that keeps built shapes; made if it is not there [default: cache in the folder of -o]
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Most clashes and clearances that are pictured, the worst first
    #[arg(long, value_name = "N", default_value_t = 200)]
    pictures: usize,
    /// Unit of the numbers in the files: m, mm, um, cm, km, in, ft, or metres per unit
    #[arg(long, default_value = "m", value_parser = parse::unit, value_name = "UNIT")]
    unit: f64,
    /// Edge of a voxel of the shapes that are built for overlaps [default: half of the clearance, or 64 along a part]
    #[arg(long, allow_hyphen_values = true, value_parser = parse::length, value_name = "LENGTH")]
    voxel: Option<f64>,
    /// Memory of the shapes that are open at a time
    #[arg(long, value_parser = parse::bytes, value_name = "SIZE", default_value = "2GiB")]
    max_memory: u64,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

/// Rows of the summary that name single findings.
const SHOWN: usize = 20;

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let params = Params {
        tolerance: args.tolerance,
        voxel: args.voxel,
        max_memory: args.max_memory,
        threads: args.threads,
        ..Params::new(args.clearance)
    };
    params.check()?;
    let input = Input::parse(&args.assembly)?;
    let cache = args.cache.clone().or_else(|| args.output.as_ref().map(|o| o.join("cache")));
    for folder in [&args.output, &cache].into_iter().flatten() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    if let Some(folder) = &args.output {
        drop(files::Temporary::beside(&folder.join("findings.csv"))?);
    }
    let reporter = Reporter::new(global.quiet || global.json);
    let (job, planted) = palpate::par::with_threads(args.threads, || input.job(args.unit, &reporter))?;
    if job.instances.is_empty() {
        let first = job.failures.first().map(|f| format!("{}: {}", f.part, f.problem));
        bail!("no part of {} can be used; the first: {}", args.assembly, first.unwrap_or_default());
    }
    let place = Place { journal: args.output.as_deref(), cache: cache.as_deref() };
    let report = look(&job, &params, &place, &reporter)?;
    let told = report.ordered(args.contacts);
    let mut value = json(&job, &params, &report, &told);
    let written = match &args.output {
        Some(folder) => {
            let about = About {
                title: &args.assembly,
                job: &job,
                params: &params,
                report: &report,
                told: &told,
                pictures: args.pictures,
                cache: cache.as_deref(),
            };
            palpate::par::with_threads(args.threads, || write(folder, &about, &value, &reporter))?
        }
        None => Vec::new(),
    };
    let (took, _) = reporter.finish();
    let mut text = summary(args, &job, &params, &report, &told);
    if let Some(planted) = planted {
        let (found, invented) = sample::compare(&planted, &report);
        let _ = writeln!(text, "  planted: {found} of {} found, {invented} invented", planted.len());
        value["planted"] = json!({ "count": planted.len(), "found": found, "invented": invented });
    }
    for path in &written {
        let _ = writeln!(text, "written: {}", path.display());
    }
    if written.is_empty() {
        text += "nothing was written: -o FOLDER keeps findings, page and pictures\n";
    }
    let _ = writeln!(text, "done in {}", units::seconds(took));
    value["files"] = json!(written.iter().map(|p| p.display().to_string()).collect::<Vec<_>>());
    value["run"] = json!({
        "seconds": took, "known_pairs": report.known,
        "shapes_built": report.shapes[0], "shapes_found": report.shapes[1], "shapes_not_kept": report.shapes[2],
    });
    let mut outcome = Outcome::new(text, value);
    outcome.code = match (report.failures.is_empty(), told.iter().any(|f| f.outcome.kind.is_violation())) {
        (false, _) => 2,
        (true, true) => 1,
        (true, false) => 0,
    };
    Ok(outcome)
}

/// Writes table, object and page, each whole or not at all. Findings come before the page, which takes longer.
fn write(folder: &Path, about: &About<'_>, value: &Value, reporter: &Reporter) -> Result<Vec<PathBuf>> {
    reporter.stage("write findings", 0);
    let paths = ["findings.csv", "findings.json", "assembly.html"].map(|n| folder.join(n));
    files::write(&paths[0], |out| Ok(out.write_all(csv(about.job, about.told).as_bytes())?))?;
    files::write(&paths[1], |out| Ok(writeln!(out, "{value:#}")?))?;
    let html = assembly::page(about, reporter)?;
    files::write(&paths[2], |out| Ok(out.write_all(html.as_bytes())?))?;
    Ok(paths.to_vec())
}

fn summary(args: &Args, job: &Job, params: &Params, report: &Report, told: &[Finding]) -> String {
    let count = |kind: Kind| report.findings.iter().filter(|f| f.outcome.kind == kind).count();
    let number = |n: usize| units::count(n as u64);
    let mut text = format!("{}\n", args.assembly);
    text += &rows(&[
        ("parts".into(), format!("{} of {} meshes", number(job.instances.len()), number(job.parts.len()))),
        ("pairs near each other".into(), number(report.pairs)),
        (
            "clashes".into(),
            format!("{} deeper than {}", number(count(Kind::Clash)), units::length(params.tolerance())),
        ),
        (
            "clearances".into(),
            format!("{} below {}", number(count(Kind::Clearance)), units::length(params.clearance)),
        ),
        ("contacts by design".into(), number(count(Kind::Contact))),
    ]);
    for f in told.iter().take(SHOWN) {
        let _ = writeln!(text, "  {}", assembly::line(job, f));
    }
    if told.len() > SHOWN {
        let _ = writeln!(text, "  and {} more", number(told.len() - SHOWN));
    }
    for failure in &report.failures {
        let _ = writeln!(text, "! {}: {}", failure.part, failure.problem);
    }
    if report.shapes[2] > 0 {
        let _ = writeln!(
            text,
            "! the disk could not keep {} built shapes: the next run builds them again",
            report.shapes[2]
        );
    }
    text
}
