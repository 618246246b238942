//! Cylinder and cone: a convex profile turned around an axis.
//!
//! Based on: the closed form of distance to a box and to a triangle, in the half plane (distance from the axis, height).
//! Differs: a point and its closest point lie in one half plane, as the profiles are convex; so two coordinates suffice.

use super::super::source::Sample;
use super::{Analytic, ShapeError, finite, positive};
use glam::{DVec2, DVec3};

impl Analytic {
    /// A cylinder with flat ends in `a` and `b`, whose axis is the segment between them.
    ///
    /// # Errors
    /// A number that is not finite, a radius that is not positive, ends that are the same.
    pub fn cylinder(a: DVec3, b: DVec3, radius: f64) -> Result<Self, ShapeError> {
        finite("cylinder", "a", a)?;
        finite("cylinder", "b", b)?;
        positive("cylinder", "radius", radius)?;
        has_axis("cylinder", b - a)?;
        Ok(Self::Cylinder { a, b, radius })
    }

    /// A cone from the disc of `radius` around `base` to `apex`; the disc is across the axis.
    ///
    /// # Errors
    /// A number that is not finite, a radius that is not positive, an apex in the base's middle.
    pub fn cone(base: DVec3, apex: DVec3, radius: f64) -> Result<Self, ShapeError> {
        finite("cone", "base", base)?;
        finite("cone", "apex", apex)?;
        positive("cone", "radius", radius)?;
        has_axis("cone", apex - base)?;
        Ok(Self::Cone { base, apex, radius })
    }
}

fn has_axis(shape: &'static str, axis: DVec3) -> Result<(), ShapeError> {
    let length = axis.length();
    // Also refuses lengths whose squares overflow or vanish.
    if length.is_normal() && axis.try_normalize().is_some() {
        Ok(())
    } else {
        Err(ShapeError::NoDirection { shape, what: "axis", length })
    }
}

/// What is known in the half plane: (distance from the axis, height).
struct Flat {
    distance: f64,
    gradient: DVec2,
    /// The closest point of the profile.
    foot: DVec2,
}

/// Distance, gradient and closest point of the cylinder.
pub(super) fn cylinder(a: DVec3, b: DVec3, radius: f64, p: DVec3) -> (Sample, DVec3) {
    let (axis, length) = ((b - a).normalize_or_zero(), (b - a).length());
    turned(0.5 * (a + b), axis, p, |q| rectangle(q, DVec2::new(radius, 0.5 * length)))
}

/// Distance, gradient and closest point of the cone.
pub(super) fn cone(base: DVec3, apex: DVec3, radius: f64, p: DVec3) -> (Sample, DVec3) {
    let (axis, height) = ((apex - base).normalize_or_zero(), (apex - base).length());
    turned(base, axis, p, |q| triangle(q, radius, height))
}

/// A profile's answer at `p`, turned around the axis through `origin`.
fn turned(origin: DVec3, axis: DVec3, p: DVec3, profile: impl Fn(DVec2) -> Flat) -> (Sample, DVec3) {
    let v = p - origin;
    let height = axis.dot(v);
    let away = v - height * axis;
    let flat = profile(DVec2::new(away.length(), height));
    let direction = away.try_normalize();
    let gradient = match direction {
        // On the axis a whole circle is closest, unless the closest point is on the axis too.
        None if flat.gradient.x != 0.0 => DVec3::ZERO,
        _ => flat.gradient.x * direction.unwrap_or_default() + flat.gradient.y * axis,
    };
    let direction = direction.unwrap_or_else(|| axis.any_orthonormal_vector());
    (Sample { distance: flat.distance, gradient }, origin + flat.foot.x * direction + flat.foot.y * axis)
}

/// The profile of a cylinder of half height `half.y`.
fn rectangle(q: DVec2, half: DVec2) -> Flat {
    let side = if q.y < 0.0 { -1.0 } else { 1.0 };
    let beyond = DVec2::new(q.x - half.x, q.y.abs() - half.y);
    let out = beyond.max(DVec2::ZERO);
    if out != DVec2::ZERO {
        let foot = DVec2::new(q.x.min(half.x), q.y.clamp(-half.y, half.y));
        let gradient = out.normalize_or_zero() * DVec2::new(1.0, side);
        return Flat { distance: out.length(), gradient, foot };
    }
    // Inside or on the surface: the nearest side decides, unless two are equally near.
    if beyond.x > beyond.y {
        Flat { distance: beyond.x, gradient: DVec2::X, foot: DVec2::new(half.x, q.y) }
    } else {
        let unique = beyond.x != beyond.y && q.y != 0.0;
        let gradient = if unique { DVec2::new(0.0, side) } else { DVec2::ZERO };
        Flat { distance: beyond.y, gradient, foot: DVec2::new(q.x, half.y * side) }
    }
}

/// The profile of a cone: base on the axis of distances, apex at `height`.
fn triangle(q: DVec2, radius: f64, height: f64) -> Flat {
    let (rim, apex) = (DVec2::new(radius, 0.0), DVec2::new(0.0, height));
    let along = (apex - rim).normalize_or_zero();
    let normal = DVec2::new(along.y, -along.x);
    let (above, below) = (normal.dot(q - rim), -q.y);
    if above.max(below) <= 0.0 {
        return if above > below {
            Flat { distance: above, gradient: normal, foot: q - above * normal }
        } else {
            let gradient = if above == below { DVec2::ZERO } else { DVec2::NEG_Y };
            Flat { distance: below, gradient, foot: DVec2::new(q.x, 0.0) }
        };
    }
    // Outside: the base, the slope, or one of their ends.
    if below > 0.0 && q.x <= radius {
        return Flat { distance: below, gradient: DVec2::NEG_Y, foot: DVec2::new(q.x, 0.0) };
    }
    let t = along.dot(q - rim);
    if above > 0.0 && t > 0.0 && t < along.dot(apex - rim) {
        return Flat { distance: above, gradient: normal, foot: q - above * normal };
    }
    let foot = if t <= 0.0 { rim } else { apex };
    let v = q - foot;
    Flat { distance: v.length(), gradient: v.normalize_or_zero(), foot }
}
