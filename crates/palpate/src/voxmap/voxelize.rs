//! Surface voxels of a mesh, as sparse tiles.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, sec. 3.1 [sagardia08]: navigation in the box of a triangle
//! by columns, first approach (test every voxel of the column's range) and second approach (test from both ends to
//! the first hit, mark between).
//! Differs: columns run along x, because a row of x is a byte of a tile and is marked at once. A third approach
//! solves the column's two ends from the axes instead of searching them by tests; it is never slower, so it is what
//! `Auto` takes (see [`Navigation`]). Layers of tiles are voxelized in parallel, each by one thread, from triangles
//! sorted into layers beforehand, so that no voxel is shared between threads.

use super::sat::{Prepared, integers, least, most, slack, voxel_range};
use super::{EMPTY, Grid, Navigation, Stats, TILE, Tile};
use crate::mesh::Mesh;
use crate::par;
use crate::progress::Progress;
use core::sync::atomic::{AtomicU64, Ordering};

/// Triangles sorted into layers as one piece of work.
/// Larger: too few pieces for many threads. Smaller: the table of pieces times layers outgrows the lists.
const SORT_PIECE: usize = 8192;

/// Layer entries allowed per triangle before layers are made thicker.
/// Larger: lists of long triangles fill memory. Smaller: fewer layers to share between threads.
const ENTRIES_PER_TRIANGLE: u64 = 4;

/// The surface tiles of a mesh: `directory` holds a tile's place in `tiles`, or [`EMPTY`].
#[derive(Clone, Debug)]
pub(super) struct Surface {
    pub(super) directory: Vec<u32>,
    pub(super) tiles: Vec<Tile>,
    pub(super) stats: Stats,
}

/// Why no surface came back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Cancelled,
    /// More tiles than allowed: at least this many.
    Tiles(u64),
}

/// Triangles of one piece, sorted by layer: those of layer s are `ids[starts[s]..starts[s + 1]]`.
struct Sorted {
    starts: Vec<u32>,
    ids: Vec<u32>,
}

/// From metres to voxels: the grid's origin and the inverse of its voxel size.
#[derive(Clone, Copy)]
struct Scale {
    origin: glam::DVec3,
    inv: f64,
}

impl Scale {
    fn corners(&self, mesh: &Mesh, t: usize) -> [[f64; 3]; 3] {
        mesh.corners(t).map(|p| ((p - self.origin) * self.inv).to_array())
    }

    fn z(&self, mesh: &Mesh, vertex: u32) -> f64 {
        (mesh.positions()[vertex as usize].z - self.origin.z) * self.inv
    }
}

/// Marks every voxel of `grid` that a triangle of `mesh` meets. `tile_limit` bounds the number of tiles.
pub(super) fn surface(
    mesh: &Mesh,
    grid: &Grid,
    navigation: Navigation,
    tile_limit: u64,
    progress: &dyn Progress,
) -> Result<Surface, Fault> {
    let scale = Scale { origin: grid.origin, inv: 1.0 / grid.voxel };
    let slack = slack(grid.dims.into_iter().max().unwrap_or(0));
    let [tx, ty, tz] = grid.tile_dims().map(|n| n as usize);
    let spans = layer_spans(mesh, &scale, slack, grid.dims[2]);
    let thickness = layer_thickness(&spans, tz);
    let layers = tz.div_ceil(thickness);
    let sorted = sort_into_layers(&spans, thickness, layers);
    drop(spans);

    progress.stage("voxelize", layers as u64);
    let tile_count = AtomicU64::new(0);
    let parts = par::map(layers, |layer| {
        if progress.cancelled() || tile_count.load(Ordering::Relaxed) > tile_limit {
            return None;
        }
        let first_tile = layer * thickness;
        let tile_layers = thickness.min(tz - first_tile);
        let mut part = Part::new([tx, ty, tile_layers], first_tile, grid.dims[2]);
        for piece in &sorted {
            let (a, b) = (piece.starts[layer] as usize, piece.starts[layer + 1] as usize);
            for &t in &piece.ids[a..b] {
                if let Some(p) = Prepared::new(scale.corners(mesh, t as usize), grid.dims, slack) {
                    part.mark(&p, navigation);
                }
            }
        }
        tile_count.fetch_add(part.tiles.len() as u64, Ordering::Relaxed);
        progress.advance(1);
        Some(part)
    });
    if progress.cancelled() {
        return Err(Fault::Cancelled);
    }
    // Only exceeding the limit leaves a part out once cancelling is excluded.
    let total = tile_count.into_inner();
    let Some(parts) = parts.into_iter().collect::<Option<Vec<Part>>>().filter(|_| total <= tile_limit) else {
        return Err(Fault::Tiles(total));
    };
    Ok(assemble(parts, tx * ty * tz))
}

