//! Rays, points, distances and casts, against closed forms and against Parry's own shapes.

mod common;

use common::{Random, build, cube, ring};
use glam::DVec3;
use palpate::mesh::samples;
use palpate_rapier::{PalpateDispatcher, PalpateShape};
use parry3d::math::{Pose, Vector};
use parry3d::query::details::ShapeCastOptions;
use parry3d::query::{
    ClosestPoints, DefaultQueryDispatcher, NonlinearRigidMotion, PointQuery, QueryDispatcher, Ray, RayCast,
    ShapeCastStatus, Unsupported,
};
use parry3d::shape::{Ball, Capsule, Cuboid, Cylinder, FeatureId, HalfSpace, Shape, SharedShape};

/// A box of 2 x 1 x 0.5 m, as ours and as Parry's.
fn boxes() -> (PalpateShape, Cuboid) {
    (build(samples::cuboid(DVec3::new(2.0, 1.0, 0.5)), 0.05), Cuboid::new(Vector::new(1.0, 0.5, 0.25)))
}

#[test]
fn rays_hit_what_a_box_of_parry_hits() {
    let (ours, theirs) = boxes();
    let mut random = Random(1);
    let mut hits = 0;
    for _ in 0..2000 {
        let (from, to) = (random.pose(3.0).translation, random.pose(0.7).translation);
        let ray = Ray::new(from, (to - from).normalize());
        for solid in [true, false] {
            let a = ours.cast_local_ray_and_get_normal(&ray, 10.0, solid);
            let b = theirs.cast_local_ray_and_get_normal(&ray, 10.0, solid);
            assert_eq!(a.is_some(), b.is_some(), "{ray:?} {solid}");
            let (Some(a), Some(b)) = (a, b) else { continue };
            hits += 1;
            assert!((a.time_of_impact - b.time_of_impact).abs() < 1e-4, "{ray:?}: {a:?} {b:?}");
            assert!(a.time_of_impact == 0.0 || (a.normal.abs() - b.normal.abs()).length() < 1e-3);
        }
    }
    assert!((800..3900).contains(&hits), "{hits} of 4000 rays hit");
    let nan = Ray::new(Vector::splat(f32::NAN), Vector::X);
    assert!(ours.cast_local_ray_and_get_normal(&nan, 1.0, true).is_none());
}

#[test]
fn points_are_projected_as_on_a_box_of_parry() {
    let (ours, theirs) = boxes();
    let mut random = Random(2);
    let mut inside = 0;
    for _ in 0..2000 {
        let p = random.pose(1.2).translation;
        let (a, b) = (ours.project_local_point(p, false), theirs.project_local_point(p, false));
        assert_eq!(a.is_inside, b.is_inside, "{p}");
        assert!(((a.point - p).length() - (b.point - p).length()).abs() < 1e-5, "{p}: {a:?} {b:?}");
        assert_eq!(ours.contains_local_point(p), theirs.contains_local_point(p));
        let (at, feature) = ours.project_local_point_and_get_feature(p);
        assert!(matches!(feature, FeatureId::Face(_)));
        let normal = ours.feature_normal_at_point(0, feature, at.point).expect("a face has a normal");
        assert!((normal.length() - 1.0).abs() < 1e-5 && normal.abs().max_element() > 0.999);
        inside += usize::from(a.is_inside);
    }
    assert!((100..1500).contains(&inside), "{inside} of 2000 points are inside");
    assert!(!ours.project_local_point(Vector::splat(f32::NAN), true).is_inside);
}

#[test]
fn boxes_balls_and_masses() {
    let (ours, theirs) = boxes();
    let (a, b) = (ours.mass_properties(1000.0), theirs.mass_properties(1000.0));
    assert!((a.mass() - b.mass()).abs() < 1e-3 * b.mass() && a.local_com.length() < 1e-6);
    let (ia, ib) = (a.reconstruct_inertia_matrix(), b.reconstruct_inertia_matrix());
    assert!((ia.x_axis - ib.x_axis).length() + (ia.z_axis - ib.z_axis).length() < 1e-3 * ib.x_axis.length());
    let (box_a, box_b) = (ours.compute_local_aabb(), theirs.compute_local_aabb());
    assert!((box_a.mins - box_b.mins).length() + (box_a.maxs - box_b.maxs).length() < 1e-5);
    let mut random = Random(3);
    for _ in 0..100 {
        let pose = random.pose(5.0);
        let (around, sphere) = (ours.compute_aabb(&pose), ours.compute_bounding_sphere(&pose));
        for p in ours.core().mesh().positions() {
            let p = pose * p.as_vec3();
            assert!(around.contains_local_point(p), "{p} {around:?}");
            assert!((p - sphere.center).length() <= sphere.radius * (1.0 + 1e-6));
        }
    }
    assert!((0.05..0.25).contains(&ours.ccd_thickness()), "{}", ours.ccd_thickness());
}

