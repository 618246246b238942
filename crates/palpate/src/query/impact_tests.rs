use super::*;
use crate::mesh::{Mesh, samples};
use crate::shell::Shell;
use crate::tree::Tree;

fn shape(raw: crate::mesh::RawMesh, voxel: f64) -> Shape {
    Shape::build(Mesh::new(raw, &Default::default()).unwrap(), voxel, &Default::default()).unwrap()
}

fn ask(a: &Shape, b: &Shape, motion: &Motion) -> Impact {
    Query::new().time_of_impact(a, b, motion, &Default::default())
}

fn straight(from: DVec3, linear: DVec3) -> Motion {
    Motion { from: Pose::from_translation(from), linear, angular: DVec3::ZERO }
}

#[test]
fn motions_end_where_they_should() {
    let from = Pose::new(DQuat::from_rotation_x(0.3), DVec3::new(1.0, 2.0, 3.0));
    let to = Pose::new(DQuat::from_rotation_y(-2.0), DVec3::new(-1.0, 0.5, 3.0));
    let motion = Motion::between(&from, &to);
    let end = motion.at(1.0);
    assert!((end.translation - to.translation).length() < 1e-12);
    assert!(end.rotation.dot(to.rotation).abs() > 1.0 - 1e-12);
    assert!(motion.angular.length() <= core::f64::consts::PI + 1e-9);
    let half = from.rotation.slerp(to.rotation, 0.5);
    assert!(motion.at(0.5).rotation.dot(half).abs() > 1.0 - 1e-12);
    // The speed bound holds for points of the ball.
    let (centre, radius) = (DVec3::new(0.3, -0.1, 0.2), 0.5);
    let speed = motion.speed(centre, radius);
    for i in 0..100 {
        let p = centre + DQuat::from_rotation_x(f64::from(i)) * DVec3::new(0.2, 0.4, 0.2) * radius;
        let t = f64::from(i) / 100.0;
        let step = motion.at(t + 1e-6).point(p) - motion.at(t).point(p);
        assert!(step.length() <= 1e-6 * speed * (1.0 + 1e-6));
    }
}

#[test]
fn balls_meet_when_they_should() {
    let ball = shape(samples::sphere(0.05, 4), 2e-3);
    let motion = straight(DVec3::new(-2.0, 0.03, 0.0), DVec3::X * 4.0);
    let impact = ask(&ball, &ball, &motion);
    // At contact the middles are 0.1 apart: x = -√(0.1² - 0.03²).
    let exact = (2.0 - (0.01f64 - 0.0009).sqrt()) / 4.0;
    let time = impact.time.unwrap();
    assert_eq!(impact.end, ImpactEnd::Hit);
    assert!(time <= exact && exact - time < 1.3 * impact.early / 4.0, "{time} {exact} {impact:?}");
    assert!(impact.distance >= 0.0 && impact.distance <= impact.early, "{impact:?}");
    // From A to B.
    let way = impact.pose.translation.normalize();
    assert!(impact.normal.dot(way) > 0.95, "{impact:?}");
    assert!((impact.point - 0.5 * impact.pose.translation).length() < 0.02, "{impact:?}");
    // The same seen from the other.
    let back = Motion { from: motion.from.inverse(), linear: -motion.linear, ..motion };
    let other = ask(&ball, &ball, &back);
    assert!((other.time.unwrap() - time).abs() < impact.early / 4.0, "{other:?}");
    // Past each other.
    let past = ask(&ball, &ball, &straight(DVec3::new(-2.0, 0.12, 0.0), DVec3::X * 4.0));
    assert_eq!((past.time, past.end), (None, ImpactEnd::Free), "{past:?}");
}

#[test]
fn the_finer_shell_gives_the_points() {
    let (fine, coarse) = (shape(samples::sphere(0.05, 5), 1e-3), shape(samples::sphere(0.05, 4), 8e-3));
    let motion = straight(DVec3::X * -1.0, DVec3::X * 2.0);
    for (a, b) in [(&fine, &coarse), (&coarse, &fine)] {
        let impact = ask(a, b, &motion);
        assert!(impact.early < 3e-3 && (impact.time.unwrap() - 0.45).abs() < 2e-3, "{impact:?}");
        assert!(impact.normal.x < -0.9 && (impact.point.x + 0.05).abs() < 0.01, "{impact:?}");
    }
}

#[test]
fn a_spinning_blade_is_not_missed() {
    // A thin blade that turns a hundred times while it stays where it is: its tip sweeps over the ball.
    let blade = shape(samples::cuboid(DVec3::new(0.4, 1e-3, 0.01)), 2e-3);
    let ball = shape(samples::sphere(0.01, 4), 5e-4);
    let motion = Motion {
        from: Pose::from_translation(DVec3::new(0.0, -0.15, 0.0)),
        linear: DVec3::ZERO,
        angular: DVec3::Z * 628.0,
    };
    let impact = ask(&ball, &blade, &motion);
    assert_eq!(impact.end, ImpactEnd::Hit, "{impact:?}");
    // A quarter turn brings it there.
    assert!(impact.time.unwrap() < 0.25 / 100.0, "{impact:?}");
    // Out of its reach nothing is hit.
    let away = Motion { from: Pose::from_translation(DVec3::new(0.0, -0.25, 0.0)), ..motion };
    assert_eq!(ask(&ball, &blade, &away).end, ImpactEnd::Free);
}

