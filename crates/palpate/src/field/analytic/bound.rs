//! What is certain about a shape: bounds of its distance, its box, and the rounding of both.

use super::{Analytic, rounded};
use crate::math::Aabb;
use glam::{DQuat, DVec3};

/// Rounding of one distance, relative to the largest coordinate that enters it [1]. A primitive under a rotation
/// takes about 12 roundings; each nested transform adds its own magnitude. Smaller: bounds can miss the truth by
/// an ulp. Larger: bounds are needlessly wide, still far below any voxel.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// How many parts of a union one walk towards its surface may cross before the box of the union decides.
const WALK_STEPS: usize = 16;

impl Analytic {
    /// How far rounding can move the distance at `p` [m].
    pub(super) fn rounding(&self, p: DVec3) -> f64 {
        ROUNDING * (p.abs().max_element() + self.magnitude()) + self.slack()
    }

    /// How far what was given is from what is measured [m].
    fn slack(&self) -> f64 {
        match self {
            Self::Hull(hull) => hull.slack(),
            Self::Union(shapes) => shapes.iter().map(Self::slack).fold(0.0, f64::max),
            Self::Rounded { shape, .. } | Self::Transform { shape, .. } => shape.slack(),
            _ => 0.0,
        }
    }

    /// Largest coordinate or size that enters the distance [m].
    fn magnitude(&self) -> f64 {
        match *self {
            Self::Sphere { centre, radius } => centre.abs().max_element() + radius,
            Self::Box { centre, half_extents } => centre.abs().max_element() + half_extents.max_element(),
            Self::Capsule { a, b, radius } => a.abs().max(b.abs()).max_element() + radius,
            Self::Torus { major, minor } => major + minor,
            Self::HalfSpace { offset, .. } => offset.abs(),
            Self::Cylinder { a, b, radius } => a.abs().max(b.abs()).max_element() + radius,
            Self::Cone { base, apex, radius } => base.abs().max(apex.abs()).max_element() + radius,
            Self::Hull(ref hull) => hull.aabb().min.abs().max(hull.aabb().max.abs()).max_element(),
            Self::Rounded { ref shape, radius } => shape.magnitude() + radius,
            Self::Union(ref shapes) => shapes.iter().map(Self::magnitude).fold(0.0, f64::max),
            Self::Transform { translation, ref shape, .. } => {
                2.0 * translation.abs().max_element() + shape.magnitude()
            }
        }
    }

    /// Bounds at a finite point, without rounding.
    pub(super) fn bounds_at(&self, p: DVec3) -> (f64, f64) {
        match *self {
            Self::Union(ref shapes) => {
                let upper = shapes.iter().map(|s| s.bounds_at(p).1).fold(f64::INFINITY, f64::min);
                // Outside all parts the nearest part is the nearest of all, and the sign is always right.
                if upper >= 0.0 {
                    return (upper, upper);
                }
                // Inside, the depth is at most the way to any point outside: one walk to the surface, or the box.
                let walk = walk_out(shapes, p).map_or(f64::INFINITY, |q| q.distance(p));
                let room = self.solid_box();
                let sides = (p - room.min).min(room.max - p).min_element();
                (-(walk.min(sides)), upper)
            }
            Self::Transform { rotation, translation, ref shape } => {
                shape.bounds_at(rotation.inverse() * (p - translation))
            }
            Self::Rounded { ref shape, radius } => rounded::bounds(shape, radius, p),
            _ => {
                let d = self.sample_at(p).distance;
                (d, d)
            }
        }
    }

    /// The box of the surface of this shape after `rotation`, then `translation`.
    pub(super) fn aabb_under(&self, rotation: DQuat, translation: DVec3) -> Aabb {
        let place = |p: DVec3| rotation * p + translation;
        match *self {
            Self::Sphere { centre, radius } => Aabb::of_points([place(centre)]).padded(radius),
            Self::Box { centre, half_extents } => {
                let axis = |e: DVec3| (rotation * e).abs();
                let reach = half_extents.x * axis(DVec3::X)
                    + half_extents.y * axis(DVec3::Y)
                    + half_extents.z * axis(DVec3::Z);
                Aabb { min: place(centre) - reach, max: place(centre) + reach }
            }
            Self::Capsule { a, b, radius } => Aabb::of_points([place(a), place(b)]).padded(radius),
            Self::Torus { major, minor } => {
                let reach = major * disc(rotation * DVec3::Z) + minor;
                Aabb { min: translation - reach, max: translation + reach }
            }
            Self::HalfSpace { normal, offset } => {
                let n = rotation * normal;
                let height = offset + n.dot(translation);
                let mut all = Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
                // Only a plane across an axis is bounded along it.
                for axis in 0..3 {
                    if n[axis].abs() == 1.0 {
                        all.min[axis] = height * n[axis];
                        all.max[axis] = height * n[axis];
                    }
                }
                all
            }
            Self::Cylinder { a, b, radius } => {
                let reach = radius * disc(rotation * (b - a).normalize_or_zero());
                let ends = Aabb::of_points([place(a), place(b)]);
                Aabb { min: ends.min - reach, max: ends.max + reach }
            }
            Self::Cone { base, apex, radius } => {
                let reach = radius * disc(rotation * (apex - base).normalize_or_zero());
                Aabb { min: place(base) - reach, max: place(base) + reach }.grow(place(apex))
            }
            Self::Hull(ref hull) => Aabb::of_points(hull.positions().iter().map(|p| place(*p))),
            Self::Rounded { ref shape, radius } => shape.aabb_under(rotation, translation).padded(radius),
            Self::Union(ref shapes) => {
                shapes.iter().fold(Aabb::EMPTY, |all, s| all.union(s.aabb_under(rotation, translation)))
            }
            Self::Transform { rotation: inner, translation: moved, ref shape } => {
                shape.aabb_under(rotation * inner, place(moved))
            }
        }
    }

    /// A box that holds the solid, not only its surface.
    fn solid_box(&self) -> Aabb {
        if self.is_bounded() {
            self.aabb_under(DQuat::IDENTITY, DVec3::ZERO)
        } else {
            Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY }
        }
    }

    fn is_bounded(&self) -> bool {
        match self {
            Self::HalfSpace { .. } => false,
            Self::Union(shapes) => shapes.iter().all(Self::is_bounded),
            Self::Rounded { shape, .. } | Self::Transform { shape, .. } => shape.is_bounded(),
            _ => true,
        }
    }
}

/// How far the unit circle around the unit axis `n` reaches along each axis: √(1 − n²), without the cancellation.
fn disc(n: DVec3) -> DVec3 {
    DVec3::new(n.y.hypot(n.z), n.z.hypot(n.x), n.x.hypot(n.y))
}

/// A point that no shape covers, found by leaving the deepest shape through its nearest surface point, again and
/// again; `None` when that does not end.
fn walk_out(shapes: &[Analytic], p: DVec3) -> Option<DVec3> {
    let mut q = p;
    for _ in 0..WALK_STEPS {
        let depth = |s: &Analytic| s.sample_at(q).distance + s.rounding(q);
        let deepest = shapes.iter().map(|s| (depth(s), s)).min_by(|a, b| a.0.total_cmp(&b.0))?;
        if deepest.0 >= 0.0 {
            return Some(q);
        }
        q = deepest.1.closest_at(q)?;
    }
    None
}
