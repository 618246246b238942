//! Tables 1 and 2 of the 2007 paper: how often boxes are wrong about a surface, how far off the six-point rule's nearest points are, and
//! what the exact ways find.

use super::scene::{BOX, CRISSCROSS, MARGIN, SIDE, TRACE, crisscross, moving, on_surface, trace, waves};
use super::{Lab, micros, nothing};
use crate::bench::engines::{Found, row};
use crate::bench::svg::{self, Picture};
use anyhow::Result;
use glam::DVec3;
use palpate::cloud::{Cloud, CloudParams, SixPoint};

/// The paper's leaf.
const LEAF: usize = 10;

/// Separation [m], false positives and negatives of the paper; whether its model moved.
const PAPER: [(f64, u32, u32, bool); 4] =
    [(0.01, 100, 1408, false), (0.005, 291, 416, false), (0.0025, 1, 106, false), (0.0025, 3, 179, true)];

/// What a way of testing boxes got wrong, and what it took.
#[derive(Default)]
struct Counts {
    positives: u32,
    negatives: u32,
    leaves: usize,
    points: usize,
    worst: f64,
    sum: f64,
}

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let header = [
        "separation",
        "model",
        "paper: false +",
        "false −",
        "six-point: false +",
        "false −",
        "exact: false +",
        "false −",
        "leaves",
        "points",
    ];
    let mut table = vec![header.map(String::from).to_vec()];
    for (separation, plus, minus, moves) in PAPER {
        let side = (SIDE / separation).round() as usize + 1;
        if lab.options.quick && separation < 0.01 {
            continue;
        }
        let cloud =
            Cloud::build(&waves(side, separation), &CloudParams { leaf: LEAF, ..Default::default() })?;
        let six = SixPoint::build(&cloud, BOX);
        // The probe as the model sees it: one that follows the moving model does so on another path.
        let path = trace(if moves { 7.0 } else { 0.0 });
        let local = |i: usize| {
            if moves { moving(i).inverse().point(moving(i).point(path[i])) } else { path[i] }
        };
        let paper = count(&path, |i| {
            let (hit, work) = six.touches(local(i), 0.5 * BOX);
            (hit, work.leaves, work.points)
        });
        let exact = count(&path, |i| (cloud.touches(local(i), 0.5 * BOX), 0, 0));
        let (brute, asked) = beside_all(&cloud, &path, lab);
        let model = if moves { "moving" } else { "still" };
        let case = format!("{separation} m, {model}");
        for (way, c, note) in [
            ("six-point", &paper, format!("; most leaves {}, most points {}", paper.leaves, paper.points)),
            ("exact", &exact, String::new()),
        ] {
            let note = format!(
                "{} false positives and {} false negatives of {TRACE}; the paper has {plus} and {minus}; mean {:.2} µs, worst {:.1} µs{note}",
                c.positives,
                c.negatives,
                c.sum / TRACE as f64,
                c.worst
            );
            let wrong = f64::from(c.positives + c.negatives);
            found.rows.push(row(&case, &format!("wrong boxes, {way}"), "1", wrong, note).finish());
        }
        let note = format!(
            "exact from testing every box, {asked} probes; none within 0.4 µm of a face, which single precision cannot tell"
        );
        found.rows.push(row(&case, "differences of boxes", "1", brute as f64, note).finish());
        table.push(vec![
            format!("{separation} m"),
            model.into(),
            plus.to_string(),
            minus.to_string(),
            paper.positives.to_string(),
            paper.negatives.to_string(),
            exact.positives.to_string(),
            exact.negatives.to_string(),
            paper.leaves.to_string(),
            paper.points.to_string(),
        ]);
    }
    let title =
        format!("Table 1: {TRACE} points that trace and hover over z = cos x + cos y, boxes of 2.5 mm");
    found.pictures.push(Picture { name: "cloud-table-1.svg".into(), svg: svg::table(&title, &table) });
    found.extend(nearest(lab)?);
    Ok(found)
}

/// How often a test is wrong about the surface: a probe that a margin would make right counts as right.
fn count(path: &[DVec3], test: impl Fn(usize) -> (bool, usize, usize)) -> Counts {
    let nothing = nothing();
    let mut c = Counts::default();
    for (i, p) in path.iter().enumerate() {
        let (hit, leaves, points) = test(i);
        c.leaves = c.leaves.max(leaves);
        c.points = c.points.max(points);
        c.positives += u32::from(hit && !on_surface(*p, MARGIN));
        c.negatives += u32::from(!hit && on_surface(*p, 0.0));
        let time = (0..3).map(|_| micros(nothing, || test(i))).fold(f64::INFINITY, f64::min);
        c.worst = c.worst.max(time);
        c.sum += time;
    }
    c
}

/// Probes whose boxes, tested one by one, say otherwise than the exact test; and how many were asked.
fn beside_all(cloud: &Cloud, path: &[DVec3], lab: &Lab<'_>) -> (usize, usize) {
    let points: Vec<DVec3> = (0..cloud.id_end()).filter_map(|id| cloud.position(id)).collect();
    let every = if lab.options.quick { 10 } else { 20 };
    let half = 0.5 * BOX;
    let (mut wrong, mut asked) = (0, 0);
    for p in path.iter().step_by(every) {
        let gap = |q: &DVec3| (*q - *p).abs().max_element();
        let least = points.iter().map(gap).fold(f64::INFINITY, f64::min);
        // What single precision cannot tell apart may be either.
        let sure = (least - half).abs() > 4e-7;
        asked += usize::from(sure);
        wrong += usize::from(sure && (least <= half) != cloud.touches(*p, half));
    }
    (wrong, asked)
}

