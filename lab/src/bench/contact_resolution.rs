//! `bench contact --only resolution`: the force does not depend on how many points there are, and is what it should be.
//!
//! Shapes are pressed into the top of a block whose field stays the same. Forces are those of the integrated law unless said
//! otherwise, with a stiffness of 1e8 N/m³ (1e4 N/m for the averaged law).

use super::Options;
use super::contact::Found;
use super::svg::{self, Labels, Picture, Series};
use super::table::Row;
use crate::models::{self, Which};
use crate::oracle::Random;
use anyhow::Result;
use glam::{DQuat, DVec3};
use palpate::force::{Direction, ForceParams, Law, Limits, penalty};
use palpate::mesh::{RawMesh, RepairParams, samples};
use palpate::query::{QueryParams, Roles};
use palpate::shape::ShapeParams;
use palpate::{Mesh, Pose, Query, Shape, Shell, Tree, Wrench};
use std::f64::consts::{FRAC_PI_2, PI};
use std::path::Path;

/// Points of the shells compared; forces are compared with those of the last.
const POINTS: [f64; 4] = [1e3, 8e3, 35e3, 140e3];
/// Poses of each shape.
const POSES: usize = 20;
/// Pressed at least this many of the coarsest spacing deep, and up to twice that.
const DEEP: f64 = 2.0;
/// Stiffness of the two laws [N/m³, N/m].
const INTEGRATED: f64 = 1e8;
const AVERAGED: f64 = 1e4;
/// Edge of the block [times the size of what is pressed].
const BLOCK: f64 = 3.0;

/// Measures.
pub fn run(options: &Options, folder: Option<&Path>) -> Result<Found> {
    let mut found = Found::default();
    let bunny = models::open(Which::Bunny, folder)?;
    let shapes = [
        ("sphere".to_owned(), samples::sphere(0.05, 6)),
        ("peg".to_owned(), samples::peg_and_hole(5e-5, 128).0),
        (bunny.name.clone(), bunny.mesh),
    ];
    let mut rows = vec![["pressed", "points", "difference", "largest"].map(String::from).to_vec()];
    for (name, raw) in shapes {
        independence(options, &name, &raw, &mut found, &mut rows)?;
    }
    let svg =
        svg::table("Force of shapes pressed into a block, against 140,000 points (RMS of 20 poses)", &rows);
    found.pictures.push(Picture { name: "contact-resolution.svg".into(), svg });
    analytic(options, &mut found)?;
    peg(options, &mut found)?;
    plate(&mut found)?;
    Ok(found)
}

fn build(raw: RawMesh, across: f64, spacing_vox: f64) -> Result<Shape> {
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let voxel = mesh.aabb().extent().max_element() / across;
    let params = ShapeParams { spacing: Some(spacing_vox * voxel), ..Default::default() };
    Ok(Shape::build(mesh, voxel, &params)?)
}

/// The block into which shapes of `size` are pressed: its top is at z = 0.
fn block(size: f64) -> Result<Shape> {
    let edge = BLOCK * size;
    build(samples::moved(samples::cuboid(DVec3::splat(edge)), -DVec3::Z * 0.5 * edge), 120.0, 2.0)
}

/// The shape with about `points` points.
fn with_points(shape: &Shape, points: f64) -> Result<Shape> {
    let mut spacing = (0.7 * shape.mesh().report().area / points).sqrt();
    for _ in 0..3 {
        let shell = Shell::build(shape.mesh(), shape.field(), spacing, &Default::default())?;
        let off = shell.report().points as f64 / points;
        if (0.97..1.03).contains(&off) {
            return Ok(shape.with_tree(Tree::build(&shell, &Default::default())));
        }
        spacing *= off.sqrt();
    }
    let shell = Shell::build(shape.mesh(), shape.field(), spacing, &Default::default())?;
    Ok(shape.with_tree(Tree::build(&shell, &Default::default())))
}

/// The shape turned, with its lowest point `depth` below the top of the block.
fn pressed(shape: &Shape, rotation: DQuat, depth: f64) -> Pose {
    let lowest = shape.mesh().positions().iter().map(|p| (rotation * *p).z).fold(f64::INFINITY, f64::min);
    let centre = rotation * shape.aabb().centre();
    Pose::new(rotation, DVec3::new(-centre.x, -centre.y, -depth - lowest))
}

