//! Referees: finite differences for gradients, dense surface samples for distances, and the defining properties
//! of a signed distance, which need no referee. Every test runs from 1 mm to 1 km.

use super::super::source::random::Random;
use super::*;

pub(super) const SEED: u64 = 0x5eed_0001;
/// Object sizes [m].
const SCALES: [f64; 4] = [1e-3, 0.1, 1.0, 1e3];

/// One of each primitive, of about the size `k`, none centred or aligned with the origin unless its type is.
fn primitives(k: f64) -> Vec<Analytic> {
    let v = |x, y, z| k * DVec3::new(x, y, z);
    let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 0.7);
    let torus = Analytic::torus(0.7 * k, 0.25 * k).unwrap();
    let slab = Analytic::cuboid(v(0.1, 0.0, -0.1), v(0.9, 0.05, 0.6)).unwrap();
    vec![
        Analytic::sphere(v(0.1, -0.2, 0.05), 0.8 * k).unwrap(),
        Analytic::cuboid(v(-0.1, 0.1, 0.2), v(0.5, 0.7, 0.3)).unwrap(),
        Analytic::capsule(v(-0.5, 0.1, 0.0), v(0.4, 0.3, -0.6), 0.3 * k).unwrap(),
        torus.clone(),
        Analytic::half_space(DVec3::new(0.3, -2.0, 1.1), 0.2 * k).unwrap(),
        torus.transformed(turn, v(0.3, 0.2, -0.1)).unwrap(),
        slab.transformed(turn.inverse(), v(0.0, -0.2, 0.1)).unwrap(),
        Analytic::cylinder(v(-0.5, 0.1, 0.0), v(0.4, 0.3, -0.6), 0.4 * k).unwrap(),
        Analytic::cone(v(-0.3, 0.1, 0.4), v(0.4, 0.3, -0.8), 0.7 * k).unwrap(),
        wedge(k),
        wedge(k).transformed(turn, v(0.1, 0.2, -0.1)).unwrap().rounded(0.15 * k).unwrap(),
        Analytic::cuboid(v(-0.1, 0.1, 0.2), v(0.5, 0.4, 0.3)).unwrap().rounded(0.2 * k).unwrap(),
        Analytic::cone(v(0.1, 0.0, -0.4), v(0.1, 0.3, 0.4), 0.3 * k).unwrap().rounded(0.3 * k).unwrap(),
    ]
}

/// Corners of a box cut and leaned, so that no face is along an axis: six faces, four of them of four corners.
pub(super) fn wedge_mesh(k: f64) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let lean = glam::DMat3::from_cols(
        DVec3::new(0.9, 0.2, -0.1),
        DVec3::new(-0.3, 0.8, 0.25),
        DVec3::new(0.15, -0.2, 0.7),
    );
    let corner =
        |i: u32| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - DVec3::splat(0.5);
    let positions = (0..8).map(|i| k * (1.3 * (lean * corner(i)) + DVec3::new(0.1, 0.05, -0.1))).collect();
    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    (positions, triangles)
}

pub(super) fn wedge(k: f64) -> Analytic {
    let (positions, triangles) = wedge_mesh(k);
    Analytic::hull(&positions, &triangles).unwrap()
}

/// Random points with their shape, inside and outside.
fn for_each(shapes: fn(f64) -> Vec<Analytic>, mut check: impl FnMut(&Analytic, f64, DVec3, &mut Random)) {
    let mut random = Random(SEED);
    let (mut inside, mut all) = (0, 0);
    for k in SCALES {
        for shape in shapes(k) {
            for _ in 0..500 {
                let p = random.point(1.2 * k);
                inside += usize::from(shape.distance(p) < 0.0);
                all += 1;
                check(&shape, k, p, &mut random);
            }
        }
    }
    let share = inside as f64 / all as f64;
    assert!((0.1..0.7).contains(&share), "{share} of the points were inside, seed {SEED:#x}");
}

