//! Other people's programs as processes: starts them, asks them, and installs them.

use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Peers that have a folder, in the order `--setup` installs them.
pub const NAMES: [&str; 14] = [
    "openvdb",
    "mesh_to_sdf",
    "parry",
    "mesh2sdf",
    "fcpw",
    "open3d",
    "coal",
    "fcl",
    "gimpact",
    "vhacd",
    "nanoflann",
    "kiddo",
    "scipy",
    "palpate",
];

/// What is said of a peer that cannot be started.
pub const MISSING: &str = "not installed: run `palpate bench --setup`";

/// Longest time one request may take [s]. Dense peers need up to a minute on a loaded machine; a hung one must not hold
/// the whole run.
const PATIENCE_S: u64 = 600;

/// One request; see `lab/peers/README.md`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// `hello`, `build`, `voxelize`, `sample`, `pair`, `soft`, `hulls`, `nearest`, `points`, `room`, `poses`, `lists` or
    /// `assembly`.
    pub job: String,
    /// Raw mesh file; of a pair mesh A.
    pub mesh: String,
    /// Raw mesh file of mesh B.
    pub mesh_b: String,
    /// Poses `a_from_b` of a pair: a CSV file.
    pub poses: String,
    /// Where the vertices of mesh A are at each step: a raw points file.
    pub steps: String,
    /// Where those of mesh B are.
    pub steps_b: String,
    /// Query of a pair: `boolean`, `contacts` or `distance`; of soft meshes `fresh` or `kept`; of clouds `single` or `batch`, and
    /// for kiddo `immutable` or `mutable`.
    pub kind: String,
    /// What a pair's lengths are multiplied by before the peer sees them; 0 means 1.
    pub scale: f64,
    /// When a pair's queries end, done or not [s]; 0 means never.
    pub limit_s: f64,
    /// Edge length of a cell [m].
    pub voxel: f64,
    /// First node of a dense grid [m].
    pub origin: [f64; 3],
    /// Nodes of a dense grid.
    pub dims: [usize; 3],
    /// Cells on the largest axis, padding included.
    pub resolution: u32,
    /// Half width of a narrow band [voxels].
    pub band: f64,
    /// Threads the work may use.
    pub threads: usize,
    /// How often to do the work.
    pub repeat: usize,
    /// Raw points file; of clouds the probes.
    pub points: String,
    /// Raw points file of a cloud.
    pub cloud: String,
    /// How many of the points or poses are asked (`points`, `poses`, `lists`; 0: all), or made up (`room`, and parts of `assembly`).
    pub count: usize,
    /// Points of a leaf of a cloud's tree; 0 for the peer's own choice.
    pub leaf: usize,
    /// Where distances go.
    pub out: String,
    /// For our own engine: `auto`, `first` or `second` (column navigation of a voxmap); empty means `auto`.
    pub navigation: String,
}

/// One reply.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// Whether the job was done.
    pub ok: bool,
    /// Wall time of each repetition [s].
    pub seconds: Vec<f64>,
    /// Voxels or points computed.
    pub count: u64,
    /// High-water mark of the process's resident memory [bytes].
    pub peak_rss_bytes: u64,
    /// Mean time of a cloud's probe by the clock on the wall, the best pass over all [µs].
    pub mean_micros: f64,
    /// Time of each pose of a pair or of each probe of a cloud, the best of its repetitions [µs].
    pub micros: Vec<f64>,
    /// What the query gave for each pose of a pair: contacts, or a distance [m]; of clouds one sum of squared distances [m²].
    pub values: Vec<f64>,
    /// Time to move the vertices at each step [µs].
    pub updates: Vec<f64>,
    /// Hash of the pairs found at each step.
    pub hashes: Vec<f64>,
    /// Named parts of the best repetition [s]; our own engine only.
    pub stages: std::collections::BTreeMap<String, f64>,
    /// What went wrong.
    pub error: Option<String>,
}

/// A running peer. Ends with its handle.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<String>,
}

impl Peer {
    /// Starts the peer `name`, or says why it cannot answer.
    pub fn start(name: &str) -> Result<Self, String> {
        Self::spawn(Command::new(folder().join(name).join("run")))
    }

    /// Starts our own engine in a process of its own.
    pub fn ours() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|e| format!("cannot find our own program: {e}"))?;
        let mut command = Command::new(program);
        command.arg("row");
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Result<Self, String> {
        // Its chatter is kept from our output; what matters comes back in `error`.
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|_| MISSING.to_owned())?;
        let (send, replies) = channel();
        let (input, output) = (child.stdin.take(), child.stdout.take().ok_or("no output pipe")?);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut peer = Self { child, input, replies };
        // A program that was never installed ends before it answers.
        let hello = Request { job: "hello".into(), ..Default::default() };
        peer.ask(&hello).map_err(|_| MISSING.to_owned())?;
        Ok(peer)
    }

    /// Sends one request and waits for its reply; an error is one line fit for a table.
    pub fn ask(&mut self, request: &Request) -> Result<Reply, String> {
        let line = serde_json::to_string(request).map_err(|e| e.to_string())?;
        let input = self.input.as_mut().ok_or("its input is closed")?;
        writeln!(input, "{line}").and_then(|()| input.flush()).map_err(|_| self.ended())?;
        let line = self.replies.recv_timeout(Duration::from_secs(PATIENCE_S)).map_err(|e| match e {
            std::sync::mpsc::RecvTimeoutError::Timeout => format!("no answer within {PATIENCE_S} s"),
            std::sync::mpsc::RecvTimeoutError::Disconnected => self.ended(),
        })?;
        let reply: Reply = serde_json::from_str(&line).map_err(|e| format!("unreadable answer: {e}"))?;
        if reply.ok {
            Ok(reply)
        } else {
            Err(reply.error.unwrap_or_else(|| "failed without a reason".into()))
        }
    }

    fn ended(&mut self) -> String {
        self.child.wait().map_or("ended early".into(), |status| format!("ended early ({status})"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Closing its input asks it to end; killing makes sure of one that is still computing.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the peers live: the environment variable `PALPATE_PEERS`, else the source tree this program was built from.
pub fn folder() -> PathBuf {
    std::env::var_os("PALPATE_PEERS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("peers"), PathBuf::from)
}

/// Runs every peer's `setup`; a failed one is reported and the others go on.
pub fn setup() -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for name in NAMES {
        eprintln!("setting up {name} …");
        match Command::new(folder().join(name).join("setup")).stdout(Stdio::null()).status() {
            Ok(status) if status.success() => {}
            Ok(status) => failed.push(format!("{name} ({status})")),
            Err(error) => failed.push(format!("{name} ({error})")),
        }
    }
    anyhow::ensure!(failed.is_empty(), "could not set up: {}", failed.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_not_there_is_missing_not_an_error() {
        assert_eq!(Peer::start("no-such-peer").map(|_| ()), Err(MISSING.to_owned()));
        assert_eq!(Peer::spawn(Command::new("/bin/false")).map(|_| ()), Err(MISSING.to_owned()));
    }
}
