//! Coulomb friction: contacts that stick to where they first touched, and slide when pulled too hard.
//!
//! Based on: Morvan, Reimers, Samset, 2008, Eq. 5 [morvan08].
//! Differs: Eq. 5 is 0/0 at rest and cannot hold anything. Here a contact hangs on a spring along the surface, whose other
//! end is the place where it first touched (the spring of Cundall and Strack, 1979). Where the spring pulls more than the
//! static coefficient times the normal force, the contact slides: friction is the dynamic coefficient times the normal
//! force, and the anchor is dragged along. A spring is never longer than that after sliding, so that a closed loop only
//! costs energy. Without memory, Eq. 5 with the speed in its denominator kept from 0.

use super::penalty::{Block, Job, Push, Running, Sums, blocks, dot, minus, plus, push_of, scaled, splat3};
use crate::contact::{Contact, Contacts};
use crate::math::Pose;
use crate::simd::{LANES, Lanes, dispatch};
use glam::{DMat3, DVec3};

/// The contacts of the last frame, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    pub(super) ids: Vec<u32>,
    /// Anchor relative to [`ContactState::origin`] [m], and [`STICKS`] or [`SLIDES`].
    pub(super) anchors: Vec<[f32; 4]>,
}

/// What the fourth number of an anchor says.
const STICKS: f32 = 0.0;
pub(super) const SLIDES: f32 = 1.0;
const UNKNOWN: f32 = -1.0;

impl Memory {
    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.anchors.clear();
    }

    /// Makes room for `n` contacts; allocates only when there were never so many.
    fn reserve(&mut self, n: usize) {
        self.ids.reserve(n);
        self.anchors.reserve(n);
    }
}

/// What friction remembers from one frame to the next: where each contact sticks. Kept by the caller, one for each
/// direction of each pair.
///
/// Contacts are known again by their ids. An anchor is a point of the shape that did not give the contact's point, in that
/// shape's frame: A's, or B's where A gave the points.
#[derive(Clone, Debug, Default)]
pub struct ContactState {
    /// What anchors are relative to, in their frame [m].
    pub(super) origin: DVec3,
    /// Whether anchors are in B's frame.
    pub(super) swapped: bool,
    pub(super) last: Memory,
    /// The frame in the making, then the one before the last: a buffer.
    pub(super) next: Memory,
}

impl ContactState {
    /// Nothing remembered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing remembered, with room for `n` contacts: no force with so many allocates.
    pub fn with_capacity(n: usize) -> Self {
        let mut state = Self::default();
        state.last.reserve(n);
        state.next.reserve(n);
        state
    }

    /// Forgets every contact: for a jump of the scene. Keeps its memory.
    pub fn clear(&mut self) {
        self.last.clear();
        self.next.clear();
    }

    /// Number of contacts remembered.
    pub fn len(&self) -> usize {
        self.last.ids.len()
    }

    /// Whether no contact is remembered.
    pub fn is_empty(&self) -> bool {
        self.last.ids.is_empty()
    }

    /// Makes ready for a frame, and says where anchors are in it.
    pub(super) fn begin(&mut self, contacts: &Contacts, a_from_b: &Pose) -> Frame {
        if self.swapped != contacts.swapped {
            self.clear();
        }
        if self.is_empty() {
            self.swapped = contacts.swapped;
            let b_from_a = a_from_b.inverse();
            self.origin = if self.swapped { b_from_a.point(contacts.origin) } else { contacts.origin };
        }
        self.next.clear();
        self.next.reserve(contacts.list.len());
        self.frame(contacts, a_from_b)
    }

    /// Where anchors are, relative to the contacts' origin.
    fn frame(&self, contacts: &Contacts, a_from_b: &Pose) -> Frame {
        let (rotation, origin_a) = if self.swapped {
            (DMat3::from_quat(a_from_b.rotation), a_from_b.point(self.origin))
        } else {
            (DMat3::IDENTITY, self.origin)
        };
        Frame {
            rows: [0, 1, 2].map(|k| rotation.row(k).as_vec3().to_array()),
            shift: (origin_a - contacts.origin).as_vec3().to_array(),
            sign: if self.swapped { -1.0 } else { 1.0 },
        }
    }

    /// Makes the frame in the making the last one.
    pub(super) fn end(&mut self) {
        core::mem::swap(&mut self.last, &mut self.next);
    }

