//! `palpate-lab`: benchmarks beside other people's programs. See `lab/peers/README.md`.

use anyhow::Result;
use clap::{Parser, Subcommand};
use palpate_lab::bench::{self, Options};

#[derive(Parser)]
#[command(name = "palpate-lab", about = "Benchmarks of palpate beside its peers; never shipped")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a benchmark, list them, or install the peers
    Bench(Options),
    /// Answer peer requests on standard input with our own engine (one process per row, so that peaks do not mix)
    #[command(hide = true)]
    Row,
    /// Updates of a pair that are counted: see `bench engines`
    #[command(hide = true)]
    Segments {
        /// A `.palp` file
        file: std::path::PathBuf,
        /// The paper's L
        level: usize,
    },
}

fn main() -> std::process::ExitCode {
    let done: Result<()> = match Args::parse().command {
        Command::Bench(options) => bench::run(&options),
        Command::Row => bench::ours::serve(),
        Command::Segments { file, level } => bench::engines::segments_work(&file, level),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("palpate-lab: {error:#}");
            std::process::ExitCode::from(2)
        }
    }
}