/// What the block does to the shape, by the shape's points.
fn wrench(query: &mut Query, block: &Shape, shape: &Shape, pose: &Pose, force: &ForceParams) -> Wrench {
    let params = QueryParams { roles: Roles::PointsOfB, ..Default::default() };
    penalty(query.contacts(block, shape, pose, &params), force, pose, None, None).wrench
}

/// Forces with more and more points.
fn independence(
    options: &Options,
    name: &str,
    raw: &RawMesh,
    found: &mut Found,
    table: &mut Vec<Vec<String>>,
) -> Result<()> {
    let shape = build(raw.clone(), 122.0, 2.0)?;
    let size = shape.aabb().extent().length();
    let block = block(size)?;
    let points = if options.quick { &POINTS[..3] } else { &POINTS[..] };
    let shells: Vec<Shape> = points.iter().map(|n| with_points(&shape, *n)).collect::<Result<_>>()?;
    let coarsest = shells[0].tree().shell_report().spacing;
    let mut random = Random::new(7);
    let poses: Vec<Pose> = (0..POSES)
        .map(|_| {
            let turn = DQuat::from_scaled_axis(random.in_ball() * PI);
            pressed(&shape, turn, coarsest * DEEP * (1.0 + random.unit()))
        })
        .collect();
    let mut query = Query::new();
    let force = ForceParams::new(INTEGRATED);
    let forces: Vec<Vec<DVec3>> = shells
        .iter()
        .map(|s| poses.iter().map(|p| wrench(&mut query, &block, s, p, &force).force).collect())
        .collect();
    let finest = forces.len() - 1;
    for (shape, of) in shells.iter().zip(&forces) {
        let off: Vec<f64> =
            of.iter().zip(&forces[finest]).map(|(f, g)| (*f - *g).length() / g.length()).collect();
        let rms = (off.iter().map(|o| o * o).sum::<f64>() / off.len() as f64).sqrt();
        let largest = off.iter().copied().fold(0.0, f64::max);
        let n = shape.tree().shell_report().points;
        table.push(vec![
            name.into(),
            n.to_string(),
            format!("{:.2} %", 100.0 * rms),
            format!("{:.2} %", 100.0 * largest),
        ]);
        found.rows.push(row(
            &format!("{name} pressed, {n} points"),
            "force against the finest, RMS",
            100.0 * rms,
            format!(
                "largest {:.2} % of {POSES} poses, {:.1} to {:.1} mm deep",
                100.0 * largest,
                1e3 * coarsest * DEEP,
                2e3 * coarsest * DEEP
            ),
        ));
    }
    Ok(())
}

/// A row of our own with a percentage.
fn row(case: &str, metric: &str, percent: f64, note: String) -> Row {
    Row {
        case: case.into(),
        metric: metric.into(),
        unit: "%".into(),
        ours: Some(percent),
        model: case.into(),
        threads: 1,
        note: Some(note),
        ..Default::default()
    }
    .finish()
}

/// A ball on a half-space, against k·π·R·δ² and k·π·δ²·(R − δ/3).
fn analytic(options: &Options, found: &mut Found) -> Result<()> {
    let radius = 0.05;
    let ball = build(samples::sphere(radius, 6), 122.0, 2.0)?;
    let block = block(2.0 * radius)?;
    let mut query = Query::new();
    let points = if options.quick { 8e3 } else { 35e3 };
    let ball = with_points(&ball, points)?;
    let turn = DQuat::from_scaled_axis(DVec3::new(0.3, 0.5, 0.2));
    for depth in [0.002, 0.005, 0.015] {
        let pose = pressed(&ball, turn, depth);
        let exact = [
            (Direction::Field, PI * radius * depth * depth),
            (Direction::Shell, PI * depth * depth * (radius - depth / 3.0)),
        ];
        for (direction, exact) in exact {
            let force = ForceParams { direction, ..ForceParams::new(INTEGRATED) };
            let f = wrench(&mut query, &block, &ball, &pose, &force).force;
            let exact = INTEGRATED * exact;
            found.rows.push(row(
                &format!("ball on half-space, {:.0} mm", 1e3 * depth),
                &format!("force off the analytic one, {direction:?}"),
                100.0 * (f - DVec3::Z * exact).length() / exact,
                format!("{:.3} N, analytic {exact:.3} N, {} points", f.z, ball.tree().len()),
            ));
        }
    }
    Ok(())
}

