//! Contacts of a mesh in fields, on the GPU and on the CPU.
//!
//! Referees: the field itself, at every contact; [`FieldSampler`] at the same spacing, for areas, forces and counts.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use glam::{DQuat, DVec3, Vec3};
use palpate::contact::Contact;
use palpate::field::{Field, FieldParams};
use palpate::math::Pose;
use palpate::mesh::{Mesh, samples};
use palpate::soft::{FieldSampler, Sampling, SoftMesh};
use palpate_gpu::{GpuContacts, GpuError, GpuField, GpuMesh, Interpolation, MeshContacts, MeshJob};

/// A sheet of n × n squares with waves.
fn sheet(n: u32, side: f64, height: f64) -> SoftMesh {
    let at = |i: u32, j: u32| {
        let (x, y) = (f64::from(i) / f64::from(n) - 0.5, f64::from(j) / f64::from(n) - 0.5);
        DVec3::new(x * side, y * side, height * (7.0 * x).sin() * (5.0 * y).cos())
    };
    let positions = (0..=n).flat_map(|j| (0..=n).map(move |i| at(i, j))).collect();
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

fn field(raw: palpate::mesh::RawMesh, cells: f64) -> Field {
    let mesh = Mesh::new(raw, &Default::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / cells;
    Field::build(&mesh, voxel, &FieldParams::default()).unwrap()
}

/// Area, force for a stiffness of 1 N/m³, and how many have depth.
fn sums(list: &[Contact]) -> (f64, DVec3, usize) {
    let inside = || list.iter().filter(|c| c.distance < 0.0);
    let area = inside().map(|c| f64::from(c.area)).sum();
    let force = inside().map(|c| c.normal().as_dvec3() * f64::from(c.depth() * c.area)).sum();
    (area, force, inside().count())
}

#[test]
fn lists_are_those_of_the_cpu_as_two_samplings_are() {
    let Some(gpu) = common::device() else { return };
    let fields = [
        field(samples::bumpy_sphere(0.05, 0.008, 6, 5, 1), 48.0),
        field(samples::cuboid(DVec3::new(0.06, 0.04, 0.03)), 32.0),
    ];
    let on: Vec<GpuField> =
        fields.iter().map(|f| GpuField::new(&gpu, f, Interpolation::Shader).unwrap()).collect();
    let mesh = sheet(40, 0.3, 0.01);
    let (spacing, margin) = (4e-3, 5e-4);
    let mut there = GpuMesh::new(&gpu, &mesh, spacing).unwrap();
    // Some touch, one is far away, one is nowhere.
    let mut poses: Vec<(usize, Pose)> = (0..12_i32)
        .map(|i| {
            let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.4 * f64::from(i), 0.3, 0.1 * f64::from(i));
            let place = DVec3::new(0.02 * f64::from(i) - 0.1, 0.01 * f64::from(i % 5), 0.004 * f64::from(i));
            (i as usize % 2, Pose::new(turn, place).inverse())
        })
        .collect();
    poses.push((0, Pose::from_translation(DVec3::X * 3.0)));
    poses.push((1, Pose::from_translation(DVec3::X * f64::NAN)));
    let jobs: Vec<MeshJob<'_>> = poses
        .iter()
        .map(|(f, field_from_mesh)| MeshJob { field: &on[*f], field_from_mesh: *field_from_mesh, margin })
        .collect();
    let mut contacts = GpuContacts::new(&gpu).unwrap();
    let mut found: Vec<MeshContacts> = Vec::new();
    contacts.find(&mut there, &jobs, &mut found).unwrap();
    let mut sampler = FieldSampler::new();
    let (mut touched, mut worst) = (0, [0.0_f64; 4]);
    for ((f, pose), found) in poses.iter().zip(&found) {
        assert_eq!(found.non_finite, !pose.is_finite());
        let field = &fields[*f];
        let list = &found.contacts.list;
        let voxel = field.lattice().voxel;
        for (c, place) in list.iter().zip(&found.samples) {
            let point = found.contacts.origin + Vec3::from_array(c.point).as_dvec3();
            let s = field.sample(point);
            // f32 coordinates of half a metre, over a field that is not steeper than 2.
            worst[0] = worst[0].max((f64::from(c.distance) - s.distance).abs() / voxel);
            assert!(f64::from(c.distance) <= margin && *place < 1 << 28);
            let own =
                mesh.corners(c.id).map(|[a, b, d]| pose.vector((b - a).cross(d - a).normalize())).unwrap();
            assert!((own - c.shell_normal().as_dvec3()).length() < 1e-4);
            if let Some(n) = s.gradient.try_normalize() {
                // At the border of two voxels either side's may be taken.
                worst[1] += f64::from(u8::from((n - c.normal().as_dvec3()).length() > 1e-3));
            }
        }
        let order: Vec<(u32, u32)> = list.iter().map(|c| c.id).zip(found.samples.iter().copied()).collect();
        assert!(order.windows(2).all(|w| w[0] < w[1]), "sorted, and none twice");
        if !pose.is_finite() {
            assert!(list.is_empty());
            continue;
        }
        let want = sampler.find(field, &mesh, pose, Sampling::Area { spacing }, margin).unwrap();
        let ((area, force, count), (area_0, force_0, count_0)) = (sums(list), sums(&want.contacts.list));
        println!("{count:5} {count_0:5} area {area:.3e} {area_0:.3e} force {force} {force_0}");
        // Samples that one has and the other has not are along the edge of what is inside, within a spacing of it.
        let edge = 1.5 * (4.0 * std::f64::consts::PI * area_0.max(area)).sqrt() + 4.0 * spacing;
        assert!((area - area_0).abs() <= 0.67 * edge * spacing);
        assert!((force - force_0).length() <= 0.5 * edge * spacing * spacing);
        touched += usize::from(count > 20);
        worst[2] = worst[2].max((area - area_0).abs() / area_0.max(1e-9));
        worst[3] = worst[3].max((force - force_0).length() / force_0.length().max(1e-9));
    }
    let all: usize = found.iter().map(|f| f.contacts.list.len()).sum();
    println!(
        "{all} contacts of {touched} that touch; distance off by {:.1e} voxels, {} normals, area {:.2} %, force {:.2} %",
        worst[0],
        worst[1],
        100.0 * worst[2],
        100.0 * worst[3]
    );
    assert!(touched >= 6 && all > 500);
    assert!(worst[0] < 2e-4 && worst[1] < 0.01 * all as f64);
    // The same bits again; and where it is moved by its buffer.
    let mut again = Vec::new();
    contacts.find(&mut there, &jobs, &mut again).unwrap();
    for (a, b) in found.iter().zip(&again) {
        assert_eq!((&a.contacts.list, &a.samples), (&b.contacts.list, &b.samples));
    }
    let lifted: Vec<DVec3> = mesh.positions().iter().map(|p| *p + DVec3::Z * 1.0).collect();
    there.update(&gpu, &lifted).unwrap();
    contacts.find(&mut there, &jobs, &mut again).unwrap();
    assert!(again.iter().all(|f| f.contacts.list.is_empty()));
}

#[test]
fn bad_input_is_refused() {
    let Some(gpu) = common::device() else { return };
    let field = field(samples::cuboid(DVec3::splat(0.04)), 16.0);
    let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
    let mut there = GpuMesh::new(&gpu, &sheet(4, 0.1, 0.0), 0.01).unwrap();
    let mut contacts = GpuContacts::new(&gpu).unwrap();
    let mut found = Vec::new();
    let job = MeshJob { field: &on, field_from_mesh: Pose::IDENTITY, margin: f64::NAN };
    assert!(matches!(contacts.find(&mut there, &[job], &mut found), Err(GpuError::BadParameter { .. })));
    contacts.find(&mut there, &[], &mut found).unwrap();
    assert!(found.is_empty());
    // More than there is room for at first.
    let job = MeshJob { margin: 0.2, ..job };
    there.arrange(&gpu, &sheet(4, 0.1, 0.0), 2e-4).unwrap();
    contacts.find(&mut there, &[job], &mut found).unwrap();
    let area: f64 = found[0].contacts.list.iter().map(|c| f64::from(c.area)).sum();
    println!("{} contacts of {area} m²", found[0].contacts.list.len());
    assert!(found[0].contacts.list.len() > 1 << 17 && (area - 0.01).abs() < 1e-6);
}
