//! What a simulated hand can do with a tool: motions that fit a pair of shapes.

use crate::device::DeviceLimits;
use crate::rig::Mapping;
use crate::scene::Pair;
use crate::sim::HandMotion;
use glam::DVec3;
use palpate::math::Pose;
use palpate::query::{ImpactParams, Motion, Query};

/// Kinds of motion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Down until it touches, further, and rest there.
    #[default]
    Press,
    /// Down, then to and fro.
    Slide,
    /// Down, then turned from side to side.
    Wedge,
    /// Down and round.
    Circle,
}

/// A motion, and how the handle's becomes the tool's.
#[derive(Clone, Debug, PartialEq)]
pub struct Exercise {
    /// Of the hand, in the handle's own frame and scale, from its origin.
    pub motion: HandMotion,
    /// Of the handle.
    pub mapping: Mapping,
    /// How far the tool goes before it touches [m].
    pub free: f64,
}

/// Where the tool would be if it stood above what it is to touch: their boxes apart by a tenth of the tool's radius, along `up`.
pub fn above(pair: &Pair, up: DVec3) -> Pose {
    let up = up.normalize_or(DVec3::Z);
    let highest = |aabb: palpate::math::Aabb, axis: DVec3| {
        let (low, high) = (axis * aabb.min, axis * aabb.max);
        low.max(high).element_sum()
    };
    let (a, b) = (pair.fixed().aabb(), pair.tool().aabb());
    let height = highest(a, up) + highest(b, -up) + 0.1 * pair.radius();
    // Middle above middle.
    let side = a.centre() - b.centre();
    Pose::from_translation(side - up * side.dot(up) + up * height)
}

impl Exercise {
    /// From `start` (`world_from_tool`, where nothing is touched) against `up` until `depth` metres further than the first touch; half of
    /// the tool's diameter where nothing is met.
    pub fn new(pair: &Pair, limits: &DeviceLimits, start: Pose, up: DVec3, kind: Kind, depth: f64) -> Self {
        let down = -up.normalize_or(DVec3::Z);
        let most = 4.0 * (pair.radius() + pair.fixed().ball().1);
        let motion = Motion { from: start, linear: down * most, angular: DVec3::ZERO };
        let found = Query::new().time_of_impact(pair.fixed(), pair.tool(), &motion, &ImpactParams::default());
        let free = found.time.map_or(pair.radius(), |t| t * most);
        let depth = if depth >= 0.0 && depth.is_finite() { depth } else { 0.0 };
        let reach = (free + depth + pair.radius()).max(pair.radius());
        let mapping = Mapping::reaching(limits, start, reach);
        let to_hand = 1.0 / mapping.scale;
        let (deep, wide) = ((free + depth) * to_hand, 0.5 * pair.radius() * to_hand);
        let across = down.any_orthonormal_vector();
        let motion = match kind {
            Kind::Press => HandMotion::Press { start: Pose::IDENTITY, axis: down, depth: deep, seconds: 1.0 },
            Kind::Slide => HandMotion::Slide {
                start: Pose::IDENTITY,
                axis: down,
                depth: deep,
                travel: across * wide,
                press_seconds: 1.0,
                seconds: 0.7,
            },
            Kind::Wedge => HandMotion::Wedge {
                start: Pose::IDENTITY,
                axis: down,
                depth: deep,
                turn: down * 0.4 + across * 0.15,
                press_seconds: 1.0,
                seconds: 0.8,
            },
            Kind::Circle => HandMotion::Circle {
                centre: Pose::IDENTITY,
                axis: down,
                depth: deep,
                radius: 0.5 * wide,
                seconds: 1.5,
            },
        };
        Self { motion, mapping, free }
    }
}
