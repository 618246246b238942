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
    let m = s.frame.lanes::<L>();
    s.stack.clear();
    s.stack.push(Open { level: 0, node: 0, bound: 0.0 });
    let last = s.tree.levels.len() - 1;
    while let Some(open) = s.stack.pop() {
        if open.bound >= s.best - s.tolerance {
            s.floor = s.floor.min(open.bound);
            continue;
        }
        let level = &s.tree.levels[open.level as usize];
        let [mut at, end] = match level.first[open.node as usize..] {
            [from, to, ..] => [from, to],
            _ => continue,
        };
        let leaf = open.level as usize == last;
        let from = s.stack.len();
        while at < end {
            if leaf {
                points::<L, T>(view, &m, s, at, live(end - at));
            } else {
                nodes::<L, T>(view, &m, s, at, live(end - at), open.level + 1, from);
            }
            at += LANES as u32;
        }
    }
}

/// The estimate and the lower bound at eight places of a tree, less what rounding can do [m].
#[inline(always)]
fn bounds_at<L: Lanes, T: Stored>(
    view: &Bounds<'_, T>,
    m: &[[L; 4]; 3],
    s: &Near<'_>,
    places: &[Vec<f32>; 3],
    at: u32,
) -> (L, L) {
    let cell = L::splat(s.frame.cell);
    let p = apply(m, lanes_of::<L>(places, at));
    let (estimate, lower) = estimates::<L, T>(view, [p[0].mul(cell), p[1].mul(cell), p[2].mul(cell)]);
    (estimate, lower.sub(L::splat(s.frame.rounding)).max(L::splat(0.0)))
}

#[inline(always)]
fn points<L: Lanes, T: Stored>(view: &Bounds<'_, T>, m: &[[L; 4]; 3], s: &mut Near<'_>, at: u32, live: u32) {
    s.stats.points += live.count_ones() as usize;
    let (estimate, lower) = bounds_at(view, m, s, &s.tree.position, at);
    let (mut estimates, mut bounds) = ([0.0; LANES], [0.0; LANES]);
    estimate.store(&mut estimates);
    lower.store(&mut bounds);
    let limit = s.best - s.tolerance;
    let mut own = (f32::INFINITY, 0);
    for lane in 0..LANES {
        if live >> lane & 1 == 0 {
            continue;
        }
        match &mut s.doubtful {
            Some(list) if bounds[lane] < limit => list.push(at + lane as u32),
            Some(_) => s.floor = s.floor.min(bounds[lane]),
            None => {
                s.floor = s.floor.min(bounds[lane]);
                if estimates[lane] < own.0 {
                    own = (estimates[lane], at + lane as u32);
                }
            }
        }
    }
    if own.0 < s.best {
        (s.best, s.point) = (own.0, Some(own.1));
    }
    // In order, the last one falls out.
    for rival in &mut s.rivals {
        if own.0 < rival.0 {
            core::mem::swap(&mut own, rival);
        }
    }
}

#[inline(always)]
fn nodes<L: Lanes, T: Stored>(
    view: &Bounds<'_, T>,
    m: &[[L; 4]; 3],
    s: &mut Near<'_>,
    at: u32,
    live: u32,
    level: u32,
    from: usize,
) {
    s.stats.nodes += live.count_ones() as usize;
    let nodes = &s.tree.levels[level as usize];
    let (_, lower) = bounds_at(view, m, s, &nodes.centre, at);
    let bound = lower.sub(lanes_at::<L>(&nodes.radius, at));
    let mut bounds = [0.0; LANES];
    bound.store(&mut bounds);
    let limit = s.best - s.tolerance;
    for (lane, bound) in bounds.iter().enumerate() {
        if live >> lane & 1 == 0 {
            continue;
        }
        if *bound >= limit {
            s.floor = s.floor.min(*bound);
            continue;
        }
        s.stack.push(Open { level, node: at + lane as u32, bound: *bound });
        let mut place = s.stack.len() - 1;
        while place > from && s.stack[place - 1].bound < *bound {
            s.stack.swap(place - 1, place);
            place -= 1;
        }
    }
}
