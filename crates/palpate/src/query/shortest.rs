//! The shortest of the ways out along many directions.
//!
//! First by points alone: directions over the whole sphere are abandoned once they are longer than the best; the best few are
//! projected on the planes of what they touch, and turned by ever smaller angles. Points may be out where triangles between them
//! are not yet, so a way by points is a lower bound of the true one: in the order of the bounds, ways are settled by
//! the triangles until none can be shorter, and the best is turned once more.

use super::clear::ball;
use super::parting::{Parting, Way};
use super::penetration::apart;
use glam::DVec3;

/// Directions are followed up to this many times the shortest way so far, as they may become shorter when refined [1].
const SLACK: f64 = 1.1;
/// Ways that are refined, at most, and the cosine above which two are one.
const REFINED: usize = 4;
const ALIKE: f64 = 0.94;
/// Shallow places between directions that are looked at.
const POCKETS: usize = 24;
/// Ways that are settled by triangles, at most, before the best is turned.
const SETTLED: usize = 24;
/// How much farther than by points a way may be at first, besides the slack [smaller voxel].
const BEYOND: f64 = 2.0;
/// Directions besides those spread over the sphere, at most: what lists need.
const MORE: usize = 64;
/// A refinement counts if it makes the way shorter by this part [1].
const GAIN: f64 = 2e-4;
/// Angles by which a way is turned, largest and smallest [rad].
const TURNS: (f64, f64) = (0.12, 0.015);
/// The same for a way that was settled.
const LAST_TURNS: (f64, f64) = (0.06, 0.004);
/// The largest of a way where no point is inside [rad].
const TURNS_AT_TOUCH: f64 = 0.6;

