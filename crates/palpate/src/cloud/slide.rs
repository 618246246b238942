//! A place that slides along the surface of points to where it is nearest to the device.
//!
//! Based on: zilles95, a constraint-based god-object; friction as a cone as harwin02: the
//! god-object rests while the device is in the cone below it, and else goes until the device is on the cone.
//! Differs: the surface is the implicit one of points. Steps go along its plane, as long as the ones before say that the way is
//! (barzilai88), and back onto it by Newton's rule.

use super::surface::{Scratch, Surface};
use super::sweep::{ON, STEP, is_surface};
use glam::DVec3;

/// Most steps of one call: so many sixths of the radius a place can go at most.
pub(super) const MOST: usize = 48;

/// Most steps back onto the surface: each leaves about a hundredth of the distance.
const NEWTON: usize = 6;

/// How near to the goal is there, over the radius [1].
const NEAR: f64 = 1e-7;

/// How near to the surface is on it on the way, over the radius [1]: the end is brought as near as it can be.
const ON_THE_WAY: f64 = 1e-4;

/// A place on a surface, in its model's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rest {
    /// [m]
    pub(super) x: DVec3,
    /// Unit, towards the outside.
    pub(super) normal: DVec3,
    /// Friction holds it.
    pub(super) sticking: bool,
}

/// Where a slide ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slid {
    /// On the surface, the device behind it; `lagging`: not yet where it would rest.
    On { rest: Rest, lagging: bool },
    /// On the surface, the device in front of it.
    Out { rest: Rest },
    /// Beyond the end of the surface [m].
    Lost { x: DVec3 },
}

/// What a slide goes by.
pub(super) struct Slide<'a> {
    pub(super) surface: Surface<'a>,
    /// The device in the model's frame [m].
    pub(super) device: DVec3,
    /// Cone of rest and of sliding [1].
    pub(super) friction: (f64, f64),
}

impl Slide<'_> {
    /// Slides from `rest`; `free` says what part of a step from one place to another nothing else is in the way of, and whether there may
    /// be more steps.
    ///
    /// At most [`MOST`] steps of up to [`NEWTON`] fits each, and but one once `scratch` has done `work`.
    pub(super) fn run(
        &self,
        rest: Rest,
        work: usize,
        scratch: &mut Scratch,
        mut free: impl FnMut(DVec3, &mut Scratch) -> (f64, bool),
    ) -> Slid {
        let radius = self.surface.radius();
        let Some(mut at) = self.settle(rest.x, rest.normal, ON, scratch) else {
            return Slid::Lost { x: rest.x };
        };
        let mut cap = STEP * radius;
        let mut before: Option<(DVec3, DVec3)> = None;
        let mut go_on = true;
        for i in 0..MOST {
            let to = self.device - at.x;
            let depth = -to.dot(at.normal);
            if depth < 0.0 {
                return Slid::Out { rest: at };
            }
            let along = to + depth * at.normal;
            let far = along.length();
            let holds = self.friction.0.max(self.friction.1) * depth;
            let excess = far - self.friction.1 * depth;
            at.sticking = i == 0 && holds > 0.0 && (excess <= 0.0 || (rest.sticking && far <= holds));
            if at.sticking || excess <= NEAR * radius {
                return Slid::On { rest: at, lagging: false };
            }
            if !go_on || (i > 0 && scratch.work >= work) {
                break;
            }
            let go = along * (excess / far);
            let mut share = 1.0;
            if let Some((x, last)) = before {
                let (moved, less) = (at.x - x, last - go);
                share = moved.length_squared() / moved.dot(less);
                share = if share > 0.0 { share.clamp(0.1, 8.0) } else { 1.0 };
                // Beyond it: shorter from now on.
                cap *= if last.dot(go) < 0.0 { 0.5 } else { 1.0 };
            }
            before = Some((at.x, go));
            let goal = at.x + (share * go).clamp_length_max(cap);
            let Some(next) = self.settle(goal, at.normal, ON_THE_WAY, scratch) else {
                return Slid::Lost { x: goal };
            };
            let (part, more) = free(next.x, scratch);
            go_on = more;
            if part < 1.0 {
                let short = at.x.lerp(next.x, part);
                let rest = self.settle(short, at.normal, ON, scratch).unwrap_or(at);
                return Slid::On { rest, lagging: false };
            }
            at = next;
        }
        Slid::On { rest: at, lagging: true }
    }

    /// The place of the surface that Newton's rule leads to from near it; none where the surface has ended.
    fn settle(&self, mut x: DVec3, mut normal: DVec3, on: f64, scratch: &mut Scratch) -> Option<Rest> {
        for _ in 0..NEWTON {
            let fit = self.surface.at(x, normal, scratch).filter(is_surface)?;
            x -= fit.value * fit.normal;
            normal = fit.normal;
            if fit.value.abs() <= on * self.surface.radius() {
                break;
            }
        }
        Some(Rest { x, normal, sticking: false })
    }
}
