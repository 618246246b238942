//! How steep a trilinear function can be: from the differences of neighbouring nodes.

use super::brick::SIDE;

/// An upper bound of the gradient's length in any voxel of a 9³ brick, per node spacing.
///
/// Inside a voxel each component of the gradient is a mean of four edge differences, so it is at most the largest.
pub(crate) fn of_brick(v: &[f32]) -> f32 {
    let mut most = 0.0f32;
    for z in 0..SIDE - 1 {
        for y in 0..SIDE - 1 {
            for x in 0..SIDE - 1 {
                let at = (z * SIDE + y) * SIDE + x;
                let node = |o: usize| v[at + (o & 1) + (o >> 1 & 1) * SIDE + (o >> 2) * SIDE * SIDE];
                most = most.max(squared(core::array::from_fn(node)));
            }
        }
    }
    most.sqrt()
}

/// The same for one cell with corner values `v`, x fastest.
pub(crate) fn of_cell(v: &[f32; 8]) -> f32 {
    squared(*v).sqrt()
}

#[inline(always)]
fn squared(v: [f32; 8]) -> f32 {
    let largest =
        |pairs: [(usize, usize); 4]| pairs.iter().fold(0.0f32, |m, &(a, b)| m.max((v[b] - v[a]).abs()));
    let x = largest([(0, 1), (2, 3), (4, 5), (6, 7)]);
    let y = largest([(0, 2), (1, 3), (4, 6), (5, 7)]);
    let z = largest([(0, 4), (1, 5), (2, 6), (3, 7)]);
    x * x + y * y + z * z
}
