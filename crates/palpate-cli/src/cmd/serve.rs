//! `palpate serve`: a page on this machine on which shapes are touched.

use crate::Global;
use crate::feel::device::{DeviceArgs, Kinds, Modes};
use crate::outcome::Outcome;
use crate::progress::Reporter;
use anyhow::{Context, Result};
use glam::DVec3;
use palpate::Pose;
use palpate::progress::Progress;
use palpate_haptic::Pair;
use palpate_serve::{Opened, Opener, Options, Server};
use serde_json::json;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TEACH: &str = "Open the address that it prints in a browser: on this machine, by default. Drag the tool with the mouse, or
focus the view and use the keys; it stops at the surface while the hand goes on, and the page shows
contacts, force, torque, depth and the loop's rate. Drop a mesh on the page to build and touch it.

With --device a haptic device moves the tool in scenes of two rigid shapes, and feels them; the mouse
turns the view. A device that is lost is told on the page, without force, and comes back when it answers.

Examples:
  palpate serve                                the first scene, on http://127.0.0.1:8770/ or the next free port
  palpate serve --scene nut                    a nut on its bolt
  palpate serve --device haply                 a Haply Inverse3 feels what the page shows
  palpate serve --device sim --motion slide    a simulated hand does
  palpate serve --mode soft --friction 0.3     at first the tool gives, and rubs; the page can change both
  PALPATE_MODELS=scans palpate serve           offers the scans of that folder too
  palpate serve --seconds 60 --json            for scripts: prints {\"url\": ...}, ends after a minute
  palpate serve --host 0.0.0.0 --token \"$(openssl rand -hex 16)\"
                                               for other machines of a network you trust: it is plain HTTP

It listens on 127.0.0.1 unless told otherwise, answers only its own page, never opens a file that the
network names, and writes none. Ctrl-C ends it.";

/// What moves the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Leads {
    /// The page's hand: mouse, finger or keys
    Mouse,
    /// A simulated hand on a simulated device
    Sim,
    /// A Haply Inverse3, through the Inverse Service
    Haply,
    /// A recorded motion, see --path
    Replay,
}

/// Opens the device that was asked for.
#[derive(Debug)]
struct Chosen {
    kind: Kinds,
    how: DeviceArgs,
}

impl Opener for Chosen {
    fn name(&self) -> String {
        let name = match self.kind {
            Kinds::Sim => "a simulated device",
            Kinds::Haply => "Haply Inverse3",
            Kinds::Replay => "a recorded motion",
        };
        name.to_owned()
    }

    fn open(&self, pair: &Pair, start: Pose, up: DVec3) -> Result<Opened, String> {
        let opened = self.how.open(self.kind, pair, start, up, RATE);
        let (device, mapping, delay) = opened.map_err(|e| format!("{e:#}"))?;
        Ok(Opened { device, mapping, delay, plays: self.kind != Kinds::Haply })
    }
}

/// Ticks of the page's loop in a second [Hz].
const RATE: f64 = 1000.0;

/// Touch shapes on a page in a browser
#[derive(Debug, clap::Args)]
#[command(after_help = TEACH)]
pub(crate) struct Args {
    /// Scene to begin with: knot, nut, peg, ...; a wrong name lists all
    #[arg(long, value_name = "NAME")]
    scene: Option<String>,
    /// What moves the tool: mouse, sim, haply or replay
    #[arg(long, value_enum, default_value_t = Leads::Mouse, hide_possible_values = true)]
    device: Leads,
    #[command(flatten)]
    how: DeviceArgs,
    /// How the tool meets what it touches at first: held (it never enters) or soft (it gives)
    #[arg(long, value_enum, default_value_t = Modes::Held, hide_possible_values = true)]
    mode: Modes,
    /// Coulomb friction at first, 0 to 2 [1]
    #[arg(long, value_name = "MU", allow_hyphen_values = true, default_value_t = 0.0)]
    friction: f64,
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
            device: Leads::Mouse,
            how: DeviceArgs::default(),
            mode: Modes::Held,
            friction: Options::default().friction,
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
    let kind = match args.device {
        Leads::Mouse => None,
        Leads::Sim => Some(Kinds::Sim),
        Leads::Haply => Some(Kinds::Haply),
        Leads::Replay => Some(Kinds::Replay),
    };
    let device = match kind {
        Some(kind) => {
            args.how.check(kind)?;
            Some(Arc::new(Chosen { kind, how: args.how.clone() }) as Arc<dyn Opener>)
        }
        None => None,
    };
    let options = Options {
        device,
        mode: args.mode.mode(),
        friction: args.friction,
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
