//! Whether two shapes meet, and the deepest point.

use super::least::{Least, least};
use super::reach::Reach;
use super::{Query, Side, Stats};
use crate::math::Pose;
use crate::shape::Shape;

impl Query {
    /// Whether some point of either shape is in the other: both ways, as the points of a part wholly inside the other are the only
    /// ones that are.
    ///
    /// Shapes that overlap by less than the spacing of their points and the error of their fields may go unnoticed: see
    /// [`Query::distance`] for a bound. Under a microsecond for deep contact, a few for near misses.
    pub fn intersects(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose) -> bool {
        self.stats = Stats::default();
        // The one with fewer points first: it is asked in less time.
        let first = a.tree.len() < b.tree.len();
        [first, !first].into_iter().any(|swapped| {
            let side = Side::new(a, b, a_from_b, swapped);
            self.least(&side, f32::MIN_POSITIVE, 0.0).is_some()
        })
    }

    /// The point of a side with the least distance below `below` [m], and the distance; the search ends with the first point that
    /// is not above `stop` [m].
    pub(crate) fn least(&mut self, side: &Side<'_>, below: f32, stop: f32) -> Option<(u32, f32)> {
        let Some(frame) = &side.frame else {
            self.stats.non_finite = true;
            return None;
        };
        self.stack.clear();
        self.stack.reserve(side.tree.waiting);
        let mut search = Least {
            frame,
            tree: side.tree,
            reach: Reach::new(side, frame, 0.0),
            best: below,
            stop,
            point: None,
            stats: self.stats,
            stack: &mut self.stack,
        };
        least(side, &mut search);
        self.stats = search.stats;
        search.point.map(|p| (p, search.best))
    }
}
