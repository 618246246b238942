//! The shortest translation found that separates two overlapping shapes.
//!
//! Based on: Je, Tang, Lee, Lee, Kim, PolyDepth: real-time penetration depth computation using iterative contact-space
//! projection, 2012.
//! Differs: the contact space is never built. Directions over the whole sphere are followed outward on the fields
//! (`parting.rs`), abandoned once they are longer than the best; the best few are projected on the planes of what they touch,
//! and turned by ever smaller angles.

use super::clear::ball;
use super::parting::{Parting, Way};
use super::{Query, Stats};
use crate::math::Pose;
use crate::shape::Shape;
use glam::DVec3;

/// Depth at which a point counts as out, unless said otherwise [smaller voxel]. Smaller: more steps for the last bit of depth.
const TOLERANCE: f64 = 0.05;
/// Directions are followed up to this many times the shortest way so far, as they may become shorter when refined [1].
const SLACK: f64 = 1.1;
/// Ways that are refined, at most, and the cosine above which two are one.
const REFINED: usize = 4;
const ALIKE: f64 = 0.94;
/// Shallow places between directions that are looked at.
const POCKETS: usize = 24;
/// A refinement counts if it makes the way shorter by this part [1].
const GAIN: f64 = 2e-4;
/// Angles by which a way is turned, largest and smallest [rad].
const TURNS: (f64, f64) = (0.12, 0.004);
/// A way with a bound above this many coverage radii is doubtful if its points have no play beyond it: another is sought [1].
const DOUBTFUL: f64 = 3.0;
/// How far outside points are where the surface between them is, too, usually [coverage radii].
const PLAY: f64 = 0.35;
/// Steps outward until a place is certainly free; then the shapes' balls are taken apart.
const OUTWARD: usize = 48;

/// How a translation is sought.
#[derive(Clone, Debug, PartialEq)]
pub struct PenetrationParams {
    /// Directions over the whole sphere, besides those of contacts and of the shapes' boxes; at most 100,000. More: surer to find
    /// the way out of intricate shapes, and slower in proportion.
    pub directions: usize,
    /// Points less deep than this count as out [m]; none: a twentieth of the smaller voxel.
    pub tolerance: Option<f64>,
}

impl Default for PenetrationParams {
    fn default() -> Self {
        Self { directions: 128, tolerance: None }
    }
}

impl PenetrationParams {
    /// The values held to their ranges.
    #[must_use]
    pub fn held(&self) -> Self {
        Self {
            directions: self.directions.min(100_000),
            tolerance: self.tolerance.filter(|t| t.is_finite() && *t > 0.0),
        }
    }
}

/// A translation that separates two shapes. A's frame [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penetration {
    /// Moves B so that no point of either shape is inside the other; zero if none is.
    pub translation: DVec3,
    /// Its length.
    pub depth: f64,
    /// Moved by `depth + bound` along `direction`, the shapes certainly share no point: see [`Penetration::free`]. Usually the
    /// coverage radius of the finer shell and the error of a field; more where B leaves along a surface; 0 where the shapes
    /// certainly share none as they are.
    pub bound: f64,
    /// No translation shorter than this separates them, in any direction: the true depth of the deepest point.
    pub lower: f64,
    /// Unit; zero where `depth` and `bound` are 0.
    pub direction: DVec3,
    /// Directions that were followed or excluded.
    pub directions: usize,
    /// Whether a point of either shape is inside the other.
    pub overlapping: bool,
}

impl Penetration {
    const NONE: Self = Self {
        translation: DVec3::ZERO,
        depth: 0.0,
        bound: 0.0,
        lower: 0.0,
        direction: DVec3::ZERO,
        directions: 0,
        overlapping: false,
    };

    /// The translation after which the shapes certainly share no point [m].
    pub fn free(&self) -> DVec3 {
        self.direction * (self.depth + self.bound)
    }
}

