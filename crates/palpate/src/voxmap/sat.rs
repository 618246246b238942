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
//! (in fact by less than 1e-9 below 10^5 voxels a side).
//!
//! | here | paper |
//! |---|---|
//! | `corners` | v_i |
//! | `f` | f_j, the edges |
//! | `Line` | one cross axis a_ij |
//! | `plane_*` | n |

/// A voxel index as a bound: beyond every real one.
const UNBOUNDED: f64 = 1e30;

/// Share of an axis' length below which its solved component counts as zero [1].
/// Larger: real conditions are dropped and voxels added. Smaller: quotients lose all their digits.
const PARALLEL: f64 = 1e-13;

/// Axes shorter than this are those of an edge of no length [voxel]: products would underflow.
const NO_LENGTH: f64 = 1e-140;

/// Rounding units (2^-53 times the largest coordinate) each bound is widened by.
/// A bound is made of at most 14 operations; fewer than 16 could miss a touched voxel.
const ROUNDINGS: f64 = 32.0;

/// One cross axis in one projection: at index `t` of the other coordinate the solved index lies in
/// `lo + slope * t ..= hi + slope * t`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    lo: f64,
    hi: f64,
    slope: f64,
}

impl Line {
    const EVERYTHING: Self = Self { lo: -UNBOUNDED, hi: UNBOUNDED, slope: 0.0 };

    /// The axis of the edge `f` at corner `p`, opposite corner `r`, as (solved, other) coordinates [voxel].
    #[inline]
    fn new(p: [f64; 2], r: [f64; 2], f: [f64; 2], slack: f64) -> Self {
        // The axis, turned so that its solved component is positive.
        let (a, b) = if f[1] > 0.0 { (f[1], -f[0]) } else { (-f[1], f[0]) };
        let length = a + b.abs();
        if a <= PARALLEL * length || length < NO_LENGTH {
            return Self::EVERYTHING;
        }
        let (dp, dr) = (a * p[0] + b * p[1], a * r[0] + b * r[1]);
        let inv = 1.0 / a;
        let wide = length * slack;
        Self {
            lo: (least(dp, dr) - wide - a - most(b, 0.0)) * inv,
            hi: (most(dp, dr) + wide - least(b, 0.0)) * inv,
            slope: -b * inv,
        }
    }
}

/// The intersection of the three intervals at `t`, and of `within`.
#[inline]
fn narrow(lines: &[Line; 3], t: f64, within: (f64, f64)) -> (f64, f64) {
    let (mut lo, mut hi) = within;
    for l in lines {
        let c = l.slope * t;
        lo = most(lo, l.lo + c);
        hi = least(hi, l.hi + c);
    }
    (lo, hi)
}

