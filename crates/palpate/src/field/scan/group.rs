//! Finding the nodes inside many small regions: eight at a time, a lane each, slice by slice.
//!
//! Where features are about as small as voxels, most sections hold one node or none, and lanes that are slices of one
//! region (see [`super::sweep`]) would mostly be empty.

use super::sweep::{Feature, Linear, OVERLAP, Region};
use super::{Axes, Slab, Slices, float};
use crate::simd::{LANES, Lanes};

/// Largest section of a grouped region along u and v [voxels]. Above it, slices as lanes are as good.
pub(super) const SMALL: f64 = 0.7;
/// Most slices of a grouped region: farther from its first f32 would lose digits.
pub(super) const SLICES: i32 = 16;

/// One number for each region of a group.
pub(super) type Column = [f32; LANES];

/// The rectangles that hold the sections of a group's regions.
pub(super) trait Sections: Default {
    /// Lowest and highest u and v in slice i, counted from each region's first.
    fn range<L: Lanes>(&self, i: L) -> [[L; 2]; 2];
}

/// Up to eight regions with H sides each, relative to their own first nodes.
pub(super) struct Group<S, F, const H: usize> {
    pub(super) sections: S,
    half: [[Column; 4]; H],
    middle: [Column; 4],
    width: Column,
    /// First slice in the slab, and one past the last, counted from the region's first.
    from: Column,
    end: Column,
    /// First node, counted from the first of the slab; wraps around below zero.
    origin: [[u32; 3]; LANES],
    axes: [Axes; LANES],
    features: [F; LANES],
    len: usize,
    most: i32,
}

impl<S: Sections, F: Feature + Copy + Default, const H: usize> Group<S, F, H> {
    /// No regions.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            sections: S::default(),
            half: [[[0.0; LANES]; 4]; H],
            middle: [[0.0; LANES]; 4],
            width: [0.0; LANES],
            from: [0.0; LANES],
            end: [0.0; LANES],
            origin: [[0; 3]; LANES],
            axes: [Axes::along(0); LANES],
            features: [F::default(); LANES],
            len: 0,
            most: 0,
        }
    }

    /// Where the next region goes, in `sections`.
    #[inline(always)]
    pub(super) fn lane(&self) -> usize {
        self.len % LANES
    }

    /// Adds a region whose sections have been set, relative to node `origin` in the first of its slices. Writes all
    /// when full.
    #[inline(always)]
    pub(super) fn push<L: Lanes>(
        &mut self,
        slab: &mut Slab,
        axes: Axes,
        region: &Region<H>,
        origin: [i32; 3],
        slices: Slices,
        feature: F,
    ) {
        let lane = self.lane();
        for i in 0..H {
            set(&mut self.half[i], lane, &region.half[i], origin);
        }
        set(&mut self.middle, lane, &region.middle, origin);
        self.width[lane] = region.width as f32;
        self.from[lane] = (slices.from - slices.first) as f32;
        self.end[lane] = (slices.to - slices.first + 1) as f32;
        self.origin[lane] = [
            origin[0].wrapping_sub(slab.first[axes.u]) as u32,
            origin[1].wrapping_sub(slab.first[axes.v]) as u32,
            origin[2].wrapping_sub(slab.first[axes.w]) as u32,
        ];
        self.axes[lane] = axes;
        self.features[lane] = feature;
        self.most = self.most.max(slices.to - slices.first + 1);
        self.len += 1;
        if self.len == LANES {
            self.flush::<L>(slab);
        }
    }

    /// Offers all nodes of all regions, and forgets these.
    #[inline(always)]
    pub(super) fn flush<L: Lanes>(&mut self, slab: &mut Slab) {
        for i in 0..self.most {
            self.slice::<L>(slab, i);
        }
        self.end = [0.0; LANES];
        (self.len, self.most) = (0, 0);
    }

    #[inline(always)]
    fn slice<L: Lanes>(&self, slab: &mut Slab, slice: i32) {
        let (zero, i) = (L::splat(0.0), L::splat(slice as f32));
        let [low, high] = self.sections.range(i);
        // ceil(x) = −floor(−x)
        let corner = [zero.sub(zero.sub(low[0]).floor()), zero.sub(zero.sub(low[1]).floor())];
        let (nu, nv) = (high[0].floor().sub(corner[0]), high[1].floor().sub(corner[1]));
        let inside = L::and(i.ge(L::load(&self.from)), i.lt(L::load(&self.end)));
        let live = L::and(L::and(nu.ge(zero), nv.ge(zero)), inside);
        if L::bits(live) == 0 {
            return;
        }
        let mut base = [zero; H];
        for (base, half) in base.iter_mut().zip(&self.half) {
            *base = at(half, corner, i);
        }
        let middle = at(&self.middle, corner, i);
        let width = L::load(&self.width);
        let mut u = 0;
        loop {
            let here = L::and(live, nu.ge(L::splat(u as f32)));
            if L::bits(here) == 0 {
                break;
            }
            let mut v = 0;
            loop {
                let here = L::and(here, nv.ge(L::splat(v as f32)));
                if L::bits(here) == 0 {
                    break;
                }
                let middle = step(&self.middle, middle, u, v);
                let mut least = width.sub(middle.abs());
                for (base, half) in base.iter().zip(&self.half) {
                    least = least.min(step(half, *base, u, v));
                }
                let found = L::bits(L::and(here, least.ge(zero)));
                if found != 0 {
                    self.offer(slab, found, [u, v, slice], corner, middle);
                }
                v += 1;
            }
            u += 1;
        }
    }

    /// Offers the nodes found at one place of each region's section.
    #[inline(always)]
    fn offer<L: Lanes>(&self, slab: &mut Slab, mut found: u32, place: [i32; 3], corner: [L; 2], middle: L) {
        let mut columns = [[0.0; LANES]; 3];
        corner[0].store(&mut columns[0]);
        corner[1].store(&mut columns[1]);
        middle.store(&mut columns[2]);
        while found != 0 {
            let lane = found.trailing_zeros() as usize % LANES;
            found &= found - 1;
            let (axes, origin) = (self.axes[lane], self.origin[lane]);
            let node = [
                origin[0].wrapping_add((columns[0][lane] as i32 + place[0]) as u32),
                origin[1].wrapping_add((columns[1][lane] as i32 + place[1]) as u32),
                origin[2].wrapping_add(place[2] as u32),
            ];
            // Nodes outside the slab have no entry.
            if let (Some(u), Some(v), Some(w)) = (
                slab.address[axes.u].get(node[0] as usize),
                slab.address[axes.v].get(node[1] as usize),
                slab.address[axes.w].get(node[2] as usize),
            ) {
                self.features[lane].offer(slab, axes, node, u + v + w, columns[2][lane]);
            }
        }
    }
}

