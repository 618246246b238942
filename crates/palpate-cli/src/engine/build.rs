//! From a mesh to a field, points and voxels.

use super::{Encoding, MeshInfo, Model, ModelMesh, ModelPoints, Options, Size, Voxels};
use crate::progress::Reporter;
use anyhow::{Result, bail};
use palpate::field::{self, FieldParams};
use palpate::math::Aabb;
use palpate::progress::Progress;
use palpate::shape::{self, SPACING, ShapeError, ShapeParams};
use palpate::shell::{ShellError, ShellParams};
use palpate::tree::TreeParams;
use palpate::voxmap::VoxmapParams;
use palpate::{Field, Mesh, Shell, Tree, Voxmap};
use palpate_view::units;

/// The voxel size that `options` ask for [m].
///
/// # Errors
/// When the mesh has no extent or the resolution is too small for its padding.
pub(crate) fn voxel_size(options: &Options, aabb: Aabb) -> Result<f64> {
    match options.size {
        Size::Voxel(voxel) => Ok(voxel),
        Size::Resolution(n) => match shape::Size::Resolution(n).voxel(aabb) {
            Ok(voxel) => Ok(voxel),
            Err(ShapeError::BadResolution { .. }) => {
                bail!(
                    "--resolution {n} leaves no cells for the mesh; use at least {}",
                    shape::Size::PADDING + 2
                )
            }
            Err(_) => {
                bail!("the mesh has no extent (its box is {:?} to {:?}); give --voxel", aabb.min, aabb.max)
            }
        },
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
pub(super) fn points(
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
