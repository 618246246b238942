//! A motion from apart to deep in each other: our methods among themselves, and beside the peers.

use super::measure::{Motion, Step, mean, motion};
use super::peers::{self, Given};
use super::scene::Scene;
use super::{Lab, by};
use crate::bench::engines::{Found, line, row};
use crate::bench::peer::Reply;
use crate::bench::svg::{self, Labels, Picture};
use crate::bench::table::Row;
use anyhow::Result;
use palpate::soft::Method;

/// The methods, in the order of [`Step::times`].
const METHODS: [Method; 3] = [Method::Auto, Method::Cut, Method::Refit];
const AUTO: usize = 0;
const CUT: usize = 1;
const REFIT: usize = 2;

pub(super) fn run(lab: &Lab<'_>, scene: &Scene) -> Result<Found> {
    let Motion { first, steps } = motion(scene, &METHODS.map(by), lab.repeat(), 1)?;
    let given = peers::ask(lab, scene)?;
    let mut found = Found::default();
    let asked: Vec<&Step> = peers::asked(scene).iter().filter_map(|i| steps.get(*i)).collect();
    found.rows.extend(given.iter().map(|g| beside(scene, g, &asked)));
    found.rows.extend(among(scene, &steps, first[REFIT]));
    let differ = steps.iter().filter(|s| !s.agree).count();
    if differ > 0 {
        found.notes.push(format!("{}: WRONG: the methods found other pairs at {differ} steps", scene.name));
    }
    found.pictures.extend(pictures(scene, &steps));
    found.images.push((format!("soft-steps-{}.csv", slug(scene)), table(&steps, &given).into_bytes()));
    found.pictures.extend(against(scene, &given, &asked));
    Ok(found)
}

/// A peer's row.
fn beside(scene: &Scene, given: &Given, asked: &[&Step]) -> Row {
    let done = given.reply.as_ref().map_or(asked.len(), |r| r.micros.len().min(asked.len()));
    let own = &asked[..done];
    let ours = mean(own, |s| s.times[AUTO].total());
    let pairs: u64 = own.iter().map(|s| s.pairs[AUTO] as u64).sum();
    let mut out = Row {
        peer: Some(given.name.clone()),
        count_ours: Some(pairs),
        ..row(&scene.name, "pairs", "s", ours, "")
    };
    out.note = Some(match &given.reply {
        Err(missing) => missing.clone(),
        Ok(reply) => {
            out.theirs = Some(peers::time(reply));
            out.count_theirs = Some(reply.values.iter().sum::<f64>() as u64);
            out.peak_rss_theirs = Some(reply.peak_rss_bytes);
            let same = own.iter().zip(&reply.hashes).filter(|(s, h)| s.hash == **h).count();
            let off = |(s, n): (&&Step, &f64)| (s.pairs[AUTO] as f64 - n).abs();
            let worst = own.iter().zip(&reply.values).map(off).fold(0.0, f64::max);
            format!(
                "{pairs} pairs, theirs {} of {done} steps: the same at {same}, up to {worst} more or fewer; \
                 update and search: theirs {:.0} + {:.0} µs, ours {:.0} + {:.0} µs",
                reply.values.iter().sum::<f64>(),
                mean(&reply.updates, |u| *u),
                mean(&reply.micros, |u| *u),
                1e6 * mean(own, |s| s.times[AUTO].set),
                1e6 * mean(own, |s| s.times[AUTO].search)
            )
        }
    });
    out.finish()
}

/// Rows of our methods among themselves.
fn among(scene: &Scene, steps: &[Step], built: f64) -> Vec<Row> {
    let total = |way: usize| mean(steps, |s| s.times[way].total());
    let count = |way: usize| Some(steps.iter().map(|s| s.pairs[way] as u64).sum());
    let hash = steps.iter().fold(0.0, |sum: f64, s| (sum + s.hash) % 1e12);
    let against = |name: &str, way: usize| {
        let pairs = count(way).unwrap_or(0);
        let note = format!("{pairs} pairs of {} steps, hash {hash:012}", steps.len());
        let row = row(&scene.name, "pairs", "s", total(AUTO), note);
        let (count_ours, count_theirs) = (count(AUTO), count(way));
        Row { peer: Some(name.into()), theirs: Some(total(way)), count_ours, count_theirs, ..row }.finish()
    };
    let least = |s: &Step| s.times[CUT].total().min(s.times[REFIT].total());
    let part = |n: usize| n as f64 / steps.len().max(1) as f64;
    let cut_wins = |s: &&Step| s.times[CUT].total() < s.times[REFIT].total();
    let wins: Vec<&Step> = steps.iter().filter(cut_wins).collect();
    // How many times as long cuts take, of the steps that are so.
    let times = |is: &dyn Fn(&Step) -> bool| {
        let those = || steps.iter().filter(|s| is(s));
        let won = those().filter(cut_wins).count();
        let ratio = mean(those(), |s| s.times[CUT].total()) / mean(those(), |s| s.times[REFIT].total());
        format!("{ratio:.1} ({won} of {})", those().count())
    };
    let meeting = |from: f64, to: f64| times(&|s| s.pairs[AUTO] > 0 && s.overlap >= from && s.overlap < to);
    let note_wins = format!(
        "of the steps; time over the boxes' and steps won: {} without pairs; with pairs {} at overlaps below 0.2, {} to 0.5, {} above",
        times(&|s| s.pairs[AUTO] == 0),
        meeting(0.0, 0.2),
        meeting(0.2, 0.5),
        meeting(0.5, f64::INFINITY)
    );
    let chosen =
        |any: bool| steps.iter().filter(|s| s.method == Method::Cut && (any || s.pairs[AUTO] > 0)).count();
    let against_better = mean(steps, |s| s.times[AUTO].total()) / mean(steps, least);
    let fitting = |s: &Step| (s.times[REFIT].search - s.times[REFIT].again).max(0.0);
    let note_fitting = format!(
        "search by boxes less the same once more, without a change; update {:.1} µs, search {:.1} µs; trees were built in {:.0} µs",
        1e6 * mean(steps, |s| s.times[REFIT].set),
        1e6 * mean(steps, |s| s.times[REFIT].search),
        1e6 * built
    );
    let plain = |metric: &str, unit: &str, value: f64, note: String| {
        row(&scene.name, metric, unit, value, note).finish()
    };
    vec![
        against("own boxes", REFIT),
        against("own cuts", CUT),
        plain("fitting", "s", mean(steps, fitting), note_fitting),
        plain("cuts win", "1", part(wins.len()), note_wins),
        plain(
            "auto over better",
            "1",
            against_better,
            format!(
                "sum of auto over the sum of the better of both at each step; no boxes at {} of {} steps, {} of them with pairs",
                chosen(true),
                steps.len(),
                chosen(false)
            ),
        ),
    ]
}

