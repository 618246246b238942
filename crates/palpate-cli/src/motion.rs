//! Answers along a motion: what state each pose is in, the table, the figures and the page.

use crate::ask::{Answer, Question};
use crate::pair::{Pair, option};
use crate::picture;
use crate::tell::place;
use anyhow::{Result, bail};
use glam::DQuat;
use palpate::progress::Progress;
use palpate::query::{self, ImpactEnd, ImpactParams};
use palpate::{Pose, Query};
use palpate_view::band::BandChart;
use palpate_view::html::{Page, Picture};
use palpate_view::{Image, units};
use std::fmt::Write;

/// Most poses one run asks about.
const MOST_POSES: usize = 20_000_000;
/// Worst poses that are pictured.
const PICTURED: usize = 4;
/// Size of their pictures [pixels].
const PICTURE: [u32; 2] = [1500, 780];
/// Points a plot has at most: the least of each stretch of a longer motion is kept.
const PLOTTED: usize = 1500;
/// Spans of contact a plot shows at most.
const SPANS: usize = 400;

/// Whether a pose keeps the distance that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Certainly at least as far apart.
    Clear,
    /// The bound of the distance does not tell.
    Uncertain,
    /// Certainly nearer.
    Violated,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Uncertain => "uncertain",
            Self::Violated => "violated",
        }
    }

    /// The state of one answer. The true distance is never above the one found, and below it by the bound at most.
    fn of(answer: &Answer, min: f64) -> Self {
        let d = &answer.distance;
        if answer.intersects || d.distance < min {
            Self::Violated
        } else if d.distance - d.bound >= min && d.distance - d.bound > 0.0 {
            Self::Clear
        } else {
            Self::Uncertain
        }
    }
}

/// A motion and what was found along it.
#[derive(Debug)]
pub(crate) struct Motion<'a> {
    pub(crate) pair: &'a Pair,
    pub(crate) poses: Vec<Pose>,
    /// The number of each pose: whole ones are those of the file, the first is 1.
    pub(crate) numbers: Vec<f64>,
    pub(crate) answers: Vec<Answer>,
    /// Distance to be kept [m].
    pub(crate) min: f64,
    pub(crate) warnings: Vec<String>,
    /// What following the motion found, where that was asked for.
    pub(crate) sweep: Option<Sweep>,
}

/// What following a motion from pose to pose found.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// The number of the pose at which the shapes first come as near as `early`, as poses are numbered; none if they
    /// certainly do not touch.
    pub(crate) first: Option<f64>,
    /// How far apart they may be there [m].
    early: f64,
}

impl Sweep {
    /// Follows the motion through `poses`.
    pub(crate) fn follow(pair: &Pair, poses: &[Pose], progress: &dyn Progress) -> Self {
        let (a, b) = (&pair.a.shape, &pair.b.shape);
        // A single pose is a motion that goes nowhere.
        let count = poses.len().saturating_sub(1).max(1);
        let found = palpate::par::map(count, |i| {
            if progress.cancelled() {
                return (None, 0.0);
            }
            let motion = query::Motion::between(&poses[i], &poses[(i + 1).min(poses.len() - 1)]);
            let impact = Query::new().time_of_impact(a, b, &motion, &ImpactParams::default());
            progress.advance(1);
            let first = match impact.end {
                ImpactEnd::Free => None,
                _ => Some((i + 1) as f64 + impact.time.unwrap_or(0.0)),
            };
            (first, impact.early)
        });
        let early = found.iter().map(|f| f.1).fold(0.0, f64::max);
        Self { first: found.iter().find_map(|f| f.0), early }
    }
}

/// Figures of a whole motion.
#[derive(Debug)]
pub(crate) struct Summary {
    /// The pose with the least distance.
    pub(crate) least: Option<usize>,
    pub(crate) in_contact: usize,
    /// [m]
    pub(crate) deepest: f64,
    /// How far a point of B moves between two poses, at most [m].
    pub(crate) largest_step: f64,
    pub(crate) micros_mean: f64,
}

