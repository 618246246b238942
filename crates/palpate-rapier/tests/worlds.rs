//! Worlds of Rapier with our shapes: several of ours, sensors, groups, bullets, overlaps.

mod common;

use common::{Random, build, bumpy, cube, fixed, gear, moving, ring, world};
use glam::DVec3;
use palpate::mesh::samples;
use palpate_rapier::{PalpateDispatcher, PalpateShape};
use parry3d::shape::{Shape, SharedShape};
use rapier3d::prelude::*;

fn y(y: f32) -> Pose {
    Pose::translation(0.0, y, 0.0)
}

fn speed(world: &PhysicsWorld, body: RigidBodyHandle) -> f32 {
    world.bodies[body].linvel().length() + world.bodies[body].angvel().length()
}

/// A ring falls over a peg and down to the plate that the peg stands on: all of them ours.
#[test]
fn ring_over_peg() {
    let plate = samples::moved(samples::cuboid(DVec3::new(1.2, 0.2, 1.2)), DVec3::Y * -0.1);
    let plate = build(plate, 0.04);
    // Narrower than the hole of 0.15 by 0.02 all around.
    let peg = samples::moved(samples::cuboid(DVec3::new(0.18, 0.6, 0.18)), DVec3::Y * 0.3);
    let peg = build(peg, 0.015);
    let ring = ring();
    for first in [false, true] {
        let dispatcher = PalpateDispatcher::new();
        let mut world = world(&dispatcher, 0.3);
        let start = Pose::new(Vector::new(0.005, 0.75, 0.0), Vector::new(0.05, 0.0, 0.02));
        let body = first.then(|| moving(&mut world, ring.clone(), start));
        fixed(&mut world, plate.clone(), Pose::IDENTITY);
        fixed(&mut world, peg.clone(), Pose::IDENTITY);
        let body = body.unwrap_or_else(|| moving(&mut world, ring.clone(), start));
        let mut fastest: f32 = 0.0;
        for step in 0..360 {
            world.step();
            if step >= 240 {
                fastest = fastest.max(speed(&world, body));
            }
        }
        let at = world.bodies[body].translation();
        assert!((at.y - 0.05).abs() < 2e-3, "first {first}: the ring is at {at}");
        assert!(at.x.abs() < 0.07 && at.z.abs() < 0.07, "first {first}: the peg is not in the ring at {at}");
        assert!(fastest < 1e-3, "first {first}: {fastest} m/s");
        assert_eq!(dispatcher.built(), 0);
    }
}

/// Two gears on each other on a third, at rest with what Rapier starts with, too: recycling and clustering on.
#[test]
fn stacks_stand_with_any_settings() {
    let gear = gear();
    for tuned in [true, false] {
        let dispatcher = PalpateDispatcher::new();
        let mut world = world(&dispatcher, 0.3);
        if !tuned {
            world.integration_parameters = IntegrationParameters::default();
        }
        fixed(&mut world, SharedShape::cuboid(1.0, 0.1, 1.0), y(-0.1));
        let bodies: Vec<_> = (0..3)
            .map(|i| {
                moving(
                    &mut world,
                    gear.clone(),
                    Pose::new(Vector::Y * (0.04 + 0.08 * i as f32), Vector::Y * i as f32),
                )
            })
            .collect();
        for _ in 0..300 {
            world.step();
        }
        for (i, body) in bodies.iter().enumerate() {
            let at = world.bodies[*body].translation();
            // Untuned, Rapier lets parts sink in by a few millimetres.
            let room = if tuned { 2e-3 } else { 1e-2 };
            assert!((at.y - 0.03 - 0.06 * i as f32).abs() < room, "tuned {tuned}: gear {i} is at {at}");
            assert!(
                speed(&world, *body) < 2e-3,
                "tuned {tuned}: gear {i} moves with {}",
                speed(&world, *body)
            );
        }
    }
}

/// Bodies that may sleep do, and wake when they are hit.
#[test]
fn sleep_and_wake() {
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 0.3);
    fixed(&mut world, SharedShape::cuboid(1.0, 0.1, 1.0), y(-0.1));
    let body = RigidBodyBuilder::dynamic().translation(Vector::Y * 0.05);
    let (body, _) = world.insert(body, ColliderBuilder::new(gear().into()).density(1000.0));
    for _ in 0..600 {
        world.step();
    }
    assert!(world.bodies[body].is_sleeping());
    moving(&mut world, SharedShape::ball(0.05), y(0.3));
    let woken = (0..60).any(|_| {
        world.step();
        !world.bodies[body].is_sleeping()
    });
    assert!(woken);
}

