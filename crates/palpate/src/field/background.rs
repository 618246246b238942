//! The background grid: a distance at every eighth node, exact at the corners of bricks, propagated to all others.
//!
//! Based on: Danielsson, Euclidean distance mapping, 1980 [danielsson80] (vector propagation by sweeps).
//! Differs: nodes hand on points of the mesh, and look for a nearer one among the triangles around it; a lower bound
//! from blocks that hold the surface says how far each can be off.
//!
//! What exact nodes promise between them: let p have the distance D > 0 to its closest point s, n the direction from s to p,
//! and xᵢ = p + δᵢ the eight nodes around p, h apart, with trilinear weights wᵢ. Then Σ wᵢ·δᵢ = 0, and
//! Σ wᵢ·|δᵢ|² = a² = Σ over axes of h²·t·(1 − t) <= 3·h²/4. As s is a point of the surface, each node's distance is at most
//! |xᵢ − s|, and |xᵢ − s|² = D² + 2·D·n·δᵢ + |δᵢ|². The mean of the squares is D² + a², so for the interpolated value f,
//! a mean, f² <= Σ wᵢ·D²(xᵢ) <= D² + a². Hence D >= √(f² − a²), which is at least f − a, and f exceeds D by at most
//! a²/(2·D) <= 3·h²/(8·D): little, far from the surface. [`super::far`] makes bounds of this.

use super::brick::Refined;
use super::bvh::Bvh;
use super::lattice::Lattice;
use super::scan::{BRICK, NONE};
use super::surface::{Surface, closest_point};
use crate::par;
use crate::progress::Progress;
use glam::{DVec3, Vec3};

/// Rounds of sweeps along the three axes, there and back. One reaches every node, the second around corners.
const ROUNDS: usize = 2;

/// Diagonal of the box of a 4³ block and of what is within a voxel of it [voxels]: see [`gap`].
const BLOCK_DIAGONAL: f32 = 8.661;

/// What a background node knows.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// A point of the surface [voxels].
    point: Vec3,
    /// Squared distance to it; negative if it must not change.
    squared: f32,
    /// The triangle it is on; `NONE` if the node knows nothing yet.
    triangle: u32,
    /// The exact node it came from.
    source: u32,
}

const UNKNOWN: Node = Node { point: Vec3::ZERO, squared: f32::INFINITY, triangle: NONE, source: NONE };

/// How the far nodes hang on the exact ones.
#[derive(Debug)]
pub(crate) struct Far {
    /// By how much the farthest off may be too large [voxels].
    pub(crate) excess: f32,
    /// For each node the exact one whose point it took; for exact ones themselves.
    sources: Vec<u32>,
}

impl Far {
    /// Whether a node is exact.
    pub(crate) fn is_exact(&self, n: usize) -> bool {
        self.sources[n] as usize == n
    }

    /// Gives far nodes the side of the exact ones they hang on: no surface is between them.
    pub(crate) fn sign(&self, distances: &mut [f32]) {
        for (n, &source) in self.sources.iter().enumerate() {
            if let Some(&side) = distances.get(source as usize) {
                distances[n] = distances[n].copysign(side);
            }
        }
    }
}

/// The background while it is made.
#[derive(Debug)]
pub(crate) struct Background {
    nodes: Vec<Node>,
    dims: [usize; 3],
}

