//! Contacts a moment later: where shapes hardly move, only the points that were near then are tested.
//!
//! A search that is made anew looks a little farther than asked. A point that it did not find can come within the margin only after it
//! has moved; while no point has moved so far, those it found are all there can be. What is found is what a search made anew finds.

use super::coherence::moved;
use super::contacts::Among;
use super::frame::Frame;
use super::reach::Reach;
use super::walk::{Run, join};
use super::{Query, Side, Stats};
use crate::contact::Contacts;
use crate::field::Field;
use crate::math::Pose;
use crate::shape::Shape;
use crate::tree::Tree;
use std::sync::{Arc, Weak};

/// For how many steps like the last a search should hold [1]. Larger: more points are near enough to be tested in each. Smaller: more
/// searches.
pub(super) const STEPS: f64 = 4.0;
/// How much farther than asked a search looks, at least and at most; where more were needed, it looks no farther at all [spreads].
pub(super) const FARTHER: [f64; 2] = [0.1, 0.8];

/// What was near, and when.
#[derive(Debug, Default)]
pub(crate) struct Near {
    /// What it was about. The handles keep the addresses from being given to others.
    field: Weak<Field>,
    tree: Weak<Tree>,
    /// Where points were in the last question, and in the last search.
    last: Option<Frame>,
    searched: Option<Frame>,
    /// Points at most this far away then are in `runs` [m].
    margin: f32,
    runs: Vec<Run>,
}

impl Query {
    /// Every point of B, or of A if `swapped`, that is at most `margin` outside the other, as [`Query::contacts`] finds them, and perhaps
    /// more that are hardly farther. `spread` is the scale of what is near: what lies that much farther is worth testing in vain [m].
    pub(crate) fn contacts_again(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        margin: f64,
        spread: f64,
        swapped: bool,
    ) -> &Contacts {
        let side = Side::new(a, b, a_from_b, swapped);
        let mut near = core::mem::take(&mut self.near[usize::from(swapped)]);
        if !near.is_of(&side) {
            near.forget(&side);
        }
        let far = |from: Option<Frame>| since(from, &side);
        if near.holds(&side, margin) {
            self.find(a, b, a_from_b, margin, swapped, Among::Points(&near.runs));
        } else {
            let [least, most] = FARTHER.map(|k| k * spread);
            let wanted = (STEPS * far(near.last)).max(least);
            let farther = if wanted <= most { wanted } else { 0.0 };
            self.find(a, b, a_from_b, margin + farther, swapped, Among::Tree);
            near.searched = side.frame.filter(|_| farther > 0.0);
            near.margin = (margin + farther) as f32;
            near.runs.clear();
            if near.searched.is_some() {
                self.contacts.list.iter().for_each(|c| join(&mut near.runs, c.id, c.id + 1));
            }
        }
        near.last = side.frame;
        self.near[usize::from(swapped)] = near;
        &self.contacts
    }

    /// Contacts of both directions as [`Query::both`] finds them, and perhaps more that are hardly farther than `margin` [m], for questions about
    /// one pair that hardly moves from one to the next: only points that were near a moment ago are tested. B's points in A, then A's points in
    /// B; in the order of the points, frame A.
    ///
    /// `spread` is the scale of what is near: what lies that much farther is worth testing in vain, a voxel or so [m]. Where shapes lie close
    /// along much of their surfaces it takes a fraction of the time; where they move far it is as [`Query::both`].
    pub fn both_again(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        margin: f64,
        spread: f64,
    ) -> (&Contacts, &Contacts) {
        let mut second = core::mem::take(&mut self.second);
        core::mem::swap(&mut self.contacts, &mut second);
        self.contacts_again(a, b, a_from_b, margin, spread, true);
        let (stats, visited) = (self.stats, self.keep_visited());
        core::mem::swap(&mut self.contacts, &mut second);
        self.second = second;
        self.contacts_again(a, b, a_from_b, margin, spread, false);
        self.stats.nodes += stats.nodes;
        self.stats.points += stats.points;
        self.join_visited(visited);
        (&self.contacts, &self.second)
    }

    /// Nothing was asked yet.
    pub(crate) fn forget_last(&mut self) {
        self.contacts.list.clear();
        self.stats = Stats::default();
    }

    /// Whether it is known, from a search a moment ago, that no point is at most `margin` outside [m]: without looking at any.
    pub(crate) fn still_free(&self, side: &Side<'_>, margin: f64, swapped: bool) -> bool {
        let near = &self.near[usize::from(swapped)];
        near.runs.is_empty() && near.is_of(side) && near.holds(side, margin)
    }

