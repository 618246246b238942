//! Pairs of meshes: the tree against the loop, and cases whose answer is known.

use super::super::Random;
use super::super::tests::{mesh_of, soup};
use super::*;
use glam::DQuat;
use palpate::field::analytic::Analytic;

fn random_pose(random: &mut Random, spread: f64) -> Pose {
    let axis = random.in_ball().try_normalize().unwrap_or(DVec3::X);
    let rotation = DQuat::from_axis_angle(axis, random.unit() * std::f64::consts::TAU);
    Pose::new(rotation, spread * random.in_ball())
}

fn torus() -> Oracle {
    mesh_of(&Analytic::torus(0.7, 0.25).unwrap(), 8)
}

fn ball(radius: f64, n: i64) -> Oracle {
    mesh_of(&Analytic::sphere(DVec3::ZERO, radius).unwrap(), n)
}

/// A box from `low` to `high`, counter-clockwise seen from outside.
fn cuboid(low: DVec3, high: DVec3) -> RawMesh {
    let corner = |c: u32| {
        low + (high - low) * DVec3::new(f64::from(c & 1), f64::from(c >> 1 & 1), f64::from(c >> 2 & 1))
    };
    let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    RawMesh {
        positions: (0..8).map(corner).collect(),
        triangles: faces.iter().flat_map(|f| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]).collect(),
    }
}

fn cubes() -> PairOracle {
    let cube = cuboid(DVec3::ZERO, DVec3::ONE);
    PairOracle::new(&cube, &cube).unwrap()
}

#[test]
fn tree_and_loop_agree() {
    let few = |mesh: Oracle, n: usize| Oracle::new(&mesh.positions, &mesh.triangles[..n]).unwrap();
    let pairs = [
        PairOracle::of(torus(), ball(0.3, 8)),
        PairOracle::of(torus(), torus()),
        PairOracle::of(few(soup(1), 60), few(soup(2), 40)),
        PairOracle::of(few(soup(3), 30), ball(0.2, 12)),
    ];
    let mut random = Random::new(1);
    let (mut apart, mut crossing) = (0, 0);
    for pair in &pairs {
        for i in 0..12 {
            let pose = random_pose(&mut random, if i % 3 == 0 { 4.0 } else { 1.6 });
            let found = pair.distance(&pose);
            let distance = pair.distance_brute(&pose);
            assert_eq!(found.distance, distance, "{pose:?}");
            assert!(((found.point_a - found.point_b).length() - distance).abs() < 1e-15);
            // The points are where they should be.
            let in_b = pose.inverse().point(found.point_b);
            assert!(pair.a().closest(found.point_a).distance < 1e-14, "{pose:?}");
            assert!(pair.b().closest(in_b).distance < 1e-14, "{pose:?}");
            let crossings = pair.crossings(&pose);
            assert_eq!(crossings, pair.crossings_brute(&pose));
            assert_eq!(crossings.is_empty(), distance > 0.0);
            apart += usize::from(distance > 0.0);
            crossing += usize::from(distance == 0.0);
        }
    }
    assert!(apart >= 10 && crossing >= 10, "{apart} apart, {crossing} crossing");
}

#[test]
fn the_distance_of_balls_is_that_of_the_formula() {
    let n = 32;
    let pair = PairOracle::of(ball(0.8, n), ball(0.5, n));
    let mut random = Random::new(2);
    // Chords of a cell of edge 2/n below the surface.
    let chord = 3.0 * (2.0 / n as f64).powi(2) / (8.0 * 0.5) * 1.2;
    let mut apart = 0;
    for _ in 0..60 {
        let pose = random_pose(&mut random, 2.5);
        let gap = pose.translation.length() - 1.3;
        let found = pair.distance(&pose);
        if gap > 0.0 {
            apart += 1;
            assert!(found.distance >= gap && found.distance < gap + 2.0 * chord, "{gap} {found:?}");
            assert_eq!(pair.relation(&pose), Relation::Apart);
        } else if gap < -2.0 * chord {
            let expected = if pose.translation.length() < 0.3 - 2.0 * chord {
                Relation::BInA
            } else {
                Relation::Crossing
            };
            if (pose.translation.length() - 0.3).abs() > 2.0 * chord {
                assert_eq!(pair.relation(&pose), expected, "{pose:?}");
            }
        }
    }
    assert!((20..58).contains(&apart), "{apart} of 60 apart");
}

#[test]
fn touching_counts_and_an_ulp_beside_does_not() {
    let pair = cubes();
    let at = |x: f64, y: f64, z: f64| Pose::from_translation(DVec3::new(x, y, z));
    // By a face, an edge, a corner; coincident.
    for (x, y, z) in [(1.0, 0.0, 0.0), (1.0, 0.25, 0.5), (1.0, 1.0, 0.0), (-1.0, 1.0, 1.0), (0.0, 0.0, 0.0)] {
        let pose = at(x, y, z);
        assert_eq!(pair.relation(&pose), Relation::Crossing, "{x} {y} {z}");
        assert_eq!(pair.distance(&pose).distance, 0.0);
        // Away from the other cube by the least step: apart by that step.
        if x != 0.0 {
            let beside = at(x * (1.0 + f64::EPSILON), y, z);
            assert_eq!(pair.relation(&beside), Relation::Apart, "{x} {y} {z}");
            assert_eq!(pair.distance(&beside).distance, f64::EPSILON);
        }
    }
    // An edge on an edge, crossed.
    let turned = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_4);
    let pose = Pose::new(turned, DVec3::new(0.2, 0.5, 1.0 + 1e-9));
    assert!((pair.distance(&pose).distance - 1e-9).abs() < 1e-15);
    assert!(pair.intersects(&Pose::new(turned, DVec3::new(0.2, 0.5, 1.0 - 1e-9))));
}