    /// Where the anchor of place `at` is in A's frame [m], and whether its contact slides.
    pub(super) fn anchor(&self, at: usize, a_from_b: &Pose) -> (DVec3, bool) {
        let [x, y, z, slides] = self.last.anchors[at];
        let p = self.origin + DVec3::new(x.into(), y.into(), z.into());
        (if self.swapped { a_from_b.point(p) } else { p }, slides == SLIDES)
    }
}

/// Where anchors are in A's frame, relative to the contacts' origin: `rows * anchor + shift`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    rows: [[f32; 3]; 3],
    shift: [f32; 3],
    /// −1 where the anchor is B's: it, and not the point, moves with B.
    sign: f32,
}

/// `v` without its part along the unit vector `n`.
#[inline(always)]
fn across<L: Lanes>(v: [L; 3], n: [L; 3]) -> [L; 3] {
    minus(v, scaled(n, dot(v, n)))
}

#[inline(always)]
fn select3<L: Lanes>(mask: L::Mask, on: [L; 3], off: [L; 3]) -> [L; 3] {
    [L::select(mask, on[0], off[0]), L::select(mask, on[1], off[1]), L::select(mask, on[2], off[2])]
}

/// Friction of eight contacts, and their anchors after it.
#[inline(always)]
fn rub_block<L: Lanes>(
    job: &Job,
    push: &Push<L>,
    frame: &Frame,
    held: &[[[f32; 4]; 1]; LANES],
) -> ([L; 3], [L; 4]) {
    let zero = L::splat(0.0);
    let [ax, ay, az, was] = L::load_quads(held, 0);
    let held = [ax, ay, az];
    let unknown = was.lt(zero);
    let [row_x, row_y, row_z] = [splat3(frame.rows[0]), splat3(frame.rows[1]), splat3(frame.rows[2])];
    let shift = splat3(frame.shift);
    let placed = plus([dot(row_x, held), dot(row_y, held), dot(row_z, held)], shift);
    let sign = L::splat(frame.sign);
    // How far B has moved over A since the contact began to stick, and how fast it moves.
    let moved = select3(unknown, [zero; 3], scaled(minus(push.point, placed), sign));
    let stretch = across(moved, push.along);
    let speed = across(push.velocity, push.along);
    let spring = L::splat(job.rub_spring);
    let pull = plus(scaled(stretch, spring), scaled(speed, L::splat(job.rub_damper)));
    let length = L::select(push.apart, zero, dot(pull, pull).sqrt());

    let most = L::splat(job.mu_dynamic).mul(push.pressure);
    let holds = L::select(L::splat(0.5).lt(was), most, L::splat(job.mu_static).mul(push.pressure));
    let slides = holds.lt(length);
    // A pull whose square underflows is none, and no quotient has a denominator of 0.
    let any = zero.lt(length);
    let share = L::select(slides, most.div(L::select(any, length, L::splat(1.0))), L::splat(1.0));
    let share = L::select(any, share, zero);
    let friction = scaled(pull, zero.sub(share));

    // Dragged anchors: as far behind as the spring may pull.
    let taut = dot(stretch, stretch).sqrt().mul(spring);
    let long = most.lt(taut);
    let kept = L::select(long, most.div(L::select(long, taut, L::splat(1.0))), L::splat(1.0));
    let dragged = minus(push.point, scaled(stretch, kept.mul(sign)));
    let [bx, by, bz] = minus(dragged, shift);
    let back = plus(plus(scaled(row_x, bx), scaled(row_y, by)), scaled(row_z, bz));
    let anchor = select3(L::or(slides, unknown), back, held);
    let state = L::select(slides, L::splat(SLIDES), L::splat(STICKS));
    (friction, [anchor[0], anchor[1], anchor[2], state])
}

/// The anchors of eight contacts; moves `at` on, past everything with a smaller id.
#[inline(always)]
fn recall(block: &Block, (ids, anchors): (&[u32], &[[f32; 4]]), at: &mut usize) -> [[[f32; 4]; 1]; LANES] {
    let mut held = [[[0.0, 0.0, 0.0, UNKNOWN]]; LANES];
    for (held, contact) in held.iter_mut().zip(block) {
        let id = contact[1][3].to_bits();
        while *at < ids.len() && ids[*at] < id {
            *at += 1;
        }
        if let (Some(&known), Some(anchor)) = (ids.get(*at), anchors.get(*at))
            && known == id
            && contact[0][3] < 0.0
        {
            held[0] = *anchor;
            // Ids that occur twice have an anchor each.
            *at += 1;
        }
    }
    held
}

