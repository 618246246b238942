//! All points inside, or nearer than a margin: by the tree, and one by one.

use super::frame::Frame;
use super::walk::{self, Job, Reach};
use super::{Query, QueryParams, Stats};
use crate::contact::Contacts;
use crate::math::Pose;
use crate::shape::Shape;
use glam::{DVec3, Vec3};

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

    fn ask(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose, params: &QueryParams, plain: bool) -> &Contacts {
        let swapped = params.roles.swapped(a, b);
        let mut contacts = core::mem::take(&mut self.contacts);
        contacts.list.clear();
        contacts.swapped = swapped;
        self.stats = Stats::default();
        let (field, tree, pose) =
            if swapped { (&b.field, &a.tree, a_from_b.inverse()) } else { (&a.field, &b.tree, *a_from_b) };
        let frame = Frame::new(field, tree, &pose).filter(|_| !params.margin.is_nan());
        contacts.origin = if swapped { a.tree.origin } else { a.field.lattice().origin };
        match frame {
            None => self.stats.non_finite = true,
            Some(frame) if !tree.is_empty() => {
                contacts.list.reserve(tree.len());
                self.reserve(tree.len());
                let mut job = Job {
                    frame: &frame,
                    tree,
                    reach: (!plain).then(|| Reach::new(field, &frame, params.margin)),
                    margin: params.margin as f32,
                    runs: &mut self.runs,
                    next: &mut self.next,
                    out: &mut contacts.list,
                    stats: Stats::default(),
                };
                walk::contacts(field, &[], &mut job);
                self.stats = job.stats;
            }
            Some(_) => {}
        }
        if swapped {
            turn_back(&mut contacts, a, a_from_b);
        }
        self.contacts = contacts;
        &self.contacts
    }

    /// Room for the longest lists there can be: no query allocates later.
    fn reserve(&mut self, points: usize) {
        let longest = points.div_ceil(2) + 1;
        self.runs.reserve(longest.saturating_sub(self.runs.len()));
        self.next.reserve(longest.saturating_sub(self.next.len()));
    }
}

/// Contacts found in B's frame with A's points, in A's frame.
fn turn_back(contacts: &mut Contacts, a: &Shape, a_from_b: &Pose) {
    for c in &mut contacts.list {
        let id = c.id as usize;
        c.point = a.tree.local(id).to_array();
        let normal: DVec3 = Vec3::from_array(c.normal).as_dvec3();
        c.normal = (-a_from_b.vector(normal)).as_vec3().to_array();
        c.shell_normal = a.tree.normal(id).to_array();
    }
}
