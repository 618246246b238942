//! All points within a radius of a shape.

use super::super::source::Sample;
use super::{Analytic, ShapeError, positive};
use glam::DVec3;

/// How far the walk from the middle of a shape through one of its edges goes to find a normal there, as a share of the way
/// from the middle [1]. Larger: the point found is off by as much. Smaller: the step drowns in rounding.
const STEP: f64 = 1e-9;

impl Analytic {
    /// All points within `radius` of this shape, which may be 0: the shape itself. A ball, capsule, half-space and thin ring get
    /// another radius or offset; a union or a moved shape is rounded part by part; all others become [`Analytic::Rounded`].
    ///
    /// The distance is the shape's less `radius`: exact outside, and inside for convex shapes. Inside a ring whose hole is closed
    /// by the radius it is an upper bound, as in a union.
    ///
    /// # Errors
    /// A radius that is negative or not finite, or too large to be added.
    pub fn rounded(self, radius: f64) -> Result<Self, ShapeError> {
        if radius == 0.0 {
            return Ok(self);
        }
        let what = "radius";
        positive("rounded", what, radius)?;
        let sum = |own: f64| positive("rounded", what, own + radius).map(|()| own + radius);
        Ok(match self {
            Self::Sphere { centre, radius: own } => Self::Sphere { centre, radius: sum(own)? },
            Self::Capsule { a, b, radius: own } => Self::Capsule { a, b, radius: sum(own)? },
            Self::Torus { major, minor } if minor + radius < major => {
                Self::Torus { major, minor: minor + radius }
            }
            Self::HalfSpace { normal, offset } => {
                let moved = offset + radius;
                if !moved.is_finite() {
                    return Err(ShapeError::NotPositive { shape: "rounded", what, value: radius });
                }
                Self::HalfSpace { normal, offset: moved }
            }
            Self::Rounded { shape, radius: own } => Self::Rounded { shape, radius: sum(own)? },
            Self::Union(shapes) => {
                Self::Union(shapes.into_iter().map(|s| s.rounded(radius)).collect::<Result<_, _>>()?)
            }
            Self::Transform { rotation, translation, shape } => {
                Self::Transform { rotation, translation, shape: Box::new(shape.rounded(radius)?) }
            }
            shape => Self::Rounded { shape: Box::new(shape), radius },
        })
    }
}

/// Distance and gradient around `shape`.
pub(super) fn sample(shape: &Analytic, radius: f64, p: DVec3) -> Sample {
    let s = shape.sample_at(p);
    Sample { distance: s.distance - radius, gradient: s.gradient }
}

/// The closest point of the rounded surface: straight out from the shape's own closest point. `None` where that is inside.
pub(super) fn closest(shape: &Analytic, radius: f64, p: DVec3) -> Option<DVec3> {
    let foot = shape.closest_at(p)?;
    let s = shape.sample_at(p);
    let off = |q: DVec3| (shape.sample_at(q).distance - radius).abs();
    let allowed = 4.0 * (shape.rounding(p) + shape.rounding(foot));
    let way = if s.distance < 0.0 { foot - p } else { p - foot };
    let straight = [s.gradient, way.normalize_or_zero()].into_iter().map(|n| foot + radius * n);
    if let Some(q) = straight.into_iter().find(|q| off(*q) <= allowed) {
        return Some(q);
    }
    // On an edge of the shape there is no gradient, and no way to tell a normal: step out from the middle.
    let out = foot + STEP * (foot - shape.aabb_under(glam::DQuat::IDENTITY, DVec3::ZERO).centre());
    let q = shape.closest_at(out)? + radius * shape.sample_at(out).gradient;
    (off(q) <= allowed
        && (q.distance(p) - (s.distance - radius).abs()).abs() <= 2.0 * STEP * out.distance(p).max(radius))
    .then_some(q)
}

/// Bounds around `shape`, without rounding.
pub(super) fn bounds(shape: &Analytic, radius: f64, p: DVec3) -> (f64, f64) {
    let (lower, upper) = shape.bounds_at(p);
    let (lower, upper) = (lower - radius, upper - radius);
    // Only a ring is rounded that is not convex; see `Analytic::rounded`.
    if upper >= 0.0 || !matches!(shape, Analytic::Torus { .. }) {
        return (lower, upper);
    }
    // Inside, the depth is at most the way to any point of the surface: straight out, or the box.
    let way = closest(shape, radius, p).map_or(f64::INFINITY, |q| q.distance(p));
    let room = shape.aabb_under(glam::DQuat::IDENTITY, DVec3::ZERO).padded(radius);
    let sides = (p - room.min).min(room.max - p).min_element();
    (-(way.min(sides)), upper)
}
