//! Every call into the engine about one shape, and the plain values the commands show.
//!
//! The commands know only this folder and `saved`, which keeps models in files.

mod build;
mod model;
mod options;
mod read;
mod sample;

pub(crate) use build::build;
pub(crate) use options::{Encoding, Options, Size};
pub(crate) use read::{Input, Source, foresee, load_mesh, mesh_info, read};

use glam::DVec3;
use palpate::asset::Asset;
use palpate::field::{Exact, FieldReport};
use palpate::math::Aabb;
use palpate::mesh::HoleOutcome;
use palpate::shell::ShellReport;
use palpate::{Field, Mesh, Shell, Tree};
use std::sync::OnceLock;

/// What a mesh is and what was found in it.
#[derive(Clone, Debug)]
pub(crate) struct MeshInfo {
    pub(crate) vertices: usize,
    pub(crate) triangles: usize,
    pub(crate) boundary_edges: usize,
    pub(crate) nonmanifold_edges: usize,
    pub(crate) duplicate_faces: usize,
    pub(crate) degenerate: usize,
    pub(crate) flipped_faces: usize,
    pub(crate) components: usize,
    pub(crate) holes: usize,
    pub(crate) watertight: bool,
    /// [m³]
    pub(crate) volume: f64,
    /// [m²]
    pub(crate) area: f64,
    pub(crate) aabb: Aabb,
    /// [m]
    pub(crate) suggested_voxel: f64,
    /// How the sign is found; none before a field was built.
    pub(crate) sign_method: Option<String>,
    /// Holes that are the rim of a sheet, and holes that form no closed loop: neither is capped.
    pub(crate) sheets: usize,
    pub(crate) unclosable: usize,
}

impl MeshInfo {
    /// Takes what a field's build found out about the mesh.
    pub(crate) fn learn(&mut self, report: &FieldReport) {
        let count = |outcome| report.holes.iter().filter(|h| h.outcome == outcome).count();
        self.sign_method = Some(report.sign_method.name().to_owned());
        self.sheets = count(HoleOutcome::Sheet);
        self.unclosable = count(HoleOutcome::Unclosable);
    }
}

/// What a built field is and promises.
#[derive(Clone, Debug)]
pub(crate) struct FieldInfo {
    /// [m]
    pub(crate) voxel: f64,
    /// Distance of shell points, their number and the tree's levels; none for a field alone [m].
    pub(crate) spacing: Option<f64>,
    pub(crate) dims: [u64; 3],
    pub(crate) bricks: u64,
    pub(crate) points: Option<u64>,
    pub(crate) levels: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) sign_method: String,
    pub(crate) sign_confidence: f64,
    pub(crate) caps: u64,
    /// [m]
    pub(crate) error_bound_band: f64,
    /// [m]
    pub(crate) error_bound_far: f64,
}

/// The voxel map that `--layers` asks for, in numbers.
#[derive(Clone, Debug)]
pub(crate) struct Voxels {
    pub(crate) surface: u64,
    pub(crate) inside: u64,
    /// Layers outward, and as many inward.
    pub(crate) layers: u64,
    /// Whether the outside reached in through a hole.
    pub(crate) leaks: bool,
    pub(crate) bytes: u64,
}

/// Where a model's mesh is.
#[derive(Debug)]
pub(crate) enum ModelMesh {
    Built(Box<Mesh>),
    /// Made when first asked for: distances do not need it.
    InFile(Box<(Asset, OnceLock<Mesh>)>),
}

/// A mesh with its field.
#[derive(Debug)]
pub(crate) struct Model {
    mesh: ModelMesh,
    pub(crate) mesh_info: MeshInfo,
    pub(crate) info: FieldInfo,
    /// The box the field covers.
    pub(crate) frame: Aabb,
    pub(crate) voxels: Option<Voxels>,
    /// What the user should know about how it was built.
    pub(crate) notes: Vec<String>,
    /// Up in pictures, as the mesh's own file has it; none where that is not known.
    pub(crate) up: Option<DVec3>,
    field: Field,
    points: Option<ModelPoints>,
    /// The surface itself, when the build has just made it.
    exact: Option<Exact>,
}

/// A model's points.
#[derive(Debug)]
pub(crate) struct ModelPoints {
    pub(crate) shell: Shell,
    pub(crate) tree: Tree,
}

fn field_info(field: &Field) -> FieldInfo {
    let (report, lattice) = (field.report(), field.lattice());
    FieldInfo {
        voxel: lattice.voxel,
        spacing: None,
        dims: lattice.dims().map(u64::from),
        bricks: report.bricks as u64,
        points: None,
        levels: None,
        bytes: report.bytes as u64,
        sign_method: report.sign_method.name().to_owned(),
        sign_confidence: report.sign_confidence,
        caps: report.caps() as u64,
        error_bound_band: report.error_bound_band,
        error_bound_far: report.error_bound_far,
    }
}

impl FieldInfo {
    /// Takes what is known about the points.
    pub(crate) fn learn(&mut self, report: &ShellReport, levels: usize) {
        self.spacing = Some(report.spacing);
        self.points = Some(report.points as u64);
        self.levels = Some(levels as u64);
    }
}
