//! The surface that points lie on, near a place: a plane fitted to those around it.
//!
//! Based on: adamson03: the surface is where
//! f(x) = n(x)·(x − a(x)) is 0, with the weighted mean a of the points around x and the normal n of the plane that fits them best.
//! Differs: points far in front of or behind x, seen along the normal it had before, count less and then not at all, so that the other
//! side of a wall and the other wall of a gap do not take part; given normals do the same for walls as thin as the spacing.
//!
//! Everything is in the cloud's frame. f is positive on the side `toward` names. It differs from the distance to a surface of radius
//! of curvature r, sampled evenly, by about radius² / (12 r): the mean of a curved patch lies below it.

use super::Cloud;
use super::CloudError;
use super::force::check;
use super::gather::Found;
use glam::{DMat3, DVec3};

/// Radius over spacing for points on a grid: 28 points. Less, and planes follow single points; more, and details go [1].
const RADIUS: f64 = 3.0;

/// A point's share of the neighbours that a radius is measured by: the 16th is at 2.24 spacings on a grid.
const NEIGHBOURS: usize = 16;

/// Radius over the median distance to that neighbour: as many points as on a grid, however they lie [1].
const OVER_NEIGHBOUR: f64 = RADIUS / 2.236;

/// Points that are measured by.
const SAMPLE: usize = 512;

/// Where points in front and behind begin to count less, and where they no longer do, over the radius [1].
const SLAB: (f64, f64) = (1.0 / 3.0, 2.0 / 3.0);

/// The cosine of the angle between a point's normal and the side, where it begins to count, and where it counts whole [1].
const SIDE: (f64, f64) = (-0.2, 0.3);

/// Least share of the weights of all points around that those of this sheet must have. Far from a sheet only the rim of what is around is
/// in the slab: a few points, whose plane may be any [1].
const SHARE: f64 = 0.2;

/// Where the mean is farther to the side, over the radius, a surface may have ended: a quarter of the radius beyond the last points of a
/// straight border [1].
const BORDER: f64 = 0.4;

/// Length of the mean of given normals, from which on it begins to count, and where it alone does: they are shorter where they contradict
/// each other or few points have one [1].
const GIVEN: (f64, f64) = (0.05, 0.15);

/// Second eigenvalue over the largest, below which points lie on a line [1].
const LINE: f64 = 1e-4;

/// What a fit costs besides its points, in points.
const FIT: usize = 16;

/// Memory of fits: grows to the largest number of points within the radius, then no more.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    found: Vec<Found>,
    /// What fits have taken: points they looked at, and [`FIT`] more for each.
    pub(super) work: usize,
}

/// The plane at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// How far the place is from the plane, along the normal: positive on the side of `toward` [m].
    pub value: f64,
    /// Unit, on the side of `toward`.
    pub normal: DVec3,
    /// Weighted mean of the points [m].
    pub mean: DVec3,
    /// 1 where points lie in a plane, 0 where they spread as far across it as along it (a line, a ball of points) [1].
    pub confidence: f64,
    /// How far the mean lies to the side of the place, along the plane, over the radius [1]: 0 amid points, 0.23 on a straight border.
    pub off_centre: f64,
    /// The place is beyond the border of an open scan: the mean is more than 0.4 radii to the side, and no point is on the other side.
    pub ended: bool,
    /// Points that took part.
    pub points: usize,
}

/// The local surface of a cloud.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    cloud: &'a Cloud,
    normals: Option<&'a [DVec3]>,
    radius: f64,
}

impl<'a> Surface<'a> {
    /// The surface of points, each place's from those within `radius` [m]; none: [`Cloud::measure_support`], which takes a while.
    ///
    /// `normals`: outward unit vectors by id; points beyond the list, and those whose normal is 0 or not finite, have none.
    pub fn new(cloud: &'a Cloud, radius: Option<f64>, normals: Option<&'a [DVec3]>) -> Self {
        let radius = radius.unwrap_or_else(|| cloud.measure_support());
        Self { cloud, normals, radius: if radius.is_finite() { radius.max(0.0) } else { 0.0 } }
    }

