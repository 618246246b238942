//! Exact distances in a narrow band: every feature of the surface writes to the grid nodes it may be closest to.
//!
//! Based on: Mauch, Efficient algorithms for solving static Hamilton-Jacobi equations, 2003, closest point transform
//! by scan conversion of the features' Voronoi polyhedra [mauch03].
//! Differs: sections of the polyhedra are bounded by rectangles, slice by slice along the axis nearest the feature's
//! normal; their nodes are tested against the polyhedron's sides, eight slices at a time, and every distance is that of
//! a real point of the surface, so a node just outside the polyhedron costs time but never correctness; the region of
//! a vertex is the polar cone of its edges, bounded by the normals around it or, for any valence, for saddles and for
//! non-manifold fans, on the faces of the unit cube; slabs of bricks are scanned apart, so threads never share a node.

mod edge;
mod face;
mod fan;
mod group;
mod sweep;
mod vertex;

use super::bvh::Bvh;
use super::surface::Surface;
use crate::simd::{LANES, Lanes, dispatch};
use crate::store::prefer_large_pages;
use edge::{Edges, scan_edge};
use face::{Faces, scan_face};
pub(crate) use fan::Vertices;
use glam::DVec3;
use vertex::scan_cone;

/// Nodes along the edge of a brick.
pub(crate) const BRICK: usize = 8;
/// Nodes a brick owns: those with local coordinates 0..8.
pub(crate) const OWNED: usize = BRICK * BRICK * BRICK;
/// No brick, or no triangle.
pub(crate) const NONE: u32 = u32::MAX;
/// A node nothing wrote to.
pub(crate) const EMPTY: u64 = u64::MAX;

/// 0, 1, … 7: the slices of a block.
const IOTA: [f32; LANES] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// Signed distance [voxels] and triangle of a node, packed so that the nearer of two is the smaller number, and of
/// two equally near ones that of the lower triangle: the result does not depend on the order of writing.
#[inline(always)]
fn pack(distance: f32, triangle: u32, on_face: bool) -> u64 {
    let bits = u64::from(distance.to_bits());
    let low = u64::from(triangle) << 2 | u64::from(!on_face) << 1 | bits >> 31;
    (bits & 0x7FFF_FFFF) << 32 | low
}

/// Whether a packed node is nearest to the interior of its triangle.
#[inline(always)]
pub(crate) fn on_face(node: u64) -> bool {
    node & 2 == 0
}

/// What [`pack`] packed; an infinite distance for [`EMPTY`].
#[inline(always)]
pub(crate) fn unpack(node: u64) -> (f32, u32) {
    if node == EMPTY {
        return (f32::INFINITY, NONE);
    }
    let distance = f32::from_bits((node >> 32) as u32);
    (if node & 1 == 1 { -distance } else { distance }, (node as u32) >> 2)
}

/// Bricks of one slab of the grid, as they are written.
#[derive(Debug)]
pub(crate) struct Slab {
    /// First node of the slab along each axis, and one past the last.
    first: [i32; 3],
    end: [i32; 3],
    /// What each coordinate along each axis, from the first on, adds to the address of a node: its cell times `OWNED`
    /// plus its place in the brick.
    address: [Vec<usize>; 3],
    /// Brick of each cell, or `NONE`; x fastest.
    pub(crate) slots: Vec<u32>,
    /// Packed nodes of each brick.
    pub(crate) nodes: Vec<[u64; OWNED]>,
    /// Half width of the band [voxels].
    band: f64,
    /// What sections of wedges, found in f32, are widened by [voxels].
    slack: f32,
}

/// Axes of a scan: slices along w, rows along u, nodes along v.
#[derive(Clone, Copy)]
struct Axes {
    u: usize,
    v: usize,
    w: usize,
}

impl Axes {
    #[inline(always)]
    fn along(w: usize) -> Self {
        Self { u: (w + 1) % 3, v: (w + 2) % 3, w }
    }

    /// `p` with its coordinates in the order u, v, w.
    #[inline(always)]
    fn turn(self, p: DVec3) -> [f64; 3] {
        let p = p.to_array();
        [p[self.u], p[self.v], p[self.w]]
    }
}

