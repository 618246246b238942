//! Signed distances to the triangles of a shape themselves.
//!
//! Based on: Bærentzen, Aanæs, Signed distance computation using the angle weighted pseudonormal, 2005 [baerentzen05].
//! Differs: only where the field, within its bound, cannot tell the side.

use super::Shape;
use crate::field::surface::{Feature, closest_point};
use crate::field::{Closest, Sample, SignMethod, Source};
use crate::math::Aabb;
use glam::DVec3;

/// A shape as its triangles, caps included: exact distances, in its own frame [m]. Negative inside.
#[derive(Clone, Debug)]
pub struct Triangles {
    shape: Shape,
    /// Of each vertex, weighted by the angles of its triangles; empty where the surface is not closed, and the field alone tells sides.
    normals: Vec<DVec3>,
}

impl Shape {
    /// The triangles as a source of distances. Cost: once over the mesh.
    pub fn triangles(&self) -> Triangles {
        let mesh = self.mesh();
        if self.field.report.sign_method != SignMethod::Pseudonormal || !mesh.report().watertight {
            return Triangles { shape: self.clone(), normals: Vec::new() };
        }
        let mut normals = vec![DVec3::ZERO; mesh.positions().len()];
        for (t, corners) in mesh.triangles().iter().enumerate() {
            let p = mesh.corners(t);
            let n = normal(p);
            for (i, v) in corners.iter().enumerate() {
                let (one, two) = (p[(i + 1) % 3] - p[i], p[(i + 2) % 3] - p[i]);
                // Of no length there is no angle.
                let angle = one.cross(two).length().atan2(one.dot(two));
                normals[*v as usize] += n * angle;
            }
        }
        Triangles { shape: self.clone(), normals }
    }
}

fn normal([a, b, c]: [DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a).normalize_or_zero()
}

impl Triangles {
    /// Whether `p` is inside, by the feature it is closest to.
    fn inside(&self, p: DVec3, found: &Closest) -> Option<bool> {
        let (mesh, t) = (self.shape.mesh(), found.triangle as usize);
        // Caps are not of the mesh; closed ones have none.
        if self.normals.is_empty() || t >= mesh.triangles().len() {
            return None;
        }
        let corners = mesh.corners(t);
        let (q, feature) = closest_point(corners, p);
        let out = match feature {
            Feature::Face => normal(corners),
            Feature::Edge(e) => {
                let other = *mesh.topology().neighbours.get(t)?.get(e)? as usize;
                (other < mesh.triangles().len()).then(|| normal(corners) + normal(mesh.corners(other)))?
            }
            Feature::Corner(c) => self.normals[mesh.triangles()[t][c] as usize],
        };
        Some((p - q).dot(out) < 0.0)
    }
}

impl Triangles {
    /// What `p` is to the surface, whose closest point is known.
    fn signed(&self, p: DVec3, found: &Closest) -> Sample {
        if found.distance.is_nan() {
            return Sample::UNDEFINED;
        }
        let field = self.shape.field();
        let (lower, upper) = field.bounds(p);
        let inside = if lower > 0.0 {
            false
        } else if upper < 0.0 {
            true
        } else {
            self.inside(p, found).unwrap_or_else(|| field.sample(p).distance < 0.0)
        };
        let way = (p - found.point).normalize_or_zero();
        if inside {
            Sample { distance: -found.distance, gradient: -way }
        } else {
            Sample { distance: found.distance, gradient: way }
        }
    }

    /// Samples of many points: the same bits as one by one, for any number of threads, in less than half the time; see
    /// [`crate::field::Exact::closest_batch`].
    pub fn sample_batch(&self, points: &[DVec3]) -> Vec<Sample> {
        let mut out = vec![Sample::UNDEFINED; points.len()];
        self.shape.exact().each(points, &mut out, |p, found| self.signed(p, &found));
        out
    }

    /// The distances alone [m], as [`Triangles::sample_batch`] has them.
    pub fn distance_batch(&self, points: &[DVec3]) -> Vec<f64> {
        let mut out = vec![f64::NAN; points.len()];
        self.shape.exact().each(points, &mut out, |p, found| self.signed(p, &found).distance);
        out
    }
}

impl Source for Triangles {
    /// The gradient is unit, outward; zero on the surface itself.
    fn sample(&self, p: DVec3) -> Sample {
        self.signed(p, &self.shape.exact().closest(p, None))
    }

    fn bounds(&self, p: DVec3) -> (f64, f64) {
        let d = self.sample(p).distance;
        (d, d)
    }

    fn aabb(&self) -> Aabb {
        self.shape.aabb()
    }

    fn closest_point(&self, p: DVec3) -> Option<DVec3> {
        Some(self.shape.exact().closest(p, None).point).filter(|q| q.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::source::random::Random;
    use crate::mesh::{Mesh, RepairParams, samples, winding_number_exact};

    /// Referee of sides: the winding number of all triangles. Points from 1e-9 m to a third of a voxel off the surface, at faces,
    /// edges and vertices, where a coarse field is often wrong.
    #[test]
    fn sides_are_those_of_the_winding_number() {
        let mut random = Random(5);
        for name in ["gear", "torus-knot", "bumpy-sphere"] {
            let Some(raw) = samples::by_name(name) else { panic!("no sample {name}") };
            let mesh = Mesh::new(raw, &RepairParams::default()).expect("a sample");
            let voxel = mesh.aabb().extent().max_element() / 24.0;
            let shape = Shape::build(mesh, voxel, &Default::default()).expect("a shape");
            let (triangles, mesh) = (shape.triangles(), shape.mesh());
            let (mut inside, mut corrected, mut asked) = (0, 0, 0);
            let mut all = Vec::new();
            for _ in 0..400 {
                let t = (random.range(0.0, mesh.triangles().len() as f64)) as usize;
                let [a, b, c] = mesh.corners(t);
                let mut w = [random.range(0.0, 1.0), random.range(0.0, 1.0), random.range(0.0, 1.0)];
                // Some on edges, some on vertices.
                let kind = random.range(0.0, 3.0);
                if kind < 1.0 {
                    w = [1.0, 0.0, 0.0];
                } else if kind < 2.0 {
                    w[0] = 0.0;
                }
                let sum: f64 = w.iter().sum();
                let q = (a * w[0] + b * w[1] + c * w[2]) / sum;
                let p = q + random.direction() * voxel * 10f64.powf(random.range(-7.0, -0.5));
                let winding = winding_number_exact(mesh.positions(), mesh.triangles(), p);
                let sample = triangles.sample(p);
                all.push((p, sample));
                assert_eq!(sample.distance < 0.0, winding > 0.5, "{name}: {p} at {}", sample.distance);
                asked += 1;
                inside += usize::from(winding > 0.5);
                corrected += usize::from((shape.field().sample(p).distance < 0.0) != (winding > 0.5));
            }
            // Many at once are as one by one.
            let points: Vec<DVec3> = all.iter().map(|(p, _)| *p).collect();
            let (samples, distances) = (triangles.sample_batch(&points), triangles.distance_batch(&points));
            for (((_, one), sample), distance) in all.iter().zip(samples).zip(distances) {
                assert_eq!((*one, one.distance), (sample, distance));
            }
            assert!((0.2..0.8).contains(&(f64::from(inside as u32) / f64::from(asked))), "{name}: {inside}");
            assert!(corrected > 10, "{name}: the field was wrong only {corrected} times");
        }
    }
}
