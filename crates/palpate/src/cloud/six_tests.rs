use super::tests::{kinds, probes};
use super::*;
use crate::field::source::random::Random;
use crate::force::Twist;
use crate::math::Pose;
use glam::DQuat;
use std::sync::Arc;

#[test]
fn the_six_point_rule_looks_at_seven_leaves_and_is_never_nearer() {
    let (mut differs, mut missed, mut hits, mut all_seven) = (0, 0, 0, 0);
    for (name, points) in kinds() {
        for leaf in [4, 10] {
            let cloud = Cloud::build(&points, &CloudParams { leaf, ..Default::default() }).unwrap();
            let six = SixPoint::build(&cloud, cloud.spacing());
            let without = |p| six_point::nearest(&cloud, cloud.spacing(), None, p);
            // The smallest octants may hold more different positions.
            let most = cloud.leaves.iter().map(|l| usize::from(l.len)).max().unwrap_or(0);
            assert!(most <= leaf || name == "clusters" || name == "needle", "{name} {most}");
            for p in probes(&points, 3, 500) {
                let (found, work) = six.nearest(p);
                assert!(work.leaves <= 7 && work.points <= 7 * most, "{name} {work:?}");
                all_seven += usize::from(work.leaves >= 5);
                assert_eq!((found, work), without(p), "{name} {p}: the table changes nothing");
                let exact = cloud.nearest(p).unwrap();
                if let Some(found) = found {
                    assert!(found.distance >= exact.distance * (1.0 - 1e-6), "{name} {p}");
                    differs += usize::from(found.id != exact.id);
                }
                let half = 0.625 * cloud.spacing();
                let (touches, work) = six.touches(p, half);
                assert!(work.leaves <= 7 && work.points <= 7 * most, "{name} {work:?}");
                let exact = cloud.touches(p, half);
                assert!(exact || !touches, "{name} {p}: no box that is not there");
                missed += usize::from(exact && !touches);
                hits += usize::from(touches);
            }
        }
    }
    // It is the paper's rule: wrong in places.
    assert!(differs > 50 && hits > 500, "{differs} {missed} {hits}");
    assert!(all_seven > 20, "{all_seven}");
}

#[test]
fn leaves_are_numbered_depth_first_and_neighbours_lie_beyond_faces() {
    // A grid of points with one in each octant: neighbours are those of the grid.
    let points: Vec<_> =
        (0..512).map(|i| DVec3::new((i % 8).into(), (i / 8 % 8).into(), (i / 64).into())).collect();
    let cloud = Cloud::build(&points, &CloudParams { leaf: 1, ..Default::default() }).unwrap();
    let six = SixPoint::build(&cloud, 0.01);
    assert_eq!(six.leaves(), 512);
    let mut pairs = 0;
    for number in 0..six.leaves() {
        let row = six.neighbours(number).unwrap();
        for (side, other) in row.into_iter().enumerate() {
            let Some(other) = other else { continue };
            pairs += 1;
            // Octants of one size: the way back leads back.
            assert_eq!(six.neighbours(other as usize).unwrap()[side ^ 1], Some(number as u32));
        }
    }
    assert_eq!(pairs, 2 * 3 * 7 * 64);
    assert!(six.neighbours(512).is_none());
    // Depth first: the first eight share a node, and so on.
    let again = SixPoint::build(&cloud, 0.01);
    assert_eq!(again.neighbours(0), six.neighbours(0));
}

#[test]
fn bad_probes_and_empty_clouds_are_defined_for_the_six_point_rule() {
    let none = Cloud::empty(&CloudParams::default()).unwrap();
    let six = SixPoint::build(&none, f64::NAN);
    assert_eq!(six.nearest(DVec3::ZERO), (None, Work::default()));
    assert_eq!(six.touches(DVec3::ZERO, 1.0), (false, Work::default()));
    let one = Cloud::build(&[DVec3::ONE], &CloudParams::default()).unwrap();
    let six = SixPoint::build(&one, f64::INFINITY);
    for p in [DVec3::NAN, DVec3::INFINITY, DVec3::splat(1e300), DVec3::splat(-1e9)] {
        assert!(six.nearest(p).0.is_none() && !six.touches(p, 1.0).0, "{p}");
    }
    assert_eq!(six.nearest(DVec3::ONE).0.unwrap().id, 0);
}

