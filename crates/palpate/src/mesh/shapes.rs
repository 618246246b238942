//! Shapes for the tests of this folder.

use glam::DVec3;
use std::f64::consts::{PI, TAU};

/// Corners and triangles.
pub(crate) type Shape = (Vec<DVec3>, Vec<[u32; 3]>);

/// The unit cube from the origin; triangles 2f and 2f + 1 are face f.
pub(crate) fn cube() -> Shape {
    let corners =
        (0..8).map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))).collect();
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    (corners, quads(&faces))
}

/// Two triangles for each four-cornered face.
pub(crate) fn quads(faces: &[[u32; 4]]) -> Vec<[u32; 3]> {
    faces.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect()
}

/// The unit sphere in `rings` bands from pole to pole and `columns` sectors.
pub(crate) fn sphere(rings: u32, columns: u32) -> Shape {
    sphere_part(rings, columns, |_, _| true)
}

/// The cells (ring, column) of the unit sphere for which `keep` holds.
pub(crate) fn sphere_part(rings: u32, columns: u32, keep: impl Fn(u32, u32) -> bool) -> Shape {
    let mut p = vec![DVec3::Z];
    for r in 1..rings {
        for c in 0..columns {
            let (a, b) = (PI * f64::from(r) / f64::from(rings), TAU * f64::from(c) / f64::from(columns));
            p.push(DVec3::new(a.sin() * b.cos(), a.sin() * b.sin(), a.cos()));
        }
    }
    p.push(-DVec3::Z);
    let last = p.len() as u32 - 1;
    let at = |r: u32, c: u32| match r {
        0 => 0,
        r if r == rings => last,
        r => 1 + (r - 1) * columns + c % columns,
    };
    let mut tris = Vec::new();
    for r in 0..rings {
        for c in (0..columns).filter(|&c| keep(r, c)) {
            if r + 1 < rings {
                tris.push([at(r, c), at(r + 1, c), at(r + 1, c + 1)]);
            }
            if r > 0 {
                tris.push([at(r, c), at(r + 1, c + 1), at(r, c + 1)]);
            }
        }
    }
    (p, tris)
}

/// Both shapes as one.
pub(crate) fn join(mut a: Shape, b: Shape) -> Shape {
    let first = a.0.len() as u32;
    a.0.extend(b.0);
    a.1.extend(b.1.iter().map(|t| t.map(|v| v + first)));
    a
}

/// A reproducible stream of numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    /// A number from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.below(1 << 30) as f64 / f64::from(1 << 30)
    }

    /// A point in the unit cube.
    pub(crate) fn point(&mut self) -> DVec3 {
        DVec3::new(self.unit(), self.unit(), self.unit())
    }
}
