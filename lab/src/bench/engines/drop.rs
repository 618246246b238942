//! The bunny that is dropped (2014 paper, 4.2): times and motion beside Bullet's own shapes, low rates, smoothness of rolling.

use super::{Found, Lab, line, number, row};
use crate::bench::svg::{self, Labels, Picture};
use crate::bench::table::Row;
use anyhow::{Context, Result};

/// The fine and the coarse bunny, 1.7354 times as large as the file: at least 34,000 points, and about 799 [m].
const FINE: [&str; 6] = ["--shape", "mixed", "--voxel", "0.00175", "--spacing", "0.0019"];
const COARSE: [&str; 6] = ["--shape", "mixed", "--voxel", "0.00175", "--spacing", "0.0145"];
/// Steps that count, of those at 500 Hz.
const STEPS: std::ops::Range<usize> = 200..600;

/// Times of one shape on one ground.
struct Timed {
    mean_us: f64,
    fell: f64,
    rotations: f64,
    csv: Vec<Step>,
}

/// One step of one rotation.
#[derive(Clone, Copy)]
struct Step {
    rotation: usize,
    step: usize,
    micros: f64,
    speed: f64,
    energy: f64,
    spin: f64,
}

fn drop(lab: &Lab<'_>, shape: &[&str], ground: &str, rotations: usize) -> Result<Timed> {
    let mesh = lab.models()?.join("bunny.obj");
    let (mesh, csv) = (mesh.display().to_string(), lab.work.file("drop.csv"));
    let rotations = rotations.to_string();
    let words = [
        "drop",
        "--mesh",
        &mesh,
        "--scale",
        "1.7354",
        "--ground",
        ground,
        "--rate",
        "500",
        "--rotations",
        &rotations,
    ];
    let all = [&words[..], &["--steps", "600", "--csv", &csv], shape].concat();
    let last = lab.bullet_last(&all)?;
    let text = std::fs::read_to_string(&csv)?;
    let parsed: Option<Vec<Step>> = text.lines().skip(1).map(step).collect();
    Ok(Timed {
        mean_us: number(&last, "micros_mean")?,
        fell: number(&last, "fell_through")?,
        rotations: number(&last, "rotations")?,
        csv: parsed.context("drop.csv")?,
    })
}

/// rotation,step,micros,speed,energy,lowest,contacts,spin
fn step(text: &str) -> Option<Step> {
    let mut cells = text.split(',').map(|c| c.parse::<f64>().ok());
    let mut next = || cells.next().flatten();
    let (rotation, step) = (next()? as usize, next()? as usize);
    let (micros, speed, energy) = (next()?, next()?, next()?);
    let (_, _) = (next()?, next()?);
    Some(Step { rotation, step, micros, speed, energy, spin: next()? })
}

/// How unsteadily a body turns while it rolls and rocks: root mean square of the change of its angular acceleration from one step to
/// the next, over that of the angular acceleration [1]. 0: smooth; an impact in every step: about 1.7.
fn roughness(steps: &[Step]) -> f64 {
    let (mut jerk, mut turn) = (0.0, 0.0);
    for w in steps.windows(3) {
        let together = w[0].rotation == w[2].rotation && w[2].step == w[0].step + 2;
        if together && STEPS.contains(&w[0].step) {
            let (a, b) = (w[1].spin - w[0].spin, w[2].spin - w[1].spin);
            jerk += (b - a) * (b - a);
            turn += 0.5 * (a * a + b * b);
        }
    }
    if turn > 0.0 { (jerk / turn).sqrt() } else { 0.0 }
}

