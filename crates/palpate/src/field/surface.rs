//! The mesh (with caps over its holes) in grid coordinates, with the normals that tell its sides apart.
//!
//! Based on: Bærentzen, Aanæs, Signed distance computation using the angle weighted pseudonormal, 2005
//! [baerentzen05].

use super::curve::curve_order;
use crate::mesh::Topology;
use crate::par;
use glam::DVec3;

/// Triangles per parallel work item of the loops here.
const CHUNK: usize = 4096;

/// Triangles in grid coordinates: node (i, j, k) of the grid is the point (i, j, k), lengths are in voxels.
#[derive(Debug)]
pub(crate) struct Surface {
    /// Vertex positions [voxels].
    pub(crate) positions: Vec<DVec3>,
    /// Vertex indices, counter-clockwise from outside; caps follow the mesh's own triangles.
    pub(crate) triangles: Vec<[u32; 3]>,
    /// The triangle across each edge, as in [`Topology`].
    pub(crate) neighbours: Vec<[u32; 3]>,
    /// Unit normal of each triangle.
    pub(crate) normals: Vec<DVec3>,
    /// First corner (3·triangle + corner) of each vertex in `corners`; one more entry than vertices.
    pub(crate) first_corner: Vec<u32>,
    /// Corners (3·triangle + corner) grouped by vertex, ascending.
    pub(crate) corners: Vec<u32>,
    /// The mesh's own number of each triangle; caps follow the mesh's triangles.
    pub(crate) original: Vec<u32>,
    /// Whether a triangle belongs to a sheet, which encloses nothing; empty if none does.
    pub(crate) sheet: Vec<bool>,
}

/// Triangles alone, without what lies beside them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faces<'a> {
    /// [voxels]
    pub(crate) positions: &'a [DVec3],
    pub(crate) triangles: &'a [[u32; 3]],
    /// Whether a triangle belongs to a sheet, which encloses nothing; empty if none does.
    pub(crate) sheet: &'a [bool],
}

impl Faces<'_> {
    /// Whether any triangle belongs to a sheet.
    pub(crate) fn has_sheets(&self) -> bool {
        !self.sheet.is_empty()
    }

    /// Whether triangle `t` belongs to a sheet.
    #[inline]
    pub(crate) fn is_sheet(&self, t: usize) -> bool {
        self.sheet.get(t).is_some_and(|s| *s)
    }

    /// The three corners of triangle `t` [voxels].
    #[inline]
    pub(crate) fn corners_of(&self, t: usize) -> [DVec3; 3] {
        self.triangles[t].map(|v| self.positions[v as usize])
    }
}

/// Where on a triangle a closest point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// In the interior.
    Face,
    /// On the edge from corner `e` to corner `(e + 1) % 3`.
    Edge(usize),
    /// On corner `c`.
    Corner(usize),
}

impl Surface {
    /// Prepares triangles whose indices are in range and whose areas are positive.
    ///
    /// Triangles are put in the order of a space-filling curve, and vertices in the order triangles use them, so that
    /// every later pass finds neighbours in its cache. `original` keeps the way back.
    pub(crate) fn new(positions: &[DVec3], triangles: &[[u32; 3]], topology: &Topology) -> Self {
        let original = curve_order(positions, triangles);
        let invert = || {
            let mut inverse = vec![0u32; original.len()];
            for (new, &old) in original.iter().enumerate() {
                inverse[old as usize] = new as u32;
            }
            inverse
        };
        let (inverse, (positions, triangles)) =
            par::join(invert, || renumber(positions, triangles, &original));
        let normals_and_neighbours = || {
            let mut out = (vec![DVec3::ZERO; triangles.len()], vec![[0u32; 3]; triangles.len()]);
            par::zip_chunks_mut(&mut out.0, CHUNK, &mut out.1, CHUNK, |chunk, normals, neighbours| {
                for (i, (n, to)) in normals.iter_mut().zip(neighbours).enumerate() {
                    let t = chunk * CHUNK + i;
                    let [a, b, c] = triangles[t];
                    *n = unit_normal(positions[a as usize], positions[b as usize], positions[c as usize]);
                    let from = topology.neighbours[original[t] as usize];
                    for e in 0..3 {
                        to[e] = if from[e] >= Topology::NONMANIFOLD {
                            from[e]
                        } else {
                            inverse[from[e] as usize]
                        };
                    }
                }
            });
            out
        };
        let group = || group_corners(&triangles, positions.len());
        let ((normals, neighbours), (first_corner, corners)) = par::join(normals_and_neighbours, group);
        Self { positions, triangles, neighbours, normals, first_corner, corners, original, sheet: Vec::new() }
    }

