//! Times the build of a field on the device.
//!
//! `cargo run --release -p palpate-gpu --example build_time MESH RESOLUTION [--rounds N] [--stages] [--dense] [--cpu]`: voxels along the
//! longest side of the mesh's box. N builds, twenty if it does not say, the source resident: median and least time, by the wall
//! clock, with the last wait. `--stages`: then each stage in submissions of its own. `--dense`: with the full grid as a
//! volume. `--cpu`: compares with the CPU.
#![expect(clippy::print_stdout, reason = "a program")]

use palpate::field::FieldParams;
use palpate::progress::{Progress, Silent};
use palpate::{Field, Mesh};
use palpate_gpu::{FieldBuilder, Gpu, GpuMeshSource, GpuParams};
use std::sync::Mutex;
use std::time::Instant;

/// Stage names and when they began.
#[derive(Default)]
struct Stages(Mutex<Vec<(&'static str, Instant)>>);

impl Progress for Stages {
    fn stage(&self, name: &'static str, _steps: u64) {
        if let Ok(mut stages) = self.0.lock() {
            stages.push((name, Instant::now()));
        }
    }
    fn advance(&self, _steps: u64) {}
}

fn middle(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|a| a == name);
    let [path, resolution, ..] = &arguments[..] else {
        return Err("which mesh, and how many voxels?".into());
    };
    let resolution: f64 = resolution.parse()?;
    let rounds = arguments.iter().skip_while(|a| *a != "--rounds").nth(1).map_or(Ok(20), |n| n.parse())?;
    let rounds: usize = if rounds == 0 { 1 } else { rounds };
    let mesh = Mesh::load(path, 1.0)?;
    let voxel = mesh.aabb().extent().max_element() / resolution;
    let params = FieldParams::default();

    let gpu = Gpu::open(&GpuParams::default())?;
    let began = Instant::now();
    let mut builder = FieldBuilder::new(&gpu)?;
    let compiled = began.elapsed().as_secs_f64() * 1e3;
    let began = Instant::now();
    let source = GpuMeshSource::new(&gpu, &mesh)?;
    let resident = began.elapsed().as_secs_f64() * 1e3;
    println!(
        "{}: {} triangles, kernels {compiled:.0} ms, source {resident:.0} ms",
        gpu.name(),
        source.triangles()
    );

    let mut times = Vec::new();
    for _ in 0..=rounds {
        let began = Instant::now();
        let built = builder.build(&source, voxel, &params, &Silent)?;
        if has("--dense") {
            let _volume = built.dense(&gpu)?;
            gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        }
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    // The first makes the memory.
    let first = times.remove(0);
    let (median, least) = middle(times);
    let built = builder.build(&source, voxel, &params, &Silent)?;
    let r = &built.report;
    println!(
        "{:?} voxels, {} bricks, {}, confidence {}, repaired {}, slope {:.4}",
        built.lattice.dims(),
        built.bricks,
        r.sign_method.name(),
        r.sign_confidence,
        r.sign_repaired,
        r.lipschitz
    );
    println!("build: median {median:.3} ms, least {least:.3} ms, first {first:.3} ms");

    if has("--stages") {
        builder.separate_stages = true;
        let mut told: Vec<Vec<(&'static str, f64)>> = Vec::new();
        for _ in 0..rounds {
            let stages = Stages::default();
            builder.build(&source, voxel, &params, &stages)?;
            let ended = Instant::now();
            let began = stages.0.into_inner().unwrap_or_default();
            let ends = began.iter().skip(1).map(|(_, t)| *t).chain([ended]);
            told.push(began.iter().zip(ends).map(|((n, t), e)| (*n, (e - *t).as_secs_f64() * 1e3)).collect());
        }
        for s in 0..told[0].len() {
            let (median, least) = middle(told.iter().filter_map(|r| r.get(s)).map(|r| r.1).collect());
            println!("  {:<12} median {median:.3} ms, least {least:.3} ms", told[0][s].0);
        }
    }

    if has("--cpu") {
        let began = Instant::now();
        let exact = FieldParams { exact_background: true, exact_bricks: true, ..params };
        let cpu = Field::build(&mesh, voxel, &exact)?;
        let time = began.elapsed().as_secs_f64() * 1e3;
        let field = built.read(&gpu)?;
        let Some(((_, a), (_, b))) = field.nodes().zip(cpu.nodes()) else { return Ok(()) };
        let r = cpu.report();
        println!(
            "CPU: {time:.0} ms, {} bricks, {}, repaired {}, slope {:.4}",
            r.bricks,
            r.sign_method.name(),
            r.sign_repaired,
            r.lipschitz
        );
        if a.len() == b.len() {
            let off = |size: bool| {
                let each = a.iter().zip(b).map(|(a, b)| if size { a.abs() - b.abs() } else { a - b });
                f64::from(each.fold(0.0f32, |m, d| m.max(d.abs()))) / voxel
            };
            let others = a.iter().zip(b).filter(|(a, b)| (**a < 0.0) != (**b < 0.0));
            let (count, far) = others.fold((0, 0.0f32), |(n, m), (a, _)| (n + 1, m.max(a.abs())));
            println!(
                "largest difference {:.2e} voxels, of sizes {:.2e}; {count} on the other side, at most {:.2e} from the surface",
                off(false),
                off(true),
                f64::from(far) / voxel
            );
        }
    }
    Ok(())
}
