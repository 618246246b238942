use super::*;

const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
const SLACK: f64 = 1e-12;

fn random(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0
}

fn triangle(seed: &mut u64) -> [DVec3; 3] {
    core::array::from_fn(|_| DVec3::new(random(seed), random(seed), random(seed)))
}

/// Whether a segment passes through a triangle.
fn pierces(p: DVec3, q: DVec3, t: [DVec3; 3]) -> bool {
    let side = |a: DVec3, b: DVec3, c: DVec3, d: DVec3| (b - a).cross(c - a).dot(d - a);
    let (x, y) = (side(t[0], t[1], t[2], p), side(t[0], t[1], t[2], q));
    let around = [0, 1, 2].map(|i| side(p, q, t[i], t[(i + 1) % 3]));
    x * y <= 0.0 && (around.iter().all(|v| *v >= 0.0) || around.iter().all(|v| *v <= 0.0))
}

fn meet(a: [DVec3; 3], b: [DVec3; 3]) -> bool {
    let edge = |t: [DVec3; 3], i: usize| (t[i], t[(i + 1) % 3]);
    (0..3).any(|i| {
        let ((p, q), (r, s)) = (edge(a, i), edge(b, i));
        pierces(p, q, b) || pierces(r, s, a)
    })
}

#[test]
fn triangles_meet_in_the_range_and_nowhere_else() {
    let (mut seed, mut met, mut none) = (1, 0, 0);
    for _ in 0..2000 {
        let (a, b) = (triangle(&mut seed), triangle(&mut seed));
        let way = DVec3::new(random(&mut seed), random(&mut seed), random(&mut seed));
        let range = blocked(a, b, way, SLACK, ALL);
        if let Some((first, last)) = range {
            assert!(first <= last && first.is_finite() && last.is_finite());
            // Cut off outside of what is asked about.
            assert_eq!(blocked(a, b, way, SLACK, (last + 1e-9, last + 1.0)), None);
            assert_eq!(blocked(a, b, way, SLACK, (first - 1.0, first - 1e-9)), None);
            assert_eq!(blocked(a, b, way, SLACK, (last - 1e-9, last + 1.0)), range);
        }
        for k in -40..=40 {
            let t = f64::from(k) * 0.1;
            let moved = b.map(|p| p + way * t);
            let inside = range.is_some_and(|(first, last)| first <= t && t <= last);
            assert_eq!(inside, meet(a, moved), "{a:?} {b:?} {way} {t} {range:?}");
            met += usize::from(inside);
            none += usize::from(!inside);
        }
    }
    assert!(met > 5000 && none > 50_000, "{met} {none}");
}

#[test]
fn triangles_in_a_plane_and_without_area_are_told_apart() {
    let a = [DVec3::ZERO, DVec3::X, DVec3::Y];
    // In one plane: corner to the long edge, and past it.
    let b = a.map(|p| p + DVec3::new(0.6, 0.6, 0.0));
    assert_eq!(blocked(a, b, DVec3::Z, SLACK, ALL), None);
    let (first, last) = blocked(a, b, DVec3::NEG_X, SLACK, ALL).unwrap();
    assert!((first - 0.2).abs() < 1e-9 && (last - 1.6).abs() < 1e-9, "{first} {last}");
    // Along the normal only where they cover each other.
    let c = a.map(|p| p + DVec3::new(0.1, 0.1, -2.0));
    let (first, last) = blocked(a, c, DVec3::Z, SLACK, ALL).unwrap();
    assert!((first - 2.0).abs() < 1e-9 && (last - 2.0).abs() < 1e-9, "{first} {last}");
    // A needle and a point.
    let needle = [DVec3::new(0.2, 0.2, 1.0), DVec3::new(0.2, 0.2, 3.0), DVec3::new(0.2, 0.2, 2.0)];
    let (first, last) = blocked(a, needle, DVec3::NEG_Z, SLACK, ALL).unwrap();
    assert!(first <= 1.0 && (last - 3.0).abs() < 1e-9, "{first} {last}");
    assert!(blocked(a, [needle[0]; 3], DVec3::NEG_Z, SLACK, ALL).is_some());
    assert_eq!(blocked(a, needle, DVec3::X, SLACK, ALL), None);
    // No motion at all: they meet always, or never.
    assert_eq!(blocked(a, a, DVec3::ZERO, SLACK, ALL), Some(ALL));
    assert_eq!(blocked(a, c, DVec3::ZERO, SLACK, ALL), None);
}

#[test]
fn a_gap_below_the_slack_counts_as_none() {
    let a = [DVec3::ZERO, DVec3::X, DVec3::Y];
    let b = a.map(|p| p + DVec3::Z * 1e-6);
    assert!(blocked(a, b, DVec3::X, 1e-5, (0.0, 0.0)).is_some());
    assert!(blocked(a, b, DVec3::X, 1e-7, (0.0, 0.0)).is_none());
    let (first, last) = blocked(a, b, DVec3::Z, 1e-5, ALL).unwrap();
    assert!(first <= -1.1e-5 + 1e-9 && last >= 0.9e-5 - 1e-9, "{first} {last}");
}
