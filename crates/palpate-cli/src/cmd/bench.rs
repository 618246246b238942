//! `palpate bench`: runs the laboratory's program, which is never shipped with this one.

use crate::Global;
use crate::outcome::Outcome;
use anyhow::{Context, Result, bail};
use std::process::Command;

const EXAMPLES: &str = "Examples:
  palpate bench --list
  palpate bench generation
  palpate bench contact
  palpate bench engines --only drop --models FOLDER
  palpate bench soft --only growth
  palpate bench cloud --only nearest
  palpate bench gpu --only mesh --size 1024
  palpate bench generation --json

Benches compare with other programs, so they live in a program of their own, palpate-lab, beside this one:
  cargo build --release -p palpate-lab";

/// Measures palpate against other programs and prints one table.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the bench and its options, passed on to palpate-lab
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "NAME [OPTIONS]")]
    rest: Vec<String>,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let program = std::env::current_exe()
        .context("cannot find the folder of this program")?
        .with_file_name(format!("palpate-lab{}", std::env::consts::EXE_SUFFIX));
    if !program.is_file() {
        bail!(
            "benches need {}, which is not built; run `cargo build --release -p palpate-lab` in the repository",
            program.display()
        );
    }
    let mut command = Command::new(&program);
    command.arg("bench").args(&args.rest);
    // Given before the name, --json was taken by this program.
    if global.json && !args.rest.iter().any(|a| a == "--json") {
        command.arg("--json");
    }
    let status = command.status().with_context(|| format!("cannot run {}", program.display()))?;
    // Ended by a signal: no code to pass on.
    let code = status.code().and_then(|c| u8::try_from(c).ok()).filter(|c| *c != 101).unwrap_or(2);
    Ok(Outcome { code, printed: true, ..Outcome::new(String::new(), serde_json::Value::Null) })
}
