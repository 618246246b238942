//! Which contacts become points of manifolds.
//!
//! Based on: sagardia14 2.4 and 3.2.
//! Differs: contacts that are nearer to touching count more, and those that were chosen before are preferred, so that the choice
//! does not change with every step.

use super::POINTS;
use crate::contact::{Contact, Contacts};
use crate::tree::Tree;
use glam::{DVec3, Vec3};

/// From this many candidates on, only one of each small patch of surface is looked at.
const MANY: usize = 64;
/// Largest number of such patches of a whole shape. Larger: slower. Smaller: corners of the contact are missed.
const PATCHES: usize = 600;
/// What a point that was chosen before is worth more [1]. Larger: stale choices. Smaller: they change with every step, and a
/// solver begins anew.
const LOYAL: f32 = 1.3;
/// What the farthest candidate is worth, of what the nearest is [1].
const FAR: f32 = 0.05;
/// Contacts that are less than this part of the usual spread shallower than the deepest are as deep [1]. Larger: the deepest point is left
/// out, and sinks. Smaller: noise decides which of many points is the deepest.
pub(super) const LEVEL: f32 = 0.03;
/// Of a patch that is chosen from twice: contacts this much shallower than its deepest hold a body now [spreads]. Larger: points that
/// span a larger area displace those that hold it, and it rocks. Smaller: what slides changes its points more often.
const HOLD: f32 = 0.1;
/// Contacts whose directions differ less than this belong to one patch: cosine [1].
const ALIKE: f32 = 0.85;
/// Surfaces that touch face each other; below this they are back to back, and one went through the other [1].
const BACK: f32 = -0.3;

/// Set in the ids of A's points.
pub(super) const OF_A: u32 = 1 << 31;

/// A contact that may be chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// In A's frame, relative to the chooser's origin [m].
    pub(super) point: Vec3,
    pub(super) distance: f32,
    /// From A to B.
    pub(super) normal: Vec3,
    /// 1 where the surfaces face each other, −1 where they are back to back.
    pub(super) facing: f32,
    pub(super) id: u32,
}

/// Chooses; remembers what it chose.
#[derive(Debug, Default)]
pub(super) struct Chooser {
    pub(super) candidates: Vec<Candidate>,
    pub(super) origin: DVec3,
    /// How much farther than the nearest a candidate can be [m].
    pub(super) spread: f32,
    /// Whether patches are chosen from twice.
    pub(super) tiers: bool,
    /// Contacts that are less than this shallower than the deepest are as deep [m].
    pub(super) tie: f32,
    /// Ids that were chosen in the last step, sorted; then those of this one.
    before: Vec<u32>,
    now: Vec<u32>,
    /// Direction of the patch of each key in the last step; zero: none.
    directions: Vec<Vec3>,
    /// The patch each candidate belongs to.
    group: Vec<u32>,
    members: Vec<Candidate>,
}

type Emit<'a> = &'a mut dyn FnMut(usize, &[Candidate]);

impl Chooser {
    /// A new step.
    pub(super) fn begin(&mut self) {
        self.candidates.clear();
    }

    /// Adds contacts as candidates, those up to a distance; with a tree, only one of each patch of it where there are many.
    pub(super) fn add(&mut self, found: &Contacts, limit: f64, tree: Option<&Tree>) {
        let near = |c: &&Contact| f64::from(c.distance) <= limit;
        if self.candidates.is_empty() {
            self.origin = found.origin;
        }
        let shift = (found.origin - self.origin).as_vec3();
        let (side, flag) = if found.swapped { (1.0, OF_A) } else { (-1.0, 0) };
        let candidate = |c: &Contact| Candidate {
            point: Vec3::from_array(c.point) + shift,
            distance: c.distance,
            normal: c.normal(),
            facing: side * c.normal().dot(Vec3::from_array(c.shell_normal)),
            id: c.id | flag,
        };
        let (mut middle, mut count) = (Vec3::ZERO, 0);
        for c in found.list.iter().filter(near) {
            (middle, count) = (middle + Vec3::from_array(c.point), count + 1);
        }
        let level = tree.filter(|_| count > MANY).and_then(|t| t.levels.iter().rfind(|l| l.len() <= PATCHES));
        let Some(level) = level else {
            self.candidates.extend(found.list.iter().filter(near).map(candidate));
            return;
        };
        // Of points that are about as deep the outermost one is kept: corners hold a body, not its middle.
        middle /= count as f32;
        let outside = |c: &Contact| Vec3::from_array(c.point).distance_squared(middle);
        // Sorted by index, so nodes come one after another, and so do those that were chosen before.
        let first = self.before.partition_point(|b| *b < flag);
        let (mut best, mut far, mut node, mut end) = (None::<&Contact>, 0.0, 0, 0);
        let (mut earlier, mut loyal_best) = (first, false);
        for c in found.list.iter().filter(near) {
            while self.before.get(earlier).is_some_and(|b| *b < c.id | flag) {
                earlier += 1;
            }
            let loyal = self.before.get(earlier) == Some(&(c.id | flag));
            let within = best.filter(|_| c.id < end);
            let beaten = within.is_none_or(|b| {
                let deeper = b.distance - c.distance;
                deeper > self.tie || (deeper >= -self.tie && outside(c) > far)
            });
            // What was chosen before stays, beside a better one; and the best of a node when the next begins.
            let left = if beaten {
                best.filter(|_| within.is_none() || loyal_best)
            } else {
                Some(c).filter(|_| loyal)
            };
            self.candidates.extend(left.map(candidate));
            if within.is_none() {
                node += level.points[node..].partition_point(|p| *p <= c.id).saturating_sub(1);
                end = level.points.get(node + 1).copied().unwrap_or(u32::MAX);
            }
            if beaten {
                (best, far, loyal_best) = (Some(c), outside(c), loyal);
            }
        }
        self.candidates.extend(best.map(candidate));
    }

