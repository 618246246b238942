//! Two bodies near each other: their contacts, and what these do at the end of a step.
//!
//! The law is that of [`force::penalty`](crate::force::penalty): pressure stiffness × depth along the field's gradient, friction by
//! springs along the surface. It is taken at the end of the step, where motion and pressure suit each other. Contacts are found where
//! bodies are likely to be then (those that contacts hold go on as before, others fall), or as far on the way there as is safe; where
//! they are really is told from the velocities, the surface around each contact taken as plane (the field's gradient frozen).

use super::WorldParams;
use super::body::Body;
use super::narrow::{Found, search};
use super::solve::{Block, Link, Six};
use crate::contact::Contacts;
use crate::math::{Pose, Wrench};
use crate::query::Query;
use glam::{DMat3, DVec3, Vec3};

/// Largest ratio of masses that a pair's stiffness follows [1]: beyond it the lighter one gives way.
const MASS_RATIO: f64 = 1e3;

/// How far bodies may move into each other in a step, over the radius of the largest ball inside [1]. Teeth and threads are thinner than
/// the body they are on: larger, and points come out on their other side; smaller, and fast bodies take more parts of a step.
const REACH: f64 = 0.3;

/// A contact in world axes, relative to B's centre.
#[derive(Clone, Copy, Debug)]
struct Point {
    id: u64,
    r: DVec3,
    normal: DVec3,
    /// When the step begins, positive inside; at most what the separation speed allows [m].
    depth: f64,
    /// How far ahead the depth is taken: the step, and the time of damping where the point is inside already [s].
    ahead: f64,
    /// Force for each metre [N/m].
    stiffness: f64,
    /// How far B has moved over A since the point began to stick [m].
    stretch: DVec3,
}

/// What a point does at a velocity of B against A.
struct Push {
    normal: f64,
    /// Spring along the surface, weakened where it slides [N/m], and its length then [m].
    spring: f64,
    pull: DVec3,
    across: DVec3,
}

/// Where contacts are looked for: after the time `lead` [s].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sought {
    pub(super) a_from_b: Pose,
    pub(super) margin: f64,
    lead: f64,
}

#[derive(Debug, Default)]
pub(super) struct Pair {
    /// Places of A and B.
    pub(super) key: (u32, u32),
    query: Query,
    /// What somebody else found, if not the query; in how many directions.
    told: Option<Found>,
    sides: usize,
    /// Where A was when the contacts were found.
    pub(super) w_from_a: Pose,
    pub(super) sought: Sought,
    points: Vec<Point>,
    /// Stretches of the points that touched, by id, in A's frame; those of this step.
    grips: Vec<(u64, DVec3)>,
    next: Vec<(u64, DVec3)>,
    friction: f64,
    /// On B about its centre, world axes, at the end of the step.
    pub(super) wrench: Wrench,
    pub(super) link: Link,
    pub(super) touching: usize,
    pub(super) deepest: f64,
}

impl Pair {
    /// Forgets what was.
    pub(super) fn reset(&mut self, key: (u32, u32)) {
        self.grips.clear();
        self.points.clear();
        (self.touching, self.deepest, self.wrench) = (0, 0.0, Wrench::ZERO);
        self.key = key;
    }

    /// Says where the contacts are that a step of `h` seconds can bring about; `aim` are the velocities bodies are likely to have, `free`
    /// those without contacts.
    pub(super) fn seek(
        &mut self,
        [a, b]: [&Body; 2],
        aim: [Six; 2],
        free: [Six; 2],
        h: f64,
        params: &WorldParams,
    ) {
        let way = h * closing([a, b], aim);
        // As far as they may go beside that.
        let fall = params.pull() * h * h + h * closing([a, b], difference(free, aim));
        // As far ahead as no point comes too deep for its normal to be right; farther, to where they can come from there.
        let ahead = (reach([a, b]) / way).min(1.0);
        let (lead, margin) = (h * ahead, way * (1.0 - 0.75 * ahead));
        let (w_from_a, w_from_b) = (a.after(lead, aim[0]), b.after(lead, aim[1]));
        self.w_from_a = w_from_a;
        self.sought = Sought { a_from_b: w_from_a.inverse() * w_from_b, margin: margin + fall, lead };
    }