/// Sets one lane of a function, relative to `origin`.
#[inline(always)]
fn set(columns: &mut [Column; 4], lane: usize, f: &Linear, origin: [i32; 3]) {
    let [u, v, w] = float(origin);
    columns[0][lane] = f[0] as f32;
    columns[1][lane] = f[1] as f32;
    columns[2][lane] = f[2] as f32;
    columns[3][lane] = (f[3] + f[0] * u + f[1] * v + f[2] * w) as f32;
}

/// The functions at the lowest nodes of slice `i`.
#[inline(always)]
fn at<L: Lanes>(f: &[Column; 4], corner: [L; 2], i: L) -> L {
    let across = L::load(&f[0]).mul(corner[0]).add(L::load(&f[1]).mul(corner[1]));
    L::load(&f[3]).add(L::load(&f[2]).mul(i)).add(across)
}

/// The functions u and v nodes on.
#[inline(always)]
fn step<L: Lanes>(f: &[Column; 4], from: L, u: i32, v: i32) -> L {
    from.add(L::load(&f[0]).mul(L::splat(u as f32)).add(L::load(&f[1]).mul(L::splat(v as f32))))
}

/// Sections of prisms: all alike, sliding from slice to slice.
#[derive(Default)]
pub(super) struct Sliding {
    /// Lowest u and v in the first slice, their step from slice to slice, and the size.
    pub(super) low: [Column; 2],
    pub(super) step: [Column; 2],
    pub(super) size: [Column; 2],
}

impl Sections for Sliding {
    #[inline(always)]
    fn range<L: Lanes>(&self, i: L) -> [[L; 2]; 2] {
        let u = L::load(&self.low[0]).add(L::load(&self.step[0]).mul(i));
        let v = L::load(&self.low[1]).add(L::load(&self.step[1]).mul(i));
        [[u, v], [u.add(L::load(&self.size[0])), v.add(L::load(&self.size[1]))]]
    }
}

/// Sections of wedges: between two rays from each end of an edge. Where a slice crosses the edge, it is all inside.
#[derive(Default)]
pub(super) struct Fans {
    /// Height of the first slice over each end, and its step (+1 or −1), seen along the wedge.
    pub(super) height: [Column; 2],
    pub(super) rise: Column,
    /// For u and v: both ends, and the slopes of both rays.
    pub(super) ends: [[Column; 2]; 2],
    pub(super) slopes: [[Column; 2]; 2],
}

impl Sections for Fans {
    #[inline(always)]
    fn range<L: Lanes>(&self, i: L) -> [[L; 2]; 2] {
        let zero = L::splat(0.0);
        let grown = L::load(&self.rise).mul(i);
        let h = [L::load(&self.height[0]).add(grown), L::load(&self.height[1]).add(grown)];
        let crosses = h[0].min(h[1]).lt(zero);
        let h = [h[0].max(zero), h[1].max(zero)];
        let u = self.span(0, h, crosses);
        let v = self.span(1, h, crosses);
        [[u.0, v.0], [u.1, v.1]]
    }
}

impl Fans {
    /// Lowest and highest coordinate along u (0) or v (1), at heights `h` over the ends; maybe where the slice crosses the
    /// edge.
    #[inline(always)]
    fn span<L: Lanes>(&self, axis: usize, h: [L; 2], crosses: L::Mask) -> (L, L) {
        let slack = L::splat(4.0 * OVERLAP as f32);
        let (a, b) = (L::load(&self.slopes[axis][0]), L::load(&self.slopes[axis][1]));
        let (low, high) = (a.min(b), a.max(b));
        let (e0, e1) = (L::load(&self.ends[axis][0]), L::load(&self.ends[axis][1]));
        let least = e0.add(h[0].mul(low)).min(e1.add(h[1].mul(low)));
        let most = e0.add(h[0].mul(high)).max(e1.add(h[1].mul(high)));
        let least = L::select(crosses, least.min(e0.min(e1)), least);
        let most = L::select(crosses, most.max(e0.max(e1)), most);
        (least.sub(slack), most.add(slack))
    }
}
