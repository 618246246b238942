//! Bodies fly, fall, rest, slide and part as they should.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::{DMat3, DQuat, DVec3};
use palpate::mesh::{RawMesh, RepairParams, samples};
use palpate::world::{Body, BodyId, BodyParams, Kind, Mass, StepReport, World, WorldError, WorldParams};
use palpate::{Mesh, Pose, Shape, Wrench, force, par};
use std::f64::consts::PI;

const RATE: f64 = 1.0 / 240.0;
const G: f64 = 9.81;

fn shape(mesh: RawMesh, voxel: f64) -> Shape {
    Shape::build(Mesh::new(mesh, &RepairParams::default()).unwrap(), voxel, &Default::default()).unwrap()
}

fn block(x: f64, y: f64, z: f64, voxel: f64) -> Shape {
    shape(samples::cuboid(DVec3::new(x, y, z)), voxel)
}

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose::from_translation(DVec3::new(x, y, z))
}

fn fixed(w_from_b: Pose) -> BodyParams {
    BodyParams { kind: Kind::Static, w_from_b, ..Default::default() }
}

fn free(w_from_b: Pose) -> BodyParams {
    BodyParams { w_from_b, ..Default::default() }
}

fn weightless() -> World {
    World::new(&WorldParams { gravity: DVec3::ZERO, ..Default::default() }).unwrap()
}

/// Speed of the fastest point [m/s].
fn speed(body: &Body) -> f64 {
    let extent = body.shape().aabb().extent().length();
    body.state().linear.length() + body.state().angular.length() * extent
}

fn run(world: &mut World, steps: usize, dt: f64) -> StepReport {
    let mut report = StepReport::default();
    for _ in 0..steps {
        report = world.step(dt).unwrap();
        assert_eq!(report.non_finite, 0);
    }
    report
}

/// Total momentum, and angular momentum about the world's origin.
fn momentum(world: &World) -> [DVec3; 2] {
    world.bodies().fold([DVec3::ZERO; 2], |[p, l], (_, b)| {
        let [bp, bl] = b.momentum();
        [p + bp, l + bl + b.centre().cross(bp)]
    })
}

fn of(world: &World, id: BodyId) -> &Body {
    world.body(id).unwrap()
}

#[test]
fn a_tumbling_brick_keeps_energy_and_momentum() {
    let brick = block(0.03, 0.06, 0.12, 5e-3);
    let mut world = weightless();
    // About the middle axis, nearly: it turns over and over.
    let params = BodyParams { linear: DVec3::X, angular: DVec3::new(0.05, 8.0, 0.02), ..Default::default() };
    let id = world.add(&brick, &params).unwrap();
    let (e, [p, l]) = (of(&world, id).kinetic(), momentum(&world));
    let mut flips = 0;
    let mut was = 1.0;
    for _ in 0..2400 {
        world.step(RATE).unwrap();
        let b = of(&world, id);
        let axis = (b.state().w_from_b.rotation.conjugate() * b.state().angular).y;
        flips += usize::from(axis * was < 0.0);
        was = axis;
    }
    let after = momentum(&world);
    let energy = (of(&world, id).kinetic() / e - 1.0).abs();
    let turned = (after[1] - l).length() / l.length();
    println!("10 s: {flips} flips, energy {energy:.1e}, momentum {:.1e}, angular {turned:.1e}", (after[0] - p).length());
    assert!(flips >= 2);
    assert!(energy < 1e-12 && turned < 1e-12 && (after[0] - p).length() < 1e-14 * p.length());
}

#[test]
fn a_free_fall_is_a_parabola() {
    let brick = block(0.03, 0.06, 0.12, 5e-3);
    let mut world = World::new(&WorldParams::default()).unwrap();
    let params = BodyParams { linear: DVec3::new(1.0, 0.0, 3.0), angular: DVec3::ONE, ..Default::default() };
    let id = world.add(&brick, &params).unwrap();
    let first = of(&world, id).kinetic();
    let end = run(&mut world, 240, RATE);
    let expected = DVec3::new(1.0, 0.0, 3.0 - 0.5 * G);
    assert!((of(&world, id).centre() - expected).length() < 1e-12);
    assert!((end.kinetic + end.potential - first).abs() < 1e-12);
}