/// The part of a file's name.
fn slug(scene: &Scene) -> String {
    scene.name.replace(' ', "-")
}

/// Every step as a line of CSV; times are of update and search [µs]. Steps that a peer was not asked for are empty.
fn table(steps: &[Step], given: &[Given]) -> String {
    let mut out = "step,apart,overlap,pairs,set,auto,cuts,boxes,boxes without fitting,auto used".to_owned();
    given.iter().for_each(|g| out += &format!(",{0},{0} pairs", g.name));
    for (i, s) in steps.iter().enumerate() {
        let [auto, cut, refit] = [AUTO, CUT, REFIT].map(|w| s.times[w]);
        let times = [auto.set, auto.total(), cut.total(), refit.total(), refit.set + refit.again];
        let times = times.map(|t| format!("{:.1}", 1e6 * t)).join(",");
        let used = if s.method == Method::Cut { "no boxes" } else { "boxes" };
        out += &format!("\n{i},{:.4},{:.4},{},{times},{used}", s.offset, s.overlap, s.pairs[AUTO]);
        for g in given {
            let at = (i % peers::EVERY == 0).then_some(i / peers::EVERY);
            let of = |r: &Reply, k: usize| Some((r.updates.get(k)? + r.micros.get(k)?, *r.values.get(k)?));
            let theirs = at.and_then(|k| of(g.reply.as_ref().ok()?, k));
            out += &theirs.map_or_else(|| ",,".to_owned(), |(t, n)| format!(",{t:.1},{n}"));
        }
    }
    out + "\n"
}

/// Figures 5 and 6, and time against overlap.
fn pictures(scene: &Scene, steps: &[Step]) -> Vec<Picture> {
    let lines = |x: &dyn Fn(usize, &Step) -> f64| {
        let of = |y: &dyn Fn(&Step) -> f64| {
            let mut points: Vec<(f64, f64)> =
                steps.iter().enumerate().map(|(i, s)| (x(i, s), 1e3 * y(s))).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        vec![
            line("cuts", 1, false, of(&|s| s.times[CUT].total())),
            line("boxes", 2, false, of(&|s| s.times[REFIT].total())),
            line("boxes without fitting", 0, false, of(&|s| s.times[REFIT].set + s.times[REFIT].again)),
            line("auto", 5, true, of(&|s| s.times[AUTO].total())),
        ]
    };
    let touch = steps.iter().position(|s| s.pairs[AUTO] > 0);
    let labels = |x: &str, marks: Vec<(f64, String)>| Labels {
        title: format!("Two waving meshes, {} triangles each, one thread", scene.name),
        x: x.into(),
        y: "time of a step [ms]".into(),
        marks,
    };
    let over = labels(
        "step, from 1.3 extents apart to 0",
        touch.map(|i| (i as f64, "first pairs".into())).into_iter().collect(),
    );
    let against = labels("part of the smaller box that is in the other's", Vec::new());
    let picture = |name: &str, svg: String| Picture { name: format!("soft-{name}-{}.svg", slug(scene)), svg };
    vec![
        picture("motion", svg::semilog(&over, &lines(&|i, _| i as f64))),
        picture("overlap", svg::semilog(&against, &lines(&|_, s| s.overlap))),
    ]
}

/// How many times as long peers take, over the motion.
fn against(scene: &Scene, given: &[Given], asked: &[&Step]) -> Option<Picture> {
    let lines: Vec<_> = given
        .iter()
        .enumerate()
        .filter_map(|(i, g)| {
            let reply = g.reply.as_ref().ok()?;
            let theirs = reply.updates.iter().zip(&reply.micros).map(|(u, s)| 1e-6 * (u + s));
            let points = asked.iter().zip(theirs).map(|(s, t)| (s.offset, t / s.times[AUTO].total()));
            Some(line(&g.name, i, false, points.collect()))
        })
        .collect();
    let labels = Labels {
        title: format!("{}: their time over ours, update and search", scene.name),
        x: "extents apart".into(),
        y: "times".into(),
        marks: Vec::new(),
    };
    let name = format!("soft-peers-{}.svg", slug(scene));
    (!lines.is_empty()).then(|| Picture { name, svg: svg::semilog(&labels, &lines) })
}
