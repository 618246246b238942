//! Cylinder, cone, hull and rounded shapes: known answers, edges and corners, and what is refused.

use super::super::source::random::Random;
use super::tests::{SEED, wedge_mesh};
use super::*;

fn near(shape: &Analytic, p: [f64; 3], d: f64) {
    let got = shape.distance(DVec3::from(p));
    assert!((got - d).abs() < 1e-15, "{shape:?} {p:?}: {got}, not {d}");
}

fn cube() -> Analytic {
    let mesh = crate::mesh::samples::cuboid(DVec3::splat(2.0));
    Analytic::hull(&mesh.positions, &mesh.triangles).unwrap()
}

#[test]
fn known_distances_of_solids() {
    let can = Analytic::cylinder(DVec3::NEG_Z, DVec3::Z, 0.5).unwrap();
    near(&can, [0.0, 0.0, 0.0], -0.5);
    near(&can, [0.3, 0.0, 0.9], -0.1);
    near(&can, [0.8, 0.0, 1.4], 0.5);
    near(&can, [0.0, 0.25, -3.0], 2.0);
    // Slope 3-4-5: height 4, radius 3; the ball inside has radius 1.5.
    let cone = Analytic::cone(DVec3::ZERO, 4.0 * DVec3::Z, 3.0).unwrap();
    near(&cone, [0.0, 0.0, 1.5], -1.5);
    near(&cone, [0.0, 0.0, 6.0], 2.0);
    near(&cone, [0.0, 3.0, -1.0], 1.0);
    near(&cone, [-6.0, 0.0, -4.0], 5.0);
    near(&cone, [1.5 + 0.8, 0.0, 2.0 + 0.6], 1.0);
    near(&cube(), [0.5, 0.2, -0.75], -0.25);
    near(&cube(), [2.0, 2.0, 2.0], 3f64.sqrt());
    near(&cube().rounded(0.5).unwrap(), [0.5, 0.2, -0.75], -0.75);
    near(&cube().rounded(0.5).unwrap(), [2.0, 2.0, 0.0], 2f64.sqrt() - 0.5);
}

#[test]
fn a_hull_of_a_box_is_the_box() {
    let cuboid = Analytic::cuboid(DVec3::ZERO, DVec3::ONE).unwrap();
    let Analytic::Hull(hull) = cube() else { panic!("a hull") };
    assert_eq!((hull.planes().len(), hull.triangles().len(), hull.positions().len()), (6, 12, 8));
    assert_eq!(hull.slack(), 0.0);
    let mut random = Random(SEED);
    for i in 0..20_000 {
        // Also points on planes, edges and corners.
        let p = random.point(2.0);
        let p = if i % 2 == 0 { p } else { (4.0 * p).round() / 4.0 };
        let (a, b) = (cuboid.sample(p), cube().sample(p));
        assert!((a.distance - b.distance).abs() < 1e-15, "{p}: {a:?} {b:?}");
        assert!(a.gradient.distance(b.gradient) < 1e-12, "{p}: {a:?} {b:?}");
        let (q, r) = (cuboid.closest_point(p).unwrap(), cube().closest_point(p).unwrap());
        assert!((q.distance(p) - r.distance(p)).abs() < 1e-15, "{p}: {q} {r}");
    }
}

