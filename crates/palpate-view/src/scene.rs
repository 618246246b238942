//! What a picture shows: triangles, voxels and points, each with its colour.

use crate::image::Rgb;
use glam::{DVec3, Vec3};
use palpate::math::Aabb;
use palpate::par;

/// Faces that meet at less than this angle are shaded as one smooth surface (cosine of 42°).
/// Larger angles round off the edges of machined parts, smaller ones show the facets of scans.
const CREASE_COS: f32 = 0.743;

/// A vertex with more faces than this is shaded flat \[1\]: smoothing costs the square of the count.
const MAX_VALENCE: usize = 96;

/// Sides of a stick.
const STICK_SIDES: usize = 10;

/// How triangles are coloured. A slice that is too short repeats its last colour; an empty one is grey.
#[derive(Clone, Copy, Debug)]
pub enum Paint<'a> {
    /// One colour for all.
    Plain(Rgb),
    /// One colour for each vertex, blended across triangles.
    PerVertex(&'a [Rgb]),
    /// One colour for each triangle.
    PerFace(&'a [Rgb]),
}

/// A triangle ready to draw; positions are relative to the scene's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tri {
    pub(crate) corners: [Vec3; 3],
    pub(crate) normals: [Vec3; 3],
    pub(crate) colours: [Rgb; 3],
    /// 0: no rim; 1 and 2: first and second half of a voxel's face, whose outer edges get a dark rim.
    pub(crate) half: u8,
}

/// A small ball.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dot {
    pub(crate) centre: Vec3,
    pub(crate) radius: f32,
    pub(crate) colour: Rgb,
}

/// Things to draw, in one frame \[m\]. Triangles with indices out of range or non-finite corners are left out.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    origin: Option<DVec3>,
    pub(crate) tris: Vec<Tri>,
    pub(crate) dots: Vec<Dot>,
}

impl Scene {
    /// A scene with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The point all stored positions are relative to \[m\].
    pub(crate) fn origin(&self) -> DVec3 {
        self.origin.unwrap_or(DVec3::ZERO)
    }

    /// The box of everything added so far \[m\]; empty for an empty scene. Rounded to f32 relative to the first point.
    pub fn aabb(&self) -> Aabb {
        let corners = self.tris.iter().flat_map(|t| t.corners);
        let balls = self.dots.iter().flat_map(|d| [d.centre - d.radius, d.centre + d.radius]);
        Aabb::of_points(corners.chain(balls).map(|p| self.origin() + p.as_dvec3()))
    }

    /// Adds triangles. Edges sharper than 42° stay sharp, others are shaded smoothly where vertices are shared.
    ///
    /// Cost: linear; 84 bytes a triangle.
    pub fn mesh(&mut self, positions: &[DVec3], triangles: &[[u32; 3]], paint: Paint<'_>) {
        let Some(first) = positions.iter().copied().find(|p| p.is_finite()) else { return };
        let origin = *self.origin.get_or_insert(first);
        let relative: Vec<Vec3> = positions.iter().map(|p| (*p - origin).as_vec3()).collect();
        let valid = |t: &[u32; 3]| t.iter().all(|&v| relative.get(v as usize).is_some_and(|p| p.is_finite()));
        let faces = par::map(triangles.len(), |i| {
            let t = &triangles[i];
            if !valid(t) {
                return Vec3::ZERO;
            }
            let [a, b, c] = t.map(|v| relative[v as usize]);
            (b - a).cross(c - a)
        });
        let around = Around::new(relative.len(), triangles, valid);
        let tris = par::map(triangles.len(), |i| {
            let t = triangles[i];
            if faces[i] == Vec3::ZERO {
                return None;
            }
            let own = faces[i].normalize_or_zero();
            let colours = match paint {
                Paint::Plain(c) => [c; 3],
                Paint::PerFace(all) => [pick(all, i); 3],
                Paint::PerVertex(all) => t.map(|v| pick(all, v as usize)),
            };
            let normals = t.map(|v| {
                let neighbours = around.of(v as usize);
                if neighbours.len() > MAX_VALENCE {
                    return own;
                }
                let near = neighbours.iter().map(|&f| faces[f as usize]);
                let sum: Vec3 =
                    near.filter(|n| n.dot(own) >= CREASE_COS * n.length()).fold(Vec3::ZERO, |s, n| s + n);
                sum.try_normalize().unwrap_or(own)
            });
            Some(Tri { corners: t.map(|v| relative[v as usize]), normals, colours, half: 0 })
        });
        self.tris.extend(tris.into_iter().flatten());
    }

