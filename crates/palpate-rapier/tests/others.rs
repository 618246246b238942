//! Pairs of Rapier's own shapes in a world with our dispatcher: they move as in a world without it, bit for bit.

mod common;

use common::{cube, fixed, moving, world};
use palpate_rapier::PalpateDispatcher;
use parry3d::shape::SharedShape;
use rapier3d::prelude::*;

/// A pile of Rapier's shapes on a half-space, with or without us: where everything is after each step.
fn course(ours: bool, restitution: f32) -> Vec<[f32; 7]> {
    let mut world = PhysicsWorld::new();
    if ours {
        world.narrow_phase = NarrowPhase::with_query_dispatcher(PalpateDispatcher::new().chained());
    }
    world.gravity = Vector::Y * -9.81;
    world.integration_parameters.dt = 1.0 / 200.0;
    world.insert(RigidBodyBuilder::fixed(), ColliderBuilder::new(SharedShape::halfspace(Vector::Y)));
    let corners: Vec<Vector> = (0..8u8)
        .map(|i| Vector::new(f32::from(i & 1), f32::from(i >> 1 & 1), f32::from(i >> 2 & 1)) - 0.5)
        .collect();
    let hull = SharedShape::convex_hull(&corners).expect("a cube has a hull");
    let two = [
        (Pose::translation(-0.3, 0.0, 0.0), SharedShape::ball(0.3)),
        (Pose::translation(0.3, 0.0, 0.0), hull),
    ];
    let shapes =
        [SharedShape::ball(0.5), SharedShape::cuboid(0.4, 0.3, 0.5), SharedShape::compound(two.to_vec())];
    let mut bodies = Vec::new();
    for (i, shape) in shapes.iter().cycle().take(6).enumerate() {
        let start =
            Pose::new(Vector::new(0.1 * i as f32, 1.0 + 1.3 * i as f32, 0.0), Vector::splat(0.1 * i as f32));
        let body = RigidBodyBuilder::dynamic().pose(start).can_sleep(false);
        bodies.push(world.insert(body, ColliderBuilder::new(shape.clone()).restitution(restitution)).0);
    }
    let mut course = Vec::new();
    for _ in 0..600 {
        world.step();
        for body in &bodies {
            let (p, q) = (world.bodies[*body].translation(), world.bodies[*body].rotation());
            course.push([p.x, p.y, p.z, q.x, q.y, q.z, q.w]);
        }
    }
    course
}

/// They lost what their solver had kept, and where it had kept it: with restitution a ball ended the program.
#[test]
fn pairs_without_us_move_as_without_us() {
    for restitution in [0.0, 0.5, 0.9] {
        let (with, without) = (course(true, restitution), course(false, restitution));
        let differs = with.iter().zip(&without).position(|(a, b)| a.map(f32::to_bits) != b.map(f32::to_bits));
        assert_eq!(differs, None, "restitution {restitution}");
        // They fell, and something lies on the ground.
        assert!(with.iter().any(|p| p[1] < 0.55), "restitution {restitution}");
    }
}

/// A collider that was ours and gets a shape of Rapier, and back, in contact: nothing is left behind.
#[test]
fn shapes_change_in_contact() {
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 1.0);
    fixed(&mut world, SharedShape::cuboid(5.0, 0.5, 5.0), Pose::translation(0.0, -0.5, 0.0));
    let body = moving(&mut world, cube(1.0), Pose::translation(0.0, 1.0, 0.0));
    let collider = world.bodies[body].colliders()[0];
    let half = world.colliders[collider].compute_aabb().half_extents().y;
    let two = SharedShape::compound(vec![
        (Pose::translation(-0.5 * half, 0.0, 0.0), SharedShape::ball(half)),
        (Pose::translation(0.5 * half, 0.0, 0.0), SharedShape::ball(half)),
    ]);
    let own = world.colliders[collider].shared_shape().clone();
    let shapes = [own, SharedShape::ball(half), SharedShape::cuboid(half, half, half), two];
    // Every change of one into another.
    for i in 0..64 {
        world.colliders[collider].set_shape(shapes[(i * i / 2 + i) % 4].clone());
        for _ in 0..25 {
            world.step();
        }
        let at = world.bodies[body].translation();
        assert!((at.y - half).abs() < 0.2 * half, "after change {i} it is at {at}, half is {half}");
        let points = world.contact_pairs().flat_map(|p| p.manifolds()).map(|m| m.points.len()).sum::<usize>();
        assert!(points > 0, "after change {i} nothing holds it");
    }
}