    /// How far points take part [m].
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The points.
    pub fn cloud(&self) -> &'a Cloud {
        self.cloud
    }

    /// The plane at `x` [m] on the side of `toward`, a direction of any length: the normal that the surface had a little before, or any
    /// from points to where the place is. 0: the side is chosen, and points in front and behind take part.
    ///
    /// None without three points off a line, where most points around are of other sheets or farther than half the radius, and for an
    /// `x` that is not finite. Continuous in `x` and `toward` else, where the confidence is above 0. Cost: about 1.5 µs for 30 points;
    /// no allocation once `scratch` is large enough.
    pub fn at(&self, x: DVec3, toward: DVec3, scratch: &mut Scratch) -> Option<Fit> {
        let local = self.cloud.local(x)?;
        let toward = toward.normalize_or_zero();
        scratch.found.clear();
        // Searches see x in single precision: a little more, where weights are 0 anyway.
        self.cloud.slots_within(local, self.radius * (1.0 + 1e-6), &mut scratch.found);
        scratch.work = scratch.work.saturating_add(FIT + scratch.found.len());
        let side = if self.majority(x, toward, scratch) < 0.0 { -1.0 } else { 1.0 };
        let mut sums = Sums::default();
        for &(_, slot) in &scratch.found {
            let r = self.cloud.at(slot) - x;
            let around = self.around(r);
            let mut w = around * self.slab(r, toward);
            sums.around += around;
            let normal = self.normal(slot);
            if let Some(n) = normal {
                // A place without a side takes points of both.
                w *= if toward == DVec3::ZERO { 1.0 } else { rise(side * n.dot(toward), SIDE) };
            }
            if w > 0.0 {
                sums.add(w, r, normal.map_or(DVec3::ZERO, |n| side * n));
            }
        }
        let mut fit = sums.fit(x, toward, self.radius)?;
        if fit.off_centre > BORDER {
            // In a gap amid scattered points there are others opposite to the mean; beyond a border there are none.
            let away = x - fit.mean;
            let away = away - away.dot(fit.normal) * fit.normal;
            fit.ended = scratch.found.iter().all(|f| (self.cloud.at(f.1) - x).dot(away) <= 0.0);
        }
        Some(fit)
    }

    /// The weight of a point at `r` from the place: smooth, 0 from the radius on.
    fn around(&self, r: DVec3) -> f64 {
        let s = 1.0 - r.length_squared() / (self.radius * self.radius);
        // NaN, of a radius of 0, is not positive.
        if s > 0.0 { s.powi(4) } else { 0.0 }
    }

    /// How much a point counts for how far in front or behind it is.
    fn slab(&self, r: DVec3, toward: DVec3) -> f64 {
        1.0 - rise(r.dot(toward).abs() / self.radius, SLAB)
    }

    fn normal(&self, slot: u32) -> Option<DVec3> {
        let n = *self.normals?.get(self.cloud.slots.id(slot) as usize)?;
        n.try_normalize()
    }

    /// Positive where most points look to the side of `toward`: inside a closed scan normals look away, and count turned round.
    fn majority(&self, x: DVec3, toward: DVec3, scratch: &Scratch) -> f64 {
        if self.normals.is_none() {
            return 1.0;
        }
        let of = |&(_, slot): &Found| {
            let r = self.cloud.at(slot) - x;
            self.normal(slot).map_or(0.0, |n| self.around(r) * self.slab(r, toward) * n.dot(toward))
        };
        scratch.found.iter().map(of).sum()
    }
}

impl Cloud {
    /// A radius within which there are about as many points as within three spacings of a grid, 28, in most places [m]; not less than
    /// three spacings. Random points need more than those of a grid: their nearest ones are nearer. 0 for less than two positions.
    ///
    /// It is one radius for the whole cloud: where points are more than about three times as far apart as in most places, a surface of
    /// this radius has holes or is none, and a proxy passes. Give a larger one for such scans ([`super::ProxyParams::radius`]), or
    /// divide them into models.
    ///
    /// Cost: some milliseconds.
    pub fn measure_support(&self) -> f64 {
        let n = self.slots.len();
        let mut all = Vec::with_capacity(SAMPLE);
        let mut few = Vec::with_capacity(NEIGHBOURS + 2);
        for i in 0..n.min(SAMPLE) {
            let position = self.slots.position((i * n / n.min(SAMPLE)) as u32);
            // Free room is infinitely far.
            if position[0].is_finite() {
                self.slots_nearest(position, NEIGHBOURS + 1, &mut few);
                all.extend(few.get(NEIGHBOURS).map(|f| f.0));
            }
        }
        all.sort_unstable_by(f32::total_cmp);
        let far = all.get(all.len() / 2).map_or(0.0, |d| f64::from(*d).sqrt());
        (OVER_NEIGHBOUR * far).max(RADIUS * self.measure_spacing())
    }
}

