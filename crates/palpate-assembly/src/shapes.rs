//! Shapes of parts: built once for each content, kept as `.palp` files, and always read back from what is kept, so that a shape
//! that was built and one that was found are the same to the last bit.

use crate::job::Part;
use crate::params::Params;
use palpate::asset::{Asset, AssetContents, AssetError, cache_key};
use palpate::progress::Silent;
use palpate::shape::{Shape, ShapeError};
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
        let (voxel, how) = (params.voxel_of(&part.mesh), params.shape());
        let version = env!("CARGO_PKG_VERSION");
        let key = cache_key(&part.key.to_le_bytes(), &format!("part {version} {voxel:?} {how:?}"));
        let file = self.folder.as_ref().map(|f| f.join(format!("{key:032x}.palp")));
        if let Some(file) = &file
            && Asset::read_key(file).ok() == Some(key)
            && let Ok(shape) = Shape::open(file, &how, &Silent)
        {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Ok(shape);
        }
        let shape = Shape::build((*part.mesh).clone(), voxel, &how)?;
        self.built.fetch_add(1, Ordering::Relaxed);
        if let Some(file) = &file {
            if shape.write(file, key).is_ok()
                && let Ok(kept) = Shape::open(file, &how, &Silent)
            {
                return Ok(kept);
            }
            self.unkept.fetch_add(1, Ordering::Relaxed);
        }
        let shell = shape.tree().shell();
        let contents = AssetContents {
            key,
            mesh: Some(shape.mesh()),
            field: Some(shape.field()),
            shell: Some(&shell),
            build: "",
        };
        Ok(Asset::from_bytes(&contents.to_bytes()?)?.shape(&how, &Silent)?)
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
