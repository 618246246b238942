//! Two shapes, ready to meet: how they are named on the command line, opened or built, and whether they suit each other.

use crate::cmd::{BuildArgs, Up, open_or_build};
use crate::engine::{FieldInfo, Input, MeshInfo};
use crate::parse;
use crate::progress::Reporter;
use anyhow::{Context, Result};
use glam::DVec3;
use palpate::{Pose, Shape};
use palpate_view::units;
use serde_json::{Value, json};
use std::path::Path;

/// Voxels or spacings of two shapes that differ by more than this are worth a warning [1].
const UNLIKE: f64 = 8.0;
/// Share of agreeing checks below which the sign is called doubtful [1].
const SURE: f64 = 0.99;
/// Voxels a wall needs across to keep its inside [1].
const ACROSS: f64 = 3.0;

/// Options of every command about two shapes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PairArgs {
    /// First shape, which stays: built .palp file, mesh file or sample:NAME
    #[arg(value_name = "A")]
    pub(crate) a: String,
    /// Second shape, which a pose moves
    #[arg(value_name = "B")]
    pub(crate) b: String,
    /// Axis of A that is up in pictures: x, y or z [default: z for STL and samples, y otherwise]
    #[arg(long, value_enum, hide_possible_values = true)]
    up: Option<Up>,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

impl PairArgs {
    /// Opens or builds both, and turns pictures as was said.
    ///
    /// # Errors
    /// When one of them cannot be read or built.
    pub(crate) fn load(&self, reporter: &Reporter) -> Result<Pair> {
        let mut pair = Pair::load(&self.a, &self.b, &self.build, reporter)?;
        if let Some(up) = self.up {
            pair.a.up = up.axis();
        }
        Ok(pair)
    }
}

/// The poses of a file and how many quaternions were not unit.
///
/// # Errors
/// Names file, line and column.
pub(crate) fn read_poses(path: &Path) -> Result<(Vec<Pose>, usize)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse::poses(&text, &path.display().to_string())
}

/// What to say about quaternions that were not unit, if there were any.
pub(crate) fn not_unit(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("a quaternion was not of length 1 and was made so".to_owned()),
        n => Some(format!("{n} quaternions were not of length 1 and were made so")),
    }
}

/// One shape of a pair, with what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Solid {
    pub(crate) title: String,
    pub(crate) shape: Shape,
    pub(crate) info: FieldInfo,
    pub(crate) mesh_info: MeshInfo,
    /// Up in pictures.
    pub(crate) up: DVec3,
    pub(crate) notes: Vec<String>,
}

impl Solid {
    /// Opens or builds one.
    ///
    /// # Errors
    /// When it cannot be read or built.
    pub(crate) fn load(input: &Input, args: &BuildArgs, reporter: &Reporter) -> Result<Self> {
        // Contact needs points, whatever was said.
        let args = &BuildArgs { no_points: false, ..args.clone() };
        let options = args.options()?;
        let model = open_or_build(input, args, true, reporter)?;
        let mesh_info = model.mesh_info.clone();
        let up = model.up.unwrap_or_else(|| input.up());
        let (shape, info, mut notes) = model.into_shape(&options, reporter).with_context(|| input.title())?;
        let is_file = matches!(input, Input::Asset(_));
        if is_file && args.voxel.is_some_and(|v| (v / info.voxel - 1.0).abs() > 1e-9) {
            let text = format!("its voxel is {}: --voxel is for meshes", units::length(info.voxel));
            notes.push(text);
        }
        reporter.check()?;
        Ok(Self { title: input.title(), shape, info, mesh_info, up, notes })
    }

    /// Distance between points [m].
    pub(crate) fn spacing(&self) -> f64 {
        self.shape.tree().shell_report().spacing
    }

    /// How thick it is on average, as a plate of its volume and area would be [m]; none where it encloses nothing.
    fn thickness(&self) -> Option<f64> {
        let t = 2.0 * self.mesh_info.volume.abs() / self.mesh_info.area;
        (t > 0.0 && t.is_finite() && !self.is_open()).then_some(t)
    }

    fn is_open(&self) -> bool {
        self.info.sign_method == "unsigned"
    }

