//! A field in parts: what a build elsewhere, such as on a graphics processor, starts from, and how its nodes become a [`Field`].
//!
//! Not for users: these are the steps of [`Field::build`] that do not depend on where the distances are computed.

use super::brick::{NODES, corners_of};
use super::build::{FAR_WEIGHT, HALF_DIAGONAL, check_area, prepare};
use super::encode::{Encoding, Values};
use super::scan::BRICK;
use super::sign::{SignMethod, parts_overlap};
use super::surface::Surface;
use super::{Field, FieldError, FieldParams, FieldReport, Lattice};
use crate::math::Aabb;
use crate::mesh::{Hole, Mesh};
use crate::par;
use glam::DVec3;

/// How much farther than `FieldParams::band` nodes must be exact [voxels].
pub const EXACT_MARGIN: f64 = super::build::EXACT_MARGIN;

/// The triangles a field is built of: those of the mesh and the caps of its holes, along a space-filling curve.
///
/// Lengths are in units of the longest side of the mesh's box, relative to its middle, so that they do not depend on any voxel.
#[derive(Debug)]
pub struct Parts {
    surface: Surface,
    /// No boundary and no non-manifold edge.
    pub closed: bool,
    /// Every component is an open sheet: nothing is inside.
    pub sheets_only: bool,
    /// Boxes of components overlap: one may lie in the other, or cross it.
    pub overlap: bool,
    /// Holes of the mesh and what became of them.
    pub holes: Vec<Hole>,
    /// The mesh's box [m], from which lattices are made.
    pub aabb: Aabb,
    /// The box with caps [m].
    pub surface_box: Aabb,
    /// Area of the mesh without caps [m²].
    pub area: f64,
    /// Middle of the mesh's box [m].
    pub middle: DVec3,
    /// Unit of length [m].
    pub unit: f64,
}

impl Parts {
    /// Of a mesh, its holes capped or not.
    pub fn of(mesh: &Mesh, cap_holes: bool) -> Self {
        let aabb = mesh.aabb();
        let (middle, unit) = (aabb.centre(), aabb.extent().max_element().max(f64::MIN_POSITIVE));
        let lattice = Lattice { origin: middle, voxel: unit, cells: [1; 3] };
        let params = FieldParams { cap_holes, ..Default::default() };
        let (surface, closure, surface_box) = prepare(mesh, &lattice, &params);
        let overlap = closure.several && parts_overlap(&surface);
        let area = super::build::area(mesh);
        Self {
            surface,
            closed: closure.closed,
            sheets_only: closure.sheets_only,
            overlap,
            holes: closure.holes,
            aabb,
            surface_box,
            area,
            middle,
            unit,
        }
    }

    /// The grid for a voxel [m]; refuses what [`Field::build`] would refuse.
    pub fn lattice(&self, voxel: f64, params: &FieldParams) -> Result<Lattice, FieldError> {
        params.check()?;
        let lattice = Lattice::around(self.aabb, voxel, params.padding)?;
        check_area(self.area, &lattice, params)?;
        Ok(lattice)
    }

    /// Positions of the vertices [units].
    pub fn positions(&self) -> &[DVec3] {
        &self.surface.positions
    }

    /// Vertices of the triangles, counter-clockwise from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.surface.triangles
    }

    /// The mesh's own number of each triangle; caps follow those.
    pub fn original(&self) -> &[u32] {
        &self.surface.original
    }

    /// The unit normal of triangle `t`.
    pub fn normal(&self, t: usize) -> DVec3 {
        self.surface.normals[t]
    }

    /// The pseudonormal of edge `e` of triangle `t`, of length 1, or 0 where both sides cancel.
    pub fn edge_normal(&self, t: usize, e: usize) -> DVec3 {
        self.surface.edge_normal(t, e).normalize_or_zero()
    }

    /// The pseudonormal of a vertex, of length 1, or 0 where all around cancel.
    pub fn vertex_normal(&self, vertex: usize) -> DVec3 {
        self.surface.vertex_normal(vertex).normalize_or_zero()
    }

    /// Whether triangle `t` belongs to a sheet apart, which has no say in what is inside.
    pub fn is_sheet(&self, t: usize) -> bool {
        self.surface.is_sheet(t)
    }
}

/// What the builder of nodes knows of them, for the report.
#[derive(Clone, Debug)]
pub struct NodesReport {
    /// How the inside was told from the outside.
    pub sign_method: SignMethod,
    /// Share of checked points at which a second method agreed [1].
    pub sign_confidence: f64,
    /// Bricks decided anew.
    pub sign_repaired: usize,
    /// Holes of the mesh and what became of them.
    pub holes: Vec<Hole>,
    /// Box of the surface itself, caps included [m].
    pub surface: Aabb,
    /// Largest |node − true distance| of nodes that are not interpolated [voxels].
    pub rounding: f64,
}

