//! Which triangle lies across each edge.
//!
//! Half-edges are bucketed by their smaller vertex (counting sort), and each one looks up its edge in that bucket.
//! A bucket holds about six entries on a scan, so the lookup is a short scan of one cache line; the buckets of hubs are
//! sorted and searched by bisection, so that a fan of a million triangles stays n log n.

use crate::par;

/// Buckets longer than this are sorted and bisected instead of scanned. Larger: hubs cost the square of this per
/// half-edge. Smaller: ordinary vertices pay for a sort they do not need.
const SCAN_LIMIT: usize = 64;

/// Triangles per parallel piece: large enough that starting a piece (about 1 µs) is lost in its work.
const CHUNK: usize = 1 << 14;

/// Triangles below which the buckets are filled by one thread: a second pass over the input would cost more.
const PARALLEL_FILL: usize = 1 << 15;

/// Bound on the triangles that fit the packed half-edges: three times as many must fit 32 bits.
pub(crate) const MAX_TRIANGLES: usize = 1 << 30;

/// Neighbours of every triangle across its edges.
///
/// Edge `e` of a triangle runs from its corner `e` to its corner `(e + 1) % 3`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// For each triangle and each of its edges the triangle across it, [`Topology::BOUNDARY`] or
    /// [`Topology::NONMANIFOLD`].
    pub neighbours: Vec<[u32; 3]>,
    boundary_edges: usize,
    nonmanifold_edges: usize,
    /// Pairs of triangles that share a non-manifold edge; enough of them to connect all faces of each such edge.
    links: Vec<[u32; 2]>,
    /// Pairs of triangles that alone share an edge and run along it the same way.
    clashes: Vec<[u32; 2]>,
}

impl Topology {
    /// No triangle lies across the edge.
    pub const BOUNDARY: u32 = u32::MAX;
    /// The edge has three or more faces, or two that run along it in the same direction.
    pub const NONMANIFOLD: u32 = u32::MAX - 1;

    /// The neighbours of `triangles`, whose indices are below `vertex_count`.
    ///
    /// An index out of range, or an edge from a vertex to itself, makes that edge non-manifold and is otherwise
    /// ignored. Holds for fewer than 2³⁰ triangles; more give no neighbours at all (every edge non-manifold).
    /// Linear time apart from hubs; about 30 bytes a triangle while it runs, 12 after. Same result for any number of
    /// threads.
    pub fn build(triangles: &[[u32; 3]], vertex_count: usize) -> Self {
        if triangles.len() >= MAX_TRIANGLES {
            let neighbours = vec![[Self::NONMANIFOLD; 3]; triangles.len()];
            return Self { neighbours, nonmanifold_edges: 3 * triangles.len(), ..Self::default() };
        }
        let buckets = Buckets::build(triangles, vertex_count);
        let mut neighbours = vec![[Self::BOUNDARY; 3]; triangles.len()];
        let pieces = buckets.match_edges(triangles, &mut neighbours);

        let mut all = Self { neighbours, ..Self::default() };
        for piece in pieces {
            all.boundary_edges += piece.boundary;
            all.nonmanifold_edges += piece.nonmanifold;
            all.links.extend(piece.links);
            all.clashes.extend(piece.clashes);
        }
        all
    }

    /// Number of edges with one face.
    pub fn boundary_edges(&self) -> usize {
        self.boundary_edges
    }

    /// Number of edges with three or more faces, or with two that run the same way.
    pub fn nonmanifold_edges(&self) -> usize {
        self.nonmanifold_edges
    }

    /// Pairs of triangles that alone share an edge and run along it the same way: one of each pair is flipped.
    pub(crate) fn clashes(&self) -> &[[u32; 2]] {
        &self.clashes
    }

    /// Follows the swap of the corners 1 and 2 of the triangles with their flag set, where whole parts that share no edge of two
    /// faces with the others are turned.
    pub(crate) fn mirror(&mut self, turn: &[bool]) {
        for (across, &turn) in self.neighbours.iter_mut().zip(turn) {
            if turn {
                across.swap(0, 2);
            }
        }
    }

