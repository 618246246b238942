use crate::field::Source;
use crate::field::analytic::Analytic;
use crate::field::source::random::Random;
use crate::math::Pose;
use crate::mesh::{Mesh, RepairParams, samples};
use crate::query::Query;
use crate::query::solid::Extent;
use crate::shape::Shape;
use glam::{DQuat, DVec3};

fn shape(name: &str) -> Shape {
    let mesh = Mesh::new(samples::by_name(name).unwrap(), &RepairParams::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / 60.0;
    Shape::build(mesh, voxel, &Default::default()).unwrap()
}

/// Each kind once, about as large as `size`, none in its simplest place.
pub(crate) fn solids(size: f64, r: &mut Random) -> Vec<Analytic> {
    let p = |r: &mut Random| r.point(0.3 * size);
    let far = DVec3::new(3e3, -2e3, 5e3) * size;
    let box_at = |c: DVec3, h: DVec3| Analytic::cuboid(c, h).unwrap();
    let mut all = vec![
        Analytic::half_space(r.direction(), 0.1 * size).unwrap(),
        Analytic::sphere(p(r), 0.4 * size).unwrap(),
        box_at(p(r), DVec3::new(0.5, 0.3, 0.2) * size),
        // A ground of kilometres, with one face near the origin.
        box_at(DVec3::new(0.0, 0.0, -far.z), far.abs() * DVec3::new(1.0, 1.0, 1.0)),
        Analytic::capsule(p(r), p(r), 0.2 * size).unwrap(),
        Analytic::torus(0.4 * size, 0.15 * size).unwrap(),
    ];
    all.push(Analytic::cylinder(p(r), p(r), 0.3 * size).unwrap());
    all.push(Analytic::cone(p(r), p(r), 0.4 * size).unwrap());
    all.push(box_at(p(r), DVec3::splat(0.2) * size).rounded(0.1 * size).unwrap());
    // An octahedron, as it is and rounded.
    let corners: Vec<DVec3> = (0..6)
        .map(|i| {
            DVec3::AXES[i / 2] * (0.4 * size) * if i % 2 == 0 { 1.0 } else { -1.0 }
                + DVec3::ONE * (0.05 * size)
        })
        .collect();
    let faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    let hull = Analytic::hull(&corners, &faces).unwrap();
    all.push(hull.clone());
    all.push(hull.rounded(0.1 * size).unwrap());
    let parts = vec![Analytic::sphere(p(r), 0.2 * size).unwrap(), box_at(p(r), DVec3::splat(0.2) * size)];
    all.push(Analytic::union(parts).unwrap());
    let turned = all[2].clone().transformed(r.rotation(), p(r)).unwrap();
    all.push(turned);
    all
}

/// Every point is tested by the scalar formula in f64, and found if it is within the margin by more than f32 rounding. Distances and
/// normals agree, and scalar and vector kernels give the same bits.
#[test]
fn finds_the_points_that_the_formula_has_inside() {
    let (mut query, mut scalar) = (Query::new(), Query::scalar());
    let mut r = Random(7);
    for name in ["gear", "bumpy-sphere"] {
        let b = shape(name);
        let size = b.aabb().extent().length();
        for (kind, solid) in solids(size, &mut r).iter().enumerate() {
            let (mut hits, mut misses, mut turned) = (0, 0, 0);
            for _ in 0..12 {
                let turn: DQuat = r.rotation();
                let a_from_b = Pose::new(turn, r.point(0.6 * size) - turn * b.aabb().centre());
                let margin = r.range(-0.01, 0.05) * size;
                let found = query.solid(solid, &b, &a_from_b, margin).clone();
                let twin = scalar.solid(solid, &b, &a_from_b, margin);
                assert_eq!(found.list, twin.list, "{name}, kind {kind}");
                // Coordinates of a few sizes in f32.
                let slack = 1e-6 * size;
                let mut next = found.list.iter().peekable();
                for i in 0..b.tree().len() {
                    let p = a_from_b.point(b.tree().position(i));
                    let s = solid.sample(p);
                    if let Some(c) = next.next_if(|c| c.id as usize == i) {
                        hits += 1;
                        assert!(
                            (f64::from(c.distance) - s.distance).abs() < slack,
                            "{name}, kind {kind}: {c:?} {s:?}"
                        );
                        assert!(found.position(c).distance(p) < slack);
                        let own = a_from_b.vector(b.tree().normal(i).as_dvec3()).as_vec3();
                        assert!(own.distance(c.shell_normal()) < 1e-5 && c.area == b.tree().area(i));
                        // Directions agree but on edges and medial axes.
                        turned += usize::from(s.gradient.distance(c.normal().as_dvec3()) > 1e-3);
                    } else {
                        misses += 1;
                        assert!(
                            s.distance > margin - slack,
                            "{name}, kind {kind}: point {i} at {} missed",
                            s.distance
                        );
                    }
                }
            }
            assert!(turned * 200 < hits, "{name}, kind {kind}: {turned} of {hits} normals differ");
            assert!(hits > 200 && misses > 200, "{name}, kind {kind}: {hits} inside, {misses} outside");
        }
    }
}

/// A box of which the points see one face is taken for a plane: nothing else about it changes. Slabs, cubes and grounds, from beside and
/// from inside.
#[test]
fn a_box_whose_points_see_one_face_is_a_plane() {
    let (mut query, mut r) = (Query::new(), Random(5));
    let b = shape("bumpy-sphere");
    let size = b.aabb().extent().length();
    let (mut planes, mut boxes, mut hits) = (0, 0, 0);
    for i in 0..160 {
        let half = DVec3::new(r.range(0.3, 6.0), r.range(0.3, 6.0), [0.05, 0.6, 3.0][i % 3]) * size;
        let solid = Analytic::cuboid(r.point(size), half).unwrap();
        let solid = if i % 5 == 0 { solid.rounded(0.05 * size).unwrap() } else { solid };
        // On one of its faces, somewhere; sometimes near its border.
        let mut at = r.point(1.0) * half;
        at.z = half.z + r.range(-0.3, 0.5) * size;
        let at = solid.aabb().centre() + if i % 2 == 0 { at } else { DVec3::new(at.x, at.y, -at.z) };
        let pose = Pose::new(r.rotation(), at);
        let margin = r.range(0.0, 0.1) * size;
        let found = query.solid(&solid, &b, &pose, margin).clone();
        if query.formula.is_plane() {
            planes += 1;
        } else {
            boxes += 1;
        }
        let mut next = found.list.iter().peekable();
        for i in 0..b.tree().len() {
            let s = solid.sample(pose.point(b.tree().position(i)));
            match next.next_if(|c| c.id as usize == i) {
                Some(c) => {
                    hits += 1;
                    assert!((f64::from(c.distance) - s.distance).abs() < 2e-6 * size, "{c:?} {s:?}");
                    if query.formula.is_plane() {
                        assert!(s.gradient.distance(c.normal().as_dvec3()) < 1e-5, "{c:?} {s:?}");
                    }
                }
                None => assert!(s.distance > margin - 2e-6 * size, "point {i} at {} missed", s.distance),
            }
        }
    }
    assert!(planes > 20 && boxes > 60 && hits > 10_000, "{planes} planes, {boxes} boxes, {hits} points");
}

#[test]
fn poses_that_are_not_finite_have_no_contacts() {
    let b = shape("gear");
    let solid = Analytic::sphere(DVec3::ZERO, 1.0).unwrap();
    let mut query = Query::new();
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        assert!(query.solid(&solid, &b, &Pose::from_translation(DVec3::X * bad), 0.0).list.is_empty());
        assert!(query.stats().non_finite);
    }
    assert!(query.solid(&solid, &b, &Pose::IDENTITY, f64::NAN).list.is_empty() && query.stats().non_finite);
    assert!(!query.solid(&solid, &b, &Pose::IDENTITY, 0.0).list.is_empty() && !query.stats().non_finite);
}

