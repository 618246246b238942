//! Which contacts become points of manifolds.
//!
//! Based on: sagardia14 2.4 and 3.2.
//! Differs: contacts that are nearer to touching count more, and those that were chosen before are preferred, so that the choice
//! does not change with every step.

use super::POINTS;
use crate::contact::{Contact, Contacts};
use crate::tree::Tree;
use glam::{DVec3, Vec3, Vec4};

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
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidate {
    /// In A's frame, relative to the chooser's origin [m].
    pub(super) point: Vec3,
    pub(super) distance: f32,
    /// From A to B.
    pub(super) normal: Vec3,
    /// 1 where the surfaces face each other, −1 where they are back to back.
    pub(super) facing: f32,
    pub(super) id: u32,
    /// More than 1 if it was chosen in the last step [1].
    worth: f32,
    /// The same, less the farther it is: what it counts among others [1].
    weight: f32,
}

/// Where a contact is, and how far.
fn placed(c: &Contact) -> Vec4 {
    let [x, y, z] = c.point;
    Vec4::new(x, y, z, c.distance)
}

/// The largest f32 that is not above.
fn below(v: f64) -> f32 {
    let f = v as f32;
    if f64::from(f) > v { f.next_down() } else { f }
}

/// The first place from `from` on whose number is above `id`; the numbers ascend. Most often it is near.
fn after(numbers: &[u32], from: usize, id: u32) -> usize {
    let mut step = 1;
    let mut low = from;
    while numbers.get(low + step - 1).is_some_and(|n| *n <= id) {
        low += step;
        step *= 2;
    }
    let high = (low + step - 1).min(numbers.len());
    low + numbers.get(low..high).map_or(0, |n| n.partition_point(|n| *n <= id))
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

    /// Adds contacts as candidates: those at most `spread` farther than the nearest or than touching, and at most `margin` away [m]; with a
    /// tree, only one of each patch of it where there are many.
    pub(super) fn add(&mut self, found: &Contacts, spread: f64, margin: f64, tree: Option<&Tree>) {
        if self.candidates.is_empty() {
            self.origin = found.origin;
        }
        let shift = (found.origin - self.origin).as_vec3();
        let (side, flag) = if found.swapped { (1.0, OF_A) } else { (-1.0, 0) };
        // Of point and distance, in one vector.
        let [mut sum, mut least] = [Vec4::ZERO, Vec4::INFINITY];
        for c in &found.list {
            let at = placed(c);
            (sum, least) = (sum + at, least.min(at));
        }
        let limit = below((f64::from(least.w.max(0.0)) + spread).min(margin));
        // Those of this shape's points that were chosen before.
        let of_b = self.before.partition_point(|id| *id < OF_A);
        let mut before = if found.swapped { &self.before[of_b..] } else { &self.before[..of_b] };
        let candidate = |c: &Contact, worth: f32| Candidate {
            point: Vec3::from_array(c.point) + shift,
            distance: c.distance,
            normal: c.normal(),
            facing: side * c.normal().dot(Vec3::from_array(c.shell_normal)),
            id: c.id | flag,
            worth,
            weight: worth,
        };
        let near = found.list.iter().filter(|c| c.distance <= limit);
        let level = tree
            .filter(|_| near.clone().count() > MANY)
            .and_then(|t| t.levels.iter().rfind(|l| l.len() <= PATCHES));
        let Some(level) = level else {
            let worth = |c: &Contact| if before.binary_search(&(c.id | flag)).is_ok() { LOYAL } else { 1.0 };
            self.candidates.extend(near.map(|c| candidate(c, worth(c))));
            return;
        };
        // Of the points of a node that are about as deep as its deepest the outermost one is kept: corners hold a body, not its middle. So are
        // those that were chosen before. Contacts are sorted by index, so nodes come one after another.
        let middle = (sum / found.list.len() as f32).truncate();
        let (mut left, mut node) = (&found.list[..], 0);
        while let Some(first) = left.first() {
            node = after(&level.points, node, first.id);
            let end = level.points.get(node).copied().unwrap_or(u32::MAX);
            let (mut low, mut count) = (first.distance, 1);
            while let Some(c) = left.get(count).filter(|c| c.id < end) {
                (low, count) = (low.min(c.distance), count + 1);
            }
            let (here, rest) = left.split_at(count);
            left = rest;
            if low > limit {
                continue;
            }
            let deep = (low + self.tie).min(limit);
            let (mut best, mut far) = (first, f32::NEG_INFINITY);
            for c in here {
                if c.distance <= deep {
                    let off = Vec3::from_array(c.point).distance_squared(middle);
                    if off > far {
                        (best, far) = (c, off);
                    }
                }
            }
            let mut worth = 1.0;
            while let Some((id, later)) = before.split_first().filter(|(id, _)| **id & !OF_A < end) {
                before = later;
                let Ok(i) = here.binary_search_by_key(&(id & !OF_A), |c| c.id) else { continue };
                if here[i].id == best.id {
                    worth = LOYAL;
                } else if here[i].distance <= limit {
                    self.candidates.push(candidate(&here[i], LOYAL));
                }
            }
            self.candidates.push(candidate(best, worth));
            // The deepest of all is always one: a ball bounces off it.
            if low <= least.w && best.distance > low {
                let deepest = here.iter().find(|c| c.distance <= low);
                let known = |c: &&Contact| self.candidates.iter().any(|o| o.id == c.id | flag);
                self.candidates.extend(deepest.filter(|c| !known(c)).map(|c| candidate(c, 1.0)));
            }
        }
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
            let (four, n) = four(&mut self.candidates, self.spread, self.tie);
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
                let (four, n) = four(&mut self.members[..within], self.spread, self.tie);
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
fn four(candidates: &mut [Candidate], spread: f32, tie: f32) -> ([Candidate; POINTS], usize) {
    let mut out = [Candidate::default(); POINTS];
    let low = candidates.iter().fold(f32::INFINITY, |d, c| d.min(c.distance));
    let per = if spread > 0.0 { (1.0 - FAR) / spread } else { 0.0 };
    for c in &mut *candidates {
        c.weight = (1.0 - per * (c.distance - low.max(0.0)).clamp(0.0, spread)) * c.worth;
    }
    let candidates = &*candidates;
    let Some((_, deepest)) = best(candidates, |c| low - c.distance) else { return (out, 0) };
    out[0] = candidates[deepest];
    let from = out[0].point;
    let Some(farthest) = gain(candidates, |c| from.distance(c.point) * c.weight) else { return (out, 1) };
    out[1] = candidates[farthest];
    // One as deep as the deepest, but farther out, leaves no gap on its side.
    let (deep, from) = (low + tie, out[1].point);
    let out_there = |c: &Candidate| {
        if c.distance <= deep { from.distance(c.point) * c.weight } else { f32::NEG_INFINITY }
    };
    if let Some((_, i)) = best(candidates, out_there) {
        out[0] = candidates[i];
    }
    let [a, b] = [out[0].point, out[1].point];
    let wide = |c: &Candidate| (b - a).cross(c.point - a).length() * c.weight;
    let Some(widest) = gain(candidates, wide) else { return (out, 2) };
    out[2] = candidates[widest];
    let beyond = Beyond::new([a, b, out[2].point]);
    let Some(last) = gain(candidates, |c| beyond.area(c.point) * c.weight) else { return (out, 3) };
    out[3] = candidates[last];
    (out, 4)
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

/// The best candidate, if it gains anything: one at the place of another, or on the line or in the triangle of the others does not.
fn gain(candidates: &[Candidate], score: impl Fn(&Candidate) -> f32) -> Option<usize> {
    best(candidates, score).filter(|(gain, _)| *gain > 0.0).map(|(_, i)| i)
}

/// A triangle that may grow: for each side its end, and outward along the triangle, as long as the side.
struct Beyond([(Vec3, Vec3); 3]);

impl Beyond {
    fn new([a, b, c]: [Vec3; 3]) -> Self {
        let unit = (b - a).cross(c - a).normalize_or_zero();
        Self([(a, (b - a).cross(unit)), (b, (c - b).cross(unit)), (c, (a - c).cross(unit))])
    }

    /// How much a point adds, twice: the triangle with the side it is farthest beyond [m²]; negative inside.
    fn area(&self, p: Vec3) -> f32 {
        self.0.iter().fold(f32::NEG_INFINITY, |most, (end, outward)| (p - *end).dot(*outward).max(most))
    }
}
