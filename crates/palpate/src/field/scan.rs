//! Exact distances in a narrow band: every feature of the surface writes to the grid nodes it may be closest to.
//!
//! Based on: Mauch, Efficient algorithms for solving static Hamilton-Jacobi equations, 2003, closest point transform
//! by scan conversion of the features' Voronoi polyhedra [mauch03].
//! Differs: sections of the polyhedra are bounded by rectangles, slice by slice along the axis nearest the feature's
//! normal, and every distance is that of a real point of the surface, so a node outside the polyhedron costs time but
//! never correctness; the region of a vertex is the polar cone of its edges, clipped on the six faces of the unit
//! cube, which holds for any valence, for saddles and for non-manifold fans; slabs of bricks are scanned apart, so
//! threads never share a node.

use super::bvh::Bvh;
use super::cone::Cone;
use super::surface::Surface;
use crate::mesh::Topology;
use crate::simd::{LANES, Lanes, dispatch};
use glam::DVec3;

/// Nodes along the edge of a brick.
pub(crate) const BRICK: usize = 8;
/// Nodes a brick owns: those with local coordinates 0..8.
pub(crate) const OWNED: usize = BRICK * BRICK * BRICK;
/// No brick, or no triangle.
pub(crate) const NONE: u32 = u32::MAX;
/// A node nothing wrote to.
pub(crate) const EMPTY: u64 = u64::MAX;

/// How far regions are widened so that neighbours overlap in spite of rounding [voxels].
/// Smaller than 1e-9 rounding at 10⁵ voxels could leave a gap; above 1e-3 it would show in the distances.
const OVERLAP: f64 = 1e-6;
/// A slice of a wedge is scanned by rays only if both rays rise at least this much along the slicing axis; flatter
/// ones take the whole box of the edge. Lower: long thin sections. Higher: needless boxes.
const MIN_RISE: f64 = 0.3;
/// 0, 1, … 7: the slices of a block.
const IOTA: [f32; LANES] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// Signed distance [voxels] and triangle of a node, packed so that the nearer of two is the smaller number, and of
/// two equally near ones that of the lower triangle: the result does not depend on the order of writing.
#[inline(always)]
fn pack(distance: f32, triangle: u32, on_face: bool) -> u64 {
    let low = u64::from(triangle) << 2 | u64::from(!on_face) << 1 | u64::from(distance < 0.0);
    u64::from(distance.abs().to_bits()) << 32 | low
}

/// Whether a packed node is nearest to the interior of its triangle.
#[inline(always)]
pub(crate) fn on_face(node: u64) -> bool {
    node & 2 == 0
}

/// What [`pack`] packed; an infinite distance for [`EMPTY`].
#[inline(always)]
pub(crate) fn unpack(node: u64) -> (f32, u32) {
    if node == EMPTY {
        return (f32::INFINITY, NONE);
    }
    let distance = f32::from_bits((node >> 32) as u32);
    (if node & 1 == 1 { -distance } else { distance }, (node as u32) >> 2)
}

/// Bricks of one slab of the grid, as they are written.
#[derive(Debug)]
pub(crate) struct Slab {
    /// Cells (bricks) along x and y, the ghost layer included.
    cells: [usize; 2],
    /// First node of the slab along each axis, and one past the last.
    first: [i32; 3],
    end: [i32; 3],
    /// Brick of each cell, or `NONE`; x fastest.
    pub(crate) slots: Vec<u32>,
    /// Packed nodes of each brick.
    pub(crate) nodes: Vec<[u64; OWNED]>,
    /// Half width of the band [voxels].
    band: f64,
    /// What slices, found in f32, are widened by [voxels].
    slack: f32,
}

/// Axes of a scan: slices along w, rows along u, nodes along v.
#[derive(Clone, Copy)]
struct Axes {
    u: usize,
    v: usize,
    w: usize,
}

impl Axes {
    #[inline(always)]
    fn along(w: usize) -> Self {
        Self { u: (w + 1) % 3, v: (w + 2) % 3, w }
    }

