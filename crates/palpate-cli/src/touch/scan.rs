//! From what the user named to points.

use crate::engine::Input;
use crate::progress::Reporter;
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::cloud::{Cloud, CloudFormat, CloudParams, RawCloud};
use palpate::mesh::samples;
use palpate_view::units;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// The sample that is a surface of points: z = cos x + cos y.
pub(crate) const WAVES: &str = "waves";
/// How far its points are apart along x and y, unless another distance is asked for [m].
pub(crate) const SPACING: f64 = 5e-3;
/// Edge of its square [m].
const SIDE: f64 = 2.4975;
/// Points of it at most.
const MOST_WAVES: f64 = 1e8;

/// Points with their octree.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) title: String,
    pub(crate) raw: RawCloud,
    pub(crate) cloud: Cloud,
    /// [s]
    pub(crate) build_seconds: f64,
    /// Up in pictures.
    pub(crate) up: DVec3,
}

/// The points of a file or a sample; `scale` is metres per unit of the file, `spacing` that of `sample:waves` [m].
pub(crate) fn read(input: &Input, scale: f64, spacing: f64, reporter: &Reporter) -> Result<RawCloud> {
    match input {
        Input::Sample(name) if name == WAVES => waves(spacing),
        Input::Sample(name) => {
            let mesh = samples::by_name(name).with_context(|| {
                let all = samples::NAMES.join(", ");
                format!("there is no sample \"{name}\"; the samples are {WAVES}, {all}")
            })?;
            Ok(RawCloud { points: mesh.positions, ..RawCloud::default() })
        }
        Input::Asset(path) => bail!("{} is a built field; name the scan or mesh file", path.display()),
        Input::File(path) if path.is_dir() => bail!("{} is a folder; name a scan in it", path.display()),
        Input::File(path) => Ok(RawCloud::load_with(path, scale, reporter)?),
    }
}

/// A square of the surface z = cos x + cos y, points on a grid.
fn waves(spacing: f64) -> Result<RawCloud> {
    // Half a millionth more, so that a spacing that divides the side has its last row.
    let n = (SIDE / spacing + 1e-6).floor() + 1.0;
    if n * n > MOST_WAVES {
        bail!("--spacing {spacing} makes {:.0} points; at most {MOST_WAVES:.0} are made", n * n);
    }
    let n = n as usize;
    let at = |k: usize| {
        let (x, y) = ((k % n) as f64 * spacing, (k / n) as f64 * spacing);
        DVec3::new(x, y, x.cos() + y.cos())
    };
    Ok(RawCloud { points: palpate::par::map(n * n, at), ..RawCloud::default() })
}

/// What is up: y for mesh files, z for samples, STL and scans.
fn up(input: &Input) -> DVec3 {
    match input {
        Input::File(path) => match CloudFormat::from_path(path) {
            Some(CloudFormat::Ply | CloudFormat::Obj | CloudFormat::Off | CloudFormat::Gltf) => DVec3::Y,
            _ => DVec3::Z,
        },
        _ => DVec3::Z,
    }
}

impl Scan {
    /// Builds the octree over points.
    pub(crate) fn build(
        input: &Input,
        raw: RawCloud,
        params: &CloudParams,
        reporter: &Reporter,
    ) -> Result<Self> {
        if raw.points.is_empty() {
            bail!("{} has no points", input.title());
        }
        let begin = Instant::now();
        let cloud = Cloud::build_with(&raw.points, params, reporter).with_context(|| input.title())?;
        let build_seconds = begin.elapsed().as_secs_f64();
        if cloud.is_empty() {
            bail!("{} has no finite point", input.title());
        }
        Ok(Self { title: input.title(), raw, cloud, build_seconds, up: up(input) })
    }

    /// Points that were left out because they are not finite, by the reader and by the octree.
    pub(crate) fn skipped(&self) -> usize {
        self.raw.skipped + self.cloud.report().skipped
    }

    /// What it is, for machines.
    pub(crate) fn json(&self) -> Value {
        let (r, aabb) =
            (self.cloud.report(), palpate::math::Aabb::of_points(self.raw.points.iter().copied()));
        json!({
            "name": self.title,
            "points": r.points,
            "positions": r.positions,
            "duplicates": r.points - r.positions,
            "skipped": self.skipped(),
            "min": aabb.min.to_array(),
            "max": aabb.max.to_array(),
            "spacing": r.spacing,
            "support": self.cloud.measure_support(),
            "rounding": r.rounding,
            "normals": self.raw.normals.is_some(),
            "colours": self.raw.colours.is_some(),
            "leaves": r.leaves,
            "depth": r.depth,
            "bytes_per_point": r.bytes_per_point(),
            "bytes": r.overhead + 12 * r.positions,
            "build_seconds": self.build_seconds,
        })
    }

    /// The same for people.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let r = self.cloud.report();
        let aabb = palpate::math::Aabb::of_points(self.raw.points.iter().copied());
        let mut out: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, value: String| out.push((name.to_owned(), value));
        let count = |n: usize| units::count(n as u64);
        row("points", count(r.points));
        if r.points > r.positions {
            row(
                "duplicates",
                format!("{}, at {} different places", count(r.points - r.positions), count(r.positions)),
            );
        }
        if self.skipped() > 0 {
            row("skipped", format!("{}, not finite", count(self.skipped())));
        }
        let e = aabb.extent();
        row("size", format!("{} x {} x {}", units::length(e.x), units::length(e.y), units::length(e.z)));
        let c = aabb.centre();
        row("middle", format!("{} {} {} m", c.x as f32, c.y as f32, c.z as f32));
        row("spacing", format!("{} between neighbours", units::length(r.spacing)));
        row("rounding", format!("{} at most", units::length(0.5 * r.rounding)));
        let has = match (self.raw.normals.is_some(), self.raw.colours.is_some()) {
            (true, true) => "normals and colours",
            (true, false) => "normals",
            (false, true) => "colours",
            (false, false) => "nothing",
        };
        row("besides places", has.to_owned());
        row(
            "memory",
            format!(
                "{}, {} bytes a point beyond its place",
                units::bytes((r.overhead + 12 * r.positions) as u64),
                units::number(r.bytes_per_point())
            ),
        );
        row("built in", units::seconds(self.build_seconds));
        out
    }
}

/// Whether a file has points and no faces, as far as its name tells.
pub(crate) fn only_points(path: &Path) -> bool {
    matches!(CloudFormat::from_path(path), Some(CloudFormat::Xyz | CloudFormat::Pcd | CloudFormat::Las))
}
