//! `bench python`: the package for Python beside the libraries its users would take instead, all in one Python process, and beside the
//! same work in Rust.
//!
//! Repetitions of ours and theirs take turns; the best of each counts. Unfair: the field answers within the error bound that is told,
//! peers exactly (pysdf: nearly); contacts of ours are points with depth, area and normal of a field, theirs are exact pairs of triangles
//! without depth; Coal and python-fcl have one thread, as ours has in those rows.

use super::machine::{Machine, Origin};
use super::peer::{Peer, Reply, Request};
use super::table::{Report, Row};
use super::{Options, Work};
use crate::models::{self, Model, Which};
use crate::oracle::{Oracle, points_in_box};
use crate::poses::write_csv;
use anyhow::{Result, anyhow};
use glam::{DQuat, DVec3};
use palpate::force::{ForceParams, summary_batch};
use palpate::mesh::{Mesh, RepairParams};
use palpate::query::{QueryParams, contacts_listed};
use palpate::shape::ShapeParams;
use palpate::{Pose, Shape, par};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Points whose distances are asked, and poses; with `--quick` a tenth.
const POINTS: usize = 1_000_000;
const POSES: usize = 100_000;
/// Poses of which whole lists are asked: all would be tens of gigabytes.
const LISTS: usize = 2_000;
/// Parts of the assembly; with `--quick` a tenth.
const PARTS: usize = 2_000;
/// Poses that peers are asked.
const PEER_POSES: usize = 300;
/// Points that are compared with the exact referee.
const REFEREED: usize = 2_000;
/// Points each peer is asked: the slow ones fewer, so that the run ends.
const PEERS: [(&str, usize); 4] =
    [("open3d", POINTS), ("pysdf", POINTS), ("libigl", 50_000), ("trimesh", 500)];
/// Cells along the shapes: of points, and of pairs.
const FINE: f64 = 250.0;
const COARSE: f64 = 122.0;
/// Stiffness of the forces [N/m³].
const STIFFNESS: f64 = 1e9;

/// Runs the benchmark.
///
/// # Errors
/// When the package or the models are not there.
pub fn run(options: &Options) -> Result<Report> {
    let folder = models::folder(options.models.as_deref());
    let work = Work::new()?;
    let (mut rows, mut lost) = (Vec::new(), Vec::new());
    let mut notes = vec![
        "one Python process; ours and theirs take turns, the best of each counts; peers' meshes have their holes closed".to_owned(),
    ];
    for which in [Which::Bunny, Which::Dragon].into_iter().take(if options.quick { 1 } else { 2 }) {
        let model = models::open(which, folder.as_deref())?;
        let mut bench = Bench::new(options, &work, model)?;
        let name = bench.model.name.clone();
        if ["field", "exact"]
            .iter()
            .any(|ours| PEERS.iter().any(|(peer, _)| wants_points(options, &name, ours, peer)))
        {
            keep("points", bench.points(&mut notes), &mut rows, &mut lost);
        }
        if options.wants(&name, "room", "") {
            keep("room", bench.room(), &mut rows, &mut lost);
        }
        if which == Which::Bunny && options.wants(&name, "poses", "") {
            keep("poses", bench.poses(&mut notes), &mut rows, &mut lost);
        }
        if which == Which::Bunny && options.wants("assembly", "", "Ray") {
            keep("assembly", bench.assembly(), &mut rows, &mut lost);
        }
    }
    if rows.is_empty() && !lost.is_empty() {
        return Err(anyhow!("{}", lost.join("; ")));
    }
    notes.extend(lost);
    let (machine, origin) = (Machine::here(), Origin::here());
    Ok(Report {
        bench: "python".into(),
        machine: machine.name.clone(),
        commit: origin.commit.clone(),
        threads: options.threads,
        rows,
        machine_details: machine,
        origin,
        notes,
        pictures: Vec::new(),
        images: Vec::new(),
    })
}

struct Bench<'a> {
    options: &'a Options,
    work: &'a Work,
    model: Model,
    python: Peer,
    /// What every request says.
    base: Request,
}

impl<'a> Bench<'a> {
    fn new(options: &'a Options, work: &'a Work, model: Model) -> Result<Self> {
        let python = start()?;
        let base =
            Request { mesh: work.file(&format!("{}.raw", model.name)), repeat: 1, ..Request::default() };
        models::write_raw(&model.closed, Path::new(&base.mesh))?;
        Ok(Self { options, work, model, python, base })
    }

