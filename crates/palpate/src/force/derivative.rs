//! How the wrench changes with the pose: the 6×6 matrix that implicit integration and coupling need.
//!
//! The set of contacts, their areas, and which of them stick and slide are frozen. A field is taken as plane around each
//! contact: its gradient does not turn as the point moves through it. What is neglected is force × curvature, depth over
//! radius of curvature in relation to what is kept; on plane faces nothing is.

use super::friction::ContactState;
use super::{Direction, ForceParams, Law, Twist, positive};
use crate::contact::{Contact, Contacts};
use crate::math::{Pose, Wrench};
use glam::{DMat3, DVec3, Vec3};

/// Derivative of the wrench on B, about B's origin, in A's frame, by a small motion of B: a translation of B's origin in
/// A's frame, and a rotation vector in A's frame about B's origin.
///
/// The torque is about B's origin wherever that is: the point of reference moves with B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Derivative {
    /// Force by translation [N/m].
    pub force_by_translation: DMat3,
    /// Force by rotation [N/rad].
    pub force_by_rotation: DMat3,
    /// Torque by translation [N m/m].
    pub torque_by_translation: DMat3,
    /// Torque by rotation [N m/rad].
    pub torque_by_rotation: DMat3,
}

impl Derivative {
    /// No change at all.
    pub const ZERO: Self = Self {
        force_by_translation: DMat3::ZERO,
        force_by_rotation: DMat3::ZERO,
        torque_by_translation: DMat3::ZERO,
        torque_by_rotation: DMat3::ZERO,
    };

    /// How the wrench changes with a small motion of B.
    pub fn apply(&self, motion: &Twist) -> Wrench {
        Wrench {
            force: self.force_by_translation * motion.linear + self.force_by_rotation * motion.angular,
            torque: self.torque_by_translation * motion.linear + self.torque_by_rotation * motion.angular,
        }
    }

    /// The matrix, row by row: force x y z, torque x y z by translation x y z, rotation x y z.
    pub fn rows(&self) -> [[f64; 6]; 6] {
        let (upper, lower) = (
            (self.force_by_translation, self.force_by_rotation),
            (self.torque_by_translation, self.torque_by_rotation),
        );
        core::array::from_fn(|row| {
            let (left, right) = if row < 3 { upper } else { lower };
            let (l, r) = (left.row(row % 3), right.row(row % 3));
            [l.x, l.y, l.z, r.x, r.y, r.z]
        })
    }

    fn is_finite(&self) -> bool {
        self.force_by_translation.is_finite()
            && self.force_by_rotation.is_finite()
            && self.torque_by_translation.is_finite()
            && self.torque_by_rotation.is_finite()
    }
}

impl Default for Derivative {
    fn default() -> Self {
        Self::ZERO
    }
}

impl core::ops::Add for Derivative {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self {
            force_by_translation: self.force_by_translation + o.force_by_translation,
            force_by_rotation: self.force_by_rotation + o.force_by_rotation,
            torque_by_translation: self.torque_by_translation + o.torque_by_translation,
            torque_by_rotation: self.torque_by_rotation + o.torque_by_rotation,
        }
    }
}

impl core::ops::Mul<f64> for Derivative {
    type Output = Self;
    fn mul(self, k: f64) -> Self {
        Self {
            force_by_translation: self.force_by_translation * k,
            force_by_rotation: self.force_by_rotation * k,
            torque_by_translation: self.torque_by_translation * k,
            torque_by_rotation: self.torque_by_rotation * k,
        }
    }
}

