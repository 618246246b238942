//! Normals, orientation and areas against surfaces that are known.

use super::*;
use crate::field::source::random::Random;
use core::f64::consts::PI;
use glam::{DVec3, Vec3};

/// `n` points spread evenly over the unit sphere.
pub(super) fn sphere(n: usize) -> Vec<DVec3> {
    let turn = PI * (3.0 - 5f64.sqrt());
    (0..n)
        .map(|i| {
            let z = (2.0 * i as f64 + 1.0) / n as f64 - 1.0;
            let (r, at) = ((1.0 - z * z).sqrt(), turn * i as f64);
            DVec3::new(r * at.cos(), r * at.sin(), z)
        })
        .collect()
}

pub(super) fn cloud(points: &[DVec3]) -> Cloud {
    Cloud::build(points, &CloudParams::default()).unwrap()
}

pub(super) fn surfels(points: &[DVec3]) -> Surfels {
    Surfels::build(&cloud(points), None, &SurfelParams::default()).unwrap()
}

/// Points on the faces of the cube from −1 to 1, at random.
fn cube(n: usize, seed: u64) -> (Vec<DVec3>, Vec<DVec3>) {
    let mut r = Random(seed);
    (0..n)
        .map(|i| {
            let mut p = r.point(1.0);
            let mut normal = DVec3::ZERO;
            let sign = if i / 3 % 2 == 0 { 1.0 } else { -1.0 };
            (p[i % 3], normal[i % 3]) = (sign, sign);
            (p, normal)
        })
        .unzip()
}

#[test]
fn normals_of_a_sphere_are_outward_and_within_their_accuracy() {
    let mut r = Random(3);
    let random: Vec<DVec3> = (0..5000).map(|_| r.direction()).collect();
    for (points, worst) in [(sphere(5000), 0.01f64), (random, 0.12)] {
        let s = surfels(&points);
        for i in 0..s.len() {
            let cosine = s.normal(i).as_dvec3().dot(s.position(i).normalize());
            assert!(cosine > worst.cos(), "{cosine}");
            assert!(s.is_planar(i) && s.variation(i) < 0.02);
        }
        let c = s.report().components[0];
        assert_eq!((s.report().components.len(), c.facing, c.entries), (1, Facing::Volume, 5000));
        assert!(c.confidence > 0.95 && c.openness < 0.02, "{c:?}");
    }
}

#[test]
fn areas_sum_to_that_of_the_surface() {
    let mut r = Random(11);
    let near = |s: &Surfels, area: f64, within: f64| {
        let ratio = s.report().area / area - 1.0;
        assert!(ratio.abs() < within, "{ratio} of {area}");
    };
    near(&surfels(&sphere(3000)), 4.0 * PI, 0.002);
    let random: Vec<DVec3> = (0..5000).map(|_| r.direction()).collect();
    near(&surfels(&random), 4.0 * PI, 0.01);
    // Ten times as dense on one side as on the other.
    let uneven: Vec<DVec3> = (0..40_000)
        .filter_map(|_| {
            let d = r.direction();
            (r.range(0.0, 1.0) < 0.1 + 0.45 * (d.z + 1.0)).then_some(d)
        })
        .collect();
    assert!(uneven.len() > 15_000);
    let s = surfels(&uneven);
    near(&s, 4.0 * PI, 0.01);
    let half: f64 = (0..s.len()).filter(|i| s.position(*i).z > 0.0).map(|i| f64::from(s.area(i))).sum();
    assert!((half / (2.0 * PI) - 1.0).abs() < 0.02, "{half}");
    // Planes with borders: points on the border, and at random.
    let grid: Vec<DVec3> =
        (0..101 * 101).map(|i| DVec3::new(f64::from(i % 101), f64::from(i / 101), 0.0) / 100.0).collect();
    let s = surfels(&grid);
    near(&s, 1.0, 0.012);
    assert_eq!(s.report().border, 400);
    assert!((s.report().spacing - 0.01).abs() < 1e-6);
    let random: Vec<DVec3> =
        (0..10_000).map(|_| DVec3::new(r.range(0.0, 1.0), r.range(0.0, 1.0), 0.5)).collect();
    near(&surfels(&random), 1.0, 0.02);
    near(&surfels(&cube(20_000, 5).0), 24.0, 0.02);
}

