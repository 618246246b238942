//! Traces the boundary edges of a mesh into simple loops.

use super::topology::Topology;
use std::collections::BTreeMap;

/// Boundary edges in the direction of the cap, that is against that of their triangles.
#[derive(Debug)]
pub(super) struct Loop {
    /// Vertices in order, none twice; the last is joined to the first if `closed`.
    pub(super) vertices: Vec<u32>,
    /// The first triangle of the boundary.
    pub(super) triangle: u32,
    /// Whether the boundary returns to its start.
    pub(super) closed: bool,
}

const NONE: usize = usize::MAX;

/// The boundary as loops that pass each vertex once, and as open chains where it does not close.
///
/// At a vertex where several loops meet, a loop follows the fan of triangles it came along: it stays within one component.
pub(super) fn trace(triangles: &[[u32; 3]], topology: &Topology) -> Vec<Loop> {
    // All boundary half-edges, as 3 * triangle + edge, ascending.
    let across = topology.neighbours.as_flattened();
    let edges: Vec<usize> = (0..across.len()).filter(|&h| across[h] == Topology::BOUNDARY).collect();
    let start = |h: usize| triangles[h / 3][h % 3];
    let end = |h: usize| triangles[h / 3][(h % 3 + 1) % 3];

    let mut next = vec![NONE; edges.len()];
    let mut has_previous = vec![false; edges.len()];
    for (i, &h) in edges.iter().enumerate() {
        if let Some(n) = turn(triangles, topology, h).and_then(|n| edges.binary_search(&n).ok()) {
            next[i] = n;
            has_previous[n] = true;
        }
    }

    // A fan that meets a non-manifold edge leaves loose ends: join those that are left at each vertex, in order.
    let mut starts: Vec<(u32, usize)> =
        (0..edges.len()).filter(|&i| !has_previous[i]).map(|i| (start(edges[i]), i)).collect();
    starts.sort_unstable();
    let mut ends: Vec<(u32, usize)> =
        (0..edges.len()).filter(|&i| next[i] == NONE).map(|i| (end(edges[i]), i)).collect();
    ends.sort_unstable();
    let (mut s, mut e) = (0, 0);
    while s < starts.len() && e < ends.len() {
        match starts[s].0.cmp(&ends[e].0) {
            std::cmp::Ordering::Less => s += 1,
            std::cmp::Ordering::Greater => e += 1,
            std::cmp::Ordering::Equal => {
                next[ends[e].1] = starts[s].1;
                has_previous[starts[s].1] = true;
                (s, e) = (s + 1, e + 1);
            }
        }
    }

    // Chains from their start, then what is left: cycles.
    let mut loops = Vec::new();
    let mut used = vec![false; edges.len()];
    let chains = (0..edges.len()).filter(|&i| !has_previous[i]);
    for first in chains.chain(0..edges.len()) {
        let mut path = Vec::new();
        let mut i = first;
        while i != NONE && !used[i] {
            used[i] = true;
            path.push(Step { start: start(edges[i]), end: end(edges[i]), triangle: (edges[i] / 3) as u32 });
            i = next[i];
        }
        split(&path, &mut loops);
    }
    loops.sort_by_key(|l| l.triangle);
    loops
}

/// One boundary half-edge in the direction of its triangle.
#[derive(Clone, Copy)]
struct Step {
    start: u32,
    end: u32,
    triangle: u32,
}

/// The boundary half-edge that follows `h` around the fan of triangles at its end vertex.
fn turn(triangles: &[[u32; 3]], topology: &Topology, h: usize) -> Option<usize> {
    let (mut t, mut e) = (h / 3, (h % 3 + 1) % 3);
    let pivot = triangles[t][e];
    // A fan has at most all triangles; a broken topology must not turn for ever.
    for _ in 0..triangles.len() {
        let n = topology.neighbours[t][e];
        if n == Topology::BOUNDARY {
            return Some(3 * t + e);
        }
        if n == Topology::NONMANIFOLD {
            return None;
        }
        t = n as usize;
        // The neighbour runs along the shared edge towards the pivot: its next edge leaves the pivot.
        e = (0..3).find(|&k| triangles[t][k] == pivot)?;
    }
    None
}

/// Cuts a path into loops that pass each vertex once; what does not close is an open chain.
fn split(path: &[Step], loops: &mut Vec<Loop>) {
    let mut stack: Vec<Step> = Vec::new();
    let mut at: BTreeMap<u32, usize> = BTreeMap::new();
    for &step in path {
        at.insert(step.start, stack.len());
        stack.push(step);
        if let Some(&from) = at.get(&step.end) {
            let ring = stack.split_off(from);
            for s in &ring {
                at.remove(&s.start);
            }
            loops.push(Loop {
                vertices: ring.iter().rev().map(|s| s.start).collect(),
                triangle: ring.iter().map(|s| s.triangle).min().unwrap_or(0),
                // Two boundary edges between the same vertices would have been neighbours.
                closed: ring.len() >= 3,
            });
        }
    }
    if let Some(last) = stack.last() {
        let mut vertices = vec![last.end];
        vertices.extend(stack.iter().rev().map(|s| s.start));
        let triangle = stack.iter().map(|s| s.triangle).min().unwrap_or(0);
        loops.push(Loop { vertices, triangle, closed: false });
    }
}
