//! The points of one shape in the grid of another: one relative pose, made in f64, used in f32.

use crate::field::{BRICK, Field};
use crate::math::Pose;
use crate::simd::Lanes;
use crate::tree::Tree;
use glam::{DMat3, DVec3};

/// Relative rounding of a coordinate that went through a pose in f32: four additions and products.
const ROUNDING: f64 = 6.0 / 16_777_216.0;

/// Takes points of a tree, relative to its origin, to the cells of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Cells per metre, rotated: rows.
    m: [[f32; 3]; 3],
    /// Where the tree's origin is [cells].
    t: [f32; 3],
    /// The rotation alone: rows.
    pub(crate) rotation: [[f32; 3]; 3],
    /// Edge of a cell [m].
    pub(crate) cell: f32,
    /// How far rounding can move a point [m].
    pub(crate) rounding: f32,
}

impl Frame {
    /// The frame for asking `field` about points of `tree`; none for a pose that is not finite, or too large for f32.
    pub(crate) fn new(field: &Field, tree: &Tree, field_from_tree: &Pose) -> Option<Self> {
        let l = field.lattice();
        let cell = l.voxel * BRICK as f64;
        let r = DMat3::from_quat(field_from_tree.rotation);
        let origin = field_from_tree.point(tree.origin) - l.origin;
        // Not `map` on arrays, which stays a call.
        let rows = |m: DMat3| {
            let m = m.transpose();
            [m.x_axis.as_vec3().to_array(), m.y_axis.as_vec3().to_array(), m.z_axis.as_vec3().to_array()]
        };
        // From the farthest point, the middle of the tree, and the field's box.
        let reach = origin.length() + tree.reach() + l.aabb().extent().length();
        let frame = Self {
            m: rows(r * (1.0 / cell)),
            t: (origin / cell).as_vec3().to_array(),
            rotation: rows(r),
            cell: cell as f32,
            rounding: (ROUNDING * reach) as f32,
        };
        // Squares of coordinates must be finite too.
        let fine = field_from_tree.is_finite() && (reach / cell) < 1e15 && reach < 1e15;
        fine.then_some(frame)
    }

    /// The scaled rotation and translation as lanes.
    #[inline(always)]
    pub(crate) fn lanes<L: Lanes>(&self) -> [[L; 4]; 3] {
        let row = |i: usize| {
            let m = &self.m[i];
            [L::splat(m[0]), L::splat(m[1]), L::splat(m[2]), L::splat(self.t[i])]
        };
        [row(0), row(1), row(2)]
    }

    /// The rotation as lanes.
    #[inline(always)]
    pub(crate) fn turn<L: Lanes>(&self) -> [[L; 3]; 3] {
        let row = |i: usize| {
            let m = &self.rotation[i];
            [L::splat(m[0]), L::splat(m[1]), L::splat(m[2])]
        };
        [row(0), row(1), row(2)]
    }

    /// A point of the tree's shape relative to the tree's origin, where it is in the field's frame relative to the lattice's
    /// origin [m].
    pub(crate) fn point(&self, p: DVec3) -> DVec3 {
        let row = |i: usize| {
            let m = self.m[i].map(f64::from);
            m[0] * p.x + m[1] * p.y + m[2] * p.z + f64::from(self.t[i])
        };
        DVec3::new(row(0), row(1), row(2)) * f64::from(self.cell)
    }
}

/// `m` times the point, plus its last column.
#[inline(always)]
pub(crate) fn apply<L: Lanes>(m: &[[L; 4]; 3], p: [L; 3]) -> [L; 3] {
    [apply_row(&m[0], p), apply_row(&m[1], p), apply_row(&m[2], p)]
}

#[inline(always)]
fn apply_row<L: Lanes>(m: &[L; 4], p: [L; 3]) -> L {
    m[0].mul_add(p[0], m[1].mul_add(p[1], m[2].mul_add(p[2], m[3])))
}

/// `m` times the vector.
#[inline(always)]
pub(crate) fn turn<L: Lanes>(m: &[[L; 3]; 3], v: [L; 3]) -> [L; 3] {
    [turn_row(&m[0], v), turn_row(&m[1], v), turn_row(&m[2], v)]
}

#[inline(always)]
fn turn_row<L: Lanes>(m: &[L; 3], v: [L; 3]) -> L {
    m[0].mul_add(v[0], m[1].mul_add(v[1], m[2].mul(v[2])))
}
