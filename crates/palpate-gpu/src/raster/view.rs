//! The pictures a mesh is drawn into: how large, how fine, which axis goes where.

use crate::field::GpuField;
use glam::DVec3;

/// A view that takes every triangle, as `ALL` in `raster_mesh.wgsl`.
pub(super) const ALL: u32 = 3;
/// Bits of `counts.w` in `raster_mesh.wgsl` from which the order of the axes and the views from behind are.
const ORDER: u32 = 8;
const BEHIND: u32 = 16;

/// Three views of a field's box, along its axes, with square pixels of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Views {
    /// Drawn around the field's box on each side [voxels].
    pub(super) pad: f32,
    /// Edge of a pixel [voxels].
    pub(super) edge: f32,
    /// Columns and rows of each view, by the axis it looks along.
    pub(super) pixels: [[u32; 2]; 3],
    /// Columns and rows that hold any of them.
    pub(super) size: [u32; 2],
    /// The views are below each other, not on top of each other.
    pub(super) tiled: bool,
    /// Axes from the longest to the shortest.
    order: [usize; 3],
}

impl Views {
    /// Of a box of so many voxels, the longest side `most` pixels long.
    pub(super) fn new(dims: [u32; 3], pad: f64, most: u32, tiled: bool) -> Self {
        let extent = dims.map(|d| f64::from(d) + 2.0 * pad);
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| extent[*b].total_cmp(&extent[*a]));
        let edge = extent[order[0]] / f64::from(most);
        // A hair less, so that rounding does not add a pixel.
        let count = |axis: usize| ((extent[axis] / edge - 1e-6).ceil() as u32).clamp(1, most);
        let pixels = [0, 1, 2].map(|k| {
            let across = if k == order[0] { order[1] } else { order[0] };
            let down = if k == order[2] { order[1] } else { order[2] };
            [count(across), count(down)]
        });
        let size = [count(order[0]), count(order[1])];
        Self { pad: pad as f32, edge: edge as f32, pixels, size, tiled, order }
    }

    /// Columns and rows of the whole picture.
    pub(super) fn picture(&self) -> [u32; 2] {
        let [x, y] = self.size;
        [x, if self.tiled { 3 * y } else { y }]
    }

    /// Changes a question's numbers, those of `Frame` in `mesh.wgsl`, into those of `Frame` in `raster_mesh.wgsl`.
    pub(super) fn number(&self, numbers: &mut [[f32; 4]; 8], field: &GpuField, behind: u32) {
        let [x, y] = self.picture().map(|n| 2.0 / (n as f32 * self.edge));
        // Outside its box a field's value is at most that of the box's face and the way there together.
        let [least, most] = field.range;
        let most = most.abs().max(least.abs()) + 1.8 * self.pad;
        // Filters are off by less than a voxel.
        let (least, most) = (least - 1.0, most + 1.0);
        numbers[5][2] = self.edge;
        numbers[5][3] = self.pad;
        numbers[6] = [least, 1.0 / (most - least), x, y];
        let order = self.order[0] | self.order[1] << 2 | self.order[2] << 4;
        let flags = numbers[7][3].to_bits() | (order as u32) << ORDER | behind << BEHIND;
        numbers[7][0] = f32::from_bits(if self.tiled { self.size[1] } else { 0 });
        numbers[7][3] = f32::from_bits(flags);
    }
}

/// From which side each axis is looked along, a bit for each that is looked along from its far end: from the side where the mesh is,
/// as what is in front of the body can then be left out.
pub(super) fn behind(field: &GpuField, centre: DVec3) -> u32 {
    let away = centre - field.lattice.aabb().centre();
    (0..3).filter(|k| away[*k] > 0.0).map(|k| 1 << k).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_square_and_the_longest_side_has_as_many_as_asked() {
        let views = Views::new([64, 256, 128], 0.0, 512, false);
        assert_eq!(views.edge, 0.5);
        // Along x: y across, z down.
        assert_eq!(views.pixels, [[512, 256], [256, 128], [512, 128]]);
        assert_eq!(views.picture(), [512, 256]);
        assert_eq!(Views { tiled: true, ..views }.picture(), [512, 768]);
    }

    #[test]
    fn room_around_the_box_makes_pixels_larger() {
        let views = Views::new([64, 64, 64], 32.0, 128, false);
        assert_eq!(views.edge, 1.0);
        assert_eq!(views.pixels, [[128, 128]; 3]);
    }
}
