use super::surface_tests::sphere;
use super::tests::{kinds, probes};
use super::*;
use crate::field::source::random::Random;
use crate::force::Twist;
use crate::math::Pose;
use glam::DQuat;
use std::sync::Arc;

/// Stiffness of all tests [N/m].
pub(super) const K: f64 = 800.0;

pub(super) fn cloud(points: &[DVec3]) -> Arc<Cloud> {
    Arc::new(Cloud::build(points, &CloudParams::default()).unwrap())
}

pub(super) fn scene(points: &[DVec3]) -> (Scene, ModelId) {
    let mut scene = Scene::new(TouchParams::default());
    let id = scene.add(cloud(points), Pose::IDENTITY);
    (scene, id)
}

/// A square sheet of points 1 mm apart, one point thick, about the origin.
pub(super) fn sheet(half: i32) -> Vec<DVec3> {
    let row = move |i: i32| (-half..=half).map(move |j| 1e-3 * DVec3::new(i.into(), j.into(), 0.0));
    (-half..=half).flat_map(row).collect()
}

/// The paper's surface, 2.5 mm between points.
fn waves() -> Vec<DVec3> {
    let at = |i: i32| 2.5e-3 * f64::from(i);
    (0..240)
        .flat_map(|i| (0..160).map(move |j| DVec3::new(at(i), at(j), at(i).cos() + at(j).cos())))
        .collect()
}

/// Brings the proxy to `from` and on to `to` in steps of a tenth of a millimetre.
pub(super) fn press(proxy: &mut Proxy, scene: &Scene, from: DVec3, to: DVec3, params: &ProxyParams) -> Touch {
    let n = (from.distance(to) / 1e-4).ceil().max(1.0);
    let mut touch = Touch::default();
    for i in 0..=n as usize {
        touch = proxy.step(scene, from.lerp(to, i as f64 / n), DVec3::ZERO, params);
    }
    touch
}

#[test]
fn a_plane_pushes_with_stiffness_times_depth() {
    for seed in [1, 2] {
        let mut r = Random(seed);
        let pose = Pose::new(r.rotation(), r.point(0.3));
        let (mut scene, id) = scene(&sheet(30));
        scene.set_pose(id, pose);
        let params = ProxyParams::new(K);
        for side in [1.0, -1.0] {
            for _ in 0..20 {
                let (x, y) = (r.range(-0.02, 0.02), r.range(-0.02, 0.02));
                let depth = r.range(1e-4, 0.02);
                let mut proxy = Proxy::new();
                let at = |z: f64| pose.point(DVec3::new(x, y, side * z));
                assert!(!proxy.step(&scene, at(0.004), DVec3::ZERO, &params).touching);
                let touch = press(&mut proxy, &scene, at(0.004), at(-depth), &params);
                let expected = K * depth * pose.vector(DVec3::Z * side);
                assert!((touch.force - expected).length() < 1e-6 * expected.length(), "{touch:?} {expected}");
                assert!(touch.touching && !touch.lagging && touch.model == Some(id));
                assert!((touch.depth - depth).abs() < 1e-8);
                // Out again: no force, and the proxy is with the device.
                let out = press(&mut proxy, &scene, at(-depth), at(0.001), &params);
                assert!(!out.touching && out.force == DVec3::ZERO && out.proxy == at(0.001));
            }
        }
    }
}

#[test]
fn a_sphere_pushes_outward() {
    let points: Vec<_> = sphere(20_000).iter().map(|p| 0.05 * p).collect();
    let (scene, _) = scene(&points);
    let mut r = Random(3);
    let params = ProxyParams::new(K);
    let mut worst = 0f64;
    for _ in 0..30 {
        let n = r.direction();
        let mut proxy = Proxy::new();
        let mut touch = press(&mut proxy, &scene, 0.053 * n, 0.045 * n, &params);
        // And sideways, as a device is led over it.
        let (u, _) = n.any_orthonormal_pair();
        for i in 0..200 {
            let n = (n + u * 0.005 * f64::from(i)).normalize();
            touch = proxy.step(&scene, 0.045 * n, DVec3::ZERO, &params);
            worst = worst.max(touch.force.angle_between(n).to_degrees());
            // The mean of a curved patch lies below it: radius² / 12 r, 10 µm here.
            assert!((touch.depth - 0.005).abs() < 3e-5, "{touch:?}");
        }
        assert!(touch.touching && !touch.lagging);
    }
    println!("worst angle on a sphere {worst}°");
    assert!(worst < 1.0, "{worst}");
}

