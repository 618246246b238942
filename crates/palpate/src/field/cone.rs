//! Where a vertex can be the closest point: the polar cone of its edges.
//!
//! A point p + x is closest to vertex p among all points of the fan around p iff no edge e of the fan leads nearer:
//! e·x <= 0. That convex cone is clipped on the six faces of the cube [-1, 1]³, so it is found wherever it points,
//! and stored as one rectangle of slopes a face. Most vertices of a smooth mesh do without: see `scan/fan.rs`.

use super::surface::Surface;
use crate::mesh::Topology;
use glam::{DVec3, Vec3};

/// Slack on e·x <= 0 relative to |e|, for |x| <= √3, so that neighbouring regions overlap in spite of rounding.
const SLACK: f64 = 1e-7;
/// Corners of a clipped polygon kept; a square cut by more lines than this keeps its last shape, which is larger.
const MAX_CORNERS: usize = 24;

/// The part of a vertex's cone that leaves through one face of the unit cube.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cone {
    pub(crate) vertex: u32,
    /// Any triangle that uses the vertex.
    pub(crate) triangle: u32,
    /// Face of the cube: axis 0, 1, 2 and, from 3 on, its negative side.
    face: u8,
    /// Slopes per unit along the axis: lowest and highest along u = axis + 1, then along v = axis + 2.
    pub(crate) slopes: [f32; 4],
    /// Angle-weighted normal: the side of the surface the cone is on. Not normalised.
    pub(crate) normal: Vec3,
}

impl Cone {
    /// Axis and direction (+1 or −1) of the face.
    pub(crate) fn axis(&self) -> (usize, f64) {
        (usize::from(self.face % 3), if self.face < 3 { 1.0 } else { -1.0 })
    }
}

/// Buffers kept between vertices.
#[derive(Default)]
pub(crate) struct Scratch {
    edges: Vec<[f64; 3]>,
    /// Corners of the clipped polygon, and of the next one.
    polygons: [[[f64; 2]; MAX_CORNERS]; 2],
    /// How far each corner is beyond the line that clips.
    value: [f64; MAX_CORNERS],
}

/// Appends the cones of one vertex.
pub(crate) fn push_cones(surface: &Surface, vertex: usize, scratch: &mut Scratch, out: &mut Vec<Cone>) {
    let range = surface.first_corner[vertex] as usize..surface.first_corner[vertex + 1] as usize;
    let corners = &surface.corners[range];
    let Some(&first) = corners.first() else { return };
    let p = surface.positions[vertex];
    let mut mean = DVec3::ZERO;
    scratch.edges.clear();
    for &corner in corners {
        let (t, c) = (corner as usize / 3, corner as usize % 3);
        let edge = |c: usize| (surface.positions[surface.triangles[t][c] as usize] - p).to_array();
        mean += surface.normals[t];
        scratch.edges.push(edge((c + 1) % 3));
        // The next triangle of the fan brings the other edge, unless the fan ends here.
        if surface.neighbours[t][(c + 2) % 3] >= Topology::NONMANIFOLD {
            scratch.edges.push(edge((c + 2) % 3));
        }
    }
    // The faces the fan's mean normal points to come first: a cone that stays inside one has no part in the others.
    let mean = mean.to_array();
    let axis = (0..3).fold(0, |m, i| if mean[i].abs() > mean[m].abs() { i } else { m });
    let lower = u8::from(mean[axis] < 0.0) * 3;
    let order = [lower, 3 - lower, 1, 2, 4, 5].map(|step| (axis as u8 + step) % 6);
    let mut normal = None;
    for face in order {
        if let Some(slopes) = clip_face(scratch, face) {
            let normal = *normal.get_or_insert_with(|| surface.vertex_normal(vertex).as_vec3());
            out.push(Cone { vertex: vertex as u32, triangle: first / 3, face, slopes, normal });
            if slopes[0] > -1.0 && slopes[1] < 1.0 && slopes[2] > -1.0 && slopes[3] < 1.0 {
                return;
            }
        }
    }
}