#[test]
fn moving_by_the_distance_along_the_gradient_lands_on_the_surface() {
    for_each(primitives, |shape, k, p, _| {
        let s = shape.sample(p);
        assert!((s.gradient.length() - 1.0).abs() < 1e-14, "{shape:?} {p}");
        let q = p - s.distance * s.gradient;
        // Rounding of a few operations on coordinates of size k.
        assert!(shape.distance(q).abs() < 1e-14 * k, "{shape:?} {p}");
        let c = shape.closest_point(p).unwrap();
        assert!(c.distance(q) < 1e-13 * k, "{shape:?} {p}: {c} {q}");
    });
}

#[test]
fn gradient_is_the_derivative() {
    let mut smooth = 0;
    for_each(primitives, |shape, k, p, _| {
        let h = 1e-6 * k;
        let d = |e: DVec3| (shape.distance(p + h * e) - shape.distance(p - h * e)) / (2.0 * h);
        let numeric = DVec3::new(d(DVec3::X), d(DVec3::Y), d(DVec3::Z));
        let gradient = shape.sample(p).gradient;
        // A central difference across a crease of the distance is not a derivative: it is not unit there.
        if (numeric.length() - 1.0).abs() < 1e-6 {
            smooth += 1;
            // Rounding 1e-16 k / h plus curvature h² / k².
            assert!(numeric.distance(gradient) < 1e-7, "{shape:?} {p}: {numeric} {gradient}");
        }
    });
    assert!(smooth > 25_800, "only {smooth} of 26000 points were smooth");
}

#[test]
fn distance_is_one_lipschitz_and_not_less_than_to_any_surface_point() {
    let with_unions = |k| {
        let mut all = primitives(k);
        all.push(Analytic::union(vec![all[0].clone(), all[1].clone(), all[5].clone()]).unwrap());
        // A ring whose hole the radius closes.
        all.push(Analytic::torus(0.4 * k, 0.2 * k).unwrap().rounded(0.3 * k).unwrap());
        all
    };
    for_each(with_unions, |shape, k, p, random| {
        let size = 10f64.powf(random.range(-6.0, 0.0)) * k;
        let step = random.point(size);
        let change = (shape.distance(p + step) - shape.distance(p)).abs();
        assert!(change <= step.length() + 1e-14 * k, "{shape:?} {p} {step}");
        // A point of the surface, from anywhere: |distance| is the least distance to the surface.
        let (q, sample) = (random.point(1.2 * k), shape.sample(p));
        if let Some(on) = shape.closest_point(q) {
            assert!(sample.distance.abs() <= on.distance(p) + 1e-14 * k, "{shape:?} {p} {on}");
        }
    });
}

#[test]
fn rigid_motion_does_not_change_the_distance() {
    for_each(primitives, |shape, k, p, random| {
        let (rotation, translation) = (random.rotation(), random.point(k));
        let moved = shape.clone().transformed(rotation, translation).unwrap();
        let (s, m) = (shape.sample(p), moved.sample(rotation * p + translation));
        assert!((s.distance - m.distance).abs() < 1e-14 * k, "{shape:?} {p}");
        assert!((rotation * s.gradient).distance(m.gradient) < 1e-9, "{shape:?} {p}");
    });
}

