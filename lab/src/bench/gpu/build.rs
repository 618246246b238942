//! Fields built on the GPU: bunny 256³, dragon 512³, beside the CPU.

use super::Lab;
use super::scene::{self, Random};
use crate::bench::engines::{Found, row};
use crate::bench::table::Row;
use anyhow::Result;
use glam::DVec3;
use palpate::field::{Field, FieldParams};
use palpate::mesh::Mesh;
use palpate::par;
use palpate::progress::Silent;
use palpate_gpu::{FieldBuilder, Gpu, GpuMeshSource, wgpu};
use std::time::Instant;

/// What the device needs for one model, warm.
struct Built {
    /// All repetitions [s].
    seconds: Vec<f64>,
    /// The same with every node of the grid in a texture [s].
    full: Vec<f64>,
    /// Largest difference from the CPU's field in its band, where it was looked at [voxels].
    difference: Option<f64>,
    bricks: usize,
    /// What is done once for a mesh, on the CPU: caps, order, normals [s].
    prepare: f64,
}

/// Builds on the device `repeat` times, after a first time that makes the memory.
fn on_device(gpu: &Gpu, mesh: &Mesh, voxel: f64, repeat: usize, beside: Option<&Field>) -> Result<Built> {
    let builder = FieldBuilder::new(gpu)?;
    let start = Instant::now();
    let source = GpuMeshSource::new(gpu, mesh)?;
    let prepare = start.elapsed().as_secs_f64();
    let params = FieldParams::default();
    let mut built = builder.build(&source, voxel, &params, &Silent)?;
    let mut seconds = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        built = builder.build(&source, voxel, &params, &Silent)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let mut full = Vec::new();
    let texture = built.dense(gpu)?;
    for _ in 0..repeat {
        let start = Instant::now();
        built = builder.build(&source, voxel, &params, &Silent)?;
        built.dense_into(gpu, &texture)?;
        gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        full.push(start.elapsed().as_secs_f64());
    }
    let difference = match beside {
        None => None,
        Some(cpu) => Some(largest(&built.read(gpu)?, cpu)),
    };
    Ok(Built { seconds, full, difference, bricks: built.bricks, prepare })
}

/// Largest difference of two fields in places of the first one's band [voxels].
fn largest(ours: &Field, theirs: &Field) -> f64 {
    let (lattice, band) = (ours.lattice(), ours.report().band);
    let mut random = Random(7);
    let place = |_| lattice.aabb().min + random.vector() * lattice.aabb().extent();
    let places: Vec<DVec3> = (0..200_000).map(place).collect();
    let near = |p: &&DVec3| theirs.sample(**p).distance.abs() < band;
    let apart = |p: &DVec3| (ours.sample(*p).distance - theirs.sample(*p).distance).abs();
    places.iter().filter(near).map(apart).fold(0.0, f64::max) / lattice.voxel
}

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let grids: [(&str, f64); 2] =
        if lab.quick { [("bunny", 48.0), ("cow", 64.0)] } else { [("bunny", 256.0), ("dragon", 512.0)] };
    for (name, grid) in grids {
        let mesh = scene::mesh(lab, name)?;
        // As `--resolution`: three voxels of padding on each side.
        let voxel = mesh.aabb().extent().max_element() / (grid - 6.0);
        let case = format!("{name} {grid}³");
        let start = Instant::now();
        let field =
            par::with_threads(lab.options.threads, || Field::build(&mesh, voxel, &FieldParams::default()))?;
        let cpu = start.elapsed().as_secs_f64();
        let repeat = if lab.quick { 2 } else { 20 };
        match on_device(&lab.gpu, &mesh, voxel, repeat, Some(&field)) {
            Ok(built) => {
                let median = super::quantile(&built.seconds, 0.5);
                let worst = super::quantile(&built.seconds, 0.99);
                let note = format!(
                    "{} triangles, {} bricks; the mesh is resident: prepared once on the CPU in {:.0} ms; p99 {:.2} ms; largest difference in the band {} voxels",
                    mesh.triangles().len(),
                    built.bricks,
                    1e3 * built.prepare,
                    1e3 * worst,
                    built.difference.map_or_else(|| "not looked at".to_owned(), |d| format!("{d:.1e}")),
                );
                let row = row(&case, "field building", "s", median, note);
                let peer = Some(format!("CPU, {} threads", lab.options.threads));
                found.rows.push(Row { peer, theirs: Some(cpu), seconds_ours: built.seconds, ..row }.finish());
                let worst = format!("p99 {:.2} ms", 1e3 * super::quantile(&built.full, 0.99));
                let median = super::quantile(&built.full, 0.5);
                let row = crate::bench::engines::row(
                    &case,
                    "field building, full grid as a texture",
                    "s",
                    median,
                    worst,
                );
                found.rows.push(Row { seconds_ours: built.full, ..row }.finish());
            }
            Err(error) => {
                found.rows.push(
                    row(&case, "field building, CPU", "s", cpu, format!("{} bricks", field.report().bricks))
                        .finish(),
                );
                found.notes.push(format!("{case}: {error:#}"));
            }
        }
    }
    Ok(found)
}