#[test]
fn force_is_continuous_over_the_papers_surface() {
    // As its points are, and with noise of a tenth of their spacing.
    for (seed, noise) in [(1, 0.0), (2, 2.5e-4)] {
        let mut r = Random(seed);
        let points: Vec<_> = waves().iter().map(|p| *p + noise * r.point(1.0)).collect();
        let (scene, _) = scene(&points);
        let (params, nearest) = (ProxyParams::new(K), PointForceParams::new(K));
        for mean in [1e-3, 5e-3] {
            let along = DVec3::new(1.0, r.range(0.2, 0.5), 0.0).normalize();
            // Steps of 10 µm along the surface, and up and down.
            let place = |i: i32, depth: f64| {
                let p = DVec3::new(0.1, 0.1, 0.0) + along * 1e-5 * f64::from(i);
                p.with_z(p.x.cos() + p.y.cos() - depth)
            };
            let depth = |i: i32| mean * (1.0 + 0.4 * (6e-3 * f64::from(i)).sin());
            let mut proxy = Proxy::new();
            press(&mut proxy, &scene, place(0, -5e-3), place(0, depth(0)), &params);
            let (mut last, mut last_near) = (None::<(DVec3, DVec3)>, None::<DVec3>);
            let (mut worst, mut jump) = (0f64, 0f64);
            for i in 0..20_000 {
                let device = place(i, depth(i));
                let touch = proxy.step(&scene, device, DVec3::ZERO, &params);
                assert!(touch.touching && !touch.lagging, "{i} {touch:?}");
                if let Some((before, force)) = last {
                    worst = worst.max((touch.force - force).length() / (K * device.distance(before)));
                }
                last = Some((device, touch.force));
                // The nearest point's, within its boxes.
                let near = scene.point_force(place(i, 1e-3), DVec3::ZERO, &nearest);
                if let (true, Some(l)) = (near.touching, last_near) {
                    jump = jump.max((near.force - l).length() / (K * 1e-5));
                }
                last_near = near.touching.then_some(near.force);
            }
            println!("noise {noise} depth {mean}: proxy {worst}, nearest point {jump} of stiffness × step");
            assert!(worst < 3.0, "{worst}");
            assert!(jump > 20.0 * worst, "{jump} {worst}");
        }
    }
}

#[test]
fn nothing_passes_a_sheet_of_single_points() {
    for seed in [1, 2] {
        let mut r = Random(seed);
        let (scene, _) = scene(&sheet(40));
        let params = ProxyParams::new(K);
        for i in 0..200 {
            let side = if i % 2 == 0 { 1.0 } else { -1.0 };
            // It may slide 24 mm in a step: not to the border.
            let hole = DVec3::new(r.range(-0.01, 0.01), r.range(-0.01, 0.01), 0.0);
            let steep = DVec3::new(r.range(-1.0, 1.0), r.range(-1.0, 1.0), 1.0).normalize() * side;
            let mut proxy = Proxy::new();
            let from = hole + r.range(1e-5, 1.0) * steep;
            proxy.step(&scene, from, DVec3::ZERO, &params);
            let to = hole - (1.0 - from.distance(hole)).max(0.01) * steep;
            let touch = proxy.step(&scene, to, DVec3::ZERO, &params);
            assert!(touch.touching && touch.proxy.z.abs() < 1e-8, "{seed} {i} {from} {to} {touch:?}");
            assert!(touch.normal.z * side > 0.99 && touch.force.z * side > 0.0);
        }
    }
}