#[test]
fn sensors_see_without_touching() {
    let shapes: [SharedShape; 4] = [
        SharedShape::ball(0.2),
        SharedShape::cuboid(0.3, 0.05, 0.3),
        SharedShape::new(cube(0.4)),
        SharedShape::halfspace(Vector::Y),
    ];
    for (i, shape) in shapes.into_iter().enumerate() {
        let plane = matches!(shape.as_typed_shape(), TypedShape::HalfSpace(_));
        let dispatcher = PalpateDispatcher::new();
        let mut world = world(&dispatcher, 0.3);
        let sensor = world.insert(RigidBodyBuilder::fixed(), ColliderBuilder::new(shape).sensor(true)).1;
        let part = RigidBodyBuilder::dynamic().translation(Vector::Y * 0.6).can_sleep(false);
        let (body, part) = world.insert(part, ColliderBuilder::new(bumpy().into()));
        let mut seen = (false, false, false);
        for _ in 0..60 {
            world.step();
            let now = world.narrow_phase.intersection_pair(sensor, part) == Some(true);
            let height = world.bodies[body].translation().y;
            seen.0 |= now && height > 0.5;
            seen.1 |= now && height.abs() < 0.1;
            seen.2 |= now && height < -0.6;
        }
        assert_eq!(seen, (false, true, plane), "sensor {i}: seen above, at it, below it");
        // Nothing held it up.
        let fallen = world.bodies[body].translation().y;
        assert!(fallen < -3.5, "sensor {i}: at {fallen}");
    }
}

#[test]
fn groups_pass_through_each_other() {
    let (one, two) = (Group::GROUP_1, Group::GROUP_2);
    for (mine, stops) in [
        (InteractionGroups::new(one, one, Default::default()), true),
        (InteractionGroups::new(two, two, Default::default()), false),
    ] {
        let dispatcher = PalpateDispatcher::new();
        let mut world = world(&dispatcher, 0.3);
        let floor = ColliderBuilder::cuboid(1.0, 0.1, 1.0).collision_groups(InteractionGroups::new(
            one,
            one,
            Default::default(),
        ));
        world.insert(RigidBodyBuilder::fixed().translation(Vector::Y * -0.1), floor);
        let part = ColliderBuilder::new(gear().into()).collision_groups(mine);
        let (body, _) = world.insert(RigidBodyBuilder::dynamic().translation(Vector::Y * 0.1), part);
        for _ in 0..60 {
            world.step();
        }
        assert_eq!(world.bodies[body].translation().y > 0.0, stops);
    }
}

/// 100 m/s are 1.7 m a step: through a wall of 2 cm, unless something sees it coming.
#[test]
fn bullets_do_not_tunnel() {
    let bullet = build(samples::bumpy_sphere(0.02, 0.002, 5, 3, 1), 0.003);
    let plate = || build(samples::cuboid(DVec3::new(0.02, 1.0, 1.0)), 0.02);
    let walls: Vec<(&str, SharedShape)> = vec![
        ("cuboid", SharedShape::cuboid(0.01, 0.5, 0.5)),
        ("ours", SharedShape::new(plate())),
        ("triangles", {
            let corners = [[-0.5, -0.5], [-0.5, 0.5], [0.5, 0.5], [0.5, -0.5]];
            let corners = corners.map(|[y, z]| Vector::new(0.01, y, z)).to_vec();
            SharedShape::trimesh(corners, vec![[0, 2, 1], [0, 3, 2]]).expect("two triangles")
        }),
    ];
    for (name, wall) in walls {
        for seen in [true, false] {
            let dispatcher = PalpateDispatcher::new();
            let mut world = world(&dispatcher, 0.05);
            world.gravity = Vector::ZERO;
            world.integration_parameters.max_ccd_substeps = usize::from(seen);
            fixed(&mut world, wall.clone(), Pose::IDENTITY);
            let body =
                RigidBodyBuilder::dynamic().translation(Vector::new(2.3, 0.03, 0.01)).ccd_enabled(seen);
            let body = body.linvel(Vector::X * -100.0).can_sleep(false);
            let (body, _) = world.insert(body, ColliderBuilder::new(bullet.clone().into()).density(1000.0));
            let mut least = f32::INFINITY;
            for _ in 0..30 {
                world.step();
                least = least.min(world.bodies[body].translation().x);
            }
            assert_eq!(least > 0.0, seen, "{name}: reached {least}");
        }
    }
}

