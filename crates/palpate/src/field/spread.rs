//! Nodes of a brick outside the exact band: the nearest of the surface points that the band's edge knows.
//!
//! Each node at the edge of the band hands its closest surface point on, along rows and from row to row; a node keeps the
//! nearest it is offered. That distance is never below the true one, and the exact corners of the cell bound how
//! far above it can be. Where triangles are larger than voxels, the distance to the point's whole triangle is taken.
//!
//! Based on: Danielsson, Euclidean distance mapping, 1980 [danielsson80] (vector propagation by sweeps).
//! Differs: seeds carry exact points of the mesh; rows of eight are relaxed at once; steps of 1, 2 and 4 along a row.

use super::brick::{Band, Refined, SIDE, corners_of};
use super::lattice::Lattice;
use super::scan::{BRICK, EMPTY, NONE, OWNED, on_face, unpack};
use super::surface::{Surface, closest_point};
use crate::par;
use crate::progress::Progress;
use crate::simd::{LANES, Lanes, dispatch};
use glam::{DVec3, Vec3};

/// Distance between rows in the work arrays; the lanes after the ninth node are never read as sources.
const ROW: usize = 16;
/// Distance between planes.
const PLANE: usize = ROW * SIDE;
/// Free space before and after, so that loads shifted by a step stay inside.
const MARGIN: usize = 16;
/// Size of a work array.
const WORK: usize = PLANE * SIDE + 2 * MARGIN;
/// Coordinate of a point that was not found yet: far, but its square is finite.
const NOWHERE: f32 = 1e15;
/// Most rounds of sweeps: one reaches nearly every node, further ones those around corners.
const ROUNDS: usize = 4;
/// Mean edge above which whole triangles are measured instead of points [voxels]. Below it, a triangle is hardly larger
/// than the error of the point.
const COARSE_EDGE: f64 = 6.0;

/// A brick's own 8³ nodes, all filled.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    /// Signed distances [voxels].
    pub(crate) distance: [f32; OWNED],
    /// Closest triangles, near ones outside the band; empty if not kept.
    pub(crate) triangle: Vec<u32>,
    /// Largest possible excess of a distance outside the band over the true one [voxels].
    pub(crate) excess: f32,
    /// The side all own nodes are on, if it is one.
    pub(crate) side: Side,
}

/// Sides of a brick's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Inside,
    Outside,
    Both,
}

impl Side {
    pub(crate) fn of(distance: &[f32; OWNED]) -> Self {
        match distance.iter().filter(|d| **d < 0.0).count() {
            0 => Self::Outside,
            OWNED => Self::Inside,
            _ => Self::Both,
        }
    }
}

/// What all bricks share.
struct Shared<'a> {
    surface: &'a Surface,
    half_width: f32,
    /// Distance of each own node to each corner of its cell [voxels].
    reach: Vec<[f32; OWNED]>,
    /// Measure whole triangles.
    coarse: bool,
    keep_triangles: bool,
}

/// Fills the own nodes of every refined brick.
#[expect(clippy::too_many_arguments, reason = "a step between two stages")]
pub(crate) fn fill(
    band: &Band,
    refined: &Refined,
    surface: &Surface,
    corners: &[f32],
    lattice: &Lattice,
    half_width: f32,
    keep_triangles: bool,
    progress: &dyn Progress,
) -> Vec<Filled> {
    progress.stage("bricks", refined.cells.len() as u64);
    let coarse = mean_edge(surface) > COARSE_EDGE;
    let shared = Shared { surface, half_width, reach: reach(), coarse, keep_triangles };
    par::map(refined.cells.len(), |b| {
        let cell = refined.cells[b].map(|v| v as usize);
        let out = fill_one(band, cell, &corners_of(corners, lattice, cell), &shared);
        progress.advance(1);
        out
    })
}

/// Mean edge of up to a few thousand triangles, evenly taken [voxels].
fn mean_edge(surface: &Surface) -> f64 {
    let step = surface.triangles.len().div_ceil(4096).max(1);
    let (mut sum, mut count) = (0.0, 0usize);
    for t in (0..surface.triangles.len()).step_by(step) {
        let [a, b, c] = surface.corners_of(t);
        sum += (b - a).length() + (c - b).length() + (a - c).length();
        count += 3;
    }
    sum / count.max(1) as f64
}

fn reach() -> Vec<[f32; OWNED]> {
    (0..8usize)
        .map(|o| {
            core::array::from_fn(|at| {
                let gap = |i: usize| {
                    let c = at >> (3 * i) & 7;
                    (if o >> i & 1 == 0 { c } else { BRICK - c }) as f32
                };
                (gap(0) * gap(0) + gap(1) * gap(1) + gap(2) * gap(2)).sqrt()
            })
        })
        .collect()
}