impl Slab {
    /// An empty slab over brick layers `layers` of a grid with `cells` bricks along x and y (ghost layer included).
    pub(crate) fn new(cells: [usize; 2], layers: core::ops::Range<usize>, band: f64) -> Self {
        let node = |c: usize| (c * BRICK) as i32;
        let largest = cells[0].max(cells[1]).max(layers.end) * BRICK;
        Self {
            first: [0, 0, node(layers.start)],
            end: [node(cells[0]), node(cells[1]), node(layers.end)],
            address: [
                addresses(0, cells[0], 1),
                addresses(1, cells[1], cells[0]),
                addresses(2, layers.len(), cells[0] * cells[1]),
            ],
            slots: vec![NONE; cells[0] * cells[1] * layers.len()],
            nodes: Vec::new(),
            band,
            slack: 1e-3 + 2e-6 * largest as f32,
        }
    }

    /// Makes room for about so many bricks, at most one a cell.
    pub(crate) fn reserve(&mut self, bricks: usize) {
        // An estimate only: where the system refuses so much at once, bricks are added one by one.
        if self.nodes.try_reserve_exact(bricks.min(self.slots.len())).is_ok() {
            prefer_large_pages(&mut self.nodes);
        }
    }

    /// Writes a candidate to the node at `address`.
    #[inline(always)]
    fn offer(&mut self, address: usize, distance: f32, triangle: u32, on_face: bool) {
        let cell = address / OWNED;
        let mut slot = self.slots[cell];
        if slot == NONE {
            slot = self.nodes.len() as u32;
            self.slots[cell] = slot;
            self.nodes.push([EMPTY; OWNED]);
        }
        let best = &mut self.nodes[slot as usize][address % OWNED];
        *best = (*best).min(pack(distance, triangle, on_face));
    }

    /// The coordinates of a node given relative to the first of the slab, along the axes of a scan.
    #[inline(always)]
    fn node(&self, axes: Axes, node: [u32; 3]) -> [i32; 3] {
        [
            (node[0] as i32).wrapping_add(self.first[axes.u]),
            (node[1] as i32).wrapping_add(self.first[axes.v]),
            (node[2] as i32).wrapping_add(self.first[axes.w]),
        ]
    }

    /// Integers in `[low, high]` along `axis`, clipped to the slab.
    #[inline(always)]
    fn clip(&self, axis: usize, low: f64, high: f64) -> (i32, i32) {
        (ceil(low).max(self.first[axis]), floor(high).min(self.end[axis] - 1))
    }

    /// Slices between `low` and `high` along `axis`, if any is in the slab.
    #[inline(always)]
    fn slices(&self, axis: usize, low: f64, high: f64) -> Option<Slices> {
        let (first, last) = (ceil(low), floor(high));
        let (from, to) = (first.max(self.first[axis]), last.min(self.end[axis] - 1));
        if from <= to { Some(Slices { first, last, from, to }) } else { None }
    }

    /// Whether something between `low` and `high` along z reaches into the slab with its band.
    #[inline(always)]
    fn reaches(&self, low: f64, high: f64) -> bool {
        high + self.band >= f64::from(self.first[2]) && low - self.band < f64::from(self.end[2])
    }

    /// Scans all features that reach the slab.
    pub(crate) fn scan(&mut self, surface: &Surface, bvh: &Bvh, vertices: &Vertices) {
        let reach = (self.band + 1e-3) as f32;
        let (low, high) = (self.first[2] as f32 - reach, self.end[2] as f32 + reach);
        bvh.between(low, high, |range| scan_triangles(self, surface, range));
        vertices.scan(self, |slab, cone| {
            let p = surface.positions[cone.vertex as usize];
            if slab.reaches(p.z, p.z) {
                scan_cone(slab, p, cone);
            }
        });
    }
}

dispatch! {
    fn scan_triangles / scan_triangles_plain =
        scan_kernel(slab: &mut Slab, surface: &Surface, range: core::ops::Range<usize>)
}

