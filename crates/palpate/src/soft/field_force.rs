//! The force of a field on a mesh whose vertices have velocities of their own.
//!
//! Based on: Morvan, Reimers, Samset, 2008, Eq. 4 to 15 [morvan08].
//! Differs: as `crate::force`: damping never pulls, friction at rest is a spring with a dragged anchor, or grows with the speed
//! where there is no memory. The formulas are those of `crate::force::penalty`; what is new is that each sample has the
//! velocity of its own place on the mesh, interpolated between the vertices, where a rigid body has one twist.

use super::{FieldContacts, Place, SoftMesh};
use crate::force::{Direction, Force, ForceParams, Law, Twist};
use crate::math::Wrench;
use glam::DVec3;

/// Smallest creep speed [m/s], as in `crate::force`.
const LEAST_CREEP: f64 = 1e-9;

/// How a mesh moves. The default is at rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeshMotion<'a> {
    /// Of the mesh's frame, as the body with the field sees it: about the mesh's origin, in the field's frame.
    pub frame: Twist,
    /// Of each vertex in the mesh's frame [m/s]. Vertices beyond the last are at rest.
    pub vertices: &'a [DVec3],
}

/// What friction remembers from one frame to the next: where on the body each sample sticks.
///
/// Samples are known again by their triangle and their place on it: one that is bisected otherwise than before begins anew.
#[derive(Clone, Debug, Default)]
pub struct FieldFriction {
    last: Vec<Anchor>,
    next: Vec<Anchor>,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    place: Place,
    id: u32,
    /// In the field's frame [m].
    at: DVec3,
    slides: bool,
}

impl FieldFriction {
    /// Forgets every sample: for a jump of the scene. Keeps its memory.
    pub fn clear(&mut self) {
        self.last.clear();
    }
}

/// One sample: where, how it pushes, and how fast it moves.
struct Push {
    point: DVec3,
    along: DVec3,
    pressure: f64,
    velocity: DVec3,
}

impl FieldContacts {
    /// The wrench that the body exerts on the mesh, about the origin of the mesh's frame, in the field's frame; the body
    /// receives the opposite.
    ///
    /// As [`crate::force::penalty`], with the velocity of each sample's own place for damping and friction. `mesh` must be the one
    /// that was sampled, as it was then. `friction` is the memory of sticking samples, one for each pair; without it friction
    /// only slows motion down. `on_vertices`, where given, has the force on each vertex added [N, the field's frame]: samples share
    /// theirs out by their place.
    ///
    /// Numbers that are not finite give the zero wrench and `non_finite`. f64, in the order of the samples. About 30 ns a contact. Where it is not finite,
    /// `on_vertices` is not to be used.
    pub fn force(
        &self,
        mesh: &SoftMesh,
        params: &ForceParams,
        motion: &MeshMotion<'_>,
        friction: Option<&mut FieldFriction>,
        on_vertices: Option<&mut [DVec3]>,
    ) -> Force {
        if !(self.field_from_mesh.is_finite() && motion.frame.is_finite() && params_are_finite(params)) {
            return Force { non_finite: true, ..Force::default() };
        }
        let f = &params.friction;
        let rubs = f.static_coefficient > 0.0 || f.dynamic_coefficient > 0.0;
        let mut out = Force::default();
        let mut memory = friction;
        if let Some(memory) = &mut memory {
            memory.next.clear();
        }
        let (mut on_vertices, mut known) = (on_vertices, 0);
        let area: f64 =
            self.contacts.list.iter().filter(|c| c.distance < 0.0).map(|c| f64::from(c.area)).sum();
        let scale = match params.law {
            Law::Integrated => 1.0,
            Law::Averaged if area > 0.0 => 1.0 / area,
            Law::Averaged => 0.0,
        };
        let (mut wrench, mut normal_force) = (Wrench::ZERO, 0.0);
        for (i, place) in self.places.iter().enumerate() {
            let Some(contact) = self.contacts.list.get(i).filter(|c| c.distance < 0.0) else { continue };
            let push = self.push(i, place, mesh, params, motion);
            let mut traction = push.along * push.pressure;
            if rubs {
                let (rubbing, slides) = match &mut memory {
                    Some(memory) => memory.rub(params, &push, place, contact.id, &mut known),
                    None => creep(params, &push),
                };
                traction += rubbing;
                out.sliding += usize::from(slides);
                out.sticking += usize::from(!slides);
            }
            let weight = f64::from(contact.area) * scale;
            let force = traction * weight;
            let arm = push.point - self.field_from_mesh.translation;
            wrench = wrench + Wrench { force, torque: arm.cross(force) };
            normal_force += push.pressure * weight;
            out.used += 1;
            if let Some(forces) = &mut on_vertices {
                share_out(mesh, place, force, forces);
            }
        }
        if !(wrench.force.is_finite() && wrench.torque.is_finite() && normal_force.is_finite()) {
            return Force { non_finite: true, ..Force::default() };
        }
        if let Some(memory) = &mut memory {
            core::mem::swap(&mut memory.last, &mut memory.next);
        }
        Force { wrench, area, normal_force, ..out }
    }

