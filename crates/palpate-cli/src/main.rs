//! The program `palpate`: looks at meshes, builds signed distance fields, answers from them, brings two shapes together,
//! touches scans and shows what it finds.
//!
//! Every command is a file in `cmd` and returns an [`outcome::Outcome`]: the same answer for people and for machines.
//! Calls into the engine are in `engine`, so that this program says in one place what it needs.

mod ask;
mod assembly;
mod cmd;
mod describe;
mod drop;
mod engine;
mod feel;
mod files;
mod formats;
mod gpu;
mod motion;
mod outcome;
mod page;
mod pair;
mod parse;
mod picture;
mod progress;
mod saved;
mod soft;
mod tell;
mod touch;

use clap::{Parser, Subcommand};
use outcome::Outcome;
use std::io::Write;
use std::panic;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  palpate                                      touch shapes on a page: prints its address
  palpate serve --scene nut                    the same, with another scene
  palpate demo                                 build a sample and write a page with pictures
  palpate inspect gear.stl --unit mm           what is this mesh, and what is wrong with it?
  palpate build gear.stl --unit mm -o gear.palp
  palpate distance gear.palp --points p.csv    signed distance of each point, negative inside
  palpate export gear.palp --slice z.png       look inside
  palpate report gear.stl --unit mm            everything on one page
  palpate query bolt.palp nut.palp --pose \"0 0 0.01 0 0 0 1\" --picture nut.png
                                               do they touch, where, how deep, how far apart?
  palpate clearance arm.palp cell.palp --trajectory poses.csv --min 5mm --report motion.html
  palpate assembly gearbox/ --unit mm --clearance 0.5mm -o check
                                               which of many parts clash, or come too near?
  palpate drop gear.stl --unit mm --onto terrain -o fall
                                               let it fall, and watch it on a page
  palpate soft cloth.obj hand.obj -o touch     let them wave and meet: which triangles do, in each step
  palpate touch scan.las --probe path.csv -o felt
                                               move a probe over a scan: contact, nearest point, force

SCAN is a PLY, XYZ, CSV, PCD, LAS or LAZ file, or a mesh, whose vertices are taken.
  palpate press part.palp scan.las --pose \"0 0 0.1\"
                                               where does a scan touch a part, and with which force?
  palpate solid vase.ply -o vase.stl           make a closed mesh of a scan
  palpate feel hole.stl peg.stl --unit mm --motion wedge
                                               feel it, with a haptic device or a simulated hand

MESH is an OBJ, STL, PLY, glTF, GLB or OFF file, or sample:NAME (try `palpate inspect sample:gear`).
Lengths are in metres unless a unit follows: 0.5mm, 20um, 1in. Exit codes: 0 done, 1 the answer is no,
2 bad input or failure. With --json exactly one object goes to standard output.";

/// Contact, distance and force between 3D shapes of any complexity.
///
/// Without a command: serves a page on which shapes are touched, as `palpate serve` does.
#[derive(Debug, Parser)]
#[command(name = "palpate", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options of every command.
#[derive(Clone, Debug, clap::Args)]
struct Global {
    /// Print one JSON object to standard output and nothing else there
    #[arg(long, global = true, display_order = 900)]
    json: bool,
    /// Show no progress
    #[arg(long, short, global = true, display_order = 901)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Inspect(cmd::inspect::Args),
    Build(cmd::build::Args),
    Distance(cmd::distance::Args),
    Export(cmd::export::Args),
    Report(cmd::report::Args),
    Query(cmd::query::Args),
    Clearance(cmd::clearance::Args),
    Assembly(cmd::assembly::Args),
    Drop(cmd::drop::Args),
    Soft(cmd::soft::Args),
    Touch(cmd::touch::Args),
    Press(cmd::press::Args),
    Solid(cmd::solid::Args),
    Feel(cmd::feel::Args),
    Gpu(cmd::gpu::Args),
    #[cfg(feature = "serve")]
    Serve(cmd::serve::Args),
    /// Build a sample shape, print its report and write a page with pictures
    Demo,
    Bench(cmd::bench::Args),
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    let global = cli.global;
    match cli.command {
        #[cfg(feature = "serve")]
        None => cmd::serve::run(&cmd::serve::Args::plain(), &global),
        #[cfg(not(feature = "serve"))]
        None => cmd::demo::run(&global),
        #[cfg(feature = "serve")]
        Some(Command::Serve(args)) => cmd::serve::run(&args, &global),
        Some(Command::Demo) => cmd::demo::run(&global),
        Some(Command::Inspect(args)) => cmd::inspect::run(&args, &global),
        Some(Command::Build(args)) => cmd::build::run(&args, &global),
        Some(Command::Distance(args)) => cmd::distance::run(&args, &global),
        Some(Command::Export(args)) => cmd::export::run(&args, &global),
        Some(Command::Report(args)) => cmd::report::run(&args, &global),
        Some(Command::Query(args)) => cmd::query::run(&args, &global),
        Some(Command::Clearance(args)) => cmd::clearance::run(&args, &global),
        Some(Command::Assembly(args)) => cmd::assembly::run(&args, &global),
        Some(Command::Drop(args)) => cmd::drop::run(&args, &global),
        Some(Command::Soft(args)) => cmd::soft::run(&args, &global),
        Some(Command::Touch(args)) => cmd::touch::run(&args, &global),
        Some(Command::Press(args)) => cmd::press::run(&args, &global),
        Some(Command::Solid(args)) => cmd::solid::run(&args, &global),
        Some(Command::Feel(args)) => cmd::feel::run(&args, &global),
        Some(Command::Gpu(args)) => cmd::gpu::run(&args, &global),
        Some(Command::Bench(args)) => cmd::bench::run(&args, &global),
    }
}

fn main() -> ExitCode {
    // Usage errors leave here with code 2, --help and --version with 0.
    let cli = Cli::parse();
    let json = cli.global.json;
    // The hook is silent: the message is printed once, below, without a stack that means nothing to a user.
    panic::set_hook(Box::new(|info| progress::remember_panic(&info.to_string())));
    let result = panic::catch_unwind(|| run(cli)).unwrap_or_else(|_| {
        let what = progress::last_panic();
        Err(anyhow::anyhow!("internal error, please report it with the command you ran: {what}"))
    });
    files::remove_temporaries();
    match result {
        Ok(outcome) => outcome.print(json),
        Err(error) => {
            let text = outcome::message(&error);
            let _ = writeln!(std::io::stderr(), "palpate: {text}");
            if json {
                let _ = writeln!(std::io::stdout(), "{}", serde_json::json!({ "error": text }));
            }
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
