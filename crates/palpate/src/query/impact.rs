//! When a moving shape first meets another.
//!
//! Based on: conservative advancement (Mirtich, Impulse-based dynamic simulation of rigid body systems, 1996).
//! Differs: every point of the shell is a ball of the coverage radius, which together hold the whole surface: what the balls do
//! not meet, the surface does not meet, however thin. Their distances are certified lower bounds, also far outside the field.
//!
//! One shape's points are enough: surfaces that do not meet at any time keep a part inside that was inside, and outside one
//! that was outside. Only at the start are both shapes' points asked, for parts that are inside already.

use super::clear::{Within, ball, finer};
use super::near::{Near, near};
use super::{Query, Side, Stats};
use crate::math::Pose;
use crate::shape::Shape;
use glam::{DQuat, DVec3};

/// Distance beyond the coverage radius at which an impact is reported, unless said otherwise [spacings].
const TOLERANCE: f64 = 0.05;
/// What the search by the tree may drop, of the distance to be expected [1]. Larger: shorter steps. Smaller: more nodes.
const LOOSE: f64 = 0.1;
/// Part of a step that is taken, for the rounding of times [1].
const SAFE: f64 = 1.0 - 1e-9;

/// A motion of B relative to A, from time 0 to 1: B's origin goes straight with constant speed, while B turns about it with
/// constant speed about an axis that keeps its direction. A's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// `a_from_b` at time 0.
    pub from: Pose,
    /// How far B's origin goes [m].
    pub linear: DVec3,
    /// Axis times angle, which may be many turns [rad].
    pub angular: DVec3,
}

impl Motion {
    /// From pose to pose, both `a_from_b`: the translation linear, the rotation the shortest, as a slerp.
    pub fn between(from: &Pose, to: &Pose) -> Self {
        let turn = to.rotation * from.rotation.conjugate();
        let turn = if turn.w < 0.0 { -turn } else { turn };
        Self { from: *from, linear: to.translation - from.translation, angular: turn.to_scaled_axis() }
    }

    /// `a_from_b` at a time.
    pub fn at(&self, time: f64) -> Pose {
        Pose {
            rotation: (DQuat::from_scaled_axis(self.angular * time) * self.from.rotation).normalize(),
            translation: self.from.translation + self.linear * time,
        }
    }

    /// Whether every number, and every length, is finite.
    pub fn is_finite(&self) -> bool {
        self.from.is_finite() && self.linear.length().is_finite() && self.angular.length().is_finite()
    }

    /// The largest speed of a point of the ball of B at `centre`, in B's frame, with `radius` [m]: metres over the motion.
    fn speed(&self, centre: DVec3, radius: f64) -> f64 {
        let angle = self.angular.length();
        let axis = self.angular.normalize_or_zero();
        let c = self.from.vector(centre);
        let off = (c - axis * axis.dot(c)).length();
        (self.linear.length() + angle * (off + radius)) * (1.0 + 1e-9)
    }
}

/// How an impact is sought.
#[derive(Clone, Debug, PartialEq)]
pub struct ImpactParams {
    /// An impact is reported where a point is at most this much farther than the coverage radius from the other surface [m];
    /// none: a twentieth of the spacing. Larger: fewer steps, earlier reports.
    pub tolerance: Option<f64>,
    /// Most steps. Each takes microseconds; shapes that glide past each other need many.
    pub max_steps: usize,
}

impl Default for ImpactParams {
    fn default() -> Self {
        Self { tolerance: None, max_steps: 4000 }
    }
}

/// How a search for an impact ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpactEnd {
    /// The shapes come within the coverage radius and the tolerance of each other, and did not meet before.
    Hit,
    /// The shapes do not meet, certainly.
    Free,
    /// They overlap at time 0.
    Overlapping,
    /// At time 0 they are within the coverage radius and the tolerance, without overlapping as far as the points can tell.
    Near,
    /// The steps were used up, or times too near to tell apart. Until the time reported they do not meet; later they may.
    Unfinished,
    /// A number of the motion is not finite, or a length overflows: there is no answer.
    NonFinite,
    /// A shape has no points: nothing to meet.
    Empty,
}

