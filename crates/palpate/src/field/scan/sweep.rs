//! Finding the nodes inside a convex region, eight slices at a time.

use super::{Axes, IOTA, Slab, float};
use crate::simd::{LANES, Lanes};

/// How far regions are widened so that neighbours overlap in spite of f32 rounding [voxels]. Numbers in a tile stay
/// below 32, and at most 20 roundings add up; smaller than 2e-5 could leave a gap, above 1e-4 it would show in the
/// distances.
pub(super) const OVERLAP: f64 = 4e-5;
/// Nodes along the edge of a tile: farther from its corner f32 would lose digits.
const TILE: i32 = 8;
/// 1.5·2²³: added to a small whole number it leaves that number in the low bits.
const MAGIC: f32 = 12_582_912.0;

/// Coefficients of u, v, w and 1.
pub(super) type Linear = [f64; 4];

/// Where `half` are all positive and `middle` is at most `width` from zero.
pub(super) struct Region<const H: usize> {
    pub(super) half: [Linear; H],
    pub(super) middle: Linear,
    pub(super) width: f64,
}

/// A rectangle of nodes in each of eight consecutive slices.
pub(super) struct Window<L: Lanes> {
    /// What corners are relative to along u and v, and the first slice.
    pub(super) origin: [i32; 3],
    /// Lowest node of each slice, relative.
    pub(super) corner: [L; 2],
    /// Nodes along u and v: of the largest rectangle.
    pub(super) count: [i32; 2],
    /// Slices to look at.
    pub(super) live: u32,
}

/// What writes to nodes.
pub(super) trait Feature {
    /// Writes to node `node`, counted from the first of the slab along u, v and w, whose address is `address` and where
    /// the region's middle function is `middle`.
    fn offer(&self, slab: &mut Slab, axes: Axes, node: [u32; 3], address: usize, middle: f32);
}

/// Offers all nodes of the window that are in the region, and maybe some within [`OVERLAP`] of it.
#[inline(always)]
pub(super) fn sweep<L: Lanes, F: Feature, const H: usize>(
    slab: &mut Slab,
    axes: Axes,
    region: &Region<H>,
    window: &Window<L>,
    feature: &F,
) {
    let [nu, nv] = window.count;
    let tiles = (nu > TILE) | (nv > TILE);
    let mut tu = 0;
    while tu < nu {
        let mut tv = 0;
        while tv < nv {
            let count = [(nu - tu).min(TILE), (nv - tv).min(TILE)];
            let [ou, ov, ow] = window.origin;
            let origin = [ou.wrapping_add(tu), ov.wrapping_add(tv), ow];
            let live = window.live & reaching(slab, axes, origin, window.corner, count);
            if live != 0 {
                let tile = Window { origin, corner: window.corner, count, live };
                sweep_tile(slab, axes, region, &tile, tiles, feature);
            }
            tv += TILE;
        }
        tu += TILE;
    }
}

/// Slices in which a tile has nodes of the slab.
#[inline(always)]
fn reaching<L: Lanes>(slab: &Slab, axes: Axes, origin: [i32; 3], corner: [L; 2], count: [i32; 2]) -> u32 {
    let mut live = u32::MAX;
    for i in 0..2 {
        let axis = if i == 0 { axes.u } else { axes.v };
        let lowest = slab.first[axis].wrapping_sub(origin[i]).wrapping_sub(count[i] - 1);
        let highest = slab.end[axis].wrapping_sub(origin[i]).wrapping_sub(1);
        live &=
            L::bits(L::and(corner[i].ge(L::splat(lowest as f32)), L::splat(highest as f32).ge(corner[i])));
    }
    live
}

/// The value of `f` at the lowest node of each slice.
#[inline(always)]
fn start<L: Lanes>(f: &Linear, tile: &Window<L>) -> L {
    let [ou, ov, ow] = float(tile.origin);
    let base = f[3] + f[0] * ou + f[1] * ov + f[2] * ow;
    let along = L::load(&IOTA).mul(L::splat(f[2] as f32));
    let across = tile.corner[0].mul(L::splat(f[0] as f32)).add(tile.corner[1].mul(L::splat(f[1] as f32)));
    L::splat(base as f32).add(along).add(across)
}

/// How much `sign`·`f` can grow from the lowest node of a tile.
#[inline(always)]
fn growth(f: &Linear, sign: f64, count: [i32; 2]) -> f32 {
    let (u, v) = ((sign * f[0]).max(0.0), (sign * f[1]).max(0.0));
    (u * f64::from(count[0]) + v * f64::from(count[1])) as f32
}

