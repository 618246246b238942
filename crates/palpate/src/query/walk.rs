//! Walking down a tree, level by level, and testing points: the two kernels every query is made of.
//!
//! Based on: sagardia14 2.3, Algorithm 1.
//! Differs: a node is skipped only if its ball is provably farther than the margin (the paper's test has its sign wrong); each
//! level is a list of runs of neighbouring nodes, so that vectors are full and memory is read in order; eight vectors are under
//! way at once.

use super::Stats;
use super::frame::{Frame, apply, turn};
use crate::contact::Contact;
use crate::field::Field;
use crate::field::encode::Values;
pub(crate) use crate::field::read::BLOCKS;
use crate::field::read::{self, Group, Stored, View};
use crate::simd::{LANES, Lanes, dispatch};
use crate::tree::{Level, Tree};

/// Neighbouring nodes of a level, or points: from, to.
pub(crate) type Run = [u32; 2];

/// Runs this near to each other become one: what lies between is tested in vain, but vectors are full.
const GAP: u32 = 4;

/// Adds a run, joined to the last where they nearly meet.
#[inline(always)]
pub(crate) fn join(runs: &mut Vec<Run>, from: u32, to: u32) {
    match runs.last_mut() {
        Some(last) if from - last[1] <= GAP => last[1] = to,
        _ => runs.push([from, to]),
    }
}

/// How large the sampled distance at the centre of a ball can be while one of its points is at most a margin away.
///
/// Three arguments, of which the least counts. With f the sampled and D the true distance, q the error near the surface and
/// h the edge of a voxel:
/// - f grows by at most `slope` times the radius;
/// - a point with f <= margin has D <= margin + q, so the centre has D <= margin + q + radius, and f there is at most D and the
///   error far from the surface;
/// - as long as that is in the band, where all nodes are exact, f² <= D² + 3/4·h², as in `field/far.rs`: the limit is hardly more
///   than the radius.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// [m]
    pub(crate) margin: f32,
    /// Steepness of the field [1].
    pub(crate) slope: f32,
    /// Largest |f − D| of a point at the margin [m].
    near: f32,
    /// Largest |f − D| of any point [m].
    far: f32,
    /// Centres with D below this have exact nodes around them [m].
    band: f32,
    /// Margins from 0 to this are in the band, with all errors of points there [m].
    tight: f32,
    /// 3/4·h² [m²].
    spread: f32,
    /// What else may be wrong with f in the band: rounding, stored values, nodes with hardly any weight [m].
    slack: f32,
    /// Largest difference of two samples beyond `slope` times their distance [m].
    jump: f32,
}

impl Reach {
    pub(crate) fn new(field: &Field, frame: &Frame, margin: f64) -> Self {
        let r = field.report();
        let voxel = field.lattice().voxel;
        let slope = r.lipschitz.max(1.0) * (1.0 + 1e-5);
        let rounding = 2.0 * f64::from(frame.rounding);
        let stored = 2.0 * field.values.error();
        Self {
            margin: margin as f32,
            slope: slope as f32,
            near: (r.error_bound_band + rounding) as f32,
            far: (r.error_bound_far + rounding) as f32,
            band: r.band as f32,
            tight: (r.band - 2.0 * r.error_bound_band) as f32,
            spread: (0.75 * voxel * voxel) as f32,
            // What the error in the band is more than half a diagonal of a voxel.
            slack: (r.error_bound_band - 0.5 * 3f64.sqrt() * voxel + stored + rounding).max(0.0) as f32,
            jump: (slope * rounding + stored) as f32,
        }
    }

    /// The same for points that may yet come nearer by `guard` [m]: the slope says nothing of those.
    #[inline(always)]
    pub(crate) fn guarded(self, guard: f32) -> Self {
        Self { near: self.near + guard, jump: f32::MAX, ..self }
    }

    /// The same for another margin.
    #[inline(always)]
    pub(crate) fn at(self, margin: f32) -> Self {
        Self { margin, ..self }
    }

