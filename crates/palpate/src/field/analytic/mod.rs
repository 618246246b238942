//! Shapes given by formula: exact referees for built fields and exact primitives in queries.

mod bound;
mod hull;
mod revolved;
mod rounded;
mod sample;
#[cfg(test)]
mod solid_tests;
#[cfg(test)]
mod tests;

pub use hull::{Hull, Plane};

use super::source::{Sample, Source};
use crate::math::Aabb;
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// A solid given by formula, in its own frame [m].
///
/// The distance of every primitive, and of a primitive under [`Analytic::Transform`], is exact inside and
/// outside up to rounding; that of a [`Analytic::Hull`] up to [`Hull::slack`]. A [`Analytic::Union`] is exact outside and has the right sign everywhere; inside, its
/// `distance` is an upper bound (the depth is not overestimated) and [`Source::bounds`] gives both sides.
///
/// Invariants, held by the constructors (other crates cannot write the variants): every number finite, every
/// size positive, every normal and rotation unit, no empty union.
#[derive(Clone, Debug, PartialEq)]
pub enum Analytic {
    /// A ball; see [`Analytic::sphere`].
    #[non_exhaustive]
    Sphere {
        /// Middle point [m].
        centre: DVec3,
        /// Radius [m].
        radius: f64,
    },
    /// A box with its edges along the axes; see [`Analytic::cuboid`].
    #[non_exhaustive]
    Box {
        /// Middle point [m].
        centre: DVec3,
        /// Half the edge lengths [m].
        half_extents: DVec3,
    },
    /// All points within `radius` of a segment; see [`Analytic::capsule`].
    #[non_exhaustive]
    Capsule {
        /// One end of the segment [m].
        a: DVec3,
        /// The other end of the segment [m].
        b: DVec3,
        /// Radius [m].
        radius: f64,
    },
    /// A ring around the z axis, centred at the origin; see [`Analytic::torus`].
    #[non_exhaustive]
    Torus {
        /// Radius of the circle in the xy plane [m].
        major: f64,
        /// Radius of the tube around that circle [m].
        minor: f64,
    },
    /// All points with `normal · p <= offset`; see [`Analytic::half_space`].
    #[non_exhaustive]
    HalfSpace {
        /// Unit outward normal.
        normal: DVec3,
        /// Height of the plane above the origin along `normal` [m].
        offset: f64,
    },
    /// A cylinder with flat ends; see [`Analytic::cylinder`].
    #[non_exhaustive]
    Cylinder {
        /// Middle of one end [m].
        a: DVec3,
        /// Middle of the other end, not the same [m].
        b: DVec3,
        /// Radius [m].
        radius: f64,
    },
    /// A cone with a flat base; see [`Analytic::cone`].
    #[non_exhaustive]
    Cone {
        /// Middle of the base [m].
        base: DVec3,
        /// The tip, not in the base's middle [m].
        apex: DVec3,
        /// Radius of the base [m].
        radius: f64,
    },
    /// A convex polyhedron; see [`Analytic::hull`]. Clones share it.
    #[non_exhaustive]
    Hull(Arc<Hull>),
    /// All points within `radius` of a box, cylinder, cone, hull or thick ring; see [`Analytic::rounded`].
    #[non_exhaustive]
    Rounded {
        /// What is rounded.
        shape: Box<Analytic>,
        /// How far it reaches around the shape [m].
        radius: f64,
    },
    /// All points of any of the shapes; see [`Analytic::union`].
    #[non_exhaustive]
    Union(Vec<Analytic>),
    /// A moved shape: `p = rotation * p_shape + translation`; see [`Analytic::transformed`].
    #[non_exhaustive]
    Transform {
        /// Unit rotation, this frame from the shape's frame.
        rotation: DQuat,
        /// Where the shape's origin lies in this frame [m].
        translation: DVec3,
        /// What is moved.
        shape: Box<Analytic>,
    },
}

/// Why an analytic shape cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A coordinate is NaN or infinite.
    #[error("{shape}: {what} is {value}, but must be finite")]
    NotFinite {
        /// Which shape.
        shape: &'static str,
        /// Which number of it.
        what: &'static str,
        /// What was given.
        value: String,
    },
    /// A size is zero, negative, NaN or infinite.
    #[error("{shape}: {what} is {value} m, but must be positive and finite")]
    NotPositive {
        /// Which shape.
        shape: &'static str,
        /// Which number of it.
        what: &'static str,
        /// What was given [m].
        value: f64,
    },
    /// A direction or rotation has no length, so that it cannot be made unit.
    #[error("{shape}: {what} has length {length}, but must have a direction")]
    NoDirection {
        /// Which shape.
        shape: &'static str,
        /// Which vector of it.
        what: &'static str,
        /// What was given.
        length: f64,
    },
    /// The tube of a torus covers its hole; the distance formula is not exact then.
    #[error("torus: the minor radius {minor} m must be smaller than the major radius {major} m")]
    NotARing {
        /// Radius of the circle [m].
        major: f64,
        /// Radius of the tube [m].
        minor: f64,
    },
    /// A union of no shapes has no surface.
    #[error("union: needs at least one shape")]
    EmptyUnion,
    /// A triangle of a hull uses a vertex there is not.
    #[error("hull: triangle {triangle} uses vertex {vertex} but there are {count} vertices")]
    NoSuchVertex {
        /// Which triangle.
        triangle: usize,
        /// The vertex it asks for.
        vertex: u32,
        /// How many there are.
        count: usize,
    },
    /// A hull has more triangles than its checks and distances can afford.
    #[error(
        "hull: {count} triangles, but at most {most} are allowed; simplify it, or build a field from the mesh"
    )]
    TooManyFaces {
        /// How many were given.
        count: usize,
        /// How many may be.
        most: usize,
    },
    /// A side of a triangle of a hull has no neighbour, or more than one, or one that faces the other way.
    #[error(
        "hull: triangle {triangle} has a side without exactly one neighbour that faces the same way; close the hull"
    )]
    NotClosed {
        /// Which triangle.
        triangle: usize,
    },
    /// The triangles of a hull are clockwise from outside.
    #[error("hull: the triangles face inward; swap two corners of each")]
    InsideOut,
    /// A hull has no volume to speak of.
    #[error("hull: its volume is {volume} m³, nothing compared with its extent; give it a thickness")]
    Flat {
        /// What the triangles enclose [m³].
        volume: f64,
    },
    /// A vertex of a hull lies above one of its faces.
    #[error("hull: the vertex {vertex} lies {above} m above triangle {triangle}; make the hull convex")]
    NotConvex {
        /// Where the vertex is [m].
        vertex: DVec3,
        /// Which triangle.
        triangle: usize,
        /// How far the vertex is above it [m].
        above: f64,
    },
}

