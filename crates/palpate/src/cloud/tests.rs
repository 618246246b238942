use super::*;
use crate::field::source::random::Random;

/// The nearest by comparing all, with the arithmetic of searches.
pub(super) fn brute(cloud: &Cloud, p: DVec3) -> Option<(u32, f32)> {
    let [x, y, z] = cloud.local(p)?;
    (0..cloud.id_end())
        .filter_map(|id| {
            let [a, b, c] = cloud.slots.position(cloud.slot(id)?);
            let (a, b, c) = (a - x, b - y, c - z);
            Some((id, a * a + b * b + c * c))
        })
        .min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))
}

/// Clouds of every kind: surfaces, volumes, lines, grids with many equal distances, clusters, small, large, far away.
pub(super) fn kinds() -> Vec<(&'static str, Vec<DVec3>)> {
    let mut r = Random(6);
    let mut sheet = Vec::new();
    for i in 0..60 {
        for j in 0..50 {
            let (x, y) = (0.0025 * f64::from(i), 0.0025 * f64::from(j));
            sheet.push(DVec3::new(x, y, x.cos() + y.cos()));
        }
    }
    let ball: Vec<_> = (0..3000).map(|_| r.direction()).collect();
    let line: Vec<_> = (0..1000).map(|i| DVec3::new(0.3, 0.001 * f64::from(i), -0.2)).collect();
    let grid: Vec<_> =
        (0..1000).map(|i| DVec3::new((i % 10).into(), (i / 10 % 10).into(), (i / 100).into())).collect();
    let mut clusters = Vec::new();
    for _ in 0..10 {
        let (middle, size) = (r.point(1000.0), 10f64.powf(r.range(-6.0, 0.0)));
        clusters.extend((0..200).map(|_| middle + r.point(size)));
    }
    let geo: Vec<_> = sheet.iter().map(|p| *p * 4000.0 + DVec3::new(4.6e6, 1.2e7, 320.0)).collect();
    let small: Vec<_> = ball.iter().map(|p| *p * 1e-7).collect();
    let twins: Vec<_> = (0..2000).map(|i| ball[i % 37]).collect();
    let needle: Vec<_> = (0..1000).map(|_| r.point(1.0) * DVec3::new(1.0, 1e-6, 1e-6)).collect();
    vec![
        ("sheet", sheet),
        ("ball", ball),
        ("line", line),
        ("grid", grid),
        ("clusters", clusters),
        ("geo", geo),
        ("small", small),
        ("twins", twins),
        ("needle", needle),
        ("one", vec![DVec3::new(1.0, 2.0, 3.0)]),
        ("few", vec![DVec3::ZERO, DVec3::ONE, DVec3::X]),
    ]
}

/// Probes on, near and far from the points.
pub(super) fn probes(points: &[DVec3], seed: u64, n: usize) -> Vec<DVec3> {
    let mut r = Random(seed);
    let size = Aabb::of_points(points.iter().copied()).extent().max_element().max(1e-3);
    (0..n)
        .map(|i| {
            let p = points[(r.bits() % points.len() as u64) as usize];
            p + match i % 4 {
                0 => DVec3::ZERO,
                1 => r.point(0.002 * size),
                2 => r.point(0.05 * size),
                _ => r.point(3.0 * size),
            }
        })
        .collect()
}

#[test]
fn the_nearest_point_is_that_of_comparing_all() {
    for (name, points) in kinds() {
        for leaf in [1, 4, 10, 50] {
            let cloud = Cloud::build(&points, &CloudParams { leaf, ..Default::default() }).unwrap();
            for p in probes(&points, 1, 400) {
                let (id, d) = brute(&cloud, p).unwrap();
                let n = cloud.nearest(p).unwrap();
                assert_eq!(n.id, id, "{name} {leaf} {p}");
                assert!(
                    (n.distance - f64::from(d).sqrt()).abs()
                        <= 2e-7 * (n.distance + cloud.aabb().extent().length())
                );
                assert_eq!(Some(n.point), cloud.position(id));
                // A limit just enough, and one just not.
                assert_eq!(cloud.nearest_within(p, n.distance), Some(n));
                let less = cloud.nearest_within(p, n.distance.next_down());
                assert_eq!(less, None, "{name} {p}");
            }
        }
    }
}

#[test]
fn boxes_and_neighbours_are_those_of_testing_all() {
    let mut touched = 0;
    for (name, points) in kinds() {
        let cloud = Cloud::build(&points, &CloudParams::default()).unwrap();
        let half = 0.6 * cloud.spacing();
        let heads: Vec<u32> = (0..cloud.id_end()).filter(|id| cloud.twins(*id).next() == Some(*id)).collect();
        let (mut boxes, mut within, mut few) = (Vec::new(), Vec::new(), Vec::new());
        for p in probes(&points, 2, 200) {
            let local = cloud.local(p).unwrap();
            let far = |id: &u32| {
                let q = cloud.slots.position(cloud.slot(*id).unwrap());
                [0, 1, 2].map(|a: usize| (q[a] - local[a]).abs())
            };
            let hit = |id: &u32| far(id).into_iter().all(|d| d <= half as f32);
            let expected: Vec<u32> = heads.iter().copied().filter(hit).collect();
            cloud.touching_into(p, half, &mut boxes);
            assert_eq!(boxes, expected, "{name} {p}");
            assert_eq!(cloud.touches(p, half), !expected.is_empty());
            touched += expected.len();

            let radius = 3.0 * cloud.spacing();
            let sq = |id: &u32| {
                let [x, y, z] = far(id);
                x * x + y * y + z * z
            };
            cloud.within_into(p, radius, &mut within);
            let expected: Vec<u32> = heads
                .iter()
                .copied()
                .filter(|id| cloud.position(*id).unwrap().distance(p) <= radius)
                .collect();
            assert_eq!(within.iter().map(|n| n.id).collect::<Vec<_>>(), expected, "{name} {p}");

            let mut expected = heads.clone();
            expected.sort_by(|a, b| sq(a).total_cmp(&sq(b)).then(a.cmp(b)));
            // Kept in order, and sorted out now and then.
            for k in [200, 7] {
                cloud.nearest_k_into(p, k, &mut few);
                expected.truncate(k);
                assert_eq!(few.iter().map(|n| n.id).collect::<Vec<_>>(), expected, "{name} {p}");
            }
        }
    }
    assert!(touched > 1000, "{touched}");
}

