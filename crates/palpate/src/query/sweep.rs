//! Where along a straight motion two shapes are first free of each other: by their triangles, not by points.
//!
//! The triangles of one shape, that with the smaller ones, are walked down their tree; what the other's field says is far from its
//! surface is dropped, and the rest is tested with the other's triangles nearby. Each pair in the way blocks a range of
//! lengths (`field/blocked.rs`). The first length in no range is free, if no piece of a surface is wholly inside the other shape.

use crate::field::blocked::blocked;
use crate::math::Pose;
use crate::shape::Shape;
use crate::simd::LANES;
use glam::{DMat3, DVec3, Vec3};

/// Gap that counts as none [size of the shapes and their distance]: well above all rounding.
const SLACK: f64 = 1e-10;
/// Length looked at in one walk, at first [smaller voxel]; doubled after each. Larger: more pairs to test. Smaller: more walks.
const WINDOW: f64 = 0.2;
/// Largest length of one walk [the first].
const WIDEST: f64 = 8.0;
/// Most walks for one length: what is not free then counts as blocked.
const WALKS: usize = 64;
/// Pairs that were in the way last and are asked first.
const REMEMBERED: usize = 24;
/// Ranges that wait for those before them; where there are more, a shorter length is looked at.
const PENDING: usize = 2048;

/// Radius from which on a triangle is tested in pieces [voxels of the other's field], if there are more than so many others.
const LONG: f64 = 4.0;
const FEW: usize = 24;
/// What [`Sweep::near`] skips.
const NO_BALL: (DVec3, f64) = (DVec3::ZERO, -1.0);

/// Memory of sweeps, kept with the query.
#[derive(Debug, Default)]
pub(super) struct Memory {
    stack: Vec<(u32, u32)>,
    near: Vec<u32>,
    pending: Vec<(f64, f64)>,
    /// Triangles of the walked shape and of the other, the latest first.
    remembered: Vec<(u32, u32)>,
}

/// Two shapes in a pose.
pub(super) struct Sweep<'a> {
    walked: &'a Shape,
    other: &'a Shape,
    /// Whether the walked shape is A.
    of_a: bool,
    pose: Pose,
    /// From the grid of the walked shape to that of the other: `m` times the place, plus `at` [voxels].
    m: DMat3,
    at: DVec3,
    /// Units of the grids, and the place of the other's in its field [m].
    voxels: [f64; 2],
    offset: DVec3,
    /// Gap that counts as none [m].
    slack: f64,
    window: f64,
}

/// Part of a motion: a direction in the other's frame [voxels per m], and lengths of which the lower ones are blocked [m].
struct Part {
    way: DVec3,
    covered: f64,
    end: f64,
    met: bool,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(a: &'a Shape, b: &'a Shape, a_from_b: &Pose) -> Self {
        let of_a = a.exact.grain() < b.exact.grain();
        let (walked, other) = if of_a { (a, b) } else { (b, a) };
        let pose = if of_a { a_from_b.inverse() } else { *a_from_b };
        let ((from, unit), (to, voxel)) = (walked.exact.grid(), other.exact.grid());
        let size = |s: &Shape| s.exact.farthest() * s.exact.grid().1 + s.exact.grid().0.length();
        Self {
            walked,
            other,
            of_a,
            pose: *a_from_b,
            m: DMat3::from_quat(pose.rotation) * (unit / voxel),
            at: (pose.point(from) - to) / voxel,
            voxels: [unit, voxel],
            offset: to - other.field.lattice().origin,
            slack: SLACK * (size(a) + size(b) + pose.translation.length()),
            window: WINDOW * a.field.lattice().voxel.min(b.field.lattice().voxel),
        }
    }

    /// Makes room, and forgets what another pair or pose left: answers do not depend on what was asked before.
    pub(super) fn begin(&self, memory: &mut Memory) {
        memory.remembered.clear();
        memory.remembered.reserve(REMEMBERED);
        memory.pending.reserve(PENDING);
        memory.near.clear();
        memory.near.reserve(self.other.exact.triangle_count());
        memory.stack.clear();
        memory.stack.reserve(LANES * (self.walked.exact.top() + 1));
    }

    /// Gap that counts as none [m].
    pub(super) fn slack(&self) -> f64 {
        self.slack
    }

    /// Whether the shapes share a point, or nearly so, after B moved by `length` along `direction`, in A's frame.
    pub(super) fn meets(&self, memory: &mut Memory, direction: DVec3, length: f64) -> bool {
        let mut part = Part { way: self.way(direction), covered: length, end: length, met: false };
        self.walk(memory, &mut part);
        part.met || self.inside(direction * length).is_some()
    }

