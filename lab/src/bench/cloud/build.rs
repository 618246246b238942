//! How long an octree takes to build, and what it weighs.

use super::Lab;
use super::scene::waves;
use crate::bench::engines::{Found, row};
use crate::bench::table::Row;
use anyhow::Result;
use glam::DVec3;
use palpate::cloud::{Cloud, CloudParams};
use std::time::Instant;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let sides: &[usize] = if lab.options.quick { &[200] } else { &[316, 1000, 3163] };
    for side in sides {
        let points = waves(*side, 2.5 / *side as f64);
        build(&mut found, &format!("{} points", points.len()), &points, lab)?;
    }
    // The order of a scan does not matter much: the same in no order at all.
    if !lab.options.quick {
        let mut points = waves(3163, 2.5 / 3163.0);
        let mut random = crate::oracle::Random::new(10);
        for i in (1..points.len()).rev() {
            points.swap(i, (random.unit() * (i + 1) as f64) as usize);
        }
        build(&mut found, &format!("{} points, shuffled", points.len()), &points, lab)?;
    }
    Ok(found)
}

fn build(found: &mut Found, case: &str, points: &[DVec3], lab: &Lab<'_>) -> Result<()> {
    for threads in [1, 2] {
        let mut seconds = Vec::new();
        let mut report = None;
        for _ in 0..lab.options.repeat.max(1) {
            let start = Instant::now();
            let cloud = Cloud::build(points, &CloudParams { threads, ..CloudParams::default() })?;
            seconds.push(start.elapsed().as_secs_f64());
            report = Some(cloud.report());
        }
        let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let report = report.unwrap_or_default();
        let note = format!(
            "{:.0} ns a point; {:.1} bytes a point beyond its position; {} nodes, {} leaves, {} deep",
            1e9 * best / points.len() as f64,
            report.bytes_per_point(),
            report.nodes,
            report.leaves,
            report.depth
        );
        let row = row(case, "build", "s", best, note);
        found.rows.push(
            Row { threads, seconds_ours: seconds, count_ours: Some(report.points as u64), ..row }.finish(),
        );
    }
    Ok(())
}
