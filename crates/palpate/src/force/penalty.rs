//! The wrench of a set of contacts: springs and dampers that never pull, weighted with area.
//!
//! Based on: Morvan, Reimers, Samset, 2008, Eq. 4, 6, 7 and 9 to 15 [morvan08]; Sagardia, Stouraitis, Silva, 2014,
//! Eq. 2 and 3 [sagardia14].
//! Differs: the normal force of a contact is clamped at 0 (Eq. 4 can pull); the area is the one the shell point stands
//! for, not a pixel's (Eq. 8); forces act at the shell point, on the same line as at the surface point of Eq. 7; damping
//! uses the speed along the push, so that it takes energy away for both directions.

use super::friction::{ContactState, Memory, creep, rub};
use super::{Direction, Force, ForceParams, Law, Twist, positive};
use crate::contact::{Contact, Contacts};
use crate::math::{Pose, Wrench};
use crate::simd::{LANES, Lanes, dispatch};
use glam::DVec3;

/// Eight contacts as numbers: point and distance, normal and id, shell normal and area of each.
pub(super) type Block = [[[f32; 4]; 3]; LANES];

/// What a kernel needs to know besides the contacts. Lengths in m, forces over [`Job::unit`]: numbers stay of the size
/// of areas and depths, whatever the stiffness.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Spring and damper of the push: 1 and damping over stiffness, or 0 and 1.
    spring: f32,
    damper: f32,
    /// What the kernel's forces are multiplied with to be in newton.
    pub(super) unit: f64,
    /// Friction coefficients, and the spring and damper along the surface.
    pub(super) mu_static: f32,
    pub(super) mu_dynamic: f32,
    pub(super) rub_spring: f32,
    pub(super) rub_damper: f32,
    pub(super) creep: f32,
    /// Sign of the shell normal in the push on B; 0 for the field's direction.
    shell_sign: f32,
    /// Whether anything depends on the velocity.
    moving: bool,
    /// Velocity of B at the contacts' origin, and its rotation vector.
    linear: [f32; 3],
    angular: [f32; 3],
}

/// The smallest creep speed [m/s]. Smaller ones make quotients overflow at rest.
const LEAST_CREEP: f64 = 1e-9;

impl Job {
    /// The kernel's view of finite parameters.
    pub(super) fn new(contacts: &Contacts, params: &ForceParams, a_from_b: &Pose, motion: &Twist) -> Self {
        let (stiffness, damping) = (positive(params.stiffness), positive(params.damping));
        let unit = if stiffness > 0.0 { stiffness } else { damping };
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let f = &params.friction;
        let dynamic = positive(f.dynamic_coefficient);
        let linear = motion.at(contacts.origin - a_from_b.translation);
        let shell_sign = match (params.direction, contacts.swapped) {
            (Direction::Field, _) => 0.0,
            (Direction::Shell, false) => -1.0,
            (Direction::Shell, true) => 1.0,
        };
        Self {
            spring: (stiffness / unit) as f32,
            damper: (damping / unit) as f32,
            unit,
            mu_static: positive(f.static_coefficient).max(dynamic) as f32,
            mu_dynamic: dynamic as f32,
            rub_spring: (stiffness * positive(f.stiffness_ratio) / unit) as f32,
            rub_damper: (positive(f.damping) / unit) as f32,
            creep: f.creep.max(LEAST_CREEP) as f32,
            shell_sign,
            moving: *motion != Twist::ZERO,
            linear: linear.as_vec3().to_array(),
            angular: motion.angular.as_vec3().to_array(),
        }
    }

    /// Whether the push is along the shell's normal.
    #[inline(always)]
    pub(super) fn is_shell(&self) -> bool {
        self.shell_sign != 0.0
    }
}

/// Sums over the contacts: force, torque about the contacts' origin, area, normal force.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) of: [[f64; LANES]; 8],
    pub(super) used: usize,
    pub(super) sliding: usize,
}

/// The same in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running<L: Lanes> {
    force: [L::Sum; 3],
    torque: [L::Sum; 3],
    area: L::Sum,
    normal: L::Sum,
    used: u32,
    pub(super) sliding: u32,
}

