//! What was felt: in words, for machines, and as a log of every tick.

mod bodies;
pub(crate) mod device;

pub(crate) use bodies::{Bodies, Stuff};

use anyhow::Result;
use palpate::{Pose, Wrench};
use palpate_haptic::{Mode, Report, RigParams, Tick, Times};
use serde_json::{Value, json};
use std::io::Write;

/// One tick of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    seconds: f64,
    target: Pose,
    tool: Pose,
    wrench: Wrench,
    contacts: usize,
    depth: f64,
    energy: f64,
    micros: f64,
}

impl Row {
    pub(crate) fn of(tick: &Tick<'_>) -> Self {
        let felt = &tick.told.felt;
        Self {
            seconds: tick.seconds,
            target: tick.told.target,
            tool: felt.pose,
            wrench: tick.told.wrench,
            contacts: felt.contacts,
            depth: felt.depth,
            energy: tick.told.energy,
            micros: tick.micros,
        }
    }
}

const COLUMNS: &str = "time,target_x,target_y,target_z,target_qx,target_qy,target_qz,target_qw,\
tool_x,tool_y,tool_z,tool_qx,tool_qy,tool_qz,tool_qw,force_x,force_y,force_z,torque_x,torque_y,torque_z,contacts,depth,energy,micros";

/// A row for each tick. Poses are seen from A; force and torque are what the handle was given.
pub(crate) fn write_log(out: &mut dyn Write, rows: &[Row]) -> Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for r in rows {
        write!(out, "{:.6}", r.seconds)?;
        for pose in [&r.target, &r.tool] {
            let (t, q) = (pose.translation, pose.rotation);
            for v in [t.x, t.y, t.z, q.x, q.y, q.z, q.w] {
                write!(out, ",{v}")?;
            }
        }
        for v in [r.wrench.force, r.wrench.torque] {
            write!(out, ",{},{},{}", v.x, v.y, v.z)?;
        }
        writeln!(out, ",{},{},{},{:.2}", r.contacts, r.depth, r.energy, r.micros)?;
    }
    Ok(())
}

/// A run, to be told.
#[derive(Debug)]
pub(crate) struct Felt {
    pub(crate) title: String,
    pub(crate) device: String,
    pub(crate) body: Bodies,
    /// Of a tool that is a body [kg/m³].
    pub(crate) density: f64,
    pub(crate) rate: f64,
    pub(crate) params: RigParams,
    pub(crate) report: Report,
    /// Where the log is, and its bytes.
    pub(crate) log: Option<(String, u64)>,
}

impl Felt {
    /// How a free tool meets A.
    fn mode(&self) -> Option<&'static str> {
        (self.body == Bodies::Free).then_some(match self.params.mode {
            Mode::Held => "held",
            Mode::Soft => "soft",
        })
    }

    pub(crate) fn text(&self) -> String {
        let r = &self.report;
        let times = |t: &Times| {
            format!("{:.1} µs median, {:.1} p99, {:.1} p99.9, {:.1} worst", t.p50, t.p99, t.p999, t.worst)
        };
        let mut rows = vec![
            ("device".to_owned(), self.device.clone()),
            (
                "ticks".to_owned(),
                format!(
                    "{} at {:.1} Hz of {:.0}, {} of them in touch",
                    r.ticks, r.rate, self.rate, r.touching
                ),
            ),
            ("period".to_owned(), times(&r.period)),
            ("compute".to_owned(), times(&r.compute)),
            ("own work".to_owned(), times(&r.work)),
            ("late wake-ups".to_owned(), times(&r.late)),
            (
                "missed by us".to_owned(),
                format!(
                    "{}, {} of them after the machine had stood still; begun a period late by the machine: {}",
                    r.missed_by_us, r.missed_cold, r.missed_by_machine
                ),
            ),
            (
                "force".to_owned(),
                format!(
                    "at most {:.2} N and {:.4} N m, largest step {:.3} N",
                    r.largest_force, r.largest_torque, r.largest_step
                ),
            ),
            (
                "energy".to_owned(),
                format!("least {:.2e} J; force reduced in {} ticks", r.least_energy, r.reduced),
            ),
        ];
        if r.bad_readings + r.trips > 0 {
            let text = format!("{} readings failed, force was cut {} times", r.bad_readings, r.trips);
            rows.push(("faults".to_owned(), text));
        }
        if let Some((path, bytes)) = &self.log {
            rows.push(("log".to_owned(), format!("{path}, {bytes} bytes")));
        }
        let how = match self.mode() {
            Some(mode) => mode.to_owned(),
            None => format!("a body of the engine {}, {} kg/m³", self.body.name(), self.density),
        };
        format!("{}, {how}\n{}", self.title, crate::outcome::rows(&rows))
    }

    pub(crate) fn json(&self) -> Value {
        let mut out = serde_json::to_value(&self.report).unwrap_or(Value::Null);
        out["pair"] = json!(self.title);
        out["device"] = json!(self.device);
        out["mode"] = json!(self.mode());
        out["body"] = json!(self.body.name());
        out["density"] = json!((self.body != Bodies::Free).then_some(self.density));
        out["rate_wanted"] = json!(self.rate);
        out["friction"] = json!(self.params.tool.friction);
        out["passivity"] = json!(self.params.passive);
        out["log"] = json!(self.log.as_ref().map(|l| &l.0));
        out
    }
}