/// Our box against solids, and Parry's box against the same: the same distance, whichever comes first.
#[test]
fn distances_are_those_of_parry() {
    let (ours, theirs) = boxes();
    let d = PalpateDispatcher::new();
    let solids: [(&str, SharedShape); 5] = [
        ("ball", SharedShape::new(Ball::new(0.3))),
        ("cuboid", SharedShape::new(Cuboid::new(Vector::new(0.3, 0.2, 0.4)))),
        ("capsule", SharedShape::new(Capsule::new_x(0.3, 0.1))),
        ("cylinder", SharedShape::new(Cylinder::new(0.3, 0.2))),
        ("half-space", SharedShape::new(HalfSpace::new(Vector::Y))),
    ];
    let mut random = Random(4);
    let mut apart = 0;
    for (name, solid) in &solids {
        for _ in 0..60 {
            let pose = random.pose(2.0);
            let want = DefaultQueryDispatcher.distance(&pose, &theirs, &**solid).map_or(0.0, |d| d.distance);
            let back = pose.inverse();
            let one = d.distance(&pose, &ours, &**solid).expect("our pair").distance;
            let two = d.distance(&back, &**solid, &ours).expect("our pair").distance;
            // Ours is between two points of the surfaces, hence never too small; Parry's search stops early on a cylinder.
            for found in [one, two] {
                let off = found - want;
                assert!((-5e-3..2e-3).contains(&off), "{name} {pose:?}: {one}, {two}, {want} by Parry");
            }
            let meet = d.intersection_test(&pose, &ours, &**solid).expect("our pair").intersecting;
            let theirs_meet = DefaultQueryDispatcher.intersection_test(&pose, &theirs, &**solid);
            let theirs_meet = theirs_meet.is_ok_and(|m| m.intersecting);
            // Edges between two of our points may be missed by less than a spacing of 0.1 m.
            assert!(meet == theirs_meet || want < 0.05, "{name} {pose:?}: {meet}");
            if want > 0.01 {
                apart += 1;
                let ClosestPoints::WithinMargin(p1, p2) =
                    d.closest_points(&pose, &ours, &**solid, 100.0).expect("our pair")
                else {
                    panic!("{name} {pose:?} is apart")
                };
                assert!(((p1 - pose * p2).length() - one).abs() < 1e-4);
                let contact =
                    d.contact(&pose, &ours, &**solid, 100.0).expect("our pair").expect("within 100 m");
                assert!((contact.dist - one).abs() < 1e-4);
                let along = (pose * contact.point2 - contact.point1).normalize();
                assert!(
                    contact.normal1.dot(along) > 0.99 && (pose.rotation * contact.normal2).dot(along) < -0.99
                );
                assert!(d.contact(&pose, &ours, &**solid, 0.5 * want).expect("our pair").is_none());
            }
        }
    }
    assert!((100..290).contains(&apart), "{apart} of 300 are apart");
}

#[test]
fn what_is_inside_is_found() {
    let d = PalpateDispatcher::new();
    let big = cube(1.0);
    let ball = Ball::new(0.05);
    for pose in [Pose::translation(0.1, 0.2, -0.1), Pose::IDENTITY] {
        assert!(d.intersection_test(&pose, &big, &ball).expect("our pair").intersecting);
        assert!(d.intersection_test(&pose.inverse(), &ball, &big).expect("our pair").intersecting);
        assert_eq!(d.distance(&pose, &big, &ball).expect("our pair").distance, 0.0);
    }
    // In the hole of a ring nothing is.
    assert!(!d.intersection_test(&Pose::IDENTITY, &ring(), &ball).expect("our pair").intersecting);
}

