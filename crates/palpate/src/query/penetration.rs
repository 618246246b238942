//! The shortest translation found that separates two overlapping shapes.
//!
//! Based on: Je, Tang, Lee, Lee, Kim, PolyDepth: real-time penetration depth computation using iterative contact-space
//! projection, 2012 [je12].
//! Differs: the contact space is never built. Directions over the whole sphere are followed outward on the fields
//! (`shortest.rs`, `parting.rs`), and what they end at is settled by the triangles (`sweep.rs`).

use super::clear::ball;
use super::parting::{Inside, Parting, Way};
use super::sweep::Sweep;
use super::{Query, Stats};
use crate::math::Pose;
use crate::shape::Shape;
use glam::DVec3;

/// Depth at which a point counts as out, unless said otherwise [smaller voxel]. Smaller: more steps for the last bit of depth.
const TOLERANCE: f64 = 0.05;

/// How a translation is sought.
#[derive(Clone, Debug, PartialEq)]
pub struct PenetrationParams {
    /// Directions over the whole sphere, besides those of contacts and of the shapes' boxes; at most 100,000. More: surer to find
    /// the way out of intricate shapes, and slower in proportion.
    pub directions: usize,
    /// Points less deep than this count as out while directions are compared [m]; none: a twentieth of the smaller voxel.
    pub tolerance: Option<f64>,
}

impl Default for PenetrationParams {
    fn default() -> Self {
        Self { directions: 128, tolerance: None }
    }
}

impl PenetrationParams {
    /// The values held to their ranges.
    #[must_use]
    pub fn held(&self) -> Self {
        Self {
            directions: self.directions.min(100_000),
            tolerance: self.tolerance.filter(|t| t.is_finite() && *t > 0.0),
        }
    }
}

/// A translation that separates two shapes. A's frame [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penetration {
    /// Moves B so that the triangles of the shapes share no point, and no piece of one is inside the other; zero if that is so
    /// already.
    pub translation: DVec3,
    /// Its length.
    pub depth: f64,
    /// What rounding may take from `depth`, less than 1e-9 of the shapes' sizes and their distance: moved by `depth + bound` along
    /// `direction`, they certainly share no point, see [`Penetration::free`]. 0 where they share none as they are.
    pub bound: f64,
    /// No translation shorter than this separates them, in any direction: the true depth of the deepest point.
    pub lower: f64,
    /// Unit; zero where `depth` is 0.
    pub direction: DVec3,
    /// Directions that were followed or excluded.
    pub directions: usize,
    /// Whether the shapes share a point, or are so near that rounding cannot tell.
    pub overlapping: bool,
}

impl Penetration {
    const NONE: Self = Self {
        translation: DVec3::ZERO,
        depth: 0.0,
        bound: 0.0,
        lower: 0.0,
        direction: DVec3::ZERO,
        directions: 0,
        overlapping: false,
    };

    /// The translation after which the shapes certainly share no point [m].
    pub fn free(&self) -> DVec3 {
        self.direction * (self.depth + self.bound)
    }
}

