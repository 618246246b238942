//! A tool that never enters what it touches: it goes as near to the handle as walls allow.
//!
//! Based on: Zilles, Salisbury, A constraint-based god-object method for haptic display, 1995 [zilles95]; Ortega, Redon, Coquillart, A six
//! degree-of-freedom god-object method for haptic display of rigid bodies with surface properties, 2007 [ortega07].
//! Differs: the metric is the spring's energy, so that the tool rests where the spring would leave it among rigid walls; walls
//! are all points of both shapes within a margin; a step is taken only if the pose after it is free, by the fields.

use crate::gains::Gains;
use crate::scene::Pair;
use crate::six::{Six, dot, is_finite, lower, moved, upper};
use crate::tool::{Felt, difference, pull, smooth};
use crate::walls::Wall;
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};

/// Distance that is kept between surfaces, of the larger voxel [1].
const GAP: f64 = 0.25;
/// Most walls that are looked at together. Six would do for a rigid body; which six is not known.
const HELD: usize = 32;
/// Rounds in which walls that would be crossed are added, and how many in each.
const ROUNDS: usize = 5;
const TOGETHER: usize = 6;
/// How much nearer than it should be a wall may come before it is looked at, of the gap [1].
const SLACK: f64 = 0.01;
/// Longest step near walls and in the open [voxels], and how much farther walls must be known [1].
const NEAR: f64 = 0.5;
/// Least share of the longest step that is tried [1].
const LEAST_TRUST: f64 = 1.0 / 32.0;
/// Share of the longest step from which on it may be longer, and below which it becomes shorter, by this [1].
const LONG: f64 = 0.5;
const CALM: f64 = 0.1;
const SHRINK: f64 = 0.95;
/// Near points from which on a tick looks once only.
const MANY: usize = 1500;
/// Share of the least gap at the start that is kept, where that is less than usual [1].
const TIGHT: f64 = 0.5;
const FREE: f64 = 2.0;
/// How far a tool in touch goes in a tick by itself [voxels]. More: force jumps where it slips. Less: it lags behind.
const SLIP: f64 = 0.25;
const MARGIN: f64 = 1.1;
/// Sweeps over the walls that hold.
const SWEEPS: usize = 60;
/// Steps in a tick, while they are longer than this [voxels].
const STEPS: usize = 3;
const SHORT: f64 = 0.2;
/// Times that a step is halved before the tool stays.
const HALVES: usize = 3;

/// A tool that does not enter.
#[derive(Debug)]
pub struct HeldTool {
    pose: Pose,
    /// Of the centre, smoothed.
    velocity: Six,
    /// Distance that is kept between surfaces [m].
    gap: f64,
    /// Coulomb friction [1].
    friction: f64,
    /// How much more than the gap steps aim for: what curved walls took of the last ones [m].
    spare: f64,
    /// How much of the longest step is tried [1].
    trust: f64,
    /// Least gap of the last look [m]; none before the first.
    least: Option<f64>,
    held: Vec<Held>,
    /// Where the walls that hold were looked at.
    seen: Option<Pose>,
}

/// A wall that holds, and how much.
#[derive(Clone, Copy, Debug)]
struct Held {
    wall: Wall,
    force: f64,
}

/// How long a motion is, with turns counted at a radius [m].
fn length(by: &Six, radius: f64) -> f64 {
    upper(by).length() + lower(by).length() * radius
}

/// The first `most` metres of a motion.
fn cut(by: &Six, most: f64, radius: f64) -> Six {
    let far = length(by, radius);
    if far > most { by.map(|x| x * (most / far)) } else { *by }
}

impl HeldTool {
    /// A tool at `world_from_tool`, which must be free: inside something it can only be moved out by hand.
    ///
    /// Surfaces stay apart as far as the points of both shapes tell: what lies between points, in a fit tighter than a spacing's sag, they do
    /// not see. The distance that is kept between surfaces is a quarter of the larger voxel: what fields are off by where points of both shapes
    /// are asked. [`HeldTool::with_gap`] takes another.
    pub fn new(pair: &Pair, pose: Pose, friction: f64) -> Self {
        Self::with_gap(pose, friction, GAP * pair.coarsest())
    }

    /// [`HeldTool::new`] with a distance of one's own [m]: with more than both fields' bounds on their errors and the radius of
    /// coverage of the points, surfaces cannot meet.
    pub fn with_gap(pose: Pose, friction: f64, gap: f64) -> Self {
        Self {
            pose,
            velocity: [0.0; 6],
            gap: if gap > 0.0 && gap.is_finite() { gap } else { 0.0 },
            friction: friction.max(0.0),
            spare: 0.0,
            trust: 1.0,
            least: None,
            held: Vec::with_capacity(HELD),
            seen: None,
        }
    }

