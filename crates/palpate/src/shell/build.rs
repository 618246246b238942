//! Building a shell: features, the two phases, coverage, areas and normals, in this order.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, section 4 [sagardia08]; Sagardia, Stouraitis, Lopes e Silva, 2014,
//! section 2.1.2 [sagardia14].
//! Differs: see `sample.rs`; sharp edges are sampled first; the surface is covered without exception; points carry areas.

use super::areas::{self, Cover};
use super::faces::{Faces, area};
use super::sample::{self, Voxels};
use super::table::Cells;
use super::{
    Entry, MOST_ACROSS, Normals, Points, Shell, ShellError, ShellParams, ShellReport, features, normals,
};
use crate::field::Field;
use crate::math::Aabb;
use crate::mesh::Mesh;
use crate::par;
use crate::progress::{Progress, Silent};
use glam::{DVec3, Vec3};

/// Points per spacing² that even an uneven covering has at least [1]: discs of the spacing as radius, without overlap.
const SPARSEST: f64 = 0.3;
/// Points per spacing² of shells as built, for estimates [1].
const TYPICAL: f64 = 0.75;
/// Pairs of triangle and voxel allowed for each point allowed, and in addition to that: bounds time and memory for soups of long
/// needles.
const PAIRS: (f64, f64) = (32.0, 1e7);
/// Free voxels below and above the surface. Not whole: the faces of a box would lie between voxels and count for two layers.
const PADDING: (f64, f64) = (2.382, 2.0);

impl Shell {
    /// Points on the surface of `mesh`, caps of its holes included, at least `spacing` apart [m], with normals from `field`.
    ///
    /// No two positions are nearer than `spacing`, and no point of the surface is farther than `report().radius` from one;
    /// the radius is at most 1.0002 spacings, besides the rounding of positions to f32. Areas add up to that of the surface to f32 rounding.
    /// About 0.75 · area / spacing² points. Time grows with their number and with that of the triangles: about 4 µs of processor time
    /// a point where triangles are as large as cells, 1 µs a triangle where they are much smaller.
    pub fn build(mesh: &Mesh, field: &Field, spacing: f64, params: &ShellParams) -> Result<Self, ShellError> {
        Self::build_with(mesh, field, spacing, params, &Silent)
    }

    /// As [`Shell::build`], reporting progress; stops with [`ShellError::Cancelled`] when asked to.
    pub fn build_with(
        mesh: &Mesh,
        field: &Field,
        spacing: f64,
        params: &ShellParams,
        progress: &dyn Progress,
    ) -> Result<Self, ShellError> {
        params.check()?;
        if !(spacing.is_finite() && spacing > 0.0) {
            return Err(ShellError::BadSpacing { spacing });
        }
        par::with_threads(params.threads, || build(mesh, field, spacing, params, progress))
    }
}

