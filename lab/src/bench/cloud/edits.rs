//! Points that come and go while a probe asks.

use super::scene::{SIDE, height, probes, waves};
use super::{Lab, micros, nothing};
use crate::bench::engines::{Found, row};
use crate::bench::table::{Row, Times};
use crate::oracle::Random;
use anyhow::Result;
use glam::DVec3;
use palpate::cloud::{Cloud, CloudParams};
use palpate::math::Aabb;

/// Edits in all.
const EDITS: usize = 100_000;
/// After how many the cloud is compared with one built anew.
const COMPARED: usize = 1000;
/// Probes of a comparison.
const ASKED: usize = 100;

/// Replays of the same edits: the least time of each counts, as interrupts of the system hit about as many calls as are told of.
const REPLAYS: usize = 3;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let side = lab.side();
    let points = waves(side, SIDE / (side - 1) as f64);
    let cloud = Cloud::build(&points, &params())?;
    let edits = if lab.options.quick { 3000 } else { EDITS };
    let mut times = vec![f64::INFINITY; edits];
    let (mut wrong, mut compared) = (0, 0);
    for replay in 0..REPLAYS {
        let mut cloud = cloud.clone();
        cloud.reserve(edits);
        replayed(&mut cloud, &mut times, |cloud, asked| {
            if replay == 0 {
                wrong += differences(cloud, asked)?;
                compared += asked.len();
            }
            Ok(())
        })?;
    }
    let of = |kinds: &[usize]| -> Vec<f64> {
        times.iter().enumerate().filter(|(i, _)| kinds.contains(&(i % 5))).map(|(_, t)| *t).collect()
    };
    let (inserts, removes, moves) = (of(&[0, 1]), of(&[2, 3]), of(&[4]));
    let mut found = Found::default();
    let name = format!("{} points", points.len());
    for (what, times) in [("insert", &inserts), ("remove", &removes), ("move", &moves), ("update", &times)] {
        let Some(t) = Times::of_micros(times, 1.0) else { continue };
        let worst = times.iter().copied().fold(0.0, f64::max);
        let note = format!(
            "of {} calls, each the least of {REPLAYS} replays, p50 {:.2} µs, worst {worst:.1} µs",
            t.queries,
            1e6 * t.median
        );
        let row = row(&name, &format!("{what} p99.9"), "s", t.p999, note);
        found.rows.push(Row { times_ours: Some(t), ..row }.finish());
    }
    let note = format!(
        "from a cloud built anew, {compared} probes of {} comparisons: nearest points, boxes, five nearest",
        edits / COMPARED
    );
    found.rows.push(row(&name, "differences after edits", "1", wrong as f64, note).finish());
    Ok(found)
}

/// All edits, two inserts, two removals and a move in turn, with a probe that asks between any two; `compare` is called every thousandth
/// time. Lowers `times` to what each took [µs].
fn replayed(
    cloud: &mut Cloud,
    times: &mut [f64],
    mut compare: impl FnMut(&Cloud, &[DVec3]) -> Result<()>,
) -> Result<()> {
    let mut random = Random::new(100_000);
    let nothing = nothing();
    let asked = probes(times.len() / COMPARED * ASKED, SIDE);
    for (i, time) in times.iter_mut().enumerate() {
        let (x, y) = (SIDE * random.unit(), SIDE * random.unit());
        let p = DVec3::new(x, y, height(x, y) + 0.01 * (random.unit() - 0.5));
        let id = (random.unit() * f64::from(cloud.id_end())) as u32;
        let took = match i % 5 {
            0 | 1 => micros(nothing, || cloud.insert(p).is_ok()),
            2 | 3 => micros(nothing, || cloud.remove(id)),
            _ => micros(nothing, || cloud.move_to(id, p).is_ok()),
        };
        *time = time.min(took);
        std::hint::black_box(cloud.nearest(asked[i % asked.len()]));
        if i % COMPARED == COMPARED - 1 {
            let at = i / COMPARED * ASKED;
            compare(cloud, &asked[at..at + ASKED])?;
        }
    }
    Ok(())
}

/// The same region for both clouds, so that both keep the same positions.
fn params() -> CloudParams {
    let region = Aabb { min: DVec3::new(0.0, 0.0, -2.0), max: DVec3::new(SIDE, SIDE, 2.1) };
    CloudParams { region: Some(region), ..CloudParams::default() }
}

/// Answers that a cloud built anew of the same points gives otherwise.
fn differences(cloud: &Cloud, asked: &[DVec3]) -> Result<usize> {
    let points: Vec<DVec3> = (0..cloud.id_end()).map(|id| cloud.position(id).unwrap_or(DVec3::NAN)).collect();
    let fresh = Cloud::build(&points, &params())?;
    let half = 0.5 * fresh.spacing();
    let (mut few, mut few_fresh) = (Vec::new(), Vec::new());
    let mut wrong = 0;
    for p in asked {
        cloud.nearest_k_into(*p, 5, &mut few);
        fresh.nearest_k_into(*p, 5, &mut few_fresh);
        let ids = |list: &[palpate::cloud::Nearest]| list.iter().map(|n| n.id).collect::<Vec<_>>();
        let same = cloud.nearest(*p).map(|n| n.id) == fresh.nearest(*p).map(|n| n.id)
            && cloud.touches(*p, half) == fresh.touches(*p, half)
            && ids(&few) == ids(&few_fresh);
        wrong += usize::from(!same);
    }
    Ok(wrong)
}
