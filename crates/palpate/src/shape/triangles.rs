//! Signed distances to the triangles of a shape themselves.
//!
//! Based on: Bærentzen, Aanæs, Signed distance computation using the angle weighted pseudonormal, 2005 [baerentzen05].
//! Differs: only near the surface, where the field, within its bound, cannot tell the side; meshes that are not closed, or meet themselves, ask the
//! winding number there.

use super::Shape;
use crate::field::surface::{Feature, closest_point};
use crate::field::{Closest, Sample, SignMethod, Source};
use crate::math::Aabb;
use glam::DVec3;

/// Farther from the surface than this, every node around a point is on the point's side of it [voxels]: the diagonal of a cell, and some
/// rounding. Cells that are larger have no surface in them.
const CLEAR: f64 = 1.75;

/// A shape as its triangles, caps included: exact distances, in its own frame [m]. Negative inside.
#[derive(Clone, Debug)]
pub struct Triangles {
    shape: Shape,
}

impl Shape {
    /// The triangles as a source of distances. No cost: what they need is made by the first question that needs it.
    pub fn triangles(&self) -> Triangles {
        Triangles { shape: self.clone() }
    }

    /// Whether `p`, of which the closest point is known, is inside the surface, by the field's method but exactly: far from the surface
    /// as the nodes around it, else by the feature it is closest to, or by the winding number.
    pub(crate) fn inside(&self, p: DVec3, found: &Closest) -> bool {
        let (field, report) = (&self.field, self.field.report());
        if report.sign_method == SignMethod::Unsigned || !field.lattice().aabb().contains(p) {
            return false;
        }
        if found.distance > CLEAR * field.lattice().voxel {
            return field.sample(p).distance < 0.0;
        }
        let (lower, upper) = field.bounds(p);
        if lower > 0.0 || upper < 0.0 {
            return upper < 0.0;
        }
        let behind = match report.sign_method {
            SignMethod::Winding => None,
            _ => self.behind(p, found.triangle as usize),
        };
        behind.unwrap_or_else(|| self.exact.winding(p) > 0.5)
    }

    /// Whether `p` is behind the feature of triangle `t` that it is closest to; none where that is open.
    fn behind(&self, p: DVec3, t: usize) -> Option<bool> {
        // Caps are not of the mesh.
        if t >= self.mesh.triangles().len() {
            return None;
        }
        let corners = self.mesh.corners(t);
        let (q, feature) = closest_point(corners, p);
        let out = match feature {
            Feature::Face => normal(corners),
            Feature::Edge(e) => normal(corners) + normal(self.mesh.corners(self.across(t, e)?)),
            Feature::Corner(c) => self.around(t, c)?,
        };
        Some((p - q).dot(out) < 0.0)
    }

    /// The triangle across an edge.
    fn across(&self, t: usize, e: usize) -> Option<usize> {
        let other = *self.mesh.topology().neighbours.get(t)?.get(e)? as usize;
        (other < self.mesh.triangles().len()).then_some(other)
    }

    /// The normals of the triangles around corner `c` of triangle `t`, each weighted by its angle there; none where these do not close.
    fn around(&self, t: usize, c: usize) -> Option<DVec3> {
        let vertex = self.mesh.triangles()[t][c];
        let (mut sum, mut at) = (DVec3::ZERO, t);
        // No more than there are, whatever the neighbours say.
        for _ in 0..self.mesh.triangles().len() {
            let i = self.mesh.triangles()[at].iter().position(|v| *v == vertex)?;
            let p = self.mesh.corners(at);
            let (one, two) = (p[(i + 1) % 3] - p[i], p[(i + 2) % 3] - p[i]);
            // Of no length there is no angle.
            sum += normal(p) * one.cross(two).length().atan2(one.dot(two));
            at = self.across(at, i)?;
            if at == t {
                return Some(sum);
            }
        }
        None
    }
}

fn normal([a, b, c]: [DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a).normalize_or_zero()
}

