//! How far B must go along a direction until no point of either shape is inside the other.
//!
//! A point at depth d stays inside if it is moved by less than d, so along any direction one may go on by d without passing a
//! place that is free. The deepest point is followed until it is out; then the next deepest is sought. Points that were
//! deepest once are kept, with a coarse picture of both shapes and balls inside them: they exclude most directions without a
//! search.

use super::inner::{self, Ball, CORES};
use super::sweep::{self, Sweep};
use super::{Query, QueryParams, Side};
use crate::contact::Contacts;
use crate::field::Field;
use crate::math::Pose;
use crate::shape::Shape;
use glam::{DVec3, Vec3};

/// The level of the trees with at most so many nodes gives the coarse picture.
const PICTURE: usize = 96;
/// Deepest points kept for each shape; the oldest makes room.
const KEPT: usize = 96;
/// Kept points that are asked first: those that excluded something last.
const HOT: usize = 4;
/// Steps from a shallow place to a free one.
const RELAXED: usize = 24;
/// Depth of a point that is followed without looking for a deeper one [tolerance]. Larger: longer searches. Smaller: more of them.
const ENOUGH: f64 = 10.0;
/// Most steps of one point, and most searches along one direction: what has not ended then counts as blocked.
const STEPS: usize = 400;

/// A direction, and how far B must go along it: A's frame, unit and [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    pub(super) direction: DVec3,
    pub(super) length: f64,
}

impl Way {
    pub(super) fn translation(&self) -> DVec3 {
        self.direction * self.length
    }
}

/// A point of a side, or a small ball inside its shape: relative to the field's origin, in its frame, before B moves [m].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Kept {
    side: usize,
    place: Vec3,
    radius: f32,
}

/// Memory of the search, kept with the query.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// B's in A's field, then A's in B's.
    kept: [Vec<Kept>; 2],
    /// How many of them are the picture, and where the next deepest goes.
    fixed: [usize; 2],
    next: [usize; 2],
    hot: Vec<Kept>,
    /// Large balls inside A and inside B, in A's frame before B moves.
    cores: [Vec<Ball>; 2],
    balls: Vec<Ball>,
    moved: Vec<Vec3>,
    values: Vec<f32>,
    /// The caller's contacts while others are asked for.
    contacts: [Contacts; 2],
    /// Places passed on the way where little was inside: how deep, and where.
    pub(super) pockets: Vec<(f32, DVec3)>,
    pub(super) ways: Vec<Way>,
    pub(super) found: Vec<Way>,
    pub(super) sweep: sweep::Memory,
}

/// One search.
pub(super) struct Parting<'a> {
    pub(super) query: &'a mut Query,
    pub(super) memory: Memory,
    pub(super) a: &'a Shape,
    pub(super) b: &'a Shape,
    pub(super) pose: Pose,
    /// Points less deep than this count as out [m].
    pub(super) tolerance: f64,
    /// The same, by triangles.
    pub(super) sweep: Sweep<'a>,
    /// Whether ways count only once triangles settled them.
    pub(super) settling: bool,
    /// The shortest way so far, which was looked at more closely [m].
    pub(super) best: f64,
    /// Directions followed or excluded.
    pub(super) tried: usize,
}

/// A point that is inside: which shape's (0: B's, in A), which one, and its sampled distance [m].
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    pub(super) side: usize,
    pub(super) point: u32,
    pub(super) distance: f32,
}

impl<'a> Parting<'a> {
    pub(super) fn new(
        query: &'a mut Query,
        sweep: Sweep<'a>,
        a: &'a Shape,
        b: &'a Shape,
        pose: &Pose,
        tolerance: f64,
    ) -> Self {
        query.prepare_distance(a, b);
        let memory = core::mem::take(&mut query.parting);
        let mut parting = Self {
            query,
            memory,
            a,
            b,
            pose: *pose,
            tolerance,
            sweep,
            settling: false,
            best: f64::INFINITY,
            tried: 0,
        };
        for side in 0..2 {
            let kept = &mut parting.memory.kept[side];
            kept.clear();
            kept.reserve(PICTURE + KEPT);
            let shape = if side == 0 { b } else { a };
            let Some(level) = shape.tree.levels.iter().rev().find(|l| l.len() <= PICTURE) else { continue };
            for point in &level.parent {
                let ball = parting.small_ball(side, *point);
                parting.memory.kept[side].push(ball);
            }
            parting.memory.fixed[side] = parting.memory.kept[side].len();
            parting.memory.next[side] = 0;
            let m = &mut parting.memory;
            inner::cores(shape, &level.parent, &mut m.balls, &mut m.cores[1 - side]);
        }
        for core in &mut parting.memory.cores[1] {
            core.centre = pose.point(core.centre);
        }
        parting.memory.hot.clear();
        parting.memory.hot.reserve(HOT + 1);
        parting.memory.moved.clear();
        parting.memory.moved.reserve(PICTURE + KEPT);
        parting.memory.pockets.clear();
        parting.memory.ways.clear();
        parting.memory.found.clear();
        parting.sweep.begin(&mut parting.memory.sweep);
        parting
    }

