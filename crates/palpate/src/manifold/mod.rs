//! Few contacts for physics engines: what touches, as manifolds of up to four points that stay the same from step to step.
//!
//! Based on: sagardia14 2.4 (segments) and 3.2 (one manifold: the deepest point, then the largest area).
//! Differs: contacts are reported before touch, up to a margin; points that were chosen before are preferred, so that a solver can
//! go on from its last impulses; [`Choice::Patches`] makes one manifold for each direction in which the shapes push, for engines
//! whose manifolds have one normal and for parts that enclose each other.
//!
//! ```
//! use palpate::manifold::{Collider, ManifoldParams, Pair};
//! use palpate::field::analytic::Analytic;
//! use palpate::mesh::{Mesh, RepairParams, samples};
//! use palpate::{Pose, Shape};
//! use glam::DVec3;
//!
//! let cube = Mesh::new(samples::cuboid(DVec3::ONE), &RepairParams::default())?;
//! let cube = Collider::from(Shape::build(cube, 0.05, &Default::default())?);
//! let floor = Collider::from(Analytic::half_space(DVec3::Z, 0.0)?);
//! let mut pair = Pair::new();
//! let floor_from_cube = Pose::from_translation(DVec3::Z * 0.499);
//! let found = pair.update(&floor, &cube, &floor_from_cube, &ManifoldParams::default());
//! assert_eq!((found.manifolds.len(), found.points.len()), (1, 4));
//! assert!(found.points.iter().all(|p| (p.distance + 0.001).abs() < 1e-6 && p.normal.z > 0.999));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choose;
mod pair;
#[cfg(test)]
mod tests;
mod way;

pub use pair::Pair;

use crate::field::analytic::Analytic;
use crate::math::{Aabb, Pose};
use crate::query::Roles;
use crate::shape::Shape;
use glam::DVec3;
use std::sync::Arc;

/// Most points of one manifold.
pub const POINTS: usize = 4;

/// What can collide, in its own frame. Clones share the memory.
#[derive(Clone, Debug)]
pub enum Collider {
    /// A shape: gives points and a field.
    Shape(Shape),
    /// A solid by formula: gives a field only. Two of these find no contacts.
    Solid(Arc<Analytic>),
}

impl From<Shape> for Collider {
    fn from(shape: Shape) -> Self {
        Self::Shape(shape)
    }
}

impl From<Analytic> for Collider {
    fn from(solid: Analytic) -> Self {
        Self::Solid(Arc::new(solid))
    }
}

impl Collider {
    /// The box of the surface [m]; infinite along the axes in which a solid is.
    pub fn aabb(&self) -> Aabb {
        match self {
            Self::Shape(shape) => shape.aabb(),
            Self::Solid(solid) => crate::field::Source::aabb(&**solid),
        }
    }
}

/// Which of the contacts become points of manifolds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One manifold of up to four points: the deepest, then those that span the largest area.
    Regular,
    /// One manifold of one point, the deepest, for each segment: a node of this level of the tree, the paper's L: 1 is the root.
    Segmented(usize),
    /// Up to this many manifolds, and never more than 128, of up to four points, each of contacts that push in about the same direction.
    Patches(usize),
}

/// What [`Pair::update`] looks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManifoldParams {
    /// Points at most this far outside are found, with a positive distance [m]. An engine that is told before touch does not let
    /// bodies sink in: the way two bodies can approach in one step is a good margin.
    pub margin: f64,
    /// Points at most this much farther than the nearest one, or than touching, are candidates [m]; none: see [`SPREAD`].
    pub spread: Option<f64>,
    /// Which of them are chosen.
    pub choice: Choice,
    /// Which shape gives the points, where both can.
    pub roles: Roles,
    /// Ask both shapes for points, where both can: parts with edges finer than the other's points.
    pub both: bool,
    /// The engine has one normal for each manifold: points whose directions differ more than about half a degree become manifolds of
    /// their own. Between them a round part is held as by flat faces: it cannot roll, and a nut cannot turn.
    pub one_normal: bool,
    /// Each patch gives up to two manifolds: of points that hold a body now, then of others that may soon. With four points alone a body
    /// that lies on more rocks for ever. Only for [`Choice::Patches`].
    pub tiers: bool,
    /// About how many points and balls may be tested; 0: all that are needed. Whatever was reached is a picture of the whole contact.
    pub budget: usize,
    /// Where B is about to be in A's frame, a step later, if nothing is in its way. Points that get past an edge on that way are not
    /// told of it: a peg is not stopped by the rim of its hole. None: all are told.
    pub next: Option<Pose>,
}

impl Default for ManifoldParams {
    fn default() -> Self {
        Self {
            margin: 0.0,
            spread: None,
            choice: Choice::Regular,
            roles: Roles::Fewer,
            both: false,
            one_normal: false,
            tiers: false,
            budget: 0,
            next: None,
        }
    }
}

/// How much farther than the nearest point others can be and count, unless said otherwise, in radii of the shape that gives the
/// points [1]; at least half a spacing. Larger: more candidates, slower. Smaller: a body that rests is held by fewer points and
/// rocks.
pub const SPREAD: f64 = 0.006;

/// One point of a manifold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ManifoldPoint {
    /// On A's surface, in A's frame [m].
    pub point_a: DVec3,
    /// On B's surface, in B's frame [m].
    pub point_b: DVec3,
    /// From A to B, unit, in A's frame.
    pub normal: DVec3,
    /// Signed, negative inside: from A's point to B's along the normal [m].
    pub distance: f64,
    /// The same for the same point of the same shell, in every step; unique within a manifold.
    pub id: u32,
}

/// Points that an engine may take together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Manifold {
    /// Mean direction of its points, from A to B, unit, in A's frame.
    pub normal: DVec3,
    /// Stays with a manifold from step to step: the segment, or the place of the patch. Unique, and below [`Manifolds::keys`].
    pub key: u32,
    /// Its first point in [`Manifolds::points`].
    pub first: u32,
    /// Its number of points, 1 to [`POINTS`].
    pub count: u32,
}

/// What [`Pair::update`] found.
#[derive(Clone, Copy, Debug)]
pub struct Manifolds<'a> {
    /// In the order of keys.
    pub manifolds: &'a [Manifold],
    /// The points of all manifolds, one manifold after another.
    pub points: &'a [ManifoldPoint],
    /// How many keys there can be with these parameters.
    pub keys: usize,
    /// Contacts they were chosen from.
    pub candidates: usize,
    /// Whether a budget ended the search: points may be coarser than the shell.
    pub cut_short: bool,
    /// The pose, or the margin, was not finite: there is no answer.
    pub non_finite: bool,
}
