//! How far two meshes are apart, by the boxes of both trees.
//!
//! Boxes that are farther apart than two triangles already known are left out; of the others the nearest are looked at first. The pair that was
//! nearest in the last question is the first guess.

use super::leaf::Eight;
use super::refit::{Boxes, Tree};
use super::triangle_distance::triangle_distance;
use super::{Soft, SoftMesh};
use crate::simd::{LANES, Lanes, dispatch};
use glam::{DVec3, Vec4};

/// The distance of two meshes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftDistance {
    /// Between the surfaces, 0 where they meet [m].
    pub distance: f64,
    /// Where on A and where on B [m].
    pub witnesses: [DVec3; 2],
    /// The triangles these are on.
    pub triangles: [u32; 2],
}

/// Pairs of nodes that are left to look at: how near they may be, squared, and level and number of each.
pub(super) type Nodes = Vec<(f32, [u32; 4])>;

/// Pairs of triangles and how near their boxes are, squared.
pub(super) type NearPairs = Vec<(f32, [u32; 2])>;

impl Soft {
    /// The distance between the surfaces of two meshes, 0 where they meet, and where it is; none where one has no triangle that takes
    /// part.
    ///
    /// Exact but for the rounding of f64. Trees are fitted to the vertices; then it takes some tens of microseconds.
    pub fn distance(&mut self, a: &SoftMesh, b: &SoftMesh) -> Option<SoftDistance> {
        let (shift, slack) = super::pairs::between(a, b);
        let mut best = self.nearest.filter(|[x, y]| a.takes_part(*x) && b.takes_part(*y));
        let mut nearest: Option<SoftDistance> = None;
        let try_pair = |x: u32, y: u32, nearest: &mut Option<SoftDistance>| {
            let (Some(s), Some(t)) = (a.corners(x), b.corners(y)) else { return };
            let (distance, p, q) = triangle_distance(&s, &t);
            if nearest
                .is_none_or(|n| distance < n.distance || (distance == n.distance && [x, y] < n.triangles))
            {
                *nearest = Some(SoftDistance { distance, witnesses: [p, q], triangles: [x, y] });
            }
        };
        if let Some([x, y]) = best.take() {
            try_pair(x, y, &mut nearest);
        }
        let (nodes, near) = (&mut self.nodes, &mut self.near);
        nodes.clear();
        super::pairs::with_trees(a, b, |tree_a, tree_b, _| {
            let (Some([ka, i]), Some([kb, j])) = (tree_a.root(), tree_b.root()) else { return };
            nodes.push((0.0, [ka, i, kb, j]));
            while let Some((squared, node)) = nodes.pop() {
                // What is as near as the nearest is looked at too: of several the first by number is the answer.
                let limit = nearest.map_or(f32::INFINITY, |n| above(n.distance, slack));
                if squared > limit {
                    continue;
                }
                if node[0] == 0 && node[2] == 0 {
                    let [x, y] = [
                        Eight::new(a, tree_a.leaf(node[1] as usize), shift, slack),
                        Eight::new(b, tree_b.leaf(node[3] as usize), Vec4::ZERO, slack),
                    ];
                    near.clear();
                    near_pairs(&x, &y, limit, near);
                    for (_, [x, y]) in near.iter() {
                        try_pair(*x, *y, &mut nearest);
                    }
                    continue;
                }
                let from = nodes.len();
                open(&Open { a: tree_a, b: tree_b, shift, limit }, node, nodes);
                // The nearest last, to be the next.
                nodes[from..].sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(y.1.cmp(&x.1)));
            }
        });
        self.nearest = nearest.map(|n| n.triangles);
        nearest
    }
}

/// A squared distance of boxes above which nothing as near as `distance` can be.
fn above(distance: f64, slack: f32) -> f32 {
    let d = (distance as f32) * (1.0 + 4.0 * f32::EPSILON) + 8.0 * slack;
    d * d * (1.0 + 4.0 * f32::EPSILON)
}

struct Open<'a> {
    a: &'a Tree,
    b: &'a Tree,
    shift: Vec4,
    limit: f32,
}

dispatch! {
    fn open / open_plain = open_kernel(job: &Open<'_>, node: [u32; 4], out: &mut Nodes)
}

/// Opens the larger of two nodes: its children with the other.
#[expect(clippy::needless_range_loop, reason = "iterators stay calls in functions with target features")]
#[inline(always)]
fn open_kernel<L: Lanes>(job: &Open<'_>, [ka, i, kb, j]: [u32; 4], out: &mut Nodes) {
    let size = |[low, high]: [Vec4; 2]| (high - low).max_element();
    let of_a = job.a.bounds(ka as usize, i as usize);
    let of_b = job.b.bounds(kb as usize, j as usize);
    let first = kb == 0 || (ka > 0 && size(of_a) >= size(of_b));
    let mut squared = [0.0; LANES];
    if first {
        let other = [of_b[0] - job.shift, of_b[1] - job.shift];
        between::<L>(job.a.children(ka as usize, i as usize), other).store(&mut squared);
    } else {
        let other = [of_a[0] + job.shift, of_a[1] + job.shift];
        between::<L>(job.b.children(kb as usize, j as usize), other).store(&mut squared);
    }
    for lane in 0..LANES {
        // Boxes of nothing are infinitely far.
        if squared[lane] <= job.limit && squared[lane] < f32::INFINITY {
            let child = lane as u32;
            let node = if first {
                [ka - 1, i * LANES as u32 + child, kb, j]
            } else {
                [ka, i, kb - 1, j * LANES as u32 + child]
            };
            out.push((squared[lane], node));
        }
    }
}

dispatch! {
    fn near_pairs / near_pairs_plain = near_kernel(a: &Eight, b: &Eight, limit: f32, out: &mut Vec<(f32, [u32; 2])>)
}

/// Pairs of triangles whose boxes are near, the nearest first.
#[expect(clippy::needless_range_loop, reason = "iterators stay calls in functions with target features")]
#[inline(always)]
fn near_kernel<L: Lanes>(a: &Eight, b: &Eight, limit: f32, out: &mut Vec<(f32, [u32; 2])>) {
    let mut squared = [0.0; LANES];
    for lane in 0..LANES {
        let own = a.boxes().get(lane);
        if own[0].x > own[1].x {
            continue;
        }
        between::<L>(b.boxes(), own).store(&mut squared);
        for other in 0..LANES {
            if squared[other] <= limit && squared[other] < f32::INFINITY {
                out.push((squared[other], [a.ids[lane], b.ids[other]]));
            }
        }
    }
    out.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
}

/// Squared distances of eight boxes to another.
#[inline(always)]
fn between<L: Lanes>(boxes: &Boxes, [low, high]: [Vec4; 2]) -> L {
    let (low, high) = (low.to_array(), high.to_array());
    let mut sum = L::splat(0.0);
    for axis in 0..3 {
        let before = L::load(&boxes.low[axis]).sub(L::splat(high[axis]));
        let after = L::splat(low[axis]).sub(L::load(&boxes.high[axis]));
        let gap = before.max(after).max(L::splat(0.0));
        sum = sum.add(gap.mul(gap));
    }
    sum
}
