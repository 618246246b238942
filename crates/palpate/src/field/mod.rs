//! Signed distance fields: exact in a narrow band around the surface, smooth and bounded everywhere else.
//!
//! A field is a background grid of distances, one node every 8 voxels, refined by bricks of 9³ nodes wherever
//! the surface is near. Inside the band every node is the exact distance to the closest triangle; between nodes the
//! field is trilinear and continuous, also across the border of bricks.

pub mod analytic;
mod assemble;
mod background;
pub(crate) mod blocked;
pub(crate) mod bounds;
pub(crate) mod brick;
mod build;
mod bvh;
mod compact;
mod cone;
mod curve;
mod dipoles;
pub(crate) mod encode;
mod exact;
mod exact_batch;
pub(crate) mod far;
mod fill;
pub mod iso;
pub(crate) mod lattice;
pub mod layered;
mod lipschitz;
mod overlap;
pub(crate) mod pack;
pub(crate) mod packed;
pub mod paper_modes;
#[doc(hidden)]
pub mod parts;
mod precise;
pub(crate) mod read;
mod row_search;
mod sample;
pub(crate) mod scale;
mod scan;
mod sign;
pub mod source;
mod spread;
pub(crate) mod surface;
pub(crate) mod walk;
pub(crate) mod witness;

#[doc(hidden)]
pub use curve::curve_order;
pub use encode::Encoding;
pub use exact::{Closest, Exact};
pub use far::FarGrid;
pub use lattice::Lattice;
pub use paper_modes::LayeredView;
pub(crate) use scan::BRICK;
pub use sign::{SignChoice, SignMethod};
pub use source::{Sample, Source};
pub use witness::Witness;

use crate::math::Aabb;
use crate::mesh::Hole;
use crate::store::Store;
use encode::Values;
use thiserror::Error;

/// A signed distance field on a sparse grid, in the shape's own frame [m]. Negative inside. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Field {
    pub(crate) lattice: Lattice,
    /// Place of each cell's brick in `values`, or −1 where only the background exists; x fastest.
    pub(crate) directory: Store<i32>,
    /// Background nodes, then bricks of 9³ nodes, x fastest.
    pub(crate) values: Values,
    /// Closest triangle of each brick node, as in `values` but without the background. Empty if not kept.
    pub(crate) closest: Store<u32>,
    pub(crate) report: FieldReport,
}

/// How a field is built.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldParams {
    /// Half width of the band in which samples are interpolated from exact distances alone [voxels].
    pub band: f64,
    /// Free space around the surface inside the grid [voxels].
    pub padding: f64,
    /// How values are stored.
    pub encoding: Encoding,
    /// Keep the closest triangle of each node of the bricks (4 bytes a node), for [`Field::witness`].
    pub keep_triangles: bool,
    /// How the inside is told from the outside.
    pub sign: SignChoice,
    /// Make every node of the background exact, for lower bounds that are tight far from the surface. Without it those
    /// that no brick touches are propagated, a little quicker.
    pub exact_background: bool,
    /// Make the nodes of bricks outside the band exact within a tenth of a voxel: tighter, less steep, and slower to build.
    /// Without it they are propagated from the band.
    pub exact_bricks: bool,
    /// Close the holes of open components, so that the field is continuous there.
    pub cap_holes: bool,
    /// Largest memory the finished field may take [bytes]; none: no limit.
    pub max_memory: Option<u64>,
    /// Threads of the build; 0: those of the current rayon pool. The result does not depend on it.
    pub threads: usize,
}

impl Default for FieldParams {
    fn default() -> Self {
        Self {
            band: 3.0,
            padding: 3.0,
            encoding: Encoding::Float,
            keep_triangles: false,
            sign: SignChoice::Auto,
            exact_background: false,
            exact_bricks: false,
            cap_holes: true,
            max_memory: None,
            threads: 0,
        }
    }
}

impl FieldParams {
    /// Whether every value is in its range.
    pub fn check(&self) -> Result<(), FieldError> {
        if !(0.5..=64.0).contains(&self.band) {
            return Err(FieldError::BadParameter {
                name: "band",
                value: self.band,
                range: "0.5 to 64 voxels",
            });
        }
        if !(1.0..=1000.0).contains(&self.padding) {
            return Err(FieldError::BadParameter {
                name: "padding",
                value: self.padding,
                range: "1 to 1000 voxels",
            });
        }
        Ok(())
    }
}

