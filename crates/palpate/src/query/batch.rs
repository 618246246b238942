//! The same question for many poses, in parallel.

use super::{Distance, Query, QueryParams};
use crate::contact::Contacts;
use crate::math::Pose;
use crate::par;
use crate::shape::Shape;

/// Poses per parallel work item: each begins with memory of its own.
const CHUNK: usize = 16;

/// Asks `f` about each pose, on the threads of the current pool; answers are in the order of `poses`.
///
/// Each piece of work has a [`Query`] of its own, so `f` must not depend on what was asked before (a
/// [`Query::budget`] of points does not).
pub fn batch<R: Send>(poses: &[Pose], f: impl Fn(&mut Query, &Pose) -> R + Sync + Send) -> Vec<R> {
    let pieces = par::map(poses.len().div_ceil(CHUNK), |piece| {
        let mut query = Query::new();
        let poses = &poses[piece * CHUNK..poses.len().min((piece + 1) * CHUNK)];
        poses.iter().map(|p| f(&mut query, p)).collect::<Vec<R>>()
    });
    pieces.into_iter().flatten().collect()
}

/// [`Query::contacts`] for each pose.
pub fn contacts_batch(a: &Shape, b: &Shape, poses: &[Pose], params: &QueryParams) -> Vec<Contacts> {
    batch(poses, |query, pose| query.contacts(a, b, pose, params).clone())
}

/// [`Query::intersects`] for each pose.
pub fn intersects_batch(a: &Shape, b: &Shape, poses: &[Pose]) -> Vec<bool> {
    batch(poses, |query, pose| query.intersects(a, b, pose))
}

/// [`Query::distance`] for each pose.
pub fn distance_batch(a: &Shape, b: &Shape, poses: &[Pose]) -> Vec<Distance> {
    batch(poses, |query, pose| query.distance(a, b, pose))
}
