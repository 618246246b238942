//! Time coherence: the nodes that were near a moment ago, and how far the shapes may move before others can be.

use super::frame::Frame;
use super::kernel::Sampled;
use super::reach::Reach;
use super::walk::{Run, Walker, walk};
use super::{Side, Stats};
use crate::field::Field;
use crate::tree::Tree;
use glam::DVec3;
use std::sync::{Arc, Weak};

/// Most nodes the level may have at which walks begin.
const NODES: usize = 1024;
/// How far above the margin nodes are kept, in radii of the level's largest ball. Larger: fewer fresh starts, but more nodes to
/// look at each time.
const GUARD: f32 = 0.5;

/// What was near, and when.
#[derive(Debug, Default)]
pub(crate) struct Coherence {
    /// What it was about. The handles keep the addresses from being given to others.
    field: Weak<Field>,
    tree: Weak<Tree>,
    margin: f32,
    frame: Option<Frame>,
    level: usize,
    runs: Vec<Run>,
    /// How far points may move before it must be found anew [m].
    guard: f32,
}

impl Coherence {
    /// Fills `runs` with the nodes of the returned level that may be near; all others cannot be.
    pub(crate) fn begin(
        &mut self,
        side: &Side<'_>,
        frame: &Frame,
        reach: Reach,
        runs: &mut Vec<Run>,
        next: &mut Vec<Run>,
        stats: &mut Stats,
    ) -> usize {
        let same = self.margin.to_bits() == reach.margin.to_bits()
            && core::ptr::eq(self.field.as_ptr(), Arc::as_ptr(side.field))
            && core::ptr::eq(self.tree.as_ptr(), Arc::as_ptr(side.tree));
        let moved = self.frame.map(|f| moved(&f, frame, side.tree.reach()));
        if !same || !moved.is_some_and(|m| m < f64::from(self.guard)) {
            let level = side.tree.levels.iter().rposition(|l| l.len() <= NODES).unwrap_or(0);
            let guard = side.tree.levels.get(level).map_or(0.0, |l| l.largest * GUARD);
            let wide = reach.guarded(guard);
            runs.clear();
            runs.push([0, side.tree.nodes(0) as u32]);
            walk!(side, frame, false, down(side, wide, level, runs, next, stats));
            self.runs.clear();
            self.runs.reserve(NODES);
            self.runs.extend_from_slice(runs);
            (self.field, self.tree) = (Arc::downgrade(side.field), Arc::downgrade(side.tree));
            (self.margin, self.frame, self.level, self.guard) = (reach.margin, Some(*frame), level, guard);
        }
        runs.clear();
        runs.extend_from_slice(&self.runs);
        self.level
    }
}

/// Walks from the root to `level`.
fn down<T: Sampled>(
    walker: &mut Walker<'_, T>,
    side: &Side<'_>,
    reach: Reach,
    level: usize,
    runs: &mut Vec<Run>,
    next: &mut Vec<Run>,
    stats: &mut Stats,
) {
    for level in &side.tree.levels[..level] {
        walker.prune(level, reach, runs, next, None, stats);
        core::mem::swap(runs, next);
    }
}

/// Most that any point within `reach` of the tree's origin has moved between two frames of one field [m].
pub(super) fn moved(from: &Frame, to: &Frame, reach: f64) -> f64 {
    let shift = (to.point(DVec3::ZERO) - from.point(DVec3::ZERO)).length();
    let turn: f64 = (0..3)
        .flat_map(|i| (0..3).map(move |j| (i, j)))
        .map(|(i, j)| f64::from(to.rotation[i][j]) - f64::from(from.rotation[i][j]))
        .map(|d| d * d)
        .sum();
    // The largest singular value is at most the root of the sum of squares.
    shift + turn.sqrt() * reach + f64::from(from.rounding + to.rounding)
}