    /// `p` with its coordinates in the order u, v, w.
    #[inline(always)]
    fn turn(self, p: DVec3) -> [f64; 3] {
        let p = p.to_array();
        [p[self.u], p[self.v], p[self.w]]
    }
}

/// Rows found in eight consecutive slices.
struct Rows {
    u: [[f32; LANES]; 2],
    v: [[f32; LANES]; 2],
    /// Slices that hold any node.
    live: u32,
}

impl Slab {
    /// An empty slab over brick layers `layers` of a grid with `cells` bricks along x and y (ghost layer included).
    pub(crate) fn new(cells: [usize; 2], layers: core::ops::Range<usize>, band: f64) -> Self {
        let node = |c: usize| (c * BRICK) as i32;
        let largest = cells[0].max(cells[1]).max(layers.end) * BRICK;
        Self {
            cells,
            first: [0, 0, node(layers.start)],
            end: [node(cells[0]), node(cells[1]), node(layers.end)],
            slots: vec![NONE; cells[0] * cells[1] * layers.len()],
            nodes: Vec::new(),
            band,
            slack: 1e-3 + 2e-6 * largest as f32,
        }
    }

    /// Writes a candidate to the node at place `at` of the brick of `cell`.
    #[inline(always)]
    fn offer(&mut self, (cell, at): (usize, usize), distance: f32, triangle: u32, on_face: bool) {
        let mut slot = self.slots[cell];
        if slot == NONE {
            slot = self.nodes.len() as u32;
            self.slots[cell] = slot;
            self.nodes.push([EMPTY; OWNED]);
        }
        let best = &mut self.nodes[slot as usize][at & (OWNED - 1)];
        *best = (*best).min(pack(distance, triangle, on_face));
    }

    /// What coordinate `c` along `axis` adds to the cell and to the place in its brick.
    #[inline(always)]
    fn place(&self, axis: usize, c: i32) -> (usize, usize) {
        let c = (c - self.first[axis]) as usize;
        let stride = match axis {
            0 => 1,
            1 => self.cells[0],
            _ => self.cells[0] * self.cells[1],
        };
        ((c >> 3) * stride, (c & 7) << (3 * axis))
    }

    /// Integers in `[low, high]` along `axis`, clipped to the slab.
    #[inline(always)]
    fn clip(&self, axis: usize, low: f64, high: f64) -> (i32, i32) {
        (ceil(low).max(self.first[axis]), floor(high).min(self.end[axis] - 1))
    }

    /// Whether something between `low` and `high` along z reaches into the slab with its band.
    #[inline(always)]
    fn reaches(&self, low: f64, high: f64) -> bool {
        high + self.band >= f64::from(self.first[2]) && low - self.band < f64::from(self.end[2])
    }

    /// Scans all features that reach the slab.
    pub(crate) fn scan(&mut self, surface: &Surface, bvh: &Bvh, cones: &[Cone]) {
        let reach = (self.band + 1e-3) as f32;
        let (low, high) = (self.first[2] as f32 - reach, self.end[2] as f32 + reach);
        bvh.between(low, high, |range| scan_triangles(self, surface, range));
        for cone in cones {
            let p = surface.positions[cone.vertex as usize];
            if self.reaches(p.z, p.z) {
                scan_cone(self, p, cone);
            }
        }
    }
}

dispatch! {
    fn scan_triangles / scan_triangles_plain =
        scan_kernel(slab: &mut Slab, surface: &Surface, range: core::ops::Range<usize>)
}

#[inline(always)]
fn scan_kernel<L: Lanes>(slab: &mut Slab, surface: &Surface, range: core::ops::Range<usize>) {
    for t in range {
        let [a, b, c] = surface.corners_of(t);
        if slab.reaches(a.z.min(b.z).min(c.z), a.z.max(b.z).max(c.z)) {
            let n = surface.normals[t];
            scan_face::<L>(slab, [a, b, c], n, t as u32);
            scan_edge::<L>(slab, surface, a, b, n, t, 0);
            scan_edge::<L>(slab, surface, b, c, n, t, 1);
            scan_edge::<L>(slab, surface, c, a, n, t, 2);
        }
    }
}