    #[inline(always)]
    pub(crate) fn limit<L: Lanes>(&self, radius: L) -> L {
        // Points above the band, or inside, may be farther from the truth.
        let tight = self.margin >= 0.0 && self.margin < self.tight;
        let (near, band) = if tight { (self.near, self.band) } else { (self.far, f32::NEG_INFINITY) };
        let steep = radius.mul(L::splat(self.slope)).add(L::splat(self.margin)).add(L::splat(self.jump));
        let true_distance = radius.add(L::splat(self.margin + near));
        let anywhere = true_distance.add(L::splat(self.far));
        let in_band = true_distance.mul(true_distance).add(L::splat(self.spread)).sqrt();
        let in_band = in_band.add(L::splat(self.slack));
        steep.min(L::select(true_distance.lt(L::splat(band)), in_band.min(anywhere), anywhere))
    }
}

/// Blocks of a group: where each begins, and a bit for each lane that counts.
pub(crate) type Blocks = [(u32, u32); BLOCKS];

/// What is asked, and where the answer goes.
pub(crate) struct Job<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) tree: &'a Tree,
    pub(crate) reach: Reach,
    /// The level `runs` are of; the number of levels: they are runs of points.
    pub(crate) start: usize,
    /// [m]
    pub(crate) margin: f32,
    pub(crate) runs: &'a mut Vec<Run>,
    pub(crate) next: &'a mut Vec<Run>,
    pub(crate) out: &'a mut Vec<Contact>,
    pub(crate) stats: Stats,
}

/// Contacts of a shape's field with the points of a tree.
pub(crate) fn contacts(field: &Field, job: &mut Job<'_>) {
    let l = field.lattice();
    match &field.values {
        Values::Float(v) => contacts_float(&View::new(l, &field.directory, v, 1.0), job),
        Values::Scaled { values, step, .. } => {
            contacts_scaled(&View::new(l, &field.directory, values, *step), job);
        }
    }
}

/// [`contacts`] without SIMD: same bits.
pub(crate) fn contacts_plain(field: &Field, job: &mut Job<'_>) {
    let l = field.lattice();
    match &field.values {
        Values::Float(v) => contacts_float_plain(&View::new(l, &field.directory, v, 1.0), job),
        Values::Scaled { values, step, .. } => {
            contacts_scaled_plain(&View::new(l, &field.directory, values, *step), job);
        }
    }
}

dispatch! {
    fn contacts_float / contacts_float_plain = float_kernel(view: &View<'_, f32>, job: &mut Job<'_>)
}
dispatch! {
    fn contacts_scaled / contacts_scaled_plain = scaled_kernel(view: &View<'_, i16>, job: &mut Job<'_>)
}
#[inline(always)]
fn float_kernel<L: Lanes>(view: &View<'_, f32>, job: &mut Job<'_>) {
    contacts_kernel::<L, f32>(view, job);
}
#[inline(always)]
fn scaled_kernel<L: Lanes>(view: &View<'_, i16>, job: &mut Job<'_>) {
    contacts_kernel::<L, i16>(view, job);
}

#[inline(always)]
fn contacts_kernel<L: Lanes, T: Stored>(view: &View<'_, T>, job: &mut Job<'_>) {
    let Some(mut group) = Group::new(view) else { return };
    let m = job.frame.lanes::<L>();
    let mut blocks: Blocks = [(0, 0); BLOCKS];
    for level in job.tree.levels.iter().skip(job.start) {
        prune_level::<L, T>(view, &mut group, &m, level, job.reach, job.runs, job.next, &mut job.stats);
        core::mem::swap(job.runs, job.next);
    }
    let points = Points::of_tree(job.tree);
    let mut n = 0;
    for run in job.runs.iter() {
        let [mut at, end] = *run;
        job.stats.points += (end - at) as usize;
        while at < end {
            blocks[n] = (at, live(end - at));
            n += 1;
            at += LANES as u32;
            if n == BLOCKS {
                touch_group::<L, T>(
                    view, &mut group, &m, job.frame, &points, job.margin, &blocks, n, job.out,
                );
                n = 0;
            }
        }
    }
    touch_group::<L, T>(view, &mut group, &m, job.frame, &points, job.margin, &blocks, n, job.out);
}

/// The children of those nodes of `runs` whose balls may reach below the margin, in `out`.
pub(crate) fn prune(
    field: &Field,
    frame: &Frame,
    level: &Level,
    reach: Reach,
    runs: &[Run],
    out: &mut Vec<Run>,
    stats: &mut Stats,
) {
    let l = field.lattice();
    match &field.values {
        Values::Float(v) => {
            prune_float(&View::new(l, &field.directory, v, 1.0), frame, level, reach, runs, out, stats);
        }
        Values::Scaled { values, step, .. } => {
            prune_scaled(
                &View::new(l, &field.directory, values, *step),
                frame,
                level,
                reach,
                runs,
                out,
                stats,
            );
        }
    }
}

