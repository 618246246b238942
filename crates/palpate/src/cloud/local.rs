//! The surface near a place, from the points around it: how far it is along its normal.
//!
//! Based on: kolluri05 (the mean of the distances to the planes of points).
//! Differs: half of that and half of the distance to the mean plane of the points. Where a surface is bent the first lies beyond it and
//! the second before it, by the same to second order, and on balls they cancel altogether. Points weigh what they stand for,
//! by how much farther they are than the nearest, and only if they face the way that one does: so the other side of a thin
//! wall, or of an edge, does not count.

use super::Surfels;
use super::solid::BLOCK_BYTES;
use super::surfels::{NONE, ReconstructError};
use crate::field::iso::BLOCK;
use crate::par;
use glam::{DVec3, Vec3};

/// Nodes along an edge of a block.
pub(super) const EDGE: usize = BLOCK as usize;

/// Nodes of a block.
pub(super) const NODES: usize = EDGE * EDGE * EDGE;

/// Points that face this far away from the nearest do not count, and those within the second count fully [cosine].
const FACES: [f32; 2] = [0.0, 0.7];

/// Bytes of a point in the list of a block.
const PAIR: f64 = 32.0;

/// What the points around a node say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Local {
    /// The nearest entry, or [`NONE`]: then nothing is near.
    pub(super) near: u32,
    /// How far it is [m].
    pub(super) distance: f32,
    /// Distance from the surface, positive where normals point [m].
    pub(super) height: f32,
    /// How far beside the node the middle of the points lies, along the surface [m].
    pub(super) aside: f32,
}

/// How the neighbourhood of points is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Edge of a voxel [m].
    pub(super) voxel: f64,
    /// How far along the surface points count [scales].
    pub(super) support: f32,
    /// How far from the points nodes are wanted [m], besides two voxels and the scale of the points times the second.
    pub(super) wanted: [f32; 2],
    /// Whether normals are lines: turned to agree with the nearest.
    pub(super) unsigned: bool,
    /// Only points on surfaces.
    pub(super) planar: bool,
}

