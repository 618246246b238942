//! A field against a mesh, on the GPU and on the CPU.

use glam::{DQuat, DVec3};
use palpate::field::{Field, FieldParams};
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::mesh::{Mesh, samples};
use palpate::soft::{FieldSampler, MeshMotion, Sampling, SoftMesh};
use palpate_gpu::{Gpu, GpuField, GpuMesh, GpuParams, GpuSampler, Interpolation};

#[test]
fn first() {
    let gpu = Gpu::open(&GpuParams::default()).unwrap();
    println!("{}", gpu.name());
    let mesh = Mesh::new(samples::bumpy_sphere(0.05, 0.008, 6, 5, 1), &Default::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / 60.0;
    let field = Field::build(&mesh, voxel, &FieldParams::default()).unwrap();
    let soft = SoftMesh::from_mesh(&mesh);
    let spacing = voxel;
    for interpolation in [Interpolation::Shader, Interpolation::Texture, Interpolation::Directions] {
        let on = GpuField::new(&gpu, &field, interpolation).unwrap();
        let mut there = GpuMesh::new(&gpu, &soft, spacing).unwrap();
        let mut sampler = GpuSampler::new(&gpu).unwrap();
        let mut cpu = FieldSampler::new();
        let mut params = ForceParams::new(1e8);
        params.damping = 1e5;
        params.friction.dynamic_coefficient = 0.3;
        params.friction.static_coefficient = 0.3;
        let motion = Twist { linear: DVec3::new(0.01, -0.02, 0.005), angular: DVec3::new(0.1, 0.3, -0.2) };
        for i in 0..8 {
            let pose = Pose::new(DQuat::from_rotation_y(i as f64), DVec3::new(0.02 * i as f64, 0.01, 0.003));
            let a = sampler.collide(&on, &mut there, &pose, 0.0, &params, &motion).unwrap();
            let found = cpu.find(&field, &soft, &pose, Sampling::Area { spacing }, 0.0).unwrap();
            let b = found.summary(&soft, &params, &MeshMotion { frame: motion, vertices: &[] });
            println!("{interpolation:?} {i}\n {:?}\n {:?}", a.force, b.force);
            println!(
                " {:?} {} {}\n {:?} {} {}",
                a.deepest, a.samples, a.culled, b.deepest, b.samples, b.culled
            );
            let n = sampler.nearest(&on, &mut there, &pose).unwrap();
            println!(" {:?} {} {}", n.deepest, n.samples, n.culled);
        }
    }
}
