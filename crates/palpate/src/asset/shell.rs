//! The shell of a file: its arrays, and what must hold of them before a tree is built over them.

use super::error::Problem;
use super::read::{MAX_TRIANGLE, Parts, damaged};
use super::{Asset, AssetError, StoredShell, layout};
use crate::math::Aabb;
use crate::shell::{MOST_ACROSS, Shell, ShellReport};
use glam::{DVec3, Vec3};

/// Points may lie this far outside the surface's box, by rounding to f32 [largest extent of the box].
const OUTSIDE: f64 = 1e-6;
/// How far from 1 the length of a normal may be.
const UNIT: f32 = 1e-3;

impl Asset {
    /// The points on the surface; none when the file has none. Copies them, every number checked: 32 bytes a point.
    ///
    /// They come back bit for bit as they were written.
    pub fn shell(&self) -> Result<Option<Shell>, AssetError> {
        let Some(stored) = &self.shell else { return Ok(None) };
        let Some(field) = &self.field else {
            let problem = Problem::new(&layout::SHELL, "has no field beside it");
            return Err(damaged(problem, &self.file));
        };
        read(stored, field.report.surface).map(Some).map_err(|p| damaged(p, &self.file))
    }
}

impl Parts<'_> {
    /// The shell's arrays. Values are checked when the shell is asked for.
    pub(super) fn shell(&self, report: ShellReport, origin: DVec3) -> Result<StoredShell, Problem> {
        let n = report.entries;
        Ok(StoredShell {
            origin,
            positions: self.array(layout::POINTS, 3 * n, "", |_| true)?,
            normals: self.array(layout::NORMALS, 3 * n, "", |_| true)?,
            areas: self.array(layout::AREAS, n, "", |_| true)?,
            triangles: self.array(layout::POINT_TRIANGLES, n, "", |_| true)?,
            report,
        })
    }
}

fn read(stored: &StoredShell, surface: Aabb) -> Result<Shell, Problem> {
    let StoredShell { origin, report, .. } = stored;
    let wrong = |name: &[u8], text: String| Err(Problem::new(name, text));
    let extent = surface.extent();
    let (spacing, largest) = (report.spacing, extent.max_element());
    // What a build refuses, and what would make the tree's sums overflow.
    if !(spacing > 0.0 && spacing * MOST_ACROSS >= largest && (spacing as f32).is_finite()) {
        return wrong(&layout::SHELL, format!("has {spacing} m as spacing of a surface of {largest} m"));
    }
    let vectors = |from: &[f32]| -> Vec<Vec3> {
        bytemuck::cast_slice(from).iter().map(|v: &[f32; 3]| Vec3::from_array(*v)).collect()
    };
    let (positions, normals) = (vectors(&stored.positions), vectors(&stored.normals));
    let room = surface.padded(OUTSIDE * largest);
    // Comparisons are written so that NaN fails.
    if let Some(i) = positions.iter().position(|p| !room.contains(*origin + p.as_dvec3())) {
        let p = positions[i];
        return wrong(&layout::POINTS, format!("has point {i} at {p}, outside the surface's box"));
    }
    let places = positions.len().min(1) + positions.windows(2).filter(|w| w[0] != w[1]).count();
    // Balls of half the spacing around the points are disjoint, in a box larger by as much: no more than fit.
    let fit = 1.91 * (extent / spacing + DVec3::ONE).to_array().iter().product::<f64>() + 1.0;
    if places != report.points || places as f64 > fit {
        let text = format!("has {places} places, not {}, for a spacing of {spacing} m", report.points);
        return wrong(&layout::POINTS, text);
    }
    let unit = |n: &Vec3| (n.length() - 1.0).abs() <= UNIT;
    if let Some(i) = normals.iter().position(|n| !unit(n)) {
        return wrong(&layout::NORMALS, format!("has {} at point {i}", normals[i]));
    }
    if let Some(i) = stored.areas.iter().position(|a| !(*a >= 0.0 && a.is_finite())) {
        return wrong(&layout::AREAS, format!("has {} m² at point {i}", stored.areas[i]));
    }
    if let Some(i) = stored.triangles.iter().position(|t| *t >= MAX_TRIANGLE) {
        return wrong(&layout::POINT_TRIANGLES, format!("has triangle {} at point {i}", stored.triangles[i]));
    }
    let (areas, triangles) = (stored.areas.to_vec(), stored.triangles.to_vec());
    Ok(Shell { origin: *origin, positions, normals, areas, triangles, report: report.clone() })
}