impl Background {
    /// The corners of all refined cells, exactly; signs are the pseudonormal's. `known` gives what the band has.
    ///
    /// Each row starts from the last triangle of its neighbourhood, so searches are short.
    pub(crate) fn near(
        surface: &Surface,
        bvh: &Bvh,
        lattice: &Lattice,
        refined: &Refined,
        known: impl Fn([usize; 3]) -> Option<(f32, u32)> + Sync + Send,
        progress: &dyn Progress,
    ) -> (Self, Vec<f32>) {
        let dims = lattice.corners();
        let [nx, ny, nz] = dims;
        progress.stage("background", nz as u64);
        let mut wanted = vec![false; nx * ny * nz];
        for c in &refined.cells {
            let at = (c[2] as usize * ny + c[1] as usize) * nx + c[0] as usize;
            for row in [at, at + nx, at + nx * ny, at + nx * ny + nx] {
                (wanted[row], wanted[row + 1]) = (true, true);
            }
        }
        let mut nodes = vec![UNKNOWN; nx * ny * nz];
        let mut distances = vec![f32::INFINITY; nx * ny * nz];
        // One layer a work item: its nodes hand their triangles on.
        par::zip_chunks_mut(&mut nodes, nx * ny, &mut distances, nx * ny, |k, nodes, distances| {
            let mut guess = 0;
            for at in (0..nx * ny).filter(|at| wanted[k * nx * ny + at]) {
                let (i, j) = (at % nx, at / nx);
                let p = DVec3::new(i as f64, j as f64, k as f64) * BRICK as f64;
                let (d, t) = known([i, j, k]).unwrap_or_else(|| {
                    let below = if j > 0 { nodes[at - nx].triangle } else { NONE };
                    let (t, _) = bvh.closest(surface, p, if below == NONE { guess } else { below });
                    (surface.signed_distance_to(t as usize, p) as f32, t)
                });
                guess = t;
                let q = closest_point(surface.corners_of(t as usize), p).0;
                let source = (k * nx * ny + at) as u32;
                nodes[at] = Node { point: q.as_vec3(), squared: -1.0, triangle: t, source };
                distances[at] = d;
            }
            progress.advance(1);
        });
        (Self { nodes, dims }, distances)
    }

    /// Gives all other nodes their distances [voxels], with sides.
    /// With `exact` they are exact, and hang on exact nodes only for their sides.
    /// `touched` says which 4³ blocks of the grid may hold the surface, two to a cell along each axis, x fastest.
    pub(crate) fn far(
        mut self,
        surface: &Surface,
        bvh: &Bvh,
        exact: bool,
        touched: impl FnOnce() -> Vec<bool>,
        distances: &mut [f32],
    ) -> Far {
        let [nx, ny, nz] = self.dims;
        for _ in 0..ROUNDS {
            par::chunks_mut(&mut self.nodes, nx * ny, |k, layer| sweep_layer(layer, nx, k));
            self.sweep_layers();
        }
        let least = if exact { Vec::new() } else { least_distances(&touched(), self.dims) };
        let nodes = &self.nodes;
        let mut excess = vec![0.0f32; nz];
        par::zip_chunks_mut(distances, nx * ny, &mut excess, 1, |k, out, excess| {
            let mut last = NONE;
            for (at, d) in out.iter_mut().enumerate() {
                let node = nodes[k * nx * ny + at];
                if node.squared < 0.0 {
                    continue;
                }
                let p = position(at % nx, at / nx, k);
                if exact && node.triangle != NONE {
                    let near = if at % nx > 0 && last != NONE { last } else { node.triangle };
                    let (t, size) = bvh.closest(surface, p.as_dvec3(), near);
                    (last, *d) = (t, size as f32);
                    continue;
                }
                // Nothing reached it only if there is no brick at all.
                let mut size =
                    if node.triangle == NONE { 0.0 } else { bvh.improve(p, node.triangle, node.squared) };
                let above = size - least.get(k * nx * ny + at).unwrap_or(&0.0);
                if above > BLOCK_DIAGONAL && node.triangle != NONE {
                    // No block has the surface so far behind its nearest point: the sweeps missed the right one.
                    size = bvh.closest(surface, p.as_dvec3(), node.triangle).1 as f32;
                } else {
                    excess[0] = excess[0].max(above);
                }
                *d = size;
            }
        });
        let far = Far {
            excess: excess.into_iter().fold(0.0, f32::max),
            sources: self.nodes.iter().map(|n| n.source).collect(),
        };
        far.sign(distances);
        far
    }

    /// Hands points from layer to layer, up and down.
    fn sweep_layers(&mut self) {
        let [nx, ny, nz] = self.dims;
        let layer = nx * ny;
        for k in (1..nz).chain((0..nz.saturating_sub(1)).rev().map(|k| k + nz)) {
            let (k, from) = if k < nz { (k, k - 1) } else { (k - nz, k - nz + 1) };
            for at in 0..layer {
                let offered = self.nodes[from * layer + at];
                self.nodes[k * layer + at].take(&offered, position(at % nx, at / nx, k));
            }
        }
    }
}

