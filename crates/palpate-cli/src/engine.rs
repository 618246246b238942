//! Every call into the engine, and the plain values the commands show.
//!
//! The commands know only this file and `saved`, which keeps models in files.

use crate::progress::Reporter;
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::asset::Asset;
use palpate::field::iso::{IsoGrid, iso_surface};
use palpate::field::{self, Exact, FieldParams, FieldReport};
use palpate::math::Aabb;
use palpate::mesh::{HoleOutcome, MeshReport, RawMesh, RepairParams, samples};
use palpate::progress::Progress;
use palpate::shape::{SPACING, ShapeParams};
use palpate::shell::{ShellError, ShellParams, ShellReport};
use palpate::tree::TreeParams;
use palpate::voxmap::VoxmapParams;
use palpate::{Field, Mesh, Shape, Shell, Tree, Voxmap};
use palpate_view::units;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

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
    /// How the sign is found; none before a field was built.
    pub(crate) sign_method: Option<String>,
    /// Holes that are the rim of a sheet, and holes that form no closed loop: neither is capped.
    pub(crate) sheets: usize,
    pub(crate) unclosable: usize,
}

impl MeshInfo {
    /// Takes what a field's build found out about the mesh.
    pub(crate) fn learn(&mut self, report: &FieldReport) {
        let count = |outcome| report.holes.iter().filter(|h| h.outcome == outcome).count();
        self.sign_method = Some(report.sign_method.name().to_owned());
        self.sheets = count(HoleOutcome::Sheet);
        self.unclosable = count(HoleOutcome::Unclosable);
    }
}