/// Poses with `steps` more between each two, and the number of each.
///
/// # Errors
/// When there would be too many.
pub(crate) fn between(poses: &[Pose], steps: u32) -> Result<(Vec<Pose>, Vec<f64>)> {
    let parts = steps as usize + 1;
    let total = poses.len().saturating_sub(1).saturating_mul(parts).saturating_add(1);
    if total > MOST_POSES {
        bail!(
            "--between {steps} makes {} poses of {}; at most {} are possible",
            units::count(total as u64),
            poses.len(),
            units::count(MOST_POSES as u64)
        );
    }
    let (mut out, mut numbers) = (Vec::with_capacity(total), Vec::with_capacity(total));
    for (i, pose) in poses.iter().enumerate() {
        let number = (i + 1) as f64;
        out.push(*pose);
        numbers.push(number);
        let Some(next) = poses.get(i + 1) else { break };
        for k in 1..parts {
            let t = k as f64 / parts as f64;
            out.push(Pose {
                rotation: slerp(pose.rotation, next.rotation, t),
                translation: pose.translation.lerp(next.translation, t),
            });
            numbers.push(number + t);
        }
    }
    Ok((out, numbers))
}

/// The rotation a share `t` of the shorter way from `p` to `q`.
fn slerp(p: DQuat, q: DQuat, t: f64) -> DQuat {
    let q = if p.dot(q) < 0.0 { -q } else { q };
    p.slerp(q, t).normalize()
}

