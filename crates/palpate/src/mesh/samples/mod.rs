//! Procedural shapes: the scenes that tests, benches and the program share.
//!
//! Every shape is in metres, centred on or standing at its own origin, counter-clockwise from outside, and shares
//! its vertices by index. All but the trouble shapes ([`cube_missing_face`] and its kin) are closed: every edge has
//! exactly two opposite half-edges. Counts too small to make a shape are raised to the smallest that does, counts
//! too large for 32-bit indices are lowered; the same arguments always give the same bits.
//!
//! ```
//! use palpate::mesh::samples;
//! let (bolt, nut) = samples::nut_and_bolt(samples::NUT_AND_BOLT_FINENESS);
//! assert_eq!(bolt.triangles.len() + nut.triangles.len(), 24_000);
//! ```

mod parts;
mod solids;
mod trouble;

pub use parts::{NUT_AND_BOLT_FINENESS, bolt, gear, nut, nut_and_bolt, peg_and_hole};
pub use solids::{
    KNOT_3M_ALONG, KNOT_3M_AROUND, bumpy_sphere, cuboid, sphere, terrain_slab, torus, torus_knot,
};
pub use trouble::{
    cube_doubled_faces, cube_half_flipped, cube_missing_face, needle, sheet, thin_fin, two_overlapping_cubes,
};

use super::RawMesh;
use glam::DVec3;

/// Names [`by_name`] knows, in the order a program lists them.
pub const NAMES: &[&str] = &[
    "cuboid",
    "sphere",
    "torus",
    "torus-knot",
    "torus-knot-3m",
    "gear",
    "nut-and-bolt",
    "bolt",
    "nut",
    "peg",
    "hole",
    "bumpy-sphere",
    "terrain",
    "cube-missing-face",
    "cube-doubled-faces",
    "cube-half-flipped",
    "two-overlapping-cubes",
    "thin-fin",
    "needle",
    "sheet",
];

/// The sample called `name` (one of [`NAMES`]) at its default size and fineness; `None` for an unknown name.
///
/// Unit: m, objects of 2 to 20 cm. `nut-and-bolt` is both parts as one mesh, the nut screwed on without touching.
pub fn by_name(name: &str) -> Option<RawMesh> {
    Some(match name {
        "cuboid" => cuboid(DVec3::new(0.08, 0.06, 0.04)),
        "sphere" => sphere(0.05, 5),
        "torus" => torus(0.05, 0.02, 128, 64),
        "torus-knot" => torus_knot(2, 3, 0.06, 0.025, 0.012, 600, 40),
        "torus-knot-3m" => torus_knot(2, 3, 0.06, 0.025, 0.012, KNOT_3M_ALONG, KNOT_3M_AROUND),
        "gear" => gear(24, 2.5e-3, 0.012, 6),
        "nut-and-bolt" => {
            let (bolt, nut) = nut_and_bolt(NUT_AND_BOLT_FINENESS);
            joined(&[bolt, nut])
        }
        "bolt" => bolt(NUT_AND_BOLT_FINENESS),
        "nut" => nut(NUT_AND_BOLT_FINENESS),
        "peg" => peg_and_hole(5e-5, 128).0,
        "hole" => peg_and_hole(5e-5, 128).1,
        "bumpy-sphere" => bumpy_sphere(0.05, 0.005, 12, 6, 1),
        "terrain" => terrain_slab(0.2, 0.03, 128, 1),
        "cube-missing-face" => cube_missing_face(0.05),
        "cube-doubled-faces" => cube_doubled_faces(0.05),
        "cube-half-flipped" => cube_half_flipped(0.05),
        "two-overlapping-cubes" => two_overlapping_cubes(0.05),
        "thin-fin" => thin_fin(1e-4),
        "needle" => needle(0.1, 2e-4),
        "sheet" => sheet(64),
        _ => return None,
    })
}

