//! `bench encodings`: what each encoding and each of the paper's evaluations costs in memory and in accuracy.
//!
//! Errors are taken within one voxel of the surface against the exact distance to the capped mesh; the normals that the
//! paper's Eq. 4 needs are the exact directions of growing distance, the best case for it. Jumps are differences across
//! faces of voxels, where only the paper's modes have any.

use super::machine::{Machine, Origin};
use super::{Options, table};
use crate::models::{self, Which};
use crate::oracle::{ErrorStats, Oracle};
use anyhow::{Context, Result};
use glam::DVec3;
use palpate::field::{Encoding, FieldParams, LayeredView};
use palpate::mesh::{CapParams, RawMesh, cap_holes};
use palpate::voxmap::VoxmapParams;
use palpate::{Field, Mesh, Voxmap};
use rayon::prelude::*;
use serde::Serialize;
use std::path::Path;

/// Size of "all voxelmaps used for this work" [bytes], quoted: section 2.1.1 of the 2014 paper, which does not say at which grid.
const PAPER_BYTES: f64 = 1e6;

/// Points that errors and jumps are taken over: about 2 s of exact answers.
const POINTS: usize = 20_000;

/// Seed of all points.
const SEED: u64 = 0xe4c0_d146;

/// How far on each side of a face a jump is measured [voxels]: far below any jump, far above rounding.
const STEP_VOX: f64 = 1e-7;

/// One evaluation of one stored form.
struct Mode<'a> {
    name: String,
    bytes: u64,
    /// Where faces of its voxels are, in voxels from a node.
    faces: Faces,
    /// Distance at a point, given the direction of growing distance there [m].
    value: Box<dyn Fn(DVec3, DVec3) -> Option<f64> + Sync + 'a>,
}

/// A grid of voxel faces.
#[derive(Clone, Copy)]
struct Faces {
    origin: DVec3,
    voxel: f64,
}

/// A run. The first five keys are those of every benchmark.
#[derive(Serialize)]
struct Report {
    bench: &'static str,
    machine: String,
    commit: String,
    threads: usize,
    rows: Vec<Row>,
    machine_details: Machine,
    origin: Origin,
    notes: Vec<String>,
}

/// One mode. The first eight keys are those of every benchmark.
#[derive(Serialize)]
struct Row {
    case: String,
    metric: &'static str,
    unit: &'static str,
    ours: f64,
    peer: &'static str,
    theirs: f64,
    ratio: f64,
    result: String,
    mode: String,
    error: Spread,
    jump: Spread,
}

/// Statistics of absolute values [voxels].
#[derive(Serialize)]
struct Spread {
    mean: f64,
    rms: f64,
    p99: f64,
    max: f64,
    points: usize,
    /// Points for which the mode gave no distance.
    missing: usize,
}

impl From<ErrorStats> for Spread {
    fn from(s: ErrorStats) -> Self {
        Self { mean: s.mean, rms: s.rms, p99: s.p99, max: s.max, points: s.count, missing: s.not_finite }
    }
}

/// A point with its exact signed distance [m] and the unit direction in which it grows.
struct Exact {
    p: DVec3,
    distance: f64,
    normal: DVec3,
}

/// Runs the benchmark, saves and prints it.
pub fn run(options: &Options) -> Result<()> {
    let folder = models::folder(options.models.as_deref());
    let model = models::open(Which::Bunny, folder.as_deref())?;
    let mesh = Mesh::new(model.mesh, &Default::default())?;
    let grid = if options.quick { 100 } else { 300 };
    let case = format!("{} {grid}", model.name);
    eprintln!("{case}: exact distances");
    let oracle = Oracle::capped(&mesh)?;
    let voxel = mesh.aabb().extent().max_element() / f64::from(grid - 6);
    let points = exact_points(&oracle, voxel);
    let fields = build_fields(&mesh, voxel, options.threads)?;
    let params = VoxmapParams { threads: options.threads, ..Default::default() };
    let voxmap = Voxmap::build(&capped(&mesh)?, voxel, &params)?;
    let mut rows = Vec::new();
    for mode in modes(&fields, &voxmap) {
        if options.wants(&case, &mode.name, "paper") {
            rows.push(measure(&case, &mode, &points, voxel));
        }
    }
    let mut notes = vec![
        format!(
            "errors and jumps in voxels of {voxel:.3e} m, over {POINTS} points within one voxel of the surface"
        ),
        "paper: quoted, 'around 1 MB' for its voxel maps, grid not stated; ratio = paper / ours".to_owned(),
        "missing: the last numbered layer of the voxel map does not reach the point; holes are closed for it"
            .to_owned(),
    ];
    if folder.is_none() {
        notes.push(
            "no models folder (--models or PALPATE_MODELS): a generated shape stands in for the bunny".into(),
        );
    }
    let (machine, origin) = (Machine::here(), Origin::here());
    let report = Report {
        bench: "encodings",
        machine: machine.name.clone(),
        commit: origin.commit.clone(),
        threads: options.threads,
        rows,
        machine_details: machine,
        origin,
        notes,
    };
    let json = serde_json::to_string_pretty(&report)? + "\n";
    let text = text(&report);
    save(&report, &json, &text, options.save.as_deref())?;
    table::print(if options.json { &json } else { &text })
}