/// Integer ranges between `low` and `high` of both axes, clipped to the slab, for eight slices; bit i of `live` says
/// whether slice i has any node.
#[inline(always)]
fn rows<L: Lanes>(slab: &Slab, axes: Axes, low: [L; 2], high: [L; 2]) -> Rows {
    let slack = L::splat(slab.slack);
    let zero = L::splat(0.0);
    let mut out = Rows { u: [[0.0; LANES]; 2], v: [[0.0; LANES]; 2], live: 0 };
    // ceil(x) = −floor(−x)
    let u0 = zero.sub(slack.sub(low[0]).floor()).max(L::splat(slab.first[axes.u] as f32));
    let u1 = high[0].add(slack).floor().min(L::splat((slab.end[axes.u] - 1) as f32));
    let v0 = zero.sub(slack.sub(low[1]).floor()).max(L::splat(slab.first[axes.v] as f32));
    let v1 = high[1].add(slack).floor().min(L::splat((slab.end[axes.v] - 1) as f32));
    out.live = L::bits(L::and(u1.ge(u0), v1.ge(v0)));
    if out.live != 0 {
        u0.store(&mut out.u[0]);
        u1.store(&mut out.u[1]);
        v0.store(&mut out.v[0]);
        v1.store(&mut out.v[1]);
    }
    out
}

/// The lanes of a block that starts at slice `base` and ends with slice `last`.
#[inline(always)]
fn lanes_until(base: i32, last: i32) -> u32 {
    let n = (last - base + 1).min(LANES as i32);
    (1u32 << n) - 1
}

/// Nodes over the interior of a triangle: its prism along ±n.
#[inline(always)]
fn scan_face<L: Lanes>(slab: &mut Slab, corners: [DVec3; 3], n: DVec3, t: u32) {
    let axes = Axes::along(dominant(n));
    let p = [axes.turn(corners[0]), axes.turn(corners[1]), axes.turn(corners[2])];
    let n = axes.turn(n);
    // Slide along n into the plane w = 0: all sections of the prism are the same triangle, moved.
    let inverse = 1.0 / n[2];
    let g = [n[0] * inverse, n[1] * inverse];
    let a = [slide(p[0], g), slide(p[1], g), slide(p[2], g)];
    let flip = n[2].signum();
    let f =
        [edge_function(a[0], a[1], flip), edge_function(a[1], a[2], flip), edge_function(a[2], a[0], flip)];
    let (umin, umax) = min_max(a[0][0], a[1][0], a[2][0]);
    let (vmin, vmax) = min_max(a[0][1], a[1][1], a[2][1]);
    let (wmin, wmax) = min_max(p[0][2], p[1][2], p[2][2]);
    let height = n[0] * p[0][0] + n[1] * p[0][1] + n[2] * p[0][2];
    let reach = slab.band * n[2].abs() + OVERLAP;
    let (w0, w1) = slab.clip(axes.w, wmin - reach, wmax + reach);
    let band = slab.band;
    let mut base = w0;
    while base <= w1 {
        let w = L::splat(base as f32).add(L::load(&IOTA));
        let (su, sv) = (w.mul(L::splat(g[0] as f32)), w.mul(L::splat(g[1] as f32)));
        let found = rows::<L>(
            slab,
            axes,
            [su.add(L::splat(umin as f32)), sv.add(L::splat(vmin as f32))],
            [su.add(L::splat(umax as f32)), sv.add(L::splat(vmax as f32))],
        );
        let mut live = found.live & lanes_until(base, w1);
        while live != 0 {
            let lane = live.trailing_zeros() as usize;
            live &= live - 1;
            let wi = base + lane as i32;
            let wf = f64::from(wi);
            let (su, sv) = (wf * g[0], wf * g[1]);
            let at_w = slab.place(axes.w, wi);
            let (v0, v1) = (found.v[0][lane] as i32, found.v[1][lane] as i32);
            for ui in found.u[0][lane] as i32..=found.u[1][lane] as i32 {
                let uf = f64::from(ui);
                let base0 = f[0][0] * (uf - su) - f[0][1] * sv + f[0][2];
                let base1 = f[1][0] * (uf - su) - f[1][1] * sv + f[1][2];
                let base2 = f[2][0] * (uf - su) - f[2][1] * sv + f[2][2];
                let h0 = n[2] * wf + n[0] * uf - height;
                let at_u = slab.place(axes.u, ui);
                for vi in v0..=v1 {
                    let vf = f64::from(vi);
                    let h = h0 + n[1] * vf;
                    let inside = (base0 + f[0][1] * vf >= 0.0)
                        & (base1 + f[1][1] * vf >= 0.0)
                        & (base2 + f[2][1] * vf >= 0.0)
                        & (h.abs() <= band);
                    if inside {
                        let at_v = slab.place(axes.v, vi);
                        slab.offer((at_w.0 + at_u.0 + at_v.0, at_w.1 | at_u.1 | at_v.1), h as f32, t, true);
                    }
                }
            }
        }
        base += LANES as i32;
    }
}

