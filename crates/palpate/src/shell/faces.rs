//! The triangles a shell is spread over: those of the mesh, then those of its caps.

use crate::math::Aabb;
use crate::mesh::{Mesh, Topology};
use crate::par;
use glam::{DVec3, Vec3};

/// Triangles per parallel work item.
const CHUNK: usize = 4096;

/// Height of a triangle below this share of its longest edge makes its normal count as unknown [1].
/// Larger: real needles lose their edges. Smaller: rounding of coordinates makes sharp edges.
const SLIVER: f64 = 1e-7;

/// The triangles of a mesh and its caps, relative to `origin` [m].
#[derive(Debug)]
pub(super) struct Faces<'a> {
    positions: &'a [DVec3],
    more_positions: &'a [DVec3],
    pub(super) triangles: &'a [[u32; 3]],
    pub(super) topology: &'a Topology,
    pub(super) origin: DVec3,
    /// Box of all corners, relative to `origin` [m].
    pub(super) aabb: Aabb,
    /// Unit, outward; zero for slivers.
    pub(super) normals: Vec<Vec3>,
}

impl<'a> Faces<'a> {
    pub(super) fn new(mesh: &'a Mesh, with_caps: bool) -> Self {
        let closed = mesh.closed();
        let capped = with_caps && !closed.triangles.is_empty();
        let (triangles, topology) = if capped {
            (&closed.triangles[..], &closed.topology)
        } else {
            (mesh.triangles(), mesh.topology())
        };
        let more_positions = if capped { &closed.caps.positions[..] } else { &[] };
        let aabb = more_positions.iter().fold(mesh.aabb(), |b, p| b.grow(*p));
        let origin = aabb.centre();
        let aabb = Aabb { min: aabb.min - origin, max: aabb.max - origin };
        let mut this = Self {
            positions: mesh.positions(),
            more_positions,
            triangles,
            topology,
            origin,
            aabb,
            normals: Vec::new(),
        };
        let mut normals = vec![Vec3::ZERO; triangles.len()];
        par::chunks_mut(&mut normals, CHUNK, |chunk, out| {
            for (i, n) in out.iter_mut().enumerate() {
                *n = this.find_normal(chunk * CHUNK + i);
            }
        });
        this.normals = normals;
        this
    }

    pub(super) fn len(&self) -> usize {
        self.triangles.len()
    }

    /// Vertex `v`, relative to the origin [m].
    #[inline(always)]
    pub(super) fn vertex(&self, v: u32) -> DVec3 {
        let v = v as usize;
        let p = self.positions.get(v).or_else(|| self.more_positions.get(v - self.positions.len()));
        p.copied().unwrap_or(DVec3::ZERO) - self.origin
    }

    /// Number of vertices.
    pub(super) fn vertex_count(&self) -> usize {
        self.positions.len() + self.more_positions.len()
    }

    /// Corners of triangle `t`, relative to the origin [m].
    #[inline(always)]
    pub(super) fn corners(&self, t: usize) -> [DVec3; 3] {
        let [a, b, c] = self.triangles[t];
        [self.vertex(a), self.vertex(b), self.vertex(c)]
    }

    fn find_normal(&self, t: usize) -> Vec3 {
        let [a, b, c] = self.corners(t);
        let n = (b - a).cross(c - a);
        let longest = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
        let length = n.length();
        if length > SLIVER * longest { (n / length).as_vec3() } else { Vec3::ZERO }
    }
}

/// Area of a triangle [m²].
#[inline(always)]
pub(super) fn area([a, b, c]: [DVec3; 3]) -> f64 {
    0.5 * (b - a).cross(c - a).length()
}
