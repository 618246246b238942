//! Answers about two shapes in words.

use crate::ask::{Answer, Choice, Chosen, Question, Spent};
use crate::outcome::rows;
use crate::pair::Pair;
use glam::DVec3;
use palpate::Pose;
use palpate_view::units;
use std::fmt::Write;

/// Chosen contacts that are listed at most.
const LISTED: usize = 40;

/// A place in one unit: `(1.2, 0, -3) mm`.
pub(crate) fn place(p: DVec3) -> String {
    let largest = p.abs().max_element();
    let (unit, scale) = match largest {
        x if x >= 1.0 => ("m", 1.0),
        x if x >= 1e-3 => ("mm", 1e-3),
        x if x > 0.0 => ("µm", 1e-6),
        _ => ("m", 1.0),
    };
    // Rounding errors are no coordinates.
    let digits = p.to_array().map(|x| units::number(if x.abs() < 1e-6 * largest { 0.0 } else { x / scale }));
    format!("({}) {unit}", digits.join(", "))
}

/// A direction or a vector without unit.
fn vector(v: DVec3) -> String {
    let largest = v.abs().max_element();
    let digits = v.to_array().map(|x| units::number(if x.abs() < 1e-4 * largest { 0.0 } else { x }));
    format!("({})", digits.join(", "))
}

/// The answer to a question about one pose.
pub(crate) fn one(pair: &Pair, pose: &Pose, question: &Question, answer: &Answer) -> String {
    let (a, b, d) = (&pair.a.title, &pair.b.title, &answer.distance);
    let row = |name: &str, value: String| (name.to_owned(), value);
    let mut text = format!("{a} (A) and {b} (B), B at {}", place(pose.translation));
    let angle = 2.0 * pose.rotation.w.abs().clamp(0.0, 1.0).acos();
    if angle > 1e-9 {
        let _ = write!(text, ", turned by {}°", units::number(angle.to_degrees()));
    }
    text += ": ";
    let mut out = Vec::new();
    if d.distance.is_infinite() {
        text += "no answer, one of them has no points\n";
    } else if answer.intersects {
        let _ = writeln!(text, "they overlap");
        let most = units::length(answer.depth() + d.bound);
        out.push(row("depth", format!("{}, at most {most}", units::length(answer.depth()))));
        out.push(row("deepest at", format!("{} in A's frame", place(d.witness_b))));
    } else {
        let _ = writeln!(text, "they are apart");
        let least = (d.distance - d.bound).max(0.0);
        out.push(row(
            "distance",
            format!("{}, at least {}", units::length(d.distance), units::length(least)),
        ));
        out.push(row("from A at", place(d.witness_a)));
        out.push(row("to B at", place(d.witness_b)));
        if least == 0.0 && d.distance > 0.0 {
            let finer = crate::pair::option(0.6 * d.distance);
            out.push(row("", format!("touching is not excluded; --spacing {finer} or less would tell")));
        }
    }
    for list in &answer.lists {
        let (points, other) = if list.of_a { ("A", "B") } else { ("B", "A") };
        let outside = if question.margin > 0.0 {
            format!(" or within {} of it", units::length(question.margin))
        } else {
            String::new()
        };
        let mut said = format!("{} points of {points} in {other}{outside}", units::count(list.count as u64));
        if list.deepest < 0.0 {
            let _ = write!(said, ", the deepest {} by the field", units::length(-list.deepest));
        }
        out.push(row("contacts", said));
        if let Some(spent) = &list.spent {
            out.push(row("budget", reach(spent)));
        }
    }
    if answer.contact_area > 0.0 {
        out.push(row("surface in contact", units::area(answer.contact_area)));
        out.push(row("B is pushed along", vector(answer.push.normalize_or_zero())));
    } else if answer.intersects && answer.complete() {
        let hint = "none of those points: the shapes overlap the other way round; try --points-of both";
        out.push(row("", hint.to_owned()));
    }
    if let Some(force) = &answer.force {
        let f = force.force;
        out.push(row("force on B", format!("{} N = {} N", vector(f), units::number(f.length()))));
        out.push(row("torque on B", format!("{} N m about B's origin", vector(force.torque))));
    } else if answer.intersects {
        out.push(row("force", "not asked for: --stiffness 1e9 gives it (N/m³)".to_owned()));
    }
    let seconds = |micros: f64| units::seconds(1e-6 * micros);
    if let (Some(p), Some(micros)) = (&answer.penetration, answer.micros_penetration) {
        let text = if p.overlapping {
            format!(
                "{} along {} parts them (found in {})",
                units::length(p.depth),
                vector(p.direction),
                seconds(micros)
            )
        } else {
            "none needed".to_owned()
        };
        out.push(row("shortest way out", text));
    }
    out.push(row(
        "asked in",
        format!(
            "{} (distance {}, contacts {})",
            seconds(answer.micros),
            seconds(answer.micros_distance),
            seconds(answer.micros_contacts)
        ),
    ));
    if let Some(chosen) = &answer.chosen {
        out.push(row("chosen", choice(chosen)));
    }
    text += &rows(&out);
    if answer.chosen.is_some() {
        text += &listed(answer);
    }
    text
}

