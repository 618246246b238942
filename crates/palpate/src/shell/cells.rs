//! The cells of points in a triangle: which part of it is nearest to which point.
//!
//! Everything is in the plane of the triangle, in units of the spacing and relative to the triangle's middle, so f32 keeps 1e-6.
//! The cell of a site is the triangle clipped by the bisectors with all its rivals. Most bisectors miss what is left of it: that is
//! seen from all corners at once.

use crate::simd::{LANES, Lanes, dispatch};
use glam::{Vec2, Vec3};

/// Vectors of corners a cell may have. Packing allows a dozen corners or so: one vector, rarely two.
const VECTORS: usize = 4;
/// Corners that fit; a cell with more is not clipped further.
const CORNERS: usize = VECTORS * LANES;

/// A point near a triangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// −2 x, −2 y and x² + y² + z²: the squared distance of a place p of the plane is `w` + x p.x + y p.y + |p|².
    x: f32,
    y: f32,
    w: f32,
    /// Number of the point.
    pub(super) id: u32,
}

impl Site {
    pub(super) fn new(local: Vec3, id: u32) -> Self {
        Self { x: -2.0 * local.x, y: -2.0 * local.y, w: local.length_squared(), id }
    }

    /// Squared distance less |p|².
    #[inline(always)]
    fn value(&self, p: Vec2) -> f32 {
        self.w + (self.x * p.x + self.y * p.y)
    }
}

/// A corner of a cell that is too far from its site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Far {
    pub(super) p: Vec2,
    pub(super) distance: f32,
}

/// A triangle cut into cells.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// Site and area of each cell.
    pub(super) shares: Vec<(u32, f32)>,
    /// Corners farther than asked for.
    pub(super) far: Vec<Far>,
    /// Largest distance from a place of the triangle to its nearest site.
    pub(super) radius: f32,
}

/// Drops the sites that are nearest to no place of the triangle, and sorts the others by their distance from its middle.
#[inline]
pub(super) fn prune([a, b, c]: [Vec2; 3], sites: &mut Vec<Site>) {
    let (aa, bb, cc) = (a.length_squared(), b.length_squared(), c.length_squared());
    // Every place is within this distance of one site: its farthest corner.
    let mut all_within = f32::INFINITY;
    for s in sites.iter() {
        all_within = all_within.min((s.value(a) + aa).max(s.value(b) + bb).max(s.value(c) + cc));
    }
    let reach = all_within.max(0.0).sqrt() * 1.0001 + aa.max(bb).max(cc).sqrt();
    let reach_sq = reach * reach;
    // Nearest to the middle first: rivals that matter come early. By hand, as there are a dozen.
    let mut kept = 0;
    for i in 0..sites.len() {
        let s = sites[i];
        if s.w > reach_sq {
            continue;
        }
        let mut at = kept;
        while at > 0 && sites[at - 1].w > s.w {
            sites[at] = sites[at - 1];
            at -= 1;
        }
        sites[at] = s;
        kept += 1;
    }
    sites.truncate(kept);
}

dispatch! {
    /// Cuts a triangle into the cells of `sites`; corners farther than the square root of `limit` from their site are listed.
    pub(super) fn cut / cut_plain = cut_kernel(triangle: [Vec2; 3], sites: &[Site], limit: f32, out: &mut Cut)
}

// Loops by index and no closures: others stay calls in functions with target features.

#[inline(always)]
fn cut_kernel<L: Lanes>(triangle: [Vec2; 3], sites: &[Site], limit: f32, out: &mut Cut) {
    out.shares.clear();
    out.far.clear();
    let mut farthest = 0.0f32;
    let mut polygons = [Polygon::EMPTY; 2];
    let mut i = 0;
    while i < sites.len() {
        let site = sites[i];
        let mut now = 0;
        polygons[now].set(triangle);
        let mut whole = true;
        let mut j = 0;
        while j < sites.len() {
            if i != j {
                let rival = sites[j];
                let nearer = polygons[now].nearer::<L>(&site, &rival);
                if nearer != 0 && polygons[now].n + 2 <= CORNERS {
                    let [first, second] = &mut polygons;
                    let (from, to) = if now == 0 { (first, second) } else { (second, first) };
                    from.clip(nearer, to);
                    whole = false;
                    now = 1 - now;
                    if polygons[now].n < 3 {
                        break;
                    }
                }
            }
            j += 1;
        }
        let polygon = &polygons[now];
        if polygon.n >= 3 {
            let mut k = 0;
            while k < polygon.n {
                let p = polygon.corner(k);
                let distance_sq = site.value(p) + (p.x * p.x + p.y * p.y);
                farthest = if distance_sq > farthest { distance_sq } else { farthest };
                if distance_sq > limit {
                    out.far.push(Far { p, distance: distance_sq.sqrt() });
                }
                k += 1;
            }
            out.shares.push((i as u32, polygon.area()));
        }
        if whole {
            // Nothing is left to the others.
            break;
        }
        i += 1;
    }
    out.radius = farthest.sqrt();
}