/// The closed brick while it is filled: 9 rows of 9 nodes a plane, local coordinates.
struct Work {
    /// Nearest surface point known to each node.
    point: [[f32; WORK]; 3],
    /// Squared distance to it; −1 for nodes that must not change.
    best: [f32; WORK],
    /// The band node it came from, as its place in these arrays.
    source: [f32; WORK],
    /// Rows, one bit a node: in the band, or with a known side; and negative.
    known: [u16; SIDE * SIDE],
    negative: [u16; SIDE * SIDE],
}

/// Place of node x y z in a work array.
#[inline(always)]
fn place(x: usize, y: usize, z: usize) -> usize {
    MARGIN + z * PLANE + y * ROW + x
}

#[inline(never)]
fn fill_one(band: &Band, cell: [usize; 3], corners: &[f32; 8], shared: &Shared<'_>) -> Filled {
    // The closed brick: own nodes, and from the upper neighbours the nodes on the shared faces, as seeds.
    let mut nodes = [EMPTY; SIDE * SIDE * SIDE];
    for o in 0..8usize {
        let o = [o & 1, o >> 1 & 1, o >> 2];
        let Some(from) = band.owned([cell[0] + o[0], cell[1] + o[1], cell[2] + o[2]]) else { continue };
        let n = if o[0] == 0 { BRICK } else { 1 };
        for z in 0..if o[2] == 0 { BRICK } else { 1 } {
            for y in 0..if o[1] == 0 { BRICK } else { 1 } {
                let to = ((z + BRICK * o[2]) * SIDE + y + BRICK * o[1]) * SIDE + BRICK * o[0];
                let at = (z * BRICK + y) * BRICK;
                nodes[to..to + n].copy_from_slice(&from[at..at + n]);
            }
        }
    }
    let mut out = Filled { distance: [0.0; OWNED], triangle: Vec::new(), excess: 0.0, side: Side::Both };
    if shared.keep_triangles {
        out.triangle = vec![NONE; OWNED];
    }
    let mut all_known = true;
    for z in 0..BRICK {
        for y in 0..BRICK {
            for x in 0..BRICK {
                let (d, t) = unpack(nodes[(z * SIDE + y) * SIDE + x]);
                let at = (z * BRICK + y) * BRICK + x;
                out.distance[at] = d;
                all_known &= t != NONE;
                if let Some(to) = out.triangle.get_mut(at) {
                    *to = t;
                }
            }
        }
    }
    if !all_known {
        let origin = DVec3::from_array(cell.map(|c| (c * BRICK) as f64));
        spread(&nodes, origin, corners, shared, &mut out);
    }
    out.side = Side::of(&out.distance);
    out
}

/// Fills the nodes outside the band.
fn spread(
    nodes: &[u64; SIDE * SIDE * SIDE],
    origin: DVec3,
    corners: &[f32; 8],
    shared: &Shared<'_>,
    out: &mut Filled,
) {
    let mut work = Work {
        point: [[NOWHERE; WORK]; 3],
        best: [f32::INFINITY; WORK],
        source: [-1.0; WORK],
        known: [0; SIDE * SIDE],
        negative: [0; SIDE * SIDE],
    };
    for row in 0..SIDE * SIDE {
        for x in 0..SIDE {
            let node = nodes[row * SIDE + x];
            work.known[row] |= u16::from(node != EMPTY) << x;
            work.negative[row] |= u16::from(node != EMPTY && node & 1 == 1) << x;
        }
    }
    seed(nodes, origin, shared, &mut work);
    spread_sides(&mut work);
    relax(&mut work);
    write(&work, &mut out.distance);
    if shared.coarse || shared.keep_triangles {
        refine(nodes, origin, shared, &work, out);
    }
    out.excess = bound(&mut out.distance, corners, &shared.reach, shared.half_width);
}

/// Looks up the triangle of each point, and measures it whole where triangles are large.
fn refine(
    nodes: &[u64; SIDE * SIDE * SIDE],
    origin: DVec3,
    shared: &Shared<'_>,
    work: &Work,
    out: &mut Filled,
) {
    for to in 0..OWNED {
        let (x, y, z) = (to & 7, to >> 3 & 7, to >> 6);
        let source = work.source[place(x, y, z)];
        if nodes[(z * SIDE + y) * SIDE + x] != EMPTY || source < 0.0 {
            continue;
        }
        let s = source as usize - MARGIN;
        let (_, t) = unpack(nodes[(s / PLANE * SIDE + s % PLANE / ROW) * SIDE + s % ROW]);
        if shared.coarse {
            let p = origin + DVec3::new(x as f64, y as f64, z as f64);
            let q = closest_point(shared.surface.corners_of(t as usize), p).0;
            let d = out.distance[to];
            out.distance[to] = d.abs().min((q - p).length() as f32).copysign(d);
        }
        if let Some(to) = out.triangle.get_mut(to) {
            *to = t;
        }
    }
}

