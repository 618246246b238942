//! Down an octree, nearest octants first.
//!
//! How near the points of eight octants can be is kept as whole numbers that are in the same order and name their octant. So the next
//! octant is the least of eight numbers, and what is too far is never written down.

use super::Cloud;
use super::grid::{DEEPEST, LARGEST};
use super::node::{Node, step};
use crate::simd::{LANES, Lanes, prefetch};
use crate::store::Stack;

/// Nodes on a way down.
const DEPTH: usize = (LARGEST - DEEPEST) as usize;

/// Bits of a key that name its octant. Bounds lose them, downward: by less than a millionth.
const NAME: i32 = 7;

/// The key of octants that are done, or have no points.
const DONE: i32 = i32::MAX;

/// A node that waits: its octants that are still to be looked at, and where its cube is.
#[derive(Clone, Copy)]
struct Waiting {
    keys: [i32; LANES],
    node: u32,
    cube: Cube,
}

/// A node's cube: its lowest corner relative to the cloud's origin, and a 256th of its edge [m].
#[derive(Clone, Copy)]
pub(super) struct Cube {
    /// The fourth number is nothing: four fill a vector.
    pub(super) corner: [f32; 4],
    pub(super) step: f32,
}

/// Where the corners of octants are, in steps.
const OCTANTS: [[f32; 4]; 8] = {
    let mut all = [[0.0; 4]; 8];
    let mut o = 0;
    while o < 8 {
        let mut a = 0;
        while a < 3 {
            all[o][a] = if o >> a & 1 == 1 { 128.0 } else { 0.0 };
            a += 1;
        }
        o += 1;
    }
    all
};

impl Cube {
    pub(super) fn root(cloud: &Cloud) -> Self {
        let [x, y, z] = cloud.grid.local(cloud.grid.corner);
        Self { corner: [x, y, z, 0.0], step: step(cloud.grid.log, cloud.grid.unit) }
    }

    /// An octant of it. Exact, as all corners are.
    #[inline(always)]
    pub(super) fn octant(&self, o: usize) -> Self {
        let (mut corner, to) = (self.corner, &OCTANTS[o & 7]);
        for a in 0..4 {
            corner[a] += to[a] * self.step;
        }
        Self { corner, step: 0.5 * self.step }
    }

    /// The cube that this is octant `o` of.
    #[inline(always)]
    fn above(&self, o: usize) -> Self {
        let (mut corner, to, step) = (self.corner, &OCTANTS[o & 7], 2.0 * self.step);
        for a in 0..4 {
            corner[a] -= to[a] * step;
        }
        Self { corner, step }
    }

    /// Whether no point outside the cube can be as near to `p` as the root of `limit_sq` [m²].
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
    fn holds_ball(&self, p: [f32; 3], limit_sq: f32) -> bool {
        let edge = 256.0 * self.step;
        let mut least = f32::INFINITY;
        for a in 0..3 {
            let low = p[a] - self.corner[a];
            least = least.min(low).min((self.corner[a] + edge) - p[a]);
        }
        least > 0.0 && least * least > limit_sq
    }
}