impl NodesReport {
    /// The report of a field of exact nodes without encoding; `lipschitz` [1].
    pub fn report(
        &self,
        lattice: &Lattice,
        params: &FieldParams,
        bricks: usize,
        lipschitz: f64,
    ) -> FieldReport {
        let voxel = lattice.voxel;
        let coarse = HALF_DIAGONAL * BRICK as f64;
        FieldReport {
            sign_method: self.sign_method,
            sign_confidence: self.sign_confidence,
            sign_repaired: self.sign_repaired,
            holes: self.holes.clone(),
            bricks,
            bytes: 4 * (lattice.corner_count() + bricks * NODES + lattice.cell_count()),
            band: params.band * voxel,
            error_bound_band: (HALF_DIAGONAL + FAR_WEIGHT * coarse + self.rounding) * voxel,
            error_bound_far: (coarse + self.rounding) * voxel,
            excess_background: self.rounding * voxel,
            excess_bricks: self.rounding * voxel,
            lipschitz,
            surface: self.surface,
        }
    }
}

impl Field {
    /// A field of exact nodes that were computed elsewhere.
    ///
    /// `directory` has one entry for each cell of `lattice`, x fastest: −1, or where its brick begins in `values`; bricks are in the
    /// order of their cells. `values` are the background nodes, then the bricks of 9³ nodes [voxels], negative inside. All nodes
    /// must be within `known.rounding` of the distance, except those on a face beside a cell without a brick, which interpolate
    /// between background nodes. Steepness is measured here. Refuses parts that do not fit together.
    #[doc(hidden)]
    pub fn from_nodes(
        lattice: &Lattice,
        directory: Vec<i32>,
        mut values: Vec<f32>,
        params: &FieldParams,
        known: &NodesReport,
    ) -> Result<Self, FieldError> {
        let corners = lattice.corner_count();
        let bad = |what: &'static str| Err(FieldError::BadNodes { what });
        if directory.len() != lattice.cell_count() {
            return bad("the directory needs one entry for each cell");
        }
        let mut bricks = 0;
        for &at in directory.iter().filter(|at| **at != -1) {
            if i64::from(at) != (corners + bricks * NODES) as i64 {
                return bad("bricks must follow each other in the order of their cells");
            }
            bricks += 1;
        }
        if values.len() != corners + bricks * NODES {
            return bad("there must be one value for each background node and 729 for each brick");
        }
        if values.iter().any(|v| !v.is_finite()) {
            return bad("every value must be finite");
        }
        let lipschitz = slope(lattice, &directory, &values);
        let voxel = lattice.voxel as f32;
        par::chunks_mut(&mut values, 8192, |_, part| part.iter_mut().for_each(|v| *v *= voxel));
        let values = Values::encode(values, params.encoding, lattice.voxel)?;
        let mut report = known.report(lattice, params, bricks, lipschitz);
        let error = values.error();
        for bound in [&mut report.error_bound_band, &mut report.error_bound_far] {
            *bound += error;
        }
        report.excess_background += error;
        report.excess_bricks += error;
        if params.encoding != Encoding::Float {
            report.lipschitz += 2.0 * error / lattice.voxel * 3f64.sqrt();
        }
        report.bytes = values.bytes() + 4 * directory.len();
        Ok(Self {
            lattice: *lattice,
            directory: directory.into(),
            values,
            closest: Vec::new().into(),
            report,
        })
    }

    /// The directory and the values [m] of a field in `f32`; none of one that is encoded otherwise.
    #[doc(hidden)]
    pub fn nodes(&self) -> Option<(&[i32], &[f32])> {
        match &self.values {
            Values::Float(values) => Some((&self.directory, values)),
            Values::Scaled { .. } => None,
        }
    }
}

/// The steepest the field is [1], a hair more than measured.
fn slope(lattice: &Lattice, directory: &[i32], values: &[f32]) -> f64 {
    let [cx, cy, cz] = lattice.cells.map(|c| c as usize);
    let layers = par::map(cz, |k| {
        let mut most = 0.0f32;
        for (at, &first) in directory[k * cx * cy..(k + 1) * cx * cy].iter().enumerate() {
            most = most.max(if first < 0 {
                let cell = corners_of(values, lattice, [at % cx, at / cx, k]);
                super::lipschitz::of_cell(&cell) / BRICK as f32
            } else {
                let brick = &values[first as usize..first as usize + NODES];
                super::lipschitz::of_brick(brick, super::lipschitz::ALL)
            });
        }
        most
    });
    f64::from(layers.into_iter().fold(0.0f32, f32::max)) * (1.0 + 1e-5)
}
