//! Fields built on the GPU: bunny 256³, dragon 512³, beside the CPU.

use super::Lab;
use super::scene;
use crate::bench::engines::{Found, row};
use crate::bench::table::Row;
use anyhow::{Result, bail};
use palpate::field::{Field, FieldParams};
use palpate::mesh::Mesh;
use palpate::par;
use palpate_gpu::Gpu;
use std::time::Instant;

/// What the device needs for one model, warm.
struct Built {
    /// All repetitions [s].
    seconds: Vec<f64>,
    /// Largest difference of a node from the CPU's [voxels], and whether it was looked at.
    difference: Option<f64>,
    bricks: usize,
}

/// Builds on the device `repeat` times, after a first time that compiles kernels.
fn on_device(
    _gpu: &Gpu,
    _mesh: &Mesh,
    _voxel: f64,
    _repeat: usize,
    _beside: Option<&Field>,
) -> Result<Built> {
    bail!("fields built on the GPU are not in this build")
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
                    "{} triangles, {} bricks; p99 {:.2} ms; largest difference of a node {} voxels",
                    mesh.triangles().len(),
                    built.bricks,
                    1e3 * worst,
                    built.difference.map_or_else(|| "not looked at".to_owned(), |d| format!("{d:.1e}")),
                );
                let row = row(&case, "field building", "s", median, note);
                let peer = Some(format!("CPU, {} threads", lab.options.threads));
                found.rows.push(Row { peer, theirs: Some(cpu), seconds_ours: built.seconds, ..row }.finish());
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