fn build(
    mesh: &Mesh,
    field: &Field,
    spacing: f64,
    params: &ShellParams,
    progress: &dyn Progress,
) -> Result<Shell, ShellError> {
    progress.stage("faces", 0);
    let faces = Faces::new(mesh, field.report().caps() > 0);
    check_field(&faces, field)?;
    let extent = faces.aabb.extent().max_element();
    if extent > spacing * MOST_ACROSS || (spacing as f32).powi(2) < f32::MIN_POSITIVE * 1e8 {
        let suggested = 1.01 * (extent / MOST_ACROSS).max(1e-14);
        return Err(ShellError::TooFine { spacing, extent, suggested });
    }
    // How far f32 moves a position, and the voxels, slightly larger than spacing / alpha, so that on a flat face neighbours along
    // a diagonal are just far enough apart with the usual alpha.
    let rounding = extent * f64::from(f32::EPSILON);
    let voxel = (spacing * (1.0 + 1e-5) + 4.0 * rounding) / params.alpha;
    check_size(&faces, spacing, voxel, params)?;
    // Squared distances in f32 are off by three roundings at most.
    let limit_sq = ((spacing * spacing * (1.0 + 1e-6)) as f32).next_up();

    progress.stage("features", 0);
    let cell = spacing as f32 * 1.001 + 8.0 * rounding as f32;
    let cells = Cells { low: faces.aabb.min.as_vec3() - 2.0 * cell, inverse: 1.0 / cell };
    let cos_angle = params.feature_angle.cos() as f32;
    let mut points = features::sample(&faces, cos_angle, spacing + 4.0 * rounding, cells, limit_sq);
    let feature_points = points.len();
    if progress.cancelled() {
        return Err(ShellError::Cancelled);
    }

    let voxels = Voxels {
        low: faces.aabb.min - PADDING.0 * voxel,
        size: voxel,
        dims: (faces.aabb.extent() / voxel).to_array().map(|e| (e + PADDING.0 + PADDING.1).ceil() as u32),
    };
    let sampled = sample::sample(&faces, &voxels, spacing, limit_sq, &points.positions, progress);
    let (kept, counts) = sampled.ok_or(ShellError::Cancelled)?;
    for k in &kept {
        let entry = Entry { normal: faces.normals[k.triangle as usize], triangle: k.triangle };
        points.push(k.position, &[entry]);
    }
    let cover = areas::cover(&faces, &mut points, spacing, limit_sq, rounding, params.max_points, progress);
    let cover = cover.ok_or(ShellError::Cancelled)?;
    if points.len() > params.max_points {
        return Err(too_many(points.len() as f64, spacing, params));
    }

    progress.stage("normals", 0);
    let voxmap = match params.normals {
        Normals::Field => None,
        Normals::Voxels => Some(normals::voxmap(mesh, voxel)?),
    };
    normals::set(&mut points, &faces, field, params.normals, voxmap.as_ref());
    let report = ShellReport {
        spacing,
        radius: cover.radius,
        area: 0.0,
        entries: points.entries.len(),
        points: points.len(),
        feature_points,
        recovered: kept.iter().filter(|k| k.recovered).count(),
        filled: cover.added,
        voxel,
        surface_voxels: counts.voxels,
        interior_projections: counts.interior,
        boundary_projections: counts.boundary,
        recovered_projections: counts.second,
    };
    Ok(gather(faces.origin, &points, &cover, report))
}

/// The shell in the order of the cover.
fn gather(origin: DVec3, points: &Points, cover: &Cover, report: ShellReport) -> Shell {
    let n = points.entries.len();
    let mut shell = Shell {
        origin,
        positions: Vec::with_capacity(n),
        normals: Vec::with_capacity(n),
        areas: Vec::with_capacity(n),
        triangles: Vec::with_capacity(n),
        report,
    };
    for &p in &cover.order {
        let first = points.starts[p as usize] as usize;
        for (i, e) in points.entries_of(p).iter().enumerate() {
            shell.positions.push(points.positions[p as usize]);
            shell.normals.push(if e.normal == Vec3::ZERO { Vec3::Z } else { e.normal });
            shell.areas.push(cover.areas[first + i] as f32);
            shell.triangles.push(e.triangle);
        }
    }
    shell.report.area = shell.areas.iter().map(|a| f64::from(*a)).sum();
    shell
}

/// Refuses a field whose surface has another box than the mesh.
fn check_field(faces: &Faces<'_>, field: &Field) -> Result<(), ShellError> {
    let (surface, voxel) = (field.report().surface, field.lattice().voxel);
    let mesh = Aabb { min: faces.aabb.min + faces.origin, max: faces.aabb.max + faces.origin };
    let off = (surface.min - mesh.min).abs().max((surface.max - mesh.max).abs()).max_element();
    if off <= voxel { Ok(()) } else { Err(ShellError::OtherField { field: surface, mesh }) }
}

/// Refuses what would surely be too many points, or far too much work, before any is done.
fn check_size(faces: &Faces<'_>, spacing: f64, voxel: f64, params: &ShellParams) -> Result<(), ShellError> {
    let (mut total, mut pairs) = (0.0, 0.0);
    for t in 0..faces.len() {
        let [a, b, c] = faces.corners(t);
        let around = (b - a).length() + (c - b).length() + (a - c).length();
        let area = area([a, b, c]);
        total += area;
        pairs += 2.0 * area / (voxel * voxel) + 1.5 * around / voxel;
    }
    let least = SPARSEST * total / (spacing * spacing);
    let allowed = params.max_points as f64;
    if least > allowed {
        return Err(too_many(TYPICAL / SPARSEST * least, spacing, params));
    }
    if pairs > PAIRS.0 * allowed + PAIRS.1 {
        return Err(too_many(pairs / PAIRS.0, spacing, params));
    }
    Ok(())
}

fn too_many(points: f64, spacing: f64, params: &ShellParams) -> ShellError {
    let suggested = spacing * (points / params.max_points as f64).sqrt() * 1.1;
    ShellError::TooManyPoints { spacing, points, allowed: params.max_points, suggested }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
