//! What has a field: a built one, or a solid by formula.

use crate::field::analytic::Analytic;
use crate::field::{Field, Sample, Source};
use crate::shape::Shape;
use glam::{DVec3, Vec3};

/// A rigid body as samples of a mesh see it: a signed distance in its own frame.
#[derive(Clone, Copy)]
pub enum Rigid<'a> {
    /// A field, eight points at a time.
    Field(&'a Field),
    /// Anything else that gives distances, one point at a time; they must not be steeper than 1.
    Source(&'a dyn Source),
}

impl<'a> From<&'a Field> for Rigid<'a> {
    fn from(field: &'a Field) -> Self {
        Self::Field(field)
    }
}

impl<'a> From<&'a Shape> for Rigid<'a> {
    fn from(shape: &'a Shape) -> Self {
        Self::Field(shape.field())
    }
}

impl<'a> From<&'a Analytic> for Rigid<'a> {
    fn from(solid: &'a Analytic) -> Self {
        Self::Source(solid)
    }
}

impl core::fmt::Debug for Rigid<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Field(_) => "Field",
            Self::Source(_) => "Source",
        })
    }
}

impl Rigid<'_> {
    /// What points are relative to [m], for a mesh that is about `near`.
    pub(super) fn origin(&self, near: DVec3) -> DVec3 {
        match self {
            Self::Field(field) => field.lattice().origin,
            Self::Source(_) => near,
        }
    }

    pub(super) fn sample(&self, p: DVec3) -> Sample {
        match self {
            Self::Field(field) => field.sample(p),
            Self::Source(source) => source.sample(p),
        }
    }

    /// Distances at points relative to `origin` [m].
    pub(super) fn distances(&self, origin: DVec3, points: &[Vec3], out: &mut [f32]) {
        match self {
            Self::Field(field) => field.distances_here(points, out),
            Self::Source(source) => {
                for (d, p) in out.iter_mut().zip(points) {
                    *d = source.distance(origin + p.as_dvec3()) as f32;
                }
            }
        }
    }
}
