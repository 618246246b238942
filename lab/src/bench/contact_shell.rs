//! `bench contact --only shell`: how many points a shell has, how they are projected, and how long a large one takes.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008 [sagardia08], Figure 6 and section 4.

use super::Options;
use super::contact::Found;
use super::svg::{self, Labels, Picture, Series};
use super::table::Row;
use crate::models::{self, Part, Which};
use crate::oracle::Random;
use anyhow::Result;
use glam::DVec3;
use palpate::mesh::{RawMesh, RepairParams};
use palpate::shell::{ShellParams, closest_point_kkt, closest_point_voronoi};
use palpate::tree::TreeParams;
use palpate::{Field, Mesh, Shell, Tree};
use std::path::Path;
use std::time::Instant;

/// Voxels of the largest extent, for Figure 6.
const RESOLUTIONS: [f64; 6] = [25.0, 50.0, 100.0, 200.0, 400.0, 800.0];
/// Points of the large shell: the largest one of the 2008 paper, and its time there [s].
const LARGE: f64 = 207_000.0;
const PAPER_LARGE_S: f64 = 303.0;
/// The paper's time of the projection by the KKT conditions over that of the other [%].
const PAPER_KKT: f64 = 37.0;
/// Triangle and point pairs for the projections.
const CASES: usize = 1 << 14;

/// A triangle, and a point to project onto it.
type Case = ([DVec3; 3], DVec3);

/// Measures.
pub fn run(options: &Options, folder: Option<&Path>) -> Result<Found> {
    let bunny = models::open(Which::Bunny, folder)?;
    let mut found = Found::default();
    figure6(options, &bunny, &mut found)?;
    projections(options, &mut found);
    large(options, &bunny, &mut found)?;
    Ok(found)
}

fn mesh_of(raw: &RawMesh) -> Result<Mesh> {
    Ok(Mesh::new(raw.clone(), &RepairParams::default())?)
}

/// Points against resolution: ours, and one for each surface voxel as the older programs had.
fn figure6(options: &Options, bunny: &models::Model, found: &mut Found) -> Result<()> {
    let part = models::part;
    let shapes = [(bunny.name.clone(), bunny.mesh.clone()), part(Part::Plain7k), part(Part::Detailed24k)];
    let colours = ["#26a", "#c33", "#393"];
    let mut series = Vec::new();
    let most = if options.quick { 3 } else { RESOLUTIONS.len() };
    for ((name, raw), colour) in shapes.into_iter().zip(colours) {
        let mesh = mesh_of(&raw)?;
        let extent = mesh.aabb().extent().max_element();
        let field = Field::build(&mesh, extent / 122.0, &Default::default())?;
        let (mut ours, mut voxels) = (Vec::new(), Vec::new());
        for resolution in &RESOLUTIONS[..most] {
            let spacing = core::f64::consts::SQRT_2 * extent / resolution;
            let shell = Shell::build(&mesh, &field, spacing, &ShellParams::default())?;
            let r = shell.report();
            ours.push((*resolution, r.points as f64));
            voxels.push((*resolution, r.surface_voxels as f64));
            let recovered = 100.0 * r.recovered_projections as f64 / r.boundary_projections.max(1) as f64;
            found.rows.push(
                Row {
                    case: format!("{name} shell {resolution}"),
                    metric: "recovered in phase two".into(),
                    unit: "%".into(),
                    ours: Some(recovered),
                    model: name.clone(),
                    grid: *resolution as u32,
                    threads: options.threads,
                    count_ours: Some(r.points as u64),
                    note: Some(format!(
                        "of {} projections on boundaries (paper: 0.06 to 1.3 %); {} points of {} surface voxels, {} of them \
                         recovered, {} on sharp edges, {} filled in",
                        r.boundary_projections,
                        r.points,
                        r.surface_voxels,
                        r.recovered,
                        r.feature_points,
                        r.filled
                    )),
                    ..Default::default()
                }
                .finish(),
            );
        }
        series.push(Series {
            name: format!("{name}, a point for each surface voxel"),
            colour,
            dashed: true,
            points: voxels,
        });
        series.push(Series { name: format!("{name}, ours"), colour, dashed: false, points: ours });
    }
    let labels = Labels {
        title: "Points of a shell against resolution (2008 paper, Figure 6)".into(),
        x: "voxels along the largest extent".into(),
        y: "points".into(),
        marks: Vec::new(),
    };
    let svg = svg::chart(&labels, &series);
    found.pictures.push(Picture { name: "paper-2008-figure6-points.svg".into(), svg });
    Ok(())
}

