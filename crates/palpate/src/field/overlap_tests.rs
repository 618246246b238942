use super::*;
use crate::field::FieldParams;
use crate::field::blocked::blocked;
use crate::mesh::{Mesh, RawMesh, samples};

fn exact(raw: RawMesh, voxel: f64) -> Exact {
    Exact::build(&Mesh::new(raw, &Default::default()).unwrap(), voxel, &FieldParams::default()).unwrap()
}

#[test]
fn what_is_in_the_way_is_found_and_little_else() {
    let knot = exact(samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 200, 20), 3e-3);
    let (mut seed, mut out, mut plain, mut hits, mut found) = (7u64, Vec::new(), Vec::new(), 0, 0);
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f64 / f64::from(1 << 24)
    };
    let mut vector = |size: f64| DVec3::new(random() - 0.5, random() - 0.5, random() - 0.5) * size;
    for _ in 0..300 {
        let at = knot.middle + vector(50.0);
        let (corners, sweep) = ([at, at + vector(12.0), at + vector(12.0)], vector(4.0));
        out.clear();
        knot.in_the_way(corners, sweep, &mut out);
        plain.clear();
        let vector = |v: DVec3| v.as_vec3().to_array();
        let [a, b, c] = corners;
        let swept = Swept {
            low: vector(a.min(b).min(c) + sweep.min(DVec3::ZERO)),
            high: vector(a.max(b).max(c) + sweep.max(DVec3::ZERO)),
            corner: vector(a),
            sides: [b - a, c - a, sweep].map(vector),
            slack: 1e-3,
        };
        gather_plain(&knot.bvh, &swept, knot.triangles.len(), &mut plain);
        let mut wide = Vec::new();
        gather(&knot.bvh, &swept, knot.triangles.len(), &mut wide);
        assert_eq!(wide, plain);
        assert!(out.is_sorted());
        found += out.len();
        for t in 0..knot.triangles.len() {
            if blocked(knot.corners(t), corners, sweep, 1e-9, (0.0, 1.0)).is_some() {
                hits += 1;
                assert!(out.binary_search(&(t as u32)).is_ok(), "{t} of {corners:?} {sweep}");
            }
        }
    }
    assert!(hits > 800 && found < 3 * hits, "{hits} of {found}");
}

#[test]
fn pieces_are_those_connected() {
    let mut raw = RawMesh::default();
    for (i, size) in [0.1, 0.2, 0.3].into_iter().enumerate() {
        let cube = samples::cuboid(DVec3::splat(size));
        let first = raw.positions.len() as u32;
        raw.positions.extend(cube.positions.iter().map(|p| *p + DVec3::X * i as f64));
        raw.triangles.extend(cube.triangles.iter().map(|t| t.map(|v| v + first)));
    }
    let three = exact(raw, 0.02);
    let mut sizes: Vec<f64> = three.pieces().iter().map(|e| (e[3].x - e[0].x) * 0.02).collect();
    sizes.sort_by(f64::total_cmp);
    assert_eq!(sizes.len(), 3);
    assert!(sizes.iter().zip([0.1, 0.2, 0.3]).all(|(a, b)| (a - b).abs() < 1e-9), "{sizes:?}");
    assert_eq!(exact(samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 50, 8), 3e-3).pieces().len(), 1);
}
