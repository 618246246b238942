//! The separating-axis test of a triangle and a voxel, solved for one coordinate.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, sec. 3.2 [sagardia08]: three coordinate axes, the
//! triangle's normal, nine cross products of voxel and triangle edges.
//! Differs: the paper states the theorem backwards; two convex bodies are disjoint iff SOME axis separates them.
//! Each axis that involves x is divided by its x component once per triangle, so its condition reads
//! `lo + slope * t <= i <= hi + slope * t` for the voxel index i. One comparison then serves both a test of one
//! voxel and the solution for a whole column, and the voxels of a column that pass are an interval, in floating
//! point too, because each bound is computed without i. An axis (nearly) parallel to a coordinate axis adds nothing
//! to the box of the triangle and is dropped.
//!
//! Rounding: the triangle is moved by at most `slack` voxels by the change to voxel units, and every bound carries
//! an error of a few units in the last place of its largest term. All bounds are widened by more than both, so a
//! touched voxel is never missed. A voxel that passes is touched once it is grown by 1e-4 voxel on each side
//! (in fact by 2e-5 for small triangles, see `small.rs`, and by less than 1e-9 for others below 10^5 voxels a side).
//!
//! | here | paper |
//! |---|---|
//! | `corners` | v_i |
//! | `f` | f_j, the edges |
//! | `Lines` | cross axes a_ij of one i |
//! | `plane_*` | n |

/// A voxel index as a bound: beyond every real one.
pub(super) const UNBOUNDED: f64 = 1e30;

/// Share of an axis' length below which its solved component counts as zero [1].
/// Larger: real conditions are dropped and voxels added. Smaller: quotients lose all their digits.
const PARALLEL: f64 = 1e-13;

/// Axes shorter than this are those of an edge of no length [voxel]: products would underflow.
const NO_LENGTH: f64 = 1e-140;

/// Rounding units (2^-53 times the largest coordinate) each bound is widened by.
/// A bound is made of at most 14 operations; fewer than 16 could miss a touched voxel.
const ROUNDINGS: f64 = 32.0;

/// Lanes of a block of rows: two SSE2 registers or one AVX2 register of f64.
pub(super) const LANES: usize = 4;

/// 0, 1, 2, 3 as voxel indices.
const STEPS: [f64; LANES] = [0.0, 1.0, 2.0, 3.0];

/// Lower and upper bounds of one coordinate for [`LANES`] consecutive indices of another.
pub(super) type Bounds = ([f64; LANES], [f64; LANES]);

/// The cross axes of the three edges in one projection: at index `t` of the other coordinate the solved index lies
/// in `lo + slope * t ..= hi + slope * t`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    lo: [f64; 3],
    hi: [f64; 3],
    slope: [f64; 3],
}

impl Lines {
    /// The axes of the edges `f` from corner e to e + 1, as (solved, other) coordinates [voxel].
    #[inline(always)]
    fn new(s: [f64; 3], t: [f64; 3], fs: [f64; 3], ft: [f64; 3], slack: f64) -> Self {
        let mut this = Self { lo: [0.0; 3], hi: [0.0; 3], slope: [0.0; 3] };
        for e in 0..3 {
            // The axis, turned so that its solved component is positive.
            let a = ft[e].abs();
            let b = if ft[e] > 0.0 { -fs[e] } else { fs[e] };
            let opposite = (e + 2) % 3;
            let (dp, dr) = (a * s[e] + b * t[e], a * s[opposite] + b * t[opposite]);
            let length = a + b.abs();
            let wide = length * slack;
            let inv = 1.0 / a;
            let lo = (least(dp, dr) - wide - a - most(b, 0.0)) * inv;
            let hi = (most(dp, dr) + wide - least(b, 0.0)) * inv;
            // What a vanishing component makes of the quotients is not used: the box says it all.
            let useful = a > PARALLEL * length && length > NO_LENGTH;
            this.lo[e] = if useful { lo } else { -UNBOUNDED };
            this.hi[e] = if useful { hi } else { UNBOUNDED };
            this.slope[e] = if useful { -b * inv } else { 0.0 };
        }
        this
    }

    /// The intersection of the three intervals at `first`, `first + 1`, …, and of `0..=last`.
    #[inline(always)]
    fn bounds(&self, first: f64, last: f64) -> Bounds {
        let (mut lo, mut hi) = ([0.0; LANES], [last; LANES]);
        for e in 0..3 {
            for l in 0..LANES {
                let c = self.slope[e] * (first + STEPS[l]);
                lo[l] = most(lo[l], self.lo[e] + c);
                hi[l] = least(hi[l], self.hi[e] + c);
            }
        }
        (lo, hi)
    }
}

