//! Bodies fly, fall, rest, slide and part as they should.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::{DMat3, DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::mesh::{RawMesh, RepairParams, samples};
use palpate::query::QueryParams;
use palpate::world::{Body, BodyId, BodyParams, Kind, Mass, StepReport, World, WorldError, WorldParams};
use palpate::{Contacts, Mesh, Pose, Query, Shape, Wrench, force, par};
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
    let extent = body.collider().aabb().extent().length();
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
    let id = world.add(brick.clone(), &params).unwrap();
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
    println!(
        "10 s: {flips} flips, energy {energy:.1e}, momentum {:.1e}, angular {turned:.1e}",
        (after[0] - p).length()
    );
    assert!(flips >= 2);
    assert!(energy < 1e-12 && turned < 1e-12 && (after[0] - p).length() < 1e-14 * p.length());
}

#[test]
fn a_free_fall_is_a_parabola() {
    let brick = block(0.03, 0.06, 0.12, 5e-3);
    let mut world = World::new(&WorldParams::default()).unwrap();
    let params = BodyParams { linear: DVec3::new(1.0, 0.0, 3.0), angular: DVec3::ONE, ..Default::default() };
    let id = world.add(brick.clone(), &params).unwrap();
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
            world.add(slab.clone(), &fixed(at(0.0, 0.0, -0.01))).unwrap();
            let id = world.add(ball.clone(), &free(at(0.0, 0.0, r + 0.002))).unwrap();
            let mut worst = 0.0_f64;
            for _ in 0..(1.0 / dt) as usize {
                worst = worst.max(world.step(dt).unwrap().deepest);
            }
            let report = run(&mut world, 100, dt);
            // k π r δ² = m g, where k is such that δ is sink × r. Points are 1 mm apart, the disc of contact is 8 mm wide.
            let depth = r - of(&world, id).centre().z;
            println!(
                "both {both} dt {dt:.4}: {:.3} of the depth, {:.2} at impact",
                depth / (sink * r),
                worst / (sink * r)
            );
            assert!((depth / (sink * r) - 1.0).abs() < 0.05, "{depth}");
            // It may roll on, slowly.
            let (sinking, rolling) = (of(&world, id).state().linear.z.abs(), speed(of(&world, id)));
            assert!(sinking < 1e-4 && rolling < 1e-2, "{sinking} {rolling}");
            assert!(report.unsettled < 2e-5);
            // The law is that of the force stage, and it carries the weight.
            let weight = of(&world, id).mass() * G;
            let touch = world.touches().next().unwrap();
            let params = force::ForceParams::new(weight / (PI * r * (sink * r).powi(2)));
            let w_from_b = of(&world, id).state().w_from_b;
            let a_from_b = at(0.0, 0.0, -0.01).inverse() * w_from_b;
            let mut query = Query::new();
            let push = |c: &Contacts| force::penalty(c, &params, &a_from_b, None, None).wrench.force.z;
            let shares: Vec<f64> = if both {
                let (first, second) = query.both(&slab, &ball, &a_from_b, &QueryParams::default());
                vec![push(first), push(second)]
            } else {
                vec![push(query.contacts(&slab, &ball, &a_from_b, &QueryParams::default()))]
            };
            let share = if both { 0.5 * (shares[0] + shares[1]) } else { shares[0] };
            // Contacts are sought g dt² deeper, on a round surface: normals turn by that over its radius.
            assert!((share / weight - 1.0).abs() < 0.02 + 0.5 * G * dt * dt / r, "{share} {weight}");
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
    let mut bad = false;
    for (k, part) in parts.iter().enumerate() {
        for dt in [RATE, 1e-3].into_iter().take(if k == 1 { 2 } else { 1 }) {
            let mut world = World::new(&WorldParams::default()).unwrap();
            world.add(slab.clone(), &fixed(at(0.0, 0.0, -0.01))).unwrap();
            let turn = DQuat::from_scaled_axis(DVec3::new(0.7, 0.4, 0.2));
            let id = world.add(part.clone(), &free(Pose::new(turn, DVec3::Z * 0.1))).unwrap();
            let mut rest = 0;
            let mut fastest = 0.0_f64;
            let (mut rounds, mut iterations, mut unsettled) = (0, 0, 0.0_f64);
            let steps = (18.0 / dt) as usize;
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
                if i == (8.0 / dt) as usize {
                    from = of(&world, id).centre();
                }
                if i as f64 * dt > 8.0 {
                    fastest = fastest.max(v);
                }
            }
            println!(
                "part {k} dt {dt:.4}: rest after {:.2} s, then at most {fastest:.1e} m/s, crept {:.1e}, deepest {deepest:.1e}, rounds {rounds} iterations {iterations} unsettled {unsettled:.1e}",
                rest as f64 * dt,
                (of(&world, id).centre() - from).length()
            );
            bad |= fastest > 1e-3;
        }
    }
    assert!(!bad);
}

