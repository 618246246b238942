//! Exact distances in a narrow band: every feature of the surface writes to the grid nodes it may be closest to.
//!
//! Based on: Mauch, Efficient algorithms for solving static Hamilton-Jacobi equations, 2003, closest point transform
//! by scan conversion of the features' Voronoi polyhedra [mauch03].
//! Differs: sections of the polyhedra are bounded by rectangles, slice by slice along the axis nearest the feature's
//! normal, and every distance is that of a real point of the surface, so a node outside the polyhedron costs time but
//! never correctness; the region of a vertex is the polar cone of its edges, clipped on the six faces of the unit
//! cube, which holds for any valence, for saddles and for non-manifold fans; slabs of bricks are scanned apart, so
//! threads never share a node.

use super::cone::Cone;
use super::surface::Surface;
use crate::mesh::Topology;
use glam::DVec3;

/// Nodes along the edge of a brick.
pub(crate) const BRICK: usize = 8;
/// Nodes a brick owns: those with local coordinates 0..8.
pub(crate) const OWNED: usize = BRICK * BRICK * BRICK;
/// No brick, or no triangle.
pub(crate) const NONE: u32 = u32::MAX;

/// How far regions are widened so that neighbours overlap in spite of rounding [voxels].
/// Smaller than 1e-9 rounding at 10⁵ voxels could leave a gap; above 1e-3 it would show in the distances.
const OVERLAP: f64 = 1e-6;
/// A slice of a wedge is scanned by rays only if both rays rise at least this much along the slicing axis; flatter
/// ones take the whole box of the edge. Lower: long thin sections. Higher: needless boxes.
const MIN_RISE: f64 = 0.3;

/// Bricks of one slab of the grid, as they are written.
#[derive(Debug)]
pub(crate) struct Slab {
    /// Cells (bricks) along x and y, the ghost layer included.
    cells: [usize; 2],
    /// First and one past the last node layer along z.
    z: [i32; 2],
    /// Nodes along x and y.
    nodes: [i32; 2],
    /// Brick of each cell, or `NONE`; x fastest.
    pub(crate) slots: Vec<u32>,
    /// Signed distance of each owned node [voxels]; infinite where nothing wrote.
    pub(crate) distance: Vec<[f32; OWNED]>,
    /// Closest triangle of each owned node.
    pub(crate) triangle: Vec<[u32; OWNED]>,
    /// Half width of the band [voxels].
    band: f64,
}

impl Slab {
    /// An empty slab over brick layers `layers` of a grid with `cells` bricks along x and y (ghost layer included).
    pub(crate) fn new(cells: [usize; 2], layers: core::ops::Range<usize>, band: f64) -> Self {
        let z = [(layers.start * BRICK) as i32, (layers.end * BRICK) as i32];
        Self {
            cells,
            z,
            nodes: cells.map(|c| (c * BRICK) as i32),
            slots: vec![NONE; cells[0] * cells[1] * layers.len()],
            distance: Vec::new(),
            triangle: Vec::new(),
            band,
        }
    }

    /// Writes a candidate distance (with its sign) to node x y z, which must be inside the slab.
    #[inline(always)]
    fn offer(&mut self, node: [i32; 3], distance: f32, triangle: u32) {
        let [x, y, z] = [node[0] as usize, node[1] as usize, (node[2] - self.z[0]) as usize];
        let cell = ((z >> 3) * self.cells[1] + (y >> 3)) * self.cells[0] + (x >> 3);
        let mut slot = self.slots[cell];
        if slot == NONE {
            slot = self.distance.len() as u32;
            self.slots[cell] = slot;
            self.distance.push([f32::INFINITY; OWNED]);
            self.triangle.push([NONE; OWNED]);
        }
        let at = ((z & 7) << 6) | ((y & 7) << 3) | (x & 7);
        let best = &mut self.distance[slot as usize][at];
        if distance.abs() < best.abs() {
            *best = distance;
            self.triangle[slot as usize][at] = triangle;
        }
    }

    /// Integers in `[low, high]` along `axis`, clipped to the slab.
    #[inline(always)]
    fn clip(&self, axis: usize, low: f64, high: f64) -> (i32, i32) {
        let (first, last) = match axis {
            0 => (0, self.nodes[0] - 1),
            1 => (0, self.nodes[1] - 1),
            _ => (self.z[0], self.z[1] - 1),
        };
        // Casts saturate, so distant values clip as they should.
        ((low.ceil() as i32).max(first), (high.floor() as i32).min(last))
    }

    /// Whether something between `low` and `high` along z reaches into the slab with its band.
    #[inline]
    pub(crate) fn reaches(&self, low: f64, high: f64) -> bool {
        high + self.band >= f64::from(self.z[0]) && low - self.band < f64::from(self.z[1])
    }

