//! A mesh on the GPU whose vertices move: written by the host, or by a kernel of the caller's.

use crate::device::{Gpu, GpuError};
use crate::kernel;
use glam::DVec3;
use palpate::math::Aabb;
use palpate::soft::SoftMesh;
use std::sync::atomic::{AtomicU64, Ordering};
use wgpu::BufferUsages;

/// Items of a cluster, as in `mesh.wgsl`.
pub(crate) const CLUSTER: usize = 64;
/// A triangle is divided at most so often along an edge, as its parts are numbered in 16 bits.
const MOST_PARTS: u32 = 255;
/// Divisions of a part along an edge that a triangle is cut for: as many samples as keep a workgroup's threads busy once.
const DIVISIONS: f64 = 8.0;
/// Samples of a cluster that is full before it has all its items: few enough that a workgroup is soon done with it.
const SAMPLES: f64 = 512.0;
/// Most items: a buffer of four numbers each must be bound in one piece on small devices.
const MOST_ITEMS: usize = 1 << 27;
/// An item that stands for nothing.
const NOTHING: u32 = u32::MAX;

/// Where vertices are in a buffer of `f32`: three numbers each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VertexLayout {
    /// Numbers before those of the first vertex.
    pub offset: u32,
    /// Numbers from one vertex to the next; at least 3.
    pub stride: u32,
}

impl Default for VertexLayout {
    /// One vertex after the other.
    fn default() -> Self {
        Self { offset: 0, stride: 3 }
    }
}

/// Triangles on the GPU, in the order of a space-filling curve, cut into parts where they are large, and their vertices.
///
/// Positions are `f32` relative to [`GpuMesh::origin`], in the mesh's frame [m].
#[derive(Debug)]
pub struct GpuMesh {
    pub(crate) items: wgpu::Buffer,
    pub(crate) parts: wgpu::Buffer,
    /// One item for each triangle, where some are cut into several.
    pub(crate) whole: Option<wgpu::Buffer>,
    pub(crate) vertices: wgpu::Buffer,
    pub(crate) speeds: Option<wgpu::Buffer>,
    pub(crate) balls: wgpu::Buffer,
    pub(crate) layout: VertexLayout,
    /// What bind groups are made for: another number after a buffer was changed for another.
    pub(crate) id: u64,
    /// Balls are older than the vertices.
    pub(crate) moved: bool,
    pub(crate) clusters: u32,
    pub(crate) items_used: usize,
    /// Largest distance of a vertex from the origin, as far as it is known [m].
    pub(crate) size: f64,
    pub(crate) origin: DVec3,
    /// Middle of the box of the vertices the host wrote last, in the mesh's frame [m].
    pub(crate) centre: DVec3,
    pub(crate) spacing: f64,
    /// One more than the largest number of a triangle.
    pub(crate) numbered: u32,
    vertex_count: usize,
    triangles: usize,
}

