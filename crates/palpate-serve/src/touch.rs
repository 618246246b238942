//! The tool at 1 kHz: it follows the hand as far as the touched shape lets it.
//!
//! Based on: ortega07, a god-object with six degrees of freedom: the tool goes where the hand wants it, changed as little as the
//! contacts demand.
//! Differs: constraints are points of one shape in the field of the other, at most [`ROWS`], and are solved by projected
//! Gauss-Seidel. Steps are short, so that linear constraints are enough; what is left of a step's error is taken back by the next.
//!
//! Frame: that of the touched shape A, which is the world's. The tool is B.

use glam::{DQuat, DVec3};
use palpate::math::{Pose, Wrench};
use palpate::query::{Query, QueryParams};
use palpate::shape::Shape;
use std::time::{Duration, Instant};

/// Most constraints of a step. More: slower. Fewer: a tool that lies on many places sinks in at some of them.
const ROWS: usize = 64;
/// Places that constraints are sorted into: the deepest of each counts.
const BUCKETS: usize = 512;
/// Rounds of the solver. Fewer: the tool sinks in where contacts wedge it.
const ROUNDS: usize = 40;
/// Steps of a tick. Each asks once; a hand that is faster is followed in the next ticks.
const STEPS: usize = 4;
/// A tick begins no further step after this time: thousands of contacts take long.
const BUDGET: Duration = Duration::from_micros(300);
/// Ticks between looks at how deep the hand is: it is only shown.
const LOOKS: u32 = 8;
/// Longest step near the surface, and in free space [voxels].
const NEAR: f64 = 0.5;
const FREE: f64 = 4.0;
/// Contacts this far from the surface are told as touching [voxels].
const TOUCHING: f64 = 0.05;
/// Share of a depth that a step takes back [1]. More: it trembles.
const GIVE_BACK: f64 = 0.4;
/// Stretch of the spring between hand and tool at which its force is [`MOST_FORCE`], in sizes of the tool [1].
const STRETCH: f64 = 0.4;
/// Largest force of the spring [N].
const MOST_FORCE: f64 = 10.0;

/// A place where the tool touches, in the world's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mark {
    /// [m]
    pub(crate) point: DVec3,
    /// Unit; the way the tool is pushed.
    pub(crate) normal: DVec3,
    /// Positive inside [m].
    pub(crate) depth: f64,
}

/// What a tick did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Touched {
    /// `world_from_tool`: where the tool is drawn.
    pub(crate) tool: Pose,
    /// On the tool, about its centre, in the world's frame: what the spring to the hand is held against. Zero while free.
    pub(crate) wrench: Wrench,
    /// How deep the hand is inside [m].
    pub(crate) depth: f64,
    /// Time of the tick's queries [µs].
    pub(crate) micros: f64,
    /// Nodes whose balls the last query tested.
    pub(crate) visited: usize,
}

/// One constraint: the tool's motion times `linear` and `angular` is at least `least`.
#[derive(Clone, Copy, Debug)]
struct Row {
    linear: DVec3,
    angular: DVec3,
    least: f64,
    push: f64,
}

/// A tool, the shape it touches, and the memory of both.
#[derive(Debug)]
pub(crate) struct Touch {
    a: Shape,
    b: Shape,
    query: Query,
    hand: Query,
    /// Where it began.
    start: Pose,
    tool: Pose,
    /// What the tool turns about, in its own frame [m].
    centre: DVec3,
    /// Half its diagonal [m].
    size: f64,
    voxel: f64,
    near: bool,
    deepest: Vec<u32>,
    rows: Vec<Row>,
    ticks: u32,
    depth: f64,
}

impl Touch {
    /// The tool at `start`, which should be free.
    pub(crate) fn new(a: Shape, b: Shape, start: Pose) -> Self {
        let aabb = b.aabb();
        let voxel = a.field().lattice().voxel.min(b.field().lattice().voxel);
        Self {
            a,
            b,
            query: Query::new(),
            hand: Query::new(),
            start,
            tool: start,
            centre: aabb.centre(),
            size: (0.5 * aabb.extent().length()).max(voxel),
            voxel,
            near: true,
            deepest: vec![u32::MAX; BUCKETS],
            rows: Vec::with_capacity(ROWS),
            ticks: 0,
            depth: 0.0,
        }
    }

    /// The touched shape.
    pub(crate) fn touched(&self) -> &Shape {
        &self.a
    }

    /// The shape of the tool.
    pub(crate) fn shape(&self) -> &Shape {
        &self.b
    }

    /// Back to the start.
    pub(crate) fn reset(&mut self) {
        self.tool = self.start;
        self.near = true;
    }

