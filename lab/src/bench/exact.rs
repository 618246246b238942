//! Exact signed distances of points to a closed mesh, in f64: what errors are measured against.
//!
//! Distance: closest point over all triangles, found with a tree of boxes. Sign: signed crossings of three rays in fixed
//! directions, majority. A closed, consistently oriented mesh gives every ray the same count, so two that agree decide.
//! Plug in: `palpate_lab::oracle` (exact winding number) takes over for meshes that are not closed.

use glam::DVec3;
use palpate::math::Aabb;
use palpate::mesh::RawMesh;
use palpate::par;

/// Triangles in a leaf. More: longer scans; fewer: a deeper tree and more boxes.
const LEAF: usize = 4;

/// Ray directions: far from every axis and from each other, so that rays along mesh edges are unlikely.
const RAYS: [DVec3; 3] =
    [DVec3::new(0.531, 0.214, 0.820), DVec3::new(-0.733, 0.602, 0.317), DVec3::new(0.127, -0.871, -0.475)];

struct Node {
    bounds: Aabb,
    /// Children at `first` and `first + 1` where `count` is 0, else `count` triangles from `first` on.
    first: usize,
    count: usize,
}

struct Tree {
    nodes: Vec<Node>,
    triangles: Vec<[DVec3; 3]>,
}

/// Signed distance of each point to the closed mesh [m], negative inside; in the order of the points.
pub fn exact_distances(mesh: &RawMesh, points: &[DVec3]) -> Vec<f64> {
    let tree = Tree::build(mesh);
    par::map(points.len(), |i| {
        let inside = RAYS.iter().filter(|&&d| tree.crossings(points[i], d) != 0).count() >= 2;
        let distance = tree.distance_sq(points[i]).sqrt();
        if inside { -distance } else { distance }
    })
}

impl Tree {
    fn build(mesh: &RawMesh) -> Self {
        let mut triangles: Vec<[DVec3; 3]> =
            mesh.triangles.iter().map(|t| t.map(|v| mesh.positions[v as usize])).collect();
        let mut nodes = vec![Node { bounds: Aabb::EMPTY, first: 0, count: triangles.len() }];
        let mut open = vec![0];
        while let Some(n) = open.pop() {
            let (first, count) = (nodes[n].first, nodes[n].count);
            let range = &mut triangles[first..first + count];
            nodes[n].bounds = Aabb::of_points(range.iter().flatten().copied());
            if count <= LEAF {
                continue;
            }
            // Median of the centroids along the longest side of their box.
            let extent = Aabb::of_points(range.iter().map(middle)).extent();
            let axis =
                if extent.x >= extent.y.max(extent.z) { 0 } else { 1 + usize::from(extent.z > extent.y) };
            range.select_nth_unstable_by(count / 2, |a, b| middle(a)[axis].total_cmp(&middle(b)[axis]));
            let children = nodes.len();
            nodes.push(Node { bounds: Aabb::EMPTY, first, count: count / 2 });
            nodes.push(Node { bounds: Aabb::EMPTY, first: first + count / 2, count: count - count / 2 });
            (nodes[n].first, nodes[n].count) = (children, 0);
            open.extend([children, children + 1]);
        }
        Self { nodes, triangles }
    }

    fn distance_sq(&self, p: DVec3) -> f64 {
        let mut best = f64::INFINITY;
        let mut open = vec![(0.0, 0)];
        while let Some((bound, n)) = open.pop() {
            if bound >= best {
                continue;
            }
            let node = &self.nodes[n];
            for t in &self.triangles[node.first..node.first + node.count] {
                best = best.min(closest(t, p).distance_squared(p));
            }
            if node.count == 0 && !self.triangles.is_empty() {
                let bound = |c: usize| (self.nodes[c].bounds.distance(p).powi(2), c);
                let (near, far) = (bound(node.first), bound(node.first + 1));
                open.extend(if near.0 <= far.0 { [far, near] } else { [near, far] });
            }
        }
        best
    }

