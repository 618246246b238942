//! A binary tree of boxes over the triangles; each node also knows the border of its triangles.

use glam::DVec3;

/// Triangles of a leaf, at most.
const LEAF: usize = 8;

/// One box of the tree.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) min: DVec3,
    pub(super) max: DVec3,
    /// Its triangles are `order[first..first + count]`.
    pub(super) first: usize,
    pub(super) count: usize,
    /// Index of the second child; the first follows its parent. 0 for a leaf.
    pub(super) second: usize,
    /// Border edges `borders[border.0..border.1]`; `None` where its triangles are fewer than its border edges.
    pub(super) border: Option<(usize, usize)>,
}

/// An edge that its triangles do not use equally often in both directions: from `a` to `b`, `times` net.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) times: i32,
}

#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Triangle numbers, those of a node next to each other.
    pub(super) order: Vec<u32>,
    pub(super) borders: Vec<Edge>,
}

impl Node {
    /// Squared distance from `p` to the box, 0 inside [m²].
    pub(super) fn distance_sq(&self, p: DVec3) -> f64 {
        (self.min - p).max(p - self.max).max(DVec3::ZERO).length_squared()
    }
}

impl Tree {
    /// Splits at the median of the longest side of the centroids' box. Indices must be in range.
    pub(super) fn build(positions: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let same = same_position(positions);
        let mut builder = Builder {
            positions,
            triangles,
            same: &same,
            order: (0..triangles.len() as u32).collect(),
            nodes: Vec::new(),
            borders: Vec::new(),
        };
        builder.add(0, triangles.len());
        Self { nodes: builder.nodes, order: builder.order, borders: builder.borders }
    }

    pub(super) fn root(&self) -> &Node {
        &self.nodes[0]
    }
}

/// For each vertex the first one at the same position, so that borders cancel where vertices are repeated.
pub(super) fn same_position(positions: &[DVec3]) -> Vec<u32> {
    // Adding 0 makes -0 and 0 the same bits.
    let bits = |v: u32| (positions[v as usize] + DVec3::ZERO).to_array().map(f64::to_bits);
    let mut sorted: Vec<u32> = (0..positions.len() as u32).collect();
    sorted.sort_unstable_by_key(|&v| (bits(v), v));
    let mut same = vec![0; positions.len()];
    for group in sorted.chunk_by(|&a, &b| bits(a) == bits(b)) {
        group.iter().for_each(|&v| same[v as usize] = group[0]);
    }
    same
}

struct Builder<'a> {
    positions: &'a [DVec3],
    triangles: &'a [[u32; 3]],
    same: &'a [u32],
    order: Vec<u32>,
    nodes: Vec<Node>,
    borders: Vec<Edge>,
}

/// Sorted by (lower vertex, higher vertex); positive from lower to higher.
type Border = Vec<((u32, u32), i32)>;

impl Builder<'_> {
    /// Adds the node of `order[first..first + count]` and all below it; returns its border.
    fn add(&mut self, first: usize, count: usize) -> Border {
        let me = self.nodes.len();
        let corners = |t: u32| self.triangles[t as usize].map(|v| self.positions[v as usize]);
        let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for &t in &self.order[first..first + count] {
            let c = corners(t);
            min = min.min(c[0]).min(c[1]).min(c[2]);
            max = max.max(c[0]).max(c[1]).max(c[2]);
            let sum = c[0] + c[1] + c[2];
            (low, high) = (low.min(sum), high.max(sum));
        }
        self.nodes.push(Node { min, max, first, count, second: 0, border: None });
        let border = if count <= LEAF {
            self.leaf_border(first, count)
        } else {
            let axis = (high - low).max_position();
            let (positions, triangles) = (self.positions, self.triangles);
            let key =
                |t: u32| triangles[t as usize].iter().map(|&v| positions[v as usize][axis]).sum::<f64>();
            let half = count / 2;
            self.order[first..first + count]
                .select_nth_unstable_by(half, |&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
            let left = self.add(first, half);
            self.nodes[me].second = self.nodes.len();
            let right = self.add(first + half, count - half);
            sum(&left, &right)
        };
        if border.len() < count {
            let start = self.borders.len();
            self.borders.extend(border.iter().map(|&((a, b), times)| Edge { a, b, times }));
            self.nodes[me].border = Some((start, self.borders.len()));
        }
        border
    }

    fn leaf_border(&self, first: usize, count: usize) -> Border {
        let mut edges = Vec::with_capacity(3 * count);
        for &t in &self.order[first..first + count] {
            let v = self.triangles[t as usize].map(|v| self.same[v as usize]);
            for (a, b) in [(v[0], v[1]), (v[1], v[2]), (v[2], v[0])] {
                edges.push(if a < b { ((a, b), 1) } else { ((b, a), -1) });
            }
        }
        // An edge from a vertex to itself is no border.
        edges.retain(|e| e.0.0 != e.0.1);
        edges.sort_unstable();
        let mut border = Border::new();
        for group in edges.chunk_by(|a, b| a.0 == b.0) {
            let times = group.iter().map(|e| e.1).sum();
            if times != 0 {
                border.push((group[0].0, times));
            }
        }
        border
    }
}

/// The border of two sets of triangles together: what one uses forth and the other back cancels.
fn sum(left: &Border, right: &Border) -> Border {
    let mut out = Border::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (left.iter().peekable(), right.iter().peekable());
    loop {
        match (l.peek(), r.peek()) {
            (Some(a), Some(b)) if a.0 == b.0 => {
                if a.1 + b.1 != 0 {
                    out.push((a.0, a.1 + b.1));
                }
                l.next();
                r.next();
            }
            (Some(a), b) if b.is_none_or(|b| a.0 < b.0) => {
                out.push(**a);
                l.next();
            }
            (_, Some(b)) => {
                out.push(**b);
                r.next();
            }
            _ => return out,
        }
    }
}
