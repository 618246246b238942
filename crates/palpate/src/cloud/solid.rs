//! Solids from clouds: what is common to closed ones and to sheets. Blocks of nodes near the points are read, and more wherever the
//! surface goes on; the surface between them is closed.

use super::Surfels;
use super::local::{EDGE, Local, NODES, Near, too_large};
use super::surfels::ReconstructError;
use crate::field::iso::{IsoGrid, iso_surface};
use crate::field::{Field, FieldParams};
use crate::mesh::{Mesh, RawMesh, RepairParams};
use crate::par;
use crate::progress::{Progress, Silent};
use crate::shape::{Shape, ShapeError, ShapeParams};
use glam::{DVec3, Vec3};
use std::collections::{HashMap, HashSet};

/// Bytes of a block under way: values, its place in tables, its share of triangles.
pub(super) const BLOCK_BYTES: u64 = 4 * NODES as u64 + 1600;

/// Pieces of surface with less area than this are what the grid cannot hold, and go [voxels²]; the smallest ball of a sheet has 12.
const DEBRIS: f64 = 6.0;

/// A triangle farther than this from all points bridges a hole [scales].
const BRIDGE: f32 = 2.0;

/// How a solid is made of points.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidParams {
    /// Edge of the voxels in which the surface is sought [m]; none: three quarters of the spacing, a third of a sheet's thickness if
    /// that is less. Smaller: more triangles, hardly more accurate.
    pub voxel: Option<f64>,
    /// How far along the surface points are averaged [spacings there], 1.5 to 20. Larger: smoother, for noise; smaller: finer detail.
    pub support: f64,
    /// Largest memory the work may take [bytes].
    pub max_memory: u64,
    /// Threads; 0: those of the current rayon pool. The result does not depend on it.
    pub threads: usize,
}

impl Default for SolidParams {
    fn default() -> Self {
        Self { voxel: None, support: 2.5, max_memory: 2 << 30, threads: 0 }
    }
}

impl SolidParams {
    /// Whether every value is in its range.
    pub fn check(&self) -> Result<(), ReconstructError> {
        let bad = |name, value, range| Err(ReconstructError::BadParameter { name, value, range });
        match self.voxel {
            Some(v) if !(v > 0.0 && v.is_finite()) => bad("voxel", v, "a positive length"),
            _ if !(1.5..=20.0).contains(&self.support) => bad("support", self.support, "1.5 to 20"),
            _ => Ok(()),
        }
    }

    /// Whether voxels are smaller than the box of the points and `more` [m]: larger ones hold nothing of them.
    pub(super) fn check_for(&self, s: &Surfels, more: f64) -> Result<(), ReconstructError> {
        let (low, high) =
            s.points.iter().fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |m, p| (m.0.min(*p), m.1.max(*p)));
        let size = f64::from((high - low).max_element()) + more;
        match self.voxel {
            Some(value) if value > size => {
                let range = "no larger than the cloud itself";
                Err(ReconstructError::BadParameter { name: "voxel", value, range })
            }
            _ => Ok(()),
        }
    }
}

/// A closed surface around or through points, in the frame of their cloud.
#[derive(Clone, Debug)]
pub struct Solid {
    /// Watertight, outward.
    pub mesh: Mesh,
    /// How it was made, and how far it can be trusted.
    pub report: SolidReport,
}

/// How a solid was made, and how far it can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolidReport {
    /// Spacing of the points [m].
    pub spacing: f64,
    /// Edge of the voxels [m].
    pub voxel: f64,
    /// How far points were averaged at the usual spacing [m].
    pub support: f64,
    /// Parts of the surface, cavities included.
    pub components: usize,
    /// Places where the surface goes on without points, and their area [m²].
    pub holes: usize,
    /// See `holes`.
    pub bridged: f64,
    /// How sure the orientation is: share of the points around which inside and outside are as their normals say, times the
    /// confidence of the normals themselves; 1 for sheets, which have no inside to mistake [1].
    pub confidence: f64,
    /// Root of the mean square of the distances of points from the surface they were to be on [m]: about its error; more than that
    /// where points are noisy, as the surface is their mean.
    pub residual: f64,
    /// Blocks of 8³ nodes that were read.
    pub blocks: usize,
}

impl Solid {
    /// The field of the solid with voxels of this edge [m]; none: those of the report.
    pub fn field(&self, voxel: Option<f64>, params: &FieldParams) -> Result<Field, ReconstructError> {
        let voxel = voxel.unwrap_or(self.report.voxel);
        Ok(Field::build(&self.mesh, voxel, params).map_err(ShapeError::from)?)
    }

