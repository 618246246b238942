//! What counts as a clash, and what as too near.

use palpate::mesh::Mesh;
use palpate::shape::ShapeParams;
use thiserror::Error;

/// Contact up to this share of the clearance is one by design, unless said otherwise [1]. Larger: shallow clashes pass as contact.
/// Smaller: the facets of two round surfaces that lie on each other are clashes.
const TOLERANCE: f64 = 0.1;
/// Voxels of a shape's field: this share of the clearance [1], but at most so many along the largest extent. Gaps and depths are
/// measured on triangles, so that a coarse field costs accuracy of nothing but the volume.
const VOXEL: f64 = 0.5;
const MAX_CELLS: f64 = 64.0;
/// And at least so many.
const MIN_CELLS: f64 = 24.0;

/// How an assembly is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Parts nearer than this are told [m].
    pub clearance: f64,
    /// Parts that overlap by at most this, or are at most this far apart, are in contact by design [m]: neither a clash nor too
    /// near. None: a tenth of the clearance.
    pub tolerance: Option<f64>,
    /// Edge of a voxel of the shapes that are built for clashes [m]; none: half of the clearance, but between 24 and 64 along the
    /// largest extent of a part.
    pub voxel: Option<f64>,
    /// Cells along each edge of the grid by which the volume of an overlap is estimated, 4 to 128.
    pub volume_cells: u32,
    /// Memory of the shapes that are open at a time [bytes], as far as one can foresee; at least two are.
    pub max_memory: u64,
    /// 0: the current pool; n: a pool of that many threads. Never changes a result.
    pub threads: usize,
}

/// Why parameters cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ParamsError {
    /// The clearance.
    #[error("the clearance is {value} m: give a positive, finite length")]
    Clearance {
        /// The one given [m].
        value: f64,
    },
    /// The tolerance.
    #[error(
        "the tolerance is {value} m: give a length of at least 0 that is below the clearance, {clearance} m"
    )]
    Tolerance {
        /// The one given [m].
        value: f64,
        /// The clearance [m].
        clearance: f64,
    },
    /// The voxel.
    #[error("the voxel is {value} m: give a positive, finite length")]
    Voxel {
        /// The one given [m].
        value: f64,
    },
    /// The cells of a volume.
    #[error("{value} cells along an edge of an overlap: give 4 to 128")]
    Cells {
        /// The number given.
        value: u32,
    },
}

impl Params {
    /// Parts nearer than `clearance` [m] are told; the rest as usual.
    pub fn new(clearance: f64) -> Self {
        Self { clearance, tolerance: None, voxel: None, volume_cells: 20, max_memory: 2 << 30, threads: 0 }
    }

    /// Contact by design: overlaps and gaps of at most this [m].
    pub fn tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(TOLERANCE * self.clearance)
    }

    /// Whether the values can be used.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), ParamsError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        if !positive(self.clearance) {
            return Err(ParamsError::Clearance { value: self.clearance });
        }
        let tolerance = self.tolerance();
        if !(tolerance >= 0.0 && tolerance < self.clearance) {
            return Err(ParamsError::Tolerance { value: tolerance, clearance: self.clearance });
        }
        if let Some(value) = self.voxel.filter(|v| !positive(*v)) {
            return Err(ParamsError::Voxel { value });
        }
        if !(4..=128).contains(&self.volume_cells) {
            return Err(ParamsError::Cells { value: self.volume_cells });
        }
        Ok(())
    }

    /// The edge of a voxel for a part [m].
    pub(crate) fn voxel_of(&self, mesh: &Mesh) -> f64 {
        let extent = mesh.aabb().extent().max_element();
        self.voxel.unwrap_or((VOXEL * self.clearance).clamp(extent / MAX_CELLS, extent / MIN_CELLS))
    }

    /// How shapes are built.
    pub(crate) fn shape(&self) -> ShapeParams {
        ShapeParams::default()
    }

    /// What decides a finding besides the parts and their places, as text.
    pub(crate) fn recipe(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let (clearance, tolerance) = (self.clearance, self.tolerance());
        let (voxel, cells) = (self.voxel, self.volume_cells);
        format!("assembly {version} {clearance:?} {tolerance:?} {voxel:?} {cells}")
    }
}