/// A peg pressed with its end and with its side, both laws.
fn peg(options: &Options, found: &mut Found) -> Result<()> {
    let peg = build(samples::peg_and_hole(5e-5, 128).0, 250.0, 1.7)?;
    let peg = with_points(&peg, if options.quick { 8e3 } else { 35e3 })?;
    let block = block(0.03)?;
    let mut query = Query::new();
    let mut rows = vec![vec![
        "depth".to_owned(),
        "end, integrated".into(),
        "side, integrated".into(),
        "side over end".into(),
        "end, averaged".into(),
        "side, averaged".into(),
        "side over end".into(),
    ]];
    for depth in [1e-4, 3e-4, 1e-3] {
        let mut cells = vec![format!("{:.1} mm", 1e3 * depth)];
        for (law, stiffness) in [(Law::Integrated, INTEGRATED), (Law::Averaged, AVERAGED)] {
            let force = ForceParams { law, ..ForceParams::new(stiffness) };
            let mut of =
                |turn| wrench(&mut query, &block, &peg, &pressed(&peg, turn, depth), &force).force.length();
            let (end, side) = (of(DQuat::IDENTITY), of(DQuat::from_rotation_x(FRAC_PI_2)));
            cells.extend([format!("{end:.3} N"), format!("{side:.3} N"), format!("{:.2}", side / end)]);
            found.rows.push(row(
                &format!("peg, {:.1} mm deep", 1e3 * depth),
                &format!("side over end, {law:?}"),
                100.0 * side / end,
                format!("end {end:.3} N, side {side:.3} N"),
            ));
        }
        rows.push(cells);
    }
    let title = "A peg of 8 x 30 mm pressed with its end and with its side (1e8 N/m³; 1e4 N/m)";
    found.pictures.push(Picture { name: "contact-peg.svg".into(), svg: svg::table(title, &rows) });
    Ok(())
}

/// A ball pressed through a thin plate: the plate can only push as far as its own middle.
fn plate(found: &mut Found) -> Result<()> {
    let (thickness, radius) = (0.002, 0.02);
    let plate = build(samples::cuboid(DVec3::new(0.1, 0.1, thickness)), 250.0, 2.0)?;
    let ball = with_points(&build(samples::sphere(radius, 6), 122.0, 1.7)?, 140e3)?;
    let limits = Limits { force: 5.0, ..Default::default() };
    let mut query = Query::new();
    let force = ForceParams::new(INTEGRATED);
    let (mut raw, mut held) = (Vec::new(), Vec::new());
    let steps = 360;
    for i in 0..=steps {
        let depth = 0.045 * f64::from(i) / f64::from(steps);
        // The lowest point of the ball `depth` below the top of the plate.
        let pose = Pose::from_translation(DVec3::Z * (0.5 * thickness + radius - depth));
        let w = wrench(&mut query, &plate, &ball, &pose, &force);
        raw.push((1e3 * depth, w.force.z));
        held.push((1e3 * depth, limits.saturate(&w).wrench.force.z));
    }
    let peak = raw.iter().copied().fold((0.0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
    let back = raw.iter().find(|p| p.0 > peak.0 && p.1 <= 0.0).map_or(f64::NAN, |p| p.0);
    found.rows.push(
        Row {
            case: "ball through a plate of 2 mm".into(),
            model: "ball through a plate".into(),
            metric: "largest force [N]".into(),
            unit: "1".into(),
            ours: Some(peak.1),
            threads: 1,
            note: Some(format!(
                "at {:.1} mm; a ball of 20 mm radius; no longer pushed back beyond {back:.1} mm",
                peak.0
            )),
            ..Default::default()
        }
        .finish(),
    );
    let line = |name: &str, colour, dashed, points| Series { name: name.into(), colour, dashed, points };
    let svg = svg::plot(
        &Labels {
            title: "A ball of 20 mm radius pressed through a plate of 2 mm".into(),
            x: "depth of the lowest point below the top of the plate [mm]".into(),
            y: "force on the ball, upward [N]".into(),
            marks: vec![
                (1e3 * 0.5 * thickness, "middle of the plate".into()),
                (1e3 * (radius + 0.5 * thickness), "centre in the plate".into()),
            ],
        },
        &[line("penalty", "#26a", false, raw), line("with a limit of 5 N", "#c33", true, held)],
    );
    found.pictures.push(Picture { name: "contact-thin-plate.svg".into(), svg });
    Ok(())
}