#[test]
fn edges_and_axes_have_no_gradient_but_a_closest_point() {
    let can = Analytic::cylinder(DVec3::NEG_Z, DVec3::Z, 0.5).unwrap();
    let cone = Analytic::cone(DVec3::ZERO, 4.0 * DVec3::Z, 3.0).unwrap();
    let flat = Analytic::cylinder(DVec3::NEG_Z, DVec3::Z, 5.0).unwrap();
    let cases = [
        (can.clone(), DVec3::ZERO),
        (can.clone(), DVec3::new(0.5, 0.0, 1.0)),
        (flat, DVec3::new(1.0, 1.0, 0.0)),
        (cone.clone(), 2.0 * DVec3::Z),
        (cone.clone(), 4.0 * DVec3::Z),
        (cone.clone(), 3.0 * DVec3::Y),
        (cube(), DVec3::ZERO),
        (cube(), DVec3::new(1.0, 1.0, 0.2)),
        (cube(), DVec3::ONE),
        // The same of the core, seen from within its rounding.
        (cube().rounded(0.5).unwrap(), DVec3::ZERO),
        (cube().rounded(0.5).unwrap(), DVec3::new(1.0, 1.0, 0.2)),
        (cube().rounded(0.5).unwrap(), DVec3::ONE),
        (cone.rounded(0.5).unwrap(), 4.0 * DVec3::Z),
        (can.rounded(0.5).unwrap(), DVec3::new(0.0, 0.5, -1.0)),
    ];
    for (shape, p) in cases {
        let s = shape.sample(p);
        assert_eq!(s.gradient, DVec3::ZERO, "{shape:?} {p}");
        let q = shape.closest_point(p).unwrap();
        // A normal on an edge of a core is found 1e-9 beside it.
        assert!(shape.distance(q).abs() < 1e-14, "{shape:?} {p}: {q}");
        assert!((q.distance(p) - s.distance.abs()).abs() < 1e-8, "{shape:?} {p}: {q}");
    }
    // On the axis beyond the ends the closest point is one, and the gradient too.
    let tip = Analytic::cone(DVec3::ZERO, DVec3::Z, 1.0).unwrap();
    assert_eq!(tip.sample(2.0 * DVec3::Z).gradient, DVec3::Z);
    assert_eq!(tip.sample(DVec3::NEG_Z).gradient, DVec3::NEG_Z);
}

#[test]
fn rounding_goes_to_the_parts() {
    let ball = Analytic::sphere(DVec3::X, 1.0).unwrap();
    assert_eq!(ball.clone().rounded(0.5), Analytic::sphere(DVec3::X, 1.5));
    assert_eq!(ball.clone().rounded(0.0), Ok(ball.clone()));
    let floor = Analytic::half_space(DVec3::Z, 1.0).unwrap();
    assert_eq!(floor.clone().rounded(0.5), Analytic::half_space(DVec3::Z, 1.5));
    assert_eq!(Analytic::torus(2.0, 0.5).unwrap().rounded(1.0), Analytic::torus(2.0, 1.5));
    let both = Analytic::union(vec![ball, cube()]).unwrap().rounded(0.25).unwrap();
    let Analytic::Union(parts) = &both else { panic!("a union") };
    assert!(matches!(parts[0], Analytic::Sphere { .. }) && matches!(parts[1], Analytic::Rounded { .. }));
    let twice = cube().rounded(0.25).unwrap().rounded(0.5).unwrap();
    assert_eq!(twice, cube().rounded(0.75).unwrap());
    let moved = floor.transformed(DQuat::from_rotation_x(0.3), DVec3::Y).unwrap().rounded(0.5).unwrap();
    let Analytic::Transform { shape, .. } = &moved else { panic!("a moved shape") };
    assert!(matches!(**shape, Analytic::HalfSpace { offset: 1.5, .. }));
}

/// Referee: surface points of the thick ring, dense to about 0.02, those inside the other side of the tube left out.
#[test]
fn a_ring_without_a_hole_is_bounded_inside() {
    let ring = Analytic::torus(0.4, 0.2).unwrap().rounded(0.3).unwrap();
    assert!(matches!(ring, Analytic::Rounded { .. }));
    let mut random = Random(SEED);
    let surface: Vec<DVec3> = (0..200_000)
        .map(|_| {
            let (s, c) = random.range(0.0, core::f64::consts::TAU).sin_cos();
            let (t, u) = random.range(0.0, core::f64::consts::TAU).sin_cos();
            DVec3::new((0.4 + 0.5 * u) * c, (0.4 + 0.5 * u) * s, 0.5 * t)
        })
        .filter(|q| ring.distance(*q) > -1e-9)
        .collect();
    let (mut inside, mut loose) = (0, 0);
    for _ in 0..400 {
        let p = random.point(0.5);
        let truth = surface.iter().map(|q| q.distance(p)).fold(f64::INFINITY, f64::min);
        let ((lower, upper), d) = (ring.bounds(p), ring.distance(p));
        if d > 0.0 {
            assert!(upper - lower < 1e-13 && (truth - d).abs() < 0.03, "{p}: {d} {truth}");
        } else {
            inside += 1;
            loose += usize::from(upper - lower > 1e-3);
            assert!(-lower > truth - 0.03 && -upper < truth + 1e-12, "{p}: {lower} {upper} {truth}");
        }
    }
    assert!(inside > 100 && loose > 5, "{inside} inside, {loose} loose");
}

