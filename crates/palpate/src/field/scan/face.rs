//! Nodes over the interior of a triangle.

use super::group::{Group, SLICES, SMALL, Sliding};
use super::sweep::{Feature, Linear, OVERLAP, Region, Window, sweep};
use super::{Axes, IOTA, Slab, dominant, floor};
use crate::simd::{LANES, Lanes};
use glam::DVec3;

/// A triangle whose plane's distances are the middle function of its region.
#[derive(Clone, Copy, Default)]
pub(super) struct Face {
    triangle: u32,
}

impl Feature for Face {
    #[inline(always)]
    fn offer(&self, slab: &mut Slab, _: Axes, _: [u32; 3], address: usize, middle: f32) {
        slab.offer(address, middle, self.triangle, true);
    }
}

/// Small prisms, until there are eight.
pub(super) type Faces = Group<Sliding, Face, 3>;

/// Nodes over the interior of a triangle: its prism along ±n.
#[inline(always)]
pub(super) fn scan_face<L: Lanes>(slab: &mut Slab, group: &mut Faces, corners: [DVec3; 3], n: DVec3, t: u32) {
    let axes = Axes::along(dominant(n));
    let p = [axes.turn(corners[0]), axes.turn(corners[1]), axes.turn(corners[2])];
    let n = axes.turn(n);
    let (wmin, wmax) = min_max(p[0][2], p[1][2], p[2][2]);
    let reach = slab.band * n[2].abs() + OVERLAP;
    let Some(slices) = slab.slices(axes.w, wmin - reach, wmax + reach) else { return };
    // Slide along n into the plane w = 0: all sections of the prism are the same triangle, moved.
    let inverse = 1.0 / n[2];
    let g = [n[0] * inverse, n[1] * inverse];
    let a = [slide(p[0], g), slide(p[1], g), slide(p[2], g)];
    let flip = n[2].signum();
    let height = n[0] * p[0][0] + n[1] * p[0][1] + n[2] * p[0][2];
    let region = Region {
        half: [
            edge_function(a[0], a[1], g, flip),
            edge_function(a[1], a[2], g, flip),
            edge_function(a[2], a[0], g, flip),
        ],
        middle: [n[0], n[1], n[2], -height],
        width: slab.band + OVERLAP,
    };
    let face = Face { triangle: t };
    let (umin, umax) = min_max(a[0][0], a[1][0], a[2][0]);
    let (vmin, vmax) = min_max(a[0][1], a[1][1], a[2][1]);
    if umax - umin < SMALL && vmax - vmin < SMALL && slices.last - slices.first < SLICES {
        let w = f64::from(slices.first);
        let (u, v) = (umin + w * g[0] - OVERLAP, vmin + w * g[1] - OVERLAP);
        let origin = [floor(u), floor(v), slices.first];
        let lane = group.lane();
        let sections = &mut group.sections;
        sections.low[0][lane] = (u - f64::from(origin[0])) as f32;
        sections.low[1][lane] = (v - f64::from(origin[1])) as f32;
        sections.step[0][lane] = g[0] as f32;
        sections.step[1][lane] = g[1] as f32;
        sections.size[0][lane] = (umax - umin + 2.0 * OVERLAP) as f32;
        sections.size[1][lane] = (vmax - vmin + 2.0 * OVERLAP) as f32;
        return group.push::<L>(slab, axes, &region, origin, slices, face);
    }
    let count = [floor(umax - umin + 2.0 * OVERLAP) + 1, floor(vmax - vmin + 2.0 * OVERLAP) + 1];
    let (mut base, last) = slices.blocks();
    while base <= last {
        let w = f64::from(base);
        let (u, v) = (umin + w * g[0] - OVERLAP, vmin + w * g[1] - OVERLAP);
        let origin = [floor(u), floor(v), base];
        let corner = [
            first_whole::<L>(u - f64::from(origin[0]), g[0]),
            first_whole::<L>(v - f64::from(origin[1]), g[1]),
        ];
        sweep(slab, axes, &region, &Window { origin, corner, count, live: slices.lanes(base) }, &face);
        base += LANES as i32;
    }
}

/// The lowest whole number from `from` + i·`step` on, for each lane i. Rounding may miss one that is less than
/// [`OVERLAP`] higher.
#[inline(always)]
fn first_whole<L: Lanes>(from: f64, step: f64) -> L {
    let x = L::splat(from as f32).add(L::load(&IOTA).mul(L::splat(step as f32)));
    // ceil(x) = −floor(−x)
    let zero = L::splat(0.0);
    zero.sub(zero.sub(x).floor())
}

#[inline(always)]
fn slide(p: [f64; 3], g: [f64; 2]) -> [f64; 2] {
    [p[0] - p[2] * g[0], p[1] - p[2] * g[1]]
}

/// A function of (u, v, w) that is positive on the inner side of the edge from `s` to `e`, which slides along `g`.
#[inline(always)]
fn edge_function(s: [f64; 2], e: [f64; 2], g: [f64; 2], flip: f64) -> Linear {
    let (fu, fv) = (-flip * (e[1] - s[1]), flip * (e[0] - s[0]));
    let overlap = OVERLAP * (fu.abs() + fv.abs());
    [fu, fv, -(fu * g[0] + fv * g[1]), overlap - (fu * s[0] + fv * s[1])]
}

#[inline(always)]
fn min_max(a: f64, b: f64, c: f64) -> (f64, f64) {
    (a.min(b).min(c), a.max(b).max(c))
}
