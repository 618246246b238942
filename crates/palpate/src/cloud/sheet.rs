//! A sheet of stated thickness along points: for open scans, and for points without an inside.
//!
//! The surface is where the distance from the points' own is half the thickness. Which way normals point does not matter. Beyond the
//! outermost points the sheet goes on for about half a spacing, and ends round. Points on lines and scattered ones become
//! tubes and balls.

use super::Surfels;
use super::local::{Local, Near, Reading};
use super::solid::{Memory, Place, Solid, SolidParams, extract};
use super::surfels::{NONE, ReconstructError};
use crate::par;
use crate::progress::{Progress, Silent};

/// Voxels, unless said otherwise: of the spacing and of the thickness, whichever is less [1]. Faces of a sheet are planes between nodes
/// on one side of its middle if it is two voxels thick.
const VOXEL: [f64; 2] = [0.75, 1.0 / 3.0];

/// Least thickness of the spacing [1] and of the roughness [1]: local surfaces of neighbours must meet.
const LEAST: [f64; 2] = [0.25, 4.0];

/// Least thickness where points are in a line or scattered, of the distance to the second nearest [1]: balls must overlap.
const LEAST_BALLS: f64 = 1.25;

/// Share of points in lines or scattered that may stay alone [1].
const STRAYS: f64 = 0.1;

/// Beyond the border is where the middle of the points is farther beside than this [scales]: at the border itself it is 0.7. Larger: the
/// sheet goes on farther; smaller: gaps between irregular points make dents.
const BESIDE: f32 = 1.0;

/// The closed surface at half of `thickness` [m] around the points' own, in the cloud's frame.
///
/// Always watertight; its faces are as accurate as those of [`close`](super::close). Cost: about 50 µs and 2 kB a point, and more for
/// a sheet that is thick or thin against the spacing.
///
/// # Errors
/// [`ReconstructError::TooThin`] for a thickness that does not hold together between the points, with one that does: a quarter of the
/// spacing on smooth surfaces, 1.25 spacings along lines. A voxel for which memory does not do, parameters out of range.
pub fn sheet(surfels: &Surfels, thickness: f64, params: &SolidParams) -> Result<Solid, ReconstructError> {
    sheet_with(surfels, thickness, params, &Silent)
}

/// As [`sheet`], reporting progress.
pub fn sheet_with(
    surfels: &Surfels,
    thickness: f64,
    params: &SolidParams,
    progress: &dyn Progress,
) -> Result<Solid, ReconstructError> {
    params.check()?;
    if !(thickness > 0.0 && thickness.is_finite()) {
        let range = "a positive length";
        return Err(ReconstructError::BadParameter { name: "thickness", value: thickness, range });
    }
    par::with_threads(params.threads, || run(surfels, thickness, params, progress))
}

fn run(
    s: &Surfels,
    thickness: f64,
    params: &SolidParams,
    progress: &dyn Progress,
) -> Result<Solid, ReconstructError> {
    params.check_for(s, thickness)?;
    let spacing = s.report.spacing;
    let voxel = params.voxel.unwrap_or((VOXEL[0] * spacing).min(VOXEL[1] * thickness));
    let least = least(s).max(2.0 * params.voxel.unwrap_or(0.0));
    // Rounding of the suggestion itself must do.
    if thickness < least * (1.0 - 1e-3) {
        return Err(ReconstructError::TooThin { thickness, least });
    }
    let half = 0.5 * thickness as f32;
    let wanted = [half, 1.5];
    let reading = Reading { voxel, support: params.support as f32, wanted, unsigned: true, planar: false };
    let near = Near::build(s, reading, params.max_memory)?;
    let value = |node: &Local, _: Place, _: &mut Memory| {
        if node.near == NONE {
            return 2.0 * half;
        }
        let i = node.near as usize;
        if !s.planar[i] {
            return node.distance - half;
        }
        let beyond = (node.aside - BESIDE * s.scale[i]).max(0.0);
        let value = node.height.hypot(beyond) - half;
        // A stray point has its plane from others: it counts only near by.
        if s.stray[i] { value.max(node.distance - half - spacing as f32) } else { value }
    };
    let mut solid = extract(&near, voxel, params.max_memory, progress, value)?;
    // The points are in the middle of the sheet: what they differ from their own planes is what is known.
    solid.report.residual = s.report.roughness;
    // Its faces are away from the points by intent.
    (solid.report.holes, solid.report.bridged) = (0, 0.0);
    solid.report.support = params.support * spacing;
    solid.report.confidence = 1.0;
    Ok(solid)
}

/// The least thickness that holds together [m].
fn least(s: &Surfels) -> f64 {
    let surface = (LEAST[0] * s.report.spacing).max(LEAST[1] * s.report.roughness);
    let mut gaps: Vec<f32> = s.second.iter().zip(&s.planar).filter(|g| !g.1).map(|g| *g.0).collect();
    if gaps.len() as f64 <= STRAYS * s.len() as f64 {
        return surface;
    }
    gaps.sort_unstable_by(f32::total_cmp);
    let balls = LEAST_BALLS * f64::from(gaps[gaps.len() * 9 / 10]);
    // Where all are in lines roughness and spacing of surfaces mean nothing.
    if gaps.len() == s.len() { balls } else { surface.max(balls) }
}