impl Query {
    /// The shortest translation of B found that separates it from A: global, unlike the depth of a contact.
    ///
    /// Directions are compared by both shapes' points; where the best of them are free is settled by all triangles, caps over holes
    /// included, so that `depth` is exact for its `direction`. One shape wholly inside the other counts, whichever has more
    /// points. The length is rarely above the shortest there is by more than a few percent. Shapes that do not overlap give
    /// zero; a pose that is not finite, or a shape without points, gives zero too (with the flag in [`Query::stats`] for the pose).
    ///
    /// One to a few milliseconds for detailed shapes. No allocation after the first queries.
    ///
    /// ```
    /// use glam::DVec3;
    /// use palpate::mesh::{Mesh, samples};
    /// use palpate::{Pose, Query, Shape};
    ///
    /// let cube = Mesh::new(samples::cuboid(DVec3::splat(2.0)), &Default::default())?;
    /// let cube = Shape::build(cube, 0.05, &Default::default())?;
    /// let a_from_b = Pose::from_translation(DVec3::X * 0.5);
    /// let out = Query::new().penetration(&cube, &cube, &a_from_b, &Default::default());
    /// assert!((out.depth - 1.5).abs() <= out.bound);
    /// assert!(out.direction.x > 0.999);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn penetration(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        params: &PenetrationParams,
    ) -> Penetration {
        self.part(a, b, a_from_b, None, params)
    }

    /// How far B must go along `direction`, in A's frame and of any length, until it is free of A: as [`Query::penetration`], for
    /// one direction. A direction that is zero or not finite gives zero, with the flag of a pose that is not finite.
    ///
    /// The first free place: beyond it other parts may be in the way. Tens of microseconds.
    pub fn penetration_along(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        direction: DVec3,
        params: &PenetrationParams,
    ) -> Penetration {
        self.part(a, b, a_from_b, Some(direction), params)
    }

    fn part(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        along: Option<DVec3>,
        params: &PenetrationParams,
    ) -> Penetration {
        self.stats = Stats::default();
        // Divided first: the square of a large component overflows.
        let unit = along.map(|d| (d / d.abs().max_element()).normalize_or_zero());
        if !a_from_b.is_finite() || unit.is_some_and(|d| d == DVec3::ZERO) {
            self.stats.non_finite = true;
            return Penetration::NONE;
        }
        let ((ca, ra), (cb, rb)) = (ball(&a.aabb()), ball(&b.aabb()));
        let between = a_from_b.point(cb) - ca;
        // Compared by components first: the square of a large one overflows.
        if a.tree.is_empty()
            || b.tree.is_empty()
            || between.abs().max_element() > ra + rb
            || between.length() > ra + rb
        {
            return Penetration::NONE;
        }
        let params = params.held();
        let voxel = a.field.lattice().voxel.min(b.field.lattice().voxel);
        let tolerance = params.tolerance.unwrap_or(TOLERANCE * voxel);
        let sweep = Sweep::new(a, b, a_from_b);
        let mut parting = Parting::new(self, sweep, a, b, a_from_b, tolerance);
        let deepest = parting.deepest(DVec3::ZERO, f64::INFINITY);
        let mut result = Penetration::NONE;
        // A sample tells for itself where it is deeper than its error; else the surfaces do.
        let certain = deepest.is_some_and(|inside| is_inside(a, b, a_from_b, inside));
        if certain || parting.coinciding(DVec3::ZERO) || parting.meets() {
            let cores = parting.depth_of_cores();
            let (mut way_out, mut least, mut lower) = (DVec3::ZERO, cores, cores);
            if deepest.is_none() {
                way_out = parting.away();
            }
            if let Some(inside) = deepest {
                let depth = f64::from(-inside.distance);
                parting.keep_point(inside);
                way_out = parting.way_out(inside);
                least = least.max(depth);
                lower = lower.max(true_depth(a, b, a_from_b, inside, depth));
            }
            let Way { direction, length } = match unit {
                Some(direction) => parting.along(direction, least),
                None => parting.shortest(way_out, least, params.directions),
            };
            // Samples have errors: what is certain is not undercut.
            let depth = length.max(lower);
            let bound = 4.0 * parting.sweep.slack();
            let (translation, directions) = (direction * depth, parting.tried);
            result =
                Penetration { translation, depth, bound, lower, direction, directions, overlapping: true };
        }
        parting.end();
        result
    }
}

/// How far along `direction` balls whose middles are `between` apart, and whose radii sum up to `radius`, touch last [m].
pub(super) fn apart(between: DVec3, direction: DVec3, radius: f64) -> f64 {
    let along = between.dot(direction);
    let square = along * along + radius * radius - between.length_squared();
    (square.max(0.0).sqrt() - along).max(0.0) * (1.0 + 1e-9) + 1e-9 * radius
}

/// The shape that a point is inside of, and where in its frame.
fn place<'a>(a: &'a Shape, b: &'a Shape, a_from_b: &Pose, inside: Inside) -> (&'a Shape, DVec3) {
    if inside.side == 1 {
        (b, a_from_b.inverse().point(a.tree.position(inside.point as usize)))
    } else {
        (a, a_from_b.point(b.tree.position(inside.point as usize)))
    }
}

/// Whether a point is inside not only by a sample whose sign is in doubt.
fn is_inside(a: &Shape, b: &Shape, a_from_b: &Pose, inside: Inside) -> bool {
    let (shape, p) = place(a, b, a_from_b, inside);
    f64::from(-inside.distance) > shape.field.report().error_bound_band
        || shape.inside(p, &shape.exact.closest(p, None))
}

/// The depth of a point on the surface itself; 0 where its sample's sign is in doubt [m].
fn true_depth(a: &Shape, b: &Shape, a_from_b: &Pose, inside: Inside, sampled: f64) -> f64 {
    let (shape, p) = place(a, b, a_from_b, inside);
    if sampled > shape.field.report().error_bound_band { shape.exact.closest(p, None).distance } else { 0.0 }
}

#[cfg(test)]
#[path = "penetration_tests.rs"]
mod tests;