/// The mesh with its holes closed as a field closes them: a voxel map has no caps of its own and would leak.
fn capped(mesh: &Mesh) -> Result<Mesh> {
    let caps = cap_holes(mesh.positions(), mesh.triangles(), mesh.topology(), &CapParams::default());
    let positions = [mesh.positions(), &caps.positions].concat();
    let triangles = [mesh.triangles(), &caps.triangles].concat();
    Ok(Mesh::new(RawMesh { positions, triangles }, &Default::default())?)
}

/// Points within one voxel of the surface and what is true there.
fn exact_points(oracle: &Oracle, voxel: f64) -> Vec<Exact> {
    let points = oracle.points_near_surface(POINTS, voxel, SEED);
    let exact = |&p: &DVec3| {
        let closest = oracle.closest(p);
        let inside = oracle.winding(p) >= 0.5;
        let away = if inside { closest.point - p } else { p - closest.point };
        // On the surface itself the direction is the triangle's.
        let normal = if closest.distance > 1e-9 * voxel {
            away / closest.distance
        } else {
            let [a, b, c] = oracle.corners(closest.triangle as usize);
            (b - a).cross(c - a).normalize_or_zero()
        };
        Exact { p, distance: if inside { -closest.distance } else { closest.distance }, normal }
    };
    points.par_iter().map(exact).collect()
}

/// The field in every encoding, with its name.
fn build_fields(mesh: &Mesh, voxel: f64, threads: usize) -> Result<Vec<(String, Field)>> {
    let scaled = |precision| Encoding::Scaled { precision };
    let encodings = [
        ("Float", Encoding::Float),
        ("Scaled", scaled(None)),
        ("Scaled p=5", scaled(Some(5))),
        ("Scaled p=4", scaled(Some(4))),
        ("Layered", Encoding::Layered),
    ];
    let build = |(name, encoding): (&str, Encoding)| {
        let params = FieldParams { encoding, threads, ..Default::default() };
        let field = Field::build(mesh, voxel, &params).with_context(|| format!("building {name}"))?;
        Ok((name.to_owned(), field))
    };
    encodings.into_iter().map(build).collect()
}

/// Trilinear sampling of every encoding, then the paper's evaluations on the encodings they are for.
fn modes<'a>(fields: &'a [(String, Field)], voxmap: &'a Voxmap) -> Vec<Mode<'a>> {
    let mut modes: Vec<Mode<'a>> = Vec::new();
    for (name, field) in fields {
        let l = field.lattice();
        modes.push(Mode {
            name: format!("{name}, trilinear"),
            bytes: field.report().bytes as u64,
            faces: Faces { origin: l.origin, voxel: l.voxel },
            value: Box::new(|p, _| Some(field.sample(p).distance)),
        });
    }
    for (name, field) in fields {
        let view = LayeredView::new(field);
        let mut add = |mode: &str, value: Box<dyn Fn(DVec3, DVec3) -> Option<f64> + Sync + 'a>| {
            modes.push(Mode {
                name: format!("{name}, {mode}"),
                bytes: field.report().bytes as u64,
                faces: Faces { origin: view.origin(), voxel: view.voxel_size() },
                value,
            });
        };
        match field.encoding() {
            Encoding::Layered => add("Eq. 4 σ = s", Box::new(move |p, n| view.eq4_voxel_size(p, n))),
            Encoding::Scaled { .. } => add("Eq. 4 σ = λ", Box::new(move |p, n| view.eq4_scaled(p, n))),
            Encoding::Float => {}
        }
        add("Eq. 5", Box::new(move |p, _| view.eq5(p)));
    }
    let view = LayeredView::new(voxmap);
    modes.push(Mode {
        name: "Voxmap ±3 layers, Eq. 4 σ = s".into(),
        bytes: voxmap.memory_bytes(),
        faces: Faces { origin: view.origin(), voxel: view.voxel_size() },
        value: Box::new(move |p, n| view.eq4_voxel_size(p, n)),
    });
    modes
}

fn measure(case: &str, mode: &Mode<'_>, points: &[Exact], voxel: f64) -> Row {
    let value = |p: DVec3, n: DVec3| (mode.value)(p, n).unwrap_or(f64::NAN);
    let error = points.iter().map(|e| (value(e.p, e.normal) - e.distance) / voxel);
    let error: Spread = ErrorStats::of(error).into();
    let jump = points.iter().enumerate().map(|(i, e)| {
        let axis = DVec3::AXES[i % 3];
        let face = mode.faces.nearest(e.p, i % 3);
        let step = axis * STEP_VOX * voxel;
        (value(face + step, e.normal) - value(face - step, e.normal)) / voxel
    });
    let jump: Spread = ErrorStats::of(jump).into();
    let ours = mode.bytes as f64;
    let result = format!(
        "error mean {:.4} rms {:.4} p99 {:.4} max {:.4} voxel of {} points, {} missing; jump mean {:.4} max {:.4} voxel",
        error.mean, error.rms, error.p99, error.max, error.points, error.missing, jump.mean, jump.max
    );
    Row {
        case: case.into(),
        metric: "memory",
        unit: "byte",
        ours,
        peer: "paper",
        theirs: PAPER_BYTES,
        ratio: PAPER_BYTES / ours,
        result,
        mode: mode.name.clone(),
        error,
        jump,
    }
}