#[test]
fn starts_that_touch_are_told_apart() {
    let cube = shape(samples::cuboid(DVec3::splat(0.2)), 0.01);
    let small = shape(samples::sphere(0.02, 3), 2e-3);
    let inside = ask(&cube, &cube, &straight(DVec3::X * 0.15, DVec3::X));
    assert_eq!((inside.time, inside.end), (Some(0.0), ImpactEnd::Overlapping));
    assert!(inside.distance <= 0.0, "{inside:?}");
    // Wholly inside, whichever gives the points.
    for (a, b) in [(&cube, &small), (&small, &cube)] {
        let impact = ask(a, b, &straight(DVec3::ZERO, DVec3::X));
        assert_eq!((impact.time, impact.end), (Some(0.0), ImpactEnd::Overlapping));
    }
    let near = ask(&cube, &cube, &straight(DVec3::X * 0.205, DVec3::X));
    assert_eq!((near.time, near.end), (Some(0.0), ImpactEnd::Near));
    assert!(near.distance > 0.0 && near.distance <= near.early && near.normal.x > 0.9, "{near:?}");
}

#[test]
fn odd_input_has_defined_answers() {
    let cube = shape(samples::cuboid(DVec3::splat(0.2)), 0.01);
    let mut query = Query::new();
    // No motion.
    let still = straight(DVec3::X, DVec3::ZERO);
    assert_eq!(ask(&cube, &cube, &still).end, ImpactEnd::Free);
    assert_eq!(ask(&cube, &cube, &Motion::between(&still.from, &still.from)).end, ImpactEnd::Free);
    // Numbers that are none, or whose lengths overflow.
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        for motion in [
            straight(DVec3::X, DVec3::Y * bad),
            Motion { angular: DVec3::splat(bad), ..still },
            straight(DVec3::new(bad, 0.0, 0.0), DVec3::new(bad, 0.0, 0.0)),
        ] {
            let impact = query.time_of_impact(&cube, &cube, &motion, &Default::default());
            if bad == 1e300 {
                assert!(impact.end != ImpactEnd::Hit, "{impact:?}");
                continue;
            }
            assert_eq!((impact.time, impact.end), (None, ImpactEnd::NonFinite));
            assert!(query.stats().non_finite);
        }
    }
    // From very far away, with a step that is no step.
    let far = straight(DVec3::X * 1e20, DVec3::X * -2e20);
    let impact = ask(&cube, &cube, &far);
    assert!(matches!(impact.end, ImpactEnd::Hit | ImpactEnd::Unfinished), "{impact:?}");
    assert!(impact.time.is_some_and(|t| t <= 0.5), "{impact:?}");
    // No steps, or too few: early, not wrong.
    let motion = straight(DVec3::X, DVec3::X * -2.0);
    for max_steps in [0, 1, 3] {
        let params = ImpactParams { max_steps, ..Default::default() };
        let impact = query.time_of_impact(&cube, &cube, &motion, &params);
        assert_eq!(impact.end, ImpactEnd::Unfinished);
        assert!(impact.time.is_some_and(|t| t <= 0.4), "{impact:?}");
    }
    // Tolerances out of range.
    for tolerance in [Some(f64::NAN), Some(-1.0), Some(0.0), Some(1e-300)] {
        let params = ImpactParams { tolerance, ..Default::default() };
        let impact = query.time_of_impact(&cube, &cube, &motion, &params);
        assert_eq!(impact.end, ImpactEnd::Hit, "{impact:?}");
    }
    // Shells without points, or with a radius that is none.
    let cloud = |points: &[DVec3], radius: f64| {
        let (normals, areas) = (vec![glam::Vec3::X; points.len()], vec![1.0; points.len()]);
        let shell = Shell::from_points(points, &normals, &areas, radius, radius);
        cube.with_tree(Tree::build(&shell, &Default::default()))
    };
    let empty = cloud(&[], 0.01);
    for (a, b) in [(&cube, &empty), (&empty, &cube)] {
        assert_eq!(ask(a, b, &motion).end, ImpactEnd::Empty);
    }
    for radius in [f64::NAN, 0.0] {
        let odd = cloud(&[DVec3::X * 0.1, DVec3::X * -0.1], radius);
        let impact = ask(&odd, &odd, &motion);
        assert!(impact.time.is_some_and(|t| (0.0..=1.0).contains(&t)), "{radius}: {impact:?}");
    }
}