#[test]
fn casts_stop_at_the_surface() {
    let d = PalpateDispatcher::new();
    let cube = cube(1.0);
    let options = ShapeCastOptions::with_max_time_of_impact(100.0);
    for other in
        [SharedShape::ball(0.5), SharedShape::new(self::cube(1.0)), SharedShape::cuboid(0.5, 0.5, 0.5)]
    {
        let from = Pose::translation(5.0, 0.1, 0.2);
        let hit = d.cast_shapes(&from, Vector::X * -2.0, &cube, &*other, options).expect("our pair");
        let hit = hit.expect("they meet");
        assert!((hit.time_of_impact - 2.0).abs() < 3e-3, "{hit:?}");
        assert!(hit.normal1.x > 0.99 && hit.normal2.x < -0.99, "{hit:?}");
        assert_eq!(hit.status, ShapeCastStatus::Converged);
        // Past it, away from it, too short, and with a distance to keep.
        let past =
            d.cast_shapes(&Pose::translation(5.0, 3.0, 0.0), Vector::X * -2.0, &cube, &*other, options);
        assert!(past.expect("our pair").is_none());
        let away = d.cast_shapes(&from, Vector::X * 2.0, &cube, &*other, options);
        assert!(away.expect("our pair").is_none());
        let short = ShapeCastOptions { max_time_of_impact: 1.9, ..options };
        assert!(d.cast_shapes(&from, Vector::X * -2.0, &cube, &*other, short).expect("our pair").is_none());
        let kept = ShapeCastOptions { target_distance: 1.0, ..options };
        let kept =
            d.cast_shapes(&from, Vector::X * -2.0, &cube, &*other, kept).expect("our pair").expect("a hit");
        assert!((kept.time_of_impact - 1.5).abs() < 3e-3, "{kept:?}");
    }
    let still =
        d.cast_shapes(&Pose::translation(2.0, 0.0, 0.0), Vector::ZERO, &cube, &Ball::new(0.5), options);
    assert!(still.expect("our pair").is_none());
}

/// A rod that turns about its middle hits a wall with its end.
#[test]
fn turning_casts_follow_the_arc() {
    let d = PalpateDispatcher::new();
    let rod = build(samples::cuboid(DVec3::new(2.0, 0.1, 0.1)), 0.02);
    let wall = Cuboid::new(Vector::new(1.0, 0.1, 1.0));
    let turning = NonlinearRigidMotion::new(Pose::IDENTITY, Vector::ZERO, Vector::ZERO, Vector::Z);
    let standing = NonlinearRigidMotion::constant_position(Pose::translation(0.0, 0.6, 0.0));
    let hit = d.cast_shapes_nonlinear(&turning, &rod, &standing, &wall, 0.0, 3.0, true);
    let hit = hit.expect("our pair").expect("the end meets the wall");
    // The upper corner of the end, at (1, 0.05), reaches y = 0.5.
    let want = (0.5_f32 / 1.0025_f32.sqrt()).asin() - 0.05_f32.atan();
    assert!((hit.time_of_impact - want).abs() < 0.01, "{hit:?}, {want} expected");
    let swapped = d.cast_shapes_nonlinear(&standing, &wall, &turning, &rod, 0.0, 3.0, true);
    let swapped = swapped.expect("our pair").expect("the end meets the wall");
    assert!((hit.time_of_impact - swapped.time_of_impact).abs() < 0.01);
}

#[test]
fn other_pairs_are_left_to_others() {
    let d = PalpateDispatcher::new();
    let (a, b) = (Ball::new(1.0), Ball::new(1.0));
    assert_eq!(d.distance(&Pose::IDENTITY, &a, &b), Err(Unsupported));
    assert!(d.chained().distance(&Pose::IDENTITY, &a, &b).is_ok());
    // A number that is not finite: no answer, no panic.
    let cube = cube(1.0);
    let nan = Pose::translation(f32::NAN, 0.0, 0.0);
    assert!(d.distance(&nan, &cube, &a).is_err());
    assert!(!d.intersection_test(&nan, &cube, &a).expect("our pair").intersecting);
    assert!(d.contact(&nan, &cube, &a, 1.0).expect("our pair").is_none());
    let cast = d.cast_shapes(&nan, Vector::X, &cube, &a, ShapeCastOptions::default());
    assert!(cast.expect("our pair").is_none());
}
