//! Shapes that break naive sign, fill and voxel tests.

use super::{Ends, cuboid, index, joined, moved, polar, stacked, turn};
use crate::mesh::RawMesh;
use glam::{DVec2, DVec3};

/// A cube of edge `size` [m] around the origin without its +z face: 4 boundary edges.
pub fn cube_missing_face(size: f64) -> RawMesh {
    let mut mesh = cuboid(DVec3::splat(size));
    // The last two triangles of a cuboid are its +z face.
    mesh.triangles.truncate(10);
    mesh
}

/// A cube of edge `size` [m] around the origin with every face twice, same side out, vertices not shared.
pub fn cube_doubled_faces(size: f64) -> RawMesh {
    let cube = cuboid(DVec3::splat(size));
    joined(&[cube.clone(), cube])
}

/// A cube of edge `size` [m] around the origin whose −x, −y and −z faces point inward.
pub fn cube_half_flipped(size: f64) -> RawMesh {
    let mut mesh = cuboid(DVec3::splat(size));
    // Faces come as −x, +x, −y, +y, −z, +z, two triangles each.
    for (i, t) in mesh.triangles.iter_mut().enumerate() {
        if i % 4 < 2 {
            t.swap(1, 2);
        }
    }
    mesh
}

/// Two cubes of edge `size` [m]: one around the origin, one moved by 0.4 `size` along x, 0.3 along y, 0.2 along z.
pub fn two_overlapping_cubes(size: f64) -> RawMesh {
    let cube = cuboid(DVec3::splat(size));
    joined(&[cube.clone(), moved(cube, size * DVec3::new(0.4, 0.3, 0.2))])
}

/// A block of 60 x 40 x 20 mm (z from 0) with a blade of `thickness` [m] along x, 40 mm long in y, 30 mm high on it.
pub fn thin_fin(thickness: f64) -> RawMesh {
    const HALF_X: f64 = 0.03;
    const HALF_Y: f64 = 0.02;
    const BLOCK: f64 = 0.02;
    const TOP: f64 = 0.05;
    let t = (0.5 * thickness.abs()).clamp(1e-9, 0.9 * HALF_X);
    // The section in the xz plane, counter-clockwise seen from −y.
    let section = [
        (-HALF_X, 0.0),
        (HALF_X, 0.0),
        (HALF_X, BLOCK),
        (t, BLOCK),
        (t, TOP),
        (-t, TOP),
        (-t, BLOCK),
        (-HALF_X, BLOCK),
    ];
    let n = index(section.len());
    let mut mesh = RawMesh::default();
    for y in [-HALF_Y, HALF_Y] {
        mesh.positions.extend(section.iter().map(|&(x, z)| DVec3::new(x, y, z)));
    }
    for [a, b, c] in [[0, 1, 3], [1, 2, 3], [0, 3, 6], [0, 6, 7], [3, 4, 5], [3, 5, 6]] {
        mesh.triangles.extend([[a, b, c], [n + a, n + c, n + b]]);
    }
    for a in 0..n {
        let b = (a + 1) % n;
        mesh.triangles.extend([[a, n + b, b], [a, n + a, n + b]]);
    }
    mesh
}

/// A spike along z from the origin, `length` [m] long, a triangle of radius `radius` [m] at its foot: 6 triangles.
pub fn needle(length: f64, radius: f64) -> RawMesh {
    let ends = Ends::Fans(DVec3::ZERO, DVec3::new(0.0, 0.0, length.abs()));
    stacked(3, 1, ends, |u, _| polar(radius.abs(), turn(u, 3), 0.0))
}

/// An open wavy square of 0.1 m in the xy plane, `n` cells a side: encloses nothing. `2 * n²` triangles.
pub fn sheet(n: usize) -> RawMesh {
    let n = n.clamp(1, 1 << 13);
    let mut mesh = RawMesh::default();
    for j in 0..=n {
        for i in 0..=n {
            let p = DVec2::new(i as f64, j as f64) / n as f64 - 0.5;
            mesh.positions.push(DVec3::new(
                0.1 * p.x,
                0.1 * p.y,
                0.008 * (9.0 * p.x).sin() * (7.0 * p.y).cos(),
            ));
        }
    }
    let id = |i: usize, j: usize| index(j * (n + 1) + i);
    for j in 0..n {
        for i in 0..n {
            let (a, b, c, d) = (id(i, j), id(i + 1, j), id(i + 1, j + 1), id(i, j + 1));
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    mesh
}
