//! The bouncing ball (2014 paper, Figure 6 and Table 1), in Bullet and in Rapier: the engine's own ball and ours.

use super::{Found, Lab, line, number, row};
use crate::bench::svg::{self, Labels, Picture};
use crate::bench::table::Row;
use anyhow::Result;
use palpate_sim::Engine;

/// Restitutions, and what the paper has for VPS low and high, and for Bullet [mm].
const PAPER: [(f64, f64, f64, f64); 3] =
    [(0.1, 6.8, 3.5, 42.5), (0.5, 9.5, 4.0, 42.5), (0.9, 20.1, 19.2, 42.5)];
/// Spacing of the coarse ball, about the paper's 275 points, and of the fine one, about 25,880 [m].
pub(super) const SPACINGS: [(&str, f64); 2] = [("coarse", 0.105), ("fine", 0.0095)];
/// Edge of the voxels of both [m].
pub(super) const VOXEL: f64 = 0.01;
/// Of every ball [m].
pub(super) const RADIUS: f64 = 0.5;
/// Of every run [Hz].
pub(super) const RATE: f64 = 200.0;

/// A ball and the heights it falls from.
pub(super) struct Case {
    pub(super) restitution: f64,
    /// Of our points [m]; none: the engine's own ball.
    pub(super) spacing: Option<f64>,
    /// First and last height of the lowest point [m], and how many there are.
    pub(super) heights: (f64, f64, usize),
    /// Whether the course of the first fall is wanted.
    pub(super) trace: bool,
}

impl Case {
    /// Every height, evenly spaced.
    pub(super) fn each(&self) -> impl Iterator<Item = f64> {
        let (from, to, count) = self.heights;
        (0..count)
            .map(move |n| if count < 2 { from } else { from + (to - from) * n as f64 / (count - 1) as f64 })
    }
}

/// What falls from all heights gave [m].
#[derive(Clone, Debug, Default)]
pub(super) struct Bounces {
    pub(super) points: usize,
    /// Deepest penetration of the points, or of the engine's own ball.
    pub(super) worst: f64,
    pub(super) mean: f64,
    /// How far the first rebound is from restitution² of the height.
    pub(super) apex_worst: f64,
    pub(super) apex_mean: f64,
    /// Time [s] and height of the centre.
    pub(super) trace: Vec<(f64, f64)>,
}

/// In Bullet, at a true 200 Hz.
pub(super) fn bullet(lab: &Lab<'_>) -> Result<Found> {
    report(lab, Engine::Bullet, &mut |case| {
        let (e, spacing) = (case.restitution.to_string(), case.spacing.map(|s| s.to_string()));
        let (voxel, rate) = (VOXEL.to_string(), RATE.to_string());
        let mut words = vec!["ball", "--rate", &rate, "--ground", "plane", "--restitution", &e];
        match &spacing {
            Some(spacing) => words.extend(["--shape", "mixed", "--voxel", &voxel, "--spacing", spacing]),
            None => words.extend(["--shape", "sphere"]),
        }
        let (from, to, count) = case.heights;
        let (from, to, count) = (from.to_string(), to.to_string(), count.to_string());
        words.extend(["--from", &from, "--to", &to, "--count", &count]);
        if case.trace {
            words.extend(["--trace", "1"]);
        }
        let lines = lab.bullet(&words)?;
        let last = lines.last().unwrap_or(&serde_json::Value::Null);
        let course = lines.iter().filter_map(|l| Some((l["step"].as_f64()?, l["bottom"].as_f64()?)));
        Ok(Bounces {
            points: number(last, "points")? as usize,
            worst: number(last, "penetration_worst")?,
            mean: number(last, "penetration_mean")?,
            apex_worst: number(last, "apex_error_worst")?,
            apex_mean: number(last, "apex_error_mean")?,
            trace: course.map(|(step, bottom)| (step / RATE, bottom + RADIUS)).collect(),
        })
    })
}

/// Table 1 and Figure 6 of one engine.
pub(super) fn report(
    lab: &Lab<'_>,
    engine: Engine,
    measure: &mut dyn FnMut(&Case) -> Result<Bounces>,
) -> Result<Found> {
    let mut found = Found::default();
    let mut lines = Vec::new();
    let count = if lab.options.quick { 11 } else { 101 };
    let mut table = vec![
        [
            "restitution".to_owned(),
            "shape".into(),
            "points".into(),
            "at 1.000 m [mm]".into(),
            format!("worst of {count} [mm]"),
            "mean [mm]".into(),
            "apex error worst [mm]".into(),
            "apex error mean [mm]".into(),
            "paper [mm]".into(),
        ]
        .to_vec(),
    ];
    let mm = |v: f64| format!("{:.3}", v * 1e3);
    for (k, (e, low, high, theirs)) in PAPER.into_iter().enumerate() {
        let mut peer: Option<Bounces> = None;
        for (shape, spacing, paper) in [
            ("own ball", None, theirs),
            (SPACINGS[0].0, Some(SPACINGS[0].1), low),
            (SPACINGS[1].0, Some(SPACINGS[1].1), high),
        ] {
            let case = |heights, trace| Case { restitution: e, spacing, heights, trace };
            let one = measure(&case((1.0, 1.0, 1), k == 1))?;
            let all = measure(&case((0.95, 1.05, count), false))?;
            if k == 1 {
                let name = format!("{shape}, restitution {e}");
                lines.push(line(name, lines.len(), spacing.is_none(), one.trace));
            }
            let mut cells = vec![e.to_string(), shape.to_owned(), all.points.to_string()];
            cells.extend([one.worst, all.worst, all.mean, all.apex_worst, all.apex_mean].map(mm));
            cells.push(paper.to_string());
            table.push(cells);
            let Some(peer) = &peer else {
                peer = Some(all);
                continue;
            };
            let name = format!("ball {shape}, restitution {e}, {}", engine.name());
            let note = format!("at 1.000 m {} mm, paper {paper} mm; {} points", mm(one.worst), all.points);
            let beside = |r: Row, theirs: f64| {
                Row { peer: Some(engine.name().into()), theirs: Some(theirs), ..r }.finish()
            };
            found.rows.push(beside(row(&name, "penetration worst", "m", all.worst, note), peer.worst));
            found.rows.push(beside(row(&name, "apex error mean", "m", all.apex_mean, ""), peer.apex_mean));
        }
    }
    let (name, engine) = (engine.name(), engine.name());
    let title = format!("Bouncing ball at 200 Hz (2014 paper, Table 1), {engine}");
    found
        .pictures
        .push(Picture { name: format!("engines-ball-table1-{name}.svg"), svg: svg::table(&title, &table) });
    let labels = Labels {
        title: format!("Height of the ball's centre (2014 paper, Figure 6), {engine} at 200 Hz"),
        x: "time [s]".into(),
        y: "height [m]".into(),
        marks: Vec::new(),
    };
    found
        .pictures
        .push(Picture { name: format!("engines-ball-figure6-{name}.svg"), svg: svg::plot(&labels, &lines) });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_go_from_the_first_to_the_last() {
        let case = |heights| Case { restitution: 0.5, spacing: None, heights, trace: false };
        assert_eq!(case((1.0, 2.0, 5)).each().collect::<Vec<_>>(), [1.0, 1.25, 1.5, 1.75, 2.0]);
        assert_eq!(case((1.0, 2.0, 1)).each().collect::<Vec<_>>(), [1.0]);
        assert_eq!(case((1.0, 2.0, 0)).each().count(), 0);
    }
}
