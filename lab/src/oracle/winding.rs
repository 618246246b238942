//! The generalised winding number, exact: by a loop over all triangles and by a tree of borders.
//!
//! Based on: Van Oosterom and Strackee, The solid angle of a plane triangle, 1983 [oosterom83]; Jacobson, Kavan and
//! Sorkine-Hornung, Robust inside-outside segmentation, 2013, sec. 4 [jacobson13].
//! Differs: the surface that stands for a node's triangles is the cone over their border from the middle of the
//! node's box. Cone and triangles together are closed and lie in the box, so that for a point outside the box their
//! winding numbers are equal, not just near: no expansion, no error but rounding. A soup costs no more than the loop.

use super::Oracle;
use super::tree::Node;
use glam::DVec3;
use std::f64::consts::PI;

/// How far outside a box a point must be for its border to be used, in box sizes [1]. Zero: a flat box could lie in
/// the plane of the cone and the sign of a rounding error would decide.
const CLEARANCE: f64 = 1e-6;

impl Oracle {
    /// How often the mesh winds around `p`: 1 inside a closed mesh with outward triangles, 0 outside, in between
    /// near holes; 2 in an overlap.
    ///
    /// Exact to rounding: 1e-12, and 1e-16 times the length of an edge over the distance to it where that is more;
    /// on the mesh itself between the values of both sides. Cost: about the square root of the number of triangles.
    pub fn winding(&self, p: DVec3) -> f64 {
        let mut sum = 0.0;
        let mut open = vec![0usize];
        while let Some(n) = open.pop() {
            let node = &self.tree.nodes[n];
            if let Some((start, end)) = node.border.filter(|_| is_clear(node, p)) {
                let apex = 0.5 * (node.min + node.max) - p;
                let apex_length = apex.length();
                for edge in &self.tree.borders[start..end] {
                    let a = self.positions[edge.a as usize] - p;
                    let b = self.positions[edge.b as usize] - p;
                    sum += f64::from(edge.times)
                        * half_angle([apex, a, b], [apex_length, a.length(), b.length()]);
                }
            } else if node.second == 0 {
                for &t in &self.tree.order[node.first..node.first + node.count] {
                    sum += self.triangle_half_angle(t, p);
                }
            } else {
                open.extend([node.second, n + 1]);
            }
        }
        sum / (2.0 * PI)
    }

    /// [`Oracle::winding`] by a loop over all triangles: the referee's own referee.
    pub fn winding_brute(&self, p: DVec3) -> f64 {
        (0..self.triangles.len() as u32).map(|t| self.triangle_half_angle(t, p)).sum::<f64>() / (2.0 * PI)
    }

    fn triangle_half_angle(&self, t: u32, p: DVec3) -> f64 {
        let corners = self.corners(t as usize).map(|c| c - p);
        half_angle(corners, corners.map(DVec3::length))
    }
}

fn is_clear(node: &Node, p: DVec3) -> bool {
    let size = (node.max - node.min).max_element();
    node.distance_sq(p) > (CLEARANCE * size).powi(2)
}

/// Half the solid angle of a triangle seen from the origin, positive where it turns counter-clockwise seen from
/// outside, that is where the origin is behind it.
fn half_angle([a, b, c]: [DVec3; 3], [la, lb, lc]: [f64; 3]) -> f64 {
    let volume = a.dot(b.cross(c));
    // In its plane a triangle covers nothing; atan2(0, negative) would call it a half-space.
    if volume == 0.0 {
        return 0.0;
    }
    volume.atan2(la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb)
}

#[cfg(test)]
mod tests {
    use super::super::points_in_box;
    use super::super::tests::{mesh_of, soup};
    use super::*;
    use palpate::field::analytic::Analytic;
    use palpate::field::source::Source;

    fn agree(oracle: &Oracle, points: &[DVec3]) {
        for &p in points {
            let (tree, brute) = (oracle.winding(p), oracle.winding_brute(p));
            assert!((tree - brute).abs() < 1e-12, "{p}: {tree} {brute}");
        }
    }

    #[test]
    fn tree_and_loop_agree_on_closed_open_and_random_meshes() {
        let torus = mesh_of(&Analytic::torus(0.7, 0.25).unwrap(), 32);
        let open = Oracle::new(&torus.positions, &torus.triangles[..torus.triangles.len() * 2 / 3]).unwrap();
        // Every triangle with vertices of its own, as in an STL file.
        let loose: Vec<DVec3> = (0..torus.triangle_count()).flat_map(|t| torus.corners(t)).collect();
        let numbers: Vec<_> =
            (0..torus.triangle_count() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        let loose = Oracle::new(&loose, &numbers).unwrap();
        assert!(loose.tree.root().border.is_some_and(|(a, b)| a == b), "a closed mesh has no border");
        for oracle in [&torus, &open, &loose, &soup(1), &soup(2)] {
            let mut points = points_in_box(DVec3::splat(-1.5), DVec3::splat(1.5), 200, 3);
            points.extend(oracle.points_near_surface(200, 0.02, 4));
            points.extend(oracle.points_near_surface(100, 1e-9, 5));
            agree(oracle, &points);
        }
    }

    #[test]
    fn axis_aligned_faces_and_their_planes_are_no_trap() {
        // A cube whose faces are flat boxes, from points in the planes of its faces and beside its edges.
        let corner = |c: u32| DVec3::new(f64::from(c & 1), f64::from(c >> 1 & 1), f64::from(c >> 2 & 1));
        let positions: Vec<_> = (0..8).map(corner).collect();
        let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let triangles: Vec<_> = faces.iter().flat_map(|f| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]).collect();
        let cube = Oracle::new(&positions, &triangles).unwrap();
        let check = |p: [f64; 3], winding: f64, tolerance: f64| {
            let got = cube.winding(p.into());
            assert!((got - winding).abs() < tolerance, "{p:?}: {got}");
        };
        for p in [[0.5, 0.5, 2.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.5], [-1.0, 0.0, 0.0], [0.5, 1.0, 1.0 + 1e-3]]
        {
            check(p, 0.0, 1e-12);
        }
        // Above and below the diagonal of a face, where rounding counts most.
        for (gap, tolerance) in [(1e-3, 1e-12), (1e-6, 1e-9), (1e-9, 1e-6), (1e-12, 1e-3)] {
            check([-gap, 0.5, 0.5], 0.0, tolerance);
            check([gap, 0.5, 0.5], 1.0, tolerance);
            check([0.25, 0.75, 1.0 + gap], 0.0, tolerance);
            check([0.25, 0.75, 1.0 - gap], 1.0, tolerance);
        }
        let twice = [triangles.clone(), triangles.clone()].concat();
        let twice = Oracle::new(&positions, &twice).unwrap();
        assert!((twice.winding(DVec3::splat(0.4)) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn winding_of_a_closed_mesh_is_inside_or_outside() {
        let torus = Analytic::torus(0.7, 0.25).unwrap();
        let oracle = mesh_of(&torus, 48);
        let points = points_in_box(-DVec3::ONE, DVec3::ONE, 2000, 9);
        let mut inside = 0;
        for (p, w) in points.iter().zip(oracle.winding_batch(&points)) {
            assert!(w.abs() < 1e-12 || (w - 1.0).abs() < 1e-12, "{p}: {w}");
            let d = torus.distance(*p);
            assert!(d.abs() < 0.01 || (w > 0.5) == (d < 0.0), "{p}: {w} {d}");
            inside += usize::from(w > 0.5);
        }
        assert!((100..1000).contains(&inside), "{inside} of 2000 points inside");
    }
}
