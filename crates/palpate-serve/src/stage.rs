//! What a scene is to the server: bodies to draw, and something that moves them.
//!
//! World frame, SI units.

use crate::source::{Led, Opener};
use crate::touch::Mark;
use glam::DVec3;
use palpate::math::{Aabb, Pose, Wrench};
use palpate::shape::Shape;
use palpate_haptic::Mode;
use std::sync::Arc;
use std::time::Instant;

/// What a body is made of.
#[derive(Clone, Debug)]
pub(crate) enum Geometry {
    /// A rigid shape, which can be looked into.
    Shape(Shape),
    /// Points alone, about so far apart [m].
    Points(Vec<DVec3>, f64),
    /// A mesh that deforms: where its vertices are at the start [m], and its triangles.
    Soft(Vec<DVec3>, Vec<[u32; 3]>),
    /// A mesh that is only looked at, such as the ball of a probe.
    Mesh(Vec<DVec3>, Vec<[u32; 3]>),
}

impl Geometry {
    /// The box around it, in its own frame [m].
    pub(crate) fn aabb(&self) -> Aabb {
        match self {
            Self::Shape(shape) => shape.aabb(),
            Self::Points(points, _) | Self::Soft(points, _) | Self::Mesh(points, _) => {
                Aabb::of_points(points.iter().copied())
            }
        }
    }

    /// As the page calls it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Shape(_) => "shape",
            Self::Points(..) => "points",
            Self::Soft(..) => "soft",
            Self::Mesh(..) => "mesh",
        }
    }
}

/// A body of a scene.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// For people.
    pub(crate) name: String,
    /// What it is made of.
    pub(crate) geometry: Geometry,
    /// `world_from_body` at the start.
    pub(crate) pose: Pose,
}

/// A scene that is built.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Counts scenes: questions about an older one are refused.
    pub(crate) generation: u64,
    /// As requests spell it.
    pub(crate) id: String,
    /// For people.
    pub(crate) title: String,
    /// What to do with it.
    pub(crate) words: String,
    /// In this order everywhere.
    pub(crate) bodies: Vec<Body>,
    /// The one that follows the hand; none: nothing does.
    pub(crate) tool: Option<usize>,
    /// Where the hand is at the start.
    pub(crate) hand: Pose,
    /// The axis that is up on the screen.
    pub(crate) up: DVec3,
    /// The device that moves the tool, for people; none: the page's hand does.
    pub(crate) device: Option<String>,
}

impl Stage {
    /// The hand at the start, which holds nothing.
    pub(crate) fn grip(&self) -> Grip {
        Grip { target: self.hand, held: false }
    }

    /// The box around everything at the start, in the world [m].
    pub(crate) fn aabb(&self) -> Aabb {
        self.bodies.iter().fold(Aabb::EMPTY, |all, body| {
            let b = body.geometry.aabb();
            let corner = |i: u32| {
                let pick = |bit: u32, low: f64, high: f64| if i & bit == 0 { low } else { high };
                DVec3::new(pick(1, b.min.x, b.max.x), pick(2, b.min.y, b.max.y), pick(4, b.min.z, b.max.z))
            };
            (0..8).fold(all, |all, i| all.grow(body.pose.point(corner(i))))
        })
    }
}

/// A node of a tree that a query looks at, in the world's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    /// Of its ball [m].
    pub(crate) centre: DVec3,
    /// Of its ball [m].
    pub(crate) radius: f64,
    /// Whether its ball reaches the other shape, so that the query looked at what is below it.
    pub(crate) colliding: bool,
    /// The body whose tree it is of.
    pub(crate) body: usize,
}

/// What touching is like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Feel {
    /// Whether the tool never enters, or gives.
    pub(crate) mode: Mode,
    /// Coulomb friction [1].
    pub(crate) friction: f64,
}

/// How the haptic loop fares since the scene, or its device, began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rigged {
    /// Energy of the account [J].
    pub(crate) energy: f64,
    /// Share of the force that passivity lets through [1].
    pub(crate) share: f64,
    /// Ticks whose own work took longer than a period, and that the machine let begin late.
    pub(crate) missed_by_us: u64,
    pub(crate) missed_by_machine: u64,
    /// Readings that failed or were no numbers.
    pub(crate) bad_readings: u64,
    /// Times that force was taken away because the loop stood still.
    pub(crate) trips: u64,
    /// Longest time from a reading to its wrench [µs].
    pub(crate) worst: f64,
}

/// What there is after a tick. World frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Now {
    /// Where each body is.
    pub(crate) bodies: Vec<Pose>,
    /// `world_from_tool` that the hand, or the handle of a device, asks for.
    pub(crate) target: Pose,
    /// On the tool, about `centre` [N, N m].
    pub(crate) wrench: Wrench,
    /// The middle of the tool [m].
    pub(crate) centre: DVec3,
    /// How deep the hand is inside [m].
    pub(crate) depth: f64,
    /// Time of the tick's queries [µs].
    pub(crate) micros: f64,
    /// Nodes whose balls the last query tested; 0 where there are none.
    pub(crate) visited: usize,
    /// Where the tool touches.
    pub(crate) marks: Vec<Mark>,
    /// How a haptic loop fares, where there is one.
    pub(crate) rig: Option<Rigged>,
    /// What a device is up to, where one moves the tool.
    pub(crate) led: Led,
}

/// What the hand does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Grip {
    /// `world_from_tool`, where the hand holds it.
    pub(crate) target: Pose,
    /// Whether the hand holds the tool at all. One that nothing else moves stays where it is.
    pub(crate) held: bool,
}

/// What moves the bodies of a scene, once a millisecond.
pub(crate) trait Act: Send {
    /// One millisecond with the hand as `grip` says.
    fn step(&mut self, grip: &Grip, now: &mut Now);

    /// Back to the start.
    fn reset(&mut self);

    /// A device shall move the tool; whether it can.
    fn lend(&mut self, _opener: &Arc<dyn Opener>) -> bool {
        false
    }

    /// Whether someone may hold a device: then it goes on without a page.
    fn is_held(&self) -> bool {
        false
    }

    /// When the next step is due, what touching shall be like, and whether nodes are kept.
    fn prepare(&mut self, _due: Instant, _feel: &Feel, _nodes: bool) {}

    /// A tick in which force goes, before something else comes; true: it is gone.
    fn leave(&mut self, _due: Instant) -> bool {
        true
    }

    /// What there is besides, for a snapshot. Not part of a tick's time.
    fn tell(&self, _now: &mut Now) {}

    /// The nodes of `level` that the last query tested. For pictures: not part of a tick's time.
    fn nodes(&self, _level: usize, _out: &mut Vec<Node>) {}

    /// Where the vertices of bodies that deform are: body, coordinates [m].
    fn deformed(&self, _out: &mut Vec<(usize, Vec<f32>)>) {}
}
