//! Rays against a shape, and points projected on it.

use crate::convert::{narrow, wide};
use crate::shape::PalpateShape;
use glam::DVec3;
use palpate::mesh::{CapParams, cap_holes};
use parry3d::math::{Real, Vector};
use parry3d::query::{PointProjection, PointQuery, Ray, RayCast, RayIntersection};
use parry3d::shape::{FeatureId, TriMesh};

/// The triangles, those of caps last, and a tree over them: rays hit exactly what fields are made from.
pub(crate) struct Surface {
    /// None for a surface without triangles that single precision can tell apart.
    mesh: Option<TriMesh>,
}

impl Surface {
    pub(crate) fn new(core: &palpate::Shape) -> Self {
        let mesh = core.mesh();
        let mut positions: Vec<Vector> = mesh.positions().iter().copied().map(narrow).collect();
        let mut triangles = mesh.triangles().to_vec();
        if core.field().report().caps() > 0 {
            let caps = cap_holes(mesh.positions(), mesh.triangles(), mesh.topology(), &CapParams::default());
            positions.extend(caps.positions.iter().copied().map(narrow));
            triangles.extend_from_slice(&caps.triangles);
        }
        Self { mesh: TriMesh::new(positions, triangles).ok() }
    }
}

impl RayCast for PalpateShape {
    /// The first triangle on the ray, in units of its direction. A ray that starts inside hits at 0 if `solid`, else where it leaves.
    /// The first ray builds a tree over the triangles.
    fn cast_local_ray_and_get_normal(
        &self,
        ray: &Ray,
        max_time_of_impact: Real,
        solid: bool,
    ) -> Option<RayIntersection> {
        if !(ray.origin.is_finite() && ray.dir.is_finite()) {
            return None;
        }
        if solid && self.contains_local_point(ray.origin) {
            return Some(RayIntersection::new(0.0, Vector::ZERO, FeatureId::Unknown));
        }
        let mesh = self.surface().mesh.as_ref()?;
        let hit = mesh.cast_local_ray_and_get_normal(ray, max_time_of_impact, false)?;
        let count = mesh.indices().len() as u32;
        // Parry numbers the back of a triangle after all fronts.
        let face = match hit.feature {
            FeatureId::Face(i) if i >= count => i - count,
            FeatureId::Face(i) => i,
            _ => return Some(RayIntersection { feature: FeatureId::Unknown, subshape: 0, ..hit }),
        };
        // Against the ray, as Parry's own shapes have it, also from inside.
        let normal = if hit.normal.dot(ray.dir) > 0.0 { -hit.normal } else { hit.normal };
        Some(RayIntersection { feature: FeatureId::Face(face), subshape: 0, normal, ..hit })
    }
}

/// What is known of a point near a shape.
struct Place {
    point: DVec3,
    triangle: u32,
    inside: bool,
}

impl PalpateShape {
    /// The exact closest point; inside or not by the field, and so near the surface that it cannot tell, by the triangle.
    fn place(&self, p: DVec3) -> Place {
        let core = self.core();
        let closest = core.exact().closest(p, None);
        let (field, mesh) = (core.field(), core.mesh());
        let sample = field.sample(p).distance;
        let inside = if closest.distance <= field.report().error_bound_band
            && (closest.triangle as usize) < mesh.triangles().len()
        {
            let [a, b, c] = mesh.corners(closest.triangle as usize);
            (b - a).cross(c - a).dot(p - closest.point) <= 0.0
        } else {
            sample < 0.0
        };
        Place { point: closest.point, triangle: closest.triangle, inside }
    }
}

impl PointQuery for PalpateShape {
    fn project_local_point(&self, pt: Vector, solid: bool) -> PointProjection {
        let place = self.place(wide(pt));
        // A point that is not finite has no place: it stays where it is, outside.
        if !place.point.is_finite() || (place.inside && solid) {
            return PointProjection::new(place.inside && pt.is_finite(), pt);
        }
        PointProjection::new(place.inside, narrow(place.point))
    }

    fn project_local_point_and_get_feature(&self, pt: Vector) -> (PointProjection, FeatureId) {
        let place = self.place(wide(pt));
        if !place.point.is_finite() {
            return (PointProjection::new(false, pt), FeatureId::Unknown);
        }
        (PointProjection::new(place.inside, narrow(place.point)), FeatureId::Face(place.triangle))
    }
}
