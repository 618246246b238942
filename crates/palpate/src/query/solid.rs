//! The points of a shape that are inside a solid by formula, or nearer than a margin to it.
//!
//! Based on: sagardia14 2.3, with an exact distance in place of a field.
//! Differs: the walk can follow the nearest point: once a ball is known to hold a point at some distance, nothing that is much
//! farther is looked at.

use super::formula::{Formula, rows};
use super::frame::turn;
use super::kernel::{Points, live};
use super::walk::{Run, join};
use super::{Query, Stats};
use crate::contact::{Contact, Contacts};
use crate::field::Source;
use crate::field::analytic::Analytic;
use crate::math::Pose;
use crate::shape::Shape;
use crate::simd::{Columns, LANES, Lanes, dispatch};
use crate::tree::Level;
use glam::Vec3;

/// How far a search for contacts goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Points at most this far outside count [m].
    pub(crate) margin: f64,
    /// Points at most this much farther than the nearest, or than touching, count [m].
    pub(crate) spread: f64,
    /// About how many balls and points may be tested.
    pub(crate) budget: usize,
}

impl Query {
    /// Every point of `b` that is inside the solid `a`, or at most `margin` outside [m], in the order of the points.
    ///
    /// Frame A, the solid's; normals are its outward gradients. Distances are exact but for f32 rounding; inside a union the depth is not
    /// overestimated. Exactly the set that testing every point gives. Time grows with the number of points near the surface:
    /// about a microsecond for a first touch.
    pub fn solid(&mut self, a: &Analytic, b: &Shape, a_from_b: &Pose, margin: f64) -> &Contacts {
        let extent = Extent { margin, spread: f64::INFINITY, budget: usize::MAX };
        self.find_solid(a, b, a_from_b, extent, None);
        &self.contacts
    }

    /// Contacts that were found with A's points and a solid B, in A's frame.
    pub(crate) fn turn_back(&mut self, a: &Shape, a_from_b: &Pose) {
        (self.contacts.swapped, self.contacts.origin) = (true, a.tree.origin);
        super::contacts::turn_back(&mut self.contacts, a, a_from_b);
    }

    /// Fills `contacts` with those of `b`'s points in the solid `a`, or of these of them; says whether the budget was enough.
    pub(crate) fn find_solid(
        &mut self,
        a: &Analytic,
        b: &Shape,
        a_from_b: &Pose,
        extent: Extent,
        among: Option<&[Run]>,
    ) -> bool {
        let tree = &*b.tree;
        let origin = a_from_b.point(tree.origin);
        self.contacts.list.clear();
        self.contacts.swapped = false;
        self.contacts.origin = origin;
        self.stats = Stats::default();
        let solid_from_tree = Pose { rotation: a_from_b.rotation, translation: origin };
        if extent.margin.is_nan() || !self.formula.set(a, &solid_from_tree, tree.reach()) {
            self.stats.non_finite = true;
            return true;
        }
        self.contacts.list.reserve(tree.len() + LANES);
        self.reserve(tree.len());
        let Self { formula, runs, next, contacts, stats, scalar, .. } = self;
        let mut job = Job {
            formula,
            rotation: rows(a_from_b.rotation),
            margin: extent.margin as f32,
            runs,
            out: next,
            nearest: f32::INFINITY,
            spread: extent.spread as f32,
        };
        job.runs.clear();
        match among {
            Some(points) => job.runs.extend_from_slice(points),
            None => job.runs.push([0, tree.nodes(tree.start()) as u32]),
        }
        let mut complete = true;
        let mut points = Points::of_tree(tree);
        let levels = if among.is_some() { &[][..] } else { &tree.levels[tree.start()..] };
        for level in levels {
            let nodes: usize = count(job.runs);
            if stats.nodes > 0 && stats.nodes + nodes > extent.budget {
                // As far as the budget went: the points that stand for these nodes.
                (points, complete) = (Points::of_level(level), false);
                break;
            }
            stats.nodes += nodes;
            job.level(level, *scalar);
            let near = (f64::from(job.nearest.max(0.0)) + extent.spread).min(extent.margin);
            job.margin = near as f32;
        }
        stats.points = count(job.runs);
        if let Some(points) = points {
            if *scalar {
                touch_plain(&mut job, &points, &mut contacts.list);
            } else {
                touch(&mut job, &points, &mut contacts.list);
            }
        }
        // Beyond the edges of a hull its planes are nearer than its surface.
        let exact = formula.exact_below();
        let margin = extent.margin as f32;
        if exact < f32::INFINITY {
            contacts.list.retain_mut(|c| {
                if c.distance > exact {
                    let s = a.sample(origin + Vec3::from_array(c.point).as_dvec3());
                    (c.distance, c.normal) = (s.distance as f32, s.gradient.as_vec3().to_array());
                }
                c.distance <= margin
            });
        }
        complete
    }
}

