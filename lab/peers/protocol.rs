//! The peers' side of the protocol in README.md, shared by the Rust peers.
#![allow(dead_code, reason = "each peer uses its own part")]

use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// One request; missing keys give the default.
pub struct Request(Value);

impl Request {
    pub fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or("")
    }

    pub fn number(&self, key: &str, otherwise: f64) -> f64 {
        self.0[key].as_f64().unwrap_or(otherwise)
    }

    pub fn triple(&self, key: &str) -> Result<[f64; 3], String> {
        let at = |i: usize| self.0[key][i].as_f64().ok_or(format!("request has no {key}[{i}]"));
        Ok([at(0)?, at(1)?, at(2)?])
    }
}

/// Vertices and triangles of the request's mesh.
#[derive(Default)]
pub struct Mesh {
    path: String,
    pub positions: Vec<[f32; 3]>,
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// Reads `path` unless it is loaded already; whether it was read.
    pub fn load(&mut self, path: &str) -> Result<bool, String> {
        if self.path == path {
            return Ok(false);
        }
        let words = words(path)?;
        let [nv, nt] = [0, 1].map(|i| words.get(i).map_or(0, |w| u32::from_le_bytes(*w)) as usize);
        if words.len() != 2 + 3 * (nv + nt) {
            return Err(format!("{path} has another length than its counts say"));
        }
        self.positions =
            words[2..2 + 3 * nv].as_chunks().0.iter().map(|c: &[_; 3]| c.map(f32::from_le_bytes)).collect();
        self.triangles =
            words[2 + 3 * nv..].as_chunks().0.iter().map(|c: &[_; 3]| c.map(u32::from_le_bytes)).collect();
        self.path = path.to_owned();
        Ok(true)
    }
}

fn words(path: &str) -> Result<Vec<[u8; 4]>, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {path}: {e}"))?;
    Ok(bytes.as_chunks().0.to_vec())
}

pub fn read_points(path: &str) -> Result<Vec<[f32; 3]>, String> {
    Ok(words(path)?.as_chunks().0.iter().map(|c: &[_; 3]| c.map(f32::from_le_bytes)).collect())
}

pub fn write_distances(path: &str, distances: &[f32]) -> Result<(), String> {
    let bytes: Vec<u8> = distances.iter().flat_map(|d| d.to_le_bytes()).collect();
    std::fs::write(path, bytes).map_err(|e| format!("cannot write {path}: {e}"))
}

/// Runs `work` as often as the request says; seconds of each run and the last result.
pub fn timed<T>(request: &Request, mut work: impl FnMut() -> T) -> (Vec<f64>, Option<T>) {
    let mut seconds = Vec::new();
    let mut last = None;
    for _ in 0..(request.number("repeat", 1.0) as usize).max(1) {
        drop(last.take());
        let start = Instant::now();
        last = Some(work());
        seconds.push(start.elapsed().as_secs_f64());
    }
    (seconds, last)
}

/// A dense grid of distances, x slowest and z fastest: trilinear value at `p`, NaN outside.
pub fn sample_dense(values: &[f32], origin: [f64; 3], h: f64, dims: [usize; 3], p: [f32; 3]) -> f32 {
    let mut cell = [0; 3];
    let mut f = [0.0; 3];
    for a in 0..3 {
        let u = (f64::from(p[a]) - origin[a]) / h;
        if !(u >= 0.0 && u <= (dims[a] - 1) as f64) {
            return f32::NAN;
        }
        cell[a] = (u as usize).min(dims[a] - 2);
        f[a] = u - cell[a] as f64;
    }
    let mut sum = 0.0;
    for corner in 0..8 {
        let bit = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
        let weight: f64 = (0..3).map(|a| if bit[a] == 1 { f[a] } else { 1.0 - f[a] }).product();
        let [i, j, k] = [0, 1, 2].map(|a| cell[a] + bit[a]);
        sum += weight * f64::from(values[(i * dims[1] + j) * dims[2] + k]);
    }
    sum as f32
}

