//! `palpate serve`: a page on this machine on which shapes are touched.

use crate::Global;
use crate::outcome::Outcome;
use crate::progress::Reporter;
use anyhow::{Context, Result};
use palpate::progress::Progress;
use palpate_serve::{Options, Server};
use serde_json::json;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const TEACH: &str = "Open the address that it prints in a browser: on this machine, by default. Drag the tool with the mouse, or
focus the view and use the keys; it stops at the surface while the hand goes on, and the page shows
contacts, force, torque, depth and the loop's rate. Drop a mesh on the page to build and touch it.

Examples:
  palpate serve                                the first scene, on http://127.0.0.1:8770/ or the next free port
  palpate serve --scene nut                    a nut on its bolt
  PALPATE_MODELS=scans palpate serve           offers the scans of that folder too
  palpate serve --seconds 60 --json            for scripts: prints {\"url\": ...}, ends after a minute
  palpate serve --host 0.0.0.0 --token \"$(openssl rand -hex 16)\"
                                               for other machines of a network you trust: it is plain HTTP

It listens on 127.0.0.1 unless told otherwise, answers only its own page, never opens a file that the
network names, and writes none. Ctrl-C ends it.";

/// Touch shapes on a page in a browser
#[derive(Debug, clap::Args)]
#[command(after_help = TEACH)]
pub(crate) struct Args {
    /// Scene to begin with: knot, nut, peg, ...; a wrong name lists all
    #[arg(long, value_name = "NAME")]
    scene: Option<String>,
    /// Address to listen on; one that other machines can reach needs --token
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port; when it is taken, the next free one; 0: any
    #[arg(long, value_name = "N", default_value_t = palpate_serve::PORT)]
    port: u16,
    /// What every request must bring: 12 or more letters and digits
    #[arg(long, value_name = "TEXT")]
    token: Option<String>,
    /// Largest file that may be dropped on the page [MB]
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4000))]
    max_upload: u32,
    /// End after so many seconds
    #[arg(long, value_name = "N", value_parser = seconds)]
    seconds: Option<f64>,
}

impl Args {
    /// What `palpate` without a command does.
    pub(crate) fn plain() -> Self {
        Self {
            scene: None,
            host: Options::default().host,
            port: palpate_serve::PORT,
            token: None,
            max_upload: 64,
            seconds: None,
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=1e9).contains(&s) => Ok(s),
        _ => Err(format!("{text} is no number of seconds; give 0 to 1e9")),
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Outcome> {
    let models = std::env::var_os("PALPATE_MODELS").filter(|v| !v.is_empty()).map(PathBuf::from);
    let options = Options {
        host: args.host,
        port: args.port,
        token: args.token.clone(),
        scene: args.scene.clone(),
        models,
        most_upload: args.max_upload as usize * 1_000_000,
        ..Options::default()
    };
    // It also listens for Ctrl-C.
    let reporter = Reporter::new(true);
    let mut server = Server::start(&options)?;
    let url = server.url();
    let mut out = std::io::stdout().lock();
    let told = if global.json {
        writeln!(out, "{}", json!({ "url": url, "address": server.address().to_string() }))
    } else {
        writeln!(out, "{url}\n  open it in a browser; Ctrl-C ends it")
    };
    told.and_then(|()| out.flush()).context("cannot write to standard output")?;
    drop(out);
    let end = args.seconds.map(|s| Instant::now() + Duration::from_secs_f64(s));
    while !reporter.cancelled() && end.is_none_or(|end| Instant::now() < end) {
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
    Ok(Outcome { printed: true, ..Outcome::new(String::new(), json!({})) })
}