/// The derivative of [`penalty`](super::penalty)'s wrench by the relative pose.
///
/// Arguments as there; `state` is the one that call has left, and says which contacts stick and which slide. For both
/// directions of a pair take half of the sum of the two. With [`Law::Averaged`] the area in contact is frozen too. The
/// velocity stays as it is while B moves.
///
/// Exact, up to rounding, where the field is plane; else see the head of this module: on a sphere of radius R at depth δ
/// it is off by about δ/R. In a built field, also by how far its gradient is from unit length. Input that is not finite
/// gives zeros. Cost: about 17 ns for each contact, 110 ns with damping or friction. No allocation.
pub fn derivative(
    contacts: &Contacts,
    params: &ForceParams,
    a_from_b: &Pose,
    motion: Option<&Twist>,
    state: Option<&ContactState>,
) -> Derivative {
    let motion = *motion.unwrap_or(&Twist::ZERO);
    if !(a_from_b.is_finite() && motion.is_finite() && contacts.origin.is_finite() && params.is_finite()) {
        return Derivative::ZERO;
    }
    let still = motion == Twist::ZERO;
    let plain = (still || positive(params.damping) == 0.0) && (!params.rubs() || (still && state.is_none()));
    let sum = if plain {
        springs(contacts, params, a_from_b)
    } else {
        columns(contacts, params, a_from_b, &motion, state)
    };
    let scale = match params.law {
        Law::Integrated => 1.0,
        Law::Averaged => {
            // As `penalty` has it: NaN counts, so that it is found below.
            let used = contacts.list.iter().filter(|c| !matches!(c.distance, 0.0..));
            let area: f64 = used.map(|c| f64::from(c.area)).sum();
            if area > 0.0 { 1.0 / area } else { return Derivative::ZERO }
        }
    };
    let sum = sum * scale;
    if sum.is_finite() { sum } else { Derivative::ZERO }
}

/// A contact in f64: offset from B's origin, field normal, push on B, depth, area.
struct Arm {
    r: DVec3,
    normal: DVec3,
    along: DVec3,
    depth: f64,
    area: f64,
}

impl Arm {
    fn new(contacts: &Contacts, contact: &Contact, direction: Direction, origin_b: DVec3) -> Self {
        let offset = contacts.origin - origin_b;
        let normal = contact.normal().as_dvec3();
        Self {
            r: offset + Vec3::from_array(contact.point).as_dvec3(),
            normal,
            along: match (direction, contacts.swapped) {
                (Direction::Field, _) => normal,
                (Direction::Shell, false) => -contact.shell_normal().as_dvec3(),
                (Direction::Shell, true) => contact.shell_normal().as_dvec3(),
            },
            depth: -f64::from(contact.distance),
            area: f64::from(contact.area),
        }
    }
}

/// The matrix of `v ↦ a × v`.
fn cross(a: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, a.z, -a.y), DVec3::new(-a.z, 0.0, a.x), DVec3::new(a.y, -a.x, 0.0))
}

/// The matrix of `v ↦ a (b · v)`.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Whether the push on B turns with B: B's own normal, or the gradient of B's field.
fn turns(params: &ForceParams, swapped: bool) -> bool {
    (params.direction == Direction::Shell) != swapped
}

/// Springs across the surface only.
fn springs(contacts: &Contacts, params: &ForceParams, a_from_b: &Pose) -> Derivative {
    let stiffness = positive(params.stiffness);
    let mut sum = Derivative::ZERO;
    let (mut force, mut moment) = (DVec3::ZERO, DMat3::ZERO);
    for contact in contacts.list.iter().filter(|c| !matches!(c.distance, 0.0..)) {
        let c = Arm::new(contacts, contact, params.direction, a_from_b.translation);
        // Depth falls by normal · (translation + rotation × r): the row (n, r × n) of the motion.
        let k = -stiffness * c.area;
        let (push, turn) = (c.along * k, c.r.cross(c.along) * k);
        let lever = c.r.cross(c.normal);
        sum.force_by_translation += outer(push, c.normal);
        sum.force_by_rotation += outer(push, lever);
        sum.torque_by_translation += outer(turn, c.normal);
        sum.torque_by_rotation += outer(turn, lever);
        let f = c.along * (stiffness * c.area * c.depth);
        force += f;
        moment += outer(c.r, f);
    }
    let trace = DMat3::from_diagonal(DVec3::splat(moment.x_axis.x + moment.y_axis.y + moment.z_axis.z));
    if contacts.swapped {
        // Points stay with A: the arm shortens as B's origin comes nearer.
        sum.torque_by_translation += cross(force);
    } else {
        // Points turn with B.
        sum.torque_by_rotation += moment - trace;
    }
    if turns(params, contacts.swapped) {
        sum.force_by_rotation -= cross(force);
        sum.torque_by_rotation += trace - moment.transpose();
    }
    sum
}

