//! Shapes of parts: built once for each content, kept as `.palp` files, and always read back from what is kept, so that a shape
//! that was built and one that was found are the same to the last bit.

use crate::job::Part;
use crate::params::Params;
use palpate::asset::{Asset, AssetError, cache_key};
use palpate::progress::Silent;
use palpate::shape::{Shape, ShapeError};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// Where shapes are kept.
#[derive(Debug, Default)]
pub struct Shapes {
    folder: Option<PathBuf>,
    built: AtomicUsize,
    found: AtomicUsize,
    unkept: AtomicUsize,
}

/// Why there is no shape of a part.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShapesError {
    /// It cannot be built.
    #[error(transparent)]
    Build(#[from] ShapeError),
    /// What was built cannot be read back.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// Nor written to memory.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Shapes {
    /// Kept in a folder, which must be there; none: in memory, for as long as they are used.
    pub fn new(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_path_buf), ..Self::default() }
    }

    /// The shape of a part: from its file if there is one of the same content and parameters, else built and kept. A disk that
    /// cannot keep it costs the next run a build, not this one.
    ///
    /// # Errors
    /// When the mesh has no shape, for example because it is too large for single precision.
    pub fn get(&self, part: &Part, params: &Params) -> Result<Shape, ShapesError> {
        if let Some(shape) = self.find(part, params) {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Ok(shape);
        }
        let bytes = build(part, params)?;
        self.built.fetch_add(1, Ordering::Relaxed);
        if self.folder.is_some() {
            if self.keep(part, params, &bytes)
                && let Some(kept) = self.find(part, params)
            {
                return Ok(kept);
            }
            self.unkept.fetch_add(1, Ordering::Relaxed);
        }
        open(&bytes, params)
    }

    /// Where the shape of a part is kept; none without a folder.
    pub fn file(&self, part: &Part, params: &Params) -> Option<PathBuf> {
        self.folder.as_ref().map(|f| f.join(format!("{:032x}.palp", shape_key(part, params))))
    }

    /// Whether there is such a file, whole, of the same content and parameters: one pass over it.
    pub fn holds(&self, part: &Part, params: &Params) -> bool {
        self.asset(part, params).is_some()
    }

    fn asset(&self, part: &Part, params: &Params) -> Option<Asset> {
        let asset = Asset::open(self.file(part, params)?).ok()?;
        (asset.key() == shape_key(part, params)).then_some(asset)
    }

    fn find(&self, part: &Part, params: &Params) -> Option<Shape> {
        self.asset(part, params)?.shape(&params.shape(), &Silent).ok()
    }

    /// Keeps a shape that was [`build`]t: whole, or not at all. Whether the disk could.
    pub fn keep(&self, part: &Part, params: &Params, bytes: &[u8]) -> bool {
        let Some(file) = self.file(part, params) else { return false };
        let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
        let kept = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, &file)).is_ok();
        if !kept {
            let _ = fs::remove_file(&temporary);
        }
        kept
    }

    /// How many were built, found, and built but not kept because the disk refused.
    pub fn counts(&self) -> [usize; 3] {
        [&self.built, &self.found, &self.unkept].map(|n| n.load(Ordering::Relaxed))
    }

    /// Memory of a part's shape, as far as can be foreseen [bytes].
    pub(crate) fn foreseen(part: &Part, params: &Params) -> u64 {
        /// Of the field for each square voxel of surface, and of mesh and trees for each triangle [bytes]: measured on samples.
        const SURFACE: f64 = 160.0;
        const TRIANGLE: f64 = 300.0;
        let report = part.mesh.report();
        let voxel = params.voxel_of(&part.mesh);
        (SURFACE * report.area / (voxel * voxel) + TRIANGLE * report.triangles as f64) as u64
    }
}

/// Of a part's content and of all that decides its shape.
fn shape_key(part: &Part, params: &Params) -> u128 {
    let (voxel, how) = (params.voxel_of(&part.mesh), params.shape());
    let version = env!("CARGO_PKG_VERSION");
    cache_key(&part.key.to_le_bytes(), &format!("part {version} {voxel:?} {how:?}"))
}

/// The shape of a part as the bytes of a `.palp` file, the same for any number of threads: from milliseconds to seconds.
///
/// # Errors
/// When the mesh has no shape, for example because it is too large for single precision.
pub fn build(part: &Part, params: &Params) -> Result<Vec<u8>, ShapesError> {
    let shape = Shape::build((*part.mesh).clone(), params.voxel_of(&part.mesh), &params.shape())?;
    Ok(shape.to_bytes(shape_key(part, params))?)
}

/// The shape in such bytes.
///
/// # Errors
/// When they are no `.palp` file.
pub fn open(bytes: &[u8], params: &Params) -> Result<Shape, ShapesError> {
    Ok(Shape::from_bytes(bytes, &params.shape(), &Silent)?)
}