    /// Adds the cubes of grid cells `ijk`: cell (0, 0, 0) spans from `grid_origin` to `grid_origin + size`.
    /// Faces between two cells of the list are left out. A thin dark rim keeps neighbours apart.
    ///
    /// Cost: sorting of the cells; 168 bytes a visible face.
    pub fn voxels(
        &mut self,
        cells: &[[i32; 3]],
        grid_origin: DVec3,
        size: f64,
        colour: impl Fn([i32; 3]) -> Rgb,
    ) {
        if !grid_origin.is_finite() || !size.is_finite() || cells.is_empty() {
            return;
        }
        let origin = *self.origin.get_or_insert(grid_origin);
        let mut sorted = cells.to_vec();
        par::sort_unstable(&mut sorted);
        sorted.dedup();
        for &cell in &sorted {
            let tint = colour(cell);
            for axis in 0..3 {
                for side in [0_i32, 1] {
                    let mut beside = cell;
                    beside[axis] = beside[axis].saturating_add(2 * side - 1);
                    if sorted.binary_search(&beside).is_err() {
                        self.face(cell, axis, side, grid_origin - origin, size, tint);
                    }
                }
            }
        }
    }

    /// Two triangles for one side of a cell, counter-clockwise from outside.
    fn face(&mut self, cell: [i32; 3], axis: usize, side: i32, offset: DVec3, size: f64, colour: Rgb) {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let corner = |du: i32, dv: i32| {
            let mut at = cell.map(f64::from);
            at[axis] += f64::from(side);
            at[u] += f64::from(du);
            at[v] += f64::from(dv);
            (offset + size * DVec3::from_array(at)).as_vec3()
        };
        let mut ring = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
        if side == 0 {
            ring.reverse();
        }
        let mut normal = [0.0; 3];
        normal[axis] = (2 * side - 1) as f32;
        let normals = [Vec3::from_array(normal); 3];
        for (half, corners) in [(1, [ring[0], ring[1], ring[2]]), (2, [ring[0], ring[2], ring[3]])] {
            self.tris.push(Tri { corners, normals, colours: [colour; 3], half });
        }
    }

    /// A scene whose stored positions are relative to `origin` \[m\]. Scenes that are drawn together share one.
    pub fn around(origin: DVec3) -> Self {
        Self { origin: origin.is_finite().then_some(origin), ..Self::default() }
    }

    /// Adds a round stick between two points, of `radius` \[m\]; with a `tip` it ends as an arrow there.
    pub fn stick(&mut self, from: DVec3, to: DVec3, radius: f64, tip: bool, colour: Rgb) {
        let along = to - from;
        if !(from.is_finite() && to.is_finite() && along.length() > 0.0 && radius > 0.0) {
            return;
        }
        let origin = *self.origin.get_or_insert(from);
        let way = along.normalize_or_zero();
        let side = way.any_orthonormal_vector();
        let other = way.cross(side);
        // The head of an arrow takes three radii across and six along, but at most half of the stick.
        let head = if tip { (6.0 * radius).min(0.5 * along.length()) } else { 0.0 };
        let neck = to - head * way;
        let ring = |k: usize| {
            let angle = core::f64::consts::TAU * k as f64 / STICK_SIDES as f64;
            angle.cos() * side + angle.sin() * other
        };
        let mut tri = |corners: [DVec3; 3], normals: [DVec3; 3]| {
            let corners = corners.map(|p| (p - origin).as_vec3());
            let normals = normals.map(|n| n.as_vec3().normalize_or(Vec3::Z));
            self.tris.push(Tri { corners, normals, colours: [colour; 3], half: 0 });
        };
        for k in 0..STICK_SIDES {
            let (u, v) = (ring(k), ring(k + 1));
            let [a, b, c, d] = [from + radius * u, from + radius * v, neck + radius * v, neck + radius * u];
            tri([a, b, c], [u, v, v]);
            tri([a, c, d], [u, v, u]);
            if tip {
                let (p, q) = (neck + 3.0 * radius * u, neck + 3.0 * radius * v);
                tri([p, q, to], [u + 0.5 * way, v + 0.5 * way, u + v + way]);
                tri([neck, q, p], [-way; 3]);
            }
        }
    }

