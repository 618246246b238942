//! The surface where a sampled function has a given value, as triangles.
//!
//! Based on: marching cubes with face ambiguities decided by the asymptotic decider; see `cell.rs`.
//! Differs: closed and manifold for any values, by construction; blocks of cells are visited in parallel and
//! share vertices. Chosen over marching tetrahedra (twice the triangles, a directional grain) and over surface
//! nets (vertices off the grid edges, non-manifold where two sheets cross one cell).

mod cell;
#[cfg(test)]
mod tests;

use crate::math::Aabb;
use crate::mesh::RawMesh;
use crate::par;
use cell::{EDGES, FACES, MIDDLE};
use glam::DVec3;

/// Cells along each edge of a block.
pub const BLOCK: i64 = 8;

/// Nodes along each edge of a block.
const NODES: usize = BLOCK as usize + 1;

/// Least distance of a vertex from the ends of its grid edge, in voxels. Zero: triangles without area where a node
/// value equals the iso value. Larger: vertices are moved by up to this much.
const END_GAP: f64 = 1e-4;

/// Where the nodes of a regular grid are and which of them exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsoGrid {
    /// Position of node (0, 0, 0) [m].
    pub origin: DVec3,
    /// Distance between neighbouring nodes [m].
    pub voxel: f64,
    /// Lowest node.
    pub lower: [i64; 3],
    /// Highest node, itself included.
    pub upper: [i64; 3],
}

impl IsoGrid {
    /// Position of a node [m].
    pub fn position(&self, ijk: [i64; 3]) -> DVec3 {
        self.origin + self.voxel * DVec3::from_array(ijk.map(|i| i as f64))
    }

    /// The box of all nodes.
    pub fn aabb(&self) -> Aabb {
        Aabb { min: self.position(self.lower), max: self.position(self.upper) }
    }

    /// All blocks that hold a cell, in ascending order; block `b` holds the cells `8 b` to `8 b + 7` of each axis.
    /// For dense grids: the list grows with the volume.
    pub fn blocks(&self) -> Vec<[i64; 3]> {
        let range = |a: usize| {
            if self.lower[a] < self.upper[a] {
                self.lower[a].div_euclid(BLOCK)..(self.upper[a] - 1).div_euclid(BLOCK) + 1
            } else {
                0..0
            }
        };
        let mut all = Vec::new();
        for i in range(0) {
            for j in range(1) {
                all.extend(range(2).map(|k| [i, j, k]));
            }
        }
        all
    }
}

/// Why no surface can be returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IsoError {
    /// Indices of a mesh have 32 bits.
    #[error(
        "the surface has {vertices} vertices, more than the 4294967295 a mesh can have; use a larger voxel"
    )]
    TooManyVertices {
        /// How many there would be.
        vertices: u64,
    },
}

/// The surface that separates nodes with `value < iso` (inside) from the others, counter-clockwise from outside.
///
/// `value` gives the nodes from `grid.lower` to `grid.upper` and is called from several threads, up to twice per
/// axis for a node between blocks. Only cells in `blocks` (see [`IsoGrid::blocks`]; any order, repeats allowed) are
/// visited: list every block that holds a sign change, and the surface is closed but for the border of the grid,
/// where it is open. Each edge has exactly two triangles, of opposite direction, and each vertex one fan, for any
/// values; a NaN counts as outside.
///
/// Vertices lie on grid edges, by linear interpolation (within 1e-4 voxel), but for rare ones in the middle of a
/// cell that the surface crosses in a saddle. For samples of a signed distance d, a vertex on an edge has
/// |d| <= voxel²·c/8 + 1e-4 voxel where second derivatives of d are at most c [1/m], and |d| <= voxel/2 always;
/// a vertex in the middle of a cell is within two voxels.
///
/// The mesh has the same bits for any number of threads. Cost: 729 calls of `value` per block.
pub fn iso_surface(
    grid: &IsoGrid,
    blocks: &[[i64; 3]],
    iso: f32,
    value: impl Fn([i64; 3]) -> f32 + Sync,
) -> Result<RawMesh, IsoError> {
    let mut order = blocks.to_vec();
    par::sort_unstable(&mut order);
    order.dedup();
    let parts = par::map(order.len(), |b| Part::of_block(grid, order[b], iso, &value));
    join(parts)
}

