//! How the surface crosses one cell: closed loops over its cut edges, then triangles.
//!
//! Based on: Lorensen and Cline, Marching cubes, 1987 [lorensen87]; Nielson and Hamann, The asymptotic decider, 1991
//! [nielson91], for faces whose corners alternate.
//! Differs: no case table is written down. On every face each edge where the boundary walk enters the inside is
//! joined to one where it leaves, which gives closed loops for any signs; a loop is triangulated only with
//! diagonals that do not lie in a face of the cell, because the neighbour could choose the same diagonal and four
//! triangles would then share it. A loop that has no such triangulation gets a vertex in its middle. So the
//! surface is a closed manifold by construction. The decider is applied to faces only: a tunnel through the
//! middle of a single cell is not made.

use std::sync::OnceLock;

/// Corner `c` of a cell is at `(c & 1, c >> 1 & 1, c >> 2)`. The twelve edges as (lower corner, axis).
pub(super) const EDGES: [(u8, u8); 12] =
    [(0, 0), (2, 0), (4, 0), (6, 0), (0, 1), (1, 1), (4, 1), (5, 1), (0, 2), (1, 2), (2, 2), (3, 2)];

/// Corners of each face, counter-clockwise from outside the cell: -x, +x, -y, +y, -z, +z.
pub(super) const FACES: [[u8; 4]; 6] =
    [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];

/// The number of a vertex in [`Patch::triangles`] that stands for the middle of a loop: `MIDDLE + loop`.
pub(super) const MIDDLE: u8 = 12;

/// The triangles of one cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Patch {
    /// Edges of [`EDGES`], or [`MIDDLE`] plus an index into `middles`; counter-clockwise from outside.
    pub(super) triangles: Vec<[u8; 3]>,
    /// For each middle vertex, the edges whose vertices it is the mean of.
    pub(super) middles: Vec<Vec<u8>>,
}

/// Which faces have alternating corners, as bits in the order of [`FACES`]; `inside` has bit `c` for corner `c`.
pub(super) fn ambiguous_faces(inside: u8) -> u8 {
    let is = |c: u8| inside >> c & 1 == 1;
    let alternates = |f: &[u8; 4]| is(f[0]) == is(f[2]) && is(f[1]) == is(f[3]) && is(f[0]) != is(f[1]);
    FACES.iter().enumerate().fold(0, |bits, (i, f)| bits | u8::from(alternates(f)) << i)
}

/// The patch for the corner signs `inside`, no alternating face joining its inside corners; from a table.
pub(super) fn separated(inside: u8) -> &'static Patch {
    static TABLE: OnceLock<Vec<Patch>> = OnceLock::new();
    &TABLE.get_or_init(|| (0..=255).map(|signs| patch(signs, 0)).collect())[usize::from(inside)]
}

/// The patch for the corner signs `inside`; on alternating faces with a bit in `joined`, the inside corners are
/// connected through the middle of the face, on the others they are cut off one by one.
pub(super) fn patch(inside: u8, joined: u8) -> Patch {
    let next = successors(inside, joined);
    let mut out = Patch::default();
    let mut visited = [false; 12];
    for first in 0..12u8 {
        let mut ring = Vec::new();
        let mut edge = first;
        // Successors of the cut edges are a permutation, so the walk returns to where it began.
        while let Some(following) = next[usize::from(edge)]
            && !visited[usize::from(edge)]
        {
            visited[usize::from(edge)] = true;
            ring.push(edge);
            edge = following;
        }
        if ring.is_empty() {
            continue;
        }
        if !triangulate(&ring, &mut out.triangles) {
            let middle = MIDDLE + out.middles.len() as u8;
            for (i, &e) in ring.iter().enumerate() {
                out.triangles.push([e, ring[(i + 1) % ring.len()], middle]);
            }
            out.middles.push(ring);
        }
    }
    out
}

/// For each cut edge the one that follows on its loop.
fn successors(inside: u8, joined: u8) -> [Option<u8>; 12] {
    let is = |c: u8| inside >> c & 1 == 1;
    let mut next = [None; 12];
    for (f, face) in FACES.iter().enumerate() {
        for i in 0..4 {
            // The walk enters the inside between corners i and i + 1.
            if is(face[i]) || !is(face[(i + 1) % 4]) {
                continue;
            }
            // It leaves again after one to three steps. Cut off, the loop takes the first way out; joined, the
            // last one before this entry.
            let mut leaves = (i + 1..i + 4).filter(|&j| is(face[j % 4]) && !is(face[(j + 1) % 4]));
            let leave = if joined >> f & 1 == 1 { leaves.next_back() } else { leaves.next() };
            let entry = edge_between(face[i], face[(i + 1) % 4]);
            next[usize::from(entry)] = leave.map(|j| edge_between(face[j % 4], face[(j + 1) % 4]));
        }
    }
    next
}

/// The edge with these two ends; they must be neighbours.
fn edge_between(a: u8, b: u8) -> u8 {
    let found = EDGES.iter().position(|&(c, axis)| c == a.min(b) && c | 1 << axis == a.max(b));
    found.map_or(0, |e| e as u8)
}

