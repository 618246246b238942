//! Nodes nearest to a vertex whose triangles all face one way.
//!
//! Cut such a fan by the plane e·x = −1, for an x with e·x < 0 for all its edges e: with the cut it is a closed surface,
//! so x times the area of the cut is the sum of the triangles' area vectors, or minus that. So the cone of the vertex is
//! within that of the normals, outside of the surface, or opposite to it, inside. On a fine mesh that bound holds few
//! nodes or none; each is tested against all edges at once.

use super::sweep::OVERLAP;
use super::{Axes, IOTA, Slab, dominant};
use crate::field::cone::{Cone, Scratch, push_cones};
use crate::field::surface::Surface;
use crate::mesh::Topology;
use crate::par;
use crate::simd::{LANES, Lanes, dispatch};
use core::ops::Range;

/// Vertices per parallel work item.
const CHUNK: usize = 4096;
/// Normals must rise at least this much along the axis of a fan: flatter ones have slopes too wide to be of use.
const MIN_RISE: f64 = 0.3;
/// What f32 numbers up to the band are off by at most, relative to it: three roundings or so, and some.
const ROUNDING: f64 = 1e-6;
/// 1.5·2⁵²: added to a number it leaves the nearest whole one in the low bits. And 1.5·2²³, the same for f32.
const MAGIC: f64 = 6_755_399_441_055_744.0;
const MAGIC_F32: f32 = 12_582_912.0;
/// Triangles there is room for around a vertex; one with more takes the long way.
const MAX_EDGES: usize = 24;

/// A node in the cone of a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hit {
    node: [i32; 3],
    /// Any triangle that uses the vertex.
    triangle: u32,
    /// Signed distance to the vertex [voxels].
    distance: f32,
}

/// What vertices write to the nodes of a band.
#[derive(Debug)]
pub(crate) struct Vertices {
    chunks: Vec<Chunk>,
}

/// What consecutive vertices write.
#[derive(Debug, Default)]
struct Chunk {
    hits: Vec<Hit>,
    /// Lowest and highest z of the hits.
    layers: Option<[i32; 2]>,
    /// Vertices whose cones are found apart, and those cones.
    rest: Vec<u32>,
    cones: Vec<Cone>,
}

impl Vertices {
    /// The nodes within `band` voxels that are nearest to vertices.
    pub(crate) fn find(surface: &Surface, band: f64) -> Self {
        let vertices = surface.positions.len();
        let chunks = par::map(vertices.div_ceil(CHUNK), |chunk| {
            let mut out = Chunk::default();
            scan_fans(surface, band, chunk * CHUNK..vertices.min((chunk + 1) * CHUNK), &mut out);
            let mut scratch = Scratch::default();
            for &vertex in &out.rest {
                push_cones(surface, vertex as usize, &mut scratch, &mut out.cones);
            }
            out.layers = out.hits.iter().fold(None, |range, hit| {
                let z = hit.node[2];
                Some(range.map_or([z; 2], |[low, high]: [i32; 2]| [low.min(z), high.max(z)]))
            });
            out
        });
        Self { chunks }
    }

    /// Offers the nodes to a slab, and hands out the cones that remain to be scanned.
    pub(super) fn scan(&self, slab: &mut Slab, mut cone: impl FnMut(&mut Slab, &Cone)) {
        for chunk in &self.chunks {
            if chunk.layers.is_some_and(|[low, high]| low < slab.end[2] && high >= slab.first[2]) {
                for hit in &chunk.hits {
                    let at = |i: usize| slab.address[i].get(hit.node[i].wrapping_sub(slab.first[i]) as usize);
                    // Nodes outside the slab have no entry.
                    if let (Some(x), Some(y), Some(z)) = (at(0), at(1), at(2)) {
                        slab.offer(x + y + z, hit.distance, hit.triangle, false);
                    }
                }
            }
            for c in &chunk.cones {
                cone(slab, c);
            }
        }
    }
}

/// The triangles around a vertex, all facing along the axis w, up or down.
struct Fan {
    w: usize,
    /// Edges from the vertex, along u, v and w, and what x·edge may be for an x in the cone, for rounding.
    edges: [[f32; 4]; MAX_EDGES],
    count: usize,
    /// Lowest and highest slope of the normals along u, then v, per unit along w.
    slopes: [f32; 4],
    /// 1 where normals point up, −1 where they point down.
    up: f64,
    /// How far the cone is widened [voxels].
    slack: f32,
}

dispatch! {
    fn scan_fans / scan_fans_plain =
        fan_kernel(surface: &Surface, band: f64, vertices: Range<usize>, out: &mut Chunk)
}

