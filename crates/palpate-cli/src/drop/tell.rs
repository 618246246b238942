//! What a fall gave, in words and for machines.

use super::{Floor, Run, Scene};
use crate::tell::place;
use palpate::Pose;
use palpate_view::recording::Frame;
use palpate_view::units;
use serde_json::{Value, json};

/// Share of the frames at the end in which a body's speed is called that of rest.
const END: f64 = 0.1;
/// Bodies that are listed at most.
const LISTED: usize = 12;

/// A run and its scene, to be told.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) run: &'a Run,
    pub(crate) frames: &'a [Frame],
    pub(crate) rate: f64,
    pub(crate) engine: &'static str,
}

impl Told<'_> {
    /// Largest speed of a body at the end [m/s].
    fn rest_speed(&self, body: usize) -> f64 {
        let n = self.frames.len();
        let from = n - ((END * n as f64).ceil() as usize).clamp(1, n.max(1)).min(n);
        let speed = |f: &Frame| f.bodies.get(body).map_or(0.0, |s| s.linear.length());
        self.frames[from..].iter().map(speed).fold(0.0, f64::max)
    }

    fn seconds(&self) -> f64 {
        self.run.steps as f64 / self.rate
    }

    pub(crate) fn fell_through(&self) -> usize {
        self.run.fell_through.iter().filter(|f| **f).count()
    }

    /// What parts fall on.
    pub(crate) fn ground(&self) -> String {
        match &self.scene.floor {
            Floor::Plane => "a plane".to_owned(),
            Floor::Cuboid(_) => "a box".to_owned(),
            Floor::Solid { title, .. } => title.clone(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let end = self.frames.last();
        let body = |i: usize| {
            let state = end.and_then(|f| f.bodies.get(i)).copied().unwrap_or_default();
            let Pose { rotation, translation } = state.pose;
            json!({
                "name": self.scene.names[i],
                "rest_speed": self.rest_speed(i),
                "position": translation.to_array(),
                "rotation": rotation.to_array(),
                "velocity": state.linear.to_array(),
                "angular_velocity": state.angular.to_array(),
                "contacts": state.contacts,
                "deepest": state.deepest,
                "fell_through": self.run.fell_through[i],
            })
        };
        let bodies: Vec<Value> = (0..self.scene.starts.len()).map(body).collect();
        json!({
            "engine": self.engine,
            "ground": self.ground(),
            "rate": self.rate,
            "seconds": self.seconds(),
            "steps": self.run.steps,
            "frames": self.frames.len(),
            "bodies": bodies,
            "deepest": self.run.deepest,
            "kinetic": end.map(|f| f.kinetic),
            "mean_step_us": self.run.step_us,
            "mean_narrow_us": self.run.narrow_us,
            "fell_through": self.fell_through(),
            "interrupted": self.run.interrupted,
        })
    }

    /// The figures for people.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let row = |name: &str, value: String| (name.to_owned(), value);
        let time = |us: f64| units::seconds(1e-6 * us);
        let mut out = vec![
            row("engine", format!("{}, {} steps a second", self.engine, units::number(self.rate))),
            row(
                "simulated",
                format!("{}, {} steps", units::seconds(self.seconds()), units::count(self.run.steps as u64)),
            ),
            row("deepest", units::length(self.run.deepest)),
        ];
        out.push(row("a step took", time(self.run.step_us)));
        if let Some(us) = self.run.narrow_us {
            out.push(row("its narrow phase", time(us)));
        }
        let factor = 1e6 / (self.run.step_us * self.rate);
        if factor.is_finite() {
            out.push(row("real time", format!("{} times as fast", units::number(factor))));
        }
        let count = self.scene.starts.len();
        let end = self.frames.last();
        for i in 0..count.min(LISTED) {
            let at =
                end.and_then(|f| f.bodies.get(i)).map_or_else(String::new, |s| place(s.pose.translation));
            let speed = units::length(self.rest_speed(i));
            let lost = if self.run.fell_through[i] { ", fell through the ground" } else { "" };
            out.push(row(&self.scene.names[i], format!("at {at}, {speed}/s at the end{lost}")));
        }
        if count > LISTED {
            let fastest = (0..count).map(|i| self.rest_speed(i)).fold(0.0, f64::max);
            let text = format!(
                "{} more, the fastest of all {}/s at the end",
                count - LISTED,
                units::length(fastest)
            );
            out.push(row("", text));
        }
        out
    }

    /// What the reader should know.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for (i, part) in self.scene.parts.iter().enumerate() {
            let same = |p: &crate::pair::Solid| p.title == part.title;
            if !self.scene.parts[..i].iter().any(same) {
                out.extend(part.notes.iter().map(|n| format!("{}: {n}", part.title)));
            }
        }
        out.extend(self.run.warnings.iter().cloned());
        if self.run.every > 1 {
            out.push(format!(
                "every {}th step is kept of the motion: there are many bodies or steps",
                self.run.every
            ));
        }
        match self.fell_through() {
            0 => {}
            n => {
                out.push(format!("{} fell through the ground", crate::describe::plural(n, "body", "bodies")))
            }
        }
        if self.run.interrupted {
            let after = units::seconds(self.seconds());
            out.push(format!(
                "stopped by Ctrl-C or a signal to end after {after}: what was simulated until then is kept"
            ));
        }
        out
    }
}
