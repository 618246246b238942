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
        if (n / LANES) >> (n % LANES) & 1 == 1 {
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
    let (mut inside, mut outside) = (0, 0);
    for (known, negative) in work.known.iter().zip(&work.negative) {
        (inside, outside) = (inside | negative, outside | (known & !negative));
    }
    if inside == 0 || outside == 0 {
        // All on one side: most bricks beside the surface.
        work.negative = [if inside == 0 { 0 } else { FULL }; SIDE * SIDE];
        work.known = [FULL; SIDE * SIDE];
        return;
    }
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
    /// Sweeps until every own node has a point.
    pub(crate) fn relax / relax_plain = untracked(work: &mut Work)
}
dispatch! {
    /// The same, with the source of each point.
    pub(crate) fn relax_tracked / relax_tracked_plain = tracked(work: &mut Work)
}

#[inline(always)]
fn untracked<L: Lanes>(work: &mut Work) {
    relax_kernel::<L, false>(work);
}

#[inline(always)]
fn tracked<L: Lanes>(work: &mut Work) {
    relax_kernel::<L, true>(work);
}

#[inline(always)]
fn relax_kernel<L: Lanes, const TRACK: bool>(work: &mut Work) {
    for round in 0..ROUNDS {
        for z in 0..BRICK {
            for y in 0..BRICK {
                if work.filled[z * SIDE + y] && work.open[z * SIDE + y] {
                    along_row::<L, TRACK>(work, y, z);
                }
            }
        }
        for z in 0..BRICK {
            sweep::<L, TRACK>(work, true, z);
        }
        for y in 0..BRICK {
            sweep::<L, TRACK>(work, false, y);
        }
        if round + 1 < ROUNDS && reached::<L>(work) {
            return;
        }
    }
}

/// Eight nodes of a row: their points, squared distances and sources. Kept in registers from step to step.
#[derive(Clone, Copy)]
struct Row<L> {
    point: [L; 3],
    best: L,
    source: L,
}

impl<L: Lanes> Row<L> {
    #[inline(always)]
    fn load<const TRACK: bool>(work: &Work, y: usize, z: usize) -> Self {
        let at = place(0, y, z);
        let [x, y, z] = &work.point;
        Self {
            point: [L::load(eight(x, at)), L::load(eight(y, at)), L::load(eight(z, at))],
            best: L::load(eight(&work.best, at)),
            source: if TRACK { L::load(eight(&work.source, at)) } else { L::splat(-1.0) },
        }
    }

    #[inline(always)]
    fn store<const TRACK: bool>(self, work: &mut Work, y: usize, z: usize) {
        let at = place(0, y, z);
        put(&mut work.point[0], at, self.point[0]);
        put(&mut work.point[1], at, self.point[1]);
        put(&mut work.point[2], at, self.point[2]);
        put(&mut work.best, at, self.best);
        if TRACK {
            put(&mut work.source, at, self.source);
        }
    }

    /// Takes the points offered, lane by lane, where they are nearer to the nodes of row y z.
    #[inline(always)]
    fn take<const TRACK: bool>(&mut self, point: [L; 3], source: L, y: usize, z: usize) {
        const X: [f32; LANES] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let dx = point[0].sub(L::load(&X));
        let dy = point[1].sub(L::splat(y as f32));
        let dz = point[2].sub(L::splat(z as f32));
        let d = dx.mul(dx).add(dy.mul(dy)).add(dz.mul(dz));
        let better = d.lt(self.best);
        self.best = L::select(better, d, self.best);
        self.point[0] = L::select(better, point[0], self.point[0]);
        self.point[1] = L::select(better, point[1], self.point[1]);
        self.point[2] = L::select(better, point[2], self.point[2]);
        if TRACK {
            self.source = L::select(better, source, self.source);
        }
    }

    /// Takes the points of the row itself, moved up by N lanes, then down.
    #[inline(always)]
    fn take_moved<const TRACK: bool, const N: usize>(&mut self, y: usize, z: usize) {
        let none = L::splat(NOWHERE);
        let [px, py, pz] = self.point;
        let source = self.source.up::<N>(none);
        self.take::<TRACK>([px.up::<N>(none), py.up::<N>(none), pz.up::<N>(none)], source, y, z);
        let [px, py, pz] = self.point;
        let source = self.source.down::<N>(none);
        self.take::<TRACK>([px.down::<N>(none), py.down::<N>(none), pz.down::<N>(none)], source, y, z);
    }
}

/// Hands points along a row, in steps of 1, 2 and 4; its ninth node hands on to all.
#[inline(always)]
fn along_row<L: Lanes, const TRACK: bool>(work: &mut Work, y: usize, z: usize) {
    let mut row = Row::<L>::load::<TRACK>(work, y, z);
    let last = place(BRICK, y, z);
    if work.point[0][last] < NOWHERE {
        let point =
            [L::splat(work.point[0][last]), L::splat(work.point[1][last]), L::splat(work.point[2][last])];
        row.take::<TRACK>(point, L::splat(work.source[last]), y, z);
    }
    row.take_moved::<TRACK, 1>(y, z);
    row.take_moved::<TRACK, 2>(y, z);
    row.take_moved::<TRACK, 4>(y, z);
    row.store::<TRACK>(work, y, z);
}

/// Hands points from row to row, up to the last own one and back from the ninth, along y (then `at` is z) or along z.
#[inline(always)]
fn sweep<L: Lanes, const TRACK: bool>(work: &mut Work, along_y: bool, at: usize) {
    let mut before: Option<Row<L>> = None;
    for i in 0..BRICK {
        before = step::<L, TRACK>(work, before, if along_y { [i, at] } else { [at, i] });
    }
    before = None;
    for i in 0..SIDE {
        let i = BRICK - i;
        before = step::<L, TRACK>(work, before, if along_y { [i, at] } else { [at, i] });
    }
}

/// Offers row y z the points of the row before it; what it can hand on itself.
#[inline(always)]
fn step<L: Lanes, const TRACK: bool>(
    work: &mut Work,
    before: Option<Row<L>>,
    [y, z]: [usize; 2],
) -> Option<Row<L>> {
    let at = z * SIDE + y;
    let mut here = Row::<L>::load::<TRACK>(work, y, z);
    if let Some(before) = before
        && work.open[at]
    {
        here.take::<TRACK>(before.point, before.source, y, z);
        here.store::<TRACK>(work, y, z);
        work.filled[at] = true;
    }
    if work.filled[at] { Some(here) } else { None }
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

#[inline(always)]
fn put<L: Lanes>(v: &mut [f32; WORK], at: usize, new: L) {
    if let Some(lanes) = eight_mut(v, at) {
        new.store(lanes);
    }
}
