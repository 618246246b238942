//! When a moving collider first meets another.
//!
//! Based on: conservative advancement (Mirtich, Impulse-based dynamic simulation of rigid body systems, 1996).
//! Differs: as long as the surfaces are certainly apart, steps are as long as that allows; nearer than the points can tell, they go
//! by the distance measured on the surfaces. Colliders that touch at the start meet again where they are deeper in each other than
//! they can be pushed out of: a plate that has one corner on a thin floor does not swing through it.

use crate::gap::{Gap, gap, within};
use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::field::Source;
use palpate::manifold::Collider;
use parry3d::query::NonlinearRigidMotion;

/// Distance at which colliders have met [spacings]. Larger: earlier hits. Smaller: more steps.
const MET: f64 = 0.02;
/// Most steps; each takes microseconds.
const STEPS: usize = 256;
/// How much deeper colliders that touch may become in one motion [thickness]. Larger: they are pushed out on the wrong side. Smaller:
/// what slides fast is held up.
const DEEPER: f64 = 0.4;
/// Colliders this near at the start count as touching [thickness]. Larger: what arrives fast sinks in. Smaller: motions of parts all
/// around each other take milliseconds.
const NEAR: f64 = 0.1;
/// Most steps of such a motion.
const SINKING: f64 = 64.0;

/// A motion of one collider in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) start: Pose,
    /// What it turns about, in the world, at time 0 [m].
    pub(crate) centre: DVec3,
    /// [m/s]
    pub(crate) linear: DVec3,
    /// [rad/s]
    pub(crate) angular: DVec3,
}

impl Course {
    pub(crate) fn still(start: Pose) -> Self {
        Self { start, centre: start.translation, linear: DVec3::ZERO, angular: DVec3::ZERO }
    }

    pub(crate) fn of(motion: &NonlinearRigidMotion) -> Self {
        let start = crate::convert::wide_pose(&motion.start);
        Self {
            start,
            centre: start.point(motion.local_center.as_dvec3()),
            linear: motion.linvel.as_dvec3(),
            angular: motion.angvel.as_dvec3(),
        }
    }

    /// The same motion of a part of what moves.
    pub(crate) fn part(&self, from: &Pose) -> Self {
        Self { start: self.start * *from, ..*self }
    }

    fn at(&self, time: f64) -> Pose {
        let turn = DQuat::from_scaled_axis(self.angular * time);
        let arm = self.start.translation - self.centre;
        Pose {
            rotation: (turn * self.start.rotation).normalize(),
            translation: self.centre + self.linear * time + turn * arm,
        }
    }

    /// Farthest point of a collider from what it turns about [m]; infinite for some solids.
    fn reach(&self, collider: &Collider) -> f64 {
        let aabb = match collider {
            Collider::Shape(shape) => shape.aabb(),
            Collider::Solid(solid) => solid.aabb(),
        };
        let centre = self.start.inverse().point(self.centre);
        (centre - aabb.min).abs().max((aabb.max - centre).abs()).length()
    }

    fn is_finite(&self) -> bool {
        self.start.is_finite()
            && self.linear.is_finite()
            && self.angular.is_finite()
            && self.centre.is_finite()
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    /// First and last time [s].
    pub(crate) from: f64,
    pub(crate) until: f64,
    /// Colliders this near have met [m].
    pub(crate) target: f64,
    /// Whether an overlap at the start counts.
    pub(crate) stop_at_penetration: bool,
    /// Half the thickness of the thinner collider [m].
    pub(crate) thickness: f64,
}

/// A meeting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    pub(crate) time: f64,
    /// A's frame then.
    pub(crate) gap: Gap,
    pub(crate) a_from_b: Pose,
    pub(crate) at_start: bool,
    /// The steps were used up: until then they do not meet.
    pub(crate) unfinished: bool,
}

