//! Nodes nearest to the interior of an edge.

use super::group::{Fans, Group, SLICES, SMALL};
use super::sweep::{Feature, Linear, OVERLAP, Region, Window, sweep};
use super::{Axes, IOTA, Slab, dominant, float, floor};
use crate::field::surface::Surface;
use crate::mesh::Topology;
use crate::simd::{LANES, Lanes};
use glam::DVec3;

/// Sections of a wedge are bounded by its rays only if both rise at least this much along the slicing axis; flatter ones
/// take the whole box of the edge. Lower: long thin sections. Higher: needless boxes.
const MIN_RISE: f64 = 0.3;
/// A wedge that opens less than this [rad] is inside the overlap of its two faces at the end of any band.
/// Higher: gaps of more than [`OVERLAP`]. Lower: time spent on the edges of flat faces.
const FLAT: f64 = 1e-6;

/// An edge prepared for many distances, in the order of axes of its scan.
#[derive(Clone, Copy, Default)]
pub(super) struct Edge {
    start: [f64; 3],
    along: [f64; 3],
    /// 1 / |along|².
    inverse: f64,
    /// Pseudonormal.
    out: [f64; 3],
    triangle: u32,
}

impl Feature for Edge {
    #[inline(always)]
    fn offer(&self, slab: &mut Slab, axes: Axes, node: [u32; 3], address: usize, _: f32) {
        let [u, v, w] = float(slab.node(axes, node));
        let p = [u - self.start[0], v - self.start[1], w - self.start[2]];
        let k = dot(p, self.along) * self.inverse;
        let away = [p[0] - k * self.along[0], p[1] - k * self.along[1], p[2] - k * self.along[2]];
        let squared = dot(away, away);
        if squared <= slab.band * slab.band {
            let d = squared.sqrt();
            slab.offer(address, if dot(away, self.out) < 0.0 { -d } else { d } as f32, self.triangle, false);
        }
    }
}

/// Small wedges, until there are eight.
pub(super) type Edges = Group<Fans, Edge, 2>;

#[inline(always)]
fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Nodes nearest to the interior of edge `e` of triangle `t`, from `v0` to `v1`, if that triangle owns the edge.
#[expect(clippy::too_many_arguments, reason = "all of them describe the edge")]
#[inline(always)]
pub(super) fn scan_edge<L: Lanes>(
    slab: &mut Slab,
    group: &mut Edges,
    surface: &Surface,
    v0: DVec3,
    v1: DVec3,
    n: DVec3,
    t: usize,
    e: usize,
) {
    let other = surface.neighbours[t][e];
    if other >= Topology::NONMANIFOLD {
        // Nothing, or several triangles across, which come by themselves: all of the outer side.
        let inward = n.cross(v1 - v0);
        return scan_edge_box::<L>(slab, v0, v1, [inward, inward], n, t as u32);
    }
    if (other as usize) < t {
        return;
    }
    let n2 = surface.normals[other as usize];
    let along = v1 - v0;
    let inward = n.cross(along);
    let fold = n2.dot(inward);
    // Convex edges have their wedge outside, reflex ones inside, flat ones none.
    let side = if fold < 0.0 { 1.0 } else { -1.0 };
    if fold * fold > FLAT * FLAT * inward.length_squared() || n.dot(n2) < 0.0 {
        let inward = [inward, along.cross(n2)];
        scan_wedge::<L>(slab, group, v0, v1, n * side, n2 * side, inward, n + n2, t as u32);
    }
}

/// The wedge of an edge: what is neither over the edge's faces nor beyond its ends.
#[inline(always)]
fn wedge(axes: Axes, v0: DVec3, v1: DVec3, inward: [DVec3; 2]) -> Region<2> {
    let start = axes.turn(v0);
    let along = axes.turn(v1 - v0);
    let length_sq = dot(along, along);
    Region {
        half: [outward(start, axes.turn(inward[0])), outward(start, axes.turn(inward[1]))],
        middle: [along[0], along[1], along[2], -dot(along, start) - 0.5 * length_sq],
        width: 0.5 * length_sq + OVERLAP * (along[0].abs() + along[1].abs() + along[2].abs()),
    }
}