#[inline(always)]
fn slide(p: [f64; 3], g: [f64; 2]) -> [f64; 2] {
    [p[0] - p[2] * g[0], p[1] - p[2] * g[1]]
}

/// Coefficients of u, v and 1 of a function that is positive on the inner side of the edge from `s` to `e`.
#[inline(always)]
fn edge_function(s: [f64; 2], e: [f64; 2], flip: f64) -> [f64; 3] {
    let (fu, fv) = (-flip * (e[1] - s[1]), flip * (e[0] - s[0]));
    [fu, fv, -(fu * s[0] + fv * s[1]) + OVERLAP * (fu.abs() + fv.abs())]
}

/// Nodes nearest to the interior of edge `e` of triangle `t`, from `v0` to `v1`, if that triangle owns the edge.
#[inline(always)]
fn scan_edge<L: Lanes>(
    slab: &mut Slab,
    surface: &Surface,
    v0: DVec3,
    v1: DVec3,
    n: DVec3,
    t: usize,
    e: usize,
) {
    let other = surface.neighbours[t][e];
    if other >= Topology::NONMANIFOLD {
        return scan_edge_box(slab, v0, v1, n, t as u32);
    }
    if (other as usize) < t {
        return;
    }
    let n2 = surface.normals[other as usize];
    let inward = n.cross(v1 - v0);
    let fold = n2.dot(inward);
    // Convex edges have their wedge outside, reflex ones inside, flat ones none.
    let side = if fold < 0.0 { 1.0 } else { -1.0 };
    if fold * fold > 1e-24 * inward.length_squared() || n.dot(n2) < 0.0 {
        scan_wedge::<L>(slab, v0, v1, n * side, n2 * side, n + n2, t as u32);
    }
}

