//! Witness points: where on the mesh a distance is measured to, from the triangles kept at the nodes.

use super::brick::{NODES, SIDE};
use super::scan::{BRICK, NONE};
use super::surface::closest_point;
use super::{Field, SignMethod};
use crate::mesh::Mesh;
use glam::DVec3;

/// Most times the search moves to the point it found. One step suffices near the surface, a few from far away.
const STEPS: usize = 6;
/// Most triangles one walk over the mesh goes on. Each is nearer than the last, so this only bounds the time.
const WALK: usize = 256;

/// A point of the surface, and the distance to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Witness {
    /// On the surface, in the shape's frame [m].
    pub point: DVec3,
    /// Its triangle, as the mesh numbers them; those of caps follow.
    pub triangle: u32,
    /// Distance to `point` [m], negative inside.
    pub distance: f64,
}

impl Field {
    /// Whether closest triangles were kept ([`super::FieldParams::keep_triangles`]).
    pub fn has_triangles(&self) -> bool {
        !self.closest.is_empty()
    }

    /// A point of the surface near `p`, in the shape's frame [m], measured on the triangles of `mesh`, the one the field was
    /// built from: none without kept triangles, or for a point that is not finite.
    ///
    /// The distance is never below the true one and has no grid error. Within the band it is exact: the search walks over the
    /// mesh from the triangles kept around `p`. From farther away it starts where the field says the surface is, and
    /// may end in another place that is locally closest, a few voxels farther than the closest. About 2 µs near the
    /// surface.
    pub fn witness(&self, mesh: &Mesh, p: DVec3) -> Option<Witness> {
        if self.closest.is_empty() || !p.is_finite() {
            return None;
        }
        let aabb = self.lattice.aabb();
        // Far away, where the field says the surface is.
        let here = self.sample(p);
        let near = here.distance.abs() <= self.report.band;
        let start = if near { p } else { p - here.gradient.normalize_or_zero() * here.distance };
        let mut at = start.clamp(aabb.min, aabb.max);
        let mut best = None;
        for _ in 0..STEPS {
            let before: Option<(f64, DVec3, u32)> = best;
            for t in self.triangles_around(at) {
                offer(mesh, p, t, &mut best);
            }
            walk(mesh, p, &mut best);
            // Nothing kept here: down the field, toward the surface. Else where the best point is, until that stays.
            at = match best {
                None => {
                    let s = self.sample(at);
                    (at - s.gradient.normalize_or_zero() * s.distance).clamp(aabb.min, aabb.max)
                }
                Some((d, q, _)) if before.is_none_or(|(b, ..)| d < b) => q,
                Some(_) => break,
            };
        }
        best.map(|(squared, point, triangle)| {
            let inside = self.report.sign_method != SignMethod::Unsigned && here.distance < 0.0;
            let distance = squared.sqrt();
            Witness { point, triangle, distance: if inside { -distance } else { distance } }
        })
    }

    /// The triangles kept at the eight nodes around `p`, which is in the box; none without a brick.
    fn triangles_around(&self, p: DVec3) -> impl Iterator<Item = u32> + '_ {
        let l = &self.lattice;
        let u = ((p - l.origin) / l.voxel).max(DVec3::ZERO).to_array();
        let cell: [usize; 3] = core::array::from_fn(|i| (u[i] as usize / BRICK).min(l.cells[i] as usize - 1));
        let node: [usize; 3] = core::array::from_fn(|i| (u[i] as usize - cell[i] * BRICK).min(BRICK - 1));
        let entry = self.directory[(cell[2] * l.cells[1] as usize + cell[1]) * l.cells[0] as usize + cell[0]];
        let first = usize::try_from(entry).ok().and_then(|e| e.checked_sub(l.corner_count()));
        let nodes = first.and_then(|f| self.closest.get(f..f + NODES)).unwrap_or(&[]);
        (0..8).filter_map(move |o| {
            let n = [node[0] + (o & 1), node[1] + (o >> 1 & 1), node[2] + (o >> 2)];
            nodes.get((n[2] * SIDE + n[1]) * SIDE + n[0]).copied().filter(|t| *t != NONE)
        })
    }
}

/// Squared distance, point and triangle of the best so far.
type Best = Option<(f64, DVec3, u32)>;

/// Takes triangle `t` if it is nearer to `p`; whether it is.
fn offer(mesh: &Mesh, p: DVec3, t: u32, best: &mut Best) -> bool {
    let Some(corners) = corners(mesh, t) else { return false };
    let q = closest_point(corners, p).0;
    let squared = (q - p).length_squared();
    let nearer = best.is_none_or(|(d, ..)| squared < d);
    if nearer {
        *best = Some((squared, q, t));
    }
    nearer
}

