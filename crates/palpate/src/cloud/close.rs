//! The solid that points enclose: inside is where the surface goes around, its place is that of the points.
//!
//! Based on: barill18 (inside and outside of points).
//! Differs: where points are, their planes say where the surface is, to a small part of the spacing; the winding number says so only
//! where they are not, and so closes holes.

use super::Surfels;
use super::local::{Local, Near, Reading};
use super::solid::{Memory, Place, Solid, SolidParams, extract};
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

/// Winding numbers this far from 1/2 say clearly what is inside [1].
const CLEAR: f32 = 0.2;

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
/// Cost: about 50 µs and 1 kB a point, shared by the threads.
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
    params.check_for(s, 0.0)?;
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
    let reading = Reading { voxel, support, wanted: [0.0, 1.0], unsigned: false, planar: true };
    let near = Near::build(s, reading, params.max_memory)?;
    let value = |node: &Local, place: Place, memory: &mut Memory| {
        let mut outside = |scale: f32| 3.0 * scale * (0.5 - around(&winding, place, voxel as f32, memory));
        if node.near == NONE {
            return outside(spacing as f32);
        }
        let scale = s.scale[node.near as usize];
        let t = ((node.aside / scale - ASIDE[0]) / (ASIDE[1] - ASIDE[0])).clamp(0.0, 1.0);
        if t == 0.0 {
            return node.height;
        }
        let t = t * t * (3.0 - 2.0 * t);
        (1.0 - t) * node.height + t * outside(scale)
    };
    let mut solid = extract(&near, voxel, params.max_memory, progress, value)?;
    solid.report.support = params.support * spacing;
    solid.report.confidence = (1.0 - contradicted) * s.report.confidence();
    Ok(solid)
}

/// The winding number of a node: between those of every fourth where these agree about inside and outside, as it changes little away
/// from points; else its own. A tenth of the time.
fn around(winding: &Winding<'_>, place: Place, voxel: f32, memory: &mut Memory) -> f32 {
    let (low, t) = (place.k.map(|k| k / 4), place.k.map(|k| (k % 4) as f32 / 4.0));
    let (mut sum, mut least, mut most) = (0.0, f32::INFINITY, f32::NEG_INFINITY);
    for o in 0..8usize {
        let at: [usize; 3] = core::array::from_fn(|a| low[a] + (o >> a & 1));
        let known = &mut memory.coarse[at[0] + 3 * (at[1] + 3 * at[2])];
        if known.is_nan() {
            let p = place.corner + 4.0 * voxel * Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32);
            *known = winding.local(p, &mut memory.stack);
        }
        let weight: f32 = (0..3).map(|a| if o >> a & 1 == 1 { t[a] } else { 1.0 - t[a] }).product();
        sum += weight * *known;
        (least, most) = (least.min(*known), most.max(*known));
    }
    if least > 0.5 + CLEAR || most < 0.5 - CLEAR { sum } else { winding.local(place.p, &mut memory.stack) }
}

/// Share of the surface beside which the winding number contradicts the normals [1].
fn contradicted(s: &Surfels, winding: &Winding<'_>) -> f64 {
    let step = s.len().div_ceil(TRIED);
    let tried = par::map(s.len().div_ceil(step), |k| {
        let i = k * step;
        if !s.is_planar(i) {
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
