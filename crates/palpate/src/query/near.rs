//! The point of a tree nearest to a surface, with a bound no point is below: branch and bound on certified lower bounds.
//!
//! Based on: sagardia14 2.3 (distance by the tree).
//! Differs: bounds are those of `field/far.rs`, which hold for the true distance, also outside the field's box; the search drops
//! what is not better than the best by more than a tolerance, and says what it dropped.

use super::Stats;
use super::frame::{Frame, apply};
use super::kernel::{lanes_at, lanes_of, live};
use super::least::Open;
use crate::field::encode::Values;
use crate::field::far::{Bounds, estimates};
use crate::field::read::Stored;
use crate::field::{FarGrid, Field};
use crate::simd::{LANES, Lanes, dispatch};
use crate::tree::Tree;

/// Leaves whose best points are remembered besides the best of all.
const RIVALS: usize = 4;

/// What is sought, and what was found. Distances are unsigned [m].
pub(crate) struct Near<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) tree: &'a Tree,
    /// Nodes and points that cannot be nearer than `best` by more than this are dropped [m].
    pub(crate) tolerance: f32,
    /// Estimated distance of the nearest point so far; only nearer ones count [m].
    pub(crate) best: f32,
    pub(crate) point: Option<u32>,
    /// The best points of other leaves, least estimate first.
    pub(crate) rivals: [(f32, u32); RIVALS],
    /// No point is nearer than this, in truth, but the doubtful ones [m].
    pub(crate) floor: f32,
    /// In place of seeking the best: collects the points whose lower bound is below `best` less `tolerance`.
    pub(crate) doubtful: Option<&'a mut Vec<u32>>,
    pub(crate) stats: Stats,
    /// Memory of the search.
    pub(crate) stack: &'a mut Vec<Open>,
}

impl Near<'_> {
    /// Before a search.
    pub(crate) const NO_RIVALS: [(f32, u32); RIVALS] = [(f32::INFINITY, 0); RIVALS];
}

/// Searches the whole tree.
pub(crate) fn near(field: &Field, far: &FarGrid, search: &mut Near<'_>) {
    match &field.values {
        Values::Float(v) => near_float(&Bounds::new(field, far, v, 1.0), search),
        Values::Scaled { values, step, .. } => near_scaled(&Bounds::new(field, far, values, *step), search),
    }
}

dispatch! {
    fn near_float / near_float_plain = float_kernel(view: &Bounds<'_, f32>, search: &mut Near<'_>)
}
dispatch! {
    fn near_scaled / near_scaled_plain = scaled_kernel(view: &Bounds<'_, i16>, search: &mut Near<'_>)
}
#[inline(always)]
fn float_kernel<L: Lanes>(view: &Bounds<'_, f32>, search: &mut Near<'_>) {
    kernel::<L, f32>(view, search);
}
#[inline(always)]
fn scaled_kernel<L: Lanes>(view: &Bounds<'_, i16>, search: &mut Near<'_>) {
    kernel::<L, i16>(view, search);
}

#[inline(always)]
fn kernel<L: Lanes, T: Stored>(view: &Bounds<'_, T>, s: &mut Near<'_>) {
    if s.tree.is_empty() {
        return;
    }
    let tree = s.tree;
    let m = s.frame.lanes::<L>();
    let mut floor = L::splat(s.floor);
    s.stack.clear();
    s.stack.push(Open { level: 0, node: 0, bound: 0.0 });
    let last = tree.levels.len() - 1;
    while let Some(open) = s.stack.pop() {
        if open.bound >= s.best - s.tolerance {
            floor = floor.min(L::splat(open.bound));
            continue;
        }
        let level = &tree.levels[open.level as usize];
        let [mut at, end] = match level.first[open.node as usize..] {
            [from, to, ..] => [from, to],
            _ => continue,
        };
        let leaf = open.level as usize == last;
        let from = s.stack.len();
        while at < end {
            let live = live(end - at);
            if leaf {
                floor = points::<L, T>(view, &m, s, at, live, floor);
            } else {
                floor = nodes::<L, T>(view, &m, s, at, live, open.level + 1, from, floor);
            }
            at += LANES as u32;
        }
    }
    let mut floors = [0.0; LANES];
    floor.store(&mut floors);
    let mut lane = 0;
    while lane < LANES {
        s.floor = s.floor.min(floors[lane]);
        lane += 1;
    }
}

