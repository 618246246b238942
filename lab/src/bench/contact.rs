//! `bench contact`: do two shapes touch, where, and how far are they apart; ours beside the peers, pose by pose.
//!
//! Based on: Morvan, Reimers and Samset, 2008 [morvan08], section 5.1, reduced as [`crate::poses`] says.
//! Every peer answers each kind of query in metres and with lengths times 100, since tolerances of some are absolute; the
//! faster one counts if its answers hold. All answers are compared with the exact referee, and the peers' with each other.

use super::contact_ours::{self, OursTimes, Series};
use super::machine::{Machine, Origin};
use super::peer::{Peer, Request};
use super::svg::Picture;
use super::table::{Report, Row, Times};
use super::{Options, Work, contact_budget, contact_resolution, contact_shell};
use crate::models::{self, Model, Which};
use crate::oracle::{PairOracle, Relation};
use crate::poses::{ORIENTATIONS, Poses, write_csv};
use anyhow::Result;
use palpate::mesh::RawMesh;
use std::path::Path;

/// Whom we are compared with.
const PEERS: [&str; 4] = ["coal", "fcl", "parry", "gimpact"];

/// What lengths are multiplied by for a peer.
const SCALES: [f64; 2] = [1.0, 100.0];

/// Longest time one peer may spend on one kind at one scale [s]; then it says how far it came.
const LIMIT_S: f64 = 60.0;
const QUICK_LIMIT_S: f64 = 10.0;

/// The step of the collision set at which counts of contacts are compared, s = 0.6.
const COUNTED_STEP: usize = 4;

/// Wrong booleans from which on a peer's answers do not hold, and the share of the pairs that it must find [1].
const WRONG_BOOLEANS: usize = 3;
const ENOUGH_PAIRS: f64 = 0.9;

/// Relative error of a distance from which on it is wrong [1]. f32 keeps 1e-6 of the shapes' size.
const WRONG_DISTANCE: f64 = 1e-3;

/// What is asked of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Boolean,
    Contacts,
    Distance,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Boolean, Self::Contacts, Self::Distance];

    fn job(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Contacts => "contacts",
            Self::Distance => "distance",
        }
    }

    fn metric(self) -> &'static str {
        match self {
            Self::Boolean => "boolean median",
            Self::Contacts => "all contacts mean",
            Self::Distance => "distance mean",
        }
    }

    /// Whether the peer has such a query: GImpact has only all contacts.
    fn asked_of(self, peer: &str) -> bool {
        peer != "gimpact" || self == Self::Contacts
    }

    /// The number that counts [s].
    fn value(self, times: &Times) -> f64 {
        if self == Self::Boolean { times.median } else { times.mean }
    }

    fn of(self, ours: &OursTimes) -> &Series {
        match self {
            Self::Boolean => &ours.boolean,
            Self::Contacts => &ours.contacts,
            Self::Distance => &ours.distance,
        }
    }
}

/// Measures every row that `--only` lets pass.
pub fn run(options: &Options) -> Result<Report> {
    let folder = models::folder(options.models.as_deref());
    let mut notes = vec![
        "one thread; time of a pose = best of its calls (one call where it takes over 20 ms); peers' meshes have their \
         holes closed, and each row counts the better of metres and ×100"
            .to_owned(),
    ];
    if folder.is_none() {
        notes.push(
            "no models folder (--models or PALPATE_MODELS): generated shapes stand in for the scans".into(),
        );
    }
    let (machine, origin) = (Machine::here(), Origin::here());
    let work = Work::new()?;
    let pairs = [(Which::Bunny, Which::Bunny), (Which::Dragon, Which::Bunny), (Which::Nut, Which::Bolt)];
    let mut rows = Vec::new();
    for (a, b) in pairs.into_iter().take(if options.quick { 1 } else { pairs.len() }) {
        let case = format!("{}-{}", a.stem(), b.stem());
        let wanted =
            |kind: Kind, peer: &str| kind.asked_of(peer) && options.wants(&case, kind.metric(), peer);
        let own = ["first touch", "plain"].iter().any(|metric| options.wants(&case, metric, ""));
        if !own && !Kind::ALL.iter().any(|&kind| PEERS.iter().any(|peer| wanted(kind, peer))) {
            continue;
        }
        let mut bench = Bench::new(options, &work, [a, b].map(|w| models::open(w, folder.as_deref())))?;
        // Generated stand-ins have names of their own.
        let case = bench.name.clone();
        notes.push(format!("{case}: {}", bench.describe()));
        let mut answers = Vec::new();
        for peer in PEERS {
            let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|&kind| wanted(kind, peer)).collect();
            if !kinds.is_empty() {
                eprintln!("{case} {peer}");
                answers.extend(bench.ask(peer, &kinds));
            }
        }
        notes.extend(disagreements(&case, &answers));
        rows.extend(answers.iter().map(|answer| bench.row(&case, answer)));
        rows.extend(bench.own_rows(&case));
    }
    let mut pictures = Vec::new();
    let parts: [(&str, Part); 3] = [
        ("budget", contact_budget::run),
        ("resolution", contact_resolution::run),
        ("shell", contact_shell::run),
    ];
    for (name, part) in parts {
        if options.wants(name, "", "") {
            eprintln!("{name}");
            let found = part(options, folder.as_deref())?;
            rows.extend(found.rows);
            pictures.extend(found.pictures);
            notes.extend(found.notes);
        }
    }
    Ok(Report {
        bench: "contact".into(),
        machine: machine.name.clone(),
        commit: origin.commit.clone(),
        threads: 1,
        rows,
        machine_details: machine,
        origin,
        notes,
        pictures,
        images: Vec::new(),
    })
}

