//! Contacts within a budget: as much of the tree as points, or time, allow.
//!
//! Based on: sagardia14 2.3 (breadth-first, so that stopping early leaves a picture of the whole).
//! Differs: each level's points carry the surface of their subtrees, so that what is returned counts every patch of surface once,
//! whether its last points were reached or not; and a walk begins where the last one found the shapes near each other.

use super::frame::Frame;
use super::kernel::{Points, Sampled};
use super::reach::Reach;
use super::walk::{Run, Walker, walk};
use super::{Query, QueryParams, Side, Stats};
use crate::contact::{Contact, Contacts};
use crate::math::Pose;
use crate::shape::Shape;
use crate::simd::LANES;
use crate::tree::Tree;

/// Blocks of points between two questions whether to stop.
const ASK: usize = 16;
/// Nodes that are opened together.
const CHUNK: u32 = 16;

/// When a query has to end.
pub enum Budget<'a> {
    /// After about this many points and balls were tested; 0 gives no contacts.
    Points(usize),
    /// When this says so. It is asked before every level and after about 16 blocks of eight points. Results depend on when it
    /// does.
    Until(&'a mut dyn FnMut() -> bool),
}

impl core::fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Points(n) => write!(f, "Points({n})"),
            Self::Until(_) => write!(f, "Until(…)"),
        }
    }
}

/// How far a query within a budget got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reached {
    /// The level whose points are among the contacts: as many as the tree has levels if all contacts are last points.
    pub level: usize,
    /// Share of the surface near the other shape that was looked at one level further than `level` [1].
    pub beyond: f64,
    /// Whether the contacts are all there are: those of [`Query::contacts`].
    pub complete: bool,
}

impl Query {
    /// Contacts as fine as a budget allows, sorted by index: single points where the walk came to its end, elsewhere the points
    /// that represent nodes, with the surface of all their points.
    ///
    /// With a limit on points the answer depends on nothing else; a budget of 0 finds nothing. With [`Budget::Until`], successive
    /// calls with poses near each other begin where the last one found the shapes near each other.
    pub fn budget(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        params: &QueryParams,
        mut budget: Budget<'_>,
    ) -> (&Contacts, Reached) {
        let swapped = params.roles.swapped(a, b);
        let (side, scalar) = (Side::new(a, b, a_from_b, swapped), self.scalar);
        let mut contacts = core::mem::take(&mut self.contacts);
        contacts.list.clear();
        contacts.swapped = swapped;
        contacts.origin = if swapped { a.tree.origin } else { a.field.lattice().origin };
        self.stats = Stats::default();
        let mut reached = Reached::default();
        match side.frame.filter(|_| !params.margin.is_nan()) {
            None => self.stats.non_finite = true,
            Some(_) if matches!(budget, Budget::Points(0)) => {}
            Some(frame) => {
                let tree = side.tree;
                // The kernel writes eight at a time.
                let most = tree.len() + LANES;
                contacts.list.reserve(most);
                self.coarse.reserve(most.saturating_sub(self.coarse.len()));
                self.reserve(tree.len());
                let reach = Reach::new(&side, &frame, params.margin);
                // What was near before decides where a walk ends: a limit on points must not depend on it.
                let start = if matches!(budget, Budget::Points(_)) {
                    self.runs.clear();
                    self.runs.push([0, tree.nodes(0) as u32]);
                    0
                } else {
                    self.begin(&side, &frame, reach)
                };
                let mut job = Job {
                    tree,
                    reach,
                    start,
                    margin: params.margin as f32,
                    runs: &mut self.runs,
                    next: &mut self.next,
                    opened: &mut self.opened,
                    out: &mut contacts.list,
                    coarse: &mut self.coarse,
                    stats: self.stats,
                    budget: &mut budget,
                    reached,
                };
                walk!(&side, &frame, scalar, run(&mut job));
                (self.stats, reached) = (job.stats, job.reached);
            }
        }
        if swapped {
            super::contacts::turn_back(&mut contacts, a, a_from_b);
        }
        self.contacts = contacts;
        (&self.contacts, reached)
    }