#[test]
fn bad_input_is_defined() {
    let params = CloudParams::default();
    let none = Cloud::build(&[], &params).unwrap();
    assert!(none.is_empty() && none.nearest(DVec3::ZERO).is_none() && !none.touches(DVec3::ZERO, 1.0));
    assert_eq!(none.aabb(), Aabb::EMPTY);
    assert_eq!(none.spacing(), 0.0);

    let nan = DVec3::new(0.0, f64::NAN, 0.0);
    let some = Cloud::build(&[nan, DVec3::X, DVec3::X * f64::INFINITY, DVec3::Y], &params).unwrap();
    assert_eq!((some.len(), some.report().skipped, some.position(0)), (2, 2, None));
    assert_eq!(some.nearest(DVec3::X * 0.9).unwrap().id, 1);
    assert!(some.nearest(nan).is_none() && !some.touches(nan, 1.0));
    assert!(!some.touches(DVec3::X, f64::NAN) && !some.touches(DVec3::X, -1.0));
    assert!(
        some.nearest_within(DVec3::X, -1.0).is_none() && some.nearest_within(DVec3::X, f64::NAN).is_none()
    );
    assert!(some.nearest_within(DVec3::X, 0.0).is_some());

    let all_nan = Cloud::build(&[nan; 3], &params).unwrap();
    assert!(all_nan.is_empty() && all_nan.report().skipped == 3);

    assert!(matches!(
        Cloud::build(&[], &CloudParams { leaf: 0, ..params.clone() }),
        Err(CloudError::BadLeaf { .. })
    ));
    let wrong = Aabb { min: DVec3::ONE, max: DVec3::ZERO };
    let wrong = CloudParams { region: Some(wrong), ..params.clone() };
    assert!(matches!(Cloud::build(&[], &wrong), Err(CloudError::BadRegion { .. })));
    let far = [DVec3::ZERO, DVec3::splat(1e300)];
    assert!(matches!(Cloud::build(&far, &params), Err(CloudError::TooLarge { .. })));
}

#[test]
fn probes_as_far_as_numbers_go_have_a_nearest_point() {
    let (_, points) = kinds().swap_remove(1);
    let cloud = Cloud::build(&points, &CloudParams::default()).unwrap();
    let mut few = Vec::new();
    for far in [1e3, 1e9, 1e19, 1e30, 1e300] {
        let n = cloud.nearest(DVec3::new(far, -far, 0.5 * far)).unwrap();
        assert!(n.distance.is_finite() || far > 1e100);
        cloud.nearest_k_into(DVec3::splat(far), 3, &mut few);
        assert_eq!(few.len(), 3);
    }
}

#[test]
fn points_a_rounding_apart_far_from_zero_stay_where_they_are() {
    let b = 1e7f64.next_up();
    for points in [[DVec3::splat(1e7), DVec3::splat(b)], [DVec3::splat(1e7), DVec3::new(b, 1e7, 1e7)]] {
        let cloud = Cloud::build(&points, &CloudParams::default()).unwrap();
        for (id, p) in (0..).zip(points) {
            assert_eq!((cloud.position(id), cloud.nearest(p).map(|n| n.id)), (Some(p), Some(id)));
        }
    }
}

#[test]
fn the_spacing_is_measured_among_the_points_that_are_left() {
    let (_, points) = kinds().swap_remove(0);
    let mut cloud = Cloud::build(&points, &CloudParams::default()).unwrap();
    assert!((3..3000).all(|id| cloud.remove(id)));
    let left = cloud.measure_spacing();
    assert!((left - 0.0025).abs() < 1e-4, "{left}");
}

#[test]
fn a_million_points_at_one_place_are_one_position() {
    let mut points = vec![DVec3::new(0.1, 0.2, 0.3); 1_000_000];
    points.push(DVec3::ZERO);
    let mut cloud = Cloud::build(&points, &CloudParams::default()).unwrap();
    let report = cloud.report();
    assert_eq!((report.points, report.positions), (1_000_001, 2));
    assert_eq!(cloud.nearest(DVec3::splat(0.2)).unwrap().id, 0);
    assert_eq!(cloud.twins(77).count(), 1_000_000);
    // Taking the first few out leaves the others there.
    assert!((0..10).all(|id| cloud.remove(id)));
    assert_eq!(cloud.nearest(DVec3::splat(0.2)).unwrap().id, 10);
    assert_eq!(cloud.len(), 999_991);
}

#[test]
fn the_same_octree_for_any_number_of_threads() {
    for (name, points) in kinds() {
        let build = |threads| Cloud::build(&points, &CloudParams { threads, ..Default::default() }).unwrap();
        let (one, two) = (build(1), build(3));
        assert_eq!((&one.nodes, &one.leaves), (&two.nodes, &two.leaves), "{name}");
        assert_eq!(one.slot_of, two.slot_of);
        assert_eq!(one.spacing, two.spacing);
    }
}
