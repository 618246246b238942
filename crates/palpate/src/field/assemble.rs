//! Fitting bricks together: each gets its upper faces from the neighbours that own them.
//!
//! Nodes on a face shared with a cell that is not refined take the background's interpolated value, so the field has no
//! jump there.

use super::brick::{NODES, Refined, SIDE, corners_of, own};
use super::lattice::Lattice;
use super::scan::{BRICK, NONE};
use crate::par;

/// Brick layers that are fitted by one thread, from the lowest brick up: a brick only reads from later ones.
const GROUP: usize = 4;

/// Distance between nodes, of which a cell has [`BRICK`] along its edge.
const STEP: f32 = 1.0 / BRICK as f32;

/// What nodes take that no brick owns, or that the background decides.
pub(crate) trait Rest<T>: Sync {
    /// What the background knows of a cell.
    type Cell;
    /// Looks up a cell.
    fn cell(&self, cell: [usize; 3]) -> Self::Cell;
    /// What the background knows of row y z of a cell.
    type Row;
    /// Looks up a row.
    fn row(&self, cell: &Self::Cell, y: usize, z: usize) -> Self::Row;
    /// The background's value at node `x` of a row.
    fn background(&self, row: &Self::Row, x: usize) -> T;
    /// The value of grid node `n`, on the upper border of the grid, if it is known.
    fn border(&self, n: [usize; 3]) -> Option<T>;
}

/// Completes every brick of `values`, [`NODES`] each, whose own nodes are set; `done` is called with each when complete.
pub(crate) fn assemble<T: Copy + Send + Sync>(
    values: &mut [T],
    refined: &Refined,
    rest: &impl Rest<T>,
    done: impl Fn(&mut [T]) + Sync + Send,
) {
    let layers = refined.cells.last().map_or(0, |c| c[2] as usize + 1);
    let firsts: Vec<usize> =
        (0..=layers.div_ceil(GROUP)).map(|g| refined.first_of_layer(g * GROUP)).collect();
    // The lowest nodes of the layer above each group, which another thread changes.
    let above: Vec<Vec<T>> = par::map(firsts.len() - 1, |g| {
        let range = firsts[g + 1]..refined.first_of_layer((g + 1) * GROUP + 1);
        range
            .flat_map(|b| (0..BRICK * BRICK).map(move |at| b * NODES + own(at)))
            .map(|at| values[at])
            .collect()
    });
    let mut parts = Vec::with_capacity(above.len());
    let mut tail = values;
    for g in 0..above.len() {
        let (part, after) = tail.split_at_mut((firsts[g + 1] - firsts[g]) * NODES);
        parts.push(part);
        tail = after;
    }
    par::chunks_mut(&mut parts, 1, |g, part| {
        let part = &mut *part[0];
        for i in 0..part.len() / NODES {
            let (brick, later) = part[i * NODES..].split_at_mut(NODES);
            let owner = |owner: usize| {
                if owner < firsts[g + 1] {
                    Owned {
                        nodes: &later[(owner - firsts[g] - i - 1) * NODES..],
                        row: SIDE,
                        plane: SIDE * SIDE,
                    }
                } else {
                    let nodes = &above[g][(owner - firsts[g + 1]) * BRICK * BRICK..];
                    Owned { nodes, row: BRICK, plane: 0 }
                }
            };
            complete(brick, refined, firsts[g] + i, owner, rest);
            done(brick);
        }
    });
}

/// Own nodes of a later brick, or its lowest ones alone.
struct Owned<'a, T> {
    nodes: &'a [T],
    /// Steps between rows and between planes.
    row: usize,
    plane: usize,
}