/// Slow and fast steps, turns, stops and jumps: what a search a moment later finds within its extent is what a new one does.
#[test]
fn a_moment_later_the_same_points_are_found() {
    let mut r = Random(11);
    let b = shape("bumpy-sphere");
    let size = b.aabb().extent().length();
    let (mut held, mut anew, mut most) = (0, 0, 0);
    for solid in solids(size, &mut r).into_iter().map(std::sync::Arc::new) {
        let (mut query, mut fresh) = (Query::new(), Query::new());
        // Where its surface touches, about.
        let mut at = r.point(0.5 * size);
        for _ in 0..20 {
            let s = solid.sample(at);
            at += s.gradient.normalize_or(DVec3::X) * (0.45 * size - s.distance);
        }
        let mut turn = r.rotation();
        for i in 0..240 {
            let speed = [0.0, 1e-6, 1e-5, 1e-4, 2e-2, 3e-5][i / 12 % 6];
            turn = DQuat::from_scaled_axis(DVec3::new(0.3, 1.0, -0.4) * speed) * turn;
            at += DVec3::new((0.1 * i as f64).sin(), (0.07 * i as f64).cos(), -0.2) * (speed * size);
            let pose = Pose::new(turn, at);
            let spread = 0.01 * size;
            let extent =
                Extent { margin: (0.005 + 0.05 * (i % 3) as f64) * size, spread, budget: usize::MAX };
            assert!(query.solid_again(&solid, &b, &pose, extent));
            if query.stats().nodes == 0 {
                held += 1
            } else {
                anew += 1
            }
            assert!(fresh.find_solid(&solid, &b, &pose, extent, None));
            let within = |q: &Query| {
                let list = &q.last().list;
                let nearest = list.iter().fold(f32::INFINITY, |d, c| d.min(c.distance));
                let limit = (f64::from(nearest.max(0.0)) + spread).min(f64::from(extent.margin as f32));
                list.iter().filter(|c| f64::from(c.distance) <= limit).copied().collect::<Vec<_>>()
            };
            let expected = within(&fresh);
            assert_eq!(within(&query), expected, "step {i}");
            most = most.max(expected.len());
        }
    }
    assert!(held > 700 && anew > 500 && most > 100, "{held} held, {anew} anew, {most}");
}
