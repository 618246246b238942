//! The grid a field lives on: voxels grouped into cells of 8³, nodes at voxel corners.

use super::FieldError;
use super::scan::BRICK;
use crate::math::Aabb;
use glam::DVec3;

/// Largest number of cells a grid may have: directory entries are 32-bit and must stay affordable.
pub(crate) const MAX_CELLS: f64 = 4e8;

/// Where the nodes of a field are, in the shape's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Position of node (0, 0, 0) [m].
    pub origin: DVec3,
    /// Edge of a voxel, the distance between neighbouring nodes [m].
    pub voxel: f64,
    /// Cells of 8³ voxels along each axis.
    pub cells: [u32; 3],
}

impl Lattice {
    /// The smallest grid that holds `aabb` with `padding` voxels on each side.
    pub(crate) fn around(aabb: Aabb, voxel: f64, padding: f64) -> Result<Self, FieldError> {
        if !(voxel.is_finite() && voxel > 0.0) {
            return Err(FieldError::BadVoxel { voxel });
        }
        let extent = aabb.extent().to_array();
        // A hair less than the exact quotient, so that a rounding error does not add a layer.
        let voxels = extent.map(|e| (e / voxel - 1e-9).ceil().max(0.0) + 2.0 * padding);
        let cells = voxels.map(|v| (v / BRICK as f64).ceil().max(1.0));
        let total: f64 = cells.iter().product();
        if total.is_nan() || total > MAX_CELLS {
            let suggested = voxel * (total / MAX_CELLS).cbrt().max(1.0) * 1.05;
            return Err(FieldError::TooManyVoxels { voxel, voxels: total * 512.0, suggested });
        }
        let origin = aabb.min - DVec3::splat(padding * voxel);
        Ok(Self { origin, voxel, cells: cells.map(|c| c as u32) })
    }

    /// Voxels along each axis.
    pub fn dims(&self) -> [u32; 3] {
        self.cells.map(|c| c * BRICK as u32)
    }

    /// The box the field covers [m].
    pub fn aabb(&self) -> Aabb {
        let size = DVec3::from_array(self.dims().map(f64::from)) * self.voxel;
        Aabb { min: self.origin, max: self.origin + size }
    }

    /// Background nodes along each axis.
    pub(crate) fn corners(&self) -> [usize; 3] {
        self.cells.map(|c| c as usize + 1)
    }

    /// Number of background nodes.
    pub(crate) fn corner_count(&self) -> usize {
        self.corners().iter().product()
    }

    /// Number of cells.
    pub(crate) fn cell_count(&self) -> usize {
        self.cells.iter().map(|&c| c as usize).product()
    }
}
