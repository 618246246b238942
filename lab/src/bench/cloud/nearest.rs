//! A million points: boxes and nearest points, beside other people's trees.

use super::scene::{BOX, SIDE, probes, waves};
use super::{Lab, passes, peers};
use crate::bench::engines::{Found, row};
use crate::bench::table::{Row, Times};
use anyhow::Result;
use glam::DVec3;
use palpate::cloud::{Cloud, CloudParams};

/// Passes over the probes; the best counts, for ours and for the peers.
const PASSES: usize = 20;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let side = lab.side();
    let separation = SIDE / (side - 1) as f64;
    // Everyone gets the same numbers.
    let single = |p: &DVec3| p.as_vec3().to_array();
    let points: Vec<[f32; 3]> = waves(side, separation).iter().map(single).collect();
    let asked: Vec<[f32; 3]> =
        probes(if lab.options.quick { 500 } else { 6820 }, SIDE).iter().map(single).collect();
    let wide = |p: &[f32; 3]| DVec3::from_array(p.map(f64::from));
    let cloud_points: Vec<DVec3> = points.iter().map(wide).collect();
    let probes: Vec<DVec3> = asked.iter().map(wide).collect();
    let name = format!("{} points", points.len());
    let mut found = Found::default();

    let cloud = Cloud::build(&cloud_points, &CloudParams::default())?;
    let (touch, touch_mean) = passes(probes.len(), PASSES, |i| cloud.touches(probes[i], 0.5 * BOX));
    let hits = probes.iter().filter(|p| cloud.touches(**p, 0.5 * BOX)).count();
    found.rows.extend(own(
        &name,
        "box test",
        &touch,
        touch_mean,
        format!("{hits} of {} touch", probes.len()),
    ));
    let (near, mean) = passes(probes.len(), PASSES, |i| cloud.nearest(probes[i]));
    let squares: f64 = probes.iter().filter_map(|p| cloud.nearest(*p)).map(|n| n.distance.powi(2)).sum();
    found.rows.extend(own(&name, "nearest", &near, mean, format!("sum of squares {squares:.7} m²")));

    // Those that search as ours: every probe beside every point.
    let every = if lab.options.quick { 1 } else { 20 };
    let wrong = probes.iter().step_by(every).filter(|p| !is_nearest(&cloud, &cloud_points, **p)).count();
    let note =
        format!("from comparing with every point, but for 0.4 µm, {} probes", probes.len().div_ceil(every));
    found.rows.push(row(&name, "differences of nearest", "1", wrong as f64, note).finish());

    for given in peers::ask(&lab.work, lab.peers, &points, &asked, PASSES)? {
        match given.figures {
            Ok(f) => {
                let singles = f.singles.map_or(String::new(), |s| {
                    format!(
                        "; theirs p50 {:.2}, p99.9 {:.2}, worst {:.1} µs",
                        s.p50_us, s.p999_us, s.worst_us
                    )
                });
                let note = format!(
                    "mean of the best pass; their sum {:.7} m², their tree {:.3} s{singles}",
                    f.squares, f.build_s
                );
                let ours = row(&name, "nearest", "s", 1e-6 * mean, note);
                found.rows.push(
                    Row { peer: Some(given.name.into()), theirs: Some(1e-6 * f.mean_us), ..ours }.finish(),
                );
            }
            Err(why) => found.notes.push(format!("{}: {why}", given.name)),
        }
    }
    Ok(found)
}

/// Whether what a search gives is the nearest of all, as they are kept.
fn is_nearest(cloud: &Cloud, points: &[DVec3], p: DVec3) -> bool {
    let least = (0..points.len() as u32).filter_map(|id| cloud.position(id)).map(|q| q.distance(p));
    let least = least.fold(f64::INFINITY, f64::min);
    // Searches are in single precision.
    cloud.nearest(p).is_some_and(|n| n.distance <= least + 1e-7 * cloud.aabb().extent().length())
}

/// The rows of a kind of call.
fn own(case: &str, what: &str, micros: &[f64], mean: f64, note: String) -> Vec<Row> {
    let Some(times) = Times::of_micros(micros, 1.0) else { return Vec::new() };
    let worst = micros.iter().copied().fold(0.0, f64::max);
    let one = |metric: &str, seconds: f64, note: String| {
        let row = row(case, &format!("{what} {metric}"), "s", seconds, note);
        Row { times_ours: Some(times), ..row }.finish()
    };
    vec![
        one("mean", 1e-6 * mean, format!("the best of {PASSES} passes; {note}")),
        one("p50", times.median, String::new()),
        one("p99.9", times.p999, String::new()),
        one("worst", 1e-6 * worst, String::new()),
    ]
}
