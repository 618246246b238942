//! Questions about two shapes in a relative pose: where they touch, how far apart they are, how to part them.
//!
//! A is the first shape, B the second. One of them gives its field and the other its points; results do not say which unless
//! asked.

mod again;
mod batch;
mod budget;
mod clear;
mod coherence;
mod contacts;
mod distance;
mod formula;
pub(crate) mod frame;
mod impact;
mod inner;
mod intersects;
mod kernel;
pub(crate) mod least;
mod listed;
pub(crate) mod near;
mod parting;
mod penetration;
mod points;
pub(crate) mod reach;
mod refine;
mod segment;
mod shortest;
pub(crate) mod solid;
mod solid_again;
mod sweep;
pub(crate) mod trail;
mod visited;
pub(crate) mod walk;

pub use batch::{batch, contacts_batch, distance_batch, intersects_batch};
pub use budget::{Budget, Reached};
pub use distance::Distance;
pub use impact::{Impact, ImpactEnd, ImpactParams, Motion};
pub use listed::{Listed, TooManyContacts, batch_listed, contacts_listed};
pub use penetration::{Penetration, PenetrationParams};
pub use visited::Visited;

use crate::contact::{Contact, Contacts};
use crate::field::Field;
use crate::field::packed::Packed;
use crate::math::Pose;
use crate::shape::Shape;
use crate::tree::Tree;
use coherence::Coherence;
use frame::Frame;
use least::Open;
use std::sync::Arc;
use walk::Run;

/// Which shape gives the points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Roles {
    /// The one with fewer points; B if both have as many.
    #[default]
    Fewer,
    /// The first shape gives the points, the second the field.
    PointsOfA,
    /// The second shape gives the points, the first the field.
    PointsOfB,
}

impl Roles {
    /// Whether A gives the points.
    pub fn swapped(self, a: &Shape, b: &Shape) -> bool {
        match self {
            Self::Fewer => a.tree.len() < b.tree.len(),
            Self::PointsOfA => true,
            Self::PointsOfB => false,
        }
    }
}

/// What a query looks for.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryParams {
    /// Points at most this far outside count as contacts, with a positive distance [m].
    pub margin: f64,
    /// Which shape gives the points.
    pub roles: Roles,
}

impl Default for QueryParams {
    fn default() -> Self {
        Self { margin: 0.0, roles: Roles::Fewer }
    }
}

/// What a query did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Nodes whose balls were tested.
    pub nodes: usize,
    /// Points that were tested.
    pub points: usize,
    /// The pose, or the margin, was not a finite number: there is no answer.
    pub non_finite: bool,
}

/// The memory of queries of one pair: keep it, and queries after the first do not allocate.
#[derive(Debug, Default)]
pub struct Query {
    contacts: Contacts,
    /// The other direction of `both`.
    second: Contacts,
    runs: Vec<Run>,
    next: Vec<Run>,
    /// Children of the nodes that a walk within a budget has opened; points of nodes that are inside as a whole.
    opened: Vec<Run>,
    stack: Vec<Open>,
    /// What a walk within a budget found before its last level.
    coarse: Vec<Contact>,
    coherence: Coherence,
    /// What was near a moment ago: B's points in A, and A's in B.
    near: [again::Near; 2],
    /// The same of a shape's points and a solid.
    near_solid: solid_again::NearSolid,
    /// Points a distance must be measured of.
    doubtful: Vec<u32>,
    /// What the search for the nearest point dropped.
    trail: trail::Trail,
    /// Without SIMD, for comparison: same bits.
    scalar: bool,
    parting: parting::Memory,
    /// The solid of the last question about one, from the points' frame.
    formula: formula::Formula,
    stats: Stats,
    /// The nodes that were tested, if they are kept.
    visited: Vec<Visited>,
    records: bool,
}

/// One direction of a pair: the field of one shape and the points of the other.
pub(crate) struct Side<'a> {
    pub(crate) field: &'a Arc<Field>,
    /// The field's values again, packed, where the shape has them.
    pub(crate) packed: Option<&'a Packed>,
    pub(crate) tree: &'a Arc<Tree>,
    /// None where the pose is not finite.
    pub(crate) frame: Option<Frame>,
}

impl<'a> Side<'a> {
    /// The side with A's points if `swapped`, else with B's.
    pub(crate) fn new(a: &'a Shape, b: &'a Shape, a_from_b: &Pose, swapped: bool) -> Self {
        let (shape, points, pose) = if swapped { (b, a, a_from_b.inverse()) } else { (a, b, *a_from_b) };
        Self::of_points(shape, &points.tree, &pose)
    }

    /// The side with the field of `shape` and the points of `tree`.
    pub(crate) fn of_points(shape: &'a Shape, tree: &'a Arc<Tree>, shape_from_tree: &Pose) -> Self {
        let field = &shape.field;
        Self { field, packed: shape.packed.as_deref(), tree, frame: Frame::new(field, tree, shape_from_tree) }
    }
}

impl Query {
    /// Memory for any pair; it grows with the first query.
    pub fn new() -> Self {
        Self::default()
    }

    /// Without SIMD in [`Query::contacts`], [`Query::plain`] and [`Query::both`], for comparison: same bits.
    #[doc(hidden)]
    pub fn scalar() -> Self {
        Self { scalar: true, ..Self::default() }
    }

    /// What the last query did.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The contacts the last query found.
    pub fn last(&self) -> &Contacts {
        &self.contacts
    }

    /// Those of the last [`Query::both`], if no other query came after: B's points in A, then A's points in B.
    pub fn last_both(&self) -> [&Contacts; 2] {
        [&self.contacts, &self.second]
    }

    /// Exchanges them for others: those of a question before, for a caller that tries a pose and goes back.
    pub fn exchange_both(&mut self, others: &mut [Contacts; 2]) {
        let [first, second] = others;
        core::mem::swap(&mut self.contacts, first);
        core::mem::swap(&mut self.second, second);
    }
}
