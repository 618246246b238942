//! Pairs in many poses and points in fields: held to the CPU.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{Random, device, field, poses, shapes};
use glam::DVec3;
use palpate::force::{ForceParams, summary_batch};
use palpate::query::{Query, QueryParams, Roles};
use palpate::shape::{Shape, ShapeParams};
use palpate_gpu::{BatchParams, GpuBatch, GpuField, GpuPoints, GpuShell, Interpolation, Lists, PairJob};

/// Either shape gives the points; contacts, deepest and force are those of the CPU in A's frame.
#[test]
fn either_shape_gives_the_points() {
    let Some(gpu) = device() else { return };
    let mut meshes = shapes();
    let (gear, sphere) = (meshes.swap_remove(1).1, meshes.swap_remove(0).1);
    let poses = poses(&gear, 60, 5);
    let params = ShapeParams::default();
    let (a, b) =
        (Shape::build(gear, 1.5e-3, &params).unwrap(), Shape::build(sphere, 1.5e-3, &params).unwrap());
    let force = ForceParams::new(1e8);
    let mut batch = GpuBatch::new(&gpu).unwrap();
    let mut query = Query::new();
    let mut touching = 0;
    for (swapped, roles) in [(false, Roles::PointsOfB), (true, Roles::PointsOfA)] {
        let (with_field, with_points) = if swapped { (&b, &a) } else { (&a, &b) };
        let field = GpuField::new(&gpu, with_field.field(), Interpolation::Shader).unwrap();
        let shell = GpuShell::new(&gpu, with_points.tree()).unwrap();
        let job = PairJob { a: &a, swapped, field: &field, shell: &shell };
        let ask = BatchParams { force, lists: Lists::Full, ..BatchParams::default() };
        let found = batch.pair(&job, &poses, &ask).unwrap();
        let ask = QueryParams { margin: 0.0, roles };
        let want = summary_batch(&a, &b, &poses, &ask, &force);
        let (mut first, rounding) = (0, 2e-3 * 1.5e-3);
        for (i, (got, want)) in found.poses.iter().zip(&want).enumerate() {
            let list = &found.contacts[first..first + got.contacts];
            first += got.contacts;
            let cpu = query.contacts(&a, &b, &poses[i], &ask);
            assert_eq!((got.origin, found.origin), (cpu.origin, cpu.origin));
            for c in list {
                let Ok(k) = cpu.list.binary_search_by_key(&c.id, |c| c.id) else {
                    assert!(f64::from(c.distance.abs()) <= rounding, "{c:?}");
                    continue;
                };
                let there = DVec3::from_array(c.point.map(f64::from));
                let here = DVec3::from_array(cpu.list[k].point.map(f64::from));
                assert!((there - here).length() < 1e-6 && c.area == cpu.list[k].area, "{c:?}");
                let turned = c.shell_normal().dot(cpu.list[k].shell_normal());
                assert!(turned > 0.999, "{c:?} {:?}", cpu.list[k]);
            }
            let border = rounding * force.stiffness * want.force.area;
            let apart = (got.force.wrench.force - want.force.wrench.force).length();
            let turned = (got.force.wrench.torque - want.force.wrench.torque).length();
            let bound = 1e-2 * want.force.normal_force + border + 1e-6;
            assert!(apart <= bound && turned <= 0.2 * bound, "{i}: {got:?}\n{want:?}");
            touching += usize::from(want.contacts > 0);
        }
        assert_eq!(first, found.contacts.len());
    }
    assert!((40..110).contains(&touching), "{touching} of 120");
}

/// The field's distances and gradients, inside its box and out; none for what is no place.
#[test]
fn points_are_the_fields() {
    let Some(gpu) = device() else { return };
    let mut points = GpuPoints::new(&gpu).unwrap();
    for (name, mesh) in shapes() {
        let field = field(&mesh, 64.0);
        let there = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
        let aabb = field.lattice().aabb();
        let mut random = Random::new(9);
        let mut places: Vec<DVec3> =
            (0..5000).map(|_| aabb.centre() + 0.7 * aabb.extent() * random.vector()).collect();
        places.extend([DVec3::NAN, DVec3::X * f64::INFINITY, DVec3::Y * 1e30, aabb.min, aabb.max]);
        let bound = 2e-6 * aabb.extent().length();
        let (mut inside, mut asked) = (0, 0);
        let told = |i: usize, d: f64| {
            assert_eq!(i, asked, "in order");
            asked += 1;
            if (5000..5003).contains(&i) {
                assert!(d.is_nan(), "{name} {i}: {d}");
                return;
            }
            let want = field.sample(places[i]).distance;
            assert!((d - want).abs() <= bound + 1e-6 * want.abs(), "{name} {i}: {d}, on the CPU {want}");
            inside += usize::from(want < 0.0);
        };
        points.distances(&there, places.len(), |i| places[i], told).unwrap();
        assert!(asked == places.len() && inside > 100, "{name}: {inside} inside");
        let mut jumped = 0;
        let told = |i: usize, way: DVec3, d: f64| {
            let want = field.sample(places[i]);
            if !d.is_nan() {
                assert!((d - want.distance).abs() <= bound + 1e-6 * d.abs(), "{name} {i}");
                // Across the faces of voxels it jumps.
                jumped += usize::from((way - want.gradient).length() > 1e-3);
            }
        };
        points.samples(&there, places.len(), |i| places[i], told).unwrap();
        assert!(jumped < 50, "{name}: {jumped}");
        points.distances(&there, 0, |i| places[i], |_, _| panic!("none was asked for")).unwrap();
    }
}
