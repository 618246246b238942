//! What a path gave: in words, for machines, and as a table.

use super::{Feel, Mode, Question, Row, Run, Scan};
use glam::DVec3;
use palpate::cloud::{TouchParams, Work};
use palpate_view::probing::MOST_POINTS;
use palpate_view::units;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Names of the columns of the table.
const COLUMNS: &str = "time,x,y,z,touching,nearest_id,nearest_x,nearest_y,nearest_z,distance,felt,proxy_x,proxy_y,proxy_z,\
normal_x,normal_y,normal_z,depth,force_x,force_y,force_z,force";

/// A row for each step; what there is not is left empty.
pub(crate) fn write_table(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    let three = |p: Option<DVec3>| p.map_or(",,".to_owned(), |p| format!("{},{},{}", p.x, p.y, p.z));
    for r in rows {
        write!(out, "{},{},{},", r.time, three(Some(r.probe)), u8::from(r.touching))?;
        match &r.nearest {
            Some(n) => write!(out, "{},{},{},", n.id, three(Some(n.point)), n.distance)?,
            None => write!(out, ",,,,,")?,
        }
        match &r.felt {
            Some(t) => {
                let normal = three(Some(t.normal).filter(|_| t.touching));
                write!(out, "{},{},{normal},{},", u8::from(t.touching), three(Some(t.proxy)), t.depth)?;
            }
            None => write!(out, ",,,,,,,,")?,
        }
        writeln!(out, "{},{}", three(Some(r.force)), r.force.length())?;
    }
    Ok(())
}

/// A run and its scan, to be told.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub(crate) scan: &'a Scan,
    pub(crate) run: &'a Run,
    pub(crate) question: &'a Question,
    pub(crate) mode: Mode,
    pub(crate) touch: TouchParams,
    pub(crate) leaf: usize,
    /// Steps of the whole path.
    pub(crate) steps: usize,
}