#[test]
fn a_block_holds_and_slides_on_an_incline() {
    let ramp = block(1.2, 0.1, 0.05, 5e-3);
    let brick = block(0.06, 0.04, 0.02, 2.5e-3);
    let friction = 0.5_f64;
    for (angle, dt) in [(0.8, RATE), (0.95, 1e-3), (1.1, RATE), (1.3, RATE), (1.3, 1e-3), (2.0, RATE)]
        .map(|(s, dt)| (s * friction.atan(), dt))
    {
        let mut world = World::new(&WorldParams::default()).unwrap();
        let turn = DQuat::from_rotation_y(angle);
        let place = |x: f64, z: f64| Pose::new(turn, turn * DVec3::new(x, 0.0, z));
        world.add(ramp.clone(), &BodyParams { friction, ..fixed(place(0.0, -0.025)) }).unwrap();
        let id = world.add(brick.clone(), &BodyParams { friction, ..free(place(-0.5, 0.01)) }).unwrap();
        let start = of(&world, id).centre();
        let wait = (0.1 / dt) as usize; // Until it slides as a whole.
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
    world.add(slab.clone(), &fixed(at(0.0, 0.0, -0.01))).unwrap();
    let ids: Vec<BodyId> = (0..3)
        .map(|k| {
            world.add(cube.clone(), &free(at(0.002 * k as f64, 0.0, 0.0205 + 0.041 * k as f64))).unwrap()
        })
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
    world.add(gear.clone(), &BodyParams { angular: DVec3::new(1.0, 5.0, 9.0), ..state }).unwrap();
    let state = BodyParams { linear: DVec3::new(-2.0, 0.1, 0.0), ..free(at(0.15, 0.01, 0.0)) };
    world
        .add(ball.clone(), &BodyParams { angular: DVec3::Y * 20.0, mass: Mass::Density(7800.0), ..state })
        .unwrap();
    let ([p, l], e) = (momentum(&world), world.step(1e-6).unwrap().kinetic);
    let mut end = StepReport::default();
    for _ in 0..120 {
        end = world.step(RATE).unwrap();
    }
    let [p1, l1] = momentum(&world);
    let (dp, dl) = ((p1 - p).length() / p.length(), (l1 - l).length() / l.length());
    println!("energy {:.3} of {e:.3} J, momentum {dp:.1e}, angular {dl:.1e}", end.kinetic);
    assert!(end.kinetic < 0.99 * e && end.kinetic > 0.3 * e);
    assert!(dp < 1e-12 && dl < 1e-12);
}

#[test]
fn fast_bodies_do_not_pass_through_walls() {
    let wall = block(0.01, 0.3, 0.3, 2.5e-3);
    let ball = shape(samples::bumpy_sphere(0.02, 0.002, 8, 4, 1), 1.5e-3);
    for velocity in [5.0, 20.0, 60.0, 200.0] {
        for dt in [1.0 / 60.0, RATE] {
            let mut world = weightless();
            world.add(wall.clone(), &fixed(at(0.1, 0.0, 0.0))).unwrap();
            let id = world
                .add(ball.clone(), &BodyParams { linear: DVec3::X * velocity, ..free(at(0.0, 0.0, 0.0)) })
                .unwrap();
            let mut deepest = 0.0_f64;
            for _ in 0..60 {
                deepest = deepest.max(world.step(dt).unwrap().deepest);
            }
            let b = of(&world, id);
            println!(
                "{velocity} m/s at {:.0} Hz: x {:.4}, {:.3} m/s, deepest {deepest:.1e}",
                1.0 / dt,
                b.centre().x,
                b.state().linear.x
            );
            assert!(b.centre().x < 0.095 && b.state().linear.x < 0.1);
        }
    }
}

/// A small generator: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next()) * 2.0 - 1.0
    }
}

