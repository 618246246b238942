//! Pairs of which one moves: the first clash, and the least distance along the way.
//!
//! Based on: conservative advancement (Mirtich, Impulse-based dynamic simulation of rigid body systems, 1996).
//! Differs: a step goes as far as nothing nearer than what is known can be passed by more than a share of the clearance; where
//! surfaces touch, steps are short and shapes tell whether it is a clash.

use crate::finding::{Kind, Outcome};
use crate::near::{moved, relative};
use crate::pair::{Glance, Look, Pair, look, settle};
use crate::params::Params;
use palpate::query::Motion;
use palpate::soft::{Soft, SoftMesh};
use palpate::{Pose, Shape};

/// By how much a distance may be passed unseen [clearances].
const UNSEEN: f64 = 0.02;
/// Shortest step, of the whole motion: past it a distance may be passed by the way of so long.
const SHORTEST: f64 = 1.0 / 4096.0;
/// Shortest step while surfaces touch: each costs a look at shapes.
const TOUCHING: f64 = 1.0 / 256.0;
/// Surfaces this near touch [clearances].
const TOUCH: f64 = 1e-6;
/// How often the beginning of a clash is halved.
const HALVINGS: usize = 8;

/// A pair along its motion.
struct Course<'a, 'b> {
    pair: &'b Pair<'a>,
    params: &'b Params,
    soft: Soft,
    meshes: [SoftMesh; 2],
    /// Fastest that points of the two can near each other [m over the motion].
    speed: f64,
}

impl<'a, 'b> Course<'a, 'b> {
    fn new(pair: &'b Pair<'a>, params: &'b Params) -> Self {
        let speed = |i: usize| {
            let Some(to) = &pair.to[i] else { return 0.0 };
            let motion = Motion::between(&pair.poses[i], to);
            let far = pair.parts[i].mesh.positions().iter().map(|p| p.length()).fold(0.0, f64::max);
            (motion.linear.length() + motion.angular.length() * far) * (1.0 + 1e-9)
        };
        let meshes = pair.parts.map(|p| SoftMesh::from_mesh(&p.mesh));
        Self { pair, params, soft: Soft::new(), meshes, speed: speed(0) + speed(1) }
    }

    /// The places at a time.
    fn poses(&self, time: f64) -> [Pose; 2] {
        [0, 1].map(|i: usize| match &self.pair.to[i] {
            Some(to) if time > 0.0 => Motion::between(&self.pair.poses[i], to).at(time),
            _ => self.pair.poses[i],
        })
    }

    /// The distance of the surfaces at a time, and where, in the assembly's frame.
    fn distance(&mut self, time: f64) -> Outcome {
        let poses = self.poses(time);
        let w_from_a = poses[0];
        let of_b = moved(&self.pair.parts[1].mesh, &relative(poses));
        // As many as there are, always.
        let _ = self.meshes[1].set_positions(&of_b);
        let found = self.soft.distance(&self.meshes[0], &self.meshes[1]);
        let (distance, points) =
            found.map_or((f64::INFINITY, [glam::DVec3::NAN; 2]), |d| (d.distance, d.witnesses));
        Outcome {
            kind: if distance <= self.params.tolerance() { Kind::Contact } else { Kind::Clearance },
            distance,
            points: points.map(|p| w_from_a.point(p).to_array()),
            way: [0.0; 3],
            region: None,
            time: Some(time),
        }
    }

    /// Whether it is a clash at a time.
    fn clash(&self, shapes: [&Shape; 2], time: f64) -> Option<Outcome> {
        let outcome = settle(self.pair.parts, shapes, self.poses(time), self.params);
        let at = |o: Outcome| Outcome { time: Some(time), ..o };
        outcome.filter(|o| o.kind == Kind::Clash).map(at)
    }

    /// The first clash, between a time without and one with.
    fn first(&self, shapes: [&Shape; 2], mut free: f64, mut met: Outcome) -> Outcome {
        for _ in 0..HALVINGS {
            let Some(until) = met.time else { break };
            let middle = 0.5 * (free + until);
            match self.clash(shapes, middle) {
                Some(earlier) => met = earlier,
                None => free = middle,
            }
        }
        met
    }
}

/// What happens along the motion; `Err` where shapes are needed to tell.
fn follow(pair: &Pair<'_>, shapes: Option<[&Shape; 2]>, params: &Params) -> Result<Option<Outcome>, ()> {
    let mut course = Course::new(pair, params);
    // One may be in the other at the start.
    if matches!(look(pair.parts, pair.poses, params), Look::Deep(_)) {
        let shapes = shapes.ok_or(())?;
        if let Some(found) = course.clash(shapes, 0.0) {
            return Ok(Some(found));
        }
    }
    let (tolerance, unseen) = (params.tolerance(), UNSEEN * params.clearance);
    let mut least: Option<Outcome> = None;
    let (mut time, mut before) = (0.0, 0.0);
    loop {
        let here = course.distance(time);
        // Within rounding of each other: shapes must tell.
        if here.distance <= TOUCH * params.clearance && time > 0.0 {
            let shapes = shapes.ok_or(())?;
            if let Some(met) = course.clash(shapes, time) {
                return Ok(Some(course.first(shapes, before, met)));
            }
        }
        if here.distance < params.clearance && least.is_none_or(|l| here.distance < l.distance) {
            least = Some(here);
        }
        if time >= 1.0 {
            return Ok(least);
        }
        let step = if here.distance <= tolerance {
            (tolerance / course.speed).max(TOUCHING)
        } else {
            // Nothing below what is known is passed by more than `unseen`, and no touch at all.
            let known = least.map_or(params.clearance, |l| l.distance.max(tolerance));
            ((here.distance - known + unseen) / course.speed).max(SHORTEST)
        };
        before = time;
        // A pair that does not move nears nothing: the step is infinite, or NaN for none at all.
        time = if step < 1.0 - time { time + step } else { 1.0 };
    }
}

/// As [`crate::glance`], for a pair of which one moves.
pub(crate) fn glance(pair: &Pair<'_>, params: &Params) -> Glance {
    follow(pair, None, params).map_or(Glance::NeedsShapes, Glance::Settled)
}

/// As [`crate::finding`], for a pair of which one moves.
pub(crate) fn finding(pair: &Pair<'_>, shapes: [&Shape; 2], params: &Params) -> Option<Outcome> {
    follow(pair, Some(shapes), params).unwrap_or(None)
}
