//! Every call into the engine, and the plain values the commands show.
//!
//! The commands know only this file. A part of the engine that this version does not have yet answers with
//! [`missing`]; nothing else in the program needs to change when it arrives.

use crate::progress::Reporter;
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::math::Aabb;
use palpate::mesh::RawMesh;
use palpate::{Field, Mesh};
use std::fs;
use std::path::{Path, PathBuf};

/// Marks a sample's name where a file is expected.
const SAMPLE_PREFIX: &str = "sample:";
/// Cells of padding that `--resolution` counts on both sides together.
const RESOLUTION_PADDING: u32 = 6;

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
    scale: f64,
    bytes: Vec<u8>,
}

/// How large a voxel is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Size {
    /// This length [m].
    Voxel(f64),
    /// So that the largest axis has this many cells, padding included.
    Resolution(u32),
}

/// How distances are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Encoding {
    /// 32-bit floats: the most accurate
    Float,
    /// 16-bit steps: half the memory
    Scaled,
    /// Layers of voxels only, as in the 2014 paper
    Layered,
}

/// Parameters of a build.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) size: Size,
    /// Distance between shell points [m]; none: two voxels.
    pub(crate) spacing: Option<f64>,
    pub(crate) encoding: Encoding,
    /// Decimals of a scaled encoding; none: the finest that fits.
    pub(crate) precision: Option<u32>,
    /// Half width of the exact band [voxels]; none: the engine's default.
    pub(crate) band: Option<f64>,
    /// Cells around the mesh [voxels]; none: the engine's default.
    pub(crate) padding: Option<f64>,
    /// Layers of voxels on each side.
    pub(crate) layers: Option<u32>,
    /// 0: as many as the machine has.
    pub(crate) threads: usize,
    pub(crate) max_memory: Option<u64>,
}

impl Options {
    /// The engine's defaults at a resolution of 256.
    pub(crate) fn new(size: Size) -> Self {
        Self {
            size,
            spacing: None,
            encoding: Encoding::Float,
            precision: None,
            band: None,
            padding: None,
            layers: None,
            threads: 0,
            max_memory: None,
        }
    }

    /// What decides the result, as text; threads and memory do not.
    fn recipe(&self) -> String {
        let Self { size, spacing, encoding, precision, band, padding, layers, threads: _, max_memory: _ } =
            self;
        format!("{size:?} {spacing:?} {encoding:?} {precision:?} {band:?} {padding:?} {layers:?}")
    }
}

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
    /// How the sign would be found.
    pub(crate) sign_method: String,
}

/// What a built field is and promises.
#[derive(Clone, Debug)]
pub(crate) struct FieldInfo {
    /// [m]
    pub(crate) voxel: f64,
    /// [m]
    pub(crate) spacing: f64,
    pub(crate) dims: [u64; 3],
    pub(crate) bricks: u64,
    /// Shell points and tree levels; none while the asset holds a field alone.
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

/// A mesh with its field.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) mesh: Mesh,
    pub(crate) mesh_info: MeshInfo,
    pub(crate) info: FieldInfo,
    /// The box the field covers.
    pub(crate) frame: Aabb,
    field: Field,
}