#[inline(always)]
fn fan_kernel<L: Lanes>(surface: &Surface, band: f64, vertices: Range<usize>, out: &mut Chunk) {
    let slack = (OVERLAP + ROUNDING * (1.0 + band)) as f32;
    let mut fan = Fan { w: 0, edges: [[0.0; 4]; MAX_EDGES], count: 0, slopes: [0.0; 4], up: 1.0, slack };
    for vertex in vertices {
        let corners = &surface.corners
            [surface.first_corner[vertex] as usize..surface.first_corner[vertex + 1] as usize];
        let Some(&first) = corners.first() else { continue };
        let p: &[f64; 3] = surface.positions[vertex].as_ref();
        let triangle = first / 3;
        // The axis is known to the compiler, and guessed by the processor.
        let one_way = match dominant(surface.normals[triangle as usize]) {
            0 => fan.gather::<1, 2, 0>(surface, p, corners),
            1 => fan.gather::<2, 0, 1>(surface, p, corners),
            _ => fan.gather::<0, 1, 2>(surface, p, corners),
        };
        if one_way {
            fan.scan::<L>(p, band, triangle, &mut out.hits);
        } else {
            out.rest.push(vertex as u32);
        }
    }
}

impl Fan {
    /// Reads the triangles around a vertex; whether they all face along axis W and close around it once.
    #[inline(always)]
    fn gather<const U: usize, const V: usize, const W: usize>(
        &mut self,
        surface: &Surface,
        p: &[f64; 3],
        corners: &[u32],
    ) -> bool {
        // One length for all: one check of bounds for all.
        let triangles = &surface.triangles[..];
        let (neighbours, normals) =
            (&surface.neighbours[..triangles.len()], &surface.normals[..triangles.len()]);
        let towards: &[f64; 3] = normals[corners[0] as usize / 3].as_ref();
        let up = if towards[W] < 0.0 { -1.0 } else { 1.0 };
        let [mut ul, mut uh] = [f32::INFINITY, f32::NEG_INFINITY];
        let [mut vl, mut vh] = [f32::INFINITY, f32::NEG_INFINITY];
        let (mut least, mut turns, mut open) = (1.0f64, 0, false);
        for (i, &corner) in corners[..corners.len().min(MAX_EDGES)].iter().enumerate() {
            let (t, c) = (corner as usize / 3, corner as usize % 3);
            let (next, previous) = (if c == 2 { 0 } else { c + 1 }, if c == 0 { 2 } else { c - 1 });
            let tri = &triangles[t];
            let a: &[f64; 3] = surface.positions[tri[next] as usize].as_ref();
            let b: &[f64; 3] = surface.positions[tri[previous] as usize].as_ref();
            open |= neighbours[t][previous] >= Topology::NONMANIFOLD;
            let (eu, ev, ew) = ((a[U] - p[U]) as f32, (a[V] - p[V]) as f32, (a[W] - p[W]) as f32);
            self.edges[i] = [eu, ev, ew, self.slack * (eu.abs() + ev.abs() + ew.abs())];
            // Every turn around the vertex, seen from above or below, passes from here to there once.
            turns += u32::from((a[V] < p[V]) & (b[V] >= p[V]));
            let n: &[f64; 3] = normals[t].as_ref();
            let inverse = 1.0 / n[W] as f32;
            let (su, sv) = (n[U] as f32 * inverse, n[V] as f32 * inverse);
            least = if n[W] * up < least { n[W] * up } else { least };
            ul = if su < ul { su } else { ul };
            uh = if su > uh { su } else { uh };
            vl = if sv < vl { sv } else { vl };
            vh = if sv > vh { sv } else { vh };
        }
        self.w = W;
        self.count = corners.len();
        self.slopes = [ul, uh, vl, vh];
        self.up = up;
        !open & (turns == 1) & (least > MIN_RISE) & (corners.len() <= MAX_EDGES)
    }

