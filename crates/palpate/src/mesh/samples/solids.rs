//! Smooth and boxy solids.

use super::{Ends, MAX_GRID_POINTS, Random, index, polar, stacked, turn};
use crate::mesh::RawMesh;
use glam::DVec3;
use std::collections::HashMap;

/// Points along and around the torus knot of 3,000,000 triangles used by the generation bench.
pub const KNOT_3M_ALONG: usize = 12_500;
/// See [`KNOT_3M_ALONG`].
pub const KNOT_3M_AROUND: usize = 120;

/// Most times an icosphere is split: 84 million triangles; two more would pass 2^30.
const MAX_SUBDIVISIONS: usize = 11;

/// A box of edge lengths `extents` [m] around the origin: 12 triangles.
pub fn cuboid(extents: DVec3) -> RawMesh {
    let h = 0.5 * extents.abs();
    // Corner c has bit 0 for +x, bit 1 for +y, bit 2 for +z.
    let positions = (0..8)
        .map(|c| {
            let side = |bit: usize| if c & bit == 0 { -1.0 } else { 1.0 };
            h * DVec3::new(side(1), side(2), side(4))
        })
        .collect();
    let quads: [[u32; 4]; 6] =
        [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    RawMesh { positions, triangles }
}

/// An icosphere of `radius` [m] around the origin: 20·4^`subdivisions` triangles, corners on the sphere.
pub fn sphere(radius: f64, subdivisions: usize) -> RawMesh {
    displaced_sphere(subdivisions, |_| radius)
}

/// A sphere of `radius` [m] whose surface rises and falls by at most `amplitude` [m] in `waves` random directions.
///
/// `amplitude` is limited to 0.9 of the radius. 20·4^`subdivisions` triangles.
pub fn bumpy_sphere(radius: f64, amplitude: f64, waves: usize, subdivisions: usize, seed: u64) -> RawMesh {
    let mut random = Random(seed);
    let waves: Vec<(DVec3, f64)> = (0..waves.clamp(1, 1024))
        .map(|_| {
            let z = 2.0 * random.unit() - 1.0;
            let direction = polar((1.0 - z * z).max(0.0).sqrt(), 6.3 * random.unit(), z);
            let frequency = 3.0 + 9.0 * random.unit();
            (direction * frequency, 6.3 * random.unit())
        })
        .collect();
    let amplitude = amplitude.clamp(-0.9 * radius.abs(), 0.9 * radius.abs());
    displaced_sphere(subdivisions, |n| {
        let sum: f64 = waves.iter().map(|(k, phase)| (k.dot(n) + phase).sin()).sum();
        radius + amplitude * sum / waves.len() as f64
    })
}

/// An icosphere with the distance from the origin [m] given for each direction.
fn displaced_sphere(subdivisions: usize, radius: impl Fn(DVec3) -> f64) -> RawMesh {
    let g = 0.5 * (1.0 + 5.0f64.sqrt());
    let mut directions: Vec<DVec3> = [
        (-1.0, g, 0.0),
        (1.0, g, 0.0),
        (-1.0, -g, 0.0),
        (1.0, -g, 0.0),
        (0.0, -1.0, g),
        (0.0, 1.0, g),
        (0.0, -1.0, -g),
        (0.0, 1.0, -g),
        (g, 0.0, -1.0),
        (g, 0.0, 1.0),
        (-g, 0.0, -1.0),
        (-g, 0.0, 1.0),
    ]
    .map(|(x, y, z)| DVec3::new(x, y, z).normalize())
    .to_vec();
    #[rustfmt::skip]
    let mut triangles: Vec<[u32; 3]> = vec![
        [0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11],
        [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8],
        [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9],
        [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1],
    ];
    for _ in 0..subdivisions.min(MAX_SUBDIVISIONS) {
        let mut middles = HashMap::with_capacity(triangles.len() * 3 / 2);
        let mut finer = Vec::with_capacity(triangles.len() * 4);
        for [a, b, c] in triangles {
            let mut middle = |a: u32, b: u32| {
                *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    directions.push((directions[a as usize] + directions[b as usize]).normalize());
                    index(directions.len() - 1)
                })
            };
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
        }
        triangles = finer;
    }
    RawMesh { positions: directions.into_iter().map(|n| n * radius(n)).collect(), triangles }
}