impl Query {
    /// The shortest translation of B found that separates it from A: global, unlike the depth of a contact.
    ///
    /// Both shapes' points are asked, so that one wholly inside the other counts, whichever has more. What was found is free as far as
    /// the points can tell; `bound` makes it certain. The length is at most that along any of the directions sampled, and rarely
    /// above the shortest there is by more than a few percent. Shapes that do not overlap give zero, and a `bound` where that is
    /// not certain; a pose that is not finite, or a shape without points, gives zero too (with the flag in [`Query::stats`] for
    /// the pose).
    ///
    /// One to a few milliseconds for detailed shapes. No allocation after the first queries.
    ///
    /// ```
    /// use glam::DVec3;
    /// use palpate::mesh::{Mesh, samples};
    /// use palpate::{Pose, Query, Shape};
    ///
    /// let cube = Mesh::new(samples::cuboid(DVec3::splat(2.0)), &Default::default())?;
    /// let cube = Shape::build(cube, 0.05, &Default::default())?;
    /// let a_from_b = Pose::from_translation(DVec3::X * 0.5);
    /// let out = Query::new().penetration(&cube, &cube, &a_from_b, &Default::default());
    /// assert!((out.depth - 1.5).abs() <= out.bound);
    /// assert!(out.direction.x > 0.999);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn penetration(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        params: &PenetrationParams,
    ) -> Penetration {
        self.part(a, b, a_from_b, None, params)
    }

    /// How far B must go along `direction`, in A's frame and of any length, until it is free of A: as [`Query::penetration`], for
    /// one direction. A direction that is zero or not finite gives zero, with the flag of a pose that is not finite.
    ///
    /// The first free place: beyond it other parts may be in the way. Tens of microseconds.
    pub fn penetration_along(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        direction: DVec3,
        params: &PenetrationParams,
    ) -> Penetration {
        self.part(a, b, a_from_b, Some(direction), params)
    }

    fn part(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        along: Option<DVec3>,
        params: &PenetrationParams,
    ) -> Penetration {
        self.stats = Stats::default();
        // Divided first: the square of a large component overflows.
        let unit = along.map(|d| (d / d.abs().max_element()).normalize_or_zero());
        if !a_from_b.is_finite() || unit.is_some_and(|d| d == DVec3::ZERO) {
            self.stats.non_finite = true;
            return Penetration::NONE;
        }
        if a.tree.is_empty() || b.tree.is_empty() {
            return Penetration::NONE;
        }
        let params = params.held();
        let voxel = a.field.lattice().voxel.min(b.field.lattice().voxel);
        let tolerance = params.tolerance.unwrap_or(TOLERANCE * voxel);
        let mut parting = Parting::new(self, a, b, a_from_b, tolerance);
        let deepest = parting.deepest(DVec3::ZERO, f64::INFINITY);
        let mut result = Penetration::NONE;
        if deepest.is_some() || parting.coinciding(DVec3::ZERO) {
            let cores = parting.depth_of_cores();
            let (mut way_out, mut least, mut lower) = (DVec3::ZERO, cores, cores);
            if let Some(inside) = deepest {
                let depth = f64::from(-inside.distance);
                parting.keep_point(inside);
                way_out = parting.way_out(inside);
                least = least.max(depth);
                lower = lower.max(true_depth(a, b, a_from_b, inside.side == 1, inside.point, depth));
            }
            let way = match unit {
                Some(direction) => parting.along(direction, least, f64::INFINITY),
                None => parting.shortest(way_out, least, params.directions),
            };
            result = part_of(&way, lower, &parting);
            let radius = a.tree.shell.radius.min(b.tree.shell.radius);
            parting.certify_free(None, &mut result);
            if unit.is_none()
                && result.bound > DOUBTFUL * radius
                && parting.with_play(&way) >= way.length + 2.0 * radius
            {
                // So narrow a place that the points may miss what is between them: perhaps a wider one is not much farther.
                parting.again(PLAY * radius);
                let mut way = parting.shortest(way_out, least, params.directions);
                parting.again(0.0);
                let from = (way.length - 2.0 * PLAY * radius).max(least);
                way.length = parting.march(way.direction, from, way.length).unwrap_or(way.length);
                let mut wide = part_of(&way, lower, &parting);
                parting.certify_free(None, &mut wide);
                if wide.depth + wide.bound < result.depth + result.bound {
                    result = wide;
                }
            }
            result.directions = parting.tried;
        } else {
            parting.certify_free(unit, &mut result);
        }
        parting.end();
        result
    }
}

/// A way as an answer, without its bound.
fn part_of(way: &Way, lower: f64, parting: &Parting<'_>) -> Penetration {
    // Samples have errors: what is certain is not undercut.
    let depth = way.length.max(lower);
    Penetration {
        translation: way.direction * depth,
        depth,
        bound: 0.0,
        lower,
        direction: way.direction,
        directions: parting.tried,
        overlapping: true,
    }
}