fn bits(world: &World) -> Vec<u64> {
    let numbers = world.bodies().flat_map(|(_, b)| {
        let s = b.state();
        let (q, t) = (s.w_from_b.rotation.to_array(), s.w_from_b.translation.to_array());
        q.into_iter().chain(t).chain(s.linear.to_array()).chain(s.angular.to_array())
    });
    numbers.map(f64::to_bits).collect()
}

fn small_parts() -> Vec<Shape> {
    vec![
        shape(samples::bumpy_sphere(0.03, 0.003, 8, 3, 1), 3e-3),
        shape(samples::gear(12, 5e-3, 0.012, 2), 3e-3),
        shape(samples::torus_knot(2, 3, 0.03, 0.012, 0.007, 90, 12), 3e-3),
        shape(samples::bolt(2), 2e-3),
        shape(samples::nut(2), 2e-3),
        block(0.05, 0.03, 0.02, 3e-3),
    ]
}

#[test]
fn nothing_explodes_that_starts_in_overlap() {
    let parts = small_parts();
    let mut random = Random(7);
    let (mut fastest, mut overlapping, mut unsettled, mut deepest) = (0.0_f64, 0, 0.0_f64, 0.0_f64);
    let mut speeds: Vec<f64> = Vec::new();
    for scene in 0..100 {
        let count = 2 + scene % 5;
        let build = |random: &mut Random| {
            let mut world = weightless();
            for _ in 0..count {
                let part = &parts[(random.next() * parts.len() as f64) as usize];
                let turn = DQuat::from_scaled_axis(random.vector() * 3.0);
                let pose = Pose::new(turn, random.vector() * 0.015 - turn * part.aabb().centre());
                world.add(part.clone(), &free(pose)).unwrap();
            }
            world
        };
        let mut world = build(&mut random);
        let dt = if scene % 2 == 0 { RATE } else { 1e-3 };
        let mut most = 0.0_f64;
        for step in 0..120 {
            let report = world.step(dt).unwrap();
            assert_eq!(report.non_finite, 0);
            overlapping += usize::from(step == 0 && report.contacts > 0);
            unsettled = unsettled.max(report.unsettled);
            deepest = deepest.max(report.deepest);
            most = world.bodies().map(|(_, b)| b.state().linear.length()).fold(most, f64::max);
        }
        speeds.push(most);
        fastest = fastest.max(most);
    }
    speeds.sort_by(f64::total_cmp);
    println!(
        "{overlapping} of 100 in overlap, deepest {deepest:.1e}, fastest {fastest:.2} m/s, median {:.2}, unsettled {unsettled:.1e}",
        speeds[50]
    );
    assert!(overlapping > 95 && fastest < 20.0);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let parts = small_parts();
    let slab = block(0.4, 0.4, 0.02, 5e-3);
    let fall = || {
        let (mut world, mut random) = (World::new(&WorldParams::default()).unwrap(), Random(3));
        world.add(slab.clone(), &fixed(at(0.0, 0.0, -0.01))).unwrap();
        for k in 0..12 {
            let pose = Pose::new(
                DQuat::from_scaled_axis(random.vector() * 3.0),
                random.vector() * 0.03 + DVec3::Z * (0.06 + 0.03 * f64::from(k)),
            );
            world.add(parts[k as usize % parts.len()].clone(), &free(pose)).unwrap();
        }
        let end = run(&mut world, 120, RATE);
        assert!(end.pairs >= 8 && end.contacts > 20, "{end:?}");
        bits(&world)
    };
    let one = par::with_threads(1, fall);
    assert!(one == par::with_threads(2, fall) && one == fall());
}

