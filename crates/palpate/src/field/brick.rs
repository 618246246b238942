//! Bricks: which cells are refined, what their nodes hold outside the band, and how neighbours fit together.
//!
//! Nodes in the band are exact (from the scan). Other nodes of a brick take the distance to the closest triangle of the
//! neighbour through which the band reaches them: never below the true distance, and bounded by the exact corners of
//! the cell. Nodes on a face shared with a cell that is not refined take the background's interpolated value, so the
//! field has no jump there.

use super::lattice::Lattice;
use super::scan::{BRICK, EMPTY, NONE, OWNED, Slab, unpack};
use super::spread::Filled;
use glam::DVec3;

/// Nodes along the edge of a stored brick, both faces included.
pub(crate) const SIDE: usize = BRICK + 1;
/// Nodes of a stored brick.
pub(crate) const NODES: usize = SIDE * SIDE * SIDE;

/// The scanned band of the whole grid.
#[derive(Debug)]
pub(crate) struct Band {
    pub(crate) slabs: Vec<Slab>,
    /// Brick layers a slab holds.
    pub(crate) layers: usize,
    /// Cells along each axis, one ghost layer at the upper end included.
    pub(crate) cells: [usize; 3],
}

impl Band {
    /// Packed nodes (see [`super::scan::pack`]) that cell `c` owns, if any of them is in the band.
    #[inline]
    pub(crate) fn owned(&self, c: [usize; 3]) -> Option<&[u64; OWNED]> {
        if (0..3).any(|i| c[i] >= self.cells[i]) {
            return None;
        }
        let slab = &self.slabs[c[2] / self.layers];
        let slot = slab.slots[((c[2] % self.layers) * self.cells[1] + c[1]) * self.cells[0] + c[0]];
        (slot != NONE).then(|| &slab.nodes[slot as usize])
    }

    /// Distance and triangle of background node `n`, if it is in the band.
    pub(crate) fn corner(&self, n: [usize; 3]) -> Option<(f32, u32)> {
        self.owned(n).map(|nodes| unpack(nodes[0])).filter(|(d, _)| d.is_finite())
    }
}

/// Which cells are refined.
#[derive(Debug)]
pub(crate) struct Refined {
    /// Cells in index order.
    pub(crate) cells: Vec<[u32; 3]>,
    /// Brick of each cell, or `NONE`; x fastest.
    pub(crate) brick: Vec<u32>,
    dims: [usize; 3],
}

impl Refined {
    /// Cells whose closed cube holds a node of the band: then no sample inside the band touches an inexact node.
    pub(crate) fn find(band: &Band, lattice: &Lattice) -> Self {
        let dims = lattice.cells.map(|c| c as usize);
        let mut marks = vec![false; lattice.cell_count()];
        for k in 0..band.cells[2] {
            for j in 0..band.cells[1] {
                for i in 0..band.cells[0] {
                    let Some(nodes) = band.owned([i, j, k]) else { continue };
                    for (o, reaches) in lower_neighbours(nodes).into_iter().enumerate() {
                        let o = [o & 1, o >> 1 & 1, o >> 2];
                        if !reaches || i < o[0] || j < o[1] || k < o[2] {
                            continue;
                        }
                        let c = [i - o[0], j - o[1], k - o[2]];
                        if c[0] < dims[0] && c[1] < dims[1] && c[2] < dims[2] {
                            marks[(c[2] * dims[1] + c[1]) * dims[0] + c[0]] = true;
                        }
                    }
                }
            }
        }
        Self::from_marks(&marks, lattice)
    }

    /// The marked cells, one mark per cell, x fastest.
    pub(crate) fn from_marks(marks: &[bool], lattice: &Lattice) -> Self {
        let dims = lattice.cells.map(|c| c as usize);
        let mut brick = vec![NONE; marks.len()];
        let mut cells = Vec::new();
        for (at, _) in marks.iter().enumerate().filter(|(_, m)| **m) {
            brick[at] = cells.len() as u32;
            cells.push([at % dims[0], at / dims[0] % dims[1], at / dims[0] / dims[1]].map(|v| v as u32));
        }
        Self { cells, brick, dims }
    }

    /// Position of brick `b`'s first node [voxels].
    pub(crate) fn origin(&self, b: usize) -> DVec3 {
        DVec3::from_array(self.cells[b].map(|c| f64::from(c) * BRICK as f64))
    }

    /// The refined neighbour of brick `b` along `axis`, upward (+1) or downward (−1).
    pub(crate) fn neighbour(&self, b: usize, axis: usize, way: i64) -> Option<usize> {
        let mut c = self.cells[b].map(i64::from);
        c[axis] += way;
        Some(self.at(c)).filter(|b| *b != NONE).map(|b| b as usize)
    }

    /// Brick of a cell given by signed coordinates; `NONE` outside the grid too.
    fn at(&self, c: [i64; 3]) -> u32 {
        if (0..3).any(|i| c[i] < 0 || c[i] >= self.dims[i] as i64) {
            return NONE;
        }
        let [x, y, z] = c.map(|v| v as usize);
        self.brick[(z * self.dims[1] + y) * self.dims[0] + x]
    }

    fn inside(&self, c: [i64; 3]) -> bool {
        (0..3).all(|i| c[i] >= 0 && c[i] < self.dims[i] as i64)
    }
}

