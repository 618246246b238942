//! The triangles a field is built of, resident on the device, with the tree that finds the closest of them.
//!
//! Everything that does not depend on the voxel is made here, once, on the CPU: caps over holes, the order along a space-filling
//! curve, boxes around runs of 2, 16, 128, … 65536 triangles, pseudonormals, dipoles of runs of 64. A build only scales them.

use super::BuildError;
use crate::device::{Gpu, GpuError};
use crate::kernel::{buffer, room};
use glam::{DVec3, Vec3};
use palpate::field::parts::Parts;
use palpate::mesh::Mesh;
use std::sync::Mutex;
use wgpu::BufferUsages;

/// Triangles of a box on the lowest level.
const LEAF: usize = 2;
/// Boxes of a box on the level above.
const WIDTH: usize = 8;
/// Levels of boxes; above the last they are passed one by one.
const LEVELS: usize = 6;
/// Triangles of a dipole.
const GROUP: usize = 64;

/// A mesh on the device, from which fields of any voxel size are built. Lengths are kept in units of the mesh's box, in f32 relative
/// to its middle: in a grid of n voxels a vertex is within about n·1.2e-7 voxels of its place.
#[derive(Debug)]
pub struct GpuMeshSource {
    pub(super) parts: Parts,
    pub(super) capped: bool,
    /// Boxes on each level, and where each level begins; six are used.
    pub(super) counts: [u32; 8],
    pub(super) starts: [u32; 8],
    pub(super) points: wgpu::Buffer,
    pub(super) vertices: wgpu::Buffer,
    pub(super) normals: wgpu::Buffer,
    pub(super) pseudonormals: wgpu::Buffer,
    pub(super) boxes: wgpu::Buffer,
    pub(super) dipoles: wgpu::Buffer,
    /// Triangles and boxes in voxels of the last build.
    pub(super) scaled: wgpu::Buffer,
    pub(super) scaled_boxes: wgpu::Buffer,
    /// Held by a build: the scaled ones are its own.
    pub(super) lock: Mutex<()>,
}

impl GpuMeshSource {
    /// Puts a mesh on the device, its holes capped as [`palpate::field::FieldParams::cap_holes`] says by default.
    ///
    /// On the CPU, about as long as the first steps of a build there (40 ms for 70,000 triangles), about 300 bytes a triangle.
    pub fn new(gpu: &Gpu, mesh: &Mesh) -> Result<Self, BuildError> {
        Self::with_caps(gpu, mesh, true)
    }

    /// As [`GpuMeshSource::new`], with the holes capped or left as they are.
    pub fn with_caps(gpu: &Gpu, mesh: &Mesh, cap_holes: bool) -> Result<Self, BuildError> {
        let parts = Parts::of(mesh, cap_holes);
        let count = parts.triangles().len();
        let instead = "use a coarser mesh, or build on the CPU";
        gpu.fits("the mesh", 128 * count as u64, instead)?;
        if count == 0 || count >= 1 << 28 {
            return Err(GpuError::TooLarge {
                what: "the mesh",
                needed: count as u64,
                limit: (1 << 28) - 1,
                unit: "triangles",
                device: gpu.name().to_owned(),
                instead,
            }
            .into());
        }
        let storage = BufferUsages::STORAGE;
        let flat = |v: DVec3| v.as_vec3().to_array();
        let points: Vec<[f32; 3]> = parts.positions().iter().map(|p| flat(*p)).collect();
        let mut vertices = parts.triangles().to_vec();
        for (t, tri) in vertices.iter_mut().enumerate().filter(|(t, _)| parts.is_sheet(*t)) {
            debug_assert!(parts.is_sheet(t));
            tri[0] |= 1 << 31;
        }
        let normals: Vec<[f32; 3]> = (0..count).map(|t| flat(parts.normal(t))).collect();
        let edges = (0..count).flat_map(|t| (0..3).map(move |e| (t, e)));
        let mut pseudonormals: Vec<[f32; 3]> = edges.map(|(t, e)| flat(parts.edge_normal(t, e))).collect();
        pseudonormals.extend((0..points.len()).map(|v| flat(parts.vertex_normal(v))));
        let (boxes, counts, starts) = boxes(&parts);
        let all = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let source = Self {
            capped: cap_holes,
            counts,
            starts,
            points: buffer(gpu, "points", &points, storage),
            vertices: buffer(gpu, "vertices", &vertices, storage),
            normals: buffer(gpu, "normals", &normals, storage),
            pseudonormals: buffer(gpu, "pseudonormals", &pseudonormals, storage),
            scaled_boxes: room(gpu, "boxes in voxels", 16 * boxes.len() as u64, all),
            boxes: buffer(gpu, "boxes", &boxes, storage),
            dipoles: buffer(gpu, "dipoles", &dipoles(&parts), storage),
            scaled: room(gpu, "triangles in voxels", 128 * count as u64, all),
            lock: Mutex::new(()),
            parts,
        };
        gpu.check()?;
        Ok(source)
    }