    /// Gives the memory back.
    pub(super) fn end(self) {
        self.query.parting = self.memory;
    }

    /// The field that the points of a side are asked in.
    fn field(&self, side: usize) -> &'a Field {
        if side == 0 { &self.a.field } else { &self.b.field }
    }

    /// A point of a side's shape in its field's frame, relative to the field's origin, before B moves [m].
    fn place(&self, side: usize, p: DVec3) -> Vec3 {
        let p = if side == 0 { self.pose.point(p) } else { self.pose.inverse().point(p) };
        (p - self.field(side).lattice().origin).as_vec3()
    }

    /// A point of a side.
    fn point(&self, side: usize, point: u32) -> Kept {
        let tree = if side == 0 { &self.b.tree } else { &self.a.tree };
        Kept { side, place: self.place(side, tree.position(point as usize)), radius: 0.0 }
    }

    /// A ball inward of a point of a side: so small that it leaves where the field is precise. The point itself where there is
    /// none.
    fn small_ball(&self, side: usize, point: u32) -> Kept {
        let shape = if side == 0 { self.b } else { self.a };
        let r = self.field(side).report();
        let most = 0.8 * r.band;
        let ball = inner::inward(shape, point as usize, most, 0.7, most);
        let radius = (ball.radius - r.error_bound_band) as f32;
        if radius <= 0.0 {
            return self.point(side, point);
        }
        Kept { side, place: self.place(side, ball.centre), radius }
    }

    /// What a translation of B does to the points of a side, in the frame of its field.
    fn shift(&self, side: usize, translation: DVec3) -> DVec3 {
        if side == 0 { translation } else { -(self.pose.rotation.conjugate() * translation) }
    }

    /// The relative pose after a translation of B.
    fn moved(&self, translation: DVec3) -> Pose {
        Pose { rotation: self.pose.rotation, translation: self.pose.translation + translation }
    }

    /// The deepest point of either shape in the other after a translation of B, or the first found that is as deep as `enough`
    /// [m]; none deeper than the tolerance.
    pub(super) fn deepest(&mut self, translation: DVec3, enough: f64) -> Option<Inside> {
        let pose = self.moved(translation);
        let first = usize::from(self.a.tree.len() < self.b.tree.len());
        let mut deepest = None;
        let mut below = -self.tolerance as f32;
        let stop = -enough as f32;
        for side in [first, 1 - first] {
            let asked = Side::new(self.a, self.b, &pose, side == 1);
            if let Some((point, distance)) = self.query.least(&asked, below, stop) {
                below = distance;
                deepest = Some(Inside { side, point, distance });
                if distance <= stop {
                    break;
                }
            }
        }
        deepest
    }

    /// A ball inside a shape that is in the other after a translation, though no point of their surfaces is: where they coincide.
    pub(super) fn coinciding(&mut self, translation: DVec3) -> bool {
        let pose = self.moved(translation);
        let params = QueryParams { margin: self.tolerance, ..Default::default() };
        // The caller's contacts stay what they are.
        let m = &mut self.memory;
        core::mem::swap(&mut m.contacts[0], &mut self.query.contacts);
        core::mem::swap(&mut m.contacts[1], &mut self.query.second);
        let stats = self.query.stats;
        self.query.both(self.a, self.b, &pose, &params);
        self.query.stats = stats;
        core::mem::swap(&mut m.contacts[0], &mut self.query.contacts);
        core::mem::swap(&mut m.contacts[1], &mut self.query.second);
        for side in 0..2 {
            let shift = self.shift(side, translation).as_vec3();
            for i in 0..self.memory.contacts[side].list.len() {
                let c = &self.memory.contacts[side].list[i];
                // From A to B: B's own normal is along it where their insides are on the same side.
                let along = c.normal().dot(c.shell_normal()) * if side == 0 { 1.0 } else { -1.0 };
                if along < 0.5 {
                    continue;
                }
                let ball = self.small_ball(side, c.id);
                let mut f = [0.0];
                self.field(side).distances_here(&[ball.place + shift], &mut f);
                if f[0] - ball.radius < -self.tolerance as f32 {
                    self.keep(ball);
                    return true;
                }
            }
        }
        false
    }

    /// Keeps the point found, and a ball inward of it.
    pub(super) fn keep_point(&mut self, inside: Inside) {
        self.keep(self.point(inside.side, inside.point));
    }

    fn keep(&mut self, kept: Kept) {
        let m = &mut self.memory;
        let (list, fixed) = (&mut m.kept[kept.side], m.fixed[kept.side]);
        let at = fixed + m.next[kept.side];
        if at < list.len() {
            list[at] = kept;
        } else {
            list.push(kept);
        }
        m.next[kept.side] = (m.next[kept.side] + 1) % KEPT;
    }

    /// Follows one point from `t` on along `direction` until it is out, or `t` is not below `limit` [m].
    fn follow(&self, kept: Kept, direction: DVec3, mut t: f64, limit: f64) -> f64 {
        let field = self.field(kept.side);
        let slope = field.report().lipschitz.max(1.0);
        let from = field.lattice().origin + kept.place.as_dvec3();
        let way = self.shift(kept.side, direction);
        for _ in 0..STEPS {
            let f = field.sample(from + way * t).distance - f64::from(kept.radius);
            // Half the tolerance: what follows must not find the same point again by rounding.
            if !(f < -0.5 * self.tolerance && t < limit) {
                return t;
            }
            t += (-f / slope).max(0.25 * self.tolerance);
        }
        t
    }

    /// How far B must go at least, from `t` on, for its inner balls to leave those of A.
    fn leave_cores(&self, direction: DVec3, mut t: f64) -> f64 {
        let [a, b] = &self.memory.cores;
        // A pair may block again what another has passed.
        for _ in 0..CORES {
            let before = t;
            for b in b {
                for a in a {
                    let (w, r) = (b.centre - a.centre, a.radius + b.radius);
                    let along = w.dot(direction);
                    let inside = along * along + r * r - w.length_squared();
                    let exit = inside.max(0.0).sqrt() - along;
                    let enter = -inside.max(0.0).sqrt() - along;
                    if inside > 0.0 && enter < t && t < exit {
                        t = exit;
                    }
                }
            }
            if t == before {
                break;
            }
        }
        t
    }

    /// What any translation has at least, by the inner balls [m].
    pub(super) fn depth_of_cores(&self) -> f64 {
        let [a, b] = &self.memory.cores;
        let pairs = b.iter().flat_map(|b| a.iter().map(move |a| (a, b)));
        pairs.fold(0.0, |d, (a, b)| d.max(a.radius + b.radius - (b.centre - a.centre).length()))
    }

    /// As [`Parting::march`], of inner balls and kept points alone: B must go at least so far. A little above `limit` where it is
    /// reached. The shallowest place on the way is noted in `shallow`, as how deep, and how far.
    pub(super) fn at_least(&mut self, direction: DVec3, t: f64, limit: f64) -> f64 {
        self.at_least_noting(direction, t, limit, &mut (f32::INFINITY, 0.0))
    }

    pub(super) fn at_least_noting(
        &mut self,
        direction: DVec3,
        mut t: f64,
        limit: f64,
        shallow: &mut (f32, f64),
    ) -> f64 {
        t = self.leave_cores(direction, t);
        for i in 0..self.memory.hot.len() {
            if t >= limit {
                return t;
            }
            t = self.follow(self.memory.hot[i], direction, t, limit);
        }
        for _ in 0..STEPS {
            if t >= limit {
                break;
            }
            let Some((kept, depth)) = self.deepest_kept(direction * t) else { break };
            if depth < shallow.0 {
                *shallow = (depth, t);
            }
            t = self.follow(kept, direction, t, limit);
            if t >= limit {
                let hot = &mut self.memory.hot;
                hot.retain(|h| *h != kept);
                hot.insert(0, kept);
                hot.truncate(HOT);
            }
        }
        t
    }

    /// The deepest of the kept points after a translation, and its depth [m]; none deeper than the tolerance.
    fn deepest_kept(&mut self, translation: DVec3) -> Option<(Kept, f32)> {
        let mut deepest = None;
        let mut below = -self.tolerance as f32;
        for side in 0..2 {
            let shift = self.shift(side, translation).as_vec3();
            let field = self.field(side);
            let m = &mut self.memory;
            m.moved.clear();
            m.moved.extend(m.kept[side].iter().map(|k| k.place + shift));
            m.values.resize(m.moved.len().max(m.values.len()), 0.0);
            let values = &mut m.values[..m.moved.len()];
            field.distances_here(&m.moved, values);
            for (v, k) in values.iter().zip(&m.kept[side]) {
                let d = *v - k.radius;
                if d < below {
                    below = d;
                    deepest = Some((*k, -d));
                }
            }
        }
        deepest
    }

    /// From a place where little is inside to one where no kept point is, shorter than `limit` [m]: by moving each deepest point
    /// out in turn.
    pub(super) fn relax(&mut self, mut x: DVec3, limit: f64) -> Option<DVec3> {
        for _ in 0..RELAXED {
            let Some((kept, depth)) = self.deepest_kept(x) else { return Some(x) };
            x += self.outward(kept, x) * (1.2 * f64::from(depth) + 0.5 * self.tolerance);
            if x.length() >= limit {
                return None;
            }
        }
        None
    }

    /// The least length above `t` for which B, moved so far along `direction`, has no point in A nor A in B; none below `limit`.
    /// `t` is one that B must go at least [m].
    pub(super) fn march(&mut self, direction: DVec3, mut t: f64, limit: f64) -> Option<f64> {
        self.tried += 1;
        for _ in 0..STEPS {
            t = self.at_least(direction, t, limit);
            if t >= limit {
                return None;
            }
            let Some(inside) = self.deepest(direction * t, ENOUGH * self.tolerance) else {
                // A new best is looked at more closely: no surface point inside is not enough where surfaces coincide.
                if t < self.best && self.coinciding(direction * t) {
                    continue;
                }
                self.best = self.best.min(t);
                return Some(t);
            };
            self.keep_point(inside);
            // Its first step is that of the search's own sample: rounding must not make it none.
            let least = t + 0.1 * self.tolerance;
            t = self.follow(self.point(inside.side, inside.point), direction, t, limit).max(least);
        }
        None
    }

    /// Outward direction for B at a point: A's gradient at B's, or against B's gradient at A's. A's frame, unit or zero.
    fn outward(&self, kept: Kept, translation: DVec3) -> DVec3 {
        let field = self.field(kept.side);
        let p = field.lattice().origin + kept.place.as_dvec3() + self.shift(kept.side, translation);
        let g = field.sample(p).gradient.normalize_or_zero();
        if kept.side == 0 { g } else { -(self.pose.rotation * g) }
    }

    /// The direction in which an inside point of a pose not moved leaves soonest.
    pub(super) fn way_out(&self, inside: Inside) -> DVec3 {
        self.outward(self.point(inside.side, inside.point), DVec3::ZERO)
    }

    /// The direction from what is nearest of A to what is nearest of B; zero where that says nothing.
    pub(super) fn away(&mut self) -> DVec3 {
        let stats = self.query.stats;
        let direction = self.query.distance(self.a, self.b, &self.pose).direction();
        self.query.stats = stats;
        direction
    }

    /// Up to three directions of kept points that touch after a translation, the deepest first: at most `reach` outside, and each
    /// differing from the others.
    pub(super) fn touching(&mut self, translation: DVec3, reach: f64) -> ([DVec3; 3], usize) {
        let mut normals = [DVec3::ZERO; 3];
        let mut count = 0;
        let mut below = [reach as f32; 3];
        for side in 0..2 {
            let shift = self.shift(side, translation).as_vec3();
            let field = self.field(side);
            let m = &mut self.memory;
            m.moved.clear();
            m.moved.extend(m.kept[side].iter().map(|k| k.place + shift));
            m.values.resize(m.moved.len().max(m.values.len()), 0.0);
            field.distances_here(&m.moved, &mut m.values[..m.moved.len()]);
            for at in 0..self.memory.kept[side].len() {
                let kept = self.memory.kept[side][at];
                let value = self.memory.values[at] - kept.radius;
                if value >= below[2] {
                    continue;
                }
                let n = self.outward(kept, translation);
                let like = normals[..count].iter().position(|m| m.dot(n) > 0.97);
                let slot = match like {
                    Some(i) if value < below[i] => i,
                    Some(_) => continue,
                    None => {
                        count = (count + 1).min(3);
                        count - 1
                    }
                };
                (normals[slot], below[slot]) = (n, value);
                let mut i = slot;
                while i > 0 && below[i] < below[i - 1] {
                    below.swap(i, i - 1);
                    normals.swap(i, i - 1);
                    i -= 1;
                }
            }
        }
        (normals, count)
    }
}
