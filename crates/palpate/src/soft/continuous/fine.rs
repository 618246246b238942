//! Directions with twice the digits, for what passes the origin nearer than one unit of the last digit.
//!
//! Based on: Dekker, A floating-point technique for extending the available precision, 1971 [dekker71].
//! Differs: sums are not renormalised beyond need; bounds are parts of the sum of absolute values.

use super::polygon::{ABOVE, BELOW, UNDERFLOW};
use core::ops::{Add, Mul, Neg, Sub};
use glam::DVec3;

/// Bound of the rounding of a product of vectors, as a part of the product of their absolute values [1]: about 80 half units
/// squared, of which a product and two sums need 24.
const ROUNDING: f64 = 1e-30;

/// A number as the sum of two, the second at most about half a unit of the first.
#[derive(Clone, Copy, Debug)]
struct Two(f64, f64);

/// The sum and what rounding took from it.
#[inline(always)]
fn sum(a: f64, b: f64) -> Two {
    let s = a + b;
    let other = s - a;
    Two(s, (a - (s - other)) + (b - other))
}

impl Add for Two {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let s = sum(self.0, b.0);
        sum(s.0, s.1 + (self.1 + b.1))
    }
}

impl Neg for Two {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl Sub for Two {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

impl Mul for Two {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // Halves of 26 bits, whose products are exact.
        let split = |x: f64| {
            let y = x * 134_217_729.0;
            let high = y - (y - x);
            (high, x - high)
        };
        let ((ah, al), (bh, bl)) = (split(self.0), split(b.0));
        let p = self.0 * b.0;
        let rest = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
        sum(p, rest + (self.0 * b.1 + self.1 * b.0))
    }
}

type Vector = [Two; 3];

#[inline(always)]
fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
fn cross(a: Vector, b: Vector) -> Vector {
    let part = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
    [part(1, 2), part(2, 0), part(0, 1)]
}

/// The difference of two points, complete.
pub(super) fn rest(a: DVec3, b: DVec3) -> DVec3 {
    let part = |a: f64, b: f64| sum(a, -b).1;
    DVec3::new(part(a.x, b.x), part(a.y, b.y), part(a.z, b.z))
}

/// The corners at both ends of time, without any rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fine<const K: usize> {
    ends: [[Vector; K]; 2],
    separation: f64,
}

impl<const K: usize> Fine<K> {
    /// `ends` as rounded, and what rounding took from them.
    pub(super) fn new(ends: &[[DVec3; K]; 2], rests: &[[DVec3; K]; 2], separation: f64) -> Self {
        let two = |p: DVec3, q: DVec3| [Two(p.x, q.x), Two(p.y, q.y), Two(p.z, q.z)];
        let ends = [0, 1].map(|e: usize| core::array::from_fn(|k| two(ends[e][k], rests[e][k])));
        Self { ends, separation }
    }

    /// Until when there is no contact from `time` on, as far as directions at that time prove.
    #[cold]
    pub(super) fn free_until(&self, time: f64) -> f64 {
        let [start, end] = &self.ends;
        let way: [Vector; K] = core::array::from_fn(|k| minus(end[k], start[k]));
        let t = Two(time, 0.0);
        let p: [Vector; K] = core::array::from_fn(|k| core::array::from_fn(|c| start[k][c] + way[k][c] * t));
        let across = cross(minus(p[1], p[0]), minus(p[K - 1], p[0]));
        let mut best = self.along(across, time);
        for k in 0..K {
            let side = minus(p[(k + 1) % K], p[k]);
            // Across what the side sweeps, across it in the plane, and from a corner across its way.
            for direction in
                [cross(side, way[k]), cross(side, across), cross(way[k], cross(p[k], way[k])), p[k]]
            {
                best = best.max(self.along(direction, time));
                if best >= 1.0 {
                    return best;
                }
            }
        }
        best
    }

    /// The same by one direction and its opposite.
    fn along(&self, direction: Vector, time: f64) -> f64 {
        let largest = direction.iter().fold(0.0_f64, |m, x| m.max(x.0.abs()));
        // By a power of two: nothing is rounded.
        if largest <= 1e-200 {
            return time;
        }
        let scale = f64::from_bits((2045 - (largest.to_bits() >> 52).min(2044)) << 52);
        let n = direction.map(|x| Two(x.0 * scale, x.1 * scale));
        let length = n.iter().map(|x| x.0 * x.0).sum::<f64>().sqrt();
        let apart = self.separation * length * (1.0 + 16.0 * f64::EPSILON) + UNDERFLOW;
        // Heights of corners at both ends of time, and bounds of what they may be off.
        let mut heights = [[(0.0, 0.0); 2]; K];
        for (k, heights) in heights.iter_mut().enumerate() {
            for (height, end) in heights.iter_mut().zip(&self.ends) {
                let p = &end[k];
                let value = n[0] * p[0] + n[1] * p[1] + n[2] * p[2];
                let size = (0..3).map(|c| n[c].0.abs() * p[c].0.abs()).sum::<f64>();
                let value = value.0 + value.1;
                *height = (value, 4.0 * f64::EPSILON * value.abs() + 2.0 * ROUNDING * size + apart);
            }
            // In the plane at all times.
            let [(a, _), (b, _)] = *heights;
            if a == 0.0 && b == 0.0 {
                return time;
            }
        }
        let until = |sign: f64| {
            let (mut from, mut until) = (0.0_f64, 1.0_f64);
            for heights in &heights {
                let [h0, h1] = heights.map(|(value, error)| sign * value - error);
                match (h0 > 0.0, h1 > 0.0) {
                    (true, true) => {}
                    (true, false) => until = until.min(h0 / (h0 - h1) * BELOW),
                    (false, true) => from = from.max(h0 / (h0 - h1) * ABOVE),
                    (false, false) => return time,
                }
            }
            if from <= time { time.max(until) } else { time }
        };
        until(1.0).max(until(-1.0))
    }
}
