//! How far two shapes are apart, measured on their surfaces, with a bound.
//!
//! Based on: sagardia14 2.2, 2.3.
//! Differs: the point the tree finds is only the start: from it the search goes from surface to surface, to the closest point of
//! the other, until that stays; and the answer comes with a bound that no triangle of either shape violates.

use super::frame::Frame;
use super::near::{Near, RIVALS, near};
use super::refine::{Found, Motion, matched, polish, refine};
use super::trail::Trail;
use super::{Query, Side, Stats};
use crate::math::Pose;
use crate::shape::Shape;
use glam::DVec3;

/// What the search by the tree may drop [spacings], and at most that share of the distance. Larger: other places that are nearer are
/// missed, and the bound is looser. Smaller: more nodes.
const TOLERANCE: f64 = 0.3;
const SHARE: f32 = 0.05;
/// A point of another leaf is tried too if its estimate is at most this much above the least one [spacings], and it is at least so
/// far away from the best point [spacings].
const RIVAL: f64 = 0.05;
const ELSEWHERE: f64 = 2.5;
/// How far beside the points that stand for it a place of the surface is [spacings]: by so much may two of them differ although the
/// surfaces are as near, where these nearly touch. Larger: more nodes and more walks. Smaller: nearer places are missed.
const BESIDE: f64 = 1.0;
/// The bound to be reached, less the radius that points cover [spacings]: nodes that the field cannot exclude so far are measured
/// on the surface.
const CERTAIN: f64 = 0.58;

/// How far apart two shapes are, or how deep one is in the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Apart: the distance between the witnesses, which are points of the surfaces. Overlapping: minus the depth of the deepest point
    /// found of either shape in the other [m]. NaN for a pose that is not finite, +∞ where a shape has no points.
    pub distance: f64,
    /// Apart: the true distance is at most this much smaller than `distance`, and never larger. Overlapping: how much deeper a
    /// point of the surfaces may be, at most [m].
    pub bound: f64,
    /// On A's surface, in A's frame [m].
    pub witness_a: DVec3,
    /// On B's surface, in A's frame [m].
    pub witness_b: DVec3,
}

impl Distance {
    pub(super) const NONE: Self =
        Self { distance: f64::INFINITY, bound: f64::INFINITY, witness_a: DVec3::NAN, witness_b: DVec3::NAN };

    /// Whether the shapes overlap.
    pub fn overlaps(&self) -> bool {
        self.distance <= 0.0
    }

    /// From A to B if apart, else the way B should go: unit, in A's frame; zero where the witnesses coincide.
    pub fn direction(&self) -> DVec3 {
        let way = self.witness_b - self.witness_a;
        if self.distance < 0.0 { -way.normalize_or_zero() } else { way.normalize_or_zero() }
    }
}

impl Query {
    /// Signed distance of two shapes, with the points it is measured between and a bound on its error.
    ///
    /// Apart, the distance is one between two points of the surfaces, hence never below the true one, and above it by at most
    /// `bound`, which is about 1.5 times the spacing of the points; its usual error is far smaller, as the witnesses are moved to
    /// where they are closest. A few microseconds; more for surfaces that run parallel over long stretches.
    pub fn distance(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose) -> Distance {
        self.stats = Stats::default();
        if !a_from_b.is_finite() {
            self.stats.non_finite = true;
            return Distance { distance: f64::NAN, bound: f64::NAN, ..Distance::NONE };
        }
        let swapped = a.tree.len() < b.tree.len();
        let side = Side::new(a, b, a_from_b, swapped);
        let out = self.apart(a, b, a_from_b, &side, swapped);
        // Overlapping if a point of either is in the other. Where surfaces are certainly apart, one point of a part tells for all.
        let whole = |s: &Shape| s.mesh.report().components == 1;
        let overlaps = if out.distance > out.bound && whole(a) && whole(b) {
            let b_from_a = a_from_b.inverse();
            a.field.sample(a_from_b.point(b.tree.position(0))).distance < 0.0
                || b.field.sample(b_from_a.point(a.tree.position(0))).distance < 0.0
        } else {
            self.least(&side, f32::MIN_POSITIVE, 0.0).is_some()
                || self.least(&Side::new(a, b, a_from_b, !swapped), f32::MIN_POSITIVE, 0.0).is_some()
        };
        if !overlaps {
            return out;
        }
        let sides = [side, Side::new(a, b, a_from_b, !swapped)];
        self.deepest(a, b, a_from_b, &sides, swapped)
    }

