//! Normals of points: the direction in which their neighbours spread least.
//!
//! Based on: hoppe92 (planes by principal components), pauly02 (surface variation).
//! Differs: neighbours are weighted down to nothing at the farthest, so that normals change smoothly; where the nearest lie on one
//! line, as in scans with dense rows, more are taken until they do not.

use super::Cloud;
use super::surfels::{NONE, Sites};
use crate::par;
use crate::progress::Progress;
use glam::{DVec3, Vec3};

/// Points of a parallel piece of work.
pub(super) const CHUNK: usize = 512;

/// The weight of a neighbour is nothing at this many times the distance of the farthest [1]: more makes all count alike, less leaves
/// few.
const FALL: f64 = 1.1;

/// Neighbours whose spread along their second axis is less than this share of that along the first lie on a line [1, of squares].
const LINE: f64 = 0.02;

/// Neighbours whose variation is above this fill space [1]; 1/3 is the most there can be, a right-angled edge has
/// about 0.08.
const SCATTERED: f64 = 0.13;

/// A point that fewer than this share of its own number of neighbours have among theirs is a stray one [1].
const STRAY: f64 = 0.2;

/// How often more neighbours are taken where they lie on a line: four doublings.
const DOUBLINGS: usize = 4;

/// What the neighbours of a point say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fit {
    /// Unit, of any sign.
    pub(super) normal: Vec3,
    pub(super) variation: f32,
    /// Usual distance of points here: the root of the area each has [m].
    pub(super) scale: f32,
    /// Distance of the point from the plane [m].
    pub(super) residual: f32,
    /// Distance of the second nearest other point, or of the nearest [m].
    pub(super) second: f32,
    /// Whether the neighbours lie on a surface.
    pub(super) planar: bool,
    /// Whether the point is none of theirs.
    pub(super) stray: bool,
}

/// The nearest points of each.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) k: usize,
    /// `k` entries for each, nearest first, then [`NONE`].
    pub(super) list: Vec<u32>,
}

impl Graph {
    pub(super) fn of(&self, i: usize) -> impl Iterator<Item = u32> + '_ {
        self.list[i * self.k..(i + 1) * self.k].iter().copied().take_while(|j| *j != NONE)
    }
}

/// Planes of all points, and who is near whom.
pub(super) fn fit(cloud: &Cloud, sites: &Sites, k: usize, progress: &dyn Progress) -> (Vec<Fit>, Graph) {
    let n = sites.points.len();
    let k = k.min(n - 1);
    let mut fits = vec![Fit::default(); n];
    let mut list = vec![NONE; n * k];
    par::zip_chunks_mut(&mut fits, CHUNK, &mut list, CHUNK * k, |c, fits, list| {
        if progress.cancelled() {
            return;
        }
        let mut found = Vec::with_capacity(k + 2);
        for (at, (fit, list)) in fits.iter_mut().zip(list.chunks_mut(k)).enumerate() {
            let p = sites.points[c * CHUNK + at];
            let mut many = k;
            for _ in 0..=DOUBLINGS {
                // Itself is the first: no two entries are at one place.
                cloud.slots_nearest(p.to_array(), many + 1, &mut found);
                *fit = plane(p, found.iter().map(|f| cloud.slots.position(f.1).into()), found.len(), k);
                if fit.planar || fit.variation > 0.01 || found.len() < many + 1 {
                    break;
                }
                many *= 2;
            }
            for (to, f) in list.iter_mut().zip(found.iter().skip(1)) {
                *to = sites.entry_at[f.1 as usize];
            }
        }
        progress.advance(fits.len() as u64);
    });
    let mut liked = vec![0u32; n];
    for j in list.iter().filter(|j| **j != NONE) {
        liked[*j as usize] += 1;
    }
    for (fit, liked) in fits.iter_mut().zip(liked) {
        fit.stray = f64::from(liked) < STRAY * k as f64;
    }
    let graph = Graph { k, list };
    calm_strays(&mut fits, &graph);
    (fits, graph)
}

/// Stray points stand for no more than those they are near to: their own distances say how far they strayed, not how dense points are.
fn calm_strays(fits: &mut [Fit], graph: &Graph) {
    if !fits.iter().any(|f| f.stray) {
        return;
    }
    let mut scales: Vec<f32> = fits.iter().filter(|f| !f.stray).map(|f| f.scale).collect();
    let middle = scales.len() / 2;
    // Never none: points are neighbours as often as they have some.
    let usual =
        if scales.is_empty() { 0.0 } else { *scales.select_nth_unstable_by(middle, f32::total_cmp).1 };
    for i in (0..fits.len()).filter(|i| fits[*i].stray).collect::<Vec<_>>() {
        let others = graph.of(i).map(|j| fits[j as usize]).filter(|f| !f.stray);
        let most = others.map(|f| f.scale).reduce(f32::max).unwrap_or(usual);
        fits[i].scale = fits[i].scale.min(most);
    }
}

