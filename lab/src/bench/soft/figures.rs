//! The paper's threshold of a cut (Figure 2), and triangles that are removed (Figure 4).

use super::measure::{Way, mean, motion};
use super::scene::Scene;
use super::{Lab, by};
use crate::bench::engines::{Found, line, row};
use crate::bench::svg::{self, Labels, Picture};
use crate::bench::table::Row;
use crate::oracle::Random;
use anyhow::Result;
use palpate::par;
use palpate::soft::{Method, SoftParams};

/// The paper's T_max, the default first [1].
const THRESHOLDS: [f64; 5] = [1.0, 0.85, 0.7, 0.55, 0.4];
/// How often triangles are removed until none is left.
const REMOVALS: usize = 100;

/// About as many as the paper's bulls have.
fn scene(lab: &Lab<'_>) -> Result<Scene> {
    Scene::knot(if lab.options.quick { 1500 } else { 13_000 }, lab.steps())
}

/// Time over the motion with cuts only where at most a part overlaps.
pub(super) fn threshold(lab: &Lab<'_>) -> Result<Found> {
    let scene = scene(lab)?;
    let all = THRESHOLDS.map(|cut_threshold| SoftParams { cut_threshold, ..by(Method::Cut) });
    let steps = motion(&scene, &all, lab.repeat(), 1)?.steps;
    let mut found = Found::default();
    let of = |way: usize| mean(&steps, |s| s.times[way].total());
    let mut lines = Vec::new();
    for (way, t) in THRESHOLDS.iter().enumerate() {
        let best = |s: &&super::measure::Step| s.times.iter().all(|o| o.search >= s.times[way].search);
        let note =
            format!("fastest of the five at {} of {} steps", steps.iter().filter(best).count(), steps.len());
        let row = row(&scene.name, &format!("cuts, T_max {:.0} %", 100.0 * t), "s", of(0), note);
        let count = |w: usize| Some(steps.iter().map(|s| s.pairs[w] as u64).sum());
        let peer = Some(format!("own, {:.0} %", 100.0 * t));
        found.rows.push(
            Row { peer, theirs: Some(of(way)), count_ours: count(0), count_theirs: count(way), ..row }
                .finish(),
        );
        let points = steps.iter().enumerate().map(|(i, s)| (i as f64, 1e3 * s.times[way].search)).collect();
        lines.push(line(format!("{:.0} %", 100.0 * t), way, way > 0, points));
    }
    let labels = Labels {
        title: format!("{}: cuts where at most T_max of a list overlaps", scene.name),
        x: "step, from 1.3 extents apart to 0".into(),
        y: "time of the search [ms]".into(),
        marks: Vec::new(),
    };
    found.pictures.push(Picture { name: "soft-threshold.svg".into(), svg: svg::semilog(&labels, &lines) });
    if steps.iter().any(|s| !s.agree) {
        found.notes.push("WRONG: a threshold changes the pairs".into());
    }
    Ok(found)
}

/// Time while triangles are switched off at random, nothing moving.
pub(super) fn removal(lab: &Lab<'_>) -> Result<Found> {
    let scene = scene(lab)?;
    par::with_threads(1, || remove(&scene, lab.repeat()))
}

fn remove(scene: &Scene, repeat: usize) -> Result<Found> {
    const METHODS: [(&str, Method); 3] =
        [("auto", Method::Auto), ("cuts", Method::Cut), ("boxes", Method::Refit)];
    // Deep in each other.
    let places = scene.at(scene.steps * 9 / 10);
    let mut ways: Vec<Way> = METHODS.iter().map(|m| Way::new(scene, by(m.1))).collect::<Result<_>>()?;
    for way in &mut ways {
        way.set(&places)?;
    }
    let count = scene.rest.triangles.len();
    let mut random = Random::new(4);
    let orders: [Vec<u32>; 2] = std::array::from_fn(|_| shuffled(count, &mut random));
    let mut lines = vec![Vec::new(); ways.len()];
    let (mut pairs, mut sums, mut counts) = (Vec::new(), vec![0.0; ways.len()], vec![0u64; ways.len()]);
    for i in 0..=REMOVALS {
        let (from, to) = (count * i.saturating_sub(1) / REMOVALS, count * i / REMOVALS);
        for way in &mut ways {
            for (a, b) in orders[0][from..to].iter().zip(&orders[1][from..to]) {
                way.a.set_enabled(*a, false)?;
                way.b.set_enabled(*b, false)?;
            }
        }
        let mut best = vec![f64::MAX; ways.len()];
        for _ in 0..repeat.max(2) {
            for (way, best) in ways.iter_mut().zip(&mut best) {
                *best = best.min(way.search());
            }
        }
        let left = (2 * (count - to)) as f64;
        for (w, time) in best.iter().enumerate() {
            lines[w].push((left, 1e3 * time));
            sums[w] += time / (REMOVALS + 1) as f64;
            counts[w] += ways[w].found().len() as u64;
        }
        pairs.push((left, ways[0].found().len() as f64));
    }
    let mut found = Found::default();
    for w in 1..ways.len() {
        let first = pairs.first().map_or(0.0, |p| p.1);
        let note = format!(
            "pairs of all {REMOVALS} removals and before, {first} at first; nothing moves: no fitting"
        );
        let row = row(format!("{} removed", scene.name), "pairs", "s", sums[0], note);
        let peer = Some(format!("own {}", METHODS[w].0));
        let (count_ours, count_theirs) = (Some(counts[0]), Some(counts[w]));
        found.rows.push(Row { peer, theirs: Some(sums[w]), count_ours, count_theirs, ..row }.finish());
    }
    let title = format!("{}: triangles switched off at random, deep in each other", scene.name);
    let mut draw = |name: &str, y: &str, lines: &[svg::Series]| {
        let labels = Labels {
            title: title.clone(),
            x: "triangles left, of both".into(),
            y: y.into(),
            marks: Vec::new(),
        };
        found.pictures.push(Picture { name: name.into(), svg: svg::plot(&labels, lines) });
    };
    let times: Vec<_> = lines
        .into_iter()
        .enumerate()
        .map(|(w, points)| line(METHODS[w].0, [5, 1, 2][w], w == 0, points))
        .collect();
    draw("soft-removal.svg", "time of the search [ms]", &times);
    draw("soft-removal-pairs.svg", "pairs", &[line("pairs", 0, false, pairs)]);
    Ok(found)
}

/// The numbers below `n`, each once.
fn shuffled(n: usize, random: &mut Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        order.swap(i, random.below(i + 1));
    }
    order
}
