//! Polygons into triangles.
//!
//! Based on: ear clipping (G. H. Meisters, Polygons have ears, 1975), in the plane of the polygon's area vector.
//! Differs: a fan is tried first (most polygons are convex); flat ears are avoided, since a later stage drops
//! triangles without area and would open a crack at the corner between them; a polygon without any ear (it crosses
//! itself) is still cut into corners − 2 triangles, by giving up one condition after the other.

use glam::{DVec2, DVec3};

/// Sine of a corner's angle [1] below which three corners count as lying on a line. Larger: fine arcs of CAD parts
/// (turns of 1e-3) count as flat and are cut in a worse order. Smaller: rounding of f32 coordinates (6e-8) makes ears
/// without area.
const FLAT: f64 = 1e-7;

/// Corners up to which a fan is tried from every corner; above, only from the first, so that the cost stays linear.
const ALL_FANS: usize = 8;

/// Corner-in-triangle tests that one file may cost (about 2 s); more means polygons of 50,000 corners and up.
const MAX_TESTS: u64 = 1 << 30;

/// Buffers and the remaining effort of one file.
pub(super) struct Triangulator {
    plane: Vec<DVec2>,
    next: Vec<u32>,
    prev: Vec<u32>,
    /// Corners that are not strictly convex: only they can lie in an ear.
    blockers: Vec<u32>,
    tests_left: u64,
}

impl Triangulator {
    pub(super) fn new() -> Self {
        Self { plane: vec![], next: vec![], prev: vec![], blockers: vec![], tests_left: MAX_TESTS }
    }

    /// Fills `out` with `corners.len() - 2` triangles of the polygon, wound as it is; false when that would take
    /// more effort than a file may cost. `position(c)` is the place of vertex c.
    ///
    /// The polygon must have 4 corners or more.
    pub(super) fn cut(
        &mut self,
        corners: &[u32],
        position: impl Fn(u32) -> DVec3,
        out: &mut [[u32; 3]],
    ) -> bool {
        let n = corners.len();
        debug_assert!(n >= 4 && out.len() == n - 2, "a polygon has n - 2 triangles");
        self.flatten(corners, position);
        let starts = if n <= ALL_FANS { n } else { 1 };
        let fan = (0..starts).find(|&s| self.fan_is_sound(s));
        if let Some(s) = fan {
            for (i, t) in out.iter_mut().enumerate() {
                *t = [corners[s], corners[(s + i + 1) % n], corners[(s + i + 2) % n]];
            }
            return true;
        }
        self.clip_ears(corners, out)
    }

    /// Projects the polygon along the largest axis of its area vector, so that it runs counter-clockwise.
    fn flatten(&mut self, corners: &[u32], position: impl Fn(u32) -> DVec3) {
        let origin = position(corners[0]);
        let mut normal = DVec3::ZERO;
        let mut last = DVec3::ZERO;
        for &c in &corners[1..] {
            let p = position(c) - origin;
            normal += last.cross(p);
            last = p;
        }
        let size = normal.abs();
        let (u, v) = if size.x >= size.y && size.x >= size.z {
            if normal.x >= 0.0 { (1, 2) } else { (2, 1) }
        } else if size.y >= size.z {
            if normal.y >= 0.0 { (2, 0) } else { (0, 2) }
        } else if normal.z >= 0.0 {
            (0, 1)
        } else {
            (1, 0)
        };
        self.plane.clear();
        self.plane.extend(corners.iter().map(|&c| {
            let p = (position(c) - origin).to_array();
            DVec2::new(p[u], p[v])
        }));
    }

    /// Whether a, b, c turn left by more than [`FLAT`].
    fn turns_left(&self, a: usize, b: usize, c: usize) -> bool {
        let (ab, bc) = (self.plane[b] - self.plane[a], self.plane[c] - self.plane[b]);
        // Written so that NaN and overflow say no.
        ab.perp_dot(bc) > FLAT * (ab.length() * bc.length())
    }

