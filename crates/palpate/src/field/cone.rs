//! Where a vertex can be the closest point: the polar cone of its edges.
//!
//! A point p + x is closest to vertex p among all points of the fan around p iff no edge e of the fan leads nearer:
//! e·x <= 0. That convex cone is clipped on the six faces of the cube [-1, 1]³, so it is found wherever it points,
//! and stored as one rectangle of slopes a face. Most vertices of a smooth mesh have one narrow record or none, found within
//! the normals of their triangles.

use super::surface::Surface;
use crate::mesh::Topology;
use crate::par;
use glam::{DVec3, Vec3};

/// Slack on e·x <= 0 relative to |e|, for |x| <= √3, so that neighbouring regions overlap in spite of rounding.
const SLACK: f64 = 1e-7;
/// An edge whose sides meet at less than this angle [rad] counts as flat: rounding decides its side.
const FLAT: f64 = 1e-7;
/// Normals must rise at least this much along the axis of a fan for the short way to its cone: flatter ones have slopes
/// too wide to be of use.
const MIN_RISE: f64 = 0.3;
/// What rectangles of normals are widened by [slope], for rounding.
const WIDEN: f64 = 1e-6;
/// How often all edges narrow a rectangle. More: fewer cones that are empty in truth. Fewer: faster.
const ROUNDS: usize = 2;
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
        let mut scratch = Scratch::default();
        for vertex in chunk * CHUNK..vertices.min((chunk + 1) * CHUNK) {
            push_cones(surface, vertex, &mut scratch, &mut out);
        }
        out
    });
    parts.concat()
}

/// Buffers kept between vertices.
#[derive(Default)]
struct Scratch {
    edges: Vec<[f64; 3]>,
    /// Corners of the clipped polygon, and of the next one.
    polygons: [[[f64; 2]; MAX_CORNERS]; 2],
    /// How far each corner is beyond the line that clips.
    value: [f64; MAX_CORNERS],
}

#[inline(never)]
fn push_cones(surface: &Surface, vertex: usize, scratch: &mut Scratch, out: &mut Vec<Cone>) {
    let range = surface.first_corner[vertex] as usize..surface.first_corner[vertex + 1] as usize;
    let Some(&first) = surface.corners.get(range.start).filter(|_| !range.is_empty()) else { return };
    let fan = Fan::gather(surface, vertex, &mut scratch.edges);
    let axis = (0..3).fold(0, |m, i| if fan.mean[i].abs() > fan.mean[m].abs() { i } else { m });
    let lower = u8::from(fan.mean[axis] < 0.0) * 3;
    let order = [0, 3].map(|half| (axis as u8 + half + lower) % 6);
    let mut normal = None;
    let mut push = |face: u8, slopes: [f32; 4]| {
        let normal = *normal.get_or_insert_with(|| surface.vertex_normal(vertex).as_vec3());
        out.push(Cone { vertex: vertex as u32, triangle: first / 3, face, slopes, normal });
    };
    if let Some(slopes) = fan.slopes(surface, vertex, axis) {
        let [a, b, c, d] = slopes;
        for (face, folds, rectangle) in
            [(order[0], fan.convex, slopes), (order[1], fan.reflex, [-b, -a, -d, -c])]
        {
            if folds >= 3
                && let Some(slopes) = narrow(&scratch.edges, face, rectangle)
            {
                push(face, slopes);
            }
        }
        return;
    }
    // The faces the fan's mean normal points to come first: a cone that stays inside one has no part in the others.
    let rest = [1, 2, 4, 5].map(|step| (axis as u8 + step) % 6);
    for face in order.into_iter().chain(rest) {
        if let Some(slopes) = clip_face(scratch, face) {
            push(face, slopes);
            if slopes[0] > -1.0 && slopes[1] < 1.0 && slopes[2] > -1.0 && slopes[3] < 1.0 {
                return;
            }
        }
    }
}

/// The triangles around a vertex, summed up.
struct Fan {
    /// Sum of their normals.
    mean: [f64; 3],
    /// Whether triangles close all around, without borders and non-manifold edges.
    closed: bool,
    /// Edges that are not reflex, and edges that are not convex: flat ones count as both.
    convex: u32,
    reflex: u32,
}

