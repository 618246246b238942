//! Shapes of Parry as what palpate can collide with.

use crate::convert::{wide, wide_pose};
use crate::shape::{ContactOptions, PalpateShape};
use glam::DVec3;
use palpate::field::Source;
use palpate::field::analytic::Analytic;
use palpate::manifold::Collider;
use palpate::mesh::RawMesh;
use parry3d::bounding_volume::Aabb;
use parry3d::math::Vector;
use parry3d::shape::{
    Cone, ConvexPolyhedron, Cylinder, Segment, Shape, ShapeType, SharedShape, Triangle, TypedShape,
};

/// Half thickness of a segment or a triangle, which have none, unless said otherwise [their length]. Larger: they stand out too far.
/// Smaller: what moves fast passes through.
pub(crate) const THIN: f64 = 0.005;

/// Half thickness of a triangle that is rounded [its border].
const INNER: f64 = 0.02;

/// One rigid part of a shape.
#[derive(Clone)]
pub(crate) struct Part {
    /// The shape's frame from the part's.
    pub(crate) from: palpate::Pose,
    pub(crate) collider: Collider,
    /// Of a shape of ours; none for Parry's.
    pub(crate) options: Option<ContactOptions>,
    /// Where it is, in the shape's frame [m].
    pub(crate) aabb: Aabb,
    /// What Parry numbers it.
    pub(crate) index: u32,
    /// How deep another part may be in it and still be pushed out on the right side, about [m].
    pub(crate) thickness: f64,
    /// The part itself; none if it is the whole shape.
    pub(crate) shape: Option<SharedShape>,
}

/// What a shape of Parry is made of.
pub(crate) enum Form {
    /// A solid by formula.
    Solid(Analytic),
    /// Triangles, and whether an open surface is solid below its front.
    Triangles(RawMesh),
    /// Something that only projects points.
    Projected,
    /// Nothing that can be touched.
    Nothing,
}

/// What a shape, which is no compound, no polyline and not ours, is made of. `thin` is the half thickness of what has none [m].
pub(crate) fn form(shape: &dyn Shape, thin: Option<f64>) -> Form {
    let triangles = |(positions, triangles): (Vec<Vector>, Vec<[u32; 3]>)| {
        Form::Triangles(RawMesh { positions: positions.into_iter().map(wide).collect(), triangles })
    };
    match shape.as_typed_shape() {
        TypedShape::TriMesh(mesh) => triangles((mesh.vertices().to_vec(), mesh.indices().to_vec())),
        TypedShape::HeightField(field) => triangles(field.to_trimesh()),
        TypedShape::Voxels(voxels) => triangles(voxels.to_trimesh()),
        TypedShape::Custom(_) => Form::Projected,
        TypedShape::Compound(_) | TypedShape::Polyline(_) => Form::Nothing,
        // A polyhedron that is no hull up to rounding, or has too many faces, still has triangles.
        TypedShape::ConvexPolyhedron(hull) => {
            solid(shape, thin).map_or_else(|| triangles(hull.to_trimesh()), Form::Solid)
        }
        _ => solid(shape, thin).map_or(Form::Nothing, Form::Solid),
    }
}

/// A primitive as a solid by formula; none for one without size, or with a number that is not finite.
fn solid(shape: &dyn Shape, thin: Option<f64>) -> Option<Analytic> {
    let rounded = |inner: Option<Analytic>, radius: f32| inner?.rounded(f64::from(radius)).ok();
    match shape.as_typed_shape() {
        TypedShape::Ball(s) => Analytic::sphere(DVec3::ZERO, s.radius.into()).ok(),
        TypedShape::Cuboid(s) => Analytic::cuboid(DVec3::ZERO, wide(s.half_extents)).ok(),
        TypedShape::Capsule(s) => {
            Analytic::capsule(wide(s.segment.a), wide(s.segment.b), s.radius.into()).ok()
        }
        TypedShape::HalfSpace(s) => Analytic::half_space(wide(s.normal), 0.0).ok(),
        TypedShape::Segment(s) => segment(s, thin),
        TypedShape::Triangle(s) => triangle(s, thin),
        TypedShape::Cylinder(s) => cylinder(s),
        TypedShape::Cone(s) => cone(s),
        TypedShape::ConvexPolyhedron(s) => hull(s),
        TypedShape::RoundCuboid(s) => {
            rounded(Analytic::cuboid(DVec3::ZERO, wide(s.inner_shape.half_extents)).ok(), s.border_radius)
        }
        TypedShape::RoundTriangle(s) => {
            rounded(triangle(&s.inner_shape, Some(INNER * f64::from(s.border_radius))), s.border_radius)
        }
        TypedShape::RoundCylinder(s) => rounded(cylinder(&s.inner_shape), s.border_radius),
        TypedShape::RoundCone(s) => rounded(cone(&s.inner_shape), s.border_radius),
        TypedShape::RoundConvexPolyhedron(s) => rounded(hull(&s.inner_shape), s.border_radius),
        _ => None,
    }
}