/// A grid edge: its lower node and axis.
type Key = ([i64; 3], u8);

/// The surface in one block, with its own vertex numbers.
#[derive(Debug, Default)]
struct Part {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// Vertices on the border of the block, which neighbours have too.
    shared: Vec<(Key, u32)>,
}

impl Part {
    fn of_block(grid: &IsoGrid, block: [i64; 3], iso: f32, value: &impl Fn([i64; 3]) -> f32) -> Self {
        let mut part = Self::default();
        // The block's nodes that exist: `first` is its lowest corner, `low` and `high` count from there. Blocks
        // beyond the range of i64 cannot be in the grid.
        let Some(first) = checked_corner(block) else { return part };
        let low: [i64; 3] = std::array::from_fn(|a| grid.lower[a].saturating_sub(first[a]).max(0));
        let high: [i64; 3] = std::array::from_fn(|a| grid.upper[a].saturating_sub(first[a]).min(BLOCK));
        if (0..3).any(|a| low[a] >= high[a]) {
            return part;
        }
        let (low, high) = (low.map(|i| i as usize), high.map(|i| i as usize));

        let mut values = [0f32; NODES * NODES * NODES];
        let (mut any_in, mut any_out) = (false, false);
        for i in low[0]..=high[0] {
            for j in low[1]..=high[1] {
                for k in low[2]..=high[2] {
                    let v = value([first[0] + i as i64, first[1] + j as i64, first[2] + k as i64]);
                    values[index([i, j, k])] = v;
                    let inside = v < iso;
                    any_in |= inside;
                    any_out |= !inside;
                }
            }
        }
        if !(any_in && any_out) {
            return part;
        }

        // Number of each edge's vertex; u32::MAX while it has none.
        let mut numbers = vec![u32::MAX; 3 * NODES * NODES * NODES];
        for i in low[0]..high[0] {
            for j in low[1]..high[1] {
                for k in low[2]..high[2] {
                    part.add_cell(grid, first, [i, j, k], iso, &values, &mut numbers);
                }
            }
        }
        part
    }

    fn add_cell(
        &mut self,
        grid: &IsoGrid,
        first: [i64; 3],
        cell: [usize; 3],
        iso: f32,
        values: &[f32],
        numbers: &mut [u32],
    ) {
        let corner = |c: u8| -> [usize; 3] { std::array::from_fn(|a| cell[a] + usize::from(c >> a & 1)) };
        let at: [f32; 8] = std::array::from_fn(|c| values[index(corner(c as u8))]);
        let inside = (0..8).fold(0u8, |bits, c| bits | u8::from(at[c] < iso) << c);
        if inside == 0 || inside == 255 {
            return;
        }

        // On a face whose corners alternate, the sign at the saddle of the bilinear function decides.
        let mut joined = 0u8;
        let open = cell::ambiguous_faces(inside);
        for (f, face) in FACES.iter().enumerate().filter(|&(f, _)| open >> f & 1 == 1) {
            let v = face.map(|c| f64::from(at[usize::from(c)]) - f64::from(iso));
            // Products commute exactly, so the neighbour gets the same answer from its own order of corners.
            let (even, odd) = (v[0] * v[2], v[1] * v[3]);
            let joins = if v[0] < 0.0 { even > odd } else { odd > even };
            joined |= u8::from(joins) << f;
        }
        let own;
        let patch = if joined == 0 {
            cell::separated(inside)
        } else {
            own = cell::patch(inside, joined);
            &own
        };

        let mut vertex = [u32::MAX; 24];
        for (e, &(c, axis)) in EDGES.iter().enumerate() {
            let end = c | 1 << axis;
            if inside >> c & 1 == inside >> end & 1 {
                continue;
            }
            let node = corner(c);
            let number = &mut numbers[3 * index(node) + usize::from(axis)];
            if *number == u32::MAX {
                *number = self.positions.len() as u32;
                let ijk = std::array::from_fn(|a| first[a] + node[a] as i64);
                let mut p = grid.position(ijk);
                p[usize::from(axis)] += grid.voxel * crossing(at[usize::from(c)], at[usize::from(end)], iso);
                self.positions.push(p);
                let on_border =
                    |a: usize| a != usize::from(axis) && (node[a] == 0 || node[a] == BLOCK as usize);
                if (0..3).any(on_border) {
                    self.shared.push(((ijk, axis), *number));
                }
            }
            vertex[e] = *number;
        }
        for (m, ring) in patch.middles.iter().enumerate() {
            let sum: DVec3 = ring.iter().map(|&e| self.positions[vertex[usize::from(e)] as usize]).sum();
            vertex[usize::from(MIDDLE) + m] = self.positions.len() as u32;
            self.positions.push(sum / ring.len() as f64);
        }
        self.triangles.extend(patch.triangles.iter().map(|t| t.map(|v| vertex[usize::from(v)])));
    }
}

