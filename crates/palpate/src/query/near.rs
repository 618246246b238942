//! The point of a tree nearest to a surface, with a bound no point is below: branch and bound on certified lower bounds.
//!
//! Based on: sagardia14 2.3 (distance by the tree).
//! Differs: bounds are those of `field/far.rs`, which hold for the true distance, also outside the field's box; the search drops
//! what is not better than the best by more than a tolerance, and says what it dropped.

use super::Stats;
use super::frame::{Frame, apply};
use super::kernel::lanes_of;
use super::least::Open;
use super::trail::{POINTS, Seen, Trail};
use crate::field::bounds::{Bounds, estimates};
use crate::field::encode::Values;
use crate::field::read::Stored;
use crate::field::{FarGrid, Field};
use crate::simd::{LANES, Lanes, dispatch};
use crate::tree::Tree;

/// Leaves whose best points are remembered besides the best of all.
pub(crate) const RIVALS: usize = 4;

/// What is sought, and what was found. Distances are unsigned [m].
pub(crate) struct Near<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) tree: &'a Tree,
    /// Nodes and points that cannot be nearer than `best` by more than this are dropped [m], and by more than this share of `best`.
    pub(crate) tolerance: f32,
    pub(crate) share: f32,
    /// How far beside its points the surface is, usually [m]: so that places are not dropped where it is nearer than they are.
    pub(crate) beside: f32,
    /// Estimated distance of the nearest point so far; only nearer ones count [m].
    pub(crate) best: f32,
    pub(crate) point: Option<u32>,
    /// The best points of other leaves, least estimate first.
    pub(crate) rivals: [(f32, u32); RIVALS],
    /// No point is nearer than this, in truth, but the doubtful ones [m].
    pub(crate) floor: f32,
    /// In place of seeking the best: collects the points whose lower bound is below `best` less `tolerance`.
    pub(crate) doubtful: Option<&'a mut Vec<u32>>,
    /// What is looked at is kept here. If doubtful points are collected: what the search before kept, to go on from.
    pub(crate) trail: Option<&'a mut Trail>,
    pub(crate) stats: Stats,
    /// Memory of the search.
    pub(crate) stack: &'a mut Vec<Open>,
}

impl Near<'_> {
    /// Before a search.
    pub(crate) const NO_RIVALS: [(f32, u32); RIVALS] = [(f32::INFINITY, 0); RIVALS];

    /// What is not below this is dropped [m].
    #[inline(always)]
    fn limit(&self) -> f32 {
        // √(best² + beside²) − best, about.
        let more =
            if self.beside > 0.0 { self.beside * self.beside / (2.0 * self.best + self.beside) } else { 0.0 };
        self.least_limit() + more
    }

    /// What [`Near::limit`] is not below for this best and any larger one [m].
    #[inline(always)]
    fn least_limit(&self) -> f32 {
        let give = self.share * self.best;
        self.best - if give < self.tolerance { give } else { self.tolerance }
    }
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
    if s.trail.is_some() && s.doubtful.is_some() {
        floor = resume::<L>(s, floor);
    } else {
        s.stack.push(Open { level: 0, node: 0, bound: 0.0 });
    }
    let last = tree.levels.len() - 1;
    while let Some(open) = s.stack.pop() {
        if open.bound >= s.limit() {
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
            let count = (end - at).min(LANES as u32);
            if leaf {
                floor = points::<L, T>(view, &m, s, at, count, floor);
            } else {
                floor = nodes::<L, T>(view, &m, s, [at, count, open.level + 1], floor);
            }
            at += LANES as u32;
        }
        // The most promising one next.
        let mut place = from;
        let mut i = from + 1;
        while i < s.stack.len() {
            if s.stack[i].bound < s.stack[place].bound {
                place = i;
            }
            i += 1;
        }
        if i > from + 1 {
            s.stack.swap(place, i - 1);
        }
    }
    let mut floors = [0.0; LANES];
    floor.store(&mut floors);
    let mut lane = 0;
    while lane < LANES {
        s.floor = s.floor.min(floors[lane]);
        lane += 1;
    }
    let limit = s.least_limit();
    if let Some(trail) = &mut s.trail {
        trail.limit = limit;
    }
}

