//! All points within a distance, and the few nearest ones.

use super::Cloud;
use super::nearest::Nearest;
use super::search::{each_near, search};
use crate::simd::{Lanes, dispatch};
use glam::DVec3;
use std::cell::Cell;

/// A position of a cloud: its slot and the square of how far it is [m²].
pub(super) type Found = (f32, u32);

/// Calls `f` with an empty list that a thread keeps, so that searches do not allocate after the first.
fn with_scratch<T>(f: impl FnOnce(&mut Vec<Found>) -> T) -> T {
    thread_local! {
        static SCRATCH: Cell<Vec<Found>> = const { Cell::new(Vec::new()) };
    }
    SCRATCH.with(|kept| {
        let mut list = kept.take();
        list.clear();
        let result = f(&mut list);
        kept.set(list);
        result
    })
}

impl Cloud {
    /// The points not farther than `radius` from `p`, in the cloud's frame [m], in ascending order of ids; of those at one position the
    /// lowest. `out` is emptied first. None for a point that is not finite.
    pub fn within_into(&self, p: DVec3, radius: f64, out: &mut Vec<Nearest>) {
        out.clear();
        let Some(local) = self.local(p) else { return };
        with_scratch(|slots| {
            self.slots_within(local, radius, slots);
            out.extend(slots.iter().map(|(_, slot)| self.found(*slot, p)));
        });
        out.sort_unstable_by_key(|n| n.id);
    }

    /// The `k` points nearest to `p`, nearest first, in the cloud's frame [m]; of those at one position the lowest, and of those at one
    /// distance too. `out` is emptied first. None for a point that is not finite.
    pub fn nearest_k_into(&self, p: DVec3, k: usize, out: &mut Vec<Nearest>) {
        out.clear();
        let Some(local) = self.local(p) else { return };
        with_scratch(|few| {
            self.slots_nearest(local, k, few);
            out.extend(few.iter().map(|(_, slot)| self.found(*slot, p)));
        });
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
    let (at, p) = (p, [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])]);
    let mut limit = radius_sq;
    search::<L>(cloud, at, &mut limit, |leaf, limit| {
        each_near::<L>(cloud, leaf, &p, *limit, |slot, d| out.push((d, slot)));
    });
}

dispatch! {
    fn few / few_plain = few_kernel(cloud: &Cloud, p: [f32; 3], k: usize, out: &mut Vec<Found>)
}

#[inline(always)]
fn few_kernel<L: Lanes>(cloud: &Cloud, p: [f32; 3], k: usize, out: &mut Vec<Found>) {
    let (at, p) = (p, [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])]);
    let mut limit = f32::INFINITY;
    search::<L>(cloud, at, &mut limit, |leaf, limit| {
        each_near::<L>(cloud, leaf, &p, *limit, |slot, d| keep(cloud, k, (d, slot), out));
        if out.len() == k {
            *limit = out[k - 1].0;
        }
    });
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

#[cfg(test)]
mod tests {
    use super::super::tests::{kinds, probes};
    use super::super::{Cloud, CloudParams};
    use super::*;

    #[test]
    fn the_scalar_twins_find_the_same_in_the_same_order() {
        for (name, points) in kinds() {
            let cloud = Cloud::build(&points, &CloudParams::default()).unwrap();
            let radius_sq = (3.0 * cloud.spacing()).powi(2) as f32;
            for p in probes(&points, 8, 100) {
                let local = cloud.local(p).unwrap();
                let [mut a, mut b, mut c, mut d] = [const { Vec::new() }; 4];
                within(&cloud, local, radius_sq, &mut a);
                within_plain(&cloud, local, radius_sq, &mut b);
                few(&cloud, local, 5, &mut c);
                few_plain(&cloud, local, 5, &mut d);
                assert_eq!((a, c), (b, d), "{name} {p}");
            }
        }
    }
}