/// First and last tile layer of every triangle, piece by piece; an empty span (1, 0) when it misses the grid.
fn layer_spans(mesh: &Mesh, scale: &Scale, slack: f64, dim: u32) -> Vec<Vec<(u32, u32)>> {
    let triangles = mesh.triangles();
    par::map(triangles.len().div_ceil(SORT_PIECE), |piece| {
        let end = triangles.len().min((piece + 1) * SORT_PIECE);
        triangles[piece * SORT_PIECE..end]
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| scale.z(mesh, v));
                let range = voxel_range(least(a, least(b, c)), most(a, most(b, c)), slack, dim);
                range.map_or((1, 0), |(lo, hi)| (lo as u32 / TILE, hi as u32 / TILE))
            })
            .collect()
    })
}

/// Tile layers one thread takes together: 1 unless long triangles would be listed too often.
fn layer_thickness(spans: &[Vec<(u32, u32)>], tile_layers: usize) -> usize {
    let triangles: u64 = spans.iter().map(|p| p.len() as u64).sum();
    let mut thickness = 1;
    while thickness < tile_layers {
        let t = thickness as u32;
        let entries =
            |p: &Vec<(u32, u32)>| p.iter().map(|&(a, b)| u64::from((b / t + 1).saturating_sub(a / t))).sum();
        let total: u64 = par::map(spans.len(), |i| -> u64 { entries(&spans[i]) }).into_iter().sum();
        if total <= ENTRIES_PER_TRIANGLE * triangles.max(1 << 16) {
            break;
        }
        thickness *= 2;
    }
    thickness
}

/// The triangles of each piece by layer, in rising order within a layer.
fn sort_into_layers(spans: &[Vec<(u32, u32)>], thickness: usize, layers: usize) -> Vec<Sorted> {
    par::map(spans.len(), |piece| {
        let first_id = (piece * SORT_PIECE) as u32;
        let t = thickness as u32;
        let range = |&(a, b): &(u32, u32)| if a > b { 1..1 } else { (a / t) as usize..(b / t) as usize + 1 };
        let mut starts = vec![0u32; layers + 2];
        for span in &spans[piece] {
            for layer in range(span) {
                starts[layer + 2] += 1;
            }
        }
        for layer in 2..starts.len() {
            starts[layer] += starts[layer - 1];
        }
        let mut ids = vec![0; starts[layers + 1] as usize];
        for (i, span) in spans[piece].iter().enumerate() {
            for layer in range(span) {
                let place = &mut starts[layer + 1];
                ids[*place as usize] = first_id + i as u32;
                *place += 1;
            }
        }
        Sorted { starts, ids }
    })
}

/// Joins the parts: their directories follow each other, their tiles too.
fn assemble(parts: Vec<Part>, tile_count: usize) -> Surface {
    let mut directory = vec![EMPTY; tile_count];
    let mut tiles = Vec::with_capacity(parts.iter().map(|p| p.tiles.len()).sum());
    let mut stats = Stats::default();
    let mut start = 0;
    for part in parts {
        let first = tiles.len() as u32;
        for (to, &from) in directory[start..].iter_mut().zip(&part.directory) {
            if from != EMPTY {
                *to = from + first;
            }
        }
        start += part.directory.len();
        tiles.extend_from_slice(&part.tiles);
        stats.add(&part.stats);
    }
    Surface { directory, tiles, stats }
}

/// The tiles of one layer while it is being voxelized.
struct Part {
    /// Place of each tile of the layer in `tiles`, or [`EMPTY`].
    directory: Vec<u32>,
    tiles: Vec<Tile>,
    stats: Stats,
    /// Tiles along x and y.
    width: [usize; 2],
    /// First and last voxel layer of this part.
    first_k: i32,
    last_k: i32,
    /// Bounds of i for each row of the triangle at hand, kept to avoid allocation.
    rows: Vec<(f64, f64)>,
}

impl Part {
    fn new(tiles: [usize; 3], first_tile: usize, dim_z: u32) -> Self {
        let first_k = first_tile as i32 * TILE as i32;
        Self {
            directory: vec![EMPTY; tiles[0] * tiles[1] * tiles[2]],
            tiles: Vec::new(),
            stats: Stats::default(),
            width: [tiles[0], tiles[1]],
            first_k,
            last_k: (first_k + tiles[2] as i32 * TILE as i32).min(dim_z as i32) - 1,
            rows: Vec::new(),
        }
    }