#[test]
fn known_distances() {
    let near = |shape: &Analytic, p: [f64; 3], d: f64| {
        let got = shape.distance(DVec3::from(p));
        assert!((got - d).abs() < 1e-15, "{shape:?} {p:?}: {got}, not {d}");
    };
    let cube = Analytic::cuboid(DVec3::ZERO, DVec3::ONE).unwrap();
    near(&cube, [0.0, 0.0, 0.0], -1.0);
    near(&cube, [2.0, 2.0, 2.0], 3f64.sqrt());
    near(&cube, [0.5, 0.2, -0.75], -0.25);
    let torus = Analytic::torus(1.0, 0.3).unwrap();
    near(&torus, [0.0, 0.0, 0.0], 0.7);
    near(&torus, [0.0, 1.0, 0.0], -0.3);
    near(&torus, [-1.0, 0.0, 0.4], 0.1);
    let capsule = Analytic::capsule(DVec3::ZERO, DVec3::X, 0.5).unwrap();
    near(&capsule, [-1.0, 0.0, 0.0], 0.5);
    near(&capsule, [0.5, 0.0, 0.0], -0.5);
    near(&Analytic::half_space(DVec3::new(0.0, 0.0, 7.0), 0.25).unwrap(), [5.0, -3.0, -1.0], -1.25);
}

#[test]
fn undefined_gradients_are_zero_and_closest_points_still_exist() {
    let cases = [
        (Analytic::sphere(DVec3::ONE, 2.0).unwrap(), DVec3::ONE),
        (Analytic::cuboid(DVec3::ONE, DVec3::ONE).unwrap(), DVec3::ONE),
        (Analytic::cuboid(DVec3::ZERO, DVec3::ONE).unwrap(), DVec3::new(0.5, 0.5, 0.0)),
        (Analytic::capsule(DVec3::ZERO, DVec3::X, 1.0).unwrap(), DVec3::new(0.25, 0.0, 0.0)),
        (Analytic::capsule(DVec3::X, DVec3::X, 1.0).unwrap(), DVec3::X),
        (Analytic::torus(2.0, 1.0).unwrap(), DVec3::Z),
        (Analytic::torus(2.0, 1.0).unwrap(), 2.0 * DVec3::Y),
    ];
    for (shape, p) in cases {
        let s = shape.sample(p);
        assert_eq!(s.gradient, DVec3::ZERO, "{shape:?}");
        let q = shape.closest_point(p).unwrap();
        assert!(
            shape.distance(q).abs() < 1e-15 && (q.distance(p) - s.distance.abs()).abs() < 1e-15,
            "{shape:?}"
        );
    }
}

#[test]
fn bounds_of_primitives_are_rounding_wide() {
    for_each(primitives, |shape, k, p, _| {
        let ((lower, upper), d) = (shape.bounds(p), shape.distance(p));
        assert!(lower <= d && d <= upper && upper - lower < 1e-13 * k, "{shape:?} {p}");
    });
}

#[test]
fn union_is_exact_outside_and_bounded_inside() {
    let mut random = Random(SEED);
    // Four balls in a tight bunch, whose middle is covered by several: the depth there is not that of one ball.
    let balls: Vec<_> = (0..4).map(|_| (random.point(0.5), random.range(0.3, 0.7))).collect();
    let shape = Analytic::union(balls.iter().map(|b| Analytic::sphere(b.0, b.1).unwrap()).collect()).unwrap();
    // Referee: surface points of each ball that no other ball covers, dense to about 0.02.
    let mut surface = Vec::new();
    for (i, ball) in balls.iter().enumerate() {
        for _ in 0..20_000 {
            let q = ball.0 + ball.1 * random.direction();
            if balls.iter().enumerate().all(|(j, b)| j == i || b.0.distance(q) >= b.1) {
                surface.push(q);
            }
        }
    }
    let (mut outside, mut loose, mut known) = (0, 0, 0);
    for _ in 0..600 {
        let p = random.point(0.8);
        let truth = surface.iter().map(|q| q.distance(p)).fold(f64::INFINITY, f64::min);
        let ((lower, upper), d) = (shape.bounds(p), shape.distance(p));
        assert!(lower <= upper && d <= upper, "{p}");
        if d > 0.0 {
            outside += 1;
            assert!(upper - lower < 1e-13 && truth - d > -1e-12 && truth - d < 0.03, "{p}: {d} {truth}");
        } else {
            // The referee overestimates the depth by its spacing at most.
            assert!(-lower > truth - 0.03 && -upper < truth + 1e-12, "{p}: {lower} {upper} {truth}");
            loose += usize::from(upper - lower > 1e-3);
            if let Some(q) = shape.closest_point(p) {
                known += 1;
                assert!((q.distance(p) + d).abs() < 1e-14 && (truth + d).abs() < 0.03, "{p}");
            }
        }
    }
    assert!(outside > 100 && loose > 20 && known > 20, "{outside} outside, {loose} loose, {known} known");
}

