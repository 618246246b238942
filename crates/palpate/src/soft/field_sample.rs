//! Samples of some triangles: which matter, and their parts.

use super::field::{Place, contact};
use super::{Rigid, SoftMesh};
use crate::contact::Contact;
use glam::{DQuat, DVec3, Vec3};

/// Vertices farther than this are left out [m]: squares must be finite in f32.
pub(super) const FARTHEST: f32 = 1e18;
/// Most samples of a chunk. More would take seconds, for a spacing that is hardly meant.
const MOST: usize = 1 << 21;
/// Most halvings of a triangle: as many as a path has bits.
const HALVINGS: u32 = 62;
/// Parts that are sampled at once: eight vectors of eight.
const BATCH: usize = 64;
/// Steepness of interpolated distances whose nodes are exact, rounded up: √3 [1].
const GENTLE: f32 = 1.7321;

/// How much a sampled distance can be above that of another point that is some way from it.
///
/// With f the sampled and D the true distance, f(c) <= f(p) + slope·r; also f(c) <= D(c) + e <= D(p) + r + e <= f(p) + r + 2e. Near
/// the surface, where nodes are exact, the error is smaller and the slope is at most √3.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    slope: f32,
    /// Twice the largest error, anywhere and near the surface [m].
    far: f32,
    near: f32,
    /// Where the latter holds [m].
    band: f32,
    /// Rounding of coordinates and values [m].
    slack: f32,
    /// Rounding of coordinates [m].
    rounding: f32,
}

impl Reach {
    pub(super) fn new(rigid: &Rigid<'_>, farthest: f64) -> Self {
        let (slope, far, near, band, stored) = match rigid {
            Rigid::Field(field) => {
                let r = field.report();
                let stored = 2.0 * field.values.error();
                (r.lipschitz.max(1.0), r.error_bound_far, r.error_bound_band, r.band, stored)
            }
            Rigid::Source(_) => (1.0, 0.0, 0.0, 0.0, 0.0),
        };
        let slope = slope * (1.0 + 1e-5);
        let rounding = 8.0 * f64::from(f32::EPSILON) * farthest;
        Self {
            slope: slope as f32,
            far: 2.0 * far as f32,
            near: 2.0 * near as f32,
            band: (band - 2.0 * near) as f32,
            slack: (slope * rounding + stored) as f32,
            rounding: rounding as f32,
        }
    }

    /// Below this length f32 does not tell points apart [m].
    pub(super) fn least_spacing(&self) -> f32 {
        self.rounding
    }

    /// The largest distance at the centre of a ball in which some point may be at most `cut` away.
    #[inline(always)]
    fn limit(&self, cut: f32, radius: f32) -> f32 {
        let anywhere = (self.slope * radius).min(radius * 1.00001 + self.far);
        let in_band = (GENTLE * radius).min(radius * 1.00001 + self.near);
        let banded = cut >= 0.0 && cut + radius < self.band;
        cut + self.slack + if banded { in_band.min(anywhere) } else { anywhere }
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) rigid: Rigid<'a>,
    /// What points are relative to, in the field's frame [m].
    pub(super) origin: DVec3,
    /// The mesh's vertices in that frame.
    pub(super) points: &'a [Vec3],
    pub(super) mesh: &'a SoftMesh,
    /// The field's frame from the mesh's.
    pub(super) rotation: DQuat,
    pub(super) reach: Reach,
    pub(super) spacing: f32,
    pub(super) margin: f32,
}

impl Job<'_> {
    /// Corners of a triangle in the field's frame; none if it does not take part.
    #[inline(always)]
    fn corners(&self, triangle: usize) -> Option<[Vec3; 3]> {
        let [a, b, c] = self.mesh.triangles().get(triangle)?;
        let corners =
            [*self.points.get(*a as usize)?, *self.points.get(*b as usize)?, *self.points.get(*c as usize)?];
        Some(corners)
    }

    /// Outward normal, in the field's frame, and area of a triangle as it is given.
    pub(super) fn surface(&self, triangle: u32) -> (DVec3, f64) {
        let Some([a, b, c]) = self.mesh.corners(triangle) else { return (DVec3::ZERO, 0.0) };
        let cross = (b - a).cross(c - a);
        let length = cross.length();
        let normal = if length > 0.0 { cross / length } else { DVec3::ZERO };
        (self.rotation * normal, 0.5 * length)
    }
}

