//! The same scenes in every engine that is here.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::{DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::mesh::{Mesh, RepairParams, samples};
use palpate::{Pose, Shape, Wrench};
use palpate_sim::depth::Referee;
use palpate_sim::{Body, Engine, Motion, Options, Scene, SimError, bullet_program, start};

fn shape(raw: palpate::mesh::RawMesh, cells: f64) -> Shape {
    let mesh = Mesh::new(raw, &RepairParams::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / cells;
    Shape::build(mesh, voxel, &Default::default()).unwrap()
}

fn cube() -> Shape {
    shape(samples::cuboid(DVec3::splat(0.1)), 20.0)
}

fn floor() -> Body {
    Body::new("floor", Analytic::half_space(DVec3::Z, 0.0).unwrap(), Motion::Static, Pose::IDENTITY)
}

fn engines() -> Vec<Engine> {
    if bullet_program().is_none() {
        println!("skipped: palpate-bullet is not built");
    }
    Engine::ALL.into_iter().filter(|e| *e != Engine::Bullet || bullet_program().is_some()).collect()
}

/// Two cubes on each other come to rest where they belong, and the referee and the engine agree on how deep they are.
#[test]
fn a_stack_rests_in_every_engine() {
    let mut scene = Scene::default();
    scene.add(floor());
    let turn = DQuat::from_rotation_z(0.4);
    scene.add(Body::new("lower", cube(), Motion::Density(1000.0), Pose::from_translation(DVec3::Z * 0.051)));
    scene.add(Body::new("upper", cube(), Motion::Mass(0.5), Pose::new(turn, DVec3::Z * 0.152)));
    for engine in engines() {
        let mut sim = start(engine, &scene, &Options { both: true, ..Options::default() }).unwrap();
        let mut referee = Referee::new(&scene);
        for _ in 0..480 {
            let step = sim.step().unwrap();
            assert!(step.lost == 0 && step.step_us > 0.0, "{engine:?}");
        }
        for (body, height) in [(1, 0.05), (2, 0.15)] {
            let s = sim.state(body);
            assert!((s.pose.translation.z - height).abs() < 1e-3, "{engine:?}: {s:?}");
            assert!(s.linear.length() < 2e-3, "{engine:?}: {s:?}");
        }
        assert_eq!(sim.state(0).pose, Pose::IDENTITY, "{engine:?}");
        let (deepest, pair) = referee.deepest(&*sim);
        assert!(deepest < 1e-3 && pair[0] < pair[1].max(1), "{engine:?}: {deepest}");
        let mut marks = Vec::new();
        sim.marks(&mut marks);
        assert!(marks.iter().all(|m| m.bodies[0] < m.bodies[1] && m.bodies[1] <= 2), "{engine:?}: {marks:?}");
        // The later body of each pair lies above: it is pushed up.
        assert!(marks.iter().all(|m| m.normal.z > 0.9 && m.depth >= 0.0), "{engine:?}: {marks:?}");
    }
}

/// Without gravity and contact everything goes straight on, and turns as it did about its axis.
#[test]
fn free_bodies_go_on() {
    let mut scene = Scene { gravity: DVec3::ZERO, ..Scene::default() };
    let (linear, angular) = (DVec3::new(1.0, -2.0, 0.5), DVec3::Z * 3.0);
    scene.add(Body { linear, angular, ..Body::new("cube", cube(), Motion::Density(1000.0), Pose::IDENTITY) });
    for engine in engines() {
        let mut sim = start(engine, &scene, &Options::default()).unwrap();
        for _ in 0..240 {
            sim.step().unwrap();
        }
        let s = sim.state(0);
        assert!(
            s.pose.translation.distance(linear) < 2e-3 && s.linear.distance(linear) < 1e-4,
            "{engine:?}: {s:?}"
        );
        // Rapier's single precision gains a thousandth.
        assert!(s.angular.distance(angular) < 5e-3, "{engine:?}: {s:?}");
        let turned = (s.pose.rotation * DVec3::X).truncate().to_angle();
        assert!((turned - 3.0).abs() < 5e-3, "{engine:?}: {turned}");
    }
}

/// A push is the change of momentum that it says, until told otherwise, and a body that is placed is at rest there; what does not move, or
/// is not there, is neither pushed nor placed.
#[test]
fn bodies_are_pushed_and_placed() {
    let mut scene = Scene { gravity: DVec3::ZERO, ..Scene::default() };
    scene.add(floor());
    // Its centre of mass is not its origin.
    let off = shape(samples::moved(samples::cuboid(DVec3::splat(0.1)), DVec3::X * 0.03), 20.0);
    let body = scene.add(Body::new("cube", off, Motion::Mass(0.5), Pose::from_translation(DVec3::Z)));
    let (mass, centre, inertia) = scene.bodies[body].mass().unwrap();
    let wrench = Wrench { force: DVec3::new(0.2, -0.1, 0.4), torque: DVec3::new(0.0, 0.0, 2e-4) };
    let rate = 1000.0;
    for engine in engines() {
        let mut sim = start(engine, &scene, &Options { rate, ..Options::default() }).unwrap();
        assert!(sim.push(body, &wrench), "{engine:?}");
        for _ in 0..500 {
            sim.step().unwrap();
        }
        let s = sim.state(body);
        let (linear, angular) = (wrench.force * 0.5 / mass, inertia.inverse() * wrench.torque * 0.5);
        // Single precision adds up five hundred steps.
        assert!(s.linear.distance(linear) < 1e-4 * linear.length(), "{engine:?}: {s:?}, {linear}");
        assert!(s.angular.distance(angular) < 1e-3 * angular.length(), "{engine:?}: {s:?}, {angular}");
        for none in [Wrench::ZERO, Wrench { force: DVec3::NAN, ..wrench }] {
            assert!(sim.push(body, &wrench) && sim.push(body, &none), "{engine:?}");
            let before = sim.state(body).linear;
            sim.step().unwrap();
            assert!(sim.state(body).linear.distance(before) < 1e-6, "{engine:?}");
        }
        let pose = Pose::new(DQuat::from_rotation_x(0.3), DVec3::new(0.1, 0.2, 0.3));
        assert!(sim.place(body, &pose), "{engine:?}");
        for _ in 0..2 {
            let s = sim.state(body);
            let off = s.pose.point(centre).distance(pose.point(centre));
            assert!(off < 1e-6 && s.linear.length() + s.angular.length() < 1e-6, "{engine:?}: {s:?}");
            assert!(s.pose.rotation.angle_between(pose.rotation) < 1e-3, "{engine:?}: {s:?}");
            sim.step().unwrap();
        }
        let nowhere = Pose::from_translation(DVec3::NAN);
        assert!(!sim.place(body, &nowhere) && sim.state(body).pose.is_finite(), "{engine:?}");
        for other in [0, 2] {
            assert!(!sim.push(other, &wrench) && !sim.place(other, &pose), "{engine:?}");
        }
    }
}

/// A peg of a gram turns as its inertia says about each of its axes, though that is far below what single precision calls zero.
#[test]
fn small_bodies_turn_as_their_inertia_says() {
    let mut scene = Scene { gravity: DVec3::ZERO, ..Scene::default() };
    let peg = shape(samples::cuboid(DVec3::new(0.005, 0.007, 0.03)), 30.0);
    let body = scene.add(Body::new("peg", peg, Motion::Density(1000.0), Pose::IDENTITY));
    let inertia = scene.bodies[body].mass().unwrap().2;
    for engine in engines() {
        for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
            let mut sim = start(engine, &scene, &Options { rate: 1000.0, ..Options::default() }).unwrap();
            let torque = inertia * axis * 100.0;
            sim.push(body, &Wrench { force: DVec3::ZERO, torque });
            for _ in 0..10 {
                sim.step().unwrap();
            }
            let spin = sim.state(body).angular;
            assert!(spin.distance(axis) < 1e-2, "{engine:?}: {spin}, {axis} expected");
        }
    }
}

