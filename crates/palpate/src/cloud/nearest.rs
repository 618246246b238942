//! The nearest point of a cloud, exactly.
//!
//! Based on: elfar07, the point nearest to the end-effector by squared distances.
//! Differs: every octant that can hold it is looked at, nearest first, and none that cannot: the boxes of eight octants are compared
//! at once, eight points at once. Boxes hold their points exactly and rounding keeps order, so bounds need no tolerance, and the
//! answer is that of comparing with every point, bit for bit.

use super::Cloud;
use super::node::{Node, step};
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

/// Octants that can wait: seven for each division there can be, and the root.
const STACK: usize = 7 * (super::grid::LARGEST - super::grid::DEEPEST) as usize + 8;

/// Marks places in the list of leaves.
pub(super) const IS_LEAF: u32 = 1 << 31;

impl Cloud {
    /// The point nearest to `p`, in the cloud's frame [m]; none without points, or when `p` is not finite.
    ///
    /// Exact for positions as kept and `p` rounded alike (see [`super::CloudReport::rounding`]): the one that comparing all points
    /// gives. Cost: about 0.3 µs near a million points on a surface; grows with the number of points that are nearly as near, which is
    /// all of them in the middle of a sphere.
    pub fn nearest(&self, p: DVec3) -> Option<Nearest> {
        self.nearest_within(p, f64::INFINITY)
    }

    /// As [`Cloud::nearest`], if it is not farther than `limit` [m]: the smaller, the less work.
    pub fn nearest_within(&self, p: DVec3, limit: f64) -> Option<Nearest> {
        let local = self.local(p)?;
        let mut best = Best::within(limit);
        nearest(self, local, &mut best);
        (best.slot != super::NOWHERE).then(|| self.found(best.slot, p))
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

    /// The slot nearest to a local position, not farther than `limit`; [`super::NOWHERE`] for none.
    pub(super) fn nearest_slot(&self, local: [f32; 3], limit: f64) -> u32 {
        let mut best = Best::within(limit);
        nearest(self, local, &mut best);
        best.slot
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
        // Nothing is nearer than a limit that is negative or NaN.
        let limit_sq = if limit >= 0.0 { (limit * limit) as f32 } else { -1.0 };
        Self { distance_sq: limit_sq, slot: super::NOWHERE, id: u32::MAX }
    }
}

/// An octant that waits: a node or a leaf, where its cube is and what it is told in.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) at: u32,
    /// No point of it is nearer [m²].
    pub(super) bound: f32,
    pub(super) corner: [f32; 3],
    pub(super) step: f32,
}

impl Waiting {
    pub(super) const NONE: Self = Self { at: 0, bound: 0.0, corner: [0.0; 3], step: 0.0 };

    pub(super) fn root(cloud: &Cloud) -> Self {
        let corner = cloud.grid.local(cloud.grid.corner);
        Self { corner, step: step(cloud.grid.log, cloud.grid.unit), ..Self::NONE }
    }

    /// An octant of the node that this is.
    #[inline(always)]
    pub(super) fn octant(&self, o: usize) -> Self {
        let half = 128.0 * self.step;
        let on = |a: usize| if o >> a & 1 == 1 { half } else { 0.0 };
        let corner = [self.corner[0] + on(0), self.corner[1] + on(1), self.corner[2] + on(2)];
        Self { at: 0, bound: 0.0, corner, step: 0.5 * self.step }
    }
}

/// For each octant, how far the point is from its box along each axis [m]: negative within.
#[inline(always)]
pub(super) fn gaps<L: Lanes>(node: &Node, from: &Waiting, p: &[L; 3]) -> [L; 3] {
    let (step, one) = (L::splat(from.step), L::splat(1.0));
    let mut out = [L::splat(0.0); 3];
    for a in 0..3 {
        let corner = L::splat(from.corner[a]);
        let low = L::from_bytes(&node.low[a]).mul(step).add(corner);
        let high = L::from_bytes(&node.high[a]).add(one).mul(step).add(corner);
        out[a] = low.sub(p[a]).max(p[a].sub(high));
    }
    out
}

/// Squared distances of eight points from `slot` on [m²].
#[inline(always)]
pub(super) fn distances<L: Lanes>(cloud: &Cloud, slot: usize, p: &[L; 3]) -> L {
    let [x, y, z] = L::load_points(cloud.slots.eight(slot));
    let (x, y, z) = (x.sub(p[0]), y.sub(p[1]), z.sub(p[2]));
    x.mul(x).add(y.mul(y)).add(z.mul(z))
}

dispatch! {
    fn nearest / nearest_plain = kernel(cloud: &Cloud, p: [f32; 3], best: &mut Best)
}

#[inline(always)]
fn kernel<L: Lanes>(cloud: &Cloud, p: [f32; 3], best: &mut Best) {
    let p = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
    let mut stack = [Waiting::NONE; STACK];
    stack[0] = Waiting::root(cloud);
    let mut top = 1;
    while top > 0 {
        top -= 1;
        let from = stack[top];
        if from.bound > best.distance_sq {
            continue;
        }
        if from.at & IS_LEAF != 0 {
            scan::<L>(cloud, from.at & !IS_LEAF, &p, best);
            continue;
        }
        let node = &cloud.nodes[from.at as usize];
        let [x, y, z] = gaps::<L>(node, &from, &p);
        let zero = L::splat(0.0);
        let (x, y, z) = (x.max(zero), y.max(zero), z.max(zero));
        let bound = x.mul(x).add(y.mul(y)).add(z.mul(z));
        let mut near = L::bits(L::splat(best.distance_sq).ge(bound)) & u32::from(node.used());
        let mut bounds = [0.0; LANES];
        bound.store(&mut bounds);
        let first = top;
        while near != 0 {
            let o = near.trailing_zeros() as usize & 7;
            near &= near - 1;
            let mut new = from.octant(o);
            new.bound = bounds[o];
            let is_leaf = node.leaf >> o & 1 == 1;
            new.at = if is_leaf { node.leaf_at(o) as u32 | IS_LEAF } else { node.inner_at(o) as u32 };
            // Farthest first: the nearest is taken next.
            let mut to = top;
            while to > first && stack[(to - 1) % STACK].bound < new.bound {
                stack[to % STACK] = stack[(to - 1) % STACK];
                to -= 1;
            }
            stack[to % STACK] = new;
            top += 1;
        }
    }
}

/// Compares with the points of a leaf, and perhaps some after it, which are points too.
#[inline(always)]
fn scan<L: Lanes>(cloud: &Cloud, leaf: u32, p: &[L; 3], best: &mut Best) {
    let leaf = &cloud.leaves[leaf as usize];
    let (mut at, end) = (leaf.start as usize, leaf.start as usize + usize::from(leaf.len));
    while at < end {
        let d = distances::<L>(cloud, at, p);
        let mut near = L::bits(L::splat(best.distance_sq).ge(d));
        if near != 0 {
            let mut all = [0.0; LANES];
            d.store(&mut all);
            while near != 0 {
                let i = near.trailing_zeros() as usize & 7;
                near &= near - 1;
                take(cloud, (at + i) as u32, all[i], best);
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
