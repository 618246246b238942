//! Where a vertex can be the closest point: the polar cone of its edges.
//!
//! A point p + x is closest to vertex p among all points of the fan around p iff no edge e of the fan leads nearer:
//! e·x <= 0. That convex cone is clipped on the six faces of the cube [-1, 1]³, so it is found wherever it points,
//! and stored as one rectangle of slopes a face. Most vertices of a smooth mesh have one narrow record or none.

use super::surface::Surface;
use crate::mesh::Topology;
use crate::par;
use glam::Vec3;

/// Slack on e·x <= 0 for unit e and |x| <= √3, so that neighbouring regions overlap in spite of rounding.
const SLACK: f64 = 1e-7;
/// Vertices per parallel work item.
const CHUNK: usize = 2048;
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

/// The cones of all vertices, in vertex order.
pub(crate) fn cones(surface: &Surface) -> Vec<Cone> {
    let vertices = surface.positions.len();
    let parts = par::map(vertices.div_ceil(CHUNK), |chunk| {
        let mut out = Vec::with_capacity(CHUNK);
        let mut edges = Vec::with_capacity(32);
        for vertex in chunk * CHUNK..vertices.min((chunk + 1) * CHUNK) {
            push_cones(surface, vertex, &mut edges, &mut out);
        }
        out
    });
    parts.concat()
}

fn push_cones(surface: &Surface, vertex: usize, edges: &mut Vec<[f64; 3]>, out: &mut Vec<Cone>) {
    let range = surface.first_corner[vertex] as usize..surface.first_corner[vertex + 1] as usize;
    let Some(&first) = surface.corners.get(range.start).filter(|_| !range.is_empty()) else { return };
    let p = surface.positions[vertex];
    edges.clear();
    for &corner in &surface.corners[range] {
        let (t, c) = (corner as usize / 3, corner as usize % 3);
        let tri = surface.triangles[t];
        let mut push = |other: u32| {
            let e = surface.positions[other as usize] - p;
            edges.push((e * e.length_recip()).to_array());
        };
        push(tri[(c + 1) % 3]);
        // The next triangle of the fan brings the other edge, unless the fan ends here.
        if surface.topology.neighbours[t][(c + 2) % 3] >= Topology::NONMANIFOLD {
            push(tri[(c + 2) % 3]);
        }
    }
    let mut normal = None;
    for face in 0..6u8 {
        if let Some(slopes) = clip_face(edges, face) {
            let normal = *normal.get_or_insert_with(|| surface.vertex_normal(vertex).as_vec3());
            out.push(Cone { vertex: vertex as u32, triangle: first / 3, face, slopes, normal });
        }
    }
}

/// The bounding rectangle of the cone on one face of the unit cube, or none if it does not reach it.
fn clip_face(edges: &[[f64; 3]], face: u8) -> Option<[f32; 4]> {
    let w = usize::from(face % 3);
    let (u, v) = ((w + 1) % 3, (w + 2) % 3);
    let up = if face < 3 { 1.0 } else { -1.0 };
    // One edge that excludes the whole square ends it early: the usual case.
    if edges.iter().any(|e| e[w] * up - e[u].abs() - e[v].abs() > SLACK) {
        return None;
    }
    let mut polygon = [[0.0f64; 2]; MAX_CORNERS];
    polygon[..4].copy_from_slice(&[[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]);
    let mut count = 4;
    for e in edges {
        let value = |q: [f64; 2]| e[u] * q[0] + e[v] * q[1] + e[w] * up - SLACK;
        let mut next = [[0.0f64; 2]; MAX_CORNERS];
        let mut kept = 0;
        let mut cut = false;
        for i in 0..count {
            let (a, b) = (polygon[i], polygon[(i + 1) % count]);
            let (fa, fb) = (value(a), value(b));
            cut |= fa > 0.0;
            let mut keep = |q| {
                if kept < MAX_CORNERS {
                    next[kept] = q;
                }
                kept += 1;
            };
            if fa <= 0.0 {
                keep(a);
            }
            if (fa <= 0.0) != (fb <= 0.0) {
                let k = fa / (fa - fb);
                keep([a[0] + k * (b[0] - a[0]), a[1] + k * (b[1] - a[1])]);
            }
        }
        if kept == 0 {
            return None;
        }
        if cut && kept <= MAX_CORNERS {
            (polygon, count) = (next, kept);
        }
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
    use glam::DVec3;

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
                let r = clip_face(&edges, face).expect("the cone leaves through this face");
                let (su, sv) = ((a[(w + 1) % 3] / a[w].abs()) as f32, (a[(w + 2) % 3] / a[w].abs()) as f32);
                let e = 1e-6;
                assert!(su >= r[0] - e && su <= r[1] + e && sv >= r[2] - e && sv <= r[3] + e);
            }
        }
        assert!(hits > 3000, "only {hits} directions fell into a cone");
    }
}
