//! A rigid shape ready for queries: its mesh, its field, its points and its exact surface.

mod place;
mod scale;
mod triangles;

pub use triangles::Triangles;

use crate::field::packed::Packed;
use crate::field::{Exact, FarGrid, Field, FieldError, FieldParams};
use crate::math::Aabb;
use crate::mesh::Mesh;
use crate::progress::{Progress, Silent};
use crate::shell::{Shell, ShellError, ShellParams};
use crate::tree::{Tree, TreeParams};
use std::sync::Arc;
use thiserror::Error;

/// Spacing of points for a field, unless said otherwise [voxels].
pub const SPACING: f64 = 2.0;

/// Half width of the band of a shape's field, unless said otherwise [voxels]: balls of single clusters are told from the surface by
/// exact distances.
pub const BAND: f64 = 5.0;

/// What one rigid object needs to meet others, in its own frame. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) field: Arc<Field>,
    pub(crate) exact: Arc<Exact>,
    /// Distances outside the field's box.
    pub(crate) far: Arc<FarGrid>,
    pub(crate) tree: Arc<Tree>,
    /// The field's values again, as queries read them fastest.
    pub(crate) packed: Option<Arc<Packed>>,
}

/// How a shape is built.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeParams {
    /// Distance between points, α·s of the papers [m]; none: twice the voxel.
    pub spacing: Option<f64>,
    /// The field. By default with a wider band than a field alone has, and an exact background. `exact_bricks` makes depths and
    /// bounds between the two as good as the grid allows, for several times the time of the build.
    pub field: FieldParams,
    /// The points.
    pub shell: ShellParams,
    /// The tree over them.
    pub tree: TreeParams,
}

impl Default for ShapeParams {
    fn default() -> Self {
        Self {
            spacing: None,
            field: FieldParams { band: BAND, exact_background: true, ..Default::default() },
            shell: ShellParams::default(),
            tree: TreeParams::default(),
        }
    }
}

/// How fine a field is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Edge of a voxel [m].
    Voxel(f64),
    /// Cells along the largest extent of the mesh, three of padding on each side included; at least 8.
    Resolution(u32),
}

impl Size {
    /// Cells of padding that a resolution counts on both sides together.
    pub const PADDING: u32 = 6;

    /// The edge of a voxel for a mesh in this box [m].
    ///
    /// # Errors
    /// When a resolution leaves fewer than two cells for the mesh, or the box has no extent. A voxel is not checked: a build does.
    pub fn voxel(self, aabb: Aabb) -> Result<f64, ShapeError> {
        match self {
            Self::Voxel(voxel) => Ok(voxel),
            Self::Resolution(n) if n <= Self::PADDING + 1 => Err(ShapeError::BadResolution { resolution: n }),
            Self::Resolution(n) => {
                let voxel = aabb.extent().max_element() / f64::from(n - Self::PADDING);
                if voxel > 0.0 && voxel.is_finite() { Ok(voxel) } else { Err(ShapeError::NoExtent) }
            }
        }
    }
}

/// Why a shape could not be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ShapeError {
    /// The field.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The points.
    #[error(transparent)]
    Shell(#[from] ShellError),
    /// A scale that is no scale.
    #[error("the scale is {factor:?}: give a positive, finite number")]
    BadScale {
        /// The factor given [1].
        factor: f64,
    },
    /// A scale that makes a shape too large or too small for single precision.
    #[error(
        "scaled by {factor:?} the largest coordinate is {coordinate:?} m and the voxel {voxel:?} m: choose a scale with which they are at most 1e12 m and at least 1e-12 m"
    )]
    ScaleRange {
        /// The factor given [1].
        factor: f64,
        /// The largest coordinate it gives [m].
        coordinate: f64,
        /// The voxel it gives [m].
        voxel: f64,
    },
    /// A resolution leaves no cells for the mesh.
    #[error("a resolution of {resolution} leaves no cells for the mesh; use at least {}", Size::PADDING + 2)]
    BadResolution {
        /// The one given.
        resolution: u32,
    },
    /// The box of the mesh is a point.
    #[error("the mesh has no extent; give the size of a voxel instead of a resolution")]
    NoExtent,
}

impl Shape {
    /// A shape with fields of edge `voxel` [m]. Units: metres; the frame is the mesh's.
    ///
    /// ```
    /// use palpate::mesh::{Mesh, RepairParams, samples};
    /// use palpate::{Pose, Query, Shape};
    /// use palpate::query::QueryParams;
    ///
    /// let cube = Mesh::new(samples::cuboid(glam::DVec3::ONE), &RepairParams::default())?;
    /// let cube = Shape::build(cube, 0.05, &Default::default())?;
    /// let mut query = Query::new();
    /// let a_from_b = Pose::from_translation(glam::DVec3::X * 0.9);
    /// let contacts = query.contacts(&cube, &cube, &a_from_b, &QueryParams::default());
    /// let deepest = contacts.deepest().ok_or("they overlap")?;
    /// assert!((deepest.depth() - 0.1).abs() < 0.02);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build(mesh: Mesh, voxel: f64, params: &ShapeParams) -> Result<Self, ShapeError> {
        Self::build_with(mesh, voxel, params, &Silent)
    }

    /// As [`Shape::build`], reporting progress.
    pub fn build_with(
        mesh: Mesh,
        voxel: f64,
        params: &ShapeParams,
        progress: &dyn Progress,
    ) -> Result<Self, ShapeError> {
        let (field, exact) = Field::build_with_exact(&mesh, voxel, &params.field, progress)?;
        Self::from_field(mesh, field, exact, params, progress)
    }

    /// A shape around a field that was built from `mesh`, for example one read from a file, and its exact surface.
    pub fn from_field(
        mesh: Mesh,
        field: Field,
        exact: Exact,
        params: &ShapeParams,
        progress: &dyn Progress,
    ) -> Result<Self, ShapeError> {
        let spacing = params.spacing.unwrap_or(SPACING * field.lattice().voxel);
        let shell = Shell::build_with(&mesh, &field, spacing, &params.shell, progress)?;
        progress.stage("tree", 0);
        let tree = Tree::build(&shell, &params.tree);
        Ok(Self::from_parts(mesh, field, exact, tree))
    }

    /// A shape of parts that were built from the same mesh.
    pub fn from_parts(mesh: Mesh, field: Field, exact: Exact, tree: Tree) -> Self {
        let far = FarGrid::build(&field, &exact);
        let packed = Packed::new(&field).map(Arc::new);
        Self {
            mesh: Arc::new(mesh),
            field: Arc::new(field),
            exact: Arc::new(exact),
            far: Arc::new(far),
            tree: Arc::new(tree),
            packed,
        }
    }

    /// The same shape with other points.
    #[must_use]
    pub fn with_tree(&self, tree: Tree) -> Self {
        Self { tree: Arc::new(tree), ..self.clone() }
    }

    /// The same shape without the copy of its field's values that queries read fastest: about 40 % of the memory, and contacts take
    /// somewhat longer. Results differ by that copy's rounding, about a thousandth of a voxel near the surface and a hundredth in
    /// the background.
    #[must_use]
    pub fn compact(&self) -> Self {
        Self { packed: None, ..self.clone() }
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The field.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// The surface itself, for exact closest points.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// The points.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Memory of the field, its packed copy and the points [bytes].
    pub fn bytes(&self) -> usize {
        self.field.report.bytes + self.packed.as_ref().map_or(0, |p| p.bytes()) + self.tree.bytes()
    }

    /// The box of the surface, caps included [m].
    pub fn aabb(&self) -> Aabb {
        self.field.report.surface
    }
}