/// Walks from triangle to triangle, over edges and round their ends, as long as that leads nearer.
fn walk(mesh: &Mesh, p: DVec3, best: &mut Best) {
    let closed = mesh.closed();
    let topology = if closed.triangles.is_empty() { mesh.topology() } else { &closed.topology };
    let across = |t: u32| topology.neighbours.get(t as usize).copied().unwrap_or([NONE; 3]);
    for _ in 0..WALK {
        let Some((.., t)) = *best else { return };
        let mut nearer = false;
        for n in across(t) {
            nearer |= offer(mesh, p, n, best);
            for m in across(n) {
                nearer |= m != t && offer(mesh, p, m, best);
            }
        }
        if !nearer {
            return;
        }
    }
}

/// The corners of triangle `t` of a mesh with its caps [m].
fn corners(mesh: &Mesh, t: u32) -> Option<[DVec3; 3]> {
    let t = t as usize;
    if t < mesh.triangles().len() {
        return Some(mesh.corners(t));
    }
    let closed = mesh.closed();
    let [a, b, c] = *closed.triangles.get(t)?;
    let count = mesh.positions().len();
    let position = |v: u32| {
        let v = v as usize;
        mesh.positions().get(v).or_else(|| closed.caps.positions.get(v - count)).copied()
    };
    Some([position(a)?, position(b)?, position(c)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::FieldParams;
    use crate::mesh::samples;

    /// Witnesses are on the surface, never nearer than the truth, and nearly always the truth, inside the band and far
    /// from it, on caps too.
    #[test]
    fn witnesses_are_the_closest_points() {
        for name in ["gear", "cube-missing-face", "torus"] {
            let mesh = Mesh::new(samples::by_name(name).expect("a sample"), &Default::default()).unwrap();
            let voxel = mesh.aabb().extent().max_element() / 60.0;
            let params = FieldParams { keep_triangles: true, padding: 12.0, ..Default::default() };
            let field = Field::build(&mesh, voxel, &params).unwrap();
            assert!(field.has_triangles());
            let count = mesh.triangles().len() + mesh.closed().caps.triangles.len();
            let all: Vec<[DVec3; 3]> = (0..count as u32).filter_map(|t| corners(&mesh, t)).collect();
            assert_eq!(all.len(), count);
            let aabb = field.lattice().aabb();
            let mut state = 11u64;
            let mut random = move || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            // Exact ones and all, near the surface and far; the largest excess; those on caps.
            let (mut exact, mut all_of, mut excess, mut capped) = ([0, 0], [0, 0], 0.0f64, 0);
            for _ in 0..4000 {
                // A fifth wider than the box on every side.
                let f = DVec3::new(random(), random(), random()) * 1.4 - 0.2;
                let p = aabb.min + f * aabb.extent();
                let truth =
                    all.iter().map(|t| (closest_point(*t, p).0 - p).length()).fold(f64::INFINITY, f64::min);
                let w = field.witness(&mesh, p).expect("triangles were kept");
                assert!((w.distance.abs() - (w.point - p).length()).abs() < 1e-12);
                let on = closest_point(all[w.triangle as usize], w.point).0;
                assert!((on - w.point).length() < 1e-9, "{name}: not on its triangle");
                assert!(w.distance.abs() > truth - 1e-12);
                if truth > voxel {
                    assert_eq!(w.distance < 0.0, field.sample(p).distance < 0.0);
                }
                let far = usize::from(truth > 3.0 * voxel);
                exact[far] += usize::from(w.distance.abs() < truth + 1e-9);
                all_of[far] += 1;
                excess = excess.max(w.distance.abs() - truth);
                capped += usize::from(w.triangle as usize >= mesh.triangles().len());
            }
            assert!(all_of[0] > 150, "{name}: only {} points near the surface", all_of[0]);
            assert!(exact[0] * 100 >= all_of[0] * 99, "{name}: {exact:?} of {all_of:?} are exact");
            assert!(exact[1] * 2 >= all_of[1], "{name}: {exact:?} of {all_of:?} are exact");
            assert!(excess < 10.0 * voxel, "{name}: off by {} voxels", excess / voxel);
            assert_eq!(capped > 0, name == "cube-missing-face");
            assert!(field.witness(&mesh, DVec3::NAN).is_none());
            let without = Field::build(&mesh, voxel, &FieldParams::default()).unwrap();
            assert!(without.witness(&mesh, aabb.centre()).is_none());
        }
    }
}