    /// Scans the prism of triangle `t` and the wedges of those of its edges that it owns.
    pub(crate) fn scan_triangle(&mut self, surface: &Surface, t: usize) {
        let corners = surface.corners_of(t);
        let n = surface.normals[t];
        self.scan_face(corners, n, t as u32);
        for e in 0..3 {
            let (v0, v1) = (corners[e], corners[(e + 1) % 3]);
            match surface.topology.neighbours[t][e] {
                Topology::BOUNDARY | Topology::NONMANIFOLD => self.scan_edge_box(v0, v1, n, t as u32),
                other if (other as usize) < t => {}
                other => {
                    let n2 = surface.normals[other as usize];
                    let inward = n.cross(v1 - v0);
                    let fold = n2.dot(inward);
                    // Convex edges have their wedge outside, reflex ones inside, flat ones none.
                    let side = if fold < 0.0 { 1.0 } else { -1.0 };
                    if fold * fold > 1e-24 * inward.length_squared() || n.dot(n2) < 0.0 {
                        self.scan_wedge(v0, v1, n * side, n2 * side, n + n2, t as u32);
                    }
                }
            }
        }
    }

    /// Nodes over the interior of a triangle: its prism along ±n.
    fn scan_face(&mut self, corners: [DVec3; 3], n: DVec3, t: u32) {
        let w = dominant(n);
        let (u, v) = ((w + 1) % 3, (w + 2) % 3);
        let p = corners.map(|c| c.to_array());
        let n = n.to_array();
        // Slide along n into the plane w = 0: all sections of the prism are the same triangle, moved.
        let (gu, gv) = (n[u] / n[w], n[v] / n[w]);
        let a = p.map(|c| [c[u] - c[w] * gu, c[v] - c[w] * gv]);
        let flip = n[w].signum();
        // Edge functions, positive inside: f = fu·u + fv·v + f0.
        let edge = |i: usize| {
            let (s, e) = (a[i], a[(i + 1) % 3]);
            let (fu, fv) = (-flip * (e[1] - s[1]), flip * (e[0] - s[0]));
            (fu, fv, -(fu * s[0] + fv * s[1]) + OVERLAP * (fu.abs() + fv.abs()))
        };
        let f = [edge(0), edge(1), edge(2)];
        let (umin, umax) = min_max([a[0][0], a[1][0], a[2][0]]);
        let (vmin, vmax) = min_max([a[0][1], a[1][1], a[2][1]]);
        let (wmin, wmax) = min_max([p[0][w], p[1][w], p[2][w]]);
        let height = n[u] * p[0][u] + n[v] * p[0][v] + n[w] * p[0][w];
        let reach = self.band * n[w].abs() + OVERLAP;
        let (w0, w1) = self.clip(w, wmin - reach, wmax + reach);
        for wi in w0..=w1 {
            let wf = f64::from(wi);
            let (su, sv) = (wf * gu, wf * gv);
            let (u0, u1) = self.clip(u, umin + su - OVERLAP, umax + su + OVERLAP);
            let (v0, v1) = self.clip(v, vmin + sv - OVERLAP, vmax + sv + OVERLAP);
            if v0 > v1 {
                continue;
            }
            for ui in u0..=u1 {
                let uf = f64::from(ui);
                let at = |(fu, fv, f0): (f64, f64, f64)| fu * (uf - su) - fv * sv + f0;
                let base = [at(f[0]), at(f[1]), at(f[2])];
                let h0 = n[w] * wf + n[u] * uf - height;
                for vi in v0..=v1 {
                    let vf = f64::from(vi);
                    let inside = (base[0] + f[0].1 * vf >= 0.0)
                        & (base[1] + f[1].1 * vf >= 0.0)
                        & (base[2] + f[2].1 * vf >= 0.0);
                    let h = h0 + n[v] * vf;
                    if inside && h.abs() <= self.band {
                        let mut node = [0; 3];
                        (node[u], node[v], node[w]) = (ui, vi, wi);
                        self.offer(node, h as f32, t);
                    }
                }
            }
        }
    }

    /// Nodes nearest to the interior of an edge, between the directions `r1` and `r2` (unit) of its two faces.
    fn scan_wedge(&mut self, v0: DVec3, v1: DVec3, r1: DVec3, r2: DVec3, out: DVec3, t: u32) {
        let middle = r1 + r2;
        let w = dominant(middle);
        let (u, v) = ((w + 1) % 3, (w + 2) % 3);
        let (r1, r2, e0, e1) = (r1.to_array(), r2.to_array(), v0.to_array(), v1.to_array());
        let up = middle.to_array()[w].signum();
        if r1[w] * up < MIN_RISE || r2[w] * up < MIN_RISE {
            return self.scan_edge_box(v0, v1, out, t);
        }
        let g1 = [r1[u] / r1[w], r1[v] / r1[w]];
        let g2 = [r2[u] / r2[w], r2[v] / r2[w]];
        let (low, high) = (e0[w].min(e1[w]), e0[w].max(e1[w]));
        let (w0, w1) = if up > 0.0 {
            self.clip(w, low - OVERLAP, high + self.band)
        } else {
            self.clip(w, low - self.band, high + OVERLAP)
        };
        let segment = Segment::new(v0, v1, out, t);
        for wi in w0..=w1 {
            let wf = f64::from(wi);
            let mut rect = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
            let mut grow = |pu: f64, pv: f64| {
                rect = [rect[0].min(pu), rect[1].max(pu), rect[2].min(pv), rect[3].max(pv)];
            };
            for end in [&e0, &e1] {
                let s = wf - end[w];
                if s * up >= 0.0 {
                    grow(end[u] + s * g1[0], end[v] + s * g1[1]);
                    grow(end[u] + s * g2[0], end[v] + s * g2[1]);
                } else {
                    // The slice passes under this end: the section ends on the edge itself.
                    let k = if high > low { ((wf - e0[w]) / (e1[w] - e0[w])).clamp(0.0, 1.0) } else { 0.0 };
                    grow(e0[u] + k * (e1[u] - e0[u]), e0[v] + k * (e1[v] - e0[v]));
                }
            }
            let (u0, u1) = self.clip(u, rect[0] - OVERLAP, rect[1] + OVERLAP);
            let (v0, v1) = self.clip(v, rect[2] - OVERLAP, rect[3] + OVERLAP);
            for ui in u0..=u1 {
                for vi in v0..=v1 {
                    let mut node = [0; 3];
                    (node[u], node[v], node[w]) = (ui, vi, wi);
                    self.offer_segment(node, &segment);
                }
            }
        }
    }