    fn shape(&mut self, cells: f64) -> Result<Shape> {
        let mesh = Mesh::new(self.model.mesh.clone(), &RepairParams::default())?;
        let voxel = mesh.aabb().extent().max_element() / cells;
        let shape = Shape::build(mesh, voxel, &ShapeParams::default())?;
        self.base.mesh_b = self.work.file(&format!("{}-{cells}.palp", self.model.name));
        shape.write(Path::new(&self.base.mesh_b), 0)?;
        Ok(shape)
    }

    fn ask(&mut self, request: &Request) -> Result<Reply> {
        self.python.ask(request).map_err(|why| anyhow!("{} {}: {why}", request.job, request.kind))
    }

    /// Signed distances of many points.
    fn points(&mut self, notes: &mut Vec<String>) -> Result<Vec<Row>> {
        let shape = self.shape(FINE)?;
        let aabb = shape.aabb();
        let diagonal = aabb.extent().length();
        let n = if self.options.quick { POINTS / 10 } else { POINTS };
        let points: Vec<DVec3> =
            points_in_box(aabb.min, aabb.max, n, 1).iter().map(|p| p.as_vec3().as_dvec3()).collect();
        let file = self.work.file("points.raw");
        models::write_points(&points, Path::new(&file))?;
        let oracle = Oracle::new(&self.model.closed.positions, &self.model.closed.triangles)?;
        let truth = oracle.signed_distance_batch(&points[..REFEREED.min(n)]);
        notes.push(format!(
            "{}: field of {} voxels; error bound {:.2e} of the diagonal near the surface, {:.2e} far from it",
            self.model.name,
            FINE,
            shape.field().report().error_bound_band / diagonal,
            shape.field().report().error_bound_far / diagonal,
        ));
        let out = self.work.file("distances.raw");
        let request = Request {
            job: "points".into(),
            points: file,
            out: out.clone(),
            threads: self.options.threads,
            ..self.base.clone()
        };
        let mut rows = Vec::new();
        for ours in ["field", "exact"] {
            for (peer, most) in PEERS {
                if !wants_points(self.options, &self.model.name, ours, peer) {
                    continue;
                }
                eprintln!("{} {ours} {peer}", self.model.name);
                let (mut best, mut errors) = ([0.0f64; 2], [0.0f64; 2]);
                for _ in 0..if most < POINTS { 1 } else { self.options.repeat } {
                    for (i, (kind, count)) in [(ours, n), (peer, most.min(n))].into_iter().enumerate() {
                        let reply = self.ask(&Request { kind: kind.into(), count, ..request.clone() })?;
                        let seconds = reply.seconds.first().copied().unwrap_or(f64::INFINITY);
                        best[i] = best[i].max(count as f64 / seconds);
                        let found = models::read_distances(Path::new(&out))?;
                        let off = |(d, t): (&f32, &f64)| (f64::from(*d) - t).abs() / diagonal;
                        errors[i] = found.iter().zip(&truth).map(off).fold(0.0, f64::max);
                    }
                }
                rows.push(
                    Row {
                        case: format!("{} {n} points", self.model.name),
                        metric: format!("signed distance, {ours}"),
                        unit: "1/s".into(),
                        ours: Some(best[0]),
                        peer: Some(peer.into()),
                        theirs: Some(best[1]),
                        threads: self.options.threads,
                        model: self.model.name.clone(),
                        count_ours: Some(n as u64),
                        count_theirs: Some(most.min(n) as u64),
                        note: Some(format!(
                            "largest error of {} points in diagonals: ours {:.1e}, theirs {:.1e}",
                            truth.len(),
                            errors[0],
                            errors[1]
                        )),
                        ..Row::default()
                    }
                    .finish(),
                );
            }
        }
        Ok(rows)
    }

    /// The memory that distances of many points take at a time, beyond the points and the answers.
    fn room(&mut self) -> Result<Vec<Row>> {
        self.shape(FINE)?;
        let ask = |bench: &mut Self, kind: &str, millions: usize| -> Result<Row> {
            eprintln!("{} room, {kind}, {millions} million", bench.model.name);
            // A process of its own: what others left in memory would hide it.
            bench.python = start()?;
            let request = Request {
                job: "room".into(),
                kind: kind.into(),
                count: millions * 1_000_000,
                threads: bench.options.threads,
                ..bench.base.clone()
            };
            let reply = bench.ask(&request)?;
            Ok(Row {
                case: format!("{} {millions} million points", bench.model.name),
                metric: format!("most memory at a time, {kind}"),
                unit: "byte".into(),
                ours: reply.values.first().copied(),
                threads: bench.options.threads,
                model: bench.model.name.clone(),
                note: Some("beside points, answers, the shape and what the first question made".to_owned()),
                ..Row::default()
            }
            .finish())
        };
        let mut rows = Vec::new();
        for kind in ["field", "exact"] {
            for millions in if self.options.quick { [1, 2] } else { [2, 10] } {
                rows.push(ask(self, kind, millions)?);
            }
        }
        Ok(rows)
    }