/// What friction does at one contact.
enum Rub {
    None,
    /// Spring and damper along the surface, from an anchor in A's frame.
    Sticks(DVec3),
    Slides(DVec3),
    /// Without memory, by the speed.
    Creeps,
}

/// Everything, one motion after the other.
fn columns(
    contacts: &Contacts,
    params: &ForceParams,
    a_from_b: &Pose,
    motion: &Twist,
    state: Option<&ContactState>,
) -> Derivative {
    let origin_b = a_from_b.translation;
    let state = state.filter(|s| s.swapped == contacts.swapped);
    let ids = state.map_or(&[][..], |s| &s.last.ids);
    let mut at = 0;
    let mut by = [Wrench::ZERO; 6];
    for contact in contacts.list.iter().filter(|c| !matches!(c.distance, 0.0..)) {
        let c = Arm::new(contacts, contact, params.direction, origin_b);
        while at < ids.len() && ids[at] < contact.id {
            at += 1;
        }
        let rub = if !params.rubs() {
            Rub::None
        } else if let Some(state) = state {
            if ids.get(at) == Some(&contact.id) {
                let (anchor, slides) = state.anchor(at, a_from_b);
                at += 1;
                if slides { Rub::Slides(anchor) } else { Rub::Sticks(anchor) }
            } else {
                Rub::Sticks(c.r + origin_b)
            }
        } else {
            Rub::Creeps
        };
        let Some(tangent) = Tangent::new(&c, params, motion, &rub, contacts.swapped, origin_b) else {
            continue;
        };
        for (k, by) in by.iter_mut().enumerate() {
            let axis = DVec3::AXES[k % 3];
            let small = if k < 3 {
                Twist { linear: axis, angular: DVec3::ZERO }
            } else {
                Twist { linear: DVec3::ZERO, angular: axis }
            };
            *by = *by + tangent.change(&small);
        }
    }
    let block = |from: usize, part: fn(&Wrench) -> DVec3| {
        DMat3::from_cols(part(&by[from]), part(&by[from + 1]), part(&by[from + 2]))
    };
    Derivative {
        force_by_translation: block(0, |w| w.force),
        force_by_rotation: block(3, |w| w.force),
        torque_by_translation: block(0, |w| w.torque),
        torque_by_rotation: block(3, |w| w.torque),
    }
}

/// One contact that pushes, ready to be moved.
struct Tangent<'a> {
    c: &'a Arm,
    params: &'a ForceParams,
    motion: &'a Twist,
    rub: &'a Rub,
    swapped: bool,
    origin_b: DVec3,
    turns: bool,
    velocity: DVec3,
    pressure: f64,
    /// Motion of B over A since the contact began to stick.
    moved: DVec3,
    /// What the friction is along, and its length.
    pull: DVec3,
    length: f64,
    /// Force.
    f: DVec3,
}

