//! Outward normals of the points.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, section 4 [sagardia08], for [`Normals::Voxels`]: the sum over the 5 x 5 x 5
//! voxels around a point of the direction to each, weighted by its layer.
//! Differs: outward instead of inward; by default the gradient of the distance field, which needs no second grid and has no steps.

use super::faces::Faces;
use super::{Normals, Points};
use crate::field::Field;
use crate::mesh::Mesh;
use crate::par;
use crate::voxmap::{BuildError, Voxmap};
use glam::{DVec3, Vec3};

/// Points per parallel work item.
const CHUNK: usize = 4096;
/// A gradient that differs from its triangle's normal by more than this angle is not that of the surface there but of an edge or a
/// far side nearby: cosine of 60°.
const AGREES: f32 = 0.5;

/// Sets the normal of each entry that stands alone at its position; those of features keep their faces'.
pub(super) fn set(
    points: &mut Points,
    faces: &Faces<'_>,
    field: &Field,
    choice: Normals,
    voxmap: Option<&Voxmap>,
) {
    let Points { positions, starts, entries } = points;
    let mut normals: Vec<Vec3> = entries.iter().map(|e| e.normal).collect();
    // The position of each entry.
    let mut at = vec![0u32; entries.len()];
    for (p, s) in starts.windows(2).enumerate() {
        at[s[0] as usize..s[1] as usize].fill(p as u32);
    }
    par::chunks_mut(&mut normals, CHUNK, |chunk, out| {
        for (i, n) in out.iter_mut().enumerate() {
            let entry = chunk * CHUNK + i;
            let p = at[entry] as usize;
            let alone = starts[p + 1] - starts[p] == 1;
            let face = entries[entry].normal;
            if !alone && face != Vec3::ZERO {
                continue;
            }
            let p = faces.origin + positions[p].as_dvec3();
            let found = match (choice, voxmap) {
                (Normals::Voxels, Some(voxmap)) => from_voxels(voxmap, p),
                _ => field.sample(p).gradient.as_vec3(),
            };
            *n = choose(found, face, choice);
        }
    });
    for (e, n) in entries.iter_mut().zip(normals) {
        e.normal = n;
    }
}

/// The found normal, unless it cannot be that of the triangle.
fn choose(found: Vec3, face: Vec3, choice: Normals) -> Vec3 {
    // Unit as seen by f32; a gradient of half a unit or less is a fold of the field.
    let weak = choice == Normals::Field && found.length_squared() < 0.25;
    let unit = found.try_normalize();
    match unit {
        Some(n) if face == Vec3::ZERO => n,
        Some(n) if choice == Normals::Voxels => n,
        Some(n) if !weak && n.dot(face) >= AGREES => n,
        None if face == Vec3::ZERO => Vec3::Z,
        _ => face,
    }
}

/// The sum of the paper; zero where it has no direction.
fn from_voxels(voxmap: &Voxmap, p: DVec3) -> Vec3 {
    let Some([i, j, k]) = voxmap.grid().voxel_at(p) else { return Vec3::ZERO };
    let mut sum = [0i32; 3];
    for z in -2..=2 {
        for y in -2..=2 {
            for x in -2..=2 {
                let to = |c: u32, d: i32| c.checked_add_signed(d);
                let (Some(a), Some(b), Some(c)) = (to(i, x), to(j, y), to(k, z)) else { continue };
                let layer = voxmap.layer([a, b, c]).unwrap_or(0);
                sum[0] += layer * x;
                sum[1] += layer * y;
                sum[2] += layer * z;
            }
        }
    }
    Vec3::new(sum[0] as f32, sum[1] as f32, sum[2] as f32)
}

/// The voxel map the voxel normals are read from.
pub(super) fn voxmap(mesh: &Mesh, voxel: f64) -> Result<Voxmap, BuildError> {
    let params = crate::voxmap::VoxmapParams { layers: 2, ..Default::default() };
    Voxmap::build(mesh, voxel, &params)
}