/// Which points are near which block of nodes.
pub(super) struct Near<'a> {
    pub(super) surfels: &'a Surfels,
    reading: Reading,
    /// Blocks in ascending order, where the points of each begin, and these.
    pub(super) blocks: Vec<[i64; 3]>,
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl<'a> Near<'a> {
    /// Points by block, if they and their blocks take no more than `allowed` bytes.
    pub(super) fn build(
        surfels: &'a Surfels,
        reading: Reading,
        allowed: u64,
    ) -> Result<Self, ReconstructError> {
        let near = Self { surfels, reading, blocks: Vec::new(), starts: Vec::new(), entries: Vec::new() };
        let edge = reading.voxel * EDGE as f64;
        // Room first: no voxel, however small, may allocate without bound.
        let needed = near.needed(reading.voxel);
        if needed > allowed as f64 {
            return Err(near.too_large(needed, allowed));
        }
        let n = surfels.len();
        let chunk = 1024;
        let parts = par::map(n.div_ceil(chunk), |c| {
            let mut out: Vec<([i64; 3], u32)> = Vec::new();
            for i in (c * chunk..n.min((c + 1) * chunk)).filter(|i| near.counts(*i)) {
                let (p, r) = (surfels.points[i].as_dvec3(), f64::from(near.radius(i)));
                let at = |x: f64| (x / edge).floor() as i64;
                for x in at(p.x - r)..=at(p.x + r) {
                    for y in at(p.y - r)..=at(p.y + r) {
                        for z in at(p.z - r)..=at(p.z + r) {
                            let low = DVec3::new(x as f64, y as f64, z as f64) * edge;
                            let away = (low - p).max(p - low - DVec3::splat(edge)).max(DVec3::ZERO);
                            if away.length_squared() <= r * r {
                                out.push(([x, y, z], i as u32));
                            }
                        }
                    }
                }
            }
            out
        });
        let mut pairs = parts.concat();
        if pairs.len() > u32::MAX as usize {
            // Their places have 32 bits.
            return Err(near.too_large(PAIR * pairs.len() as f64, PAIR as u64 * u64::from(u32::MAX)));
        }
        par::sort_unstable(&mut pairs);
        let (mut blocks, mut starts) = (Vec::new(), Vec::new());
        for (at, pair) in pairs.iter().enumerate() {
            if blocks.last() != Some(&pair.0) {
                blocks.push(pair.0);
                starts.push(at as u32);
            }
        }
        starts.push(pairs.len() as u32);
        Ok(Self { blocks, starts, entries: pairs.into_iter().map(|p| p.1).collect(), ..near })
    }

    fn counts(&self, i: usize) -> bool {
        !self.reading.planar || self.surfels.is_planar(i)
    }

    /// About the bytes that voxels of this edge [m] need before any node is read.
    fn needed(&self, voxel: f64) -> f64 {
        let edge = voxel * EDGE as f64;
        let (mut pairs, mut widest) = (0.0, 0.0f32);
        for i in (0..self.surfels.len()).filter(|i| self.counts(*i)) {
            pairs += (2.0 * f64::from(self.radius_at(i, voxel)) / edge + 1.0).powi(3);
            widest = widest.max(self.wanted(i, voxel));
        }
        // All blocks that one point wants are different ones.
        let blocks = 4.0 / 3.0 * core::f64::consts::PI * (f64::from(widest) / edge).powi(3);
        (PAIR * pairs).max(BLOCK_BYTES as f64 * blocks)
    }

    /// The error of a grid that needs these bytes, and a voxel that would do.
    fn too_large(&self, needed: f64, allowed: u64) -> ReconstructError {
        let (s, voxel) = (self.surfels, self.reading.voxel);
        // Blocks along the surface, as far to both sides as nodes are wanted, and those that they touch.
        let blocks = |voxel: f64| {
            let edge = voxel * EDGE as f64;
            let [own, scales] = self.reading.wanted.map(f64::from);
            let wide = 2.0 * (own + 2.0 * voxel + scales * s.report.spacing) / edge;
            BLOCK_BYTES as f64 * s.report.area / (edge * edge) * (wide + 3.0)
        };
        let enough = |voxel: f64| self.needed(voxel).max(blocks(voxel)) <= 0.8 * allowed as f64;
        // Larger and larger ones, from a thousandth of the spacing to 40 of them; memory for which none of these does is too little.
        let mut suggested = voxel.max(s.report.spacing / 1024.0);
        for _ in 0..48 {
            suggested *= 1.25;
            if enough(suggested) {
                break;
            }
        }
        ReconstructError::TooMuchMemory { voxel, needed: needed as u64, allowed, suggested }
    }

    /// See [`Near::radius_at`], with the voxels that are read.
    fn radius(&self, i: usize) -> f32 {
        self.radius_at(i, self.reading.voxel)
    }

    /// How far from entry `i` nodes hear of it [m]: those that are wanted, and count it; with voxels of this edge [m].
    fn radius_at(&self, i: usize, voxel: f64) -> f32 {
        let wanted = self.wanted(i, voxel);
        let aside = self.reading.support * self.surfels.scale[i];
        (wanted * wanted + aside * aside).sqrt()
    }

    /// How far from entry `i` the surface can be that it stands for [m].
    fn wanted(&self, i: usize, voxel: f64) -> f32 {
        self.reading.wanted[0] + 2.0 * voxel as f32 + self.reading.wanted[1] * self.surfels.scale[i]
    }

    /// The entries near a block.
    pub(super) fn of(&self, block: [i64; 3]) -> &[u32] {
        match self.blocks.binary_search(&block) {
            Ok(at) => &self.entries[self.starts[at] as usize..self.starts[at + 1] as usize],
            Err(_) => &[],
        }
    }

    /// Whether a block has nodes as near to its entries as they are wanted.
    pub(super) fn is_wanted(&self, block: [i64; 3]) -> bool {
        let edge = self.reading.voxel * EDGE as f64;
        let low = DVec3::new(block[0] as f64, block[1] as f64, block[2] as f64) * edge;
        self.of(block).iter().any(|i| {
            let p = self.surfels.points[*i as usize].as_dvec3();
            let away = (low - p).max(p - low - DVec3::splat(edge)).max(DVec3::ZERO);
            away.length() <= f64::from(self.wanted(*i as usize, self.reading.voxel))
        })
    }

    /// The nodes of a block, x fastest.
    pub(super) fn read(&self, block: [i64; 3]) -> Vec<Local> {
        let (s, entries) = (self.surfels, self.of(block));
        let voxel = self.reading.voxel;
        let corner = DVec3::new(block[0] as f64, block[1] as f64, block[2] as f64) * (voxel * EDGE as f64);
        let mut out = vec![Local { near: NONE, distance: f32::INFINITY, ..Default::default() }; NODES];
        if entries.is_empty() {
            return out;
        }
        // Relative to the block's corner, where f32 is precise.
        let place = |i: u32| (s.points[i as usize].as_dvec3() - corner).as_vec3();
        for &i in entries {
            let p = place(i);
            self.each(p, self.radius(i as usize), |at, d| {
                let square = d.length_squared();
                if square < out[at].distance {
                    (out[at].near, out[at].distance) = (i, square);
                }
            });
        }
        // In units of the usual, as areas times distances may be beyond single precision.
        let unit = (1.0 / (s.report.spacing * s.report.spacing)) as f32;
        let mut sums = vec![Sum::default(); NODES];
        for &i in entries {
            let (p, e) = (place(i), i as usize);
            let (normal, scale) = (s.normals[e], s.scale[e]);
            let inverse = 1.0 / (self.reading.support * scale).powi(2).max(f32::MIN_POSITIVE);
            // Even a point without a cell says where the surface is.
            let area = unit * s.areas[e].max(1e-3 * scale * scale);
            self.each(p, self.radius(e), |at, d| {
                let node = &out[at];
                let t = (d.length_squared() - node.distance) * inverse;
                if t >= 1.0 {
                    return;
                }
                let cosine = normal.dot(s.normals[node.near as usize]);
                let turned = if self.reading.unsigned && cosine < 0.0 { -1.0 } else { 1.0 };
                let facing = ((turned * cosine - FACES[0]) / (FACES[1] - FACES[0])).clamp(0.0, 1.0);
                let fall = (1.0 - t) * (1.0 - t);
                let w = area * fall * fall * facing;
                let sum = &mut sums[at];
                sum.weight += w;
                sum.normal += w * turned * normal;
                sum.away += w * d;
                sum.height += w * turned * normal.dot(d);
            });
        }
        for (node, sum) in out.iter_mut().zip(&sums) {
            if node.near != NONE {
                node.distance = node.distance.sqrt();
                sum.finish(node);
            }
        }
        out
    }

    /// Calls `f` with the nodes within `radius` of `p` and the way from `p` to each, all relative to the block's corner [m].
    #[inline(always)]
    fn each(&self, p: Vec3, radius: f32, mut f: impl FnMut(usize, Vec3)) {
        let voxel = self.reading.voxel as f32;
        let low = ((p - radius) / voxel).ceil().max(Vec3::ZERO);
        let high = ((p + radius) / voxel).floor().min(Vec3::splat(EDGE as f32 - 1.0));
        if low.cmpgt(high).any() {
            return;
        }
        let (low, high) = (low.as_uvec3(), high.as_uvec3());
        for z in low.z..=high.z {
            for y in low.y..=high.y {
                for x in low.x..=high.x {
                    let d = Vec3::new(x as f32, y as f32, z as f32) * voxel - p;
                    if d.length_squared() <= radius * radius {
                        f(x as usize + EDGE * (y as usize + EDGE * z as usize), d);
                    }
                }
            }
        }
    }
}

/// Sums over the points around a node.
#[derive(Clone, Copy, Default)]
struct Sum {
    weight: f32,
    normal: Vec3,
    /// From the points to the node.
    away: Vec3,
    height: f32,
}

impl Sum {
    fn finish(&self, node: &mut Local) {
        let inverse = 1.0 / self.weight.max(f32::MIN_POSITIVE);
        let away = self.away * inverse;
        let normal = self.normal.normalize_or_zero();
        let height = normal.dot(away);
        node.height = 0.5 * (self.height * inverse + height);
        node.aside = (away - height * normal).length();
    }
}

/// The error of a grid that is too large, and the voxel that would do; needs grow with the square of the number of nodes along an edge.
pub(super) fn too_large(voxel: f64, needed: u64, allowed: u64) -> ReconstructError {
    let suggested = voxel * (1.1 * needed as f64 / allowed.max(1) as f64).sqrt();
    ReconstructError::TooMuchMemory { voxel, needed, allowed, suggested }
}
