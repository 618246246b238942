use super::*;
use crate::mesh::{Mesh, RawMesh, samples};
use glam::DQuat;

fn shape(raw: RawMesh, voxel: f64) -> Shape {
    Shape::build(Mesh::new(raw, &Default::default()).unwrap(), voxel, &Default::default()).unwrap()
}

fn random(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0
}

fn vector(seed: &mut u64) -> DVec3 {
    DVec3::new(random(seed), random(seed), random(seed))
}

/// The first length that no pair of triangles blocks, of all pairs.
fn by_all_pairs(sweep: &Sweep<'_>, direction: DVec3, from: f64) -> f64 {
    let part = Part { way: sweep.way(direction), covered: from, end: f64::INFINITY, met: false };
    let mut ranges = Vec::new();
    for t in 0..sweep.walked.exact.triangle_count() {
        let placed = sweep.placed(t);
        for u in 0..sweep.other.exact.triangle_count() {
            ranges.extend(sweep.pair(&placed, u as u32, &part));
        }
    }
    ranges.sort_by(|a: &(f64, f64), b| a.0.total_cmp(&b.0));
    ranges.iter().fold(from, |t, r| if r.0 <= t { t.max(r.1) } else { t })
}

#[test]
fn the_first_free_length_is_that_of_all_pairs() {
    // Long and short triangles, each walked and asked.
    let shapes = [
        shape(samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 40, 6), 3e-3),
        shape(samples::gear(8, 5e-3, 0.012, 1), 3e-3),
        shape(samples::cuboid(DVec3::new(0.05, 0.08, 0.02)), 3e-3),
    ];
    let (mut seed, mut moved, mut limited, mut met) = (3, 0, 0, 0);
    let mut memory = Memory::default();
    for a in &shapes {
        for b in &shapes {
            for _ in 0..4 {
                let turn = vector(&mut seed).extend(random(&mut seed));
                let pose = Pose::new(DQuat::from_vec4(turn), vector(&mut seed) * 0.03);
                let sweep = Sweep::new(a, b, &pose);
                sweep.begin(&mut memory);
                for _ in 0..2 {
                    let direction = vector(&mut seed).normalize();
                    let from = 0.05 * (1.0 + random(&mut seed));
                    let expected = by_all_pairs(&sweep, direction, from);
                    let meets = sweep.meets(&mut memory, direction, from);
                    let Some(free) = sweep.first_free(&mut memory, direction, from, f64::INFINITY) else {
                        panic!("{pose:?} {direction} from {from}, expected {expected}");
                    };
                    // Beyond that only by a piece that is inside.
                    let at = direction * expected;
                    if sweep.inside(at).is_none() {
                        assert_eq!(free, expected, "{pose:?} {direction} from {from}");
                        assert_eq!(meets, expected > from);
                    } else {
                        assert!(free > expected && meets);
                    }
                    moved += usize::from(free > from);
                    met += usize::from(meets);
                    let limit = from + 0.9 * (free - from);
                    if free > from {
                        limited += 1;
                        assert_eq!(sweep.first_free(&mut memory, direction, from, limit), None);
                    }
                }
            }
        }
    }
    assert!(moved > 15 && limited > 15 && met > 15 && met < 60, "{moved} {limited} {met}");
}

#[test]
fn pieces_of_a_triangle_make_it_up() {
    let triangle = [DVec3::ZERO, DVec3::new(10.0, 0.0, 0.0), DVec3::new(9.0, 1.0, 0.5)];
    let area = |t: &[DVec3; 3]| 0.5 * (t[1] - t[0]).cross(t[2] - t[0]).length();
    let pieces = split(&triangle);
    assert!((pieces.iter().map(area).sum::<f64>() - area(&triangle)).abs() < 1e-12);
    let whole = around(&triangle).1;
    assert!(pieces.iter().all(|p| around(p).1 < 0.5 * whole && area(p) > 0.1 * area(&triangle)));
}
