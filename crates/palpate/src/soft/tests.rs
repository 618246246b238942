//! Pairs of deforming meshes, against testing every pair.
use super::*;
use crate::field::source::random::Random;
use crate::mesh::{RawMesh, samples};
use glam::DVec3;

/// Every pair that meets, by the exact test alone; boxes that are apart are not asked.
fn brute(a: &SoftMesh, b: &SoftMesh, own: bool) -> Vec<[u32; 2]> {
    let corners = |m: &SoftMesh| -> Vec<(u32, [DVec3; 3])> {
        let all = (0..m.triangles().len() as u32).filter(|t| m.takes_part(*t));
        all.filter_map(|t| Some((t, m.corners(t)?))).collect()
    };
    let bounds = |c: &[DVec3; 3]| (c[0].min(c[1]).min(c[2]), c[0].max(c[1]).max(c[2]));
    let mut out = Vec::new();
    for (i, s) in corners(a) {
        let (low, high) = bounds(&s);
        for (j, t) in corners(b) {
            let (l, h) = bounds(&t);
            if low.cmpgt(h).any() || l.cmpgt(high).any() || (own && j <= i) {
                continue;
            }
            let share = |v: &u32| b.triangles()[j as usize].contains(v);
            if own && a.triangles()[i as usize].iter().any(share) {
                continue;
            }
            if triangles_meet(&s, &t) {
                out.push([i, j]);
            }
        }
    }
    out.sort_unstable();
    out
}

fn soft(mesh: &RawMesh) -> SoftMesh {
    SoftMesh::new(mesh.positions.clone(), mesh.triangles.clone()).unwrap()
}

/// Sheets of a grid, one above another.
fn stack(n: usize, sheets: usize, gap: f64) -> RawMesh {
    let sheet = samples::sheet(n);
    let layers: Vec<RawMesh> =
        (0..sheets).map(|i| samples::moved(sheet.clone(), DVec3::Z * (i as f64 * gap))).collect();
    samples::joined(&layers)
}

/// By every method, and by every size of leaf and threshold.
fn all_methods(soft: &mut Soft, a: &SoftMesh, b: &SoftMesh, expected: &[[u32; 2]], case: &str) {
    for (method, leaf, cut_threshold) in [
        (Method::Refit, 8, 1.0),
        (Method::Cut, 8, 1.0),
        (Method::Cut, 1, 1.0),
        (Method::Cut, 20, 0.55),
        (Method::Auto, 8, 1.0),
    ] {
        let params = SoftParams { method, leaf, cut_threshold };
        let found = soft.pairs(a, b, &params);
        assert_eq!(found.list, expected, "{case}, {params:?}");
        assert!(found.stats.tested >= expected.len() && found.stats.method != Method::Auto);
    }
}

/// Waves, growth, twists and noise; poses from apart to within each other; triangles switched at random.
#[test]
fn pairs_are_those_of_brute_force() {
    let kinds = [
        (samples::bumpy_sphere(1.0, 0.2, 4, 2, 1), samples::bumpy_sphere(1.0, 0.2, 4, 2, 1)),
        (samples::torus(1.0, 0.4, 16, 10), samples::sphere(0.9, 2)),
        (samples::sheet(12), samples::cuboid(DVec3::new(1.0, 0.5, 0.25))),
        (samples::torus_knot(2, 3, 1.0, 0.4, 0.2, 40, 6), stack(6, 3, 0.2)),
        (stack(7, 2, 0.0), stack(7, 2, 0.0)),
    ];
    let mut r = Random(3);
    let mut memory = Soft::new();
    let (mut configurations, mut hits, mut pairs) = (0, 0, 0);
    for (x, y) in &kinds {
        let (mut a, mut b) = (soft(x), soft(y));
        for step in 0..110 {
            let t = 0.1 * step as f64;
            let apart = r.point(1.0) * [0.0, 0.5, 1.5][step % 3];
            let turn = r.rotation();
            let flat = step % 4 == 3;
            let scale = [1.0, 1e-3, 1e3][step / 3 % 3];
            let noise = if step % 2 == 0 { 0.0 } else { 0.05 };
            for (mesh, rest, away) in [(&mut a, x, DVec3::ZERO), (&mut b, y, apart)] {
                let (kept, swing) = (away == DVec3::ZERO, 0.2 * t.sin());
                let moved: Vec<DVec3> = rest
                    .positions
                    .iter()
                    .map(|p| {
                        let wave =
                            DVec3::new((3.0 * p.y + t).sin(), (2.0 * p.z + t).sin(), (2.5 * p.x + t).sin());
                        let p = *p + swing * wave + r.point(noise);
                        // Some are pressed into a plane.
                        let p = if flat { p * DVec3::new(1.0, 1.0, 0.0) } else { p };
                        let p = if kept || flat { p } else { turn * p };
                        (p + if flat { away * DVec3::new(1.0, 1.0, 0.0) } else { away }) * scale
                    })
                    .collect();
                mesh.set_positions(&moved).unwrap();
                let count = mesh.triangles().len();
                for _ in 0..8 {
                    let triangle = (r.range(0.0, 1.0) * count as f64) as u32;
                    mesh.set_enabled(triangle, r.range(0.0, 1.0) < 0.7).unwrap();
                }
            }
            let expected = brute(&a, &b, false);
            all_methods(&mut memory, &a, &b, &expected, &format!("step {step}"));
            configurations += 1;
            hits += usize::from(!expected.is_empty());
            pairs += expected.len();
        }
    }
    println!("{configurations} configurations, {hits} with pairs, {pairs} pairs");
    assert!(configurations >= 500 && hits > 250 && hits < 520, "{hits} of {configurations}");
}
