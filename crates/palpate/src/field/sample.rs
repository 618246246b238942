//! Reading a field: value and gradient at a point, and many distances at once.
//!
//! Inside the box the field is trilinear between nodes. Outside, with q the nearest point of the box: every surface
//! point s lies in the box, so the angle at q between p and s is at least 90°, and
//! √(|p − q|² + d(q)²) <= d(p) <= |p − q| + d(q). A sample gives the lower end for the value at q, which is continuous
//! at the box and off by at most the error of that value.

use super::Field;
use super::brick::SIDE;
use super::encode::Values;
use super::read::{self, View};
use super::scan::BRICK;
use super::source::{Sample, Source};
use crate::math::Aabb;
use crate::par;
use glam::{DVec3, Vec3};

/// Points per parallel work item: large enough to hide the hand-over, small enough to balance.
const CHUNK: usize = 8192;

impl Field {
    /// Signed distance and gradient at `p`, in the shape's frame [m].
    ///
    /// The gradient is that of the trilinear function: outward, near unit length, constant along no direction. Outside
    /// the box see the module; a non-finite point gives NaN. Accuracy: `report().error_bound_band` and `_far`.
    /// About 30 ns with the nodes in a near cache, 80 ns for points in no order; no allocation.
    pub fn sample(&self, p: DVec3) -> Sample {
        let l = &self.lattice;
        let u = (p - l.origin) / l.voxel;
        if !u.is_finite() {
            return Sample::UNDEFINED;
        }
        let [nx, ny, nz] = l.cells;
        // Not `dims()`: `map` on arrays stays a call.
        let dims = DVec3::new(f64::from(nx), f64::from(ny), f64::from(nz)) * BRICK as f64;
        let inside = u.clamp(DVec3::ZERO, dims);
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
    ///
    /// Casts round down, as nothing here is negative: `floor` is a function call on the oldest x86-64.
    #[inline]
    fn sample_inside(&self, u: DVec3) -> Sample {
        const SIDE_XY: usize = SIDE * SIDE;
        let l = &self.lattice;
        let [nx, ny, nz] = l.cells;
        let cell = u / BRICK as f64;
        let [i, j, k] =
            [(cell.x as u32).min(nx - 1), (cell.y as u32).min(ny - 1), (cell.z as u32).min(nz - 1)];
        let local = u - DVec3::new(f64::from(i), f64::from(j), f64::from(k)) * BRICK as f64;
        let [i, j, k, nx, ny] = [i as usize, j as usize, k as usize, nx as usize, ny as usize];
        let entry = self.directory[(k * ny + j) * nx + i];
        let (v, f, spacing) = if entry >= 0 {
            let last = BRICK as i32 - 1;
            let x = (local.x as i32).min(last);
            let y = (local.y as i32).min(last);
            let z = (local.z as i32).min(last);
            let at = (z as usize * SIDE + y as usize) * SIDE + x as usize;
            let below = DVec3::new(f64::from(x), f64::from(y), f64::from(z));
            (self.values.around(entry as usize + at, SIDE, SIDE_XY), local - below, l.voxel)
        } else {
            let at = (k * (ny + 1) + j) * (nx + 1) + i;
            let v = self.values.around(at, nx + 1, (nx + 1) * (ny + 1));
            (v, local / BRICK as f64, l.voxel * BRICK as f64)
        };
        // Along x on the four edges, then along y on the two faces.
        let [dx0, dx1, dx2, dx3] = [v[1] - v[0], v[3] - v[2], v[5] - v[4], v[7] - v[6]];
        let [x0, x1, x2, x3] = [v[0] + f.x * dx0, v[2] + f.x * dx1, v[4] + f.x * dx2, v[6] + f.x * dx3];
        let (y0, y1) = (lerp(x0, x1, f.y), lerp(x2, x3, f.y));
        let gradient = DVec3::new(
            lerp(lerp(dx0, dx1, f.y), lerp(dx2, dx3, f.y), f.z),
            lerp(x1 - x0, x3 - x2, f.z),
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
    /// With AVX2 about 3 ns a point and thread for points in an order in which neighbours follow each other, 7 ns for
    /// points in none; no allocation.
    pub fn distances(&self, points: &[Vec3], out: &mut [f32]) {
        let n = points.len().min(out.len());
        par::chunks_mut(&mut out[..n], CHUNK, |chunk, out| {
            self.distances_here(&points[chunk * CHUNK..][..out.len()], out);
        });
    }

    /// [`Field::distances`] on the calling thread.
    pub fn distances_here(&self, points: &[Vec3], out: &mut [f32]) {
        match &self.values {
            Values::Float(v) => read::float(&View::new(&self.lattice, &self.directory, v, 1.0), points, out),
            Values::Scaled { values, step, .. } => {
                read::scaled(&View::new(&self.lattice, &self.directory, values, *step), points, out);
            }
        }
    }

    /// [`Field::distances_here`] without SIMD, for comparison: same bits.
    #[doc(hidden)]
    pub fn distances_plain(&self, points: &[Vec3], out: &mut [f32]) {
        match &self.values {
            Values::Float(v) => {
                read::float_plain(&View::new(&self.lattice, &self.directory, v, 1.0), points, out)
            }
            Values::Scaled { values, step, .. } => {
                read::scaled_plain(&View::new(&self.lattice, &self.directory, values, *step), points, out);
            }
        }
    }
}

#[inline(always)]
fn lerp(a: f64, b: f64, k: f64) -> f64 {
    a + k * (b - a)
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
