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
        assert!(out.lower <= exact + 1e-9 && out.bound <= 1e-6 * radius, "{at}: {out:?}");
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
    // Nearer than the points can tell, but the triangles can.
    let out = ask(&cube, &cube, &Pose::from_translation(DVec3::X * (0.2 + 1e-8)));
    assert_eq!(out, Penetration::NONE);
    // Nearer than rounding can tell: they count as touching.
    let out = ask(&cube, &cube, &Pose::from_translation(DVec3::X * (0.2 + 1e-14)));
    assert!(out.overlapping && out.depth <= 1e-8 && out.bound > 0.0, "{out:?}");
    assert!((out.free() - out.direction * (out.depth + out.bound)).length() < 1e-15);
}

#[test]
fn triangles_between_points_count() {
    // A needle's tip through a face, between two points of either: points tell nothing.
    let plate = shape(samples::cuboid(DVec3::new(0.2, 0.2, 0.05)), 0.01);
    let needle = shape(samples::cuboid(DVec3::new(0.002, 0.002, 0.2)), 0.01);
    let tilt = DQuat::from_rotation_x(0.3);
    let tip = tilt * DVec3::new(-0.001, -0.001, -0.1);
    let pose = Pose::new(tilt, DVec3::new(0.0123, 0.0077, 0.025 - 1e-4) - tip);
    let out = ask(&plate, &needle, &pose);
    assert!(out.overlapping && out.depth > 0.9e-4 && out.depth < 3e-4, "{out:?}");
    let after = Pose { translation: pose.translation + out.free(), ..pose };
    assert_eq!(ask(&plate, &needle, &after), Penetration::NONE);
    let before = Pose { translation: pose.translation + out.direction * (0.99 * out.depth), ..pose };
    assert!(ask(&plate, &needle, &before).overlapping);
}

#[test]
fn a_piece_inside_counts() {
    // Two balls as one shape, the smaller of them wholly inside a box whose surface no triangle crosses.
    let mut raw = samples::sphere(0.02, 3);
    let far = samples::sphere(0.05, 3);
    let first = raw.positions.len() as u32;
    raw.positions.extend(far.positions.iter().map(|p| *p + DVec3::X * 0.4));
    raw.triangles.extend(far.triangles.iter().map(|t| t.map(|v| v + first)));
    let (solid, balls) = (shape(samples::cuboid(DVec3::splat(0.2)), 0.01), shape(raw, 0.01));
    for pose in [Pose::IDENTITY, Pose::from_translation(DVec3::new(0.01, 0.02, -0.01))] {
        for (a, b, pose) in [(&solid, &balls, pose), (&balls, &solid, pose.inverse())] {
            let out = ask(a, b, &pose);
            assert!(out.overlapping && out.depth > 0.09 && out.depth < 0.121, "{out:?}");
            let after = Pose { translation: pose.translation + out.free(), ..pose };
            assert!(!ask(a, b, &after).overlapping);
        }
    }
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