/// Gives the band's edge its closest points, and freezes the band.
fn seed(nodes: &[u64; SIDE * SIDE * SIDE], origin: DVec3, shared: &Shared<'_>, work: &mut Work) {
    const FULL: u16 = (1 << SIDE) - 1;
    for z in 0..SIDE {
        for y in 0..SIDE {
            let row = z * SIDE + y;
            let known = work.known[row];
            // Rows around; outside the brick everything counts as known.
            let beside = |inside: bool, row: usize| if inside { work.known[row] } else { FULL };
            let around = beside(y > 0, row.wrapping_sub(1))
                & beside(y < BRICK, row + 1)
                & beside(z > 0, row.wrapping_sub(SIDE))
                & beside(z < BRICK, row + SIDE)
                & (known << 1 | 1)
                & (known >> 1 | 1 << BRICK);
            let mut edge = known & !around & FULL;
            for x in 0..SIDE {
                if known >> x & 1 == 1 {
                    work.best[place(x, y, z)] = -1.0;
                }
            }
            while edge != 0 {
                let x = edge.trailing_zeros() as usize;
                edge &= edge - 1;
                let node = nodes[row * SIDE + x];
                let (d, t) = unpack(node);
                let local = Vec3::new(x as f32, y as f32, z as f32);
                // Over a face the way to it is its normal; else the triangle must be asked.
                let q = if on_face(node) {
                    local - d * shared.surface.normals[t as usize].as_vec3()
                } else {
                    let p = origin + local.as_dvec3();
                    (closest_point(shared.surface.corners_of(t as usize), p).0 - origin).as_vec3()
                };
                let at = place(x, y, z);
                (work.point[0][at], work.point[1][at], work.point[2][at]) = (q.x, q.y, q.z);
                work.source[at] = at as f32;
            }
        }
    }
}

/// Nodes outside the band have the side of any neighbour: the surface is more than a voxel away from both.
fn spread_sides(work: &mut Work) {
    const FULL: u16 = (1 << SIDE) - 1;
    for _ in 0..2 * SIDE {
        let mut complete = true;
        let pass = |work: &mut Work, row: usize, others: [Option<usize>; 2]| {
            for other in others.into_iter().flatten() {
                let new = work.known[other] & !work.known[row];
                work.negative[row] |= work.negative[other] & new;
                work.known[row] |= new;
            }
            while work.known[row] != 0 && work.known[row] != FULL {
                let (k, n) = (work.known[row], work.negative[row]);
                let up = (k << 1) & !k & FULL;
                work.negative[row] |= (n << 1) & up;
                work.known[row] |= up;
                let (k, n) = (work.known[row], work.negative[row]);
                let down = (k >> 1) & !k;
                work.negative[row] |= (n >> 1) & down;
                work.known[row] |= down;
            }
        };
        for row in 0..SIDE * SIDE {
            let others = [(row % SIDE > 0).then(|| row - 1), (row >= SIDE).then(|| row - SIDE)];
            pass(work, row, others);
        }
        for row in (0..SIDE * SIDE).rev() {
            let others =
                [(row % SIDE < BRICK).then_some(row + 1), (row / SIDE < BRICK).then_some(row + SIDE)];
            pass(work, row, others);
            complete &= work.known[row] == FULL;
        }
        if complete {
            return;
        }
    }
}

dispatch! {
    fn relax / relax_plain = relax_kernel(work: &mut Work)
}

/// Sweeps until every own node has a point.
#[inline(always)]
fn relax_kernel<L: Lanes>(work: &mut Work) {
    for round in 0..ROUNDS {
        for z in 0..BRICK {
            for y in 0..BRICK {
                let at = place(0, y, z);
                for step in [1, 2, 4] {
                    take::<L>(work, at, at - step, y, z);
                    take::<L>(work, at, at + step, y, z);
                }
            }
        }
        for z in 0..BRICK {
            for y in 1..BRICK {
                take::<L>(work, place(0, y, z), place(0, y - 1, z), y, z);
            }
            for y in (0..BRICK).rev() {
                take::<L>(work, place(0, y, z), place(0, y + 1, z), y, z);
            }
        }
        for y in 0..BRICK {
            for z in 1..BRICK {
                take::<L>(work, place(0, y, z), place(0, y, z - 1), y, z);
            }
            for z in (0..BRICK).rev() {
                take::<L>(work, place(0, y, z), place(0, y, z + 1), y, z);
            }
        }
        if round + 1 < ROUNDS && reached::<L>(work) {
            return;
        }
    }
}