    /// Many poses of the shape against itself.
    fn poses(&mut self, notes: &mut Vec<String>) -> Result<Vec<Row>> {
        let shape = self.shape(COARSE)?;
        let n = if self.options.quick { POSES / 10 } else { POSES };
        let poses = random_poses(&shape, n);
        let file = self.work.file("poses.csv");
        write_csv(&poses, Path::new(&file))?;
        notes.push(format!(
            "{}: {} points in a field of {COARSE} voxels; error bound near the surface {:.2e} m",
            self.model.name,
            shape.tree().len(),
            shape.field().report().error_bound_band
        ));
        let request = Request { job: "poses".into(), poses: file, ..self.base.clone() };
        let mut rows = Vec::new();
        let row = |bench: &Self, case: String, metric: &str, peer: &str| Row {
            case,
            metric: metric.into(),
            unit: "1/s".into(),
            peer: Some(peer.into()),
            model: bench.model.name.clone(),
            ..Row::default()
        };
        for threads in 1..=self.options.threads.max(1) {
            eprintln!("{} poses, {threads} threads", self.model.name);
            let (mut python, mut rust, mut counts) = (0.0f64, 0.0f64, [0.0, 0.0]);
            for _ in 0..self.options.repeat.max(2) {
                let ask = Request { kind: "palpate".into(), threads, ..request.clone() };
                let reply = self.ask(&ask)?;
                python = python.max(n as f64 / reply.seconds.first().copied().unwrap_or(f64::INFINITY));
                counts[0] = reply.values.iter().sum();
                let begin = Instant::now();
                let found = par::with_threads(threads, || {
                    let push = ForceParams { stiffness: STIFFNESS, ..ForceParams::default() };
                    summary_batch(&shape, &shape, &poses, &QueryParams::default(), &push)
                });
                rust = rust.max(n as f64 / begin.elapsed().as_secs_f64());
                counts[1] = found.iter().map(|f| f.contacts as f64).sum();
            }
            let case = format!("{} {n} poses, {threads} threads", self.model.name);
            rows.push(beside_rust(row(self, case, "poses", "Rust"), threads, [python, rust], counts));

            // The whole lists.
            let some = &poses[..LISTS.min(n)];
            let (mut python, mut rust, mut counts) = (0.0f64, 0.0f64, [0.0, 0.0]);
            for _ in 0..self.options.repeat.max(2) {
                let ask = Request { job: "lists".into(), count: some.len(), threads, ..request.clone() };
                let reply = self.ask(&ask)?;
                python =
                    python.max(some.len() as f64 / reply.seconds.first().copied().unwrap_or(f64::INFINITY));
                counts[0] = reply.values.iter().sum();
                let begin = Instant::now();
                let found = par::with_threads(threads, || {
                    contacts_listed(&shape, &shape, some, &QueryParams::default(), usize::MAX)
                })?;
                rust = rust.max(some.len() as f64 / begin.elapsed().as_secs_f64());
                counts[1] = found.contacts.len() as f64;
            }
            let case = format!("{} {} poses, {threads} threads", self.model.name, some.len());
            rows.push(beside_rust(
                row(self, case, "poses, full lists", "Rust"),
                threads,
                [python, rust],
                counts,
            ));
        }
        for peer in ["coal", "fcl"] {
            eprintln!("{} poses, {peer}", self.model.name);
            let count = PEER_POSES.min(n);
            let (mut best, mut values) = ([0.0f64; 2], [Vec::new(), Vec::new()]);
            for _ in 0..2 {
                for (i, kind) in ["palpate", peer].into_iter().enumerate() {
                    let reply =
                        self.ask(&Request { kind: kind.into(), count, threads: 1, ..request.clone() })?;
                    best[i] =
                        best[i].max(count as f64 / reply.seconds.first().copied().unwrap_or(f64::INFINITY));
                    values[i] = reply.values;
                }
            }
            let same = values[0].iter().zip(&values[1]).filter(|(x, y)| (**x > 0.0) == (**y > 0.0)).count();
            let sum = |v: &[f64]| v.iter().sum::<f64>() as u64;
            rows.push(
                Row {
                    ours: Some(best[0]),
                    theirs: Some(best[1]),
                    threads: 1,
                    count_ours: Some(sum(&values[0])),
                    count_theirs: Some(sum(&values[1])),
                    note: Some(format!("touching or not: the same for {same} of {count}")),
                    ..row(self, format!("{} {count} poses", self.model.name), "all contacts", peer)
                }
                .finish(),
            );
        }
        Ok(rows)
    }