    /// The shape of the solid with voxels of this edge [m]; none: those of the report.
    pub fn shape(&self, voxel: Option<f64>, params: &ShapeParams) -> Result<Shape, ReconstructError> {
        self.shape_with(voxel, params, &Silent)
    }

    /// As [`Solid::shape`], reporting progress.
    pub fn shape_with(
        &self,
        voxel: Option<f64>,
        params: &ShapeParams,
        progress: &dyn Progress,
    ) -> Result<Shape, ReconstructError> {
        let voxel = voxel.unwrap_or(self.report.voxel);
        Ok(Shape::build_with(self.mesh.clone(), voxel, params, progress)?)
    }
}

/// A node that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Relative to the origin of the points [m].
    pub(super) p: Vec3,
    /// Its place in its block, and where the block's first node is [m].
    pub(super) k: [usize; 3],
    pub(super) corner: Vec3,
}

/// Winding numbers at every fourth node of a block, NaN where unknown yet, and the memory of a search.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) coarse: [f32; 27],
    pub(super) stack: Vec<(u32, u32)>,
}

/// Values of blocks, x fastest.
type Values = HashMap<[i64; 3], Vec<f32>>;

/// The surface where `value` is 0. `value` is told what the points say at a node and where that is, and has a memory for each block.
pub(super) fn extract(
    near: &Near<'_>,
    voxel: f64,
    max_memory: u64,
    progress: &dyn Progress,
    value: impl Fn(&Local, Place, &mut Memory) -> f32 + Sync,
) -> Result<Solid, ReconstructError> {
    let s = near.surfels;
    let mut fresh: Vec<[i64; 3]> = near.blocks.iter().copied().filter(|b| near.is_wanted(*b)).collect();
    let mut visited: HashSet<[i64; 3]> = fresh.iter().copied().collect();
    let mut visit = fresh.clone();
    let mut values = Values::new();
    progress.stage("surface", 2 * fresh.len() as u64);
    while !fresh.is_empty() {
        let mut need: Vec<[i64; 3]> = fresh.iter().flat_map(|b| corners(*b)).collect();
        par::sort_unstable(&mut need);
        need.dedup();
        need.retain(|b| !values.contains_key(b));
        let bytes = BLOCK_BYTES * (values.len() + need.len()) as u64;
        if bytes > max_memory {
            return Err(too_large(voxel, bytes, max_memory));
        }
        let read = par::map(need.len(), |at| {
            let mut out = Vec::new();
            if !progress.cancelled() {
                let mut memory = Memory { coarse: [f32::NAN; 27], stack: Vec::with_capacity(64) };
                let block = need[at];
                let at = |k: [usize; 3]| {
                    let ijk: [f64; 3] =
                        core::array::from_fn(|a| (block[a] * EDGE as i64 + k[a] as i64) as f64);
                    (DVec3::from_array(ijk) * voxel).as_vec3()
                };
                let corner = at([0; 3]);
                out.extend(near.read(block).iter().enumerate().map(|(k, node)| {
                    let k = [k % EDGE, k / EDGE % EDGE, k / EDGE / EDGE];
                    value(node, Place { p: at(k), k, corner }, &mut memory)
                }));
                progress.advance(1);
            }
            out
        });
        if progress.cancelled() {
            return Err(ReconstructError::Cancelled);
        }
        values.extend(need.into_iter().zip(read));
        // Where a face between two blocks has both signs the surface goes through it.
        let mut next = Vec::new();
        for b in &fresh {
            for face in 0..6 {
                let mut other = *b;
                other[face / 2] += if face.is_multiple_of(2) { -1 } else { 1 };
                if !visited.contains(&other) && crosses(&values, *b, face) {
                    visited.insert(other);
                    next.push(other);
                }
            }
        }
        visit.extend_from_slice(&next);
        fresh = next;
    }
    let far = 1i64 << 45;
    let grid = IsoGrid { origin: s.origin, voxel, lower: [-far; 3], upper: [far; 3] };
    let mut raw = iso_surface(&grid, &visit, 0.0, |ijk| node(&values, ijk))?;
    drop_debris(&mut raw, DEBRIS * voxel * voxel);
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let (holes, bridged) = bridges(near, &mesh, voxel);
    let report = SolidReport {
        spacing: s.report.spacing,
        voxel,
        components: mesh.report().components,
        holes,
        bridged,
        residual: residual(s, &values, voxel),
        blocks: values.len(),
        ..Default::default()
    };
    Ok(Solid { mesh, report })
}

/// A block and those that have the nodes of its upper faces.
fn corners(block: [i64; 3]) -> impl Iterator<Item = [i64; 3]> {
    (0..8).map(move |o| core::array::from_fn(|a| block[a] + (o >> a & 1)))
}

