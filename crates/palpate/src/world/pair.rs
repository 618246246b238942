//! Two bodies near each other: their contacts, and what these do at the end of a step.
//!
//! The law is that of [`force::penalty`](crate::force::penalty): pressure stiffness × depth along the field's gradient, friction by
//! springs along the surface. It is taken at the end of the step, where motion and pressure suit each other. Contacts are found where
//! bodies would be then without contacts; where they are really is told from the velocities, the surface around each contact
//! taken as plane (the field's gradient frozen). Bodies so fast that they would be through each other by then are
//! asked where they are now instead, as far around as they can come.

use super::body::Body;
use super::WorldParams;
use super::solve::{Block, Six, carried};
use crate::contact::Contacts;
use crate::math::{Pose, Wrench};
use crate::query::{Query, QueryParams};
use glam::{DMat3, DVec3, Vec3};

/// Largest ratio of masses that a pair's stiffness follows [1]: beyond it the lighter one gives way.
const MASS_RATIO: f64 = 1e3;

/// A contact in world axes, relative to [`Pair::about`].
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

#[derive(Debug, Default)]
pub(super) struct Pair {
    /// Places of A and B.
    pub(super) key: (u32, u32),
    pub(super) query: Query,
    /// When the contacts were found.
    pub(super) w_from_a: Pose,
    /// What moments are about, world frame [m].
    pub(super) about: DVec3,
    points: Vec<Point>,
    /// Stretches of the points that touched, by id, in A's frame; those of this step.
    grips: Vec<(u64, DVec3)>,
    next: Vec<(u64, DVec3)>,
    friction: f64,
    /// Of B by A, and how it falls with B's velocity over the step, both about `about` and at the end of the step.
    pub(super) wrench: Wrench,
    pub(super) block: Block,
    pub(super) touching: usize,
    pub(super) deepest: f64,
}

impl Pair {
    /// Forgets what was.
    pub(super) fn reset(&mut self, key: (u32, u32)) {
        self.grips.clear();
        self.key = key;
    }

    /// Finds the contacts that a step of `h` seconds can bring about; `free` are the velocities without contacts.
    pub(super) fn narrow(&mut self, [a, b]: [&Body; 2], free: [Six; 2], h: f64, params: &WorldParams) {
        let law = Law::new(a, b, params);
        let (way, fall) = (h * closing([a, b], free), params.pull() * h * h);
        let (lead, margin) = if way <= a.inner.min(b.inner) { (h, 0.25 * way) } else { (0.0, way) };
        let (w_from_a, w_from_b) = (a.after(lead, free[0]), b.after(lead, free[1]));
        let a_from_b = w_from_a.inverse() * w_from_b;
        let query = QueryParams { margin: margin + fall, ..Default::default() };
        let found = if params.both {
            let (first, second) = self.query.both(&a.shape, &b.shape, &a_from_b, &query);
            [Some(first), Some(second)]
        } else {
            [Some(self.query.contacts(&a.shape, &b.shape, &a_from_b, &query)), None]
        };
        self.points.clear();
        // Forces act on both bodies at one place, which lags behind as the lighter one does: momentum is kept, and its arms are right.
        let light = if a.mass < b.mass { 1.0 / (1.0 + a.mass / b.mass) } else { 1.0 / (1.0 + b.mass / a.mass) };
        let light = if a.mass < b.mass { [light, 1.0 - light] } else { [1.0 - light, light] };
        let lag = (free[0][0] * light[0] + free[1][0] * light[1]) * lead;
        (self.w_from_a, self.about) = (w_from_a, b.centre());
        let motion = carried(free[0], self.about - a.centre());
        let motion = [free[1][0] - motion[0], free[1][1] - motion[1]];
        (self.touching, self.deepest, self.friction) = (0, 0.0, law.friction);
        let turn = DMat3::from_quat(w_from_a.rotation);
        let (mut grips, share) = (self.grips.iter().peekable(), if params.both { 0.5 } else { 1.0 });
        for (side, contacts) in found.into_iter().enumerate() {
            let Some(contacts) = contacts else { continue };
            let origin = w_from_a.point(contacts.origin) - lag - self.about;
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
                self.deepest = self.deepest.max(begin);
            }
        }
    }

    /// What a point does when B moves against A with this velocity at `about`; none if it does not push.
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

    /// Sets wrench and block for a velocity of B against A at `about`. True if anything pushes.
    ///
    /// Of friction the block has what does not fall below zero: a spring that slides counts with its force over its length.
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
            turning += DMat3::from_diagonal(DVec3::splat(beta * p.r.length_squared())) - outer(p.r * beta, p.r);
        }
        block.ll += DMat3::from_diagonal(DVec3::splat(shear));
        block.la -= cross(arm);
        block.aa += turning;
        (self.wrench, self.block) = (Wrench { force, torque }, block);
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
        self.query.last_both()
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
            heavy * pull / (core::f64::consts::PI * size * sink * sink)
        });
        let sink = (heavy * pull / (core::f64::consts::PI * size * stiffness)).sqrt();
        let damping = params.damping * (2.0 * sink / pull).sqrt();
        Self { stiffness, damping, friction: (a.state.friction * b.state.friction).sqrt() }
    }
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