impl Triangles {
    /// What `p` is to the surface, whose closest point is known.
    fn signed(&self, p: DVec3, found: &Closest) -> Sample {
        if found.distance.is_nan() {
            return Sample::UNDEFINED;
        }
        let way = (p - found.point).normalize_or_zero();
        if self.shape.inside(p, found) {
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
    use crate::mesh::{Mesh, RawMesh, RepairParams, samples, winding_number_exact};

    /// A bumpy ball with holes, and one that meets another: neither is closed without crossing itself.
    fn open_and_crossing() -> [RawMesh; 2] {
        let mut open = samples::bumpy_sphere(0.05, 0.008, 5, 4, 2);
        let away = |t: &[u32; 3]| {
            let middle = t.iter().map(|v| open.positions[*v as usize]).sum::<DVec3>() / 3.0;
            [DVec3::X, DVec3::Y].iter().any(|way| middle.normalize().dot(*way) > 0.97)
        };
        open.triangles = open.triangles.iter().filter(|t| !away(t)).copied().collect();
        let mut two = samples::bumpy_sphere(0.05, 0.008, 5, 4, 2);
        let (first, other) = (two.positions.len() as u32, two.clone());
        two.positions.extend(other.positions.iter().map(|p| *p + DVec3::new(0.06, 0.01, 0.0)));
        two.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
        [open, two]
    }

    /// Referee of sides: the winding number of all triangles, caps included. Points from 1e-9 m to a third of a voxel off the surface, at
    /// faces, edges and vertices, where a coarse field is often wrong; and anywhere in the box.
    #[test]
    fn sides_are_those_of_the_winding_number() {
        let mut random = Random(5);
        let mut meshes: Vec<(&str, RawMesh)> = vec![];
        for name in ["gear", "torus-knot", "bumpy-sphere", "cube-missing-face", "two-overlapping-cubes"] {
            let Some(raw) = samples::by_name(name) else { panic!("no sample {name}") };
            meshes.push((name, raw));
        }
        let [open, two] = open_and_crossing();
        meshes.extend([("open", open), ("crossing", two)]);
        let mut by_winding = 0;
        for (name, raw) in meshes {
            let mesh = Mesh::new(raw, &RepairParams::default()).expect("a sample");
            let voxel = mesh.aabb().extent().max_element() / 24.0;
            let shape = Shape::build(mesh, voxel, &Default::default()).expect("a shape");
            by_winding += usize::from(shape.field().report().sign_method == SignMethod::Winding);
            let (triangles, mesh) = (shape.triangles(), shape.mesh());
            let closed = mesh.closed();
            let positions = [mesh.positions(), &closed.caps.positions].concat();
            let all = if closed.caps.triangles.is_empty() { mesh.triangles() } else { &closed.triangles };
            let (mut inside, mut corrected, mut asked) = (0, 0, 0);
            let mut found = Vec::new();
            for kind in 0..600 {
                let t = (random.range(0.0, mesh.triangles().len() as f64)) as usize;
                let [a, b, c] = mesh.corners(t);
                let mut w = [random.range(0.0, 1.0), random.range(0.0, 1.0), random.range(0.0, 1.0)];
                let aabb = mesh.aabb();
                let p = if kind % 4 == 3 {
                    aabb.min + aabb.extent() * DVec3::from(w)
                } else {
                    // Some on vertices, some on edges.
                    if kind % 4 == 0 {
                        w = [1.0, 0.0, 0.0];
                    } else if kind % 4 == 1 {
                        w[0] = 0.0;
                    }
                    let sum: f64 = w.iter().sum();
                    let q = (a * w[0] + b * w[1] + c * w[2]) / sum;
                    q + random.direction() * voxel * 10f64.powf(random.range(-7.0, -0.5))
                };
                let winding = winding_number_exact(&positions, all, p);
                let sample = triangles.sample(p);
                found.push((p, sample));
                assert_eq!(sample.distance < 0.0, winding > 0.5, "{name}: {p} at {}", sample.distance);
                asked += 1;
                inside += usize::from(winding > 0.5);
                corrected += usize::from((shape.field().sample(p).distance < 0.0) != (winding > 0.5));
            }
            // Many at once are as one by one.
            let points: Vec<DVec3> = found.iter().map(|(p, _)| *p).collect();
            let (samples, distances) = (triangles.sample_batch(&points), triangles.distance_batch(&points));
            for (((_, one), sample), distance) in found.iter().zip(samples).zip(distances) {
                assert_eq!((*one, one.distance), (sample, distance));
            }
            assert!((0.2..0.8).contains(&(f64::from(inside as u32) / f64::from(asked))), "{name}: {inside}");
            // Flat faces on the grid are exact in the field too.
            assert!(name.contains("cube") || corrected > 10, "{name}: the field was wrong {corrected} times");
        }
        assert!(by_winding >= 2, "{by_winding} meshes ask the winding number");
    }

    /// A surface that encloses nothing has no inside, exactly as with its field.
    #[test]
    fn sheets_have_no_inside() {
        let mesh = Mesh::new(samples::sheet(24), &RepairParams::default()).expect("a sample");
        let voxel = mesh.aabb().extent().max_element() / 24.0;
        let shape = Shape::build(mesh, voxel, &Default::default()).expect("a shape");
        assert_eq!(shape.field().report().sign_method, SignMethod::Unsigned);
        let (triangles, aabb, mut random) = (shape.triangles(), shape.aabb(), Random(6));
        for _ in 0..200 {
            let p = 0.5 * (aabb.min + aabb.max) + random.direction() * voxel * random.range(0.0, 3.0);
            assert!(triangles.sample(p).distance >= 0.0, "{p}");
        }
    }
}
