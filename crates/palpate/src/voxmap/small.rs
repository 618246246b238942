//! The separating-axis test of [`super::sat`] for triangles of at most 8 voxels a side, in f32 and four at a time.
//!
//! Most triangles of a fine mesh are of this size, and preparing their axes costs more than using them. The same
//! solved bounds as in [`super::sat`], three edges or four rows in one register. Coordinates are relative to the
//! triangle's own box, so f32 keeps 2e-5 voxel; all bounds are widened by that.

use super::sat::{Axes, Span, UNBOUNDED, least, most};
use glam::{Vec4, Vec4Swizzles};

/// Voxels a side up to which a triangle counts as small.
pub(super) const SMALL: usize = 8;

/// Rounding errors of a bound and of the change to f32 [voxel]: 32 units of 2^-24 of the largest coordinate, 10.
const SLACK: f32 = 32.0 * 10.0 / 16_777_216.0;

/// See `sat::PARALLEL`; f32 quotients need more room.
const PARALLEL: f32 = 1e-7;

/// See `sat::NO_LENGTH`.
const NO_LENGTH: f32 = 1e-25;

/// 0 to 3 and 4 to 7: the indices of a small box.
pub(super) const INDICES: [Vec4; 2] = [Vec4::new(0.0, 1.0, 2.0, 3.0), Vec4::new(4.0, 5.0, 6.0, 7.0)];

/// As [`UNBOUNDED`].
const EVERYTHING: f32 = UNBOUNDED as f32;

/// The cross axes of the three edges in one projection; the fourth lane repeats the first.
#[derive(Clone, Copy, Debug)]
struct Lines {
    lo: Vec4,
    hi: Vec4,
    slope: Vec4,
}

impl Lines {
    const EVERYTHING: Self =
        Self { lo: Vec4::splat(-EVERYTHING), hi: Vec4::splat(EVERYTHING), slope: Vec4::ZERO };

    /// Corners and edges as (solved, other) coordinates [voxel].
    #[inline(always)]
    fn new(s: Vec4, t: Vec4, fs: Vec4, ft: Vec4, slack: f32) -> Self {
        // The axis, turned so that its solved component is positive.
        let a = ft.abs();
        let b = Vec4::select(ft.cmpgt(Vec4::ZERO), -fs, fs);
        let (dp, dr) = (a * s + b * t, a * s.zxyz() + b * t.zxyz());
        let length = a + b.abs();
        let wide = length * slack;
        let inv = Vec4::ONE / a;
        let useful = a.cmpgt(length * PARALLEL) & length.cmpgt(Vec4::splat(NO_LENGTH));
        let all = Self::EVERYTHING;
        Self {
            lo: Vec4::select(useful, (dp.min(dr) - wide - a - b.max(Vec4::ZERO)) * inv, all.lo),
            hi: Vec4::select(useful, (dp.max(dr) + wide - b.min(Vec4::ZERO)) * inv, all.hi),
            slope: Vec4::select(useful, -b * inv, all.slope),
        }
    }

    /// The intersection of the three intervals at the four indices `t`, and of `0..=last`.
    #[inline(always)]
    fn bounds(&self, t: Vec4, last: f32) -> (Vec4, Vec4) {
        let (c0, c1, c2) = (self.slope.xxxx() * t, self.slope.yyyy() * t, self.slope.zzzz() * t);
        let lo = (self.lo.xxxx() + c0).max(self.lo.yyyy() + c1).max(self.lo.zzzz() + c2);
        let hi = (self.hi.xxxx() + c0).min(self.hi.yyyy() + c1).min(self.hi.zzzz() + c2);
        (lo.max(Vec4::ZERO), hi.min(Vec4::splat(last)))
    }

    /// The first lane at index `t`.
    #[inline]
    fn at(&self, t: i32, last: i32) -> (f64, f64) {
        let (lo, hi) = self.bounds(Vec4::splat(t as f32), last as f32);
        (f64::from(lo.x), f64::from(hi.x))
    }
}

/// A small triangle prepared for tests against the voxels of its box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Small {
    pub(super) span: Span,
    yz: Lines,
    xy: Lines,
    xz: Lines,
    plane_lo: f32,
    plane_hi: f32,
    plane_j: f32,
    plane_k: f32,
}

impl Small {
    /// Whether a triangle with this box can be prepared here.
    #[inline(always)]
    pub(super) fn fits(span: &Span) -> bool {
        span.last.iter().all(|&l| l < SMALL as i32)
    }

