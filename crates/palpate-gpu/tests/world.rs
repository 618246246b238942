//! A world whose contacts are found on the GPU: those of the CPU, and bodies that fall on a sheet that moves.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use glam::{DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::manifold::Collider;
use palpate::math::{Aabb, Pose};
use palpate::mesh::{Mesh, samples};
use palpate::soft::SoftMesh;
use palpate::world::{
    Asked, BodyId, BodyParams, CpuNarrow, Found, Kind, Narrow, World, WorldError, WorldParams,
};
use palpate::{Contacts, Shape};
use palpate_gpu::{GpuMesh, GpuNarrow};

fn shape(raw: palpate::mesh::RawMesh, cells: f64) -> Shape {
    let mesh = Mesh::new(raw, &Default::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / cells;
    // Without packed values, which the CPU's queries round to.
    Shape::build(mesh, voxel, &Default::default()).unwrap().compact()
}

fn bump() -> Shape {
    shape(samples::bumpy_sphere(0.05, 0.008, 6, 4, 1), 40.0)
}

/// Contacts that both have are the same within rounding, and the others are at the margin; how many there are.
fn compare(got: &Contacts, want: &Contacts, margin: f64, voxel: f64) -> usize {
    let near = 1e-4 * voxel;
    let (mut i, mut same) = (got.list.iter().peekable(), 0);
    let at_margin = |d: f32| assert!((f64::from(d) - margin).abs() < near, "{d} {margin}");
    for w in &want.list {
        while let Some(extra) = i.next_if(|g| g.id < w.id) {
            at_margin(extra.distance);
        }
        let Some(g) = i.next_if(|g| g.id == w.id) else {
            at_margin(w.distance);
            continue;
        };
        assert!((f64::from(g.distance) - f64::from(w.distance)).abs() < near);
        assert!((got.position(g) - want.position(w)).length() < near);
        assert!((g.shell_normal() - w.shell_normal()).length() < 1e-4);
        // Between two voxels either side's gradient may be taken.
        same += usize::from((g.normal() - w.normal()).length() < 1e-3);
        assert_eq!(g.area, w.area);
    }
    i.for_each(|extra| at_margin(extra.distance));
    if !want.list.is_empty() {
        assert_eq!(got.swapped, want.swapped);
    }
    assert!(same + 4 >= want.list.len() * 99 / 100);
    want.list.len()
}

#[test]
fn contacts_are_those_of_the_cpu() {
    let Some(gpu) = common::device() else { return };
    let (bump, gear) = (bump(), shape(samples::by_name("gear").unwrap(), 40.0));
    let scale = 0.1 / gear.aabb().extent().max_element();
    let gear = gear.scaled(scale).unwrap().compact();
    let plane = Collider::from(Analytic::half_space(DVec3::Z, 0.0).unwrap());
    let (bump, gear) = (Collider::from(bump), Collider::from(gear));
    let mut world = World::new(&WorldParams::default()).unwrap();
    let ids: Vec<BodyId> = [&bump, &gear, &plane]
        .into_iter()
        .map(|c| world.add(c.clone(), &BodyParams { kind: Kind::Static, ..Default::default() }).unwrap())
        .collect();
    let mut gpu_narrow = GpuNarrow::new(&gpu).unwrap();
    let mut cpu = CpuNarrow::default();
    let (mut total, mut touched) = (0, 0);
    let mut found: Vec<Found> = Vec::new();
    for both in [true, false] {
        let all = [&bump, &gear, &plane];
        let asked: Vec<Asked<'_>> = (0..40)
            .map(|i| {
                let (a, b) = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (1, 2)][i % 6];
                let t = i as f64;
                let turn = DQuat::from_euler(glam::EulerRot::XYZ, t, 0.3 * t, 0.1 * t);
                let place = DVec3::new(0.03 * t.sin(), 0.02, 0.06 * t.cos());
                Asked {
                    bodies: [ids[a], ids[b]],
                    colliders: [all[a], all[b]],
                    a_from_b: Pose::new(turn, place),
                    margin: 1e-4 * (i % 7) as f64,
                    both,
                }
            })
            .collect();
        let mut want = vec![Found::default(); asked.len()];
        found.resize_with(asked.len(), Found::default);
        cpu.find(0.0, &asked, &mut want).unwrap();
        gpu_narrow.find(0.0, &asked, &mut found).unwrap();
        for ((asked, got), want) in asked.iter().zip(&found).zip(&want) {
            assert_eq!(got.both, want.both);
            let voxel = 0.1 / 40.0;
            let n: usize = (0..1 + usize::from(want.both))
                .map(|k| compare(&got.contacts[k], &want.contacts[k], asked.margin, voxel))
                .sum();
            (total, touched) = (total + n, touched + usize::from(n > 0));
        }
        // The same bits again.
        let mut again = vec![Found::default(); asked.len()];
        gpu_narrow.find(0.0, &asked, &mut again).unwrap();
        for (a, b) in found.iter().zip(&again) {
            assert_eq!(a.contacts[0].list, b.contacts[0].list);
            assert_eq!(a.contacts[1].list, b.contacts[1].list);
        }
    }
    println!("{total} contacts of {touched} pairs of 80, {} kB on the device", gpu_narrow.bytes() / 1000);
    assert!(touched > 40 && total > 2000);
}

