//! Pointshells: points spread evenly over a surface, each with the normal and the area it stands for.

use glam::{DVec3, Vec3};

/// Points on the surface of a shape, in its own frame.
///
/// A point on a sharp edge or corner is several consecutive entries at one position, one for each face it stands for.
#[derive(Clone, Debug)]
pub struct Shell {
    /// What positions are relative to, in the shape's frame [m].
    pub(crate) origin: DVec3,
    /// Relative to `origin` [m].
    pub(crate) positions: Vec<Vec3>,
    /// Outward, unit.
    pub(crate) normals: Vec<Vec3>,
    /// Surface each entry stands for [m²]; the sum is the area of the mesh.
    pub(crate) areas: Vec<f32>,
    /// The triangle each entry is on, as the mesh numbers them; those of caps follow.
    pub(crate) triangles: Vec<u32>,
    pub(crate) report: ShellReport,
}

/// What a shell is made of, and how densely.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShellReport {
    /// No two points are nearer to each other than this [m].
    pub spacing: f64,
    /// No point of the surface is farther than this from a shell point [m].
    pub radius: f64,
    /// Sum of the areas [m²].
    pub area: f64,
    /// Number of entries.
    pub entries: usize,
    /// Number of different positions.
    pub points: usize,
    /// Positions on sharp edges and corners.
    pub feature_points: usize,
    /// Positions found in the second phase, where no voxel centre had its projection inside a triangle.
    pub recovered: usize,
}

impl Shell {
    /// A shell of given points, in the shape's frame [m]: a cloud, or points made elsewhere. `areas` [m²] and outward unit `normals`
    /// are those of the points; the shortest of the three lists counts. `spacing` and `radius` [m] are taken on trust: see
    /// [`ShellReport`].
    pub fn from_points(points: &[DVec3], normals: &[Vec3], areas: &[f32], spacing: f64, radius: f64) -> Self {
        let n = points.len().min(normals.len()).min(areas.len());
        let aabb = crate::math::Aabb::of_points(points[..n].iter().copied());
        let origin = if n > 0 { aabb.centre() } else { DVec3::ZERO };
        let area = areas[..n].iter().map(|a| f64::from(*a)).sum();
        Self {
            origin,
            positions: points[..n].iter().map(|p| (*p - origin).as_vec3()).collect(),
            normals: normals[..n].to_vec(),
            areas: areas[..n].to_vec(),
            triangles: vec![0; n],
            report: ShellReport { spacing, radius, area, entries: n, points: n, ..Default::default() },
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Where entry `i` is, in the shape's frame [m].
    pub fn position(&self, i: usize) -> DVec3 {
        self.origin + self.positions[i].as_dvec3()
    }

    /// Outward unit normal of entry `i`.
    pub fn normal(&self, i: usize) -> Vec3 {
        self.normals[i]
    }

    /// Surface entry `i` stands for [m²].
    pub fn area(&self, i: usize) -> f32 {
        self.areas[i]
    }

    /// How the shell was built and how dense it is.
    pub fn report(&self) -> &ShellReport {
        &self.report
    }
}
