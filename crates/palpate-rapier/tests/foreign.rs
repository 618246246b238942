//! A shape of another crate, which only projects points; and a thread.

mod common;

use common::{build, fixed, moving, ring, world};
use glam::DVec3;
use palpate::mesh::samples;
use palpate_rapier::{PalpateDispatcher, tuned};
use parry3d::bounding_volume::{Aabb, BoundingSphere};
use parry3d::mass_properties::MassProperties;
use parry3d::query::{PointProjection, PointQuery, Ray, RayCast, RayIntersection};
use parry3d::shape::{Ball, FeatureId, Shape, ShapeType, SharedShape, TypedShape};
use rapier3d::prelude::*;
use std::f32::consts::TAU;

/// A ball that Parry does not know.
#[derive(Clone, Copy)]
struct Foreign(Ball);

impl RayCast for Foreign {
    fn cast_local_ray_and_get_normal(&self, ray: &Ray, most: Real, solid: bool) -> Option<RayIntersection> {
        self.0.cast_local_ray_and_get_normal(ray, most, solid)
    }
}

impl PointQuery for Foreign {
    fn project_local_point(&self, pt: Vector, solid: bool) -> PointProjection {
        self.0.project_local_point(pt, solid)
    }
    fn project_local_point_and_get_feature(&self, pt: Vector) -> (PointProjection, FeatureId) {
        self.0.project_local_point_and_get_feature(pt)
    }
}

impl Shape for Foreign {
    fn compute_local_aabb(&self) -> Aabb {
        self.0.compute_local_aabb()
    }
    fn compute_local_bounding_sphere(&self) -> BoundingSphere {
        self.0.compute_local_bounding_sphere()
    }
    fn clone_dyn(&self) -> Box<dyn Shape> {
        Box::new(*self)
    }
    fn scale_dyn(&self, _: Vector, _: u32) -> Option<Box<dyn Shape>> {
        None
    }
    fn mass_properties(&self, density: Real) -> MassProperties {
        self.0.mass_properties(density)
    }
    fn shape_type(&self) -> ShapeType {
        ShapeType::Custom
    }
    fn as_typed_shape(&self) -> TypedShape<'_> {
        TypedShape::Custom(self)
    }
    fn ccd_thickness(&self) -> Real {
        self.0.ccd_thickness()
    }
    fn ccd_angular_thickness(&self) -> Real {
        self.0.ccd_angular_thickness()
    }
}

#[test]
fn a_ring_rests_on_a_foreign_ball() {
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 0.3);
    fixed(&mut world, SharedShape::new(Foreign(Ball::new(0.25))), Pose::IDENTITY);
    let body = moving(&mut world, ring(), Pose::new(Vector::Y * 0.3, Vector::new(0.02, 0.0, 0.01)));
    for _ in 0..240 {
        world.step();
    }
    assert_eq!(dispatcher.built(), 1);
    let b = &world.bodies[body];
    // As on a ball; the surface is within a voxel of 1 cm squared over the diameter.
    let want = (0.3_f32 * 0.3 - 0.04).sqrt();
    assert!((b.translation().y - want).abs() < 3e-3, "{} but {want}", b.translation());
    assert!(b.linvel().length() + b.angvel().length() < 2e-3);
}

/// A nut without friction turns down its bolt by its weight, one pitch of 2 mm a turn.
#[test]
fn a_nut_turns_down_its_bolt() {
    let (bolt, nut) = samples::nut_and_bolt(6);
    let (bolt, nut) = (build(bolt, 2e-4), build(samples::moved(nut, DVec3::Z * 6e-3), 2e-4));
    let mut world = world(&PalpateDispatcher::new(), 0.024);
    world.integration_parameters = tuned(world.integration_parameters, 0.024);
    world.integration_parameters.dt = 1.0 / 240.0;
    world.gravity = Vector::Z * -9.81;
    world.insert(RigidBodyBuilder::fixed(), ColliderBuilder::new(bolt.into()).friction(0.0));
    let steel = ColliderBuilder::new(nut.into()).density(7800.0).friction(0.0);
    let (nut, _) = world.insert(RigidBodyBuilder::dynamic().can_sleep(false), steel);
    let (mut turned, mut deepest) = (0.0, 0.0_f32);
    for _ in 0..240 {
        world.step();
        turned += world.bodies[nut].angvel().z / (240.0 * TAU);
        for pair in world.contact_pairs() {
            deepest = pair.manifolds().iter().flat_map(|m| &m.points).fold(deepest, |d, p| d.min(p.dist));
        }
    }
    let at = 1e3 * world.bodies[nut].translation();
    println!("{at} mm, {turned} turns, {} mm deep", 1e3 * deepest);
    // Before it turns it sinks by the gap between the threads.
    assert!(at.z < -1.5 && at.x.abs() < 0.3 && at.y.abs() < 0.3, "{at} mm");
    assert!((-at.z / -turned - 2.0).abs() < 0.2, "{at} mm, {turned} turns");
    assert!(deepest > -1e-4, "{deepest} m deep");
}
