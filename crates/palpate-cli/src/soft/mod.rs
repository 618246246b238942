//! Meshes that deform and meet: how they move, which triangles meet in each step, and what is kept of it.

mod record;
mod scene;
mod tables;
mod tell;
#[cfg(test)]
mod tests;

pub(crate) use record::deforming;
pub(crate) use scene::{MotionParams, Scene};
pub(crate) use tables::{contact_columns, write_steps};
pub(crate) use tell::Told;

use crate::progress::Reporter;
use anyhow::{Context, Result};
use clap::ValueEnum;
use glam::DVec3;
use palpate::progress::Progress;
use palpate::soft::{self, FirstContact, Method, Pairs, Soft, SoftContact, SoftMesh, SoftParams, Stats};
use palpate_view::deforming::{DeformingFrame, every};
use std::io::Write;
use std::time::Instant;

/// How pairs are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    Auto,
    Cut,
    Refit,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cut => "cut",
            Self::Refit => "refit",
        }
    }

    fn method(self) -> Method {
        match self {
            Self::Auto => Method::Auto,
            Self::Cut => Method::Cut,
            Self::Refit => Method::Refit,
        }
    }
}

/// What is asked in each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) way: Way,
    /// Also pairs of each mesh with itself.
    pub(crate) own: bool,
    /// Also where, along what, and how deep.
    pub(crate) contacts: bool,
    /// Whether frames are kept.
    pub(crate) keep: bool,
}

/// One step. The first of two numbers is of the first mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) step: usize,
    /// Between the middles [m].
    pub(crate) apart: f64,
    /// Of a triangle of the first mesh and one of the second.
    pub(crate) pairs: usize,
    /// Of each mesh with itself.
    pub(crate) own: [usize; 2],
    /// Triangles of each that meet one of the other.
    pub(crate) hits: [usize; 2],
    /// Triangles that are switched off.
    pub(crate) off: [usize; 2],
    /// The farthest that a triangle has to go to get out of another [m]; 0 where it is not asked.
    pub(crate) deepest: f64,
    /// What took how long [µs]: moving vertices, pairs, pairs of each with itself, contacts.
    pub(crate) us: [f64; 4],
    /// Of the pairs between the two.
    pub(crate) stats: Stats,
}

impl Row {
    /// The whole step [µs].
    pub(crate) fn whole_us(&self) -> f64 {
        self.us.iter().sum()
    }

    /// All pairs, of meshes with themselves too.
    pub(crate) fn all(&self) -> usize {
        self.pairs + self.own[0] + self.own[1]
    }
}

/// What a motion gave.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) rows: Vec<Row>,
    pub(crate) frames: Vec<DeformingFrame>,
    /// Steps from one frame to the next.
    pub(crate) every: usize,
    /// When they first touch, also between two steps: the step before, and what touches on the way from there.
    pub(crate) touch: Option<(usize, FirstContact)>,
    /// Of all pairs of all steps: the same for each way to look, and on each machine.
    pub(crate) hash: u64,
    /// Whether Ctrl-C ended it.
    pub(crate) interrupted: bool,
}

/// FNV-1a.
struct Hash(u64);

impl Hash {
    fn add(&mut self, x: u32) {
        for byte in x.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// What meets in one step: between the meshes, and within each.
#[derive(Debug, Default)]
struct Found {
    pairs: [Pairs; 3],
    /// Empty where they are not asked.
    contacts: [Vec<SoftContact>; 3],
}

/// Microseconds that `work` takes.
fn timed<T>(us: &mut f64, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let out = work();
    *us += 1e6 * begin.elapsed().as_secs_f64();
    out
}

/// Moves the meshes of a scene and asks in each step. Contacts are written to `table` as they come. Ctrl-C ends it early; what was
/// done is kept.
///
/// # Errors
/// When `table` refuses.
pub(crate) fn run(
    scene: &Scene,
    question: &Question,
    mut table: Option<&mut dyn Write>,
    reporter: &Reporter,
) -> Result<Run> {
    let steps = scene.motion.steps;
    let vertices = scene.parts.iter().map(|p| p.rest.len()).sum();
    let every = every(steps, vertices);
    let mut run = Run { every, ..Run::default() };
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let params = SoftParams { method: question.way.method(), ..SoftParams::default() };
    let mesh = |i: usize| SoftMesh::new(scene.parts[i].rest.clone(), scene.parts[i].triangles.clone());
    let mut meshes = [mesh(0)?, mesh(1)?];
    // Each question has its own memory: what one finds says nothing about another.
    let mut memory: [Soft; 3] = Default::default();
    let mut on_the_way = Soft::new();
    let mut positions: [Vec<DVec3>; 2] = Default::default();
    let mut found = Found::default();
    let mut shown = [0; 2];
    reporter.stage("move and find pairs", steps as u64);
    for step in 0..steps {
        if reporter.cancelled() {
            run.interrupted = true;
            break;
        }
        let mut row = Row { step, apart: scene.offset(step), ..Row::default() };
        scene.place(step, &mut positions);
        if step > 0 && run.touch.is_none() {
            // From where they are still to where they will be.
            let ([a, b], [to_a, to_b]) = (&meshes, &positions);
            let touch = on_the_way.first_contact(a, to_a, b, to_b, &Default::default())?;
            run.touch = touch.map(|t| (step - 1, t));
        }
        let before = if step == 0 { [0; 2] } else { [0, 1].map(|i| scene.off(i, step - 1).len()) };
        timed(&mut row.us[0], || -> Result<()> {
            for (i, mesh) in meshes.iter_mut().enumerate() {
                mesh.set_positions(&positions[i])?;
                for triangle in &scene.off(i, step)[before[i]..] {
                    mesh.set_enabled(*triangle, false)?;
                }
            }
            Ok(())
        })?;
        row.off = [0, 1].map(|i| scene.off(i, step).len());
        let ([a, b], [between, own_a, own_b]) = (&meshes, &mut memory);
        timed(&mut row.us[1], || between.pairs(a, b, &params));
        if question.own {
            timed(&mut row.us[2], || (own_a.own_pairs(a, &params), own_b.own_pairs(b, &params)));
        }
        for (kept, memory) in found.pairs.iter_mut().zip([&*between, own_a, own_b]) {
            kept.list.clone_from(&memory.last().list);
            kept.stats = memory.last().stats;
        }
        if question.contacts {
            timed(&mut row.us[3], || {
                for (k, [x, y]) in [[a, b], [a, a], [b, b]].into_iter().enumerate() {
                    found.contacts[k] = soft::contacts(x, y, &found.pairs[k]);
                }
            });
            row.deepest = found.contacts.iter().flatten().map(|c| c.depth).fold(0.0, f64::max);
        }
        row.stats = found.pairs[0].stats;
        [row.pairs, row.own[0], row.own[1]] = [0, 1, 2].map(|k| found.pairs[k].list.len());
        row.hits = [0, 1].map(|side| record::triangles(&found.pairs[0], side).len());
        for (k, pairs) in found.pairs.iter().enumerate() {
            hash.add(step as u32);
            hash.add(k as u32);
            pairs.list.iter().flatten().for_each(|t| hash.add(*t));
        }
        if let Some(out) = table.as_deref_mut() {
            tables::write_contacts(out, step, &found.contacts).context("cannot write the contacts")?;
        }
        if question.keep && (step % every == 0 || step + 1 == steps) {
            run.frames.push(record::frame(scene, &meshes, &found, &row, &mut shown));
        }
        run.rows.push(row);
        reporter.advance(1);
    }
    run.hash = hash.0;
    Ok(run)
}
