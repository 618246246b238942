//! The nearest point of the mesh, by branch and bound over boxes and by a plain loop.

use super::Oracle;
use glam::DVec3;

/// Slack of a box's squared distance against rounding [1]: a box is left out only if it is farther than the best
/// triangle by more than this. Smaller than a few ulps: an equally near triangle may be missed by an ulp.
const SLACK: f64 = 1e-12;

/// Where a mesh is nearest to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// Distance, not signed [m].
    pub distance: f64,
    /// The nearest point of the mesh [m].
    pub point: DVec3,
    /// A triangle that holds it; one of several where they meet.
    pub triangle: u32,
}

impl Oracle {
    /// The nearest point of the mesh. Exact to rounding (1e-16 of the mesh's size); NaN distance for a point that is not finite.
    pub fn closest(&self, p: DVec3) -> Closest {
        if !p.is_finite() {
            return Closest { distance: f64::NAN, point: DVec3::NAN, triangle: 0 };
        }
        let nodes = &self.tree.nodes;
        let mut best = (f64::INFINITY, DVec3::ZERO, 0);
        let mut open = vec![(nodes[0].distance_sq(p), 0usize)];
        while let Some((distance_sq, n)) = open.pop() {
            if distance_sq * (1.0 - SLACK) > best.0 {
                continue;
            }
            let node = &nodes[n];
            if node.second == 0 {
                for &t in &self.tree.order[node.first..node.first + node.count] {
                    best = nearer(best, self.to_triangle(t, p));
                }
            } else {
                // The nearer child is looked at first, so that it can rule out the other.
                let (a, b) = (n + 1, node.second);
                let (da, db) = (nodes[a].distance_sq(p), nodes[b].distance_sq(p));
                open.extend(if da <= db { [(db, b), (da, a)] } else { [(da, a), (db, b)] });
            }
        }
        finish(best, p)
    }

    /// [`Oracle::closest`] by a loop over all triangles: the referee's own referee.
    pub fn closest_brute(&self, p: DVec3) -> Closest {
        let none = (f64::INFINITY, DVec3::ZERO, 0);
        let all = 0..self.triangles.len() as u32;
        finish(all.map(|t| self.to_triangle(t, p)).fold(none, nearer), p)
    }

    /// Squared distance, nearest point relative to `p`, triangle.
    fn to_triangle(&self, t: u32, p: DVec3) -> (f64, DVec3, u32) {
        let q = nearest_to_origin(self.corners(t as usize).map(|c| c - p));
        (q.length_squared(), q, t)
    }
}

fn nearer(a: (f64, DVec3, u32), b: (f64, DVec3, u32)) -> (f64, DVec3, u32) {
    if b.0 < a.0 { b } else { a }
}

fn finish(best: (f64, DVec3, u32), p: DVec3) -> Closest {
    Closest { distance: best.1.length(), point: p + best.1, triangle: best.2 }
}

/// The point of a triangle nearest to the origin. Working relative to the query point keeps the digits of small
/// distances.
fn nearest_to_origin([a, b, c]: [DVec3; 3]) -> DVec3 {
    let mut best = nearest_on_segment(a, b);
    for q in [nearest_on_segment(b, c), nearest_on_segment(c, a)] {
        if q.length_squared() < best.length_squared() {
            best = q;
        }
    }
    // Inside, if the origin projects to it: all three sub-triangles turn the same way. The weights are not
    // negative, so the result is a point of the triangle even if a sliver makes them inaccurate.
    let n = (b - a).cross(c - a);
    let (wa, wb, wc) = (b.cross(c).dot(n), c.cross(a).dot(n), a.cross(b).dot(n));
    let sum = wa + wb + wc;
    if wa >= 0.0 && wb >= 0.0 && wc >= 0.0 && sum > 0.0 {
        let q = (wa * a + wb * b + wc * c) / sum;
        if q.length_squared() < best.length_squared() {
            best = q;
        }
    }
    best
}

fn nearest_on_segment(a: DVec3, b: DVec3) -> DVec3 {
    let ab = b - a;
    let length_sq = ab.length_squared();
    // Also catches a segment without length, where the quotient would be 0/0.
    if length_sq > 0.0 { a + (-a.dot(ab) / length_sq).clamp(0.0, 1.0) * ab } else { a }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{mesh_of, soup};
    use super::super::{Random, points_in_box};
    use super::*;
    use palpate::field::analytic::Analytic;

    #[test]
    fn tree_and_loop_agree() {
        let torus = mesh_of(&Analytic::torus(0.7, 0.25).unwrap(), 24);
        for (oracle, spread) in [(&soup(1), 0.5), (&soup(2), 1e-6), (&torus, 0.01), (&torus, 1.0)] {
            let mut points = points_in_box(DVec3::splat(-1.5), DVec3::splat(1.5), 300, 3);
            points.extend(oracle.points_near_surface(300, spread, 4));
            for p in points {
                let (tree, loop_) = (oracle.closest(p), oracle.closest_brute(p));
                assert_eq!(tree.distance, loop_.distance, "{p}");
                assert!((tree.point.distance(p) - tree.distance).abs() < 1e-15, "{p}");
            }
        }
    }

    #[test]
    fn nearest_point_satisfies_its_definition() {
        // No point of the triangle is nearer, and the result is a point of the triangle; slivers included.
        let mut random = Random::new(5);
        let mut inside = 0;
        for i in 0..2000 {
            let [a, b, mut c]: [DVec3; 3] = std::array::from_fn(|_| random.point_in(-DVec3::ONE, DVec3::ONE));
            if i % 3 == 0 {
                c = a + random.unit() * (b - a) + 1e-9 * (c - a);
            }
            let q = nearest_to_origin([a, b, c]);
            let mut corner = true;
            for _ in 0..50 {
                let (mut u, mut v) = (random.unit(), random.unit());
                if u + v > 1.0 {
                    (u, v) = (1.0 - u, 1.0 - v);
                }
                let other = a + u * (b - a) + v * (c - a);
                assert!(q.length() <= other.length() + 1e-15, "{a} {b} {c}");
                // Obtuse angle at q against every point: the condition of the nearest point of a convex set.
                assert!((other - q).dot(q) > -1e-14, "{a} {b} {c}");
                corner &= (other - q).dot(q) > 1e-12;
            }
            inside += usize::from(!corner);
        }
        assert!(inside > 50, "only {inside} of 2000 nearest points were not at a corner or edge");
    }
}