impl Parting<'_> {
    /// Finds `bound`, and a direction where there is none yet.
    fn certify_free(&mut self, along: Option<DVec3>, result: &mut Penetration) {
        let (a, b, pose, query) = (self.a, self.b, self.pose, &mut *self.query);
        let at = |d: f64, direction: DVec3| Pose {
            rotation: pose.rotation,
            translation: pose.translation + direction * d,
        };
        let mut missing = query.uncertain(a, b, &at(result.depth, result.direction));
        if missing <= 0.0 {
            return;
        }
        let (ca, ra) = ball(&a.aabb());
        let (cb, rb) = ball(&b.aabb());
        let between = pose.point(cb) - ca;
        if !result.overlapping {
            // Too near to be certain: away from what is nearest.
            result.direction = along.unwrap_or_else(|| {
                let stats = query.stats;
                let nearest = query.distance(a, b, &pose).direction();
                query.stats = stats;
                if nearest == DVec3::ZERO { between.normalize_or(DVec3::X) } else { nearest }
            });
        }
        let direction = result.direction;
        // Steps that grow, so that leaving along a surface ends too.
        let mut growth = 1.0;
        for _ in 0..OUTWARD {
            result.bound += missing * growth * (1.0 + 1e-6);
            growth *= 1.06;
            missing = query.uncertain(a, b, &at(result.depth + result.bound, direction));
            if missing <= 0.0 {
                return;
            }
        }
        // Where the balls around the shapes are apart there is nothing left to ask.
        result.bound = (apart(between, direction, ra + rb) - result.depth).max(0.0);
    }
}

/// How far along `direction` balls whose middles are `between` apart, and whose radii sum up to `radius`, touch last [m].
fn apart(between: DVec3, direction: DVec3, radius: f64) -> f64 {
    let along = between.dot(direction);
    let square = along * along + radius * radius - between.length_squared();
    (square.max(0.0).sqrt() - along).max(0.0) * (1.0 + 1e-9) + 1e-9 * radius
}

/// The depth of a point on the surface itself; 0 where its sample's sign is in doubt [m].
fn true_depth(a: &Shape, b: &Shape, a_from_b: &Pose, of_a: bool, point: u32, sampled: f64) -> f64 {
    let (field, p) = if of_a {
        (b, a_from_b.inverse().point(a.tree.position(point as usize)))
    } else {
        (a, a_from_b.point(b.tree.position(point as usize)))
    };
    let r = field.field.report();
    if sampled > r.error_bound_band { field.exact.closest(p, None).distance } else { 0.0 }
}

impl Parting<'_> {
    /// The way along one direction: at most to where the balls around the shapes are apart.
    fn along(&mut self, direction: DVec3, lower: f64, limit: f64) -> Way {
        let ((ca, ra), (cb, rb)) = (ball(&self.a.aabb()), ball(&self.b.aabb()));
        let most = apart(self.pose.point(cb) - ca, direction, ra + rb);
        let length = self.march(direction, lower, limit.min(most)).unwrap_or(most);
        Way { direction, length }
    }

    /// The shortest way over all directions. `way_out` is a guess, `lower` what any way has at least [m].
    fn shortest(&mut self, way_out: DVec3, lower: f64, directions: usize) -> Way {
        let between = self.pose.point(self.b.aabb().centre()) - self.a.aabb().centre();
        let mut first = between.normalize_or(DVec3::X);
        if way_out != DVec3::ZERO {
            first = way_out;
        }
        let mut best = self.along(first, lower, f64::INFINITY);
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
        let mut shortest = f64::INFINITY;
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
            // Of ways about as long, the one whose points have play soonest: it is more likely free in truth.
            let length = self.with_play(&way);
            if length < shortest {
                (best, shortest) = (way, length);
            }
        }
        best
    }

    /// Where along a way points have play [m]; two coverage radii beyond its end where they have none before.
    fn with_play(&mut self, way: &Way) -> f64 {
        if self.margin > 0.0 {
            return way.length;
        }
        let (radius, best) = (self.a.tree.shell.radius.min(self.b.tree.shell.radius), self.best);
        self.margin = PLAY * radius;
        let limit = way.length + 2.0 * radius;
        let length = self.march(way.direction, way.length, limit).unwrap_or(limit);
        (self.margin, self.best) = (0.0, best);
        length
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
        match self.march(direction, lower, way.length * (1.0 - GAIN)) {
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

#[cfg(test)]
#[path = "penetration_tests.rs"]
mod tests;