#[inline(always)]
fn scan_kernel<L: Lanes>(slab: &mut Slab, surface: &Surface, range: core::ops::Range<usize>) {
    let (mut faces, mut edges) = (Faces::new(), Edges::new());
    for t in range {
        let [a, b, c] = surface.corners_of(t);
        if slab.reaches(a.z.min(b.z).min(c.z), a.z.max(b.z).max(c.z)) {
            let n = surface.normals[t];
            scan_face::<L>(slab, &mut faces, [a, b, c], n, t as u32);
            for (e, [v0, v1]) in [[a, b], [b, c], [c, a]].into_iter().enumerate() {
                scan_edge::<L>(slab, &mut edges, surface, v0, v1, n, t, e);
            }
        }
    }
    faces.flush::<L>(slab);
    edges.flush::<L>(slab);
}

/// What the coordinates of `cells` cells along `axis`, whose numbers are `stride` apart, add to addresses.
fn addresses(axis: usize, cells: usize, stride: usize) -> Vec<usize> {
    (0..cells * BRICK).map(|c| (c / BRICK) * stride * OWNED + ((c % BRICK) << (3 * axis))).collect()
}

/// Slices of a feature: those it reaches, and those of them in the slab. Blocks are counted from the first it reaches, so that
/// what rounding does to a node does not depend on how the grid is cut into slabs.
#[derive(Clone, Copy)]
struct Slices {
    first: i32,
    last: i32,
    from: i32,
    to: i32,
}

impl Slices {
    /// Where blocks of eight start that have slices in the slab.
    #[inline(always)]
    fn blocks(self) -> (i32, i32) {
        (self.first.wrapping_add(self.from.wrapping_sub(self.first) & !(LANES as i32 - 1)), self.to)
    }

    /// The lanes of the block that starts at slice `base` that are in the slab.
    #[inline(always)]
    fn lanes(self, base: i32) -> u32 {
        let below = |last: i32| (1u32 << (last - base + 1).clamp(0, LANES as i32)) - 1;
        below(self.to) & !below(self.from - 1)
    }
}

/// `node` as numbers. (A function: closures, as for `map`, are calls in kernels.)
#[inline(always)]
fn float(node: [i32; 3]) -> [f64; 3] {
    [f64::from(node[0]), f64::from(node[1]), f64::from(node[2])]
}

/// `v.floor() as i32` without the call that the baseline target makes of it. Saturates as casts do.
#[inline(always)]
fn floor(v: f64) -> i32 {
    let i = v as i32;
    i - i32::from(v < f64::from(i)) * i32::from(i > i32::MIN)
}

/// `v.ceil() as i32`.
#[inline(always)]
fn ceil(v: f64) -> i32 {
    let i = v as i32;
    i + i32::from(v > f64::from(i)) * i32::from(i < i32::MAX)
}

/// The axis along which `n` is longest.
#[inline(always)]
fn dominant(n: DVec3) -> usize {
    let a = n.abs();
    if a.x >= a.y && a.x >= a.z {
        0
    } else if a.y >= a.z {
        1
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Mesh, samples};

    /// The kernel writes the same bits with any width of lanes.
    #[test]
    fn plain_and_wide_lanes_scan_the_same() {
        let mesh = Mesh::new(samples::bumpy_sphere(20.0, 3.0, 6, 4, 1), &Default::default()).unwrap();
        let positions: Vec<DVec3> = mesh.positions().iter().map(|p| *p + DVec3::splat(30.3)).collect();
        let surface = Surface::new(&positions, mesh.triangles(), mesh.topology());
        let mut slabs = [0, 1].map(|_| Slab::new([8, 8], 0..8, 4.3));
        scan_triangles(&mut slabs[0], &surface, 0..surface.triangles.len());
        scan_triangles_plain(&mut slabs[1], &surface, 0..surface.triangles.len());
        assert!(slabs[0].nodes.len() > 50);
        assert_eq!(slabs[0].slots, slabs[1].slots);
        assert!(slabs[0].nodes == slabs[1].nodes);
    }
}