    /// An assembly on this machine's pool, on a Ray of as many processes, and there while processes are killed: seconds, and the same bytes.
    fn assembly(&mut self) -> Result<Vec<Row>> {
        let parts = if self.options.quick { PARTS / 10 } else { PARTS };
        let mut rows = Vec::new();
        let (mut first, mut local) = (None, None);
        for (kind, peer) in [("local", ""), ("ray", "Ray"), ("killed", "Ray, processes killed")] {
            eprintln!("assembly of {parts} parts, {kind}");
            let out = self.work.file(&format!("assembly-{kind}.txt"));
            let request = Request {
                job: "assembly".into(),
                kind: kind.into(),
                count: parts,
                threads: self.options.threads,
                out: out.clone(),
                ..self.base.clone()
            };
            let reply = self.ask(&request)?;
            let [planted, found, invented, killed] = <[f64; 4]>::try_from(reply.values.as_slice())
                .map_err(|_| anyhow!("the assembly's reply has {} values", reply.values.len()))?;
            let bytes = fs::read(&out)?;
            let same = *first.get_or_insert_with(|| bytes.clone()) == bytes;
            let seconds = reply.seconds.first().copied();
            local = local.or(seconds);
            rows.push(
                Row {
                    case: format!("assembly of {parts} parts"),
                    metric: "every clash and clearance".into(),
                    unit: "s".into(),
                    ours: local,
                    peer: (!peer.is_empty()).then(|| peer.into()),
                    theirs: if peer.is_empty() { None } else { seconds },
                    threads: self.options.threads,
                    note: Some(format!(
                        "planted {planted}, found {found}, invented {invented}, killed {killed}; {}",
                        if same { "the same bytes" } else { "OTHER BYTES" }
                    )),
                    ..Row::default()
                }
                .finish(),
            );
        }
        Ok(rows)
    }
}

/// Keeps the rows of a part; one that failed is noted, so that what the others took minutes to measure is not lost.
fn keep(part: &str, found: Result<Vec<Row>>, rows: &mut Vec<Row>, lost: &mut Vec<String>) {
    match found {
        Ok(found) => rows.extend(found),
        Err(why) => {
            eprintln!("{part} is left out: {why:#}");
            lost.push(format!("{part} is left out: {why:#}"));
        }
    }
}

/// Whether a row of distances is asked for: by its model, as points, by who answers, or by the peer.
fn wants_points(options: &Options, model: &str, ours: &str, peer: &str) -> bool {
    options.wants(&format!("{model} points"), ours, peer)
}

/// A row of the same work in Python and in Rust: rates, and contacts found.
fn beside_rust(row: Row, threads: usize, [python, rust]: [f64; 2], counts: [f64; 2]) -> Row {
    let cost = 100.0 * (rust / python - 1.0);
    Row {
        ours: Some(python),
        theirs: Some(rust),
        threads,
        note: Some(format!("contacts: Python {}, Rust {}; Python costs {cost:+.1} %", counts[0], counts[1])),
        ..row
    }
    .finish()
}

fn start() -> Result<Peer> {
    Peer::start("palpate").map_err(|why| anyhow!("the package for Python is {why}"))
}

/// B turned at random about its middle, which is up to an extent away from A's: from coincident to apart.
fn random_poses(shape: &Shape, n: usize) -> Vec<Pose> {
    let aabb = shape.aabb();
    let (middle, size) = (0.5 * (aabb.min + aabb.max), aabb.extent().max_element());
    let mut random = super::error::Random::new(1);
    let mut direction = move || {
        // On the sphere: uniform heights and angles.
        let (z, angle, far) =
            (2.0 * random.unit() - 1.0, std::f64::consts::TAU * random.unit(), random.unit());
        let flat = (1.0 - z * z).sqrt();
        (DVec3::new(flat * angle.cos(), flat * angle.sin(), z), far)
    };
    (0..n)
        .map(|_| {
            let ((axis, turn), (way, far)) = (direction(), direction());
            let rotation = DQuat::from_axis_angle(axis, std::f64::consts::TAU * turn);
            Pose::new(rotation, middle + way * far * size - rotation * middle)
        })
        .collect()
}