    /// All nodes within the band of an edge: for borders, non-manifold edges and knife edges.
    fn scan_edge_box(&mut self, v0: DVec3, v1: DVec3, out: DVec3, t: u32) {
        let segment = Segment::new(v0, v1, out, t);
        let (low, high) = (v0.min(v1) - self.band, v0.max(v1) + self.band);
        let (x0, x1) = self.clip(0, low.x, high.x);
        let (y0, y1) = self.clip(1, low.y, high.y);
        let (z0, z1) = self.clip(2, low.z, high.z);
        for z in z0..=z1 {
            for y in y0..=y1 {
                for x in x0..=x1 {
                    self.offer_segment([x, y, z], &segment);
                }
            }
        }
    }

    #[inline(always)]
    fn offer_segment(&mut self, node: [i32; 3], s: &Segment) {
        let p = DVec3::new(f64::from(node[0]), f64::from(node[1]), f64::from(node[2])) - s.start;
        let k = p.dot(s.along) * s.inverse;
        if !(-OVERLAP..=1.0 + OVERLAP).contains(&k) {
            return;
        }
        let away = p - s.along * k;
        let d = away.length();
        if d <= self.band {
            self.offer(node, if away.dot(s.out) < 0.0 { -d } else { d } as f32, s.triangle);
        }
    }

    /// Nodes nearest to a vertex, inside its cone.
    pub(crate) fn scan_cone(&mut self, surface: &Surface, cone: &Cone) {
        let p = surface.positions[cone.vertex as usize];
        let (w, up) = cone.axis();
        let (u, v) = ((w + 1) % 3, (w + 2) % 3);
        let c = p.to_array();
        let (w0, w1) = if up > 0.0 {
            self.clip(w, c[w] - OVERLAP, c[w] + self.band)
        } else {
            self.clip(w, c[w] - self.band, c[w] + OVERLAP)
        };
        for wi in w0..=w1 {
            let s = (f64::from(wi) - c[w]).abs();
            let [ul, uh, vl, vh] = cone.slopes.map(f64::from);
            let (u0, u1) = self.clip(u, c[u] + s * ul - OVERLAP, c[u] + s * uh + OVERLAP);
            let (v0, v1) = self.clip(v, c[v] + s * vl - OVERLAP, c[v] + s * vh + OVERLAP);
            for ui in u0..=u1 {
                for vi in v0..=v1 {
                    let mut node = [0; 3];
                    (node[u], node[v], node[w]) = (ui, vi, wi);
                    let away = DVec3::from_array(node.map(f64::from)) - p;
                    let d = away.length();
                    if d <= self.band {
                        let inside = away.dot(cone.normal.as_dvec3()) < 0.0;
                        self.offer(node, if inside { -d } else { d } as f32, cone.triangle);
                    }
                }
            }
        }
    }
}

/// An edge prepared for many distances.
struct Segment {
    start: DVec3,
    along: DVec3,
    /// 1 / |along|².
    inverse: f64,
    /// Pseudonormal.
    out: DVec3,
    triangle: u32,
}

impl Segment {
    fn new(v0: DVec3, v1: DVec3, out: DVec3, triangle: u32) -> Self {
        let along = v1 - v0;
        Self { start: v0, along, inverse: 1.0 / along.length_squared().max(1e-300), out, triangle }
    }
}

/// The axis along which `n` is longest.
#[inline(always)]
fn dominant(n: DVec3) -> usize {
    let a = n.abs();
    if a.x >= a.y && a.x >= a.z {
        0
    } else if a.y >= a.z {
        1
    } else {
        2
    }
}

#[inline(always)]
fn min_max(v: [f64; 3]) -> (f64, f64) {
    (v[0].min(v[1]).min(v[2]), v[0].max(v[1]).max(v[2]))
}
