//! Referee: two points of two convex sets are the closest if the planes across the line between them, one through each, have
//! the sets on their outer sides. It needs no search, and no triangle with an area.

use super::*;
use crate::field::source::random::Random;
use crate::soft::referee::{KINDS, Kind, floats, pair};
use crate::soft::triangles_meet;

const SEED: u64 = 0x5eed_0503;

/// How far the planes across the line between two points of A and B leave the triangles apart: a lower bound of the distance.
fn lower(a: &[DVec3; 3], b: &[DVec3; 3], p: DVec3, q: DVec3) -> f64 {
    let n = (q - p).normalize();
    let of = |t: &[DVec3; 3]| t.map(|x| n.dot(x - p));
    let ([a0, a1, a2], [b0, b1, b2]) = (of(a), of(b));
    b0.min(b1).min(b2) - a0.max(a1).max(a2)
}

/// Checks a pair; whether it is apart. Where needles meet is known worse than the rest.
fn check(a: &[DVec3; 3], b: &[DVec3; 3], size: f64, needles: bool) -> bool {
    let (d, p, q) = triangle_distance(a, b);
    let met = triangles_meet(a, b);
    let said = format!("{a:?} {b:?}: {d} {p} {q}");
    assert!(d >= 0.0 && (d == 0.0) == met && (!met || p == q), "{said}");
    // Both on their triangles: `closest` gives points of triangles, so that being near one is being on it.
    let tolerance = if met && needles { 1e-6 } else { 1e-13 } * size;
    assert!(Face::new(a).closest(p).distance(p) <= tolerance, "{said}");
    assert!(Face::new(b).closest(q).distance(q) <= tolerance, "{said}");
    assert!((p.distance(q) - d).abs() <= tolerance, "{said}");
    if d > 1e-6 * size {
        // Directions are right to the rounding of points over the distance.
        assert!(lower(a, b, p, q) >= d - 1e-9 * size, "{said}: at least {}", lower(a, b, p, q));
        // Moved by the difference A touches: a little more meets or is past, a little less does not meet.
        let moved = |share: f64| a.map(|x| x + (q - p) * share);
        assert!(!triangles_meet(&moved(1.0 - 1e-6), b), "{said}");
        assert!(triangle_distance(&moved(1.0), b).0 <= tolerance, "{said}");
    }
    !met
}

#[test]
fn no_plane_is_further_from_both_and_zero_is_meeting() {
    println!("seed {SEED:#x}");
    for kind in KINDS {
        let mut random = Random(SEED ^ kind as u64);
        let mut apart = 0;
        for _ in 0..2000 {
            let (a, b) = pair(&mut random, kind);
            let (a, b) = (floats(&a), floats(&b));
            let size = a.iter().chain(&b).fold(0.0, |m: f64, p| m.max(p.distance(a[0])));
            apart += usize::from(check(&a, &b, size, kind == Kind::Needles));
        }
        println!("{kind:?}: {apart} of 2000 apart");
    }
    let mut random = Random(SEED ^ 0x100);
    let mut apart = 0;
    for i in 0..20_000 {
        let far = random.direction() * random.range(0.0, 3.0);
        let mut triangle = |centre: DVec3| [0; 3].map(|_| centre + random.point(1.0));
        let (a, mut b) = (triangle(DVec3::ZERO), triangle(far));
        // Edges that are parallel up to a few bits, and such that nearly are.
        if i % 4 == 0 {
            let little = [0.0, 1e-15, 1e-9, 1e-5][i / 4 % 4];
            b[1] = b[0] + (a[1] - a[0]) * 0.7 + random.point(little);
        }
        apart += usize::from(check(&a, &b, 4.0, false));
    }
    assert!((10_000..19_000).contains(&apart), "{apart} of 20000 apart");
}

/// Points on a fine grid of both are never nearer.
#[test]
fn no_sample_is_nearer() {
    let mut random = Random(SEED ^ 0x200);
    for _ in 0..100 {
        let far = random.direction() * random.range(0.0, 3.0);
        let mut triangle = |centre: DVec3| [0; 3].map(|_| centre + random.point(1.0));
        let (a, b) = (triangle(DVec3::ZERO), triangle(far));
        let samples = |t: &[DVec3; 3]| -> Vec<DVec3> {
            let n = 24;
            let nodes = (0..=n).flat_map(|i| (0..=n - i).map(move |j| (i, j)));
            let share = |i: i32| f64::from(i) / f64::from(n);
            nodes.map(|(i, j)| t[0] + (t[1] - t[0]) * share(i) + (t[2] - t[0]) * share(j)).collect()
        };
        let (on_a, on_b) = (samples(&a), samples(&b));
        let sampled =
            on_a.iter().flat_map(|p| on_b.iter().map(|q| p.distance(*q))).fold(f64::INFINITY, f64::min);
        let (d, ..) = triangle_distance(&a, &b);
        // Edges are at most 2√3 long: a sample within 1/24 of two of them is near enough on each side.
        assert!(d <= sampled + 1e-12 && sampled <= d + 4.0 * 3.5 / 24.0, "{d} {sampled}");
    }
}

#[test]
fn large_small_and_odd_input_gives_numbers() {
    let mut random = Random(SEED ^ 0x300);
    let large = [0.0, f64::MAX, f64::MIN, 1e200, -1e-200, 5e-324, f64::MIN_POSITIVE, 1.0];
    for i in 0..20_000 {
        let (grid_a, grid_b) = pair(&mut random, KINDS[i % KINDS.len()]);
        let (mut a, mut b) = (floats(&grid_a), floats(&grid_b));
        let at = random.bits() as usize;
        a[at % 3][at / 3 % 3] = large[at / 9 % 8];
        b[at / 72 % 3][at / 216 % 3] = large[at / 648 % 8];
        let (d, p, q) = triangle_distance(&a, &b);
        assert!(d.is_finite() && p.is_finite() && q.is_finite(), "{a:?} {b:?}: {d} {p} {q}");
        assert_eq!(d == 0.0, triangles_meet(&a, &b));
        a[1].y = f64::NEG_INFINITY;
        assert!(triangle_distance(&a, &b).0.is_nan());
    }
    // Far smaller and larger than a metre, the same but for the unit.
    for scale in [2f64.powi(-240), 2f64.powi(240)] {
        let mut random = Random(SEED ^ 0x400);
        for i in 0..1000 {
            let (a, b) = pair(&mut random, KINDS[i % KINDS.len()]);
            let (a, b) = (floats(&a), floats(&b));
            let (d, ..) = triangle_distance(&a, &b);
            let (e, ..) = triangle_distance(&a.map(|p| p * scale), &b.map(|p| p * scale));
            assert_eq!(d * scale, e, "{a:?} {b:?}");
        }
    }
}