#[test]
fn a_ball_lies_as_deep_as_its_weight_presses_it() {
    let (r, sink) = (0.02, 0.02);
    let ball = shape(samples::sphere(r, 5), 5e-4);
    let slab = block(0.06, 0.06, 0.02, 1e-3);
    for both in [false, true] {
        for dt in [1.0 / 60.0, RATE, 1e-3] {
            let mut world = World::new(&WorldParams { both, sink, ..Default::default() }).unwrap();
            world.add(&slab, &fixed(at(0.0, 0.0, -0.01))).unwrap();
            let id = world.add(&ball, &free(at(0.0, 0.0, r + 0.002))).unwrap();
            let mut worst = 0.0_f64;
            for _ in 0..(1.0 / dt) as usize {
                worst = worst.max(world.step(dt).unwrap().deepest);
            }
            let report = run(&mut world, 100, dt);
            // k π r δ² = m g, where k is such that δ is sink × r. Points are 1 mm apart, the disc of contact is 8 mm wide.
            let depth = r - of(&world, id).centre().z;
            println!("both {both} dt {dt:.4}: {:.3} of the depth, {:.2} at impact", depth / (sink * r), worst / (sink * r));
            assert!((depth / (sink * r) - 1.0).abs() < 0.05, "{depth}");
            assert!(speed(of(&world, id)) < 1e-5 && report.unsettled < 2e-5);
            // The law is that of the force stage, and it carries the weight.
            let weight = of(&world, id).mass() * G;
            let touch = world.touches().next().unwrap();
            let params = force::ForceParams::new(weight / (PI * r * (sink * r).powi(2)));
            let w_from_b = of(&world, id).state().w_from_b;
            let a_from_b = touch.w_from_a.inverse() * w_from_b;
            let shares: Vec<f64> = touch.contacts.map(|c| force::penalty(c, &params, &a_from_b, None, None).wrench.force.z).to_vec();
            let share = if both { 0.5 * (shares[0] + shares[1]) } else { shares[0] };
            assert!((share / weight - 1.0).abs() < 1e-3, "{share} {weight}");
            assert!((touch.wrench.force.z / weight - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn rough_parts_come_to_rest_and_stay() {
    let slab = block(0.4, 0.4, 0.02, 5e-3);
    let parts = [
        shape(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1), 2.5e-3),
        shape(samples::gear(12, 5e-3, 0.012, 3), 2e-3),
        shape(samples::torus_knot(2, 3, 0.03, 0.012, 0.007, 120, 16), 2e-3),
        block(0.05, 0.04, 0.03, 2.5e-3),
    ];
    for (k, part) in parts.iter().enumerate() {
        for dt in [RATE, 1e-3] {
            let mut world = World::new(&WorldParams::default()).unwrap();
            world.add(&slab, &fixed(at(0.0, 0.0, -0.01))).unwrap();
            let turn = DQuat::from_scaled_axis(DVec3::new(0.7, 0.4, 0.2));
            let id = world.add(part, &free(Pose::new(turn, DVec3::Z * 0.1))).unwrap();
            let mut rest = 0;
            let mut fastest = 0.0_f64;
            let (mut rounds, mut iterations, mut unsettled) = (0, 0, 0.0_f64);
            let steps = (13.0 / dt) as usize;
            let mut deepest = 0.0_f64;
            let mut from = DVec3::ZERO;
            for i in 0..steps {
                let report = world.step(dt).unwrap();
                rounds = rounds.max(report.rounds);
                iterations = iterations.max(report.iterations);
                unsettled = unsettled.max(report.unsettled);
                deepest = deepest.max(report.deepest);
                let v = speed(of(&world, id));
                if v > 1e-3 {
                    rest = i;
                }
                if i == (3.0 / dt) as usize {
                    from = of(&world, id).centre();
                }
                if i as f64 * dt > 3.0 {
                    fastest = fastest.max(v);
                }
            }
            println!(
                "part {k} dt {dt:.4}: rest after {:.2} s, then at most {fastest:.1e} m/s, crept {:.1e}, deepest {deepest:.1e}, rounds {rounds} iterations {iterations} unsettled {unsettled:.1e}",
                rest as f64 * dt, (of(&world, id).centre() - from).length()
            );
            assert!(fastest < 1e-3);
        }
    }
}

#[test]
fn a_block_holds_and_slides_on_an_incline() {
    let ramp = block(1.2, 0.1, 0.05, 5e-3);
    let brick = block(0.06, 0.04, 0.02, 2.5e-3);
    let friction = 0.5_f64;
    for (angle, dt) in [(0.8, RATE), (0.95, 1e-3), (1.1, RATE), (1.3, RATE), (1.3, 1e-3), (2.0, RATE)].map(|(s, dt)| (s * friction.atan(), dt)) {
        let mut world = World::new(&WorldParams::default()).unwrap();
        let turn = DQuat::from_rotation_y(angle);
        let place = |x: f64, z: f64| Pose::new(turn, turn * DVec3::new(x, 0.0, z));
        world.add(&ramp, &BodyParams { friction, ..fixed(place(0.0, -0.025)) }).unwrap();
        let id = world.add(&brick, &BodyParams { friction, ..free(place(-0.5, 0.01)) }).unwrap();
        let start = of(&world, id).centre();
        let wait = (0.1 / dt) as usize;
        run(&mut world, wait, dt);
        let v0 = of(&world, id).state().linear.length();
        run(&mut world, 3 * wait, dt);
        let got = (of(&world, id).state().linear.length() - v0) / (3 * wait) as f64 / dt;
        let expected = (G * (angle.sin() - friction * angle.cos())).max(0.0);
        let moved = (of(&world, id).centre() - start).length();
        println!("angle {angle:.3}: {got:.4} expected {expected:.4}, moved {moved:.2e}");
        assert!((got - expected).abs() < 0.01 * expected + 1e-4);
        if expected == 0.0 {
            let before = of(&world, id).centre();
            run(&mut world, 10 * wait, dt);
            assert!((of(&world, id).centre() - before).length() < 1e-7 && moved < 1e-4);
        }
    }
}

#[test]
fn a_stack_of_three_stands() {
    let slab = block(0.2, 0.2, 0.02, 5e-3);
    let cube = block(0.04, 0.04, 0.04, 2.5e-3);
    let mut world = World::new(&WorldParams::default()).unwrap();
    world.add(&slab, &fixed(at(0.0, 0.0, -0.01))).unwrap();
    let ids: Vec<BodyId> = (0..3)
        .map(|k| world.add(&cube, &free(at(0.002 * k as f64, 0.0, 0.0205 + 0.041 * k as f64))).unwrap())
        .collect();
    run(&mut world, 480, RATE);
    let mut fastest = 0.0_f64;
    let mut report = StepReport::default();
    for _ in 0..480 {
        report = world.step(RATE).unwrap();
        fastest = ids.iter().map(|&id| speed(of(&world, id))).fold(fastest, f64::max);
    }
    let heights: Vec<f64> = ids.iter().map(|&id| of(&world, id).centre().z).collect();
    println!("heights {heights:?}, at most {fastest:.1e} m/s, {report:?}");
    assert!(fastest < 1e-4);
    for (k, z) in heights.iter().enumerate() {
        assert!((z - 0.02 - 0.04 * k as f64).abs() < 1e-4, "{z}");
    }
}

#[test]
fn a_collision_keeps_momentum() {
    let gear = shape(samples::gear(12, 5e-3, 0.012, 3), 2e-3);
    let ball = shape(samples::bumpy_sphere(0.03, 0.003, 8, 4, 1), 2e-3);
    let mut world = weightless();
    let state = free(Pose::new(DQuat::from_rotation_x(0.5), DVec3::ZERO));
    world.add(&gear, &BodyParams { angular: DVec3::new(1.0, 5.0, 9.0), ..state }).unwrap();
    let state = BodyParams { linear: DVec3::new(-2.0, 0.1, 0.0), ..free(at(0.15, 0.01, 0.0)) };
    world.add(&ball, &BodyParams { angular: DVec3::Y * 20.0, mass: Mass::Density(7800.0), ..state }).unwrap();
    let ([p, l], e) = (momentum(&world), world.step(1e-6).unwrap().kinetic);
    let mut touched = 0;
    let mut end = StepReport::default();
    for _ in 0..120 {
        end = world.step(RATE).unwrap();
        touched += usize::from(end.contacts > 0);
    }
    let [p1, l1] = momentum(&world);
    let (dp, dl) = ((p1 - p).length() / p.length(), (l1 - l).length() / l.length());
    println!("{touched} steps in contact, energy {:.3} of {e:.3} J, momentum {dp:.1e}, angular {dl:.1e}", end.kinetic);
    assert!(touched > 0 && end.kinetic < e && end.kinetic > 0.3 * e);
    assert!(dp < 1e-12 && dl < 1e-12);
}

#[test]
fn fast_bodies_do_not_pass_through_walls() {
    let wall = block(0.01, 0.3, 0.3, 2.5e-3);
    let ball = shape(samples::bumpy_sphere(0.02, 0.002, 8, 4, 1), 1.5e-3);
    for velocity in [5.0, 20.0, 60.0, 200.0] {
        for dt in [1.0 / 60.0, RATE] {
            let mut world = weightless();
            world.add(&wall, &fixed(at(0.1, 0.0, 0.0))).unwrap();
            let id = world.add(&ball, &BodyParams { linear: DVec3::X * velocity, ..free(at(0.0, 0.0, 0.0)) }).unwrap();
            let mut deepest = 0.0_f64;
            for _ in 0..60 {
                deepest = deepest.max(world.step(dt).unwrap().deepest);
            }
            let b = of(&world, id);
            println!("{velocity} m/s at {:.0} Hz: x {:.4}, {:.3} m/s, deepest {deepest:.1e}", 1.0 / dt, b.centre().x, b.state().linear.x);
            assert!(b.centre().x < 0.095 && b.state().linear.x < 0.1);
        }
    }
}
