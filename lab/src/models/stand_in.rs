//! Generated shapes for machines without the models folder.

use super::read::weld;
use glam::DVec3;
use palpate::mesh::RawMesh;
use std::f64::consts::TAU;

/// A sphere of about 0.1 m with bumps: a cube of n × n squares a side blown up, 12·n² triangles.
pub(super) fn bumpy_sphere(n: u32) -> RawMesh {
    let mut mesh = RawMesh::default();
    for side in 0..6 {
        let base = mesh.positions.len() as u32;
        for i in 0..=n {
            for j in 0..=n {
                let (u, v) =
                    (2.0 * f64::from(i) / f64::from(n) - 1.0, 2.0 * f64::from(j) / f64::from(n) - 1.0);
                let w = if side < 3 { 1.0 } else { -1.0 };
                // The two sides of an axis are mirrored, so that all squares face outward.
                let (u, v) = if side < 3 { (u, v) } else { (v, u) };
                let p = match side % 3 {
                    0 => DVec3::new(w, u, v),
                    1 => DVec3::new(v, w, u),
                    _ => DVec3::new(u, v, w),
                };
                mesh.positions.push(bump(p.normalize()));
            }
        }
        grid(&mut mesh.triangles, n, n, |i, j| base + i * (n + 1) + j);
    }
    weld(mesh)
}

fn bump(d: DVec3) -> DVec3 {
    let wave = (9.0 * d.x).sin() * (8.0 * d.y).cos() + (7.0 * d.z + 2.0 * d.x).sin();
    0.08 * d * (1.0 + 0.08 * wave)
}

/// A tube along the (2, 3) torus knot: `along` × `around` squares, twice as many triangles.
pub(super) fn torus_knot(along: u32, around: u32) -> RawMesh {
    let path = |t: f64| {
        let r = 2.0 + (3.0 * t).cos();
        0.03 * DVec3::new(r * (2.0 * t).cos(), r * (2.0 * t).sin(), -(3.0 * t).sin())
    };
    let mut mesh = RawMesh::default();
    for i in 0..along {
        let t = TAU * f64::from(i) / f64::from(along);
        let tangent = (path(t + 1e-4) - path(t - 1e-4)).normalize();
        // The knot never passes through the z axis, so the direction away from it is a steady frame.
        let out = DVec3::new(path(t).x, path(t).y, 0.0).normalize();
        let side = tangent.cross(out).normalize();
        let up = side.cross(tangent);
        for j in 0..around {
            let a = TAU * f64::from(j) / f64::from(around);
            mesh.positions.push(path(t) + 0.011 * (a.cos() * side + a.sin() * up));
        }
    }
    grid(&mut mesh.triangles, along, around, |i, j| (i % along) * around + j % around);
    mesh
}

fn grid(triangles: &mut Vec<[u32; 3]>, n: u32, m: u32, at: impl Fn(u32, u32) -> u32) {
    for i in 0..n {
        for j in 0..m {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six times the volume that consistently outward triangles enclose; positive for outward.
    fn volume6(mesh: &RawMesh) -> f64 {
        let at = |v: u32| mesh.positions[v as usize];
        mesh.triangles.iter().map(|&[a, b, c]| at(a).dot(at(b).cross(at(c)))).sum()
    }

    #[test]
    fn shapes_face_outward() {
        // A sphere of 0.08 m encloses 2.1e-3 m³; the bumps change it by a few percent.
        let sphere = volume6(&bumpy_sphere(24)) / 6.0;
        assert!((1.8e-3..2.6e-3).contains(&sphere), "{sphere}");
        // A tube of radius r along a path of length l encloses about π r² l.
        let knot = volume6(&torus_knot(400, 24)) / 6.0;
        assert!((1e-4..1e-3).contains(&knot), "{knot}");
    }
}