    /// One tick: the tool follows the hand to `target`; the places where it touches then are in `marks`.
    ///
    /// A target that is not finite leaves the tool where it is.
    pub(crate) fn step(&mut self, target: &Pose, marks: &mut Vec<Mark>) -> Touched {
        marks.clear();
        if !target.is_finite() {
            return Touched { tool: self.tool, ..Touched::default() };
        }
        let began = Instant::now();
        let mut pushed = false;
        for _ in 0..STEPS {
            if began.elapsed() > BUDGET {
                break;
            }
            let (linear, angular) = self.wish(target);
            let length = linear.length() + angular.length() * self.size;
            if length < 1e-6 * self.voxel {
                break;
            }
            pushed |= self.advance(linear, angular, length);
        }
        self.mark(marks);
        let visited = self.query.stats().nodes;
        let micros = began.elapsed().as_secs_f64() * 1e6;
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks % LOOKS == 1 {
            let contacts = self.hand.contacts(&self.a, &self.b, target, &QueryParams::default());
            self.depth = contacts.deepest().map_or(0.0, |c| f64::from(c.depth()));
        }
        let depth = self.depth;
        let wrench = if pushed && !marks.is_empty() { self.spring(target) } else { Wrench::ZERO };
        Touched { tool: self.tool, wrench, depth, micros, visited }
    }

    /// How the tool would have to move: its centre [m], and axis times angle [rad].
    fn wish(&self, target: &Pose) -> (DVec3, DVec3) {
        let linear = target.point(self.centre) - self.tool.point(self.centre);
        let turn = target.rotation * self.tool.rotation.conjugate();
        let turn = if turn.w < 0.0 { -turn } else { turn };
        (linear, turn.to_scaled_axis())
    }

    /// One step of the way; whether a contact held it back.
    fn advance(&mut self, linear: DVec3, angular: DVec3, length: f64) -> bool {
        let limit = |voxels: f64| (voxels * self.voxel / length).min(1.0);
        if !self.near {
            let share = limit(FREE);
            let params = QueryParams { margin: share * length + TOUCHING * self.voxel, ..Default::default() };
            if self.query.contacts(&self.a, &self.b, &self.tool, &params).list.is_empty() {
                self.go(linear * share, angular * share);
                return false;
            }
        }
        let share = limit(NEAR);
        self.constrain(share * length + TOUCHING * self.voxel);
        self.near = !self.rows.is_empty();
        let (linear, angular, pushed) = self.solve(linear * share, angular * share);
        self.go(linear, angular);
        pushed
    }

    /// Moves the centre, and turns about it.
    fn go(&mut self, linear: DVec3, angular: DVec3) {
        let centre = self.tool.point(self.centre) + linear;
        let rotation = (DQuat::from_scaled_axis(angular) * self.tool.rotation).normalize();
        let tool = Pose::new(rotation, centre - rotation * self.centre);
        if tool.is_finite() {
            self.tool = tool;
        }
    }

    /// The constraints of the points within `margin`: the deepest of each place and direction.
    fn constrain(&mut self, margin: f64) {
        let contacts =
            self.query.contacts(&self.a, &self.b, &self.tool, &QueryParams { margin, ..Default::default() });
        self.rows.clear();
        self.deepest.fill(u32::MAX);
        let centre = self.tool.point(self.centre);
        let cell = 2.0 / self.size;
        for (i, c) in contacts.list.iter().enumerate() {
            let r = (contacts.position(c) - centre) * cell;
            let n = c.normal().as_dvec3();
            let place = (r.round().as_i64vec3() * glam::I64Vec3::new(7, 31, 127)).element_sum();
            let way = ((1.5 * n).round().as_i64vec3() * glam::I64Vec3::new(1, 3, 9)).element_sum();
            let slot = &mut self.deepest[(place * 29 + way).rem_euclid(BUCKETS as i64) as usize];
            if contacts.list.get(*slot as usize).is_none_or(|old| c.distance < old.distance) {
                *slot = i as u32;
            }
        }
        let mut chosen: Vec<u32> = self.deepest.iter().copied().filter(|i| *i != u32::MAX).collect();
        let distance = |i: u32| contacts.list.get(i as usize).map_or(f32::MAX, |c| c.distance);
        chosen.sort_unstable_by(|i, j| distance(*i).total_cmp(&distance(*j)));
        for c in chosen.into_iter().take(ROWS).filter_map(|i| contacts.list.get(i as usize)) {
            let (n, d) = (c.normal().as_dvec3(), f64::from(c.distance));
            let least = if d < 0.0 { (-GIVE_BACK * d).min(NEAR * self.voxel) } else { -d };
            // Turns in lengths of the tool's size, so that both kinds of motion weigh alike.
            let angular = (contacts.position(c) - centre).cross(n) / self.size;
            if n.is_finite() && angular.is_finite() && least.is_finite() {
                self.rows.push(Row { linear: n, angular, least, push: 0.0 });
            }
        }
    }