/// Nodes nearest to the interior of an edge, between the directions `r1` and `r2` (unit) of its two faces.
#[inline(always)]
fn scan_wedge<L: Lanes>(slab: &mut Slab, v0: DVec3, v1: DVec3, r1: DVec3, r2: DVec3, out: DVec3, t: u32) {
    let middle = r1 + r2;
    let axes = Axes::along(dominant(middle));
    let (a, b, m) = (axes.turn(r1), axes.turn(r2), axes.turn(middle));
    let up = m[2].signum();
    if a[2] * up < MIN_RISE || b[2] * up < MIN_RISE {
        return scan_edge_box(slab, v0, v1, out, t);
    }
    let (e0, e1) = (axes.turn(v0), axes.turn(v1));
    let (low, high) = (e0[2].min(e1[2]), e0[2].max(e1[2]));
    let reach = slab.band + OVERLAP;
    let (w0, w1) = if up > 0.0 {
        slab.clip(axes.w, low - OVERLAP, high + reach)
    } else {
        slab.clip(axes.w, low - reach, high + OVERLAP)
    };
    if w0 > w1 {
        return;
    }
    let segment = Segment::new(axes, v0, v1, out, t);
    let (ia, ib) = (1.0 / a[2], 1.0 / b[2]);
    let across = if high > low { (1.0 / (e1[2] - e0[2])) as f32 } else { 0.0 };
    let g = [[(a[0] * ia) as f32, (a[1] * ia) as f32], [(b[0] * ib) as f32, (b[1] * ib) as f32]];
    let mut base = w0;
    while base <= w1 {
        let w = L::splat(base as f32).add(L::load(&IOTA));
        // Heights over both ends. Under an end the section stops where the slice crosses the edge.
        let (h0, h1) = (w.sub(L::splat(e0[2] as f32)), w.sub(L::splat(e1[2] as f32)));
        let zero = L::splat(0.0);
        let (under0, under1) = if up > 0.0 { (h0.lt(zero), h1.lt(zero)) } else { (zero.lt(h0), zero.lt(h1)) };
        let k = h0.mul(L::splat(across)).max(zero).min(L::splat(1.0));
        let ends = Ends { h: [h0, h1], under: [under0, under1], k };
        let (lu, hu) = ray_range(&ends, e0[0], e1[0], g[0][0], g[1][0]);
        let (lv, hv) = ray_range(&ends, e0[1], e1[1], g[0][1], g[1][1]);
        let found = rows::<L>(slab, axes, [lu, lv], [hu, hv]);
        let mut live = found.live & lanes_until(base, w1);
        while live != 0 {
            let lane = live.trailing_zeros() as usize;
            live &= live - 1;
            let wi = base + lane as i32;
            let at_w = slab.place(axes.w, wi);
            for ui in found.u[0][lane] as i32..=found.u[1][lane] as i32 {
                let at_u = slab.place(axes.u, ui);
                for vi in found.v[0][lane] as i32..=found.v[1][lane] as i32 {
                    let at_v = slab.place(axes.v, vi);
                    let place = (at_w.0 + at_u.0 + at_v.0, at_w.1 | at_u.1 | at_v.1);
                    offer_segment(slab, place, [ui, vi, wi], &segment);
                }
            }
        }
        base += LANES as i32;
    }
}

/// Where eight slices lie relative to the two ends of an edge.
struct Ends<L: Lanes> {
    /// Height over each end.
    h: [L; 2],
    /// Whether the slice passes under that end, seen along the wedge.
    under: [L::Mask; 2],
    /// Where on the edge the slice crosses it, from 0 to 1.
    k: L,
}

/// Lowest and highest coordinate of the section: two rays from each end, or the crossing where an end is above.
#[inline(always)]
fn ray_range<L: Lanes>(ends: &Ends<L>, e0: f64, e1: f64, ga: f32, gb: f32) -> (L, L) {
    let (ga, gb) = (L::splat(ga), L::splat(gb));
    let crossing = L::splat(e0 as f32).add(ends.k.mul(L::splat((e1 - e0) as f32)));
    let (e0, e1) = (L::splat(e0 as f32), L::splat(e1 as f32));
    let a0 = L::select(ends.under[0], crossing, e0.add(ends.h[0].mul(ga)));
    let b0 = L::select(ends.under[0], crossing, e0.add(ends.h[0].mul(gb)));
    let a1 = L::select(ends.under[1], crossing, e1.add(ends.h[1].mul(ga)));
    let b1 = L::select(ends.under[1], crossing, e1.add(ends.h[1].mul(gb)));
    (a0.min(b0).min(a1.min(b1)), a0.max(b0).max(a1.max(b1)))
}

/// All nodes within the band of an edge: for borders, non-manifold edges and knife edges.
#[inline(never)]
fn scan_edge_box(slab: &mut Slab, v0: DVec3, v1: DVec3, out: DVec3, t: u32) {
    let axes = Axes { u: 1, v: 0, w: 2 };
    let segment = Segment::new(axes, v0, v1, out, t);
    let (low, high) = (v0.min(v1) - slab.band, v0.max(v1) + slab.band);
    let (x0, x1) = slab.clip(0, low.x, high.x);
    let (y0, y1) = slab.clip(1, low.y, high.y);
    let (z0, z1) = slab.clip(2, low.z, high.z);
    for z in z0..=z1 {
        let at_z = slab.place(2, z);
        for y in y0..=y1 {
            let at_y = slab.place(1, y);
            for x in x0..=x1 {
                let at_x = slab.place(0, x);
                let place = (at_z.0 + at_y.0 + at_x.0, at_z.1 | at_y.1 | at_x.1);
                offer_segment(slab, place, [y, x, z], &segment);
            }
        }
    }
}