/// Figures 8 and 10: the narrow phase's times beside Bullet's own shapes.
pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let hulls = lab.hulls("bunny.obj")?;
    let hulls = ["--shape", "hulls", "--hulls", hulls.as_str()];
    let n = if lab.options.quick { 2 } else { 10 };
    for ground in ["box", "mesh20k", "terrain"] {
        let ours = drop(lab, &FINE, ground, n)?;
        let rough = drop(lab, &COARSE, ground, n)?;
        let mut peers = vec![
            ("8 hulls", drop(lab, &hulls, ground, n)?),
            ("hull of 42", drop(lab, &["--shape", "hull42"], ground, n)?),
        ];
        // Ours again, as peers run between: the machine may have changed.
        let again = drop(lab, &FINE, ground, n)?;
        peers.push((
            "GImpact",
            drop(lab, &["--shape", "gimpact"], ground, if lab.options.quick { 1 } else { 4 })?,
        ));
        for (name, peer) in &peers {
            let note = format!(
                "again {:.2} µs; fell through: ours {} of {}, theirs {} of {} (left out)",
                again.mean_us, ours.fell, ours.rotations, peer.fell, peer.rotations
            );
            let mine = row(format!("bunny on {ground}"), "narrow phase", "s", 1e-6 * ours.mean_us, note);
            let name = match *name {
                "8 hulls" => "hulls",
                "GImpact" => "gimpact",
                _ => "bullet",
            };
            found
                .rows
                .push(Row { peer: Some(name.into()), theirs: Some(1e-6 * peer.mean_us), ..mine }.finish());
        }
        let coarse_row = row(
            format!("bunny on {ground}"),
            "narrow phase, coarse",
            "s",
            1e-6 * rough.mean_us,
            "about 799 points",
        );
        found.rows.push(coarse_row.finish());
        let smooth = row(
            format!("bunny on {ground}"),
            "roughness of rolling",
            "1",
            roughness(&ours.csv),
            "8 hulls in theirs; less is smoother",
        );
        found.rows.push(Row {
            peer: Some("hulls".into()),
            theirs: Some(roughness(&peers[0].1.csv)),
            ..smooth
        });
        let curves = [
            ("ours, fine", &ours),
            ("ours, coarse", &rough),
            ("8 hulls", &peers[0].1),
            ("hull of 42", &peers[1].1),
            ("GImpact", &peers[2].1),
        ];
        for (what, unit, value) in [
            ("time", "narrow phase [µs]", (|s: &Step| s.micros) as fn(&Step) -> f64),
            ("velocity", "speed [m/s]", |s| s.speed),
            ("energy", "kinetic energy [J]", |s| s.energy),
        ] {
            let series: Vec<_> = curves
                .iter()
                .enumerate()
                .map(|(i, (name, timed))| {
                    let first = timed.csv.iter().filter(|s| s.rotation == 0);
                    line(*name, i, false, first.map(|s| (s.step.max(1) as f64, value(s).max(1e-9))).collect())
                })
                .collect();
            let labels = Labels {
                title: format!("Bunny dropped on a {ground}: {what} (2014 paper, Figures 8 and 10)"),
                x: "step at 500 Hz".into(),
                y: unit.into(),
                marks: Vec::new(),
            };
            let name = format!("engines-drop-{ground}-{what}.svg");
            found.pictures.push(Picture { name, svg: svg::chart(&labels, &series) });
        }
    }
    Ok(found)
}

/// Low rates (4.2.2): whether the bunny stays above a half-space.
pub(super) fn low_rate(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let mesh = lab.models()?.join("bunny.obj").display().to_string();
    let n = if lab.options.quick { "4" } else { "20" };
    for (rate, level) in [("30", "1"), ("10", "4"), ("10", "5"), ("10", "1")] {
        let words = [
            "drop",
            "--mesh",
            &mesh,
            "--scale",
            "1.7354",
            "--ground",
            "plane",
            "--rate",
            rate,
            "--rotations",
            n,
        ];
        let ours = ["--steps", "200", "--cluster", "4", "--choice", "segmented", "--level", level];
        let last = lab.bullet_last(&[&words[..], &ours, &FINE].concat())?;
        let note = format!(
            "{} of {n} fell through; deepest {:.1} mm, at the end {:.2} mm",
            number(&last, "fell_through")?,
            -1e3 * number(&last, "lowest")?,
            -1e3 * number(&last, "lowest_end")?
        );
        found.rows.push(
            row(format!("bunny at {rate} Hz, L = {level}"), "deepest", "m", -number(&last, "lowest")?, note)
                .finish(),
        );
    }
    Ok(found)
}