/// What a built field is and promises.
#[derive(Clone, Debug)]
pub(crate) struct FieldInfo {
    /// [m]
    pub(crate) voxel: f64,
    /// Distance of shell points, their number and the tree's levels; none for a field alone [m].
    pub(crate) spacing: Option<f64>,
    pub(crate) dims: [u64; 3],
    pub(crate) bricks: u64,
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

/// The voxel map that `--layers` asks for, in numbers.
#[derive(Clone, Debug)]
pub(crate) struct Voxels {
    pub(crate) surface: u64,
    pub(crate) inside: u64,
    /// Layers outward, and as many inward.
    pub(crate) layers: u64,
    /// Whether the outside reached in through a hole.
    pub(crate) leaks: bool,
    pub(crate) bytes: u64,
}

/// Where a model's mesh is.
#[derive(Debug)]
pub(crate) enum ModelMesh {
    Built(Box<Mesh>),
    /// Made when first asked for: distances do not need it.
    InFile(Box<(Asset, OnceLock<Mesh>)>),
}

/// A mesh with its field.
#[derive(Debug)]
pub(crate) struct Model {
    mesh: ModelMesh,
    pub(crate) mesh_info: MeshInfo,
    pub(crate) info: FieldInfo,
    /// The box the field covers.
    pub(crate) frame: Aabb,
    pub(crate) voxels: Option<Voxels>,
    /// What the user should know about how it was built.
    pub(crate) notes: Vec<String>,
    /// Up in pictures, as the mesh's own file has it; none where that is not known.
    pub(crate) up: Option<DVec3>,
    field: Field,
    points: Option<ModelPoints>,
    /// The surface itself, when the build has just made it.
    exact: Option<Exact>,
}

/// A model's points.
#[derive(Debug)]
pub(crate) struct ModelPoints {
    pub(crate) shell: Shell,
    pub(crate) tree: Tree,
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
    mut mesh_info: MeshInfo,
    options: &Options,
    reporter: &Reporter,
) -> Result<Model> {
    let voxel = voxel_size(options, mesh_info.aabb)?;
    // A wider band and an exact background, as shapes have them, with points or without: the same answers from either.
    let defaults = ShapeParams::default().field;
    let params = FieldParams {
        band: options.band.unwrap_or(defaults.band),
        padding: options.padding.unwrap_or(defaults.padding),
        encoding: match options.encoding {
            Encoding::Float => field::Encoding::Float,
            Encoding::Scaled => field::Encoding::Scaled { precision: options.precision },
            Encoding::Layered => field::Encoding::Layered,
        },
        keep_triangles: options.triangles,
        max_memory: options.max_memory,
        threads: options.threads,
        ..defaults
    };
    let cancelled = |error: anyhow::Error| match reporter.check() {
        // A cancelled build says so in its own words; Ctrl-C is what the user did.
        Err(stopped) => stopped,
        Ok(()) => error,
    };
    let (field, exact) =
        Field::build_with_exact(&mesh, voxel, &params, reporter).map_err(|e| cancelled(e.into()))?;
    mesh_info.learn(field.report());
    let mut notes = Vec::new();
    let points = options.points.then(|| points(&mesh, &field, options, reporter, &mut notes));
    let points = points.transpose().map_err(cancelled)?;
    let voxels = options.layers.map(|layers| voxels(&mesh, voxel, layers, options, reporter));
    let voxels = voxels.transpose().map_err(cancelled)?;
    let mut model = Model::new(ModelMesh::Built(Box::new(mesh)), mesh_info, field, voxels);
    model.notes = notes;
    model.exact = Some(exact);
    if let Some(points) = points {
        model.info.learn(points.shell.report(), points.tree.levels());
        model.points = Some(points);
    }
    Ok(model)
}

/// Times a spacing that was not asked for may grow until the points are few enough.
const WIDER: usize = 4;
/// Memory of a point in a shell, its tree and while they are built [bytes].
const POINT_BYTES: u64 = 400;

/// The points of a surface and their tree. Where the default spacing would give too many, a wider one is taken and
/// noted.
fn points(
    mesh: &Mesh,
    field: &Field,
    options: &Options,
    reporter: &Reporter,
    notes: &mut Vec<String>,
) -> Result<ModelPoints> {
    let mut params = ShellParams { threads: options.threads, ..ShellParams::default() };
    if let Some(limit) = options.max_memory {
        params.max_points = params.max_points.min((limit / POINT_BYTES).max(1000) as usize);
    }
    let usual = SPACING * field.lattice().voxel;
    let mut spacing = options.spacing.unwrap_or(usual);
    let mut tries = 0;
    let shell = loop {
        match Shell::build_with(mesh, field, spacing, &params, reporter) {
            Ok(shell) => break shell,
            Err(ShellError::TooManyPoints { suggested, .. } | ShellError::TooFine { suggested, .. })
                if options.spacing.is_none() && tries < WIDER && suggested > spacing =>
            {
                (spacing, tries) = (suggested, tries + 1);
            }
            Err(error) => return Err(error.into()),
        }
    };
    if tries > 0 {
        notes.push(format!(
            "points are {} apart, not two voxels ({}): more than {} would be needed; set --spacing, or --no-points for a field alone",
            units::length(spacing),
            units::length(usual),
            units::count(params.max_points as u64)
        ));
    }
    reporter.stage("tree of points", 0);
    let tree = Tree::build(&shell, &TreeParams { threads: options.threads, ..TreeParams::default() });
    Ok(ModelPoints { shell, tree })
}

fn voxels(mesh: &Mesh, voxel: f64, layers: u32, options: &Options, reporter: &Reporter) -> Result<Voxels> {
    let params = VoxmapParams {
        layers,
        threads: options.threads,
        max_memory: options.max_memory,
        ..VoxmapParams::default()
    };
    let map = Voxmap::build_with(mesh, voxel, &params, reporter)?;
    let fill = map.fill_report();
    Ok(Voxels {
        surface: fill.surface_voxels,
        inside: fill.inside_voxels,
        layers: u64::from(layers),
        leaks: fill.leaks,
        bytes: map.memory_bytes(),
    })
}

fn field_info(field: &Field) -> FieldInfo {
    let (report, lattice) = (field.report(), field.lattice());
    FieldInfo {
        voxel: lattice.voxel,
        spacing: None,
        dims: lattice.dims().map(u64::from),
        bricks: report.bricks as u64,
        points: None,
        levels: None,
        bytes: report.bytes as u64,
        sign_method: report.sign_method.name().to_owned(),
        sign_confidence: report.sign_confidence,
        caps: report.caps() as u64,
        error_bound_band: report.error_bound_band,
        error_bound_far: report.error_bound_far,
    }
}

impl FieldInfo {
    /// Takes what is known about the points.
    pub(crate) fn learn(&mut self, report: &ShellReport, levels: usize) {
        self.spacing = Some(report.spacing);
        self.points = Some(report.points as u64);
        self.levels = Some(levels as u64);
    }
}

impl Model {
    pub(crate) fn new(mesh: ModelMesh, mesh_info: MeshInfo, field: Field, voxels: Option<Voxels>) -> Self {
        let (info, frame) = (field_info(&field), field.lattice().aabb());
        Self {
            mesh,
            mesh_info,
            info,
            frame,
            voxels,
            notes: Vec::new(),
            up: None,
            field,
            points: None,
            exact: None,
        }
    }

    /// The points, for a file; none where there are none or they are still in one.
    pub(crate) fn shell(&self) -> Option<&Shell> {
        self.points.as_ref().map(|p| &p.shell)
    }