#[inline(always)]
pub(super) fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[inline(always)]
pub(super) fn most(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The integers of the intervals, lower bounds from 0 and upper bounds below 2^31; none when the first exceeds the
/// last.
#[inline(always)]
pub(super) fn integers((lo, hi): Bounds) -> ([i32; LANES], [i32; LANES]) {
    let (mut first, mut last) = ([0; LANES], [0; LANES]);
    for l in 0..LANES {
        (first[l], last[l]) = (round_up(lo[l]), round_down(hi[l]));
    }
    (first, last)
}

/// Added to a number below 2^31 in size, it leaves the nearest integer in the low bits of the sum.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// The least integer not below `x`, for `x` from 0; more than 2^30 for all larger `x`.
#[inline(always)]
fn round_up(x: f64) -> i32 {
    // By hand: the library's rounding is a call without SSE 4.1, and a cast checks its range.
    let x = least(x, f64::from(1 << 30));
    let sum = x + TO_INTEGER;
    sum.to_bits() as i32 + i32::from(sum - TO_INTEGER < x)
}

/// The greatest integer not above `x`, for `x` below 2^31; −1 for all negative `x`.
#[inline(always)]
fn round_down(x: f64) -> i32 {
    let x = most(x, -1.0);
    let sum = x + TO_INTEGER;
    sum.to_bits() as i32 - i32::from(sum - TO_INTEGER > x)
}

/// The voxels of a triangle's box, within the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Grid index of the first voxel: index 0 of the box.
    pub(super) base: [i32; 3],
    /// Largest index within the box on each axis.
    pub(super) last: [i32; 3],
}

impl Span {
    /// The box of a triangle in grid units [voxel], `corners[axis][corner]`, and its corners relative to the box;
    /// `None` when it misses the grid.
    #[inline(always)]
    pub(super) fn new(
        mut corners: [[f64; 3]; 3],
        dims: [u32; 3],
        slack: f64,
    ) -> Option<(Self, [[f64; 3]; 3])> {
        let (mut base, mut last) = ([0; 3], [0; 3]);
        for axis in 0..3 {
            let [a, b, c] = corners[axis];
            let (min, max) = (least(a, least(b, c)), most(a, most(b, c)));
            let (first, end) = voxel_range(min, max, slack, dims[axis])?;
            base[axis] = first;
            last[axis] = end - first;
            let origin = f64::from(first);
            corners[axis] = [a - origin, b - origin, c - origin];
        }
        Some((Self { base, last }, corners))
    }
}

/// The thirteen axes of a triangle, solved; all indices are relative to its box.
pub(super) trait Axes {
    /// The coordinate axes.
    fn span(&self) -> &Span;
    /// Bounds of j from the cross axes in the yz plane at layer `k`.
    fn shadow(&self, k: i32) -> (f64, f64);
    /// Bounds of i from the cross axes in the xy plane at row `j`.
    fn row(&self, j: i32) -> (f64, f64);
    /// Bounds of i from the cross axes in the xz plane at layer `k`.
    fn layer(&self, k: i32) -> (f64, f64);
    /// Bounds of i from the normal over the pixel (j, k).
    fn plane(&self, j: i32, k: i32) -> (f64, f64);

    /// Whether the voxel passes the six cross axes that involve x.
    fn edges_pass(&self, i: i32, j: i32, k: i32) -> bool {
        within(self.row(j), i) && within(self.layer(k), i)
    }

    /// Whether the triangle meets the closed voxel.
    fn touches(&self, i: i32, j: i32, k: i32) -> bool {
        within(self.shadow(k), j) && within(self.plane(j, k), i) && self.edges_pass(i, j, k)
    }
}

fn within((lo, hi): (f64, f64), i: i32) -> bool {
    lo <= f64::from(i) && f64::from(i) <= hi
}

/// First and last integer of the interval within `0..=last`.
pub(super) fn range_of((lo, hi): (f64, f64), last: i32) -> core::ops::RangeInclusive<i32> {
    round_up(most(lo, 0.0))..=round_down(least(hi, f64::from(last)))
}

/// How far the change to voxel units may move a vertex, and more, in a grid of at most `largest_dim` voxels a side.
pub(super) fn slack(largest_dim: u32) -> f64 {
    ROUNDINGS * 0.5 * f64::EPSILON * (f64::from(largest_dim) + 2.0)
}

/// First and last voxel whose closed interval meets `[min, max]`, within `0..dim`; `None` when there is none.
#[inline(always)]
pub(super) fn voxel_range(min: f64, max: f64, slack: f64, dim: u32) -> Option<(i32, i32)> {
    let highest = f64::from(dim) - 1.0;
    // Voxel i spans [i, i + 1], so a value on a face belongs to both sides.
    let (lo, hi) = (most(min - slack - 1.0, 0.0), least(max + slack, highest));
    let (first, last) = (round_up(lo), round_down(hi));
    (lo <= highest && hi >= 0.0 && first <= last).then_some((first, last))
}