/// As [`sweep`], for a window of at most `TILE` nodes along both axes.
#[expect(clippy::needless_range_loop, reason = "several arrays of lanes go side by side")]
#[inline(always)]
fn sweep_tile<L: Lanes, F: Feature, const H: usize>(
    slab: &mut Slab,
    axes: Axes,
    region: &Region<H>,
    tile: &Window<L>,
    reject: bool,
    feature: &F,
) {
    let zero = L::splat(0.0);
    let mut row = [zero; H];
    for i in 0..H {
        row[i] = start(&region.half[i], tile);
    }
    let row_middle = start(&region.middle, tile);
    let width = L::splat(region.width as f32);
    if reject {
        let mut most = width.add(row_middle).add(L::splat(growth(&region.middle, 1.0, tile.count)));
        most = most.min(width.sub(row_middle).add(L::splat(growth(&region.middle, -1.0, tile.count))));
        for i in 0..H {
            most = most.min(row[i].add(L::splat(growth(&region.half[i], 1.0, tile.count))));
        }
        if L::bits(most.ge(zero)) & tile.live == 0 {
            return;
        }
    }
    let step = [region.middle[0] as f32, region.middle[1] as f32];
    let mut hits = Hits::new(slab, axes, tile);
    for u in 0..tile.count[0] {
        let mut here = row;
        for v in 0..tile.count[1] {
            // Not summed up along the row: it may become the distance.
            let middle = row_middle.add(L::splat(step[0] * u as f32 + step[1] * v as f32));
            let mut least = width.sub(middle.abs());
            for i in 0..H {
                least = least.min(here[i]);
                here[i] = here[i].add(L::splat(region.half[i][1] as f32));
            }
            let found = L::bits(least.ge(zero)) & tile.live;
            hits.push(slab, found, [u as u32, v as u32], middle, feature);
        }
        for i in 0..H {
            row[i] = row[i].add(L::splat(region.half[i][0] as f32));
        }
    }
    hits.flush(slab, feature);
}

/// Nodes found in a tile, kept until there are enough to be written in one loop.
struct Hits {
    axes: Axes,
    /// Lowest node of the slices along u and v, and the slices, relative to the first of the slab.
    corner: [[u32; LANES]; 2],
    base: u32,
    /// Slices found at each of eight places of the tile, eight bits each.
    found: u64,
    places: [[u32; 2]; LANES],
    /// Values of the middle function there.
    middle: [[f32; LANES]; LANES],
    count: usize,
}

impl Hits {
    #[inline(always)]
    fn new<L: Lanes>(slab: &Slab, axes: Axes, tile: &Window<L>) -> Self {
        let [ou, ov, ow] = tile.origin;
        Self {
            axes,
            corner: [
                whole(tile.corner[0], ou.wrapping_sub(slab.first[axes.u])),
                whole(tile.corner[1], ov.wrapping_sub(slab.first[axes.v])),
            ],
            base: ow.wrapping_sub(slab.first[axes.w]) as u32,
            found: 0,
            places: [[0; 2]; LANES],
            middle: [[0.0; LANES]; LANES],
            count: 0,
        }
    }

    #[inline(always)]
    fn push<L: Lanes, F: Feature>(
        &mut self,
        slab: &mut Slab,
        found: u32,
        place: [u32; 2],
        middle: L,
        feature: &F,
    ) {
        self.found |= u64::from(found) << (8 * self.count);
        self.places[self.count & 7] = place;
        middle.store(&mut self.middle[self.count & 7]);
        self.count += 1;
        if self.count == LANES {
            self.flush(slab, feature);
        }
    }

    #[inline(always)]
    fn flush<F: Feature>(&mut self, slab: &mut Slab, feature: &F) {
        let axes = self.axes;
        while self.found != 0 {
            let bit = self.found.trailing_zeros() as usize;
            self.found &= self.found - 1;
            let (lane, at) = (bit & 7, bit >> 3 & 7);
            let node = [
                self.corner[0][lane].wrapping_add(self.places[at][0]),
                self.corner[1][lane].wrapping_add(self.places[at][1]),
                self.base.wrapping_add(lane as u32),
            ];
            // Nodes outside the slab have no entry.
            if let (Some(u), Some(v), Some(w)) = (
                slab.address[axes.u].get(node[0] as usize),
                slab.address[axes.v].get(node[1] as usize),
                slab.address[axes.w].get(node[2] as usize),
            ) {
                feature.offer(slab, axes, node, u + v + w, self.middle[at][lane]);
            }
        }
        self.count = 0;
    }
}

/// `from` plus each lane, which is a small whole number; wraps around below zero.
#[inline(always)]
fn whole<L: Lanes>(v: L, from: i32) -> [u32; LANES] {
    let mut lanes = [0.0f32; LANES];
    v.add(L::splat(MAGIC)).store(&mut lanes);
    let from = (from as u32).wrapping_sub(MAGIC.to_bits());
    let mut out = [0; LANES];
    for i in 0..LANES {
        out[i] = lanes[i].to_bits().wrapping_add(from);
    }
    out
}