/// Parts that start inside each other come apart without being shot away.
#[test]
fn nothing_explodes() {
    let parts = [gear(), bumpy(), ring(), cube(0.25)];
    let mut random = Random(11);
    let mut overlapping = 0;
    for scene in 0..20 {
        let dispatcher = PalpateDispatcher::new();
        let mut world = world(&dispatcher, 0.3);
        fixed(&mut world, SharedShape::cuboid(3.0, 0.5, 3.0), y(-0.9));
        let count = 2 + scene % 5;
        let bodies: Vec<_> = (0..count)
            .map(|i| {
                let pose = random.pose(0.15);
                if i % 3 == 2 {
                    moving(&mut world, SharedShape::cuboid(0.1, 0.15, 0.1), pose)
                } else {
                    moving(&mut world, parts[(scene + i) % parts.len()].clone(), pose)
                }
            })
            .collect();
        for step in 0..120 {
            world.step();
            if step == 0 {
                let deep = |m: &ContactManifold| m.points.iter().any(|p| p.dist < -0.01);
                overlapping += usize::from(world.contact_pairs().any(|p| p.manifolds().iter().any(deep)));
            }
            for body in &bodies {
                let b = &world.bodies[*body];
                assert!(b.position().is_finite(), "scene {scene}, step {step}");
                assert!(b.linvel().length() < 20.0, "scene {scene}, step {step}: {}", b.linvel());
            }
        }
    }
    assert!(overlapping >= 15, "{overlapping} of 20 scenes overlap");
}

/// Ours as a part of a compound, beside a part of Parry's.
#[test]
fn compounds_hold_ours() {
    let arm = |x: f32, s: SharedShape| (Pose::translation(x, 0.0, 0.0), s);
    let dumbbell = SharedShape::compound(vec![
        arm(-0.2, SharedShape::new(cube(0.2))),
        arm(0.2, SharedShape::cuboid(0.1, 0.1, 0.1)),
    ]);
    for ground in [
        SharedShape::cuboid(1.0, 0.1, 1.0),
        SharedShape::new(build(samples::cuboid(DVec3::new(2.0, 0.2, 2.0)), 0.05)),
    ] {
        let dispatcher = PalpateDispatcher::new();
        let mut world = world(&dispatcher, 0.3);
        fixed(&mut world, ground, y(-0.1));
        let body = moving(&mut world, dumbbell.clone(), y(0.2));
        for _ in 0..180 {
            world.step();
        }
        let b = &world.bodies[body];
        assert!((b.translation().y - 0.1).abs() < 2e-3, "at {}", b.translation());
        assert!((b.rotation().xyz()).length() < 0.02 && speed(&world, body) < 2e-3, "{:?}", b.position());
    }
}

/// The solver goes on from its last impulses: points keep their ids and their data.
#[test]
fn impulses_are_carried_over() {
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 0.3);
    fixed(&mut world, SharedShape::cuboid(1.0, 0.1, 1.0), y(-0.1));
    moving(&mut world, gear(), y(0.031));
    let ids = |world: &PhysicsWorld| -> Vec<_> {
        let manifolds = world.contact_pairs().flat_map(|p| p.manifolds().to_vec());
        manifolds.flat_map(|m| m.points).filter(|p| p.data.impulse > 0.0).map(|p| (p.fid1, p.fid2)).collect()
    };
    for _ in 0..120 {
        world.step();
    }
    let before = ids(&world);
    assert!(before.len() >= 3, "{before:?}");
    for _ in 0..20 {
        world.step();
    }
    assert_eq!(before, ids(&world));
}

#[test]
fn scaled_parts_rest_too() {
    let half = gear().scaled(0.5).expect("a positive factor");
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 0.15);
    fixed(&mut world, SharedShape::cuboid(1.0, 0.1, 1.0), y(-0.1));
    let body = moving(&mut world, half.clone(), y(0.05));
    for _ in 0..180 {
        world.step();
    }
    assert!((world.bodies[body].translation().y - 0.015).abs() < 1e-3);
    let uneven = |s: PalpateShape| s.scale_dyn(Vector::new(1.0, 2.0, 1.0), 4).is_none();
    assert!(uneven(half.clone()) && half.scale_dyn(Vector::splat(-1.0), 4).is_none());
    assert!(
        half.scaled(f64::NAN).is_none() && half.scaled(0.0).is_none() && half.scaled(f64::INFINITY).is_none()
    );
    assert!(half.scale_dyn(Vector::splat(2.0), 4).is_some());
}
