//! What a search for the nearest point looked at: where another one can go on.

use crate::simd::LANES;

/// Most vectors a trail keeps. Searches have some twenty.
const TRAIL: usize = 256;

/// What a search looked at, so that another with a higher limit can go on from there.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    pub(super) seen: Vec<Seen>,
    /// There was more: not all of it is here.
    pub(crate) full: bool,
    /// Nodes with a bound below this were opened [m].
    pub(super) limit: f32,
}

/// Nodes of a level, or points, up to eight in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Lower bounds of their distances [m].
    pub(super) bounds: [f32; LANES],
    pub(super) at: u32,
    pub(super) count: u32,
    /// [`POINTS`] for points.
    pub(super) level: u32,
}

/// The level of points.
pub(super) const POINTS: u32 = u32::MAX;

impl Trail {
    /// Most nodes that going on from it puts on the stack.
    pub(crate) const MOST: usize = TRAIL * LANES;

    /// Forgets all, and has the memory for the next search.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
        self.seen.reserve(TRAIL);
        self.full = false;
    }

    #[inline(always)]
    pub(super) fn push(&mut self, seen: Seen) {
        if self.seen.len() < TRAIL { self.seen.push(seen) } else { self.full = true }
    }
}
