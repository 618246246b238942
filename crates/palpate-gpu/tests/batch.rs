//! Many poses on the GPU and on the CPU.

use glam::{DQuat, DVec3};
use palpate::force::{ForceParams, summary_batch};
use palpate::math::Pose;
use palpate::mesh::{Mesh, samples};
use palpate::query::{QueryParams, Roles};
use palpate::shape::{Shape, ShapeParams};
use palpate_gpu::{BatchParams, Gpu, GpuBatch, GpuField, GpuParams, GpuShell, Interpolation, Job, Lists};

#[test]
fn first() {
    let gpu = Gpu::open(&GpuParams::default()).unwrap();
    let mesh = Mesh::new(samples::bumpy_sphere(0.05, 0.008, 6, 5, 1), &Default::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / 60.0;
    let shape = Shape::build(mesh, voxel, &ShapeParams::default()).unwrap();
    println!("{} points", shape.tree().len());
    let field = GpuField::new(&gpu, shape.field(), Interpolation::Shader).unwrap();
    let shell = GpuShell::new(&gpu, shape.tree()).unwrap();
    let poses: Vec<Pose> = (0..40)
        .map(|i| Pose::new(DQuat::from_rotation_y(i as f64), DVec3::new(0.003 * i as f64, 0.01, 0.003)))
        .collect();
    let mut batch = GpuBatch::new(&gpu).unwrap();
    let force = ForceParams::new(1e8);
    let params = BatchParams { force, lists: Lists::Full, ..BatchParams::default() };
    let job = Job { field: &field, shell: &shell, poses: &poses, motions: &[] };
    let got = batch.contacts(&[job, job], &params).unwrap();
    assert_eq!(got[0], got[1]);
    let query = QueryParams { roles: Roles::PointsOfB, ..QueryParams::default() };
    let want = summary_batch(&shape, &shape, &poses, &query, &force);
    for (i, (a, b)) in got[0].iter().zip(&want).enumerate().step_by(5) {
        println!("{i}\n {a:?}\n {b:?}");
        let list = batch.read_list(0, i).unwrap();
        println!(" {} {:?}", list.len(), list.first());
    }
    let near = batch.nearest(&[job]).unwrap();
    for (i, a) in near[0].iter().enumerate().step_by(5) {
        println!("{i} {:?}", a.deepest);
    }
}
