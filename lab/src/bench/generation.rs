//! `bench generation`: fields, surface voxels and sampling, ours beside the peers.
//!
//! Every row starts a fresh process for ours and for the peer and asks them in turn (ours, peer, ours, peer …), so that
//! a busy machine hurts both alike; the best run counts. Errors are taken on the same points against exact distances.

use super::error::{self, Errors};
use super::machine::{Machine, Origin};
use super::peer::{Peer, Reply, Request};
use super::table::{Report, Row};
use super::{Options, Work, paper};
use crate::models::{self, Model, Which};
use crate::oracle::Oracle;
use anyhow::Result;
use glam::DVec3;
use std::path::{Path, PathBuf};

/// Half width of the band of narrow-band fields [voxels].
const BAND_VOX: f64 = 3.0;

/// Seed of all points.
const SEED: u64 = 0x70a1_9a7e;

/// Points for peers that search the mesh: about a second each.
const SEARCH_POINTS: usize = 200_000;

/// Points for our sampling: enough that one call takes longer than the clock's and the pool's jitter.
const SAMPLE_POINTS: usize = 2_000_000;

/// What a row measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    /// A field; errors inside the band.
    Band,
    /// A field against a dense peer; errors everywhere.
    Dense,
    /// Surface voxels.
    Voxelize,
    /// Distances of random points per second.
    Sample,
    /// The same in grid order.
    SampleGrid,
}

/// One row to measure.
#[derive(Clone, Copy, Debug)]
struct Plan {
    which: Which,
    grid: u32,
    metric: Metric,
    peer: Option<&'static str>,
}

impl Plan {
    fn metric_name(&self) -> &'static str {
        match self.metric {
            Metric::Band | Metric::Dense => "build",
            Metric::Voxelize => "voxelize",
            Metric::Sample => "sample",
            Metric::SampleGrid => "sample grid order",
        }
    }

    /// Runs of the peer: slow ones run once.
    fn peer_runs(&self, repeat: usize) -> usize {
        if self.metric == Metric::Dense { 1 } else { repeat }
    }
}

/// All rows, slowest peers last.
fn plans(quick: bool) -> Vec<Plan> {
    let (whiches, grids): (&[Which], &[u32]) =
        if quick { (&[Which::Bunny], &[128]) } else { (&[Which::Bunny, Which::Dragon], &[256, 512]) };
    let mut plans = Vec::new();
    let mut add = |which, grid, metric, peer| plans.push(Plan { which, grid, metric, peer });
    for &which in whiches {
        for &grid in grids {
            add(which, grid, Metric::Band, Some("openvdb"));
        }
    }
    for &grid in grids {
        add(Which::Bunny, grid, Metric::Voxelize, Some("open3d"));
        add(Which::Bunny, grid, Metric::Voxelize, Some("parry"));
    }
    for peer in ["fcpw", "parry", "open3d"] {
        add(Which::Bunny, grids[0], Metric::Sample, Some(peer));
    }
    add(Which::Bunny, grids[0], Metric::SampleGrid, None);
    let dense = if quick { 64 } else { 128 };
    for &which in whiches {
        for peer in ["mesh2sdf", "mesh_to_sdf", "open3d"] {
            add(which, dense, Metric::Dense, Some(peer));
        }
    }
    plans
}

/// Measures every row that `--only` lets pass.
pub fn run(options: &Options) -> Result<Report> {
    let folder = models::folder(options.models.as_deref());
    let mut notes = Vec::new();
    if folder.is_none() {
        notes.push(
            "no models folder (--models or PALPATE_MODELS): generated shapes stand in for the scans".into(),
        );
    }
    notes.push(format!(
        "rows against openvdb count errors only within {} voxels of the surface (its band is ±3), the others everywhere; \
         peers get the mesh with its holes closed, ours as loaded",
        error::BAND_CORE_VOX
    ));
    let machine = Machine::here();
    let origin = Origin::here();
    let mut bench = Bench { options, work: Work::new()?, models: Vec::new(), folder };
    let mut rows = Vec::new();
    for plan in plans(options.quick) {
        let case = format!("{} {}", plan.which.stem(), plan.grid);
        if options.wants(&case, plan.metric_name(), plan.peer.unwrap_or("")) {
            eprintln!("{case} {} {}", plan.metric_name(), plan.peer.unwrap_or(""));
            rows.push(bench.measure(plan)?);
        }
    }
    let mut pictures = Vec::new();
    if options.wants("paper", "voxmap", "paper") {
        let (more, drawn) = paper::run(options, &bench.work.0)?;
        rows.extend(more);
        pictures = drawn;
    }
    Ok(Report {
        bench: "generation".into(),
        machine: machine.name.clone(),
        commit: origin.commit.clone(),
        threads: options.threads,
        rows,
        machine_details: machine,
        origin,
        notes,
        pictures,
        images: Vec::new(),
    })
}

