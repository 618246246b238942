//! All points within a distance, and the few nearest ones.

use super::Cloud;
use super::grid::{DEEPEST, LARGEST};
use super::nearest::{IS_LEAF, Nearest, Waiting, distances, gaps};
use crate::simd::{LANES, Lanes, dispatch};
use glam::DVec3;

/// Octants that can wait.
const STACK: usize = 7 * (LARGEST - DEEPEST) as usize + 8;

/// A position of a cloud: its slot and the square of how far it is [m²].
pub(super) type Found = (f32, u32);

impl Cloud {
    /// The points not farther than `radius` from `p`, in the cloud's frame [m], in ascending order of ids; of those at one position the
    /// lowest. `out` is emptied first. None for a point that is not finite.
    pub fn within_into(&self, p: DVec3, radius: f64, out: &mut Vec<Nearest>) {
        out.clear();
        let Some(local) = self.local(p) else { return };
        let mut slots = Vec::new();
        self.slots_within(local, radius, &mut slots);
        out.extend(slots.iter().map(|(_, slot)| self.found(*slot, p)));
        out.sort_unstable_by_key(|n| n.id);
    }

    /// The `k` points nearest to `p`, nearest first, in the cloud's frame [m]; of those at one position the lowest, and of those at one
    /// distance too. `out` is emptied first. None for a point that is not finite.
    pub fn nearest_k_into(&self, p: DVec3, k: usize, out: &mut Vec<Nearest>) {
        out.clear();
        let Some(local) = self.local(p) else { return };
        let mut few = Vec::new();
        self.slots_nearest(local, k, &mut few);
        out.extend(few.iter().map(|(_, slot)| self.found(*slot, p)));
    }

    /// As [`Cloud::within_into`] for slots, in the order of the tree; adds to `out`, which must be empty for that order.
    pub(super) fn slots_within(&self, local: [f32; 3], radius: f64, out: &mut Vec<Found>) {
        if radius >= 0.0 {
            within(self, local, (radius * radius) as f32, out);
        }
    }

    /// As [`Cloud::nearest_k_into`] for slots.
    pub(super) fn slots_nearest(&self, local: [f32; 3], k: usize, out: &mut Vec<Found>) {
        out.clear();
        let k = k.min(self.slots.len());
        if k > 0 {
            out.reserve(k + 1);
            few(self, local, k, out);
        }
    }
}

dispatch! {
    fn within / within_plain = within_kernel(cloud: &Cloud, p: [f32; 3], radius_sq: f32, out: &mut Vec<Found>)
}

#[inline(always)]
fn within_kernel<L: Lanes>(cloud: &Cloud, p: [f32; 3], radius_sq: f32, out: &mut Vec<Found>) {
    let p = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
    let mut stack = [Waiting::NONE; STACK];
    stack[0] = Waiting::root(cloud);
    let mut top = 1;
    while top > 0 {
        top -= 1;
        let from = stack[top % STACK];
        if from.at & IS_LEAF != 0 {
            each_near::<L>(cloud, from.at & !IS_LEAF, &p, radius_sq, |slot, d| out.push((d, slot)));
            continue;
        }
        top = push_near::<L>(cloud, &from, &p, radius_sq, &mut stack, top, false);
    }
}

dispatch! {
    fn few / few_plain = few_kernel(cloud: &Cloud, p: [f32; 3], k: usize, out: &mut Vec<Found>)
}

#[inline(always)]
fn few_kernel<L: Lanes>(cloud: &Cloud, p: [f32; 3], k: usize, out: &mut Vec<Found>) {
    let p = [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])];
    let mut stack = [Waiting::NONE; STACK];
    stack[0] = Waiting::root(cloud);
    let mut top = 1;
    let mut limit = f32::INFINITY;
    while top > 0 {
        top -= 1;
        let from = stack[top % STACK];
        if from.bound > limit {
            continue;
        }
        if from.at & IS_LEAF != 0 {
            each_near::<L>(cloud, from.at & !IS_LEAF, &p, limit, |slot, d| keep(cloud, k, (d, slot), out));
            if out.len() == k {
                limit = out[k - 1].0;
            }
            continue;
        }
        top = push_near::<L>(cloud, &from, &p, limit, &mut stack, top, true);
    }
}

/// Puts a point among the nearest, in order.
#[inline(always)]
fn keep(cloud: &Cloud, k: usize, new: Found, out: &mut Vec<Found>) {
    let before =
        |a: &Found, b: &Found| a.0 < b.0 || (a.0 == b.0 && cloud.slots.id(a.1) < cloud.slots.id(b.1));
    if out.len() == k {
        match out.last() {
            Some(last) if before(&new, last) => out.pop(),
            _ => return,
        };
    }
    let mut at = out.len();
    out.push(new);
    while at > 0 && before(&new, &out[at - 1]) {
        out[at] = out[at - 1];
        at -= 1;
    }
    out[at] = new;
}

/// Puts the octants that can have points within a distance on the stack, the nearest last if `ordered`; gives the new height.
#[inline(always)]
fn push_near<L: Lanes>(
    cloud: &Cloud,
    from: &Waiting,
    p: &[L; 3],
    limit_sq: f32,
    stack: &mut [Waiting; STACK],
    mut top: usize,
    ordered: bool,
) -> usize {
    let node = &cloud.nodes[from.at as usize];
    let [x, y, z] = gaps::<L>(node, from, p);
    let zero = L::splat(0.0);
    let (x, y, z) = (x.max(zero), y.max(zero), z.max(zero));
    let bound = x.mul(x).add(y.mul(y)).add(z.mul(z));
    let mut near = L::bits(L::splat(limit_sq).ge(bound)) & u32::from(node.used());
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
        let mut to = top;
        while ordered && to > first && stack[(to - 1) % STACK].bound < new.bound {
            stack[to % STACK] = stack[(to - 1) % STACK];
            to -= 1;
        }
        stack[to % STACK] = new;
        top += 1;
    }
    top
}

/// Calls `f` with the slots of a leaf that are not farther, and the squares of how far they are.
#[inline(always)]
fn each_near<L: Lanes>(cloud: &Cloud, leaf: u32, p: &[L; 3], limit_sq: f32, mut f: impl FnMut(u32, f32)) {
    let leaf = &cloud.leaves[leaf as usize];
    let (mut at, end) = (leaf.start as usize, leaf.start as usize + usize::from(leaf.len));
    while at < end {
        let d = distances::<L>(cloud, at, p);
        let mut near = L::bits(L::splat(limit_sq).ge(d));
        // Those after the leaf are points too, but of other leaves.
        if end - at < LANES {
            near &= (1 << (end - at)) - 1;
        }
        if near != 0 {
            let mut all = [0.0; LANES];
            d.store(&mut all);
            while near != 0 {
                let i = near.trailing_zeros() as usize & 7;
                near &= near - 1;
                f((at + i) as u32, all[i]);
            }
        }
        at += LANES;
    }
}
