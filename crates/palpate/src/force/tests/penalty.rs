//! Referee 1: closed forms of pressed shapes. Referee 2: the plain f64 law of `referee`, which is trusted everywhere.

use crate::contact::{Contact, Contacts};
use crate::field::analytic::Analytic;
use crate::field::source::random::Random;
use crate::force::penalty::{Job, Sums, press, press_plain};
use crate::force::referee::{self, contacts, exact, grid, random, sphere, swapped};
use crate::force::{
    ContactState, Direction, Force, ForceError, ForceParams, FrictionParams, Law, Twist, both, penalty,
};
use crate::math::{Pose, Wrench};
use glam::{DQuat, DVec3};
use std::f64::consts::PI;

const K: f64 = 1e9;

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * b.abs()
}

fn half_space() -> Analytic {
    Analytic::half_space(DVec3::Z, 0.0).unwrap()
}

fn directions() -> [ForceParams; 2] {
    [Direction::Field, Direction::Shell].map(|direction| ForceParams { direction, ..ForceParams::new(K) })
}

/// Within 0.5 %, with about 10,000 points in contact: the sum over the cap is a midpoint rule whose error falls with the
/// number of points, 0.02 % here.
#[test]
fn a_sphere_on_a_half_space_pushes_as_the_formula_says() {
    let (r, depth) = (0.05, 0.005);
    let a_from_b = Pose::new(DQuat::from_rotation_x(0.3), DVec3::new(0.2, 0.1, r - depth));
    let found = contacts(&half_space(), &sphere(r, 200_000), &a_from_b, 0.001);
    let wanted = [K * PI * r * depth * depth, K * PI * depth * depth * (r - depth / 3.0)];
    for (params, wanted) in directions().into_iter().zip(wanted) {
        let force = penalty(&found, &params, &a_from_b, None, None);
        assert!((9_000..11_000).contains(&force.used) && found.list.len() > force.used + 1000);
        assert!(close(force.wrench.force.z, wanted, 5e-3), "{} {wanted}", force.wrench.force);
        assert!(force.wrench.force.truncate().length() < 2e-3 * wanted);
        // Field forces pass left and right of the centre alike; no torque about it.
        assert!(force.wrench.torque.length() < 1e-3 * wanted * r, "{}", force.wrench.torque);
        assert!(close(force.area, 2.0 * PI * r * depth, 5e-3) && close(force.normal_force, wanted, 0.05));
        // The mean over the area is half of the greatest depth.
        let averaged = ForceParams { law: Law::Averaged, ..params };
        let mean = penalty(&found, &averaged, &a_from_b, None, None);
        assert!(close(mean.wrench.force.z, force.wrench.force.z / force.area, 1e-12));
        // About a point given in A's frame.
        let about = force.wrench.about(DVec3::ZERO - a_from_b.translation);
        let arm = a_from_b.translation.cross(force.wrench.force);
        assert!((about.torque - force.wrench.torque - arm).length() < 1e-9 * arm.length());
    }
}

/// The plane's points in the ball: k·π·(R − δ)·δ² and k·π·δ²·(R − 2δ/3), which differ from the other direction's by
/// δ/R. That is 2 % here.
#[test]
fn points_of_a_push_b_the_same_way() {
    let (r, depth) = (0.05, 0.001);
    let a_from_b = Pose::new(DQuat::IDENTITY, DVec3::new(0.0, 0.0, r - depth));
    let ball = Analytic::sphere(DVec3::ZERO, r).unwrap();
    let of_a = swapped(&ball, &grid(0.03, 0.03, 300, 300, DVec3::Z), &a_from_b, 0.0);
    let of_b = contacts(&half_space(), &sphere(r, 1_000_000), &a_from_b, 0.0);
    let wanted = [K * PI * (r - depth) * depth * depth, K * PI * depth * depth * (r - 2.0 * depth / 3.0)];
    for (params, wanted) in directions().into_iter().zip(wanted) {
        let a = penalty(&of_a, &params, &a_from_b, None, None);
        let b = penalty(&of_b, &params, &a_from_b, None, None);
        assert!(a.used > 5000 && b.used > 5000);
        assert!(close(a.wrench.force.z, wanted, 5e-3), "{} {wanted}", a.wrench.force);
        assert!(close(a.wrench.force.z, b.wrench.force.z, 0.025));
        let mean = both(&of_b, &of_a, &params, &a_from_b, None, None);
        assert_eq!(mean.wrench, (a.wrench + b.wrench) * 0.5);
        assert_eq!(mean.used, a.used + b.used);
    }
}