/// Whether every own node has a point.
#[inline(always)]
fn reached<L: Lanes>(work: &Work) -> bool {
    let limit = L::splat(NOWHERE);
    let mut all = 0xFF;
    for z in 0..BRICK {
        for y in 0..BRICK {
            all &= L::bits(L::load(eight(&work.best, place(0, y, z))).lt(limit));
        }
    }
    all == 0xFF
}

#[inline(always)]
fn eight(v: &[f32; WORK], at: usize) -> &[f32; LANES] {
    v[at..].first_chunk().unwrap_or(&[0.0; LANES])
}

#[inline(always)]
fn eight_mut(v: &mut [f32; WORK], at: usize) -> Option<&mut [f32; LANES]> {
    v[at..].first_chunk_mut()
}

/// Offers the points known at `from` to the eight nodes at `to`, which is the row y z.
#[inline(always)]
fn take<L: Lanes>(work: &mut Work, to: usize, from: usize, y: usize, z: usize) {
    const X: [f32; LANES] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let px = L::load(eight(&work.point[0], from));
    let py = L::load(eight(&work.point[1], from));
    let pz = L::load(eight(&work.point[2], from));
    let dx = px.sub(L::load(&X));
    let dy = py.sub(L::splat(y as f32));
    let dz = pz.sub(L::splat(z as f32));
    let d = dx.mul(dx).add(dy.mul(dy)).add(dz.mul(dz));
    let best = L::load(eight(&work.best, to));
    let better = d.lt(best);
    if L::bits(better) == 0 {
        return;
    }
    let source = L::load(eight(&work.source, from));
    keep::<L>(&mut work.best, to, better, d);
    keep::<L>(&mut work.point[0], to, better, px);
    keep::<L>(&mut work.point[1], to, better, py);
    keep::<L>(&mut work.point[2], to, better, pz);
    keep::<L>(&mut work.source, to, better, source);
}

#[inline(always)]
fn keep<L: Lanes>(v: &mut [f32; WORK], at: usize, better: L::Mask, new: L) {
    if let Some(lanes) = eight_mut(v, at) {
        L::select(better, new, L::load(lanes)).store(lanes);
    }
}

dispatch! {
    fn write / write_plain = write_kernel(work: &Work, distance: &mut [f32; OWNED])
}

/// Writes the distances of nodes outside the band, with their sides.
#[inline(always)]
fn write_kernel<L: Lanes>(work: &Work, distance: &mut [f32; OWNED]) {
    let zero = L::splat(0.0);
    for (row, lanes) in distance.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let (y, z) = (row & 7, row >> 3);
        let best = L::load(eight(&work.best, place(0, y, z)));
        let negative = work.negative[z * SIDE + y];
        let mut side = [1.0f32; LANES];
        for (x, s) in side.iter_mut().enumerate() {
            *s = if negative >> x & 1 == 1 { -1.0 } else { 1.0 };
        }
        let d = best.sqrt().mul(L::load(&side));
        L::select(best.lt(zero), L::load(lanes), d).store(lanes);
    }
}

dispatch! {
    fn bound / bound_plain =
        bound_kernel(distance: &mut [f32; OWNED], corners: &[f32; 8], reach: &[[f32; OWNED]], half_width: f32) -> f32
}

/// Lowers distances outside the band to what the exact corners allow; returns the largest possible excess.
#[inline(always)]
fn bound_kernel<L: Lanes>(
    distance: &mut [f32; OWNED],
    corners: &[f32; 8],
    reach: &[[f32; OWNED]],
    half_width: f32,
) -> f32 {
    let zero = L::splat(0.0);
    let limit = L::splat(half_width);
    let mut excess = zero;
    for (row, lanes) in distance.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let d = L::load(lanes);
        let size = d.abs();
        let (mut low, mut high) = (limit, L::splat(f32::INFINITY));
        for (c, reach) in corners.iter().zip(reach) {
            let r = L::load(reach[row * LANES..].first_chunk().unwrap_or(&[0.0; LANES]));
            let c = L::splat(c.abs());
            low = low.max(c.sub(r));
            high = high.min(c.add(r));
        }
        // Band nodes are exact: neither lowered nor counted.
        let outside = limit.lt(size);
        let lowered = L::select(outside, size.min(high), size);
        excess = excess.max(L::select(outside, lowered.sub(low), zero));
        L::select(d.lt(zero), zero.sub(lowered), lowered).store(lanes);
    }
    let mut lanes = [0.0; LANES];
    excess.store(&mut lanes);
    lanes.into_iter().fold(0.0, f32::max)
}
