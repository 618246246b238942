//! Certified lower bounds of the distance: inside the field's box and far outside. `bounds.rs` has the kernel.
//!
//! Squared distances are semi-concave: D²(x) − |x|² is the least of linear functions of x, one for each point of the
//! surface, so it is concave. For nodes xᵢ around p with weights wᵢ whose mean is p, as in trilinear interpolation,
//!
//! Σ wᵢ·D²(xᵢ) <= D²(p) + a², with a² = Σ wᵢ·|xᵢ − p|² = Σ over axes of h²·t·(1 − t) <= 3·h²/4,
//!
//! h the distance between nodes and t the place between them. Hence D(p) >= √(Σ wᵢ·D²(xᵢ) − a²), with equality where all
//! nodes have the same closest point. It is never below what the interpolated value f = Σ wᵢ·D(xᵢ) gives, √(f² − a²), nor
//! that below f − a²/f or f − a.
//!
//! - Values too large by up to e: the root of Σ wᵢ·vᵢ² is a norm, so it is too large by at most e.
//! - Nodes of a brick on a face beside a cell without one hold a mean over the corners of the face, which has its own
//!   mean square, 64·(t·(1 − t) + u·(1 − u)) at most: it is added to a² with the weight of these nodes.
//! - In a brick, either the point is at least the band, less what the nodes around it reach beyond, from the surface, or
//!   all nodes around it are exact.
//! - Outside the box every surface point is behind q, the nearest point of the box: D²(p) >= |p − q|² + D²(q).
//!   Nested grids of squared distances around the box do better, with the same bound between their nodes.

use super::bounds::{Bounds, many_float, many_float_plain, many_scaled, many_scaled_plain};
use super::encode::Values;
use super::exact::Exact;
use super::scan::BRICK;
use super::{Field, Lattice};
use crate::par;
use glam::{DVec3, Vec3};

/// The nested grids: distance between nodes [voxels], and how far they reach from the box [largest extent of the box].
/// Finer or wider: more nodes, each an exact search.
pub(super) const GRIDS: [(f64, f64); 3] = [(8.0, 0.09), (16.0, 0.5), (32.0, 1.5)];
/// How much a node's distance may be too small, as a share of the distance between nodes: searching on for the last of it
/// takes several times as long, and the bound between nodes is not that tight.
const GIVE: f64 = 1.0 / 64.0;
/// Most nodes of one grid; its spacing is doubled until it has no more.
const MOST_NODES: f64 = 150_000.0;

/// Distances around a field's box, for lower bounds outside it. In the field's grid.
#[derive(Clone, Debug)]
pub struct FarGrid {
    pub(super) grids: Vec<Grid>,
    /// Squared distances of the nodes of all grids, x fastest [voxels²]; 0 where no point asks.
    pub(super) squared: Vec<f32>,
    /// For each cell of the field which faces of its brick interpolate: bit 2·axis for the lower, the next for the upper.
    pub(super) seams: Vec<f32>,
}

/// One of the nested grids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Its lowest node [voxels], and the distance between nodes.
    pub(super) low: DVec3,
    pub(super) step: f64,
    pub(super) nodes: [usize; 3],
    /// Its first node in `squared`.
    pub(super) first: usize,
}

impl Grid {
    /// The grid that reaches `reach` beyond the box of `lattice` [voxels].
    fn around(lattice: &Lattice, step: f64, reach: f64, first: usize) -> Self {
        let dims = lattice.dims().map(f64::from);
        let mut step = step;
        loop {
            let pad = (reach / step).ceil();
            let count = dims.map(|d| (d / step).ceil() + 2.0 * pad + 1.0);
            if count[0] * count[1] * count[2] <= MOST_NODES {
                let nodes = count.map(|c| c as usize);
                return Self { low: DVec3::splat(-pad * step), step, nodes, first };
            }
            step *= 2.0;
        }
    }

    fn count(&self) -> usize {
        self.nodes.iter().product()
    }