    /// `world_from_tool`.
    pub fn pose(&self) -> Pose {
        self.pose
    }

    /// The distance that is kept between surfaces [m].
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// Puts the tool somewhere.
    pub fn place(&mut self, pose: Pose) {
        self.pose = pose;
        self.velocity = [0.0; 6];
        self.least = None;
        self.seen = None;
        self.held.clear();
    }

    /// Looks around where it was put; the first tick does that otherwise, and takes longer.
    pub(crate) fn settle(&mut self, pair: &mut Pair) {
        if self.least.is_none() && self.pose.is_finite() {
            let least = self.look(pair, &self.pose, false);
            // A fit that is tighter than the gap is a fit: less is kept.
            if least > 0.0 {
                self.gap = self.gap.min(TIGHT * least);
            }
            self.least = Some(least);
        }
    }

    /// One tick towards `target`. As [`crate::tool::SoftTool::tick`]; `contact` is what walls do.
    ///
    /// Cost: one contact query of both shapes, more where a step must be halved or is long. Moves at most half a voxel a step near walls and
    /// two in the open.
    pub fn tick(&mut self, pair: &mut Pair, target: &Pose, motion: &Twist, gains: &Gains, dt: f64) -> Felt {
        let ok =
            target.is_finite() && motion.is_finite() && dt > 0.0 && gains.is_valid() && self.pose.is_finite();
        if !ok {
            return Felt { pose: self.pose, non_finite: true, ..Felt::default() };
        }
        let centre = pair.centre();
        self.settle(pair);
        let start = self.pose;
        // In touch, a tool that slips goes over some ticks to where it is held again: no faster than the hand, but for a little.
        let hand = motion.linear.length() + motion.angular.length() * pair.radius();
        let mut left = SLIP * pair.voxel() + 2.0 * hand * dt;
        let mut steps = 0;
        for _ in 0..STEPS {
            let far = self.step(pair, target, gains, left, &mut steps);
            left -= far;
            // Walls turn on the way of a long step: once more from there. In the open one step says it all.
            let short = SHORT * pair.voxel();
            if self.held.is_empty() || far < short || left < short || pair.near() > MANY {
                break;
            }
        }
        smooth(&mut self.velocity, &difference(&start, &self.pose, centre), dt);
        let touching = !self.held.is_empty();
        let moving = touching.then_some((&self.velocity, motion));
        let wrench = pull(&self.pose, target, moving, gains, centre);
        // Walls hold what the spring pulls the tool with.
        let r = target.vector(centre);
        let on_tool =
            Wrench { force: wrench.force, torque: wrench.about(r).torque }.about(-self.pose.vector(centre));
        Felt {
            pose: self.pose,
            wrench,
            contact: if touching { on_tool } else { Wrench::ZERO },
            contacts: self.held.len(),
            depth: 0.0,
            steps,
            non_finite: false,
        }
    }

    /// Moves as near to the target as walls allow, in touch by `left` at most; how far, with turns counted at the tool's radius [m].
    fn step(&mut self, pair: &mut Pair, target: &Pose, gains: &Gains, left: f64, steps: &mut usize) -> f64 {
        let (centre, radius, spring) = (pair.centre(), pair.radius(), gains.spring());
        let length = |by: &Six| length(by, radius);
        // Near walls short steps do: fewer walls have to be known.
        let was = self.least.unwrap_or(f64::INFINITY);
        let most = pair.voxel() * if was < self.gap + FREE * pair.voxel() { NEAR } else { FREE };
        let most = most * self.trust;
        let goal = difference(&self.pose, target, centre);
        let (by, normal) = self.allowed(pair, &goal, &spring, most);
        let most_now = if self.held.is_empty() { most } else { most.min(left) };
        let mut by = cut(&self.rubbed(&by, normal, &spring, radius), most_now, radius);
        // Walls are curved: half of the gap is for that. A tool that is nearer already may stay as near.
        let free = (0.5 * self.gap).min(was);
        // A step that failed makes the next ticks careful; where there is little to look at it is tried again at once.
        for _ in 0..=if pair.near() > MANY { 0 } else { HALVES } {
            if !(dot(&by, &by) > 0.0 && is_finite(&by)) {
                break;
            }
            *steps += 1;
            let pose = moved(&self.pose, centre, &by);
            let least = self.look(pair, &pose, true);
            if least >= free {
                // Where the tool hardly moves, little must be known of what is around it.
                let far = length(&by);
                self.trust = if far > LONG * most {
                    (2.0 * self.trust).min(1.0)
                } else if far < CALM * most {
                    (SHRINK * self.trust).max(LEAST_TRUST)
                } else {
                    self.trust
                };
                self.spare *= 0.8;
                self.pose = pose;
                self.least = Some(least);
                return far;
            }
            self.trust = (0.5 * self.trust).max(LEAST_TRUST);
            // Aiming a little farther from walls leaves room for their curvature: the same step is not offered again and again.
            self.spare = (2.0 * self.spare).clamp(0.1 * self.gap, self.gap);
            by = by.map(|x| 0.5 * x);
            // Walls are those of the pose that it stays in.
            pair.back();
        }
        0.0
    }

