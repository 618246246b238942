//! Spreading surface points through a brick: each node outside the band takes the nearest that the band's edge knows.
//!
//! Each node at the edge of the band hands its closest surface point on, along rows and from row to row; a node keeps the
//! nearest it is offered. That distance is never below the true one, and the exact corners of the cell bound how
//! far above it can be. Where triangles are larger than voxels, the distance to the point's whole triangle is taken.
//!
//! Based on: Danielsson, Euclidean distance mapping, 1980 [danielsson80] (vector propagation by sweeps).
//! Differs: seeds carry exact points of the mesh; rows of eight are relaxed at once; steps of 1, 2 and 4 along a row.

use super::brick::SIDE;
use super::scan::BRICK;
use crate::simd::{LANES, Lanes, dispatch};
use glam::Vec3;

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
/// A row of nine nodes, all set.
pub(crate) const FULL: u16 = (1 << SIDE) - 1;

/// The closed brick while it is filled: 9 rows of 9 nodes a plane, local coordinates.
pub(crate) struct Work {
    /// Nearest surface point known to each node.
    point: [[f32; WORK]; 3],
    /// Squared distance to it; −1 for nodes that must not change.
    best: [f32; WORK],
    /// The band node it came from, as its place in these arrays.
    pub(crate) source: [f32; WORK],
    /// Rows, one bit a node: in the band, or with a known side; and negative.
    pub(crate) known: [u16; SIDE * SIDE],
    pub(crate) negative: [u16; SIDE * SIDE],
    /// Rows that have a point, and rows that want one.
    filled: [bool; SIDE * SIDE],
    open: [bool; SIDE * SIDE],
}

/// Squared distances of eight nodes of which some, one bit each, must not change.
static FROZEN: [[f32; LANES]; 256] = {
    let mut table = [[f32::INFINITY; LANES]; 256];
    let mut n = 0;
    while n < 256 * LANES {
        if n / LANES >> (n % LANES) & 1 == 1 {
            table[n / LANES][n % LANES] = -1.0;
        }
        n += 1;
    }
    table
};

/// Place of node x y z in a work array.
#[inline(always)]
pub(crate) fn place(x: usize, y: usize, z: usize) -> usize {
    MARGIN + z * PLANE + y * ROW + x
}

/// The node at a place.
pub(crate) fn place_of(place: usize) -> [usize; 3] {
    let at = place.saturating_sub(MARGIN);
    [at % ROW, at % PLANE / ROW, at / PLANE]
}

impl Work {
    /// A brick of which nothing is known.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            point: [[NOWHERE; WORK]; 3],
            best: [f32::INFINITY; WORK],
            source: [-1.0; WORK],
            known: [0; SIDE * SIDE],
            negative: [0; SIDE * SIDE],
            filled: [false; SIDE * SIDE],
            open: [true; SIDE * SIDE],
        }
    }

    /// Known nodes stay as they are.
    pub(crate) fn freeze(&mut self) {
        for row in 0..SIDE * SIDE {
            let known = usize::from(self.known[row] & 0xFF);
            if let Some(lanes) = eight_mut(&mut self.best, place(0, row % SIDE, row / SIDE)) {
                *lanes = FROZEN[known];
            }
            self.open[row] = known != 0xFF;
        }
    }

    /// Node x y z has the closest point `q`, and may hand it on.
    pub(crate) fn seed(&mut self, x: usize, y: usize, z: usize, q: Vec3) {
        let at = place(x, y, z);
        (self.point[0][at], self.point[1][at], self.point[2][at]) = (q.x, q.y, q.z);
        self.source[at] = at as f32;
        self.filled[z * SIDE + y] = true;
    }

    /// Squared distances of the first eight nodes of a row; negative for frozen ones.
    #[inline(always)]
    pub(crate) fn best_of(&self, y: usize, z: usize) -> &[f32; LANES] {
        eight(&self.best, place(0, y, z))
    }
}

/// Nodes outside the band have the side of any neighbour: the surface is more than a voxel away from both.
pub(crate) fn spread_sides(work: &mut Work) {
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
    pub(crate) fn relax / relax_plain = relax_kernel(work: &mut Work)
}

/// Sweeps until every own node has a point.
#[inline(always)]
fn relax_kernel<L: Lanes>(work: &mut Work) {
    for round in 0..ROUNDS {
        for z in 0..BRICK {
            for y in 0..BRICK {
                if work.filled[z * SIDE + y] && work.open[z * SIDE + y] {
                    let at = place(0, y, z);
                    for step in [1, 2, 4] {
                        take::<L>(work, at, at - step, y, z);
                        take::<L>(work, at, at + step, y, z);
                    }
                }
            }
        }
        for z in 0..BRICK {
            for y in 1..BRICK {
                take_row::<L>(work, [y, z], [y - 1, z]);
            }
            for y in (0..BRICK).rev() {
                take_row::<L>(work, [y, z], [y + 1, z]);
            }
        }
        for y in 0..BRICK {
            for z in 1..BRICK {
                take_row::<L>(work, [y, z], [y, z - 1]);
            }
            for z in (0..BRICK).rev() {
                take_row::<L>(work, [y, z], [y, z + 1]);
            }
        }
        if round + 1 < ROUNDS && reached::<L>(work) {
            return;
        }
    }
}

/// Offers the points of row `from` (y, z) to row `to`.
#[inline(always)]
fn take_row<L: Lanes>(work: &mut Work, to: [usize; 2], from: [usize; 2]) {
    if work.filled[from[1] * SIDE + from[0]] && work.open[to[1] * SIDE + to[0]] {
        take::<L>(work, place(0, to[0], to[1]), place(0, from[0], from[1]), to[0], to[1]);
        work.filled[to[1] * SIDE + to[0]] = true;
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
