//! `bench contact --only budget`: deeply overlapping shapes that slide, with a deadline for each query.
//!
//! Times are those of the thread itself, so that a busy machine does not count. What was computed in time is compared with all
//! contacts: the force of a penalty with unit stiffness.

use super::Options;
use super::contact::Found;
use super::contact_ours::shape;
use super::cpu_time::thread_time;
use super::svg::{self, Labels, Picture, Series};
use super::table::Row;
use crate::models::{self, Which};
use anyhow::Result;
use glam::{DQuat, DVec3};
use palpate::force::{ForceParams, penalty};
use palpate::query::{Budget, QueryParams};
use palpate::{Contacts, Pose, Query, Shape};
use std::path::Path;
use std::time::{Duration, Instant};

/// Queries of the sliding pair, and what each is allowed and may take at most [µs].
const QUERIES: usize = 100_000;
const ALLOWED: f64 = 20.0;
const LIMIT: f64 = 30.0;
/// Every so many queries the force is compared with the unlimited one.
const COMPARE: usize = 20;
/// Budgets of the curve [µs], and queries for each.
const CURVE: [f64; 9] = [2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 35.0, 60.0, 100.0];
const CURVE_QUERIES: usize = 2_000;

/// What budgets of one size gave.
struct Outcome {
    /// Time of each query [µs], sorted.
    micros: Vec<f64>,
    /// Wall time of each query after it was last asked whether to stop [µs], sorted.
    after: Vec<f64>,
    /// Root of the mean square of the force's difference, over that of the force [1].
    rms: f64,
    /// Share of queries that found every contact [1].
    complete: f64,
    /// Mean number of all contacts where forces were compared.
    contacts: f64,
}

/// Measures.
pub fn run(options: &Options, folder: Option<&Path>) -> Result<Found> {
    let model = models::open(Which::Bunny, folder)?;
    let shape = shape(&model.mesh)?;
    let case = format!("{0}-{0} sliding", model.name);
    let queries = if options.quick { QUERIES / 20 } else { QUERIES };
    let main = slide(&shape, queries, Some(ALLOWED));
    let within = 100.0 * share(&main.micros, LIMIT);
    let of = |v: &[f64], q: f64| v[((v.len() as f64 * q) as usize).min(v.len() - 1)];
    let at = |q: f64| of(&main.micros, q);
    let note = format!(
        "{queries} queries, {ALLOWED} µs allowed: median {:.1}, p99 {:.1}, p99.9 {:.1}, largest {:.1} µs of thread time, p99.9 {:.1} µs \
         after the last question; {:.0} contacts in all (mean), {:.1} % complete",
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        of(&main.after, 0.999),
        main.contacts,
        100.0 * main.complete
    );
    let row = |metric: &str, unit: &str, value: f64, note: Option<String>| Row {
        case: case.clone(),
        metric: metric.into(),
        unit: unit.into(),
        ours: Some(value),
        model: model.name.clone(),
        threads: 1,
        note,
        ..Default::default()
    };
    let idle = 100.0 * share(&wait(queries), LIMIT);
    let control =
        format!("{queries} loops that only read the clock for {ALLOWED} µs: what the machine itself takes");
    let mut rows = vec![
        row(&format!("budget within {LIMIT} µs"), "%", within, Some(note)).finish(),
        row(&format!("waiting within {LIMIT} µs"), "%", idle, Some(control)).finish(),
        row("budget force difference RMS", "%", 100.0 * main.rms, None).finish(),
    ];
    let count = if options.quick { CURVE_QUERIES / 10 } else { CURVE_QUERIES };
    let mut curve = Vec::new();
    for allowed in CURVE {
        let found = slide(&shape, count, Some(allowed));
        let median = found.micros[found.micros.len() / 2];
        curve.push((allowed, 100.0 * found.rms, median));
        let note = format!("median {median:.1} µs, {:.1} % complete", 100.0 * found.complete);
        rows.push(row(&format!("budget {allowed} µs, force"), "%", 100.0 * found.rms, Some(note)).finish());
    }
    let whole = slide(&shape, count, None);
    let unlimited = whole.micros[whole.micros.len() / 2];
    let line = |name: &str, colour, dashed, points| Series { name: name.into(), colour, dashed, points };
    let svg = svg::chart(
        &Labels {
            title: format!("{case}: difference of the force from the unlimited one"),
            x: "time allowed for a query [µs]".into(),
            y: "force difference, RMS [%]".into(),
            marks: vec![(unlimited, format!("all contacts: {unlimited:.0} µs"))],
        },
        &[
            line("within a budget", "#26a", false, curve.iter().map(|c| (c.0, c.1)).collect()),
            line("asked for: 10 %", "#c33", true, vec![(CURVE[0], 10.0), (CURVE[CURVE.len() - 1], 10.0)]),
        ],
    );
    let pictures = vec![Picture { name: "contact-budget.svg".into(), svg }];
    Ok(Found { rows, pictures, notes: Vec::new() })
}

