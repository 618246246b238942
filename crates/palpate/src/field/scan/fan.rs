//! Nodes nearest to a vertex whose triangles all face one way.
//!
//! Cut such a fan by the plane e·x = −1, for an x with e·x < 0 for all its edges e: with the cut it is a closed surface,
//! so x times the area of the cut is the sum of the triangles' area vectors, or minus that. So the cone of the vertex is
//! within that of the normals, outside of the surface, or opposite to it, inside. On a fine mesh that bound holds few
//! nodes or none; each is tested against all edges at once.

use super::sweep::OVERLAP;
use super::{Axes, IOTA, Slab, ceil, dominant, floor, lanes_until};
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
/// What sections found in f32 are widened by, beyond [`OVERLAP`] [voxels]. Numbers in them stay below 32.
const ROUNDING: f64 = 2e-5;
/// Triangles around a vertex, in blocks of eight, that are looked at side by side; a vertex with more takes the long way.
const BLOCKS: usize = 4;

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
    axes: Axes,
    /// Edges from the vertex, u v w, eight at a time; the last block is filled up with zeros.
    edges: [[[f32; LANES]; 3]; BLOCKS],
    blocks: usize,
    /// Lowest and highest slope of the normals along u, then v, per unit along w.
    slopes: [f64; 4],
    /// Whether normals point up.
    up: bool,
}

dispatch! {
    fn scan_fans / scan_fans_plain =
        fan_kernel(surface: &Surface, band: f64, vertices: Range<usize>, out: &mut Chunk)
}

#[inline(always)]
fn fan_kernel<L: Lanes>(surface: &Surface, band: f64, vertices: Range<usize>, out: &mut Chunk) {
    let mut fan = Fan {
        axes: Axes::along(0),
        edges: [[[0.0; LANES]; 3]; BLOCKS],
        blocks: 0,
        slopes: [0.0; 4],
        up: true,
    };
    for vertex in vertices {
        let corners = &surface.corners
            [surface.first_corner[vertex] as usize..surface.first_corner[vertex + 1] as usize];
        let Some(&first) = corners.first() else { continue };
        if fan.gather(surface, vertex, corners) {
            fan.scan::<L>(surface.positions[vertex].as_ref(), band, first / 3, &mut out.hits);
        } else {
            out.rest.push(vertex as u32);
        }
    }
}