/// Sets the nodes of brick `b` that it does not own, and those the background decides. `owner` finds a later brick.
fn complete<'a, T: Copy + 'a>(
    brick: &mut [T],
    refined: &Refined,
    b: usize,
    owner: impl Fn(usize) -> Owned<'a, T>,
    rest: &impl Rest<T>,
) {
    let cell = refined.cells[b].map(i64::from);
    let place = [cell[0] as usize, cell[1] as usize, cell[2] as usize];
    let known = rest.cell(place);
    let (mut around, mut open) = ([NONE; 27], [false; 27]);
    for n in 0..27 {
        let c = [cell[0] + n as i64 % 3 - 1, cell[1] + n as i64 / 3 % 3 - 1, cell[2] + n as i64 / 9 - 1];
        around[n] = refined.at(c);
        open[n] = around[n] == NONE && refined.inside(c);
    }
    const SPANS: [(usize, usize); 3] = [(0, 1), (1, BRICK), (BRICK, SIDE)];
    for n in (0..27usize).filter(|n| *n != 13) {
        let side = [n % 3, n / 3 % 3, n / 9];
        let is_corner = side[0] != 1 && side[1] != 1 && side[2] != 1;
        let is_own = side[0] != 2 && side[1] != 2 && side[2] != 2;
        let is_open = is_corner || touches_open(&open, side);
        if is_own && !is_open {
            continue;
        }
        let from = around[13 + side[0] / 2 + 3 * (side[1] / 2) + 9 * (side[2] / 2)];
        let found = (from != NONE && !is_open).then(|| owner(from as usize));
        for z in SPANS[side[2]].0..SPANS[side[2]].1 {
            for y in SPANS[side[1]].0..SPANS[side[1]].1 {
                let row = rest.row(&known, y, z);
                for x in SPANS[side[0]].0..SPANS[side[0]].1 {
                    brick[(z * SIDE + y) * SIDE + x] = if let Some(found) = &found {
                        found.nodes[(z & 7) * found.plane + (y & 7) * found.row + (x & 7)]
                    } else if is_open {
                        rest.background(&row, x)
                    } else {
                        // The upper border of the grid.
                        let node = [place[0] * BRICK + x, place[1] * BRICK + y, place[2] * BRICK + z];
                        rest.border(node).unwrap_or_else(|| rest.background(&row, x))
                    };
                }
            }
        }
    }
}

/// Whether nodes on `side` of a brick (per axis 0: lower face, 1: between, 2: upper face) touch an open neighbour.
fn touches_open(open: &[bool; 27], side: [usize; 3]) -> bool {
    // Along each axis the own cell, and the one across if the nodes are on a face.
    let options = |i: usize| match side[i] {
        0 => 0..=1,
        1 => 1..=1,
        _ => 1..=2usize,
    };
    options(2).any(|z| options(1).any(|y| options(0).any(|x| open[(z * 3 + y) * 3 + x])))
}

/// Signed distances [voxels]: the background is trilinear.
pub(crate) struct Distances<'a, B> {
    pub(crate) corners: &'a [f32],
    pub(crate) lattice: &'a Lattice,
    /// Exact nodes on the upper border of the grid, which no brick owns.
    pub(crate) border: B,
}

impl<B: Fn([usize; 3]) -> Option<f32> + Sync> Rest<f32> for Distances<'_, B> {
    type Cell = [f32; 8];

    fn cell(&self, cell: [usize; 3]) -> [f32; 8] {
        corners_of(self.corners, self.lattice, cell)
    }

    type Row = [f32; 2];

    /// The ends of the row. Exact at the corners, and the same from both cells at a face.
    #[inline(always)]
    fn row(&self, c: &[f32; 8], y: usize, z: usize) -> [f32; 2] {
        let (y, z) = (y as f32 * STEP, z as f32 * STEP);
        [lerp(lerp(c[0], c[2], y), lerp(c[4], c[6], y), z), lerp(lerp(c[1], c[3], y), lerp(c[5], c[7], y), z)]
    }

    #[inline(always)]
    fn background(&self, ends: &[f32; 2], x: usize) -> f32 {
        lerp(ends[0], ends[1], x as f32 * STEP)
    }

    fn border(&self, n: [usize; 3]) -> Option<f32> {
        (self.border)(n)
    }
}

/// Closest triangles: the background has none.
pub(crate) struct Triangles<B> {
    /// Closest triangles on the upper border of the grid.
    pub(crate) border: B,
}

impl<B: Fn([usize; 3]) -> Option<u32> + Sync> Rest<u32> for Triangles<B> {
    type Cell = ();

    fn cell(&self, _: [usize; 3]) {}

    type Row = ();

    fn row(&self, (): &(), _: usize, _: usize) {}

    fn background(&self, (): &(), _: usize) -> u32 {
        NONE
    }

    fn border(&self, n: [usize; 3]) -> Option<u32> {
        (self.border)(n)
    }
}

#[inline(always)]
fn lerp(a: f32, b: f32, k: f32) -> f32 {
    a * (1.0 - k) + b * k
}
