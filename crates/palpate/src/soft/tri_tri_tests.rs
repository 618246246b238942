//! Referee: separating axes in whole numbers, exact, on pairs with whole coordinates (`referee.rs`).

use super::*;
use crate::field::source::random::Random;
use crate::soft::referee::{KINDS, Kind, floats, is_coplanar, is_flat, pair, triangles_meet_plain};

const SEED: u64 = 0x5eed_0501;
/// Pairs of each kind.
const EACH: usize = 10_000;

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];

fn ordered(t: &[DVec3; 3], order: [usize; 3]) -> [DVec3; 3] {
    order.map(|i| t[i])
}

#[test]
fn every_decision_is_that_of_whole_numbers() {
    println!("seed {SEED:#x}");
    for kind in KINDS {
        let mut random = Random(SEED ^ kind as u64);
        let (mut meets, mut coplanar, mut flat, mut open, mut tiny, mut beside) = (0, 0, 0, 0, 0, 0);
        for i in 0..EACH {
            let (grid_a, grid_b) = pair(&mut random, kind);
            let (a, b) = (floats(&grid_a), floats(&grid_b));
            let want = triangles_meet_plain(&grid_a, &grid_b);
            assert_eq!(triangles_meet(&a, &b), want, "{kind:?} {i}: {a:?} {b:?}");
            assert_eq!(meet_exactly(&a, &b), want, "{kind:?} {i}, exactly: {a:?} {b:?}");
            let aside = apart_in_plane(&a, &b);
            assert!(!(aside && want), "{kind:?} {i}, across edges: {a:?} {b:?}");
            beside += usize::from(aside);
            meets += usize::from(want);
            coplanar += usize::from(is_coplanar(&grid_a, &grid_b));
            flat += usize::from(is_flat(&grid_a) || is_flat(&grid_b));
            // What the bound on rounding leaves open, and how much of that is not 0.
            let low = a.iter().chain(&b).fold(DVec3::INFINITY, |m, p| m.min(*p));
            let high = a.iter().chain(&b).fold(DVec3::NEG_INFINITY, |m, p| m.max(*p));
            let (above, below) = sides_within(&b, &a, ROUNDING * (high - low).element_product());
            open += usize::from(above | below != 7);
            tiny += (0..3).filter(|i| (above | below) >> i & 1 == 0 && sides(&b, &a)[*i] != 0).count().min(1);
        }
        let share = |n: usize| n as f64 / EACH as f64;
        println!(
            "{kind:?}: {:.3} meet, {:.3} in a plane, {:.3} without area, {:.3} left open, {:.3} of them not 0",
            share(meets),
            share(coplanar),
            share(flat),
            share(open),
            share(tiny)
        );
        let least_and_most = match kind {
            Kind::Corner | Kind::Edge | Kind::Same => 1.0..=1.0,
            Kind::OneFlat | Kind::BothFlat | Kind::Random => 0.01..=0.6,
            _ => 0.1..=0.9,
        };
        assert!(least_and_most.contains(&share(meets)), "{kind:?}: {} meet", share(meets));
        assert!(share(coplanar) > 0.99 || !matches!(kind, Kind::Coplanar | Kind::Collinear | Kind::Same));
        assert!(share(flat) > 0.99 || !matches!(kind, Kind::OneFlat | Kind::BothFlat | Kind::Collinear));
        assert!(
            share(open) > 0.9 || !matches!(kind, Kind::Coplanar | Kind::Edge | Kind::Same | Kind::Needles)
        );
        assert!(share(beside) > 0.2 || kind != Kind::Coplanar, "{}", share(beside));
        assert!(share(tiny) > 0.1 || kind != Kind::Needles, "{}", share(tiny));
    }
}

#[test]
fn nothing_depends_on_order_place_or_size() {
    let mut random = Random(SEED ^ 0x100);
    let mut meets = 0;
    for i in 0..2200 {
        let (grid_a, grid_b) = pair(&mut random, KINDS[i % KINDS.len()]);
        let (a, b) = (floats(&grid_a), floats(&grid_b));
        let want = triangles_meet(&a, &b);
        meets += usize::from(want);
        for (j, k) in (0..36).map(|n| (n / 6, n % 6)) {
            let (a, b) = (ordered(&a, ORDERS[j]), ordered(&b, ORDERS[k]));
            assert!(triangles_meet(&a, &b) == want && triangles_meet(&b, &a) == want, "{a:?} {b:?}");
        }
        // Powers of two and whole offsets change no coordinate's bits that count: the answer is the same.
        let offset = DVec3::new(3.0, -5.0, 7.0) * f64::from(1 << 30);
        for scale in [2f64.powi(-250), 2f64.powi(-60), 2f64.powi(230), 2f64.powi(900)] {
            let scaled = |t: &[DVec3; 3]| t.map(|p| p * scale);
            assert_eq!(triangles_meet(&scaled(&a), &scaled(&b)), want, "{scale:e}: {a:?} {b:?}");
            let moved = |t: &[DVec3; 3]| t.map(|p| (p + offset) * scale);
            assert_eq!(triangles_meet(&moved(&a), &moved(&b)), want, "{scale:e} moved: {a:?} {b:?}");
        }
        // Nor does another unit for each axis.
        let units = [2f64.powi(-250), 1.0, 2f64.powi(230)];
        for order in ORDERS {
            let stretched = |t: &[DVec3; 3]| t.map(|p| p * DVec3::from_array(order.map(|i| units[i])));
            assert_eq!(triangles_meet(&stretched(&a), &stretched(&b)), want, "{order:?}: {a:?} {b:?}");
        }
    }
    assert!((800..1800).contains(&meets), "{meets} of 2200 meet");
}

