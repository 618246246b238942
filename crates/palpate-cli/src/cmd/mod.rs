//! One file for each command: its arguments, what it does and how it answers.

pub(crate) mod assembly;
pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod clearance;
pub(crate) mod demo;
pub(crate) mod distance;
pub(crate) mod drop;
pub(crate) mod export;
pub(crate) mod feel;
pub(crate) mod gpu;
pub(crate) mod inspect;
pub(crate) mod press;
pub(crate) mod query;
pub(crate) mod report;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod soft;
pub(crate) mod solid;
pub(crate) mod touch;

use crate::engine::{self, Encoding, Input, Model, Options, Size};
use crate::progress::Reporter;
use crate::{parse, saved};
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::progress::Progress;

/// Options of every command that reads a mesh.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MeshArgs {
    /// Unit of the numbers in the file: m, mm, um, cm, km, in, ft, or metres per unit
    #[arg(long, default_value = "m", value_parser = parse::unit, value_name = "UNIT")]
    pub(crate) unit: f64,
}

/// Options of every command that may build a field.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options for building")]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) mesh: MeshArgs,
    /// Edge of a voxel, for example 0.5mm
    #[arg(long, allow_hyphen_values = true, value_parser = parse::length, value_name = "LENGTH", conflicts_with = "resolution")]
    pub(crate) voxel: Option<f64>,
    /// Cells along the largest axis, three on each side of padding included [default: 256]
    #[arg(long, value_name = "CELLS", value_parser = clap::value_parser!(u32).range(8..=65536))]
    pub(crate) resolution: Option<u32>,
    /// Distance between the points on the surface that contact is found with [default: two voxels]
    #[arg(long, allow_hyphen_values = true, value_parser = parse::length, value_name = "LENGTH")]
    pub(crate) spacing: Option<f64>,
    /// Make the field alone, without points: smaller and quicker where only distances of points are asked
    #[arg(long, conflicts_with = "spacing")]
    pub(crate) no_points: bool,
    /// How distances are stored: float (most accurate), scaled (16 bits, half the memory) or layered (whole layers
    /// of voxels, as in the papers)
    #[arg(long, value_enum, default_value_t = Encoding::Float, hide_possible_values = true)]
    pub(crate) encoding: Encoding,
    /// Decimals of a scaled encoding: steps of 10^-P metres [default: the finest that fits]
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(0..=12))]
    pub(crate) precision: Option<u32>,
    /// Half width of the band of exact distances, in voxels [default: 3]
    #[arg(long, value_name = "VOXELS", value_parser = cells)]
    pub(crate) band: Option<f64>,
    /// Cells around the mesh that the grid still covers, in voxels [default: 3]
    #[arg(long, value_name = "VOXELS", value_parser = cells)]
    pub(crate) padding: Option<f64>,
    /// Also build the voxel map with N layers outward and as many inward, and report it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) layers: Option<u32>,
    /// Keep the closest triangle of each node, for `distance --witness` (twice the memory)
    #[arg(long)]
    pub(crate) triangles: bool,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Refuse builds that need more memory, for example 2GiB
    #[arg(long, value_parser = parse::bytes, value_name = "SIZE")]
    pub(crate) max_memory: Option<u64>,
}

/// A number of voxels above zero.
fn cells(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 1e4 => Ok(x),
        _ => Err("not a number of voxels; write a number from 1 to 10000".into()),
    }
}

impl BuildArgs {
    /// Cells along the largest axis when nothing was said.
    const RESOLUTION: u32 = 256;

    pub(crate) fn options(&self) -> Result<Options> {
        if self.precision.is_some() && self.encoding != Encoding::Scaled {
            bail!("--precision belongs to --encoding scaled");
        }
        let size = match (self.voxel, self.resolution) {
            (Some(voxel), _) => Size::Voxel(voxel),
            (None, n) => Size::Resolution(n.unwrap_or(Self::RESOLUTION)),
        };
        Ok(Options {
            spacing: self.spacing,
            points: !self.no_points,
            encoding: self.encoding,
            precision: self.precision,
            band: self.band,
            padding: self.padding,
            layers: self.layers,
            triangles: self.triangles,
            threads: self.threads,
            max_memory: self.max_memory,
            ..Options::new(size)
        })
    }
}

/// Which axis is up in pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Up {
    X,
    Y,
    Z,
}

impl Up {
    pub(crate) fn axis(self) -> DVec3 {
        match self {
            Self::X => DVec3::X,
            Self::Y => DVec3::Y,
            Self::Z => DVec3::Z,
        }
    }
}

/// The model of a built asset, or one built now from a mesh, with points only if asked for.
pub(crate) fn open_or_build(
    input: &Input,
    args: &BuildArgs,
    points: bool,
    reporter: &Reporter,
) -> Result<Model> {
    if let Input::Asset(path) = input {
        return saved::open(path);
    }
    let mut options = args.options()?;
    options.points &= points;
    reporter.stage("read mesh", 0);
    let source = engine::read(input, args.mesh.unit)?;
    let (mesh, info) = engine::load_mesh(&source)?;
    engine::build(mesh, info, &options, reporter).with_context(|| input.title())
}

/// Times of stages as a JSON object, in seconds.
pub(crate) fn stages_json(stages: &[(&'static str, f64)]) -> serde_json::Value {
    stages
        .iter()
        .map(|(name, s)| ((*name).to_owned(), serde_json::json!(s)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