struct Bench<'a> {
    options: &'a Options,
    work: Work,
    models: Vec<(Which, Model)>,
    folder: Option<PathBuf>,
}

impl Bench<'_> {
    /// Loads the shape once and writes what peers read: `NAME-open.raw` and `NAME-closed.raw`.
    fn model(&mut self, which: Which) -> Result<Model> {
        if let Some((_, model)) = self.models.iter().find(|(w, _)| *w == which) {
            return Ok(model.clone());
        }
        let model = models::open(which, self.folder.as_deref())?;
        models::write_raw(&model.mesh, Path::new(&self.work.file(&format!("{}-open.raw", model.name))))?;
        models::write_raw(&model.closed, Path::new(&self.work.file(&format!("{}-closed.raw", model.name))))?;
        self.models.push((which, model.clone()));
        Ok(model)
    }

    fn measure(&mut self, plan: Plan) -> Result<Row> {
        let model = self.model(plan.which)?;
        let voxel = voxel(&model, plan.grid);
        let (ours_points, peer_points) = points_of(&model, plan, voxel);
        let exact = match plan.metric {
            Metric::Voxelize => Vec::new(),
            _ => Oracle::new(&model.closed.positions, &model.closed.triangles)?
                .signed_distance_batch(&peer_points[..error::POINTS.min(peer_points.len())]),
        };
        let (ours_file, peer_file) = (self.work.file("points-ours.bin"), self.work.file("points-peer.bin"));
        models::write_points(&ours_points, Path::new(&ours_file))?;
        models::write_points(&peer_points, Path::new(&peer_file))?;

        let (origin, dims) = dense_grid(&model, voxel);
        let request = Request {
            job: plan.metric_name().split(' ').next().unwrap_or_default().into(),
            voxel,
            origin,
            dims,
            resolution: plan.grid,
            band: BAND_VOX,
            threads: self.options.threads,
            repeat: 1,
            ..Default::default()
        };
        let ours = Request {
            mesh: self.work.file(&format!("{}-open.raw", model.name)),
            points: ours_file,
            out: self.work.file("out-ours.bin"),
            ..request.clone()
        };
        let theirs = Request {
            mesh: self.work.file(&format!("{}-closed.raw", model.name)),
            points: peer_file,
            out: self.work.file("out-peer.bin"),
            ..request
        };
        let _ = (std::fs::remove_file(&ours.out), std::fs::remove_file(&theirs.out));
        let peer_runs = plan.peer_runs(self.options.repeat);
        let (a, b) = interleave(plan.peer, &ours, self.options.repeat, &theirs, peer_runs);

        let within = if plan.metric == Metric::Band { error::BAND_CORE_VOX } else { f64::INFINITY };
        let errors = |file: &str, signed: bool| -> Option<Errors> {
            let found = models::read_distances(Path::new(file)).ok()?;
            let n = exact.len().min(found.len());
            (n > 0).then(|| error::errors(&found[..n], &exact, voxel, within, signed))
        };
        let (error_ours, error_theirs) =
            (errors(&ours.out, true), errors(&theirs.out, plan.peer != Some("fcpw")));
        let rate = matches!(plan.metric, Metric::Sample | Metric::SampleGrid);
        let value = |reply: &Reply| {
            let best = reply.seconds.iter().copied().reduce(f64::min)?;
            Some(if rate { reply.count as f64 / best } else { best })
        };
        let (a_reply, b_reply) = (a.as_ref().ok(), b.as_ref().ok());
        let unsaid = b_reply.is_none() && plan.peer.is_none();
        let note: Vec<String> =
            [a.as_ref().err(), b.as_ref().err().filter(|_| !unsaid)].into_iter().flatten().cloned().collect();
        Ok(Row {
            case: format!("{} {}", model.name, plan.grid),
            metric: plan.metric_name().into(),
            unit: if rate { "1/s" } else { "s" }.into(),
            ours: a_reply.and_then(value),
            peer: plan.peer.map(Into::into),
            theirs: b_reply.and_then(value),
            model: model.name,
            grid: plan.grid,
            threads: self.options.threads,
            error_ours,
            error_theirs,
            peak_rss_ours: a_reply.map(|r| r.peak_rss_bytes),
            peak_rss_theirs: b_reply.map(|r| r.peak_rss_bytes),
            count_ours: a_reply.map(|r| r.count),
            count_theirs: b_reply.map(|r| r.count),
            seconds_ours: a_reply.map(|r| r.seconds.clone()).unwrap_or_default(),
            seconds_theirs: b_reply.map(|r| r.seconds.clone()).unwrap_or_default(),
            note: (!note.is_empty()).then(|| note.join("; ")),
            ..Default::default()
        }
        .finish())
    }
}

