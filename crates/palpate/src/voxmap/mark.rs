//! Marking the voxels of one triangle: the navigation of its box.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, sec. 3.1 [sagardia08]: navigation in the box of a triangle
//! by columns, first approach (test every voxel of the column's range) and second approach (test from both ends to
//! the first hit, mark between).
//! Differs: columns run along x, because a row of x is a byte of a tile and is marked at once. A third approach
//! solves the column's two ends from the axes instead of searching them by tests; it was faster on every mesh
//! measured, so it is what `Auto` takes (see [`Navigation`]).

use super::sat::{Axes, Bounds, LANES, Prepared, Span, integers, least, most, range_of};
use super::small::{INDICES, SMALL, Small};
use super::{EMPTY, Navigation, Stats, TILE, Tile};
use core::ops::RangeInclusive;
use glam::{Vec4, Vec4Swizzles};

/// Length of a column from which the paper's second approach beats its first [voxel].
/// Measured: from 3 to 24 the bunny (short columns) and the nut and bolt (long ones) change by less than a tenth,
/// 6 is best for both. Far larger: long columns are tested throughout. 0: short ones pay for two searches.
const SECOND_FROM: f64 = 6.0;

/// Voxels that the plane of the triangle allows in a column, at most [1].
fn column_length(p: &impl Axes) -> f64 {
    let (lo, hi) = p.plane(0, 0);
    least(hi - lo, f64::from(p.span().last[0] + 1))
}

/// The tiles of one layer while it is being voxelized.
pub(super) struct Part {
    /// Place of each tile of the layer in `tiles`, or [`EMPTY`].
    pub(super) directory: Vec<u32>,
    pub(super) tiles: Vec<Tile>,
    pub(super) stats: Stats,
    /// Tiles along x and y.
    width: [usize; 2],
    /// First and last voxel layer of this part.
    first_k: i32,
    last_k: i32,
    /// Bounds of i for each block of rows of the triangle at hand, kept to avoid allocation.
    rows: Vec<Bounds>,
}

impl Part {
    pub(super) fn new(tiles: [usize; 3], first_tile: usize, dim_z: u32) -> Self {
        let first_k = first_tile as i32 * TILE as i32;
        Self {
            directory: vec![EMPTY; tiles[0] * tiles[1] * tiles[2]],
            tiles: Vec::new(),
            stats: Stats::default(),
            width: [tiles[0], tiles[1]],
            first_k,
            last_k: (first_k + tiles[2] as i32 * TILE as i32).min(dim_z as i32) - 1,
            rows: Vec::new(),
        }
    }

    /// Marks the voxels of this part that the triangle meets.
    #[inline(always)]
    pub(super) fn mark(&mut self, span: Span, v: &[[f64; 3]; 3], slack: f64, navigation: Navigation) {
        let first = (self.first_k - span.base[2]).max(0);
        let last = (self.last_k - span.base[2]).min(span.last[2]);
        let solved = matches!(navigation, Navigation::Auto | Navigation::Solved);
        if !Small::fits(&span) {
            let p = Prepared::new(span, v, slack);
            if solved {
                self.mark_solved(&p, first, last)
            } else {
                self.mark_tested(&p, first, last, navigation)
            }
        } else if !solved {
            self.mark_tested(&Small::new(span, v, slack), first, last, navigation);
        } else if Small::fills(&span) {
            self.mark_span(&span, first, last);
        } else {
            self.mark_small(&Small::new(span, v, slack), first, last);
        }
    }

    fn mark_tested(&mut self, p: &impl Axes, k_first: i32, k_last: i32, navigation: Navigation) {
        match navigation {
            Navigation::First => self.mark_first(p, k_first, k_last),
            Navigation::Second => self.mark_second(p, k_first, k_last),
            Navigation::FirstOrSecond if column_length(p) < SECOND_FROM => {
                self.mark_first(p, k_first, k_last)
            }
            Navigation::FirstOrSecond => self.mark_second(p, k_first, k_last),
            _ => self.mark_box(p, k_first, k_last),
        }
    }

    /// Marks the whole box of a triangle.
    fn mark_span(&mut self, span: &Span, k_first: i32, k_last: i32) {
        for k in k_first..=k_last {
            for j in 0..=span.last[1] {
                self.stats.columns += 1;
                self.set(span, 0, span.last[0], j, k);
            }
        }
    }