/// What a part of the benchmark without peers found.
#[derive(Debug, Default)]
pub struct Found {
    /// Rows of our own.
    pub rows: Vec<Row>,
    /// Pictures to keep beside the tables.
    pub pictures: Vec<Picture>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// A part without peers, that `--only` names.
type Part = fn(&Options, Option<&Path>) -> Result<Found>;

/// One pair of shapes: what peers read, and what is true.
struct Bench<'a> {
    options: &'a Options,
    name: String,
    files: [String; 2],
    poses: Poses,
    /// Number of each pose in the files, which are in an order that a time limit cuts evenly.
    order: [Vec<usize>; 2],
    pose_files: [String; 2],
    truth: Truth,
    ours: OursTimes,
}

/// The referee's answers.
struct Truth {
    crossing: Vec<bool>,
    distances: Vec<f64>,
    /// Mean pairs of triangles at the counted step.
    pairs: f64,
    /// The poses of that step.
    counted: std::ops::Range<usize>,
}

/// What a peer answered to one kind.
struct Answer {
    peer: &'static str,
    kind: Kind,
    /// For each scale that gave an answer.
    found: Vec<Given>,
    /// Why there is none.
    error: Option<String>,
}

/// The answers at one scale, by the number of the pose; none for poses the peer did not reach.
struct Given {
    times: Times,
    values: Vec<Option<f64>>,
    holds: bool,
    check: String,
    peak_rss: u64,
}

impl<'a> Bench<'a> {
    fn new(options: &'a Options, work: &Work, models: [Result<Model>; 2]) -> Result<Self> {
        let [a, b] = models;
        let (a, b) = (a?, b?);
        // All are asked about the same points: those of the file, which are f32.
        let mut written = Vec::new();
        let files = [work.file("a.raw"), work.file("b.raw")];
        for (model, file) in [&a, &b].into_iter().zip(&files) {
            models::write_raw(&model.closed, Path::new(file))?;
            written.push(models::read_raw(Path::new(file))?);
        }
        let pair = PairOracle::new(&written[0], &written[1])?;
        let mut poses = Poses::of(&pair);
        let step = if options.quick { ORIENTATIONS / 5 } else { ORIENTATIONS };
        if options.quick {
            thin(&mut poses.collision);
            thin(&mut poses.proximity);
        }
        let truth = Truth::of(&pair, &poses, COUNTED_STEP * step..(COUNTED_STEP + 1) * step);
        let order = [spread(poses.collision.len()), spread(poses.proximity.len())];
        let pose_files = [work.file("collision.csv"), work.file("proximity.csv")];
        for (set, (order, file)) in
            [&poses.collision, &poses.proximity].into_iter().zip(order.iter().zip(&pose_files))
        {
            write_csv(&order.iter().map(|&i| set[i]).collect::<Vec<_>>(), Path::new(file))?;
        }
        let ours = contact_ours::ours(&a.mesh, &b.mesh, &poses, options.repeat)?;
        let name = format!("{}-{}", a.name, b.name);
        Ok(Self { options, name, files, poses, order, pose_files, truth, ours })
    }

    fn describe(&self) -> String {
        let Truth { crossing, distances, pairs, .. } = &self.truth;
        let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
        let farthest = distances.iter().copied().fold(0.0, f64::max);
        let size = |file: &str| models::read_raw(Path::new(file)).map_or(0, |m: RawMesh| m.triangles.len());
        format!(
            "{} x {} triangles; {} of {} poses of the collision set cross, {pairs:.1} pairs of triangles at s = 0.6 (mean); \
             {} separated poses, {nearest:.3e} to {farthest:.3e} m apart; first free at {:.6} m; ours: {}",
            size(&self.files[0]),
            size(&self.files[1]),
            crossing.iter().filter(|c| **c).count(),
            crossing.len(),
            distances.len(),
            self.poses.first_free,
            self.ours.note
        )
    }