/// The first time two colliders meet.
pub(crate) fn cast(a: (&Collider, Course), b: (&Collider, Course), aim: Aim) -> Option<Meeting> {
    let ((a, course_a), (b, course_b)) = (a, b);
    if !(course_a.is_finite() && course_b.is_finite() && aim.until >= aim.from) {
        return None;
    }
    let spacing = [a, b].into_iter().filter_map(spacing).fold(f64::INFINITY, f64::min);
    let met = if spacing.is_finite() { MET * spacing } else { return None };
    let target = aim.target.max(0.0) + met;
    let relative = |time: f64| course_a.at(time).inverse() * course_b.at(time);
    let speed = speed((a, &course_a), (b, &course_b));
    // Near at the start: what is between them is no wall that one could pass. Their distance is not asked for, as it takes long where
    // parts are all around each other.
    let near = (NEAR * aim.thickness).max(target);
    if !aim.stop_at_penetration
        && let Some(now) = within(a, b, &relative(aim.from), near)
    {
        let (time, a_from_b) = sink((a, b), aim, now, speed, &relative)?;
        let gap = gap(a, b, &a_from_b)?;
        return Some(Meeting { time, gap, a_from_b, at_start: false, unfinished: false });
    }
    let mut time = aim.from;
    for step in 0..STEPS {
        let a_from_b = relative(time);
        let found = gap(a, b, &a_from_b)?;
        let meeting = |unfinished| Meeting { time, gap: found, a_from_b, at_start: step == 0, unfinished };
        if found.distance <= target {
            if step == 0 && !aim.stop_at_penetration {
                let (time, a_from_b) = sink((a, b), aim, found.distance, speed, &relative)?;
                let gap = gap(a, b, &a_from_b)?;
                return Some(Meeting { time, gap, a_from_b, at_start: false, unfinished: false });
            }
            return Some(meeting(false));
        }
        if step == STEPS - 1 {
            return Some(meeting(true));
        }
        let safe = found.lower - aim.target.max(0.0);
        let way = if safe > met { safe } else { found.distance - aim.target.max(0.0) };
        let next = time + way / speed;
        // Where nothing moves, too: then this is infinite, or no number.
        if next > aim.until || next.is_nan() {
            return None;
        }
        time = next.max(time.next_up());
    }
    None
}

/// When colliders that touch first are deeper in each other than they can be pushed out of.
fn sink(
    (a, b): (&Collider, &Collider),
    aim: Aim,
    now: f64,
    speed: f64,
    relative: &impl Fn(f64) -> Pose,
) -> Option<(f64, Pose)> {
    let deeper = DEEPER * aim.thickness;
    let step = deeper / speed;
    let count = ((aim.until - aim.from) / step).ceil();
    // Also where nothing moves, or nothing has a thickness.
    if !(1.0..=SINKING).contains(&count) {
        return None;
    }
    let limit = now.min(0.0) - deeper;
    let mut last = None;
    for i in 1..=count as usize {
        let time = aim.from + (i as f64 * step).min(aim.until - aim.from);
        let a_from_b = relative(time);
        if within(a, b, &a_from_b, limit).is_some() {
            // The last time before, if there was one: at the start nothing can be done.
            return last;
        }
        last = Some((time, a_from_b));
    }
    None
}

fn spacing(collider: &Collider) -> Option<f64> {
    match collider {
        Collider::Shape(shape) => Some(shape.tree().shell_report().spacing),
        Collider::Solid(_) => None,
    }
}

/// No two points of the colliders approach each other faster than this [m/s].
fn speed(a: (&Collider, &Course), b: (&Collider, &Course)) -> f64 {
    let turning = |(collider, course): (&Collider, &Course), other: (&Collider, &Course)| {
        let rate = course.angular.length();
        if rate == 0.0 {
            return 0.0;
        }
        let own = course.reach(collider);
        // Of something without end, only what the other can meet counts.
        let met = (course.centre - other.1.centre).length() + other.1.reach(other.0);
        rate * own.min(2.0 * met)
    };
    (a.1.linear - b.1.linear).length() + turning(a, b) + turning(b, a)
}