#[inline]
pub(super) fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[inline]
pub(super) fn most(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The integers of the interval `(lo, hi)` with `lo` from 0 and `hi` below 2^31; none when the first exceeds the
/// second.
#[inline]
pub(super) fn integers((lo, hi): (f64, f64)) -> (i32, i32) {
    // Rounding up by hand: the library's needs a call on processors without SSE 4.1.
    let down = lo as i32;
    let first = down.saturating_add(i32::from(f64::from(down) < lo));
    // A negative upper end must stay negative, and truncation would round it up to 0.
    let last = if hi < 0.0 { -1 } else { hi as i32 };
    (first, last)
}

/// A triangle prepared for tests against voxels, in local voxel indices (0 is the first voxel of its box).
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared {
    /// Grid index of local voxel 0.
    pub(super) base: [i32; 3],
    /// Largest local index on each axis; the box of the triangle within the grid.
    pub(super) last: [i32; 3],
    /// Cross axes in the yz plane, solved for j at k.
    yz: [Line; 3],
    /// Cross axes in the xy plane, solved for i at j.
    xy: [Line; 3],
    /// Cross axes in the xz plane, solved for i at k.
    xz: [Line; 3],
    /// The normal, solved for i at (j, k): `plane_lo + (plane_k * k + plane_j * j) ..=`.
    plane_lo: f64,
    plane_hi: f64,
    plane_j: f64,
    plane_k: f64,
}

/// How far the change to voxel units may move a vertex, and more, in a grid of at most `largest_dim` voxels a side.
pub(super) fn slack(largest_dim: u32) -> f64 {
    ROUNDINGS * 0.5 * f64::EPSILON * (f64::from(largest_dim) + 2.0)
}

/// First and last voxel whose closed interval meets `[min, max]`, within `0..dim`; `None` when there is none.
#[inline]
pub(super) fn voxel_range(min: f64, max: f64, slack: f64, dim: u32) -> Option<(i32, i32)> {
    let highest = f64::from(dim) - 1.0;
    // Voxel i spans [i, i + 1], so a value on a face belongs to both sides.
    let (lo, hi) = (most(min - slack - 1.0, 0.0), least(max + slack, highest));
    let (first, last) = integers((lo, hi));
    (lo <= highest && hi >= 0.0 && first <= last).then_some((first, last))
}

impl Prepared {
    /// Prepares a triangle given in grid units [voxel]; `None` when its box misses the grid.
    #[inline]
    pub(super) fn new(corners: [[f64; 3]; 3], dims: [u32; 3], slack: f64) -> Option<Self> {
        let mut base = [0; 3];
        let mut last = [0; 3];
        let mut v = corners;
        for axis in 0..3 {
            let [a, b, c] = corners.map(|p| p[axis]);
            let (min, max) = (least(a, least(b, c)), most(a, most(b, c)));
            let (first, end) = voxel_range(min, max, slack, dims[axis])?;
            base[axis] = first;
            last[axis] = end - first;
            for p in &mut v {
                p[axis] -= f64::from(first);
            }
        }
        let edge = |a: usize, b: usize| [v[b][0] - v[a][0], v[b][1] - v[a][1], v[b][2] - v[a][2]];
        let f = [edge(0, 1), edge(1, 2), edge(2, 0)];
        let lines = |s: usize, t: usize| {
            let line = |e: usize| {
                let (p, r) = (v[e], v[(e + 2) % 3]);
                Line::new([p[s], p[t]], [r[s], r[t]], [f[e][s], f[e][t]], slack)
            };
            [line(0), line(1), line(2)]
        };
        let mut this = Self {
            base,
            last,
            yz: lines(1, 2),
            xy: lines(0, 1),
            xz: lines(0, 2),
            plane_lo: -UNBOUNDED,
            plane_hi: UNBOUNDED,
            plane_j: 0.0,
            plane_k: 0.0,
        };
        let (a, b) = (f[0], f[1]);
        let mut n = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        if n[0] < 0.0 {
            n = n.map(|x| -x);
        }
        let length = n[0] + n[1].abs() + n[2].abs();
        // A triangle seen edge-on along x is bounded by its edges' axes in the yz plane.
        if n[0] > PARALLEL * length && length > NO_LENGTH {
            let size = f.iter().flatten().fold(0.0, |s, x| most(s, x.abs()));
            let d = n[0] * v[0][0] + n[1] * v[0][1] + n[2] * v[0][2];
            // Besides the common slack: the normal of a needle is a small difference of large products, and its
            // error does not shrink with it.
            let wide = length * slack + slack * size * size;
            let inv = 1.0 / n[0];
            this.plane_lo = (d - wide - n[0] - most(n[1], 0.0) - most(n[2], 0.0)) * inv;
            this.plane_hi = (d + wide - least(n[1], 0.0) - least(n[2], 0.0)) * inv;
            this.plane_j = -n[1] * inv;
            this.plane_k = -n[2] * inv;
        }
        Some(this)
    }

    /// Rows j that the triangle's shadow on the yz plane meets at layer `k`.
    #[inline]
    pub(super) fn rows(&self, k: i32) -> (i32, i32) {
        integers(narrow(&self.yz, f64::from(k), (0.0, f64::from(self.last[1]))))
    }

    /// Bounds of i from the box and the edges' axes in the xy plane at row `j`.
    #[inline]
    pub(super) fn bounds_xy(&self, j: i32) -> (f64, f64) {
        narrow(&self.xy, f64::from(j), (0.0, f64::from(self.last[0])))
    }

    /// Bounds of i from the box and the edges' axes in the xz plane at layer `k`.
    #[inline]
    pub(super) fn bounds_xz(&self, k: i32) -> (f64, f64) {
        narrow(&self.xz, f64::from(k), (0.0, f64::from(self.last[0])))
    }

    /// Bounds of i from the plane of the triangle over the pixel (j, k).
    #[inline]
    pub(super) fn bounds_plane(&self, j: i32, k: i32) -> (f64, f64) {
        let c = self.plane_k * f64::from(k) + self.plane_j * f64::from(j);
        (self.plane_lo + c, self.plane_hi + c)
    }

    /// Whether the voxel passes the six edge axes that involve x.
    #[inline]
    pub(super) fn edges_pass(&self, i: i32, j: i32, k: i32) -> bool {
        let i = f64::from(i);
        let inside = |(lo, hi): (f64, f64)| lo <= i && i <= hi;
        inside(self.bounds_xy(j)) && inside(self.bounds_xz(k))
    }

    /// Whether the triangle meets the closed voxel: all thirteen axes.
    #[inline]
    pub(super) fn touches(&self, i: i32, j: i32, k: i32) -> bool {
        let (first, last) = self.rows(k);
        let (lo, hi) = self.bounds_plane(j, k);
        (first..=last).contains(&j) && lo <= f64::from(i) && f64::from(i) <= hi && self.edges_pass(i, j, k)
    }
}