/// When and where two shapes first meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// 0 to 1; none if the shapes do not meet, or there is no answer. Never after the true impact.
    pub time: Option<f64>,
    /// `a_from_b` then; without a time that at the end, or the start where there is no answer.
    pub pose: Pose,
    /// The point of a shell that is near or inside, in A's frame then [m]; NaN without a time, and for
    /// [`ImpactEnd::Unfinished`].
    pub point: DVec3,
    /// From A to B, at the point: unit, A's frame; zero where there is none.
    pub normal: DVec3,
    /// Distance of `point` from the other surface, exact [m]; negative inside. The shapes are at most this far apart, and for
    /// [`ImpactEnd::Hit`] it is at most [`Impact::early`].
    pub distance: f64,
    /// How far apart shapes may be that are reported to meet: coverage radius plus tolerance [m].
    pub early: f64,
    /// Steps that were made.
    pub steps: usize,
    /// How the search ended.
    pub end: ImpactEnd,
}

/// What stays the same along a motion.
struct Course<'a> {
    a: &'a Shape,
    b: &'a Shape,
    /// Whether A gives the points.
    swapped: bool,
    radius: f64,
    tolerance: f64,
}

impl<'a> Course<'a> {
    /// The shape with the field, that with the points, and the pose of the latter.
    fn roles(&self, a_from_b: &Pose) -> (&'a Shape, &'a Shape, Pose) {
        if self.swapped { (self.b, self.a, a_from_b.inverse()) } else { (self.a, self.b, *a_from_b) }
    }
}

/// How far B may go from a pose.
enum Step {
    /// The surfaces are certainly farther apart than this, which is above the tolerance [m].
    Gap(f64),
    /// A point that is within the radius and the tolerance of the other surface.
    Met(u32),
}