#[test]
fn a_cube_and_a_thin_wall_are_oriented_across_their_edges() {
    let (points, normals) = cube(12_000, 9);
    for squeeze in [1.0, 0.03] {
        let scale = DVec3::new(1.0, 1.0, squeeze);
        let squeezed: Vec<DVec3> = points.iter().map(|p| *p * scale).collect();
        let s = surfels(&squeezed);
        // Beside an edge a normal is between two faces'; elsewhere it is the face's.
        let (mut right, mut wrong) = (0, 0);
        for i in 0..s.len() {
            let cosine = s.normal(i).as_dvec3().dot(normals[s.id(i) as usize]);
            right += usize::from(cosine > 0.7);
            wrong += usize::from(cosine < 0.0);
        }
        let share = |k: usize| k as f64 / s.len() as f64;
        assert!(share(wrong) < 0.03 && share(right) > 0.85, "{squeeze}: {} {}", share(right), share(wrong));
    }
}

#[test]
fn sensors_and_given_normals_decide_which_way_is_out() {
    let points = sphere(2000);
    let from_inside = SurfelParams { towards: Towards::Point(DVec3::ZERO), ..Default::default() };
    let s = Surfels::build(&cloud(&points), None, &from_inside).unwrap();
    assert!((0..s.len()).all(|i| s.normal(i).as_dvec3().dot(s.position(i)) < -0.9));
    assert_eq!(s.report().components[0].facing, Facing::Sensor);
    // One sensor for each point, some unknown.
    let each =
        points.iter().enumerate().map(|(i, p)| if i % 3 == 0 { DVec3::NAN } else { *p * 5.0 }).collect();
    let outside = SurfelParams { towards: Towards::Each(each), ..Default::default() };
    let s = Surfels::build(&cloud(&points), None, &outside).unwrap();
    assert!((0..s.len()).all(|i| s.normal(i).as_dvec3().dot(s.position(i)) > 0.9));
    // Ten normals are known, of any length; they stay, and the others follow. Bad ones are as none.
    let mut given = vec![DVec3::ZERO; 2000];
    for i in 0..10 {
        given[200 * i] = -7.0 * points[200 * i] + DVec3::splat(0.5);
        given[200 * i + 1] = DVec3::NAN;
        given[200 * i + 2] = DVec3::INFINITY;
    }
    let s = Surfels::build(&cloud(&points), Some(&given), &SurfelParams::default()).unwrap();
    assert_eq!((s.report().given, s.report().components[0].facing), (10, Facing::Given));
    for i in 0..s.len() {
        let (id, normal) = (s.id(i) as usize, s.normal(i));
        assert!(normal.as_dvec3().dot(points[id]) < -0.5);
        if id.is_multiple_of(200) {
            assert!((normal - given[id].normalize().as_vec3()).length() < 1e-6);
        }
    }
}

#[test]
fn parts_are_oriented_apart_and_open_ones_say_so() {
    let mut points: Vec<DVec3> = sphere(1500);
    points.extend(sphere(1000).iter().map(|p| *p * 0.5 + DVec3::X * 4.0));
    // Half a ball, and a square that looks along y.
    points.extend(sphere(1600).iter().filter(|p| p.z < 0.0).map(|p| *p + DVec3::Y * 9.0));
    points.extend((0..900).map(|i| DVec3::new(f64::from(i % 30), 300.0, f64::from(i / 30)) * 0.05));
    let s = surfels(&points);
    let mut parts = s.report().components.clone();
    parts.sort_by_key(|c| c.id);
    let facing: Vec<_> = parts.iter().map(|c| (c.entries, c.facing)).collect();
    let wanted =
        vec![(1500, Facing::Volume), (1000, Facing::Volume), (800, Facing::Bend), (900, Facing::Axis)];
    assert_eq!(facing, wanted);
    for i in 0..s.len() {
        let (p, n) = (s.position(i), s.normal(i).as_dvec3());
        let out = match s.id(i) {
            0..1500 => p,
            1500..2500 => p - DVec3::X * 4.0,
            2500..3300 => p - DVec3::Y * 9.0,
            _ => DVec3::Y,
        };
        assert!(n.dot(out.normalize()) > 0.8, "{p} {n}");
    }
    assert!(parts[0].confidence > 0.9 && parts[3].confidence < 0.1);
    assert!(s.report().confidence() > 0.5 && s.report().confidence() < 1.0);
}