    /// The least length from `from` on along `direction`, unit and in A's frame, after which B shares no point with A, by the slack
    /// at least [m]; none below `limit`.
    pub(super) fn first_free(
        &self,
        memory: &mut Memory,
        direction: DVec3,
        from: f64,
        limit: f64,
    ) -> Option<f64> {
        let mut part = Part { way: self.way(direction), covered: from, end: limit, met: false };
        let mut window = self.window;
        for _ in 0..WALKS {
            self.ask_remembered(memory, &mut part, limit);
            if part.covered >= limit {
                return None;
            }
            part.end = (part.covered + window).min(limit);
            window = (2.0 * window).min(self.window * WIDEST);
            self.walk(memory, &mut part);
            if part.covered < part.end {
                match self.inside(direction * part.covered) {
                    None => return Some(part.covered).filter(|t| *t < limit),
                    Some(depth) => part.covered += depth,
                }
            }
        }
        None
    }

    /// A direction of B's motion in A's frame, as that of the walked shape in the other's grid, per metre.
    fn way(&self, direction: DVec3) -> DVec3 {
        let way = if self.of_a { -(self.pose.rotation.conjugate() * direction) } else { direction };
        way / self.voxels[1]
    }

    /// A triangle of the walked shape in the other's grid, before the motion.
    #[inline]
    fn placed(&self, t: usize) -> [DVec3; 3] {
        self.walked.exact.corners(t).map(|p| self.m * p + self.at)
    }

    /// What the pairs that were in the way last block now.
    fn ask_remembered(&self, memory: &mut Memory, part: &mut Part, limit: f64) {
        part.end = limit;
        let mut i = 0;
        // From the start again after each that blocks, a bounded number of times.
        for _ in 0..4 * REMEMBERED {
            let Some((t, u)) = memory.remembered.get(i).copied() else { break };
            i += 1;
            let before = part.covered;
            if let Some((first, last)) = self.pair(&self.placed(t as usize), u, part)
                && first <= before
                && last > before
            {
                part.covered = last;
                memory.remembered[..i].rotate_right(1);
                i = 0;
            }
            if part.covered >= limit {
                break;
            }
        }
    }

    /// For which lengths a placed triangle and one of the other shape share a point.
    #[inline]
    fn pair(&self, placed: &[DVec3; 3], of_other: u32, part: &Part) -> Option<(f64, f64)> {
        let a = self.other.exact.corners(of_other as usize);
        blocked(a, *placed, part.way, self.slack / self.voxels[1], (part.covered, part.end))
    }

    /// Walks the tree: `covered` is then blocked up to there, and not at the next length, if that is below `end`.
    fn walk(&self, memory: &mut Memory, part: &mut Part) {
        memory.pending.clear();
        memory.stack.clear();
        memory.stack.push((self.walked.exact.top() as u32, 0));
        while let Some((level, entry)) = memory.stack.pop() {
            let mut balls = self.walked.exact.balls(level as usize, entry as usize);
            for (centre, radius) in &mut balls {
                *centre = self.m * *centre + self.at;
                *radius = (*radius + self.walked.exact.doubt()) * self.voxels[0] / self.voxels[1];
            }
            let mut near = self.near(&balls, part);
            while near != 0 {
                // The first last, to be taken next.
                let lane = 31 - near.leading_zeros();
                near &= !(1 << lane);
                let item = entry * LANES as u32 + lane;
                if level > 0 {
                    memory.stack.push((level - 1, item));
                } else if self.block(memory, item as usize, part) {
                    return;
                }
            }
        }
        memory.pending.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for (first, last) in &memory.pending {
            if *first > part.covered {
                break;
            }
            part.covered = part.covered.max(*last);
        }
    }

    /// Which balls [voxels of the other's grid] may be at the other's surface for some length that is left; none where the radius
    /// is negative.
    fn near(&self, balls: &[(DVec3, f64); LANES], part: &Part) -> u32 {
        let (half, middle) = (0.5 * (part.end - part.covered), part.way * (0.5 * (part.end + part.covered)));
        let mut places = [Vec3::ZERO; LANES];
        for (place, (centre, _)) in places.iter_mut().zip(balls) {
            *place = ((*centre + middle) * self.voxels[1] + self.offset).as_vec3();
        }
        let (mut f, mut lower) = ([0.0f32; LANES], [0.0f32; LANES]);
        self.other.far.lower_bounds(&self.other.field, &places, &mut f, &mut lower);
        let mut near = 0;
        for (lane, (_, radius)) in balls.iter().enumerate() {
            // A place in f32 is off by 6e-8 of its coordinates.
            let reach =
                radius.max(0.0) * self.voxels[1] + half + 2e-7 * f64::from(places[lane].abs().element_sum());
            // A bound that is not a number excludes nothing.
            let apart = f64::from(lower[lane]) > reach * (1.0 + 1e-6);
            near |= u32::from(*radius >= 0.0 && !apart) << lane;
        }
        near
    }