    /// All kinds and scales, from one process.
    fn ask(&mut self, peer: &'static str, kinds: &[Kind]) -> Vec<Answer> {
        let mut process = Peer::start(peer);
        let mut answers = Vec::new();
        for &kind in kinds {
            let mut answer = Answer { peer, kind, found: Vec::new(), error: None };
            for scale in SCALES {
                let set = usize::from(kind == Kind::Distance);
                let request = Request {
                    job: "pair".into(),
                    mesh: self.files[0].clone(),
                    mesh_b: self.files[1].clone(),
                    poses: self.pose_files[set].clone(),
                    kind: kind.job().into(),
                    scale,
                    limit_s: if self.options.quick { QUICK_LIMIT_S } else { LIMIT_S },
                    threads: 1,
                    repeat: self.options.repeat,
                    ..Default::default()
                };
                let reply = match &mut process {
                    Ok(process) => process.ask(&request),
                    Err(missing) => Err(missing.clone()),
                };
                match reply {
                    Ok(reply) => {
                        let mut values = vec![None; self.order[set].len()];
                        for (&i, &value) in self.order[set].iter().zip(&reply.values) {
                            values[i] = Some(value);
                        }
                        let (holds, check) = self.truth.check(kind, &values);
                        let times = Times::of_micros(&reply.micros, scale);
                        let peak_rss = reply.peak_rss_bytes;
                        answer.found.extend(times.map(|times| Given {
                            times,
                            values,
                            holds,
                            check,
                            peak_rss,
                        }));
                    }
                    Err(error) => answer.error = Some(error),
                }
            }
            answers.push(answer);
        }
        answers
    }

    fn row(&self, case: &str, answer: &Answer) -> Row {
        let kind = answer.kind;
        let series = kind.of(&self.ours);
        let times_ours = Times::of_micros(&series.micros, 1.0);
        let counts = |found: &Given| found.values.iter().flatten().sum::<f64>() as u64;
        let best = best(kind, &answer.found);
        let total = self.order[usize::from(kind == Kind::Distance)].len();
        let mut note = vec![self.check_ours(kind)];
        note.extend(times_ours.iter().map(|times| format!("ours {}", three(times))));
        for found in &answer.found {
            let place = if found.times.scale == 1.0 {
                "in metres".into()
            } else {
                format!("×{}", found.times.scale)
            };
            let cut = if found.times.queries < total {
                format!(" ({} of {total} poses)", found.times.queries)
            } else {
                String::new()
            };
            note.push(format!("{place} {}{cut}, {}", three(&found.times), found.check));
        }
        if best.is_some_and(|found| !found.holds) {
            note.push("no scale whose answers hold: the faster one is shown".into());
        }
        note.extend(answer.error.clone());
        Row {
            case: case.into(),
            metric: kind.metric().into(),
            unit: "s".into(),
            ours: times_ours.as_ref().map(|t| kind.value(t)),
            peer: Some(answer.peer.into()),
            theirs: best.map(|found| kind.value(&found.times)),
            model: case.into(),
            threads: 1,
            peak_rss_theirs: best.map(|found| found.peak_rss),
            count_ours: (kind != Kind::Distance).then(|| series.values.iter().sum::<f64>() as u64),
            count_theirs: best.filter(|_| kind != Kind::Distance).map(counts),
            times_ours,
            times_theirs: best.map(|found| found.times),
            note: (!note.is_empty()).then(|| note.join("; ")),
            ..Default::default()
        }
        .finish()
    }
}

