//! Reading a field: value and gradient at a point, and many distances at once.
//!
//! Inside the box the field is trilinear between nodes. Outside, with q the nearest point of the box: every surface
//! point s lies in the box, so the angle at q between p and s is at least 90°, and
//! √(|p − q|² + d(q)²) <= d(p) <= |p − q| + d(q). A sample gives the lower end, which is continuous at the box.

use super::brick::SIDE;
use super::encode::Values;
use super::scan::BRICK;
use super::source::{Sample, Source};
use super::{Field, Lattice};
use crate::math::Aabb;
use crate::par;
use crate::simd::{LANES, Lanes, dispatch};
use glam::{DVec3, Vec3};

/// Points per parallel work item: large enough to hide the hand-over, small enough to balance.
const CHUNK: usize = 8192;

impl Field {
    /// Signed distance and gradient at `p`, in the shape's frame [m].
    ///
    /// The gradient is that of the trilinear function: outward, near unit length, constant along no direction. Outside
    /// the box see the module; a non-finite point gives NaN. Accuracy: `report().error_bound_band` and `_far`.
    /// About 20 ns, no allocation.
    pub fn sample(&self, p: DVec3) -> Sample {
        let l = &self.lattice;
        let u = (p - l.origin) / l.voxel;
        if !u.is_finite() {
            return Sample::UNDEFINED;
        }
        let inside = u.clamp(DVec3::ZERO, DVec3::from_array(l.dims().map(f64::from)));
        let sample = self.sample_inside(inside);
        if inside == u {
            return sample;
        }
        let away = (u - inside) * l.voxel;
        let distance = (away.length_squared() + sample.distance * sample.distance).sqrt();
        // Chain rule: components along which p is outside move p away, the others move q.
        let free = DVec3::select(u.cmpeq(inside), sample.gradient * sample.distance, away);
        Sample { distance, gradient: free / distance.max(f64::MIN_POSITIVE) }
    }

    /// `sample` at `u` [voxels], which is in the box.
    fn sample_inside(&self, u: DVec3) -> Sample {
        let l = &self.lattice;
        let cell = (u / BRICK as f64).floor().min(DVec3::from_array(l.cells.map(|c| f64::from(c - 1))));
        let c = [cell.x as usize, cell.y as usize, cell.z as usize];
        let local = u - cell * BRICK as f64;
        let entry = self.directory[(c[2] * l.cells[1] as usize + c[1]) * l.cells[0] as usize + c[0]];
        let (base, steps, fraction, spacing) = if entry >= 0 {
            let node = local.floor().min(DVec3::splat(BRICK as f64 - 1.0));
            let at = (node.z as usize * SIDE + node.y as usize) * SIDE + node.x as usize;
            (entry as usize + at, [1, SIDE, SIDE * SIDE], local - node, l.voxel)
        } else {
            let [nx, ny, _] = l.corners();
            let at = (c[2] * ny + c[1]) * nx + c[0];
            (at, [1, nx, nx * ny], local / BRICK as f64, l.voxel * BRICK as f64)
        };
        let v: [f64; 8] = core::array::from_fn(|o| {
            let at = base + (o & 1) * steps[0] + (o >> 1 & 1) * steps[1] + (o >> 2) * steps[2];
            f64::from(self.values.get(at))
        });
        let lerp = |a: f64, b: f64, k: f64| a + k * (b - a);
        let f = fraction;
        let x = [0, 2, 4, 6].map(|i| lerp(v[i], v[i + 1], f.x));
        let dx = [0, 2, 4, 6].map(|i| v[i + 1] - v[i]);
        let (y0, y1) = (lerp(x[0], x[1], f.y), lerp(x[2], x[3], f.y));
        let gradient = DVec3::new(
            lerp(lerp(dx[0], dx[1], f.y), lerp(dx[2], dx[3], f.y), f.z),
            lerp(x[1] - x[0], x[3] - x[2], f.z),
            y1 - y0,
        );
        Sample { distance: lerp(y0, y1, f.z), gradient: gradient / spacing }
    }

    /// Samples at many points in the shape's frame [m], in parallel. `out` has as many elements as `points`.
    pub fn sample_batch(&self, points: &[DVec3], out: &mut [Sample]) {
        let n = points.len().min(out.len());
        par::chunks_mut(&mut out[..n], CHUNK, |chunk, out| {
            for (s, p) in out.iter_mut().zip(&points[chunk * CHUNK..]) {
                *s = self.sample(*p);
            }
        });
    }

