//! x
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
    let gpu = Gpu::open(&GpuParams::default())?;
    let knot = samples::torus_knot(2, 3, 1.0, 0.4, 0.18, 2660, 333);
    for name in ["one", "cow.obj", "bunny.obj", "dragon.ply", "knot"] {
        let raw = match name {
            "knot" => knot.clone(),
            "one" => samples::cuboid(DVec3::ONE),
            _ => RawMesh::load(format!("{folder}/{name}"), 1.0)?,
        };
        let mesh = Mesh::new(raw, &Default::default())?;
        let extent = mesh.aabb().extent();
        let voxel = extent.max_element() / 250.0;
        let field = Field::build(&mesh, voxel, &FieldParams::default())?;
        let mut soft = SoftMesh::from_mesh(&mesh);
        let pixel = field.lattice().aabb().extent().max_element() / 1024.0;
        let mut spacing = 1.5 * pixel;
        if name == "one" {
            soft = SoftMesh::new(vec![DVec3::ZERO, DVec3::X * 0.01, DVec3::Y * 0.01], vec![[0, 1, 2]])?;
            spacing = 1.0;
        }
        let on = GpuField::new(&gpu, &field, Interpolation::Shader)?;
        let mut there = GpuMesh::new(&gpu, &soft, spacing)?;
        for (threads, groups) in [(128, 1056), (128, 2112)] {
            let mut sampler = GpuSampler::tuned(&gpu, threads, groups)?;
            let middle = mesh.aabb().centre();
            for kind in ["collide", "nearest"] {
                for rep in [[1, 1, 1], [1, 11, 1], [1, 1, 11], [11, 1, 1]] {
                    sampler.repeat = rep;
                    let mut times = Vec::new();
                    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
                    for step in 0..20 {
                        for turn in 0..12 {
                            let angle = (turn % 6) as f64 * std::f64::consts::PI / 3.0;
                            let rotation = if turn < 6 {
                                DQuat::from_rotation_y(angle)
                            } else {
                                DQuat::from_rotation_z(angle)
                            };
                            let at = |distance: f64| {
                                Pose::new(
                                    rotation,
                                    middle - rotation * middle + DVec3::X * extent.x * distance,
                                )
                            };
                            let began = Instant::now();
                            if kind == "collide" {
                                sampler.collide(
                                    &on,
                                    &mut there,
                                    &at(step as f64 / 20.0),
                                    0.0,
                                    &ForceParams::new(1e6),
                                    &Twist::ZERO,
                                )?;
                            } else {
                                sampler.nearest(&on, &mut there, &at(1.0 + step as f64 / 20.0))?;
                            }
                            times.push(began.elapsed().as_secs_f64() * 1e6);
                            for k in 0..3 {
                                parts[k].push(sampler.stages[k] * 1e6);
                            }
                        }
                    }
                    let mut med = |v: &mut Vec<f64>| {
                        v.sort_by(f64::total_cmp);
                        v[v.len() / 2]
                    };
                    let [a, b, c] = &mut parts;
                    println!(
                        "{name} {threads}x{groups} {kind} {rep:?}: {:.1} us; encode {:.1}, take {:.1}, of it submit {:.1}",
                        med(&mut times),
                        med(a),
                        med(b),
                        med(c)
                    );
                }
            }
        }
    }
    Ok(())
}
