//! How steep a trilinear function can be: from the differences of neighbouring nodes.

use super::brick::SIDE;
use crate::simd::{LANES, Lanes, dispatch};

dispatch! {
    /// An upper bound of the gradient's length in any voxel of a 9³ brick, per node spacing.
    ///
    /// Inside a voxel each component of the gradient is a mean of four edge differences, so it is at most the largest.
    pub(crate) fn of_brick / of_brick_plain = of_brick_kernel(v: &[f32]) -> f32
}

#[inline(always)]
fn of_brick_kernel<L: Lanes>(v: &[f32]) -> f32 {
    let mut most = L::splat(0.0);
    for z in 0..SIDE - 1 {
        for y in 0..SIDE - 1 {
            let at = (z * SIDE + y) * SIDE;
            let (a0, a1) = pair::<L>(v, at);
            let (b0, b1) = pair::<L>(v, at + SIDE);
            let (c0, c1) = pair::<L>(v, at + SIDE * SIDE);
            let (d0, d1) = pair::<L>(v, at + SIDE * SIDE + SIDE);
            let x = largest(a1.sub(a0), b1.sub(b0), c1.sub(c0), d1.sub(d0));
            let y = largest(b0.sub(a0), b1.sub(a1), d0.sub(c0), d1.sub(c1));
            let z = largest(c0.sub(a0), c1.sub(a1), d0.sub(b0), d1.sub(b1));
            most = most.max(x.mul(x).add(y.mul(y)).add(z.mul(z)));
        }
    }
    let mut lanes = [0.0; LANES];
    most.store(&mut lanes);
    lanes.into_iter().fold(0.0, f32::max).sqrt()
}

/// Eight nodes of a row and their eight successors.
#[inline(always)]
fn pair<L: Lanes>(v: &[f32], at: usize) -> (L, L) {
    let row = |at: usize| v[at..].first_chunk().unwrap_or(&[0.0; LANES]);
    (L::load(row(at)), L::load(row(at + 1)))
}

#[inline(always)]
fn largest<L: Lanes>(a: L, b: L, c: L, d: L) -> L {
    a.abs().max(b.abs()).max(c.abs().max(d.abs()))
}

/// The same for one cell with corner values `v`, x fastest.
pub(crate) fn of_cell(v: &[f32; 8]) -> f32 {
    let most =
        |pairs: [(usize, usize); 4]| pairs.iter().fold(0.0f32, |m, &(a, b)| m.max((v[b] - v[a]).abs()));
    let x = most([(0, 1), (2, 3), (4, 5), (6, 7)]);
    let y = most([(0, 2), (1, 3), (4, 6), (5, 7)]);
    let z = most([(0, 4), (1, 5), (2, 6), (3, 7)]);
    (x * x + y * y + z * z).sqrt()
}
