//! Makes the triangles of each part face the same way, and outward.
//!
//! A patch is what is connected through edges with two faces. Inside a patch the majority decides. A patch that encloses a
//! volume is then turned as a whole if that volume is negative, with two exceptions: open patches are turned only all
//! together, and what lies inside another part keeps its
//! orientation relative to the outermost part around it, because a cavity faces inward.

use super::hole_trace::trace;
use super::topology::Topology;
use super::winding::winding_number_exact;
use crate::math::Aabb;
use crate::par;
use glam::DVec3;

/// A volume below this share of area^(3/2) has no sign worth acting on [1]. A sphere has 0.09, a plate of 1 m² and 1 mm 3e-4;
/// rounding stays below 1e-12.
const LEAST_VOLUME: f64 = 1e-9;

/// An open patch is a sheet, and keeps the orientation of its file, when one hole is larger than this share of its area [1].
/// The same as the default of [`super::CapParams::sheet_ratio`], for the same reason.
const SHEET_RATIO: f64 = 0.6;

/// Most triangles that are asked for a winding number while looking for cavities (some seconds). Beyond, parts count as not
/// inside any other.
const NESTING_BUDGET: usize = 200_000_000;

/// Turns triangles until each patch is consistent and outward; the number that were turned. Updates `topology`.
///
/// A patch that cannot be consistent (a Möbius strip) keeps some edges that do not match.
pub(super) fn orient(positions: &[DVec3], triangles: &mut [[u32; 3]], topology: &mut Topology) -> usize {
    let (patch, count, mut turn) = patches(triangles.len(), topology);
    let mut turned = turn.iter().filter(|t| **t).count();
    apply(triangles, &turn);
    if turned > 0 {
        *topology = Topology::build(triangles, positions.len());
    }

    let outward = inside_out(positions, triangles, topology, &patch, count);
    if let Some(is_inside_out) = outward {
        // A triangle turned twice is as it was.
        for (t, first) in turn.iter_mut().enumerate() {
            let second = is_inside_out[patch[t] as usize];
            turned = if *first && second { turned - 1 } else { turned + usize::from(second) };
            *first = second;
        }
        apply(triangles, &turn);
        topology.mirror(&turn);
    }
    turned
}

/// Swaps two corners of each triangle with its flag set.
fn apply(triangles: &mut [[u32; 3]], turn: &[bool]) {
    for (tri, &turn) in triangles.iter_mut().zip(turn) {
        if turn {
            tri.swap(1, 2);
        }
    }
}

/// The patch of each triangle, the number of patches, and which triangles face against the majority of their patch.
fn patches(count: usize, topology: &Topology) -> (Vec<u32>, usize, Vec<bool>) {
    if topology.clashes().is_empty() && topology.nonmanifold_edges() == 0 {
        let (patch, patches) = topology.components();
        return (patch, patches, vec![false; count]);
    }
    let mut sets = ParitySets((0..count as u32).map(|t| t << 1).collect());
    for (t, across) in topology.neighbours.iter().enumerate() {
        for &n in across {
            if (n as usize) < t {
                sets.join(t as u32, n, 0);
            }
        }
    }
    for &[a, b] in topology.clashes() {
        sets.join(a, b, 1);
    }
    // Roots are the smallest of their sets, so they are numbered first.
    let mut patch = vec![0; count];
    let mut turn = vec![false; count];
    let mut votes: Vec<[usize; 2]> = Vec::new();
    for t in 0..count {
        let (root, parity) = sets.find(t as u32);
        patch[t] = if root as usize == t {
            votes.push([0; 2]);
            votes.len() as u32 - 1
        } else {
            patch[root as usize]
        };
        turn[t] = parity == 1;
        votes[patch[t] as usize][parity as usize] += 1;
    }
    for (turn, &p) in turn.iter_mut().zip(&patch) {
        let [with, against] = votes[p as usize];
        *turn ^= against > with;
    }
    (patch, votes.len(), turn)
}

/// Union-find that also knows whether an element faces against its root: parent << 1 | parity.
struct ParitySets(Vec<u32>);

impl ParitySets {
    fn find(&mut self, mut a: u32) -> (u32, u32) {
        let mut parity = 0;
        loop {
            let up = self.0[a as usize];
            if up >> 1 == a {
                return (a, parity);
            }
            // Path halving: point to the grandparent.
            let top = self.0[(up >> 1) as usize];
            let skip = top ^ (up & 1);
            self.0[a as usize] = skip;
            parity ^= skip & 1;
            a = skip >> 1;
        }
    }

    /// `parity` 1: the two face against each other. A contradiction is ignored.
    fn join(&mut self, a: u32, b: u32, parity: u32) {
        let ((ra, pa), (rb, pb)) = (self.find(a), self.find(b));
        if ra != rb {
            self.0[ra.max(rb) as usize] = ra.min(rb) << 1 | (pa ^ pb ^ parity);
        }
    }
}

/// What is known of a patch.
#[derive(Clone)]
struct Patch {
    /// A corner of it; volumes are taken about it, so that small parts far away keep their digits.
    origin: DVec3,
    /// The middle of its first triangle.
    inner: DVec3,
    volume: f64,
    area: f64,
    aabb: Aabb,
    is_solid: bool,
    is_open: bool,
}

/// Which patches must be turned; `None` if none.
fn inside_out(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    topology: &Topology,
    patch: &[u32],
    count: usize,
) -> Option<Vec<bool>> {
    let patches = measure(positions, triangles, topology, patch, count);
    let is_negative = |p: &Patch| p.is_solid && p.volume < -LEAST_VOLUME * p.area * p.area.sqrt();
    if !patches.iter().any(is_negative) {
        return None;
    }
    let outermost = outermost(positions, triangles, patch, &patches, is_negative);
    let is_inside_out: Vec<bool> = outermost.iter().map(|&o| is_negative(&patches[o as usize])).collect();
    is_inside_out.contains(&true).then_some(is_inside_out)
}