/// A function that is positive where `inward` leads away from, as seen from `start`.
#[inline(always)]
fn outward(start: [f64; 3], inward: [f64; 3]) -> Linear {
    let overlap = OVERLAP * (inward[0].abs() + inward[1].abs() + inward[2].abs());
    [-inward[0], -inward[1], -inward[2], dot(start, inward) + overlap]
}

/// An edge as its nodes see it.
#[inline(always)]
fn edge(axes: Axes, v0: DVec3, v1: DVec3, out: DVec3, triangle: u32) -> Edge {
    let along = axes.turn(v1 - v0);
    let inverse = 1.0 / dot(along, along).max(1e-300);
    Edge { start: axes.turn(v0), along, inverse, out: axes.turn(out), triangle }
}

/// Nodes nearest to the interior of an edge, between the directions `r1` and `r2` (unit) of its two faces.
#[expect(clippy::too_many_arguments, reason = "all of them describe the edge")]
#[inline(always)]
fn scan_wedge<L: Lanes>(
    slab: &mut Slab,
    group: &mut Edges,
    v0: DVec3,
    v1: DVec3,
    r1: DVec3,
    r2: DVec3,
    inward: [DVec3; 2],
    out: DVec3,
    t: u32,
) {
    let middle = r1 + r2;
    let axes = Axes::along(dominant(middle));
    let (a, b, m) = (axes.turn(r1), axes.turn(r2), axes.turn(middle));
    let up = m[2].signum();
    if a[2] * up < MIN_RISE || b[2] * up < MIN_RISE {
        return scan_edge_box::<L>(slab, v0, v1, inward, out, t);
    }
    let (e0, e1) = (axes.turn(v0), axes.turn(v1));
    let (low, high) = (e0[2].min(e1[2]), e0[2].max(e1[2]));
    // No direction of the wedge rises more than its steeper side over the cosine of half its angle, nor that cosine's
    // square, (1 + cos)/2.
    let rise = (a[2].abs().max(b[2].abs()) * 2.0 / (1.0 + dot(a, b))).min(1.0);
    let reach = slab.band * rise + OVERLAP;
    let (below, above) = if up > 0.0 { (OVERLAP, reach) } else { (reach, OVERLAP) };
    let Some(slices) = slab.slices(axes.w, low - below, high + above) else { return };
    let region = wedge(axes, v0, v1, inward);
    let feature = edge(axes, v0, v1, out, t);
    let (ia, ib) = (1.0 / a[2], 1.0 / b[2]);
    let across = if high > low { (1.0 / (e1[2] - e0[2])) as f32 } else { 0.0 };
    let g = [[(a[0] * ia) as f32, (a[1] * ia) as f32], [(b[0] * ib) as f32, (b[1] * ib) as f32]];
    let origin = [floor(e0[0]), floor(e0[1])];
    let at = [(e0[0] - f64::from(origin[0])) as f32, (e0[1] - f64::from(origin[1])) as f32];
    let length = [(e1[0] - e0[0]).abs(), (e1[1] - e0[1]).abs()];
    if length[0] < SMALL && length[1] < SMALL && slices.last - slices.first < SLICES {
        let first = f64::from(slices.first);
        let lane = group.lane();
        let sections = &mut group.sections;
        sections.height[0][lane] = (up * (first - e0[2])) as f32;
        sections.height[1][lane] = (up * (first - e1[2])) as f32;
        sections.rise[lane] = up as f32;
        for i in 0..2 {
            sections.ends[i][0][lane] = at[i];
            sections.ends[i][1][lane] = (e1[i] - f64::from(origin[i])) as f32;
            sections.slopes[i][0][lane] = g[0][i] * up as f32;
            sections.slopes[i][1][lane] = g[1][i] * up as f32;
        }
        let origin = [origin[0], origin[1], slices.first];
        return group.push::<L>(slab, axes, &region, origin, slices, feature);
    }
    let along = [(e1[0] - e0[0]) as f32, (e1[1] - e0[1]) as f32];
    let slack = L::splat(slab.slack);
    let zero = L::splat(0.0);
    let (mut base, last) = slices.blocks();
    while base <= last {
        // Heights over both ends. Under an end the section stops where the slice crosses the edge.
        let iota = L::load(&IOTA);
        let h0 = iota.add(L::splat((f64::from(base) - e0[2]) as f32));
        let h1 = iota.add(L::splat((f64::from(base) - e1[2]) as f32));
        let (under0, under1) = if up > 0.0 { (h0.lt(zero), h1.lt(zero)) } else { (zero.lt(h0), zero.lt(h1)) };
        let k = h0.mul(L::splat(across)).max(zero).min(L::splat(1.0));
        let ends = Ends { h: [h0, h1], under: [under0, under1], k };
        let (lu, hu) = ray_range(&ends, at[0], along[0], g[0][0], g[1][0]);
        let (lv, hv) = ray_range(&ends, at[1], along[1], g[0][1], g[1][1]);
        // ceil(x) = −floor(−x)
        let (cu, cv) = (zero.sub(slack.sub(lu).floor()), zero.sub(slack.sub(lv).floor()));
        let (nu, nv) = (hu.add(slack).floor().sub(cu), hv.add(slack).floor().sub(cv));
        let live = L::bits(L::and(nu.ge(zero), nv.ge(zero))) & slices.lanes(base);
        if live != 0 {
            let count = [largest(nu, live) + 1, largest(nv, live) + 1];
            let origin = [origin[0], origin[1], base];
            sweep(slab, axes, &region, &Window { origin, corner: [cu, cv], count, live }, &feature);
        }
        base += LANES as i32;
    }
}