fn random_pose(r: &mut Random, size: f64) -> Pose {
    Pose::new(DQuat::from_axis_angle(r.direction(), r.range(0.0, 3.0)), r.point(size))
}

#[test]
fn a_scene_is_all_its_points_moved() {
    for seed in [1, 2] {
        let mut r = Random(seed);
        let clouds: Vec<Arc<Cloud>> = kinds()[..3]
            .iter()
            .map(|(_, points)| Arc::new(Cloud::build(points, &CloudParams::default()).unwrap()))
            .collect();
        let mut scene = Scene::new(TouchParams::default());
        let ids: Vec<_> = clouds.iter().map(|c| scene.add(c.clone(), Pose::IDENTITY)).collect();
        let poses: Vec<_> = ids.iter().map(|_| random_pose(&mut r, 0.5)).collect();
        assert!(ids.iter().zip(&poses).all(|(id, pose)| scene.set_pose(*id, *pose)));
        let world: Vec<(ModelId, u32, DVec3)> = (0..3)
            .flat_map(|i| {
                let (cloud, pose, id) = (&clouds[i], poses[i], ids[i]);
                (0..cloud.id_end()).map(move |k| (id, k, pose.point(cloud.position(k).unwrap())))
            })
            .collect();
        let mut who = [0; 3];
        for k in 0..600 {
            let p = world[(r.bits() % world.len() as u64) as usize].2
                + r.point(if k % 2 == 0 { 0.01 } else { 1.0 });
            let brute = world.iter().map(|w| w.2.distance(p)).fold(f64::INFINITY, f64::min);
            let n = scene.nearest(p).unwrap();
            // Searches compare in single precision.
            assert!((n.distance - brute).abs() < 1e-6, "{seed} {p} {} {brute}", n.distance);
            assert!((n.point.distance(p) - n.distance).abs() < 1e-9);
            who[ids.iter().position(|id| *id == n.model).unwrap()] += 1;
            let touches = (0..3).any(|i| {
                let local = poses[i].inverse().point(p);
                clouds[i].touches(local, 0.625 * clouds[i].spacing())
            });
            assert_eq!(scene.touches(p), touches);
        }
        assert!(who.iter().all(|n| *n > 30), "{who:?}");

        // Gone is gone, and names are not given again.
        assert!(scene.remove(ids[1]) && !scene.remove(ids[1]) && !scene.set_pose(ids[1], Pose::IDENTITY));
        assert!(scene.nearest(DVec3::ZERO).unwrap().model != ids[1]);
        let new = scene.add(clouds[1].clone(), Pose::IDENTITY);
        assert!(new > ids[2]);
        // Twice the same model: the lowest name.
        let twin = scene.add(clouds[1].clone(), Pose::IDENTITY);
        assert!(scene.nearest(clouds[1].position(7).unwrap()).unwrap().model == new && twin > new);
        assert!(scene.nearest(DVec3::NAN).is_none() && !scene.touches(DVec3::NAN));
        scene.set_pose(new, Pose::from_translation(DVec3::NAN));
        assert_eq!(scene.nearest(clouds[1].position(7).unwrap()).unwrap().model, twin);
    }
    let empty = Scene::default();
    assert!(empty.nearest(DVec3::ZERO).is_none() && !empty.touches(DVec3::ZERO));
}