/// A capsule around the segment.
pub(crate) fn segment(s: &Segment, thin: Option<f64>) -> Option<Analytic> {
    let (a, b) = (wide(s.a), wide(s.b));
    Analytic::capsule(a, b, thin.unwrap_or(THIN * a.distance(b))).ok()
}

/// A plate with the triangle in its middle.
fn triangle(s: &Triangle, thin: Option<f64>) -> Option<Analytic> {
    let [a, b, c] = [s.a, s.b, s.c].map(wide);
    let n = (b - a).cross(c - a).try_normalize()?;
    let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
    let half = n * thin.unwrap_or(THIN * longest);
    let positions = [a + half, b + half, c + half, a - half, b - half, c - half];
    let triangles = [[0, 1, 2], [5, 4, 3], [0, 3, 1], [3, 4, 1], [1, 4, 2], [4, 5, 2], [2, 5, 0], [5, 3, 0]];
    Analytic::hull(&positions, &triangles).ok()
}

/// Parry's axis is y.
fn cylinder(s: &Cylinder) -> Option<Analytic> {
    let end = DVec3::Y * f64::from(s.half_height);
    Analytic::cylinder(-end, end, s.radius.into()).ok()
}

/// Parry's axis is y, the tip above.
fn cone(s: &Cone) -> Option<Analytic> {
    let end = DVec3::Y * f64::from(s.half_height);
    Analytic::cone(-end, end, s.radius.into()).ok()
}

fn hull(s: &ConvexPolyhedron) -> Option<Analytic> {
    let (positions, triangles) = s.to_trimesh();
    let positions: Vec<DVec3> = positions.into_iter().map(wide).collect();
    Analytic::hull(&positions, &triangles).ok()
}

/// Half the thickness, about [m]: of ours and of what was built volume over area.
fn thickness(collider: &Collider, shape: &dyn Shape) -> f64 {
    match collider {
        Collider::Shape(core) => {
            let report = core.mesh().report();
            if report.area > 0.0 { report.volume.abs() / report.area } else { 0.0 }
        }
        // Parry's segments and triangles have none; the solids made of them do.
        Collider::Solid(solid) => match shape.shape_type() {
            ShapeType::Segment | ShapeType::Triangle => 0.5 * solid.aabb().extent().min_element(),
            _ => shape.ccd_thickness().into(),
        },
    }
}

/// The shape of ours that a collider is, if it is one.
pub(crate) fn ours(shape: &dyn Shape) -> Option<&PalpateShape> {
    shape.as_shape::<PalpateShape>()
}

/// Whether a shape is ours, or a compound that holds one.
pub(crate) fn holds_ours(shape: &dyn Shape) -> bool {
    match shape.as_typed_shape() {
        TypedShape::Custom(_) => ours(shape).is_some(),
        TypedShape::Compound(compound) => compound.shapes().iter().any(|(_, s)| ours(&**s).is_some()),
        _ => false,
    }
}

impl Part {
    /// A whole shape.
    pub(crate) fn whole(collider: Collider, options: Option<ContactOptions>, shape: &dyn Shape) -> Self {
        Self {
            from: palpate::Pose::IDENTITY,
            thickness: thickness(&collider, shape),
            collider,
            options,
            aabb: shape.compute_local_aabb(),
            index: 0,
            shape: None,
        }
    }

    /// What Parry has for this part of `whole`.
    pub(crate) fn shape_in<'a>(&'a self, whole: &'a dyn Shape) -> &'a dyn Shape {
        self.shape.as_deref().unwrap_or(whole)
    }

    /// One of a compound: `parent_from` is where it is.
    pub(crate) fn of_compound(
        collider: Collider,
        shape: &SharedShape,
        parent_from: &parry3d::math::Pose,
        index: usize,
    ) -> Self {
        Self {
            from: wide_pose(parent_from),
            thickness: thickness(&collider, &**shape),
            collider,
            options: ours(&**shape).map(PalpateShape::options),
            aabb: shape.compute_aabb(parent_from),
            index: index as u32,
            shape: Some(shape.clone()),
        }
    }
}
