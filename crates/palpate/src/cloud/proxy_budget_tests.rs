//! What a step may take, and numbers that are none.

use super::proxy_tests::{K, cloud, press, scene, sheet};
use super::*;
use crate::field::source::random::Random;
use crate::math::Pose;

/// A long strip of points 20 µm apart.
fn strip() -> Vec<DVec3> {
    (0..1400 * 16).map(|i| 2e-5 * DVec3::new((i / 16).into(), (i % 16 - 8).into(), 0.0)).collect()
}

/// How many steps it takes to go to `goal`; none if it is not there after 600.
fn arrives(proxy: &mut Proxy, scene: &Scene, goal: DVec3, params: &ProxyParams) -> Option<usize> {
    let mut last = f64::INFINITY;
    for i in 0..600 {
        let touch = proxy.step(scene, goal, DVec3::ZERO, params);
        let left = touch.proxy.distance(goal);
        if left == 0.0 {
            return (!touch.lagging).then_some(i);
        }
        assert!(touch.lagging && left < last, "{i}: no way made, {left} m left");
        last = left;
    }
    None
}

#[test]
fn far_models_do_not_hold_a_proxy() {
    // Along a fine scan, 40 µm above it: some thousand places.
    let (from, goal) = (DVec3::new(1e-3, 0.0, 4e-5), DVec3::new(2.7e-2, 0.0, 4e-5));
    let params = ProxyParams::new(K);
    let mut steps = Vec::new();
    for others in [0, 1, 600] {
        let (mut all, _) = scene(&strip());
        let other = cloud(&sheet(3));
        for i in 0..others {
            all.add(other.clone(), Pose::from_translation(DVec3::new(5.0, f64::from(i), 0.0)));
        }
        let mut proxy = Proxy::new();
        proxy.step(&all, from, DVec3::ZERO, &params);
        steps.push(arrives(&mut proxy, &all, goal, &params));
    }
    println!("{steps:?}");
    // They cost nothing at all.
    assert!(steps[0].is_some_and(|n| n > 5) && steps.iter().all(|n| *n == steps[0]), "{steps:?}");
}

#[test]
fn many_near_models_share_the_places_and_every_step_makes_way() {
    // Sheets of single points, all along the way and a little apart, more of them than there are places.
    let other = cloud(&sheet(12));
    for (models, most_steps) in [(2, 8), (40, 128), (300, 128), (300, 0)] {
        let mut all = Scene::new(TouchParams::default());
        for i in 0..models {
            all.add(other.clone(), Pose::from_translation(DVec3::Z * (-1e-3 - 1e-6 * f64::from(i))));
        }
        let params = ProxyParams { most_steps, ..ProxyParams::new(K) };
        let mut proxy = Proxy::new();
        proxy.step(&all, DVec3::X * -0.01, DVec3::ZERO, &params);
        let free = arrives(&mut proxy, &all, DVec3::X * 0.01, &params);
        assert!(free.is_some_and(|n| n > 1), "{models} {most_steps} {free:?}");
        // On the highest of them, and along it: it lags, but it comes.
        let (below, beside) = (DVec3::new(0.01, 0.0, -3e-3), DVec3::new(-0.005, 0.0, -3e-3));
        let mut touch = Touch::default();
        for goal in [below, beside] {
            let mut steps = 0;
            loop {
                touch = proxy.step(&all, goal, DVec3::ZERO, &params);
                steps += 1;
                if touch.touching && !touch.lagging {
                    break;
                }
                assert!(steps < 300, "{models} {most_steps} {touch:?}");
            }
        }
        assert!((touch.force.z / K - 2e-3).abs() < 2e-6, "{models} {most_steps} {touch:?}");
        assert!(touch.proxy.distance(beside.with_z(-1e-3)) < 1e-5, "{touch:?}");
    }
}