/// A sample, and what it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) place: Place,
    pub(super) point: Vec3,
    pub(super) distance: f32,
}

impl Leaf {
    /// Whether it is deeper than another one, or the earlier of two as deep.
    pub(super) fn before(&self, other: &Self) -> bool {
        let key = |l: &Self| (l.place.triangle, l.place.path);
        self.distance < other.distance || (self.distance == other.distance && key(self) < key(other))
    }
}

/// A part of a triangle.
#[derive(Clone, Copy, Debug)]
struct Part {
    corners: [Vec3; 3],
    /// Shares of the triangle's corners at these: sums of powers of two, so exact.
    shares: [Vec3; 3],
    triangle: u32,
    path: u64,
}

impl Part {
    fn whole(triangle: u32, corners: [Vec3; 3]) -> Self {
        Self { corners, shares: [Vec3::X, Vec3::Y, Vec3::Z], triangle, path: 1 }
    }

    fn leaf(&self, distance: f32) -> Leaf {
        let [a, b, c] = self.shares;
        let barycentric = ((a + b + c) / 3.0).to_array();
        Leaf {
            place: Place { triangle: self.triangle, barycentric, path: self.path },
            point: centroid(&self.corners),
            distance,
        }
    }

    /// Its halves across its longest edge.
    fn halves(&self) -> [Self; 2] {
        let (_, i) = longest(&self.corners);
        let j = (i + 1) % 3;
        let middle = 0.5 * (self.corners[i] + self.corners[j]);
        let share = 0.5 * (self.shares[i] + self.shares[j]);
        let half = |keep_other: usize, path: u64| {
            let mut part = Self { path, ..*self };
            part.corners[keep_other] = middle;
            part.shares[keep_other] = share;
            part
        };
        [half(j, 2 * self.path), half(i, 2 * self.path + 1)]
    }
}

#[inline(always)]
fn centroid([a, b, c]: &[Vec3; 3]) -> Vec3 {
    (*a + *b + *c) * (1.0 / 3.0)
}

/// From the centroid to the farthest corner.
#[inline(always)]
fn radius([a, b, c]: &[Vec3; 3], centre: Vec3) -> f32 {
    let squared = a.distance_squared(centre).max(b.distance_squared(centre)).max(c.distance_squared(centre));
    squared.sqrt()
}

/// The longest edge's length, and the corner it starts at.
fn longest([a, b, c]: &[Vec3; 3]) -> (f32, usize) {
    let [x, y, z] = [a.distance_squared(*b), b.distance_squared(*c), c.distance_squared(*a)];
    if x >= y && x >= z {
        (x.sqrt(), 0)
    } else if y >= z {
        (y.sqrt(), 1)
    } else {
        (z.sqrt(), 2)
    }
}

/// Some triangles, their samples and contacts.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Those that take part: numbers, centroids, radii about them and distances there.
    triangles: Vec<u32>,
    centres: Vec<Vec3>,
    radii: Vec<f32>,
    distances: Vec<f32>,
    /// Parts that are left to look at.
    stack: Vec<Part>,
    /// Samples within the margin, and their contacts.
    pub(super) leaves: Vec<Leaf>,
    pub(super) contacts: Vec<Contact>,
    /// The deepest sample.
    pub(super) best: Option<Leaf>,
    pub(super) samples: usize,
    pub(super) culled: usize,
    pub(super) coarse: bool,
}

impl Chunk {
    /// Samples `count` triangles from `first` on at their centroids.
    pub(super) fn measure(&mut self, job: &Job<'_>, first: usize, count: usize) {
        (self.best, self.culled, self.coarse) = (None, 0, false);
        self.triangles.clear();
        self.centres.clear();
        self.radii.clear();
        let usable = job.mesh.usable();
        for i in first..usable.len().min(first + count) {
            if !usable[i] {
                continue;
            }
            let Some(corners) = job.corners(i) else { continue };
            let centre = centroid(&corners);
            let radius = radius(&corners, centre);
            if centre.abs().max_element() + radius <= FARTHEST {
                self.triangles.push(i as u32);
                self.centres.push(centre);
                self.radii.push(radius);
            }
        }
        self.samples = self.triangles.len();
        self.distances.resize(self.samples, 0.0);
        job.rigid.distances(job.origin, &self.centres, &mut self.distances);
    }