    /// Solves both ends of each column of a small triangle: four rows at a time, marked as words of the tiles.
    #[inline(always)]
    fn mark_small(&mut self, p: &Small, k_first: i32, k_last: i32) {
        let span = &p.span;
        let blocks = span.last[1] as usize / 4 + 1;
        let mut rows = [(Vec4::ZERO, Vec4::ZERO); SMALL / 4];
        for (row, indices) in rows.iter_mut().zip(INDICES).take(blocks) {
            *row = p.columns4(indices);
        }
        let wide = span.last[0] >= 4;
        let (x, y) = (span.base[0] as usize, span.base[1] as usize);
        // Layers come four at a time too; the part may begin within the box.
        for group in k_first as usize / 4..k_last as usize / 4 + 1 {
            let (shadow, layers) = (p.rows4(INDICES[group % 2]), p.layers4(INDICES[group % 2]));
            for lane in 0..4 {
                let k = (4 * group + lane) as i32;
                if k < k_first || k > k_last {
                    continue;
                }
                let (j_lo, j_hi) = (Vec4::splat(shadow.0[lane]), Vec4::splat(shadow.1[lane]));
                let (i_lo, i_hi) = (Vec4::splat(layers.0[lane]), Vec4::splat(layers.1[lane]));
                // Row j of the box is byte j; what passes the end of the first tile along x goes to the second.
                let (mut here, mut next) = (0u64, 0u64);
                for block in 0..blocks {
                    let js = INDICES[block];
                    let met = js.cmpge(j_lo) & js.cmple(j_hi);
                    self.stats.columns += u64::from(met.bitmask().count_ones());
                    let (lo, hi) = p.plane4(js, k as f32);
                    let lo = lo.max(rows[block].0).max(i_lo);
                    let hi = Vec4::select(met, hi.min(rows[block].1).min(i_hi), Vec4::NEG_ONE);
                    let ends = [
                        (lo.xxxx(), hi.xxxx()),
                        (lo.yyyy(), hi.yyyy()),
                        (lo.zzzz(), hi.zzzz()),
                        (lo.wwww(), hi.wwww()),
                    ];
                    for (row, (lo, hi)) in ends.into_iter().enumerate() {
                        let mut run = (INDICES[0].cmpge(lo) & INDICES[0].cmple(hi)).bitmask();
                        if wide {
                            run |= (INDICES[1].cmpge(lo) & INDICES[1].cmple(hi)).bitmask() << 4;
                        }
                        let run = u64::from(run) << (x % 8);
                        here |= (run & 0xff) << (32 * block + 8 * row);
                        next |= (run >> 8) << (32 * block + 8 * row);
                    }
                }
                self.stats.hits += u64::from(here.count_ones() + next.count_ones());
                let z = (span.base[2] + k - self.first_k) as usize;
                self.set_block(x / 8, y, z, here);
                if next != 0 {
                    self.set_block(x / 8 + 1, y, z, next);
                }
            }
        }
    }

    /// Marks rows y, y + 1, … of the tiles at `tile_x`, a byte of `block` each.
    #[inline(always)]
    fn set_block(&mut self, tile_x: usize, y: usize, z: usize, block: u64) {
        let word = u128::from(block) << (8 * (y % 8));
        let row = (z / 8) * self.width[1] + y / 8;
        if word as u64 != 0 {
            self.set_word(row * self.width[0] + tile_x, z % 8, word as u64);
        }
        if word >> 64 != 0 {
            self.set_word((row + 1) * self.width[0] + tile_x, z % 8, (word >> 64) as u64);
        }
    }

    /// Marks the voxels of `bits` in a word of the tile at `place` of the directory.
    #[inline(always)]
    fn set_word(&mut self, place: usize, word: usize, bits: u64) {
        let slot = &mut self.directory[place];
        if *slot == EMPTY {
            *slot = self.tiles.len() as u32;
            self.tiles.push([0; 8]);
        }
        self.tiles[*slot as usize][word] |= bits;
    }

    /// Solves both ends of each column.
    fn mark_solved(&mut self, p: &Prepared, k_first: i32, k_last: i32) {
        let mut rows = core::mem::take(&mut self.rows);
        rows.clear();
        rows.extend((0..=p.span.last[1]).step_by(LANES).map(|j| p.bounds_xy(j)));
        let mut k = k_first;
        while k <= k_last {
            let (j_first, j_last) = p.rows(k);
            let layers = p.bounds_xz(k);
            for l in 0..LANES.min((k_last - k + 1) as usize) {
                self.mark_layer(p, &rows, k + l as i32, (layers.0[l], layers.1[l]), j_first[l], j_last[l]);
            }
            k += LANES as i32;
        }
        self.rows = rows;
    }