#[test]
fn a_part_inside_intersects_at_a_distance() {
    let small = cuboid(DVec3::splat(-0.1), DVec3::splat(0.1));
    let big = cuboid(DVec3::splat(-1.0), DVec3::splat(1.0));
    let pose = Pose::new(DQuat::from_rotation_z(0.3), DVec3::new(0.2, 0.0, -0.1));
    let pair = PairOracle::new(&big, &small).unwrap();
    assert_eq!(pair.relation(&pose), Relation::BInA);
    assert!(pair.distance(&pose).distance > 0.5);
    let swapped = PairOracle::new(&small, &big).unwrap();
    assert_eq!(swapped.relation(&pose.inverse()), Relation::AInB);
    assert!(pair.crossings(&pose).is_empty());
    // In the hole of a torus nothing is inside.
    let ring = PairOracle::of(torus(), Oracle::new(&small.positions, &small.triangles).unwrap());
    assert_eq!(ring.relation(&Pose::IDENTITY), Relation::Apart);
    // Of two parts one is inside, whichever comes first.
    for shift in [[0.0, 5.0], [5.0, 0.0]] {
        let moved = shift.map(|x| cuboid(DVec3::new(x - 0.1, -0.1, -0.1), DVec3::new(x + 0.1, 0.1, 0.1)));
        let two = RawMesh {
            positions: [moved[0].positions.as_slice(), &moved[1].positions].concat(),
            triangles: moved[0]
                .triangles
                .iter()
                .copied()
                .chain(moved[1].triangles.iter().map(|t| t.map(|v| v + 8)))
                .collect(),
        };
        let pair = PairOracle::new(&big, &two).unwrap();
        assert_eq!(pair.b.parts.len(), 2);
        assert_eq!(pair.relation(&Pose::IDENTITY), Relation::BInA);
    }
}

#[test]
fn swapping_the_meshes_swaps_the_answer() {
    let (pair, swapped) = (PairOracle::of(torus(), ball(0.3, 8)), PairOracle::of(ball(0.3, 8), torus()));
    let mut random = Random::new(3);
    for _ in 0..200 {
        let pose = random_pose(&mut random, 1.8);
        let (d, e) = (pair.distance(&pose), swapped.distance(&pose.inverse()));
        assert!((d.distance - e.distance).abs() < 1e-14, "{pose:?}");
        assert_eq!(pair.intersects(&pose), swapped.intersects(&pose.inverse()), "{pose:?}");
    }
}

#[test]
fn a_pose_that_is_not_finite_has_no_distance_and_no_intersection() {
    let pair = cubes();
    for pose in
        [Pose::from_translation(DVec3::NAN), Pose::new(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DVec3::ZERO)]
    {
        assert!(pair.distance(&pose).distance.is_nan());
        assert!(!pair.intersects(&pose) && pair.crossings(&pose).is_empty());
    }
    // Far away is no trouble.
    let far = pair.distance(&Pose::from_translation(DVec3::new(1e12, 0.0, 0.0)));
    assert!((far.distance - (1e12 - 1.0)).abs() < 1e-3);
}

#[test]
fn scans_are_answered_in_milliseconds() {
    let Some(folder) = std::env::var_os("PALPATE_MODELS") else {
        println!("skipped: PALPATE_MODELS is not set");
        return;
    };
    let bunny = palpate::Mesh::load(std::path::Path::new(&folder).join("bunny.obj"), 1.0).unwrap();
    let pair = PairOracle::capped(&bunny, &bunny).unwrap();
    let mut random = Random::new(4);
    let centre = bunny.aabb().centre();
    let (mut apart, mut spent) = (0, 0.0);
    for _ in 0..40 {
        let turn = random_pose(&mut random, 0.2);
        let pose = Pose::new(turn.rotation, centre + turn.translation - turn.rotation * centre);
        let start = std::time::Instant::now();
        let found = pair.distance(&pose);
        spent += start.elapsed().as_secs_f64();
        if found.distance > 0.0 {
            apart += 1;
            // Nothing of either surface is nearer to the other's point.
            let back = pair.a().closest(found.point_b).distance;
            let forth = pair.b().closest(pose.inverse().point(found.point_a)).distance;
            assert!((back - found.distance).abs() < 1e-15 && (forth - found.distance).abs() < 1e-15);
            // Vertices of B are not nearer.
            for p in bunny.positions().iter().step_by(501) {
                assert!(pair.a().closest(pose.point(*p)).distance >= found.distance - 1e-15);
            }
        }
    }
    assert!((5..40).contains(&apart), "{apart} of 40 apart");
    println!("{:.2} ms a query", spent / 40.0 * 1e3);
    assert!(spent / 40.0 < 0.2, "{spent} s for 40 queries");
}