impl Analytic {
    /// A ball.
    pub fn sphere(centre: DVec3, radius: f64) -> Result<Self, ShapeError> {
        finite("sphere", "centre", centre)?;
        positive("sphere", "radius", radius)?;
        Ok(Self::Sphere { centre, radius })
    }

    /// A box with its edges along the axes (`box` is a reserved word).
    pub fn cuboid(centre: DVec3, half_extents: DVec3) -> Result<Self, ShapeError> {
        finite("box", "centre", centre)?;
        positive("box", "half extent x", half_extents.x)?;
        positive("box", "half extent y", half_extents.y)?;
        positive("box", "half extent z", half_extents.z)?;
        Ok(Self::Box { centre, half_extents })
    }

    /// All points within `radius` of the segment from `a` to `b`; a ball when both are the same.
    pub fn capsule(a: DVec3, b: DVec3, radius: f64) -> Result<Self, ShapeError> {
        finite("capsule", "a", a)?;
        finite("capsule", "b", b)?;
        positive("capsule", "radius", radius)?;
        Ok(Self::Capsule { a, b, radius })
    }

    /// A ring around the z axis, centred at the origin: `minor` must be smaller than `major`.
    pub fn torus(major: f64, minor: f64) -> Result<Self, ShapeError> {
        positive("torus", "major radius", major)?;
        positive("torus", "minor radius", minor)?;
        if minor >= major {
            return Err(ShapeError::NotARing { major, minor });
        }
        Ok(Self::Torus { major, minor })
    }

    /// All points with `normal · p <= offset`, for a normal of any length: it is made unit, `offset` is not
    /// scaled with it.
    pub fn half_space(normal: DVec3, offset: f64) -> Result<Self, ShapeError> {
        finite("half-space", "normal", normal)?;
        if !offset.is_finite() {
            let (shape, what) = ("half-space", "offset");
            return Err(ShapeError::NotFinite { shape, what, value: offset.to_string() });
        }
        // Scaled first, so that neither tiny nor huge normals lose their direction by under- or overflow.
        let largest = normal.abs().max_element();
        let unit = (normal / largest).try_normalize().ok_or(ShapeError::NoDirection {
            shape: "half-space",
            what: "normal",
            length: normal.length(),
        })?;
        Ok(Self::HalfSpace { normal: unit, offset })
    }

    /// All points of any of `shapes`.
    pub fn union(shapes: Vec<Self>) -> Result<Self, ShapeError> {
        if shapes.is_empty() { Err(ShapeError::EmptyUnion) } else { Ok(Self::Union(shapes)) }
    }

    /// This shape moved: `p = rotation * p_shape + translation`. The rotation is made unit.
    pub fn transformed(self, rotation: DQuat, translation: DVec3) -> Result<Self, ShapeError> {
        finite("transform", "translation", translation)?;
        let length = rotation.length();
        if !(length.is_normal() && rotation.is_finite()) {
            return Err(ShapeError::NoDirection { shape: "transform", what: "rotation", length });
        }
        Ok(Self::Transform { rotation: rotation.normalize(), translation, shape: Box::new(self) })
    }
}

fn finite(shape: &'static str, what: &'static str, value: DVec3) -> Result<(), ShapeError> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(ShapeError::NotFinite { shape, what, value: value.to_string() })
    }
}

fn positive(shape: &'static str, what: &'static str, value: f64) -> Result<(), ShapeError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(ShapeError::NotPositive { shape, what, value })
    }
}

impl Source for Analytic {
    /// Exact but for the inside of a union; see [`Analytic`]. No allocation.
    fn sample(&self, p: DVec3) -> Sample {
        if p.is_finite() { self.sample_at(p) } else { Sample::UNDEFINED }
    }

    /// Wider than a point by rounding only, but inside a union, where the lower bound may be much lower
    /// than `distance`, and −∞ when half-spaces cover all space.
    fn bounds(&self, p: DVec3) -> (f64, f64) {
        if !p.is_finite() {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let (lower, upper) = self.bounds_at(p);
        let slack = self.rounding(p);
        (lower - slack, upper + slack)
    }

    /// Tight for primitives, also under a rotation.
    fn aabb(&self) -> Aabb {
        self.aabb_under(DQuat::IDENTITY, DVec3::ZERO)
    }

    /// `None` for a point that is not finite, and inside a union where the nearest point of the deepest part is
    /// covered by another part.
    fn closest_point(&self, p: DVec3) -> Option<DVec3> {
        if p.is_finite() { self.closest_at(p) } else { None }
    }
}
