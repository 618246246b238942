//! The smallest ball around points.
//!
//! Based on: sagardia14 2.1.2 (balls of all descendant points, not of balls).
//! Differs: found from outside in: the ball of a few points grows by the point farthest from it until none is outside. Few
//! points ever matter, so each step solves a small problem exactly, and the work is a handful of sweeps over the points.

use glam::DVec3;

/// Most sweeps over the points. Each makes the ball larger; a dozen is usual.
const SWEEPS: usize = 64;
/// A point outside by less than this share of the radius is taken as inside while the ball is sought; the radius returned
/// covers it all the same.
const SLACK: f64 = 1e-10;

/// Centre and radius of the smallest ball around `points`; a radius of 0 for none or one.
///
/// All points are inside to rounding. The radius exceeds the smallest by less than one part in a million.
pub(crate) fn smallest_ball(points: impl Iterator<Item = DVec3> + Clone) -> (DVec3, f64) {
    let Some(first) = points.clone().next() else { return (DVec3::ZERO, 0.0) };
    // The two ends of a long axis to begin with.
    let a = farthest(points.clone(), first).0;
    let b = farthest(points.clone(), a).0;
    let mut active = vec![a, b];
    let (mut centre, mut radius) = (0.5 * (a + b), 0.5 * (a - b).length());
    for _ in 0..SWEEPS {
        let (p, d) = farthest(points.clone(), centre);
        if d <= radius * (1.0 + SLACK) {
            break;
        }
        active.push(p);
        let (c, r, support) = of_few(&active);
        if r <= radius {
            break; // Rounding: no progress.
        }
        (centre, radius, active) = (c, r, support);
    }
    let radius = farthest(points, centre).1;
    (centre, radius)
}

fn farthest(points: impl Iterator<Item = DVec3>, from: DVec3) -> (DVec3, f64) {
    let mut best = (from, 0.0);
    for p in points {
        let d = (p - from).length_squared();
        if d > best.1 {
            best = (p, d);
        }
    }
    (best.0, best.1.sqrt())
}

/// The smallest ball of at most five points, and those on its surface: the smallest of the balls through one to four of them
/// that hold all.
fn of_few(points: &[DVec3]) -> (DVec3, f64, Vec<DVec3>) {
    let mut best: Option<(DVec3, f64, u32)> = None;
    let n = points.len().min(5);
    for set in 1u32..1 << n {
        if set.count_ones() > 4 {
            continue;
        }
        let mut support = [DVec3::ZERO; 4];
        let chosen = points.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let count = support.iter_mut().zip(chosen).map(|(s, (_, p))| *s = *p).count();
        let Some((c, r)) = through(&support[..count]) else { continue };
        let holds = points.iter().all(|p| (*p - c).length() <= r * (1.0 + 1e-9) + f64::MIN_POSITIVE);
        if holds && best.is_none_or(|(_, b, _)| r < b) {
            best = Some((c, r, set));
        }
    }
    match best {
        Some((c, r, set)) => {
            let support = points.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, p)| *p);
            (c, r, support.collect())
        }
        // Rounding left none: a ball around the mean is still a ball.
        None => {
            let c = points.iter().sum::<DVec3>() / points.len() as f64;
            (c, farthest(points.iter().copied(), c).1, points.iter().copied().take(4).collect())
        }
    }
}

/// The smallest ball with all of one to four points on its surface; none when they are in one plane or line too many.
fn through(p: &[DVec3]) -> Option<(DVec3, f64)> {
    let ball = |c: DVec3| Some((c, (c - p[0]).length())).filter(|(c, _)| c.is_finite());
    match *p {
        [a] => Some((a, 0.0)),
        [a, b] => ball(0.5 * (a + b)),
        [a, b, c] => {
            let (u, v) = (b - a, c - a);
            let n = u.cross(v);
            let nn = n.length_squared();
            if nn <= 1e-24 * u.length_squared() * v.length_squared() {
                return None;
            }
            ball(a + (v.length_squared() * n.cross(u) - u.length_squared() * n.cross(v)) / (2.0 * nn))
        }
        [a, b, c, d] => {
            let (u, v, w) = (b - a, c - a, d - a);
            let det = u.dot(v.cross(w));
            let scale = u.length_squared() * v.length_squared() * w.length_squared();
            if det * det <= 1e-24 * scale {
                return None;
            }
            let s = u.length_squared() * v.cross(w)
                + v.length_squared() * w.cross(u)
                + w.length_squared() * u.cross(v);
            ball(a + s / (2.0 * det))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::source::random::Random;

    /// Known answers, and for random sets: all inside, and no ball of another centre smaller.
    #[test]
    fn the_smallest_ball_holds_all_and_no_smaller_one_does() {
        let empty = smallest_ball(core::iter::empty());
        assert_eq!(empty.1, 0.0);
        let cube: Vec<DVec3> =
            (0..8).map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))).collect();
        let (c, r) = smallest_ball(cube.iter().copied());
        assert!((c - DVec3::splat(0.5)).length() < 1e-9 && (r - 0.75f64.sqrt()).abs() < 1e-9);
        let same = vec![DVec3::splat(1e6); 10];
        assert_eq!(smallest_ball(same.iter().copied()).1, 0.0);
        let line: Vec<DVec3> = (0..100).map(|i| DVec3::X * f64::from(i)).collect();
        assert!((smallest_ball(line.iter().copied()).1 - 49.5).abs() < 1e-9);
        let mut random = Random(7);
        for trial in 0..400 {
            let count = 1 + (random.bits() % 60) as usize;
            // Needles and slabs too.
            let stretch = DVec3::new(1.0, 10f64.powi(-(trial % 7)), 10f64.powi(-(trial % 11)));
            let points: Vec<DVec3> = (0..count).map(|_| random.point(1.0) * stretch).collect();
            let (c, r) = smallest_ball(points.iter().copied());
            let reach = |c: DVec3| points.iter().map(|p| (*p - c).length()).fold(0.0, f64::max);
            assert!(reach(c) <= r * (1.0 + 1e-12));
            for _ in 0..50 {
                let other = c + random.point(1.0) * r * 10f64.powf(random.range(-6.0, 0.0));
                assert!(reach(other) >= r * (1.0 - 1e-6), "trial {trial}: {} of {r}", reach(other));
            }
        }
    }
}
