//! All points inside, or nearer than a margin: by the tree, and one by one.

use super::reach::Reach;
use super::walk::{Job, Run, contacts as find_contacts, walk};
use super::{Query, QueryParams, Side, Stats};
use crate::contact::Contacts;
use crate::math::Pose;
use crate::shape::Shape;
use crate::simd::LANES;
use glam::{DVec3, Vec3};

/// Where contacts are looked for.
pub(super) enum Among<'a> {
    /// All points, those of near nodes first.
    Tree,
    /// All points, one by one.
    All,
    /// These points: no others can be contacts.
    Points(&'a [Run]),
}

impl Query {
    /// Every point of one shape that is inside the other, or at most `margin` outside, in the order of the points.
    ///
    /// Exactly what [`Query::plain`] finds, bit for bit. Frame A; depths are those of the field, with its error. Time grows with
    /// the number of points near the surface: microseconds for a first touch, tens of them for thousands of contacts.
    /// A pose that is not finite gives no contacts and a flag in [`Query::stats`].
    pub fn contacts(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose, params: &QueryParams) -> &Contacts {
        self.ask(a, b, a_from_b, params, false)
    }

    /// What [`Query::contacts`] finds, by testing every point: the original method, and the referee.
    ///
    /// About 3 ns a point.
    pub fn plain(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose, params: &QueryParams) -> &Contacts {
        self.ask(a, b, a_from_b, params, true)
    }

    /// Contacts of both directions, each as [`Query::contacts`] finds them: B's points in A, then A's points in B.
    ///
    /// A force takes half of each, so that it does not double.
    pub fn both(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        params: &QueryParams,
    ) -> (&Contacts, &Contacts) {
        let mut second = core::mem::take(&mut self.second);
        core::mem::swap(&mut self.contacts, &mut second);
        self.find(a, b, a_from_b, params.margin, true, Among::Tree);
        let (stats, visited) = (self.stats, self.keep_visited());
        core::mem::swap(&mut self.contacts, &mut second);
        self.second = second;
        self.find(a, b, a_from_b, params.margin, false, Among::Tree);
        self.stats.nodes += stats.nodes;
        self.stats.points += stats.points;
        self.join_visited(visited);
        (&self.contacts, &self.second)
    }

    fn ask(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose, params: &QueryParams, plain: bool) -> &Contacts {
        let among = if plain { Among::All } else { Among::Tree };
        self.find(a, b, a_from_b, params.margin, params.roles.swapped(a, b), among);
        &self.contacts
    }

    /// Fills `contacts` with those of one side.
    pub(super) fn find(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        margin: f64,
        swapped: bool,
        among: Among<'_>,
    ) {
        let side = Side::new(a, b, a_from_b, swapped);
        self.find_side(&side, margin, among);
        self.contacts.swapped = swapped;
        if swapped {
            self.visited.iter_mut().for_each(|v| v.of_a = true);
            self.contacts.origin = a.tree.origin;
            turn_back(&mut self.contacts, a, a_from_b);
        }
    }

    /// Fills `contacts` with those of a side, in the frame of its field.
    pub(super) fn find_side(&mut self, side: &Side<'_>, margin: f64, among: Among<'_>) {
        let tree = side.tree;
        let mut contacts = core::mem::take(&mut self.contacts);
        contacts.list.clear();
        contacts.swapped = false;
        contacts.origin = side.field.lattice().origin;
        self.stats = Stats::default();
        self.visited.clear();
        match side.frame.filter(|_| !margin.is_nan()) {
            None => self.stats.non_finite = true,
            Some(frame) => {
                // The kernel writes eight at a time.
                contacts.list.reserve(tree.len() + LANES);
                self.reserve(tree.len());
                let reach = Reach::new(side, &frame, margin);
                self.runs.clear();
                let mut start = tree.levels();
                match among {
                    Among::Points(runs) => self.runs.extend_from_slice(runs),
                    Among::All => self.runs.push([0, tree.len() as u32]),
                    Among::Tree => {
                        start = tree.start();
                        self.runs.push([0, tree.nodes(start) as u32]);
                    }
                }
                let mut job = Job {
                    tree,
                    reach,
                    start,
                    margin: margin as f32,
                    runs: &mut self.runs,
                    next: &mut self.next,
                    whole: &mut self.opened,
                    out: &mut contacts.list,
                    stats: Stats::default(),
                    visited: self.records.then_some(&mut self.visited),
                };
                walk!(side, &frame, self.scalar, find_contacts(&mut job));
                self.stats = job.stats;
            }
        }
        self.contacts = contacts;
    }

    /// Room for the longest lists there can be: no query allocates later.
    pub(super) fn reserve(&mut self, points: usize) {
        let longest = points.div_ceil(2) + 1;
        self.runs.reserve(longest.saturating_sub(self.runs.len()));
        self.next.reserve(longest.saturating_sub(self.next.len()));
        self.opened.reserve(longest.saturating_sub(self.opened.len()));
    }
}

/// Contacts found in B's frame with A's points, in A's frame.
pub(super) fn turn_back(contacts: &mut Contacts, a: &Shape, a_from_b: &Pose) {
    for c in &mut contacts.list {
        let id = c.id as usize;
        c.point = a.tree.local(id).to_array();
        let normal: DVec3 = Vec3::from_array(c.normal).as_dvec3();
        c.normal = (-a_from_b.vector(normal)).as_vec3().to_array();
        c.shell_normal = a.tree.normal(id).to_array();
    }
}

#[cfg(test)]
#[path = "contacts_tests.rs"]
mod tests;