/// Volume and box of each patch, its holes closed by fans.
fn measure(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    topology: &Topology,
    patch: &[u32],
    count: usize,
) -> Vec<Patch> {
    let empty = Patch {
        origin: DVec3::NAN,
        inner: DVec3::ZERO,
        volume: 0.0,
        area: 0.0,
        aabb: Aabb::EMPTY,
        is_solid: true,
        is_open: false,
    };
    let mut patches = vec![empty; count];
    let mut rim: Vec<(u32, [u32; 2], i32)> = Vec::new();
    for (t, tri) in triangles.iter().enumerate() {
        let p = &mut patches[patch[t] as usize];
        let [a, b, c] = tri.map(|v| positions[v as usize]);
        if p.origin.is_nan() {
            (p.origin, p.inner) = (a, (a + b + c) / 3.0);
        }
        let normal = (b - a).cross(c - a);
        p.volume += (a - p.origin).dot(normal) / 6.0;
        p.area += 0.5 * normal.length();
        p.aabb = p.aabb.grow(a).grow(b).grow(c);
        for e in 0..3 {
            if topology.neighbours[t][e] == Topology::NONMANIFOLD {
                let (a, b) = (tri[e], tri[(e + 1) % 3]);
                rim.push((patch[t], [a.min(b), a.max(b)], if a < b { 1 } else { -1 }));
            }
        }
    }

    // A patch ends at a non-manifold edge unless its own faces there cancel.
    rim.sort_unstable();
    for edge in rim.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        if edge.iter().map(|e| e.2).sum::<i32>() != 0 {
            patches[edge[0].0 as usize].is_solid = false;
        }
    }
    if topology.boundary_edges() > 0 {
        let mut largest = vec![0.0_f64; count];
        for hole in trace(triangles, topology) {
            let index = patch[hole.triangle as usize] as usize;
            let p = &mut patches[index];
            let ring = || hole.vertices.iter().map(|&v| positions[v as usize] - p.origin);
            let middle = ring().sum::<DVec3>() / hole.vertices.len() as f64;
            let mut area = 0.0;
            let mut volume = 0.0;
            for (a, b) in ring().zip(ring().cycle().skip(1)) {
                area += 0.5 * (a - middle).cross(b - middle).length();
                volume += a.cross(b).dot(middle) / 6.0;
            }
            p.volume += volume;
            p.is_solid &= hole.closed;
            p.is_open = true;
            largest[index] = largest[index].max(area);
        }
        for (p, largest) in patches.iter_mut().zip(largest) {
            p.is_solid &= largest <= SHEET_RATIO * p.area;
        }
        // An open part may be a piece of a larger surface, where its own volume says nothing: the bore of a nut, say, whose
        // outside is another part. Only when none has a positive volume is the whole file inside out.
        let is_outward = |p: &Patch| p.is_open && p.is_solid && p.volume > 0.0;
        if patches.iter().any(is_outward) {
            patches.iter_mut().filter(|p| p.is_open).for_each(|p| p.is_solid = false);
        }
    }
    patches
}

/// For each patch the outermost solid patch around it, or itself.
fn outermost(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    patch: &[u32],
    patches: &[Patch],
    is_negative: impl Fn(&Patch) -> bool,
) -> Vec<u32> {
    let mut result: Vec<u32> = (0..patches.len() as u32).collect();
    let mut order: Vec<u32> = result.iter().copied().filter(|&p| patches[p as usize].is_solid).collect();
    order.sort_by(|&a, &b| patches[b as usize].volume.abs().total_cmp(&patches[a as usize].volume.abs()));
    if order.len() < 2 {
        return result;
    }

    // Triangles of each patch.
    let mut start = vec![0_usize; patches.len() + 1];
    patch.iter().for_each(|&p| start[p as usize + 1] += 1);
    (0..patches.len()).for_each(|p| start[p + 1] += start[p]);
    let mut next = start.clone();
    let mut sorted = vec![[0; 3]; triangles.len()];
    for (tri, &p) in triangles.iter().zip(patch) {
        sorted[next[p as usize]] = *tri;
        next[p as usize] += 1;
    }

    // Candidates have a larger volume and a box around the patch's box. A patch of positive volume keeps its sign
    // unless something negative is around it.
    let mut budget = NESTING_BUDGET;
    let mut asks: Vec<(u32, Vec<u32>)> = Vec::new();
    for (rank, &i) in order.iter().enumerate() {
        let inner = &patches[i as usize];
        let around: Vec<u32> = order[..rank]
            .iter()
            .copied()
            .filter(|&j| {
                let outer = patches[j as usize].aabb;
                outer.contains(inner.aabb.min) && outer.contains(inner.aabb.max)
            })
            .collect();
        if around.is_empty()
            || !is_negative(inner) && !around.iter().any(|&j| is_negative(&patches[j as usize]))
        {
            continue;
        }
        let cost: usize = around.iter().map(|&j| start[j as usize + 1] - start[j as usize]).sum();
        if cost > budget {
            break;
        }
        budget -= cost;
        asks.push((i, around));
    }
    // The largest that goes around a point of the patch has nothing larger around itself.
    let found = par::map(asks.len(), |k| {
        let (i, around) = &asks[k];
        around.iter().copied().find(|&j| {
            let own = &sorted[start[j as usize]..start[j as usize + 1]];
            winding_number_exact(positions, own, patches[*i as usize].inner).abs() > 0.5
        })
    });
    for ((i, _), outer) in asks.iter().zip(found) {
        result[*i as usize] = outer.unwrap_or(*i);
    }
    result
}