/// A node that is known; NaN, which is outside, else.
fn node(values: &Values, ijk: [i64; 3]) -> f32 {
    let edge = EDGE as i64;
    let Some(block) = values.get(&ijk.map(|i| i.div_euclid(edge))) else { return f32::NAN };
    let [x, y, z] = ijk.map(|i| i.rem_euclid(edge) as usize);
    block[x + EDGE * (y + EDGE * z)]
}

/// Whether the nodes of a face of a block have both signs.
fn crosses(values: &Values, block: [i64; 3], face: usize) -> bool {
    let edge = EDGE as i64;
    let (axis, across) = (face / 2, [(face / 2 + 1) % 3, (face / 2 + 2) % 3]);
    let (mut any_in, mut any_out) = (false, false);
    for i in 0..=edge {
        for j in 0..=edge {
            let mut ijk = block.map(|b| b * edge);
            ijk[axis] += if face.is_multiple_of(2) { 0 } else { edge };
            ijk[across[0]] += i;
            ijk[across[1]] += j;
            let inside = node(values, ijk) < 0.0;
            any_in |= inside;
            any_out |= !inside;
        }
    }
    any_in && any_out
}

/// The lowest member of a set.
fn find(sets: &mut [u32], mut i: u32) -> u32 {
    while sets[i as usize] != i {
        sets[i as usize] = sets[sets[i as usize] as usize];
        i = sets[i as usize];
    }
    i
}

fn unite(sets: &mut [u32], i: u32, j: u32) {
    let (i, j) = (find(sets, i), find(sets, j));
    sets[i.max(j) as usize] = i.min(j);
}

/// Drops the connected pieces with less area than this [m²].
fn drop_debris(raw: &mut RawMesh, least: f64) {
    let mut sets: Vec<u32> = (0..raw.positions.len() as u32).collect();
    for t in &raw.triangles {
        unite(&mut sets, t[0], t[1]);
        unite(&mut sets, t[0], t[2]);
    }
    let mut areas = vec![0.0; sets.len()];
    for t in &raw.triangles {
        let [a, b, c] = t.map(|v| raw.positions[v as usize]);
        areas[find(&mut sets, t[0]) as usize] += 0.5 * (b - a).cross(c - a).length();
    }
    raw.triangles.retain(|t| areas[find(&mut sets, t[0]) as usize] >= least);
}

/// Places where triangles are far from all points, and their area [m²].
fn bridges(near: &Near<'_>, mesh: &Mesh, voxel: f64) -> (usize, f64) {
    let s = near.surfels;
    let edge = voxel * EDGE as f64;
    let far = par::map(mesh.triangles().len(), |t| {
        let [a, b, c] = mesh.corners(t);
        let p = (a + b + c) / 3.0 - s.origin;
        let block = [p.x, p.y, p.z].map(|x| (x / edge).floor() as i64);
        let p = p.as_vec3();
        let is_near = |i: &u32| {
            let i = *i as usize;
            s.points[i].distance_squared(p) < (BRIDGE * s.scale[i]).powi(2)
        };
        !near.of(block).iter().any(is_near)
    });
    let mut sets: Vec<u32> = (0..mesh.positions().len() as u32).collect();
    let mut area = 0.0;
    let triangles = || mesh.triangles().iter().enumerate().filter(|(t, _)| far[*t]);
    for (t, v) in triangles() {
        let [a, b, c] = mesh.corners(t);
        area += 0.5 * (b - a).cross(c - a).length();
        for k in 1..3 {
            unite(&mut sets, v[0], v[k]);
        }
    }
    let mut roots: Vec<u32> = triangles().map(|(_, v)| find(&mut sets, v[0])).collect();
    roots.sort_unstable();
    roots.dedup();
    (roots.len(), area)
}

/// Root of the mean square of the values at the points on surfaces [m].
fn residual(s: &Surfels, values: &Values, voxel: f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0usize);
    for p in (0..s.len()).filter(|i| s.is_planar(*i)).map(|i| s.points[i].as_dvec3() / voxel) {
        let low = p.floor();
        let t = p - low;
        let mut v = 0.0;
        for o in 0..8i64 {
            let up = DVec3::new((o & 1) as f64, (o >> 1 & 1) as f64, (o >> 2) as f64);
            let w = (DVec3::ONE - up) * (DVec3::ONE - t) + up * t;
            let at = low + up;
            v += w.x * w.y * w.z * f64::from(node(values, [at.x as i64, at.y as i64, at.z as i64]));
        }
        if v.is_finite() {
            (sum, count) = (sum + v * v, count + 1);
        }
    }
    (sum / count.max(1) as f64).sqrt()
}
