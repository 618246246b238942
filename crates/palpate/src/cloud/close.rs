//! The solid that points enclose: inside is where the surface goes around, its place is that of the points.
//!
//! Based on: Barill et al., Fast winding numbers for soups and clouds, 2018 [barill18] (inside and outside of points).
//! Differs: where points are, their planes say where the surface is, to a small part of the spacing; the winding number says so only
//! where they are not, and so closes holes.

use super::Surfels;
use super::local::{Local, Near, Reading, too_large};
use super::solid::{Solid, SolidParams, extract};
use super::surfels::{NONE, ReconstructError};
use super::winding::Winding;
use crate::par;
use crate::progress::{Progress, Silent};
use glam::Vec3;

/// Voxels of the usual spacing, unless said otherwise [1]: the surface between nodes is then off by a 14th of a spacing squared over
/// the radius of curvature.
const VOXEL: f64 = 0.75;

/// The planes of points count fully where the middle of the points is at most the first beside, and not at all beyond the second
/// [scales]: at the straight border of a hole it is 0.7.
const ASIDE: [f32; 2] = [0.8, 1.5];

/// Points around which inside and outside are tried, at most.
const TRIED: usize = 4096;

/// Largest share of these at which the winding number may contradict the normals [1].
const CONTRADICTED: f64 = 0.3;

/// Least share of points that lie on surfaces [1].
const PLANAR: f64 = 0.5;

/// The closed surface through oriented points, in the cloud's frame.
///
/// Always watertight. Where there are points it passes them within a few hundredths of the spacing, less where they are regular or
/// smooth; noise is averaged over the support. Edges are rounded by about half a spacing. Holes are closed by a smooth
/// surface. Parts apart are solids of their own; one inside another that faces inward is a cavity.
///
/// Cost: about 30 µs and 1 kB a point, shared by the threads.
///
/// # Errors
/// Points that do not enclose anything (see [`sheet`](super::sheet)), that are no surface, a voxel for which memory does not do, parameters
/// out of range.
pub fn close(surfels: &Surfels, params: &SolidParams) -> Result<Solid, ReconstructError> {
    close_with(surfels, params, &Silent)
}

/// As [`close`], reporting progress.
pub fn close_with(
    surfels: &Surfels,
    params: &SolidParams,
    progress: &dyn Progress,
) -> Result<Solid, ReconstructError> {
    params.check()?;
    par::with_threads(params.threads, || run(surfels, params, progress))
}

fn run(s: &Surfels, params: &SolidParams, progress: &dyn Progress) -> Result<Solid, ReconstructError> {
    let planar = 1.0 - s.report.unplanar as f64 / s.len() as f64;
    if planar < PLANAR {
        return Err(ReconstructError::NoSurface { share: planar });
    }
    progress.stage("winding", 0);
    let winding = Winding::build(s);
    let contradicted = contradicted(s, &winding);
    if contradicted > CONTRADICTED {
        return Err(ReconstructError::Open { share: contradicted });
    }
    let spacing = s.report.spacing;
    let voxel = params.voxel.unwrap_or(VOXEL * spacing);
    let support = params.support as f32;
    let reading =
        Reading { voxel, support, wanted: [2.0 * voxel as f32, 1.0], unsigned: false, planar: true };
    let near = Near::build(s, reading, params.max_memory)
        .map_err(|needed| too_large(voxel, needed, params.max_memory))?;
    let value = |node: &Local, p: Vec3, stack: &mut Vec<(u32, u32)>| {
        let outside = |scale: f32, stack: &mut Vec<(u32, u32)>| 3.0 * scale * (0.5 - winding.local(p, stack));
        if node.near == NONE {
            return outside(spacing as f32, stack);
        }
        let scale = s.scale[node.near as usize];
        let t = ((node.aside / scale - ASIDE[0]) / (ASIDE[1] - ASIDE[0])).clamp(0.0, 1.0);
        if t == 0.0 {
            return node.height;
        }
        let t = t * t * (3.0 - 2.0 * t);
        (1.0 - t) * node.height + t * outside(scale, stack)
    };
    let mut solid = extract(&near, voxel, params.max_memory, progress, value)?;
    solid.report.support = params.support * spacing;
    solid.report.confidence = (1.0 - contradicted) * s.report.confidence();
    Ok(solid)
}

/// Share of the surface beside which the winding number contradicts the normals [1].
fn contradicted(s: &Surfels, winding: &Winding<'_>) -> f64 {
    let step = s.len().div_ceil(TRIED);
    let tried = par::map(s.len().div_ceil(step), |k| {
        let i = k * step;
        if !s.planar[i] {
            return (0.0, 0.0);
        }
        let (mut stack, away) = (Vec::with_capacity(64), s.scale[i] * s.normals[i]);
        let inside = winding.local(s.points[i] - away, &mut stack) > 0.5;
        let outside = winding.local(s.points[i] + away, &mut stack) < 0.5;
        let area = f64::from(s.areas[i]);
        (area, if inside && outside { 0.0 } else { area })
    });
    let (all, bad) = tried.iter().fold((0.0, 0.0), |m, t| (m.0 + t.0, m.1 + t.1));
    if all > 0.0 { bad / all } else { 1.0 }
}
