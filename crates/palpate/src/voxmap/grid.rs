//! The grid that voxels are counted on.

use super::{BuildError, TILE};
use crate::math::Aabb;
use glam::DVec3;

/// Most tiles a grid may have: the directory then takes 8 GiB, and places stay below the marks above.
pub(super) const MAX_TILES: u64 = 1 << 31;

/// Most voxels along one side: voxel coordinates then keep 10^-9 of a voxel.
const MAX_DIM: f64 = (1u64 << 20) as f64;

/// A regular grid of cubic voxels, in the frame of the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// The smallest corner of voxel (0, 0, 0) [m].
    pub origin: DVec3,
    /// Edge of a voxel [m].
    pub voxel: f64,
    /// Number of voxels along x, y, z [1].
    pub dims: [u32; 3],
}

impl Grid {
    /// The grid of edge `voxel` [m] that covers `aabb` and `padding` voxels more on each side.
    ///
    /// The box starts on a voxel corner; its far side may end up to 1e-9 voxel beyond the last unpadded voxel, so
    /// that an extent of a whole number of voxels takes that number. Fails for a voxel size that is not positive and
    /// finite, a box that is empty or not finite, and grids beyond 2^20 voxels a side or 2^31 tiles of 8³.
    pub fn around(aabb: Aabb, voxel: f64, padding: u32) -> Result<Self, BuildError> {
        if !(voxel.is_finite() && voxel > 0.0) {
            return Err(BuildError::VoxelSize { voxel });
        }
        let extent = aabb.extent();
        if !extent.is_finite() || extent.min_element() < 0.0 {
            return Err(BuildError::Bounds { aabb });
        }
        let counts_at = |voxel: f64| {
            extent.to_array().map(|e| (e / voxel - 1e-9).ceil().max(1.0) + 2.0 * f64::from(padding))
        };
        let fits = |voxel: f64| {
            let counts = counts_at(voxel);
            let tiles: f64 = counts.iter().map(|n| (n / f64::from(TILE)).ceil()).product();
            counts.iter().all(|&n| n <= MAX_DIM) && tiles <= MAX_TILES as f64
        };
        let counts = counts_at(voxel);
        if !fits(voxel) {
            let mut fitting = voxel.max(extent.max_element() / MAX_DIM);
            while !fits(fitting) && fitting < extent.max_element() {
                fitting *= 1.05;
            }
            let fitting = rounded_up(fitting);
            return Err(BuildError::TooManyVoxels { voxels: counts.iter().product(), voxel, fitting });
        }
        let origin = aabb.min - DVec3::splat(f64::from(padding) * voxel);
        Ok(Self { origin, voxel, dims: counts.map(|n| n as u32) })
    }

    /// The voxel size with which `aabb` and 3 voxels of padding on each side take `n` voxels along the longest
    /// side [m]; for `n` below 7 as if it were 7. Zero or not finite for a box without extent.
    pub fn voxel_for_resolution(aabb: Aabb, n: u32) -> f64 {
        aabb.extent().max_element() / f64::from(n.max(7) - 6)
    }

    /// Number of voxels.
    pub fn voxel_count(&self) -> u64 {
        self.dims.iter().map(|&n| u64::from(n)).product()
    }

    /// The centre of voxel `ijk` [m].
    pub fn centre(&self, ijk: [u32; 3]) -> DVec3 {
        let [i, j, k] = ijk.map(f64::from);
        self.origin + self.voxel * DVec3::new(i + 0.5, j + 0.5, k + 0.5)
    }

    /// The voxel that holds `p` [m]; `None` outside the grid. A point on a face belongs to the voxel above it.
    pub fn voxel_at(&self, p: DVec3) -> Option<[u32; 3]> {
        let uvw = (p - self.origin) / self.voxel;
        let dims = DVec3::from_array(self.dims.map(f64::from));
        (uvw.cmpge(DVec3::ZERO).all() && uvw.cmplt(dims).all()).then(|| uvw.to_array().map(|x| x as u32))
    }

    /// The box of the grid [m].
    pub fn aabb(&self) -> Aabb {
        Aabb { min: self.origin, max: self.origin + self.voxel * DVec3::from_array(self.dims.map(f64::from)) }
    }

    /// Number of tiles along each axis.
    pub(super) fn tile_dims(&self) -> [u32; 3] {
        self.dims.map(|n| n.div_ceil(TILE))
    }

    /// Place of the voxel's tile in the directory, and its word and bit in the tile; `None` outside the grid.
    pub(super) fn locate(&self, ijk: [u32; 3]) -> Option<(usize, usize, u32)> {
        if ijk.iter().zip(&self.dims).any(|(i, n)| i >= n) {
            return None;
        }
        let [tx, ty, _] = self.tile_dims().map(|n| n as usize);
        let [x, y, z] = ijk.map(|i| (i / TILE) as usize);
        let [i, j, k] = ijk.map(|i| i % TILE);
        Some(((z * ty + y) * tx + x, k as usize, 8 * j + i))
    }
}

/// `x` rounded up to two significant digits, for messages.
pub(super) fn rounded_up(x: f64) -> f64 {
    if !(x.is_finite() && x > 0.0) {
        return x;
    }
    let unit = 10f64.powf(x.log10().floor() - 1.0);
    (x / unit).ceil() * unit
}