/// What cannot run is refused with the body's name.
#[test]
fn bad_scenes_are_refused() {
    let solid = || Analytic::sphere(DVec3::ZERO, 0.1).unwrap();
    let far = Pose::from_translation(DVec3::X * f64::NAN);
    let open = shape(samples::cuboid(DVec3::splat(0.1)), 12.0);
    let bad = [
        Body::new("ball", solid(), Motion::Density(1000.0), Pose::IDENTITY),
        Body::new("nowhere", cube(), Motion::Density(1000.0), far),
        Body::new("weightless", open, Motion::Mass(0.0), Pose::IDENTITY),
        Body { friction: -1.0, ..Body::new("slippery", cube(), Motion::Static, Pose::IDENTITY) },
    ];
    for engine in engines() {
        for body in &bad {
            let mut scene = Scene::default();
            scene.add(body.clone());
            let error = start(engine, &scene, &Options::default()).err().unwrap().to_string();
            assert!(error.contains(&body.name), "{error}");
        }
        let error = start(engine, &Scene::default(), &Options { rate: 0.0, ..Options::default() }).err();
        assert!(matches!(error, Some(SimError::Rate(_))));
        let error = start(engine, &Scene::default(), &Options { load: -1.0, ..Options::default() }).err();
        assert!(matches!(error, Some(SimError::Load(_))));
    }
    let mut bounces = Scene::default();
    bounces.add(Body { restitution: 0.5, ..Body::new("ball", cube(), Motion::Mass(1.0), Pose::IDENTITY) });
    let error = start(Engine::Own, &bounces, &Options::default()).err().unwrap().to_string();
    assert!(error.contains("does not bounce"), "{error}");
}

