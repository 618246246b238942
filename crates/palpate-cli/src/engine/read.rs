//! From what the user named to a cleaned mesh, and what was found in it.

use super::MeshInfo;
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::field::FieldParams;
use palpate::mesh::{MeshReport, RawMesh, RepairParams, samples};
use palpate::{Field, Mesh};
use std::fs;
use std::path::PathBuf;

/// Marks a sample's name where a file is expected.
const SAMPLE_PREFIX: &str = "sample:";

/// What the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A mesh file.
    File(PathBuf),
    /// A procedural shape of the engine.
    Sample(String),
    /// A built asset.
    Asset(PathBuf),
}

impl Input {
    /// `sample:NAME`, a `.palp` file or any other file.
    pub(crate) fn parse(text: &str) -> Self {
        match text.strip_prefix(SAMPLE_PREFIX) {
            Some(name) => Self::Sample(name.to_owned()),
            None if text.to_ascii_lowercase().ends_with(".palp") => Self::Asset(text.into()),
            None => Self::File(text.into()),
        }
    }

    /// A short name for headings: the file's name or the sample's.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Sample(name) => name.clone(),
            Self::File(path) | Self::Asset(path) => path
                .file_name()
                .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned()),
        }
    }

    /// The direction that is up in pictures: z for samples and STL, which come from CAD, y for the others.
    pub(crate) fn up(&self) -> DVec3 {
        match self {
            Self::Sample(_) => DVec3::Z,
            Self::File(p) | Self::Asset(p) if crate::files::extension(p) == "stl" => DVec3::Z,
            _ => DVec3::Y,
        }
    }
}

/// The bytes a mesh comes from.
#[derive(Debug)]
pub(crate) struct Source {
    input: Input,
    pub(crate) scale: f64,
    pub(crate) bytes: Vec<u8>,
}

impl Source {
    /// What decides the format: the file's extension; `sample` for a sample.
    pub(crate) fn extension(&self) -> String {
        match &self.input {
            Input::Sample(_) => "sample".to_owned(),
            Input::File(path) | Input::Asset(path) => crate::files::extension(path),
        }
    }
}

/// Reads the bytes of a mesh; `scale` is metres per unit of the file.
///
/// # Errors
/// When the file cannot be read, or the sample does not exist.
pub(crate) fn read(input: &Input, scale: f64) -> Result<Source> {
    let bytes = match input {
        Input::Sample(name) => name.clone().into_bytes(),
        Input::File(path) | Input::Asset(path) => {
            if path.is_dir() {
                bail!("{} is a folder; name a mesh file in it", path.display());
            }
            fs::read(path).with_context(|| format!("cannot read {}", path.display()))?
        }
    };
    Ok(Source { input: input.clone(), scale, bytes })
}

/// The cleaned mesh and what was found in it.
///
/// # Errors
/// When the bytes are no mesh, or one without a usable triangle.
pub(crate) fn load_mesh(source: &Source) -> Result<(Mesh, MeshInfo)> {
    let (raw, name) = match &source.input {
        Input::Sample(name) => {
            let raw = samples::by_name(name).with_context(|| {
                format!("there is no sample \"{name}\"; the samples are {}", samples::NAMES.join(", "))
            })?;
            (raw, name.clone())
        }
        // Through the path and not the bytes: a glTF file may name others beside it.
        Input::File(path) | Input::Asset(path) => {
            (RawMesh::load(path, source.scale)?, path.display().to_string())
        }
    };
    let mesh = Mesh::new(raw, &RepairParams::default()).with_context(|| name)?;
    let info = mesh_info(mesh.report());
    Ok((mesh, info))
}

/// Cells along the largest axis of the field that tells how a build would find the sign. Fewer: thin parts leave no
/// point inside to check. More: slower.
const TRIAL_CELLS: f64 = 58.0;

/// Finds out, by a coarse field, what a build would do about sign and holes; nothing where none can be built.
pub(crate) fn foresee(mesh: &Mesh, info: &mut MeshInfo) {
    let voxel = info.aabb.extent().max_element() / TRIAL_CELLS;
    if let Ok(field) = Field::build(mesh, voxel, &FieldParams { band: 1.0, ..FieldParams::default() }) {
        info.learn(field.report());
    }
}

/// What a mesh's report says; the sign method is not known yet.
pub(crate) fn mesh_info(r: &MeshReport) -> MeshInfo {
    MeshInfo {
        vertices: r.vertices,
        triangles: r.triangles,
        boundary_edges: r.boundary_edges,
        nonmanifold_edges: r.nonmanifold_edges,
        duplicate_faces: r.duplicate_faces,
        degenerate: r.degenerate,
        flipped_faces: r.flipped_faces,
        components: r.components,
        holes: r.holes,
        watertight: r.watertight,
        volume: r.volume,
        area: r.area,
        aabb: r.aabb,
        suggested_voxel: r.suggested_voxel,
        sign_method: None,
        sheets: 0,
        unclosable: 0,
    }
}
