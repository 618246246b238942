//! Times the voxel map on the shapes of the generation bench.
//!
//! `cargo run --release -p palpate --example voxmap_timing [threads] [navigation]`; with the folder of the
//! scanned models in `PALPATE_MODELS` it adds the bunny and the dragon.
#![expect(clippy::print_stdout, reason = "a program")]

use palpate::mesh::samples;
use palpate::progress::Progress;
use palpate::voxmap::{Grid, Navigation, SurfaceVoxels, VoxmapParams};
use palpate::{Mesh, Voxmap};
use std::sync::Mutex;
use std::time::Instant;

/// Stage names and when they began.
struct Stages(Mutex<Vec<(&'static str, Instant)>>);

impl Progress for Stages {
    fn stage(&self, name: &'static str, _steps: u64) {
        if let Ok(mut stages) = self.0.lock() {
            stages.push((name, Instant::now()));
        }
    }
    fn advance(&self, _steps: u64) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let threads = std::env::args().nth(1).map_or(Ok(2), |a| a.parse())?;
    let navigation = match std::env::args().nth(2).as_deref() {
        None | Some("auto") => Navigation::Auto,
        Some("first") => Navigation::First,
        Some("second") => Navigation::Second,
        Some("solved") => Navigation::Solved,
        Some("box") => Navigation::Box,
        Some(other) => return Err(format!("unknown navigation {other}").into()),
    };
    let params = VoxmapParams { threads, navigation, ..Default::default() };
    let mut cases = Vec::new();
    if let Ok(folder) = std::env::var("PALPATE_MODELS") {
        let bunny = Mesh::load(format!("{folder}/bunny.obj"), 1.0)?;
        let dragon = Mesh::load(format!("{folder}/dragon.ply"), 1.0)?;
        for n in [256, 512] {
            cases.push(("bunny", bunny.clone(), Grid::voxel_for_resolution(bunny.aabb(), n)));
            cases.push(("dragon", dragon.clone(), Grid::voxel_for_resolution(dragon.aabb(), n)));
        }
    } else {
        println!("skipped: bunny and dragon, PALPATE_MODELS is not set");
    }
    for (name, voxels) in [("nut-and-bolt", 302e6), ("torus-knot-3m", 680e6)] {
        let raw = samples::by_name(name).ok_or("no such sample")?;
        let mesh = Mesh::new(raw, &Default::default())?;
        let voxel = voxel_for_count(&mesh, voxels);
        cases.push((name, mesh, voxel));
    }
    for (name, mesh, voxel) in &cases {
        let mut surface_ms = f64::INFINITY;
        for _ in 0..7 {
            let start = Instant::now();
            let surface = SurfaceVoxels::build(mesh, *voxel, &params)?;
            surface_ms = surface_ms.min(start.elapsed().as_secs_f64() * 1e3);
            std::hint::black_box(surface);
        }
        let mut best: Option<(f64, String, Voxmap)> = None;
        for _ in 0..5 {
            let stages = Stages(Mutex::new(Vec::new()));
            let start = Instant::now();
            let voxmap = Voxmap::build_with(mesh, *voxel, &params, &stages)?;
            let end = Instant::now();
            let total = (end - start).as_secs_f64() * 1e3;
            let mut list = stages.0.into_inner()?;
            list.push(("", end));
            let text = std::iter::once(("sort", start, list[0].1))
                .chain(list.windows(2).map(|w| (w[0].0, w[0].1, w[1].1)))
                .map(|(n, a, b)| format!("{n} {:.1}", (b - a).as_secs_f64() * 1e3))
                .collect::<Vec<_>>()
                .join(", ");
            if best.as_ref().is_none_or(|b| total < b.0) {
                best = Some((total, text, voxmap));
            }
        }
        let Some((total, text, voxmap)) = best else { continue };
        let (grid, fill, stats) = (voxmap.grid(), voxmap.fill_report(), voxmap.stats());
        println!(
            "{name}: {} triangles, {:?} = {:.1} M voxels, {threads} threads\n  surface only {surface_ms:.1} ms; all \
             {total:.1} ms ({text})\n  {fill:?}\n  {stats:?}, {:.1} MB held, peak {} MB",
            mesh.triangles().len(),
            grid.dims,
            grid.voxel_count() as f64 * 1e-6,
            voxmap.memory_bytes() as f64 * 1e-6,
            peak_mb(),
        );
    }
    Ok(())
}

/// The voxel size with which the padded grid of `mesh` has about `count` voxels [m].
fn voxel_for_count(mesh: &Mesh, count: f64) -> f64 {
    let e = mesh.aabb().extent();
    let mut voxel = (e.x * e.y * e.z / count).cbrt();
    for _ in 0..20 {
        let n = (e / voxel + 6.0).to_array().iter().product::<f64>();
        voxel *= (n / count).cbrt();
    }
    voxel
}

/// Most memory this process has held [MB]; 0 where the system does not say.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) / 1024
}