impl Faces {
    /// The point beside `p` on the nearest face across `axis` [m].
    fn nearest(&self, p: DVec3, axis: usize) -> DVec3 {
        let mut u = (p - self.origin) / self.voxel;
        u[axis] = u[axis].round();
        self.origin + u * self.voxel
    }
}

/// The table as aligned text, with a head that says what was run.
fn text(report: &Report) -> String {
    let head =
        ["case", "mode", "MB", "paper MB", "mean", "rms", "p99", "max", "missing", "jump mean", "jump max"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    for row in &report.rows {
        let short = |v: f64| if v < 5e-5 { "0".to_owned() } else { format!("{v:.4}") };
        let (e, j) = (&row.error, &row.jump);
        let mut line = vec![row.case.clone(), row.mode.clone(), format!("{:.2}", row.ours / 1e6)];
        line.push(format!("~{:.0}", row.theirs / 1e6));
        line.extend([e.mean, e.rms, e.p99, e.max].map(short));
        line.push(e.missing.to_string());
        line.extend([j.mean, j.max].map(short));
        cells.push(line);
    }
    let width = |c: usize| cells.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let (machine, origin) = (&report.machine_details, &report.origin);
    let mut out = format!(
        "encodings on {} ({} cores), commit {}, {}, {}\n",
        machine.cpu, machine.cores, report.commit, origin.flags, origin.date
    );
    for row in &cells {
        let padded: Vec<String> = row.iter().zip(&widths).map(|(c, &w)| format!("{c:<w$}")).collect();
        out += padded.join("  ").trim_end();
        out.push('\n');
    }
    for note in &report.notes {
        out += &format!("note: {note}\n");
    }
    out
}

/// Keeps the run as `encodings.json` and `encodings.txt`.
fn save(report: &Report, json: &str, text: &str, folder: Option<&Path>) -> Result<()> {
    let standard = || {
        let run = format!("{}-{}", report.origin.date, report.machine);
        Path::new(env!("CARGO_MANIFEST_DIR")).join("runs").join(run)
    };
    let folder = folder.map_or_else(standard, Path::to_path_buf);
    let write = || {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("encodings.json"), json)?;
        std::fs::write(folder.join("encodings.txt"), text)
    };
    write().with_context(|| format!("cannot save the run in {}", folder.display()))?;
    eprintln!("saved {}", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate::mesh::samples;

    /// The order that the table must show on a smooth shape: finer values win, and only the paper's modes jump.
    #[test]
    fn modes_rank_as_the_theory_says() {
        let mesh = Mesh::new(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1), &Default::default()).unwrap();
        let voxel = mesh.aabb().extent().max_element() / 74.0;
        let oracle = Oracle::capped(&mesh).unwrap();
        let points: Vec<Exact> = exact_points(&oracle, voxel).into_iter().step_by(5).collect();
        let fields = build_fields(&mesh, voxel, 0).unwrap();
        let voxmap = Voxmap::build(&mesh, voxel, &VoxmapParams::default()).unwrap();
        let rows: Vec<Row> =
            modes(&fields, &voxmap).iter().map(|mode| measure("sphere 80", mode, &points, voxel)).collect();
        let row = |name: &str| rows.iter().find(|r| r.mode == name).expect(name);
        for r in &rows {
            println!("{}: {}", r.mode, r.result);
            assert!(r.error.points > points.len() * 9 / 10, "{}", r.mode);
        }
        let float = row("Float, trilinear");
        // Continuous: what is left is the slope over the step.
        assert!(float.jump.max < 1e-5 && float.error.max < 0.05);
        assert!(row("Scaled, trilinear").error.rms < 1.1 * float.error.rms);
        assert!(row("Layered, trilinear").error.rms > 5.0 * float.error.rms);
        // Half a layer, and all of a step of λ.
        let layers = row("Layered, Eq. 4 σ = s");
        assert!((0.2..0.4).contains(&layers.error.rms) && layers.jump.max > 0.5, "{}", layers.result);
        assert!(row("Scaled, Eq. 4 σ = λ").error.rms < 0.2 * layers.error.rms);
        assert!(row("Float, Eq. 5").error.rms < 0.2 * layers.error.rms);
        assert!(row("Voxmap ±3 layers, Eq. 4 σ = s").error.rms > layers.error.rms);
        // Two bytes a node against four.
        assert!(row("Scaled, trilinear").ours < 0.6 * float.ours);
    }
}