    /// The motion nearest to the one wished for that keeps every constraint, and whether one pushes.
    fn solve(&mut self, linear: DVec3, angular: DVec3) -> (DVec3, DVec3, bool) {
        let (mut v, mut w) = (linear, angular * self.size);
        for _ in 0..ROUNDS {
            let mut changed = 0.0f64;
            for row in &mut self.rows {
                let weight = row.linear.length_squared() + row.angular.length_squared();
                if weight < 1e-12 {
                    continue;
                }
                let missing = (row.least - row.linear.dot(v) - row.angular.dot(w)) / weight;
                let push = (row.push + missing).max(0.0);
                let more = push - row.push;
                row.push = push;
                v += row.linear * more;
                w += row.angular * more;
                changed = changed.max(more.abs());
            }
            if changed < 1e-4 * self.voxel {
                break;
            }
        }
        (v, w / self.size, self.rows.iter().any(|r| r.push > 1e-9 * self.voxel))
    }

    /// Where the tool touches now.
    fn mark(&mut self, marks: &mut Vec<Mark>) {
        let params = QueryParams { margin: TOUCHING * self.voxel, ..Default::default() };
        let contacts = self.query.contacts(&self.a, &self.b, &self.tool, &params);
        marks.extend(contacts.list.iter().map(|c| Mark {
            point: contacts.position(c),
            normal: c.normal().as_dvec3(),
            depth: -f64::from(c.distance),
        }));
    }

    /// The force of the spring between hand and tool.
    fn spring(&self, target: &Pose) -> Wrench {
        let stiffness = MOST_FORCE / (STRETCH * self.size);
        let (linear, angular) = self.wish(target);
        let force = (-stiffness * linear).clamp_length_max(MOST_FORCE);
        // As stiff as the force at half the tool's size.
        let lever = 0.5 * self.size;
        let torque = (-stiffness * lever * lever * angular).clamp_length_max(MOST_FORCE * lever);
        Wrench { force, torque }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate::mesh::{Mesh, samples};

    fn ball(radius: f64, voxel: f64) -> Shape {
        let mesh = Mesh::new(samples::sphere(radius, 4), &Default::default()).unwrap();
        Shape::build(mesh, voxel, &Default::default()).unwrap()
    }

    #[test]
    fn the_tool_stops_at_the_surface_and_the_force_points_out() {
        let mut touch =
            Touch::new(ball(0.05, 1e-3), ball(0.02, 1e-3), Pose::from_translation(DVec3::Z * 0.1));
        let mut marks = Vec::new();
        let target = Pose::from_translation(DVec3::Z * 0.055);
        let mut told = Touched::default();
        for _ in 0..200 {
            told = touch.step(&target, &mut marks);
        }
        assert!((told.tool.translation.z - 0.07).abs() < 1e-3, "{:?}", told.tool);
        assert!((told.depth - 0.015).abs() < 1e-3, "{}", told.depth);
        assert!(
            told.wrench.force.z > 1.0 && told.wrench.force.x.abs() < 0.2 * told.wrench.force.z,
            "{:?}",
            told.wrench
        );
        assert!(!marks.is_empty() && marks.iter().all(|m| m.normal.z > 0.9 && m.depth < 1e-4));
        // Away again: no force is left.
        for _ in 0..200 {
            told = touch.step(&Pose::from_translation(DVec3::Z * 0.2), &mut marks);
        }
        assert_eq!(told.wrench, Wrench::ZERO);
        assert!((told.tool.translation.z - 0.2).abs() < 1e-6 && marks.is_empty());
    }

    #[test]
    fn the_tool_slides_around_and_a_target_that_is_no_number_is_ignored() {
        let mut touch =
            Touch::new(ball(0.05, 1e-3), ball(0.02, 1e-3), Pose::from_translation(DVec3::Z * 0.08));
        let mut marks = Vec::new();
        // Through the ball to its other side, a little beside the middle: it must go around.
        let target = Pose::from_translation(DVec3::new(0.04, 0.0, -0.08));
        for _ in 0..3000 {
            let told = touch.step(&target, &mut marks);
            let inside = marks.iter().map(|m| m.depth).fold(0.0, f64::max);
            assert!(inside < 3e-4, "{inside} m inside at {:?}", told.tool);
        }
        let told = touch.step(&target, &mut marks);
        assert!((told.tool.translation - target.translation).length() < 1e-6, "{:?}", told.tool);
        let lost = touch.step(&Pose::from_translation(DVec3::NAN), &mut marks);
        assert_eq!(lost.tool, told.tool);
    }
}