/// The error of a part that this version does not have.
fn missing<T>(what: &str) -> Result<T> {
    bail!("{what} is not in this version of palpate yet; build a newer one")
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

/// Identifies a build: the same source bytes and parameters give the same key. None where the source has parts
/// in other files, which the key could not see.
pub(crate) fn content_key(source: &Source, options: &Options) -> Option<u128> {
    if matches!(&source.input, Input::File(path) if crate::files::extension(path) == "gltf") {
        return None;
    }
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.update(options.recipe().as_bytes());
    hasher.update(&source.scale.to_le_bytes());
    hasher.update(&source.bytes);
    Some(hasher.digest128())
}

/// The cleaned mesh and what was found in it.
///
/// # Errors
/// When the bytes are no mesh, or one without a usable triangle.
pub(crate) fn load_mesh(source: &Source) -> Result<(Mesh, MeshInfo)> {
    let _ = (source.scale, &source.bytes);
    missing("reading meshes")
}

/// The voxel size that `options` ask for [m].
///
/// # Errors
/// When the mesh has no extent or the resolution is too small for its padding.
pub(crate) fn voxel_size(options: &Options, aabb: Aabb) -> Result<f64> {
    match options.size {
        Size::Voxel(voxel) => Ok(voxel),
        Size::Resolution(n) if n <= RESOLUTION_PADDING + 1 => {
            bail!("--resolution {n} leaves no cells for the mesh; use at least {}", RESOLUTION_PADDING + 2)
        }
        Size::Resolution(n) => {
            let voxel = aabb.extent().max_element() / f64::from(n - RESOLUTION_PADDING);
            if !(voxel > 0.0 && voxel.is_finite()) {
                bail!("the mesh has no extent (its box is {:?} to {:?}); give --voxel", aabb.min, aabb.max);
            }
            Ok(voxel)
        }
    }
}

/// Builds the field of a mesh.
///
/// # Errors
/// When parameters do not fit, memory does not suffice or Ctrl-C was pressed.
pub(crate) fn build(
    mesh: Mesh,
    mesh_info: MeshInfo,
    options: &Options,
    reporter: &Reporter,
) -> Result<Model> {
    let _ = (voxel_size(options, mesh_info.aabb)?, mesh, reporter, options.threads, options.max_memory);
    missing("building fields")
}

/// Writes a model with its key to `path`.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn write_asset(path: &Path, model: &Model, key: Option<u128>) -> Result<()> {
    let _ = (path, &model.field, key);
    missing("writing .palp files")
}

/// The key of a built asset; none when there is no such file or it is not whole.
pub(crate) fn asset_key(path: &Path) -> Option<u128> {
    let _ = path;
    None
}

/// Opens a built asset.
///
/// # Errors
/// When the file is missing, not an asset, damaged or of another version.
pub(crate) fn open_asset(path: &Path) -> Result<Model> {
    let bytes = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    if bytes == 0 {
        bail!("{} is empty; build it again with `palpate build`", path.display());
    }
    missing("reading .palp files")
}

impl Model {
    /// Signed distance at `p`, negative inside [m], and its gradient, outward.
    pub(crate) fn sample(&self, p: DVec3) -> (f64, DVec3) {
        let _ = (&self.field, p);
        (f64::NAN, DVec3::ZERO)
    }

    /// Signed distance at `p`, negative inside [m].
    pub(crate) fn distance(&self, p: DVec3) -> f64 {
        self.sample(p).0
    }

    /// [`Model::sample`] of many points, in parallel.
    pub(crate) fn sample_batch(&self, points: &[DVec3]) -> Vec<(f64, DVec3)> {
        palpate::par::map(points.len(), |i| self.sample(points[i]))
    }

    /// Position of the first node of the dense grid and number of nodes along each axis.
    pub(crate) fn grid(&self) -> (DVec3, [usize; 3]) {
        (self.frame.min, self.info.dims.map(|n| usize::try_from(n).unwrap_or(usize::MAX)))
    }

    /// The surface at distance `level` [m].
    ///
    /// # Errors
    /// When it has too many triangles for a mesh.
    pub(crate) fn iso_surface(&self, level: f64) -> Result<RawMesh> {
        let _ = level;
        missing("the iso-surface")
    }

    /// The cells of a grid of `voxel` [m] that the surface meets, and the position of cell (0, 0, 0).
    ///
    /// # Errors
    /// When the grid would be too large.
    pub(crate) fn surface_cells(&self, voxel: f64) -> Result<(Vec<[i32; 3]>, DVec3)> {
        let _ = voxel;
        missing("the voxel map")
    }
}
