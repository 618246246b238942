//! Samples of some triangles: which matter, and their parts.

use super::field::{Place, contact};
use super::field_reach::Reach;
use super::{Rigid, SoftMesh};
use crate::contact::Contact;
use glam::{DQuat, DVec3, Vec2, Vec3};

/// Vertices farther than this are left out [m]: squares must be finite in f32.
pub(super) const FARTHEST: f32 = 1e18;
/// Most samples of a chunk. More would take seconds, for a spacing that is hardly meant.
const MOST: usize = 1 << 21;
/// Most halvings of a triangle: as many as a path has bits.
const HALVINGS: u32 = 62;
/// Parts that are sampled at once: eight vectors of eight.
const BATCH: usize = 64;
/// Parts of what is within the margin are asked for only if they are larger than this [spacings]: most of them are too, and one point
/// costs as much as eight. Larger: leaves in vain at the border. Where nothing is within the margin every part is asked for.
const LARGE: f32 = 4.0;

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
    /// Shares of the triangle's first two corners at these: sums of powers of two, so exact.
    shares: [Vec2; 3],
    triangle: u32,
    path: u64,
    /// Whether the last sample of what it is a part of was within the margin.
    within: bool,
}

impl Part {
    fn whole(triangle: u32, corners: [Vec3; 3], within: bool) -> Self {
        Self { corners, shares: [Vec2::X, Vec2::Y, Vec2::ZERO], triangle, path: 1, within }
    }

    fn leaf(&self, distance: f32) -> Leaf {
        let [a, b, c] = self.shares;
        let [x, y] = ((a + b + c) / 3.0).to_array();
        let barycentric = [x, y, 1.0 - x - y];
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
    /// Parts that are left to look at, and small ones to be sampled together.
    stack: Vec<Part>,
    batch: Vec<Part>,
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
        for (i, usable) in usable.iter().enumerate().skip(first).take(count) {
            if !usable {
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
    ///
    /// Depth first, the first half first: leaves come in the order of their paths.
    pub(super) fn refine(&mut self, job: &Job<'_>, mut least: f32) {
        self.stack.clear();
        self.batch.clear();
        self.leaves.clear();
        self.contacts.clear();
        for i in 0..self.triangles.len() {
            let (triangle, distance) = (self.triangles[i], self.distances[i]);
            let limit = job.reach.limit(job.margin.max(least), self.radii[i]);
            if distance.is_nan() || distance > limit {
                self.culled += 1;
                continue;
            }
            let Some(corners) = job.corners(triangle as usize) else { continue };
            let whole = Part::whole(triangle, corners, distance <= job.margin);
            self.take(&whole, distance, false, job.margin, &mut least);
            self.stack.push(whole);
            while let Some(part) = self.stack.pop() {
                self.open(job, &part, &mut least);
            }
        }
        self.flush(job, &mut least);
        self.touch(job);
    }

    /// Halves a part, or puts it with those to be sampled.
    fn open(&mut self, job: &Job<'_>, part: &Part, least: &mut f32) {
        let (size, _) = longest(&part.corners);
        let small = size <= job.spacing;
        let full = self.samples >= MOST || part.path >> HALVINGS != 0;
        if small || full {
            self.coarse |= !small;
            self.samples += 1;
            self.batch.push(*part);
            if self.batch.len() >= BATCH {
                self.flush(job, least);
            }
            return;
        }
        // Whole triangles have been looked at.
        let mut part = *part;
        if part.path > 1 && (!part.within || size > LARGE * job.spacing) {
            let (centre, mut distance) = (centroid(&part.corners), [0.0]);
            job.rigid.distances(job.origin, &[centre], &mut distance);
            self.samples += 1;
            let limit = job.reach.limit(job.margin.max(*least), radius(&part.corners, centre));
            if distance[0].is_nan() || distance[0] > limit {
                self.culled += 1;
                return;
            }
            self.take(&part, distance[0], false, job.margin, least);
            part.within = distance[0] <= job.margin;
        }
        let [first, second] = part.halves();
        self.stack.push(second);
        self.stack.push(first);
    }

    /// Samples the parts that are put together.
    fn flush(&mut self, job: &Job<'_>, least: &mut f32) {
        let (mut centres, mut distances) = ([Vec3::ZERO; BATCH], [0.0; BATCH]);
        let batch = core::mem::take(&mut self.batch);
        let n = batch.len().min(BATCH);
        for (centre, part) in centres.iter_mut().zip(&batch) {
            *centre = centroid(&part.corners);
        }
        job.rigid.distances(job.origin, &centres[..n], &mut distances[..n]);
        for (part, distance) in batch.iter().zip(distances) {
            self.take(part, distance, true, job.margin, least);
        }
        self.batch = batch;
        self.batch.clear();
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