/// High-water mark of this process's resident memory [bytes].
fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|w| w.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// What a job did: seconds of each repetition, and how many voxels, points or poses it computed.
#[derive(Default)]
pub struct Done {
    pub seconds: Vec<f64>,
    pub count: usize,
    /// For each pose of `pair`: microseconds and what the query gave; for `nearest` those of each probe and the sum of squares.
    pub micros: Vec<f64>,
    pub values: Vec<f64>,
    /// For `nearest`: mean microseconds of a probe.
    pub mean_micros: f64,
    /// For each step of `soft`: microseconds that the update took, and a hash of the pairs.
    pub updates: Vec<f64>,
    pub hashes: Vec<f64>,
}

/// A query slower than this is not repeated.
const SLOW: Duration = Duration::from_millis(20);

/// One query for each pose `[x, y, z, qx, qy, qz, qw]` of the request, timed one by one; `build` [s] is passed on.
pub fn answer_pair(
    request: &Request,
    build: f64,
    mut query: impl FnMut(&[f64; 7]) -> Result<f64, String>,
) -> Result<Done, String> {
    let poses = read_poses(request.text("poses"))?;
    let (repeat, limit) = (request.number("repeat", 1.0).max(1.0) as usize, request.number("limit_s", 0.0));
    let mut done = Done { seconds: vec![build], ..Default::default() };
    let begin = Instant::now();
    for pose in &poses {
        let (mut best, mut value) = (Duration::MAX, 0.0);
        for _ in 0..repeat {
            let start = Instant::now();
            value = std::hint::black_box(query(std::hint::black_box(pose))?);
            let took = start.elapsed();
            best = best.min(took);
            if took > SLOW {
                break;
            }
        }
        done.micros.push(best.as_secs_f64() * 1e6);
        done.values.push(value);
        done.count += 1;
        if limit > 0.0 && begin.elapsed().as_secs_f64() > limit {
            break;
        }
    }
    Ok(done)
}

/// A number that a set of pairs has whatever their order, and that a JSON number keeps.
pub fn hash_pairs(pairs: impl Iterator<Item = [u32; 2]>) -> f64 {
    let one = |[a, b]: [u32; 2]| {
        let h = u64::from(a).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(b).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        let h = (h ^ (h >> 29)).wrapping_mul(0x1656_67b1_9e37_79f9);
        h ^ (h >> 32)
    };
    (pairs.fold(0u64, |sum, pair| sum.wrapping_add(one(pair))) >> 32) as f64
}

fn read_poses(path: &str) -> Result<Vec<[f64; 7]>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {path}: {e}"))?;
    let pose = |line: &str| {
        let numbers: Vec<f64> = line.split(',').map_while(|w| w.trim().parse().ok()).collect();
        <[f64; 7]>::try_from(numbers).map_err(|_| format!("{path} has a line that is no pose: {line}"))
    };
    text.lines().filter(|l| !l.trim().is_empty()).map(pose).collect()
}

/// Answers every line of standard input with `job`.
pub fn serve(version: &str, mut job: impl FnMut(&Request) -> Result<Done, String>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok).filter(|l| !l.trim().is_empty()) {
        let request = Request(serde_json::from_str(&line).unwrap_or(Value::Null));
        let reply = if request.text("job") == "hello" {
            json!({"ok": true, "version": version, "error": null})
        } else {
            match job(&request) {
                Ok(done) => json!({"ok": true, "seconds": done.seconds, "count": done.count,
                    "mean_micros": done.mean_micros, "micros": done.micros, "values": done.values, "updates": done.updates,
                    "hashes": done.hashes, "peak_rss_bytes": peak_rss(), "error": null}),
                Err(error) => json!({"ok": false, "seconds": [], "error": error}),
            }
        };
        println!("{reply}");
        let _ = std::io::stdout().flush();
    }
}