/// For each of the eight cells that share a corner with this one on the lower side (bit 0: x − 1, …): whether the band
/// has a node they share. Entry 0 is the cell itself.
fn lower_neighbours(nodes: &[u64; OWNED]) -> [bool; 8] {
    let any = |mut places: core::iter::StepBy<core::ops::Range<usize>>| places.any(|at| nodes[at] != EMPTY);
    let plane_z = (0..64).any(|at| nodes[at] != EMPTY);
    let plane_y = (0..8).any(|z| (0..8).any(|x| nodes[z * 64 + x] != EMPTY));
    let plane_x = any((0..OWNED).step_by(8));
    let row_yz = (0..8).any(|x| nodes[x] != EMPTY);
    let row_xz = any((0..64).step_by(8));
    let row_xy = any((0..OWNED).step_by(64));
    [true, plane_x, plane_y, row_xy, plane_z, row_xz, row_yz, nodes[0] != EMPTY]
}

/// The eight background values around a cell, x fastest.
pub(crate) fn corners_of(corners: &[f32], lattice: &Lattice, c: [usize; 3]) -> [f32; 8] {
    let [nx, ny, _] = lattice.corners();
    let row = |dy: usize, dz: usize| ((c[2] + dz) * ny + c[1] + dy) * nx + c[0];
    let (a, b, c, d) = (row(0, 0), row(1, 0), row(0, 1), row(1, 1));
    [
        corners[a],
        corners[a + 1],
        corners[b],
        corners[b + 1],
        corners[c],
        corners[c + 1],
        corners[d],
        corners[d + 1],
    ]
}

/// Writes the 9³ nodes of brick `b`, in voxels, and its closest triangles where `triangles` is not empty. `border` gives
/// exact nodes on the upper border of the grid, which no brick owns.
#[inline(never)]
pub(crate) fn assemble(
    refined: &Refined,
    filled: &[Filled],
    border: impl Fn([usize; 3]) -> Option<(f32, u32)>,
    corners: &[f32; 8],
    b: usize,
    values: &mut [f32],
    triangles: &mut [u32],
) {
    let cell = refined.cells[b].map(i64::from);
    // Whole rows from the bricks that own them: this one and its upper neighbours.
    let owners: [u32; 8] = core::array::from_fn(|o| {
        refined.at([cell[0] + (o & 1) as i64, cell[1] + (o >> 1 & 1) as i64, cell[2] + (o >> 2) as i64])
    });
    for z in 0..SIDE {
        for y in 0..SIDE {
            let o = (y >> 3) << 1 | (z >> 3) << 2;
            let (to, from) = ((z * SIDE + y) * SIDE, (z & 7) << 6 | (y & 7) << 3);
            for (owner, x, n) in [(owners[o], 0, BRICK), (owners[o | 1], BRICK, 1)] {
                if owner != NONE {
                    let f = &filled[owner as usize];
                    values[to + x..to + x + n].copy_from_slice(&f.distance[from..from + n]);
                    if let (Some(t), Some(s)) =
                        (triangles.get_mut(to + x..to + x + n), f.triangle.get(from..from + n))
                    {
                        t.copy_from_slice(s);
                    }
                }
            }
        }
    }
    // Then what touches a neighbour that is not refined, the upper border of the grid, and the corners.
    let open: [bool; 27] = core::array::from_fn(|n| {
        let c = [cell[0] + n as i64 % 3 - 1, cell[1] + n as i64 / 3 % 3 - 1, cell[2] + n as i64 / 9 - 1];
        refined.inside(c) && refined.at(c) == NONE
    });
    let spans = [0..1, 1..BRICK, BRICK..SIDE];
    for side in (0..27usize).filter(|s| *s != 13) {
        let side = [side % 3, side / 3 % 3, side / 9];
        let is_corner = side.iter().all(|s| *s != 1);
        let is_open = touches_open(&open, side);
        let owner = owners[(side[0] / 2) | ((side[1] / 2) << 1) | ((side[2] / 2) << 2)];
        if !is_corner && !is_open && owner != NONE {
            continue;
        }
        for z in spans[side[2]].clone() {
            for y in spans[side[1]].clone() {
                for x in spans[side[0]].clone() {
                    let node = [x, y, z];
                    let (value, triangle) = if is_corner {
                        (corners[x >> 3 | (y >> 3) << 1 | (z >> 3) << 2], NONE)
                    } else if is_open {
                        (interpolate(corners, node), NONE)
                    } else {
                        // The upper border of the grid: exact in the band, else as the background.
                        border(core::array::from_fn(|i| cell[i] as usize * BRICK + node[i]))
                            .unwrap_or_else(|| (interpolate(corners, node), NONE))
                    };
                    let at = (z * SIDE + y) * SIDE + x;
                    values[at] = value;
                    if let Some(t) = triangles.get_mut(at) {
                        *t = triangle;
                    }
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

/// The background's trilinear value at node `n` of a brick.
#[inline]
fn interpolate(c: &[f32; 8], n: [usize; 3]) -> f32 {
    let f = n.map(|v| v as f32 / BRICK as f32);
    let lerp = |a: f32, b: f32, k: f32| a + k * (b - a);
    let x = [0, 2, 4, 6].map(|i| lerp(c[i], c[i + 1], f[0]));
    lerp(lerp(x[0], x[1], f[1]), lerp(x[2], x[3], f[1]), f[2])
}