    /// Marks the columns `j_first..=j_last` of layer `k`.
    #[inline(always)]
    fn mark_layer(
        &mut self,
        p: &Prepared,
        rows: &[Bounds],
        k: i32,
        layer: (f64, f64),
        j_first: i32,
        j_last: i32,
    ) {
        if j_first > j_last {
            return;
        }
        self.stats.columns += (j_last - j_first + 1) as u64;
        let mut block = j_first as usize / LANES;
        while block <= j_last as usize / LANES {
            let start = (block * LANES) as i32;
            let (mut lo, mut hi) = p.bounds_plane(start, k);
            let row = &rows[block];
            for l in 0..LANES {
                lo[l] = most(most(layer.0, row.0[l]), lo[l]);
                hi[l] = least(least(layer.1, row.1[l]), hi[l]);
            }
            let (first, last) = integers((lo, hi));
            for j in j_first.max(start)..=j_last.min(start + LANES as i32 - 1) {
                let l = (j - start) as usize % LANES;
                if first[l] <= last[l] {
                    self.set(&p.span, first[l], last[l], j, k);
                }
            }
            block += 1;
        }
    }

    /// Tests every voxel between the column's lowest and highest point of the plane.
    fn mark_first(&mut self, p: &impl Axes, k_first: i32, k_last: i32) {
        self.columns(p, k_first, k_last, |part, range, j, k| {
            part.stats.sat_tests += (range.end() - range.start() + 1) as u64;
            for i in range {
                if p.edges_pass(i, j, k) {
                    part.set(p.span(), i, i, j, k);
                }
            }
        });
    }

    /// Tests from both ends of the column to the first hit and marks what lies between.
    fn mark_second(&mut self, p: &impl Axes, k_first: i32, k_last: i32) {
        self.columns(p, k_first, k_last, |part, mut range, j, k| {
            let last = *range.end();
            let mut tests = 0;
            let mut passes = |i: &i32| {
                tests += 1;
                p.edges_pass(*i, j, k)
            };
            if let Some(low) = range.find(&mut passes) {
                let high = (low + 1..=last).rev().find(&mut passes).unwrap_or(low);
                part.set(p.span(), low, high, j, k);
            }
            part.stats.sat_tests += tests;
        });
    }

    /// Calls `column(self, range, j, k)` for the columns under the triangle's shadow, with the range of i that its
    /// plane allows, unless that is empty.
    fn columns(
        &mut self,
        p: &impl Axes,
        k_first: i32,
        k_last: i32,
        column: impl Fn(&mut Self, RangeInclusive<i32>, i32, i32),
    ) {
        let last = p.span().last;
        for k in k_first..=k_last {
            for j in range_of(p.shadow(k), last[1]) {
                let range = range_of(p.plane(j, k), last[0]);
                self.stats.columns += 1;
                if !range.is_empty() {
                    column(self, range, j, k);
                }
            }
        }
    }

    /// Tests every voxel of the triangle's box.
    fn mark_box(&mut self, p: &impl Axes, k_first: i32, k_last: i32) {
        let last = p.span().last;
        for k in k_first..=k_last {
            for j in 0..=last[1] {
                self.stats.columns += 1;
                self.stats.sat_tests += last[0] as u64 + 1;
                for i in 0..=last[0] {
                    if p.touches(i, j, k) {
                        self.set(p.span(), i, i, j, k);
                    }
                }
            }
        }
    }

    /// Marks the voxels `first..=last` of the row (j, k), all relative to the triangle's box.
    #[inline]
    fn set(&mut self, span: &Span, first: i32, last: i32, j: i32, k: i32) {
        self.stats.hits += (last - first + 1) as u64;
        let (x0, x1) = ((span.base[0] + first) as usize, (span.base[0] + last) as usize);
        let (y, z) = ((span.base[1] + j) as usize, (span.base[2] + k - self.first_k) as usize);
        let row = ((z / 8) * self.width[1] + y / 8) * self.width[0];
        let (shift, word) = (8 * (y % 8), z % 8);
        let (mut tile, last_tile) = (x0 / 8, x1 / 8);
        let mut mask = 0xffu64 << (x0 % 8) & 0xff;
        loop {
            if tile == last_tile {
                mask &= 0xff >> (7 - x1 % 8);
            }
            self.set_word(row + tile, word, mask << shift);
            if tile == last_tile {
                return;
            }
            tile += 1;
            mask = 0xff;
        }
    }
}