/// What was built, and how far it can be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldReport {
    /// How the inside was told from the outside.
    pub sign_method: SignMethod,
    /// Share of checked points at which a second method agreed [1].
    pub sign_confidence: f64,
    /// Bricks in which the pseudonormal contradicted itself and the winding number decided.
    pub sign_repaired: usize,
    /// Holes of the mesh and what became of them.
    pub holes: Vec<Hole>,
    /// Number of bricks.
    pub bricks: usize,
    /// Memory of the built field [bytes].
    pub bytes: usize,
    /// Half width of the band [m].
    pub band: f64,
    /// Largest possible |sample − true distance| for points of the box nearer than `band` to the surface [m].
    pub error_bound_band: f64,
    /// Largest possible |sample − true distance| anywhere in the box [m].
    pub error_bound_far: f64,
    /// Largest possible excess of the size of a background node over the true distance [m].
    pub excess_background: f64,
    /// The same for the nodes of bricks [m], except those on a face beside a cell without a brick: they interpolate between
    /// background nodes.
    pub excess_bricks: f64,
    /// Lipschitz constant of the sampled function inside the box [1]: the steepest it is anywhere. Outside it is this or 1. Where
    /// a cell with a brick meets one without, stored values are rounded on either side for themselves: with an
    /// encoding other than `Float` two samples may differ by one step more.
    pub lipschitz: f64,
    /// Box of the surface itself, caps included [m].
    pub surface: Aabb,
}

impl FieldReport {
    /// Number of holes that were capped.
    pub fn caps(&self) -> usize {
        self.holes.iter().filter(|h| h.outcome == crate::mesh::HoleOutcome::Capped).count()
    }
}

impl Field {
    /// Where the nodes are.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// What was built, and how far it can be trusted.
    pub fn report(&self) -> &FieldReport {
        &self.report
    }

    /// How values are stored.
    pub fn encoding(&self) -> Encoding {
        self.values.encoding()
    }

    /// For each cell of 8³ voxels, x fastest: where its brick begins in [`Field::decoded`], or −1 where only the background is.
    pub fn directory(&self) -> &[i32] {
        &self.directory
    }

    /// The nodes' distances [m]: the background, every eighth node, then bricks of 9³ nodes; x fastest. As they are stored for
    /// [`Encoding::Float`], otherwise a copy.
    pub fn decoded(&self) -> std::borrow::Cow<'_, [f32]> {
        self.values.decoded()
    }

    /// Largest |stored − built| of a node [m]: 0 for [`Encoding::Float`].
    pub fn stored_error(&self) -> f64 {
        self.values.error()
    }
}

/// Why a field could not be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FieldError {
    /// The voxel size is not a positive number.
    #[error(
        "voxel size is {voxel} m; give a positive length, for example the one `palpate inspect` suggests"
    )]
    BadVoxel {
        /// The size given [m].
        voxel: f64,
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
    /// The grid would have too many voxels.
    #[error("a voxel of {voxel} m needs a grid of {voxels:.2e} voxels; use {suggested:.3e} m or more")]
    TooManyVoxels {
        /// The size given [m].
        voxel: f64,
        /// How many voxels the box would have.
        voxels: f64,
        /// A size that fits [m].
        suggested: f64,
    },
    /// The field would be larger than allowed.
    #[error(
        "a voxel of {voxel} m needs about {needed} bytes but {allowed} are allowed; use {suggested:.3e} m or more, or allow more memory"
    )]
    TooMuchMemory {
        /// The size given [m].
        voxel: f64,
        /// Estimated need [bytes].
        needed: u64,
        /// The limit given [bytes].
        allowed: u64,
        /// A size that fits [m].
        suggested: f64,
    },
    /// A fixed precision cannot hold the distances.
    #[error(
        "precision {precision} cannot hold distances up to {largest} m in 16 bits; use {suggested} or leave it out"
    )]
    Precision {
        /// Decimal digits asked for.
        precision: u32,
        /// Largest distance in the grid [m].
        largest: f64,
        /// The most digits that fit.
        suggested: i32,
    },
    /// Nodes that were computed elsewhere do not make a field.
    #[error("these nodes make no field: {what}")]
    BadNodes {
        /// What they must be.
        what: &'static str,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}