#[test]
fn a_moving_model_pushes_a_resting_probe() {
    let params = ProxyParams::new(K);
    for per_step in [1e-4, 0.01, 0.5] {
        // A sheet that rises through the probe.
        let (mut scene, id) = scene(&sheet(30));
        let mut proxy = Proxy::new();
        let mut force = DVec3::ZERO;
        let mut z = -0.5 * per_step;
        scene.set_pose(id, Pose::from_translation(DVec3::Z * z));
        proxy.step(&scene, DVec3::ZERO, DVec3::ZERO, &params);
        for _ in 0..2 {
            z += per_step;
            scene.set_pose(id, Pose::from_translation(DVec3::Z * z));
            let touch = proxy.step(&scene, DVec3::ZERO, DVec3::ZERO, &params);
            force = touch.force;
            assert!(touch.touching);
        }
        assert!((force.z / (K * z) - 1.0).abs() < 1e-6, "{per_step} {force}");
    }
    // A blade that turns through the probe carries it round.
    let (mut scene, id) = scene(&sheet(30));
    let mut proxy = Proxy::new();
    let device = DVec3::new(0.02, 0.0, 0.0);
    for i in 0..=40 {
        let angle = -0.2 + 0.01 * f64::from(i);
        scene.set_pose(id, Pose::new(DQuat::from_rotation_y(-angle), DVec3::ZERO));
        scene.set_velocity(id, Twist { linear: DVec3::ZERO, angular: DVec3::NEG_Y });
        let touch = proxy.step(&scene, device, DVec3::ZERO, &ProxyParams { damping: 3.0, ..params });
        assert!(i == 20 || touch.touching == (i > 20), "{i} {touch:?}");
        if i > 20 {
            let depth = 0.02 * angle.sin();
            let speed = 0.02 * angle.cos();
            let push = K * depth + 3.0 * speed;
            assert!((touch.force.length() - push).abs() < 1e-5 * push, "{i} {touch:?} {push}");
        }
    }
}

#[test]
fn friction_holds_within_its_cone_and_slips_at_its_ratio() {
    let (scene, _) = scene(&sheet(30));
    let params = ProxyParams { static_friction: 0.5, kinetic_friction: 0.3, ..ProxyParams::new(K) };
    let depth = 2e-3;
    let mut proxy = Proxy::new();
    press(&mut proxy, &scene, DVec3::Z * 1e-3, DVec3::Z * -depth, &params);
    let (mut stuck, mut slid) = (0, 0);
    for i in 0..400 {
        let x = 1e-5 * f64::from(i);
        let touch = proxy.step(&scene, DVec3::new(x, 0.0, -depth), DVec3::ZERO, &params);
        let ratio = -touch.force.x / touch.force.z;
        if x < 0.5 * depth - 1e-7 {
            assert!(touch.sticking && (ratio - x / depth).abs() < 1e-6, "{x} {touch:?}");
            stuck += 1;
        } else if x > 0.5 * depth + 1e-5 {
            assert!(!touch.sticking && (ratio - 0.3).abs() < 1e-4, "{x} {ratio} {touch:?}");
            slid += 1;
        }
    }
    assert!(stuck > 90 && slid > 290);
    // Back: it rests again until the cone is left on the other side.
    let touch = proxy.step(&scene, DVec3::new(3.9e-3, 0.0, -depth), DVec3::ZERO, &params);
    assert!(touch.sticking, "{touch:?}");
}