impl Fan {
    /// Reads the triangles around a vertex; whether they all face along one axis and close around it once.
    #[inline(always)]
    fn gather(&mut self, surface: &Surface, vertex: usize, corners: &[u32]) -> bool {
        if corners.len() > BLOCKS * LANES {
            return false;
        }
        let axes = Axes::along(dominant(surface.normals[corners[0] as usize / 3]));
        let Axes { u, v, w } = axes;
        let p: &[f64; 3] = surface.positions[vertex].as_ref();
        let towards: &[f64; 3] = surface.normals[corners[0] as usize / 3].as_ref();
        let up = if towards[w] < 0.0 { -1.0 } else { 1.0 };
        let [mut ul, mut uh, mut vl, mut vh] =
            [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
        let (mut least, mut turns, mut open) = (1.0f64, 0, false);
        for (i, &corner) in corners.iter().enumerate() {
            let t = corner as usize / 3;
            let c = corner as usize - 3 * t;
            let (next, previous) = (if c == 2 { 0 } else { c + 1 }, if c == 0 { 2 } else { c - 1 });
            let tri = &surface.triangles[t];
            let a: &[f64; 3] = surface.positions[tri[next] as usize].as_ref();
            let b: &[f64; 3] = surface.positions[tri[previous] as usize].as_ref();
            open |= surface.neighbours[t][previous] >= Topology::NONMANIFOLD;
            let block = &mut self.edges[i / LANES];
            block[0][i % LANES] = (a[u] - p[u]) as f32;
            block[1][i % LANES] = (a[v] - p[v]) as f32;
            block[2][i % LANES] = (a[w] - p[w]) as f32;
            // Every turn around the vertex crosses this half-axis once, upward.
            turns += u32::from(((a[v] - p[v]) * up < 0.0) & ((b[v] - p[v]) * up >= 0.0));
            let n: &[f64; 3] = surface.normals[t].as_ref();
            let inverse = 1.0 / n[w];
            let (su, sv) = (n[u] * inverse, n[v] * inverse);
            least = if n[w] * up < least { n[w] * up } else { least };
            ul = if su < ul { su } else { ul };
            uh = if su > uh { su } else { uh };
            vl = if sv < vl { sv } else { vl };
            vh = if sv > vh { sv } else { vh };
        }
        self.blocks = corners.len().div_ceil(LANES);
        for i in corners.len()..self.blocks * LANES {
            let block = &mut self.edges[i / LANES];
            block[0][i % LANES] = 0.0;
            block[1][i % LANES] = 0.0;
            block[2][i % LANES] = 0.0;
        }
        self.axes = axes;
        self.slopes = [ul, uh, vl, vh];
        self.up = up > 0.0;
        !open & (turns == 1) & (least > MIN_RISE)
    }

    /// Finds the nodes within `band` of the vertex at `p` that are in its cone.
    #[inline(always)]
    fn scan<L: Lanes>(&self, p: &[f64; 3], band: f64, triangle: u32, out: &mut Vec<Hit>) {
        let Axes { u, v, w } = self.axes;
        let [ul, uh, vl, vh] = self.slopes;
        let last = floor(p[w] + band);
        let mut base = ceil(p[w] - band);
        while base <= last {
            let dw = L::load(&IOTA).add(L::splat((f64::from(base) - p[w]) as f32));
            let live = holds_node(dw, ul, uh, p[u]) & holds_node(dw, vl, vh, p[v]) & lanes_until(base, last);
            let mut rest = live;
            while rest != 0 {
                let wi = base + rest.trailing_zeros() as i32;
                rest &= rest - 1;
                let dw = f64::from(wi) - p[w];
                let (u0, u1) = section(dw, ul, uh, p[u], band);
                let (v0, v1) = section(dw, vl, vh, p[v], band);
                for ui in u0..=u1 {
                    let du = f64::from(ui) - p[u];
                    for vi in v0..=v1 {
                        let dv = f64::from(vi) - p[v];
                        let squared = du * du + dv * dv + dw * dw;
                        if squared <= band * band && self.holds::<L>([du as f32, dv as f32, dw as f32]) {
                            let d = squared.sqrt() as f32;
                            let mut node = [0; 3];
                            (node[u], node[v], node[w]) = (ui, vi, wi);
                            let inside = if self.up { dw < 0.0 } else { dw > 0.0 };
                            out.push(Hit { node, triangle, distance: if inside { -d } else { d } });
                        }
                    }
                }
            }
            base += LANES as i32;
        }
    }

    /// Whether no edge leads nearer to p + x.
    #[inline(always)]
    fn holds<L: Lanes>(&self, x: [f32; 3]) -> bool {
        let (x, y, z) = (L::splat(x[0]), L::splat(x[1]), L::splat(x[2]));
        let overlap = L::splat(OVERLAP as f32);
        let mut out = 0;
        for block in &self.edges[..self.blocks.min(BLOCKS)] {
            let (eu, ev, ew) = (L::load(&block[0]), L::load(&block[1]), L::load(&block[2]));
            let along = x.mul(eu).add(y.mul(ev)).add(z.mul(ew));
            out |= L::bits(overlap.mul(eu.abs().add(ev.abs()).add(ew.abs())).lt(along));
        }
        out == 0
    }
}

/// Slices, `dw` away from the vertex, in which the slopes from `low` to `high` meet a whole number, seen from `from`.
#[inline(always)]
fn holds_node<L: Lanes>(dw: L, low: f64, high: f64, from: f64) -> u32 {
    let from = L::splat((from - f64::from(floor(from))) as f32);
    let (a, b) = (dw.mul(L::splat(low as f32)), dw.mul(L::splat(high as f32)));
    let slack = L::splat((OVERLAP + ROUNDING) as f32);
    L::bits(from.add(a.max(b)).add(slack).floor().ge(from.add(a.min(b)).sub(slack)))
}

/// The nodes at a distance of at most `band` in one slice of [`holds_node`].
#[inline(always)]
fn section(dw: f64, low: f64, high: f64, from: f64, band: f64) -> (i32, i32) {
    let (a, b) = (dw * low, dw * high);
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    (
        ceil(from + if low > -band { low } else { -band } - OVERLAP),
        floor(from + if high < band { high } else { band } + OVERLAP),
    )
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