/// A cube is its own hull: the engines' own shapes rest where ours do, and turn freely as ours do.
#[test]
fn hulls_of_the_engines_take_the_place_of_ours() {
    let mut resting = Scene::default();
    resting.add(floor());
    resting.add(Body::new("cube", cube(), Motion::Mass(1.0), Pose::from_translation(DVec3::Z * 0.06)));
    let mut free = Scene { gravity: DVec3::ZERO, ..Scene::default() };
    let angular = DVec3::new(3.0, 1.0, 2.0);
    let long = shape(samples::cuboid(DVec3::new(0.1, 0.2, 0.3)), 20.0);
    free.add(Body { angular, ..Body::new("box", long, Motion::Mass(1.0), Pose::IDENTITY) });
    for engine in engines() {
        let options = Options { hulls: true, ..Options::default() };
        if engine == Engine::Own {
            assert!(matches!(start(engine, &resting, &options), Err(SimError::Body { .. })));
            continue;
        }
        let mut sim = start(engine, &resting, &options).unwrap();
        for _ in 0..240 {
            sim.step().unwrap();
        }
        let z = sim.state(1).pose.translation.z;
        assert!((z - 0.05).abs() < 2e-3, "{engine:?}: {z}");
        let [mut own, mut ours] = [options, Options::default()].map(|o| start(engine, &free, &o).unwrap());
        for _ in 0..240 {
            own.step().unwrap();
            ours.step().unwrap();
        }
        let (a, b) = (own.state(0).angular, ours.state(0).angular);
        assert!(a.distance(b) < 1e-3 && a.distance(angular) > 0.1, "{engine:?}: {a} and {b}");
    }
}

/// A peg that is off by less than its clearance goes in: the rim of the hole does not hold it.
#[test]
fn a_peg_falls_through_its_hole() {
    let bar = |w: DVec3, c: DVec3| samples::moved(samples::cuboid(w), c);
    let (across, along) = (DVec3::new(0.008, 0.03, 0.01), DVec3::new(0.03, 0.008, 0.01));
    let (x, y) = (0.5 * (0.00814 + 0.008), 0.5 * (0.00714 + 0.008));
    let hole = samples::joined(&[
        bar(across, DVec3::X * x),
        bar(across, DVec3::NEG_X * x),
        bar(along, DVec3::Y * y),
        bar(along, DVec3::NEG_Y * y),
    ]);
    let mut scene = Scene::default();
    let ground = Analytic::half_space(DVec3::Z, -0.025).unwrap();
    scene.add(Body::new("floor", ground, Motion::Static, Pose::IDENTITY));
    scene.add(Body::new("plate", shape(hole, 150.0), Motion::Static, Pose::IDENTITY));
    let peg = shape(samples::cuboid(DVec3::new(0.008, 0.007, 0.05)), 250.0);
    let turn = DQuat::from_rotation_y(0.5f64.to_radians());
    // About the middle of its lower end, half a millimetre above the plate.
    let low = Pose::new(turn, DVec3::new(4e-5, 0.0, 0.0055)) * Pose::from_translation(DVec3::Z * 0.025);
    scene.add(Body::new("peg", peg, Motion::Density(7800.0), low));
    let options =
        Options { both: true, choice: Some(palpate::manifold::Choice::Patches(16)), ..Options::default() };
    for engine in engines() {
        let mut sim = start(engine, &scene, &options).unwrap();
        for _ in 0..240 {
            assert_eq!(sim.step().unwrap().lost, 0, "{engine:?}");
        }
        let s = sim.state(2);
        println!("{engine:?}: {s:?}");
        assert!(s.pose.translation.z.abs() < 1e-4 && s.linear.length() < 5e-3, "{engine:?}: {s:?}");
    }
}
