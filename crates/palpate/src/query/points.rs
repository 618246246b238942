//! Points alone against the field of a shape: a scan, or any points in a tree, without a mesh or a field of their own.
//!
//! A gives the field, the tree is B. Directions are those of A's field, so the normals of B's points matter only where that is flat and
//! in forces along the shell's normals: unoriented points will do.

use super::contacts::Among;
use super::near::{Near, near};
use super::{Distance, Query, QueryParams, Side, Stats};
use crate::contact::Contacts;
use crate::math::Pose;
use crate::shape::Shape;
use crate::tree::Tree;
use glam::DVec3;
use std::sync::Arc;

impl Query {
    /// Every point of the tree `b` that is inside `a`, or at most `margin` outside, in the order of the points; `roles` do not count, as
    /// only `a` has a field.
    ///
    /// Exactly what [`Query::plain_of_points`] finds, bit for bit. Frame A, normals out of A; depths are those of the field, with its
    /// error. Time as [`Query::contacts`]. A pose that is not finite gives no contacts and a flag in [`Query::stats`].
    pub fn contacts_of_points(
        &mut self,
        a: &Shape,
        b: &Arc<Tree>,
        a_from_b: &Pose,
        params: &QueryParams,
    ) -> &Contacts {
        self.find_side(&Side::of_points(a, b, a_from_b), params.margin, Among::Tree);
        &self.contacts
    }

    /// What [`Query::contacts_of_points`] finds, by testing every point: about 3 ns each.
    pub fn plain_of_points(
        &mut self,
        a: &Shape,
        b: &Arc<Tree>,
        a_from_b: &Pose,
        params: &QueryParams,
    ) -> &Contacts {
        self.find_side(&Side::of_points(a, b, a_from_b), params.margin, Among::All);
        &self.contacts
    }

    /// Whether some point of the tree `b` is inside `a`, or on its surface. Under a microsecond for deep contact, a few for near misses.
    pub fn meets_points(&mut self, a: &Shape, b: &Arc<Tree>, a_from_b: &Pose) -> bool {
        self.stats = Stats::default();
        self.least(&Side::of_points(a, b, a_from_b), f32::MIN_POSITIVE, 0.0).is_some()
    }

    /// Signed distance from `a` to the nearest point of the tree `b`, or minus the depth of the deepest one inside.
    ///
    /// Witnesses are in A's frame: the closest point of A's surface, and the point of B, to which the distance goes. Apart, the distance
    /// is exact, that of measuring every point on the triangles in f64, and `bound` is 0. Inside, the point is the one where A's
    /// field is least, and `bound` twice the field's error: so much deeper may another be. NaN for a pose that is not finite,
    /// +∞ without points. A few microseconds; more where many points are nearly as near.
    pub fn distance_to_points(&mut self, a: &Shape, b: &Arc<Tree>, a_from_b: &Pose) -> Distance {
        self.stats = Stats::default();
        if !a_from_b.is_finite() {
            self.stats.non_finite = true;
            return Distance { distance: f64::NAN, bound: f64::NAN, ..Distance::NONE };
        }
        if b.is_empty() {
            return Distance::NONE;
        }
        let side = Side::of_points(a, b, a_from_b);
        let at = |point: u32| a_from_b.point(b.position(point as usize));
        let Some(frame) = &side.frame else {
            // So far away that f32 cannot hold it: any point, and the size of them all as the bound.
            let p = at(0);
            let q = a.exact.closest(p, None);
            let bound = q.distance.min(2.0 * b.reach());
            return Distance { distance: q.distance, bound, witness_a: q.point, witness_b: p };
        };
        if let Some((point, _)) = self.least(&side, f32::MIN_POSITIVE, f32::NEG_INFINITY) {
            let p = at(point);
            let q = a.exact.closest(p, None);
            let report = a.field.report();
            let deep = -q.distance;
            let error =
                if q.distance < report.band { report.error_bound_band } else { report.error_bound_far };
            return Distance { distance: deep, bound: 2.0 * error, witness_a: q.point, witness_b: p };
        }
        self.stack.clear();
        self.stack.reserve(b.waiting);
        self.doubtful.clear();
        self.doubtful.reserve(b.len());
        let mut search = Near {
            frame,
            tree: b,
            tolerance: 0.0,
            share: 0.0,
            beside: 0.0,
            best: f32::INFINITY,
            point: None,
            rivals: Near::NO_RIVALS,
            floor: f32::INFINITY,
            doubtful: None,
            trail: None,
            stats: self.stats,
            stack: &mut self.stack,
        };
        near(&a.field, &a.far, &mut search);
        let first: DVec3 = at(search.point.unwrap_or(0));
        let (mut best, mut witness) = (a.exact.closest(first, None), first);
        // Whatever may be nearer, rounding included, is measured.
        search.best = (best.distance + 2.0 * f64::from(frame.rounding)) as f32 * (1.0 + f32::EPSILON);
        search.doubtful = Some(&mut self.doubtful);
        near(&a.field, &a.far, &mut search);
        self.stats = search.stats;
        for point in self.doubtful.iter().copied() {
            let p = at(point);
            if let Some(q) = a.exact.closest_within(p, best.distance) {
                (best, witness) = (q, p);
            }
        }
        Distance { distance: best.distance, bound: 0.0, witness_a: best.point, witness_b: witness }
    }
}