impl Motion<'_> {
    fn state_of(&self, i: usize) -> State {
        State::of(&self.answers[i], self.min)
    }

    /// The worst state of all.
    pub(crate) fn state(&self) -> State {
        let worst = (0..self.answers.len()).map(|i| self.state_of(i)).max().unwrap_or(State::Uncertain);
        let near = self.sweep.as_ref().is_some_and(|s| s.first.is_some());
        if near { worst.max(State::Uncertain) } else { worst }
    }

    /// How many poses are clear, uncertain and violated.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        (0..self.answers.len()).for_each(|i| counts[self.state_of(i) as usize] += 1);
        counts
    }

    pub(crate) fn summary(&self) -> Summary {
        let order = |i: &usize, j: &usize| {
            self.answers[*i].distance.distance.total_cmp(&self.answers[*j].distance.distance).then(i.cmp(j))
        };
        let b = self.pair.b.shape.aabb();
        let reach = b.min.abs().max(b.max.abs()).length();
        let step = |w: &[Pose]| {
            let moved = (w[1].translation - w[0].translation).length();
            moved + reach * w[0].rotation.angle_between(w[1].rotation)
        };
        Summary {
            least: (0..self.answers.len()).min_by(order),
            in_contact: self.answers.iter().filter(|a| a.intersects).count(),
            deepest: self.answers.iter().map(Answer::depth).fold(0.0, f64::max),
            largest_step: self.poses.windows(2).map(step).fold(0.0, f64::max),
            micros_mean: self.answers.iter().map(|a| a.micros).sum::<f64>()
                / self.answers.len().max(1) as f64,
        }
    }

    /// The answer in a sentence.
    pub(crate) fn verdict(&self) -> String {
        let [_, uncertain, violated] = self.counts();
        let all = units::count(self.answers.len() as u64);
        let count = |n: usize| units::count(n as u64);
        let kept = if self.min > 0.0 { format!("{} apart", units::length(self.min)) } else { "apart".into() };
        match self.state() {
            State::Clear => format!("clear, all {all} poses are {kept}"),
            State::Uncertain if uncertain == 0 => {
                format!("uncertain, all {all} poses are {kept}, but between them the shapes may touch")
            }
            State::Uncertain => {
                format!(
                    "uncertain, {} of {all} poses may be less than {kept}; none certainly is",
                    count(uncertain)
                )
            }
            State::Violated => format!("violated, {} of {all} poses are not {kept}", count(violated)),
        }
    }

    /// The figures for people.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let row = |name: &str, value: String| (name.to_owned(), value);
        let summary = self.summary();
        let [clear, uncertain, violated] = self.counts().map(|n| units::count(n as u64));
        let mut out =
            vec![row("states", format!("{clear} clear, {uncertain} uncertain, {violated} violated"))];
        if let Some(i) = summary.least {
            let d = &self.answers[i].distance;
            let number = units::number(self.numbers[i]);
            if self.answers[i].intersects {
                let depth = units::length(-d.distance);
                out.push(row("worst", format!("pose {number}: {depth} deep")));
                out.push(row("there", place(d.witness_b)));
            } else {
                let least = units::length((d.distance - d.bound).max(0.0));
                let found = units::length(d.distance);
                out.push(row("least distance", format!("{found}, at least {least}, at pose {number}")));
                out.push(row("there", format!("{} on A, {} on B", place(d.witness_a), place(d.witness_b))));
            }
        }
        if summary.in_contact > 0 {
            let n = crate::describe::plural(summary.in_contact, "pose", "poses");
            out.push(row("overlapping", format!("{n}, up to {} deep", units::length(summary.deepest))));
        }
        if self.poses.len() > 1 {
            let step = units::length(summary.largest_step);
            let half = units::length(0.5 * summary.largest_step);
            out.push(row(
                "between poses",
                format!("a point of B moves up to {step}: distances there may be {half} less (--between makes it smaller)"),
            ));
        }
        match &self.sweep {
            Some(Sweep { first: None, .. }) => {
                out.push(row("followed", "certainly no contact anywhere between the poses".to_owned()));
            }
            Some(Sweep { first: Some(first), early }) => {
                let (pose, near) = (units::number(*first), units::length(*early));
                out.push(row(
                    "followed",
                    format!("from pose {pose} on they may be nearer than {near}, or touch"),
                ));
            }
            None => {}
        }
        if self.state() == State::Uncertain
            && let Some(i) = (0..self.answers.len()).find(|i| self.state_of(*i) == State::Uncertain)
        {
            let room = (self.answers[i].distance.distance - self.min).max(1e-9);
            out.push(row(
                "to decide",
                format!("--spacing {} or less, and a voxel of half that", option(0.6 * room)),
            ));
        }
        out.push(row("asked in", format!("{} a pose", units::seconds(1e-6 * summary.micros_mean))));
        out
    }

    /// The table.
    pub(crate) fn csv(&self) -> String {
        let mut out =
            String::from("pose,x,y,z,qx,qy,qz,qw,distance,bound,state,contacts,depth,ax,ay,az,bx,by,bz\n");
        for (i, (pose, answer)) in self.poses.iter().zip(&self.answers).enumerate() {
            let (t, q, d) = (pose.translation, pose.rotation, &answer.distance);
            let (a, b) = (d.witness_a, d.witness_b);
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                self.numbers[i],
                t.x,
                t.y,
                t.z,
                q.x,
                q.y,
                q.z,
                q.w,
                d.distance,
                d.bound,
                self.state_of(i).name(),
                answer.contact_count,
                answer.depth(),
                a.x,
                a.y,
                a.z,
                b.x,
                b.y,
                b.z
            );
        }
        out
    }

    /// The worst poses: least distances of the motion that are not beside each other, worst first.
    fn worst(&self) -> Vec<usize> {
        let d = |i: usize| self.answers[i].distance.distance;
        let n = self.answers.len();
        let low = |i: &usize| {
            let (i, far) = (*i, f64::INFINITY);
            let before = if i > 0 { d(i - 1) } else { far };
            let after = if i + 1 < n { d(i + 1) } else { far };
            // The first of equals.
            d(i) < before && d(i) <= after
        };
        let mut all: Vec<usize> = (0..n).filter(low).collect();
        all.sort_by(|i, j| d(*i).total_cmp(&d(*j)).then(i.cmp(j)));
        let apart = n / 12;
        let mut out: Vec<usize> = Vec::new();
        for i in all {
            if out.len() < PICTURED && out.iter().all(|o| o.abs_diff(i) > apart) {
                out.push(i);
            }
        }
        out
    }

    /// Points of the plot: all, or of each stretch the one with the least distance.
    fn plotted(&self) -> Vec<[f64; 4]> {
        let stretch = self.answers.len().div_ceil(PLOTTED).max(1);
        let point = |i: usize| {
            let d = &self.answers[i].distance;
            // Overlapping, a point may be deeper; apart, the shapes may be nearer.
            [self.numbers[i], d.distance, d.distance - d.bound, d.distance]
        };
        let all: Vec<usize> = (0..self.answers.len()).collect();
        let least = |c: &[usize]| {
            let d = |i: usize| self.answers[i].distance.distance;
            c.iter().copied().min_by(|i, j| d(*i).total_cmp(&d(*j)))
        };
        all.chunks(stretch).filter_map(least).map(point).collect()
    }

    /// Stretches of overlapping poses.
    fn spans(&self) -> Vec<(f64, f64)> {
        let mut out: Vec<(f64, f64)> = Vec::new();
        let mut last = None;
        for i in (0..self.answers.len()).filter(|i| self.answers[*i].intersects) {
            match (last, out.last_mut()) {
                (Some(l), Some(span)) if l + 1 == i => span.1 = self.numbers[i],
                _ => out.push((self.numbers[i], self.numbers[i])),
            }
            last = Some(i);
        }
        out.truncate(SPANS);
        out
    }

    /// The plot of the whole motion; also where `worst` are.
    fn chart(&self, worst: &[usize]) -> BandChart {
        let mark = |(k, i): (usize, &usize)| {
            (self.numbers[*i], self.answers[*i].distance.distance, format!("{}", k + 1))
        };
        BandChart {
            title: "Distance along the motion".into(),
            x_label: "pose".into(),
            y_label: "signed distance, negative where they overlap".into(),
            format: units::length,
            line_label: "found, and what it may be".into(),
            points: self.plotted(),
            limit: (self.min > 0.0)
                .then(|| (self.min, format!("least allowed: {}", units::length(self.min)))),
            spans: self.spans(),
            span_label: "overlapping".into(),
            marks: worst.iter().enumerate().map(mark).collect(),
        }
    }

    /// How many points are in contact along the motion; none where none ever is.
    fn contacts_chart(&self) -> Option<BandChart> {
        if self.answers.iter().all(|a| a.contact_count == 0) {
            return None;
        }
        let stretch = self.answers.len().div_ceil(PLOTTED).max(1);
        let most = |(k, c): (usize, &[Answer])| {
            let n = c.iter().map(|a| a.contact_count).max().unwrap_or(0) as f64;
            [self.numbers[k * stretch], n, 0.0, n]
        };
        Some(BandChart {
            title: "Contacts along the motion".into(),
            x_label: "pose".into(),
            y_label: "points of one shape in the other".into(),
            format: |n| units::count(n.max(0.0).round() as u64),
            line_label: "contacts".into(),
            points: self.answers.chunks(stretch).enumerate().map(most).collect(),
            limit: None,
            spans: Vec::new(),
            span_label: String::new(),
            marks: Vec::new(),
        })
    }

    /// A picture of one pose, contacts included.
    fn pictured(&self, i: usize) -> Image {
        let question = Question { keep_contacts: true, ..Question::default() };
        let answer = self.pair.ask(&mut Query::new(), &self.poses[i], &question);
        picture::pair(self.pair, &self.poses[i], &answer, PICTURE)
    }

    /// Plot and up to `most` of the worst poses, on a page.
    ///
    /// # Errors
    /// When a picture cannot be encoded.
    pub(crate) fn show(&self, page: &mut Page, most: usize) -> Result<()> {
        let mut worst = self.worst();
        worst.truncate(most);
        page.chart(
            &self.chart(&worst).svg(),
            "The line is the distance found; the true one is never above it and within the band. Numbers are the pictures below.",
        );
        if let Some(chart) = self.contacts_chart() {
            page.chart(&chart.svg(), "How many points of the shape with fewer of them are inside the other.");
        }
        let drawn: Vec<(Image, String)> = worst
            .iter()
            .enumerate()
            .map(|(k, &i)| {
                let d = &self.answers[i].distance;
                let state = self.state_of(i).name();
                let said = if self.answers[i].intersects {
                    format!(
                        "{} deep, {} contacts",
                        units::length(-d.distance),
                        units::count(self.answers[i].contact_count as u64)
                    )
                } else {
                    let least = units::length((d.distance - d.bound).max(0.0));
                    format!("{} apart, at least {least}", units::length(d.distance))
                };
                let number = units::number(self.numbers[i]);
                (self.pictured(i), format!("{}: pose {number}, {state}: {said}", k + 1))
            })
            .collect();
        let alt = "both shapes of glass in this pose, and a cut through where they are nearest or deepest";
        let pictures: Vec<Picture<'_>> =
            drawn.iter().map(|(image, caption)| Picture { image, alt, caption }).collect();
        Ok(page.wide_pictures(&pictures)?)
    }

    /// The whole page.
    ///
    /// # Errors
    /// When a picture cannot be encoded.
    pub(crate) fn page(&self, command: &str) -> Result<String> {
        let (a, b) = (&self.pair.a, &self.pair.b);
        let mut page = Page::new(&format!("{} and {}", a.title, b.title));
        page.lead(&format!("Clearance along a motion: {}.", self.verdict()));
        self.show(&mut page, PICTURED)?;
        page.section("Figures");
        let solid = |s: &crate::pair::Solid| {
            vec![
                ("triangles".to_owned(), units::count(s.mesh_info.triangles as u64)),
                ("voxel".to_owned(), units::length(s.info.voxel)),
                (
                    "points".to_owned(),
                    format!(
                        "{}, {} apart",
                        units::count(s.info.points.unwrap_or(0)),
                        units::length(s.spacing())
                    ),
                ),
                ("error of the field".to_owned(), format!("± {}", units::length(s.info.error_bound_band))),
            ]
        };
        let (first, second) = (format!("A: {}", a.title), format!("B: {}", b.title));
        page.key_values(&[("Motion", self.rows()), (&first, solid(a)), (&second, solid(b))]);
        page.section("What to know about this pair");
        page.warnings(&self.warnings, "Nothing stands out: both are closed, and built alike.");
        page.footer(&format!("Made by palpate {} with: {command}", env!("CARGO_PKG_VERSION")));
        Ok(page.html())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    #[test]
    fn poses_between_turn_evenly_the_shorter_way() {
        let quarter = DQuat::from_rotation_z(core::f64::consts::FRAC_PI_2);
        let poses = [Pose::IDENTITY, Pose { rotation: -quarter, translation: DVec3::X }];
        let (all, numbers) = between(&poses, 3).unwrap();
        assert_eq!(numbers, [1.0, 1.25, 1.5, 1.75, 2.0]);
        for (i, pose) in all.iter().enumerate() {
            let t = i as f64 / 4.0;
            let angle = pose.rotation.angle_between(DQuat::IDENTITY);
            let angle = angle.min(core::f64::consts::TAU - angle);
            assert!((angle - t * core::f64::consts::FRAC_PI_2).abs() < 1e-7, "{i}: {angle}");
            assert!((pose.translation - t * DVec3::X).length() < 1e-12);
        }
        assert_eq!(between(&poses[..1], 9).unwrap().0.len(), 1);
        assert!(between(&vec![Pose::IDENTITY; 1000], 100_000).is_err());
    }
}
