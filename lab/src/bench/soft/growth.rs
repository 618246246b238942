//! Time of a step as meshes get finer, on one thread and on two.

use super::measure::{Step, mean, motion};
use super::scene::Scene;
use super::{Lab, by};
use crate::bench::engines::{Found, line, row};
use crate::bench::svg::{self, Labels, Picture, Series};
use crate::bench::table::Row;
use anyhow::Result;
use palpate::soft::Method;

/// Triangles of each mesh.
const SIZES: [usize; 7] = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
/// Those of `--quick`.
const FEW: usize = 4;
/// The size that is told in a row of its own.
const LARGE: usize = 100_000;
/// Steps of a motion: every tenth extent apart, and more for [`LARGE`].
const STEPS: usize = 14;
const STEPS_LARGE: usize = 53;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let sizes = if lab.options.quick { &SIZES[..FEW] } else { &SIZES[..] };
    let methods = [Method::Auto, Method::Cut, Method::Refit];
    let mut found = Found::default();
    let names = ["auto, one thread", "cuts, one thread", "boxes, one thread", "auto, two threads"];
    let mut lines: Vec<Vec<(f64, f64)>> = vec![Vec::new(); names.len()];
    for size in sizes {
        let steps = if *size == LARGE && !lab.options.quick { STEPS_LARGE } else { STEPS };
        let scene = Scene::knot(*size, steps)?;
        eprintln!("{}", scene.name);
        // Millions of pairs are not asked for more often than needed.
        let repeat = if *size > LARGE { 1 } else { lab.repeat() };
        let one = motion(&scene, &methods.map(by), repeat, 1)?.steps;
        // Alone, as on two threads.
        let alone = motion(&scene, &[by(Method::Auto)], repeat, 1)?.steps;
        let two = motion(&scene, &[by(Method::Auto)], repeat, 2)?.steps;
        let n = scene.rest.triangles.len();
        let time = |steps: &[Step], way: usize| mean(steps, |s| s.times[way].total());
        for (way, points) in lines.iter_mut().enumerate() {
            let t = match way {
                0 => time(&alone, 0),
                1 | 2 => time(&one, way),
                _ => time(&two, 0),
            };
            points.push((n as f64, 1e3 * t));
        }
        let pairs = |steps: &[Step]| Some(steps.iter().map(|s| s.pairs[0] as u64).sum());
        for (threads, steps) in [(1, &alone), (2, &two)] {
            let note = format!(
                "pairs of {} steps; {:.0} ns a triangle; set_positions {:.2} ms, cuts {:.2} ms, boxes {:.2} ms on one thread",
                steps.len(),
                1e9 * time(steps, 0) / (2 * n) as f64,
                1e3 * mean(steps, |s| s.times[0].set),
                1e3 * time(&one, 1),
                1e3 * time(&one, 2)
            );
            let row = row(&scene.name, "mean step", "s", time(steps, 0), note);
            found.rows.push(Row { threads, count_ours: pairs(steps), ..row }.finish());
        }
        let same = one.iter().zip(&two).all(|(a, b)| a.agree && a.hash == b.hash);
        if !same {
            found.notes.push(format!("{}: WRONG: methods or threads found other pairs", scene.name));
        }
    }
    let mut drawn: Vec<Series> = lines
        .iter()
        .zip(names)
        .enumerate()
        .map(|(i, (points, name))| line(name, [5, 1, 2, 0][i], i == 3, points.clone()))
        .collect();
    drawn.extend(guide(&lines[0]));
    let labels = Labels {
        title: "Two waving knots: mean time of a step from 1.3 extents apart to 0".into(),
        x: "triangles of each mesh".into(),
        y: "time [ms]".into(),
        marks: Vec::new(),
    };
    found.pictures.push(Picture { name: "soft-growth.svg".into(), svg: svg::chart(&labels, &drawn) });
    if let (Some(first), Some(last)) = (lines[0].first(), lines[0].last()) {
        let exponent = (last.1 / first.1).ln() / (last.0 / first.0).ln();
        let note =
            format!("of triangles in time, from {} to {} triangles; n log n has about 1.1", first.0, last.0);
        found.rows.push(row("knots", "growth", "1", exponent, note).finish());
    }
    Ok(found)
}

/// n log n through the first point.
fn guide(points: &[(f64, f64)]) -> Option<Series> {
    let (n, t) = *points.first()?;
    let through = |x: f64| t * x * x.ln() / (n * n.ln());
    Some(line("n log n", 3, true, points.iter().map(|p| (p.0, through(p.0))).collect()))
}
