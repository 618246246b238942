//! The points of a shape on the GPU, in clusters that lie near each other.

use crate::device::{Gpu, GpuError};
use crate::kernel;
use glam::{DVec3, Vec3};
use palpate::tree::Tree;
use wgpu::BufferUsages;

/// Points of a cluster, and clusters of a chunk, as in `batch.wgsl`.
const POINTS: usize = 32;
const CLUSTERS: usize = 512;

/// The points of a shape on the GPU, in the order of its tree: their numbers are those of the CPU's contacts.
#[derive(Debug)]
pub struct GpuShell {
    pub(crate) points: wgpu::Buffer,
    pub(crate) normals: wgpu::Buffer,
    pub(crate) balls: wgpu::Buffer,
    pub(crate) origin: DVec3,
    pub(crate) count: u32,
    pub(crate) clusters: u32,
    pub(crate) chunks: u32,
    /// Largest distance of a point from the origin [m].
    pub(crate) size: f64,
}

impl GpuShell {
    /// Puts the points of a tree on the device: 32 bytes each, and half a byte for balls around clusters.
    pub fn new(gpu: &Gpu, tree: &Tree) -> Result<Self, GpuError> {
        let n = tree.len();
        gpu.fits("a shell", 16 * n as u64, "use a larger spacing of the shell")?;
        let points: Vec<[f32; 4]> = (0..n)
            .map(|i| {
                let p = tree.local(i);
                [p.x, p.y, p.z, tree.area(i)]
            })
            .collect();
        let normals: Vec<[f32; 4]> = (0..n)
            .map(|i| {
                let p = tree.normal(i);
                [p.x, p.y, p.z, 0.0]
            })
            .collect();
        let mut balls: Vec<[f32; 4]> = points.chunks(POINTS).map(ball).collect();
        let clusters = balls.len();
        balls.extend(points.chunks(POINTS * CLUSTERS).map(ball));
        let chunks = balls.len() - clusters;
        let size = points.iter().map(|p| f64::from(Vec3::new(p[0], p[1], p[2]).length())).fold(0.0, f64::max);
        let usage = BufferUsages::STORAGE;
        let out = Self {
            points: kernel::buffer(gpu, "points", &points, usage),
            normals: kernel::buffer(gpu, "normals", &normals, usage),
            balls: kernel::buffer(gpu, "balls", &balls, usage),
            origin: tree.origin(),
            count: n as u32,
            clusters: clusters as u32,
            chunks: chunks as u32,
            size,
        };
        gpu.check()?;
        Ok(out)
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Memory on the device [bytes].
    pub fn bytes(&self) -> u64 {
        self.points.size() + self.normals.size() + self.balls.size()
    }
}

/// The point nearest the middle of these, and how far the others are from it, rounded up.
fn ball(points: &[[f32; 4]]) -> [f32; 4] {
    let at = |p: &[f32; 4]| Vec3::new(p[0], p[1], p[2]);
    let (low, high) = points.iter().map(at).fold((Vec3::MAX, Vec3::MIN), |(l, h), p| (l.min(p), h.max(p)));
    let middle = 0.5 * (low + high);
    let nearest = |a: &Vec3, b: &Vec3| a.distance_squared(middle).total_cmp(&b.distance_squared(middle));
    let centre = points.iter().map(at).min_by(nearest).unwrap_or(Vec3::ZERO);
    let radius = points.iter().map(|p| at(p).distance(centre)).fold(0.0, f32::max);
    [centre.x, centre.y, centre.z, radius * (1.0 + 1e-5)]
}
