//! `bench engines`: palpate's contacts in physics engines, and the experiments of the 2014 paper.
//!
//! Bullet runs in `palpate-bullet`, with its own shapes and with ours in the same process; Rapier and palpate's own world run here.
//! Parts, for `--only`: ball, stack, drop, low rate, segments, nut, peg, gear, rest, overlap, dragons, bin; with `ball rapier` and the
//! like only one engine.

mod ball;
mod ball_rapier;
mod drop;
mod drop_rapier;
mod heap;
mod parts;
mod rapier;
mod segments;
mod segments_picture;
mod stack;

pub use segments::work as segments_work;

use super::machine::{Machine, Origin};
use super::peer::{Peer, Request};
use super::svg::{Picture, Series};
use super::table::{Report, Row};
use super::{Options, Work};
use crate::models;
use anyhow::{Context, Result, bail};
use palpate::mesh::RawMesh;
use palpate_sim::{Engine, SimError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Colours of lines.
const COLOURS: [&str; 6] = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#555555"];

/// What one part found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) rows: Vec<Row>,
    pub(crate) pictures: Vec<Picture>,
    /// Files that are no text: name and bytes.
    pub(crate) images: Vec<(String, Vec<u8>)>,
    pub(crate) notes: Vec<String>,
}

impl Found {
    pub(crate) fn extend(&mut self, more: Self) {
        self.rows.extend(more.rows);
        self.pictures.extend(more.pictures);
        self.images.extend(more.images);
        self.notes.extend(more.notes);
    }
}

/// What the parts share.
pub(crate) struct Lab<'a> {
    pub(crate) options: &'a Options,
    /// Folder of models, if there is one.
    pub(crate) models: Option<PathBuf>,
    pub(crate) work: Work,
    /// The program with Bullet, if it is built.
    pub(crate) bullet: Option<PathBuf>,
}

impl Lab<'_> {
    /// The folder of models, or why a part cannot run.
    pub(crate) fn models(&self) -> Result<&Path> {
        self.models.as_deref().context("needs models: --models FOLDER or PALPATE_MODELS")
    }

    /// Runs `palpate-bullet`; its lines of JSON.
    pub(crate) fn bullet(&self, words: &[&str]) -> Result<Vec<serde_json::Value>> {
        let program = self.bullet.as_ref().ok_or(SimError::NoBullet)?;
        eprintln!("palpate-bullet {}", words.join(" "));
        let out = Command::new(program).args(words).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        // 1: it ran, and something was not as it should be.
        if !matches!(out.status.code(), Some(0 | 1)) {
            bail!("palpate-bullet {}: {}", words.join(" "), out.status);
        }
        let text = String::from_utf8_lossy(&out.stdout);
        let lines = text.lines().filter(|l| l.starts_with('{'));
        lines.map(|l| serde_json::from_str(l).with_context(|| l.to_owned())).collect()
    }

    /// The last line of JSON of a run of `palpate-bullet`.
    pub(crate) fn bullet_last(&self, words: &[&str]) -> Result<serde_json::Value> {
        self.bullet(words)?.pop().context("palpate-bullet said nothing")
    }

    /// A model as eight convex hulls, by V-HACD: an OBJ file with one group each.
    pub(crate) fn hulls(&self, file: &str) -> Result<String> {
        let mesh = palpate::Mesh::load(self.models()?.join(file), 1.0)?;
        let raw = RawMesh { positions: mesh.positions().to_vec(), triangles: mesh.triangles().to_vec() };
        let (mesh, out) = (self.work.file("hulls.raw"), self.work.file(&format!("{file}.hulls.obj")));
        models::write_raw(&raw, Path::new(&mesh))?;
        let request =
            Request { job: "hulls".into(), mesh, out: out.clone(), repeat: 1, ..Request::default() };
        let mut peer = Peer::start("vhacd").map_err(|e| anyhow::anyhow!("vhacd: {e}"))?;
        peer.ask(&request).map_err(|e| anyhow::anyhow!("vhacd: {e}"))?;
        Ok(out)
    }

    /// Engines that can run here.
    pub(crate) fn engines(&self) -> Vec<Engine> {
        let all = Engine::ALL.into_iter();
        all.filter(|e| *e != Engine::Bullet || self.bullet.is_some()).collect()
    }
}

/// A number of a line of JSON.
pub(crate) fn number(value: &serde_json::Value, key: &str) -> Result<f64> {
    value[key].as_f64().with_context(|| format!("palpate-bullet did not say {key}: {value}"))
}

/// One line of a chart.
pub(crate) fn line(name: impl Into<String>, index: usize, dashed: bool, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), colour: COLOURS[index % COLOURS.len()], dashed, points }
}

/// A row without a peer.
pub(crate) fn row(
    case: impl Into<String>,
    metric: &str,
    unit: &str,
    ours: f64,
    note: impl Into<String>,
) -> Row {
    let case = case.into();
    Row {
        model: case.clone(),
        case,
        metric: metric.into(),
        unit: unit.into(),
        ours: Some(ours),
        threads: 1,
        note: Some(note.into()),
        ..Row::default()
    }
}

type Part = fn(&Lab<'_>) -> Result<Found>;

/// Every part, in the order of the report.
const PARTS: [(&str, Part); 16] = [
    ("ball bullet", ball::bullet),
    ("ball rapier", ball_rapier::run),
    ("stack", stack::run),
    ("drop bullet", drop::bullet),
    ("drop rapier", drop_rapier::run),
    ("low rate", drop::low_rate),
    ("segments", segments::run),
    ("nut", parts::nut),
    ("peg", parts::peg),
    ("gear", parts::gear),
    ("rest", parts::rest),
    ("overlap own", heap::overlap_own),
    ("overlap rapier", heap::overlap_rapier),
    ("overlap bullet", heap::overlap_bullet),
    ("dragons", heap::dragons),
    ("bin", heap::bin),
];

/// Runs the parts that `--only` names, or all.
pub fn run(options: &Options) -> Result<Report> {
    let lab = Lab {
        options,
        models: models::folder(options.models.as_deref()),
        work: Work::new()?,
        bullet: palpate_sim::bullet_program(),
    };
    let mut all = Found::default();
    if lab.bullet.is_none() {
        all.notes.push(SimError::NoBullet.to_string());
    }
    for (name, part) in PARTS {
        if options.only.as_ref().is_some_and(|o| !name.contains(o.as_str())) {
            continue;
        }
        eprintln!("== {name}");
        match part(&lab) {
            Ok(found) => all.extend(found),
            Err(error) => all.notes.push(format!("{name} did not run: {error:#}")),
        }
    }
    Ok(report("engines", options, all))
}

/// What was found, with the machine it was found on.
pub(crate) fn report(bench: &str, options: &Options, found: Found) -> Report {
    let machine = Machine::here();
    let origin = Origin::here();
    Report {
        bench: bench.into(),
        machine: machine.name.clone(),
        commit: origin.commit.clone(),
        threads: options.threads,
        rows: found.rows,
        machine_details: machine,
        origin,
        notes: found.notes,
        pictures: found.pictures,
        images: found.images,
    }
}