    /// Leaves out those that are back to back, unless all are.
    fn face(&mut self) {
        if self.candidates.iter().any(|c| c.facing >= BACK) {
            self.candidates.retain(|c| c.facing >= BACK);
        }
    }

    /// One manifold of up to four.
    pub(super) fn regular(&mut self, emit: Emit<'_>) -> usize {
        self.face();
        self.now.clear();
        if !self.candidates.is_empty() {
            let (four, n) = four(&self.candidates, &self.before, self.spread, self.tie);
            self.now.extend(four[..n].iter().map(|c| c.id));
            emit(0, &four[..n]);
        }
        self.end();
        1
    }

    /// The deepest of each node of a level, 1 being the root.
    pub(super) fn segmented(&mut self, tree: &Tree, level: usize, emit: Emit<'_>) -> usize {
        let last = tree.levels.len();
        let Some(level) = tree.levels.get(level.clamp(1, last.max(1)) - 1) else { return 0 };
        self.now.clear();
        let (mut node, mut best): (usize, Option<Candidate>) = (0, None);
        for c in &self.candidates {
            // The flag of A's points is above every index.
            let id = c.id & (u32::MAX >> 1);
            let there = level.points.get(node + 1).is_some_and(|end| id < *end);
            match &mut best {
                Some(b) if there => {
                    if c.distance < b.distance {
                        *b = *c;
                    }
                }
                _ => {
                    if let Some(b) = best {
                        emit(node, &[b]);
                    }
                    node = level.points.partition_point(|p| *p <= id).saturating_sub(1);
                    best = Some(*c);
                }
            }
        }
        if let Some(b) = best {
            emit(node, &[b]);
        }
        level.len()
    }

    /// Up to `most` manifolds of contacts that push in about the same direction, deepest first.
    pub(super) fn patches(&mut self, most: usize, emit: Emit<'_>) -> usize {
        const NONE: u32 = u32::MAX;
        self.face();
        self.now.clear();
        let most = most.min(MOST);
        self.directions.resize(most, Vec3::ZERO);
        self.group.clear();
        self.group.resize(self.candidates.len(), NONE);
        let mut taken = 0;
        let mut used = KeySet::default();
        let mut patches: [(usize, u32); MOST] = [(0, 0); MOST];
        while taken < most {
            let free = |i: &usize| self.group[*i] == NONE;
            let deepest = |a: usize, b: usize| {
                if self.candidates[b].distance < self.candidates[a].distance { b } else { a }
            };
            let Some(seed) = (0..self.candidates.len()).filter(free).reduce(deepest) else { break };
            // The patch of the last step that pushed most nearly so, so that it keeps its key.
            let towards = self.candidates[seed].normal;
            let key = used.like(&self.directions[..most], towards);
            // Those that push alike, about their mean rather than about the deepest.
            let mut mean = towards;
            for _ in 0..2 {
                let mut sum = Vec3::ZERO;
                for (c, g) in self.candidates.iter().zip(&self.group) {
                    if *g == NONE && c.normal.dot(mean) >= ALIKE {
                        sum += c.normal;
                    }
                }
                mean = sum.try_normalize().unwrap_or(towards);
                if towards.dot(mean) < ALIKE {
                    mean = towards;
                    break;
                }
            }
            self.group[seed] = taken as u32;
            for (c, g) in self.candidates.iter().zip(&mut self.group) {
                if *g == NONE && c.normal.dot(mean) >= ALIKE {
                    *g = taken as u32;
                }
            }
            patches[taken] = (key, taken as u32);
            taken += 1;
        }
        let chosen = &mut patches[..taken];
        chosen.sort_unstable();
        let keys = chosen.iter().map(|p| p.0);
        for key in 0..most {
            if keys.clone().all(|k| k != key) {
                self.directions[key] = Vec3::ZERO;
            }
        }
        let tiers = if self.tiers { 2 } else { 1 };
        for (key, patch) in chosen.iter() {
            self.members.clear();
            let of_patch = self.candidates.iter().zip(&self.group).filter(|(_, g)| **g == *patch);
            self.members.extend(of_patch.map(|(c, _)| *c));
            let low = self.members.iter().fold(f32::INFINITY, |d, c| d.min(c.distance));
            let mut direction = Vec3::ZERO;
            for tier in 0..tiers {
                // First those that hold a body now, then of the others those that may soon.
                let limit = if tier + 1 < tiers { low + HOLD * self.spread } else { f32::INFINITY };
                let mut within = 0;
                for i in 0..self.members.len() {
                    if self.members[i].distance <= limit {
                        self.members.swap(i, within);
                        within += 1;
                    }
                }
                let (four, n) = four(&self.members[..within], &self.before, self.spread, self.tie);
                self.now.extend(four[..n].iter().map(|c| c.id));
                direction += four[..n].iter().map(|c| c.normal).sum::<Vec3>();
                if n > 0 {
                    emit(*key * tiers + tier, &four[..n]);
                }
                self.members.retain(|c| four[..n].iter().all(|f| f.id != c.id));
            }
            self.directions[*key] = direction.normalize_or_zero();
        }
        self.end();
        most * tiers
    }

