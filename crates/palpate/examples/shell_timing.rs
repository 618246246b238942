//! Times the pointshell and its two projections.
//!
//! `cargo run --release -p palpate --example shell_timing MESH POINTS [threads]`: about so many points on a mesh file or a sample.
#![expect(clippy::print_stdout, reason = "a program")]

use glam::DVec3;
use palpate::mesh::samples;
use palpate::progress::Progress;
use palpate::shell::{ShellParams, closest_point_kkt, closest_point_voronoi};
use palpate::{Field, Mesh, Shell};
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
    let name = std::env::args().nth(1).ok_or("which mesh?")?;
    let wanted: f64 = std::env::args().nth(2).map_or(Ok(35_000.0), |a| a.parse())?;
    let threads = std::env::args().nth(3).map_or(Ok(2), |a| a.parse())?;
    let mesh = match samples::by_name(&name) {
        Some(raw) => Mesh::new(raw, &Default::default())?,
        None => Mesh::load(&name, 1.0)?,
    };
    let voxel = mesh.aabb().extent().max_element() / 250.0;
    let field = Field::build(&mesh, voxel, &Default::default())?;
    let spacing = (0.7 * mesh.report().area / wanted).sqrt();
    let params = ShellParams { threads, ..Default::default() };
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let stages = Stages(Mutex::new(Vec::new()));
        let start = Instant::now();
        let shell = Shell::build_with(&mesh, &field, spacing, &params, &stages)?;
        let end = Instant::now();
        let total = (end - start).as_secs_f64() * 1e3;
        if total < best {
            best = total;
            let list = stages.0.into_inner().unwrap_or_default();
            print!("{total:.1} ms:");
            for (i, (name, from)) in list.iter().enumerate() {
                let to = list.get(i + 1).map_or(end, |n| n.1);
                print!(" {name} {:.1}", (to - *from).as_secs_f64() * 1e3);
            }
            let r = shell.report();
            println!("\n  {} triangles, spacing {spacing:.3e}: {r:?}", mesh.triangles().len());
            let shares = r.recovered_projections as f64 / r.boundary_projections.max(1) as f64;
            println!(
                "  radius {:.4} spacings, recovered {:.3} % of boundary projections, {:.2} % of points; filled {:.2} %; area {:+.1e}",
                r.radius / spacing,
                100.0 * shares,
                100.0 * r.recovered as f64 / r.points as f64,
                100.0 * r.filled as f64 / r.points as f64,
                r.area / mesh.report().area - 1.0,
            );
        }
    }
    projections();
    Ok(())
}

/// A triangle and a point.
type Case = ([DVec3; 3], DVec3);

/// Both ways to project, on arbitrary triangles and points.
fn projections() {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut point = || DVec3::new(random(), random(), random());
    let cases: Vec<Case> = (0..1 << 14).map(|_| ([point(), point(), point()], point())).collect();
    let time = |f: &dyn Fn(&[Case]) -> f64| {
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = Instant::now();
            std::hint::black_box(f(&cases));
            best = best.min(start.elapsed().as_secs_f64());
        }
        best * 1e9 / cases.len() as f64
    };
    let kkt = time(&|c| c.iter().map(|(t, p)| closest_point_kkt(*t, *p).point.x).sum());
    let voronoi = time(&|c| c.iter().map(|(t, p)| closest_point_voronoi(*t, *p).point.x).sum());
    println!("  KKT {kkt:.1} ns, plane then Voronoi {voronoi:.1} ns: {:.0} %", 100.0 * kkt / voronoi);
}
