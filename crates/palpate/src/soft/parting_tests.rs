//! The contract: past the depth the triangles are apart, before it they are not, and no other direction is shorter.

use super::*;
use crate::field::source::random::Random;
use crate::soft::referee::{KINDS, Kind, floats, pair};

const SEED: u64 = 0x5eed_0504;

fn moved(t: &[DVec3; 3], by: DVec3) -> [DVec3; 3] {
    t.map(|p| p + by)
}

/// Checks a pair; the depth over the size, if they meet.
fn check(a: &[DVec3; 3], b: &[DVec3; 3], random: &mut Random) -> Option<f64> {
    let size = a.iter().chain(b).fold(0.0, |m: f64, p| m.max(p.distance(a[0])));
    let Parting { normal, depth } = parting(a, b);
    let said = format!("{a:?} {b:?}: {normal} {depth}");
    assert!((normal.length() - 1.0).abs() < 1e-12 && depth >= 0.0, "{said}");
    assert_eq!(parting(a, b), Parting { normal, depth });
    if !triangles_meet(a, b) {
        let (d, p, q) = triangle_distance(a, b);
        assert!(depth == 0.0, "{said}");
        assert!(d < 1e-6 * size || normal.dot(q - p) > d * (1.0 - 1e-9), "{said}");
        return None;
    }
    let little = 1e-9 * size.max(1.0);
    assert!(!triangles_meet(a, &moved(b, normal * (depth + little))), "{said}");
    if depth > 1e-6 * size {
        assert!(triangles_meet(a, &moved(b, normal * (depth - little))), "{said}");
        for _ in 0..20 {
            let by = random.direction() * (depth - little);
            assert!(triangles_meet(a, &moved(b, by)), "{said}: {by} is enough");
        }
    }
    Some(depth / size.max(1e-300))
}

#[test]
fn past_the_depth_is_apart_and_before_it_is_not() {
    println!("seed {SEED:#x}");
    let (mut deep, mut met) = (0, 0);
    for kind in KINDS.into_iter().filter(|k| *k != Kind::Needles) {
        let mut random = Random(SEED ^ kind as u64);
        for _ in 0..2000 {
            let (a, b) = pair(&mut random, kind);
            if let Some(depth) = check(&floats(&a), &floats(&b), &mut random) {
                met += 1;
                deep += usize::from(depth > 1e-3);
            }
        }
    }
    println!("{met} of 20000 meet, {deep} deeply");
    assert!((8000..16_000).contains(&met) && deep > 1000, "{met} {deep}");
    let mut random = Random(SEED ^ 0x100);
    let mut deep = 0;
    for _ in 0..10_000 {
        let far = random.point(0.5);
        let mut triangle = |centre: DVec3| [0; 3].map(|_| centre + random.point(1.0));
        let (a, b) = (triangle(DVec3::ZERO), triangle(far));
        deep += usize::from(check(&a, &b, &mut random).is_some_and(|d| d > 1e-3));
    }
    assert!((1000..6000).contains(&deep), "{deep} of 10000 meet deeply");
}

#[test]
fn triangles_of_one_plane_part_across_it() {
    let mut random = Random(SEED ^ 0x200);
    let mut met = 0;
    for _ in 0..2000 {
        let (a, b) = pair(&mut random, Kind::Coplanar);
        let (a, b) = (floats(&a), floats(&b));
        let n = (a[1] - a[0]).cross(a[2] - a[0]);
        if triangles_meet(&a, &b) && n != DVec3::ZERO {
            met += 1;
            let out = parting(&a, &b);
            assert!(out.depth < 1e-13 && out.normal.dot(n.normalize()) > 1.0 - 1e-12, "{a:?} {b:?} {out:?}");
        }
    }
    assert!(met > 500, "{met} of 2000 meet and have a plane");
}

#[test]
fn of_equal_ways_a_face_is_taken() {
    // A needle through A: half its length up or down, along A's normal.
    let a = [DVec3::ZERO, DVec3::X * 8.0, DVec3::Y * 8.0];
    let b = [DVec3::new(2.0, 2.0, -1.0), DVec3::new(2.0, 2.0, 1.0), DVec3::new(2.0, 2.1, 1.0)];
    let is = |out: Parting, normal: DVec3, depth: f64| {
        assert!(out.normal.distance(normal) < 1e-15 && (out.depth - depth).abs() < 1e-15, "{out:?}");
    };
    is(parting(&a, &b), DVec3::Z, 1.0);
    // The other way round it is B's normal, after A's, which is longer.
    is(parting(&b, &a), DVec3::Z, 1.0);
    // Two triangles at right angles, crossing by the same amount along both faces' normals: A's is first, as it points.
    let a = [DVec3::new(-1.0, 0.0, -5.0), DVec3::new(-1.0, 0.0, 5.0), DVec3::new(1.0, 0.0, 0.0)];
    let b = [DVec3::new(0.0, -1.0, -5.0), DVec3::new(0.0, -1.0, 5.0), DVec3::new(0.0, 1.0, 0.0)];
    is(parting(&a, &b), DVec3::Y, 1.0);
    is(parting(&b, &a), DVec3::NEG_X, 1.0);
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
        let Parting { normal, depth } = parting(&a, &b);
        assert!(depth >= 0.0 && depth.is_finite(), "{a:?} {b:?}: {depth}");
        assert!((normal.length() - 1.0).abs() < 1e-9, "{a:?} {b:?}: {normal}");
        a[2].z = f64::INFINITY;
        assert_eq!(parting(&a, &b), Parting { normal: DVec3::ZERO, depth: 0.0 });
    }
    let one = [DVec3::ONE; 3];
    assert_eq!(parting(&one, &one).depth, 0.0);
}