    /// Looks for walls around a pose; the least gap [m]. `tries`: it may not be taken.
    fn look(&self, pair: &mut Pair, pose: &Pose, tries: bool) -> f64 {
        // The next step may be twice as long.
        let margin = self.gap + self.spare + MARGIN * NEAR * (2.0 * self.trust).min(1.0) * pair.voxel();
        let least = if tries { pair.try_look(pose, margin) } else { pair.look(pose, margin) };
        if least < f64::INFINITY {
            return least;
        }
        // Nothing is near: the next step may be a long one, if nothing is farther off either.
        pair.look(pose, self.gap + MARGIN * FREE * pair.voxel())
    }

    /// The motion nearest to `goal`, by the spring's energy, that crosses no wall within its first `most` metres, and the sum of what walls push
    /// with [N]. Not the goal is cut to a step but the motion: where walls hold much of the way to the goal, the rest is not held.
    fn allowed(&mut self, pair: &mut Pair, goal: &Six, spring: &Six, most: f64) -> (Six, f64) {
        // Those that held before will most likely hold again.
        let pose = self.pose;
        if self.seen.replace(pose) != Some(pose) {
            self.held.retain_mut(|h| {
                let found = pair.again(&pose, h.wall.of);
                *h = Held { wall: found.unwrap_or(h.wall), force: 0.0 };
                found.is_some()
            });
        }
        let mut by = self.balanced(goal, spring);
        for _ in 0..ROUNDS {
            let room = (HELD - self.held.len()).min(TOGETHER);
            let before = self.held.len();
            let aims = [self.gap + self.spare, SLACK * self.gap];
            let mut new = [None; TOGETHER];
            let (held, mut at) = (&self.held, 0);
            let known = |of| held.iter().any(|h| h.wall.of == of);
            let step = cut(&by, most, pair.radius());
            pair.crossed(&pose, &step, aims, room, known, |wall| {
                new[at] = Some(wall);
                at += 1;
            });
            self.held.extend(new.into_iter().flatten().map(|wall| Held { wall, force: 0.0 }));
            if self.held.len() == before {
                break;
            }
            by = self.balanced(goal, spring);
        }
        self.held.retain(|h| h.force > 0.0);
        let normal = self.held.iter().map(|h| h.force).sum();
        (by, normal)
    }

    /// The least energy with the walls that hold, by sweeps over them.
    fn balanced(&mut self, goal: &Six, spring: &Six) -> Six {
        let mut by = *goal;
        let aim = self.gap + self.spare;
        for h in &self.held {
            let opens = &h.wall.opens;
            for i in 0..6 {
                by[i] += opens[i] * h.force / spring[i];
            }
        }
        for _ in 0..SWEEPS {
            let mut change = 0.0f64;
            for h in &mut self.held {
                let wall = &h.wall;
                let soft: f64 = (0..6).map(|i| wall.opens[i] * wall.opens[i] / spring[i]).sum();
                let least = if wall.gap < aim { 0.1 * (aim - wall.gap) } else { aim - wall.gap };
                let missing = least - dot(&wall.opens, &by);
                let force = (h.force + missing / soft).max(0.0);
                let more = force - h.force;
                h.force = force;
                change = change.max(more.abs() * soft);
                for i in 0..6 {
                    by[i] += wall.opens[i] * more / spring[i];
                }
            }
            if change < 1e-4 * self.gap {
                break;
            }
        }
        by
    }

    /// What friction leaves of a motion: walls hold up to `friction` times what they push with.
    fn rubbed(&self, by: &Six, normal: f64, spring: &Six, radius: f64) -> Six {
        if self.friction == 0.0 || normal == 0.0 {
            return *by;
        }
        // What the motion would take from the spring; torques count at the tool's radius.
        let drives = (0..6)
            .map(|i| {
                let f = spring[i] * by[i] / if i < 3 { 1.0 } else { radius };
                f * f
            })
            .sum::<f64>()
            .sqrt();
        let share = if drives > 0.0 { (1.0 - self.friction * normal / drives).max(0.0) } else { 0.0 };
        by.map(|x| x * share)
    }
}