    fn high(&self) -> DVec3 {
        self.low + DVec3::from_array(self.nodes.map(|n| (n - 1) as f64)) * self.step
    }
}

impl FarGrid {
    /// Measures the distances around `field`, of the shape whose triangles `exact` has.
    ///
    /// Takes one search for each of some 50,000 nodes, in parallel (65 ms of processor time for 70,000 triangles), and less than
    /// 2 MB beside 4 bytes for each cell of the field.
    pub fn build(field: &Field, exact: &Exact) -> Self {
        let lattice = field.lattice();
        let extent = lattice.dims().into_iter().max().map_or(1.0, f64::from);
        let mut grids: Vec<Grid> = Vec::new();
        let mut squared = Vec::new();
        // What the finer grids, or the box, cover.
        let (mut low, mut high) = (DVec3::ZERO, DVec3::from_array(lattice.dims().map(f64::from)));
        for (step, reach) in GRIDS {
            let first = grids.last().map_or(0, |g| g.first + g.count());
            let grid = Grid::around(lattice, step, reach * extent, first);
            squared.resize(first + grid.count(), 0.0);
            let [nx, ny, _] = grid.nodes;
            par::chunks_mut(&mut squared[first..], nx * ny, |k, layer| {
                let mut guess = None;
                for (at, out) in layer.iter_mut().enumerate() {
                    let n = DVec3::new((at % nx) as f64, (at / nx) as f64, k as f64);
                    let u = grid.low + n * grid.step;
                    if (u - grid.step).cmpge(low).all() && (u + grid.step).cmple(high).all() {
                        continue;
                    }
                    let p = lattice.origin + u * lattice.voxel;
                    let (d, triangle) = exact.nearly(p, guess, GIVE * grid.step * lattice.voxel);
                    guess = Some(triangle);
                    let d = d / lattice.voxel;
                    *out = (d * d) as f32;
                }
            });
            (low, high) = (grid.low, grid.high());
            grids.push(grid);
        }
        Self { grids, squared, seams: seams(field) }
    }

    /// Memory [bytes].
    pub fn bytes(&self) -> usize {
        4 * (self.squared.len() + self.seams.len())
    }

    /// The field's sample `f` [m], and a lower bound of the true distance to the surface, unsigned [m], at many `points` relative
    /// to the origin of the field's lattice [m]. Certified: the bound is never above the distance.
    ///
    /// Outside the box `f` is as [`Field::sample`] says. A point with a coordinate that is NaN has NaN and the bound 0.
    /// About 60 ns for eight points near to each other in the box, 90 ns around it; no allocation. As many points are read as all
    /// slices have.
    pub fn lower_bounds(&self, field: &Field, points: &[Vec3], f: &mut [f32], lower: &mut [f32]) {
        match &field.values {
            Values::Float(v) => many_float(&Bounds::new(field, self, v, 1.0), points, f, lower),
            Values::Scaled { values, step, .. } => {
                many_scaled(&Bounds::new(field, self, values, *step), points, f, lower);
            }
        }
    }