impl Told<'_> {
    pub(crate) fn title(&self) -> String {
        format!("{}, touched", self.scan.title)
    }

    fn touching(&self) -> usize {
        self.run.rows.iter().filter(|r| r.touching).count()
    }

    /// The first step that `is` so.
    fn first(&self, is: impl Fn(&Row) -> bool) -> Option<(usize, &Row)> {
        self.run.rows.iter().enumerate().find(|(_, r)| is(r))
    }

    /// Largest of something over all steps, and where.
    fn most(&self, of: impl Fn(usize) -> f64) -> (f64, usize) {
        let all = (0..self.run.rows.len()).map(|i| (of(i), i));
        all.fold((0.0, 0), |best, new| if new.0 > best.0 { new } else { best })
    }

    fn force(&self) -> (f64, usize) {
        self.most(|i| self.run.rows[i].force.length())
    }

    /// Largest change of the force from one step to the next [N].
    fn change(&self) -> (f64, usize) {
        let rows = &self.run.rows;
        self.most(|i| if i == 0 { 0.0 } else { rows[i].force.distance(rows[i - 1].force) })
    }

    fn depth(&self) -> (f64, usize) {
        self.most(|i| self.run.rows[i].felt.map_or(0.0, |t| t.depth))
    }

    fn mean_us(&self, of: impl Fn(&Row) -> f64) -> f64 {
        self.run.rows.iter().map(of).sum::<f64>() / self.run.rows.len().max(1) as f64
    }

    /// Most leaves and most points that a single question looked at.
    fn work(&self) -> Option<Work> {
        let all = || self.run.rows.iter().flat_map(|r| r.work);
        let most = |of: fn(&Work) -> usize| all().map(|w| of(&w)).max().unwrap_or(0);
        (self.mode == Mode::Paper).then(|| Work { leaves: most(|w| w.leaves), points: most(|w| w.points) })
    }

    fn box_edge(&self) -> f64 {
        2.0 * self.touch.half_edge(&self.scan.cloud)
    }

    fn lagging(&self) -> usize {
        self.run.rows.iter().filter(|r| r.felt.is_some_and(|t| t.lagging)).count()
    }

    pub(crate) fn json(&self) -> Value {
        let told =
            |first: Option<(usize, &Row)>| first.map(|(step, r)| json!({ "step": step, "time": r.time }));
        let figure = |(most, at): (f64, usize)| json!({ "most": most, "step": at });
        let nearest = self.run.rows.iter().filter_map(|r| r.nearest).map(|n| n.distance);
        let part = |k: usize| json!({ "mean": self.mean_us(|r| r.us[k]), "most": self.most(|i| self.run.rows[i].us[k]).0 });
        let p = &self.question.proxy;
        let rows = &self.run.rows;
        let report = self.scan.cloud.report();
        json!({
            "scan": self.scan.json(),
            "points": report.points,
            "spacing": report.spacing,
            "rounding": report.rounding,
            "skipped": self.scan.skipped(),
            "bytes_per_point": report.bytes_per_point(),
            "build_seconds": self.scan.build_seconds,
            "mode": self.mode.name(),
            "box_edge": self.box_edge(),
            "six_point": self.touch.six_point_distance(&self.scan.cloud),
            "leaf": self.leaf,
            "force": self.question.feel.name(),
            "stiffness": p.stiffness,
            "damping": p.damping,
            "friction": [p.static_friction, p.kinetic_friction],
            "support": p.radius.unwrap_or_else(|| self.scan.cloud.measure_support()),
            "steps": rows.len(),
            "seconds": rows.last().map_or(0.0, |r| r.time) - rows.first().map_or(0.0, |r| r.time),
            "touching": self.touching(),
            "first_touch": told(self.first(|r| r.touching)),
            "pushed": rows.iter().filter(|r| r.pushed()).count(),
            "first_push": told(self.first(Row::pushed)),
            "least_distance": nearest.fold(None, |m: Option<f64>, d| Some(m.map_or(d, |m| m.min(d)))),
            "largest_force": figure(self.force()),
            "largest_change": figure(self.change()),
            "deepest": figure(self.depth()),
            "lagging": self.lagging(),
            "step_us": { "mean": self.mean_us(Row::whole_us), "most": self.most(|i| rows[i].whole_us()).0 },
            "boxes_us": part(0),
            "nearest_us": part(1),
            "force_us": part(2),
            "most_leaves": self.work().map(|w| w.leaves),
            "most_points": self.work().map(|w| w.points),
            "interrupted": self.run.interrupted,
        })
    }

    /// The figures for people.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let mut out = self.scan.rows();
        let rows = &self.run.rows;
        let mut row = |name: &str, value: String| out.push((name.to_owned(), value));
        let count = |n: usize| units::count(n as u64);
        let time = |us: f64| units::seconds(1e-6 * us);
        let newton = |(most, at): (f64, usize)| match most > 0.0 {
            true => format!("{} N (step {at})", units::number(most)),
            false => "none".to_owned(),
        };
        let six = match self.mode {
            Mode::Exact => "every box and the true nearest point".to_owned(),
            Mode::Paper => {
                format!("six points {} away", units::length(self.touch.six_point_distance(&self.scan.cloud)))
            }
        };
        row("mode", format!("{}: {six}", self.mode.name()));
        row("box edge", units::length(self.box_edge()));
        row("most in a leaf", count(self.leaf));
        let seconds = rows.last().map_or(0.0, |r| r.time) - rows.first().map_or(0.0, |r| r.time);
        row("steps", format!("{} in {}", count(rows.len()), units::seconds(seconds)));
        let share = 100.0 * self.touching() as f64 / rows.len().max(1) as f64;
        row(
            "touching",
            format!("{} steps in the box of a point, {} %", count(self.touching()), units::number(share)),
        );
        row(
            "first touch",
            self.first(|r| r.touching)
                .map_or("none".to_owned(), |(i, r)| format!("step {i}, at {}", units::seconds(r.time))),
        );
        match self.question.feel {
            Feel::None => {}
            feel => {
                row(
                    "force",
                    match feel {
                        Feel::Proxy => "of a proxy that stays on the surface".to_owned(),
                        _ => "to the nearest point, as in the paper".to_owned(),
                    },
                );
                row("pushed", format!("{} steps", count(rows.iter().filter(|r| r.pushed()).count())));
                row("largest force", newton(self.force()));
                row("largest change", format!("{} from one step to the next", newton(self.change())));
            }
        }
        if self.question.feel == Feel::Proxy {
            let (depth, at) = self.depth();
            row("deepest", format!("{} (step {at})", units::length(depth)));
        }
        let slowest = self.most(|i| rows[i].whole_us());
        row(
            "a step took",
            format!("{} in the mean, at most {}", time(self.mean_us(Row::whole_us)), time(slowest.0)),
        );
        if let Some(w) = self.work() {
            row("looked at", format!("at most {} leaves and {} points", count(w.leaves), count(w.points)));
        }
        out
    }

    /// What the reader should know.
    pub(crate) fn warnings(&self, page: bool) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let (count, n) = (|n: usize| units::count(n as u64), self.scan.raw.points.len());
        if page && n > MOST_POINTS {
            out.push(format!(
                "{} of the {} points are on the page and in the picture",
                count(MOST_POINTS),
                count(n)
            ));
        }
        if self.run.rows.first().is_some_and(|r| r.touching) && self.question.feel == Feel::Proxy {
            out.push("the first step touches already: the side it begins on counts as outside".to_owned());
        }
        if self.lagging() > 0 {
            out.push(format!(
                "in {} steps the proxy could not follow at once: they are far apart",
                count(self.lagging())
            ));
        }
        match self.run.rows.iter().filter(|r| r.nearest.is_none()).count() {
            0 => {}
            n => out.push(format!(
                "in {} steps the octants looked at have no point: --mode exact finds the nearest",
                count(n)
            )),
        }
        if self.run.interrupted {
            out.push(format!(
                "stopped by Ctrl-C or a signal to end after {} of {} steps: what was found until then is kept",
                count(self.run.rows.len()),
                count(self.steps)
            ));
        }
        out
    }
}