    /// What it was built with, for machines.
    fn json(&self) -> Value {
        json!({
            "name": self.title,
            "voxel": self.info.voxel,
            "spacing": self.info.spacing,
            "points": self.info.points,
            "levels": self.info.levels,
            "coverage_radius": self.shape.tree().shell_report().radius,
            "error_bound_band": self.info.error_bound_band,
            "sign_method": self.info.sign_method,
        })
    }
}

/// The two shapes of a question.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) a: Solid,
    pub(crate) b: Solid,
}

impl Pair {
    /// Opens or builds both; the same input twice is made once.
    ///
    /// # Errors
    /// When one of them cannot be read or built.
    pub(crate) fn load(a: &str, b: &str, args: &BuildArgs, reporter: &Reporter) -> Result<Self> {
        let first = Solid::load(&Input::parse(a), args, reporter)?;
        let second = if a == b { first.clone() } else { Solid::load(&Input::parse(b), args, reporter)? };
        Ok(Self { a: first, b: second })
    }

    /// Both, for machines.
    pub(crate) fn json(&self) -> Value {
        json!({ "a": self.a.json(), "b": self.b.json() })
    }

    /// What makes answers about this pair less than one would expect, with numbers.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut out = Vec::new();
        for solid in [&self.a, &self.b] {
            out.extend(solid.notes.iter().map(|n| format!("{}: {n}", solid.title)));
            if solid.is_open() {
                out.push(format!(
                    "{} encloses nothing: no point is inside it, so it can be near others but never hold their points; give it a thickness",
                    solid.title
                ));
            } else if solid.info.sign_confidence < SURE {
                out.push(format!(
                    "{}: inside and outside are doubtful at {:.1} % of the places checked; contacts may be missing or invented there",
                    solid.title,
                    100.0 * (1.0 - solid.info.sign_confidence)
                ));
            }
            if solid.info.caps > 0 {
                out.push(format!(
                    "{}: {} holes were capped: contact with a cap is contact with a surface that the mesh does not have",
                    solid.title,
                    units::count(solid.info.caps)
                ));
            }
            if let Some(t) = solid.thickness().filter(|t| *t < ACROSS * solid.info.voxel) {
                out.push(format!(
                    "{} is about {} thick on average but its voxels are {}: its inside may be lost; build it with --voxel {} or less",
                    solid.title,
                    units::length(t),
                    units::length(solid.info.voxel),
                    option(t / ACROSS)
                ));
            }
        }
        let ratio = |x: f64, y: f64| (x / y).max(y / x);
        let (va, vb) = (self.a.info.voxel, self.b.info.voxel);
        if ratio(va, vb) > UNLIKE {
            out.push(format!(
                "voxels of {} ({}) and {} ({}) differ {} times: depths are only as good as the coarser field; build both alike",
                units::length(va),
                self.a.title,
                units::length(vb),
                self.b.title,
                units::number(ratio(va, vb))
            ));
        }
        let (sa, sb) = (self.a.spacing(), self.b.spacing());
        if ratio(sa, sb) > UNLIKE {
            out.push(format!(
                "points are {} apart on {} and {} on {}, {} times as far: contact is found with the fewer points; build both alike, or choose with --points-of",
                units::length(sa),
                self.a.title,
                units::length(sb),
                self.b.title,
                units::number(ratio(sa, sb))
            ));
        }
        for (points, other) in [(&self.a, &self.b), (&self.b, &self.a)] {
            let spacing = points.spacing();
            if let Some(t) = other.thickness().filter(|t| *t < spacing) {
                out.push(format!(
                    "points of {} are {} apart but {} is about {} thick: it can pass between them unnoticed by contacts (the bound of the distance says by how much); use --spacing {} or less",
                    points.title,
                    units::length(spacing),
                    other.title,
                    units::length(t),
                    option(0.5 * t)
                ));
            }
            let room = other.shape.field().lattice().aabb().extent().max_element();
            if spacing > room {
                out.push(format!(
                    "the whole of {} ({}) is smaller than the spacing of the points of {} ({}): hardly any of them can be in it; use --points-of {}",
                    other.title,
                    units::length(room),
                    points.title,
                    units::length(spacing),
                    if core::ptr::eq(other, &self.a) { "a" } else { "b" }
                ));
            }
        }
        out
    }
}

/// A length as an option of the program takes it.
pub(crate) fn option(metres: f64) -> String {
    units::length(metres).replace(' ', "").replace("µm", "um")
}