dispatch! {
    fn prune_float / prune_float_plain = prune_float_kernel(view: &View<'_, f32>, frame: &Frame, level: &Level,
        reach: Reach, runs: &[Run], out: &mut Vec<Run>, stats: &mut Stats)
}
dispatch! {
    fn prune_scaled / prune_scaled_plain = prune_scaled_kernel(view: &View<'_, i16>, frame: &Frame, level: &Level,
        reach: Reach, runs: &[Run], out: &mut Vec<Run>, stats: &mut Stats)
}
#[inline(always)]
fn prune_float_kernel<L: Lanes>(
    view: &View<'_, f32>,
    frame: &Frame,
    level: &Level,
    reach: Reach,
    runs: &[Run],
    out: &mut Vec<Run>,
    stats: &mut Stats,
) {
    let Some(mut group) = Group::new(view) else { return };
    prune_level::<L, f32>(view, &mut group, &frame.lanes::<L>(), level, reach, runs, out, stats);
}
#[inline(always)]
fn prune_scaled_kernel<L: Lanes>(
    view: &View<'_, i16>,
    frame: &Frame,
    level: &Level,
    reach: Reach,
    runs: &[Run],
    out: &mut Vec<Run>,
    stats: &mut Stats,
) {
    let Some(mut group) = Group::new(view) else { return };
    prune_level::<L, i16>(view, &mut group, &frame.lanes::<L>(), level, reach, runs, out, stats);
}

/// The children of those nodes of `runs` whose balls may reach below the margin, in `out`.
#[expect(clippy::too_many_arguments, reason = "part of a kernel")]
#[inline(always)]
pub(crate) fn prune_level<L: Lanes, T: Stored>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    m: &[[L; 4]; 3],
    level: &Level,
    reach: Reach,
    runs: &[Run],
    out: &mut Vec<Run>,
    stats: &mut Stats,
) {
    out.clear();
    let mut blocks: Blocks = [(0, 0); BLOCKS];
    let mut n = 0;
    for run in runs {
        let [mut at, end] = *run;
        stats.nodes += (end - at) as usize;
        while at < end {
            blocks[n] = (at, live(end - at));
            n += 1;
            at += LANES as u32;
            if n == BLOCKS {
                prune_group::<L, T>(view, group, m, level, reach, &blocks, n, out);
                n = 0;
            }
        }
    }
    prune_group::<L, T>(view, group, m, level, reach, &blocks, n, out);
}

#[expect(clippy::too_many_arguments, reason = "part of a kernel")]
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn prune_group<L: Lanes, T: Stored>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    m: &[[L; 4]; 3],
    level: &Level,
    reach: Reach,
    blocks: &Blocks,
    n: usize,
    out: &mut Vec<Run>,
) {
    let outside = load_group::<L, T>(view, group, m, &level.centre, blocks, n);
    for i in 0..n {
        let (at, live) = blocks[i];
        let d = read::distance::<L, T>(view, group, i, outside);
        let limit = reach.limit(lanes_at::<L>(&level.radius, at));
        let mut bits = L::bits(limit.ge(d)) & live;
        while bits != 0 {
            let node = at as usize + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if let [from, to, ..] = level.first[node..] {
                join(out, from, to);
            }
        }
    }
}

/// Puts points `at` of each block into the group and finds the nodes around them.
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
fn load_group<L: Lanes, T: Stored>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    m: &[[L; 4]; 3],
    points: &[Vec<f32>; 3],
    blocks: &Blocks,
    n: usize,
) -> bool {
    for i in 0..n {
        group.put::<L>(i, apply(m, lanes_of::<L>(points, blocks[i].0)));
    }
    read::resolve::<L, T>(view, group, n)
}

/// Points that can become contacts: those of a tree, or those that represent the nodes of a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Points<'a> {
    pub(crate) position: &'a [Vec<f32>; 3],
    normal: &'a [Vec<f32>; 3],
    area: &'a [f32],
    /// Their indices; none: their places.
    ids: Option<&'a [u32]>,
}