/// From 0 to 1 with no corner while `v` goes from the first to the second.
fn rise(v: f64, (from, to): (f64, f64)) -> f64 {
    let t = ((v - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Weighted sums over points, relative to the place.
#[derive(Default)]
struct Sums {
    /// Of all points within the radius.
    around: f64,
    weight: f64,
    first: DVec3,
    /// xx, yy, zz and yz, xz, xy.
    second: [DVec3; 2],
    normal: DVec3,
    points: usize,
}

impl Sums {
    fn add(&mut self, w: f64, r: DVec3, normal: DVec3) {
        self.weight += w;
        self.first += w * r;
        self.second[0] += w * r * r;
        self.second[1] += w * DVec3::new(r.y * r.z, r.x * r.z, r.x * r.y);
        self.normal += w * normal;
        self.points += 1;
    }

    fn fit(&self, x: DVec3, toward: DVec3, radius: f64) -> Option<Fit> {
        if self.points < 3 || self.weight < SHARE * self.around {
            return None;
        }
        let m = self.first / self.weight;
        let d = self.second[0] / self.weight - m * m;
        let o = self.second[1] / self.weight - DVec3::new(m.y * m.z, m.x * m.z, m.x * m.y);
        let (values, mut normal) = smallest(d, o);
        // No for all at one place, and for what is not finite.
        let spread = values[1] > LINE * values[2];
        if !spread {
            return None;
        }
        // A place without a side has that of the given normals.
        let to = if toward == DVec3::ZERO { self.normal } else { toward };
        if normal.dot(to) < 0.0 {
            normal = -normal;
        }
        if let Some(given) = self.normal.try_normalize() {
            // Points with and without normals mix: no jump between what is given and what is fitted.
            let share = rise(self.normal.length() / self.weight, GIVEN);
            normal = normal.lerp(given, share).try_normalize().unwrap_or(given);
        }
        let value = -normal.dot(m);
        let off_centre = (m + value * normal).length() / radius;
        let least = values[0].max(0.0);
        let confidence = (values[1] - least) / (values[1] + least);
        Some(Fit { value, normal, mean: x + m, confidence, off_centre, ended: false, points: self.points })
    }
}

/// The eigenvalues of a symmetric matrix in ascending order, and the unit eigenvector of the smallest; `d` is its diagonal, `o` its yz,
/// xz and xy. Jacobi rotations: as exact as the matrix, also where eigenvalues are equal.
fn smallest(d: DVec3, o: DVec3) -> ([f64; 3], DVec3) {
    let mut a = [[d.x, o.z, o.y], [o.z, d.y, o.x], [o.y, o.x, d.z]];
    let mut v = DMat3::IDENTITY.to_cols_array_2d();
    for _ in 0..SWEEPS {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        let diagonal = a[0][0].abs() + a[1][1].abs() + a[2][2].abs();
        if off <= 1e-16 * diagonal {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            rotate(&mut a, &mut v, p, q);
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|i: &usize, j| a[*i][*i].total_cmp(&a[*j][*j]));
    (order.map(|i| a[i][i]), DVec3::from_array(v[order[0]]))
}

/// Sweeps of rotations: three are enough for most matrices; each squares what is left off the diagonal.
const SWEEPS: usize = 12;

/// Makes the entry `p`, `q` zero; `v` has eigenvectors as its rows.
fn rotate(a: &mut [[f64; 3]; 3], v: &mut [[f64; 3]; 3], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let r = 3 - p - q;
    let (apq, arp, arq) = (a[p][q], a[r][p], a[r][q]);
    a[p][p] -= t * apq;
    a[q][q] += t * apq;
    a[p][q] = 0.0;
    a[q][p] = 0.0;
    a[r][p] = c * arp - s * arq;
    a[p][r] = a[r][p];
    a[r][q] = s * arp + c * arq;
    a[q][r] = a[r][q];
    let (vp, vq) = (DVec3::from_array(v[p]), DVec3::from_array(v[q]));
    v[p] = (c * vp - s * vq).to_array();
    v[q] = (s * vp + c * vq).to_array();
}

/// What [`super::ProxyParams`] and this have in common.
pub(super) fn check_radius(radius: Option<f64>) -> Result<(), CloudError> {
    check(&[("surface radius", radius.unwrap_or(0.0), false)])
}