    /// The least distance of a centroid [m].
    pub(super) fn least(&self) -> f32 {
        self.distances.iter().fold(f32::INFINITY, |m, d| m.min(*d))
    }

    /// Samples parts of triangles, where they may be within the margin or as near as `least`.
    pub(super) fn refine(&mut self, job: &Job<'_>, mut least: f32) {
        self.stack.clear();
        self.leaves.clear();
        self.contacts.clear();
        let cut = job.margin.max(least);
        for i in 0..self.triangles.len() {
            let distance = self.distances[i];
            // Not so, too: no number.
            if !(distance <= job.reach.limit(cut, self.radii[i])) {
                self.culled += 1;
                continue;
            }
            let triangle = self.triangles[i];
            let Some(corners) = job.corners(triangle as usize) else { continue };
            let part = Part::whole(triangle, corners);
            let is_leaf = longest(&corners).0 <= job.spacing;
            self.take(&part, distance, is_leaf, job.margin, &mut least);
            if !is_leaf {
                self.stack.extend(part.halves());
            }
        }
        self.open(job, least);
        self.leaves.sort_unstable_by_key(|leaf| (leaf.place.triangle, leaf.place.path));
        self.touch(job);
    }

    /// Looks at a sample.
    fn take(&mut self, part: &Part, distance: f32, is_leaf: bool, margin: f32, least: &mut f32) {
        let inside = is_leaf && distance <= margin;
        // As deep as the deepest: the earlier of two counts.
        if !inside && distance > *least {
            return;
        }
        let leaf = part.leaf(distance);
        if self.best.as_ref().is_none_or(|best| leaf.before(best)) {
            self.best = Some(leaf);
            *least = least.min(distance);
        }
        if inside {
            self.leaves.push(leaf);
        }
    }

    /// Samples the parts that are left, the last first.
    fn open(&mut self, job: &Job<'_>, mut least: f32) {
        let (mut centres, mut distances) = ([Vec3::ZERO; BATCH], [0.0; BATCH]);
        while !self.stack.is_empty() {
            let from = self.stack.len().saturating_sub(BATCH);
            let mut batch = [Part::whole(0, [Vec3::ZERO; 3]); BATCH];
            let n = self.stack.len() - from;
            batch[..n].copy_from_slice(&self.stack[from..]);
            self.stack.truncate(from);
            for (centre, part) in centres.iter_mut().zip(&batch[..n]) {
                *centre = centroid(&part.corners);
            }
            job.rigid.distances(job.origin, &centres[..n], &mut distances[..n]);
            self.samples += n;
            for i in 0..n {
                let (part, distance) = (&batch[i], distances[i]);
                let size = radius(&part.corners, centres[i]);
                if !(distance <= job.reach.limit(job.margin.max(least), size)) {
                    self.culled += 1;
                    continue;
                }
                let small = longest(&part.corners).0 <= job.spacing;
                let full = self.samples >= MOST || part.path >> HALVINGS != 0;
                self.coarse |= full && !small;
                self.take(part, distance, small || full, job.margin, &mut least);
                if !(small || full) {
                    self.stack.extend(part.halves());
                }
            }
        }
    }

    /// Contacts of the leaves.
    fn touch(&mut self, job: &Job<'_>) {
        let (mut triangle, mut surface) = (u32::MAX, (DVec3::ZERO, 0.0));
        for leaf in &self.leaves {
            let place = leaf.place;
            if place.triangle != triangle {
                (triangle, surface) = (place.triangle, job.surface(place.triangle));
            }
            // Each bit of a path is half the area.
            let share = 1.0 / (1u64 << (63 - place.path.max(1).leading_zeros())) as f64;
            let gradient = job.rigid.sample(job.origin + leaf.point.as_dvec3()).gradient;
            let area = surface.1 * share;
            self.contacts.push(contact(leaf.point, leaf.distance, gradient, place.triangle, surface.0, area));
        }
    }
}