/// Two flat faces: the same patch seen from either side, the same wrench up to f32.
#[test]
fn swapping_gives_the_same_wrench() {
    let a_from_b = Pose::new(DQuat::from_rotation_z(0.4), DVec3::new(0.03, -0.05, -0.002));
    let face = grid(0.04, 0.02, 40, 20, DVec3::NEG_Z);
    let of_b = contacts(&half_space(), &face, &a_from_b, 0.0);
    // The same places on A, in the half-space above B's face.
    let over: Vec<_> = face
        .iter()
        .map(|&(p, _, area)| {
            let p = a_from_b.point(p);
            (p.with_z(0.0), DVec3::Z, area)
        })
        .collect();
    let upper = Analytic::half_space(DVec3::NEG_Z, 0.0).unwrap();
    let of_a = swapped(&upper, &over, &a_from_b, 0.0);
    assert_eq!((of_a.list.len(), of_b.list.len()), (800, 800));
    let motion = Twist { linear: DVec3::new(0.02, 0.01, -0.1), angular: DVec3::new(0.0, 0.0, 1.0) };
    let friction = FrictionParams { static_coefficient: 0.5, dynamic_coefficient: 0.4, ..Default::default() };
    for params in directions() {
        for params in [params, ForceParams { damping: 1e6, friction, law: Law::Averaged, ..params }] {
            let a = penalty(&of_a, &params, &a_from_b, Some(&motion), None);
            let b = penalty(&of_b, &params, &a_from_b, Some(&motion), None);
            let off = a.wrench + -b.wrench;
            assert!(off.force.length() < 1e-6 * b.wrench.force.length());
            // Friction acts 2 mm higher on the one than on the other.
            let arm = 0.002 * (b.wrench.force.truncate().length() + 1e-6 * b.wrench.force.z);
            assert!(off.torque.length() < 1.1 * arm + 1e-7 * b.wrench.force.z, "{}", off.torque);
        }
    }
}

/// A peg pressed with its end or its side: four times the force by the integrated law, the same by the averaged one.
#[test]
fn the_averaged_law_does_not_see_the_size() {
    let pose = Pose::from_translation(DVec3::new(0.0, 0.0, -0.001));
    let of = |x: f64| contacts(&half_space(), &grid(x, 0.01, 40, 10, DVec3::NEG_Z), &pose, 0.0);
    let (end, side) = (of(0.01), of(0.04));
    let force = |c: &Contacts, law, k| {
        penalty(c, &ForceParams { law, ..ForceParams::new(k) }, &pose, None, None).wrench.force.z
    };
    assert!(close(force(&side, Law::Integrated, K), 4.0 * force(&end, Law::Integrated, K), 1e-6));
    assert!(close(force(&side, Law::Averaged, 1e4), 10.0, 1e-6));
    assert!(close(force(&end, Law::Averaged, 1e4), 10.0, 1e-6));
}