    /// The deepest point of either shape in the other.
    fn deepest(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        sides: &[Side<'_>; 2],
        swapped: bool,
    ) -> Distance {
        let mut best = Distance { distance: 0.0, ..Distance::NONE };
        for (side, swapped) in sides.iter().zip([swapped, !swapped]) {
            let Some((point, f)) = self.least(side, f32::MIN_POSITIVE, f32::NEG_INFINITY) else { continue };
            let (field, points, from) = if swapped { (b, a, a_from_b.inverse()) } else { (a, b, *a_from_b) };
            let p = from.point(points.tree.position(point as usize));
            let q = field.exact.closest(p, None);
            let report = field.field.report();
            let deep = f64::from(-f);
            let error = if deep + report.error_bound_band <= report.band {
                report.error_bound_band
            } else {
                report.error_bound_far
            };
            if best.bound == f64::INFINITY || -q.distance < best.distance {
                let (on_field, on_points) = (q.point, p);
                let (witness_a, witness_b) = if swapped {
                    (a_from_b.point(on_points), a_from_b.point(on_field))
                } else {
                    (on_field, on_points)
                };
                let bound = points.tree.shell.radius + 2.0 * error;
                best = Distance { distance: -q.distance, bound, witness_a, witness_b };
            }
        }
        best
    }

    /// Makes room for distances of a pair: none of them allocates later.
    pub(super) fn prepare_distance(&mut self, a: &Shape, b: &Shape) {
        self.stack.clear();
        self.stack.reserve(a.tree.waiting.max(b.tree.waiting) + Trail::MOST);
        self.trail.clear();
        self.doubtful.clear();
        self.doubtful.reserve(a.tree.len().max(b.tree.len()));
    }

    /// As if the shapes did not overlap.
    fn apart(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose, side: &Side<'_>, swapped: bool) -> Distance {
        // The field's shape, the points' shape, and where the latter is.
        let (field, points, pose) = if swapped { (b, a, a_from_b.inverse()) } else { (a, b, *a_from_b) };
        let Some(frame) = &side.frame else { return self.beyond(field, points, &pose, a_from_b, swapped) };
        let shell = &points.tree.shell;
        self.stack.clear();
        self.stack.reserve(side.tree.waiting + Trail::MOST);
        self.trail.clear();
        let mut search = Near {
            frame,
            tree: side.tree,
            tolerance: (TOLERANCE * shell.spacing) as f32,
            share: SHARE,
            beside: (BESIDE * shell.spacing) as f32,
            best: f32::INFINITY,
            point: None,
            rivals: Near::NO_RIVALS,
            floor: f32::INFINITY,
            doubtful: None,
            trail: Some(&mut self.trail),
            stats: self.stats,
            stack: &mut self.stack,
        };
        near(side.field, &field.far, &mut search);
        let (point, rivals, mut floor) = (search.point, search.rivals, f64::from(search.floor));
        let least = f64::from(search.best);
        self.stats = search.stats;
        let Some(point) = point else { return Distance::NONE };
        let motion = Motion::new(&pose);
        let mut best = refine(field, points, &motion, point, None);
        // Estimates are off by a part of the spacing: another place may be the nearer one. The nearer they are, the more it matters
        // which place of the surface a point is at.
        let spacing = shell.spacing;
        let beside = BESIDE * spacing;
        let beside = beside * beside / (2.0 * least + beside);
        let mut tried = [best.2; RIVALS];
        for (i, (estimate, rival)) in rivals.into_iter().enumerate() {
            let estimate = f64::from(estimate) - beside;
            if estimate >= best.0.min(least + RIVAL * spacing) {
                break;
            }
            let at = motion.point(points.tree.position(rival as usize));
            let elsewhere = |p: &DVec3| (at - *p).length() > ELSEWHERE * spacing;
            if elsewhere(&best.2) && tried.iter().all(elsewhere) {
                tried[i] = at;
                let other = refine(field, points, &motion, rival, None);
                if other.0 < best.0 {
                    best = other;
                }
            }
        }
        if !(matched(field) && matched(points)) {
            best = polish(field, points, &motion, best);
        }
        let certain = CERTAIN * shell.spacing;
        // Where rounding is coarse against the spacing, from very far away, nothing can be certain to a part of it.
        if floor < best.0 - certain && f64::from(frame.rounding) < 0.1 * shell.spacing {
            (best, floor) = self.certify(field, points, &motion, frame, best, certain);
        }
        let (distance, on_field, on_points, _) = best;
        // Every point of the surface is within the radius of one of its points.
        let bound = (distance - (floor - shell.radius).max(0.0)).max(0.0);
        finish(distance, bound, on_field, on_points, a_from_b, swapped)
    }

    /// Looks again at what may be nearer than `best` less `certain`, and measures on the surface the points the field cannot tell.
    fn certify(
        &mut self,
        field: &Shape,
        points: &Shape,
        pose: &Motion,
        frame: &Frame,
        mut best: Found,
        certain: f64,
    ) -> (Found, f64) {
        let tree = &*points.tree;
        self.doubtful.clear();
        // A point can be met twice: once more where the search goes on.
        self.doubtful.reserve(2 * tree.len());
        let mut search = Near {
            frame,
            tree,
            tolerance: 0.0,
            share: f32::INFINITY,
            beside: 0.0,
            best: (best.0 - certain) as f32,
            point: None,
            rivals: Near::NO_RIVALS,
            floor: f32::INFINITY,
            doubtful: Some(&mut self.doubtful),
            trail: if self.trail.full { None } else { Some(&mut self.trail) },
            stats: self.stats,
            stack: &mut self.stack,
        };
        near(&field.field, &field.far, &mut search);
        let mut floor = f64::from(search.floor);
        self.stats = search.stats;
        for point in self.doubtful.iter().copied() {
            let p = pose.point(tree.position(point as usize));
            // Nothing nearer than the best is all that has to be known.
            match field.exact.closest_within(p, best.0) {
                None => floor = floor.min(best.0),
                Some(q) => {
                    floor = floor.min(q.distance);
                    let better = refine(field, points, pose, point, Some(q.triangle));
                    if better.0 < best.0 {
                        best = better;
                    }
                }
            }
        }
        (best, floor.min(best.0))
    }

    /// Shapes so far apart that f32 cannot hold it: the distance of a few points, and the size of the shapes as the bound.
    fn beyond(
        &mut self,
        field: &Shape,
        points: &Shape,
        pose: &Pose,
        a_from_b: &Pose,
        swapped: bool,
    ) -> Distance {
        if points.tree.is_empty() {
            return Distance::NONE;
        }
        let (distance, on_field, on_points, _) = refine(field, points, &Motion::new(pose), 0, None);
        let bound = points.aabb().extent().length() + field.aabb().extent().length();
        finish(distance, bound.min(distance), on_field, on_points, a_from_b, swapped)
    }
}

fn finish(
    distance: f64,
    bound: f64,
    on_field: DVec3,
    on_points: DVec3,
    a_from_b: &Pose,
    swapped: bool,
) -> Distance {
    let (witness_a, witness_b) =
        if swapped { (a_from_b.point(on_points), a_from_b.point(on_field)) } else { (on_field, on_points) };
    Distance { distance, bound, witness_a, witness_b }
}
