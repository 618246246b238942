//! What a build is told.

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
    /// Whether to spread points over the surface, for contact.
    pub(crate) points: bool,
    pub(crate) encoding: Encoding,
    /// Decimals of a scaled encoding; none: the finest that fits.
    pub(crate) precision: Option<u32>,
    /// Half width of the exact band [voxels]; none: the engine's default.
    pub(crate) band: Option<f64>,
    /// Cells around the mesh [voxels]; none: the engine's default.
    pub(crate) padding: Option<f64>,
    /// Layers of voxels on each side.
    pub(crate) layers: Option<u32>,
    /// Keep closest triangles.
    pub(crate) triangles: bool,
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
            points: true,
            encoding: Encoding::Float,
            precision: None,
            band: None,
            padding: None,
            layers: None,
            triangles: false,
            threads: 0,
            max_memory: None,
        }
    }

    /// What decides the result, as text; threads and memory do not.
    pub(crate) fn recipe(&self) -> String {
        let Self { size, spacing, points, encoding, precision, band, padding, layers, triangles, .. } = self;
        format!(
            "{size:?} {spacing:?} points {points} {encoding:?} {precision:?} {band:?} {padding:?} {layers:?} {triangles:?}"
        )
    }
}