/// The meshes as one, in order; vertices are not merged.
pub fn joined(parts: &[RawMesh]) -> RawMesh {
    let mut all = RawMesh::default();
    for part in parts {
        let first = index(all.positions.len());
        all.positions.extend_from_slice(&part.positions);
        all.triangles.extend(part.triangles.iter().map(|t| t.map(|v| v.saturating_add(first))));
    }
    all
}

/// `mesh` moved by `offset` [m].
pub fn moved(mut mesh: RawMesh, offset: DVec3) -> RawMesh {
    for p in &mut mesh.positions {
        *p += offset;
    }
    mesh
}

/// Most points a generated grid may have on one side; with [`MAX_GRID_POINTS`] it keeps indices in 32 bits.
const MAX_SIDE: usize = 1 << 20;

/// Most points of one generated grid: about 12 GB of mesh; more would overflow 32-bit indices soon after.
const MAX_GRID_POINTS: usize = 1 << 28;

/// How a stack of rings ends.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// The last ring joins the first: the surface is a torus.
    Loop,
    /// Two fans around these centres (below the first ring, above the last): the surface is a sphere.
    Fans(DVec3, DVec3),
}

/// A closed surface through `rings` rings of `segments` points each: `2 * rings * segments` triangles.
///
/// Outward is (direction of growing segment) x (direction of growing ring).
fn stacked(segments: usize, rings: usize, ends: Ends, at: impl Fn(usize, usize) -> DVec3) -> RawMesh {
    let nu = segments.clamp(3, MAX_SIDE);
    let nv = rings.clamp(if ends == Ends::Loop { 3 } else { 1 }, (MAX_GRID_POINTS / nu).max(3));
    let mut mesh =
        RawMesh { positions: Vec::with_capacity(nu * nv + 2), triangles: Vec::with_capacity(2 * nu * nv) };
    for v in 0..nv {
        mesh.positions.extend((0..nu).map(|u| at(u, v)));
    }
    let id = |u: usize, v: usize| index((v % nv) * nu + u % nu);
    let quads = if ends == Ends::Loop { nv } else { nv - 1 };
    for v in 0..quads {
        for u in 0..nu {
            let (a, b, c, d) = (id(u, v), id(u + 1, v), id(u + 1, v + 1), id(u, v + 1));
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    if let Ends::Fans(low, high) = ends {
        let (below, above) = (index(mesh.positions.len()), index(mesh.positions.len() + 1));
        mesh.positions.extend([low, high]);
        for u in 0..nu {
            mesh.triangles.push([below, id(u + 1, 0), id(u, 0)]);
            mesh.triangles.push([above, id(u, nv - 1), id(u + 1, nv - 1)]);
        }
    }
    mesh
}

/// The point at `angle` [rad] and `radius` [m] around the z axis, at height `z` [m].
fn polar(radius: f64, angle: f64, z: f64) -> DVec3 {
    DVec3::new(radius * angle.cos(), radius * angle.sin(), z)
}

/// The angle of point `i` of `n` on a full turn [rad].
fn turn(i: usize, n: usize) -> f64 {
    core::f64::consts::TAU * i as f64 / n as f64
}

/// A vertex index. The callers keep counts far below 2^32, so that saturation never happens.
fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// SplitMix64: a small generator with a fixed sequence on every platform.
struct Random(u64);

impl Random {
    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use core::f64::consts::PI;
    use std::collections::HashMap;

    /// Six times the signed volume is the sum of the corner determinants.
    fn volume(m: &RawMesh) -> f64 {
        m.triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| m.positions[v as usize]);
                a.dot(b.cross(c)) / 6.0
            })
            .sum()
    }

    /// Half-edges after merging vertices with equal bits: (unpaired, used more than once in one direction).
    fn edge_faults(m: &RawMesh) -> (usize, usize) {
        let mut ids = HashMap::new();
        let merged: Vec<usize> = m
            .positions
            .iter()
            .map(|p| {
                let n = ids.len();
                *ids.entry(p.to_array().map(|x| (x + 0.0).to_bits())).or_insert(n)
            })
            .collect();
        let mut half = HashMap::new();
        for t in &m.triangles {
            let t = t.map(|v| merged[v as usize]);
            assert!(t[0] != t[1] && t[1] != t[2] && t[2] != t[0], "degenerate triangle {t:?}");
            for e in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
                *half.entry(e).or_insert(0usize) += 1;
            }
        }
        let unpaired = half.keys().filter(|(a, b)| !half.contains_key(&(*b, *a))).count();
        (unpaired, half.values().filter(|&&n| n > 1).count())
    }

    /// Closed, consistently oriented, outward: the promise of every shape that is not a trouble shape.
    fn assert_closed(name: &str, m: &RawMesh) {
        assert!(m.positions.iter().all(|p| p.is_finite()), "{name}");
        assert_eq!(edge_faults(m), (0, 0), "{name}");
        assert!(volume(m) > 0.0, "{name}: volume {}", volume(m));
    }

    #[test]
    fn every_name_builds_and_only_trouble_shapes_are_open() {
        let open = ["cube-missing-face", "cube-doubled-faces", "cube-half-flipped", "sheet"];
        for name in NAMES.iter().filter(|n| **n != "torus-knot-3m") {
            let m = by_name(name).unwrap();
            let largest = m.positions.iter().fold(0.0f64, |s, p| s.max(p.abs().max_element()));
            assert!((0.01..0.25).contains(&largest), "{name}: {largest} m");
            if open.contains(name) {
                assert_ne!(edge_faults(&m), (0, 0), "{name} should be trouble");
            } else {
                assert_closed(name, &m);
            }
        }
        assert_eq!(by_name("no such shape"), None);
    }

    #[test]
    fn every_shape_is_closed_at_odd_finenesses() {
        for n in [0, 1, 2, 3, 5, 7, 12] {
            let (peg, hole) = peg_and_hole(1e-4, n);
            for (name, m) in [
                ("torus", torus(0.05, 0.02, n, n + 1)),
                ("knot", torus_knot(3, 2, 0.06, 0.02, 0.005, 20 + n, n)),
                ("gear", gear(n, 2e-3, 0.01, n)),
                ("bolt", bolt(n)),
                ("nut", nut(n)),
                ("peg", peg),
                ("hole", hole),
                ("terrain", terrain_slab(0.1, 0.02, n, 7)),
            ] {
                assert_closed(&format!("{name} at {n}"), &m);
            }
        }
    }

    /// The error of an inscribed polygon falls with the square of its fineness: 4 times for each halving, here > 3.5.
    fn assert_second_order(name: &str, exact: f64, volume_at: impl Fn(u32) -> f64) {
        let errors: Vec<f64> = (1..4).map(|n| (volume_at(n) - exact).abs() / exact).collect();
        assert!(errors[0] / errors[1] > 3.5 && errors[1] / errors[2] > 3.5, "{name}: {errors:?}");
        assert!(errors[2] < 0.01, "{name}: {errors:?}");
    }

    #[test]
    fn volumes_converge_to_the_analytic_ones() {
        assert!((volume(&cuboid(DVec3::new(0.1, 0.2, 0.3))) - 6e-3).abs() < 1e-15);
        let ball = 4.0 / 3.0 * PI * 0.05f64.powi(3);
        assert_second_order("sphere", ball, |n| volume(&sphere(0.05, 1 + n as usize)));
        let ring = 2.0 * PI * PI * 0.05 * 0.02 * 0.02;
        assert_second_order("torus", ring, |n| volume(&torus(0.05, 0.02, 16 << n, 16 << n)));
        // A tube around a closed curve has the volume of its section times the length of the curve.
        let (major, minor, tube) = (0.06, 0.02, 0.006);
        let speed = |t: f64| {
            let w = major + minor * (3.0 * t).cos();
            (4.0 * w * w + 9.0 * minor * minor).sqrt()
        };
        let length = (0..10_000).map(|i| speed(turn(i, 10_000)) * turn(1, 10_000)).sum::<f64>();
        assert_second_order("knot", length * PI * tube * tube, |n| {
            volume(&torus_knot(2, 3, major, minor, tube, 100 << n, 12 << n))
        });
        // Peg: cylinder of 4 mm x 30 mm less two chamfers of 0.5 mm; a chamfer removes a ring.
        let (r, c) = (4e-3f64, 5e-4f64);
        let chamfer = PI * c * (r * r - (r * r + r * (r - c) + (r - c) * (r - c)) / 3.0);
        assert_second_order("peg", PI * r * r * 0.03 - 2.0 * chamfer, |n| {
            volume(&peg_and_hole(1e-4, 8 << n).0)
        });
        let bore = 4.05e-3f64;
        assert_second_order("hole", 0.02 * (0.02 * 0.02 - PI * bore * bore), |n| {
            volume(&peg_and_hole(1e-4, 8 << n).1)
        });
    }

    #[test]
    fn benchmark_shapes_have_the_stated_triangle_counts() {
        let (bolt, nut) = nut_and_bolt(NUT_AND_BOLT_FINENESS);
        assert_eq!(bolt.triangles.len() + nut.triangles.len(), 24_000);
        assert_eq!(2 * KNOT_3M_ALONG * KNOT_3M_AROUND, 3_000_000);
        let knot = torus_knot(2, 3, 0.06, 0.025, 0.012, 150, 10);
        assert_eq!(knot.triangles.len(), 2 * 150 * 10);
    }

    #[test]
    fn peg_fits_hole_and_nut_clears_bolt() {
        // The peg's corners lie on its cylinder and the hole's faces touch its cylinder from outside.
        let clearance = 5e-5;
        let (peg, hole) = peg_and_hole(clearance, 64);
        let radial = |p: &DVec3| p.truncate().length();
        let peg_radius = peg.positions.iter().map(radial).fold(0.0, f64::max);
        let corner = hole.positions.iter().map(radial).fold(f64::INFINITY, f64::min);
        let face = corner * (PI / 64.0).cos();
        assert!((face - peg_radius - clearance / 2.0).abs() < 1e-12, "{face} {peg_radius}");
        // At the same angle and height the nut's thread is outside the bolt's thread.
        let (bolt, nut) = nut_and_bolt(8);
        let bolt_radius = bolt.positions.iter().filter(|p| p.z < 0.03).map(radial).fold(0.0, f64::max);
        let nut_radius = nut.positions.iter().map(radial).fold(f64::INFINITY, f64::min);
        assert!(nut_radius < bolt_radius - 5e-4, "threads engage: {nut_radius} {bolt_radius}");
    }

    #[test]
    fn seeds_change_the_shape_and_repeat() {
        assert_eq!(bumpy_sphere(0.05, 0.005, 6, 2, 3), bumpy_sphere(0.05, 0.005, 6, 2, 3));
        assert_ne!(bumpy_sphere(0.05, 0.005, 6, 2, 3), bumpy_sphere(0.05, 0.005, 6, 2, 4));
        assert_ne!(terrain_slab(0.1, 0.02, 8, 3), terrain_slab(0.1, 0.02, 8, 4));
    }

    #[test]
    fn trouble_shapes_have_the_trouble_they_are_named_for() {
        assert_eq!(edge_faults(&cube_missing_face(0.05)), (4, 0));
        assert_eq!(edge_faults(&cube_doubled_faces(0.05)).0, 0);
        assert_eq!(edge_faults(&cube_doubled_faces(0.05)).1, 36);
        assert!(edge_faults(&cube_half_flipped(0.05)).1 > 0);
        assert!(volume(&cube_half_flipped(0.05)).abs() < 1e-12);
        assert!((volume(&two_overlapping_cubes(0.05)) - 2.0 * 0.05f64.powi(3)).abs() < 1e-12);
        assert!(edge_faults(&sheet(5)).0 > 0);
    }
}
