//! Where errors are measured and how they are summed up.

use crate::models::Model;
use glam::DVec3;
use palpate::mesh::RawMesh;
use serde::Serialize;

/// Points per case: half of them uniform in the padded box, half near the surface.
pub const POINTS: usize = 10_000;

/// Half width of the layer that the points near the surface are drawn from [voxels].
const NEAR_VOX: f64 = 2.5;

/// How far from the surface the errors of a band of ±3 voxels are counted [voxels]. Larger: corners of the sampled cell lie
/// outside the band, and their clamped values count as errors (OpenVDB's mean grows by a third between 2.5 and 2.75).
/// Smaller: fewer points, though the band promises them.
pub const BAND_CORE_VOX: f64 = 2.5;

/// Distance from the surface from which a wrong sign counts [voxels]; nearer, it is an ordinary error.
const SIGN_VOX: f64 = 1.0;

/// Errors of sampled distances against exact ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Errors {
    /// Mean of the absolute error [voxels].
    pub mean: f64,
    /// 99th percentile [voxels].
    pub p99: f64,
    /// Largest [voxels].
    pub max: f64,
    /// Points the three numbers were taken over.
    pub points: usize,
    /// Points farther than one voxel from the surface whose sign is wrong, of all points; null for unsigned peers.
    pub wrong_signs: Option<usize>,
    /// Points for which no distance was given.
    pub missing: usize,
}

/// Random numbers in [0, 1): SplitMix64, so that every machine draws the same points.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence decided by `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `n` points in the unit cube.
pub fn random_points(seed: u64, n: usize) -> impl Iterator<Item = DVec3> {
    let mut random = Random::new(seed);
    (0..n).map(move |_| DVec3::new(random.unit(), random.unit(), random.unit()))
}

/// The points of a case, rounded to f32 as peers read them [m].
pub fn points(model: &Model, voxel: f64, seed: u64) -> Vec<DVec3> {
    // Two voxels of padding: inside every grid of the run.
    let bounds = crate::models::aabb(&model.closed).padded(2.0 * voxel);
    let uniform = random_points(seed, POINTS / 2).map(|u| bounds.min + u * bounds.extent());
    let near = near_surface(&model.closed, NEAR_VOX * voxel, seed ^ 1, POINTS - POINTS / 2);
    uniform.chain(near).map(|p| p.clamp(bounds.min, bounds.max).as_vec3().as_dvec3()).collect()
}

/// Points on the surface, uniform by area, moved along the triangle's normal by up to `reach` [m].
fn near_surface(mesh: &RawMesh, reach: f64, seed: u64, n: usize) -> Vec<DVec3> {
    let corners = |t: &[u32; 3]| t.map(|v| mesh.positions[v as usize]);
    let mut total = 0.0;
    let areas: Vec<f64> = mesh
        .triangles
        .iter()
        .map(|t| {
            let [a, b, c] = corners(t);
            total += 0.5 * (b - a).cross(c - a).length();
            total
        })
        .collect();
    let mut random = Random::new(seed);
    let mut one = || {
        let at = random.unit() * total;
        let t = areas.partition_point(|&s| s <= at).min(areas.len().saturating_sub(1));
        let [a, b, c] = corners(&mesh.triangles[t]);
        let (mut u, mut v) = (random.unit(), random.unit());
        if u + v > 1.0 {
            (u, v) = (1.0 - u, 1.0 - v);
        }
        let normal = (b - a).cross(c - a).normalize_or_zero();
        a + u * (b - a) + v * (c - a) + (2.0 * random.unit() - 1.0) * reach * normal
    };
    (0..n).map(|_| one()).collect()
}

/// Errors of `found` against `exact`, both [m] and negative inside, in voxels of `voxel` metres.
///
/// `within`: only points at most this many voxels from the surface count for mean, p99 and max (signs always count).
/// `signed` is false for peers that give no sign: magnitudes are compared.
pub fn errors(found: &[f32], exact: &[f64], voxel: f64, within: f64, signed: bool) -> Errors {
    let mut all: Vec<f64> = Vec::with_capacity(exact.len());
    let (mut wrong, mut missing) = (0, exact.len().saturating_sub(found.len()));
    for (&d, &truth) in found.iter().zip(exact) {
        let d = f64::from(d);
        if d.is_nan() {
            missing += 1;
            continue;
        }
        let far = truth.abs() > SIGN_VOX * voxel;
        if signed && far && (d < 0.0) != (truth < 0.0) {
            wrong += 1;
        }
        if truth.abs() <= within * voxel {
            let error = if signed { d - truth } else { d.abs() - truth.abs() };
            all.push(error.abs() / voxel);
        }
    }
    all.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| all.get(((all.len() as f64 * q) as usize).min(all.len().saturating_sub(1))).copied();
    Errors {
        mean: all.iter().sum::<f64>() / all.len().max(1) as f64,
        p99: at(0.99).unwrap_or(0.0),
        max: at(1.0).unwrap_or(0.0),
        points: all.len(),
        wrong_signs: signed.then_some(wrong),
        missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_in_voxels_with_signs_apart() {
        let exact = [0.1, -0.1, 3.0, -3.0, 0.2];
        let found = [0.2, 0.1, 3.5, 3.0, f32::NAN];
        let near = errors(&found, &exact, 1.0, 1.0, true);
        assert_eq!((near.points, near.wrong_signs, near.missing), (2, Some(1), 1));
        assert!((near.max - 0.2).abs() < 1e-7 && (near.mean - 0.15).abs() < 1e-7, "{near:?}");
        let unsigned = errors(&found, &exact, 0.5, f64::INFINITY, false);
        assert_eq!((unsigned.points, unsigned.wrong_signs), (4, None));
        assert!((unsigned.max - 1.0).abs() < 1e-6, "half a metre is one voxel of 0.5 m: {unsigned:?}");
    }
}