#[inline(always)]
fn rub_all<L: Lanes, const SHELL: bool>(
    job: &Job,
    contacts: &[Contact],
    frame: &Frame,
    last: (&[u32], &[[f32; 4]]),
    next: &mut Memory,
    sums: &mut Sums,
) {
    let (whole, rest) = blocks(contacts);
    let mut running = Running::<L>::new();
    let mut at = 0;
    for block in whole {
        rub_next::<L, SHELL>(job, block, frame, last, &mut at, next, &mut running);
    }
    if let Some(block) = &rest {
        rub_next::<L, SHELL>(job, block, frame, last, &mut at, next, &mut running);
    }
    running.store(sums);
}

#[inline(always)]
fn rub_next<L: Lanes, const SHELL: bool>(
    job: &Job,
    block: &Block,
    frame: &Frame,
    last: (&[u32], &[[f32; 4]]),
    at: &mut usize,
    next: &mut Memory,
    running: &mut Running<L>,
) {
    let push = push_of::<L, SHELL, true>(job, block);
    let held = recall(block, last, at);
    let (friction, anchors) = rub_block::<L>(job, &push, frame, &held);
    running.add(&push, plus(scaled(push.along, push.pressure), friction));
    let mut columns = [[0.0; LANES]; 4];
    for k in 0..4 {
        anchors[k].store(&mut columns[k]);
    }
    // Into eight places, of which those without depth are overwritten: no branch for each.
    let (mut ids, mut quads, mut count) = ([0; LANES], [[0.0; 4]; LANES], 0);
    for lane in 0..LANES {
        ids[count & 7] = block[lane][1][3].to_bits();
        quads[count & 7] = [columns[0][lane], columns[1][lane], columns[2][lane], columns[3][lane]];
        let used = block[lane][0][3] < 0.0;
        count += usize::from(used);
        running.sliding += u32::from(used && columns[3][lane] == SLIDES);
    }
    next.ids.extend_from_slice(&ids[..count]);
    next.anchors.extend_from_slice(&quads[..count]);
}

#[inline(always)]
fn rub_kernel<L: Lanes>(
    job: &Job,
    contacts: &[Contact],
    frame: &Frame,
    last: (&[u32], &[[f32; 4]]),
    next: &mut Memory,
    sums: &mut Sums,
) {
    if job.is_shell() {
        rub_all::<L, true>(job, contacts, frame, last, next, sums);
    } else {
        rub_all::<L, false>(job, contacts, frame, last, next, sums);
    }
}

dispatch! {
    /// Adds up the contacts with the friction of springs, and writes their anchors into `next`.
    pub(super) fn rub / rub_plain = rub_kernel(
        job: &Job,
        contacts: &[Contact],
        frame: &Frame,
        last: (&[u32], &[[f32; 4]]),
        next: &mut Memory,
        sums: &mut Sums,
    )
}

#[inline(always)]
fn creep_all<L: Lanes, const SHELL: bool>(job: &Job, contacts: &[Contact], sums: &mut Sums) {
    let (whole, rest) = blocks(contacts);
    let mut running = Running::<L>::new();
    for block in whole {
        creep_block::<L, SHELL>(job, block, &mut running);
    }
    if let Some(block) = &rest {
        creep_block::<L, SHELL>(job, block, &mut running);
    }
    running.store(sums);
}

#[inline(always)]
fn creep_block<L: Lanes, const SHELL: bool>(job: &Job, block: &Block, running: &mut Running<L>) {
    let (zero, least) = (L::splat(0.0), L::splat(job.creep));
    let push = push_of::<L, SHELL, true>(job, block);
    let speed = across(push.velocity, push.along);
    let length = dot(speed, speed).sqrt();
    let share = L::splat(job.mu_dynamic).mul(push.pressure).div(length.max(least));
    running.add(&push, minus(scaled(push.along, push.pressure), scaled(speed, share)));
    running.sliding += L::bits(L::select(push.apart, zero, length).ge(least)).count_ones();
}

#[inline(always)]
fn creep_kernel<L: Lanes>(job: &Job, contacts: &[Contact], sums: &mut Sums) {
    if job.is_shell() {
        creep_all::<L, true>(job, contacts, sums);
    } else {
        creep_all::<L, false>(job, contacts, sums);
    }
}

dispatch! {
    /// Adds up the contacts with friction against their speed, without memory.
    pub(super) fn creep / creep_plain = creep_kernel(job: &Job, contacts: &[Contact], sums: &mut Sums)
}