/// 1e-6 of the sum of lengths: each contact's force is rounded to f32 a few times.
#[test]
fn forces_and_torques_agree_with_the_plain_law() {
    let (mut clamped, mut used, mut sliding, mut all) = (0, 0, 0, 0);
    for seed in 0..200 {
        let mut r = Random(seed);
        let found = random(seed, (r.bits() % 300) as usize, seed % 2 == 0);
        let a_from_b = Pose::new(r.rotation(), found.origin + r.point(0.2));
        let motion = Twist { linear: r.point(1.0), angular: r.point(3.0) };
        let params = ForceParams {
            law: if seed % 3 == 0 { Law::Averaged } else { Law::Integrated },
            direction: if seed % 5 < 2 { Direction::Shell } else { Direction::Field },
            stiffness: 10.0_f64.powf(r.range(-12.0, 12.0)),
            ..ForceParams::default()
        };
        let params = ForceParams {
            damping: params.stiffness * r.range(0.0, 2e-3),
            friction: FrictionParams {
                static_coefficient: 0.0,
                dynamic_coefficient: if seed % 4 == 0 { 0.5 } else { 0.0 },
                creep: 1.0,
                ..Default::default()
            },
            ..params
        };
        let wanted = referee::force(&exact(&found), found.swapped, &params, &a_from_b, &motion, None, false);
        let force = penalty(&found, &params, &a_from_b, Some(&motion), None);
        let off = force.wrench + -wanted.wrench;
        assert!(off.force.length() <= 1e-6 * wanted.force_scale, "seed {seed}: {}", off.force);
        assert!(off.torque.length() <= 1e-6 * wanted.torque_scale, "seed {seed}: {}", off.torque);
        assert!(close(force.area, wanted.area, 1e-6) && force.used == wanted.used);
        // A speed at the creep speed up to rounding may fall on either side.
        assert!(force.sliding.abs_diff(wanted.sliding) <= 1 && !force.non_finite);
        assert_eq!(force.sticking + force.sliding, if seed % 4 == 0 { force.used } else { 0 });
        clamped += wanted.clamped;
        used += wanted.used;
        all += found.list.len();
        sliding += force.sliding;
    }
    let share = |n: usize, of: usize| n as f64 / of as f64;
    assert!(
        (0.6..0.9).contains(&share(used, all)) && (0.05..0.6).contains(&share(clamped, used)),
        "{used} {all} {clamped}"
    );
    assert!(share(sliding, used) > 0.05);
}

/// Whatever the velocity, no contact pulls: along the push the force is never negative.
#[test]
fn damping_never_pulls() {
    let mut away = 0;
    for seed in 0..500 {
        let mut r = Random(seed);
        let found = random(seed, 1, seed % 2 == 0);
        let motion = Twist { linear: r.point(10.0), angular: r.point(10.0) };
        let params = ForceParams { damping: 1e8, ..ForceParams::new(K) };
        let pose = Pose::from_translation(r.point(0.2));
        let force = penalty(&found, &params, &pose, Some(&motion), None);
        let normal = found.list[0].normal().as_dvec3();
        assert!(force.wrench.force.dot(normal) >= 0.0 && force.normal_force >= 0.0);
        away += usize::from(force.used == 1 && force.wrench.force == DVec3::ZERO);
    }
    assert!((100..300).contains(&away), "{away}");
}

#[test]
fn lanes_do_not_change_bits() {
    for n in (0..40).chain([1000, 1003]) {
        for (swapped, direction, moving) in
            [(false, Direction::Field, 0.0), (true, Direction::Shell, 0.0), (true, Direction::Field, 1.0)]
        {
            let found = random(n as u64, n, swapped);
            let motion = Twist { linear: DVec3::ONE * moving, angular: DVec3::X * moving };
            let params = ForceParams { direction, damping: 1e6, ..ForceParams::new(K) };
            let job = Job::new(&found, &params, &Pose::IDENTITY, &motion);
            let (mut a, mut b) = (Sums::default(), Sums::default());
            press(&job, &found.list, &mut a);
            press_plain(&job, &found.list, &mut b);
            assert_eq!(a, b);
            // Contact i is in lane i mod 8, and in no other.
            let areas = |lane: usize| -> f64 {
                let lanes = found.list.iter().enumerate().filter(|(i, c)| i % 8 == lane && c.distance < 0.0);
                lanes.map(|(_, c)| f64::from(c.area)).sum()
            };
            assert_eq!(a.of[6], core::array::from_fn(areas));
        }
    }
}

