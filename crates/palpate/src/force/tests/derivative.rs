//! Central differences with a step of 1e-8 m and 1e-8 rad of the plain f64 law on frozen contacts, whose distances change
//! as in plane fields: what is left is rounding, 1e-5 of the largest entry, and
//! 1e-4 where a small friction turns within the step. And, coarser,
//! of the force itself on contacts that are asked for again.

use crate::contact::Contacts;
use crate::field::Source;
use crate::field::analytic::Analytic;
use crate::field::source::random::Random;
use crate::force::referee::{self, Anchors, Exact, Patch, contacts, exact, moved, random, sphere, swapped};
use crate::force::{
    ContactState, Derivative, Direction, ForceParams, FrictionParams, Law, Twist, derivative, penalty,
};
use crate::math::{Pose, Wrench};
use glam::{DQuat, DVec3};

fn small(k: usize, step: f64) -> Twist {
    let axis = DVec3::AXES[k % 3] * step;
    let zero = DVec3::ZERO;
    if k < 3 { Twist { linear: axis, angular: zero } } else { Twist { linear: zero, angular: axis } }
}

/// Rows and columns of central differences.
fn differences(step: f64, of: impl Fn(&Twist) -> Wrench) -> [[f64; 6]; 6] {
    let column = |k: usize| {
        let d = (of(&small(k, step)) + -of(&small(k, -step))) * (0.5 / step);
        [d.force.to_array(), d.torque.to_array()]
    };
    let columns: [_; 6] = core::array::from_fn(column);
    core::array::from_fn(|row| columns.map(|c| c[row / 3][row % 3]))
}

/// Largest difference in each of the four blocks, over the largest entry of the block's rows and columns.
fn worst(a: &Derivative, b: &[[f64; 6]; 6]) -> f64 {
    let a = a.rows();
    let mut worst = 0.0_f64;
    for (row, col) in [(0, 0), (0, 3), (3, 0), (3, 3)] {
        let cells = || (0..3).flat_map(move |i| (0..3).map(move |j| (row + i, col + j)));
        let largest = cells().map(|(i, j)| b[i][j].abs()).fold(0.0, f64::max);
        let off = cells().map(|(i, j)| (a[i][j] - b[i][j]).abs()).fold(0.0, f64::max);
        worst = worst.max(off / largest.max(1e-30));
    }
    worst
}

/// Anchors as the state has them.
fn anchors_of(state: &ContactState) -> Anchors {
    let anchor = |at: usize| {
        let (p, slides) = state.anchor(at, &Pose::IDENTITY);
        (state.last.ids[at], (p, slides))
    };
    (0..state.len()).map(anchor).collect()
}

#[test]
fn it_agrees_with_central_differences_on_frozen_contacts() {
    let (mut slid, mut stuck, mut clamped) = (0, 0, 0);
    for seed in 0..120 {
        let mut r = Random(seed);
        let mut found = random(seed, 80, seed % 2 == 0);
        // None so near to the surface that a step takes it across.
        found.list.retain(|c| c.distance.abs() > 1e-5);
        let (swapped, list) = (found.swapped, exact(&found));
        let a_from_b = Pose::new(r.rotation(), found.origin + r.point(0.1));
        let params = ForceParams {
            law: if seed % 3 == 0 { Law::Averaged } else { Law::Integrated },
            direction: if seed % 4 < 2 { Direction::Shell } else { Direction::Field },
            ..ForceParams::new(1e9)
        };
        let motion = Twist { linear: r.point(0.1), angular: r.point(1.0) };
        let friction = FrictionParams {
            static_coefficient: 0.5,
            dynamic_coefficient: 0.4,
            damping: 1e6,
            creep: 0.05,
            ..Default::default()
        };
        let rough = ForceParams { damping: 1e6, friction, ..params };
        let differ = |params: &ForceParams, motion: &Twist, anchors: Option<&Anchors>| {
            differences(1e-8, |d| {
                let (list, pose) = moved(&list, swapped, &a_from_b, d);
                let mut anchors = anchors.cloned();
                // The area is frozen, and so are the contacts.
                referee::force(&list, swapped, params, &pose, motion, anchors.as_mut(), true).wrench
            })
        };
        // Springs alone, the same through the general form, and everything without memory.
        let still = Twist::ZERO;
        let springs = derivative(&found, &params, &a_from_b, None, None);
        let off = worst(&springs, &differ(&params, &still, None));
        assert!(off < 1e-5, "springs, seed {seed}: {off}");
        let general = ForceParams { damping: 1e-9, ..params };
        let general = derivative(&found, &general, &a_from_b, Some(&motion), None);
        let off = worst(&general, &springs.rows());
        assert!(off < 1e-9, "general, seed {seed}: {off}");
        let damped = ForceParams { damping: 1e6, ..params };
        let by_speed = derivative(&found, &damped, &a_from_b, Some(&motion), None);
        let off = worst(&by_speed, &differ(&damped, &motion, None));
        assert!(off < 1e-5, "by_speed, seed {seed}: {off}");
        let creeping = derivative(&found, &rough, &a_from_b, Some(&motion), None);
        let off = worst(&creeping, &differ(&rough, &motion, None));
        assert!(off < 1e-4, "creeping, seed {seed}: {off}");
        // With memory, after some motion.
        let shift = r.point(1e-3);
        let there =
            Pose::new(a_from_b.rotation, a_from_b.translation - if swapped { shift } else { DVec3::ZERO });
        let mut state = ContactState::new();
        let origin = if swapped { found.origin } else { found.origin - shift };
        penalty(&Contacts { origin, ..found.clone() }, &rough, &there, None, Some(&mut state));
        let force = penalty(&found, &rough, &a_from_b, Some(&motion), Some(&mut state));
        let held = derivative(&found, &rough, &a_from_b, Some(&motion), Some(&state));
        let anchors = anchors_of(&state);
        let off = worst(&held, &differ(&rough, &motion, Some(&anchors)));
        assert!(off < 1e-4, "held, seed {seed}: {off}");
        // Applied to a motion it is the matrix times the motion.
        let d = Twist { linear: r.point(1.0), angular: r.point(1.0) };
        let vector = [d.linear.to_array(), d.angular.to_array()].concat();
        let row = held.rows()[4];
        let product: f64 = row.iter().zip(&vector).map(|(a, b)| a * b).sum();
        assert!((held.apply(&d).torque.y - product).abs() < 1e-9 * product.abs().max(1.0));
        slid += force.sliding;
        stuck += force.sticking;
        let all = referee::force(&list, swapped, &damped, &a_from_b, &motion, None, false);
        clamped += all.clamped;
    }
    let share = |n: usize| n as f64 / (slid + stuck) as f64;
    assert!(
        (0.2..0.8).contains(&share(slid)) && share(clamped) > 0.003,
        "{} {}",
        share(slid),
        share(clamped)
    );
}