impl<'a> Tangent<'a> {
    /// None where damping leaves no push.
    fn new(
        c: &'a Arm,
        params: &'a ForceParams,
        motion: &'a Twist,
        rub: &'a Rub,
        swapped: bool,
        origin_b: DVec3,
    ) -> Option<Self> {
        let velocity = motion.at(c.r);
        let pressure =
            positive(params.stiffness) * c.depth - positive(params.damping) * c.along.dot(velocity);
        if pressure <= 0.0 {
            return None;
        }
        let sign = if swapped { -1.0 } else { 1.0 };
        let moved = match rub {
            Rub::Sticks(anchor) | Rub::Slides(anchor) => (c.r + origin_b - *anchor) * sign,
            Rub::None | Rub::Creeps => DVec3::ZERO,
        };
        let turns = turns(params, swapped);
        let mut tangent = Self {
            c,
            params,
            motion,
            rub,
            swapped,
            origin_b,
            turns,
            velocity,
            pressure,
            moved,
            pull: DVec3::ZERO,
            length: 0.0,
            f: DVec3::ZERO,
        };
        let across = |v: DVec3| v - c.along * v.dot(c.along);
        tangent.pull = match rub {
            Rub::Creeps => across(velocity),
            _ => across(moved) * tangent.spring() + across(velocity) * positive(params.friction.damping),
        };
        tangent.length = tangent.pull.length();
        let friction = match rub {
            Rub::None => DVec3::ZERO,
            Rub::Sticks(_) => tangent.pull,
            Rub::Slides(_) | Rub::Creeps => tangent.pull * (tangent.slip() / tangent.denominator()),
        };
        tangent.f = (c.along * pressure - friction) * c.area;
        Some(tangent)
    }

    fn spring(&self) -> f64 {
        positive(self.params.stiffness) * positive(self.params.friction.stiffness_ratio)
    }

    /// Friction of sliding, over area.
    fn slip(&self) -> f64 {
        positive(self.params.friction.dynamic_coefficient) * self.pressure
    }

    /// What the pull is divided by to be a direction; never 0.
    fn denominator(&self) -> f64 {
        let least = if matches!(self.rub, Rub::Creeps) { self.params.friction.creep } else { 0.0 };
        self.length.max(least).max(f64::MIN_POSITIVE)
    }

    /// How the wrench changes with a motion of B.
    fn change(&self, small: &Twist) -> Wrench {
        let (c, p) = (self.c, self.params);
        let dr = if self.swapped { -small.linear } else { small.angular.cross(c.r) };
        let du = if self.turns { small.angular.cross(c.along) } else { DVec3::ZERO };
        let dv = self.motion.angular.cross(dr);
        let closing = c.normal.dot(small.at(c.r));
        let dp = -positive(p.stiffness) * closing
            - positive(p.damping) * (du.dot(self.velocity) + c.along.dot(dv));
        // Derivative of the part of a vector across the push.
        let across = |v: DVec3, dv: DVec3| {
            let (u, along) = (c.along, v.dot(c.along));
            dv - u * (dv.dot(u) + v.dot(du)) - du * along
        };
        let d_pull = match self.rub {
            Rub::None => DVec3::ZERO,
            Rub::Creeps => across(self.velocity, dv),
            Rub::Sticks(anchor) | Rub::Slides(anchor) => {
                // The end of the spring that B carries.
                let end = if self.swapped { *anchor - self.origin_b } else { c.r };
                across(self.moved, small.at(end)) * self.spring()
                    + across(self.velocity, dv) * positive(p.friction.damping)
            }
        };
        let d_friction = match self.rub {
            Rub::None => DVec3::ZERO,
            Rub::Sticks(_) => d_pull,
            Rub::Slides(_) | Rub::Creeps => {
                let below = self.denominator();
                let unit = self.pull / below;
                // A pull that fixes its own length only turns.
                let turned = if below == self.length { d_pull - unit * unit.dot(d_pull) } else { d_pull };
                let mu = positive(p.friction.dynamic_coefficient);
                unit * (mu * dp) + turned * (self.slip() / below)
            }
        };
        let df = (c.along * dp + du * self.pressure - d_friction) * c.area;
        Wrench { force: df, torque: dr.cross(self.f) + c.r.cross(df) }
    }
}