    /// Whether every voxel of the box is touched: a triangle within one column is connected.
    #[inline(always)]
    pub(super) fn fills(span: &Span) -> bool {
        span.last.iter().filter(|&&l| l == 0).count() >= 2
    }

    /// Prepares the triangle `v[axis][corner]` in the coordinates of its box [voxel].
    #[inline(always)]
    pub(super) fn new(span: Span, v: &[[f64; 3]; 3], slack: f64) -> Self {
        let mut this = Self {
            span,
            yz: Lines::EVERYTHING,
            xy: Lines::EVERYTHING,
            xz: Lines::EVERYTHING,
            plane_lo: -EVERYTHING,
            plane_hi: EVERYTHING,
            plane_j: 0.0,
            plane_k: 0.0,
        };
        if Self::fills(&span) {
            return this;
        }
        let wide = SLACK + slack as f32;
        let lanes = |c: &[f64; 3]| Vec4::new(c[0] as f32, c[1] as f32, c[2] as f32, c[0] as f32);
        let (x, y, z) = (lanes(&v[0]), lanes(&v[1]), lanes(&v[2]));
        let (fx, fy, fz) = (x.yzxy() - x, y.yzxy() - y, z.yzxy() - z);
        this.yz = Lines::new(y, z, fy, fz, wide);
        this.xy = Lines::new(x, y, fx, fy, wide);
        this.xz = Lines::new(x, z, fx, fz, wide);
        // In f64: the normal of a needle is a small difference of large products.
        let [x, y, z] = v;
        let (ax, ay, az) = (x[1] - x[0], y[1] - y[0], z[1] - z[0]);
        let (bx, by, bz) = (x[2] - x[0], y[2] - y[0], z[2] - z[0]);
        let (nx, ny, nz) = (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx);
        let length = nx.abs() + ny.abs() + nz.abs();
        if nx.abs() > f64::from(PARALLEL) * length && length > f64::from(NO_LENGTH) {
            // Divided by x first: the sign of the normal then does not matter.
            let inv = 1.0 / nx;
            let (j, k) = (ny * inv, nz * inv);
            let d = x[0] + j * y[0] + k * z[0];
            let size = (SMALL + 1) as f64;
            let wide = (f64::from(wide) * length + slack * size * size) * inv.abs();
            this.plane_lo = (d - wide - 1.0 - most(j, 0.0) - most(k, 0.0)) as f32;
            this.plane_hi = (d + wide - least(j, 0.0) - least(k, 0.0)) as f32;
            this.plane_j = -j as f32;
            this.plane_k = -k as f32;
        }
        this
    }

    /// Bounds of j from the edges' axes in the yz plane at the layers `k`.
    #[inline(always)]
    pub(super) fn rows4(&self, k: Vec4) -> (Vec4, Vec4) {
        self.yz.bounds(k, self.span.last[1] as f32)
    }

    /// Bounds of i from the edges' axes in the xz plane at the layers `k`.
    #[inline(always)]
    pub(super) fn layers4(&self, k: Vec4) -> (Vec4, Vec4) {
        self.xz.bounds(k, self.span.last[0] as f32)
    }

    /// Bounds of i from the edges' axes in the xy plane at the rows `j`.
    #[inline(always)]
    pub(super) fn columns4(&self, j: Vec4) -> (Vec4, Vec4) {
        self.xy.bounds(j, self.span.last[0] as f32)
    }

    /// Bounds of i from the plane at layer `k` and the rows `j`.
    #[inline(always)]
    pub(super) fn plane4(&self, j: Vec4, k: f32) -> (Vec4, Vec4) {
        let c = Vec4::splat(self.plane_k * k) + Vec4::splat(self.plane_j) * j;
        (Vec4::splat(self.plane_lo) + c, Vec4::splat(self.plane_hi) + c)
    }
}

impl Axes for Small {
    fn span(&self) -> &Span {
        &self.span
    }
    fn shadow(&self, k: i32) -> (f64, f64) {
        self.yz.at(k, self.span.last[1])
    }
    fn row(&self, j: i32) -> (f64, f64) {
        self.xy.at(j, self.span.last[0])
    }
    fn layer(&self, k: i32) -> (f64, f64) {
        self.xz.at(k, self.span.last[0])
    }
    fn plane(&self, j: i32, k: i32) -> (f64, f64) {
        let (lo, hi) = self.plane4(Vec4::splat(j as f32), k as f32);
        (f64::from(lo.x), f64::from(hi.x))
    }
}
