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
use super::visited::Visited;
use crate::contact::Contact;
use crate::field::read::{Group, View};
use crate::simd::{Columns, LANES};
use crate::tree::{Level, Tree};

/// Neighbouring nodes of a level, or points: from, to.
pub(crate) type Run = [u32; 2];

/// Runs this near to each other become one: what lies between is tested in vain, but vectors are full.
const GAP: u32 = 4;

/// Adds a run, joined to the last where they nearly meet.
#[inline(always)]
pub(crate) fn join(runs: &mut Vec<Run>, from: u32, to: u32) {
    match runs.last_mut() {
        Some(last) if last[0] <= from && from <= last[1] + GAP => last[1] = last[1].max(to),
        _ => runs.push([from, to]),
    }
}

/// A field as a walk sees it, from the frame of a tree.
pub(crate) struct Walker<'a, T: Sampled> {
    view: View<'a, T>,
    group: Group<'a, T>,
    frame: &'a Frame,
    /// Without SIMD.
    scalar: bool,
}

/// Calls `$f` with a [`Walker`] of a side's kind of values, followed by the other arguments.
macro_rules! walk {
    ($side:expr, $frame:expr, $scalar:expr, $f:ident($($arg:expr),*)) => {{
        let side: &$crate::query::Side<'_> = $side;
        let (l, directory) = (side.field.lattice(), &side.field.directory);
        match (side.packed, &side.field.values) {
            (Some(packed), _) => {
                if let Some(mut w) = $crate::query::walk::Walker::new(packed.view(), $frame, $scalar) {
                    $f(&mut w, $($arg),*);
                }
            }
            (None, $crate::field::encode::Values::Float(v)) => {
                let view = $crate::field::read::View::new(l, directory, v, 1.0);
                if let Some(mut w) = $crate::query::walk::Walker::new(view, $frame, $scalar) {
                    $f(&mut w, $($arg),*);
                }
            }
            (None, $crate::field::encode::Values::Scaled { values, step, .. }) => {
                let view = $crate::field::read::View::new(l, directory, values, *step);
                if let Some(mut w) = $crate::query::walk::Walker::new(view, $frame, $scalar) {
                    $f(&mut w, $($arg),*);
                }
            }
        }
    }};
}
pub(crate) use walk;

impl<'a, T: Sampled> Walker<'a, T> {
    /// None for a field without nodes.
    pub(crate) fn new(view: View<'a, T>, frame: &'a Frame, scalar: bool) -> Option<Self> {
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
        mut whole: Option<&mut Vec<Run>>,
        stats: &mut Stats,
    ) {
        out.clear();
        let [x, y, z] = &level.centre;
        let Some(balls) = Columns::new([x, y, z, &level.radius]) else { return };
        let job = Prune { frame: self.frame, level, balls, reach, scalar: self.scalar };
        let (view, group) = (&self.view, &mut self.group);
        stats.nodes += in_groups(runs, |blocks, n| {
            T::prune(view, group, &job, blocks, n, out, whole.as_deref_mut());
        });
    }

    /// Adds the nodes of `runs`, each with what the kernel says of it alone: its bits do not depend on its neighbours.
    #[cold]
    fn record(&mut self, number: usize, level: &Level, reach: Reach, runs: &[Run], out: &mut Vec<Visited>) {
        let mut children = Vec::new();
        for node in runs.iter().flat_map(|r| r[0]..r[1]) {
            self.prune(level, reach, &[[node, node + 1]], &mut children, None, &mut Stats::default());
            out.push(Visited { of_a: false, level: number, node: node as usize, near: !children.is_empty() });
        }
    }

    /// Adds those of the points of `runs` that are at most `margin` away, in order.
    pub(crate) fn touch(
        &mut self,
        points: Option<Points<'_>>,
        margin: f32,
        runs: &[Run],
        out: &mut Vec<Contact>,
        stats: &mut Stats,
    ) {
        let Some(points) = points else { return };
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

/// Two lists of runs as one; each is in order.
fn merge(a: &[Run], b: &[Run], out: &mut Vec<Run>) {
    out.clear();
    let (mut a, mut b) = (a.iter(), b.iter());
    let (mut x, mut y) = (a.next(), b.next());
    while let (Some(p), Some(q)) = (x, y) {
        if p[0] < q[0] {
            join(out, p[0], p[1]);
            x = a.next();
        } else {
            join(out, q[0], q[1]);
            y = b.next();
        }
    }
    x.into_iter().chain(a).chain(y).chain(b).for_each(|r| join(out, r[0], r[1]));
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
    /// Runs of points of nodes that are inside as a whole.
    pub(crate) whole: &'a mut Vec<Run>,
    pub(crate) out: &'a mut Vec<Contact>,
    pub(crate) stats: Stats,
    /// Where the nodes that are tested are kept, if anywhere.
    pub(crate) visited: Option<&'a mut Vec<Visited>>,
}

/// Contacts of a shape's field with the points of a tree.
pub(crate) fn contacts<T: Sampled>(walker: &mut Walker<'_, T>, job: &mut Job<'_>) {
    job.whole.clear();
    let last = job.tree.levels();
    for (l, level) in job.tree.levels.iter().enumerate().skip(job.start) {
        // Nodes of the last level have nothing below them but points.
        let from = job.whole.len();
        if let Some(visited) = job.visited.as_deref_mut() {
            walker.record(l, level, job.reach, job.runs, visited);
        }
        let whole = (l + 1 < last).then_some(&mut *job.whole);
        walker.prune(level, job.reach, job.runs, job.next, whole, &mut job.stats);
        core::mem::swap(job.runs, job.next);
        if from > 0 && job.whole.len() > from {
            job.whole.sort_unstable();
        }
    }
    if !job.whole.is_empty() {
        merge(job.runs, job.whole, job.next);
        core::mem::swap(job.runs, job.next);
    }
    walker.touch(Points::of_tree(job.tree), job.margin, job.runs, job.out, &mut job.stats);
}
