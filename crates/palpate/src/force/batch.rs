//! What many poses come to.

use super::{Force, ForceParams, penalty};
use crate::contact::Contact;
use crate::math::Pose;
use crate::query::{QueryParams, batch};
use crate::shape::Shape;
use glam::DVec3;

/// What a pose comes to: the same from the CPU and from a GPU. A's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoseSummary {
    /// Points within the margin.
    pub contacts: usize,
    /// The deepest of them, the first of several; where the nearest point was asked for, that.
    pub deepest: Option<Contact>,
    /// What contact points are relative to [m].
    pub origin: DVec3,
    /// On B, about its origin.
    pub force: Force,
    /// The pose, or the margin, was not finite: there is nothing else here.
    pub non_finite: bool,
}

/// Contacts of each pose and their force, in a few numbers. `Force` is without friction's memory and B at rest.
///
/// The points of the shape that `params` says, in the other's field; see [`crate::Query::contacts`].
pub fn summary_batch(
    a: &Shape,
    b: &Shape,
    poses: &[Pose],
    params: &QueryParams,
    force: &ForceParams,
) -> Vec<PoseSummary> {
    batch(poses, |query, pose| {
        let contacts = query.contacts(a, b, pose, params);
        let (deepest, origin) = (contacts.deepest().copied(), contacts.origin);
        let count = contacts.list.len();
        let force = penalty(contacts, force, pose, None, None);
        PoseSummary { contacts: count, deepest, origin, force, non_finite: query.stats().non_finite }
    })
}
