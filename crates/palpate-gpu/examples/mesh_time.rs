//! How long a field against a mesh takes on the GPU: `mesh_time FOLDER [SIZE]` for the scans in a folder.

use glam::{DQuat, DVec3};
use palpate::field::{Field, FieldParams};
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::mesh::{Mesh, RawMesh, samples};
use palpate::soft::SoftMesh;
use palpate_gpu::{Gpu, GpuField, GpuMesh, GpuParams, GpuSampler, Interpolation};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let size: f64 = std::env::args().nth(2).map_or(Ok(1024.0), |s| s.parse())?;
    let gpu = Gpu::open(&GpuParams::default())?;
    println!("{}", gpu.name());
    let knot = samples::torus_knot(2, 3, 1.0, 0.4, 0.18, 2660, 333);
    for name in ["cow.obj", "bunny.obj", "horse.ply", "dragon.ply", "knot"] {
        let raw = if name == "knot" { knot.clone() } else { RawMesh::load(format!("{folder}/{name}"), 1.0)? };
        let mesh = Mesh::new(raw, &Default::default())?;
        let extent = mesh.aabb().extent();
        let voxel = extent.max_element() / 250.0;
        let field = Field::build(&mesh, voxel, &FieldParams::default())?;
        let soft = SoftMesh::from_mesh(&mesh);
        let pixel = field.lattice().aabb().extent().max_element() / size;
        let spacing = std::env::args().nth(3).map_or(1.5, |s| s.parse().unwrap_or(1.5)) * pixel;
        println!(
            "{name}: {} triangles, field {:.1} MB",
            soft.triangles().len(),
            field.report().bytes as f64 / 1e6
        );
        for interpolation in [Interpolation::Shader, Interpolation::Texture] {
            for (threads, groups) in [(64, 1056), (64, 2112), (64, 4224), (128, 1056)] {
                if interpolation == Interpolation::Texture && (threads, groups) != (128, 1056) {
                    continue;
                }
                let on = GpuField::new(&gpu, &field, interpolation)?;
                let mut there = GpuMesh::new(&gpu, &soft, spacing)?;
                let mut sampler = GpuSampler::tuned(&gpu, threads, groups)?;
                let middle = mesh.aabb().centre();
                let (mut hit, mut near, mut empty) = (Vec::new(), Vec::new(), Vec::new());
                let mut samples = 0;
                for step in 0..20 {
                    for turn in 0..24 {
                        let angle = (turn % 12) as f64 * std::f64::consts::PI / 6.0;
                        let rotation = if turn < 12 {
                            DQuat::from_rotation_y(angle)
                        } else {
                            DQuat::from_rotation_z(angle)
                        };
                        let at = |distance: f64| {
                            Pose::new(rotation, middle - rotation * middle + DVec3::X * extent.x * distance)
                        };
                        let params = ForceParams::new(1e6);
                        let pose = at(step as f64 / 20.0);
                        let began = Instant::now();
                        let found = sampler.collide(&on, &mut there, &pose, 0.0, &params, &Twist::ZERO)?;
                        hit.push(began.elapsed().as_secs_f64());
                        samples += found.samples;
                        let pose = at(1.0 + step as f64 / 20.0);
                        let began = Instant::now();
                        sampler.nearest(&on, &mut there, &pose)?;
                        near.push(began.elapsed().as_secs_f64());
                        let began = Instant::now();
                        sampler.round_trip(&on, &mut there)?;
                        empty.push(began.elapsed().as_secs_f64());
                    }
                }
                let at = |v: &mut Vec<f64>, q: f64| {
                    v.sort_by(f64::total_cmp);
                    1e6 * v[((v.len() - 1) as f64 * q) as usize]
                };
                println!(
                    "  {interpolation:?} {threads} x {groups}: collide {:.0} ({:.0}, max {:.0}) us, nearest {:.0} ({:.0}), empty {:.0} ({:.0}); {} samples in the mean",
                    at(&mut hit, 0.5),
                    at(&mut hit, 0.99),
                    at(&mut hit, 1.0),
                    at(&mut near, 0.5),
                    at(&mut near, 0.99),
                    at(&mut empty, 0.5),
                    at(&mut empty, 0.99),
                    samples / hit.len(),
                );
            }
        }
    }
    Ok(())
}