#[test]
fn bad_input_gives_zero_and_a_flag() {
    let found = random(1, 100, false);
    let params = ForceParams { damping: 1.0, ..ForceParams::new(K) };
    let bad = Force { non_finite: true, ..Force::default() };
    let nan = DVec3::new(0.0, f64::NAN, 0.0);
    let motion = Twist { linear: nan, angular: DVec3::ZERO };
    assert_eq!(penalty(&found, &params, &Pose::IDENTITY, Some(&motion), None), bad);
    let motion = Twist { linear: DVec3::ZERO, angular: DVec3::INFINITY };
    assert_eq!(penalty(&found, &params, &Pose::IDENTITY, Some(&motion), None), bad);
    assert_eq!(penalty(&found, &params, &Pose::from_translation(nan), None, None), bad);
    assert_eq!(penalty(&found, &ForceParams::new(f64::NAN), &Pose::IDENTITY, None, None), bad);
    assert_eq!(penalty(&found, &ForceParams::new(f64::INFINITY), &Pose::IDENTITY, None, None), bad);
    // Any number of a contact with depth, and a distance that is none.
    let breaks: [fn(&mut Contact); 5] = [
        |c| c.point[1] = f32::NAN,
        |c| c.normal[2] = f32::INFINITY,
        |c| c.area = f32::NAN,
        |c| c.distance = f32::NAN,
        |c| c.distance = f32::NEG_INFINITY,
    ];
    for spoil in breaks {
        let mut found = found.clone();
        found.list[37].distance = -1e-3;
        spoil(&mut found.list[37]);
        assert_eq!(penalty(&found, &params, &Pose::IDENTITY, None, None), bad);
        let mut state = ContactState::new();
        let rough = ForceParams {
            friction: FrictionParams { static_coefficient: 1.0, ..Default::default() },
            ..params
        };
        assert_eq!(penalty(&found, &rough, &Pose::IDENTITY, None, Some(&mut state)), bad);
        assert!(state.is_empty());
        assert_eq!(both(&found, &random(2, 9, true), &params, &Pose::IDENTITY, None, None), bad);
    }
}

#[test]
fn nothing_gives_nothing() {
    let empty = Contacts::default();
    for law in [Law::Integrated, Law::Averaged] {
        let params = ForceParams { law, ..ForceParams::new(K) };
        assert_eq!(penalty(&empty, &params, &Pose::IDENTITY, None, None), Force::default());
        assert_eq!(both(&empty, &empty, &params, &Pose::IDENTITY, None, None), Force::default());
        // Of no area.
        let mut flat = random(3, 50, false);
        flat.list.iter_mut().for_each(|c| c.area = 0.0);
        let force = penalty(&flat, &params, &Pose::IDENTITY, None, None);
        assert!(force.wrench == Wrench::ZERO && force.used > 20 && !force.non_finite);
        // Of a margin only.
        let mut apart = random(3, 50, false);
        apart.list.iter_mut().for_each(|c| c.distance = c.distance.abs());
        assert_eq!(penalty(&apart, &params, &Pose::IDENTITY, None, None), Force::default());
    }
    // Without stiffness there is damping, without both the area alone. Negative ones are 0.
    let found = random(3, 50, false);
    let motion = Twist { linear: DVec3::X, angular: DVec3::ZERO };
    for stiffness in [0.0, -5.0] {
        let still = penalty(&found, &ForceParams::new(stiffness), &Pose::IDENTITY, Some(&motion), None);
        assert!(still.wrench == Wrench::ZERO && still.area > 0.0 && still.used > 20);
        let params = ForceParams { damping: 1e6, ..ForceParams::new(stiffness) };
        let damped = penalty(&found, &params, &Pose::IDENTITY, Some(&motion), None);
        assert!(damped.wrench.force.x < 0.0 && damped.normal_force > 0.0);
    }
    assert_eq!(ForceParams::default().stiffness, 0.0);
}

#[test]
fn parameters_are_checked() {
    ForceParams::new(K).check().unwrap();
    let wrong = ForceParams { damping: -1.0, ..ForceParams::new(K) }.check().unwrap_err();
    assert_eq!(wrong.to_string(), "damping is -1; it must be finite and not negative");
    assert!(matches!(ForceParams::new(f64::NAN).check(), Err(ForceError::BadParameter { .. })));
    let friction = FrictionParams { dynamic_coefficient: 0.5, ..Default::default() };
    assert!(ForceParams { friction, ..ForceParams::new(K) }.check().is_err());
    let friction = FrictionParams { creep: 0.0, ..Default::default() };
    assert!(ForceParams { friction, ..ForceParams::new(K) }.check().is_err());
}