/// A convex polygon; corners from `n` to the end of their vector repeat the first.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Polygon {
    x: [[f32; LANES]; VECTORS],
    y: [[f32; LANES]; VECTORS],
    /// By how much the rival last asked about is nearer, at each corner.
    g: [[f32; LANES]; VECTORS],
    n: usize,
}

impl Polygon {
    const EMPTY: Self =
        Self { x: [[0.0; LANES]; VECTORS], y: [[0.0; LANES]; VECTORS], g: [[0.0; LANES]; VECTORS], n: 0 };

    #[inline(always)]
    fn corner(&self, k: usize) -> Vec2 {
        let (v, l) = (k / LANES % VECTORS, k % LANES);
        Vec2::new(self.x[v][l], self.y[v][l])
    }

    #[inline(always)]
    fn g(&self, k: usize) -> f32 {
        self.g[k / LANES % VECTORS][k % LANES]
    }

    #[inline(always)]
    fn put(&mut self, k: usize, p: Vec2) {
        let (v, l) = (k / LANES % VECTORS, k % LANES);
        self.x[v][l] = p.x;
        self.y[v][l] = p.y;
    }

    #[inline(always)]
    fn set(&mut self, [a, b, c]: [Vec2; 3]) {
        self.x[0] = [a.x, b.x, c.x, a.x, a.x, a.x, a.x, a.x];
        self.y[0] = [a.y, b.y, c.y, a.y, a.y, a.y, a.y, a.y];
        self.n = 3;
    }

    /// The corners to which `rival` is nearer than `site`, a bit each; sets `g`.
    #[inline(always)]
    fn nearer<L: Lanes>(&mut self, site: &Site, rival: &Site) -> u32 {
        let gx = L::splat(site.x - rival.x);
        let gy = L::splat(site.y - rival.y);
        let gw = L::splat(site.w - rival.w);
        let mut bits = 0;
        let mut v = 0;
        while v * LANES < self.n && v < VECTORS {
            let g = gw.add(gx.mul(L::load(&self.x[v])).add(gy.mul(L::load(&self.y[v]))));
            g.store(&mut self.g[v]);
            bits |= L::bits(L::splat(0.0).lt(g)) << (LANES * v);
            v += 1;
        }
        bits & self.all()
    }

    /// A bit for each corner.
    #[inline(always)]
    fn all(&self) -> u32 {
        u32::MAX >> (CORNERS - self.n.min(CORNERS)).min(31)
    }

    /// Sets `out` to the polygon without the corners `gone` and what is beyond where `g` is 0; without corners if nothing is left.
    #[inline(always)]
    fn clip(&self, gone: u32, out: &mut Self) {
        let n = self.n;
        let kept = self.all() & !gone;
        out.n = 0;
        if kept == 0 {
            return;
        }
        // Where runs of kept corners begin; with rounding a convex polygon may have more than one: the longest story wins.
        let begins = kept & !(kept << 1 | kept >> (n - 1));
        let first = begins.trailing_zeros() as usize;
        let count = if begins & begins.wrapping_sub(1) == 0 {
            kept.count_ones() as usize
        } else {
            run(kept, first, n)
        };
        let before = if first == 0 { n - 1 } else { first - 1 };
        let mut last = first + count - 1;
        last = if last >= n { last - n } else { last };
        let after = if last + 1 == n { 0 } else { last + 1 };
        out.put(0, self.crossing(before, first));
        let (mut k, mut from) = (0, first);
        while k < count {
            out.put(k + 1, self.corner(from));
            from = if from + 1 == n { 0 } else { from + 1 };
            k += 1;
        }
        out.put(count + 1, self.crossing(last, after));
        out.n = count + 2;
        let (start, mut k) = (out.corner(0), out.n);
        while k % LANES != 0 {
            out.put(k, start);
            k += 1;
        }
    }