/// Both projections on arbitrary triangles and points, the best of many passes.
fn projections(options: &Options, found: &mut Found) {
    let mut random = Random::new(1);
    let mut point = || random.point_in(DVec3::ZERO, DVec3::ONE);
    let cases: Vec<Case> = (0..CASES).map(|_| ([point(), point(), point()], point())).collect();
    let passes = if options.quick { 10 } else { 100 };
    let time = |f: &dyn Fn(&[Case]) -> f64| {
        let pass = || {
            let start = Instant::now();
            std::hint::black_box(f(&cases));
            start.elapsed().as_secs_f64()
        };
        (0..passes).map(|_| pass()).fold(f64::INFINITY, f64::min) / cases.len() as f64
    };
    let kkt = time(&|c| c.iter().map(|(t, p)| closest_point_kkt(*t, *p).point.x).sum());
    let voronoi = time(&|c| c.iter().map(|(t, p)| closest_point_voronoi(*t, *p).point.x).sum());
    found.rows.push(
        Row {
            case: "shell projection".into(),
            model: "projection".into(),
            metric: "KKT over plane then Voronoi".into(),
            unit: "%".into(),
            ours: Some(100.0 * kkt / voronoi),
            threads: 1,
            note: Some(format!(
                "{:.1} ns and {:.1} ns for each of {CASES} random triangles (paper: {PAPER_KKT} %)",
                kkt * 1e9,
                voronoi * 1e9
            )),
            ..Default::default()
        }
        .finish(),
    );
}

/// A large shell and its tree.
fn large(options: &Options, bunny: &models::Model, found: &mut Found) -> Result<()> {
    let mesh = mesh_of(&bunny.mesh)?;
    let field = Field::build(&mesh, mesh.aabb().extent().max_element() / 250.0, &Default::default())?;
    let wanted = if options.quick { LARGE / 10.0 } else { LARGE };
    let params = ShellParams { threads: options.threads, ..Default::default() };
    let tree_params = TreeParams { threads: options.threads, ..Default::default() };
    // The number of points is known afterwards: one more shell meets it.
    let mut spacing = (0.7 * mesh.report().area / wanted).sqrt();
    let first = Shell::build(&mesh, &field, spacing, &params)?;
    spacing *= (first.report().points as f64 / wanted).sqrt();
    let (mut shell_s, mut tree_s) = (Vec::new(), Vec::new());
    let (mut points, mut levels) = (0, 0);
    for _ in 0..options.repeat.max(1) {
        let start = Instant::now();
        let shell = Shell::build(&mesh, &field, spacing, &params)?;
        shell_s.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let tree = Tree::build(&shell, &tree_params);
        tree_s.push(start.elapsed().as_secs_f64());
        (points, levels) = (shell.report().points, tree.levels());
    }
    let best = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let row = |metric: &str, times: &[f64], note: String| {
        Row {
            case: format!("{} shell {points}", bunny.name),
            metric: metric.into(),
            unit: "s".into(),
            ours: Some(best(times)),
            model: bunny.name.clone(),
            threads: options.threads,
            count_ours: Some(points as u64),
            seconds_ours: times.to_vec(),
            note: Some(note),
            ..Default::default()
        }
        .finish()
    };
    let paper = format!("2008 paper: {PAPER_LARGE_S} s for as many points of another shape");
    found.rows.push(row("shell", &shell_s, paper));
    found.rows.push(row("tree", &tree_s, format!("{levels} levels")));
    Ok(())
}