    /// Marks the voxels of this part that the triangle meets.
    fn mark(&mut self, p: &Prepared, navigation: Navigation) {
        let k_first = (self.first_k - p.base[2]).max(0);
        let k_last = (self.last_k - p.base[2]).min(p.last[2]);
        match navigation {
            Navigation::Auto | Navigation::Solved => self.mark_solved(p, k_first, k_last),
            Navigation::First => self.mark_first(p, k_first, k_last),
            Navigation::Second => self.mark_second(p, k_first, k_last),
            Navigation::Box => self.mark_box(p, k_first, k_last),
        }
    }

    /// Solves both ends of each column.
    fn mark_solved(&mut self, p: &Prepared, k_first: i32, k_last: i32) {
        let mut rows = core::mem::take(&mut self.rows);
        rows.clear();
        rows.extend((0..=p.last[1]).map(|j| p.bounds_xy(j)));
        for k in k_first..=k_last {
            let (j_first, j_last) = p.rows(k);
            if j_first > j_last {
                continue;
            }
            let layer = p.bounds_xz(k);
            self.stats.columns += (j_last - j_first + 1) as u64;
            for j in j_first..=j_last {
                let row = rows[j as usize];
                let plane = p.bounds_plane(j, k);
                let bounds = (most(layer.0, most(row.0, plane.0)), least(layer.1, least(row.1, plane.1)));
                let (first, last) = integers(bounds);
                if first <= last {
                    self.set(p, first, last, j, k);
                }
            }
        }
        self.rows = rows;
    }

    /// Tests every voxel between the column's lowest and highest point of the plane.
    fn mark_first(&mut self, p: &Prepared, k_first: i32, k_last: i32) {
        self.columns(p, k_first, k_last, |part, first, last, j, k| {
            part.stats.sat_tests += (last - first + 1) as u64;
            for i in first..=last {
                if p.edges_pass(i, j, k) {
                    part.set(p, i, i, j, k);
                }
            }
        });
    }

    /// Tests from both ends of the column to the first hit and marks what lies between.
    fn mark_second(&mut self, p: &Prepared, k_first: i32, k_last: i32) {
        self.columns(p, k_first, k_last, |part, first, last, j, k| {
            let mut tests = 0;
            let mut passes = |i: &i32| {
                tests += 1;
                p.edges_pass(*i, j, k)
            };
            if let Some(low) = (first..=last).find(&mut passes) {
                let high = (low + 1..=last).rev().find(&mut passes).unwrap_or(low);
                part.set(p, low, high, j, k);
            }
            part.stats.sat_tests += tests;
        });
    }

    /// Calls `column(self, first, last, j, k)` for the columns under the triangle's shadow, with the range of i
    /// that its plane allows.
    fn columns(
        &mut self,
        p: &Prepared,
        k_first: i32,
        k_last: i32,
        column: impl Fn(&mut Self, i32, i32, i32, i32),
    ) {
        for k in k_first..=k_last {
            let (j_first, j_last) = p.rows(k);
            for j in j_first..=j_last {
                let (lo, hi) = p.bounds_plane(j, k);
                let (first, last) = integers((most(lo, 0.0), least(hi, f64::from(p.last[0]))));
                self.stats.columns += 1;
                if first <= last {
                    column(self, first, last, j, k);
                }
            }
        }
    }

    /// Tests every voxel of the triangle's box.
    fn mark_box(&mut self, p: &Prepared, k_first: i32, k_last: i32) {
        for k in k_first..=k_last {
            for j in 0..=p.last[1] {
                self.stats.columns += 1;
                self.stats.sat_tests += p.last[0] as u64 + 1;
                for i in 0..=p.last[0] {
                    if p.touches(i, j, k) {
                        self.set(p, i, i, j, k);
                    }
                }
            }
        }
    }

    /// Marks the voxels `first..=last` of the row (j, k), all in the triangle's local indices.
    #[inline]
    fn set(&mut self, p: &Prepared, first: i32, last: i32, j: i32, k: i32) {
        self.stats.hits += (last - first + 1) as u64;
        let (x0, x1) = ((p.base[0] + first) as usize, (p.base[0] + last) as usize);
        let (y, z) = ((p.base[1] + j) as usize, (p.base[2] + k - self.first_k) as usize);
        let row = ((z / 8) * self.width[1] + y / 8) * self.width[0];
        let (shift, word) = (8 * (y % 8), z % 8);
        let (mut tile, last_tile) = (x0 / 8, x1 / 8);
        let mut mask = 0xffu64 << (x0 % 8) & 0xff;
        loop {
            if tile == last_tile {
                mask &= 0xff >> (7 - x1 % 8);
            }
            let slot = &mut self.directory[row + tile];
            if *slot == EMPTY {
                *slot = self.tiles.len() as u32;
                self.tiles.push([0; 8]);
            }
            self.tiles[*slot as usize][word] |= mask << shift;
            if tile == last_tile {
                return;
            }
            tile += 1;
            mask = 0xff;
        }
    }
}
