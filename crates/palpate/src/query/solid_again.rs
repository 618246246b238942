//! Points near a solid a moment later: where little moves, only those that were near then are tested.
//!
//! As with two shapes: a search that is made anew looks a little farther than asked, and holds until a point it did not find can have
//! come near. Here how near is near goes by the nearest point, which moves too.

use super::Query;
use super::again::{FARTHER, STEPS};
use super::solid::Extent;
use super::walk::{Run, join};
use crate::field::analytic::Analytic;
use crate::math::Pose;
use crate::shape::Shape;
use crate::tree::Tree;
use std::sync::{Arc, Weak};

/// What was near, and when.
#[derive(Debug, Default)]
pub(crate) struct NearSolid {
    /// What it was about. The handles keep the addresses from being given to others.
    solid: Weak<Analytic>,
    tree: Weak<Tree>,
    /// Where the points were in the last question, and in the last search that looked farther than asked.
    last: Option<Pose>,
    searched: Option<Pose>,
    /// Of that search: points at most this far away are in `runs`, and the nearest of them was that far, 0 inside [m].
    limit: f64,
    nearest: f64,
    /// How far rounding could move a distance in it [m].
    rounding: f64,
    runs: Vec<Run>,
}

impl Query {
    /// As [`Query::solid`], of points within `extent` of the solid, and perhaps more that are hardly farther; says whether the budget
    /// was enough.
    pub(crate) fn solid_again(
        &mut self,
        a: &Arc<Analytic>,
        b: &Shape,
        a_from_b: &Pose,
        extent: Extent,
    ) -> bool {
        if extent.budget < usize::MAX || !extent.spread.is_finite() {
            return self.find_solid(a, b, a_from_b, extent, None);
        }
        let mut near = core::mem::take(&mut self.near_solid);
        let same = core::ptr::eq(near.solid.as_ptr(), Arc::as_ptr(a))
            && core::ptr::eq(near.tree.as_ptr(), Arc::as_ptr(&b.tree));
        if !same {
            (near.last, near.searched) = (None, None);
            (near.solid, near.tree) = (Arc::downgrade(a), Arc::downgrade(&b.tree));
        }
        let now = Pose { rotation: a_from_b.rotation, translation: a_from_b.point(b.tree.origin) };
        let far = |from: Option<Pose>| from.map_or(f64::INFINITY, |f| moved(&f, &now, b.tree.reach()));
        let m = far(near.searched);
        let needed = (near.nearest + extent.spread + 2.0 * m).min(extent.margin + m);
        // Not so either: no number.
        let holds = needed + 4.0 * near.rounding <= near.limit;
        let complete = if holds {
            self.find_solid(a, b, a_from_b, extent, Some(&near.runs))
        } else {
            let [least, most] = FARTHER.map(|k| k * extent.spread);
            let wanted = (2.0 * STEPS * far(near.last)).max(least);
            let farther = if wanted <= most { wanted } else { 0.0 };
            let wide = Extent { margin: extent.margin + farther, spread: extent.spread + farther, ..extent };
            let complete = self.find_solid(a, b, a_from_b, wide, None);
            let nearest = self.contacts.list.iter().map(|c| f64::from(c.distance).max(0.0)).reduce(f64::min);
            near.searched = nearest.filter(|_| farther > 0.0).map(|_| now);
            near.rounding = f64::from(self.formula.rounding);
            near.nearest = nearest.unwrap_or(0.0);
            near.limit = (near.nearest + wide.spread).min(wide.margin);
            near.runs.clear();
            if near.searched.is_some() {
                self.contacts.list.iter().for_each(|c| join(&mut near.runs, c.id, c.id + 1));
            }
            complete
        };
        near.last = Some(now);
        self.near_solid = near;
        complete
    }
}

/// How far a point within `reach` of the origin can have moved between two poses [m].
fn moved(from: &Pose, to: &Pose, reach: f64) -> f64 {
    let turn = to.rotation * from.rotation.inverse();
    (to.translation - from.translation).length() + 2.0 * turn.xyz().length() * reach * (1.0 + 1e-9)
}