    /// Signed distances [m] at many points given relative to `lattice().origin` [m], eight at a time, in parallel.
    ///
    /// The fast path: `f32` in and out, no gradient. Agrees with [`Field::sample`] within f32 rounding of the
    /// coordinates. Same bits for any number of threads and any SIMD width. `out` has as many elements as `points`.
    pub fn distances(&self, points: &[Vec3], out: &mut [f32]) {
        let n = points.len().min(out.len());
        par::chunks_mut(&mut out[..n], CHUNK, |chunk, out| {
            self.distances_here(&points[chunk * CHUNK..][..out.len()], out);
        });
    }

    /// [`Field::distances`] on the calling thread.
    pub fn distances_here(&self, points: &[Vec3], out: &mut [f32]) {
        match &self.values {
            Values::Float(v) => read_float(&View::new(&self.lattice, &self.directory, v, 1.0), points, out),
            Values::Scaled { values, step, .. } => {
                read_scaled(&View::new(&self.lattice, &self.directory, values, *step), points, out);
            }
        }
    }

    /// [`Field::distances_here`] without SIMD, for comparison: same bits.
    #[doc(hidden)]
    pub fn distances_plain(&self, points: &[Vec3], out: &mut [f32]) {
        match &self.values {
            Values::Float(v) => {
                read_float_plain(&View::new(&self.lattice, &self.directory, v, 1.0), points, out)
            }
            Values::Scaled { values, step, .. } => {
                read_scaled_plain(&View::new(&self.lattice, &self.directory, values, *step), points, out);
            }
        }
    }
}

impl Source for Field {
    fn sample(&self, p: DVec3) -> Sample {
        Self::sample(self, p)
    }

    /// In the box: the sample ± its error bound. Outside: see the module, widened by the bound at the box.
    fn bounds(&self, p: DVec3) -> (f64, f64) {
        let aabb = self.lattice.aabb();
        let q = p.clamp(aabb.min, aabb.max);
        let d = Self::sample(self, q).distance;
        let near = d.abs() + self.report.error_bound_band <= self.report.band;
        let error = if near { self.report.error_bound_band } else { self.report.error_bound_far };
        if p == q {
            return (d - error, d + error);
        }
        let away = (p - q).length();
        let low = (d - error).max(0.0);
        ((away * away + low * low).sqrt(), away + d + error)
    }

    fn aabb(&self) -> Aabb {
        self.report.surface
    }
}

/// What the kernel reads.
struct View<'a, T> {
    directory: &'a [i32],
    values: &'a [T],
    /// Metres per stored unit.
    scale: f32,
    voxel: f32,
    cells: [i32; 3],
}

impl<'a, T> View<'a, T> {
    fn new(lattice: &Lattice, directory: &'a [i32], values: &'a [T], scale: f32) -> Self {
        Self { directory, values, scale, voxel: lattice.voxel as f32, cells: lattice.cells.map(|c| c as i32) }
    }
}

/// Stored values a kernel can read in pairs.
trait Stored: Sized {
    fn pairs<L: Lanes>(table: &[Self], index: L::Ints) -> (L, L);
}

impl Stored for f32 {
    #[inline(always)]
    fn pairs<L: Lanes>(table: &[Self], index: L::Ints) -> (L, L) {
        L::gather_pairs(table, index)
    }
}

impl Stored for i16 {
    #[inline(always)]
    fn pairs<L: Lanes>(table: &[Self], index: L::Ints) -> (L, L) {
        L::gather_pairs_i16(table, index)
    }
}

