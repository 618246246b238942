//! Contacts before touch, where the plane they tell is not there.
//!
//! A contact ahead is a plane: up to here, and no farther. Beside an edge of the other body that says too much: a peg above its hole has
//! the rim below it, is stopped in the air and pushed aside. So where the way a point is about to go is free, the plane is that of the
//! place it comes to: the wall of the hole. What is flat says the same at both places, and what a point runs into stays as it was found.

use super::choose::{Candidate, OF_A};
use super::{Collider, ManifoldParams};
use crate::field::{Sample, Source};
use crate::math::Pose;
use glam::DVec3;

/// Ways shorter and ways longer than this are not looked at [spacings]. Larger: edges push what moves slowly; beside walls much is sampled.
/// Smaller: bodies at rest, which are about to fall by what gravity does in a step, take longer; edges hold what is fast.
const WAY: [f64; 2] = [0.05, 16.0];
/// How far apart samples on a way may always be [spacings]. Larger: thin things are missed, and the way through them counts as free.
const PART: f64 = 0.5;
/// Cosine of the largest angle between the plane at the beginning of a way and that at its end [1]. Past an edge they turn by about 90
/// degrees, through a thin thing by 180.
const ROUND: f64 = -0.2;
/// How far inside a point may be on its way and still pass [way]. Larger: what is in the way by little is pushed aside, not stopped. Smaller: what
/// slides along a wall is stopped by the edge of it.
const GRAZE: f64 = 0.02;
/// How much farther than a plane the surface has to be for another plane to be told [way].
const ROOM: f64 = 0.02;

/// Two bodies where they are, and where they are about to be.
pub(super) struct Ahead<'a> {
    pub(super) a: &'a Collider,
    pub(super) b: &'a Collider,
    pub(super) a_from_b: &'a Pose,
    pub(super) next: &'a Pose,
}

impl Ahead<'_> {
    /// Gives candidates whose way is free the plane of its end, and leaves out those that have none within the margin there.
    pub(super) fn clear(&self, origin: DVec3, candidates: &mut Vec<Candidate>, params: &ManifoldParams) {
        let (now, next) = (self.a_from_b, self.next);
        let b_from_a = now.inverse();
        // Of points of B past A, and of points of A past B, as seen from A as it is now.
        let (of_b, of_a) = (*next * b_from_a, *now * next.inverse());
        let spacing = self.spacing();
        let (short, long) = (WAY[0] * spacing, WAY[1] * spacing);
        let reach = candidates.iter().fold(0.0, |r, c| c.point.length_squared().max(r)).sqrt();
        let turned = 2.0 * of_b.rotation.xyz().length();
        let most = (of_b.point(origin) - origin).length() + turned * f64::from(reach);
        // Not so either: no number.
        if !(most.is_finite() && most > short) {
            return;
        }
        candidates.retain_mut(|c| {
            let (at, distance) = (origin + c.point.as_dvec3(), f64::from(c.distance));
            let swapped = c.id & OF_A != 0;
            let (field, way, away) = if swapped {
                (self.b, of_a.point(at) - at, -c.normal.as_dvec3())
            } else {
                (self.a, of_b.point(at) - at, c.normal.as_dvec3())
            };
            let length = way.length();
            let planned = distance + away.dot(way);
            // A plane that is not reached does not push; what is inside has to come out.
            if planned >= 0.0 || distance < -GRAZE * length || length <= short || length > long {
                return true;
            }
            let (from, along) = if swapped { (b_from_a.point(at), b_from_a.vector(way)) } else { (at, way) };
            let farther = |e: &Sample| e.distance > planned + ROOM * length;
            let Some(end) = end(field, from, along, distance, PART * spacing).filter(farther) else {
                return true;
            };
            let Some(direction) = end.gradient.try_normalize() else { return true };
            let normal = if swapped { -now.vector(direction) } else { direction };
            if normal.dot(c.normal.as_dvec3()) < ROUND {
                return true;
            }
            let told = end.distance - direction.dot(along);
            (c.distance, c.normal) = (told as f32, normal.as_vec3());
            told <= params.margin
        });
    }

    /// Of the finer points [m].
    fn spacing(&self) -> f64 {
        let of = |c: &Collider| match c {
            Collider::Shape(shape) => shape.tree.shell.spacing,
            Collider::Solid(_) => f64::INFINITY,
        };
        of(self.a).min(of(self.b))
    }
}

/// The field at the end of a way, in its own frame; none if the way is barred. `distance`: at its beginning; `part`: how far apart samples
/// may always be [m].
fn end(collider: &Collider, from: DVec3, way: DVec3, distance: f64, part: f64) -> Option<Sample> {
    let length = way.length();
    let mut gone = distance.max(part);
    loop {
        let at = from + way * (gone / length).min(1.0);
        let sample = match collider {
            Collider::Shape(shape) => shape.field().sample(at),
            Collider::Solid(solid) => solid.sample(at),
        };
        let passes = sample.distance >= -GRAZE * length;
        if !passes || gone >= length {
            return passes.then_some(sample);
        }
        gone += sample.distance.max(part);
    }
}
