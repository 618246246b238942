//! One pair: from two parts and their places to a finding. Nothing else decides it.

use crate::clash::clash;
use crate::course;
use crate::finding::{Kind, Outcome};
use crate::job::{Job, Part};
use crate::near::{Meet, Surfaces, contains, relative, surfaces};
use crate::params::Params;
use palpate::asset::cache_key;
use palpate::{Pose, Shape};

/// Two instances to look at. A is the one with the smaller number.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// Their parts.
    pub parts: [&'a Part; 2],
    /// Their places, `w_from_part`; at time 0 if they move.
    pub poses: [Pose; 2],
    /// Their places at time 1, where they move.
    pub to: [Option<Pose>; 2],
}

impl<'a> Pair<'a> {
    /// Two instances of a job by number.
    pub fn of(job: &'a Job, pair: [u32; 2]) -> Self {
        let [a, b] = pair.map(|i| &job.instances[i as usize]);
        Self { parts: [a, b].map(|i| &job.parts[i.part]), poses: [a.pose, b.pose], to: [a.to, b.to] }
    }

    /// Whether one moves as the other sees it.
    pub fn moves(&self) -> bool {
        self.to.iter().any(Option::is_some)
    }
}

/// Identifies a finding: the same for the same content of parts, places and parameters, whatever the names and numbers.
pub fn pair_key(pair: &Pair<'_>, params: &Params) -> u128 {
    let mut bytes = Vec::new();
    for i in 0..2 {
        bytes.extend_from_slice(&pair.parts[i].key.to_le_bytes());
        for pose in [Some(pair.poses[i]), pair.to[i]] {
            bytes.push(u8::from(pose.is_some()));
            let pose = pose.unwrap_or_default();
            let numbers = pose.rotation.to_array().into_iter().chain(pose.translation.to_array());
            numbers.for_each(|x| bytes.extend_from_slice(&x.to_bits().to_le_bytes()));
        }
    }
    cache_key(&bytes, &params.recipe())
}

/// Two parts that do not move, by their triangles alone.
#[derive(Debug)]
pub(crate) enum Look {
    /// What they are; none: nothing to tell.
    Settled(Option<Outcome>),
    /// They meet, or one is in the other: shapes must tell.
    Deep(Meet),
}

pub(crate) fn look(parts: [&Part; 2], poses: [Pose; 2], params: &Params) -> Look {
    let [a, b] = parts;
    let (w_from_a, a_from_b) = (poses[0], relative(poses));
    let (gap, points) = match surfaces(&a.mesh, &b.mesh, &a_from_b, params.clearance) {
        Surfaces::Meet(meet) => return Look::Deep(meet),
        Surfaces::Apart(gap, points) => (gap, Some(points)),
        Surfaces::Far => (f64::INFINITY, None),
    };
    if contains(a, b, &a_from_b) || contains(b, a, &a_from_b.inverse()) {
        return Look::Deep(Meet::default());
    }
    let Some(points) = points.filter(|_| gap < params.clearance) else { return Look::Settled(None) };
    let kind = if gap <= params.tolerance() { Kind::Contact } else { Kind::Clearance };
    let points = points.map(|p| w_from_a.point(p).to_array());
    Look::Settled(Some(Outcome { kind, distance: gap, points, way: [0.0; 3], region: None, time: None }))
}

/// Two shapes that do not move.
pub(crate) fn settle(
    parts: [&Part; 2],
    shapes: [&Shape; 2],
    poses: [Pose; 2],
    params: &Params,
) -> Option<Outcome> {
    match look(parts, poses, params) {
        Look::Settled(outcome) => outcome,
        Look::Deep(meet) => Some(clash(shapes[0], shapes[1], &relative(poses), &poses[0], &meet, params)),
    }
}

/// What can be told of a pair without the shapes of its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Glance {
    /// The finding; none: nothing to tell.
    Settled(Option<Outcome>),
    /// They meet, somewhere on their way if they move, or one is in the other: [`finding`] must tell.
    NeedsShapes,
}

/// Looks at a pair by triangles alone, which settles all that do not meet. Some tens of microseconds, and a microsecond for each ten
/// triangles; the same for each of many steps along a motion.
pub fn glance(pair: &Pair<'_>, params: &Params) -> Glance {
    if pair.moves() {
        return course::glance(pair, params);
    }
    match look(pair.parts, pair.poses, params) {
        Look::Settled(outcome) => Glance::Settled(outcome),
        Look::Deep(_) => Glance::NeedsShapes,
    }
}

/// What two parts are to each other; none if they are as far apart as they should be. `shapes` are those of the parts, opened from
/// their files or bytes: see [`crate::Shapes`]. Tens of milliseconds for a clash.
pub fn finding(pair: &Pair<'_>, shapes: [&Shape; 2], params: &Params) -> Option<Outcome> {
    if pair.moves() {
        course::finding(pair, shapes, params)
    } else {
        settle(pair.parts, shapes, pair.poses, params)
    }
}
