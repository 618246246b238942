//! Surface voxels of a mesh, as sparse tiles.
//!
//! Layers of tiles are voxelized in parallel, each by one thread, from triangles sorted into layers beforehand, so that
//! no voxel is shared between threads and the voxels do not depend on their number.

use super::mark::Part;
use super::sat::{Span, least, most, slack, voxel_range};
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

/// Triangles whose corners are fetched together, so that the processor waits for memory once for all of them.
const BATCH: usize = 16;

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
    #[inline(always)]
    fn corners(&self, mesh: &Mesh, [i, j, k]: [u32; 3]) -> [[f64; 3]; 3] {
        let at = |v: u32| (mesh.positions()[v as usize] - self.origin) * self.inv;
        let (a, b, c) = (at(i), at(j), at(k));
        [[a.x, b.x, c.x], [a.y, b.y, c.y], [a.z, b.z, c.z]]
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
            for batch in piece.ids[a..b].chunks(BATCH) {
                let mut triangles = [[0; 3]; BATCH];
                for (v, &t) in triangles.iter_mut().zip(batch) {
                    *v = mesh.triangles()[t as usize];
                }
                let mut corners = [[[0.0; 3]; 3]; BATCH];
                for (c, &v) in corners.iter_mut().zip(&triangles[..batch.len()]) {
                    *c = scale.corners(mesh, v);
                }
                for c in &corners[..batch.len()] {
                    if let Some((span, v)) = Span::new(*c, grid.dims, slack) {
                        part.mark(span, &v, slack, navigation);
                    }
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