/// How far a search within a budget came.
fn reach(spent: &Spent) -> String {
    let r = &spent.reached;
    let tested = format!("{} points and balls tested", units::count(spent.tested as u64));
    match (r.complete, spent.tested) {
        (true, _) => format!("enough for all contacts: {tested}"),
        (false, 0) => "nothing was tested".to_owned(),
        (false, _) => format!(
            "{tested}: level {} of {} and {} % of the next; points stand for the surface around them",
            r.level,
            spent.levels,
            units::number((100.0 * r.beyond).round())
        ),
    }
}

/// What was chosen, and what that keeps.
fn choice(chosen: &Chosen) -> String {
    let count = units::count(chosen.count as u64);
    match chosen.by {
        Choice::Segments => {
            let all = chosen.segments.unwrap_or(0);
            format!("{count}, the deepest of each segment in contact (of {all})")
        }
        Choice::Bullet => format!("{count}, the deepest and those that span the largest area"),
        Choice::Reduce(_) => format!(
            "{count} that push as all do: force {} % off, torque {} % off",
            units::number(100.0 * chosen.force_error),
            units::number(100.0 * chosen.torque_error)
        ),
    }
}

/// The chosen contacts, one a line.
fn listed(answer: &Answer) -> String {
    let mut text = String::new();
    for (p, c, _) in answer.contacts().take(LISTED) {
        let d = f64::from(c.distance);
        let deep = match d {
            d if d < 0.0 => format!("depth {}", units::length(-d)),
            d if d > 0.0 => format!("{} outside", units::length(d)),
            _ => "depth 0".to_owned(),
        };
        let (area, normal) = (units::area(f64::from(c.area)), vector(c.normal().as_dvec3()));
        let _ = writeln!(text, "    {deep}, {area} at {}, normal {normal}", place(p));
    }
    let more = answer.contacts().count().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(text, "    {} more: --json lists them all", units::count(more as u64));
    }
    text
}

/// One line a pose.
pub(crate) fn many(pair: &Pair, answers: &[Answer]) -> String {
    let mut text = format!("{} (A) and {} (B)\n", pair.a.title, pair.b.title);
    let forces = answers.iter().any(|a| a.force.is_some());
    let head = if forces { "  force on B [N]" } else { "" };
    let _ = writeln!(text, "  pose     distance        bound  contacts{head}");
    for (i, answer) in answers.iter().enumerate() {
        let force = answer.force.map_or(String::new(), |f| format!("  {}", vector(f.force)));
        let _ = writeln!(
            text,
            "  {:>4} {:>12} {:>12} {:>9}{force}",
            i + 1,
            units::length(answer.distance.distance),
            units::length(answer.distance.bound),
            units::count(answer.contact_count as u64)
        );
    }
    let partly = answers.iter().filter(|a| !a.complete()).count();
    if partly > 0 {
        let _ = writeln!(text, "  {partly} of {} searches ended with the budget", answers.len());
    }
    let touching = answers.iter().filter(|a| a.intersects).count();
    let mean = answers.iter().map(|a| a.micros).sum::<f64>() / answers.len().max(1) as f64;
    let _ = writeln!(
        text,
        "  {touching} of {} poses overlap; {} a pose",
        answers.len(),
        units::seconds(1e-6 * mean)
    );
    text
}