/// Puts what the search before did not open, and now must be, on the stack. The floor of the rest.
#[inline(always)]
fn resume<L: Lanes>(s: &mut Near<'_>, mut floor: L) -> L {
    let limit = s.limit();
    let (Some(trail), Some(doubtful)) = (s.trail.take(), &mut s.doubtful) else { return floor };
    let mut i = 0;
    while i < trail.seen.len() {
        let Seen { bounds, at, count, level } = trail.seen[i];
        let bound = L::load(&bounds);
        let kept = bound.ge(L::splat(limit));
        floor = lowered(floor, bound, kept, count);
        let mut bits = first(count) & !L::bits(kept);
        if level != POINTS {
            bits &= L::bits(bound.ge(L::splat(trail.limit)));
        }
        while bits != 0 {
            let lane = bits.trailing_zeros();
            bits &= bits - 1;
            if level == POINTS {
                doubtful.push(at + lane);
            } else {
                s.stack.push(Open { level, node: at + lane, bound: bounds[lane as usize] });
            }
        }
        i += 1;
    }
    floor
}

/// A bit for each of the first lanes.
#[inline(always)]
fn first(count: u32) -> u32 {
    (1 << count) - 1
}

/// `floor` lowered to `v` in those of the first lanes that the mask has.
#[inline(always)]
fn lowered<L: Lanes>(floor: L, v: L, mask: L::Mask, count: u32) -> L {
    let index = L::load(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let mask = L::and(mask, index.lt(L::splat(count as f32)));
    L::select(mask, floor.min(v), floor)
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
    count: u32,
    floor: L,
) -> L {
    s.stats.points += count as usize;
    let (estimate, lower) = bounds_at(view, s, apply(m, lanes_of::<L>(&s.tree.position, at)));
    let limit = s.limit();
    if let Some(list) = &mut s.doubtful {
        let kept = lower.ge(L::splat(limit));
        let mut bits = first(count) & !L::bits(kept);
        while bits != 0 {
            list.push(at + bits.trailing_zeros());
            bits &= bits - 1;
        }
        return lowered(floor, lower, kept, count);
    }
    if let Some(trail) = &mut s.trail {
        let mut bounds = [0.0; LANES];
        lower.store(&mut bounds);
        trail.push(Seen { bounds, at, count, level: POINTS });
    }
    let mut bits = L::bits(estimate.lt(L::splat(s.best.max(s.rivals[RIVALS - 1].0)))) & first(count);
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
    lowered(floor, lower, lower.ge(L::splat(0.0)), count)
}

/// Puts those of `count` nodes from `at` on of a level on the stack that may hold a nearer point.
#[inline(always)]
fn nodes<L: Lanes, T: Stored>(
    view: &Bounds<'_, T>,
    m: &[[L; 4]; 3],
    s: &mut Near<'_>,
    [at, count, level]: [u32; 3],
    floor: L,
) -> L {
    s.stats.nodes += count as usize;
    // Always there, as the array is longer by a vector.
    let Some(balls) = s.tree.levels[level as usize].balls[at as usize..].first_chunk() else { return floor };
    // The smallest ball, or the one behind the patch: whose bound is the larger one as seen from the surface.
    let [x, y, z, r] = L::load_quads(balls, 0);
    let p = apply(m, [x, y, z]);
    let [x, y, z, d] = L::load_quads(balls, 1);
    let q = apply(m, [x, y, z]);
    let cell = L::splat(s.frame.cell);
    let behind = view.to_inner(p).mul(cell).sub(r).lt(view.to_inner(q).mul(cell).sub(d));
    let c = [L::select(behind, q[0], p[0]), L::select(behind, q[1], p[1]), L::select(behind, q[2], p[2])];
    let bound = bounds_at(view, s, c).1.sub(L::select(behind, d, r));
    let mut bounds = [0.0; LANES];
    bound.store(&mut bounds);
    if let Some(trail) = &mut s.trail {
        trail.push(Seen { bounds, at, count, level });
    }
    let dropped = bound.ge(L::splat(s.limit()));
    let mut bits = first(count) & !L::bits(dropped);
    while bits != 0 {
        let lane = bits.trailing_zeros();
        bits &= bits - 1;
        s.stack.push(Open { level, node: at + lane, bound: bounds[lane as usize] });
    }
    lowered(floor, bound, dropped, count)
}

#[cfg(test)]
#[path = "near_tests.rs"]
mod tests;