#[test]
fn dense_points_cost_no_more_than_a_step_may_take() {
    // 700 points within the radius, and a device that slides far along.
    let mut r = Random(3);
    let points: Vec<_> =
        (0..40_000).map(|_| DVec3::new(r.range(0.0, 0.04), r.range(0.0, 0.04), 0.0)).collect();
    let (all, _) = scene(&points);
    let params = ProxyParams { radius: Some(3e-3), most_steps: 32, ..ProxyParams::new(K) };
    let mut proxy = Proxy::new();
    let at = |x: f64| DVec3::new(x, 0.02, -1e-3);
    press(&mut proxy, &all, at(0.01).with_z(1e-3), at(0.01), &params);
    let (mut late, mut most) = (0, 0);
    for i in 0..20 {
        let touch = proxy.step(&all, at(0.032), DVec3::ZERO, &params);
        late += usize::from(touch.lagging);
        most = most.max(proxy.work());
        assert!(touch.touching && touch.lagging == (i < late), "{i} {touch:?}");
    }
    // What a step may take, and the one settling that it ends with.
    println!("{most} points, {late} steps");
    assert!(most > 32 * 128 && most < 32 * 128 + 6 * 1000, "{most}");
    let touch = proxy.step(&all, at(0.032), DVec3::ZERO, &params);
    assert!(late > 3 && (touch.proxy - at(0.032).with_z(0.0)).length() < 1e-6, "{late} {touch:?}");
}

#[test]
fn parameters_that_are_no_numbers_are_flagged_and_keep_the_proxy() {
    let (all, _) = scene(&sheet(20));
    let params = ProxyParams::new(K);
    for from in [1e-3, -1e-3] {
        let mut proxy = Proxy::new();
        let before = press(&mut proxy, &all, DVec3::Z * 1e-3, DVec3::Z * from, &params);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let radius = ProxyParams { radius: Some(bad), ..params };
            let limit = ProxyParams { most_force: bad, ..params };
            for (i, params) in [radius, limit].iter().enumerate() {
                if i == 1 && bad == f64::INFINITY {
                    continue; // no limit
                }
                let touch = proxy.step(&all, DVec3::Z * -5e-3, DVec3::ZERO, params);
                assert!(
                    touch.non_finite && touch.force == DVec3::ZERO && touch.proxy == before.proxy,
                    "{touch:?}"
                );
            }
        }
        // As if nothing had been.
        let after = proxy.step(&all, DVec3::Z * -2e-3, DVec3::ZERO, &params);
        assert!(!after.non_finite && (after.force.z - K * 2e-3).abs() < 1e-6, "{after:?}");
    }
}

#[test]
fn a_pose_that_was_no_number_for_a_while_makes_no_force() {
    for nowhere in [Pose::from_translation(DVec3::NAN), Pose::from_translation(DVec3::X * f64::INFINITY)] {
        let (mut all, id) = scene(&sheet(30));
        // Another one is touched meanwhile, or none.
        for other in [None, Some(Pose::from_translation(DVec3::Z * -0.02))] {
            let second = other.map(|pose| all.add(cloud(&sheet(30)), pose));
            let params = ProxyParams::new(K);
            let mut proxy = Proxy::new();
            press(&mut proxy, &all, DVec3::Z * 2e-3, DVec3::Z * 1e-3, &params);
            all.set_pose(id, nowhere);
            let touch = press(&mut proxy, &all, DVec3::Z * 1e-3, DVec3::Z * -0.05, &params);
            assert_eq!(touch.touching, second.is_some());
            all.set_pose(id, Pose::IDENTITY);
            let touch = proxy.step(&all, DVec3::Z * -0.05, DVec3::ZERO, &params);
            let expected = if second.is_some() { K * 0.03 } else { 0.0 };
            assert!((touch.force.z - expected).abs() < 1e-5, "{touch:?}");
            assert!(touch.model == second && !touch.non_finite);
            // It is seen anew, from where the proxy is: from below.
            let touch = press(&mut proxy, &all, DVec3::Z * -0.05, DVec3::Z * 1e-3, &params);
            assert!(touch.model == Some(id) && (touch.force.z + K * 1e-3).abs() < 1e-6, "{touch:?}");
            second.map(|id| all.remove(id));
        }
    }
}
