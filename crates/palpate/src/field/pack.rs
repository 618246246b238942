//! Packing a field: see `packed.rs`.

use super::Field;
use super::brick::{NODES, SIDE};
use super::encode::Values;
use super::packed::{COARSE, Packed, QUADS, Quad};
use super::scan::BRICK;
use crate::par;
use crate::store::prefer_large_pages;
use std::sync::Arc;

/// Largest number of units: what differences of rounded values can be more stays in 16 bits.
const LARGEST: f64 = 32_760.0;

impl Packed {
    /// Packs a field; none where its steps are too large for 16 bits, or the result for its indices or the memory.
    pub(crate) fn new(field: &Field) -> Option<Self> {
        let grid = Grid::new(field)?;
        match &field.values {
            Values::Float(v) => {
                let [fine, coarse] = grid.largest(|at| v[at]);
                let units = [fine, coarse].map(|l| (f64::from(l) / LARGEST).max(1e-30));
                let inverse = units.map(|u| 1.0 / u);
                let quads =
                    grid.pack(|at, part| (f64::from(v[at]) * inverse[part]).round_ties_even() as i16)?;
                // A hair more than half a unit: units are rounded to f32.
                grid.finish(quads, units.map(|u| u as f32), 0.5005 * units[0].max(units[1]))
            }
            Values::Scaled { values, step, .. } => {
                let [fine, coarse] = grid.largest(|at| f32::from(values[at]));
                if fine.max(coarse) > f32::from(i16::MAX) {
                    return None;
                }
                let quads = grid.pack(|at, _| values[at])?;
                grid.finish(quads, [*step; 2], 0.0)
            }
        }
    }
}

/// Where the nodes of a field are.
struct Grid<'a> {
    field: &'a Field,
    /// Cells along each axis.
    cells: [usize; 3],
    /// Nodes of the background, which come first.
    corners: usize,
    bricks: usize,
}

impl<'a> Grid<'a> {
    fn new(field: &'a Field) -> Option<Self> {
        let cells = field.lattice().cells.map(|c| c as usize);
        let corners = cells.iter().map(|c| c + 1).product();
        let bricks = field.values.len().checked_sub(corners)? / NODES;
        let fits = field.directory.len() == cells.iter().product::<usize>();
        fits.then_some(Self { field, cells, corners, bricks })
    }

    /// The node of the background at the lower end of a row of cells, and how many it is to the next along y and z.
    fn row(&self, row: usize) -> (usize, [usize; 2]) {
        let [nx, ny, _] = self.cells;
        let (y, z) = (row % ny, row / ny);
        ((z * (ny + 1) + y) * (nx + 1), [nx + 1, (nx + 1) * (ny + 1)])
    }

    /// The largest value or difference that is packed: of bricks, and of the background.
    fn largest(&self, value: impl Fn(usize) -> f32 + Sync + Send) -> [f32; 2] {
        let [nx, ny, nz] = self.cells;
        let coarse = par::map(ny * nz, |row| {
            let (first, steps) = self.row(row);
            (first..first + nx).fold(0.0, |m: f32, at| m.max(largest_around(at, steps, &value)))
        });
        let fine = par::map(self.bricks, |brick| {
            let first = self.corners + brick * NODES;
            let mut most = 0.0f32;
            for column in 0..BRICK * BRICK {
                let at = first + (column / BRICK) * SIDE * SIDE + (column % BRICK) * SIDE;
                for x in 0..BRICK {
                    most = most.max(largest_around(at + x, [SIDE, SIDE * SIDE], &value));
                }
            }
            most
        });
        [fine, coarse].map(|all| all.into_iter().fold(0.0, f32::max))
    }

    /// All quads. `value` gives that of a node, in units of bricks (0) or of the background (1).
    fn pack(&self, value: impl Fn(usize, usize) -> i16 + Sync + Send) -> Option<Vec<Quad>> {
        let [nx, ny, nz] = self.cells;
        let background = 2 * nx * ny * nz;
        let length = self.bricks.checked_mul(QUADS)?.checked_add(background)?;
        if length > i32::MAX as usize {
            return None;
        }
        let mut quads: Vec<Quad> = Vec::new();
        quads.try_reserve_exact(length).ok()?;
        prefer_large_pages(&mut quads);
        quads.resize(length, [0; 4]);
        let (coarse, fine) = quads.split_at_mut(background);
        par::chunks_mut(coarse, 2 * nx, |row, out| {
            let (first, [y, z]) = self.row(row);
            for (x, pair) in out.chunks_exact_mut(2).enumerate() {
                pair[0] = quad(first + x, y, |at| value(at, 1));
                pair[1] = quad(first + x + z, y, |at| value(at, 1));
            }
        });
        par::chunks_mut(fine, QUADS, |brick, out| {
            let first = self.corners + brick * NODES;
            for (column, out) in out.chunks_exact_mut(SIDE).enumerate() {
                let at = first + (column / BRICK) * SIDE + column % BRICK;
                for (z, out) in out.iter_mut().enumerate() {
                    *out = quad(at + z * SIDE * SIDE, SIDE, |at| value(at, 0));
                }
            }
        });
        Some(quads)
    }

    fn finish(&self, quads: Vec<Quad>, scale: [f32; 2], error: f64) -> Option<Packed> {
        let background = 2 * self.cells.iter().product::<usize>();
        let place = |(cell, entry): (usize, &i32)| match usize::try_from(*entry) {
            Err(_) => Some(COARSE + 2 * cell as i32),
            Ok(at) => Some((background + at.checked_sub(self.corners)? / NODES * QUADS) as i32),
        };
        let directory = self.field.directory.iter().enumerate().map(place).collect::<Option<Vec<_>>>()?;
        let (directory, quads) = (Arc::new(directory), Arc::new(quads));
        Some(Packed { lattice: *self.field.lattice(), directory, quads, scale, error })
    }
}

/// The quad of node `at`, with `y` nodes to the next along y.
#[inline(always)]
fn quad(at: usize, y: usize, value: impl Fn(usize) -> i16) -> Quad {
    let (a, b) = (value(at), value(at + y));
    [a, value(at + 1).wrapping_sub(a), b, value(at + y + 1).wrapping_sub(b)]
}

/// The largest of the eight values from `at` on, and of all their differences along one axis, two or three.
#[inline(always)]
fn largest_around(at: usize, [y, z]: [usize; 2], value: &impl Fn(usize) -> f32) -> f32 {
    let pair = |at: usize| (value(at), value(at + 1) - value(at));
    let (a, b, c, d) = (pair(at), pair(at + y), pair(at + z), pair(at + z + y));
    let minus = |p: (f32, f32), q: (f32, f32)| (p.0 - q.0, p.1 - q.1);
    let (along_y, along_z) = (minus(b, a), minus(c, a));
    let both = minus(minus(d, c), along_y);
    let ends = (value(at + 1).abs()).max(value(at + y + 1).abs()).max(value(at + z + 1).abs());
    let ends = ends.max(value(at + z + y + 1).abs());
    [a, b, c, d, along_y, along_z, both].iter().fold(ends, |m: f32, p| m.max(p.0.abs()).max(p.1.abs()))
}
