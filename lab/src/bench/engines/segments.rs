//! Segments (2014 paper, Table 2): what the choice of a level costs, counted in instructions.
//!
//! Counted by callgrind, which is exact: the paper's own times spread by 7.7 %.

use super::{Found, Lab, row, segments_picture};
use crate::bench::svg::{self, Picture};
use anyhow::{Context, Result};
use glam::{DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::manifold::{Choice, Collider, ManifoldParams, Pair};
use palpate::progress::Silent;
use palpate::shape::ShapeParams;
use palpate::tree::TreeParams;
use palpate::{Mesh, Pose, Shape};
use std::path::Path;
use std::process::{Command, Stdio};

/// Rotations of the bunny, and steps of each in which it rocks on a box.
const ROTATIONS: usize = 10;
const STEPS: usize = 20;
/// The paper's times for L = 1 … 5 [µs].
const PAPER: [(&str, [f64; 5]); 2] = [
    ("799 points", [102.2, 102.1, 104.2, 102.3, 102.8]),
    ("35,596 points", [1387.9, 1477.5, 1407.4, 1449.6, 1494.3]),
];

/// What the scan is multiplied by, for the paper's inertia.
pub(super) const SCALE: f64 = 1.7354;

/// The bunny with clusters of four.
fn bunny(models: &Path, spacing: f64) -> Result<Shape> {
    let path = models.join("bunny.obj");
    let mesh = Mesh::load(&path, SCALE).with_context(|| path.display().to_string())?;
    let tree = TreeParams { cluster: 4, ..TreeParams::default() };
    let params = ShapeParams { spacing: Some(spacing), tree, ..ShapeParams::default() };
    Ok(Shape::build(mesh, 0.27 / 250.0, &params)?)
}

/// The work that is counted: `palpate-lab segments FILE LEVEL`.
pub fn work(file: &Path, level: usize) -> Result<()> {
    let tree = TreeParams { cluster: 4, ..TreeParams::default() };
    let shape = Shape::open(file, &ShapeParams { tree, ..ShapeParams::default() }, &Silent)?;
    let ground = Collider::from(Analytic::cuboid(DVec3::Z * -1.0, DVec3::new(5.0, 5.0, 1.0))?);
    let positions: Vec<DVec3> = (0..shape.tree().len()).map(|i| shape.tree().position(i)).collect();
    let bunny = Collider::from(shape);
    for n in 0..ROTATIONS {
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.7 * n as f64, 1.3 * n as f64, 0.2);
        let low = positions.iter().map(|p| (turn * *p).z).fold(f64::INFINITY, f64::min);
        let mut pair = Pair::new();
        for step in 0..STEPS {
            let rock = DQuat::from_rotation_x(2e-3 * (0.3 * step as f64).sin());
            let pose = Pose::new(rock * turn, DVec3::Z * (-low - 1e-4));
            counted(&mut pair, &ground, &bunny, &pose, level);
        }
    }
    Ok(())
}

#[inline(never)]
fn counted(pair: &mut Pair, ground: &Collider, bunny: &Collider, pose: &Pose, level: usize) {
    let params =
        ManifoldParams { margin: 5e-3, choice: Choice::Segmented(level), ..ManifoldParams::default() };
    std::hint::black_box(pair.update(ground, bunny, pose, &params).points.len());
}

/// Instructions of an update, and of its walk down the tree.
fn count(lab: &Lab<'_>, file: &str, level: usize) -> Result<(f64, f64)> {
    let out = lab.work.file("callgrind.out");
    let own = std::env::current_exe()?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*segments*counted*"])
        .arg(format!("--callgrind-out-file={out}"))
        .arg(own)
        .args(["segments", file, &level.to_string()])
        .stdin(Stdio::null())
        .output()
        .context("valgrind is needed (Debian: valgrind)")?;
    anyhow::ensure!(run.status.success(), "valgrind: {}", String::from_utf8_lossy(&run.stderr));
    let told =
        Command::new("callgrind_annotate").args(["--inclusive=yes", "--threshold=100", &out]).output()?;
    let text = String::from_utf8_lossy(&told.stdout);
    let of = |name: &str| {
        let line = text.lines().find(|l| l.contains(name))?;
        line.split_whitespace().next()?.replace(',', "").parse::<f64>().ok()
    };
    let calls = (ROTATIONS * STEPS) as f64;
    let all = of("PROGRAM TOTALS").or_else(|| of("counted")).context("callgrind_annotate said nothing")?;
    Ok((all / calls, of("find_solid").unwrap_or(0.0) / calls))
}

/// Table 2, in instructions.
pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let mut table = vec![
        ["points", "what", "L = 1", "L = 2", "L = 3", "L = 4", "L = 5", "spread"].map(String::from).to_vec(),
    ];
    for (spacing, (paper_name, paper)) in [0.0128, 0.00192].into_iter().zip(PAPER) {
        let shape = bunny(lab.models()?, spacing)?;
        let points = shape.tree().len();
        // Of the fine one, first: it needs no other program.
        if points > 10_000 {
            let (image, said) = segments_picture::picture(lab, &shape, spacing)?;
            found.images.push(("engines-segments-figure9.png".into(), segments_picture::png(&image)?));
            found.notes.push(format!(
                "engines-segments-figure9.png: segments coloured, contacts of a step marked; {said}"
            ));
        }
        let file = lab.work.file("bunny.palp");
        shape.write(&file, 0)?;
        let counts: Vec<(f64, f64)> = (1..=5).map(|l| count(lab, &file, l)).collect::<Result<_>>()?;
        let spread = |v: &[f64]| {
            let (low, high) = v.iter().fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
            100.0 * (high - low) / low
        };
        let all: Vec<f64> = counts.iter().map(|c| c.0).collect();
        let walk: Vec<f64> = counts.iter().map(|c| c.1).collect();
        let upkeep: Vec<f64> = counts.iter().map(|c| c.0 - c.1).collect();
        for (what, values) in [("all", &all), ("traversal", &walk), ("manifolds", &upkeep)] {
            let mut cells = vec![points.to_string(), format!("{what} [instructions]")];
            cells.extend(values.iter().map(|v| format!("{v:.0}")));
            cells.push(format!("{:.1} %", spread(values)));
            table.push(cells);
        }
        let mut cells = vec![paper_name.to_owned(), "paper [µs]".into()];
        cells.extend(paper.iter().map(f64::to_string));
        cells.push(format!("{:.1} %", spread(&paper)));
        table.push(cells);
        let note = format!(
            "instructions of the traversal for L = 1 … 5: {walk:.0?}; of choosing points: {upkeep:.0?}"
        );
        found.rows.push(
            row(
                format!("bunny of {points} points on a box, K = 4"),
                "spread over levels",
                "%",
                spread(&walk),
                note,
            )
            .finish(),
        );
    }
    let svg = svg::table("Levels of segmentation (2014 paper, Table 2)", &table);
    found.pictures.push(Picture { name: "engines-segments-table2.svg".into(), svg });
    Ok(found)
}
