//! Inside and outside of the surface voxels.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, sec. 3.2 "Layering" [sagardia08]: flood fill with a
//! last-in-first-out stack from a corner of the grid.
//! Differs: the stack holds tiles. A tile without surface is filled at once; within the others all 512 voxels
//! spread together, a word at a time. Voxels are neighbours across faces, edges and corners (26): the corner that
//! two free voxels share is touched by no triangle, so both are on the same side of the surface, and a face rule
//! would call the diagonal tips of narrow gaps inside.

use super::voxelize::Surface;
use super::{BuildError, EMPTY, Grid, INSIDE, OUTSIDE, Stats, Tile};
use crate::mesh::Mesh;
use crate::par;
use crate::progress::Progress;

/// Column x = 0 and column x = 7 of every row of a word.
pub(super) const COLUMN_0: u64 = 0x0101_0101_0101_0101;
pub(super) const COLUMN_7: u64 = 0x8080_8080_8080_8080;

/// Stack pops between two looks at whether the caller wants to stop.
const POPS_PER_CHECK: u64 = 1 << 16;

/// Triangles of one piece of the claim: about 100 µs of work.
const CLAIM_PIECE: usize = 1 << 14;

/// What the fill found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FillReport {
    /// Voxels that a triangle meets [1].
    pub surface_voxels: u64,
    /// Voxels enclosed by surface voxels [1].
    pub inside_voxels: u64,
    /// All others [1].
    pub outside_voxels: u64,
    /// Connected sets of inside voxels [1].
    pub regions: u64,
    /// Whether every edge of the mesh belongs to an even number of triangles; such a mesh cannot leak.
    pub closed: bool,
    /// The volume that the triangles enclose by their orientation, seen from the middle of their box [voxel];
    /// senseless for a mesh that is not consistently oriented.
    pub oriented_volume: f64,
    /// Whether the mesh is not closed and encloses, by its orientation, more than inside and surface voxels together
    /// can hold: the outside reached in through a hole wider than a voxel, and what lies behind it counts as outside.
    /// False does not prove that there is no hole.
    pub leaks: bool,
}

/// What the mesh claims to enclose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    closed: bool,
    volume: f64,
}

/// Surface and inside voxels, ready for layers.
#[derive(Debug)]
pub(super) struct Filled {
    /// OUTSIDE, INSIDE, or the place of a tile below.
    pub(super) directory: Vec<u32>,
    pub(super) surface: Vec<Tile>,
    pub(super) inside: Vec<Tile>,
    pub(super) report: FillReport,
    pub(super) stats: Stats,
}

/// What `mesh` claims to enclose, in voxels of edge `voxel` [m].
///
/// Edges are paired without sorting them: each adds its hash by exclusive or, so that a sum of 0 means (but for 1 in
/// 2^64) that each occurs an even number of times.
pub(super) fn claim(mesh: &Mesh, voxel: f64) -> Claim {
    let middle = mesh.aabb().centre();
    let triangles = mesh.triangles();
    // Pieces of fixed size, added in order: the same sum for any number of threads.
    let sums = par::map(triangles.len().div_ceil(CLAIM_PIECE), |piece| {
        let (mut edges, mut six) = (0, 0.0);
        for &[a, b, c] in triangles.iter().skip(piece * CLAIM_PIECE).take(CLAIM_PIECE) {
            edges ^= edge_hash(a, b) ^ edge_hash(b, c) ^ edge_hash(c, a);
            let [a, b, c] = [a, b, c].map(|v| mesh.positions()[v as usize] - middle);
            six += a.dot(b.cross(c));
        }
        (edges, six)
    });
    let edges = sums.iter().fold(0, |sum, s| sum ^ s.0);
    let six: f64 = sums.iter().map(|s| s.1).sum();
    Claim { closed: edges == 0, volume: six / 6.0 / voxel.powi(3) }
}

