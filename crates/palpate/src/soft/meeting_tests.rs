//! Referee: A clipped by the planes around B, with a slack of 1e-9 of a step of the grid on which corners lie; the slack grows
//! by the angle between planes, which on a grid this small is at least 1e-3.

use super::*;
use crate::field::source::random::Random;
use crate::soft::referee::{KINDS, Kind, floats, is_coplanar, is_flat, pair};
use crate::soft::triangle_distance::nearest;

const SEED: u64 = 0x5eed_0502;
const SLACK: f64 = 1e-9;
const NEAR: f64 = 1e-5;

/// The part of a polygon where `n`·p ≥ `least`.
fn clipped(polygon: &[DVec3], n: DVec3, least: f64) -> Vec<DVec3> {
    let mut out = Vec::new();
    for (i, p) in polygon.iter().enumerate() {
        let q = polygon[(i + 1) % polygon.len()];
        let (at_p, at_q) = (n.dot(*p) - least, n.dot(q) - least);
        if at_p >= 0.0 {
            out.push(*p);
        }
        if (at_p >= 0.0) != (at_q >= 0.0) {
            out.push(*p + (q - *p) * (at_p / (at_p - at_q)));
        }
    }
    out
}

/// The part of A in B, which has an area.
fn clip(a: &[DVec3; 3], b: &[DVec3; 3]) -> Vec<DVec3> {
    let n = (b[1] - b[0]).cross(b[2] - b[0]).normalize();
    let mut polygon = a.to_vec();
    for way in [n, -n] {
        polygon = clipped(&polygon, way, way.dot(b[0]) - SLACK);
    }
    for i in 0..3 {
        let inward = n.cross(b[(i + 1) % 3] - b[i]).normalize();
        polygon = clipped(&polygon, inward, inward.dot(b[i]) - SLACK);
    }
    polygon
}

/// The distance of a point from the hull of a polygon's corners in order.
fn from_hull(p: DVec3, polygon: &[DVec3]) -> f64 {
    let fan = (1..polygon.len().max(2)).map(|i| {
        let t = [polygon[0], polygon[(i - 1).min(polygon.len() - 1)], polygon[i.min(polygon.len() - 1)]];
        let (q, _) = nearest(&t, &[p; 3]);
        q.distance(p)
    });
    fan.fold(f64::INFINITY, f64::min)
}

#[test]
fn the_common_part_is_that_of_clipping_and_has_no_corner_too_many() {
    println!("seed {SEED:#x}");
    let mut counts = [0; 7];
    for kind in KINDS.into_iter().filter(|k| !matches!(k, Kind::Needles | Kind::NearTouching)) {
        let mut random = Random(SEED ^ kind as u64);
        for i in 0..4000 {
            let (grid_a, grid_b) = pair(&mut random, kind);
            let (a, b) = (floats(&grid_a), floats(&grid_b));
            let Some(met) = meeting(&a, &b) else {
                assert!(!triangles_meet(&a, &b));
                continue;
            };
            assert!(triangles_meet(&a, &b));
            let said = format!("{kind:?} {i}: {a:?} {b:?}: {:?}", met.points());
            let points = met.points();
            counts[points.len()] += 1;
            // All on both, no two the same, and more than two only in one plane.
            for (j, p) in points.iter().enumerate() {
                assert!(from_hull(*p, &a) < 1e-12 && from_hull(*p, &b) < 1e-12, "{said}");
                assert!(points[..j].iter().all(|q| q.distance(*p) > 1e-4), "{said}");
            }
            if points.len() > 2 {
                assert!(is_coplanar(&grid_a, &grid_b), "{said}");
                // Each corner turns as A does.
                let n = (a[1] - a[0]).cross(a[2] - a[0]).normalize();
                for j in 0..points.len() {
                    let [p, q, r] = [0, 1, 2].map(|k| points[(j + k) % points.len()]);
                    assert!((q - p).cross(r - q).dot(n) > 1e-6, "{said}");
                }
            }
            // The same set as by clipping.
            let (clipped, whole) = match (is_flat(&grid_a), is_flat(&grid_b)) {
                (_, false) => (clip(&a, &b), true),
                (false, true) => (clip(&b, &a), true),
                (true, true) => (Vec::new(), false),
            };
            for p in &clipped {
                assert!(from_hull(*p, points) < NEAR, "{said} misses {p}");
            }
            assert!(
                !whole || points.iter().all(|p| from_hull(*p, &clipped) < NEAR),
                "{said} not {clipped:?}"
            );
        }
    }
    println!("corners: {counts:?}");
    assert!(counts[0] == 0 && counts[1..6].iter().all(|n| *n > 200) && counts[6] > 20, "{counts:?}");
}

/// Triangles of no special place: what is said of accuracy.
#[test]
fn points_lie_on_both_up_to_rounding() {
    let mut random = Random(SEED ^ 0x200);
    let (mut met, mut worst) = (0, 0.0f64);
    for _ in 0..20_000 {
        let place = random.point(2.0);
        let mut triangle = || [0; 3].map(|_| place + random.point(1.0));
        let (a, b) = (triangle(), triangle());
        let normal = |t: &[DVec3; 3]| (t[1] - t[0]).cross(t[2] - t[0]);
        let longest = |t: &[DVec3; 3]| t[0].distance(t[1]).max(t[1].distance(t[2])).max(t[2].distance(t[0]));
        let slender = |t: &[DVec3; 3]| normal(t).length() / longest(t).powi(2);
        let sine = normal(&a).normalize().cross(normal(&b).normalize()).length();
        let Some(common) = meeting(&a, &b) else { continue };
        met += 1;
        assert_eq!(common.points().len(), 2, "{a:?} {b:?}");
        // An edge may be flatter against a plane than the planes are; the error is then along the other triangle, too.
        let scale = slender(&a).min(slender(&b)) * sine / 3.0;
        for p in common.points() {
            worst = worst.max(from_hull(*p, &a).max(from_hull(*p, &b)) * scale);
        }
    }
    println!("worst {worst:e}");
    assert!(met > 4000 && worst < 1e-15, "{met} meet, {worst:e}");
}

#[test]
fn large_small_and_odd_input_gives_numbers() {
    let mut random = Random(SEED ^ 0x100);
    let large = [0.0, f64::MAX, f64::MIN, 1e200, -1e-200, 5e-324, f64::MIN_POSITIVE, 1.0];
    let mut met = 0;
    for i in 0..20_000 {
        let (grid_a, grid_b) = pair(&mut random, KINDS[i % KINDS.len()]);
        let (mut a, mut b) = (floats(&grid_a), floats(&grid_b));
        let at = random.bits() as usize;
        if !at.is_multiple_of(5) {
            a[at % 3][at / 3 % 3] = large[at / 9 % 8];
            b[at / 72 % 3][at / 216 % 3] = large[at / 648 % 8];
        }
        let common = meeting(&a, &b);
        assert_eq!(common.is_some(), triangles_meet(&a, &b));
        if let Some(common) = common {
            met += 1;
            assert!(
                !common.points().is_empty() && common.points().iter().all(|p| p.is_finite()),
                "{a:?} {b:?}"
            );
        }
        a[0].x = f64::NAN;
        assert_eq!(meeting(&a, &b), None);
    }
    assert!((4000..16_000).contains(&met), "{met} of 20000 meet");
}
