//! Our own engine behind the peers' protocol: `palpate-lab row` answers requests like any peer.
//!
//! A process of its own for each row keeps peak memory apart and lets runs be interleaved. Timed: `Field::build` with
//! everything it does (closing holes, sign), `Voxmap::build`, `sample_batch`. Not timed: reading and cleaning the mesh.

use super::machine;
use super::peer::{Reply, Request};
use crate::models;
use anyhow::Result;
use glam::{DVec3, Vec3};
use palpate::field::FieldParams;
use palpate::mesh::{RawMesh, RepairParams};
use palpate::progress::Progress;
use palpate::voxmap::{Navigation, SurfaceVoxels, VoxmapParams};
use palpate::{Field, Mesh, Voxmap, par};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// A mesh ready for building.
#[derive(Debug)]
pub struct Prepared {
    /// As sent, cleaned.
    pub mesh: Mesh,
}

/// A built field.
#[derive(Debug)]
pub struct Built {
    /// The field.
    pub field: Field,
    /// Nodes in its bricks.
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
    Mesh::new(raw, &RepairParams::default()).map(|mesh| Prepared { mesh }).map_err(|e| e.to_string())
}

/// Builds the field; `voxel` [m], `band` [voxels], on the current pool of threads.
pub fn build(mesh: &Prepared, voxel: f64, band: f64) -> Result<Built, String> {
    let params = FieldParams { band, ..Default::default() };
    let field = Field::build(&mesh.mesh, voxel, &params).map_err(|e| e.to_string())?;
    let count = 729 * field.report().bricks as u64;
    Ok(Built { field, count })
}

/// Points relative to the field's origin, as the fast path takes them [m].
pub fn local(field: &Built, points: &[DVec3]) -> Vec<Vec3> {
    points.iter().map(|p| (*p - field.field.lattice().origin).as_vec3()).collect()
}

/// Signed distances at `points`, which [`local`] made [m].
pub fn sample_batch(field: &Built, points: &[Vec3], out: &mut [f32]) {
    field.field.distances(points, out);
}

/// Surface voxels only; `navigation` is `auto`, `first` or `second`. `fill` adds inside, outside and ±3 layers.
pub fn voxelize(mesh: &Prepared, voxel: f64, navigation: &str, fill: bool) -> Result<Voxels, String> {
    let navigation = match navigation {
        "auto" => Navigation::Auto,
        "first" => Navigation::First,
        "second" => Navigation::Second,
        other => return Err(format!("unknown navigation '{other}'")),
    };
    let params = VoxmapParams { navigation, layers: if fill { 3 } else { 0 }, ..Default::default() };
    let clock = Stages::default();
    clock.stage("initialise", 0);
    let count = if fill {
        let map = Voxmap::build_with(&mesh.mesh, voxel, &params, &clock).map_err(|e| e.to_string())?;
        map.fill_report().surface_voxels
    } else {
        clock.stage("voxelize", 0);
        let surface = SurfaceVoxels::build(&mesh.mesh, voxel, &params).map_err(|e| e.to_string())?;
        surface.stats().surface_voxels
    };
    Ok(Voxels { count, stages: clock.seconds() })
}

/// Takes the time of each stage of a build.
#[derive(Default)]
struct Stages(Mutex<Vec<(&'static str, Instant)>>);

impl Progress for Stages {
    fn stage(&self, name: &'static str, _steps: u64) {
        if let Ok(mut stages) = self.0.lock() {
            stages.push((name, Instant::now()));
        }
    }
    fn advance(&self, _steps: u64) {}
}

impl Stages {
    /// Seconds by the paper's names of the stages.
    fn seconds(&self) -> BTreeMap<String, f64> {
        let end = Instant::now();
        let stages = self.0.lock().map(|s| s.clone()).unwrap_or_default();
        let ends = stages.iter().skip(1).map(|s| s.1).chain([end]);
        let mut out = BTreeMap::new();
        for ((name, start), end) in stages.iter().zip(ends) {
            let name = if *name == "voxelize" { "generate" } else { name };
            *out.entry(name.to_string()).or_default() += (end - *start).as_secs_f64();
        }
        out
    }
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
        sample_batch(&field, &local(&field, &points), &mut out);
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
    let points = local(&field, &points);
    let (seconds, ()) = timed(request.repeat, || {
        sample_batch(&field, &points, &mut out);
        Ok(())
    })?;
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