#[test]
fn bad_input_is_refused() {
    let cube = block(0.04, 0.04, 0.04, 4e-3);
    let mut world = World::new(&WorldParams::default()).unwrap();
    let bad = |p: BodyParams| World::new(&WorldParams::default()).unwrap().add(cube.clone(), &p).is_err();
    let given = |mass, inertia| BodyParams {
        mass: Mass::Given { mass, centre: DVec3::ZERO, inertia },
        ..Default::default()
    };
    let nan = f64::NAN;
    assert!(bad(free(at(nan, 0.0, 0.0))) && bad(free(at(1e300, 1e300, 0.0))));
    assert!(bad(BodyParams { linear: DVec3::X * nan, ..Default::default() }));
    assert!(bad(BodyParams { angular: DVec3::X * f64::INFINITY, ..Default::default() }));
    assert!(bad(BodyParams { friction: -1.0, ..Default::default() }));
    assert!(bad(BodyParams { drag: [0.0, nan], ..Default::default() }));
    assert!(bad(BodyParams { mass: Mass::Density(0.0), ..Default::default() }));
    assert!(bad(BodyParams {
        w_from_b: Pose { rotation: DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), translation: DVec3::ZERO },
        ..Default::default()
    }));
    assert!(
        bad(given(nan, DMat3::IDENTITY))
            && bad(given(1.0, DMat3::ZERO))
            && bad(given(1.0, DMat3::IDENTITY * -1.0))
    );
    let skew = DMat3::from_cols(DVec3::X, DVec3::new(0.5, 1.0, 0.0), DVec3::Z);
    assert!(bad(given(1.0, skew)) && !bad(given(1.0, DMat3::IDENTITY)));
    for p in [
        WorldParams { sink: 0.0, ..Default::default() },
        WorldParams { gravity: DVec3::X * nan, ..Default::default() },
        WorldParams { stiffness: Some(-1.0), ..Default::default() },
        WorldParams { damping: nan, ..Default::default() },
    ] {
        assert!(World::new(&p).is_err());
    }
    let id = world.add(cube.clone(), &Default::default()).unwrap();
    for dt in [0.0, -1.0, nan, f64::INFINITY] {
        assert!(matches!(world.step(dt), Err(WorldError::Parameter { name: "dt", .. })));
    }
    assert!(world.set(id, &free(at(0.0, nan, 0.0))).is_err());
    assert!(world.push(id, &Wrench { force: DVec3::X * nan, torque: DVec3::ZERO }).is_err());
    assert_eq!(bits(&world).len(), 13);
    // Finite numbers that overflow on the way stop the body and are counted.
    world.push(id, &Wrench { force: DVec3::X * 1e10, torque: DVec3::ZERO }).unwrap();
    let mut stopped = 0;
    for _ in 0..10 {
        stopped += world.step(1e200).unwrap().non_finite;
    }
    assert!(stopped > 0 && of(&world, id).state().w_from_b.is_finite());
}

#[test]
fn ids_stay_with_their_bodies() {
    let cube = block(0.04, 0.04, 0.04, 4e-3);
    let mut world = World::new(&WorldParams::default()).unwrap();
    let ids: Vec<BodyId> =
        (0..4).map(|k| world.add(cube.clone(), &free(at(0.03 * f64::from(k), 0.0, 0.0))).unwrap()).collect();
    run(&mut world, 2, RATE);
    assert!(world.touches().count() >= 3);
    assert!(world.remove(ids[1]).is_some() && world.remove(ids[1]).is_none());
    assert!(world.body(ids[1]).is_none() && world.set(ids[1], &Default::default()).is_err());
    let new = world.add(cube.clone(), &free(at(1.0, 0.0, 0.0))).unwrap();
    assert!(world.body(ids[1]).is_none() && new != ids[1] && of(&world, new).centre().x == 1.0);
    assert!(world.touches().all(|t| world.body(t.a).is_some() && world.body(t.b).is_some()));
    run(&mut world, 2, RATE);
    assert!((of(&world, ids[2]).centre().x - 0.06).abs() < 0.02);
    assert_eq!(world.bodies().count(), 4);
}

#[test]
fn groups_and_the_caller_decide_who_is_moved() {
    let cube = block(0.04, 0.04, 0.04, 4e-3);
    let mut world = weightless();
    let ghost = BodyParams { groups: 2, meets: 2, ..free(at(0.0, 0.0, 0.0)) };
    let ghost = world.add(cube.clone(), &ghost).unwrap();
    let solid = world.add(cube.clone(), &free(at(0.0, 0.0, 0.0))).unwrap();
    let hand = BodyParams {
        kind: Kind::Kinematic,
        linear: DVec3::X * 0.1,
        angular: DVec3::X,
        ..free(at(-0.05, 0.0, 0.0))
    };
    let hand = world.add(cube.clone(), &hand).unwrap();
    run(&mut world, 240, RATE);
    let (x, v) = (of(&world, solid).centre().x, of(&world, solid).state().linear.x);
    assert_eq!(of(&world, ghost).centre(), DVec3::ZERO);
    assert!((of(&world, hand).centre().x - 0.05).abs() < 1e-12);
    println!("pushed to {x:.4} at {v:.4} m/s");
    assert!((0.089..0.11).contains(&x) && v > 0.09, "{x} {v}");
}

