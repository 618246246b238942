//! The tool at 1 kHz: `palpate-haptic`'s tool that does not enter, led by the page's hand.
//!
//! Frame: that of the touched shape A, which is the world's. The tool is B.

use glam::DVec3;
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};
use palpate::query::{Query, QueryParams};
use palpate::shape::Shape;
use palpate_haptic::{Gains, HeldTool, Pair};
use std::sync::Arc;
use std::time::Instant;

/// Time between ticks [s].
const TICK: f64 = 1e-3;
/// Stretch of the spring between hand and tool at which its force is [`MOST_FORCE`], in radii of the tool [1].
const STRETCH: f64 = 0.4;
/// Largest force that is told [N].
const MOST_FORCE: f64 = 10.0;
/// Where the spring sits for turns, in radii of the tool [1].
const LEVER: f64 = 0.5;
/// Coulomb friction [1].
const FRICTION: f64 = 0.0;
/// Points this much farther away than the gap that the tool keeps count as touching [voxels].
const TOUCHING: f64 = 0.1;
/// Ticks between looks at what is only shown: the places that touch, and how deep the hand is.
const LOOKS: u32 = 8;

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
    /// Time of the tick's work [µs].
    pub(crate) micros: f64,
    /// Nodes whose balls a query of the tool's pose tests.
    pub(crate) visited: usize,
}

/// A tool, the shape it touches, and the memory of both.
#[derive(Debug)]
pub(crate) struct Touch {
    pair: Pair,
    tool: HeldTool,
    gains: Gains,
    /// Where it began.
    start: Pose,
    /// Largest torque that is told [N m].
    most_torque: f64,
    shown: Query,
    hand: Query,
    ticks: u32,
    depth: f64,
    visited: usize,
}

impl Touch {
    /// The tool at `start`, which should be free.
    pub(crate) fn new(a: Shape, b: Shape, start: Pose) -> Self {
        let pair = Pair::new(Arc::new(a), Arc::new(b));
        let tool = HeldTool::new(&pair, start, FRICTION);
        let radius = pair.radius().max(pair.voxel());
        let stiffness = MOST_FORCE / (STRETCH * radius);
        let lever = LEVER * radius;
        let gains = Gains {
            stiffness,
            angular_stiffness: stiffness * lever * lever,
            damping: 0.0,
            angular_damping: 0.0,
            contact: 8.0 * stiffness,
        };
        Self {
            pair,
            tool,
            gains,
            start,
            most_torque: MOST_FORCE * lever,
            shown: Query::new(),
            hand: Query::new(),
            ticks: 0,
            depth: 0.0,
            visited: 0,
        }
    }

    /// The touched shape.
    pub(crate) fn touched(&self) -> &Shape {
        self.pair.fixed()
    }

    /// The shape of the tool.
    pub(crate) fn shape(&self) -> &Shape {
        self.pair.tool()
    }

    /// Back to the start.
    pub(crate) fn reset(&mut self) {
        self.tool.place(self.start);
    }

    /// One tick: the tool follows the hand to `target`; the places where it touches are in `marks`, as of the last look.
    ///
    /// A target that is not finite leaves the tool where it is.
    pub(crate) fn step(&mut self, target: &Pose, marks: &mut Vec<Mark>) -> Touched {
        let began = Instant::now();
        let felt = self.tool.tick(&mut self.pair, target, &Twist::ZERO, &self.gains, TICK);
        let micros = began.elapsed().as_secs_f64() * 1e6;
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks % LOOKS == 1 && !felt.non_finite {
            self.look(&felt.pose, target, marks);
        }
        // What the spring does at the hand's end is what the tool is held with at its own.
        let about = felt.wrench.about(target.vector(self.shape().aabb().centre()));
        let wrench = Wrench {
            force: about.force.clamp_length_max(MOST_FORCE),
            torque: about.torque.clamp_length_max(self.most_torque),
        };
        // A tool that only lags behind a fast hand in the open feels nothing; one that is stuck has no wall that gives way, and does.
        let touching = !felt.non_finite && (felt.contacts > 0 || !marks.is_empty());
        let wrench = if touching { wrench } else { Wrench::ZERO };
        Touched { tool: felt.pose, wrench, depth: self.depth, micros, visited: self.visited }
    }

    /// Where the tool touches, and how deep the hand is.
    fn look(&mut self, tool: &Pose, target: &Pose, marks: &mut Vec<Mark>) {
        let (a, b) = (self.pair.fixed(), self.pair.tool());
        let margin = self.tool.gap() + TOUCHING * self.pair.coarsest();
        let params = QueryParams { margin, ..Default::default() };
        // Points of both: where one has few, an edge of the other may be what touches.
        self.shown.both(a, b, tool, &params);
        marks.clear();
        for contacts in self.shown.last_both() {
            marks.extend(contacts.list.iter().map(|c| Mark {
                point: contacts.position(c),
                normal: c.normal().as_dvec3(),
                depth: -f64::from(c.distance),
            }));
        }
        self.visited = self.shown.stats().nodes;
        self.hand.both(a, b, target, &QueryParams::default());
        let deepest = self.hand.last_both().into_iter().filter_map(|c| c.deepest());
        self.depth = deepest.map(|c| f64::from(c.depth())).fold(0.0, f64::max);
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
        for _ in 0..400 {
            told = touch.step(&target, &mut marks);
        }
        assert!((told.tool.translation.z - 0.07).abs() < 1e-3, "{:?}", told.tool);
        assert!((told.depth - 0.015).abs() < 1e-3, "{}", told.depth);
        // Ball on ball: the tool may slip a little to a side.
        let force = told.wrench.force;
        assert!(force.z > 1.0 && force.x.abs() < 0.2 * force.z, "{:?}", told.wrench);
        assert!(!marks.is_empty() && marks.iter().all(|m| m.normal.z > 0.9 && m.depth < 1e-4));
        // Away again: no force is left.
        for _ in 0..400 {
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
        for _ in 0..5000 {
            let told = touch.step(&target, &mut marks);
            let inside = marks.iter().map(|m| m.depth).fold(0.0, f64::max);
            assert!(inside < 1e-6, "{inside} m inside at {:?}", told.tool);
        }
        let told = touch.step(&target, &mut marks);
        assert!((told.tool.translation - target.translation).length() < 1e-6, "{:?}", told.tool);
        let lost = touch.step(&Pose::from_translation(DVec3::NAN), &mut marks);
        assert_eq!(lost.tool, told.tool);
    }
}
