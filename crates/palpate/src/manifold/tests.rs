use super::*;
use crate::field::analytic::Analytic;
use crate::field::source::random::Random;
use crate::mesh::{Mesh, RepairParams, samples};
use crate::shape::ShapeParams;

fn shape(name: &str, cells: f64) -> Shape {
    let mesh = Mesh::new(samples::by_name(name).unwrap(), &RepairParams::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / cells;
    Shape::build(mesh, voxel, &ShapeParams::default()).unwrap()
}

fn cube() -> Shape {
    let mesh = Mesh::new(samples::cuboid(DVec3::ONE), &RepairParams::default()).unwrap();
    Shape::build(mesh, 0.05, &ShapeParams::default()).unwrap()
}

fn floor() -> Collider {
    Collider::from(Analytic::half_space(DVec3::Z, 0.0).unwrap())
}

/// Its points fit together: B's point is A's point moved by the distance along the normal, and the shell's point is where it says.
fn consistent(found: &Manifolds<'_>, a_from_b: &Pose, size: f64) {
    let mut expected = 0;
    for m in found.manifolds {
        assert!(
            m.first == expected && (1..=POINTS as u32).contains(&m.count) && (m.key as usize) < found.keys
        );
        assert!((m.normal.length() - 1.0).abs() < 1e-5);
        expected += m.count;
    }
    assert_eq!(expected as usize, found.points.len());
    assert!(found.manifolds.is_sorted_by_key(|m| m.key));
    for p in found.points {
        let gap = a_from_b.point(p.point_b) - p.point_a;
        assert!((gap - p.normal * p.distance).length() < 1e-5 * size, "{p:?}");
        assert!((p.normal.length() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn a_cube_stands_on_its_corners() {
    let (mut pair, cube) = (Pair::new(), Collider::from(cube()));
    for tilt in [0.0, 1e-3] {
        let turn = glam::DQuat::from_rotation_x(tilt);
        let pose = Pose::new(turn, DVec3::Z * 0.4995);
        let found =
            pair.update(&floor(), &cube, &pose, &ManifoldParams { margin: 0.01, ..Default::default() });
        consistent(&found, &pose, 1.0);
        assert_eq!((found.manifolds.len(), found.points.len()), (1, 4));
        for p in found.points {
            assert!((p.point_b.abs() - DVec3::splat(0.5)).length() < 1e-6, "{p:?}");
            assert!((p.distance - (pose.point(p.point_b).z)).abs() < 1e-6);
        }
        // The other way round: the same points, normals turned.
        let back = pose.inverse();
        let mut other = Pair::new();
        let mirrored =
            other.update(&cube, &floor(), &back, &ManifoldParams { margin: 0.01, ..Default::default() });
        consistent(&mirrored, &back, 1.0);
        let mut places: Vec<_> =
            mirrored.points.iter().map(|p| p.point_a.round().to_array().map(|v| v as i64)).collect();
        places.sort();
        assert_eq!(places.len(), 4);
        assert!(mirrored.points.iter().all(|p| pose.vector(p.normal).z < -0.999));
    }
}

/// Nothing beyond the margin; before touch only what is about as near as the nearest.
#[test]
fn margin_and_spread_hold() {
    let (cube, mut pair) = (Collider::from(cube()), Pair::new());
    let params = ManifoldParams { margin: 0.3, spread: Some(0.02), ..Default::default() };
    for height in [0.9, 0.7, 0.51, 0.49, 0.3] {
        let pose = Pose::new(glam::DQuat::from_rotation_x(0.3), DVec3::Z * height);
        let found = pair.update(&floor(), &cube, &pose, &params);
        consistent(&found, &pose, 1.0);
        let low = height - 0.5 * (0.3f64.sin() + 0.3f64.cos());
        assert_eq!(found.points.is_empty(), low > 0.3, "{height}");
        for p in found.points {
            assert!(p.distance <= low.max(0.0) + 0.0201 && p.distance >= low - 1e-6, "{height}: {p:?}");
        }
    }
}

/// Shapes against shapes: every point of a manifold is a contact that the plain query finds; the deepest is among them.
#[test]
fn shapes_against_shapes() {
    let (a, b) = (shape("bumpy-sphere", 60.0), shape("gear", 60.0));
    let size = a.aabb().extent().max_element();
    let (mut pair, mut r, mut touching) = (Pair::new(), Random(5), 0);
    let mut query = crate::query::Query::new();
    for i in 0..200 {
        let away = r.direction() * (0.45 + 0.5 * (i % 10) as f64 / 10.0) * size;
        let pose = Pose::new(r.rotation(), a.aabb().centre() + away);
        let margin = 0.05 * size;
        for choice in [Choice::Regular, Choice::Segmented(3), Choice::Patches(6)] {
            let (both, one_normal) = (i % 2 == 0, i % 3 == 0);
            let tiers = i % 5 == 0;
            let params = ManifoldParams { margin, choice, both, one_normal, tiers, ..Default::default() };
            let (ca, cb) = (Collider::from(a.clone()), Collider::from(b.clone()));
            let found = pair.update(&ca, &cb, &pose, &params);
            consistent(&found, &pose, size);
            let all =
                query.contacts(&a, &b, &pose, &crate::query::QueryParams { margin, ..Default::default() });
            let deepest = all.deepest().map(|c| f64::from(c.distance));
            let reached = found.points.iter().map(|p| p.distance).reduce(f64::min);
            if choice == Choice::Regular && !params.both {
                assert_eq!(deepest.is_none(), reached.is_none());
            }
            if let (Some(d), Some(f), false) = (deepest, reached, params.both) {
                // Back to back contacts are left out.
                assert!(f >= d - 1e-9, "{f} {d}");
                touching += usize::from(f == d);
            }
        }
    }
    assert!(touching > 100, "the deepest was chosen {touching} times");
}

/// A body that hardly moves keeps its points, and its keys.
#[test]
fn choices_are_steady() {
    let nut = Collider::from(shape("nut", 80.0));
    let size = nut.aabb().extent().max_element();
    let bolt = Collider::from(shape("bolt", 120.0));
    let (mut pair, mut r) = (Pair::new(), Random(11));
    for choice in [Choice::Regular, Choice::Patches(16)] {
        let params = ManifoldParams { margin: 1e-4, choice, ..Default::default() };
        let pose = Pose::from_translation(DVec3::Z * (0.5 * size));
        let mut last: Vec<(u32, u32)> = Vec::new();
        let (mut same, mut all) = (0, 0);
        for step in 0..40 {
            let moved = Pose::from_translation(r.point(1e-6 * size)) * pose;
            let found = pair.update(&bolt, &nut, &moved, &params);
            let ids: Vec<_> = found
                .manifolds
                .iter()
                .flat_map(|m| {
                    found.points[m.first as usize..(m.first + m.count) as usize].iter().map(|p| (m.key, p.id))
                })
                .collect();
            if step > 5 {
                all += ids.len();
                same += ids.iter().filter(|i| last.contains(i)).count();
            }
            last = ids;
        }
        assert!(all > 100 && same * 10 > all * 8, "{choice:?}: {same} of {all} points stayed");
    }
}

/// A budget gives a coarser picture, and says so; no budget is too small.
#[test]
fn budgets() {
    let b = Collider::from(shape("gear", 100.0));
    let pose = Pose::from_translation(-DVec3::Z * b.aabb().min.z - DVec3::Z * 1e-4);
    for other in [floor(), Collider::from(shape("bumpy-sphere", 60.0))] {
        for budget in [1, 10, 100, 1000, 1_000_000] {
            let mut pair = Pair::new();
            let params = ManifoldParams { margin: 1e-3, budget, ..Default::default() };
            let found = pair.update(&other, &b, &pose, &params);
            assert!(budget < 1_000_000 || !found.cut_short);
            assert!(budget > 10 || found.cut_short || found.points.is_empty());
        }
    }
}

#[test]
fn nothing_from_solids_and_bad_poses() {
    let (mut pair, cube) = (Pair::new(), Collider::from(cube()));
    assert!(pair.update(&floor(), &floor(), &Pose::IDENTITY, &ManifoldParams::default()).points.is_empty());
    let bad = Pose::from_translation(DVec3::X * f64::NAN);
    for (a, b) in [(&floor(), &cube), (&cube, &floor()), (&cube, &cube)] {
        let found = pair.update(a, b, &bad, &ManifoldParams::default());
        assert!(found.points.is_empty() && found.non_finite);
    }
}

/// A pair that remembers what was near finds what one without a memory does, also where the margin ends the search.
#[test]
fn what_was_does_not_change_what_is_found() {
    let (a, b) = (Collider::from(shape("gear", 60.0)), Collider::from(shape("bumpy-sphere", 60.0)));
    let mut pair = Pair::new();
    let (mut seen, mut narrow) = (0, 0);
    for i in 0..400 {
        let t = f64::from(i);
        let turn = glam::DQuat::from_rotation_y(1e-4 * t) * glam::DQuat::from_rotation_x(0.4 + 3e-5 * t);
        // Down to touch and up again, slowly; a jump now and then.
        let height = 0.0577 + 4e-6 * (t - 200.0).abs() + if i % 97 == 0 { 5e-4 } else { 0.0 };
        let pose = Pose::new(turn, DVec3::new(0.004, 0.002, height));
        let margin = [2e-3, 3e-4][(i / 50 % 2) as usize];
        let params = ManifoldParams { margin, choice: Choice::Segmented(4), ..Default::default() };
        let found = pair.update(&a, &b, &pose, &params);
        let mut fresh = Pair::new();
        let expected = fresh.update(&a, &b, &pose, &params);
        assert_eq!(found.points, expected.points, "step {i}");
        assert!(found.points.iter().all(|p| p.distance <= f64::from(margin as f32)));
        let spread = found.points.iter().map(|p| p.distance).fold(0.0, f64::max);
        (seen, narrow) = (seen + found.points.len(), narrow + usize::from(spread > 0.9 * margin));
    }
    assert!(seen > 400 && narrow > 50, "{seen} points, {narrow} times up to the margin");
}

/// What a cube of edge 1 is told of a block with its wall at x = 0.5 + `gap` and its top at 0, `height` above it and about to move.
fn beside(gap: f64, height: f64, fall: DVec3, ahead: bool) -> Vec<ManifoldPoint> {
    let half = DVec3::new(0.5, 3.0, 3.0);
    let block = Analytic::cuboid(DVec3::new(1.0 + gap, 0.0, -3.0), half).unwrap();
    let (block, cube) = (Collider::from(block), Collider::from(cube()));
    let pose = Pose::from_translation(DVec3::Z * (0.5 + height));
    let next = ahead.then_some(Pose::from_translation(fall) * pose);
    let params = ManifoldParams { margin: 0.25, next, choice: Choice::Patches(8), ..Default::default() };
    let mut pair = Pair::new();
    let found = pair.update(&block, &cube, &pose, &params);
    consistent(&found, &pose, 1.0);
    // And the other way round.
    let turned = ManifoldParams { next: next.map(|n| n.inverse()), ..params };
    let mut other = Pair::new();
    let mirrored = other.update(&cube, &block, &pose.inverse(), &turned);
    consistent(&mirrored, &pose.inverse(), 1.0);
    let sum = |points: &[ManifoldPoint]| points.iter().map(|p| p.distance).sum::<f64>();
    assert_eq!(found.points.len(), mirrored.points.len());
    assert!((sum(found.points) - sum(mirrored.points)).abs() < 1e-5);
    found.points.to_vec()
}

/// What falls past an edge is not held by it; what falls onto it is, as before.
#[test]
fn edges_do_not_hold_what_gets_past_them() {
    let fall = DVec3::Z * -0.2;
    let pushes =
        |points: &[ManifoldPoint]| points.iter().filter(|p| p.distance + p.normal.dot(fall) < 0.0).count();
    // Past it, also along its wall, touching that or a little inside.
    for gap in [0.02, 0.0, -0.002] {
        let (before, past) = (beside(gap, 0.1, fall, false), beside(gap, 0.1, fall, true));
        assert!(pushes(&before) > 0 && pushes(&past) == 0, "{gap}: {past:?}");
    }
    // Points that fall onto it stay as they are; all of them do where it is not reached, or where nothing moves much.
    let (before, onto) = (beside(-0.05, 0.1, fall, false), beside(-0.05, 0.1, fall, true));
    let mut hit = before.iter().filter(|p| p.point_b.x > 0.45 && p.normal.z == 1.0).peekable();
    assert!(hit.peek().is_some() && hit.all(|p| onto.contains(p)));
    for (gap, height, fall) in [(0.02, 0.1, fall * 0.4), (0.02, 0.001, fall * 0.01)] {
        assert_eq!(beside(gap, height, fall, false), beside(gap, height, fall, true), "{gap} {height}");
    }
    // The way through a thin thing is not free.
    let plate = Analytic::cuboid(DVec3::Z * -0.05, DVec3::new(3.0, 3.0, 0.05)).unwrap();
    let (plate, cube) = (Collider::from(plate), Collider::from(cube()));
    let pose = Pose::from_translation(DVec3::Z * 0.55);
    let mut pair = Pair::new();
    let mut params = ManifoldParams { margin: 3.0, ..Default::default() };
    for way in [0.2, 0.5, 1.0, 2.0] {
        params.next = Some(Pose::from_translation(DVec3::Z * -way) * pose);
        let found = pair.update(&plate, &cube, &pose, &params);
        assert_eq!(found.points.len(), 4);
        assert!(found.points.iter().all(|p| p.normal.z > 0.999 && (p.distance - 0.05).abs() < 1e-5));
    }
    // Numbers that are none change nothing.
    let broken = ManifoldParams { next: Some(Pose::from_translation(DVec3::NAN)), ..params };
    assert_eq!(pair.update(&plate, &cube, &pose, &broken).points.len(), 4);
}

/// A part that passes another, slowly, in and out of the margin, with jumps: what is remembered of being apart changes nothing.
#[test]
fn being_apart_a_moment_ago_changes_nothing() {
    let gear = Collider::from(shape("gear", 60.0));
    let nut = Collider::from(shape("nut", 60.0));
    let (mut kept, mut found, mut none) = (Pair::new(), 0, 0);
    let size = gear.aabb().extent().max_element();
    let mut r = Random(21);
    let (mut turn, mut at) = (r.rotation(), DVec3::X * size);
    for i in 0..900 {
        let speed = [1e-5, 1e-3, 0.0, 1e-2, 3e-4][i / 15 % 5] * size;
        turn = glam::DQuat::from_scaled_axis(r.direction() * (speed / size)) * turn;
        at += (DVec3::new(-1.0, 0.3 * (0.05 * i as f64).sin(), 0.1) + 0.5 * r.direction()) * speed;
        if i % 90 == 89 {
            (turn, at) = (r.rotation(), r.direction() * (r.range(0.3, 1.2) * size));
        }
        let pose = Pose::new(turn, at);
        let params = ManifoldParams { margin: 0.02 * size, both: i % 2 == 0, ..Default::default() };
        let (x, y) = (kept.update(&gear, &nut, &pose, &params).candidates, {
            let mut fresh = Pair::new();
            fresh.update(&gear, &nut, &pose, &params).candidates
        });
        // Thinning goes by what was chosen before: whether there are any does not.
        assert_eq!(x > 0, y > 0, "step {i}: {x} and {y}");
        if x > 0 { found += 1 } else { none += 1 }
    }
    assert!(found > 100 && none > 100, "{found} near, {none} apart");
    let lost = Pose::new(turn, DVec3::NAN);
    assert!(kept.update(&gear, &nut, &lost, &ManifoldParams::default()).non_finite);
    let far = Pose::from_translation(DVec3::X * 9.0);
    assert!(!kept.update(&gear, &nut, &far, &ManifoldParams::default()).non_finite);
}

/// A margin below zero asks for what is deeper; a spread that is none counts as 0.
#[test]
fn odd_margins_and_spreads_are_answered() {
    let [a, b] = ["bumpy-sphere", "gear"].map(|n| shape(n, 60.0));
    let size = a.aabb().extent().max_element();
    let (x, y) = (Collider::from(a.clone()), Collider::from(b.clone()));
    let (mut kept, mut query, mut found) = (Pair::new(), crate::query::Query::new(), 0);
    for i in 0..40 {
        let pose = Pose::from_translation(DVec3::X * (0.9 - 0.01 * i as f64) * size);
        let margin = -0.02 * size;
        let asked = crate::query::QueryParams { margin, roles: Roles::Fewer };
        let expected = !query.contacts(&a, &b, &pose, &asked).list.is_empty();
        let params = ManifoldParams { margin, ..Default::default() };
        for _ in 0..2 {
            assert_eq!(kept.update(&x, &y, &pose, &params).candidates > 0, expected, "step {i}");
        }
        assert_eq!(Pair::new().update(&x, &y, &pose, &params).candidates > 0, expected, "step {i}");
        found += usize::from(expected);
        for spread in [-1e-3, f64::NAN, 0.0, f64::INFINITY] {
            let params = ManifoldParams { spread: Some(spread), margin: 0.01 * size, ..Default::default() };
            kept.update(&x, &y, &pose, &params);
            kept.update(&floor(), &y, &pose, &params);
        }
    }
    assert!(found > 5 && found < 35, "{found}");
}
