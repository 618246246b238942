//! Whether a probe is in the box around a point.
//!
//! Based on: elfar07, boxes around points that are tested on the fly and kept nowhere.
//! Differs: every box that can hold the probe is tested, not those of at most seven octants; `six_point.rs` has the paper's way.

use super::Cloud;
use super::grid::{DEEPEST, LARGEST};
use super::search::{Cube, gaps};
use crate::simd::{LANES, Lanes, dispatch};
use crate::store::Stack;
use glam::DVec3;

/// Octants that can wait.
const STACK: usize = 7 * (LARGEST - DEEPEST) as usize + 8;

impl Cloud {
    /// Whether `p`, in the cloud's frame [m], is in the closed box around some point: along no axis farther from it than `half`, half
    /// the edge of the boxes [m]. No for a point that is not finite and for a negative or NaN `half`.
    ///
    /// Exact for positions as kept: what testing the box of every point gives. Cost: about 0.1 µs near a million points.
    pub fn touches(&self, p: DVec3, half: f64) -> bool {
        let mut hits = Hits { first_only: true, slots: None, any: false };
        self.local(p).is_some_and(|p| {
            boxes(self, p, half as f32, &mut hits);
            hits.any
        })
    }

    /// The points in whose boxes `p` is, as [`Cloud::touches`] says, in ascending order of ids; of those at one position the lowest.
    /// `out` is emptied first.
    pub fn touching_into(&self, p: DVec3, half: f64, out: &mut Vec<u32>) {
        out.clear();
        let Some(p) = self.local(p) else { return };
        boxes(self, p, half as f32, &mut Hits { first_only: false, slots: Some(out), any: false });
        for slot in out.iter_mut() {
            *slot = self.slots.id(*slot);
        }
        out.sort_unstable();
    }
}

/// What was found.
struct Hits<'a> {
    first_only: bool,
    slots: Option<&'a mut Vec<u32>>,
    any: bool,
}

dispatch! {
    fn boxes / boxes_plain = kernel(cloud: &Cloud, p: [f32; 3], half: f32, hits: &mut Hits<'_>)
}

#[inline(always)]
fn kernel<L: Lanes>(cloud: &Cloud, p: [f32; 3], half: f32, hits: &mut Hits<'_>) {
    let (at, p) = (p, [L::splat(p[0]), L::splat(p[1]), L::splat(p[2])]);
    let mut stack = Stack::<(u32, Cube), STACK>::new();
    stack.push(start(cloud, at, half));
    let half = L::splat(half);
    while let Some((at, cube)) = stack.pop() {
        let node = &cloud.nodes[at as usize];
        let [x, y, z] = gaps::<L>(node, &cube, &p);
        let near = L::bits(half.ge(x.max(y).max(z))) & u32::from(node.used());
        let mut leaves = near & u32::from(node.leaf);
        while leaves != 0 {
            let o = leaves.trailing_zeros() as usize & 7;
            leaves &= leaves - 1;
            scan::<L>(cloud, node.leaf_at(o), &p, half, hits);
            if hits.any && hits.first_only {
                return;
            }
        }
        let mut inner = near & u32::from(node.inner);
        while inner != 0 {
            let o = inner.trailing_zeros() as usize & 7;
            inner &= inner - 1;
            stack.push((node.inner_at(o) as u32, cube.octant(o)));
        }
    }
}

/// The smallest node around all that is not farther than `half` along any axis; the root where there is none.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
fn start(cloud: &Cloud, at: [f32; 3], half: f32) -> (u32, Cube) {
    let (mut node, mut cube) = (0u32, Cube::root(cloud));
    loop {
        let middle = 128.0 * cube.step;
        let (mut octant, mut whole) = (0, true);
        for a in 0..3 {
            let from_middle = at[a] - (cube.corner[a] + middle);
            octant |= usize::from(from_middle >= 0.0) << a;
            // Points on the middle belong to the upper half; those of the other half are farther than this.
            whole &= from_middle.abs() > half;
        }
        let n = &cloud.nodes[node as usize];
        if !whole || n.inner >> octant & 1 == 0 {
            return (node, cube);
        }
        (node, cube) = (n.inner_at(octant) as u32, cube.octant(octant));
    }
}

#[inline(always)]
fn scan<L: Lanes>(cloud: &Cloud, leaf: usize, p: &[L; 3], half: L, hits: &mut Hits<'_>) {
    let leaf = &cloud.leaves[leaf];
    let (mut at, end) = (leaf.start as usize, leaf.start as usize + usize::from(leaf.len));
    while at < end {
        let [x, y, z] = L::load_points(cloud.slots.eight(at));
        let (x, y, z) = (x.sub(p[0]).abs(), y.sub(p[1]).abs(), z.sub(p[2]).abs());
        let mut near = L::bits(half.ge(x.max(y).max(z)));
        // Those after the leaf are points too, but of other leaves.
        if end - at < LANES {
            near &= (1 << (end - at)) - 1;
        }
        hits.any |= near != 0;
        if let Some(slots) = &mut hits.slots {
            while near != 0 {
                slots.push(at as u32 + near.trailing_zeros());
                near &= near - 1;
            }
        }
        at += LANES;
    }
}