/// For each octant, how far the point is from its box along each axis [m]: negative within.
#[inline(always)]
pub(super) fn gaps<L: Lanes>(node: &Node, cube: &Cube, p: &[L; 3]) -> [L; 3] {
    let (step, one) = (L::splat(cube.step), L::splat(1.0));
    let mut out = [L::splat(0.0); 3];
    for a in 0..3 {
        let corner = L::splat(cube.corner[a]);
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

/// The keys of a node's octants: those without points are done.
#[inline(always)]
fn keys<L: Lanes>(node: &Node, cube: &Cube, p: &[L; 3]) -> L::Ints {
    let [x, y, z] = gaps::<L>(node, cube, p);
    let zero = L::splat(0.0);
    let (x, y, z) = (x.max(zero), y.max(zero), z.max(zero));
    let bound = x.mul(x).add(y.mul(y)).add(z.mul(z));
    let named =
        L::int_or(L::int_and(bound.int_bits(), L::ints(!NAME)), L::load_ints(&[0, 1, 2, 3, 4, 5, 6, 7]));
    let bit = L::load_ints(&[1, 2, 4, 8, 16, 32, 64, 128]);
    let without = L::int_eq(L::int_and(L::ints(i32::from(node.used())), bit), L::ints(0));
    L::int_select(without, L::ints(DONE), named)
}

/// Calls `visit` with the leaves, by their place in the list, that can have points not farther than the root of `limit_sq` [m²] from `at`,
/// about nearest first. `visit` may lower the limit.
///
/// Goes straight to the smallest octant around the point, which asks for no bounds, and from there up again: what is nearest is
/// mostly known before the large octants are looked at, and they are not where the limit is within the small ones.
#[inline(always)]
pub(super) fn search<L: Lanes>(
    cloud: &Cloud,
    at: [f32; 3],
    limit_sq: &mut f32,
    mut visit: impl FnMut(usize, &mut f32),
) {
    let p = &[L::splat(at[0]), L::splat(at[1]), L::splat(at[2])];
    let (mut way, mut index, mut cube) = descend(cloud, at);
    let mut waiting = Stack::new();
    // Which octant has been looked at: none of the first.
    let mut taken = -1;
    loop {
        let node = &cloud.nodes[index as usize];
        prefetch(&cloud.leaves, node.first_leaf as usize);
        let names = L::load_ints(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let left = L::int_select(L::int_eq(names, L::ints(taken)), L::ints(DONE), keys::<L>(node, &cube, p));
        below::<L>(cloud, p, limit_sq, (left, index, cube), &mut waiting, &mut visit);
        if cube.holds_ball(at, *limit_sq) {
            return;
        }
        let Some((above, octant)) = way.pop() else { return };
        (index, taken, cube) = (above, octant as i32, cube.above(octant as usize));
    }
}

/// The nodes above a node, and which octant of each is on the way.
type Way = Stack<(u32, u32), DEPTH>;

/// The way to the smallest node around a point, or to one near it; that node and its cube.
#[inline(always)]
fn descend(cloud: &Cloud, at: [f32; 3]) -> (Way, u32, Cube) {
    let mut cube = Cube::root(cloud);
    let (per_metre, log) = (cloud.grid.per_metre as f32, cloud.grid.log);
    let most = ((1i32 << log) - 1) as f32;
    // Outside the cube: the place of it that is nearest.
    let whole = |a: usize| ((at[a] - cube.corner[a]) * per_metre).max(0.0).min(most) as u32;
    let place = [whole(0), whole(1), whole(2)];
    let (mut way, mut index, mut shift) = (Stack::new(), 0u32, log);
    loop {
        shift -= 1;
        let bit = |a: usize| (place[a] >> (shift & 31) & 1) as usize;
        let o = bit(0) | bit(1) << 1 | bit(2) << 2;
        let node = &cloud.nodes[index as usize];
        if node.inner >> o & 1 == 0 {
            return (way, index, cube);
        }
        way.push((index, o as u32));
        index = node.inner_at(o) as u32;
        prefetch(&cloud.nodes, index as usize);
        cube = cube.octant(o);
    }
}

/// [`search`] in the octants of a node that are left.
#[inline(always)]
fn below<L: Lanes>(
    cloud: &Cloud,
    p: &[L; 3],
    limit_sq: &mut f32,
    (mut left, mut index, mut cube): (L::Ints, u32, Cube),
    waiting: &mut Stack<Waiting, DEPTH>,
    visit: &mut impl FnMut(usize, &mut f32),
) {
    let mut node = &cloud.nodes[index as usize];
    loop {
        let least = L::int_least(left);
        // Bounds are not negative, so their bits are in the order of their values; a limit below zero is below them all.
        if (least & !NAME) > limit_sq.to_bits() as i32 {
            let Some(next) = waiting.pop() else { return };
            left = L::load_ints(&next.keys);
            (index, cube) = (next.node, next.cube);
            node = &cloud.nodes[index as usize];
            continue;
        }
        let rest = L::int_select(L::int_eq(left, L::ints(least)), L::ints(DONE), left);
        let o = (least & NAME) as usize;
        let next = L::int_least(rest);
        let more = (next & !NAME) <= limit_sq.to_bits() as i32;
        if node.leaf >> o & 1 == 1 {
            // The points of the next leaf come while those of this one are looked at.
            let then = (next & NAME) as usize;
            if more && node.leaf >> then & 1 == 1 {
                cloud.leaves.get(node.leaf_at(then)).inspect(|l| cloud.slots.prefetch(l));
            }
            visit(node.leaf_at(o), limit_sq);
            left = rest;
        } else {
            if more {
                let mut keys = [0; LANES];
                L::store_ints(rest, &mut keys);
                waiting.push(Waiting { keys, node: index, cube });
            }
            index = node.inner_at(o) as u32;
            node = &cloud.nodes[index as usize];
            cube = cube.octant(o);
            prefetch(&cloud.leaves, node.first_leaf as usize);
            left = keys::<L>(node, &cube, p);
        }
    }
}

/// Calls `f` with the slots of a leaf that are not farther, and the squares of how far they are.
#[inline(always)]
pub(super) fn each_near<L: Lanes>(
    cloud: &Cloud,
    leaf: usize,
    p: &[L; 3],
    limit_sq: f32,
    mut f: impl FnMut(u32, f32),
) {
    let leaf = &cloud.leaves[leaf];
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