    /// Finds the nodes within `band` of the vertex at `p` that are in its cone.
    #[inline(always)]
    fn scan<L: Lanes>(&self, p: &[f64; 3], band: f64, triangle: u32, out: &mut Vec<Hit>) {
        let Axes { u, v, w } = Axes::along(self.w);
        let [ul, uh, vl, vh] = self.slopes;
        let ((ou, fu), (ov, fv), (ow, fw)) = (split(p[u]), split(p[v]), split(p[w]));
        // Directions in the cone rise no more than one with these slopes.
        let (su, sv) = (flattest(ul, uh), flattest(vl, vh));
        let reach = band as f32 / (1.0 + su * su + sv * sv).sqrt() + self.slack;
        // The first slice, or the one before; relative to the one nearest to the vertex, as are rows and columns.
        let mut base = fw - reach + 0.5 + MAGIC_F32 - MAGIC_F32;
        while base - fw <= reach {
            let dw = L::load(&IOTA).add(L::splat(base - fw));
            let [u0, u1] = self.section(dw, [ul, uh], fu, band);
            let [v0, v1] = self.section(dw, [vl, vh], fv, band);
            let mut in_u = L::bits(L::and(L::and(u1.ge(u0), v1.ge(v0)), L::splat(reach).ge(dw.abs())));
            let mut ui = u0;
            while in_u != 0 {
                let du = ui.sub(L::splat(fu));
                let mut in_v = in_u;
                let mut vi = v0;
                while in_v != 0 {
                    let dv = vi.sub(L::splat(fv));
                    let mut found = in_v & self.holding([du, dv, dw]);
                    if found != 0 {
                        let (mut us, mut vs) = ([0.0; LANES], [0.0; LANES]);
                        ui.store(&mut us);
                        vi.store(&mut vs);
                        while found != 0 {
                            let lane = found.trailing_zeros() as usize & (LANES - 1);
                            found &= found - 1;
                            let mut node = [0; 3];
                            node[u] = ou.wrapping_add(us[lane] as i32);
                            node[v] = ov.wrapping_add(vs[lane] as i32);
                            node[w] = ow.wrapping_add(base as i32 + lane as i32);
                            self.push(node, p, band, triangle, out);
                        }
                    }
                    vi = vi.add(L::splat(1.0));
                    in_v &= L::bits(v1.ge(vi));
                }
                ui = ui.add(L::splat(1.0));
                in_u &= L::bits(u1.ge(ui));
            }
            base += LANES as f32;
        }
    }

    /// The first and the last whole number that slopes from `low` to `high` meet in slices `dw` away from a vertex, seen
    /// from `from`, no farther than `band`.
    #[inline(always)]
    fn section<L: Lanes>(&self, dw: L, [low, high]: [f32; 2], from: f32, band: f64) -> [L; 2] {
        let (a, b) = (dw.mul(L::splat(low)), dw.mul(L::splat(high)));
        let (low, high) = (a.min(b).max(L::splat(-band as f32)), a.max(b).min(L::splat(band as f32)));
        // −⌊−x⌋ rounds up.
        let minus = L::splat(self.slack - from).sub(low).floor();
        [L::splat(0.0).sub(minus), high.add(L::splat(self.slack + from)).floor()]
    }

    /// Adds a node to the hits, unless it is too far away.
    #[inline(always)]
    fn push(&self, node: [i32; 3], p: &[f64; 3], band: f64, triangle: u32, out: &mut Vec<Hit>) {
        let [x, y, z] = [f64::from(node[0]) - p[0], f64::from(node[1]) - p[1], f64::from(node[2]) - p[2]];
        let squared = x * x + y * y + z * z;
        if squared <= band * band {
            let d = squared.sqrt() as f32;
            let inside = [x, y, z][self.w] * self.up < 0.0;
            out.push(Hit { node, triangle, distance: if inside { -d } else { d } });
        }
    }

    /// For which x no edge leads nearer to p + x.
    #[inline(always)]
    fn holding<L: Lanes>(&self, x: [L; 3]) -> u32 {
        let mut most = L::splat(0.0);
        for e in &self.edges[..self.count.min(MAX_EDGES)] {
            let along = x[0].mul(L::splat(e[0])).add(x[1].mul(L::splat(e[1]))).add(x[2].mul(L::splat(e[2])));
            most = along.sub(L::splat(e[3])).max(most);
        }
        L::bits(L::splat(0.0).ge(most))
    }
}

/// The whole number nearest to `v`, and what is missing.
#[inline(always)]
fn split(v: f64) -> (i32, f32) {
    let moved = v + MAGIC;
    (moved.to_bits() as i32, (v - (moved - MAGIC)) as f32)
}

/// The slope nearest to zero of those from `low` to `high`.
#[inline(always)]
fn flattest(low: f32, high: f32) -> f32 {
    let least = if low > -high { low } else { -high };
    if least > 0.0 { least } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Mesh, samples};
    use glam::DVec3;

    /// The kernel finds the same bits with any width of lanes.
    #[test]
    fn plain_and_wide_lanes_find_the_same() {
        let mesh = Mesh::new(samples::bumpy_sphere(20.0, 3.0, 6, 4, 1), &Default::default()).unwrap();
        let positions: Vec<DVec3> = mesh.positions().iter().map(|p| *p + DVec3::splat(30.3)).collect();
        let surface = Surface::new(&positions, mesh.triangles(), mesh.topology());
        let [mut wide, mut plain] = [Chunk::default(), Chunk::default()];
        scan_fans(&surface, 4.3, 0..positions.len(), &mut wide);
        scan_fans_plain(&surface, 4.3, 0..positions.len(), &mut plain);
        assert!(wide.hits.len() > 300);
        assert_eq!(wide.hits, plain.hits);
        assert_eq!(wide.rest, plain.rest);
    }
}