/// The largest of the lanes `live`.
#[inline(always)]
fn largest<L: Lanes>(v: L, live: u32) -> i32 {
    let mut lanes = [0.0; LANES];
    v.store(&mut lanes);
    let mut most = 0.0f32;
    for (i, l) in lanes.into_iter().enumerate() {
        let l = if live >> i & 1 == 1 { l } else { 0.0 };
        most = if l > most { l } else { most };
    }
    most as i32
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
fn ray_range<L: Lanes>(ends: &Ends<L>, e0: f32, along: f32, ga: f32, gb: f32) -> (L, L) {
    let (ga, gb) = (L::splat(ga), L::splat(gb));
    let crossing = L::splat(e0).add(ends.k.mul(L::splat(along)));
    let (e0, e1) = (L::splat(e0), L::splat(e0 + along));
    let a0 = L::select(ends.under[0], crossing, e0.add(ends.h[0].mul(ga)));
    let b0 = L::select(ends.under[0], crossing, e0.add(ends.h[0].mul(gb)));
    let a1 = L::select(ends.under[1], crossing, e1.add(ends.h[1].mul(ga)));
    let b1 = L::select(ends.under[1], crossing, e1.add(ends.h[1].mul(gb)));
    (a0.min(b0).min(a1.min(b1)), a0.max(b0).max(a1.max(b1)))
}

/// All nodes within the band of an edge that are not over its faces: for borders, non-manifold edges and knife edges.
#[inline(always)]
fn scan_edge_box<L: Lanes>(slab: &mut Slab, v0: DVec3, v1: DVec3, inward: [DVec3; 2], out: DVec3, t: u32) {
    let axes = Axes::along(2);
    let reach = slab.band + OVERLAP;
    let (low, high) = (v0.min(v1) - reach, v0.max(v1) + reach);
    let Some(slices) = slab.slices(2, low.z, high.z) else { return };
    let region = wedge(axes, v0, v1, inward);
    let feature = edge(axes, v0, v1, out, t);
    let origin = [floor(low.x), floor(low.y)];
    let count = [floor(high.x) - origin[0] + 1, floor(high.y) - origin[1] + 1];
    let corner = [L::splat(0.0); 2];
    let (mut base, last) = slices.blocks();
    while base <= last {
        let origin = [origin[0], origin[1], base];
        sweep(slab, axes, &region, &Window { origin, corner, count, live: slices.lanes(base) }, &feature);
        base += LANES as i32;
    }
}