/// Those lanes of `floor` that count lowered to `v`.
#[inline(always)]
fn lowered<L: Lanes>(floor: L, v: L, bits: u32) -> L {
    if bits == 0xff {
        return floor.min(v);
    }
    let index = L::load(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
    let half = L::splat(bits as f32).div(index).floor().mul(L::splat(0.5));
    // The bit of a lane is the remainder of a half.
    L::select(half.ne(half.floor()), floor.min(v), floor)
}

/// The estimate and the lower bound at eight places of a tree, in cells, less what rounding can do [m].
#[inline(always)]
fn bounds_at<L: Lanes, T: Stored>(view: &Bounds<'_, T>, s: &Near<'_>, p: [L; 3]) -> (L, L) {
    let (estimate, lower) = estimates::<L, T>(view, p);
    (estimate, lower.sub(L::splat(s.frame.rounding)).max(L::splat(0.0)))
}

#[inline(always)]
fn points<L: Lanes, T: Stored>(
    view: &Bounds<'_, T>,
    m: &[[L; 4]; 3],
    s: &mut Near<'_>,
    at: u32,
    live: u32,
    floor: L,
) -> L {
    s.stats.points += live.count_ones() as usize;
    let (estimate, lower) = bounds_at(view, s, apply(m, lanes_of::<L>(&s.tree.position, at)));
    if let Some(list) = &mut s.doubtful {
        let mut bits = L::bits(lower.lt(L::splat(s.best - s.tolerance))) & live;
        let floor = lowered(floor, lower, live & !bits);
        while bits != 0 {
            list.push(at + bits.trailing_zeros());
            bits &= bits - 1;
        }
        return floor;
    }
    let mut bits = L::bits(estimate.lt(L::splat(s.best.max(s.rivals[RIVALS - 1].0)))) & live;
    if bits != 0 {
        let mut estimates = [0.0; LANES];
        estimate.store(&mut estimates);
        let mut own = (f32::INFINITY, 0);
        while bits != 0 {
            let lane = bits.trailing_zeros();
            bits &= bits - 1;
            if estimates[lane as usize] < own.0 {
                own = (estimates[lane as usize], at + lane);
            }
        }
        if own.0 < s.best {
            (s.best, s.point) = (own.0, Some(own.1));
        }
        // In order, the last one falls out.
        let mut place = 0;
        while place < RIVALS {
            if own.0 < s.rivals[place].0 {
                core::mem::swap(&mut own, &mut s.rivals[place]);
            }
            place += 1;
        }
    }
    lowered(floor, lower, live)
}

#[expect(clippy::too_many_arguments, reason = "part of a kernel")]
#[inline(always)]
fn nodes<L: Lanes, T: Stored>(
    view: &Bounds<'_, T>,
    m: &[[L; 4]; 3],
    s: &mut Near<'_>,
    at: u32,
    live: u32,
    level: u32,
    from: usize,
    floor: L,
) -> L {
    s.stats.nodes += live.count_ones() as usize;
    let nodes = &s.tree.levels[level as usize];
    // The smallest ball, or the one behind the patch: whose bound is the larger one as seen from the middle of the surface.
    let (p, r) = (apply(m, lanes_of::<L>(&nodes.centre, at)), lanes_at::<L>(&nodes.radius, at));
    let (q, d) = (apply(m, lanes_of::<L>(&nodes.facing, at)), lanes_at::<L>(&nodes.depth, at));
    let cell = L::splat(s.frame.cell);
    let behind = view.from_middle(p).mul(cell).sub(r).lt(view.from_middle(q).mul(cell).sub(d));
    let c = [L::select(behind, q[0], p[0]), L::select(behind, q[1], p[1]), L::select(behind, q[2], p[2])];
    let bound = bounds_at(view, s, c).1.sub(L::select(behind, d, r));
    let dropped = L::bits(bound.ge(L::splat(s.best - s.tolerance)));
    let mut bits = live & !dropped;
    if bits != 0 {
        let mut bounds = [0.0; LANES];
        bound.store(&mut bounds);
        while bits != 0 {
            let lane = bits.trailing_zeros();
            bits &= bits - 1;
            let entry = Open { level, node: at + lane, bound: bounds[lane as usize] };
            s.stack.push(entry);
            let mut place = s.stack.len() - 1;
            while place > from && s.stack[place - 1].bound < entry.bound {
                s.stack[place] = s.stack[place - 1];
                place -= 1;
            }
            s.stack[place] = entry;
        }
    }
    lowered(floor, bound, live & dropped)
}
