//! The background grid: the exact distance at every eighth node, whatever its distance.

use super::bvh::Bvh;
use super::lattice::Lattice;
use super::scan::{BRICK, NONE};
use super::surface::Surface;
use crate::par;
use crate::progress::Progress;
use glam::DVec3;

/// Signed distances [voxels] and closest triangles of all background nodes, x fastest.
///
/// The sign is the pseudonormal's. Each row starts from the last triangle of its neighbourhood, so searches are short.
pub(crate) fn background(
    surface: &Surface,
    bvh: &Bvh,
    lattice: &Lattice,
    known: impl Fn([usize; 3]) -> Option<(f32, u32)> + Sync + Send,
    progress: &dyn Progress,
) -> (Vec<f32>, Vec<u32>) {
    let [nx, ny, nz] = lattice.corners();
    progress.stage("background", nz as u64);
    // One layer a work item: rows of a layer hand their triangles on.
    let layers = par::map(nz, |k| {
        let mut distances = Vec::with_capacity(nx * ny);
        let mut triangles: Vec<u32> = Vec::with_capacity(nx * ny);
        for j in 0..ny {
            for i in 0..nx {
                let (d, t) = known([i, j, k]).unwrap_or_else(|| {
                    // The neighbour with the smaller distance is the better guess.
                    let left = (i > 0).then(|| distances.len() - 1);
                    let below = (j > 0).then(|| distances.len() - nx);
                    let nearer = |a: &usize, b: &usize| {
                        let d = |n: usize| f32::abs(distances[n]);
                        d(*a).total_cmp(&d(*b))
                    };
                    let guess = left.into_iter().chain(below).min_by(nearer).map_or(0, |n| triangles[n]);
                    let p = DVec3::new(i as f64, j as f64, k as f64) * BRICK as f64;
                    let (t, _) = bvh.closest(surface, p, if guess == NONE { 0 } else { guess });
                    (surface.signed_distance_to(t as usize, p) as f32, t)
                });
                distances.push(d);
                triangles.push(t);
            }
        }
        progress.advance(1);
        (distances, triangles)
    });
    let (mut distances, mut triangles) = (Vec::with_capacity(nx * ny * nz), Vec::with_capacity(nx * ny * nz));
    for (d, t) in layers {
        distances.extend(d);
        triangles.extend(t);
    }
    (distances, triangles)
}