    /// About where the point of the surface closest to `p` is, in the shape's frame [m], and how far from `p` [m]; none where the field
    /// does not say.
    ///
    /// With the squared distance of `p` itself taken off, squared distances are linear wherever the closest point stays the same, and
    /// their slope says where it is. Where nodes around `p` have different ones it is between them.
    pub(crate) fn foot(&self, field: &Field, p: DVec3) -> Option<(DVec3, f64)> {
        let l = &field.lattice;
        let u = (p - l.origin) / l.voxel;
        let [nx, ny, nz] = l.cells;
        let dims = DVec3::new(f64::from(nx), f64::from(ny), f64::from(nz)) * BRICK as f64;
        if u.cmpge(DVec3::ZERO).all() && u.cmplt(dims).all() {
            let s = field.sample(p);
            let slope = s.gradient.length();
            return (slope > 0.0).then(|| (p - s.gradient * (s.distance / slope), s.distance.abs()));
        }
        for g in &self.grids {
            let at = (u - g.low) / g.step;
            let [nx, ny, nz] = g.nodes;
            let most = DVec3::new((nx - 1) as f64, (ny - 1) as f64, (nz - 1) as f64);
            if !(at.cmpge(DVec3::ZERO).all() && at.cmplt(most).all()) {
                continue;
            }
            let [i, j, k] = [at.x as usize, at.y as usize, at.z as usize];
            let t = at - DVec3::new(i as f64, j as f64, k as f64);
            let base = g.first + (k * ny + j) * nx + i;
            let v = self.squared.get(base..base + nx * ny + nx + 2)?;
            let (low, high) = (t * g.step, (DVec3::ONE - t) * g.step);
            let (low, high) = (low * low, high * high);
            let edge = |at: usize, yz: f64| {
                let (a, b) = (f64::from(v[at]) - low.x - yz, f64::from(v[at + 1]) - high.x - yz);
                (a + t.x * (b - a), b - a)
            };
            let (a, b) = (edge(0, low.y + low.z), edge(nx, high.y + low.z));
            let (c, d) = (edge(nx * ny, low.y + high.z), edge(nx * ny + nx, high.y + high.z));
            let (ab, cd) = (a.0 + t.y * (b.0 - a.0), c.0 + t.y * (d.0 - c.0));
            let (dab, dcd) = (a.1 + t.y * (b.1 - a.1), c.1 + t.y * (d.1 - c.1));
            let (b, d) = (b.0 - a.0, d.0 - c.0);
            let slope = DVec3::new(dab + t.z * (dcd - dab), b + t.z * (d - b), cd - ab) / g.step;
            let squared = (ab + t.z * (cd - ab)).max(0.0);
            return Some((p - slope * (0.5 * l.voxel), squared.sqrt() * l.voxel));
        }
        None
    }

    /// [`FarGrid::lower_bounds`] without SIMD, for comparison: same bits.
    #[doc(hidden)]
    pub fn lower_bounds_plain(&self, field: &Field, points: &[Vec3], f: &mut [f32], lower: &mut [f32]) {
        match &field.values {
            Values::Float(v) => many_float_plain(&Bounds::new(field, self, v, 1.0), points, f, lower),
            Values::Scaled { values, step, .. } => {
                many_scaled_plain(&Bounds::new(field, self, values, *step), points, f, lower);
            }
        }
    }
}

/// Which faces of each brick interpolate; 0 for cells without one.
fn seams(field: &Field) -> Vec<f32> {
    let cells = field.lattice.cells.map(i64::from);
    let at = |c: [i64; 3]| (c[2] * cells[1] + c[1]) * cells[0] + c[0];
    let inside = |c: [i64; 3]| (0..3).all(|i| (0..cells[i]).contains(&c[i]));
    let open = |c: [i64; 3]| inside(c) && field.directory[at(c) as usize] < 0;
    par::map(field.directory.len(), |n| {
        let n = n as i64;
        let cell = [n % cells[0], n / cells[0] % cells[1], n / cells[0] / cells[1]];
        if open(cell) {
            return 0.0;
        }
        let mut mask = 0u32;
        for face in 0..6 {
            let mut c = cell;
            c[face / 2] += if face % 2 == 0 { -1 } else { 1 };
            // Nodes on the upper border of the grid, outside the band, interpolate too.
            let border = face % 2 == 1 && !inside(c);
            mask |= u32::from(open(c) || border) << face;
        }
        // Edges beside an open cell: part of either of their faces.
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            for side in 0..4 {
                let faces = [2 * a + side % 2, 2 * b + side / 2];
                let mut c = cell;
                c[a] += if side % 2 == 0 { -1 } else { 1 };
                c[b] += if side / 2 == 0 { -1 } else { 1 };
                if open(c) && mask & (1 << faces[0] | 1 << faces[1]) == 0 {
                    mask |= 1 << faces[0];
                }
            }
        }
        mask as f32
    })
}

#[cfg(test)]
#[path = "far_tests.rs"]
mod tests;