    /// Finds the contacts that [`seek`](Self::seek) told of.
    pub(super) fn find(&mut self, [a, b]: [&Body; 2], both: bool) {
        let Sought { a_from_b, margin, .. } = self.sought;
        self.sides = search(&mut self.query, [&a.collider, &b.collider], &a_from_b, margin, both);
        self.told = None;
    }

    /// What somebody else found; the memory of what was told before goes back.
    pub(super) fn hear(&mut self, found: &mut Found) {
        core::mem::swap(self.told.get_or_insert_default(), found);
        self.sides = if self.told.as_ref().is_some_and(|f| f.both) { 2 } else { 1 };
    }

    /// Makes points of the contacts that were found.
    pub(super) fn take(&mut self, [a, b]: [&Body; 2], aim: [Six; 2], h: f64, params: &WorldParams) {
        let law = Law::new(a, b, params);
        let (lead, w_from_a) = (self.sought.lead, self.w_from_a);
        let share = if self.sides == 2 { 0.5 } else { 1.0 };
        // Forces act on both bodies at one place, which lags behind as the lighter one does: momentum is kept, and its arms are right.
        let heavy =
            if a.mass < b.mass { 1.0 - 1.0 / (1.0 + a.mass / b.mass) } else { 1.0 / (1.0 + b.mass / a.mass) };
        let lag = (aim[0][0] * (1.0 - heavy) + aim[1][0] * heavy) * lead;
        let (about, [i, j]) = (b.centre(), [self.key.0, self.key.1].map(|i| i as usize));
        self.link = Link { a: i, b: j, arm: about - a.centre(), block: Block::ZERO };
        let motion = Link { a: 0, b: 1, ..self.link }.relative(&aim);
        self.friction = law.friction;
        (self.touching, self.deepest) = (0, 0.0);
        self.points.clear();
        let (turn, mut grips) = (DMat3::from_quat(w_from_a.rotation), self.grips.iter().peekable());
        let found = match &self.told {
            Some(told) => told.contacts.each_ref(),
            None => self.query.last_both(),
        };
        for (side, contacts) in found.into_iter().enumerate().take(self.sides) {
            let origin = w_from_a.point(contacts.origin) - lag - about;
            for c in &contacts.list {
                let (id, depth) = ((side as u64) << 32 | u64::from(c.id), -f64::from(c.distance));
                while grips.next_if(|g| g.0 < id).is_some() {}
                let held = grips.next_if(|g| g.0 == id).map_or(DVec3::ZERO, |g| turn * g.1);
                let normal = turn * c.normal().as_dvec3();
                let r = origin + turn * Vec3::from_array(c.point).as_dvec3();
                let begin = depth + lead * normal.dot(motion[0] + motion[1].cross(r));
                let ahead = if begin > 0.0 { h + law.damping } else { h };
                self.points.push(Point {
                    id,
                    r,
                    normal,
                    depth: begin.min(params.separation * ahead),
                    ahead,
                    stiffness: share * law.stiffness * f64::from(c.area),
                    stretch: held - normal * held.dot(normal),
                });
                self.touching += usize::from(begin > 0.0);
                self.deepest = self.deepest.max(begin.min(depth));
            }
        }
    }

    /// What a point does when B moves against A with this velocity at its centre; none if it does not push.
    #[inline(always)]
    fn push(&self, p: &Point, [linear, angular]: [DVec3; 2]) -> Option<Push> {
        let speed = linear + angular.cross(p.r);
        let along = speed.dot(p.normal);
        let normal = p.stiffness * (p.depth - p.ahead * along);
        if normal <= 0.0 || normal.is_nan() {
            return None;
        }
        let across = speed - p.normal * along;
        let pull = p.stretch + across * p.ahead;
        let (most, length) = (self.friction * normal, pull.length());
        let spring = if p.stiffness * length > most { most / length } else { p.stiffness };
        Some(Push { normal, spring, pull, across })
    }

