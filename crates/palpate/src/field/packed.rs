//! A field packed for queries: what is around a point is 16 bytes in one place.
//!
//! Based on: the fields of sagardia14 and of the GPU paper of 2008, which are read node by node.
//! Differs: every node along z has with it the one beside it along y, and both what they grow by along x, as 16-bit numbers. A
//! point's eight nodes are then two neighbours in memory, mostly in one cache line where the field has up to four, and all but the
//! coefficients of the trilinear function: four subtractions, and value and gradient take half the arithmetic. For 1.6 times the
//! memory of the field. Bricks and background have a unit each, so that rounding near the surface is about a thousandth of a voxel.

use super::read::{BLOCKS, Cells, Group, Layout, View};
use super::scan::BRICK;
use super::{Lattice, brick::SIDE};
use crate::simd::{LANES, Lanes, Places};
use std::sync::Arc;

/// A node's value, what it grows by to the next along x, and both of the next node along y.
pub(crate) type Quad = [i16; 4];

/// Quads of a brick: rows along z, of nodes; along x and y, of voxels.
pub(super) const QUADS: usize = BRICK * BRICK * SIDE;
/// Set in the directory where a cell is not refined.
pub(super) const COARSE: i32 = i32::MIN;

/// The values of a field, packed. `pack.rs` makes it; in another scale it shares the memory.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(super) lattice: Lattice,
    /// For each cell where its quads begin; those of the background have the highest bit set.
    pub(super) directory: Arc<Vec<i32>>,
    /// Two for each cell of the background, then brick after brick.
    pub(super) quads: Arc<Vec<Quad>>,
    /// For each cell how steep the field is in it and in all cells around it, outside and in the band [1].
    pub(super) steepness: Arc<Vec<f32>>,
    /// Metres per unit: in bricks, and in the background.
    pub(super) scale: [f32; 2],
    /// Largest difference to the field [m].
    pub(crate) error: f64,
}

impl Packed {
    /// What kernels read.
    pub(crate) fn view(&self) -> View<'_, Quad> {
        let mut view = View::with_scales(&self.lattice, &self.directory, &self.quads, self.scale);
        view.steepness = &self.steepness;
        view
    }

    /// Memory [bytes].
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Quad>() * self.quads.len() + 4 * (self.directory.len() + self.steepness.len())
    }
}

impl Layout for Quad {
    type Rows<'a> = Places<'a, Quad, BLOCKS, 2>;

    fn rows(values: &[Self]) -> Option<Self::Rows<'_>> {
        Places::new(values)
    }

    #[inline(always)]
    fn corners<L: Lanes>(_: &View<'_, Self>, _: &mut Group<'_, Self>, _: usize, _: [L::Ints; 3]) {}

    #[inline(always)]
    fn locate<L: Lanes>(_: &View<'_, Self>, group: &mut Group<'_, Self>, i: usize, cells: &Cells<L>) {
        let [x, y, z] = cells.node;
        // Exact in f32: at most 575.
        let at = z.add(x.mul(L::splat(SIDE as f32))).add(y.mul(L::splat((BRICK * SIDE) as f32)));
        let at = L::select(cells.coarse, L::splat(0.0), at);
        let first = L::int_and(cells.entry, L::ints(!COARSE));
        L::set_places(&mut group.rows, i, [L::int_add(first, at.to_ints())]);
        // One line for each point, asked for while those of other points are located.
        Self::prefetch(group, i);
    }

    #[inline(always)]
    fn prefetch(group: &Group<'_, Self>, i: usize) {
        for lane in 0..LANES {
            group.rows.prefetch(i, lane);
        }
    }

    /// The value below the point, and what it grows by along x; both along y, along z, and along y and z.
    type Around<L: Lanes> = [L; 8];

    #[inline(always)]
    fn around<L: Lanes>(group: &Group<'_, Self>, i: usize) -> [L; 8] {
        L::differences(&group.rows, i)
    }

    #[inline(always)]
    fn value<L: Lanes>(c: &[L; 8], [x, y, z]: [L; 3]) -> L {
        let [a, b, c, d] = at_x(c, x);
        d.mul_add(y, c).mul_add(z, b.mul_add(y, a))
    }

    #[inline(always)]
    fn gradient<L: Lanes>(c: &[L; 8], [x, y, z]: [L; 3]) -> [L; 3] {
        let [_, b, along_z, d] = at_x(c, x);
        let along_x = c[7].mul_add(y, c[5]).mul_add(z, c[3].mul_add(y, c[1]));
        [along_x, d.mul_add(z, b), d.mul_add(y, along_z)]
    }

    #[inline(always)]
    fn metres_of<L: Lanes>(view: &View<'_, Self>, group: &Group<'_, Self>, i: usize, v: L) -> L {
        let coarse = L::int_negative(L::load_ints(&group.entry.0[i]));
        v.mul(L::select(coarse, L::splat(view.scale[1]), L::splat(view.scale[0])))
    }

    #[inline(always)]
    fn steepness<L: Lanes>(view: &View<'_, Self>, group: &Group<'_, Self>, i: usize) -> L {
        group.of_cells(i, view.steepness)
    }
}

/// The value at the points' x, and what it grows by along y, z, and both.
#[inline(always)]
fn at_x<L: Lanes>(c: &[L; 8], x: L) -> [L; 4] {
    [c[1].mul_add(x, c[0]), c[3].mul_add(x, c[2]), c[5].mul_add(x, c[4]), c[7].mul_add(x, c[6])]
}

#[cfg(test)]
#[path = "packed_tests.rs"]
mod tests;
