//! Whole-scene benchmarks: ours and the peers in one run, interleaved, each row with its result.

pub mod cloud;
pub mod contact;
pub mod contact_budget;
pub mod contact_ours;
pub mod contact_resolution;
pub mod contact_shell;
pub mod cpu_time;
pub mod encodings;
pub mod engines;
pub mod error;
pub mod generation;
pub mod gpu;
pub mod haptic;
pub mod machine;
pub mod ours;
pub mod paper;
pub mod peer;
pub mod python;
pub mod soft;
pub mod svg;
pub mod table;

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// Benchmarks that exist.
pub const NAMES: [&str; 9] =
    ["generation", "encodings", "contact", "engines", "soft", "cloud", "gpu", "haptic", "python"];

/// Command line of `bench`.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Which benchmark: see --list
    pub name: Option<String>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,
    /// Folder with bunny.obj, dragon.ply, nut-m16-loose.obj and bolt-m16-loose.obj; for engines also hole-round-8mm.obj,
    /// peg-round-8mm-tight.obj, hole-rect-8mm.obj, peg-rect-8mm-tight.obj, gear-base-loose.obj and gear-small.obj; for soft fandisk.obj
    /// (default: the environment variable PALPATE_MODELS)
    #[arg(long)]
    pub models: Option<PathBuf>,
    /// Only the bunny, small grids and a fifth of the poses
    #[arg(long)]
    pub quick: bool,
    /// Only rows whose case, metric or peer contains this text
    #[arg(long)]
    pub only: Option<String>,
    /// Threads that ours and the peers may use
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// How often each fast program is run; the best time counts
    #[arg(long, default_value_t = 3)]
    pub repeat: usize,
    /// Install the peers, then stop (unless a benchmark is named too)
    #[arg(long)]
    pub setup: bool,
    /// Name the benchmarks and the peers, then stop
    #[arg(long)]
    pub list: bool,
    /// Folder for the saved run (default: lab/runs/DATE-MACHINE)
    #[arg(long)]
    pub save: Option<PathBuf>,
    /// gpu: pixels along the box, or what makes as many samples (default: 512, 1024 and 2048)
    #[arg(long)]
    pub size: Option<u32>,
    /// gpu: angles about each of two axes (default: 36)
    #[arg(long)]
    pub angles: Option<u32>,
    /// gpu: part of the name of the device (default: the fastest)
    #[arg(long)]
    pub device: Option<String>,
}

impl Options {
    /// Whether a row passes `--only`.
    fn wants(&self, case: &str, metric: &str, peer: &str) -> bool {
        self.only.as_ref().is_none_or(|o| [case, metric, peer].iter().any(|text| text.contains(o.as_str())))
    }
}

/// Does what the command line asks for.
pub fn run(options: &Options) -> Result<()> {
    if options.list {
        return table::print(&list());
    }
    if options.setup {
        peer::setup()?;
        if options.name.is_none() {
            return Ok(());
        }
    }
    let name = options.name.as_deref().context("name a benchmark; `bench --list` names them all")?;
    if name == "encodings" {
        return encodings::run(options);
    }
    let report = match name {
        "generation" => generation::run(options)?,
        "contact" => contact::run(options)?,
        "engines" => engines::run(options)?,
        "soft" => soft::run(options)?,
        "cloud" => cloud::run(options)?,
        "gpu" => gpu::run(options)?,
        "haptic" => haptic::run(options)?,
        "python" => python::run(options)?,
        other => bail!("there is no benchmark '{other}'; `bench --list` names them all"),
    };
    let saved = table::save(&report, options.save.as_deref())?;
    eprintln!("saved {}", saved.display());
    table::print(&if options.json { table::json(&report)? } else { table::text(&report) })
}

/// A temporary folder, removed with its handle.
pub(crate) struct Work(PathBuf);

impl Work {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("palpate-lab-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn list() -> String {
    let state = |name: &&str| {
        let state = peer::Peer::start(name).map_or_else(|missing| missing, |_| "installed".into());
        format!("  {name:<12} {state}")
    };
    let peers: Vec<String> = peer::NAMES.iter().map(state).collect();
    format!("benchmarks\n  {}\npeers\n{}\n", NAMES.join("\n  "), peers.join("\n"))
}