    /// Remembers that no point is at most `margin` outside [m].
    pub(crate) fn set_free(&mut self, side: &Side<'_>, margin: f32, swapped: bool) {
        let near = &mut self.near[usize::from(swapped)];
        near.forget(side);
        near.runs.clear();
        (near.last, near.searched, near.margin) = (side.frame, side.frame, margin);
    }
}

impl Near {
    fn is_of(&self, side: &Side<'_>) -> bool {
        core::ptr::eq(self.field.as_ptr(), Arc::as_ptr(side.field))
            && core::ptr::eq(self.tree.as_ptr(), Arc::as_ptr(side.tree))
    }

    /// Is about another side.
    fn forget(&mut self, side: &Side<'_>) {
        (self.last, self.searched) = (None, None);
        if !self.is_of(side) {
            (self.field, self.tree) = (Arc::downgrade(side.field), Arc::downgrade(side.tree));
        }
    }

    /// Whether points that may be at most `margin` outside now are all in `runs`.
    fn holds(&self, side: &Side<'_>, margin: f64) -> bool {
        side.frame.is_some_and(|frame| {
            let reach = Reach::new(side, &frame, margin);
            reach.limit_of((since(self.searched, side) as f32).next_up()) <= self.margin
        })
    }
}

/// How far a point can have moved since [m].
fn since(from: Option<Frame>, side: &Side<'_>) -> f64 {
    match (from, side.frame) {
        (Some(from), Some(to)) => moved(&from, &to, side.tree.reach()),
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Mesh, RepairParams, samples};
    use crate::query::{QueryParams, Roles};
    use glam::{DQuat, DVec3};

    /// Slow and fast steps, turns, stops and jumps; both directions by turns.
    #[test]
    fn what_is_near_a_moment_later_is_what_a_new_search_finds() {
        let mesh =
            Mesh::new(samples::torus_knot(2, 3, 1.0, 0.4, 0.2, 160, 16), &RepairParams::default()).unwrap();
        let knot = Shape::build(mesh, 0.03, &Default::default()).unwrap();
        let mesh = Mesh::new(samples::bumpy_sphere(0.7, 0.05, 8, 5, 1), &RepairParams::default()).unwrap();
        let ball = Shape::build(mesh, 0.02, &Default::default()).unwrap();
        let (mut query, mut both, mut fresh) = (Query::new(), Query::new(), Query::new());
        let (mut held, mut anew, mut most) = (0, 0, 0);
        let (mut turn, mut at) = (DQuat::IDENTITY, DVec3::new(0.9, 0.2, 0.3));
        for i in 0..600 {
            let speed = [0.0, 1e-5, 1e-4, 1e-3, 2e-2, 3e-4][i / 20 % 6];
            turn = DQuat::from_scaled_axis(DVec3::new(0.3, 1.0, -0.4) * speed) * turn;
            at += DVec3::new((0.1 * i as f64).sin(), (0.07 * i as f64).cos(), -0.2) * speed;
            let pose = Pose::new(turn, at);
            let (margin, spread) = (0.02 + 0.002 * (i % 3) as f64, 0.02);
            for (swapped, roles) in [(false, Roles::PointsOfB), (true, Roles::PointsOfA)] {
                let mut found = query.contacts_again(&knot, &ball, &pose, margin, spread, swapped).clone();
                if query.stats().nodes == 0 {
                    held += 1
                } else {
                    anew += 1
                }
                found.list.retain(|c| c.distance <= margin as f32);
                let expected = fresh.contacts(&knot, &ball, &pose, &QueryParams { margin, roles });
                assert_eq!(found.list, expected.list, "step {i}");
                most = most.max(found.list.len());
            }
            let (one, two) = both.both_again(&knot, &ball, &pose, margin, spread);
            let mut got = [one.list.clone(), two.list.clone()];
            got.iter_mut().for_each(|l| l.retain(|c| c.distance <= margin as f32));
            let (one, two) = fresh.both(&knot, &ball, &pose, &QueryParams { margin, ..Default::default() });
            assert_eq!([&got[0], &got[1]], [&one.list, &two.list], "step {i}");
        }
        assert!(held > 400 && anew > 100 && most > 100, "{held} held, {anew} anew, {most}");
        // Another shape, and a pose that is none.
        let other = knot.clone();
        let pose = Pose::new(turn, at);
        let found = query.contacts_again(&other, &other, &pose, 0.02, 0.02, false).list.len();
        let params = QueryParams { margin: 0.02, roles: Roles::PointsOfB };
        let expected = fresh.contacts(&other, &other, &pose, &params);
        assert_eq!(found, expected.list.iter().filter(|c| c.distance <= 0.02).count());
        let lost = Pose::new(turn, DVec3::NAN);
        assert!(query.contacts_again(&knot, &ball, &lost, 0.02, 0.02, false).list.is_empty());
        assert!(query.stats().non_finite);
    }
}