#[test]
fn a_union_that_fills_space_has_no_lower_bound() {
    let up = Analytic::half_space(DVec3::Z, 1.0).unwrap();
    let down = Analytic::half_space(DVec3::NEG_Z, 1.0).unwrap();
    let all = Analytic::union(vec![up, down]).unwrap();
    assert_eq!(all.bounds(DVec3::ZERO).0, f64::NEG_INFINITY);
    assert_eq!(all.closest_point(DVec3::ZERO), None);
}

#[test]
fn boxes_hold_the_surface_and_touch_it() {
    let mut random = Random(SEED);
    for k in SCALES {
        for shape in primitives(k).into_iter().filter(|s| !matches!(s, Analytic::HalfSpace { .. })) {
            let room = shape.aabb();
            let mut reached = Aabb::EMPTY;
            for _ in 0..20_000 {
                let q = shape.closest_point(random.point(3.0 * k)).unwrap();
                assert!(room.padded(1e-14 * k).contains(q), "{shape:?} {q} {room:?}");
                reached = reached.grow(q);
            }
            let gap = (reached.min - room.min).max(room.max - reached.max).max_element();
            assert!(gap < 0.05 * k, "{shape:?}: the box is {gap} too large");
        }
    }
    let floor = Analytic::half_space(DVec3::NEG_Z, 2.0).unwrap().aabb();
    assert_eq!((floor.min.z, floor.max.z, floor.min.x), (-2.0, -2.0, f64::NEG_INFINITY));
}

#[test]
fn bad_sizes_are_named() {
    let says = |r: Result<Analytic, ShapeError>, part: &str| {
        let text = r.unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    };
    let nan = f64::NAN;
    says(Analytic::sphere(DVec3::ZERO, 0.0), "radius is 0 m, but must be positive");
    says(Analytic::sphere(DVec3::splat(nan), 1.0), "centre is [NaN, NaN, NaN]");
    says(Analytic::sphere(DVec3::ZERO, f64::INFINITY), "radius is inf m");
    says(Analytic::cuboid(DVec3::ZERO, DVec3::new(1.0, -1.0, 1.0)), "half extent y is -1 m");
    says(Analytic::capsule(DVec3::ZERO, DVec3::splat(f64::INFINITY), 1.0), "b is [inf, inf, inf]");
    says(Analytic::torus(1.0, 1.0), "smaller than the major radius");
    says(Analytic::half_space(DVec3::ZERO, 1.0), "normal has length 0");
    says(Analytic::half_space(DVec3::X, nan), "offset is NaN");
    says(Analytic::union(vec![]), "at least one shape");
    let ball = Analytic::sphere(DVec3::ZERO, 1.0).unwrap();
    says(
        ball.clone().transformed(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DVec3::ZERO),
        "rotation has length 0",
    );
    says(ball.transformed(DQuat::IDENTITY, DVec3::splat(nan)), "translation is");
    assert!(Analytic::half_space(DVec3::splat(1e-300), 1.0).is_ok());
}

#[test]
fn a_point_that_is_not_finite_gives_nan_and_no_panic() {
    for shape in primitives(1.0) {
        for p in [DVec3::NAN, DVec3::INFINITY, DVec3::new(0.0, f64::NEG_INFINITY, 1.0)] {
            assert!(shape.distance(p).is_nan() && shape.closest_point(p).is_none());
            assert_eq!(shape.bounds(p), (f64::NEG_INFINITY, f64::INFINITY));
        }
    }
}