dispatch! {
    fn read_float / read_float_plain = read_float_kernel(view: &View<'_, f32>, points: &[Vec3], out: &mut [f32])
}
dispatch! {
    fn read_scaled / read_scaled_plain = read_scaled_kernel(view: &View<'_, i16>, points: &[Vec3], out: &mut [f32])
}

#[inline(always)]
fn read_float_kernel<L: Lanes>(view: &View<'_, f32>, points: &[Vec3], out: &mut [f32]) {
    read::<L, f32>(view, points, out);
}

#[inline(always)]
fn read_scaled_kernel<L: Lanes>(view: &View<'_, i16>, points: &[Vec3], out: &mut [f32]) {
    read::<L, i16>(view, points, out);
}

#[inline(always)]
fn read<L: Lanes, T: Stored>(view: &View<'_, T>, points: &[Vec3], out: &mut [f32]) {
    let mut blocks = points.chunks_exact(LANES);
    let mut outs = out.chunks_exact_mut(LANES);
    for (points, out) in (&mut blocks).zip(&mut outs) {
        let mut result = [0.0; LANES];
        read_block::<L, T>(view, points, &mut result);
        out.copy_from_slice(&result);
    }
    let (points, out) = (blocks.remainder(), outs.into_remainder());
    if !points.is_empty() {
        let mut padded = [Vec3::ZERO; LANES];
        padded[..points.len()].copy_from_slice(points);
        let mut result = [0.0; LANES];
        read_block::<L, T>(view, &padded, &mut result);
        out.copy_from_slice(&result[..out.len()]);
    }
}

#[inline(always)]
fn read_block<L: Lanes, T: Stored>(view: &View<'_, T>, points: &[Vec3], out: &mut [f32; LANES]) {
    let mut soa = [[0.0f32; LANES]; 3];
    for (i, p) in points.iter().enumerate().take(LANES) {
        (soa[0][i], soa[1][i], soa[2][i]) = (p.x, p.y, p.z);
    }
    let (zero, eighth, brick) = (L::splat(0.0), L::splat(0.125), L::splat(BRICK as f32));
    let inverse = L::splat(1.0 / view.voxel);
    let mut outside = zero;
    let mut cell = [zero; 3];
    let mut local = [zero; 3];
    for axis in 0..3 {
        let u = L::load(&soa[axis]).mul(inverse);
        // NaN becomes 0 here and stays in `outside`.
        let inside = u.max(zero).min(L::splat((view.cells[axis] * BRICK as i32) as f32));
        let away = u.sub(inside);
        outside = outside.add(away.mul(away));
        cell[axis] = inside.mul(eighth).floor().min(L::splat((view.cells[axis] - 1) as f32));
        local[axis] = inside.sub(cell[axis].mul(brick));
    }
    let (cx, cy, cz) = (cell[0].to_ints(), cell[1].to_ints(), cell[2].to_ints());
    let [nx, ny, _] = view.cells;
    let index = L::int_add(cx, L::int_mul(L::ints(nx), L::int_add(cy, L::int_mul(L::ints(ny), cz))));
    let entry = L::gather_ints(view.directory, index);
    let coarse = L::int_negative(entry);
    // Fine: node inside the brick. Exact in f32: at most 728.
    let last = L::splat(BRICK as f32 - 1.0);
    let node = [local[0].floor().min(last), local[1].floor().min(last), local[2].floor().min(last)];
    let at = node[0].add(node[1].mul(L::splat(SIDE as f32))).add(node[2].mul(L::splat((SIDE * SIDE) as f32)));
    let fine_base = L::int_add(entry, at.to_ints());
    // Coarse: the corner grid has one node more than cells along each axis.
    let coarse_base = L::int_add(L::int_add(index, cy), L::int_mul(cz, L::ints(nx + ny + 1)));
    let base = L::int_select(coarse, coarse_base, fine_base);
    let step_y = L::int_select(coarse, L::ints(nx + 1), L::ints(SIDE as i32));
    let step_z = L::int_select(coarse, L::ints((nx + 1) * (ny + 1)), L::ints((SIDE * SIDE) as i32));
    let fx = L::select(coarse, local[0].mul(eighth), local[0].sub(node[0]));
    let fy = L::select(coarse, local[1].mul(eighth), local[1].sub(node[1]));
    let fz = L::select(coarse, local[2].mul(eighth), local[2].sub(node[2]));
    let upper = L::int_add(base, step_z);
    let low = lerp(row::<L, T>(view, base, fx), row::<L, T>(view, L::int_add(base, step_y), fx), fy);
    let high = lerp(row::<L, T>(view, upper, fx), row::<L, T>(view, L::int_add(upper, step_y), fx), fy);
    let mut d = lerp(low, high, fz).mul(L::splat(view.scale));
    if L::bits(zero.ge(outside)) != 0xFF {
        let voxel = L::splat(view.voxel);
        let beyond = outside.mul(voxel.mul(voxel)).add(d.mul(d)).sqrt();
        d = L::select(zero.ge(outside), d, beyond);
    }
    d.store(out);
}

// Functions, not closures: a closure would not inherit the caller's target features.

#[inline(always)]
fn lerp<L: Lanes>(a: L, b: L, k: L) -> L {
    a.add(k.mul(b.sub(a)))
}

/// The value between two neighbouring nodes along x.
#[inline(always)]
fn row<L: Lanes, T: Stored>(view: &View<'_, T>, base: L::Ints, fx: L) -> L {
    let (a, b) = T::pairs::<L>(view.values, base);
    lerp(a, b, fx)
}
