//! Packing a field: see `packed.rs`.

use super::Field;
use super::brick::{NODES, SIDE};
use super::encode::Values;
use super::lipschitz;
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
                let steepness = grid.steepness(|at| v[at]);
                grid.finish(quads, steepness, units.map(|u| u as f32), 0.5005 * units[0].max(units[1]))
            }
            Values::Scaled { values, step, .. } => {
                let [fine, coarse] = grid.largest(|at| f32::from(values[at]));
                if fine.max(coarse) > f32::from(i16::MAX) {
                    return None;
                }
                let quads = grid.pack(|at, _| values[at])?;
                let steepness = grid.steepness(|at| f32::from(values[at]) * step);
                grid.finish(quads, steepness, [*step; 2], 0.0)
            }
        }
    }
}

/// Voxels with a node up to this have exact nodes only [m]: those of their other nodes are at most a diagonal more.
pub(crate) fn known(field: &Field) -> f64 {
    field.report().band - 1.8 * field.lattice().voxel
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

    /// For each cell how steep the field is in it and in all cells around it [1]: outside, up to the end of the band. `value` is that of a
    /// node [m].
    fn steepness(&self, value: impl Fn(usize) -> f32 + Sync + Send) -> Vec<f32> {
        let [nx, ny, nz] = self.cells;
        let voxel = self.field.lattice().voxel;
        let between = [0.0, known(self.field) as f32];
        let rows = par::map(ny * nz, |row| {
            let (first, [y, z]) = self.row(row);
            let mut brick = vec![0.0; NODES];
            let of_cell = |x: usize| match usize::try_from(self.field.directory[row * nx + x]) {
                Ok(at) => {
                    brick.iter_mut().enumerate().for_each(|(i, v)| *v = value(at + i));
                    f64::from(lipschitz::of_brick(&brick, between)) / voxel
                }
                Err(_) => {
                    let at = first + x;
                    let corners =
                        [at, at + 1, at + y, at + y + 1, at + z, at + z + 1, at + z + y, at + z + y + 1];
                    let corners = corners.map(&value);
                    let counts =
                        corners.iter().any(|v| *v > between[0]) && corners.iter().any(|v| *v <= between[1]);
                    let slope = if counts { lipschitz::of_cell(&corners) } else { 0.0 };
                    f64::from(slope) / (BRICK as f64 * voxel)
                }
            };
            (0..nx).map(of_cell).collect::<Vec<_>>()
        });
        // Outside the box it is as steep as in it, or 1.
        let own = rows.into_iter().flatten().map(|s| ((s * (1.0 + 1e-5)) as f32).max(1.0));
        let mut steepness: Vec<f32> = own.collect();
        for (cells, step) in [(nx, 1), (ny, nx), (nz, nx * ny)] {
            let own = steepness.clone();
            for (i, s) in steepness.iter_mut().enumerate() {
                let at = i / step % cells;
                let below = if at > 0 { own[i - step] } else { 1.0 };
                let above = if at + 1 < cells { own[i + step] } else { 1.0 };
                *s = s.max(below).max(above);
            }
        }
        steepness
    }

    fn finish(&self, quads: Vec<Quad>, steepness: Vec<f32>, scale: [f32; 2], error: f64) -> Option<Packed> {
        let background = 2 * self.cells.iter().product::<usize>();
        let place = |(cell, entry): (usize, &i32)| match usize::try_from(*entry) {
            Err(_) => Some(COARSE + 2 * cell as i32),
            Ok(at) => Some((background + at.checked_sub(self.corners)? / NODES * QUADS) as i32),
        };
        let directory = self.field.directory.iter().enumerate().map(place).collect::<Option<Vec<_>>>()?;
        let (directory, quads, steepness) = (Arc::new(directory), Arc::new(quads), Arc::new(steepness));
        Some(Packed { lattice: *self.field.lattice(), directory, quads, steepness, scale, error })
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