impl<L: Lanes> Running<L> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let zero = L::zero_sum();
        Self { force: [zero; 3], torque: [zero; 3], area: zero, normal: zero, used: 0, sliding: 0 }
    }

    /// Adds a block: `traction` is force over area.
    #[inline(always)]
    pub(super) fn add(&mut self, push: &Push<L>, traction: [L; 3]) {
        let area = L::select(push.apart, L::splat(0.0), push.area);
        let [fx, fy, fz] = scaled(traction, area);
        let [x, y, z] = push.point;
        self.force = [fx.add_to(self.force[0]), fy.add_to(self.force[1]), fz.add_to(self.force[2])];
        self.torque = [
            y.mul(fz).sub(z.mul(fy)).add_to(self.torque[0]),
            z.mul(fx).sub(x.mul(fz)).add_to(self.torque[1]),
            x.mul(fy).sub(y.mul(fx)).add_to(self.torque[2]),
        ];
        self.area = area.add_to(self.area);
        self.normal = push.pressure.mul(area).add_to(self.normal);
        self.used += LANES as u32 - L::bits(push.apart).count_ones();
    }

    #[inline(always)]
    pub(super) fn store(&self, sums: &mut Sums) {
        for k in 0..3 {
            L::store_sum(self.force[k], &mut sums.of[k]);
            L::store_sum(self.torque[k], &mut sums.of[3 + k]);
        }
        L::store_sum(self.area, &mut sums.of[6]);
        L::store_sum(self.normal, &mut sums.of[7]);
        (sums.used, sums.sliding) = (self.used as usize, self.sliding as usize);
    }
}

/// Eight contacts: where, and how they push.
#[derive(Clone, Copy, Debug)]
pub(super) struct Push<L: Lanes> {
    pub(super) point: [L; 3],
    /// Unit, the push on B.
    pub(super) along: [L; 3],
    /// Not negative, 0 where apart.
    pub(super) pressure: L,
    /// Of B against A, at the point. Zero unless moving.
    pub(super) velocity: [L; 3],
    area: L,
    /// No depth: the contact of a margin. A distance that is NaN is not, so that it reaches the sum and is found there.
    pub(super) apart: L::Mask,
}

// Closures do not take over the features of the kernel they are in: what kernels do three times is written out.

/// One vector for each axis.
#[inline(always)]
pub(super) fn splat3<L: Lanes>(v: [f32; 3]) -> [L; 3] {
    [L::splat(v[0]), L::splat(v[1]), L::splat(v[2])]
}

#[inline(always)]
pub(super) fn scaled<L: Lanes>(v: [L; 3], k: L) -> [L; 3] {
    [v[0].mul(k), v[1].mul(k), v[2].mul(k)]
}

#[inline(always)]
pub(super) fn plus<L: Lanes>(a: [L; 3], b: [L; 3]) -> [L; 3] {
    [a[0].add(b[0]), a[1].add(b[1]), a[2].add(b[2])]
}

#[inline(always)]
pub(super) fn minus<L: Lanes>(a: [L; 3], b: [L; 3]) -> [L; 3] {
    [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])]
}

#[inline(always)]
pub(super) fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2]))
}

#[inline(always)]
pub(super) fn push_of<L: Lanes, const SHELL: bool, const MOVING: bool>(job: &Job, block: &Block) -> Push<L> {
    let zero = L::splat(0.0);
    let [x, y, z, distance] = L::load_quads(block, 0);
    let [sx, sy, sz, area] = L::load_quads(block, 2);
    let point = [x, y, z];
    let along = if SHELL {
        scaled([sx, sy, sz], L::splat(job.shell_sign))
    } else {
        let [nx, ny, nz, _] = L::load_quads(block, 1);
        [nx, ny, nz]
    };
    let apart = distance.ge(zero);
    let depth = zero.sub(distance);
    let mut pressure = depth.mul(L::splat(job.spring));
    let mut velocity = [zero; 3];
    if MOVING {
        let [wx, wy, wz] = splat3::<L>(job.angular);
        let turning = [wy.mul(z).sub(wz.mul(y)), wz.mul(x).sub(wx.mul(z)), wx.mul(y).sub(wy.mul(x))];
        velocity = plus(splat3(job.linear), turning);
        // B comes nearer against the push.
        let damped = pressure.sub(dot(along, velocity).mul(L::splat(job.damper)));
        // The order keeps a NaN: it must reach the sum, to be found there.
        pressure = zero.max(damped);
    }
    Push { point, along, pressure: L::select(apart, zero, pressure), velocity, area, apart }
}

