//! Triangulates one hole: least area, ears, or a fan.

use super::cap::CapParams;
use glam::{DVec2, DVec3};
use std::collections::BTreeSet;

/// A triangle flatter than this share of its longest edge counts as without area [1]. Larger: fine holes pay for a
/// shape that is only thin. Smaller: three vertices on a line in f32 (rounded to 6e-8) would pass.
const FLAT: f64 = 1e-6;

/// Edges of the mesh and of the caps so far between vertices that lie on holes.
pub(super) struct Edges {
    /// Smaller vertex first, ascending.
    mesh: Vec<[u32; 2]>,
    caps: BTreeSet<[u32; 2]>,
}

impl Edges {
    /// The edges of `triangles` with both ends among `vertices`.
    pub(super) fn between<'a>(
        vertex_count: usize,
        triangles: &[[u32; 3]],
        vertices: impl Iterator<Item = &'a u32>,
    ) -> Self {
        let mut marked = vec![false; vertex_count];
        for &v in vertices {
            marked[v as usize] = true;
        }
        let mut mesh = Vec::new();
        for tri in triangles {
            for e in 0..3 {
                let (a, b) = (tri[e], tri[(e + 1) % 3]);
                if marked[a as usize] && marked[b as usize] {
                    mesh.push([a.min(b), a.max(b)]);
                }
            }
        }
        mesh.sort_unstable();
        mesh.dedup();
        Self { mesh, caps: BTreeSet::new() }
    }

    /// Remembers the edges of a cap, so that the next one does not use them too.
    pub(super) fn add(&mut self, ring: &[u32], cap: &[[usize; 3]]) {
        for tri in cap {
            for e in 0..3 {
                if let (Some(&a), Some(&b)) = (ring.get(tri[e]), ring.get(tri[(e + 1) % 3])) {
                    self.caps.insert([a.min(b), a.max(b)]);
                }
            }
        }
    }

    fn contains(&self, a: u32, b: u32) -> bool {
        let edge = [a.min(b), a.max(b)];
        self.mesh.binary_search(&edge).is_ok() || self.caps.contains(&edge)
    }
}

/// Triangles over the `ring`, as indices into it; the index after its last means a new vertex in the middle.
///
/// Every edge of the ring is used once, forward; every chord twice, once each way.
pub(super) fn fill(ring: &[DVec3], vertices: &[u32], edges: &Edges, params: &CapParams) -> Vec<[usize; 3]> {
    let n = ring.len();
    let cap = if n <= params.dynamic_limit.max(3) {
        least_area(ring, vertices, edges)
    } else if n <= params.ear_limit {
        clip_ears(ring, vertices, edges)
    } else {
        None
    };
    cap.unwrap_or_else(|| (0..n).map(|i| [i, (i + 1) % n, n]).collect())
}

/// The triangulation of least area; `None` if every one uses an edge of the mesh.
fn least_area(ring: &[DVec3], vertices: &[u32], edges: &Edges) -> Option<Vec<[usize; 3]>> {
    let n = ring.len();
    if n == 3 {
        return Some(vec![[0, 1, 2]]);
    }
    let perimeter: f64 = (0..n).map(|i| ring[i].distance(ring[(i + 1) % n])).sum();
    // A flat triangle costs more than the area of any cap (below perimeter² per triangle), an existing edge more than
    // all flat triangles together.
    let flat = perimeter * perimeter;
    let taken = flat * (4 * n) as f64;

    // cost[i][j]: best triangulation of the ring's part i..=j closed by the chord j-i; apex[i][j]: its triangle's third corner.
    let mut cost = vec![0.0_f64; n * n];
    let mut apex = vec![0_usize; n * n];
    for span in 2..n {
        for i in 0..n - span {
            let j = i + span;
            let mut best = (f64::INFINITY, i + 1);
            for k in i + 1..j {
                let c = cost[i * n + k] + cost[k * n + j] + weight([ring[i], ring[k], ring[j]], flat);
                if c < best.0 {
                    best = (c, k);
                }
            }
            let is_chord = span < n - 1;
            let penalty = if is_chord && edges.contains(vertices[i], vertices[j]) { taken } else { 0.0 };
            cost[i * n + j] = best.0 + penalty;
            apex[i * n + j] = best.1;
        }
    }
    // All vertices in one place have no cost to compare.
    if flat > 0.0 && cost[n - 1] >= taken {
        return None;
    }
    let mut cap = Vec::with_capacity(n - 2);
    let mut stack = vec![(0, n - 1)];
    while let Some((i, j)) = stack.pop() {
        if j - i >= 2 {
            let k = apex[i * n + j];
            cap.push([i, k, j]);
            stack.push((i, k));
            stack.push((k, j));
        }
    }
    Some(cap)
}

/// Area of a triangle, or `flat` more if it has none.
fn weight([a, b, c]: [DVec3; 3], flat: f64) -> f64 {
    let area = 0.5 * (b - a).cross(c - a).length();
    let longest_sq = a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a));
    if area > 0.5 * FLAT * longest_sq { area } else { area + flat }
}

/// Ears clipped in the plane of the ring's area vector; `None` if the projected ring is not simple or an ear is missing.
fn clip_ears(ring: &[DVec3], vertices: &[u32], edges: &Edges) -> Option<Vec<[usize; 3]>> {
    let n = ring.len();
    let origin = ring[0];
    let normal: DVec3 = (0..n).map(|i| (ring[i] - origin).cross(ring[(i + 1) % n] - origin)).sum();
    let normal = normal.try_normalize()?;
    let (u, v) = normal.any_orthonormal_pair();
    let flat: Vec<DVec2> =
        ring.iter().map(|p| DVec2::new((p - origin).dot(u), (p - origin).dot(v))).collect();
    let turn = |a: usize, b: usize, c: usize| (flat[b] - flat[a]).perp_dot(flat[c] - flat[a]);

    let mut previous: Vec<usize> = (0..n).map(|i| (i + n - 1) % n).collect();
    let mut next: Vec<usize> = (0..n).map(|i| (i + 1) % n).collect();
    let mut cap = Vec::with_capacity(n - 2);
    let mut left = n;
    let mut at = 0;
    let mut misses = 0;
    while left > 3 {
        let (a, c) = (previous[at], next[at]);
        let longest_sq = flat[a]
            .distance_squared(flat[at])
            .max(flat[at].distance_squared(flat[c]))
            .max(flat[c].distance_squared(flat[a]));
        // Convex, no other corner inside or on it, and a chord that is free.
        let is_ear = turn(a, at, c) > FLAT * longest_sq && !edges.contains(vertices[a], vertices[c]) && {
            let mut p = next[c];
            loop {
                if p == a {
                    break true;
                }
                if turn(a, at, p) >= 0.0 && turn(at, c, p) >= 0.0 && turn(c, a, p) >= 0.0 {
                    break false;
                }
                p = next[p];
            }
        };
        if is_ear {
            cap.push([a, at, c]);
            next[a] = c;
            previous[c] = a;
            left -= 1;
            misses = 0;
            // Skipping a corner keeps the ears from piling up into a fan of needles.
            at = next[c];
        } else {
            misses += 1;
            if misses > left {
                return None;
            }
            at = c;
        }
    }
    let (a, c) = (previous[at], next[at]);
    (turn(a, at, c) > 0.0).then_some(())?;
    cap.push([a, at, c]);
    Some(cap)
}