/// A number no field and no mesh had before.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl GpuMesh {
    /// Puts the triangles that take part, and all vertices, on the device, to be sampled so that no edge of a part is longer than
    /// `spacing` [m].
    ///
    /// `spacing` also says into how many parts large triangles are cut: meshes that are stretched later are still sampled as
    /// finely, up to 64 times, but with less balance. Cost: 20 bytes a triangle and 12 a vertex; sorting, about 0.3 µs a triangle.
    pub fn new(gpu: &Gpu, mesh: &SoftMesh, spacing: f64) -> Result<Self, GpuError> {
        let bytes = (12 * mesh.positions().len()).max(16);
        gpu.fits("a mesh's vertices", bytes as u64, "use several meshes")?;
        let usage =
            BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC | BufferUsages::VERTEX;
        let vertices = kernel::room(gpu, "vertices", bytes as u64, usage);
        let mut out = Self::with_buffer(gpu, mesh, spacing, vertices, VertexLayout::default())?;
        out.update(gpu, mesh.positions())?;
        Ok(out)
    }

    /// [`GpuMesh::new`] with vertices in a buffer of the caller's, which it fills: `f32`, relative to [`GpuMesh::origin`] [m]. It must
    /// have the usage STORAGE. `mesh` has the triangles, and positions like those the buffer will have.
    ///
    /// Call [`GpuMesh::touch`] after commands that write to it were submitted.
    pub fn with_buffer(
        gpu: &Gpu,
        mesh: &SoftMesh,
        spacing: f64,
        vertices: wgpu::Buffer,
        layout: VertexLayout,
    ) -> Result<Self, GpuError> {
        gpu.fits("the vertex buffer", vertices.size(), "use several meshes")?;
        let count = mesh.positions().len();
        let needed = 4 * (u64::from(layout.offset) + count as u64 * u64::from(layout.stride));
        if layout.stride < 3 || vertices.size() < needed || needed > 4 * u64::from(u32::MAX) {
            return Err(GpuError::BadParameter {
                name: "the vertex buffer",
                value: format!("{} bytes, stride {}", vertices.size(), layout.stride),
                expected: "it must hold three numbers for each vertex at a stride of 3 or more",
            });
        }
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let origin = middle(mesh.aabb());
        let mut out = Self {
            items: kernel::room(gpu, "items", 16, usage),
            parts: kernel::room(gpu, "parts", 16, usage),
            whole: None,
            balls: kernel::room(gpu, "balls", 16, usage),
            vertices,
            speeds: None,
            layout,
            id: next_id(),
            moved: true,
            clusters: 0,
            items_used: 0,
            size: farthest(mesh.aabb(), origin),
            origin,
            centre: origin,
            spacing,
            numbered: 0,
            vertex_count: count,
            triangles: 0,
        };
        out.arrange(gpu, mesh, spacing)?;
        Ok(out)
    }

    /// Takes the triangles of `mesh` that take part now, for this spacing [m]: after triangles were added, removed or switched, or to
    /// sample more finely. It has as many vertices as before; where they are stays.
    pub fn arrange(&mut self, gpu: &Gpu, mesh: &SoftMesh, spacing: f64) -> Result<(), GpuError> {
        if spacing.is_nan() || spacing <= 0.0 {
            return Err(GpuError::BadParameter {
                name: "spacing",
                value: format!("{spacing} m"),
                expected: "give a positive length, for example the voxel of the field",
            });
        }
        if mesh.positions().len() != self.vertex_count {
            return Err(GpuError::BadParameter {
                name: "the number of vertices",
                value: mesh.positions().len().to_string(),
                expected: "it must be the one the mesh began with; make another GpuMesh",
            });
        }
        let taking: Vec<[u32; 3]> = (0..mesh.triangles().len() as u32)
            .filter(|t| mesh.takes_part(*t))
            .map(|t| mesh.triangles()[t as usize])
            .collect();
        let numbers: Vec<u32> = (0..mesh.triangles().len() as u32).filter(|t| mesh.takes_part(*t)).collect();
        let order = palpate::field::curve_order(mesh.positions(), &taking);
        let (mut items, mut parts) = (Vec::with_capacity(order.len()), Vec::with_capacity(order.len()));
        let (mut used, mut samples) = (0, 0.0);
        let most = (gpu.most_bytes() / 16).min(MOST_ITEMS as u64) as usize;
        for t in order {
            let [a, b, c] = taking[t as usize];
            let divisions = divisions(mesh, [a, b, c], spacing);
            let m = cuts(divisions);
            let each = (divisions / f64::from(m)).ceil().clamp(1.0, DIVISIONS).powi(2);
            if items.len() + (m * m) as usize > most {
                return Err(too_fine(gpu, (items.len() + (m * m) as usize) as u64, most as u64));
            }
            for part in 0..m * m {
                if samples + each > SAMPLES {
                    pad(&mut items, &mut parts);
                    samples = 0.0;
                }
                items.push([a, b, c, numbers[t as usize]]);
                parts.push(m << 16 | part);
                used += 1;
                samples = if items.len() % CLUSTER == 0 { 0.0 } else { samples + each };
            }
        }
        self.items_used = used;
        pad(&mut items, &mut parts);
        let padded = items.len();
        gpu.fits("a mesh's triangles", 16 * padded as u64, "use a larger spacing, or several meshes")?;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        // Where parts or padding are between them, whole triangles have a list of their own.
        let first = items.get(..numbers.len()).unwrap_or_default();
        self.whole = (used > numbers.len() || first.iter().any(|item| item[3] == NOTHING)).then(|| {
            let is_first = |(item, part): &(&[u32; 4], &u32)| item[3] != NOTHING && **part & 0xffff == 0;
            let uncut: Vec<[u32; 4]> = items.iter().zip(&parts).filter(is_first).map(|(i, _)| *i).collect();
            kernel::buffer(gpu, "whole triangles", &uncut, usage)
        });
        self.items = kernel::buffer(gpu, "items", &items, usage);
        self.parts = kernel::buffer(gpu, "parts", &parts, usage);
        self.clusters = (padded / CLUSTER) as u32;
        self.balls = kernel::room(gpu, "balls", 16 * u64::from(self.clusters), usage);
        self.triangles = numbers.len();
        self.numbered = mesh.triangles().len() as u32;
        self.spacing = spacing;
        self.id = next_id();
        self.moved = true;
        gpu.check()
    }

    /// Moves the vertices, in the mesh's frame [m]; another number of them is an error, and moves none. A vertex without a place (NaN,
    /// infinite) takes its triangles out.
    pub fn update(&mut self, gpu: &Gpu, positions: &[DVec3]) -> Result<(), GpuError> {
        self.same_number("the number of positions", positions.len())?;
        if !self.vertices.usage().contains(BufferUsages::COPY_DST) {
            return Err(GpuError::BadParameter {
                name: "the vertex buffer",
                value: format!("{:?}", self.vertices.usage()),
                expected: "it needs the usage COPY_DST to be updated by the host; or write it by a kernel",
            });
        }
        let aabb = Aabb::of_points(positions.iter().copied().filter(|p| p.is_finite()));
        self.size = farthest(aabb, self.origin);
        self.centre = middle(aabb);
        let stride = self.layout.stride as usize;
        if stride == 3 {
            let numbers: Vec<[f32; 3]> =
                positions.iter().map(|p| (*p - self.origin).as_vec3().to_array()).collect();
            gpu.queue.write_buffer(
                &self.vertices,
                4 * u64::from(self.layout.offset),
                bytemuck::cast_slice(&numbers),
            );
        } else {
            for (i, p) in positions.iter().enumerate() {
                let at = 4 * (self.layout.offset as usize + i * stride) as u64;
                let place = (*p - self.origin).as_vec3().to_array();
                gpu.queue.write_buffer(&self.vertices, at, bytemuck::cast_slice(&place));
            }
        }
        self.moved = true;
        gpu.check()
    }

    /// Says that the vertices have changed on the device, and that none is farther than `size` from the origin [m].
    pub fn touch(&mut self, size: f64) {
        self.size = if size.is_finite() { size.abs() } else { f64::MAX };
        self.moved = true;
    }

    /// Gives each vertex a velocity in the mesh's frame [m/s], for damping and friction; none: they are at rest.
    pub fn set_velocities(&mut self, gpu: &Gpu, velocities: Option<&[DVec3]>) -> Result<(), GpuError> {
        let Some(velocities) = velocities else {
            self.speeds = None;
            self.id = next_id();
            return Ok(());
        };
        self.same_number("the number of velocities", velocities.len())?;
        let numbers: Vec<[f32; 3]> = velocities.iter().map(|v| v.as_vec3().to_array()).collect();
        match &self.speeds {
            Some(buffer) => gpu.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&numbers)),
            None => {
                let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
                self.speeds = Some(kernel::buffer(gpu, "speeds", &numbers, usage));
                self.id = next_id();
            }
        }
        gpu.check()
    }

    fn same_number(&self, name: &'static str, given: usize) -> Result<(), GpuError> {
        if given == self.vertex_count {
            return Ok(());
        }
        Err(GpuError::BadParameter {
            name,
            value: given.to_string(),
            expected: "it must be the number of the mesh's vertices",
        })
    }

    /// What positions on the device are relative to, in the mesh's frame [m]: the middle of the box it began with.
    pub fn origin(&self) -> DVec3 {
        self.origin
    }

    /// The vertices on the device.
    pub fn vertices(&self) -> &wgpu::Buffer {
        &self.vertices
    }

    /// Longest edge of a part [m].
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Parts that triangles are cut into.
    pub fn parts(&self) -> usize {
        self.items_used
    }

    /// Triangles that take part.
    pub fn triangles(&self) -> usize {
        self.triangles
    }

    /// Memory on the device [bytes].
    pub fn bytes(&self) -> u64 {
        let size = |b: &Option<wgpu::Buffer>| b.as_ref().map_or(0, wgpu::Buffer::size);
        let speeds = size(&self.speeds) + size(&self.whole);
        self.items.size() + self.parts.size() + self.vertices.size() + self.balls.size() + speeds
    }
}