/// The contacts in eights, the last ones filled up with contacts of no depth and no area.
#[inline(always)]
pub(super) fn blocks(contacts: &[Contact]) -> (&[Block], Option<Block>) {
    let records: &[[[f32; 4]; 3]] = bytemuck::cast_slice(contacts);
    let (whole, rest) = records.as_chunks::<LANES>();
    let mut last = [[[0.0; 4]; 3]; LANES];
    last[..rest.len()].copy_from_slice(rest);
    let last = if rest.is_empty() { None } else { Some(last) };
    (whole, last)
}

#[inline(always)]
fn press_block<L: Lanes, const SHELL: bool, const MOVING: bool>(
    job: &Job,
    block: &Block,
    running: &mut Running<L>,
) {
    let push = push_of::<L, SHELL, MOVING>(job, block);
    running.add(&push, scaled(push.along, push.pressure));
}

#[inline(always)]
fn press_all<L: Lanes, const SHELL: bool, const MOVING: bool>(
    job: &Job,
    contacts: &[Contact],
    sums: &mut Sums,
) {
    let (whole, last) = blocks(contacts);
    let mut running = Running::<L>::new();
    for block in whole {
        press_block::<L, SHELL, MOVING>(job, block, &mut running);
    }
    if let Some(block) = &last {
        press_block::<L, SHELL, MOVING>(job, block, &mut running);
    }
    running.store(sums);
}

#[inline(always)]
fn press_kernel<L: Lanes>(job: &Job, contacts: &[Contact], sums: &mut Sums) {
    match (job.is_shell(), job.moving) {
        (false, false) => press_all::<L, false, false>(job, contacts, sums),
        (false, true) => press_all::<L, false, true>(job, contacts, sums),
        (true, false) => press_all::<L, true, false>(job, contacts, sums),
        (true, true) => press_all::<L, true, true>(job, contacts, sums),
    }
}

dispatch! {
    /// Adds up the contacts without friction.
    pub(super) fn press / press_plain = press_kernel(job: &Job, contacts: &[Contact], sums: &mut Sums)
}