    /// Whether every triangle of the fan from corner `s` has area and the polygon's winding.
    fn fan_is_sound(&self, s: usize) -> bool {
        let n = self.plane.len();
        (1..n - 1).all(|i| self.turns_left(s, (s + i) % n, (s + i + 1) % n))
    }

    fn clip_ears(&mut self, corners: &[u32], out: &mut [[u32; 3]]) -> bool {
        let n = corners.len();
        self.next.clear();
        self.prev.clear();
        self.next.extend((0..n).map(|i| ((i + 1) % n) as u32));
        self.prev.extend((0..n).map(|i| ((i + n - 1) % n) as u32));
        self.blockers.clear();
        for i in 0..n {
            if !self.turns_left((i + n - 1) % n, i, (i + 1) % n) {
                self.blockers.push(i as u32);
            }
        }
        let (mut at, mut left, mut failed, mut given_up) = (0usize, n, 0usize, 0u8);
        let mut done = 0;
        while left > 3 {
            let cost = 1 + self.blockers.len() as u64;
            let Some(rest) = self.tests_left.checked_sub(cost) else { return false };
            self.tests_left = rest;
            let (a, c) = (self.prev[at] as usize, self.next[at] as usize);
            // First a true ear; if a whole round has none, any convex corner; then any corner.
            let ear = match given_up {
                0 => self.turns_left(a, at, c) && self.is_empty(a, at, c),
                1 => self.turns_left(a, at, c),
                _ => true,
            };
            if !ear {
                at = c;
                failed += 1;
                if failed == left {
                    failed = 0;
                    given_up += 1;
                }
                continue;
            }
            out[done] = [corners[a], corners[at], corners[c]];
            done += 1;
            left -= 1;
            self.next[a] = c as u32;
            self.prev[c] = a as u32;
            self.blockers.retain(|&b| b as usize != at);
            self.update(a);
            self.update(c);
            (failed, given_up) = (0, 0);
            // Skipping one corner gives rounder triangles than clipping at the same place again.
            at = self.next[c] as usize;
        }
        out[done] = [corners[self.prev[at] as usize], corners[at], corners[self.next[at] as usize]];
        true
    }

    /// Corner `i` has a new neighbour: it may have become convex (or, in a broken polygon, stopped being so).
    fn update(&mut self, i: usize) {
        let convex = self.turns_left(self.prev[i] as usize, i, self.next[i] as usize);
        match (convex, self.blockers.iter().position(|&b| b as usize == i)) {
            (true, Some(k)) => {
                self.blockers.swap_remove(k);
            }
            (false, None) => self.blockers.push(i as u32),
            _ => {}
        }
    }