/// Table 2: nearest points along the path that crisscrosses.
fn nearest(lab: &Lab<'_>) -> Result<Found> {
    let separation = if lab.options.quick { 0.01 } else { BOX };
    let side = (SIDE / separation).round() as usize + 1;
    let cloud = Cloud::build(&waves(side, separation), &CloudParams { leaf: LEAF, ..Default::default() })?;
    let six = SixPoint::build(&cloud, BOX);
    let path = crisscross();
    let nothing = nothing();
    let (mut off, mut none, mut times, mut exact_times) = (Vec::new(), 0, Vec::new(), Vec::new());
    // The paper's algorithm runs where a box was met.
    let mut off_met = Vec::new();
    let (mut leaves, mut points) = (0, 0);
    let mut wrong = 0;
    let all: Vec<DVec3> = (0..cloud.id_end()).filter_map(|id| cloud.position(id)).collect();
    for (i, p) in path.iter().enumerate() {
        let (near, work) = six.nearest(*p);
        leaves = leaves.max(work.leaves);
        points = points.max(work.points);
        let exact = cloud.nearest(*p).map_or(f64::INFINITY, |n| n.distance);
        match near {
            Some(n) => {
                off.push(n.distance - exact);
                if six.touches(*p, 0.5 * BOX).0 {
                    off_met.push(n.distance - exact);
                }
            }
            None => none += 1,
        }
        if i % 10 == 0 {
            let least = all.iter().map(|q| q.distance(*p)).fold(f64::INFINITY, f64::min);
            wrong += usize::from((least - exact).abs() > 4e-7);
        }
        let least = |f: &dyn Fn()| (0..3).map(|_| micros(nothing, f)).fold(f64::INFINITY, f64::min);
        times.push(least(&|| {
            std::hint::black_box(six.nearest(*p));
        }));
        exact_times.push(least(&|| {
            std::hint::black_box(cloud.nearest(*p));
        }));
    }
    let ends = |list: &[f64]| {
        let sum: f64 = list.iter().sum();
        let low = list.iter().copied().fold(f64::INFINITY, f64::min);
        (low, list.iter().copied().fold(0.0, f64::max), sum / list.len().max(1) as f64)
    };
    let (low, high, mean) = ends(&off);
    let (t, e) = (ends(&times), ends(&exact_times));
    let case = format!("{separation} m, {CRISSCROSS} probes");
    let mut found = Found::default();
    let note = format!(
        "mean {mean:.2e} m, least {low:.1e} m; the paper has 3.4e-5 and 2.0e-6 m; {none} probes in octants from which no point is \
         found; most leaves {leaves}, most points {points}; times least {:.2}, worst {:.2}, mean {:.2} µs (paper 173, 621, 233)",
        t.0, t.1, t.2
    );
    found.rows.push(row(&case, "six-point too far", "m", high, note).finish());
    let met = ends(&off_met);
    let note = format!(
        "the {} probes that are in a box, where the paper's force is; mean {:.2e} m; the paper has 3.4e-5 and 2.0e-6 m",
        off_met.len(),
        met.2
    );
    found.rows.push(row(&case, "six-point too far, in boxes", "m", met.1, note).finish());
    let note = format!(
        "from the nearest of all points by more than 0.4 µm, {} probes; times least {:.2}, worst {:.2}, mean {:.2} µs",
        CRISSCROSS / 10,
        e.0,
        e.1,
        e.2
    );
    found.rows.push(row(&case, "differences of nearest", "1", wrong as f64, note).finish());
    let text = |row: [String; 7]| row.to_vec();
    let micro = |x: f64| format!("{x:.2} µs");
    let table = [
        text(["", "least time", "worst", "mean", "least too far", "most", "mean"].map(String::from)),
        text(["paper", "173 µs", "621 µs", "233 µs", "0", "3.42e-5 m", "1.97e-6 m"].map(String::from)),
        text([
            "six-point".into(),
            micro(t.0),
            micro(t.1),
            micro(t.2),
            format!("{low:.1e} m"),
            format!("{high:.2e} m"),
            format!("{mean:.2e} m"),
        ]),
        text([
            "six-point, in boxes".into(),
            String::new(),
            String::new(),
            String::new(),
            format!("{:.1e} m", met.0),
            format!("{:.2e} m", met.1),
            format!("{:.2e} m", met.2),
        ]),
        text(["exact".into(), micro(e.0), micro(e.1), micro(e.2), "0".into(), "0".into(), "0".into()]),
    ];
    let title =
        format!("Table 2: nearest points along {CRISSCROSS} probes 5 cm below to 1 cm above the surface");
    found.pictures.push(Picture { name: "cloud-table-2.svg".into(), svg: svg::table(&title, &table) });
    Ok(found)
}
