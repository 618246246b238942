//! Our own engine behind the peers' protocol: `palpate-lab row` answers requests like any peer.
//!
//! A process of its own for each row keeps peak memory apart and lets runs be interleaved. Timed: `Field::build` with
//! everything it does (closing holes, sign), `Voxmap::build`, `sample_batch`. Not timed: reading and cleaning the mesh.

use super::machine;
use super::peer::{Reply, Request};
use crate::models;
use anyhow::Result;
use glam::DVec3;
use palpate::mesh::RawMesh;
use palpate::par;
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

/// What is said until a stage of the engine is plugged in below.
pub const NOT_YET: &str = "ours: not built yet";

/// A mesh ready for building. Plug in: hold `palpate::Mesh`, made by cleaning the raw one.
#[derive(Debug)]
pub struct Prepared {
    /// As sent.
    pub raw: RawMesh,
}

/// A built field. Plug in: hold `palpate::Field`.
#[derive(Debug)]
pub struct Built {
    /// Band voxels computed.
    pub count: u64,
}

/// What voxelizing gave.
#[derive(Clone, Debug, Default)]
pub struct Voxels {
    /// Surface voxels.
    pub count: u64,
    /// Seconds by stage: `initialise`, `generate`, `fill`, `layers`.
    pub stages: BTreeMap<String, f64>,
}

/// Cleans the mesh.
pub fn prepare(raw: RawMesh) -> Result<Prepared, String> {
    Ok(Prepared { raw })
}

/// Builds the field; `voxel` [m], `band` [voxels], on the current pool of threads.
pub fn build(mesh: &Prepared, voxel: f64, band: f64) -> Result<Built, String> {
    // Plug in: Field::build(&mesh.mesh, voxel, &FieldParams { band, ..Default::default() })
    let _ = (mesh, voxel, band);
    Err(NOT_YET.into())
}

/// Signed distances at `points` [m].
pub fn sample_batch(field: &Built, points: &[DVec3], out: &mut [f32]) -> Result<(), String> {
    // Plug in: field.field.sample_batch(points, out)
    let _ = (field, points, out);
    Err(NOT_YET.into())
}

/// Surface voxels only; `navigation` is `auto`, `first` or `second`. `fill` adds inside, outside and ±3 layers.
pub fn voxelize(mesh: &Prepared, voxel: f64, navigation: &str, fill: bool) -> Result<Voxels, String> {
    // Plug in: Voxmap::build(&mesh.mesh, voxel, &VoxmapParams { navigation, .. }), stages from its `Progress`
    let _ = (mesh, voxel, navigation, fill);
    Err(NOT_YET.into())
}

/// Answers requests on standard input until it ends.
pub fn serve() -> Result<()> {
    let mut state = State::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok).filter(|l| !l.trim().is_empty()) {
        let answer = serde_json::from_str::<Request>(&line)
            .map_err(|e| e.to_string())
            .and_then(|request| state.answer(&request));
        let reply = match answer {
            Ok(reply) => Reply { ok: true, peak_rss_bytes: machine::peak_rss_bytes(), ..reply },
            Err(error) => Reply { error: Some(error), ..Default::default() },
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&reply)?)?;
        out.flush()?;
    }
    Ok(())
}

#[derive(Default)]
struct State {
    mesh: Option<(String, Prepared)>,
}

impl State {
    fn answer(&mut self, request: &Request) -> Result<Reply, String> {
        if request.job == "hello" {
            return Ok(Reply::default());
        }
        let start = Instant::now();
        if self.mesh.as_ref().is_none_or(|(path, _)| *path != request.mesh) {
            let raw = models::read_raw(Path::new(&request.mesh)).map_err(|e| format!("{e:#}"))?;
            self.mesh = Some((request.mesh.clone(), prepare(raw)?));
        }
        let load = start.elapsed().as_secs_f64();
        let (_, mesh) = self.mesh.as_ref().ok_or("no mesh")?;
        // The pool is made before the clock starts.
        par::with_threads(request.threads, || match request.job.as_str() {
            "build" => answer_build(mesh, request),
            "voxelize" | "voxmap" => answer_voxelize(mesh, request, load),
            "sample" => answer_sample(mesh, request),
            other => Err(format!("palpate does not do the job '{other}'")),
        })
    }
}

fn answer_build(mesh: &Prepared, request: &Request) -> Result<Reply, String> {
    let (seconds, field) = timed(request.repeat, || build(mesh, request.voxel, request.band))?;
    if !request.points.is_empty() {
        let points = models::read_points(Path::new(&request.points)).map_err(|e| format!("{e:#}"))?;
        let mut out = vec![0.0; points.len()];
        sample_batch(&field, &points, &mut out)?;
        models::write_distances(&out, Path::new(&request.out)).map_err(|e| format!("{e:#}"))?;
    }
    Ok(Reply { seconds, count: field.count, ..Default::default() })
}

fn answer_voxelize(mesh: &Prepared, request: &Request, load: f64) -> Result<Reply, String> {
    let navigation = if request.navigation.is_empty() { "auto" } else { &request.navigation };
    let fill = request.job == "voxmap";
    let (seconds, mut voxels) = timed(request.repeat, || voxelize(mesh, request.voxel, navigation, fill))?;
    voxels.stages.insert("load".into(), load);
    Ok(Reply { seconds, count: voxels.count, stages: voxels.stages, ..Default::default() })
}

fn answer_sample(mesh: &Prepared, request: &Request) -> Result<Reply, String> {
    let field = build(mesh, request.voxel, request.band)?;
    let points = models::read_points(Path::new(&request.points)).map_err(|e| format!("{e:#}"))?;
    let mut out = vec![0.0; points.len()];
    let (seconds, ()) = timed(request.repeat, || sample_batch(&field, &points, &mut out))?;
    if !request.out.is_empty() {
        models::write_distances(&out, Path::new(&request.out)).map_err(|e| format!("{e:#}"))?;
    }
    Ok(Reply { seconds, count: points.len() as u64, ..Default::default() })
}

/// Seconds of each run and the last result; the result of one run is dropped before the next starts.
fn timed<T>(repeat: usize, mut work: impl FnMut() -> Result<T, String>) -> Result<(Vec<f64>, T), String> {
    let mut seconds = Vec::new();
    loop {
        let start = Instant::now();
        let result = work()?;
        seconds.push(start.elapsed().as_secs_f64());
        if seconds.len() >= repeat.max(1) {
            return Ok((seconds, result));
        }
    }
}
