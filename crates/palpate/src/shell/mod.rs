//! Pointshells: points spread evenly over a surface, each with the normal and the area it stands for.
//!
//! ```
//! # use palpate::{Field, Mesh, Shell, mesh::samples};
//! # use palpate::shell::ShellParams;
//! # let mesh = Mesh::new(samples::cuboid(glam::DVec3::new(0.04, 0.03, 0.02)), &Default::default())?;
//! # let field = Field::build(&mesh, 5e-4, &Default::default())?;
//! let shell = Shell::build(&mesh, &field, 1e-3, &ShellParams::default())?;      // spacing [m]
//! let report = shell.report();
//! assert!(report.radius < 1.001e-3);
//! assert!((report.area - 2.0 * (0.04 * 0.03 + 0.03 * 0.02 + 0.02 * 0.04)).abs() < 1e-6);
//! // A cuboid has eight corners that stand for three faces each, and edges that stand for two.
//! assert!(report.entries > report.points);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod areas;
mod build;
mod cells;
mod faces;
mod features;
mod normals;
mod project;
mod sample;
mod table;

pub use project::{Projection, closest_point_kkt, closest_point_voronoi};

use crate::voxmap::BuildError;
use glam::{DVec3, Vec3};
use thiserror::Error;

/// Most spacings along the largest extent: positions then keep 1/32 of a spacing.
pub(crate) const MOST_ACROSS: f64 = (1u32 << 20) as f64;

/// Points on the surface of a shape, in its own frame.
///
/// A point on a sharp edge or corner is several consecutive entries at one position, one for each face it stands for. Points that
/// follow each other are near each other.
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

/// Where normals come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normals {
    /// The gradient of the distance field; the triangle's own where that is an edge's or a far side's.
    #[default]
    Field,
    /// The paper's: the sum over 5 x 5 x 5 voxels of direction times layer. For comparison: a voxel map is built for it.
    Voxels,
}

/// How a shell is built.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellParams {
    /// Spacing over the edge of the voxels whose centres are projected [1], 0.5 to 4. Larger: more candidates, slower.
    pub alpha: f64,
    /// An edge is a feature when its faces differ in direction by more than this [rad], above 0 to π.
    pub feature_angle: f64,
    /// Where normals come from.
    pub normals: Normals,
    /// Most points the shell may have.
    pub max_points: usize,
    /// Threads of the build; 0: those of the current rayon pool. The result does not depend on it.
    pub threads: usize,
}

impl Default for ShellParams {
    fn default() -> Self {
        Self {
            alpha: core::f64::consts::SQRT_2,
            feature_angle: core::f64::consts::FRAC_PI_6,
            normals: Normals::Field,
            max_points: 4_000_000,
            threads: 0,
        }
    }
}

impl ShellParams {
    /// Whether every value is in its range.
    pub fn check(&self) -> Result<(), ShellError> {
        let bad = |name, value, range| Err(ShellError::BadParameter { name, value, range });
        if !(0.5..=4.0).contains(&self.alpha) {
            return bad("alpha", self.alpha, "0.5 to 4");
        }
        if !(self.feature_angle > 0.0 && self.feature_angle <= core::f64::consts::PI) {
            return bad("feature_angle", self.feature_angle, "above 0 to π");
        }
        if self.max_points == 0 {
            return bad("max_points", 0.0, "at least 1");
        }
        Ok(())
    }
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
    /// Positions added where the two phases left the surface farther than the spacing from all points.
    pub filled: usize,
    /// Edge of the voxels whose centres were projected [m].
    pub voxel: f64,
    /// Surface voxels.
    pub surface_voxels: usize,
    /// Projections of voxel centres that fell inside their triangle.
    pub interior_projections: usize,
    /// Projections that fell on the boundary of their triangle.
    pub boundary_projections: usize,
    /// Those of them that the second phase took because their voxel had no other; the paper states their share of all boundary
    /// projections, 0.06 to 1.3 %.
    pub recovered_projections: usize,
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

    /// The triangle entry `i` is on, as the mesh numbers them; those of caps follow.
    pub fn triangle(&self, i: usize) -> u32 {
        self.triangles[i]
    }

    /// How the shell was built and how dense it is.
    pub fn report(&self) -> &ShellReport {
        &self.report
    }
}

/// Why a shell could not be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ShellError {
    /// The spacing is not a positive number.
    #[error("spacing is {spacing} m; give a positive length, for example twice the voxel size of the field")]
    BadSpacing {
        /// The spacing given [m].
        spacing: f64,
    },
    /// A parameter is out of range.
    #[error("{name} is {value}; it must be {range}")]
    BadParameter {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// There would be more points than allowed.
    #[error(
        "a spacing of {spacing} m needs about {points:.2e} points but {allowed} are allowed; use {suggested:.3e} m or more, or allow more"
    )]
    TooManyPoints {
        /// The spacing given [m].
        spacing: f64,
        /// Points needed, estimated.
        points: f64,
        /// Points allowed.
        allowed: usize,
        /// A spacing that fits [m].
        suggested: f64,
    },
    /// Positions in single precision cannot be this near to each other.
    #[error("a spacing of {spacing} m is too fine for a shape of {extent} m; use {suggested:.3e} m or more")]
    TooFine {
        /// The spacing given [m].
        spacing: f64,
        /// Largest extent of the shape [m].
        extent: f64,
        /// A spacing that fits [m].
        suggested: f64,
    },
    /// The field is not that of the mesh.
    #[error(
        "the surface of the field reaches from {} to {} m, that of the mesh from {} to {} m; give the field built from this mesh",
        .field.min, .field.max, .mesh.min, .mesh.max
    )]
    OtherField {
        /// Box of the field's surface.
        field: crate::math::Aabb,
        /// Box of the mesh's surface.
        mesh: crate::math::Aabb,
    },
    /// The voxel map for [`Normals::Voxels`] could not be built.
    #[error("voxel map for normals: {0}")]
    Voxmap(#[from] BuildError),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// What a point says about one face it stands for.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Outward, unit; zero if unknown.
    normal: Vec3,
    triangle: u32,
}

/// Points and their entries while the shell is being built.
#[derive(Clone, Debug)]
struct Points {
    /// Relative to the origin [m].
    positions: Vec<Vec3>,
    /// First entry of each point, and the number of all.
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

impl Default for Points {
    fn default() -> Self {
        Self { positions: Vec::new(), starts: vec![0], entries: Vec::new() }
    }
}

impl Points {
    fn len(&self) -> usize {
        self.positions.len()
    }

    fn push(&mut self, position: Vec3, entries: &[Entry]) {
        self.positions.push(position);
        self.entries.extend_from_slice(entries);
        self.starts.push(self.entries.len() as u32);
    }

    fn entries_of(&self, point: u32) -> &[Entry] {
        let p = point as usize;
        &self.entries[self.starts[p] as usize..self.starts[p + 1] as usize]
    }
}