impl Bench<'_> {
    /// What our answers are worth, in words.
    fn check_ours(&self, kind: Kind) -> String {
        let series = kind.of(&self.ours);
        if kind == Kind::Distance {
            let spacing = self.ours.spacing;
            let found = series.values.iter().zip(&self.truth.distances).zip(&self.ours.distance_bounds);
            let mut errors: Vec<f64> = found.clone().map(|((d, exact), _)| (d - exact).abs()).collect();
            let rounding = |exact: f64| 1e-9 * (exact + self.poses.first_free);
            let above =
                found.filter(|((d, exact), bound)| (*d - *exact).abs() > **bound + rounding(**exact)).count();
            errors.sort_unstable_by(f64::total_cmp);
            let p99 = errors.get((errors.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0.0);
            let largest = errors.last().copied().unwrap_or(0.0);
            let bound = self.ours.distance_bounds.iter().copied().fold(0.0, f64::max);
            return format!(
                "ours: error p99 {:.3}, largest {:.3} spacings, bounds up to {:.2} spacings, {above} errors above their bound",
                p99 / spacing,
                largest / spacing,
                bound / spacing
            );
        }
        let touches = series.values.iter().map(|v| *v > 0.0).zip(&self.truth.crossing);
        let wrong: Vec<usize> =
            touches.enumerate().filter(|(_, (ours, exact))| ours != *exact).map(|(i, _)| i).collect();
        // Contacts of points alone cannot see what the bound of a distance allows for.
        let deep = wrong.iter().filter(|i| {
            let d = &self.ours.collision_distances[**i];
            d.distance.abs() > d.bound
        });
        let most = series.values.iter().copied().fold(0.0, f64::max);
        let most = if kind == Kind::Contacts { format!(", up to {most} contacts") } else { String::new() };
        format!("ours: {} wrong booleans, {} of them beyond our bound{most}", wrong.len(), deep.count())
    }

    /// Rows without a peer.
    fn own_rows(&self, case: &str) -> Vec<Row> {
        let ours = &self.ours;
        let rows = [
            ("first touch median", &ours.first_touch, true),
            ("plain apart mean", &ours.plain_apart, false),
            ("plain deepest mean", &ours.plain_deepest, false),
        ];
        let row = |(metric, series, median): (&str, &Series, bool)| {
            let times = Times::of_micros(&series.micros, 1.0)?;
            let most = series.values.iter().copied().fold(0.0, f64::max);
            let row = Row {
                case: case.into(),
                metric: metric.into(),
                unit: "s".into(),
                ours: Some(if median { times.median } else { times.mean }),
                model: case.into(),
                threads: 1,
                count_ours: Some(series.values.iter().sum::<f64>() as u64),
                times_ours: Some(times),
                note: Some(format!("{}, up to {most} contacts", three(&times))),
                ..Default::default()
            };
            Some(row.finish())
        };
        let wants = |r: &&(&str, &Series, bool)| self.options.wants(case, r.0, "");
        rows.iter().filter(wants).filter_map(|r| row(*r)).collect()
    }
}

/// The faster of those whose answers hold; the fastest where none does.
fn best(kind: Kind, found: &[Given]) -> Option<&Given> {
    let key = |found: &&Given| kind.value(&found.times);
    let faster = |a: &&Given, b: &&Given| key(a).total_cmp(&key(b));
    found.iter().filter(|f| f.holds).min_by(faster).or_else(|| found.iter().min_by(faster))
}

fn three(times: &Times) -> String {
    let us = |t: f64| format!("{:.*}", if t < 1e-4 { 1 } else { 0 }, t * 1e6);
    format!("{}/{}/{} µs (median/mean/p99.9)", us(times.median), us(times.mean), us(times.p999))
}

impl Truth {
    fn of(pair: &PairOracle, poses: &Poses, counted: std::ops::Range<usize>) -> Self {
        let relations = pair.relation_batch(&poses.collision);
        let counts = poses.collision[counted.clone()].iter().map(|p| pair.crossings(p).len());
        Self {
            // Peers know surfaces, not solids: containment is no contact to them.
            crossing: relations.iter().map(|r| *r == Relation::Crossing).collect(),
            distances: pair.distance_batch(&poses.proximity).iter().map(|s| s.distance).collect(),
            pairs: counts.sum::<usize>() as f64 / counted.len().max(1) as f64,
            counted,
        }
    }

    /// Whether the answers hold, and what is to be said of them.
    fn check(&self, kind: Kind, values: &[Option<f64>]) -> (bool, String) {
        if kind == Kind::Distance {
            let errors = values.iter().zip(&self.distances);
            let errors: Vec<f64> = errors.filter_map(|(v, d)| v.map(|v| (v - d).abs() / d)).collect();
            let wrong = errors.iter().filter(|e| e.is_nan() || **e > WRONG_DISTANCE).count();
            let largest = errors.iter().copied().fold(0.0, f64::max);
            return (
                wrong < WRONG_BOOLEANS,
                format!("largest error {largest:.0e} of the distance, {wrong} wrong"),
            );
        }
        let wrong =
            values.iter().zip(&self.crossing).filter(|(v, c)| v.is_some_and(|v| (v > 0.0) != **c)).count();
        let mut holds = wrong < WRONG_BOOLEANS;
        let mut text = format!("{wrong} wrong booleans");
        if kind == Kind::Contacts {
            let counts: Vec<f64> =
                values.get(self.counted.clone()).into_iter().flatten().flatten().copied().collect();
            // A time limit may have cut all of them off.
            if !counts.is_empty() {
                let mean = counts.iter().sum::<f64>() / counts.len() as f64;
                holds &= mean >= ENOUGH_PAIRS * self.pairs;
                text += &format!(", {mean:.1} at s = 0.6 (exact pairs {:.1})", self.pairs);
            }
        }
        (holds, text)
    }
}

