//! The deepest contact of each segment of the surface.
//!
//! Based on: sagardia14 2.4.
//! Differs: the point that is kept is the deepest (the paper's condition keeps the shallowest); segments are the nodes of one
//! level, found in one walk.

use super::{Query, QueryParams};
use crate::contact::{Contact, Contacts};
use crate::math::Pose;
use crate::shape::Shape;

impl Query {
    /// The deepest contact of each segment: at most [`crate::Tree::segments`] of them, in the order of segments.
    ///
    /// A segment is a node of the level with about [`crate::tree::TreeParams::segments`] nodes. Of several equally deep contacts
    /// the first. Costs what [`Query::contacts`] costs.
    pub fn segmented(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose, params: &QueryParams) -> &Contacts {
        self.contacts(a, b, a_from_b, params);
        let tree = if self.contacts.swapped { &a.tree } else { &b.tree };
        let Some(level) = tree.levels.get(tree.segments) else { return &self.contacts };
        let list = &mut self.contacts.list;
        let (mut kept, mut segment, mut current) = (0, usize::MAX, Contact::default());
        for i in 0..list.len() {
            let c = list[i];
            // Contacts are sorted by index, so segments come one after another.
            if segment == usize::MAX || c.id >= level.points[segment + 1] {
                if segment != usize::MAX {
                    list[kept] = current;
                    kept += 1;
                }
                segment = level.points.partition_point(|p| *p <= c.id).saturating_sub(1);
                current = c;
            } else if c.distance < current.distance {
                current = c;
            }
        }
        if segment != usize::MAX {
            list[kept] = current;
            kept += 1;
        }
        list.truncate(kept);
        &self.contacts
    }
}
