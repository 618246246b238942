//! Signs of determinants without rounding: on which side a point is.
//!
//! Based on: Shewchuk, Adaptive precision floating-point arithmetic and fast robust geometric predicates, 1997
//! [shewchuk97], sections 2.3 to 2.5 and the static filters of section 4.
//! Differs: two stages only. Where f64 with an error bound does not decide, the whole determinant is taken exactly, as a
//! sum of f64 that do not overlap: slow (microseconds), and seldom needed.

use glam::{DVec2, DVec3};

/// Error of the determinant in f64 per sum of the absolute products: (7 + 56 ε) ε and (3 + 16 ε) ε of the paper, ε = 2⁻⁵³,
/// rounded up.
const ERROR_3D: f64 = 8e-16;
const ERROR_2D: f64 = 3.4e-16;

/// A sum of f64 in order of growing magnitude that do not overlap: a number without rounding.
///
/// Exact while no product of three differences leaves the range of f64 (1e-100 to 1e100 is safe).
#[derive(Clone, Debug, Default)]
struct Exact(Vec<f64>);

impl Exact {
    fn difference(a: f64, b: f64) -> Self {
        let mut sum = Self::default();
        sum.add(a);
        sum.add(-b);
        sum
    }

    fn add(&mut self, b: f64) {
        let mut carry = b;
        self.0.retain_mut(|part| {
            let (sum, error) = two_sum(carry, *part);
            (carry, *part) = (sum, error);
            error != 0.0
        });
        if carry != 0.0 {
            self.0.push(carry);
        }
    }

    /// Adds `sign` times the product.
    fn add_product(&mut self, a: &Self, b: &Self, sign: f64) {
        for &x in &a.0 {
            for &y in &b.0 {
                let product = sign * x * y;
                self.add((sign * x).mul_add(y, -product));
                self.add(product);
            }
        }
    }

    fn sign(&self) -> i8 {
        sign(self.0.last().copied().unwrap_or(0.0))
    }
}

/// The rounded sum and what rounding took away.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

fn sign(x: f64) -> i8 {
    i8::from(x > 0.0) - i8::from(x < 0.0)
}

/// Sign of the volume of the tetrahedron: positive where `d` is below the plane of `a`, `b`, `c`, which turn
/// counter-clockwise seen from above; 0 where all four lie in one plane, without rounding.
pub(super) fn side_of_plane(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> i8 {
    let (ad, bd, cd) = (a - d, b - d, c - d);
    let volume = ad.dot(bd.cross(cd));
    let size = ad.abs().dot(DVec3::new(
        (bd.y * cd.z).abs() + (bd.z * cd.y).abs(),
        (bd.z * cd.x).abs() + (bd.x * cd.z).abs(),
        (bd.x * cd.y).abs() + (bd.y * cd.x).abs(),
    ));
    if volume.abs() > ERROR_3D * size { sign(volume) } else { side_of_plane_exact(a, b, c, d) }
}

fn side_of_plane_exact(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> i8 {
    let from_d = |p: DVec3| [0, 1, 2].map(|i| Exact::difference(p[i], d[i]));
    let (a, b, c) = (from_d(a), from_d(b), from_d(c));
    let mut volume = Exact::default();
    for (i, j, k) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
        let mut minor = Exact::default();
        minor.add_product(&b[j], &c[k], 1.0);
        minor.add_product(&b[k], &c[j], -1.0);
        volume.add_product(&a[i], &minor, 1.0);
    }
    volume.sign()
}

/// Sign of the area of the triangle: positive where `a`, `b`, `c` turn counter-clockwise, 0 where they lie on one line,
/// without rounding.
pub(super) fn turn(a: DVec2, b: DVec2, c: DVec2) -> i8 {
    let (left, right) = ((a.x - c.x) * (b.y - c.y), (a.y - c.y) * (b.x - c.x));
    let area = left - right;
    if area.abs() > ERROR_2D * (left.abs() + right.abs()) {
        return sign(area);
    }
    let from_c = |p: DVec2| [Exact::difference(p.x, c.x), Exact::difference(p.y, c.y)];
    let (a, b) = (from_c(a), from_c(b));
    let mut area = Exact::default();
    area.add_product(&a[0], &b[1], 1.0);
    area.add_product(&a[1], &b[0], -1.0);
    area.sign()
}

#[cfg(test)]
mod tests {
    use super::super::Random;
    use super::*;

    #[test]
    fn points_an_ulp_beside_a_plane_are_seen() {
        // A slanted plane through points with 20 bits: whole numbers decide exactly.
        let mut random = Random::new(1);
        let mut whole = || [0; 3].map(|_| random.below(1 << 20) as i128);
        let point = |p: [i128; 3]| DVec3::from_array(p.map(|c| c as f64));
        let mut zeros = 0;
        for i in 0..3000 {
            let (a, b, c) = (whole(), whole(), whole());
            // A lattice point of the plane, moved off it by less than rounding sees in the f64 determinant.
            let (u, v) = if i % 2 == 0 { (3, 5) } else { (1 << 30, 7) };
            let mut d = [0, 1, 2].map(|k| a[k] + u * (b[k] - a[k]) - v * (c[k] - a[k]));
            d[2] += (i % 3) - 1;
            let [x, y, z] = [a, b, c].map(|p| [0, 1, 2].map(|k| p[k] - d[k]));
            let exact = x[0] * (y[1] * z[2] - y[2] * z[1])
                + x[1] * (y[2] * z[0] - y[0] * z[2])
                + x[2] * (y[0] * z[1] - y[1] * z[0]);
            let found = side_of_plane(point(a), point(b), point(c), point(d));
            assert_eq!(i128::from(found), exact.signum(), "{a:?} {b:?} {c:?} {d:?}");
            zeros += usize::from(exact == 0);
        }
        assert!((900..1100).contains(&zeros), "{zeros} of 3000 in the plane");
    }

    #[test]
    fn the_slow_way_agrees_where_the_fast_one_decides() {
        let mut random = Random::new(2);
        for _ in 0..500 {
            let [a, b, c, d] = [0; 4].map(|_| random.point_in(-DVec3::ONE, DVec3::ONE));
            assert_eq!(side_of_plane(a, b, c, d), side_of_plane_exact(a, b, c, d));
        }
    }

    #[test]
    fn turns_on_a_line_of_tenths_are_decided() {
        // 0.1 is no f64: of the points that look to be on the diagonal, those with equal coordinates are.
        for i in 1..200 {
            let at = f64::from(i) * 0.1;
            let (zero, one) = (DVec2::ZERO, DVec2::splat(1e3));
            assert_eq!(turn(zero, one, DVec2::splat(at)), 0);
            assert_eq!(turn(zero, one, DVec2::new(at, at.next_up())), 1);
            assert_eq!(turn(zero, one, DVec2::new(at.next_up(), at)), -1);
        }
    }
}