/// Where peers differ from each other: one line for each pair of peers and kind that does.
fn disagreements(case: &str, answers: &[Answer]) -> Vec<String> {
    let mut lines = Vec::new();
    for (i, one) in answers.iter().enumerate() {
        for other in answers[i + 1..].iter().filter(|o| o.kind == one.kind) {
            let (Some(a), Some(b)) = (best(one.kind, &one.found), best(other.kind, &other.found)) else {
                continue;
            };
            let both = a.values.iter().zip(&b.values).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
            let differ = |(a, b): &(f64, f64)| match one.kind {
                Kind::Distance => (a - b).abs() > WRONG_DISTANCE * a.abs().max(b.abs()),
                _ => (*a > 0.0) != (*b > 0.0),
            };
            let (compared, differing) =
                both.fold((0, 0), |(n, d), pair| (n + 1, d + usize::from(differ(&pair))));
            if differing > 0 {
                let kind = one.kind.job();
                lines.push(format!(
                    "{case}: {} and {} differ in {differing} of {compared} poses ({kind})",
                    one.peer, other.peer
                ));
            }
        }
    }
    lines.iter().for_each(|line| eprintln!("{line}"));
    lines
}

/// Keeps a fifth of the poses: of each step four orientations, other ones in the next step. Coincident shapes are left
/// out: with two poses of 44 they would make the mean.
fn thin<T>(poses: &mut Vec<T>) {
    let mut at = 0;
    poses.retain(|_| {
        let keep = at % 5 == (at / ORIENTATIONS + 1) % 5;
        at += 1;
        keep
    });
}

/// The numbers 0 to n − 1 in an order whose every beginning is spread over all of them.
fn spread(n: usize) -> Vec<usize> {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    // The golden section of the way round leaves no large gaps.
    let start = (0.618 * n as f64) as usize + 1;
    let stride = (start..).find(|&s| common(s, n.max(1)) == 1).unwrap_or(1);
    (0..n).map(|i| i * stride % n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_order_has_every_number_once() {
        for n in [0, 1, 37, 44, 74, 200, 220] {
            let mut order = spread(n);
            order.sort_unstable();
            assert_eq!(order, (0..n).collect::<Vec<_>>());
        }
        // The first tenth already looks at most of the 11 steps.
        let mut steps: Vec<_> = spread(220)[..22].iter().map(|i| i / ORIENTATIONS).collect();
        steps.sort_unstable();
        steps.dedup();
        assert!(steps.len() >= 10, "{steps:?}");
    }

    #[test]
    fn a_fifth_of_the_poses_is_in_every_step_and_orientation() {
        let mut poses: Vec<usize> = (0..220).collect();
        thin(&mut poses);
        assert_eq!(poses.len(), 44);
        for (i, p) in poses.iter().enumerate() {
            assert_eq!(p / ORIENTATIONS, i / 4);
        }
        assert!(!poses.contains(&200) && !poses.contains(&210));
    }

    #[test]
    fn fast_and_wrong_does_not_count() {
        let truth = Truth { crossing: vec![true; 10], distances: vec![1.0; 4], pairs: 100.0, counted: 0..5 };
        let found = |median: f64, value: f64| {
            let values = vec![Some(value); 10];
            let (holds, check) = truth.check(Kind::Contacts, &values);
            let times = Times { mean: median, ..Default::default() };
            Given { times, values, holds, check, peak_rss: 0 }
        };
        let all = [found(1.0, 3.0), found(2.0, 100.0), found(3.0, 101.0)];
        assert_eq!(best(Kind::Contacts, &all).map(|f| f.times.mean), Some(2.0));
        assert_eq!(best(Kind::Contacts, &all[..1]).map(|f| f.times.mean), Some(1.0));
        assert!(
            truth.check(Kind::Boolean, &[Some(0.0); 2]).0 && !truth.check(Kind::Boolean, &[Some(0.0); 3]).0
        );
        assert!(truth.check(Kind::Distance, &[Some(1.0001), None]).0);
        assert!(!truth.check(Kind::Distance, &[Some(f64::NAN); 3]).0);
    }
}
