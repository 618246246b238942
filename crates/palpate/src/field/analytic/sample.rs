//! Distance, gradient and closest point of each shape.
//!
//! Based on: the closed forms of distance to a point, a box, a segment, a circle and a plane.
//! Differs: gradients are exactly zero, not arbitrary, where the closest point is not unique.

use super::super::source::Sample;
use super::{Analytic, revolved, rounded};
use glam::{DVec2, DVec3};

impl Analytic {
    /// Distance and gradient at a finite point.
    pub(super) fn sample_at(&self, p: DVec3) -> Sample {
        match *self {
            Self::Sphere { centre, radius } => around(p - centre, radius),
            Self::Box { centre, half_extents } => cuboid(p - centre, half_extents),
            Self::Capsule { a, b, radius } => around(p - on_segment(a, b, p), radius),
            Self::Torus { major, minor } => torus(p, major, minor),
            Self::HalfSpace { normal, offset } => {
                Sample { distance: normal.dot(p) - offset, gradient: normal }
            }
            Self::Cylinder { a, b, radius } => revolved::cylinder(a, b, radius, p).0,
            Self::Cone { base, apex, radius } => revolved::cone(base, apex, radius, p).0,
            Self::Hull(ref hull) => hull.at(p).0,
            Self::Rounded { ref shape, radius } => rounded::sample(shape, radius, p),
            Self::Union(ref shapes) => {
                let none = Sample { distance: f64::INFINITY, gradient: DVec3::ZERO };
                shapes.iter().map(|s| s.sample_at(p)).fold(none, nearer)
            }
            Self::Transform { rotation, translation, ref shape } => {
                let s = shape.sample_at(rotation.inverse() * (p - translation));
                Sample { distance: s.distance, gradient: rotation * s.gradient }
            }
        }
    }

    /// The closest surface point to a finite point; `None` where a union or a rounded ring does not know it.
    pub(super) fn closest_at(&self, p: DVec3) -> Option<DVec3> {
        match *self {
            Self::Sphere { centre, radius } => Some(centre + radius * direction_or(p - centre, DVec3::X)),
            Self::Box { centre, half_extents } => Some(centre + on_cuboid(p - centre, half_extents)),
            Self::Capsule { a, b, radius } => {
                let foot = on_segment(a, b, p);
                Some(
                    foot + radius
                        * direction_or(
                            p - foot,
                            (b - a).try_normalize().map_or(DVec3::X, |u| u.any_orthonormal_vector()),
                        ),
                )
            }
            Self::Torus { major, minor } => {
                let foot = on_circle(p, major);
                Some(foot + minor * direction_or(p - foot, DVec3::Z))
            }
            Self::HalfSpace { normal, offset } => Some(p - (normal.dot(p) - offset) * normal),
            Self::Cylinder { a, b, radius } => Some(revolved::cylinder(a, b, radius, p).1),
            Self::Cone { base, apex, radius } => Some(revolved::cone(base, apex, radius, p).1),
            Self::Hull(ref hull) => Some(hull.at(p).1),
            Self::Rounded { ref shape, radius } => rounded::closest(shape, radius, p),
            Self::Union(ref shapes) => {
                let deepest = shapes
                    .iter()
                    .min_by(|a, b| a.sample_at(p).distance.total_cmp(&b.sample_at(p).distance))?;
                let q = deepest.closest_at(p)?;
                // Inside, the point must not be covered by another part; outside it never is.
                let covered =
                    |s: &Self| !std::ptr::eq(s, deepest) && s.sample_at(q).distance < -s.rounding(q);
                if shapes.iter().any(covered) { None } else { Some(q) }
            }
            Self::Transform { rotation, translation, ref shape } => {
                let q = shape.closest_at(rotation.inverse() * (p - translation))?;
                Some(rotation * q + translation)
            }
        }
    }
}

/// The smaller of two samples; no gradient where equal distances have different ones.
fn nearer(a: Sample, b: Sample) -> Sample {
    if b.distance < a.distance {
        b
    } else if b.distance == a.distance && b.gradient != a.gradient {
        Sample { gradient: DVec3::ZERO, ..a }
    } else {
        a
    }
}

/// Distance to the offset by `radius` of a point, segment or circle, `v` being the vector from its closest point.
fn around(v: DVec3, radius: f64) -> Sample {
    Sample { distance: v.length() - radius, gradient: v.normalize_or_zero() }
}

/// The unit vector along `v`, or `other` when `v` is too short to have a direction.
fn direction_or(v: DVec3, other: DVec3) -> DVec3 {
    v.try_normalize().unwrap_or(other)
}

/// The closest point of the segment from `a` to `b`.
fn on_segment(a: DVec3, b: DVec3, p: DVec3) -> DVec3 {
    let ab = b - a;
    let length_sq = ab.length_squared();
    // A segment without length is a point; 0/0 must not reach the product.
    if length_sq == 0.0 { a } else { a + ((p - a).dot(ab) / length_sq).clamp(0.0, 1.0) * ab }
}

/// The closest point of the circle of radius `major` in the xy plane; the one on +x for a point on the axis.
fn on_circle(p: DVec3, major: f64) -> DVec3 {
    let radial = DVec2::new(p.x, p.y).try_normalize().unwrap_or(DVec2::X);
    (major * radial).extend(0.0)
}

fn torus(p: DVec3, major: f64, minor: f64) -> Sample {
    let radial = DVec2::new(p.x, p.y).try_normalize();
    let sample = around(p - on_circle(p, major), minor);
    // On the axis a whole circle is closest.
    if radial.is_none() { Sample { gradient: DVec3::ZERO, ..sample } } else { sample }
}

/// `p` is relative to the centre.
fn cuboid(p: DVec3, half: DVec3) -> Sample {
    let q = p.abs() - half;
    let out = q.max(DVec3::ZERO);
    if out != DVec3::ZERO {
        return Sample { distance: out.length(), gradient: out.normalize_or_zero() * p.signum() };
    }
    // Inside or on the surface: the nearest face decides, unless two are equally near.
    let distance = q.max_element();
    let nearest = DVec3::select(q.cmpeq(DVec3::splat(distance)), DVec3::ONE, DVec3::ZERO);
    let unique = nearest.element_sum() == 1.0 && nearest.dot(p) != 0.0;
    Sample { distance, gradient: if unique { nearest * p.signum() } else { DVec3::ZERO } }
}

/// The closest surface point, relative to the centre as `p`.
fn on_cuboid(p: DVec3, half: DVec3) -> DVec3 {
    let mut foot = p.clamp(-half, half);
    let q = p.abs() - half;
    if q.max_element() < 0.0 {
        let axis = q.max_position();
        foot[axis] = half[axis].copysign(p[axis]);
    }
    foot
}