/// A torus around the z axis: centre line of radius `major`, tube of radius `minor` [m].
///
/// `2 * nu * nv` triangles, `nu` points around the axis, `nv` around the tube, corners on the torus.
pub fn torus(major: f64, minor: f64, nu: usize, nv: usize) -> RawMesh {
    let (nu, nv) = (nu.max(3), nv.max(3));
    stacked(nu, nv, Ends::Loop, |u, v| {
        let (theta, phi) = (turn(u, nu), turn(v, nv));
        polar(major + minor * phi.cos(), theta, minor * phi.sin())
    })
}

/// A tube of radius `tube` [m] along the (`p`, `q`) torus knot: `p` turns around the z axis while winding `q` times
/// around the centre line of the torus (`major`, `minor`) [m].
///
/// `2 * nu * nv` triangles, `nu` points along the knot, `nv` around the tube. Free of self-intersection when
/// `tube` is well below `minor * sin(pi / p)` and the tube's bend radius.
pub fn torus_knot(p: u32, q: u32, major: f64, minor: f64, tube: f64, nu: usize, nv: usize) -> RawMesh {
    let (p, q) = (f64::from(p.max(1)), f64::from(q));
    let (nu, nv) = (nu.max(3), nv.max(3));
    stacked(nv, nu, Ends::Loop, |v, u| {
        let (t, phi) = (turn(u, nu), turn(v, nv));
        let ((sp, cp), (sq, cq)) = ((p * t).sin_cos(), (q * t).sin_cos());
        let w = major + minor * cq;
        // The normal of the torus is orthogonal to the knot and closes with it, so the tube is not twisted.
        let normal = DVec3::new(cq * cp, cq * sp, sq);
        let tangent =
            DVec3::new(-p * w * sp - q * minor * sq * cp, p * w * cp - q * minor * sq * sp, q * minor * cq);
        let side = tangent.cross(normal).normalize();
        DVec3::new(w * cp, w * sp, minor * sq) + tube * (phi.cos() * normal + phi.sin() * side)
    })
}

/// A square slab of side `extent` [m] whose top is hilly ground between heights 0 and `relief` [m].
///
/// Its flat bottom lies `relief / 2 + extent / 20` below 0; `4 * cells² + 8 * cells` triangles.
pub fn terrain_slab(extent: f64, relief: f64, cells: usize, seed: u64) -> RawMesh {
    let n = cells.clamp(1, 1 << 13);
    let mut random = Random(seed);
    // Eight octave-like waves: longer ones are higher, so that the ground looks like hills with rubble.
    let waves: Vec<(f64, f64, f64, f64)> = (0..8)
        .map(|i| {
            let turns = 1.0 + f64::from(i) * 1.3;
            let angle = 6.3 * random.unit();
            (turns * 6.3 * angle.cos(), turns * 6.3 * angle.sin(), 6.3 * random.unit(), 1.0 / turns)
        })
        .collect();
    let total: f64 = waves.iter().map(|w| w.3).sum();
    let height = |x: f64, y: f64| {
        let sum: f64 = waves.iter().map(|(kx, ky, phase, a)| a * (kx * x + ky * y + phase).sin()).sum();
        0.5 * relief * (1.0 + sum / total)
    };
    let bottom = -(0.5 * relief.abs() + 0.05 * extent.abs());
    let side = n + 1;
    debug_assert!(2 * side * side < MAX_GRID_POINTS);
    let mut mesh = RawMesh::default();
    for top in [true, false] {
        for j in 0..side {
            for i in 0..side {
                let (x, y) = (i as f64 / n as f64 - 0.5, j as f64 / n as f64 - 0.5);
                let z = if top { height(x, y) } else { bottom };
                mesh.positions.push(DVec3::new(extent * x, extent * y, z));
            }
        }
    }
    let above = |i: usize, j: usize| index(j * side + i);
    let below = |i: usize, j: usize| index(side * side + j * side + i);
    let mut quad = |a: u32, b: u32, c: u32, d: u32| mesh.triangles.extend([[a, b, c], [a, c, d]]);
    for j in 0..n {
        for i in 0..n {
            quad(above(i, j), above(i + 1, j), above(i + 1, j + 1), above(i, j + 1));
            quad(below(i, j), below(i, j + 1), below(i + 1, j + 1), below(i + 1, j));
        }
    }
    for i in 0..n {
        quad(below(i, 0), below(i + 1, 0), above(i + 1, 0), above(i, 0));
        quad(below(i + 1, n), below(i, n), above(i, n), above(i + 1, n));
        quad(below(0, i + 1), below(0, i), above(0, i), above(0, i + 1));
        quad(below(n, i), below(n, i + 1), above(n, i + 1), above(n, i));
    }
    mesh
}