/// Lowest node of a block, if it and its highest node are numbers.
fn checked_corner(block: [i64; 3]) -> Option<[i64; 3]> {
    let corner = |a: usize| block[a].checked_mul(BLOCK).filter(|c| c.checked_add(BLOCK).is_some());
    Some([corner(0)?, corner(1)?, corner(2)?])
}

fn index(node: [usize; 3]) -> usize {
    (node[0] * NODES + node[1]) * NODES + node[2]
}

/// Where between two nodes the linear function has the value `iso`, from [`END_GAP`] to 1 - [`END_GAP`].
fn crossing(a: f32, b: f32, iso: f32) -> f64 {
    let (a, b, iso) = (f64::from(a), f64::from(b), f64::from(iso));
    let t = (iso - a) / (b - a);
    // NaN and infinite samples leave no better guess than the middle.
    if t.is_nan() { 0.5 } else { t.clamp(END_GAP, 1.0 - END_GAP) }
}

/// One mesh from all blocks: a shared vertex belongs to the first block that has it.
fn join(parts: Vec<Part>) -> Result<RawMesh, IsoError> {
    let mut shared: Vec<(Key, usize, u32)> = Vec::new();
    for (b, part) in parts.iter().enumerate() {
        shared.extend(part.shared.iter().map(|&(key, v)| (key, b, v)));
    }
    par::sort_unstable(&mut shared);

    // New number of every old vertex: first those that are someone else's, as (block, vertex) of the owner.
    let mut owner: Vec<Vec<(u32, usize, u32)>> = vec![Vec::new(); parts.len()];
    for group in shared.chunk_by(|a, b| a.0 == b.0) {
        for &(_, b, v) in &group[1..] {
            owner[b].push((v, group[0].1, group[0].2));
        }
    }
    let mut next = 0u64;
    let mut numbers: Vec<Vec<u32>> = Vec::with_capacity(parts.len());
    let mut positions = Vec::new();
    for (b, part) in parts.iter().enumerate() {
        owner[b].sort_unstable();
        let mut foreign = owner[b].iter().peekable();
        let mut own = Vec::with_capacity(part.positions.len());
        for (v, &p) in part.positions.iter().enumerate() {
            // Owners come earlier, so their numbers are known.
            if let Some(&&(_, block, vertex)) = foreign.peek().filter(|f| f.0 as usize == v) {
                own.push(numbers[block][vertex as usize]);
                foreign.next();
            } else {
                own.push(next as u32);
                next += 1;
                positions.push(p);
            }
        }
        numbers.push(own);
    }
    if next > u64::from(u32::MAX) {
        return Err(IsoError::TooManyVertices { vertices: next });
    }
    let mut triangles = Vec::with_capacity(parts.iter().map(|p| p.triangles.len()).sum());
    for (part, own) in parts.iter().zip(&numbers) {
        triangles.extend(part.triangles.iter().map(|t| t.map(|v| own[v as usize])));
    }
    Ok(RawMesh { positions, triangles })
}
