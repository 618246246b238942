//! Clouds as the points of a shape: contacts are those of testing every point, and forces those of the surface.

use super::surfels_tests::{sphere, surfels};
use crate::field::source::random::Random;
use crate::force::{ForceParams, penalty};
use crate::math::Pose;
use crate::mesh::{Mesh, samples};
use crate::query::{Query, QueryParams, Roles};
use crate::shape::Shape;
use crate::tree::TreeParams;
use core::f64::consts::PI;
use glam::DVec3;

fn torus() -> Shape {
    let mesh = Mesh::new(samples::torus(1.0, 0.35, 48, 24), &Default::default()).unwrap();
    Shape::build(mesh, 0.05, &Default::default()).unwrap()
}

#[test]
fn contacts_of_a_scan_are_those_of_testing_every_point() {
    let shape = torus();
    let mut r = Random(31);
    // A bent sheet, unoriented, with stray points and one position twice.
    let mut points: Vec<DVec3> = (0..4000)
        .map(|_| {
            let p = r.point(1.0);
            DVec3::new(p.x, p.y, 0.2 * (3.0 * p.x).sin())
        })
        .collect();
    points.extend((0..50).map(|_| r.point(2.0)));
    points.push(points[7]);
    let s = surfels(&points);
    let tree = s.tree(&TreeParams::default());
    assert_eq!(tree.len(), s.len());
    let (mut query, mut scalar) = (Query::new(), Query::scalar());
    let other = shape.with_tree((*tree).clone());
    let (mut some, mut none, mut partial) = (0, 0, 0);
    for k in 0..60 {
        let a_from_b = Pose::new(r.rotation(), r.point(if k % 3 == 0 { 3.0 } else { 0.8 }));
        for margin in [0.0, 0.05] {
            let params = QueryParams { margin, roles: Roles::PointsOfB };
            let plain = query.plain_of_points(&shape, &tree, &a_from_b, &params).clone();
            let found = query.contacts_of_points(&shape, &tree, &a_from_b, &params);
            assert_eq!((found.origin, &found.list), (plain.origin, &plain.list));
            assert_eq!(plain.list, scalar.contacts_of_points(&shape, &tree, &a_from_b, &params).list);
            // What two shapes say, of which the second has these points.
            assert_eq!(plain.list, query.contacts(&shape, &other, &a_from_b, &params).list);
            for c in &plain.list {
                let id = s.source(&tree, c.id).unwrap();
                let at = a_from_b.point(points[id as usize]);
                assert!((plain.position(c) - at).length() < 1e-5);
            }
            if margin == 0.0 {
                assert_eq!(query.meets_points(&shape, &tree, &a_from_b), !plain.list.is_empty());
            }
            some += usize::from(!plain.list.is_empty());
            none += usize::from(plain.list.is_empty());
            partial += usize::from(query.stats().points < tree.len());
        }
    }
    assert!(some > 40 && none > 10 && partial > 60, "{some} {none} {partial}");
    let bad = Pose::from_translation(DVec3::NAN);
    assert!(query.contacts_of_points(&shape, &tree, &bad, &QueryParams::default()).list.is_empty());
    assert!(query.stats().non_finite && query.distance_to_points(&shape, &tree, &bad).distance.is_nan());
}

#[test]
fn distances_to_points_are_those_of_measuring_every_point() {
    let shape = torus();
    let s = surfels(&sphere(1500).iter().map(|p| *p * 0.3).collect::<Vec<_>>());
    let tree = s.tree(&TreeParams::default());
    let mut query = Query::new();
    let mut r = Random(77);
    let (mut apart, mut inside) = (0, 0);
    for _ in 0..80 {
        let a_from_b = Pose::new(r.rotation(), r.point(1.6));
        let all = |f: &dyn Fn(DVec3) -> f64| {
            (0..s.len()).map(|i| f(a_from_b.point(s.position(i)))).fold(f64::INFINITY, f64::min)
        };
        let found = query.distance_to_points(&shape, &tree, &a_from_b);
        if found.distance > 0.0 {
            let exact = all(&|p| shape.exact().closest(p, None).distance);
            assert!((found.distance - exact).abs() < 1e-6, "{} {exact}", found.distance);
            assert!((found.witness_a.distance(found.witness_b) - found.distance).abs() < 1e-9);
            assert_eq!(found.bound, 0.0);
            apart += 1;
        } else {
            use crate::field::Source;
            let least = all(&|p| shape.field().distance(p));
            assert!((found.distance - least).abs() < found.bound, "{} {least}", found.distance);
            inside += 1;
        }
    }
    assert!(apart > 20 && inside > 10, "{apart} {inside}");
    let far = query.distance_to_points(&shape, &tree, &Pose::from_translation(DVec3::X * 1e18));
    assert!((far.distance / 1e18 - 1.0).abs() < 1e-6);
}

#[test]
fn a_sphere_of_points_is_pushed_as_the_integral_says() {
    // A block with its top at 1 m, and a ball of 1 m sunk 0.2 m into it.
    let mesh = Mesh::new(samples::cuboid(DVec3::new(4.0, 4.0, 2.0)), &Default::default()).unwrap();
    let block = Shape::build(mesh, 0.1, &Default::default()).unwrap();
    let (depth, stiffness) = (0.2f64, 1e5);
    let a_from_b = Pose::from_translation(DVec3::Z * (2.0 - depth));
    // The depth over a cap of a ball: π r depth².
    let exact = stiffness * PI * depth * depth;
    let mut errors = Vec::new();
    for n in [1000, 8000, 64_000] {
        let tree = surfels(&sphere(n)).tree(&TreeParams::default());
        let mut query = Query::new();
        let contacts = query.contacts_of_points(&block, &tree, &a_from_b, &QueryParams::default());
        let push = penalty(contacts, &ForceParams::new(stiffness), &a_from_b, None, None).wrench.force;
        assert!(push.truncate().length() < 0.01 * push.z);
        errors.push((push.z / exact - 1.0).abs());
    }
    println!("force: {errors:?}");
    assert!(errors[1] < 0.01 && errors[2] < 0.002 && errors[2] < 0.5 * errors[0], "{errors:?}");
}