/// A smooth way through deep overlap: the shapes' boxes are a fifth to two fifths of their width apart, and turn.
fn pose(shape: &Shape, i: usize, of: usize) -> Pose {
    let t = i as f64 / of as f64 * core::f64::consts::TAU;
    let width = shape.aabb().extent().x;
    let rotation =
        DQuat::from_rotation_y(0.6 * (3.0 * t).sin()) * DQuat::from_rotation_z(0.4 * (5.0 * t).sin());
    let offset =
        width * DVec3::new(0.3 + 0.1 * (7.0 * t).sin(), 0.05 * (11.0 * t).cos(), 0.05 * (13.0 * t).sin());
    let centre = shape.aabb().centre();
    Pose::new(rotation, centre + offset - rotation * centre)
}

/// Slides once around, `queries` steps, each with `allowed` µs; none: as long as it takes.
fn slide(shape: &Shape, queries: usize, allowed: Option<f64>) -> Outcome {
    let (mut query, mut all) = (Query::new(), Query::new());
    let params = QueryParams::default();
    let force = ForceParams::new(1.0);
    let of = |c: &Contacts, pose: &Pose| penalty(c, &force, pose, None, None).wrench.force;
    let times = || Vec::with_capacity(queries);
    let mut outcome = Outcome { micros: times(), after: times(), rms: 0.0, complete: 0.0, contacts: 0.0 };
    let (mut difference, mut total, mut compared, mut complete) = (0.0, 0.0, 0usize, 0usize);
    let mut forces = Vec::new();
    for i in 0..queries {
        let pose = pose(shape, i, queries);
        let start = thread_time();
        // The clock a caller would ask: reading the thread's own costs as much as testing a hundred points.
        let deadline = allowed.map(|us| Instant::now() + Duration::from_secs_f64(us * 1e-6));
        let mut asked = Instant::now();
        let mut late = || {
            deadline.is_some_and(|d| {
                asked = Instant::now();
                asked >= d
            })
        };
        let (found, reached) = query.budget(shape, shape, &pose, &params, Budget::Until(&mut late));
        outcome.after.push(asked.elapsed().as_secs_f64() * 1e6);
        outcome.micros.push((thread_time() - start).as_secs_f64() * 1e6);
        complete += usize::from(reached.complete);
        if i % COMPARE == 0 {
            forces.push((pose, of(found, &pose)));
        }
    }
    // Afterwards: what all contacts take would leave nothing of the next query in the caches.
    for (pose, force) in &forces {
        let contacts = all.contacts(shape, shape, pose, &params);
        let whole = of(contacts, pose);
        outcome.contacts += contacts.list.len() as f64;
        difference += (*force - whole).length_squared();
        (total, compared) = (total + whole.length_squared(), compared + 1);
    }
    outcome.micros.sort_unstable_by(f64::total_cmp);
    outcome.after.sort_unstable_by(f64::total_cmp);
    outcome.rms = if total > 0.0 { (difference / total).sqrt() } else { 0.0 };
    outcome.complete = complete as f64 / queries.max(1) as f64;
    outcome.contacts /= compared.max(1) as f64;
    outcome
}

/// Thread time of loops that do nothing but ask the clock until what is allowed has passed [µs], sorted: what no query could keep.
fn wait(loops: usize) -> Vec<f64> {
    let mut micros: Vec<f64> = (0..loops)
        .map(|_| {
            let start = thread_time();
            let deadline = Instant::now() + Duration::from_secs_f64(ALLOWED * 1e-6);
            while std::hint::black_box(Instant::now()) < deadline {}
            (thread_time() - start).as_secs_f64() * 1e6
        })
        .collect();
    micros.sort_unstable_by(f64::total_cmp);
    micros
}

/// Share of the sorted values that are not above `limit` [1].
fn share(sorted: &[f64], limit: f64) -> f64 {
    sorted.partition_point(|v| *v <= limit) as f64 / sorted.len().max(1) as f64
}