/// The wrench that the contacts exert on B, about B's origin, in A's frame.
///
/// Each contact with depth pushes B along `params.direction` with pressure stiffness × depth + damping × speed of
/// approach, at least 0, over its area; `params.law` says whether the sum or its mean over the area is the force.
/// Contacts of a margin (distance ≥ 0) give nothing. It does not matter which shape gave the points: with
/// [`Direction::Field`] the push is along [`Contact::normal`], from A to B; with [`Direction::Shell`] it is against B's
/// outward normal, or along A's where A gave the points (`swapped`).
///
/// `a_from_b` says where B's origin is. `motion` is B's velocity as A sees it; none is no motion. `state` is the memory
/// of friction, one for each pair and direction, given in every frame: with it contacts stick; without it friction
/// only slows motion down (see [`FrictionParams::creep`](super::FrictionParams)). It must see contacts in the order of
/// their ids, as queries give them.
///
/// A pose, motion, parameter or contact that is not finite gives the zero wrench and `non_finite`; no contacts, or no
/// stiffness, damping and area, give the zero wrench.
///
/// Accuracy: forces of single contacts are f32, sums f64: 1e-6 of the sum of their lengths. The same bits on every
/// machine: sums run in eight lanes by place mod 8, which are then added in order. Cost: about 2 ns for each contact, 4 ns with
/// friction, 10 ns with a state. No allocation, but for a state that has not yet seen as many contacts.
pub fn penalty(
    contacts: &Contacts,
    params: &ForceParams,
    a_from_b: &Pose,
    motion: Option<&Twist>,
    state: Option<&mut ContactState>,
) -> Force {
    let still = Twist::ZERO;
    let motion = motion.unwrap_or(&still);
    if !(a_from_b.is_finite() && motion.is_finite() && contacts.origin.is_finite() && params.is_finite()) {
        return Force { non_finite: true, ..Force::default() };
    }
    let job = Job::new(contacts, params, a_from_b, motion);
    let (mut sums, mut unsorted) = (Sums::default(), false);
    let Some(state) = state else {
        if params.rubs() && job.moving {
            creep(&job, &contacts.list, &mut sums);
        } else {
            press(&job, &contacts.list, &mut sums);
        }
        return summed(contacts, params, a_from_b, &job, &sums);
    };
    if params.rubs() {
        let frame = state.begin(contacts, a_from_b);
        let Memory { ids, anchors } = &state.last;
        rub(&job, &contacts.list, &frame, (ids, anchors), &mut state.next, &mut sums);
        unsorted = !state.next.ids.is_sorted();
    } else {
        press(&job, &contacts.list, &mut sums);
        state.next.clear();
    }
    let force = summed(contacts, params, a_from_b, &job, &sums);
    if !force.non_finite {
        state.end();
    }
    Force { unsorted: unsorted && !force.non_finite, ..force }
}

/// Lanes added in order, and the law.
fn summed(contacts: &Contacts, params: &ForceParams, a_from_b: &Pose, job: &Job, sums: &Sums) -> Force {
    let [fx, fy, fz, tx, ty, tz, area, normal] = sums.of.map(|lanes| lanes.iter().sum::<f64>());
    let scale = match params.law {
        Law::Integrated => job.unit,
        // No area, no mean.
        Law::Averaged if area > 0.0 => job.unit / area,
        Law::Averaged => 0.0,
    };
    let about_origin =
        Wrench { force: DVec3::new(fx, fy, fz) * scale, torque: DVec3::new(tx, ty, tz) * scale };
    let wrench = about_origin.about(a_from_b.translation - contacts.origin);
    if !(wrench.force.is_finite() && wrench.torque.is_finite() && area.is_finite() && normal.is_finite()) {
        return Force { non_finite: true, ..Force::default() };
    }
    let rubbed = params.rubs();
    Force {
        wrench,
        area,
        normal_force: normal * scale,
        used: sums.used,
        sticking: if rubbed { sums.used - sums.sliding } else { 0 },
        sliding: sums.sliding,
        ..Force::default()
    }
}

/// The wrench of both directions of a pair, B's points in A's field and A's in B's: half of each, so that it is not
/// double.
///
/// Frame, sign, accuracy and bad input as [`penalty`]; if one of the two is not finite, so is the result. `area` and
/// `normal_force` are halves too, numbers of contacts are sums. Where only one shape has points in the other, the
/// result is half of that direction's wrench.
pub fn both(
    first: &Contacts,
    second: &Contacts,
    params: &ForceParams,
    a_from_b: &Pose,
    motion: Option<&Twist>,
    states: Option<&mut [ContactState; 2]>,
) -> Force {
    let [mut one, mut two] = states.map_or([None, None], |s| s.each_mut().map(Some));
    let a = penalty(first, params, a_from_b, motion, one.take());
    let b = penalty(second, params, a_from_b, motion, two.take());
    if a.non_finite || b.non_finite {
        return Force { non_finite: true, ..Force::default() };
    }
    Force {
        wrench: (a.wrench + b.wrench) * 0.5,
        area: 0.5 * (a.area + b.area),
        normal_force: 0.5 * (a.normal_force + b.normal_force),
        used: a.used + b.used,
        sticking: a.sticking + b.sticking,
        sliding: a.sliding + b.sliding,
        non_finite: false,
        unsorted: a.unsorted || b.unsorted,
    }
}