#[test]
fn borders_edits_removals_and_bad_numbers_are_defined() {
    let params = ProxyParams::new(K);
    // Led over the border of an open scan, from 2 mm below it.
    let (mut all, id) = scene(&sheet(10));
    let mut proxy = Proxy::new();
    press(&mut proxy, &all, DVec3::Z * 1e-3, DVec3::Z * -2e-3, &params);
    let mut released = None;
    for i in 0..150 {
        let x = 1e-4 * f64::from(i);
        let touch = proxy.step(&all, DVec3::new(x, 0.0, -2e-3), DVec3::ZERO, &params);
        if !touch.touching && released.is_none() {
            released = Some(x);
        }
        assert!(released.is_none() || touch.force == DVec3::ZERO, "{i}");
    }
    println!("released at {released:?}");
    assert!(released.is_some_and(|x| x > 9.5e-3 && x < 12e-3), "{released:?}");

    // Not a number: no force, and all as it was.
    let mut proxy = Proxy::new();
    let before = press(&mut proxy, &all, DVec3::Z * 1e-3, DVec3::Z * -2e-3, &params);
    for bad in [DVec3::NAN, DVec3::INFINITY] {
        let touch = proxy.step(&all, bad, DVec3::ZERO, &params);
        assert!(touch.non_finite && touch.force == DVec3::ZERO);
        assert!(proxy.step(&all, DVec3::ZERO, bad, &params).non_finite);
    }
    assert!(
        proxy.step(&all, DVec3::ZERO, DVec3::ZERO, &ProxyParams { damping: f64::NAN, ..params }).non_finite
    );
    let pose = all.model(id).unwrap().w_from_m();
    all.set_pose(id, Pose::from_translation(DVec3::NAN));
    assert!(proxy.step(&all, DVec3::ZERO, DVec3::ZERO, &params).non_finite);
    all.set_pose(id, pose);
    let after = proxy.step(&all, DVec3::Z * -2e-3, DVec3::ZERO, &params);
    assert!((after.force - before.force).length() < 1e-9 && !after.non_finite);

    // Points taken out around the proxy let it go; those put in hold it.
    let edited = all.cloud_mut(id).unwrap();
    let mut near = Vec::new();
    edited.within_into(DVec3::ZERO, 5.1e-3, &mut near);
    assert!(near.len() > 70 && near.iter().all(|n| edited.remove(n.id)));
    let free = proxy.step(&all, DVec3::Z * -2e-3, DVec3::ZERO, &params);
    assert!(!free.touching && free.force == DVec3::ZERO);
    let edited = all.cloud_mut(id).unwrap();
    assert!(near.iter().all(|n| edited.insert(n.point).is_ok()));
    let held = press(&mut proxy, &all, DVec3::Z * -2e-3, DVec3::Z * 2e-3, &params);
    assert!(held.touching && (held.force.z + K * 2e-3).abs() < 1e-6, "{held:?}");

    // A model taken away while touched; an empty scene; models of no points.
    assert!(all.remove(id));
    let gone = proxy.step(&all, DVec3::Z * 2e-3, DVec3::ZERO, &params);
    assert!(!gone.touching && gone.force == DVec3::ZERO && gone.proxy == DVec3::Z * 2e-3);
    all.add(cloud(&[]), Pose::IDENTITY);
    all.add(cloud(&[DVec3::ZERO]), Pose::IDENTITY);
    let through = proxy.step(&all, DVec3::Z * -2e-3, DVec3::ZERO, &params);
    assert!(!through.touching && !through.lagging, "{through:?}");

    // Limits.
    let (all, _) = scene(&sheet(10));
    let limited = ProxyParams { most_force: 0.5, ..params };
    let touch = press(&mut Proxy::new(), &all, DVec3::Z * 1e-3, DVec3::Z * -2e-3, &limited);
    assert!((touch.force.length() - 0.5).abs() < 1e-9);
    assert!(limited.check().is_ok() && ProxyParams { radius: Some(f64::NAN), ..limited }.check().is_err());
    // Damping never pulls.
    let damped = ProxyParams { damping: 100.0, ..params };
    let mut proxy = Proxy::new();
    press(&mut proxy, &all, DVec3::Z * 1e-3, DVec3::Z * -1e-3, &damped);
    assert!(proxy.step(&all, DVec3::Z * -1e-3, DVec3::Z * 10.0, &damped).force.z == 0.0);
    let push = proxy.step(&all, DVec3::Z * -1e-3, DVec3::Z * -0.1, &damped).force.z;
    assert!((push - K * 1e-3 - 10.0).abs() < 1e-6);
}

#[test]
fn a_corner_of_two_models_stops_a_proxy() {
    // A floor and a wall at x = 10 mm that faces it.
    let mut all = Scene::new(TouchParams::default());
    all.add(cloud(&sheet(30)), Pose::IDENTITY);
    let wall = Pose::new(DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2), DVec3::new(0.01, 0.0, 0.0));
    all.add(cloud(&sheet(30)), wall);
    let params = ProxyParams::new(K);
    let mut proxy = Proxy::new();
    press(&mut proxy, &all, DVec3::Z * 1e-3, DVec3::Z * -2e-3, &params);
    let goal = DVec3::new(0.015, 0.0, -2e-3);
    let touch = press(&mut proxy, &all, DVec3::Z * -2e-3, goal, &params);
    assert!(touch.proxy.distance(DVec3::X * 0.01) < 1e-4, "{touch:?}");
    assert!((touch.force - K * (DVec3::X * 0.01 - goal)).length() < 0.1, "{touch:?}");
    // Lifted it leaves the floor and stays before the wall; drawn back it is free.
    let touch = press(&mut proxy, &all, goal, DVec3::new(0.015, 0.0, 2e-3), &params);
    assert!((touch.force - DVec3::X * -K * 5e-3).length() < 1e-3, "{touch:?}");
    let touch = press(&mut proxy, &all, DVec3::new(0.015, 0.0, 2e-3), DVec3::new(0.005, 0.0, 2e-3), &params);
    assert!(!touch.touching && !touch.lagging);
}

