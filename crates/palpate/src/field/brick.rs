//! Bricks: the scanned band they are made from, and which cells are refined.

use super::lattice::Lattice;
use super::scan::{BRICK, EMPTY, NONE, OWNED, Slab, unpack};
use crate::par;
use glam::DVec3;

/// Nodes along the edge of a stored brick, both faces included.
pub(crate) const SIDE: usize = BRICK + 1;
/// Nodes of a stored brick.
pub(crate) const NODES: usize = SIDE * SIDE * SIDE;

/// Where own node `at` (x, y, z of three bits each) of a brick is stored.
#[inline(always)]
pub(crate) fn own(at: usize) -> usize {
    ((at >> 6) * SIDE + (at >> 3 & 7)) * SIDE + (at & 7)
}

/// The scanned band of the whole grid.
#[derive(Debug)]
pub(crate) struct Band {
    pub(crate) slabs: Vec<Slab>,
    /// For each layer of bricks its slab, and its place in there.
    pub(crate) layers: Vec<[u32; 2]>,
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
        let [slab, layer] = self.layers[c[2]];
        let slab = &self.slabs[slab as usize];
        let slot = slab.slots[(layer as usize * self.cells[1] + c[1]) * self.cells[0] + c[0]];
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
        // Layer by layer, what each brick of the band reaches; then all marks.
        let layers = par::map(band.cells[2], |k| {
            let mut found = Vec::new();
            for j in 0..band.cells[1] {
                for i in 0..band.cells[0] {
                    if let Some(nodes) = band.owned([i, j, k]) {
                        found.push(([i, j, k], lower_neighbours(nodes)));
                    }
                }
            }
            found
        });
        let mut marks = vec![false; lattice.cell_count()];
        for (cell, reaches) in layers.into_iter().flatten() {
            for (o, _) in reaches.into_iter().enumerate().filter(|(_, reaches)| *reaches) {
                let o = [o & 1, o >> 1 & 1, o >> 2];
                if cell[0] < o[0] || cell[1] < o[1] || cell[2] < o[2] {
                    continue;
                }
                let c = [cell[0] - o[0], cell[1] - o[1], cell[2] - o[2]];
                if c[0] < dims[0] && c[1] < dims[1] && c[2] < dims[2] {
                    marks[(c[2] * dims[1] + c[1]) * dims[0] + c[0]] = true;
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

    /// The first brick at or above layer `k` of cells: bricks are in the order of layers.
    pub(crate) fn first_of_layer(&self, k: usize) -> usize {
        self.cells.partition_point(|c| (c[2] as usize) < k)
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
    pub(crate) fn at(&self, c: [i64; 3]) -> u32 {
        if (0..3).any(|i| c[i] < 0 || c[i] >= self.dims[i] as i64) {
            return NONE;
        }
        let [x, y, z] = c.map(|v| v as usize);
        self.brick[(z * self.dims[1] + y) * self.dims[0] + x]
    }

    /// Whether a cell is in the grid.
    pub(crate) fn inside(&self, c: [i64; 3]) -> bool {
        let [x, y, z] = self.dims;
        (c[0] as usize) < x && (c[1] as usize) < y && (c[2] as usize) < z
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