    /// The component of every triangle and the number of components.
    ///
    /// Triangles are connected through shared edges, manifold or not; a shared vertex alone does not connect.
    /// Components are numbered in the order of their first triangle. Near-linear time, 4 bytes a triangle.
    pub fn components(&self) -> (Vec<u32>, usize) {
        let mut parent: Vec<u32> = (0..self.neighbours.len() as u32).collect();
        for (t, across) in self.neighbours.iter().enumerate() {
            for &n in across {
                // Each pair once: the boundary markers are larger than any triangle.
                if (n as usize) < t {
                    union(&mut parent, t as u32, n);
                }
            }
        }
        for &[a, b] in &self.links {
            union(&mut parent, a, b);
        }
        // A root is the smallest triangle of its component, so it is numbered before the others look it up.
        let mut count = 0;
        for t in 0..parent.len() {
            let p = parent[t] as usize;
            parent[t] = if p == t {
                count += 1;
                count - 1
            } else {
                // Parents point to smaller triangles, which already hold their component.
                parent[p]
            };
        }
        (parent, count as usize)
    }
}

/// Joins the sets of `a` and `b`; the smaller root wins, so that the result does not depend on the order of joins.
pub(crate) fn union(parent: &mut [u32], a: u32, b: u32) {
    let (ra, rb) = (find(parent, a), find(parent, b));
    if ra != rb {
        parent[ra.max(rb) as usize] = ra.min(rb);
    }
}

/// Smallest member of the set of `a`; halves the path on its way.
pub(crate) fn find(parent: &mut [u32], mut a: u32) -> u32 {
    while parent[a as usize] != a {
        let up = parent[parent[a as usize] as usize];
        parent[a as usize] = up;
        a = up;
    }
    a
}

/// What matching the edges of one run of triangles found besides the neighbours.
#[derive(Default)]
struct Piece {
    boundary: usize,
    nonmanifold: usize,
    links: Vec<[u32; 2]>,
    clashes: Vec<[u32; 2]>,
}

/// Half-edges grouped by the smaller vertex of their edge.
struct Buckets {
    /// Start of each vertex's bucket in `entries`, and the end of the last.
    start: Vec<u32>,
    /// Larger vertex << 32 | triangle << 1 | 1 if the half-edge runs from the smaller to the larger vertex.
    entries: Vec<u64>,
    vertex_count: usize,
}

impl Buckets {
    fn build(triangles: &[[u32; 3]], vertex_count: usize) -> Self {
        let parts = if triangles.len() < PARALLEL_FILL { 1 } else { par::threads().clamp(1, 8) };

        // Count: each part owns a run of vertices and reads all triangles.
        let mut start = vec![0_u32; vertex_count + 1];
        let size = vertex_count.div_ceil(parts).max(1);
        par::chunks_mut(&mut start[..vertex_count], size, |part, counts| {
            let first = (part * size) as u32;
            let len = counts.len() as u32;
            for tri in triangles {
                for e in 0..3 {
                    let (lo, hi) = edge(tri, e);
                    let at = lo.wrapping_sub(first);
                    if at < len && lo != hi && (hi as usize) < vertex_count {
                        counts[at as usize] += 1;
                    }
                }
            }
        });
        let mut sum = 0;
        for s in &mut start {
            let count = *s;
            *s = sum;
            sum += count;
        }

        // Fill: the entries of a run of vertices are one contiguous slice, so parts never meet.
        let mut entries = vec![0_u64; sum as usize];
        let mut slices = Vec::with_capacity(parts);
        let mut rest = entries.as_mut_slice();
        for first in (0..vertex_count).step_by(size) {
            let last = (first + size).min(vertex_count);
            let (mine, more) = rest.split_at_mut((start[last] - start[first]) as usize);
            slices.push((first, last, mine));
            rest = more;
        }
        par::chunks_mut(&mut slices, 1, |_, slice| {
            for (first, last, out) in slice {
                let base = start[*first];
                let mut next: Vec<u32> = start[*first..*last].iter().map(|s| s - base).collect();
                let (from, len) = (*first as u32, next.len() as u32);
                for (t, tri) in triangles.iter().enumerate() {
                    for e in 0..3 {
                        let (lo, hi) = edge(tri, e);
                        let at = lo.wrapping_sub(from);
                        if at < len && lo != hi && (hi as usize) < vertex_count {
                            let forward = u64::from(tri[e] == lo);
                            let slot = &mut next[at as usize];
                            out[*slot as usize] = u64::from(hi) << 32 | (t as u64) << 1 | forward;
                            *slot += 1;
                        }
                    }
                }
                // Hubs are bisected later, so they need an order.
                for v in *first..*last {
                    let (a, b) = ((start[v] - base) as usize, (start[v + 1] - base) as usize);
                    if b - a > SCAN_LIMIT {
                        out[a..b].sort_unstable();
                    }
                }
            }
        });
        Self { start, entries, vertex_count }
    }