/// A flat sheet of n × n squares.
fn sheet(n: u32, side: f64) -> SoftMesh {
    let step = side / f64::from(n);
    let at = |k: u32| (f64::from(k) - 0.5 * f64::from(n)) * step;
    let positions = (0..=n).flat_map(|j| (0..=n).map(move |i| DVec3::new(at(i), at(j), 0.0))).collect();
    let place = |i: u32, j: u32| j * (n + 1) + i;
    let triangles = (0..n)
        .flat_map(|j| (0..n).map(move |i| (i, j)))
        .flat_map(|(i, j)| {
            let [a, b, c, d] = [place(i, j), place(i + 1, j), place(i + 1, j + 1), place(i, j + 1)];
            [[a, b, c], [a, c, d]]
        })
        .collect();
    SoftMesh::new(positions, triangles).unwrap()
}

#[test]
fn bodies_fall_on_a_sheet_and_are_lifted_by_it() {
    let Some(gpu) = common::device() else { return };
    let ball = shape(samples::sphere(0.03, 4), 24.0);
    let mesh = sheet(60, 0.6);
    let run = || {
        let mut world = World::new(&WorldParams::default()).unwrap();
        let aabb = Aabb { min: DVec3::new(-0.3, -0.3, -0.2), max: DVec3::new(0.3, 0.3, 0.08) };
        let solid = Analytic::cuboid(aabb.centre(), 0.5 * aabb.extent()).unwrap();
        let floor = world.add(solid, &BodyParams { kind: Kind::Static, ..Default::default() }).unwrap();
        let drop = |x: f64, z: f64| BodyParams {
            w_from_b: Pose::from_translation(DVec3::new(x, 0.0, z)),
            ..Default::default()
        };
        let balls: Vec<BodyId> = [drop(-0.04, 0.035), drop(0.04, 0.05), drop(0.0, 0.11)]
            .iter()
            .map(|p| world.add(ball.clone(), p).unwrap())
            .collect();
        let mut narrow = GpuNarrow::new(&gpu).unwrap();
        narrow.set_mesh(floor, GpuMesh::new(&gpu, &mesh, 5e-3).unwrap());
        let (mut deepest, mut touched) = (0.0_f64, 0);
        // It rises by 2 cm in half a second.
        for step in 1..=60 {
            let lift = DVec3::Z * (0.02 * (f64::from(step) / 30.0).min(1.0));
            let moved: Vec<DVec3> = mesh.positions().iter().map(|p| *p + lift).collect();
            narrow.mesh(floor).unwrap().update(&gpu, &moved).unwrap();
            let report = world.step_with(1.0 / 60.0, &mut narrow).unwrap();
            deepest = deepest.max(report.deepest);
            touched = touched.max(report.contacts);
        }
        let centres: Vec<DVec3> = balls.iter().map(|b| world.body(*b).unwrap().centre()).collect();
        (centres, deepest, touched)
    };
    let (centres, deepest, touched) = run();
    println!("{centres:?}, deepest {deepest:.1e} m, up to {touched} contacts");
    assert!(touched > 10);
    for c in &centres[..2] {
        assert!((c.z - 0.05).abs() < 2.5e-3, "{c}");
    }
    assert!(centres[2].z > 0.045 && deepest < 5e-3);
    assert_eq!(run().0, centres, "the same bits again");
}

#[test]
fn a_lost_device_stops_the_step_and_nothing_moves() {
    let Some(gpu) = common::device() else { return };
    let ball = shape(samples::sphere(0.03, 3), 16.0);
    let mut world = World::new(&WorldParams::default()).unwrap();
    for z in [0.0, 0.05] {
        let w_from_b = Pose::from_translation(DVec3::Z * z);
        world.add(ball.clone(), &BodyParams { w_from_b, ..Default::default() }).unwrap();
    }
    let mut narrow = GpuNarrow::new(&gpu).unwrap();
    world.step_with(1e-3, &mut narrow).unwrap();
    let before: Vec<_> = world.bodies().map(|(_, b)| *b.state()).collect();
    gpu.device().destroy();
    let told = world.step_with(1e-3, &mut narrow);
    println!("{told:?}");
    assert!(matches!(told, Err(WorldError::Narrow(_))));
    let after: Vec<_> = world.bodies().map(|(_, b)| *b.state()).collect();
    assert_eq!(before, after);
    // The CPU goes on.
    world.step(1e-3).unwrap();
}
