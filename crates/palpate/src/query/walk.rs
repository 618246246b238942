//! Walking down a tree, level by level, and testing points.
//!
//! Based on: sagardia14 2.3, Algorithm 1.
//! Differs: a node is skipped only if its ball is provably farther than the margin (the paper's test has its sign wrong); each
//! level is a list of runs of neighbouring nodes, so that vectors are full and memory is read in order; eight vectors are under
//! way at once.

use super::Stats;
use super::frame::Frame;
use super::kernel::{BLOCKS, Blocks, Points, Prune, Sampled, Touch, live};
use super::reach::Reach;
use crate::contact::Contact;
use crate::field::Field;
use crate::field::read::{Group, View};
use crate::simd::LANES;
use crate::tree::{Level, Tree};

/// Neighbouring nodes of a level, or points: from, to.
pub(crate) type Run = [u32; 2];

/// Runs this near to each other become one: what lies between is tested in vain, but vectors are full.
const GAP: u32 = 4;

/// Adds a run, joined to the last where they nearly meet.
#[inline(always)]
pub(crate) fn join(runs: &mut Vec<Run>, from: u32, to: u32) {
    match runs.last_mut() {
        Some(last) if from - last[1] <= GAP => last[1] = to,
        _ => runs.push([from, to]),
    }
}

/// A field as a walk sees it, from the frame of a tree.
pub(crate) struct Walker<'a, T> {
    view: View<'a, T>,
    group: Group<'a, T>,
    frame: &'a Frame,
    /// Without SIMD.
    scalar: bool,
}

/// Calls `$f` with a [`Walker`] of the field's kind of values, followed by the other arguments.
macro_rules! walk {
    ($field:expr, $frame:expr, $scalar:expr, $f:ident($($arg:expr),*)) => {{
        let field: &crate::field::Field = $field;
        match &field.values {
            crate::field::encode::Values::Float(v) => {
                if let Some(mut w) = $crate::query::walk::Walker::new(field, v, 1.0, $frame, $scalar) {
                    $f(&mut w, $($arg),*);
                }
            }
            crate::field::encode::Values::Scaled { values, step, .. } => {
                if let Some(mut w) = $crate::query::walk::Walker::new(field, values, *step, $frame, $scalar) {
                    $f(&mut w, $($arg),*);
                }
            }
        }
    }};
}
pub(crate) use walk;

impl<'a, T: Sampled> Walker<'a, T> {
    /// None for a field without nodes.
    pub(crate) fn new(
        field: &'a Field,
        values: &'a [T],
        scale: f32,
        frame: &'a Frame,
        scalar: bool,
    ) -> Option<Self> {
        let view = View::new(field.lattice(), &field.directory, values, scale);
        let group = Group::new(&view)?;
        Some(Self { view, group, frame, scalar })
    }

    /// The children of those nodes of `runs` whose balls may reach below the margin, in `out`.
    pub(crate) fn prune(
        &mut self,
        level: &Level,
        reach: Reach,
        runs: &[Run],
        out: &mut Vec<Run>,
        stats: &mut Stats,
    ) {
        out.clear();
        let job = Prune { frame: self.frame, level, reach, scalar: self.scalar };
        let (view, group) = (&self.view, &mut self.group);
        stats.nodes += in_groups(runs, |blocks, n| T::prune(view, group, &job, blocks, n, out));
    }

    /// Adds those of the points of `runs` that are at most `margin` away, in order.
    pub(crate) fn touch(
        &mut self,
        points: Points<'_>,
        margin: f32,
        runs: &[Run],
        out: &mut Vec<Contact>,
        stats: &mut Stats,
    ) {
        let job = Touch { frame: self.frame, points, margin, scalar: self.scalar };
        let (view, group) = (&self.view, &mut self.group);
        stats.points += in_groups(runs, |blocks, n| T::touch(view, group, &job, blocks, n, out));
    }
}

/// Calls `f` with the blocks of the runs, eight at a time. Returns the number of places in them.
#[inline]
fn in_groups(runs: &[Run], mut f: impl FnMut(&Blocks, usize)) -> usize {
    let mut blocks: Blocks = [(0, 0); BLOCKS];
    let (mut n, mut count) = (0, 0);
    for run in runs {
        let [mut at, end] = *run;
        count += (end - at) as usize;
        while at < end {
            blocks[n] = (at, live(end - at));
            (n, at) = (n + 1, at + LANES as u32);
            if n == BLOCKS {
                f(&blocks, n);
                n = 0;
            }
        }
    }
    if n > 0 {
        f(&blocks, n);
    }
    count
}

/// What is asked, and where the answer goes.
pub(crate) struct Job<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) reach: Reach,
    /// The level `runs` are of; the number of levels: they are runs of points.
    pub(crate) start: usize,
    /// [m]
    pub(crate) margin: f32,
    pub(crate) runs: &'a mut Vec<Run>,
    pub(crate) next: &'a mut Vec<Run>,
    pub(crate) out: &'a mut Vec<Contact>,
    pub(crate) stats: Stats,
}

/// Contacts of a shape's field with the points of a tree.
pub(crate) fn contacts<T: Sampled>(walker: &mut Walker<'_, T>, job: &mut Job<'_>) {
    for level in job.tree.levels.iter().skip(job.start) {
        walker.prune(level, job.reach, job.runs, job.next, &mut job.stats);
        core::mem::swap(job.runs, job.next);
    }
    walker.touch(Points::of_tree(job.tree), job.margin, job.runs, job.out, &mut job.stats);
}
