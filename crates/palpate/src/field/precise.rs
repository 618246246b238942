//! The closest triangle of a point to the last bit: single precision says what to leave out, double what is nearest.

use super::bvh::{Bvh, STACK, WIDTH, box_distances, disc_distances, nearest, triangle_distances};
use super::surface::closest_point;
use crate::simd::{Lanes, dispatch};
use glam::DVec3;

/// A search for the closest triangle in which f32 only excludes: every triangle that rounding leaves in doubt is measured
/// in f64.
pub(crate) struct Precise<'a> {
    /// Vertex positions and triangles, in the order of the tree.
    pub(crate) positions: &'a [DVec3],
    pub(crate) triangles: &'a [[u32; 3]],
    /// The mesh's own number of each triangle.
    pub(crate) original: &'a [u32],
    pub(crate) p: DVec3,
    /// Squared distance to beat.
    pub(crate) best: f64,
    /// The triangle that is at `best`, or `u32::MAX`, and the point on it.
    pub(crate) triangle: u32,
    pub(crate) point: DVec3,
    /// Rounding of coordinates, as a distance that excludes nothing nearer.
    pub(crate) slack: f64,
    /// How much nearer than `best` the truth may stay [voxels]; 0: not at all.
    pub(crate) give: f64,
}

/// Relative part of the slack: f32 differences of coordinates, and what follows from them for a triangle's plane.
const RELATIVE_SLACK: f64 = 2e-6;

impl Precise<'_> {
    /// Measures triangle `t`. Of triangles at the same distance that with the smallest number counts, in whichever order they are met:
    /// all of them are within the slack, so all are met.
    #[inline]
    pub(crate) fn offer(&mut self, t: u32) {
        let Some(&[a, b, c]) = self.triangles.get(t as usize) else { return };
        let at = |v: u32| self.positions[v as usize];
        let q = closest_point([at(a), at(b), at(c)], self.p).0;
        let squared = (q - self.p).length_squared();
        if squared < self.best || (squared == self.best && self.before(t)) {
            (self.best, self.point, self.triangle) = (squared, q, t);
        }
    }

    /// Whether there is a triangle already, and `t` has a smaller number.
    #[cold]
    fn before(&self, t: u32) -> bool {
        let number = |t: u32| self.original.get(t as usize);
        number(self.triangle).is_some_and(|best| number(t) < Some(best))
    }

    /// The squared f32 distance from which on nothing can be nearer than `best`.
    #[inline]
    fn limit(&self) -> f32 {
        if self.best > 1e36 {
            return f32::INFINITY;
        }
        let d = self.best.sqrt() * (1.0 + RELATIVE_SLACK) + self.slack - self.give;
        if d > 0.0 { (d * d) as f32 } else { 0.0 }
    }

    /// Searches the whole tree.
    pub(crate) fn search(&mut self, bvh: &Bvh) {
        descend_precise(bvh, self);
    }
}

dispatch! {
    fn descend_precise / descend_precise_plain = descend_precise_kernel(bvh: &Bvh, search: &mut Precise<'_>)
}

#[inline(always)]
fn descend_precise_kernel<L: Lanes>(bvh: &Bvh, search: &mut Precise<'_>) {
    // Eight bytes an entry: clearing them is a good part of a short search.
    let mut stack = [0u64; STACK];
    stack[0] = waiting(bvh.levels.len() - 1, 0, 0.0);
    let mut top = 1;
    let p = search.p.as_vec3();
    let p = [L::splat(p.x), L::splat(p.y), L::splat(p.z)];
    let mut limit = search.limit();
    while top > 0 {
        top -= 1;
        let entry = stack[top];
        if f32::from_bits((entry >> 32) as u32) >= limit {
            continue;
        }
        let (level, index) = (entry as usize >> INDEX_BITS & 31, entry as usize & ((1 << INDEX_BITS) - 1));
        let mut d = box_distances::<L>(&bvh.levels[level][index], p);
        if let Some(discs) = bvh.discs.get(level) {
            d = d.max(disc_distances::<L>(&discs[index], p));
        }
        let mut live = L::bits(d.lt(L::splat(limit)));
        let mut distances = [0.0; WIDTH];
        d.store(&mut distances);
        if level == 0 {
            while live != 0 {
                let lane = nearest(&distances, live);
                live &= !(1 << lane);
                if distances[lane] < limit {
                    limit = try_precise::<L>(bvh, index * WIDTH + lane, p, limit, search);
                }
            }
        } else {
            // The nearest last, to be taken next. The others in any order: most are excluded by then.
            if live != 0 {
                let first = nearest(&distances, live);
                live &= !(1 << first);
                while live != 0 {
                    let lane = live.trailing_zeros() as usize;
                    live &= live - 1;
                    stack[top] = waiting(level - 1, index * WIDTH + lane, distances[lane]);
                    top += 1;
                }
                stack[top] = waiting(level - 1, index * WIDTH + first, distances[first]);
                top += 1;
            }
        }
    }
}

/// Bits of an entry's place in its level: 2³² triangles are 2²⁶ entries of 64.
const INDEX_BITS: usize = 27;

/// An entry of a level, to be looked at if nothing nearer than the squared distance `bound` is found until then.
#[inline(always)]
fn waiting(level: usize, index: usize, bound: f32) -> u64 {
    u64::from(bound.to_bits()) << 32 | (level << INDEX_BITS | index) as u64
}

/// Measures those triangles of a block that may be nearer than the best; the new limit.
#[inline(always)]
fn try_precise<L: Lanes>(bvh: &Bvh, leaf: usize, p: [L; 3], limit: f32, search: &mut Precise<'_>) -> f32 {
    let d = triangle_distances::<L>(&bvh.blocks[leaf], p);
    let mut better = L::bits(d.lt(L::splat(limit)));
    let mut distances = [0.0; WIDTH];
    d.store(&mut distances);
    let mut limit = limit;
    while better != 0 {
        let lane = nearest(&distances, better);
        better &= !(1 << lane);
        let t = (leaf * WIDTH + lane).min(bvh.count - 1) as u32;
        if distances[lane] >= limit {
            break;
        }
        if t != search.triangle {
            let before = search.best;
            search.offer(t);
            if search.best < before {
                limit = search.limit();
            }
        }
    }
    limit
}