fn count(runs: &[Run]) -> usize {
    runs.iter().map(|[from, to]| (to - from) as usize).sum()
}

/// A walk under way.
struct Job<'a> {
    formula: &'a Formula,
    /// Of the solid's frame from the tree's.
    rotation: [[f32; 3]; 3],
    /// [m]
    margin: f32,
    runs: &'a mut Vec<Run>,
    out: &'a mut Vec<Run>,
    /// No point of the tree is certain to be nearer than this [m].
    nearest: f32,
    /// Points at most this much farther than the nearest, or than touching, count [m].
    spread: f32,
}

impl Job<'_> {
    /// Goes from nodes of a level to the children of those that may hold contacts.
    fn level(&mut self, level: &Level, scalar: bool) {
        self.out.clear();
        let [x, y, z] = &level.centre;
        let Some(balls) = Columns::new([x, y, z, &level.radius]) else { return };
        if scalar {
            prune_plain(self, &balls, &level.first);
        } else {
            prune(self, &balls, &level.first);
        }
        core::mem::swap(self.runs, self.out);
    }
}

dispatch! {
    fn prune / prune_plain = prune_kernel(job: &mut Job<'_>, balls: &Columns<'_, 4>, first: &[u32])
}
dispatch! {
    fn touch / touch_plain = touch_kernel(job: &mut Job<'_>, points: &Points<'_>, out: &mut Vec<Contact>)
}

#[inline(always)]
fn prune_kernel<L: Lanes>(job: &mut Job<'_>, balls: &Columns<'_, 4>, first: &[u32]) {
    let slack = L::splat(job.formula.rounding);
    let mut nearest = L::splat(job.nearest);
    let (exact, never) = (L::splat(job.formula.exact_below()), L::splat(f32::INFINITY));
    for i in 0..job.runs.len() {
        let [mut at, end] = job.runs[i];
        while at < end {
            let live = live(end - at);
            let [x, y, z, radius] = balls.eight::<L>(at);
            let d = job.formula.distance([x, y, z]);
            let reach = radius.add(slack);
            // Lanes beyond the run are nodes too, or copies of the last: the points they hold exist. Beyond a hull's edges d is a
            // lower bound, and says nothing about how near a point is.
            nearest = nearest.min(L::select(exact.ge(d), d.add(reach), never));
            let mut bits = L::bits(reach.add(L::splat(job.margin)).ge(d)) & live;
            while bits != 0 {
                let lane = bits.trailing_zeros();
                let last = lane + (bits >> lane).trailing_ones();
                bits &= u32::MAX << last;
                if let (Some(from), Some(to)) =
                    (first.get((at + lane) as usize), first.get((at + last) as usize))
                {
                    join(job.out, *from, *to);
                }
            }
            at += LANES as u32;
        }
    }
    let mut least = [0.0; LANES];
    nearest.store(&mut least);
    for v in least {
        if v < job.nearest {
            job.nearest = v;
        }
    }
}

#[inline(always)]
fn touch_kernel<L: Lanes>(job: &mut Job<'_>, points: &Points<'_>, out: &mut Vec<Contact>) {
    let m = {
        let row = |i: usize| {
            let r = &job.rotation[i];
            [L::splat(r[0]), L::splat(r[1]), L::splat(r[2])]
        };
        [row(0), row(1), row(2)]
    };
    let (most, spread, zero) = (L::splat(job.margin), L::splat(job.spread), L::splat(0.0));
    // The nearest point in each lane so far: beyond its spread nothing counts. Lanes beyond a run hold points too.
    let mut nearest = L::splat(job.nearest);
    let (exact, never) = (L::splat(job.formula.exact_below()), L::splat(f32::INFINITY));
    for i in 0..job.runs.len() {
        let [mut at, end] = job.runs[i];
        while at < end {
            let p = points.position::<L>(at);
            let d = job.formula.distance(p);
            nearest = nearest.min(L::select(exact.ge(d), d, never));
            let margin = nearest.max(zero).add(spread).min(most);
            let bits = L::bits(margin.ge(d)) & live(end - at);
            if bits != 0 {
                let (d, g) = job.formula.sample(p);
                let (p, n) = (turn(&m, p), turn(&m, g));
                let [u, v, w, area] = points.surface::<L>(at);
                let own = turn(&m, [u, v, w]);
                let id = L::from_int_bits(points.ids::<L>(at));
                let parts = [[p[0], p[1], p[2], d], [n[0], n[1], n[2], id], [own[0], own[1], own[2], area]];
                L::append(&parts, bits, out);
            }
            at += LANES as u32;
        }
    }
}

#[cfg(test)]
#[path = "solid_tests.rs"]
mod tests;