impl Parting<'_> {
    /// The way along one direction, settled.
    pub(super) fn along(&mut self, direction: DVec3, lower: f64) -> Way {
        let most = self.most(direction);
        let by_points = self.march(direction, lower, most);
        let length = by_points.and_then(|t| self.settle(direction, t, most)).unwrap_or(most);
        Way { direction, length }
    }

    /// Where the balls around the shapes are apart: nothing is longer [m].
    fn most(&self, direction: DVec3) -> f64 {
        let ((ca, ra), (cb, rb)) = (ball(&self.a.aabb()), ball(&self.b.aabb()));
        apart(self.pose.point(cb) - ca, direction, ra + rb)
    }

    /// The smaller voxel [m].
    fn voxel(&self) -> f64 {
        self.a.field.lattice().voxel.min(self.b.field.lattice().voxel)
    }

    /// Whether the shapes share a point as they are.
    pub(super) fn meets(&mut self) -> bool {
        self.sweep.meets(&mut self.memory.sweep, DVec3::X, 0.0)
    }

    /// Where a way that ends at `t` by points is free by triangles; none below `limit` [m].
    fn settle(&mut self, direction: DVec3, t: f64, limit: f64) -> Option<f64> {
        // Points are followed by steps of up to the tolerance.
        let from = (t - self.tolerance).max(0.0);
        self.sweep.first_free(&mut self.memory.sweep, direction, from, limit)
    }

    /// The shortest way over all directions. `way_out` is a guess, `lower` what any way has at least [m].
    pub(super) fn shortest(&mut self, way_out: DVec3, lower: f64, directions: usize) -> Way {
        let m = &mut self.memory;
        for list in [&mut m.ways, &mut m.found] {
            list.reserve(directions + MORE);
        }
        m.pockets.reserve(directions + MORE);
        let between = self.pose.point(self.b.aabb().centre()) - self.a.aabb().centre();
        let mut first = between.normalize_or(DVec3::X);
        if way_out != DVec3::ZERO {
            first = way_out;
        }
        let most = self.most(first);
        let length = self.march(first, lower, most).unwrap_or(most);
        let mut best = Way { direction: first, length };
        self.memory.found.push(best);
        // All directions, with what the kept points say of each.
        let axes = [DVec3::X, DVec3::Y, DVec3::Z];
        let turned = axes.map(|x| self.pose.rotation * x);
        let boxes = axes.into_iter().chain(turned).flat_map(|x| [x, -x]);
        for direction in boxes.chain([between.normalize_or(DVec3::Y)]).chain(sphere(directions)) {
            let mut shallow = (f32::INFINITY, 0.0);
            let length = self.at_least_noting(direction, lower, SLACK * best.length, &mut shallow);
            self.tried += 1;
            if length < SLACK * best.length {
                self.memory.ways.push(Way { direction, length });
            } else if shallow.0 < f32::INFINITY {
                self.memory.pockets.push((shallow.0, direction * shallow.1));
            }
        }
        // The most promising first: the others are then soon too long.
        self.memory.ways.sort_unstable_by(|a, b| a.length.total_cmp(&b.length));
        for i in 0..self.memory.ways.len() {
            let Way { direction, length } = self.memory.ways[i];
            if let Some(length) = self.march(direction, length, SLACK * best.length) {
                let way = Way { direction, length };
                self.memory.found.push(way);
                if length < best.length {
                    best = way;
                }
            }
        }
        // Narrow places between directions: from where they passed near to one.
        self.memory.pockets.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for i in 0..self.memory.pockets.len().min(POCKETS) {
            let limit = best.length * (1.0 - GAIN);
            let Some(x) = self.relax(self.memory.pockets[i].1, limit) else { continue };
            let direction = x.normalize_or_zero();
            if direction == DVec3::ZERO {
                continue;
            }
            if let Some(length) = self.march(direction, lower, limit) {
                best = Way { direction, length };
                self.memory.found.push(best);
            }
        }
        // The best few, each of its own kind.
        self.memory.found.sort_unstable_by(|a, b| a.length.total_cmp(&b.length));
        let mut refined = [DVec3::ZERO; REFINED];
        let mut count = 0;
        for i in 0..self.memory.found.len() {
            let way = self.memory.found[i];
            if count == REFINED || way.length > SLACK * best.length {
                break;
            }
            if refined[..count].iter().any(|d| d.dot(way.direction) > ALIKE) {
                continue;
            }
            refined[count] = way.direction;
            count += 1;
            let way = self.refine(way, lower);
            self.memory.found.push(way);
            if way.length < best.length {
                best = way;
            }
        }
        self.settle_best(lower)
    }

    /// The shortest of the ways found, by triangles.
    fn settle_best(&mut self, lower: f64) -> Way {
        self.memory.found.sort_unstable_by(|a, b| a.length.total_cmp(&b.length));
        let shortest = self.memory.found.first().copied().unwrap_or(Way { direction: DVec3::X, length: 0.0 });
        // There the balls around the shapes are apart.
        let apart = Way { length: self.most(shortest.direction), ..shortest };
        // First those that need not go far beyond what their points say, as beyond there may be much in the way.
        let mut most = SLACK * shortest.length + BEYOND * self.voxel();
        let mut settled = None;
        while settled.is_none() && most < apart.length {
            for i in 0..self.memory.found.len().min(SETTLED) {
                let Way { direction, length } = self.memory.found[i];
                let limit = settled.map_or(most, |w: Way| w.length * (1.0 - GAIN));
                if length >= limit {
                    break;
                }
                if let Some(length) = self.settle(direction, length, limit) {
                    settled = Some(Way { direction, length });
                }
            }
            most *= 2.0;
        }
        let mut way = settled.unwrap_or(apart);
        // Where points say nothing any direction may be the best.
        let mut angle = if shortest.length > 0.0 { LAST_TURNS.0 } else { TURNS_AT_TOUCH };
        self.settling = true;
        while angle > LAST_TURNS.1 {
            if !self.turn(&mut way, lower, angle) {
                angle *= 0.5;
            }
        }
        self.settling = false;
        way
    }

    /// Makes a way shorter as long as that goes.
    fn refine(&mut self, mut way: Way, lower: f64) -> Way {
        let mut angle = TURNS.0;
        while angle > TURNS.1 {
            while self.project(&mut way, lower) {}
            if !self.turn(&mut way, lower, angle) {
                angle *= 0.5;
            }
        }
        way
    }

    /// Tries the shortest translations that keep on the free side of one or two of the planes touched.
    fn project(&mut self, way: &mut Way, lower: f64) -> bool {
        let x = way.translation();
        let (n, count) = self.touching(x, 4.0 * self.tolerance);
        let mut better = false;
        for i in 0..count {
            better |= self.improve(way, lower, n[i] * n[i].dot(x));
            for j in 0..i {
                // The least of n[i]·y >= n[i]·x, n[j]·y >= n[j]·x, both tight.
                let (c, ci, cj) = (n[i].dot(n[j]), n[i].dot(x), n[j].dot(x));
                let det = 1.0 - c * c;
                if det > 1e-3 {
                    let y = (n[i] * (ci - c * cj) + n[j] * (cj - c * ci)) / det;
                    better |= self.improve(way, lower, y);
                }
            }
        }
        better
    }

    /// Tries the directions around the way at an angle [rad].
    fn turn(&mut self, way: &mut Way, lower: f64, angle: f64) -> bool {
        let (sin, cos) = angle.sin_cos();
        let (u, v) = way.direction.any_orthonormal_pair();
        // Three opposite pairs would be as many; odd numbers do not try a ridge along itself only.
        let around = (0..7).map(|k| f64::from(k) * core::f64::consts::TAU / 7.0);
        let from = way.direction;
        let mut better = false;
        for phase in around {
            let side = u * phase.cos() + v * phase.sin();
            better |= self.improve(way, lower, from * cos + side * sin);
        }
        better
    }

    /// Takes the way along `towards` if it is shorter.
    fn improve(&mut self, way: &mut Way, lower: f64, towards: DVec3) -> bool {
        let direction = towards.normalize_or_zero();
        if direction == DVec3::ZERO {
            return false;
        }
        let limit = way.length * (1.0 - GAIN);
        let length = if self.settling {
            // What was in the way before tells most; no search for points.
            let t = self.at_least(direction, lower, limit);
            if t < limit { self.settle(direction, t, limit) } else { None }
        } else {
            self.march(direction, lower, limit)
        };
        match length {
            None => false,
            Some(length) => {
                *way = Way { direction, length };
                true
            }
        }
    }
}

/// `n` directions spread evenly over the sphere: a spiral of golden angles.
fn sphere(n: usize) -> impl Iterator<Item = DVec3> {
    let golden = core::f64::consts::PI * (3.0 - 5f64.sqrt());
    (0..n).map(move |i| {
        let z = 1.0 - (2.0 * i as f64 + 1.0) / n as f64;
        let (sin, cos) = (golden * i as f64).sin_cos();
        let r = (1.0 - z * z).max(0.0).sqrt();
        DVec3::new(r * cos, r * sin, z)
    })
}
