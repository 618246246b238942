use super::*;
use crate::mesh::{Mesh, samples};
use crate::shell::Shell;
use crate::tree::Tree;
use glam::DQuat;

fn shape(raw: crate::mesh::RawMesh, voxel: f64) -> Shape {
    Shape::build(Mesh::new(raw, &Default::default()).unwrap(), voxel, &Default::default()).unwrap()
}

fn ask(a: &Shape, b: &Shape, pose: &Pose) -> Penetration {
    Query::new().penetration(a, b, pose, &Default::default())
}

#[test]
fn balls_part_along_their_middles() {
    let ball = shape(samples::sphere(0.05, 4), 2e-3);
    let radius = ball.tree().shell_report().radius;
    for at in [DVec3::new(0.03, 0.02, -0.04), DVec3::new(1e-3, 0.0, 0.0), DVec3::new(0.0, 0.095, 0.0)] {
        let out = ask(&ball, &ball, &Pose::from_translation(at));
        let exact = 0.1 - at.length();
        assert!(out.overlapping && (out.depth - exact).abs() < 1e-3, "{at}: {out:?}");
        assert!(out.lower <= exact + 1e-9 && out.bound <= 1.5 * radius + 1e-3, "{at}: {out:?}");
        assert!((out.translation - out.direction * out.depth).length() < 1e-12);
    }
}

#[test]
fn coinciding_shapes_overlap() {
    // No point of either surface is inside the other.
    let cube = shape(samples::cuboid(DVec3::new(0.2, 0.3, 0.4)), 0.01);
    let out = ask(&cube, &cube, &Pose::IDENTITY);
    assert!(out.overlapping && (out.depth - 0.2).abs() < 3e-3 && out.direction.x.abs() > 0.999, "{out:?}");
    // A half turn about an axis of the cuboid is the same.
    let turned = Pose::new(DQuat::from_rotation_z(core::f64::consts::PI), DVec3::ZERO);
    let out = ask(&cube, &cube, &turned);
    assert!(out.overlapping && (out.depth - 0.2).abs() < 3e-3, "{out:?}");
}

#[test]
fn shapes_apart_give_zero() {
    let cube = shape(samples::cuboid(DVec3::splat(0.2)), 0.01);
    let out = ask(&cube, &cube, &Pose::from_translation(DVec3::X * 0.5));
    assert_eq!(out, Penetration::NONE);
    // Farther than single precision can tell.
    assert_eq!(ask(&cube, &cube, &Pose::from_translation(DVec3::X * 1e30)), Penetration::NONE);
    // Nearer than the points can tell: nothing to do, but not certain.
    let out = ask(&cube, &cube, &Pose::from_translation(DVec3::X * 0.202));
    assert!(!out.overlapping && out.depth == 0.0 && out.translation == DVec3::ZERO, "{out:?}");
    assert!(out.bound > 0.0 && out.bound < 0.05 && out.direction.x > 0.9, "{out:?}");
    assert!((out.free() - out.direction * out.bound).length() < 1e-15);
}

#[test]
fn along_a_direction_its_length_does_not_matter() {
    let cube = shape(samples::cuboid(DVec3::splat(0.2)), 0.01);
    let pose = Pose::from_translation(DVec3::new(0.05, 0.0, 0.02));
    let mut query = Query::new();
    for length in [1e-300, 1.0, 1e300] {
        let out = query.penetration_along(&cube, &cube, &pose, DVec3::NEG_X * length, &Default::default());
        assert!((out.depth - 0.25).abs() < 3e-3 && out.direction == DVec3::NEG_X, "{length}: {out:?}");
    }
    // At an angle it is the longer.
    let out = query.penetration_along(&cube, &cube, &pose, DVec3::new(1.0, 1.0, 0.0), &Default::default());
    assert!((out.depth - 0.15 * 2f64.sqrt()).abs() < 5e-3, "{out:?}");
    for direction in [DVec3::ZERO, DVec3::NAN, DVec3::new(f64::INFINITY, 0.0, 0.0)] {
        assert_eq!(
            query.penetration_along(&cube, &cube, &pose, direction, &Default::default()),
            Penetration::NONE
        );
        assert!(query.stats().non_finite);
    }
}

#[test]
fn odd_input_has_defined_answers() {
    let cube = shape(samples::cuboid(DVec3::splat(0.2)), 0.01);
    let mut query = Query::new();
    for bad in [f64::NAN, f64::INFINITY] {
        let pose = Pose::from_translation(DVec3::new(0.0, bad, 0.0));
        assert_eq!(query.penetration(&cube, &cube, &pose, &Default::default()), Penetration::NONE);
        assert!(query.stats().non_finite);
    }
    let empty = Tree::build(&Shell::from_points(&[], &[], &[], 0.01, 0.01), &Default::default());
    let empty = cube.with_tree(empty);
    for (a, b) in [(&cube, &empty), (&empty, &cube), (&empty, &empty)] {
        assert_eq!(query.penetration(a, b, &Pose::IDENTITY, &Default::default()), Penetration::NONE);
        assert!(!query.stats().non_finite);
    }
    // Parameters out of range.
    let pose = Pose::from_translation(DVec3::X * 0.1);
    for tolerance in [Some(f64::NAN), Some(-1.0), Some(0.0), None] {
        let params = PenetrationParams { directions: 0, tolerance };
        let out = query.penetration(&cube, &cube, &pose, &params);
        assert!((out.depth - 0.1).abs() < 3e-3, "{out:?}");
    }
}

#[test]
fn the_answer_does_not_depend_on_what_was_asked_before() {
    let (knot, gear) = (
        shape(samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 200, 20), 3e-3),
        shape(samples::gear(24, 2.5e-3, 0.012, 2), 2e-3),
    );
    let mut query = Query::new();
    let poses: Vec<Pose> = (0..6)
        .map(|i| Pose::new(DQuat::from_rotation_x(f64::from(i)), DVec3::new(0.01 * f64::from(i), 0.0, 0.0)))
        .collect();
    let contacts = query.contacts(&knot, &gear, &poses[0], &Default::default()).list.clone();
    assert!(!contacts.is_empty());
    let first: Vec<_> =
        poses.iter().map(|p| query.penetration(&knot, &gear, p, &Default::default())).collect();
    let again: Vec<_> =
        poses.iter().rev().map(|p| query.penetration(&knot, &gear, p, &Default::default())).collect();
    assert!(first.iter().filter(|o| o.overlapping).count() >= 4);
    assert!(first.iter().eq(again.iter().rev()));
    assert!(first.iter().zip(&poses).all(|(o, p)| *o == ask(&knot, &gear, p)));
    // Nor does it change the contacts that were asked for.
    assert_eq!(query.last().list, contacts);
}