    /// Triangles the ray leaves the solid by, less those it enters by.
    fn crossings(&self, p: DVec3, d: DVec3) -> i32 {
        let mut sum = 0;
        let mut open = vec![0];
        while let Some(n) = open.pop() {
            let node = &self.nodes[n];
            if !meets(node.bounds, p, d) {
                continue;
            }
            sum += self.triangles[node.first..node.first + node.count]
                .iter()
                .map(|t| crossing(t, p, d))
                .sum::<i32>();
            if node.count == 0 && !self.triangles.is_empty() {
                open.extend([node.first, node.first + 1]);
            }
        }
        sum
    }
}

fn middle(t: &[DVec3; 3]) -> DVec3 {
    (t[0] + t[1] + t[2]) / 3.0
}

fn meets(b: Aabb, p: DVec3, d: DVec3) -> bool {
    let (t0, t1) = ((b.min - p) / d, (b.max - p) / d);
    let (enter, leave) = (t0.min(t1).max_element(), t0.max(t1).min_element());
    // Boxes of axis-parallel triangles are flat: rounding must not lose them.
    leave >= 0.0 && enter <= leave + 1e-12 * (1.0 + leave.abs())
}

fn crossing([a, b, c]: &[DVec3; 3], p: DVec3, d: DVec3) -> i32 {
    // Signed volumes of the ray with the three edges: computed from the edge's ends in a fixed order, so that two
    // triangles that share an edge agree on which side of it the ray passes.
    let side = |u: DVec3, v: DVec3| {
        let (flip, u, v) = if u.to_array() < v.to_array() { (1.0, u, v) } else { (-1.0, v, u) };
        flip * d.dot((u - p).cross(v - p)) >= 0.0
    };
    let (ab, bc, ca) = (side(*a, *b), side(*b, *c), side(*c, *a));
    if ab != bc || bc != ca {
        return 0;
    }
    let normal = (b - a).cross(c - a);
    let along = normal.dot(d);
    if along == 0.0 || normal.dot(a - p) / along < 0.0 {
        return 0;
    }
    if along > 0.0 { 1 } else { -1 }
}

/// Point of the triangle closest to `p`: inside the face, else the best of its three edges.
fn closest([a, b, c]: &[DVec3; 3], p: DVec3) -> DVec3 {
    let normal = (b - a).cross(c - a);
    let within = |u: DVec3, v: DVec3| normal.dot((v - u).cross(p - u)) >= 0.0;
    if normal != DVec3::ZERO && within(*a, *b) && within(*b, *c) && within(*c, *a) {
        return p - normal * (normal.dot(p - a) / normal.length_squared());
    }
    let on = |u: DVec3, v: DVec3| {
        let along = v - u;
        let t = (along.dot(p - u) / along.length_squared()).clamp(0.0, 1.0);
        // A zero-length edge gives NaN: its end is the answer.
        if t.is_nan() { u } else { u + t * along }
    };
    let edges = [on(*a, *b), on(*b, *c), on(*c, *a)];
    let [x, y, z] = edges.map(|q| q.distance_squared(p));
    edges[if x <= y.min(z) { 0 } else { 1 + usize::from(z < y) }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> RawMesh {
        let positions =
            (0..8).map(|i| DVec3::new((i & 1).into(), (i >> 1 & 1).into(), (i >> 2).into())).collect();
        let squares = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let triangles = squares.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        RawMesh { positions, triangles }
    }

    #[test]
    fn distances_of_a_cube_are_those_of_the_box() {
        let half = DVec3::splat(0.5);
        let points: Vec<DVec3> =
            super::super::error::random_points(0x5eed, 2000).map(|u| u * 2.0 - half).collect();
        let found = exact_distances(&cube(), &points);
        let mut inside = 0;
        for (p, d) in points.iter().zip(&found) {
            let q = (p - half).abs() - half;
            let truth = q.max(DVec3::ZERO).length() + q.max_element().min(0.0);
            assert!((d - truth).abs() < 1e-12, "{p} {d} {truth}");
            inside += usize::from(truth < 0.0);
        }
        // The cube is an eighth of the sampled box: both signs must have been tested.
        assert!((150..400).contains(&inside), "{inside} of 2000 points were inside");
    }
}
