//! Keeping a build within the memory it may take.

use super::voxelize::{self, Fault, Surface};
use super::{BuildError, Grid, MAX_TILES, TILE, Tile, VoxmapParams, rounded_up};
use crate::mesh::Mesh;
use crate::progress::Progress;

/// Surface in one tile, for estimates [voxel²]: a plane of random direction has 30 to 45 in each tile it meets.
/// Larger: the estimate is too low and the build stops halfway. Smaller: sizes that would fit are refused.
const AREA_PER_TILE: f64 = 30.0;

/// Tiles that layers up to 8 need for each surface tile: measured 1.9 to 3.1 on scans and parts.
const TILES_PER_SURFACE_TILE: f64 = 3.2;

/// Voxelizes unless an estimate, or the tiles as they are made, pass `params.max_memory`.
pub(super) fn surface_within(
    mesh: &Mesh,
    grid: &Grid,
    params: &VoxmapParams,
    progress: &dyn Progress,
) -> Result<Surface, BuildError> {
    let allowed = params.max_memory.unwrap_or(u64::MAX);
    let area = if params.max_memory.is_some() { area(mesh) } else { 0.0 };
    let tiles_at = |voxel: f64| area / (voxel * voxel * AREA_PER_TILE) + 64.0;
    let needed_at = |voxel: f64, tiles: f64| fixed_bytes(mesh, grid, voxel) + tiles * bytes_per_tile(params);
    // `scale` is how many times the estimated tiles there really are.
    let error = |scale: f64| {
        let needed = |voxel: f64| needed_at(voxel, scale * tiles_at(voxel));
        let mut fitting = grid.voxel;
        while needed(fitting) > allowed as f64 && fitting < 1e6 * grid.voxel {
            fitting *= 1.02;
        }
        let (needed, fitting) = (needed(grid.voxel) as u64, rounded_up(fitting));
        BuildError::Memory { needed, allowed, voxel: grid.voxel, fitting }
    };
    let estimate = tiles_at(grid.voxel);
    if needed_at(grid.voxel, estimate) > allowed as f64 {
        return Err(error(1.0));
    }
    let limit = (allowed as f64 - needed_at(grid.voxel, 0.0)) / bytes_per_tile(params);
    let limit = (limit.max(0.0) as u64).min(MAX_TILES);
    voxelize::surface(mesh, grid, params.navigation, limit, progress).map_err(|fault| match fault {
        Fault::Cancelled => BuildError::Cancelled,
        // Half of the tiles were still to come, perhaps.
        Fault::Tiles(tiles) => error(2.0 * tiles as f64 / estimate),
    })
}

/// Bytes that depend on the grid and the mesh alone: the directory twice, and the triangles sorted into layers.
fn fixed_bytes(mesh: &Mesh, grid: &Grid, voxel: f64) -> f64 {
    let tiles: f64 =
        grid.dims.iter().map(|&n| (f64::from(n) * grid.voxel / voxel / f64::from(TILE)).ceil()).product();
    8.0 * tiles + 13.0 * mesh.triangles().len() as f64
}

/// Bytes that each surface tile costs at the peak: while joining and filling, and while numbering layers.
fn bytes_per_tile(params: &VoxmapParams) -> f64 {
    let tile = size_of::<Tile>() as f64;
    let reach = f64::from(params.layers.div_ceil(TILE)).powi(2);
    let layer_tiles = if params.layers == 0 { 1.0 } else { TILES_PER_SURFACE_TILE * reach.max(1.0) };
    let layer_bits = f64::from(u32::BITS - params.layers.leading_zeros());
    4.0 * tile + layer_tiles * (tile * (5.0 + layer_bits) + 32.0)
}

/// Area of all triangles [m²].
fn area(mesh: &Mesh) -> f64 {
    (0..mesh.triangles().len())
        .map(|t| {
            let [a, b, c] = mesh.corners(t);
            0.5 * (b - a).cross(c - a).length()
        })
        .sum()
}