    /// Fills `neighbours`; the rest of what was found comes back in the order of the triangles.
    fn match_edges(&self, triangles: &[[u32; 3]], neighbours: &mut [[u32; 3]]) -> Vec<Piece> {
        let mut work: Vec<(Piece, &mut [[u32; 3]])> =
            neighbours.chunks_mut(CHUNK).map(|c| (Piece::default(), c)).collect();
        par::chunks_mut(&mut work, 1, |i, item| {
            let (piece, out) = &mut item[0];
            for (k, across) in out.iter_mut().enumerate() {
                let t = i * CHUNK + k;
                *across = [0, 1, 2].map(|e| self.across(t as u32, &triangles[t], e, piece));
            }
        });
        work.into_iter().map(|(piece, _)| piece).collect()
    }

    /// The triangle across edge `e` of `tri`, or a marker.
    #[inline]
    fn across(&self, t: u32, tri: &[u32; 3], e: usize, piece: &mut Piece) -> u32 {
        let (lo, hi) = edge(tri, e);
        if lo == hi || hi as usize >= self.vertex_count {
            piece.nonmanifold += 1;
            return Topology::NONMANIFOLD;
        }
        let mut bucket =
            &self.entries[self.start[lo as usize] as usize..self.start[lo as usize + 1] as usize];
        if bucket.len() > SCAN_LIMIT {
            let from = bucket.partition_point(|&b| (b >> 32) < u64::from(hi));
            let to = bucket.partition_point(|&b| (b >> 32) <= u64::from(hi));
            bucket = &bucket[from..to];
            // Three are enough to see that the edge is not manifold, and bound the work on a fan of pages.
            bucket = &bucket[..bucket.len().min(3)];
        }
        // Without branches: which of a handful of entries match is not predictable.
        let (mut count, mut others, mut forward, mut first) = (0, 0, 0, u32::MAX);
        for &entry in bucket {
            let low = entry as u32;
            let hit = u32::from((entry >> 32) as u32 == hi);
            let mask = 0_u32.wrapping_sub(hit);
            count += hit;
            others ^= low >> 1 & mask;
            forward += low & hit;
            first = first.min(low | !mask);
        }
        let own = t << 1 | u32::from(tri[e] == lo);
        match (count, forward) {
            (1, _) => {
                piece.boundary += 1;
                Topology::BOUNDARY
            }
            // The pair's XOR without this triangle is the other one.
            (2, 1) => others ^ t,
            _ => {
                if own == first {
                    piece.nonmanifold += 1;
                    if count == 2 {
                        piece.clashes.push([t, others ^ t]);
                    }
                } else {
                    piece.links.push([first >> 1, t]);
                }
                Topology::NONMANIFOLD
            }
        }
    }
}