/// The bounding rectangle of the cone on one face of the unit cube, or none if it does not reach it.
fn clip_face(scratch: &mut Scratch, face: u8) -> Option<[f32; 4]> {
    let w = usize::from(face % 3);
    let (u, v) = ((w + 1) % 3, (w + 2) % 3);
    let up = if face < 3 { 1.0 } else { -1.0 };
    // One edge that excludes the whole square ends it early: the usual case.
    for e in &scratch.edges {
        let (x, y, z) = (e[u].abs(), e[v].abs(), e[w] * up);
        if z - x - y > SLACK * (x + y + z.abs()) {
            return None;
        }
    }
    clip(scratch, face, [-1.0, 1.0, -1.0, 1.0])
}

/// The bounding rectangle of the part of the cone that leaves through `rectangle` (lowest and highest slope along u, then
/// along v) of the plane of a face.
fn clip(scratch: &mut Scratch, face: u8, rectangle: [f64; 4]) -> Option<[f32; 4]> {
    let Scratch { edges, polygons, value } = scratch;
    let w = usize::from(face % 3);
    let (u, v) = ((w + 1) % 3, (w + 2) % 3);
    let up = if face < 3 { 1.0 } else { -1.0 };
    let [polygon, next] = polygons;
    let (mut polygon, mut next) = (polygon, next);
    let [a, b, c, d] = rectangle;
    polygon[..4].copy_from_slice(&[[a, c], [b, c], [b, d], [a, d]]);
    let mut count = 4;
    for e in edges.iter() {
        let constant = e[w] * up - SLACK * (e[u].abs() + e[v].abs() + e[w].abs());
        let mut cut = 0;
        for (q, f) in polygon[..count].iter().zip(value.iter_mut()) {
            *f = e[u] * q[0] + e[v] * q[1] + constant;
            cut += usize::from(*f > 0.0);
        }
        if cut == count {
            return None;
        }
        // A line adds at most one corner; a polygon without room for it stays as it is, which is larger.
        if cut == 0 || count + 1 > MAX_CORNERS {
            continue;
        }
        let mut kept = 0;
        for i in 0..count {
            let j = if i + 1 == count { 0 } else { i + 1 };
            let (a, b, fa, fb) = (polygon[i], polygon[j], value[i], value[j]);
            if fa <= 0.0 {
                next[kept] = a;
                kept += 1;
            }
            if (fa <= 0.0) != (fb <= 0.0) {
                let k = fa / (fa - fb);
                next[kept] = [a[0] + k * (b[0] - a[0]), a[1] + k * (b[1] - a[1])];
                kept += 1;
            }
        }
        core::mem::swap(&mut polygon, &mut next);
        count = kept;
    }
    let corners = &polygon[..count];
    let low = |i: usize| corners.iter().map(|q| q[i]).fold(f64::INFINITY, f64::min) as f32;
    let high = |i: usize| corners.iter().map(|q| q[i]).fold(f64::NEG_INFINITY, f64::max) as f32;
    // One step of f32 outward: the conversion may have rounded inward.
    Some([low(0).next_down(), high(0).next_up(), low(1).next_down(), high(1).next_up()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every direction of the cone is inside the rectangle of the cube face it leaves through, for random fans.
    #[test]
    fn rectangles_hold_the_cone() {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let mut hits = 0;
        for _ in 0..3000 {
            let tilt = 1.5 * random();
            let n = 3 + (random().abs() * 5.0) as usize;
            let edges: Vec<[f64; 3]> = (0..n)
                .map(|_| DVec3::new(random(), random(), 0.3 * random() - tilt).normalize().to_array())
                .collect();
            for _ in 0..40 {
                let x = DVec3::new(random(), random(), random() + tilt);
                if !edges.iter().all(|e| DVec3::from_array(*e).dot(x) <= 0.0) {
                    continue;
                }
                hits += 1;
                let a = x.to_array();
                let w = (0..3).max_by(|&i, &j| a[i].abs().total_cmp(&a[j].abs())).unwrap();
                let face = if a[w] > 0.0 { w as u8 } else { w as u8 + 3 };
                let mut scratch = Scratch { edges: edges.clone(), ..Default::default() };
                let r = clip_face(&mut scratch, face).expect("the cone leaves through this face");
                let (su, sv) = ((a[(w + 1) % 3] / a[w].abs()) as f32, (a[(w + 2) % 3] / a[w].abs()) as f32);
                let e = 1e-6;
                assert!(su >= r[0] - e && su <= r[1] + e && sv >= r[2] - e && sv <= r[3] + e);
            }
        }
        assert!(hits > 3000, "only {hits} directions fell into a cone");
    }
}
