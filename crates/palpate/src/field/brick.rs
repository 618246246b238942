//! Bricks: which cells are refined, what their nodes hold outside the band, and how neighbours fit together.
//!
//! Nodes in the band are exact (from the scan). Other nodes of a brick take the distance to the closest triangle of the
//! neighbour through which the band reaches them: never below the true distance, and bounded by the exact corners of
//! the cell. Nodes on a face shared with a cell that is not refined take the background's interpolated value, so the
//! field has no jump there.

use super::lattice::Lattice;
use super::scan::{BRICK, NONE, OWNED, Slab};
use super::surface::{Surface, closest_point};
use crate::par;
use crate::progress::Progress;
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
    /// Distances and triangles of the 8³ nodes cell `c` owns, if any of them is in the band.
    #[inline]
    pub(crate) fn owned(&self, c: [usize; 3]) -> Option<(&[f32; OWNED], &[u32; OWNED])> {
        if (0..3).any(|i| c[i] >= self.cells[i]) {
            return None;
        }
        let slab = &self.slabs[c[2] / self.layers];
        let slot = slab.slots[((c[2] % self.layers) * self.cells[1] + c[1]) * self.cells[0] + c[0]];
        (slot != NONE).then(|| (&slab.distance[slot as usize], &slab.triangle[slot as usize]))
    }

    /// Distance and triangle of background node `n`, if it is in the band.
    pub(crate) fn corner(&self, n: [usize; 3]) -> Option<(f32, u32)> {
        self.owned(n).map(|(d, t)| (d[0], t[0])).filter(|(d, _)| d.is_finite())
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
                    let Some((d, _)) = band.owned([i, j, k]) else { continue };
                    for (o, reaches) in lower_neighbours(d).into_iter().enumerate() {
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
fn lower_neighbours(d: &[f32; OWNED]) -> [bool; 8] {
    let mut any = [false; 8];
    for (at, v) in d.iter().enumerate() {
        if v.is_finite() {
            let (x, y, z) = (at & 7 == 0, at >> 3 & 7 == 0, at >> 6 == 0);
            for (o, flag) in any.iter_mut().enumerate() {
                *flag |= (o & 1 == 0 || x) && (o & 2 == 0 || y) && (o & 4 == 0 || z);
            }
        }
    }
    any
}

/// A brick's own 8³ nodes, all filled.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    /// Signed distances [voxels].
    pub(crate) distance: [f32; OWNED],
    /// Closest triangles, or good ones outside the band.
    pub(crate) triangle: [u32; OWNED],
    /// Largest possible excess of a distance outside the band over the true one [voxels].
    pub(crate) excess: f32,
}

/// Fills the own nodes of every refined brick.
pub(crate) fn fill(
    band: &Band,
    refined: &Refined,
    surface: &Surface,
    corners: &[f32],
    lattice: &Lattice,
    half_width: f32,
    progress: &dyn Progress,
) -> Vec<Filled> {
    progress.stage("bricks", refined.cells.len() as u64);
    let reach = Reach::new();
    par::map(refined.cells.len(), |b| {
        let cell = refined.cells[b].map(|v| v as usize);
        let out = fill_one(band, cell, surface, &corners_of(corners, lattice, cell), half_width, &reach);
        progress.advance(1);
        out
    })
}

/// The eight background values around a cell, x fastest.
pub(crate) fn corners_of(corners: &[f32], lattice: &Lattice, c: [usize; 3]) -> [f32; 8] {
    let [nx, ny, _] = lattice.corners();
    core::array::from_fn(|o| corners[((c[2] + (o >> 2)) * ny + c[1] + (o >> 1 & 1)) * nx + c[0] + (o & 1)])
}

/// Distances between nodes of a brick, by their absolute coordinate differences 0..=8.
struct Reach([f32; NODES]);

impl Reach {
    fn new() -> Self {
        Self(core::array::from_fn(|at| {
            let (x, y, z) = (at % SIDE, at / SIDE % SIDE, at / SIDE / SIDE);
            ((x * x + y * y + z * z) as f32).sqrt()
        }))
    }
}

fn fill_one(
    band: &Band,
    cell: [usize; 3],
    surface: &Surface,
    corners: &[f32; 8],
    half_width: f32,
    reach: &Reach,
) -> Filled {
    // The closed brick: own nodes, and from the upper neighbours the nodes on the shared faces, as seeds.
    let mut distance = [f32::INFINITY; NODES];
    let mut triangle = [NONE; NODES];
    for o in 0..8usize {
        let o = [o & 1, o >> 1 & 1, o >> 2];
        let Some((d, t)) = band.owned([cell[0] + o[0], cell[1] + o[1], cell[2] + o[2]]) else { continue };
        let range = |i: usize| if o[i] == 0 { 0..BRICK } else { 0..1 };
        for z in range(2) {
            for y in range(1) {
                let to = ((z + BRICK * o[2]) * SIDE + y + BRICK * o[1]) * SIDE + BRICK * o[0];
                let from = (z * BRICK + y) * BRICK;
                let n = range(0).len();
                distance[to..to + n].copy_from_slice(&d[from..from + n]);
                triangle[to..to + n].copy_from_slice(&t[from..from + n]);
            }
        }
    }
    let origin = DVec3::from_array(cell.map(|c| (c * BRICK) as f64));
    let excess = spread(&mut distance, &mut triangle, origin, surface, corners, half_width, reach);
    let mut out = Filled { distance: [0.0; OWNED], triangle: [NONE; OWNED], excess };
    for z in 0..BRICK {
        for y in 0..BRICK {
            let (to, from) = ((z * BRICK + y) * BRICK, (z * SIDE + y) * SIDE);
            out.distance[to..to + BRICK].copy_from_slice(&distance[from..from + BRICK]);
            out.triangle[to..to + BRICK].copy_from_slice(&triangle[from..from + BRICK]);
        }
    }
    out
}

/// Fills the nodes outside the band, breadth first from it. Returns the largest possible excess [voxels].
fn spread(
    distance: &mut [f32; NODES],
    triangle: &mut [u32; NODES],
    origin: DVec3,
    surface: &Surface,
    corners: &[f32; 8],
    half_width: f32,
    reach: &Reach,
) -> f32 {
    const STEPS: [usize; 3] = [1, SIDE, SIDE * SIDE];
    let coordinates = |at: usize| [at % SIDE, at / SIDE % SIDE, at / SIDE / SIDE];
    let mut queue = [0u16; NODES];
    let mut tail = 0;
    for at in 0..NODES {
        if distance[at].is_finite() {
            queue[tail] = at as u16;
            tail += 1;
        }
    }
    let mut excess = 0.0f32;
    let mut head = 0;
    while head < tail {
        let q = queue[head] as usize;
        head += 1;
        let cq = coordinates(q);
        for axis in 0..3 {
            for up in [false, true] {
                if if up { cq[axis] == BRICK } else { cq[axis] == 0 } {
                    continue;
                }
                let p = if up { q + STEPS[axis] } else { q - STEPS[axis] };
                if distance[p].is_finite() {
                    continue;
                }
                // The known neighbour nearest to the surface lends its triangle and its side.
                let cp = coordinates(p);
                let mut from = q;
                for (i, step) in STEPS.into_iter().enumerate() {
                    for n in [(cp[i] > 0).then(|| p - step), (cp[i] < BRICK).then(|| p + step)] {
                        if let Some(n) = n.filter(|&n| distance[n].abs() < distance[from].abs()) {
                            from = n;
                        }
                    }
                }
                let t = triangle[from];
                let at = origin + DVec3::from_array(cp.map(|v| v as f64));
                let d = (closest_point(surface.corners_of(t as usize), at).0 - at).length() as f32;
                // What the exact corners of the cell allow.
                let (mut low, mut high) = (half_width, f32::INFINITY);
                for (o, c) in corners.iter().enumerate() {
                    let gap = |i: usize| if o >> i & 1 == 0 { cp[i] } else { BRICK - cp[i] };
                    let r = reach.0[(gap(2) * SIDE + gap(1)) * SIDE + gap(0)];
                    low = low.max(c.abs() - r);
                    high = high.min(c.abs() + r);
                }
                let d = d.min(high);
                excess = excess.max(d - low);
                distance[p] = d.copysign(distance[from]);
                triangle[p] = t;
                queue[tail] = p as u16;
                tail += 1;
            }
        }
    }
    excess
}

/// Writes the 9³ nodes of brick `b`, in voxels, and its closest triangles where `triangles` is not empty. `border` gives
/// exact nodes on the upper border of the grid, which no brick owns.
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
    // For each of the 27 directions: whether the neighbour there is inside the grid but not refined.
    let open: [bool; 27] = core::array::from_fn(|n| {
        let c = [cell[0] + n as i64 % 3 - 1, cell[1] + n as i64 / 3 % 3 - 1, cell[2] + n as i64 / 9 - 1];
        refined.inside(c) && refined.at(c) == NONE
    });
    // Bricks that own the nodes: this one and its upper neighbours.
    let owners: [u32; 8] = core::array::from_fn(|o| {
        refined.at([cell[0] + (o & 1) as i64, cell[1] + (o >> 1 & 1) as i64, cell[2] + (o >> 2) as i64])
    });
    for z in 0..SIDE {
        for y in 0..SIDE {
            for x in 0..SIDE {
                let at = (z * SIDE + y) * SIDE + x;
                let o = (x >> 3) | (y >> 3) << 1 | (z >> 3) << 2;
                let local = (z & 7) << 6 | (y & 7) << 3 | (x & 7);
                let corner = x & 7 == 0 && y & 7 == 0 && z & 7 == 0;
                let (value, triangle) = if corner {
                    (corners[o], NONE)
                } else if on_open_face(&open, [x, y, z]) {
                    (interpolate(corners, [x, y, z]), NONE)
                } else if owners[o] != NONE {
                    let f = &filled[owners[o] as usize];
                    (f.distance[local], f.triangle[local])
                } else {
                    // The upper border of the grid: exact in the band, else as the background.
                    let node = [x, y, z];
                    border(core::array::from_fn(|i| cell[i] as usize * BRICK + node[i]))
                        .unwrap_or_else(|| (interpolate(corners, node), NONE))
                };
                values[at] = value;
                if let Some(t) = triangles.get_mut(at) {
                    *t = triangle;
                }
            }
        }
    }
}

/// Whether node `n` of a brick touches a neighbour that is not refined.
#[inline]
fn on_open_face(open: &[bool; 27], n: [usize; 3]) -> bool {
    let side = n.map(|v| match v {
        0 => 0,
        BRICK => 2,
        _ => 1usize,
    });
    if side == [1, 1, 1] {
        return false;
    }
    // All neighbours that share the node: along each axis the own cell, and the one across if the node is on a face.
    let options = |i: usize| {
        if side[i] == 1 {
            1..=1
        } else if side[i] == 0 {
            0..=1
        } else {
            1..=2
        }
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