/// The plane of `count` points in ascending order of their distance from `p`, the first being `p` itself; `k` others were asked for
/// at first.
fn plane(p: Vec3, points: impl Iterator<Item = Vec3> + Clone, count: usize, k: usize) -> Fit {
    let second = points.clone().nth(2.min(count.max(1) - 1)).map_or(0.0, |q| q.distance(p));
    let far_sq = points.clone().last().map_or(0.0, |q| f64::from(q.distance_squared(p)));
    let kth_sq = points.clone().nth(k).map_or(far_sq, |q| f64::from(q.distance_squared(p)));
    let weight = |d: DVec3| {
        let w = 1.0 - d.length_squared() / (FALL * FALL * far_sq).max(f64::MIN_POSITIVE);
        w * w
    };
    let (mut sum, mut middle) = (0.0, DVec3::ZERO);
    for q in points.clone() {
        let d = (q - p).as_dvec3();
        let w = weight(d);
        (sum, middle) = (sum + w, middle + w * d);
    }
    middle /= sum;
    // xx, yy, zz, xy, yz, zx.
    let mut m = [0.0; 6];
    for q in points {
        let d = (q - p).as_dvec3();
        let (w, e) = (weight(d) / sum, d - middle);
        let terms = [e.x * e.x, e.y * e.y, e.z * e.z, e.x * e.y, e.y * e.z, e.z * e.x];
        for (m, t) in m.iter_mut().zip(terms) {
            *m += w * t;
        }
    }
    let (values, axis) = least_axis(m);
    let all = values[0] + values[1] + values[2];
    let variation = if all > 0.0 { values[0].max(0.0) / all } else { 0.0 };
    let in_line = values[1] <= LINE * values[2];
    let planar = !in_line && variation < SCATTERED;
    // The disc of the farthest holds all but half of it, besides half of the point itself.
    let disc = |far_sq: f64, count: f64| (core::f64::consts::PI * far_sq / count.max(1.0)).sqrt();
    let scale = if planar {
        disc(far_sq, count as f64 - 1.0)
    } else if in_line {
        // No disc: along a line that of many grows with their number.
        f64::from(second)
    } else {
        disc(kth_sq, k as f64).min(2.0 * f64::from(second))
    };
    Fit {
        normal: axis.as_vec3(),
        variation: variation as f32,
        scale: scale as f32,
        residual: middle.dot(axis).abs() as f32,
        second,
        planar,
        stray: false,
    }
}

/// The eigenvalues of a symmetric matrix (xx, yy, zz, xy, yz, zx), least first, and the unit eigenvector of the least.
pub(super) fn least_axis(m: [f64; 6]) -> ([f64; 3], DVec3) {
    let size = m.iter().fold(0.0f64, |s, x| s.max(x.abs()));
    if !(size > 0.0 && size.is_finite()) {
        return ([0.0; 3], DVec3::Z);
    }
    let mut a = [[m[0], m[3], m[5]], [m[3], m[1], m[4]], [m[5], m[4], m[2]]];
    a.iter_mut().flatten().for_each(|x| *x /= size);
    let mut v = [DVec3::X, DVec3::Y, DVec3::Z];
    // Jacobi's rotations converge quadratically; ten sweeps are more than ever needed.
    for _ in 0..10 {
        let off = a[0][1].abs() + a[1][2].abs() + a[0][2].abs();
        if off < 1e-18 {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            let r = 3 - p - q;
            let (pq, pr, qr) = (a[p][q], a[p][r], a[q][r]);
            a[p][p] -= t * pq;
            a[q][q] += t * pq;
            (a[p][q], a[q][p]) = (0.0, 0.0);
            (a[p][r], a[q][r]) = (c * pr - s * qr, s * pr + c * qr);
            (a[r][p], a[r][q]) = (a[p][r], a[q][r]);
            (v[p], v[q]) = (c * v[p] - s * v[q], s * v[p] + c * v[q]);
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|i, j| a[*i][*i].total_cmp(&a[*j][*j]));
    let axis = v[order[0]].try_normalize().unwrap_or(DVec3::Z);
    (order.map(|i| a[i][i] * size), axis)
}