/// Corners a few last bits off the other's plane: all orders must give one answer, and it must change but once on the way.
#[test]
fn last_bits_decide_once_and_the_same_for_all_orders() {
    let mut random = Random(SEED ^ 0x200);
    let mut changes = 0;
    for _ in 0..300 {
        let a = [random.point(1.0), random.point(1.0), random.point(1.0)];
        let n = (a[1] - a[0]).cross(a[2] - a[0]).normalize();
        let (u, v) = (random.range(0.1, 0.5), random.range(0.1, 0.5));
        let foot = a[0] + (a[1] - a[0]) * u + (a[2] - a[0]) * v;
        let axis = n.abs().max_position();
        let up = n * n[axis].signum();
        let others = [foot + up + random.point(0.3), foot + up + random.point(0.3)];
        let mut before = None;
        for ulps in -32i64..=32 {
            let mut b = [foot, others[0], others[1]];
            for _ in 0..ulps.abs() {
                b[0][axis] = if ulps < 0 { b[0][axis].next_down() } else { b[0][axis].next_up() };
            }
            let now = triangles_meet(&a, &b);
            for (j, k) in (0..36).map(|n| (n / 6, n % 6)) {
                let (a, b) = (ordered(&a, ORDERS[j]), ordered(&b, ORDERS[k]));
                assert!(triangles_meet(&a, &b) == now && triangles_meet(&b, &a) == now, "{a:?} {b:?}");
            }
            // From below, through the plane, to above: they meet, then they do not.
            assert!(before != Some(false) || !now, "meet again at {ulps}: {a:?} {b:?}");
            changes += usize::from(before == Some(true) && !now);
            before = Some(now);
        }
    }
    assert!(changes > 250, "{changes} of 300 change within 32 last bits");
}

/// Triangles of all sizes and shapes, with all bits of their coordinates in use: rounding never decides other than exact signs.
#[test]
fn the_quick_way_never_differs_from_the_exact_one() {
    let mut random = Random(SEED ^ 0x400);
    let (mut meets, mut boxes) = (0, 0);
    for i in 0..100_000 {
        let size = 10f64.powf(random.range(-4.0, 4.0));
        let place = random.point(3.0);
        let mut corner = || random.point(1.0);
        let mut a = [corner(), corner(), corner()];
        let mut b = [corner(), corner(), corner()].map(|p| p * if i % 3 == 0 { size } else { 1.0 });
        // Needles, and triangles that are nearly in one plane.
        let little = 10f64.powf(random.range(-17.0, 0.0));
        match i % 4 {
            0 => a[2] = a[0] + (a[1] - a[0]) * random.range(-1.0, 2.0) + random.point(little),
            1 => {
                (a, b) = (
                    a.map(|p| DVec3::new(p.x, p.y, p.z * little)),
                    b.map(|p| DVec3::new(p.x, p.y, p.z * little)),
                )
            }
            _ => {}
        }
        let turn = random.rotation();
        (a, b) = (a.map(|p| turn * p + place), b.map(|p| turn * p + place));
        let quick = triangles_meet(&a, &b);
        assert!(quick == meet_exactly(&a, &b) && quick == triangles_meet(&b, &a), "{a:?} {b:?}");
        meets += usize::from(quick);
        let ([a_low, a_high], [b_low, b_high]) = (bounds(&a), bounds(&b));
        boxes += usize::from(a_low.cmple(b_high).all() && b_low.cmple(a_high).all());
    }
    println!("{meets} meet, the boxes of {boxes} do");
    assert!((10_000..60_000).contains(&meets) && boxes > 2 * meets, "{meets} {boxes}");
}

#[test]
fn what_is_not_finite_meets_nothing_and_nothing_panics() {
    let mut random = Random(SEED ^ 0x300);
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let large = [0.0, f64::MAX, f64::MIN, 1e200, -1e-200, 5e-324, f64::MIN_POSITIVE, 1.0];
    for i in 0..20_000 {
        let (grid_a, grid_b) = pair(&mut random, KINDS[i % KINDS.len()]);
        let (mut a, mut b) = (floats(&grid_a), floats(&grid_b));
        let at = random.bits() as usize;
        a[at % 3][at / 3 % 3] = large[at / 9 % 8];
        b[at / 72 % 3][at / 216 % 3] = large[at / 648 % 8];
        triangles_meet(&a, &b);
        a[at / 5184 % 3][at / 15552 % 3] = odd[i % 3];
        assert!(!triangles_meet(&a, &b) && !triangles_meet(&b, &a) && !triangles_meet(&a, &a), "{a:?} {b:?}");
    }
}