/// A hull in single precision is accepted, and says how far it is from convex.
#[test]
fn single_precision_is_convex_enough() {
    let mut random = Random(SEED);
    for _ in 0..200 {
        let turn = random.rotation();
        let (positions, triangles) = wedge_mesh(1.0);
        let single: Vec<DVec3> = positions.iter().map(|p| (turn * *p).as_vec3().as_dvec3()).collect();
        let Analytic::Hull(hull) = Analytic::hull(&single, &triangles).unwrap() else { panic!("a hull") };
        assert!(hull.planes().len() == 6 && hull.slack() < 1e-6 && hull.slack() > 0.0);
        // The bounds own up to it.
        let shape = Analytic::Hull(hull.clone());
        let (p, exact) = (random.point(1.0), Analytic::hull(&positions, &triangles).unwrap());
        let (lower, upper) = shape.bounds(p);
        let truth = exact.distance(turn.inverse() * p);
        assert!(lower - 2e-7 <= truth && truth <= upper + 2e-7, "{p}: {lower} {truth} {upper}");
    }
}

#[test]
fn corners_given_apart_are_joined() {
    let (positions, triangles) = wedge_mesh(1.0);
    let apart: Vec<DVec3> = triangles.iter().flatten().map(|v| positions[*v as usize]).collect();
    let rows: Vec<[u32; 3]> = (0..triangles.len() as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    let Analytic::Hull(hull) = Analytic::hull(&apart, &rows).unwrap() else { panic!("a hull") };
    assert_eq!((hull.positions().len(), hull.planes().len()), (8, 6));
}

#[test]
fn bad_solids_are_named() {
    let says = |r: Result<Analytic, ShapeError>, part: &str| {
        let text = r.unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    };
    says(Analytic::cylinder(DVec3::X, DVec3::X, 1.0), "cylinder: axis has length 0");
    says(Analytic::cylinder(DVec3::X, DVec3::Y, -1.0), "cylinder: radius is -1 m");
    says(Analytic::cone(DVec3::X, DVec3::X, 1.0), "cone: axis has length 0");
    says(Analytic::cone(DVec3::NAN, DVec3::X, 1.0), "cone: base is");
    says(cube().rounded(f64::NAN), "rounded: radius is NaN");
    says(cube().rounded(-1.0), "rounded: radius is -1 m");
    says(Analytic::sphere(DVec3::X, f64::MAX).unwrap().rounded(f64::MAX), "rounded: radius is inf m");
    let (positions, triangles) = wedge_mesh(1.0);
    let hull = |p: &[DVec3], t: &[[u32; 3]]| Analytic::hull(p, t);
    says(hull(&positions, &[]), "its volume is");
    says(hull(&positions[..7], &triangles), "uses vertex 7 but there are 7 vertices");
    says(hull(&positions, &triangles[1..]), "has a side without exactly one neighbour");
    let turned: Vec<[u32; 3]> = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
    says(hull(&positions, &turned), "face inward");
    let flat: Vec<DVec3> = positions.iter().map(|p| DVec3::new(p.x, p.y, 0.0)).collect();
    says(hull(&flat, &triangles), "its volume is");
    let mut bad = positions.clone();
    bad[3].y = f64::INFINITY;
    says(hull(&bad, &triangles), "hull: vertex is");
    let mut dented = positions.clone();
    dented[7] *= 0.3;
    says(hull(&dented, &triangles), "make the hull convex");
    says(hull(&positions, &vec![[0, 1, 2]; 20_000]), "at most 16384 are allowed");
    // Two of them are not convex together; the same twice is not closed.
    let (mut two, mut rows) = (positions.clone(), triangles.clone());
    two.extend(positions.iter().map(|p| *p + 3.0 * DVec3::X));
    rows.extend(triangles.iter().map(|t| t.map(|v| v + 8)));
    says(hull(&two, &rows), "make the hull convex");
    rows.iter_mut().for_each(|t| *t = t.map(|v| v % 8));
    says(hull(&positions, &rows), "exactly one neighbour");
}