    /// What queries need: the points are those of the model, or new ones if it has none or `options` ask for another
    /// spacing, which is noted.
    ///
    /// # Errors
    /// When the file is damaged there, or points of that spacing cannot be made.
    pub(crate) fn into_shape(
        mut self,
        options: &Options,
        reporter: &Reporter,
    ) -> Result<(Shape, FieldInfo, Vec<String>)> {
        let other = |have: f64| options.spacing.is_some_and(|s| (s / have - 1.0).abs() > 1e-9);
        self.mesh()?;
        let (mesh, asset) = match self.mesh {
            ModelMesh::Built(mesh) => (*mesh, None),
            ModelMesh::InFile(both) => {
                let (asset, kept) = *both;
                (kept.into_inner().context("the file holds no mesh; build it again")?, Some(asset))
            }
        };
        let kept = asset.as_ref().and_then(|a| a.shell_report().map(|r| r.spacing));
        let tree = match (self.points.take(), asset) {
            (Some(points), _) => points.tree,
            (None, Some(asset)) if kept.is_some_and(|s| !other(s)) => {
                reporter.stage("tree of points", 0);
                let shell = asset.shell()?.context("the file holds no points; build it again")?;
                let params = TreeParams { threads: options.threads, ..TreeParams::default() };
                Tree::build(&shell, &params)
            }
            (None, _) => {
                match kept {
                    Some(spacing) => self.notes.push(format!(
                        "its points are {} apart in the file; those of --spacing were made now",
                        units::length(spacing)
                    )),
                    None => self.notes.push(
                        "it holds no points; they were made now: build it again to keep them".to_owned(),
                    ),
                }
                points(&mesh, &self.field, options, reporter, &mut self.notes)?.tree
            }
        };
        self.info.learn(tree.shell_report(), tree.levels());
        let exact = match self.exact {
            Some(exact) => exact,
            None => {
                reporter.stage("surface", 0);
                let params = FieldParams {
                    cap_holes: self.field.report().caps() > 0,
                    threads: options.threads,
                    ..FieldParams::default()
                };
                Exact::build(&mesh, self.field.lattice().voxel, &params)?
            }
        };
        reporter.stage("far distances", 0);
        Ok((Shape::from_parts(mesh, self.field, exact, tree), self.info, self.notes))
    }

    /// The cleaned mesh.
    ///
    /// # Errors
    /// When the file it lies in is damaged there.
    pub(crate) fn mesh(&self) -> Result<&Mesh> {
        match &self.mesh {
            ModelMesh::Built(mesh) => Ok(mesh),
            ModelMesh::InFile(both) => {
                let (asset, kept) = &**both;
                if kept.get().is_none()
                    && let Some(mesh) = asset.mesh()?
                {
                    let _ = kept.set(mesh);
                }
                kept.get().context("the file holds no mesh; build it again")
            }
        }
    }

    pub(crate) fn field(&self) -> &Field {
        &self.field
    }

    /// Signed distance at `p`, negative inside [m], and its gradient, outward.
    pub(crate) fn sample(&self, p: DVec3) -> (f64, DVec3) {
        let s = self.field.sample(p);
        (s.distance, s.gradient)
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
        let lattice = self.field.lattice();
        (lattice.origin, lattice.dims().map(|n| n as usize + 1))
    }

    /// The surface at distance `level` [m].
    ///
    /// # Errors
    /// When it has too many triangles for a mesh.
    pub(crate) fn iso_surface(&self, level: f64) -> Result<RawMesh> {
        let lattice = self.field.lattice();
        let upper = lattice.dims().map(i64::from);
        let grid = IsoGrid { origin: lattice.origin, voxel: lattice.voxel, lower: [0; 3], upper };
        // A block whose middle is farther from the level than its corners can make up for holds no surface.
        let half = 0.5 * (field::iso::BLOCK as f64) * lattice.voxel;
        let reach = self.field.report().lipschitz * half * 3.0_f64.sqrt() * 1.001 + lattice.voxel;
        let all = grid.blocks();
        let near = palpate::par::map(all.len(), |i| {
            let corner = DVec3::from_array(all[i].map(|b| (b * field::iso::BLOCK) as f64));
            let middle = lattice.origin + lattice.voxel * corner + DVec3::splat(half);
            (self.distance(middle) - level).abs() <= reach
        });
        let blocks: Vec<[i64; 3]> = all.iter().zip(near).filter(|(_, n)| *n).map(|(b, _)| *b).collect();
        Ok(iso_surface(&grid, &blocks, level as f32, |ijk| self.distance(grid.position(ijk)) as f32)?)
    }

    /// The cells of a grid of `voxel` [m] that the surface meets, and the position of cell (0, 0, 0).
    ///
    /// # Errors
    /// When the grid would be too large.
    pub(crate) fn surface_cells(&self, voxel: f64) -> Result<(Vec<[i32; 3]>, DVec3)> {
        let params = VoxmapParams { layers: 0, ..VoxmapParams::default() };
        let map = Voxmap::build(self.mesh()?, voxel, &params)?;
        let cells = map.surface_voxels().map(|c| c.map(|i| i as i32)).collect();
        Ok((cells, map.grid().origin))
    }
}