#[test]
fn the_paper_mode_of_a_scene_is_the_six_point_rule_also_after_edits() {
    let points = &kinds()[0].1;
    let cloud = Cloud::build(points, &CloudParams::default()).unwrap();
    let pose = Pose::new(DQuat::from_rotation_x(0.3), DVec3::new(0.1, 0.2, 0.3));
    let mut scene = Scene::new(TouchParams { mode: Mode::Paper, ..Default::default() });
    let id = scene.add(Arc::new(cloud.clone()), pose);
    for round in 0..3 {
        let cloud = scene.model(id).unwrap().cloud().clone();
        let six = SixPoint::build(&cloud, cloud.spacing());
        for p in probes(points, 4, 300) {
            let (found, work) = scene.nearest_counted(pose.point(p));
            let expected = six.nearest(pose.inverse().point(pose.point(p)));
            assert_eq!((found.map(|n| n.id), work), (expected.0.map(|n| n.id), expected.1), "{round}");
            let half = 0.625 * cloud.spacing();
            assert_eq!(
                scene.touches(pose.point(p)),
                six.touches(pose.inverse().point(pose.point(p)), half).0
            );
        }
        if round == 1 {
            assert!(scene.refresh(id));
        } else {
            let cloud = scene.cloud_mut(id).unwrap();
            (0..500).for_each(|i| assert!(cloud.remove(2 * i)));
            (0..200)
                .for_each(|i| assert!(cloud.insert(DVec3::new(0.0005 * f64::from(i), 0.05, 2.0)).is_ok()));
            (0..500).for_each(|i| drop(cloud.insert(points[2 * i])));
        }
    }
    assert_eq!(cloud.len(), points.len(), "the cloud of others is as it was");
}

#[test]
fn the_nearest_point_force_is_stiffness_times_the_way_to_it() {
    let points = &kinds()[0].1;
    for mode in [Mode::Exact, Mode::Paper] {
        let cloud = Arc::new(Cloud::build(points, &CloudParams::default()).unwrap());
        let mut scene = Scene::new(TouchParams { mode, ..Default::default() });
        let pose = Pose::new(DQuat::from_rotation_y(-0.4), DVec3::new(1.0, 0.0, 0.5));
        let id = scene.add(cloud.clone(), pose);
        let params = PointForceParams::new(300.0);
        let (mut in_boxes, mut outside) = (0, 0);
        for p in probes(points, 5, 400) {
            let p = pose.point(p);
            let out = scene.point_force(p, DVec3::ZERO, &params);
            assert_eq!(out.touching, scene.touches(p));
            if out.touching {
                assert_eq!(out.nearest, scene.nearest(p));
                let Some(nearest) = out.nearest else {
                    // The octant of the probe and those of the table may have no points where those of the six points have.
                    assert!(mode == Mode::Paper && out.force == DVec3::ZERO);
                    continue;
                };
                assert!((out.force - 300.0 * (nearest.point - p)).length() < 1e-12);
                in_boxes += 1;
            } else {
                assert_eq!(out.force, DVec3::ZERO);
                outside += 1;
            }
        }
        assert!(in_boxes > 90 && outside > 90, "{in_boxes} {outside}");
        // A model that turns drags the probe along.
        let at = pose.point(points[0]);
        scene.set_velocity(id, Twist { linear: DVec3::X, angular: DVec3::Z });
        let damped = PointForceParams { damping: 2.0, ..params };
        let drag = scene.point_force(at, DVec3::Y, &damped);
        let expected = DVec3::X + DVec3::Z.cross(at - pose.translation) - DVec3::Y;
        assert!((drag.force - 2.0 * expected).length() < 1e-3, "{drag:?}");
        let limited = scene.point_force(at, DVec3::Y, &PointForceParams { most_force: 0.5, ..damped });
        assert!((limited.force.length() - 0.5).abs() < 1e-12);
        assert!(scene.point_force(DVec3::NAN, DVec3::ZERO, &params).non_finite);
        assert!(scene.point_force(at, DVec3::NAN, &params).non_finite);
    }
    assert!(PointForceParams::new(f64::NAN).check().is_err() && PointForceParams::new(1.0).check().is_ok());
    assert!(TouchParams { box_edge: Some(-1.0), ..Default::default() }.check().is_err());
}