#[test]
fn points_at_one_place_are_one_entry_and_far_coordinates_lose_nothing() {
    let mut points = sphere(1000);
    points.extend(points.clone().iter().take(300));
    let once = surfels(&points[..1000]);
    let twice = surfels(&points);
    assert_eq!(twice.len(), 1000);
    assert_eq!(twice.report().area, once.report().area);
    assert!((0..300).all(|id| twice.entry(id) == twice.entry(id + 1000) && twice.entry(id).is_some()));
    assert_eq!(twice.entry(1300), None);
    let away = DVec3::new(4.6e6, 1.2e7, 300.0);
    let far = surfels(&points.iter().map(|p| *p + away).collect::<Vec<_>>());
    for id in 0..1000 {
        let (a, b) = (far.entry(id).unwrap(), once.entry(id).unwrap());
        // A coordinate of 1e7 m in f64 is good to 2e-9 m.
        assert!((far.normal(a) - once.normal(b)).length() < 1e-4);
        assert!((far.area(a) / once.area(b) - 1.0).abs() < 1e-4);
        assert!((far.position(a) - away - points[id as usize]).length() < 1e-6);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (points, _) = cube(3000, 4);
    let one =
        Surfels::build(&cloud(&points), None, &SurfelParams { threads: 1, ..Default::default() }).unwrap();
    let three =
        Surfels::build(&cloud(&points), None, &SurfelParams { threads: 3, ..Default::default() }).unwrap();
    assert!(one.normals == three.normals && one.areas == three.areas && one.report == three.report);
}

#[test]
fn what_is_no_surface_is_told() {
    let build = |points: &[DVec3]| Surfels::build(&cloud(points), None, &SurfelParams::default());
    for n in 0..3 {
        let points: Vec<DVec3> = (0..n).map(|i| DVec3::X * f64::from(i)).collect();
        let error = build(&points).unwrap_err();
        assert!(
            matches!(error, ReconstructError::TooFew { positions } if positions == n as usize),
            "{error}"
        );
    }
    assert!(matches!(build(&vec![DVec3::ONE; 1000]), Err(ReconstructError::TooFew { positions: 1 })));
    let line: Vec<DVec3> = (0..200).map(|i| DVec3::new(0.1, 0.2, 0.01 * f64::from(i))).collect();
    let s = build(&line).unwrap();
    assert_eq!(s.report().unplanar, 200);
    assert!(
        (0..200).all(|i| s.normal(i).z.abs() < 1e-6 && s.normal(i).is_normalized() && s.area(i).is_finite())
    );
    let mut r = Random(8);
    let volume: Vec<DVec3> = (0..2000).map(|_| r.point(1.0)).collect();
    assert!(build(&volume).unwrap().report().unplanar > 1000);
    let bad = SurfelParams { neighbours: 2, ..Default::default() };
    assert!(matches!(bad.check(), Err(ReconstructError::BadParameter { .. })));
    let flat =
        build(&(0..3).map(|i| DVec3::new(f64::from(i % 2), f64::from(i / 2), 0.0)).collect::<Vec<_>>())
            .unwrap();
    assert!((0..3).all(|i| (flat.normal(i) - Vec3::Z).length() < 1e-6 && flat.area(i) > 0.0));
}
