//! Triangles against definitions: the nearest points of convex sets, and separating axes in whole numbers.

use super::super::Random;
use super::*;

fn random_triangle(random: &mut Random, i: usize) -> [DVec3; 3] {
    let [a, b, mut c]: [DVec3; 3] = std::array::from_fn(|_| random.point_in(-DVec3::ONE, DVec3::ONE));
    match i % 5 {
        // A sliver, a segment, a point.
        1 => c = a + random.unit() * (b - a) + 1e-9 * (c - a),
        2 => c = b,
        3 if i.is_multiple_of(3) => return [a; 3],
        _ => {}
    }
    [a, b, c]
}

#[test]
fn nearest_points_satisfy_their_definition() {
    let mut random = Random::new(1);
    let (mut apart, mut on_faces) = (0, 0);
    for i in 0..6000 {
        let a = random_triangle(&mut random, i);
        let mut b = random_triangle(&mut random, i / 5);
        if i % 7 == 0 {
            // Parallel planes and edges.
            let shift = random.point_in(-DVec3::ONE, DVec3::ONE);
            b = a.map(|p| p + shift);
        }
        if meet(a, b) {
            continue;
        }
        apart += 1;
        let (distance_sq, p, q) = nearest(a, b);
        assert!((distance_sq - (p - q).length_squared()).abs() <= 1e-15, "{a:?} {b:?}");
        // Both points are in their triangles, and no corner of one is nearer to the other along the line of distance:
        // the condition of the nearest points of convex sets.
        for (point, t) in [(p, a), (q, b)] {
            assert!(nearest([point; 3], t).0.sqrt() < 1e-14, "{a:?} {b:?}");
        }
        let along = p - q;
        assert!(a.iter().all(|c| (*c - p).dot(along) > -1e-13), "{a:?} {b:?} {distance_sq}");
        assert!(b.iter().all(|c| (*c - q).dot(along) < 1e-13), "{a:?} {b:?} {distance_sq}");
        let inside = |p: DVec3, t: [DVec3; 3]| {
            let edge = |i: usize| (nearest([p; 3], [t[i], t[(i + 1) % 3], t[i]]).0).sqrt() > 1e-6;
            (0..3).all(edge)
        };
        on_faces += usize::from(inside(p, a) || inside(q, b));
    }
    assert!(apart > 4000 && on_faces > 400, "{apart} of 6000 apart, {on_faces} with a point inside a face");
}

type Whole = [i64; 3];

fn minus(a: Whole, b: Whole) -> Whole {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn cross(a: Whole, b: Whole) -> Whole {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: Whole, b: Whole) -> i64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Whether an axis separates two triangles with area; exact.
fn separated(a: [Whole; 3], b: [Whole; 3]) -> bool {
    let edges = |t: [Whole; 3]| [minus(t[1], t[0]), minus(t[2], t[1]), minus(t[0], t[2])];
    let normal = |t: [Whole; 3]| cross(minus(t[1], t[0]), minus(t[2], t[0]));
    let mut axes = vec![normal(a), normal(b)];
    for e in edges(a) {
        axes.push(cross(normal(a), e));
        axes.extend(edges(b).map(|f| cross(e, f)));
    }
    axes.extend(edges(b).map(|f| cross(normal(b), f)));
    axes.iter().any(|&axis| {
        let range = |t: [Whole; 3]| {
            let along = t.map(|p| dot(axis, p));
            (along.into_iter().min().unwrap(), along.into_iter().max().unwrap())
        };
        let ((a0, a1), (b0, b1)) = (range(a), range(b));
        a1 < b0 || b1 < a0
    })
}

#[test]
fn meeting_is_that_of_whole_numbers() {
    // On a coarse lattice nearly everything touches, is coplanar or shares edges.
    let mut random = Random::new(2);
    let (mut met, mut coplanar, mut compared) = (0, 0, 0);
    for i in 0..40_000 {
        let span = [2, 3, 5, 9][i % 4];
        let mut triangle = || [0; 3].map(|_| [0; 3].map(|_| random.below(span) as i64));
        let (mut a, mut b) = (triangle(), triangle());
        if i % 10 == 0 {
            // In one slanted plane.
            [&mut a, &mut b].into_iter().flatten().for_each(|p| p[2] = p[0] - 2 * p[1]);
        }
        let flat = |t: [Whole; 3]| cross(minus(t[1], t[0]), minus(t[2], t[0])) == [0; 3];
        let point = |p: Whole| DVec3::from_array(p.map(|c| c as f64));
        // Tenths are not exact: the lattice stays a lattice only for powers of two.
        let (a_f, b_f) = (a.map(|p| 0.125 * point(p)), b.map(|p| 0.125 * point(p)));
        let found = meet(a_f, b_f);
        assert_eq!(found, meet(b_f, a_f), "{a:?} {b:?}");
        if flat(a) || flat(b) {
            // No axes are known for these; but on this lattice what does not meet is at least 1e-4 apart.
            let (d, ..) = nearest(a_f, b_f);
            let common = [common_point(a_f, b_f); 3];
            let off = nearest(common, a_f).0.max(nearest(common, b_f).0);
            assert_eq!(found, d.min(off).sqrt() < 1e-9, "{a:?} {b:?} {d} {off}");
            continue;
        }
        compared += 1;
        assert_eq!(found, !separated(a, b), "{a:?} {b:?}");
        let n = cross(minus(a[1], a[0]), minus(a[2], a[0]));
        coplanar += usize::from(b.iter().all(|&p| dot(n, minus(p, a[0])) == 0));
        met += usize::from(found);
    }
    assert!(compared > 25_000 && met > 8_000 && compared - met > 8_000, "{met} of {compared}");
    assert!(coplanar > 1500, "{coplanar} coplanar");
}

#[test]
fn common_points_are_in_both() {
    let mut random = Random::new(3);
    let mut crossing = 0;
    for i in 0..3000 {
        let (a, b) = (random_triangle(&mut random, 5 * i), random_triangle(&mut random, i));
        if meet(a, b) {
            crossing += 1;
            let p = common_point(a, b);
            let off = nearest([p; 3], a).0.max(nearest([p; 3], b).0).sqrt();
            assert!(off < 1e-12, "{a:?} {b:?} {off}");
        }
    }
    assert!(crossing > 200, "{crossing} of 3000 cross");
}