/// An edge prepared for many distances, in the order of axes of its scan.
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
    #[inline(always)]
    fn new(axes: Axes, v0: DVec3, v1: DVec3, out: DVec3, triangle: u32) -> Self {
        let along = DVec3::from_array(axes.turn(v1 - v0));
        Self {
            start: DVec3::from_array(axes.turn(v0)),
            along,
            inverse: 1.0 / along.length_squared().max(1e-300),
            out: DVec3::from_array(axes.turn(out)),
            triangle,
        }
    }
}

#[inline(always)]
fn offer_segment(slab: &mut Slab, place: (usize, usize), node: [i32; 3], s: &Segment) {
    let p = DVec3::new(f64::from(node[0]), f64::from(node[1]), f64::from(node[2])) - s.start;
    let k = p.dot(s.along) * s.inverse;
    let away = p - s.along * k;
    let squared = away.length_squared();
    if (-OVERLAP..=1.0 + OVERLAP).contains(&k) && squared <= slab.band * slab.band {
        let d = squared.sqrt();
        slab.offer(place, if away.dot(s.out) < 0.0 { -d } else { d } as f32, s.triangle, false);
    }
}

/// Nodes nearest to the vertex at `p`, inside its cone.
#[inline(always)]
fn scan_cone(slab: &mut Slab, p: DVec3, cone: &Cone) {
    let (w, up) = cone.axis();
    let axes = Axes::along(w);
    let c = axes.turn(p);
    let normal = axes.turn(cone.normal.as_dvec3());
    let (w0, w1) = if up > 0.0 {
        slab.clip(w, c[2] - OVERLAP, c[2] + slab.band)
    } else {
        slab.clip(w, c[2] - slab.band, c[2] + OVERLAP)
    };
    let [ul, uh, vl, vh] = cone.slopes;
    for wi in w0..=w1 {
        let dw = f64::from(wi) - c[2];
        let s = dw.abs();
        let (u0, u1) =
            slab.clip(axes.u, c[0] + s * f64::from(ul) - OVERLAP, c[0] + s * f64::from(uh) + OVERLAP);
        if u0 > u1 {
            continue;
        }
        let (v0, v1) =
            slab.clip(axes.v, c[1] + s * f64::from(vl) - OVERLAP, c[1] + s * f64::from(vh) + OVERLAP);
        let at_w = slab.place(w, wi);
        for ui in u0..=u1 {
            let at_u = slab.place(axes.u, ui);
            let du = f64::from(ui) - c[0];
            for vi in v0..=v1 {
                let dv = f64::from(vi) - c[1];
                let squared = du * du + dv * dv + dw * dw;
                if squared <= slab.band * slab.band {
                    let at_v = slab.place(axes.v, vi);
                    let place = (at_w.0 + at_u.0 + at_v.0, at_w.1 | at_u.1 | at_v.1);
                    let d = squared.sqrt();
                    let inside = du * normal[0] + dv * normal[1] + dw * normal[2] < 0.0;
                    slab.offer(place, if inside { -d } else { d } as f32, cone.triangle, false);
                }
            }
        }
    }
}

/// `v.floor() as i32` without the call that the baseline target makes of it. Saturates as casts do.
#[inline(always)]
fn floor(v: f64) -> i32 {
    let i = v as i32;
    i - i32::from(v < f64::from(i)) * i32::from(i > i32::MIN)
}

/// `v.ceil() as i32`.
#[inline(always)]
fn ceil(v: f64) -> i32 {
    let i = v as i32;
    i + i32::from(v > f64::from(i)) * i32::from(i < i32::MAX)
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
fn min_max(a: f64, b: f64, c: f64) -> (f64, f64) {
    (a.min(b).min(c), a.max(b).max(c))
}