    /// Its triangles alone.
    pub(crate) fn faces(&self) -> Faces<'_> {
        Faces { positions: &self.positions, triangles: &self.triangles, sheet: &self.sheet }
    }

    /// Marks the triangles for which `is_sheet`, asked with the mesh's own number, holds.
    pub(crate) fn mark_sheets(&mut self, is_sheet: impl Fn(usize) -> bool) {
        self.sheet = self.original.iter().map(|t| is_sheet(*t as usize)).collect();
    }

    /// Whether triangle `t` belongs to a sheet.
    #[inline]
    pub(crate) fn is_sheet(&self, t: usize) -> bool {
        self.sheet.get(t).is_some_and(|s| *s)
    }

    /// About the area of all triangles, from a few thousand of them [voxels²].
    pub(crate) fn area(&self) -> f64 {
        let step = self.triangles.len().div_ceil(4096).max(1);
        let areas = (0..self.triangles.len()).step_by(step).map(|t| {
            let [a, b, c] = self.corners_of(t);
            0.5 * (b - a).cross(c - a).length()
        });
        areas.sum::<f64>() * step as f64
    }

    /// The three corners of triangle `t` [voxels].
    #[inline]
    pub(crate) fn corners_of(&self, t: usize) -> [DVec3; 3] {
        let [a, b, c] = self.triangles[t];
        [self.positions[a as usize], self.positions[b as usize], self.positions[c as usize]]
    }

    /// Sum of the normals around `vertex`, each weighted by its triangle's angle there. Not normalised.
    pub(crate) fn vertex_normal(&self, vertex: usize) -> DVec3 {
        let range = self.first_corner[vertex] as usize..self.first_corner[vertex + 1] as usize;
        let mut sum = DVec3::ZERO;
        for &corner in &self.corners[range] {
            let (t, c) = (corner as usize / 3, corner as usize % 3);
            let tri = self.triangles[t];
            let p = self.positions[tri[c] as usize];
            let e0 = self.positions[tri[(c + 1) % 3] as usize] - p;
            let e1 = self.positions[tri[(c + 2) % 3] as usize] - p;
            sum += self.normals[t] * angle(e0.cross(e1).length(), e0.dot(e1));
        }
        sum
    }

    /// Sum of the two normals across edge `e` of triangle `t`; the triangle's own where nothing is across.
    #[inline]
    pub(crate) fn edge_normal(&self, t: usize, e: usize) -> DVec3 {
        match self.neighbours[t][e] {
            Topology::BOUNDARY | Topology::NONMANIFOLD => self.normals[t],
            other => self.normals[t] + self.normals[other as usize],
        }
    }

    /// Signed distance from `p` to triangle `t`, the closest one, by the pseudonormal of the feature it projects on.
    pub(crate) fn signed_distance_to(&self, t: usize, p: DVec3) -> f64 {
        let (q, feature) = closest_point(self.corners_of(t), p);
        let out = match feature {
            Feature::Face => self.normals[t],
            Feature::Edge(e) => self.edge_normal(t, e),
            Feature::Corner(c) => self.vertex_normal(self.triangles[t][c] as usize),
        };
        let away = p - q;
        if away.dot(out) < 0.0 { -away.length() } else { away.length() }
    }
}

/// Triangles in the given order, their vertices numbered as they come, and the vertices' positions.
fn renumber(positions: &[DVec3], triangles: &[[u32; 3]], order: &[u32]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let mut number = vec![u32::MAX; positions.len()];
    let mut moved = Vec::with_capacity(positions.len());
    let mut sorted = Vec::with_capacity(triangles.len());
    for &t in order {
        let mut tri = triangles[t as usize];
        for v in &mut tri {
            let n = &mut number[*v as usize];
            if *n == u32::MAX {
                *n = moved.len() as u32;
                moved.push(positions[*v as usize]);
            }
            *v = *n;
        }
        sorted.push(tri);
    }
    (moved, sorted)
}

/// The unit normal of triangle a b c; some unit vector orthogonal to its longest edge when the cross product
/// vanishes in rounding, so that the three directions of its plane stay well defined.
fn unit_normal(a: DVec3, b: DVec3, c: DVec3) -> DVec3 {
    let n = (b - a).cross(c - a);
    n.try_normalize().unwrap_or_else(|| {
        let longest = [b - a, c - b, a - c]
            .into_iter()
            .max_by(|x, y| x.length_squared().total_cmp(&y.length_squared()));
        longest.and_then(DVec3::try_normalize).map_or(DVec3::Z, DVec3::any_orthonormal_vector)
    })
}

/// atan2(y, x) for y >= 0, within 2e-4: enough for a weight, and several times faster.
#[inline]
fn angle(y: f64, x: f64) -> f64 {
    let (low, high) = (y.min(x.abs()), y.max(x.abs()));
    let r = low / high.max(1e-300);
    let s = r * r;
    let a = r * (0.999_866 + s * (-0.330_299_5 + s * (0.180_141 + s * (-0.085_133 + s * 0.020_835_1))));
    let a = if y > x.abs() { core::f64::consts::FRAC_PI_2 - a } else { a };
    if x < 0.0 { core::f64::consts::PI - a } else { a }
}

/// Corners by vertex, as first index per vertex and one list.
fn group_corners(triangles: &[[u32; 3]], vertices: usize) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32; vertices + 1];
    for t in triangles {
        for &v in t {
            first[v as usize + 1] += 1;
        }
    }
    for i in 0..vertices {
        first[i + 1] += first[i];
    }
    let mut next = first.clone();
    let mut corners = vec![0u32; 3 * triangles.len()];
    for (t, tri) in triangles.iter().enumerate() {
        for (c, &v) in tri.iter().enumerate() {
            corners[next[v as usize] as usize] = (3 * t + c) as u32;
            next[v as usize] += 1;
        }
    }
    (first, corners)
}

/// The point of triangle `[a, b, c]` closest to `p`, and the feature it lies on.
///
/// Tests the seven Voronoi regions of the triangle by the signs of barycentric products.
pub(crate) fn closest_point([a, b, c]: [DVec3; 3], p: DVec3) -> (DVec3, Feature) {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (a, Feature::Corner(0));
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (b, Feature::Corner(1));
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (a + ab * (d1 / (d1 - d3)), Feature::Edge(0));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (c, Feature::Corner(2));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (a + ac * (d2 / (d2 - d6)), Feature::Edge(2));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && (d4 - d3) >= 0.0 && (d5 - d6) >= 0.0 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return (b + (c - b) * w, Feature::Edge(1));
    }
    let denominator = 1.0 / (va + vb + vc);
    (a + ab * (vb * denominator) + ac * (vc * denominator), Feature::Face)
}