impl<'a> Points<'a> {
    pub(crate) fn of_tree(t: &'a Tree) -> Self {
        Self { position: &t.position, normal: &t.normal, area: &t.area, ids: None }
    }
    pub(crate) fn of_level(l: &'a Level) -> Self {
        Self { position: &l.position, normal: &l.normal, area: &l.area, ids: Some(&l.parent) }
    }
}

/// A bit for each of the first `count` lanes.
#[inline(always)]
pub(crate) fn live(count: u32) -> u32 {
    if count >= LANES as u32 { 0xff } else { (1 << count) - 1 }
}

/// Eight numbers from `at` on; arrays are longer by a vector.
#[inline(always)]
pub(crate) fn lanes_at<L: Lanes>(v: &[f32], at: u32) -> L {
    L::load(v[at as usize..].first_chunk().unwrap_or(&[0.0; LANES]))
}

#[inline(always)]
pub(crate) fn lanes_of<L: Lanes>(v: &[Vec<f32>; 3], at: u32) -> [L; 3] {
    [lanes_at(&v[0], at), lanes_at(&v[1], at), lanes_at(&v[2], at)]
}

#[expect(clippy::too_many_arguments, reason = "part of a kernel")]
#[expect(clippy::needless_range_loop, reason = "`zip` stays a call in functions with target features")]
#[inline(always)]
pub(crate) fn touch_group<L: Lanes, T: Stored>(
    view: &View<'_, T>,
    group: &mut Group<'_, T>,
    m: &[[L; 4]; 3],
    frame: &Frame,
    points: &Points<'_>,
    margin: f32,
    blocks: &Blocks,
    n: usize,
    out: &mut Vec<Contact>,
) {
    let outside = load_group::<L, T>(view, group, m, points.position, blocks, n);
    for i in 0..n {
        let (at, live) = blocks[i];
        let around = read::around::<L, T>(group, i);
        let d = around.distance(view, group, i, outside);
        let bits = L::bits(L::splat(margin).ge(d)) & live;
        if bits != 0 {
            emit::<L, T>(group, frame, points, i, at, d, &around, bits, out);
        }
    }
}

/// Adds the contacts of block `i` whose bits are set.
#[expect(clippy::too_many_arguments, reason = "part of a kernel")]
#[inline(always)]
fn emit<L: Lanes, T: Stored>(
    group: &Group<'_, T>,
    frame: &Frame,
    points: &Points<'_>,
    i: usize,
    at: u32,
    d: L,
    around: &read::Around<L>,
    mut bits: u32,
    out: &mut Vec<Contact>,
) {
    let p = read::point::<L, T>(group, i);
    let own = turn(&frame.turn::<L>(), lanes_of::<L>(points.normal, at));
    let g = around.gradient();
    // Where the field is flat, on a medial axis, the point's own normal says where outside is.
    let (zero, tiny) = (L::splat(0.0), L::splat(1e-30));
    let square = g[0].mul(g[0]).add(g[1].mul(g[1])).add(g[2].mul(g[2]));
    let flat = tiny.ge(square);
    let inverse = L::splat(1.0).div(square.max(tiny).sqrt());
    let cell = L::splat(frame.cell);
    let normal = [
        L::select(flat, zero.sub(own[0]), g[0].mul(inverse)),
        L::select(flat, zero.sub(own[1]), g[1].mul(inverse)),
        L::select(flat, zero.sub(own[2]), g[2].mul(inverse)),
    ];
    let mut fours = [[[0.0; 4]; LANES]; 3];
    L::store_fours([p[0].mul(cell), p[1].mul(cell), p[2].mul(cell), d], &mut fours[0]);
    let id = L::from_int_bits(L::int_add(L::ints(at as i32), L::load_ints(&[0, 1, 2, 3, 4, 5, 6, 7])));
    L::store_fours([normal[0], normal[1], normal[2], id], &mut fours[1]);
    L::store_fours([own[0], own[1], own[2], lanes_at(points.area, at)], &mut fours[2]);
    while bits != 0 {
        let l = bits.trailing_zeros() as usize;
        bits &= bits - 1;
        let [a, b, c] = [&fours[0][l], &fours[1][l], &fours[2][l]];
        out.push(Contact {
            point: [a[0], a[1], a[2]],
            distance: a[3],
            normal: [b[0], b[1], b[2]],
            id: points.ids.map_or(b[3].to_bits(), |ids| ids[at as usize + l]),
            shell_normal: [c[0], c[1], c[2]],
            area: c[3],
        });
    }
}