/// Central differences of `penalty` itself, contacts asked for again each time.
fn asked(
    field: &impl Source,
    points: &[Patch],
    pose: &Pose,
    params: &ForceParams,
    is_swapped: bool,
    step: f64,
) -> (Derivative, [[f64; 6]; 6]) {
    let ask = |pose: &Pose| {
        // A margin, so that the set stays; those outside push with nothing.
        if is_swapped { swapped(field, points, pose, 1.0) } else { contacts(field, points, pose, 1.0) }
    };
    let d = derivative(&ask(pose), params, pose, None, None);
    let rows = differences(step, |m| {
        let (_, to): (Vec<Exact>, Pose) = moved(&[], is_swapped, pose, m);
        penalty(&ask(&to), params, &to, None, None).wrench
    });
    (d, rows)
}

/// Plane field, all points deep: steps of 1e-4 m and rad at 10 mm depth; f32 contacts leave 1e-3.
#[test]
fn it_agrees_with_the_force_on_a_half_space() {
    let plane = Analytic::half_space(DVec3::new(0.1, 0.2, 1.0), 0.0).unwrap();
    // Open and beside B's origin: pushes on a closed surface cancel, and those through the origin have no torque.
    let cup = sphere(0.02, 400).into_iter().filter(|(p, ..)| p.z < 0.005);
    let cup: Vec<Patch> = cup.map(|(p, n, area)| (p + DVec3::new(0.01, 0.015, 0.005), n, area)).collect();
    let pose = Pose::new(DQuat::from_rotation_y(0.5), DVec3::new(0.01, 0.02, -0.05));
    for direction in [Direction::Field, Direction::Shell] {
        for law in [Law::Integrated, Law::Averaged] {
            let params = ForceParams { law, direction, ..ForceParams::new(1e8) };
            for is_swapped in [false, true] {
                let (d, rows) = asked(&plane, &cup, &pose, &params, is_swapped, 1e-4);
                let off = worst(&d, &rows);
                assert!(off < 1e-3, "{direction:?} {law:?} {is_swapped}: {off}");
            }
        }
    }
}

/// A sphere's field turns: the neglected part is force over radius, that is depth over radius of what is kept. At a
/// depth of 1 % of the radius the derivative is within 2 %, at 5 % within 10 %.
#[test]
fn on_a_sphere_it_is_off_by_depth_over_radius() {
    let radius = 0.1;
    let ball = Analytic::sphere(DVec3::ZERO, radius).unwrap();
    for (depth, tolerance) in [(0.01, 0.02), (0.05, 0.1)] {
        let flat = referee::grid(0.02, 0.02, 20, 20, DVec3::NEG_Z);
        let pose = Pose::from_translation(DVec3::Z * radius * (1.0 - depth));
        let bent: Vec<Patch> = flat
            .iter()
            .map(|&(p, _, area)| {
                // B is a bowl around A: all points equally deep.
                let at = (p + DVec3::Z * radius).normalize() * radius * (1.0 - depth);
                (at - pose.translation, -at.normalize(), area)
            })
            .collect();
        let (d, rows) = asked(&ball, &bent, &pose, &ForceParams::new(1e9), false, 1e-5);
        let stiff = rows[2][2].abs();
        let rows_d = d.rows();
        let mut off = 0.0_f64;
        for i in 0..3 {
            for j in 0..3 {
                off = off.max((rows_d[i][j] - rows[i][j]).abs() / stiff);
            }
        }
        assert!(off < tolerance && off > 0.1 * depth, "{depth}: {off}");
    }
}

#[test]
fn bad_input_gives_zeros() {
    let found = random(1, 50, false);
    let params = ForceParams::new(1e9);
    let nan = Pose::from_translation(DVec3::NAN);
    assert_eq!(derivative(&found, &params, &nan, None, None), Derivative::ZERO);
    let motion = Twist { linear: DVec3::NAN, angular: DVec3::ZERO };
    assert_eq!(derivative(&found, &params, &Pose::IDENTITY, Some(&motion), None), Derivative::ZERO);
    assert_eq!(derivative(&Contacts::default(), &params, &Pose::IDENTITY, None, None), Derivative::ZERO);
    for law in [Law::Integrated, Law::Averaged] {
        let mut bad = found.clone();
        bad.list[7].distance = f32::NAN;
        let params = ForceParams { law, ..params };
        assert_eq!(derivative(&bad, &params, &Pose::IDENTITY, None, None), Derivative::ZERO);
    }
}
