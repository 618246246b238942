//! Contacts before touch that will not come true.
//!
//! A contact ahead is a plane: up to here, and no farther. Beside an edge of the other body that says too much: a peg above its hole has
//! the rim below it, is stopped in the air and pushed aside. So where the way a point is about to go is free, its contact is left out; if it
//! goes another way after all, it is told in the next step. What is flat, and what a point runs into, stays as it was found.

use super::Collider;
use super::choose::{Candidate, OF_A};
use crate::field::{Sample, Source};
use crate::math::Pose;
use glam::DVec3;

/// Ways shorter and ways longer than this are not looked at [spacings]. Larger: edges push what moves slowly; beside walls much is sampled.
/// Smaller: bodies at rest, which are about to fall by what gravity does in a step, take longer; edges hold what is fast.
const WAY: [f64; 2] = [0.05, 16.0];
/// How far apart samples on a way may always be [spacings]. Larger: thin things are missed, and the way through them counts as free.
const PART: f64 = 0.5;
/// Cosine of the largest angle between outward at the beginning of a way and at its end [1]. Past an edge it turns by about 90
/// degrees, through a thin thing by 180.
const ROUND: f64 = -0.2;
/// How far inside a point may be on its way and still pass [way]. Larger: what is in the way by little is pushed aside, not stopped. Smaller: what
/// slides along a wall is stopped by the edge of it.
const GRAZE: f64 = 0.02;
/// How much farther than a plane the surface has to be for the plane to be left out [way]. Larger: edges hold more. Smaller: planes of smooth
/// surfaces are left out for the rounding of their field.
const ROOM: f64 = 0.02;

/// Two bodies where they are, and where they are about to be.
pub(super) struct Ahead<'a> {
    pub(super) a: &'a Collider,
    pub(super) b: &'a Collider,
    pub(super) a_from_b: &'a Pose,
    pub(super) next: &'a Pose,
}

impl Ahead<'_> {
    /// Leaves out candidates whose plane is in a way that is free.
    pub(super) fn clear(&self, origin: DVec3, candidates: &mut Vec<Candidate>) {
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
        candidates.retain(|c| {
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
            let (from, along, outward) = if swapped {
                (b_from_a.point(at), b_from_a.vector(way), b_from_a.vector(away))
            } else {
                (at, way, away)
            };
            // Through a thin thing the direction turns round.
            let past = |e: Sample| e.distance > planned + ROOM * length && e.gradient.dot(outward) >= ROUND;
            !end(field, from, along, distance, PART * spacing).is_some_and(past)
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