    /// Number of triangles, those of caps included.
    pub fn triangles(&self) -> usize {
        self.parts.triangles().len()
    }
}

/// Middle and half size of every box, level by level, each with a fourth number that is not used.
fn boxes(parts: &Parts) -> (Vec<[f32; 4]>, [u32; 8], [u32; 8]) {
    let positions = parts.positions();
    let mut level: Vec<[DVec3; 2]> = parts
        .triangles()
        .chunks(LEAF)
        .map(|part| bound(part.iter().flatten().map(|v| [positions[*v as usize]; 2])))
        .collect();
    let mut out = Vec::new();
    let (mut counts, mut starts) = ([0; 8], [0; 8]);
    for l in 0..LEVELS {
        if l > 0 {
            level = level.chunks(WIDTH).map(|part| bound(part.iter().copied())).collect();
        }
        (starts[l], counts[l]) = ((out.len() / 2) as u32, level.len() as u32);
        for [low, high] in &level {
            let middle = (0.5 * (*low + *high)).as_vec3();
            let half = (*high - middle.as_dvec3()).max(middle.as_dvec3() - *low);
            // Rounded up by more than the conversion may take away.
            let half = half.as_vec3() * (1.0 + f32::EPSILON) + Vec3::splat(f32::MIN_POSITIVE);
            out.push(middle.extend(0.0).to_array());
            out.push(half.extend(0.0).to_array());
        }
    }
    (out, counts, starts)
}

fn bound(parts: impl Iterator<Item = [DVec3; 2]>) -> [DVec3; 2] {
    let empty = [DVec3::INFINITY, DVec3::NEG_INFINITY];
    parts.fold(empty, |[low, high], [l, h]| [low.min(l), high.max(h)])
}

/// Middle and radius, then the sum of area vectors, of every 64 triangles; sheets do not count.
fn dipoles(parts: &Parts) -> Vec<[f32; 4]> {
    let count = parts.triangles().len();
    let mut out = Vec::new();
    for first in (0..count).step_by(GROUP) {
        let group = first..(first + GROUP).min(count);
        let corners = |t: usize| parts.triangles()[t].map(|v| parts.positions()[v as usize]);
        let area = |[a, b, c]: [DVec3; 3]| 0.5 * (b - a).cross(c - a);
        let solid = group.filter(|t| !parts.is_sheet(*t)).map(corners);
        let (mut middle, mut weight, mut sum) = (DVec3::ZERO, 0.0, DVec3::ZERO);
        for tri in solid.clone() {
            let a = area(tri);
            middle += (tri[0] + tri[1] + tri[2]) / 3.0 * a.length();
            weight += a.length();
            sum += a;
        }
        if weight > 0.0 {
            middle /= weight;
        }
        let radius = solid.flatten().map(|p| (p - middle).length()).fold(0.0, f64::max);
        out.push(middle.as_vec3().extend(radius as f32).to_array());
        out.push(sum.as_vec3().extend(0.0).to_array());
    }
    out
}
