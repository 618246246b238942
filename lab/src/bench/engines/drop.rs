//! The bunny that is dropped (2014 paper, 4.2): times and motion beside the engine's own shapes, low rates, smoothness of rolling.

use super::{Found, Lab, line, number, row};
use crate::bench::svg::{self, Labels, Picture};
use crate::bench::table::Row;
use anyhow::{Context, Result};
use palpate_sim::Engine;

/// The fine and the coarse bunny, 1.7354 times as large as the file: at least 34,000 points, and about 799 [m].
const FINE: [&str; 6] = ["--shape", "mixed", "--voxel", "0.00175", "--spacing", "0.0019"];
const COARSE: [&str; 6] = ["--shape", "mixed", "--voxel", "0.00175", "--spacing", "0.0127"];
/// Steps that count, of those at 500 Hz.
pub(super) const STEPS: std::ops::Range<usize> = 200..600;

/// Times of one shape on one ground.
#[derive(Default)]
pub(super) struct Timed {
    /// Mean of the narrow phase in the steps that count, of rotations that stayed above the ground [µs].
    pub(super) mean_us: f64,
    /// Of the shell; none where the program does not say.
    pub(super) points: Option<usize>,
    /// How many fell through, of how many.
    pub(super) fell: f64,
    pub(super) rotations: f64,
    pub(super) csv: Vec<Step>,
}

/// One step of one rotation.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) rotation: usize,
    pub(super) step: usize,
    pub(super) micros: f64,
    pub(super) speed: f64,
    pub(super) energy: f64,
    pub(super) spin: f64,
}

/// A shape of the engine's own.
pub(super) struct Peer {
    /// For tables, and for people.
    pub(super) name: &'static str,
    pub(super) label: String,
    pub(super) timed: Timed,
    /// What its time must be read with.
    pub(super) note: String,
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
        points: None,
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

/// Figures 8 and 10 in Bullet: the narrow phase's times beside its own shapes.
pub(super) fn bullet(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let hulls = lab.hulls("bunny.obj")?;
    let hulls = ["--shape", "hulls", "--hulls", hulls.as_str()];
    let (n, few) = if lab.options.quick { (2, 1) } else { (10, 4) };
    for ground in ["box", "mesh20k", "terrain"] {
        let ours = drop(lab, &FINE, ground, n)?;
        let rough = drop(lab, &COARSE, ground, n)?;
        let peer = |name, label: &str, shape: &[&str], n| -> Result<Peer> {
            Ok(Peer { name, label: label.into(), timed: drop(lab, shape, ground, n)?, note: String::new() })
        };
        let mut peers = vec![
            peer("hulls", "8 hulls", &hulls, n)?,
            peer("bullet", "hull of 42", &["--shape", "hull42"], n)?,
        ];
        // Ours again, as peers run between: the machine may have changed.
        let again = drop(lab, &FINE, ground, n)?;
        peers.push(peer("gimpact", "GImpact", &["--shape", "gimpact"], few)?);
        report(&mut found, Engine::Bullet, ground, &ours, &again, &rough, &peers);
    }
    Ok(found)
}

/// Rows and pictures of one ground. The first peer is what rolling is compared with.
pub(super) fn report(
    found: &mut Found,
    engine: Engine,
    ground: &str,
    ours: &Timed,
    again: &Timed,
    rough: &Timed,
    peers: &[Peer],
) {
    let case = format!("bunny on {ground}, {}", engine.name());
    for peer in peers {
        let theirs = &peer.timed;
        let note = format!(
            "{}; again {:.2} µs; fell through: ours {} of {}, theirs {} of {} (left out){}",
            peer.label, again.mean_us, ours.fell, ours.rotations, theirs.fell, theirs.rotations, peer.note
        );
        let mine = row(&case, "narrow phase", "s", 1e-6 * ours.mean_us, note);
        // None where all fell through.
        let theirs = Some(1e-6 * theirs.mean_us).filter(|t| *t > 0.0);
        found.rows.push(Row { peer: Some(peer.name.into()), theirs, ..mine }.finish());
    }
    let points = rough.points.map_or_else(|| "about 799".to_owned(), |n| n.to_string());
    let note = format!("{points} points; fell through: {} of {}", rough.fell, rough.rotations);
    found.rows.push(row(&case, "narrow phase coarse", "s", 1e-6 * rough.mean_us, note).finish());
    if let Some(peer) = peers.first() {
        let note = format!("{} in theirs; less is smoother", peer.label);
        let smooth = row(&case, "roughness of rolling", "1", roughness(&ours.csv), note);
        let theirs = Some(roughness(&peer.timed.csv));
        found.rows.push(Row { peer: Some(peer.name.into()), theirs, ..smooth });
    }
    let mut curves = vec![("ours, fine", ours), ("ours, coarse", rough)];
    curves.extend(peers.iter().map(|p| (p.label.as_str(), &p.timed)));
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
            title: format!(
                "Bunny dropped on a {ground}, {}: {what} (2014 paper, Figures 8 and 10)",
                engine.name()
            ),
            x: "step at 500 Hz".into(),
            y: unit.into(),
            marks: Vec::new(),
        };
        let name = format!("engines-drop-{}-{ground}-{what}.svg", engine.name());
        found.pictures.push(Picture { name, svg: svg::chart(&labels, &series) });
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolling_is_rough_where_the_spin_jumps() {
        let steps = |spin: &dyn Fn(usize) -> f64| -> Vec<Step> {
            let one =
                |step| Step { rotation: 0, step, micros: 1.0, speed: 0.0, energy: 0.0, spin: spin(step) };
            STEPS.map(one).collect()
        };
        let smooth = roughness(&steps(&|i| (0.01 * i as f64).sin()));
        let rough = roughness(&steps(&|i| if i % 2 == 0 { 1.0 } else { 0.0 }));
        assert!(smooth < 0.02 && (rough - 2.0).abs() < 1e-9, "{smooth} {rough}");
        assert_eq!(roughness(&[]), 0.0);
    }

    #[test]
    fn lines_of_the_program_are_read() {
        let read = step("3,250,12.5,0.5,0.125,-0.001,8,2.25").map(|s| (s.rotation, s.step, s.micros, s.spin));
        assert_eq!(read, Some((3, 250, 12.5, 2.25)));
        assert!(step("3,250,12.5").is_none());
    }
}
