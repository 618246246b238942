//! The bouncing ball (2014 paper, Figure 6 and Table 1) and stacks of balls.

use super::{Found, Lab, line, number, row};
use crate::bench::svg::{self, Labels, Picture};
use crate::bench::table::Row;
use crate::scenes;
use anyhow::Result;
use glam::DVec3;
use palpate::mesh::{Mesh, RepairParams, samples};
use palpate::{Pose, Shape};
use palpate_sim::{Body, Motion, Options, Scene, start};

/// Restitutions, and what the paper has for VPS low and high, and for Bullet [mm].
const PAPER: [(f64, f64, f64, f64); 3] =
    [(0.1, 6.8, 3.5, 42.5), (0.5, 9.5, 4.0, 42.5), (0.9, 20.1, 19.2, 42.5)];
/// Spacing of the coarse ball, about the paper's 275 points, and of the fine one, about 25,880 [m].
const SPACINGS: [(&str, f64); 2] = [("coarse", 0.105), ("fine", 0.0095)];

/// Bullet with its own sphere and with ours, at a true 200 Hz.
pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let mut lines = Vec::new();
    let count = if lab.options.quick { "11" } else { "101" };
    let mut table = vec![
        [
            "restitution",
            "shape",
            "points",
            "at 1.000 m [mm]",
            "worst of 101 [mm]",
            "mean [mm]",
            "apex error worst [mm]",
            "apex error mean [mm]",
            "paper [mm]",
        ]
        .map(String::from)
        .to_vec(),
    ];
    for (k, (e, low, high, theirs)) in PAPER.into_iter().enumerate() {
        let e_text = e.to_string();
        let mut peer: Option<(f64, f64)> = None;
        for (shape, spacing, paper) in [
            ("sphere", None, theirs),
            ("coarse", Some(SPACINGS[0].1), low),
            ("fine", Some(SPACINGS[1].1), high),
        ] {
            let spacing_text = spacing.map(|s: f64| s.to_string()).unwrap_or_default();
            let mut words = vec!["ball", "--rate", "200", "--ground", "plane", "--restitution", &e_text];
            words.extend(["--shape", if spacing.is_some() { "mixed" } else { "sphere" }]);
            if spacing.is_some() {
                words.extend(["--voxel", "0.01", "--spacing", &spacing_text]);
            }
            let once = [&words[..], &["--from", "1", "--to", "1", "--count", "1"]].concat();
            let one = number(&lab.bullet_last(&once)?, "penetration_worst")?;
            let sweep = lab
                .bullet_last(&[&words[..], &["--from", "0.95", "--to", "1.05", "--count", count]].concat())?;
            let (worst, apex) = (number(&sweep, "penetration_worst")?, number(&sweep, "apex_error_worst")?);
            let (mean, apex_mean) = (number(&sweep, "penetration_mean")?, number(&sweep, "apex_error_mean")?);
            let points = number(&sweep, "points")?;
            if k == 1 {
                let traced = lab.bullet(&[&once[..], &["--trace", "1"]].concat())?;
                let heights = traced
                    .iter()
                    .filter_map(|l| Some((l["step"].as_f64()? / 200.0, l["bottom"].as_f64()? + 0.5)));
                lines.push(line(
                    format!("{shape}, restitution {e}"),
                    lines.len(),
                    spacing.is_none(),
                    heights.collect(),
                ));
            }
            let mm = |v: f64| format!("{:.3}", v * 1e3);
            table.push(vec![
                e_text.clone(),
                shape.to_owned(),
                format!("{points}"),
                mm(one),
                mm(worst),
                mm(mean),
                mm(apex),
                mm(apex_mean),
                format!("{paper}"),
            ]);
            match (spacing, peer) {
                (None, _) => peer = Some((worst, apex_mean)),
                (Some(_), Some((theirs_worst, theirs_apex))) => {
                    let case = format!("ball {shape}, restitution {e}");
                    let at_one = format!("at 1.000 m {} mm, paper {paper} mm; {points} points", mm(one));
                    let peer = |r: Row, theirs: f64| {
                        Row { peer: Some("bullet".into()), theirs: Some(theirs), ..r }.finish()
                    };
                    found.rows.push(peer(row(&case, "penetration worst", "m", worst, at_one), theirs_worst));
                    found.rows.push(peer(row(&case, "apex error mean", "m", apex_mean, ""), theirs_apex));
                }
                _ => {}
            }
        }
    }
    let svg = svg::table("Bouncing ball at 200 Hz (2014 paper, Table 1), Bullet", &table);
    found.pictures.push(Picture { name: "engines-ball-table1.svg".into(), svg });
    let labels = Labels {
        title: "Height of the ball's centre (2014 paper, Figure 6), Bullet at 200 Hz".into(),
        x: "time [s]".into(),
        y: "height [m]".into(),
        marks: Vec::new(),
    };
    found.pictures.push(Picture { name: "engines-ball-figure6.svg".into(), svg: svg::plot(&labels, &lines) });
    Ok(found)
}

/// A ball of radius 0.5 m.
fn ball(spacing: f64) -> Result<Shape> {
    let mesh = Mesh::new(samples::sphere(0.5, 6), &RepairParams::default())?;
    scenes::build(mesh, spacing)
}

/// Five balls on each other, without sleep: how long the stack stands in each engine.
pub(super) fn stack(lab: &Lab<'_>) -> Result<Found> {
    const BALLS: usize = 5;
    let mut found = Found::default();
    let seconds = if lab.options.quick { 5.0 } else { 30.0 };
    for (name, spacing) in SPACINGS {
        let shape = ball(spacing)?;
        let mut scene = Scene::default();
        scene.add(scenes::floor(0.0)?);
        for i in 0..BALLS {
            let pose = Pose::from_translation(DVec3::Z * (0.5 + i as f64));
            scene.add(Body::new(format!("ball {i}"), shape.clone(), Motion::Mass(1.0), pose));
        }
        for engine in lab.engines() {
            let options = Options { rate: 200.0, ..Options::default() };
            let mut sim = start(engine, &scene, &options)?;
            let steps = (seconds * options.rate) as usize;
            let (mut fell, mut spent) = (None, 0.0);
            for step in 1..=steps {
                spent += sim.step()?.step_us;
                if sim.state(BALLS).pose.translation.z < BALLS as f64 - 1.0 {
                    fell = Some(step as f64 / options.rate);
                    break;
                }
            }
            let said = fell.map_or_else(|| "stands".to_owned(), |t| format!("falls after {t:.2} s"));
            let note = format!("{} points each; {said} of {seconds} s", shape.tree().len());
            let us = spent / fell.map_or(steps as f64, |t| t * options.rate);
            found.rows.push(
                row(
                    format!("stack of {BALLS} {name} balls"),
                    &format!("step, {}", engine.name()),
                    "s",
                    1e-6 * us,
                    note,
                )
                .finish(),
            );
        }
    }
    Ok(found)
}