    fn push(
        &self,
        i: usize,
        place: &Place,
        mesh: &SoftMesh,
        params: &ForceParams,
        motion: &MeshMotion<'_>,
    ) -> Push {
        let contact = self.contacts.list.get(i).copied().unwrap_or_default();
        let point = self.contacts.position(&contact);
        let along = match params.direction {
            Direction::Field => contact.normal(),
            Direction::Shell => -contact.shell_normal(),
        };
        let along = along.as_dvec3();
        let corners = mesh.triangles().get(place.triangle as usize).copied().unwrap_or_default();
        let own = corners.iter().zip(place.barycentric).fold(DVec3::ZERO, |sum, (v, share)| {
            sum + motion.vertices.get(*v as usize).map_or(DVec3::ZERO, |v| *v * f64::from(share))
        });
        let velocity =
            motion.frame.at(point - self.field_from_mesh.translation) + self.field_from_mesh.vector(own);
        let spring = params.stiffness.max(0.0) * f64::from(contact.depth());
        let damped = spring - params.damping.max(0.0) * along.dot(velocity);
        // A damper never pulls; the order keeps a NaN, to be found in the sum.
        let pressure = if damped < 0.0 { 0.0 } else { damped };
        Push { point, along, pressure, velocity }
    }
}

/// Friction without memory, and whether it slides.
fn creep(params: &ForceParams, push: &Push) -> (DVec3, bool) {
    let f = &params.friction;
    let speed = push.velocity - push.along * push.along.dot(push.velocity);
    let (length, least) = (speed.length(), f.creep.max(LEAST_CREEP));
    let most = f.dynamic_coefficient.max(0.0) * push.pressure;
    (speed * (-most / length.max(least)), length >= least)
}

impl FieldFriction {
    /// The anchor of a sample, if it had one; moves `at` on, past everything before it.
    fn recall(&self, place: &Place, id: u32, at: &mut usize) -> Option<Anchor> {
        while let Some(known) = self.last.get(*at) {
            if (known.id, known.place.path) < (id, place.path) {
                *at += 1;
                continue;
            }
            let same = known.id == id && known.place == *place;
            return same.then_some(*known);
        }
        None
    }

    /// Friction of a spring with a dragged anchor, and whether it slides.
    fn rub(
        &mut self,
        params: &ForceParams,
        push: &Push,
        place: &Place,
        id: u32,
        at: &mut usize,
    ) -> (DVec3, bool) {
        let f = &params.friction;
        let dynamic = f.dynamic_coefficient.max(0.0);
        let last = self.recall(place, id, at);
        let across = |v: DVec3| v - push.along * push.along.dot(v);
        let stretch = last.map_or(DVec3::ZERO, |a| across(push.point - a.at));
        let spring = params.stiffness.max(0.0) * f.stiffness_ratio.max(0.0);
        let pull = stretch * spring + across(push.velocity) * f.damping.max(0.0);
        let (length, most) = (pull.length(), dynamic * push.pressure);
        let was_sliding = last.is_some_and(|a| a.slides);
        let holds =
            if was_sliding { most } else { f.static_coefficient.max(0.0).max(dynamic) * push.pressure };
        let slides = length > holds;
        let share = if slides { most / length } else { 1.0 };
        // As far behind as the spring may pull.
        let taut = stretch.length() * spring;
        let kept = if taut > most { most / taut } else { 1.0 };
        let dragged = push.point - stretch * kept;
        let at = last.filter(|_| !slides).map_or(dragged, |a| a.at);
        self.next.push(Anchor { place: *place, id, at, slides });
        (pull * -share, slides)
    }
}

fn share_out(mesh: &SoftMesh, place: &Place, force: DVec3, forces: &mut [DVec3]) {
    let Some(corners) = mesh.triangles().get(place.triangle as usize) else { return };
    for (v, share) in corners.iter().zip(place.barycentric) {
        if let Some(sum) = forces.get_mut(*v as usize) {
            *sum += force * f64::from(share);
        }
    }
}

fn params_are_finite(params: &ForceParams) -> bool {
    let f = &params.friction;
    let of_friction = [f.static_coefficient, f.dynamic_coefficient, f.stiffness_ratio, f.damping, f.creep];
    params.stiffness.is_finite() && params.damping.is_finite() && of_friction.iter().all(|v| v.is_finite())
}

#[cfg(test)]
#[path = "field_force_tests.rs"]
mod tests;