    /// Puts the nodes a walk begins with into `runs`, and returns their level: those that were near before, if the motion since
    /// cannot have brought others near.
    fn begin(&mut self, side: &Side<'_>, frame: &Frame, reach: Reach) -> usize {
        let mut coherence = core::mem::take(&mut self.coherence);
        let start = coherence.begin(side, frame, reach, &mut self.runs, &mut self.next, &mut self.stats);
        self.coherence = coherence;
        start
    }
}

struct Job<'a, 'b> {
    tree: &'a Tree,
    reach: Reach,
    start: usize,
    margin: f32,
    runs: &'a mut Vec<Run>,
    next: &'a mut Vec<Run>,
    /// Children of the nodes opened so far.
    opened: &'a mut Vec<Run>,
    out: &'a mut Vec<Contact>,
    /// Contacts of the last whole level.
    coarse: &'a mut Vec<Contact>,
    stats: Stats,
    budget: &'a mut Budget<'b>,
    reached: Reached,
}

impl Job<'_, '_> {
    fn spent(&self) -> usize {
        self.stats.nodes + self.stats.points
    }

    /// Whether `cost` more tests would be too many.
    fn over(&mut self, cost: usize) -> bool {
        let spent = self.spent();
        match self.budget {
            Budget::Points(n) => spent + cost > *n,
            Budget::Until(stop) => stop(),
        }
    }
}

/// Number of nodes in runs.
fn count(runs: &[Run]) -> usize {
    runs.iter().map(|r| (r[1] - r[0]) as usize).sum()
}

fn run<T: Sampled>(walker: &mut Walker<'_, T>, job: &mut Job<'_, '_>) {
    let Some(level) = job.tree.levels.get(job.start) else {
        job.reached.complete = true;
        return;
    };
    // What the first nodes' own points say: the answer if there is no time for more.
    job.coarse.clear();
    walker.touch(Points::of_level(level), job.margin, job.runs, job.coarse, &mut job.stats);
    for l in job.start..job.tree.levels() {
        job.reached = Reached { level: l, beyond: 0.0, complete: false };
        if !open(walker, job, l) {
            return;
        }
        core::mem::swap(job.out, job.coarse);
        core::mem::swap(job.runs, job.opened);
    }
    core::mem::swap(job.out, job.coarse);
    job.reached = Reached { level: job.tree.levels(), beyond: 0.0, complete: true };
}

/// Opens the nodes of a level, some at a time: their children are in `opened`, and what the children's own points say in `out`.
/// False if the budget did not suffice: then `out` is as coarse as before for the rest.
fn open<T: Sampled>(walker: &mut Walker<'_, T>, job: &mut Job<'_, '_>, l: usize) -> bool {
    let level = &job.tree.levels[l];
    let points = job.tree.levels.get(l + 1).map_or(Points::of_tree(job.tree), Points::of_level);
    let nodes = count(job.runs);
    // The first question comes before anything is opened.
    let (mut done, mut asked) = (0, ASK);
    job.out.clear();
    job.opened.clear();
    for r in 0..job.runs.len() {
        let [mut at, end] = job.runs[r];
        while at < end {
            let to = end.min(at + CHUNK);
            if asked >= ASK || matches!(job.budget, Budget::Points(_)) {
                asked = 0;
                if job.over((to - at) as usize) {
                    // Coarse from here on.
                    let from = level.points[at as usize];
                    let rest = job.coarse.partition_point(|c| c.id < from);
                    job.out.extend_from_slice(&job.coarse[rest..]);
                    job.reached.beyond = done as f64 / nodes.max(1) as f64;
                    return false;
                }
            }
            let before = job.stats.points;
            walker.prune(level, job.reach, &[[at, to]], job.next, None, &mut job.stats);
            walker.touch(points, job.margin, job.next, job.out, &mut job.stats);
            job.opened.extend_from_slice(job.next);
            asked += (job.stats.points - before).div_ceil(LANES) + (to - at) as usize / LANES;
            done += (to - at) as usize;
            at = to;
        }
    }
    true
}