    /// Whether no other corner lies in the closed triangle. Corners at the same place as one of its own do not
    /// count: holes are joined to their outline by a doubled edge.
    fn is_empty(&self, a: usize, b: usize, c: usize) -> bool {
        let (pa, pb, pc) = (self.plane[a], self.plane[b], self.plane[c]);
        let (low, high) = (pa.min(pb).min(pc), pa.max(pb).max(pc));
        !self.blockers.iter().any(|&i| {
            let p = self.plane[i as usize];
            p.cmpge(low).all()
                && p.cmple(high).all()
                && p != pa
                && p != pb
                && p != pc
                && (pb - pa).perp_dot(p - pa) >= 0.0
                && (pc - pb).perp_dot(p - pb) >= 0.0
                && (pa - pc).perp_dot(p - pc) >= 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn cut(points: &[DVec3]) -> Vec<[u32; 3]> {
        let corners: Vec<u32> = (0..points.len() as u32).collect();
        let mut out = vec![[u32::MAX; 3]; points.len() - 2];
        assert!(Triangulator::new().cut(&corners, |i| points[i as usize], &mut out));
        out
    }

    /// Each triangle has the polygon's winding and area, the areas add up, and each edge of the polygon is used once.
    fn assert_sound(points: &[DVec3], triangles: &[[u32; 3]]) {
        let area = |a: DVec3, b: DVec3, c: DVec3| (b - a).cross(c - a) / 2.0;
        let n = points.len();
        let whole: DVec3 = (1..n - 1).map(|i| area(points[0], points[i], points[i + 1])).sum();
        let up = whole.normalize();
        let mut sum = 0.0;
        for t in triangles {
            let [a, b, c] = t.map(|i| points[i as usize]);
            let part = area(a, b, c).dot(up);
            assert!(part > 0.0, "triangle {t:?} has area {part}");
            sum += part;
        }
        // Sums of n products round by about n ulps; an overlap would be far larger.
        assert!((sum - whole.length()).abs() <= 1e-9 * sum, "{sum} against {}", whole.length());
        for i in 0..n as u32 {
            let edge = (i, (i + 1) % n as u32);
            let uses = triangles.iter().flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]);
            assert_eq!(uses.filter(|&e| e == edge).count(), 1, "edge {edge:?}");
        }
    }

    /// A star-shaped outline with wild radii is simple, and mostly not convex.
    fn wild(seed: u64, n: usize) -> Vec<DVec3> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let tilt = DVec3::new(random() - 0.5, random() - 0.5, random() - 0.5).normalize_or(DVec3::Z);
        let (u, v) = tilt.any_orthonormal_pair();
        (0..n)
            .map(|i| {
                let angle = std::f64::consts::TAU * i as f64 / n as f64;
                (0.1 + random()) * (u * angle.cos() + v * angle.sin())
            })
            .collect()
    }

    #[test]
    fn simple_polygons_are_covered_once() {
        let mut clipped = 0;
        for seed in 1..300 {
            let points = wild(seed, 4 + (seed as usize % 60));
            let triangles = cut(&points);
            assert_sound(&points, &triangles);
            clipped += usize::from(!triangles.iter().all(|t| t[0] == triangles[0][0]));
        }
        assert!(clipped > 100, "only {clipped} polygons needed more than a fan");
    }

    #[test]
    fn corners_on_an_edge_make_no_flat_triangle() {
        // A square with two extra corners on each side.
        let mut points = vec![];
        let square = [DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y, DVec3::Y];
        for i in 0..4 {
            let (a, b) = (square[i], square[(i + 1) % 4]);
            points.extend([a, a.lerp(b, 0.25), a.lerp(b, 0.5)]);
        }
        assert_sound(&points, &cut(&points));
    }

    #[test]
    fn an_arrow_is_cut_through_its_notch() {
        let arrow = [(0.0, 0.0), (2.0, 0.0), (0.4, 0.4), (0.0, 2.0)].map(|(x, y)| DVec3::new(x, y, 1.0));
        for turn in 0..4 {
            let mut points = arrow;
            points.rotate_left(turn);
            assert_sound(&points, &cut(&points));
        }
    }

    #[test]
    fn broken_polygons_still_give_n_minus_2_triangles() {
        let bow = [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0)].map(|(x, y)| DVec3::new(x, y, 0.0));
        let star: Vec<DVec3> =
            (0..5).map(|i| DQuat::from_rotation_z(f64::from(i) * 2.513_274) * DVec3::X).collect();
        for points in [&bow[..], &star, &[DVec3::ZERO; 9], &[DVec3::NAN; 5], &[DVec3::splat(1e308); 6]] {
            assert!(cut(points).iter().flatten().all(|&i| (i as usize) < points.len()));
        }
    }

    #[test]
    fn effort_is_limited() {
        let points = wild(7, 50);
        let corners: Vec<u32> = (0..50).collect();
        let mut cutter = Triangulator { tests_left: 100, ..Triangulator::new() };
        assert!(!cutter.cut(&corners, |i| points[i as usize], &mut [[0; 3]; 48]));
    }
}