    /// Sets wrench and link for a velocity of B against A at its centre.
    ///
    /// In the link a point that slides is a spring with the force and the length it has, and the normal force that friction goes by is
    /// frozen: symmetric and never negative, so that rounds stay bounded. (The exact derivative does not: rounds diverge.)
    pub(super) fn assemble(&mut self, motion: [DVec3; 2], h: f64) {
        let (mut force, mut torque, mut block) = (DVec3::ZERO, DVec3::ZERO, Block::ZERO);
        let (mut shear, mut arm, mut turning) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for p in &self.points {
            let Some(push) = self.push(p, motion) else { continue };
            let f = p.normal * push.normal - push.pull * push.spring;
            force += f;
            torque += p.r.cross(f);
            let beta = h * push.spring * p.ahead;
            let alpha = h * p.stiffness * p.ahead - beta;
            let (n, m) = (p.normal, p.r.cross(p.normal));
            block.ll += outer(n * alpha, n);
            block.la += outer(n * alpha, m);
            block.aa += outer(m * alpha, m);
            shear += beta;
            arm += p.r * beta;
            turning +=
                DMat3::from_diagonal(DVec3::splat(beta * p.r.length_squared())) - outer(p.r * beta, p.r);
        }
        block.ll += DMat3::from_diagonal(DVec3::splat(shear));
        block.la -= cross(arm);
        block.aa += turning;
        (self.wrench, self.link.block) = (Wrench { force, torque }, block);
    }

    /// Keeps how far the points that push have moved along the surface: no farther than friction holds.
    pub(super) fn keep(&mut self, motion: [DVec3; 2], h: f64) {
        let back = DMat3::from_quat(self.w_from_a.rotation).transpose();
        self.next.clear();
        for p in &self.points {
            let Some(push) = self.push(p, motion) else { continue };
            let (stretch, most) = (p.stretch + push.across * h, self.friction * push.normal / p.stiffness);
            self.next.push((p.id, back * stretch.clamp_length_max(most)));
        }
        core::mem::swap(&mut self.grips, &mut self.next);
    }

    pub(super) fn contacts(&self) -> [&Contacts; 2] {
        self.told.as_ref().map_or_else(|| self.query.last_both(), |told| told.contacts.each_ref())
    }
}

/// How a pair pushes.
pub(super) struct Law {
    /// [N/m³].
    stiffness: f64,
    /// Damping over stiffness [s].
    damping: f64,
    friction: f64,
}

impl Law {
    /// See [`WorldParams::sink`].
    fn new(a: &Body, b: &Body, params: &WorldParams) -> Self {
        let dynamic = [a, b].into_iter().filter(|b| b.is_dynamic());
        let least = |f: fn(&Body) -> f64| dynamic.clone().map(f).fold(f64::INFINITY, f64::min);
        let heavy = dynamic.clone().map(|b| b.mass).fold(0.0, f64::max).min(least(|b| b.mass) * MASS_RATIO);
        let (size, pull) = (least(|b| b.size), params.pull());
        let stiffness = params.stiffness.unwrap_or_else(|| {
            let sink = params.sink * size;
            (heavy * pull).max(params.load) / (core::f64::consts::PI * size * sink * sink)
        });
        let sink = (heavy * pull / (core::f64::consts::PI * size * stiffness)).sqrt();
        let damping = params.damping * (2.0 * sink / pull).sqrt();
        Self { stiffness, damping, friction: (a.state.friction * b.state.friction).sqrt() }
    }
}

/// How far one body may move against the other before its points are too deep in it for their normals [m].
pub(super) fn reach([a, b]: [&Body; 2]) -> f64 {
    REACH * a.inner.min(b.inner)
}

/// What velocities differ by.
fn difference(a: [Six; 2], b: [Six; 2]) -> [Six; 2] {
    [0, 1].map(|i| [a[i][0] - b[i][0], a[i][1] - b[i][1]])
}

/// No point of one body comes nearer to the other faster than this, with these velocities [m/s].
pub(super) fn closing([a, b]: [&Body; 2], [va, vb]: [Six; 2]) -> f64 {
    (vb[0] - va[0]).length() + va[1].length() * a.radius + vb[1].length() * b.radius
}

/// The matrix of `v ↦ a (b · v)`.
pub(super) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// The matrix of `v ↦ a × v`.
pub(super) fn cross(a: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, a.z, -a.y), DVec3::new(-a.z, 0.0, a.x), DVec3::new(a.y, -a.x, 0.0))
}
