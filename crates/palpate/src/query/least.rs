//! The point of a tree where a field is least: branch and bound, nearest nodes first.
//!
//! Based on: sagardia14 2.3 (distance by the tree).
//! Differs: starts at +∞ and is exact: a node is dropped only if none of its points can beat the best so far.

use super::frame::{Frame, apply};
use super::kernel::{lanes_at, lanes_of, live};
use super::reach::Reach;
use super::{Side, Stats};
use crate::field::encode::Values;
use crate::field::packed::Quad;
use crate::field::read::{self, BLOCKS, Group, Layout, View};
use crate::simd::{LANES, Lanes, dispatch};
use crate::tree::{Level, Tree};

/// What is sought, and what was found.
pub(crate) struct Least<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) tree: &'a Tree,
    pub(crate) reach: Reach,
    /// Only points below this count [m]; then the least distance found.
    pub(crate) best: f32,
    /// The search ends with the first point that is not above this [m].
    pub(crate) stop: f32,
    /// The point, if any.
    pub(crate) point: Option<u32>,
    pub(crate) stats: Stats,
    /// Memory of the search.
    pub(crate) stack: &'a mut Vec<Open>,
}

/// A node still to be opened: level, place, and a number by which the most promising one is found: for [`least`] the distance at
/// its centre less its radius, for `near` a lower bound of its points' distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) level: u32,
    pub(crate) node: u32,
    pub(crate) bound: f32,
}

/// Searches. The first of several points that are equally near, in the order of the search, is found.
pub(crate) fn least(side: &Side<'_>, search: &mut Least<'_>) {
    let (l, directory) = (side.field.lattice(), &side.field.directory);
    match (side.packed, &side.field.values) {
        (Some(packed), _) => least_packed(&packed.view(), search),
        (None, Values::Float(v)) => least_float(&View::new(l, directory, v, 1.0), search),
        (None, Values::Scaled { values, step, .. }) => {
            least_scaled(&View::new(l, directory, values, *step), search);
        }
    }
}

dispatch! {
    fn least_float / least_float_plain = float_kernel(view: &View<'_, f32>, search: &mut Least<'_>)
}
dispatch! {
    fn least_packed / least_packed_plain = packed_kernel(view: &View<'_, Quad>, search: &mut Least<'_>)
}
dispatch! {
    fn least_scaled / least_scaled_plain = scaled_kernel(view: &View<'_, i16>, search: &mut Least<'_>)
}
#[inline(always)]
fn float_kernel<L: Lanes>(view: &View<'_, f32>, search: &mut Least<'_>) {
    least_kernel::<L, f32>(view, search);
}
#[inline(always)]
fn packed_kernel<L: Lanes>(view: &View<'_, Quad>, search: &mut Least<'_>) {
    least_kernel::<L, Quad>(view, search);
}
#[inline(always)]
fn scaled_kernel<L: Lanes>(view: &View<'_, i16>, search: &mut Least<'_>) {
    least_kernel::<L, i16>(view, search);
}

#[inline(always)]
fn least_kernel<L: Lanes, T: Layout>(view: &View<'_, T>, s: &mut Least<'_>) {
    let Some(mut group) = Group::new(view) else { return };
    if s.tree.is_empty() {
        return;
    }
    let m = s.frame.lanes::<L>();
    s.stack.clear();
    s.stack.push(Open { level: 0, node: 0, bound: f32::NEG_INFINITY });
    let mut blocks = [(0u32, 0u32); BLOCKS];
    let last = s.tree.levels.len() - 1;
    while let Some(open) = s.stack.pop() {
        let level = &s.tree.levels[open.level as usize];
        // The best may have come down since.
        if open.level > 0 && !still_open::<L>(s, level, &open) {
            continue;
        }
        let [mut at, end] = match level.first[open.node as usize..] {
            [from, to, ..] => [from, to],
            _ => continue,
        };
        let leaf = open.level as usize == last;
        while at < end {
            let mut n = 0;
            while at < end && n < BLOCKS {
                blocks[n] = (at, live(end - at));
                n += 1;
                at += LANES as u32;
            }
            if leaf {
                s.stats.points += n * LANES;
                points::<L, T>(view, &mut group, &m, s, &blocks, n);
                if s.best <= s.stop {
                    return;
                }
            } else {
                s.stats.nodes += n * LANES;
                nodes::<L, T>(view, &mut group, &m, s, &blocks, n, open.level + 1);
            }
        }
    }
}

/// Whether a node of the stack may hold a point below the best.
#[inline(always)]
fn still_open<L: Lanes>(s: &Least<'_>, level: &Level, open: &Open) -> bool {
    let radius = level.radius[open.node as usize];
    let limit = s.reach.at(s.best).limit(L::splat(radius), L::splat(f32::INFINITY));
    L::bits(limit.ge(L::splat(open.bound + radius))) & 1 == 1
}

/// Offers the points of blocks.
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn points<L: Lanes, T: Layout>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    m: &[[L; 4]; 3],
    s: &mut Least<'_>,
    blocks: &[(u32, u32); BLOCKS],
    n: usize,
) {
    for i in 0..n {
        group.put::<L>(i, apply(m, lanes_of::<L>(&s.tree.position, blocks[i].0)));
    }
    let outside = read::resolve::<L, T>(view, group, n);
    for i in 0..n {
        let (at, live) = blocks[i];
        let d = read::distance::<L, T>(view, group, i, outside);
        let mut better = L::bits(d.lt(L::splat(s.best))) & live;
        if better != 0 {
            let mut values = [0.0; LANES];
            d.store(&mut values);
            while better != 0 {
                let lane = better.trailing_zeros() as usize;
                better &= better - 1;
                if values[lane] < s.best {
                    s.best = values[lane];
                    s.point = Some(at + lane as u32);
                }
            }
        }
    }
}

/// Puts the nodes of blocks that can hold a better point on the stack, the one with the least bound on top.
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn nodes<L: Lanes, T: Layout>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    m: &[[L; 4]; 3],
    s: &mut Least<'_>,
    blocks: &[(u32, u32); BLOCKS],
    n: usize,
    level: u32,
) {
    let nodes = &s.tree.levels[level as usize];
    let from = s.stack.len();
    for i in 0..n {
        group.put::<L>(i, apply(m, lanes_of::<L>(&nodes.centre, blocks[i].0)));
    }
    let outside = read::resolve::<L, T>(view, group, n);
    for i in 0..n {
        let (at, live) = blocks[i];
        let d = read::distance::<L, T>(view, group, i, outside);
        let radius = lanes_at::<L>(&nodes.radius, at);
        let bound = d.sub(radius);
        let steepness = read::steepness::<L, T>(view, group, i);
        let mut open = L::bits(s.reach.at(s.best).limit(radius, steepness).ge(d)) & live;
        let mut bounds = [0.0; LANES];
        bound.store(&mut bounds);
        while open != 0 {
            let lane = open.trailing_zeros() as usize;
            open &= open - 1;
            let entry = Open { level, node: at + lane as u32, bound: bounds[lane] };
            s.stack.push(entry);
            let mut place = s.stack.len() - 1;
            while place > from && s.stack[place - 1].bound < entry.bound {
                s.stack.swap(place - 1, place);
                place -= 1;
            }
        }
    }
}
