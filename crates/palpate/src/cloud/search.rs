//! Down an octree, nearest octants first.
//!
//! One frame for each division: how near the points of its eight octants can be, as whole numbers that are in the same order and
//! name their octant. So the next octant is the least of eight numbers, and what is too far is never written down.

use super::Cloud;
use super::grid::{DEEPEST, LARGEST};
use super::node::{Node, step};
use crate::simd::{LANES, Lanes, prefetch};

/// Room for the nodes of a way down, a power of two.
const DEPTH: usize = 32;
const _: () = assert!(DEPTH >= (LARGEST - DEEPEST) as usize);

/// Bits of a key that name its octant. Bounds lose them, downward: by less than a millionth.
const NAME: i32 = 7;

/// The key of octants that are done, or have no points.
const DONE: i32 = i32::MAX;

/// A node on the way: its octants that are still to be looked at, and where its cube is.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Frame {
    keys: [i32; LANES],
    node: u32,
    cube: Cube,
    /// The octant that was looked at before the others.
    taken: u32,
}

impl Frame {
    const NONE: Self =
        Self { keys: [DONE; LANES], node: 0, cube: Cube { corner: [0.0; 3], step: 0.0 }, taken: 0 };
}

/// A node's cube: its lowest corner relative to the cloud's origin [m], and a 256th of its edge [m].
#[derive(Clone, Copy)]
pub(super) struct Cube {
    pub(super) corner: [f32; 3],
    pub(super) step: f32,
}

impl Cube {
    pub(super) fn root(cloud: &Cloud) -> Self {
        Self { corner: cloud.grid.local(cloud.grid.corner), step: step(cloud.grid.log, cloud.grid.unit) }
    }

    #[inline(always)]
    pub(super) fn octant(&self, o: usize) -> Self {
        let half = 128.0 * self.step;
        let on = |a: usize| if o >> a & 1 == 1 { half } else { 0.0 };
        let corner = [self.corner[0] + on(0), self.corner[1] + on(1), self.corner[2] + on(2)];
        Self { corner, step: 0.5 * self.step }
    }
}

impl Cube {
    /// Whether no point outside the cube can be as near to `p` as the root of `limit_sq` [m²].
    #[inline(always)]
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
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
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
    let mut frames = [Frame::NONE; DEPTH];
    let last = descend(cloud, at, &mut frames);
    let mut from = last;
    loop {
        let frame = &mut frames[from % DEPTH];
        let node = &cloud.nodes[frame.node as usize];
        prefetch(&cloud.leaves, node.first_leaf as usize);
        let mut left = keys::<L>(node, &frame.cube, p);
        if from < last {
            let names = L::load_ints(&[0, 1, 2, 3, 4, 5, 6, 7]);
            left = L::int_select(L::int_eq(names, L::ints(frame.taken as i32)), L::ints(DONE), left);
        }
        let (index, cube) = (frame.node, frame.cube);
        below::<L>(cloud, p, limit_sq, (left, index, cube), (&mut frames, from), &mut visit);
        if from == 0 || cube.holds_ball(at, *limit_sq) {
            return;
        }
        from -= 1;
    }
}

/// The way to the smallest node around a point, or to one near it: its length less one.
#[inline(always)]
fn descend(cloud: &Cloud, at: [f32; 3], frames: &mut [Frame; DEPTH]) -> usize {
    let cube = Cube::root(cloud);
    let (per_unit, log) = (1.0 / cloud.grid.unit as f32, cloud.grid.log);
    let most = (1i32 << log) - 1;
    // Outside the cube: the place of it that is nearest.
    let whole = |a: usize| (((at[a] - cube.corner[a]) * per_unit) as i32).clamp(0, most);
    let place = [whole(0), whole(1), whole(2)];
    frames[0].cube = cube;
    let (mut depth, mut shift) = (0, log);
    loop {
        shift -= 1;
        let bit = |a: usize| (place[a] >> (shift & 31) & 1) as usize;
        let o = bit(0) | bit(1) << 1 | bit(2) << 2;
        let frame = &mut frames[depth % DEPTH];
        let node = &cloud.nodes[frame.node as usize];
        if node.inner >> o & 1 == 0 {
            return depth;
        }
        frame.taken = o as u32;
        let (node, cube) = (node.inner_at(o) as u32, frame.cube.octant(o));
        prefetch(&cloud.nodes, node as usize);
        depth += 1;
        let next = &mut frames[depth % DEPTH];
        (next.node, next.cube) = (node, cube);
    }
}

/// [`search`] in the octants of a node that are left. The frames from `bottom` on are free.
#[inline(always)]
fn below<L: Lanes>(
    cloud: &Cloud,
    p: &[L; 3],
    limit_sq: &mut f32,
    (left, node, cube): (L::Ints, u32, Cube),
    (frames, bottom): (&mut [Frame; DEPTH], usize),
    visit: &mut impl FnMut(usize, &mut f32),
) {
    let (mut left, mut index, mut cube, mut top) = (left, node, cube, bottom);
    let mut node = &cloud.nodes[index as usize];
    loop {
        let least = L::int_least(left);
        // Bounds are not negative, so their bits are in the order of their values; a limit below zero is below them all.
        if (least & !NAME) > limit_sq.to_bits() as i32 {
            if top == bottom {
                return;
            }
            top -= 1;
            let frame = &frames[top % DEPTH];
            left = L::load_ints(&frame.keys);
            (index, cube) = (frame.node, frame.cube);
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
            let at = node.inner_at(o);
            if more {
                let frame = &mut frames[top % DEPTH];
                L::store_ints(rest, &mut frame.keys);
                (frame.node, frame.cube) = (index, cube);
                top += 1;
            }
            index = at as u32;
            node = &cloud.nodes[at];
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