impl Query {
    /// The first time at which B, moving, meets A; none if it certainly does not.
    ///
    /// Never late: until the time reported no triangle of B meets one of A, however fast the motion and however thin the
    /// shapes. Early by at most what `Impact::early` says: then a point of B's surface is within the coverage radius of the finer
    /// shell plus the tolerance of A's. A motion that begins so near is reported at time 0, also if it leads away
    /// ([`ImpactEnd::Near`]). A motion that is not finite has no time, and a flag in [`Query::stats`].
    ///
    /// Some microseconds for each step, ten to fifty of them for most motions, more for gliding ones. No allocation after
    /// the first queries.
    ///
    /// ```
    /// use glam::DVec3;
    /// use palpate::mesh::{Mesh, samples};
    /// use palpate::query::Motion;
    /// use palpate::{Pose, Query, Shape};
    ///
    /// let plate = Mesh::new(samples::cuboid(DVec3::new(0.2, 0.2, 1e-3)), &Default::default())?;
    /// let plate = Shape::build(plate, 2e-3, &Default::default())?;
    /// let ball = Mesh::new(samples::sphere(0.02, 4), &Default::default())?;
    /// let ball = Shape::build(ball, 1e-3, &Default::default())?;
    /// // Ten metres, through the plate.
    /// let motion = Motion {
    ///     from: Pose::from_translation(DVec3::Z * 5.0),
    ///     linear: DVec3::Z * -10.0,
    ///     angular: DVec3::ZERO,
    /// };
    /// let impact = Query::new().time_of_impact(&plate, &ball, &motion, &Default::default());
    /// let time = impact.time.ok_or("it hits")?;
    /// assert!((time - 0.5).abs() < 3e-3 && impact.normal.z > 0.99);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn time_of_impact(&mut self, a: &Shape, b: &Shape, motion: &Motion, params: &ImpactParams) -> Impact {
        self.stats = Stats::default();
        let swapped = finer(a, b);
        let shell = if swapped { &a.tree.shell } else { &b.tree.shell };
        let tolerance =
            params.tolerance.filter(|t| t.is_finite() && *t > 0.0).unwrap_or(TOLERANCE * shell.spacing);
        let ((ca, ra), (cb, rb)) = (ball(&a.aabb()), ball(&b.aabb()));
        // Smaller, steps would vanish; and a radius that was given on trust may be none.
        let tolerance = tolerance.max(1e-3 * shell.radius).max(1e-7 * (ra + rb));
        let radius = if shell.radius >= 0.0 { shell.radius } else { ra + rb };
        let course = Course { a, b, swapped, radius, tolerance };
        let none = |end: ImpactEnd, pose: Pose, steps: usize| Impact {
            time: None,
            pose,
            point: DVec3::NAN,
            normal: DVec3::ZERO,
            distance: f64::NAN,
            early: radius + tolerance,
            steps,
            end,
        };
        if !motion.is_finite() || !motion.at(1.0).is_finite() {
            self.stats.non_finite = true;
            return none(ImpactEnd::NonFinite, motion.from, 0);
        }
        if a.tree.is_empty() || b.tree.is_empty() {
            return none(ImpactEnd::Empty, motion.from, 0);
        }
        // A part inside the other already.
        for side in [swapped, !swapped] {
            let asked = Side::new(a, b, &motion.from, side);
            if let Some((point, _)) = self.least(&asked, f32::MIN_POSITIVE, 0.0) {
                let course = Course { swapped: side, ..course };
                let base = none(ImpactEnd::Overlapping, motion.from, 0);
                return report(&course, base, 0.0, Some(point), true);
            }
        }
        self.stats.non_finite = false;
        let speed = motion.speed(cb, rb);
        let mut time = 0.0;
        let mut expected = f64::INFINITY;
        for step in 0..params.max_steps {
            let pose = motion.at(time);
            // Far apart, the balls around the shapes are enough.
            let balls = (pose.point(cb) - ca).length() * (1.0 - 1e-12) - ra - rb;
            let gap = if balls > 0.5 * (ra + rb) {
                balls
            } else {
                match self.step(&course, &pose, expected) {
                    Step::Gap(gap) => gap.max(balls),
                    Step::Met(point) => {
                        let end = if time == 0.0 { ImpactEnd::Near } else { ImpactEnd::Hit };
                        return report(&course, none(end, pose, step), time, Some(point), false);
                    }
                }
            };
            if speed * (1.0 - time) <= gap * SAFE {
                return none(ImpactEnd::Free, motion.at(1.0), step + 1);
            }
            let next = time + gap / speed * SAFE;
            if next <= time {
                return report(&course, none(ImpactEnd::Unfinished, pose, step), time, None, false);
            }
            expected = (gap - speed * (next - time) + LOOSE * gap).abs();
            time = next;
        }
        let base = none(ImpactEnd::Unfinished, motion.at(time), params.max_steps);
        report(&course, base, time, None, false)
    }

    /// How far apart the surfaces are at a pose, or a point that is near. `expected` is a guess [m].
    fn step(&mut self, course: &Course<'_>, a_from_b: &Pose, expected: f64) -> Step {
        let (field, points, pose) = course.roles(a_from_b);
        let side = Side::new(course.a, course.b, a_from_b, course.swapped);
        let spacing = points.tree.shell.spacing;
        // Too large for a frame: nothing is known.
        let Some(frame) = &side.frame else { return Step::Met(0) };
        let expected = if expected.is_finite() { expected } else { 0.0 };
        let mut search = Near {
            frame,
            tree: side.tree,
            tolerance: (0.25 * spacing).max(LOOSE * expected) as f32,
            share: f32::INFINITY,
            beside: 0.0,
            best: f32::INFINITY,
            point: None,
            floor: f32::INFINITY,
            rivals: Near::NO_RIVALS,
            doubtful: None,
            trail: None,
            stats: self.stats,
            stack: &mut self.stack,
        };
        near(side.field, &field.far, &mut search);
        let (floor, point) = (f64::from(search.floor), search.point);
        self.stats = search.stats;
        let limit = course.radius + course.tolerance;
        if floor > limit {
            return Step::Gap(floor - course.radius);
        }
        // The nearest as the field sees it is near in truth, usually.
        if let Some(point) = point {
            let p = pose.point(points.tree.position(point as usize));
            let distance = field.exact.closest(p, None).distance;
            if distance <= limit {
                return Step::Met(point);
            }
        }
        match self.nearest_within(field, points, &pose, limit) {
            Within::Found(point) => Step::Met(point),
            Within::Not(floor) => Step::Gap(floor - course.radius),
        }
    }
}

/// An impact at a time, measured on the surface.
fn report(course: &Course<'_>, base: Impact, time: f64, point: Option<u32>, inside: bool) -> Impact {
    let mut impact = Impact { time: Some(time), ..base };
    let Some(point) = point else { return impact };
    let (field, points, pose) = course.roles(&impact.pose);
    let p = pose.point(points.tree.position(point as usize));
    let q = field.exact.closest(p, None);
    impact.distance = if inside { -q.distance } else { q.distance };
    // Outward of the field's shape, then from A to B.
    let mut out = (p - q.point).normalize_or_zero() * if inside { -1.0 } else { 1.0 };
    if out == DVec3::ZERO {
        out = field.field.sample(p).gradient.normalize_or_zero();
    }
    let turned = |v: DVec3| impact.pose.vector(v);
    impact.normal = if course.swapped { -turned(out) } else { out };
    impact.point = if course.swapped { impact.pose.point(p) } else { p };
    impact
}

#[cfg(test)]
#[path = "impact_tests.rs"]
mod tests;
