//! The nearest point of a cloud, exactly.
//!
//! Based on: elfar07, the point nearest to the end-effector by squared distances.
//! Differs: every octant that can hold it is looked at, nearest first, and none that cannot: the boxes of eight octants are compared
//! at once, eight points at once. Boxes hold their points exactly and rounding keeps order, so bounds need no tolerance, and the
//! answer is that of comparing with every point, bit for bit.

use super::Cloud;
use super::search::{distances, search};
use crate::par;
use crate::simd::{LANES, Lanes, dispatch};
use glam::DVec3;

/// A point of a cloud and how far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Which one; of several at the same distance the lowest.
    pub id: u32,
    /// [m]
    pub distance: f64,
    /// Where it is, as kept, in the cloud's frame [m].
    pub point: DVec3,
}

impl Cloud {
    /// The point nearest to `p`, in the cloud's frame [m]; none without points, or when `p` is not finite.
    ///
    /// Exact for positions as kept and `p` in single precision about the middle of the cloud, which moves it by at most 6e-8 of how far
    /// it is from there along each axis: the one that comparing all points gives. Cost: about 0.7 µs near a million points on a surface;
    /// grows with the number of points that are nearly as near, which is all of them in the middle of a sphere.
    pub fn nearest(&self, p: DVec3) -> Option<Nearest> {
        self.nearest_within(p, f64::INFINITY)
    }

    /// As [`Cloud::nearest`], if it is not farther than `limit` [m]: the smaller, the less work. None for a limit that is negative or NaN.
    pub fn nearest_within(&self, p: DVec3, limit: f64) -> Option<Nearest> {
        let local = self.local(p)?;
        let mut best = Best::within(limit * (1.0 + 1e-6) + Self::blur(local));
        nearest(self, local, &mut best);
        (best.slot != super::NOWHERE).then(|| self.found(best.slot, p)).filter(|n| n.distance <= limit)
    }

    /// The nearest of each of `points`, in parallel; see [`Cloud::nearest`].
    pub fn nearest_batch(&self, points: &[DVec3]) -> Vec<Option<Nearest>> {
        /// Enough that threads seldom ask for more.
        const CHUNK: usize = 256;
        let mut out = vec![None; points.len()];
        par::chunks_mut(&mut out, CHUNK, |c, out| {
            for (out, p) in out.iter_mut().zip(&points[c * CHUNK..]) {
                *out = self.nearest(*p);
            }
        });
        out
    }

    pub(super) fn found(&self, slot: u32, p: DVec3) -> Nearest {
        let point = self.at(slot);
        Nearest { id: self.slots.id(slot), distance: point.distance(p), point }
    }
}

/// The nearest so far.
#[derive(Clone, Copy)]
struct Best {
    distance_sq: f32,
    slot: u32,
    id: u32,
}

impl Best {
    fn within(limit: f64) -> Self {
        // Nothing is nearer than a limit that is NaN.
        let limit_sq = if limit >= 0.0 { (limit * limit) as f32 } else { -1.0 };
        Self { distance_sq: limit_sq, slot: super::NOWHERE, id: u32::MAX }
    }
}

dispatch! {
    fn nearest / nearest_plain = kernel(cloud: &Cloud, p: [f32; 3], best: &mut Best)
}

#[inline(always)]
fn kernel<L: Lanes>(cloud: &Cloud, p: [f32; 3], best: &mut Best) {
    let (at, p) = (p, [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])]);
    let mut limit = best.distance_sq;
    search::<L>(cloud, at, &mut limit, |leaf, limit| {
        scan::<L>(cloud, leaf, &p, best);
        *limit = best.distance_sq;
    });
}

/// Compares with the points of a leaf, and perhaps some after it, which are points too.
#[inline(always)]
fn scan<L: Lanes>(cloud: &Cloud, leaf: usize, p: &[L; 3], best: &mut Best) {
    let leaf = &cloud.leaves[leaf];
    let (mut at, end) = (leaf.start as usize, leaf.start as usize + usize::from(leaf.len));
    while at < end {
        let d = distances::<L>(cloud, at, p);
        if L::bits(L::splat(best.distance_sq).ge(d)) != 0 {
            // Not negative, so their bits are in their order.
            let bits = d.int_bits();
            let least = L::int_least(bits);
            let mut equal = L::bits(L::int_eq(bits, L::ints(least)));
            while equal != 0 {
                let slot = at as u32 + equal.trailing_zeros();
                equal &= equal - 1;
                take(cloud, slot, f32::from_bits(least as u32), best);
            }
        }
        at += LANES;
    }
}

#[inline(always)]
fn take(cloud: &Cloud, slot: u32, distance_sq: f32, best: &mut Best) {
    if distance_sq < best.distance_sq {
        *best = Best { distance_sq, slot, id: u32::MAX };
    } else if distance_sq == best.distance_sq && distance_sq < f32::INFINITY {
        // Ids are looked at only where two are equally near.
        let id = cloud.slots.id(slot);
        if best.slot != super::NOWHERE && best.id == u32::MAX {
            best.id = cloud.slots.id(best.slot);
        }
        if id < best.id {
            *best = Best { distance_sq, slot, id };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{kinds, probes};
    use super::super::{Cloud, CloudParams};
    use super::*;

    #[test]
    fn the_scalar_twin_finds_the_same() {
        for (name, points) in kinds() {
            let cloud = Cloud::build(&points, &CloudParams::default()).unwrap();
            for p in probes(&points, 8, 200) {
                let (mut wide, mut plain) = (Best::within(f64::INFINITY), Best::within(f64::INFINITY));
                let local = cloud.local(p).unwrap();
                nearest(&cloud, local, &mut wide);
                nearest_plain(&cloud, local, &mut plain);
                let bits = |b: &Best| (b.distance_sq.to_bits(), b.slot);
                assert_eq!(bits(&wide), bits(&plain), "{name} {p}");
            }
        }
    }
}