    /// Where `g` is 0 between corners `a` and `b`, of which one is positive.
    #[inline(always)]
    fn crossing(&self, a: usize, b: usize) -> Vec2 {
        let (p, q, g, h) = (self.corner(a), self.corner(b), self.g(a), self.g(b));
        let t = g / (g - h);
        Vec2::new(p.x + (q.x - p.x) * t, p.y + (q.y - p.y) * t)
    }

    #[inline(always)]
    fn area(&self) -> f32 {
        let first = self.corner(0);
        let mut last = self.corner(1);
        let (mut twice, mut k) = (0.0, 2);
        while k < self.n {
            let p = self.corner(k);
            twice += (last.x - first.x) * (p.y - first.y) - (last.y - first.y) * (p.x - first.x);
            last = p;
            k += 1;
        }
        0.5 * twice.abs()
    }
}

/// Length of the run of set bits from `first` on, among `n` bits in a circle.
#[inline(always)]
fn run(bits: u32, first: usize, n: usize) -> usize {
    let (mut count, mut at) = (0, first);
    while count < n && bits >> at & 1 == 1 {
        count += 1;
        at = if at + 1 == n { 0 } else { at + 1 };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::source::random::Random;

    /// Random triangles and sites: the cells are those that a fine sampling finds, and both twins give the same bits.
    #[test]
    fn cells_are_nearest() {
        let mut random = Random(17);
        let mut at = |half: f64| random.range(-half, half) as f32;
        let (mut cells, mut corners_far) = (0, 0);
        for _ in 0..400 {
            let mut t = [Vec2::ZERO; 3].map(|_| Vec2::new(at(2.0), at(2.0)));
            let middle = (t[0] + t[1] + t[2]) / 3.0;
            t.iter_mut().for_each(|p| *p -= middle);
            let mut sites: Vec<Site> =
                (0..15).map(|i| Site::new(Vec3::new(at(3.0), at(3.0), at(0.3)), i)).collect();
            let all = sites.clone();
            prune(t, &mut sites);
            let (mut out, mut plain) = (Cut::default(), Cut::default());
            cut(t, &sites, 1.0, &mut out);
            cut_plain(t, &sites, 1.0, &mut plain);
            let bits =
                |c: &Cut| -> Vec<(u32, u32)> { c.shares.iter().map(|s| (s.0, s.1.to_bits())).collect() };
            assert_eq!(bits(&out), bits(&plain));
            assert_eq!(out.radius.to_bits(), plain.radius.to_bits());
            let whole = 0.5 * (t[1] - t[0]).perp_dot(t[2] - t[0]).abs();
            let sum: f32 = out.shares.iter().map(|s| s.1).sum();
            assert!((sum - whole).abs() < 1e-4, "{sum} of {whole}");
            // Shares against samples, and no sample farther than the radius.
            let n = 60;
            let mut count = [0u32; 15];
            let mut total = 0u32;
            for i in 0..n {
                for j in 0..n - i {
                    let (u, v) = ((i as f32 + 0.33) / n as f32, (j as f32 + 0.33) / n as f32);
                    let p = t[0] + (t[1] - t[0]) * u + (t[2] - t[0]) * v;
                    let nearest = all.iter().min_by(|a, b| a.value(p).total_cmp(&b.value(p))).unwrap();
                    assert!(nearest.value(p) + p.length_squared() <= out.radius * out.radius * 1.0001 + 1e-5);
                    count[nearest.id as usize] += 1;
                    total += 1;
                }
            }
            for &(site, share) in &out.shares {
                let sampled = count[sites[site as usize].id as usize] as f32 / total as f32;
                assert!((share / whole - sampled).abs() < 0.05, "{} {sampled}", share / whole);
            }
            cells += out.shares.len();
            corners_far += out.far.len();
        }
        assert!(cells > 1000 && corners_far > 500, "{cells} {corners_far}");
    }
}