/// A triangle of any size prepared for tests against the voxels of its box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared {
    pub(super) span: Span,
    /// Cross axes in the yz plane, solved for j at k.
    yz: Lines,
    /// Cross axes in the xy plane, solved for i at j.
    xy: Lines,
    /// Cross axes in the xz plane, solved for i at k.
    xz: Lines,
    /// The normal, solved for i at (j, k): `plane_lo + (plane_k * k + plane_j * j) ..=`.
    plane_lo: f64,
    plane_hi: f64,
    plane_j: f64,
    plane_k: f64,
}

impl Prepared {
    /// Prepares the triangle `v[axis][corner]` in the coordinates of its box [voxel].
    pub(super) fn new(span: Span, v: &[[f64; 3]; 3], slack: f64) -> Self {
        let [x, y, z] = *v;
        let [fx, fy, fz] = v.map(|[a, b, c]| [b - a, c - b, a - c]);
        let mut this = Self {
            span,
            yz: Lines::new(y, z, fy, fz, slack),
            xy: Lines::new(x, y, fx, fy, slack),
            xz: Lines::new(x, z, fx, fz, slack),
            plane_lo: -UNBOUNDED,
            plane_hi: UNBOUNDED,
            plane_j: 0.0,
            plane_k: 0.0,
        };
        let mut n =
            [fy[0] * fz[1] - fz[0] * fy[1], fz[0] * fx[1] - fx[0] * fz[1], fx[0] * fy[1] - fy[0] * fx[1]];
        if n[0] < 0.0 {
            n = [-n[0], -n[1], -n[2]];
        }
        let length = n[0] + n[1].abs() + n[2].abs();
        // A triangle seen edge-on along x is bounded by its edges' axes in the yz plane.
        if n[0] > PARALLEL * length && length > NO_LENGTH {
            // Besides the common slack: the normal of a needle is a small difference of large products, and its
            // error does not shrink with it. No edge is longer than the box.
            let size = f64::from(span.last[0].max(span.last[1]).max(span.last[2]) + 1);
            let wide = slack * (length + size * size);
            let d = n[0] * x[0] + n[1] * y[0] + n[2] * z[0];
            let inv = 1.0 / n[0];
            this.plane_lo = (d - wide - n[0] - most(n[1], 0.0) - most(n[2], 0.0)) * inv;
            this.plane_hi = (d + wide - least(n[1], 0.0) - least(n[2], 0.0)) * inv;
            this.plane_j = -n[1] * inv;
            this.plane_k = -n[2] * inv;
        }
        this
    }

    /// First and last row j that the triangle's shadow on the yz plane meets at layers `k`, `k + 1`, ….
    #[inline(always)]
    pub(super) fn rows(&self, k: i32) -> ([i32; LANES], [i32; LANES]) {
        integers(self.yz.bounds(f64::from(k), f64::from(self.span.last[1])))
    }

    /// Bounds of i from the box and the edges' axes in the xy plane at rows `j`, `j + 1`, ….
    #[inline(always)]
    pub(super) fn bounds_xy(&self, j: i32) -> Bounds {
        self.xy.bounds(f64::from(j), f64::from(self.span.last[0]))
    }

    /// Bounds of i from the box and the edges' axes in the xz plane at layers `k`, `k + 1`, ….
    #[inline(always)]
    pub(super) fn bounds_xz(&self, k: i32) -> Bounds {
        self.xz.bounds(f64::from(k), f64::from(self.span.last[0]))
    }

    /// Bounds of i from the plane of the triangle over the pixels (j, k), (j + 1, k), ….
    #[inline(always)]
    pub(super) fn bounds_plane(&self, j: i32, k: i32) -> Bounds {
        let (j, ck) = (f64::from(j), self.plane_k * f64::from(k));
        let (mut lo, mut hi) = ([0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            let c = ck + self.plane_j * (j + STEPS[l]);
            lo[l] = self.plane_lo + c;
            hi[l] = self.plane_hi + c;
        }
        (lo, hi)
    }
}

impl Axes for Prepared {
    fn span(&self) -> &Span {
        &self.span
    }
    fn shadow(&self, k: i32) -> (f64, f64) {
        first_lane(self.yz.bounds(f64::from(k), f64::from(self.span.last[1])))
    }
    fn row(&self, j: i32) -> (f64, f64) {
        first_lane(self.bounds_xy(j))
    }
    fn layer(&self, k: i32) -> (f64, f64) {
        first_lane(self.bounds_xz(k))
    }
    fn plane(&self, j: i32, k: i32) -> (f64, f64) {
        first_lane(self.bounds_plane(j, k))
    }
}

fn first_lane((lo, hi): Bounds) -> (f64, f64) {
    (lo[0], hi[0])
}
