//! What is asked of a model's field: distances, the surface at a level, cells.

use super::Model;
use anyhow::Result;
use glam::DVec3;
use palpate::field::iso::{IsoGrid, iso_surface};
use palpate::mesh::RawMesh;
use palpate::voxmap::VoxmapParams;
use palpate::{Field, Voxmap, field};

impl Model {
    pub(crate) fn field(&self) -> &Field {
        &self.field
    }

    /// Signed distance at `p`, negative inside [m], and its gradient, outward.
    pub(crate) fn sample(&self, p: DVec3) -> (f64, DVec3) {
        let s = self.field.sample(p);
        (s.distance, s.gradient)
    }

    /// Signed distance at `p`, negative inside [m].
    pub(crate) fn distance(&self, p: DVec3) -> f64 {
        self.sample(p).0
    }

    /// [`Model::sample`] of many points, in parallel.
    pub(crate) fn sample_batch(&self, points: &[DVec3]) -> Vec<(f64, DVec3)> {
        palpate::par::map(points.len(), |i| self.sample(points[i]))
    }

    /// Position of the first node of the dense grid and number of nodes along each axis.
    pub(crate) fn grid(&self) -> (DVec3, [usize; 3]) {
        let lattice = self.field.lattice();
        (lattice.origin, lattice.dims().map(|n| n as usize + 1))
    }

    /// The surface at distance `level` [m].
    ///
    /// # Errors
    /// When it has too many triangles for a mesh.
    pub(crate) fn iso_surface(&self, level: f64) -> Result<RawMesh> {
        let lattice = self.field.lattice();
        let upper = lattice.dims().map(i64::from);
        let grid = IsoGrid { origin: lattice.origin, voxel: lattice.voxel, lower: [0; 3], upper };
        // A block whose middle is farther from the level than its corners can make up for holds no surface.
        let half = 0.5 * (field::iso::BLOCK as f64) * lattice.voxel;
        let reach = self.field.report().lipschitz * half * 3.0_f64.sqrt() * 1.001 + lattice.voxel;
        let all = grid.blocks();
        let near = palpate::par::map(all.len(), |i| {
            let corner = DVec3::from_array(all[i].map(|b| (b * field::iso::BLOCK) as f64));
            let middle = lattice.origin + lattice.voxel * corner + DVec3::splat(half);
            (self.distance(middle) - level).abs() <= reach
        });
        let blocks: Vec<[i64; 3]> = all.iter().zip(near).filter(|(_, n)| *n).map(|(b, _)| *b).collect();
        Ok(iso_surface(&grid, &blocks, level as f32, |ijk| self.distance(grid.position(ijk)) as f32)?)
    }

    /// The cells of a grid of `voxel` [m] that the surface meets, and the position of cell (0, 0, 0).
    ///
    /// # Errors
    /// When the grid would be too large.
    pub(crate) fn surface_cells(&self, voxel: f64) -> Result<(Vec<[i32; 3]>, DVec3)> {
        let params = VoxmapParams { layers: 0, ..VoxmapParams::default() };
        let map = Voxmap::build(self.mesh()?, voxel, &params)?;
        let cells = map.surface_voxels().map(|c| c.map(|i| i as i32)).collect();
        Ok((cells, map.grid().origin))
    }
}