/// Runs ours and the peer in turn; each side's reply with the seconds of all its runs.
fn interleave(
    peer: Option<&str>,
    ours: &Request,
    our_runs: usize,
    theirs: &Request,
    their_runs: usize,
) -> (Result<Reply, String>, Result<Reply, String>) {
    let mut a = Side::new(Peer::ours());
    let mut b = Side::new(peer.ok_or_else(|| "no peer".to_owned()).and_then(Peer::start));
    for round in 0..our_runs.max(their_runs).max(1) {
        if round < our_runs {
            a.ask(ours);
        }
        if round < their_runs {
            b.ask(theirs);
        }
    }
    (a.finish(), b.finish())
}

/// One side of a comparison: its process until something fails, and what it answered.
struct Side {
    peer: Result<Peer, String>,
    replies: Vec<Reply>,
}

impl Side {
    fn new(peer: Result<Peer, String>) -> Self {
        Self { peer, replies: Vec::new() }
    }

    fn ask(&mut self, request: &Request) {
        if let Ok(peer) = &mut self.peer {
            match peer.ask(request) {
                Ok(reply) => self.replies.push(reply),
                Err(error) => self.peer = Err(error),
            }
        }
    }

    fn finish(self) -> Result<Reply, String> {
        self.peer?;
        let seconds = self.replies.iter().flat_map(|r| r.seconds.iter().copied()).collect();
        let last = self.replies.into_iter().next_back().ok_or("not asked")?;
        Ok(Reply { seconds, ..last })
    }
}

/// Voxel size of a grid of `grid` cells on the largest axis, three of them padding on each side [m].
fn voxel(model: &Model, grid: u32) -> f64 {
    models::aabb(&model.closed).extent().max_element() / f64::from(grid - 6)
}

/// First node and number of nodes of the dense grid around the shape.
fn dense_grid(model: &Model, voxel: f64) -> ([f64; 3], [usize; 3]) {
    let bounds = models::aabb(&model.closed);
    // The largest axis is a whole number of voxels by construction: rounding must not add one.
    let dims = (bounds.extent() / voxel - 1e-6).ceil() + 6.0;
    let origin = bounds.centre() - 0.5 * voxel * (dims - DVec3::ONE);
    (origin.to_array(), dims.to_array().map(|n| n as usize))
}

/// Points for ours and for the peer; the peer's are the first of ours, so that errors compare.
fn points_of(model: &Model, plan: Plan, voxel: f64) -> (Vec<DVec3>, Vec<DVec3>) {
    let bounds = models::aabb(&model.closed);
    let place = |u: DVec3| (bounds.min + u * bounds.extent()).as_vec3().as_dvec3();
    match plan.metric {
        Metric::Voxelize => (Vec::new(), Vec::new()),
        Metric::Band | Metric::Dense => {
            let points = error::points(model, voxel, SEED);
            (points.clone(), points)
        }
        Metric::Sample => {
            let points: Vec<DVec3> = error::random_points(SEED, SAMPLE_POINTS).map(place).collect();
            let few = points[..SEARCH_POINTS].to_vec();
            (points, few)
        }
        Metric::SampleGrid => {
            // x fastest; 126³ is about as many as the random points.
            let n = 126;
            let at = |i: u32| (f64::from(i) + 0.5) / f64::from(n);
            let points: Vec<DVec3> =
                (0..n * n * n).map(|i| place(DVec3::new(at(i % n), at(i / n % n), at(i / n / n)))).collect();
            (points.clone(), points)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dense_grid_holds_the_shape_and_every_error_point() {
        let model = models::open(Which::Bunny, None).unwrap();
        let h = voxel(&model, 64);
        let (origin, dims) = dense_grid(&model, h);
        assert_eq!(dims.iter().max(), Some(&64));
        let last = DVec3::from_array(origin) + h * DVec3::from_array(dims.map(|n| (n - 1) as f64));
        let points = error::points(&model, h, SEED);
        assert_eq!(points.len(), error::POINTS);
        for p in points {
            assert!(p.cmpge(DVec3::from_array(origin)).all() && p.cmple(last).all(), "{p}");
        }
    }
}