#[test]
fn a_gap_between_two_sheets_is_free() {
    // A probe in a gap of a few spacings feels nothing until it is at one of the sheets.
    for gap in [3.0, 4.0, 6.0, 9.0] {
        let mut points = sheet(20);
        points.extend(sheet(20).iter().map(|p| *p + DVec3::new(3e-4, 2e-4, 1e-3 * gap)));
        let (all, _) = scene(&points);
        let params = ProxyParams::new(K);
        let mut proxy = Proxy::new();
        let at = |z: f64| DVec3::new(1e-4, 2e-4, 1e-3 * z);
        proxy.step(&all, at(0.2), DVec3::ZERO, &params);
        let touch = press(&mut proxy, &all, at(0.2), at(gap - 0.2), &params);
        assert!(!touch.touching, "{gap} {touch:?}");
        let touch = press(&mut proxy, &all, at(gap - 0.2), at(gap + 1.0), &params);
        assert!(touch.touching && (touch.force.z / K + 1e-3).abs() < 1e-6, "{gap} {touch:?}");
        let touch = press(&mut proxy, &all, at(gap + 1.0), at(-1.0), &params);
        assert!(touch.touching && (touch.force.z / K - 1e-3).abs() < 1e-6, "{gap} {touch:?}");
    }
}

#[test]
fn a_long_way_along_points_lags_and_catches_up() {
    let (all, _) = scene(&sheet(40));
    let params = ProxyParams { most_steps: 8, ..ProxyParams::new(K) };
    let mut proxy = Proxy::new();
    proxy.step(&all, DVec3::new(-0.04, 0.0, 1e-3), DVec3::ZERO, &params);
    let goal = DVec3::new(0.04, 0.0, 1e-3);
    let mut late = 0;
    for _ in 0..200 {
        let touch = proxy.step(&all, goal, DVec3::ZERO, &params);
        assert!(touch.force == DVec3::ZERO && !touch.touching);
        late += usize::from(touch.lagging);
    }
    assert!(late > 5 && late < 100 && proxy.step(&all, goal, DVec3::ZERO, &params).proxy == goal, "{late}");
}

/// A cube of half an edge, points on its faces a millimetre apart, also on its edges.
fn cube(half: i32) -> Vec<DVec3> {
    let mut points = Vec::new();
    for i in -half..=half {
        for j in -half..=half {
            for k in -half..=half {
                if [i, j, k].iter().any(|v| v.abs() == half) {
                    points.push(1e-3 * DVec3::new(i.into(), j.into(), k.into()));
                }
            }
        }
    }
    points
}