impl Node {
    /// Takes the point of a neighbour if it is nearer to `p`.
    #[inline(always)]
    fn take(&mut self, other: &Self, p: Vec3) {
        let squared = (other.point - p).length_squared();
        if squared < self.squared && other.triangle != NONE {
            *self = Self { squared, ..*other };
        }
    }
}

#[inline(always)]
fn position(i: usize, j: usize, k: usize) -> Vec3 {
    Vec3::new(i as f32, j as f32, k as f32) * BRICK as f32
}

/// Hands points along x and y, both ways, in layer `k`.
fn sweep_layer(layer: &mut [Node], nx: usize, k: usize) {
    let ny = layer.len() / nx;
    for (j, row) in layer.chunks_mut(nx).enumerate() {
        for i in 1..nx {
            let offered = row[i - 1];
            row[i].take(&offered, position(i, j, k));
        }
        for i in (1..nx).rev() {
            let offered = row[i];
            row[i - 1].take(&offered, position(i - 1, j, k));
        }
    }
    for j in 1..ny {
        let (below, row) = layer[(j - 1) * nx..(j + 1) * nx].split_at_mut(nx);
        for (i, (node, offered)) in row.iter_mut().zip(below).enumerate() {
            node.take(offered, position(i, j, k));
        }
    }
    for j in (1..ny).rev() {
        let (row, above) = layer[(j - 1) * nx..(j + 1) * nx].split_at_mut(nx);
        for (i, (node, offered)) in row.iter_mut().zip(above).enumerate() {
            node.take(offered, position(i, j - 1, k));
        }
    }
}

/// Squared gap along one axis between background node `n` and the surface in block `b`: nodes 4b to 4b + 3, and what is
/// within a voxel of them [voxels²].
#[inline(always)]
fn gap(n: usize, b: usize) -> f32 {
    let (n, low) = ((n * BRICK) as f32, b as f32 * 4.0);
    let gap = (low - 1.0 - n).max(n - low - 4.0).max(0.0);
    gap * gap
}

/// For every background node a lower bound of its distance to all touched blocks [voxels]: the exact distance to their
/// boxes, axis by axis.
fn least_distances(touched: &[bool], dims: [usize; 3]) -> Vec<f32> {
    let [nx, ny, nz] = dims;
    let [bx, by, bz] = dims.map(|n| 2 * (n - 1));
    // Along x, then y, in each layer of blocks.
    let layers: Vec<Vec<f32>> = par::map(bz, |z| {
        let mut along_x = vec![f32::INFINITY; by * nx];
        let mut any = vec![false; by];
        for y in 0..by {
            let row = &touched[(z * by + y) * bx..][..bx];
            any[y] = row.contains(&true);
            for b in (0..bx).filter(|b| row[*b]) {
                // Nodes nearer to this block than to those before it; later ones overwrite what they are nearer to.
                let out = &mut along_x[y * nx..(y + 1) * nx];
                for (n, out) in out.iter_mut().enumerate().skip(b / 2 + 1) {
                    *out = gap(n, b);
                }
                for n in (0..=b / 2).rev() {
                    let g = gap(n, b);
                    if g >= out[n] {
                        break;
                    }
                    out[n] = g;
                }
            }
        }
        let mut along_y = vec![f32::INFINITY; ny * nx];
        for (j, out) in along_y.chunks_mut(nx).enumerate() {
            for y in (0..by).filter(|y| any[*y]) {
                lower(out, &along_x[y * nx..(y + 1) * nx], gap(j, y));
            }
        }
        along_y
    });
    let mut out = vec![f32::INFINITY; nx * ny * nz];
    par::chunks_mut(&mut out, nx * ny, |k, out| {
        for (z, layer) in layers.iter().enumerate() {
            lower(out, layer, gap(k, z));
        }
        out.iter_mut().for_each(|d| *d = d.sqrt());
    });
    out
}

/// Lowers each value to `add` more than another, where that is less.
#[inline]
fn lower(out: &mut [f32], from: &[f32], add: f32) {
    for (o, f) in out.iter_mut().zip(from) {
        let v = f + add;
        *o = if v < *o { v } else { *o };
    }
}
