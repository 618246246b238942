//! How long ten thousand poses take: `batch_time MESH [POSES]`.

use glam::{DQuat, DVec3};
use palpate::force::{ForceParams, summary_batch};
use palpate::math::Pose;
use palpate::mesh::Mesh;
use palpate::query::{QueryParams, Roles};
use palpate::shape::{Shape, ShapeParams};
use palpate_gpu::{BatchParams, Gpu, GpuBatch, GpuField, GpuParams, GpuShell, Interpolation, Job, Lists};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which mesh?")?;
    let count: usize = std::env::args().nth(2).map_or(Ok(10_000), |s| s.parse())?;
    let gpu = Gpu::open(&GpuParams::default())?;
    let mesh = Mesh::load(&path, 1.0)?;
    let extent = mesh.aabb().extent();
    let middle = mesh.aabb().centre();
    let voxel = extent.max_element() / 250.0;
    let params = ShapeParams { spacing: Some(1.9 * voxel), ..ShapeParams::default() };
    let shape = Shape::build(mesh, voxel, &params)?;
    println!("{}: {} points", gpu.name(), shape.tree().len());
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let poses: Vec<Pose> = (0..count)
        .map(|i| {
            let axis = if i % 2 == 0 { DVec3::Y } else { DVec3::Z };
            let jitter = DVec3::new(random(), random(), random()) * 0.1;
            let rotation =
                DQuat::from_axis_angle((axis + jitter).normalize(), std::f64::consts::TAU * random());
            let shift = DVec3::X * extent.x * random()
                + (DVec3::new(random(), random(), random()) - 0.5) * 0.05 * extent;
            Pose::new(rotation, middle - rotation * middle + shift)
        })
        .collect();
    let force = ForceParams::new(1e8);
    for interpolation in [Interpolation::Shader, Interpolation::Texture] {
        let field = GpuField::new(&gpu, shape.field(), interpolation)?;
        let shell = GpuShell::new(&gpu, shape.tree())?;
        let mut batch = GpuBatch::new(&gpu)?;
        let job = [Job { field: &field, shell: &shell, poses: &poses, motions: &[] }];
        for (lists, room) in [(Lists::None, 0), (Lists::Brief, 100 << 20), (Lists::Full, 80 << 20)] {
            let params = BatchParams { force, lists, room: Some(room), ..BatchParams::default() };
            let mut times = Vec::new();
            let mut contacts = 0;
            for _ in 0..12 {
                let began = Instant::now();
                let got = match batch.contacts(&job, &params) {
                    Ok(got) => got,
                    Err(e) => {
                        println!("{lists:?}: {e}");
                        break;
                    }
                };
                times.push(began.elapsed().as_secs_f64() * 1e3);
                contacts = got[0].iter().map(|p| p.contacts).sum::<usize>();
            }
            times.sort_by(f64::total_cmp);
            if let (Some(least), Some(most)) = (times.first(), times.last()) {
                println!(
                    "{interpolation:?} {lists:?}: {least:.2} to {most:.2} ms, median {:.2}; {contacts} contacts",
                    times[times.len() / 2]
                );
            }
        }
        let mut times = Vec::new();
        for _ in 0..6 {
            let began = Instant::now();
            batch.nearest(&job)?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        println!("{interpolation:?} nearest: {times:.2?} ms");
    }
    for threads in [1, 2, 16] {
        let query = QueryParams { roles: Roles::PointsOfB, ..QueryParams::default() };
        let began = Instant::now();
        let got =
            palpate::par::with_threads(threads, || summary_batch(&shape, &shape, &poses, &query, &force));
        println!(
            "CPU {threads} threads: {:.0} ms, {} contacts",
            began.elapsed().as_secs_f64() * 1e3,
            got.iter().map(|p| p.contacts).sum::<usize>()
        );
    }
    Ok(())
}