    /// Keeps what was chosen.
    fn end(&mut self) {
        self.now.sort_unstable();
        core::mem::swap(&mut self.now, &mut self.before);
    }
}

/// Most patches there can be.
const MOST: usize = 128;

/// Keys that are given away.
#[derive(Clone, Copy, Debug, Default)]
struct KeySet(u128);

impl KeySet {
    /// Takes the free key whose direction is most like `towards`; else the first free one without a direction, else any.
    fn like(&mut self, directions: &[Vec3], towards: Vec3) -> usize {
        let mut best: Option<(f32, usize)> = None;
        for (key, d) in directions.iter().enumerate() {
            if self.0 >> key & 1 == 1 {
                continue;
            }
            // Directions of none are worth nothing, but more than unlike ones.
            let score = if *d == Vec3::ZERO { 0.0 } else { d.dot(towards) - ALIKE };
            if best.is_none_or(|(b, _)| score > b) {
                best = Some((score, key));
            }
        }
        let key = best.map_or(0, |(_, key)| key);
        self.0 |= 1 << key;
        key
    }
}

/// The deepest or one that is about as deep, the farthest from it, the one that makes the largest triangle with both, and the one
/// that is farthest outside of that triangle; each weighed by how near to touching it is.
fn four(candidates: &[Candidate], before: &[u32], spread: f32, tie: f32) -> ([Candidate; POINTS], usize) {
    let none = Candidate { point: Vec3::ZERO, distance: 0.0, normal: Vec3::Z, facing: 1.0, id: 0 };
    let (mut out, mut n) = ([none; POINTS], 0);
    let low = candidates.iter().fold(f32::INFINITY, |d, c| d.min(c.distance));
    let worth = |c: &Candidate| {
        let far = if spread > 0.0 { ((c.distance - low.max(0.0)) / spread).clamp(0.0, 1.0) } else { 0.0 };
        let loyal = if before.binary_search(&c.id).is_ok() { LOYAL } else { 1.0 };
        (1.0 - (1.0 - FAR) * far) * loyal
    };
    while n < POINTS {
        let score = |c: &Candidate| match out[..n] {
            [] => low - c.distance,
            [a] => a.point.distance(c.point) * worth(c),
            [a, b] => (b.point - a.point).cross(c.point - a.point).length() * worth(c),
            [a, b, d, ..] => outside(a.point, b.point, d.point, c.point) * worth(c),
        };
        let Some((gain, i)) = best(candidates, score) else { break };
        // Nothing is gained by a point at the place of another, or on the line or in the triangle of the others.
        if n > 0 && (gain <= 0.0 || gain.is_nan()) {
            break;
        }
        out[n] = candidates[i];
        n += 1;
        if n == 2 {
            // One as deep as the deepest, but farther out, leaves no gap on its side.
            let deep = low + tie;
            let from = out[1].point;
            let score = |c: &Candidate| {
                if c.distance <= deep { from.distance(c.point) * worth(c) } else { f32::NEG_INFINITY }
            };
            if let Some((_, i)) = best(candidates, score) {
                out[0] = candidates[i];
            }
        }
    }
    (out, n)
}

/// The candidate with the highest score, the first of several, and the score.
fn best(candidates: &[Candidate], score: impl Fn(&Candidate) -> f32) -> Option<(f32, usize)> {
    let mut best: Option<(f32, usize)> = None;
    for (i, c) in candidates.iter().enumerate() {
        let s = score(c);
        if best.is_none_or(|(b, _)| s > b) {
            best = Some((s, i));
        }
    }
    best
}

/// How much area a point adds to a triangle: that of the triangle with the side it is farthest beyond; negative inside.
fn outside(a: Vec3, b: Vec3, c: Vec3, p: Vec3) -> f32 {
    let normal = (b - a).cross(c - a);
    let unit = normal.normalize_or_zero();
    let beyond = |u: Vec3, v: Vec3| (p - u).cross(v - u).dot(unit);
    beyond(a, b).max(beyond(b, c)).max(beyond(c, a))
}