#[test]
fn a_proxy_stays_on_its_side_of_closed_shapes() {
    // Whatever the device does: steps from a micrometre to ten times the shape's radius, from outside and from inside.
    let mut r = Random(11);
    let even: Vec<_> = sphere(12_000).iter().map(|p| 0.03 * p).collect();
    let random: Vec<_> = (0..12_000).map(|_| 0.03 * r.direction()).collect();
    // How far from the middle a place is over how far the surface is, and how much points may differ from the shape.
    let round: fn(DVec3) -> f64 = |p| p.length() / 0.03;
    let square: fn(DVec3) -> f64 = |p| p.abs().max_element() / 0.02;
    let shapes =
        [("even", even, round, 0.01), ("random", random, round, 0.03), ("cube", cube(20), square, 0.08)];
    for (name, points, size, give) in shapes {
        let (mut all, id) = scene(&points);
        for normals in [false, true] {
            let of: Arc<[DVec3]> = points.iter().map(|p| p.normalize()).collect();
            all.set_normals(id, normals.then_some(of));
            for (seed, outside) in [(1, true), (2, true), (3, false), (4, false)] {
                let mut r = Random(seed);
                let mut proxy = Proxy::new();
                let params =
                    ProxyParams { static_friction: 0.3, kinetic_friction: 0.2, ..ProxyParams::new(K) };
                let mut device = if outside { DVec3::X * 0.05 } else { DVec3::ZERO };
                proxy.step(&all, device, DVec3::ZERO, &params);
                let (mut touched, mut free, mut least, mut most) = (0, 0, f64::INFINITY, 0f64);
                for i in 0..1000 {
                    let leap = 10f64.powf(r.range(-6.0, if i % 50 == 0 { -0.5 } else { -1.5 }));
                    device += leap * r.direction();
                    // Back now and then, so that most of the time there is something to touch.
                    if i % 7 == 1 || device.length() > 0.1 {
                        device = r.point(if outside { 0.025 } else { 0.04 });
                    }
                    let touch = proxy.step(&all, device, DVec3::ZERO, &params);
                    assert!(touch.proxy.is_finite() && touch.force.is_finite() && !touch.non_finite);
                    assert!(touch.force.length() <= K * touch.proxy.distance(device) * (1.0 + 1e-9));
                    touched += usize::from(touch.touching);
                    free += usize::from(!touch.touching);
                    (least, most) = (least.min(size(touch.proxy)), most.max(size(touch.proxy)));
                }
                let kept = if outside { least > 1.0 - give } else { most < 1.0 + give };
                println!("{name} {normals} {seed} {outside}: {touched} {free} {least} {most}");
                assert!(kept, "{name} {normals} {seed} {outside}: {least} {most}");
                assert!(touched > 300 && free > 80, "{name} {touched} {free}");
            }
        }
    }
}

#[test]
fn the_same_steps_give_the_same_bits() {
    let mut r = Random(5);
    let points: Vec<_> = (0..5000).map(|_| 0.03 * r.direction()).collect();
    let run = || {
        let (mut all, id) = scene(&points);
        let other = all.add(cloud(&sheet(20)), Pose::from_translation(DVec3::Z * 0.025));
        let (mut r, mut proxy) = (Random(6), Proxy::new());
        let params = ProxyParams { static_friction: 0.2, kinetic_friction: 0.1, ..ProxyParams::new(K) };
        let mut all_touches = Vec::new();
        for i in 0..600 {
            let pose = Pose::new(DQuat::from_rotation_x(0.01 * f64::from(i)), r.point(1e-3));
            all.set_pose(if i % 2 == 0 { id } else { other }, pose);
            if i % 3 == 0 {
                let cloud = all.cloud_mut(id).unwrap();
                let gone = cloud.remove((r.bits() % 5000) as u32);
                assert!(!gone || cloud.insert(0.03 * r.direction()).is_ok());
            }
            all_touches.push(proxy.step(&all, r.point(0.035), r.point(0.1), &params));
        }
        assert!(all_touches.iter().all(|t| t.force.is_finite() && t.proxy.is_finite()));
        assert!(all_touches.iter().filter(|t| t.touching).count() > 100);
        all_touches
    };
    assert_eq!(run(), run());
}

#[test]
fn clouds_of_every_kind_are_touched_without_trouble() {
    let params =
        ProxyParams { static_friction: 0.3, kinetic_friction: 0.2, damping: 1.0, ..ProxyParams::new(K) };
    for (name, points) in kinds() {
        let (all, _) = scene(&points);
        let mut proxy = Proxy::new();
        let mut touched = 0;
        for p in probes(&points, 7, 150) {
            let touch = proxy.step(&all, p, DVec3::ONE, &params);
            assert!(
                touch.force.is_finite() && touch.proxy.is_finite() && !touch.non_finite,
                "{name} {touch:?}"
            );
            touched += usize::from(touch.touching);
        }
        // Surfaces are met; what has none is not.
        let (surface, none) = (["sheet", "ball", "geo"], ["line", "one"]);
        assert!(touched > 20 || !surface.contains(&name), "{name} {touched}");
        assert!(touched == 0 || !none.contains(&name), "{name} {touched}");
    }
}