    /// Adds points as small balls of `radius` \[m\].
    pub fn points(&mut self, points: &[DVec3], radius: f64, colour: Rgb) {
        for p in points.iter().filter(|p| p.is_finite()) {
            let origin = *self.origin.get_or_insert(*p);
            let centre = (*p - origin).as_vec3();
            self.dots.push(Dot { centre, radius: radius as f32, colour });
        }
    }
}

fn pick(colours: &[Rgb], i: usize) -> Rgb {
    colours.get(i).or(colours.last()).copied().unwrap_or([160; 3])
}

/// The triangles around each vertex, in index order.
struct Around {
    starts: Vec<u32>,
    faces: Vec<u32>,
}

impl Around {
    fn new(vertices: usize, triangles: &[[u32; 3]], valid: impl Fn(&[u32; 3]) -> bool) -> Self {
        let mut starts = vec![0_u32; vertices + 1];
        for t in triangles.iter().filter(|t| valid(t)) {
            t.iter().for_each(|&v| starts[v as usize + 1] += 1);
        }
        for v in 0..vertices {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut faces = vec![0; starts[vertices] as usize];
        for (i, t) in triangles.iter().enumerate().filter(|(_, t)| valid(t)) {
            for &v in t {
                faces[next[v as usize] as usize] = i as u32;
                next[v as usize] += 1;
            }
        }
        Self { starts, faces }
    }

    fn of(&self, vertex: usize) -> &[u32] {
        &self.faces[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_voxel_faces_are_left_out() {
        let mut one = Scene::new();
        one.voxels(&[[0; 3]], DVec3::ZERO, 0.1, |_| [9; 3]);
        assert_eq!(one.tris.len(), 12);
        let mut two = Scene::new();
        two.voxels(&[[0; 3], [1, 0, 0], [1, 0, 0]], DVec3::ZERO, 0.1, |_| [9; 3]);
        assert_eq!(two.tris.len(), 20);
        for t in &two.tris {
            let [a, b, c] = t.corners;
            assert!((b - a).cross(c - a).dot(t.normals[0]) > 0.0, "faces turn outward");
        }
    }

    #[test]
    fn sticks_face_outward_and_bad_ones_are_left_out() {
        let mut scene = Scene::around(DVec3::splat(5.0));
        for (from, to, radius) in
            [(DVec3::ZERO, DVec3::ZERO, 1.0), (DVec3::NAN, DVec3::X, 1.0), (DVec3::ZERO, DVec3::X, f64::NAN)]
        {
            scene.stick(from, to, radius, true, [1; 3]);
        }
        assert!(scene.tris.is_empty());
        scene.stick(DVec3::ZERO, DVec3::X, 0.05, true, [1; 3]);
        for t in &scene.tris {
            let [a, b, c] = t.corners;
            assert!((b - a).cross(c - a).dot(t.normals.iter().sum()) > 0.0);
        }
        let aabb = scene.aabb();
        assert!((aabb.max.x - 1.0).abs() < 1e-6 && (aabb.max.y - 0.15).abs() < 0.01, "{aabb:?}");
    }

    #[test]
    fn bad_triangles_are_left_out_and_sharp_edges_stay_sharp() {
        let p = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::splat(f64::NAN)];
        let mut scene = Scene::new();
        let t = [[0, 1, 2], [0, 3, 1], [0, 1, 9], [0, 1, 4], [0, 0, 1]];
        scene.mesh(&p, &t, Paint::PerFace(&[[1; 3], [2; 3]]));
        assert_eq!(scene.tris.len(), 2);
        assert_eq!(scene.tris[0].normals, [Vec3::Z; 3]);
        assert_eq!(scene.tris[1].normals, [Vec3::Y; 3]);
        assert_eq!(scene.aabb().max, DVec3::ONE);
    }
}