/// Divisions of a triangle along its longest edge for this spacing.
fn divisions(mesh: &SoftMesh, corners: [u32; 3], spacing: f64) -> f64 {
    let [a, b, c] = corners.map(|v| mesh.positions()[v as usize]);
    let longest = a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a)).sqrt();
    (longest / spacing).ceil().max(1.0)
}

/// Into how many parts along an edge a triangle is cut.
fn cuts(divisions: f64) -> u32 {
    (divisions / DIVISIONS).ceil().clamp(1.0, f64::from(MOST_PARTS)) as u32
}

/// Fills the last cluster up with nothing.
fn pad(items: &mut Vec<[u32; 4]>, parts: &mut Vec<u32>) {
    let padded = items.len().next_multiple_of(CLUSTER);
    items.resize(padded, [0, 0, 0, NOTHING]);
    parts.resize(padded, 1 << 16);
}

fn middle(aabb: Aabb) -> DVec3 {
    let middle = aabb.centre();
    if middle.is_finite() { middle } else { DVec3::ZERO }
}

/// Largest distance from `origin` in a box [m].
fn farthest(aabb: Aabb, origin: DVec3) -> f64 {
    let size = (aabb.max - origin).abs().max((aabb.min - origin).abs()).length();
    if size.is_finite() { size } else { 0.0 }
}

fn too_fine(gpu: &Gpu, needed: u64, limit: u64) -> GpuError {
    GpuError::TooLarge {
        what: "a mesh at this spacing",
        needed,
        limit,
        unit: "parts",
        device: gpu.name().to_owned(),
        instead: "use a larger spacing",
    }
}