impl Fan {
    /// Sums up the triangles around `vertex` and collects their edges.
    #[inline(always)]
    fn gather(surface: &Surface, vertex: usize, edges: &mut Vec<[f64; 3]>) -> Self {
        let p = surface.positions[vertex];
        let mut mean = DVec3::ZERO;
        let mut fan = Self { mean: [0.0; 3], closed: true, convex: 0, reflex: 0 };
        edges.clear();
        for &corner in corners_at(surface, vertex) {
            let (t, [a, b]) = edges_at(surface, p, corner);
            mean += surface.normals[t];
            edges.push(a.to_array());
            // The next triangle of the fan brings the other edge, unless the fan ends here.
            let next = surface.neighbours[t][(corner as usize + 2) % 3];
            if next >= Topology::NONMANIFOLD {
                edges.push(b.to_array());
                fan.closed = false;
                continue;
            }
            // Where the normal across points away from this triangle the edge is convex.
            let fold = surface.normals[next as usize].dot(b.cross(surface.normals[t]));
            let flat = FLAT * (b.x.abs() + b.y.abs() + b.z.abs());
            fan.convex += u32::from(fold < flat);
            fan.reflex += u32::from(fold > -flat);
        }
        fan.mean = mean.to_array();
        fan
    }

    /// For a fan whose triangles all face along `axis`, the way of the mean normal, and close around the vertex once: the
    /// rectangle of slopes that holds all their normals.
    ///
    /// Cut such a fan by the plane e·x = −1, for an x with e·x < 0 for all its edges: with the cut it is a closed surface,
    /// so x times the area of the cut is the sum of the triangles' area vectors, or minus that. So x is in the cone of the
    /// normals or opposite to it. And the cut is a simple polygon, whose hull has at least three corners: edges that are
    /// convex in the first case, reflex in the other.
    #[inline(always)]
    fn slopes(&self, surface: &Surface, vertex: usize, axis: usize) -> Option<[f64; 4]> {
        let p = surface.positions[vertex];
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let up = self.mean[axis].signum();
        let mut out = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
        let (mut steepest, mut turns) = (1.0f64, 0);
        for &corner in corners_at(surface, vertex) {
            let (t, [a, b]) = edges_at(surface, p, corner);
            let n = surface.normals[t].to_array();
            let rise = n[axis] * up;
            steepest = steepest.min(rise);
            let inverse = 1.0 / rise;
            let (su, sv) = (n[u] * inverse, n[v] * inverse);
            out = [out[0].min(su), out[1].max(su), out[2].min(sv), out[3].max(sv)];
            // Every turn around the vertex crosses this half-axis once, upward.
            turns += u32::from(a[v] * up < 0.0 && b[v] * up >= 0.0);
        }
        (self.closed && steepest > MIN_RISE && turns == 1)
            .then(|| [out[0] - WIDEN, out[1] + WIDEN, out[2] - WIDEN, out[3] + WIDEN])
    }
}

/// Corners at a vertex.
#[inline(always)]
fn corners_at(surface: &Surface, vertex: usize) -> &[u32] {
    &surface.corners[surface.first_corner[vertex] as usize..surface.first_corner[vertex + 1] as usize]
}

/// The triangle of a corner at `p` and its two edges from there, counter-clockwise.
#[inline(always)]
fn edges_at(surface: &Surface, p: DVec3, corner: u32) -> (usize, [DVec3; 2]) {
    let (t, c) = (corner as usize / 3, corner as usize % 3);
    let tri = surface.triangles[t];
    let edge = |c: usize| surface.positions[tri[c % 3] as usize] - p;
    (t, [edge(c + 1), edge(c + 2)])
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

/// A rectangle, inside `rectangle`, of slopes that holds the part of the cone there; none if there is no such part.
///
/// Each edge moves the sides of the rectangle as far as it excludes all between: not quite the smallest rectangle, and an
/// empty cone may go unnoticed, but without a branch.
#[inline(always)]
fn narrow(edges: &[[f64; 3]], face: u8, rectangle: [f64; 4]) -> Option<[f32; 4]> {
    let w = usize::from(face % 3);
    let (u, v) = ((w + 1) % 3, (w + 2) % 3);
    let up = if face < 3 { 1.0 } else { -1.0 };
    let [mut ul, mut uh, mut vl, mut vh] = rectangle;
    for _ in 0..ROUNDS {
        for e in edges {
            // x·eu + y·ev <= limit.
            let (eu, ev) = (e[u], e[v]);
            let limit = SLACK * (eu.abs() + ev.abs() + e[w].abs()) - e[w] * up;
            let x = (limit - (ev * vl).min(ev * vh)) / eu;
            uh = if eu > 0.0 { uh.min(x) } else { uh };
            ul = if eu < 0.0 { ul.max(x) } else { ul };
            let y = (limit - (eu * ul).min(eu * uh)) / ev;
            vh = if ev > 0.0 { vh.min(y) } else { vh };
            vl = if ev < 0.0 { vl.max(y) } else { vl };
        }
        if ul > uh || vl > vh {
            return None;
        }
    }
    // One step of f32 outward: the conversion may have rounded inward.
    let (low, high) = ([ul as f32, vl as f32], [uh as f32, vh as f32]);
    Some([low[0].next_down(), high[0].next_up(), low[1].next_down(), high[1].next_up()])
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