/// Appends the triangulation of `ring` with the shortest diagonals; false, and nothing appended, if every
/// triangulation needs a diagonal that lies in a face of the cell.
fn triangulate(ring: &[u8], out: &mut Vec<[u8; 3]>) -> bool {
    let n = ring.len();
    // best[i][j]: least sum of squared diagonals of the polygon i..=j, and its third corner.
    let mut best = [[(u32::MAX, 0usize); 12]; 12];
    for width in 1..n {
        for i in 0..n - width {
            let j = i + width;
            let outer = width == 1 || (i == 0 && j == n - 1);
            if !outer && share_face(ring[i], ring[j]) {
                continue;
            }
            let own = if outer { 0 } else { length_sq(ring[i], ring[j]) };
            if width == 1 {
                best[i][j] = (0, 0);
            }
            for k in i + 1..j {
                let sum = best[i][k].0.saturating_add(best[k][j].0).saturating_add(own);
                if sum < best[i][j].0 {
                    best[i][j] = (sum, k);
                }
            }
        }
    }
    if best[0][n - 1].0 == u32::MAX {
        return false;
    }
    let mut open = vec![(0, n - 1)];
    while let Some((i, j)) = open.pop() {
        if j - i > 1 {
            let k = best[i][j].1;
            out.push([ring[i], ring[k], ring[j]]);
            open.extend([(i, k), (k, j)]);
        }
    }
    true
}

/// Middle of an edge in half cells.
fn middle(edge: u8) -> [i32; 3] {
    let (c, axis) = EDGES[usize::from(edge)];
    std::array::from_fn(|i| 2 * i32::from(c >> i & 1) + i32::from(usize::from(axis) == i))
}

/// Squared distance between the middles of two edges, in half cells.
fn length_sq(a: u8, b: u8) -> u32 {
    let (a, b) = (middle(a), middle(b));
    (0..3).map(|i| a[i].abs_diff(b[i]).pow(2)).sum()
}

/// Whether one face of the cell holds both edges.
fn share_face(a: u8, b: u8) -> bool {
    let (a, b) = (middle(a), middle(b));
    (0..3).any(|i| a[i] == b[i] && a[i] != 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every case, with every decision on its ambiguous faces.
    fn cases() -> impl Iterator<Item = (u8, u8, Patch)> {
        (0..=255u8).flat_map(|inside| {
            let open = ambiguous_faces(inside);
            (0..64u8).filter(move |j| j & !open == 0).map(move |j| (inside, j, patch(inside, j)))
        })
    }

    #[test]
    fn every_case_uses_each_cut_edge_once_and_no_diagonal_lies_in_a_face() {
        let (mut with_middle, mut count) = (0, 0);
        for (inside, joined, patch) in cases() {
            count += 1;
            with_middle += usize::from(!patch.middles.is_empty());
            let mut sides = std::collections::BTreeMap::<(u8, u8), i32>::new();
            for t in &patch.triangles {
                for i in 0..3 {
                    *sides.entry((t[i], t[(i + 1) % 3])).or_default() += 1;
                }
            }
            // A side is used once in each direction, or once in all when it is on the border of the patch.
            let mut border = [0; 12];
            for (&(a, b), &uses) in &sides {
                assert_eq!(uses, 1, "{inside:08b} {joined:06b}");
                if sides.contains_key(&(b, a)) {
                    assert!(a >= MIDDLE || b >= MIDDLE || !share_face(a, b), "{inside:08b} {joined:06b}");
                } else {
                    assert!(share_face(a, b), "{inside:08b} {joined:06b}");
                    border[usize::from(a)] += 1;
                }
            }
            for (e, &(c, axis)) in EDGES.iter().enumerate() {
                let cut = (inside >> c & 1) != (inside >> (c | 1 << axis) & 1);
                assert_eq!(border[e], i32::from(cut), "{inside:08b} {joined:06b} edge {e}");
            }
        }
        assert!(count > 256 && with_middle > 0, "{count} cases, {with_middle} with a middle vertex");
    }

    #[test]
    fn neighbours_agree_on_the_border_of_every_face() {
        // The border a cell leaves on a face depends on the signs and the decision of that face only, and a
        // neighbour sees its mirror: compare each face of each case with the opposite face of the mirrored cell.
        let border = |inside: u8, joined: u8, face: usize| {
            let on_face = |e: u8| {
                let (c, axis) = EDGES[usize::from(e)];
                FACES[face].contains(&c) && FACES[face].contains(&(c | 1 << axis))
            };
            let next = successors(inside, joined);
            let mut found: Vec<_> = (0..12u8)
                .filter_map(|e| next[usize::from(e)].map(|n| (e, n)))
                .filter(|&(e, n)| on_face(e) && on_face(n))
                .collect();
            found.sort_unstable();
            found
        };
        for (inside, joined, _) in cases() {
            for face in 0..6 {
                let axis = face / 2;
                let flip = 1u8 << axis;
                let mirrored = (0..8u8).fold(0, |m, c| m | (inside >> c & 1) << (c ^ flip));
                let mirror_edge = |e: u8| {
                    let (c, a) = EDGES[usize::from(e)];
                    edge_between(c ^ flip, (c | 1 << a) ^ flip)
                };
                let decision = (joined >> face & 1) << (face ^ 1);
                let mut seen: Vec<_> = border(mirrored, decision, face ^ 1)
                    .into_iter()
                    .map(|(e, n)| (mirror_edge(n), mirror_edge(e)))
                    .collect();
                seen.sort_unstable();
                assert_eq!(border(inside, joined, face), seen, "{inside:08b} {joined:06b} face {face}");
            }
        }
    }
}