/// A well mixed number for an edge, the same in both directions.
fn edge_hash(a: u32, b: u32) -> u64 {
    let mut h = (u64::from(a.min(b)) << 32 | u64::from(a.max(b))).wrapping_add(0x9e37_79b9_7f4a_7c15);
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

/// Tells inside from outside.
pub(super) fn fill(
    surface: Surface,
    grid: &Grid,
    claim: Claim,
    progress: &dyn Progress,
) -> Result<Filled, BuildError> {
    progress.stage("fill", 0);
    let Surface { directory, tiles: surface, mut stats } = surface;
    let mut flood = Flood {
        dims: grid.tile_dims().map(|n| n as usize),
        reached: vec![[0; 8]; surface.len()],
        blocked: surface.clone(),
        queued: vec![false; surface.len()],
        directory,
        stack: Vec::new(),
        pops: 0,
    };
    // The corner voxel is free: the padding is wider than what the surface can touch.
    flood.enter(0, [1, 0, 0, 0, 0, 0, 0, 0], OUTSIDE);
    flood.run(OUTSIDE, progress)?;

    // What remains is inside, region by region.
    for (blocked, reached) in flood.blocked.iter_mut().zip(&mut flood.reached) {
        for (b, r) in blocked.iter_mut().zip(reached) {
            *b |= *r;
            *r = 0;
        }
    }
    let mut regions = 0;
    for t in 0..flood.directory.len() {
        while let Some(seed) = flood.first_free(t) {
            regions += 1;
            flood.enter(t, seed, INSIDE);
            flood.run(INSIDE, progress)?;
        }
    }
    let count = |tiles: &[Tile]| tiles.iter().flatten().map(|w| u64::from(w.count_ones())).sum::<u64>();
    let surface_voxels = count(&surface);
    let whole = flood.directory.iter().filter(|e| **e == INSIDE).count() as u64;
    let inside_voxels = count(&flood.reached) + 512 * whole;
    stats.surface_voxels = surface_voxels;
    stats.tiles = surface.len() as u64;
    let report = FillReport {
        surface_voxels,
        inside_voxels,
        outside_voxels: grid.voxel_count().saturating_sub(inside_voxels + surface_voxels),
        regions,
        closed: claim.closed,
        oriented_volume: claim.volume,
        leaks: !claim.closed && claim.volume.abs() > (inside_voxels + surface_voxels) as f64,
    };
    Ok(Filled { directory: flood.directory, surface, inside: flood.reached, report, stats })
}

/// A flood over tiles.
struct Flood {
    /// Tiles along each axis.
    dims: [usize; 3],
    directory: Vec<u32>,
    /// Voxels that the flood may not enter.
    blocked: Vec<Tile>,
    /// Voxels that the flood has reached.
    reached: Vec<Tile>,
    /// Whether a tile waits on the stack.
    queued: Vec<bool>,
    stack: Vec<usize>,
    pops: u64,
}

impl Flood {
    /// One voxel of tile `t` that is neither blocked nor reached.
    fn first_free(&self, t: usize) -> Option<Tile> {
        let mut seed = [0; 8];
        match self.directory[t] {
            EMPTY => seed[0] = 1,
            INSIDE | OUTSIDE => return None,
            place => {
                let (blocked, reached) = (&self.blocked[place as usize], &self.reached[place as usize]);
                let z = (0..8).find(|&z| blocked[z] | reached[z] != u64::MAX)?;
                let free = !(blocked[z] | reached[z]);
                seed[z] = free & free.wrapping_neg();
            }
        }
        Some(seed)
    }

    /// Lets the flood into tile `t` at the voxels `seeds`, as far as they are free.
    #[inline]
    fn enter(&mut self, t: usize, seeds: Tile, label: u32) {
        let entry = self.directory[t];
        if entry == EMPTY {
            if seeds != [0; 8] {
                self.directory[t] = label;
                self.stack.push(t);
            }
        } else if entry < INSIDE {
            let place = entry as usize;
            let (blocked, reached) = (&self.blocked[place], &mut self.reached[place]);
            let mut fresh = 0;
            for z in 0..8 {
                let new = seeds[z] & !blocked[z] & !reached[z];
                reached[z] |= new;
                fresh |= new;
            }
            if fresh != 0 && !self.queued[place] {
                self.queued[place] = true;
                self.stack.push(t);
            }
        }
    }

    /// Spreads until nothing changes.
    fn run(&mut self, label: u32, progress: &dyn Progress) -> Result<(), BuildError> {
        let [nx, ny, nz] = self.dims;
        while let Some(t) = self.stack.pop() {
            self.pops += 1;
            if self.pops.is_multiple_of(POPS_PER_CHECK) && progress.cancelled() {
                return Err(BuildError::Cancelled);
            }
            let entry = self.directory[t];
            let tile = if entry == label {
                [u64::MAX; 8]
            } else {
                let place = entry as usize;
                self.queued[place] = false;
                spread(&mut self.reached[place], &self.blocked[place]);
                self.reached[place]
            };
            let (x, y, z) = (t % nx, t / nx % ny, t / (nx * ny));
            for (dz, to_z) in neighbours(z, nz) {
                for (dy, to_y) in neighbours(y, ny) {
                    let row = (to_z * ny + to_y) * nx;
                    for (dx, to_x) in neighbours(x, nx) {
                        let to = row + to_x;
                        if self.directory[to] == label || to == t {
                            continue;
                        }
                        self.enter(to, shifted(&tile, dx, dy, dz), label);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Places next to `i` within `0..n`, with their direction.
fn neighbours(i: usize, n: usize) -> impl Iterator<Item = (i32, usize)> {
    (-1..=1).filter_map(move |d| Some((d, i.checked_add_signed(d as isize).filter(|&to| to < n)?)))
}

/// The voxels of the tile in direction (dx, dy, dz) that are neighbours of voxels of `tile`.
#[inline]
fn shifted(tile: &Tile, dx: i32, dy: i32, dz: i32) -> Tile {
    let mut out = match dz {
        0 => *tile,
        1 => [tile[7], 0, 0, 0, 0, 0, 0, 0],
        _ => [0, 0, 0, 0, 0, 0, 0, tile[0]],
    };
    for w in &mut out {
        *w = match dy {
            0 => *w | *w << 8 | *w >> 8,
            1 => *w >> 56,
            _ => *w << 56,
        };
        *w = match dx {
            0 => along_x(*w),
            1 => *w >> 7 & COLUMN_0,
            _ => *w << 7 & COLUMN_7,
        };
    }
    if dz == 0 { along_z(&out) } else { out }
}

/// A word and its neighbours along x within it.
#[inline]
pub(super) fn along_x(w: u64) -> u64 {
    w | (w << 1 & !COLUMN_0) | (w >> 1 & !COLUMN_7)
}

/// A tile and its neighbours along z within it.
#[inline]
fn along_z(t: &Tile) -> Tile {
    let mut out = *t;
    for z in 0..7 {
        out[z] |= t[z + 1];
        out[z + 1] |= t[z];
    }
    out
}

/// Spreads `reached` within its tile over the voxels that are not `blocked`.
fn spread(reached: &mut Tile, blocked: &Tile) {
    loop {
        let mut grown = *reached;
        for w in &mut grown {
            *w = along_x(*w);
            *w |= *w << 8 | *w >> 8;
        }
        grown = along_z(&grown);
        for (w, b) in grown.iter_mut().zip(blocked) {
            *w &= !b;
        }
        if grown == *reached {
            return;
        }
        *reached = grown;
    }
}