#[test]
fn parts_lie_on_solids_by_formula() {
    let mut world = World::new(&WorldParams::default()).unwrap();
    // Shapes before and after the solid: either may be the first of a pair.
    let cube = block(0.04, 0.04, 0.04, 4e-3);
    let first = world.add(cube.clone(), &free(at(0.1, 0.0, 0.03))).unwrap();
    let ground = Analytic::half_space(DVec3::Z, 0.0).unwrap();
    world.add(ground.clone(), &fixed(Pose::IDENTITY)).unwrap();
    let second = world.add(cube.clone(), &free(at(-0.1, 0.0, 0.03))).unwrap();
    // A dynamic solid needs a mass.
    let brick = Analytic::cuboid(DVec3::ZERO, DVec3::splat(0.02)).unwrap();
    assert!(
        world.add(brick.clone(), &Default::default()).is_err()
            && world.add(ground, &Default::default()).is_err()
    );
    let mass = Mass::Given { mass: 0.03, centre: DVec3::ZERO, inertia: DMat3::IDENTITY * 1e-5 };
    let third = world.add(brick, &BodyParams { mass, ..free(at(0.1, 0.0, 0.08)) }).unwrap();
    run(&mut world, 480, RATE);
    for (id, z) in [(first, 0.02), (second, 0.02), (third, 0.06)] {
        println!("{:.6} m, {:.1e} m/s", of(&world, id).centre().z, speed(of(&world, id)));
        assert!((of(&world, id).centre().z - z).abs() < 2e-4 && speed(of(&world, id)) < 1e-3);
    }
}

#[test]
#[ignore = "a measurement"]
fn time_of_a_pile_of_gears() {
    let gear = shape(samples::gear(24, 2.5e-3, 0.012, 6), 8e-4);
    let wall = Analytic::cuboid(DVec3::ZERO, DVec3::new(0.01, 0.2, 1.0)).unwrap();
    for dt in [RATE, 1e-3] {
        let (mut world, mut random) = (World::new(&WorldParams::default()).unwrap(), Random(3));
        world.add(Analytic::half_space(DVec3::Z, 0.0).unwrap(), &fixed(Pose::IDENTITY)).unwrap();
        for k in 0..4 {
            let turn = DQuat::from_rotation_z(f64::from(k) * 0.5 * PI);
            world.add(wall.clone(), &fixed(Pose::new(turn, turn * DVec3::X * 0.13))).unwrap();
        }
        for k in 0..50 {
            let place = DVec3::new(
                0.05 * f64::from(k % 3),
                0.05 * f64::from(k / 3 % 3),
                0.05 + 0.05 * f64::from(k / 9),
            );
            let pose = Pose::new(DQuat::from_scaled_axis(random.vector() * 3.0), place);
            world.add(gear.clone(), &free(pose)).unwrap();
        }
        println!("{} points", gear.tree().len());
        let per = (0.5 / dt) as usize;
        for _ in 0..4 {
            let start = std::time::Instant::now();
            let (mut worst, mut rounds, mut iterations, mut unsettled) = (0.0_f64, 0, 0, 0.0_f64);
            let mut end = StepReport::default();
            let mut parts = 0;
            for _ in 0..per {
                end = world.step(dt).unwrap();
                worst = worst.max(end.deepest);
                rounds += end.rounds;
                iterations += end.iterations;
                unsettled = unsettled.max(end.unsettled);
                parts += end.substeps;
            }
            let time = start.elapsed().as_secs_f64() / per as f64;
            let near: usize =
                world.touches().map(|t| t.contacts[0].list.len() + t.contacts[1].list.len()).sum();
            println!(
                "{:.0} Hz: {:.2} ms, {} pairs, {} contacts of {near}, deepest {:.2e} worst {worst:.2e}, parts {:.1} rounds {:.1}, iterations {:.0}, unsettled {unsettled:.1e}, kinetic {:.1e}",
                1.0 / dt,
                1e3 * time,
                end.pairs,
                end.contacts,
                end.deepest,
                parts as f64 / per as f64,
                rounds as f64 / per as f64,
                iterations as f64 / per as f64,
                end.kinetic
            );
        }
    }
}