    /// Tests the triangles of a block. True if all of the part is blocked.
    fn block(&self, memory: &mut Memory, block: usize, part: &mut Part) -> bool {
        let range = self.walked.exact.triangles_of(block);
        let mut triangles = [[DVec3::ZERO; 3]; LANES];
        let mut balls = [NO_BALL; LANES];
        for (i, t) in range.clone().enumerate() {
            triangles[i] = self.placed(t);
            balls[i] = around(&triangles[i]);
        }
        let mut near = self.near(&balls, part);
        while near != 0 {
            let lane = near.trailing_zeros() as usize;
            near &= near - 1;
            let (t, radius) = ((range.start + lane) as u32, balls[lane].1);
            // A long one is near to little of the other: where much is in its way, only the pieces that are near are tested.
            let most = if radius <= LONG { usize::MAX } else { FEW };
            if !self.triangle(memory, &triangles[lane], t, most, part) {
                let pieces = split(&triangles[lane]);
                let mut near = self.near(&pieces.each_ref().map(around), part);
                while near != 0 {
                    let piece = &pieces[near.trailing_zeros() as usize];
                    self.triangle(memory, piece, t, usize::MAX, part);
                    near &= near - 1;
                }
            }
            if part.met && part.covered >= part.end {
                return true;
            }
        }
        false
    }

    /// Tests triangle `t`, or a piece of it, unless more than `most` may be in its way.
    fn triangle(
        &self,
        memory: &mut Memory,
        placed: &[DVec3; 3],
        t: u32,
        most: usize,
        part: &mut Part,
    ) -> bool {
        let (from, to) = (part.way * part.covered, part.way * part.end);
        let mut found = core::mem::take(&mut memory.near);
        found.clear();
        self.other.exact.in_the_way(placed.map(|p| p + from), to - from, &mut found);
        let few = found.len() <= most;
        if few {
            for u in &found {
                self.offer(memory, placed, (t, *u), part);
            }
        }
        memory.near = found;
        few
    }

    /// Takes one pair into account.
    #[inline]
    fn offer(&self, memory: &mut Memory, placed: &[DVec3; 3], (t, u): (u32, u32), part: &mut Part) {
        let Some((first, last)) = self.pair(placed, u, part) else { return };
        if first <= part.covered {
            part.met = true;
            if last > part.covered {
                part.covered = last;
                memory.remembered.truncate(REMEMBERED - 1);
                memory.remembered.insert(0, (t, u));
            }
            return;
        }
        memory.pending.push((first, last));
        if memory.pending.len() == PENDING {
            part.end = memory.pending.iter().fold(part.end, |end, p| end.min(p.0));
            memory.pending.clear();
        }
    }

    /// How deep a piece of one surface is in the other shape after a translation of B, where the surfaces do not meet [m]; none if
    /// none is.
    fn inside(&self, translation: DVec3) -> Option<f64> {
        let a_from_b = Pose { translation: self.pose.translation + translation, ..self.pose };
        let pose = if self.of_a { a_from_b.inverse() } else { a_from_b };
        let pairs = [(self.walked, self.other, pose), (self.other, self.walked, pose.inverse())];
        let mut deepest: Option<f64> = None;
        for (of, within, pose) in pairs {
            let ((origin, unit), error) = (of.exact.grid(), within.field.report().error_bound_band);
            for piece in of.exact.pieces() {
                // Any vertex tells, unless it is so near that the sample's sign may be wrong.
                let sample = |v: &DVec3| within.field.sample(pose.point(origin + *v * unit)).distance;
                let certain = piece.iter().map(sample).find(|f| f.abs() > error).unwrap_or(0.0);
                if certain <= 0.0 {
                    deepest = Some(deepest.unwrap_or(error).max(-certain));
                }
            }
        }
        deepest
    }
}

/// A ball around a triangle.
fn around(triangle: &[DVec3; 3]) -> (DVec3, f64) {
    let [a, b, c] = *triangle;
    let centre = (a + b + c) / 3.0;
    let [x, y, z] = triangle.map(|p| (p - centre).length_squared());
    (centre, x.max(y).max(z).sqrt())
}

/// Eight triangles that make up one: halved across the longest edge, three times.
fn split(triangle: &[DVec3; 3]) -> [[DVec3; 3]; LANES] {
    let mut out = [*triangle; LANES];
    let mut count = 1;
    while count < LANES {
        for i in 0..count {
            let t = out[i];
            let longest = [0, 1, 2].map(|e| (t[(e + 1) % 3] - t[e]).length_squared());
            let e = if longest[0] >= longest[1].max(longest[2]) {
                0
            } else if longest[1] >= longest[2] {
                1
            } else {
                2
            };
            let (from, to, top) = (t[e], t[(e + 1) % 3], t[(e + 2) % 3]);
            let middle = 0.5 * (from + to);
            (out[i], out[count + i]) = ([from, middle, top], [middle, to, top]);
        }
        count *= 2;
    }
    out
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