/// Edge `e` of a triangle with its smaller vertex first.
#[inline]
fn edge(tri: &[u32; 3], e: usize) -> (u32, u32) {
    let (a, b) = (tri[e], tri[if e == 2 { 0 } else { e + 1 }]);
    (a.min(b), a.max(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes::Random;
    use std::collections::BTreeMap;

    /// The same answer from an ordered map of edges.
    fn reference(triangles: &[[u32; 3]]) -> (Vec<[u32; 3]>, usize, usize) {
        let mut faces: BTreeMap<(u32, u32), Vec<(u32, bool)>> = BTreeMap::new();
        for (t, tri) in triangles.iter().enumerate() {
            for e in 0..3 {
                faces.entry(edge(tri, e)).or_default().push((t as u32, tri[e] == edge(tri, e).0));
            }
        }
        let mut boundary = 0;
        let mut bad = 0;
        for list in faces.values() {
            match list[..] {
                [_] => boundary += 1,
                [a, b] if a.1 != b.1 => {}
                _ => bad += 1,
            }
        }
        let across = |t: usize, e: usize| match faces[&edge(&triangles[t], e)][..] {
            [_] => Topology::BOUNDARY,
            [a, b] if a.1 != b.1 => a.0 ^ b.0 ^ t as u32,
            _ => Topology::NONMANIFOLD,
        };
        let neighbours = (0..triangles.len()).map(|t| [across(t, 0), across(t, 1), across(t, 2)]).collect();
        (neighbours, boundary, bad)
    }

    fn soup(seed: u64, triangles: usize, vertices: u64) -> Vec<[u32; 3]> {
        let mut random = Random(seed);
        let mut out = Vec::new();
        while out.len() < triangles {
            let t = [0; 3].map(|_| random.below(vertices as usize) as u32);
            if t[0] != t[1] && t[1] != t[2] && t[2] != t[0] {
                out.push(t);
            }
        }
        out
    }

    #[test]
    fn agrees_with_an_ordered_map_on_soups() {
        let (mut boundary, mut inner, mut bad) = (0, 0, 0);
        for (seed, vertices) in [(1, 5), (2, 12), (3, 40), (4, 200), (5, 2000)] {
            let triangles = soup(seed, 3 * vertices as usize, vertices);
            let topology = Topology::build(&triangles, vertices as usize);
            let (neighbours, b, n) = reference(&triangles);
            assert_eq!(topology.neighbours, neighbours, "seed {seed}");
            assert_eq!((topology.boundary_edges(), topology.nonmanifold_edges()), (b, n), "seed {seed}");
            boundary += b;
            bad += n;
            inner += neighbours.as_flattened().iter().filter(|&&n| n < Topology::NONMANIFOLD).count();
        }
        assert!(boundary > 1000 && inner > 50 && bad > 50, "{boundary} {inner} {bad}");
    }

    #[test]
    fn same_for_any_number_of_threads() {
        // Local triangles, so that all kinds of edges occur; enough of them for the parallel fill.
        let mut random = Random(9);
        let n = 50_000_u32;
        let triangles: Vec<_> = (0..n).map(|v| [v, v + 1 + random.below(2) as u32, v + 3]).collect();
        let one = par::with_threads(1, || Topology::build(&triangles, n as usize + 4));
        for threads in 2..=5 {
            assert!(one == par::with_threads(threads, || Topology::build(&triangles, n as usize + 4)));
        }
        assert_eq!(one.neighbours, reference(&triangles).0);
    }

    #[test]
    fn a_hub_of_many_triangles_is_matched() {
        // A closed fan around vertex 0, and a book of 1000 pages on the edge from vertex 1 to a hub's other side.
        let n = 1000_u32;
        let fan: Vec<_> = (0..n).map(|i| [0, 1 + i, 1 + (i + 1) % n]).collect();
        let topology = Topology::build(&fan, n as usize + 1);
        assert_eq!(topology.boundary_edges(), n as usize);
        for i in 0..n {
            assert_eq!(topology.neighbours[i as usize], [(i + n - 1) % n, Topology::BOUNDARY, (i + 1) % n]);
        }
        let book: Vec<_> = (0..n).map(|i| [0, 1, 2 + i]).collect();
        let topology = Topology::build(&book, n as usize + 2);
        assert_eq!((topology.boundary_edges(), topology.nonmanifold_edges()), (2 * n as usize, 1));
        assert_eq!(topology.components().1, 1);
    }

    #[test]
    fn components_join_through_edges_of_any_kind_and_not_through_vertices() {
        // 0-1: manifold edge. 2-3-4: three faces on one edge. 5-6: same direction. 7: touches 0 at a vertex only.
        let triangles = [
            [0, 1, 2],
            [2, 1, 3],
            [10, 11, 12],
            [10, 11, 13],
            [11, 10, 14],
            [20, 21, 22],
            [20, 21, 23],
            [0, 30, 31],
        ];
        let (label, count) = Topology::build(&triangles, 32).components();
        assert_eq!((label, count), (vec![0, 0, 1, 1, 1, 2, 2, 3], 4));
    }

    #[test]
    fn bad_indices_and_repeated_corners_do_not_panic() {
        let topology = Topology::build(&[[0, 0, 1], [0, 1, 99], [2, 2, 2]], 3);
        assert_eq!(topology.neighbours[2], [Topology::NONMANIFOLD; 3]);
        assert_eq!(topology.neighbours[1][1], Topology::NONMANIFOLD);
        assert_eq!(Topology::build(&[], 0).components().1, 0);
    }
}
