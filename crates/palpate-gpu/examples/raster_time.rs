//! Times the raster path by the protocol of section 5.1 of morvan08, reduced: 20 distances, 12 orientations.
//!
//! `cargo run --release -p palpate-gpu --example raster_time MESH [RESOLUTION] [shader|texture|directions] [SIZES]`: a mesh file against its
//! own field of so many voxels (256), in pictures of these sizes (512,1024,2048). A table, then one line of JSON. Times are of whole
//! calls, with the answer back on the host [ms].
#![expect(clippy::print_stdout, reason = "a program")]

use glam::{DQuat, DVec3};
use palpate::field::{Field, FieldParams};
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::mesh::Mesh;
use palpate::soft::{FieldSummary, SoftMesh};
use palpate_gpu::{
    Gpu, GpuError, GpuField, GpuMesh, GpuParams, GpuRaster, GpuSampler, Interpolation, RasterMode,
    RasterParams,
};
use std::time::Instant;

const STEPS: usize = 20;
const TURNS: usize = 12;

/// What is asked.
#[derive(Clone, Copy, Debug)]
enum Question {
    Collide(RasterMode),
    Nearest { single_pass: bool },
}

/// Times of one question at one size, and what came out.
struct Row {
    size: u32,
    question: Question,
    median: f64,
    p99: f64,
    samples: f64,
    result: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which mesh?")?;
    let resolution: f64 = arguments.next().map_or(Ok(256.0), |s| s.parse())?;
    let interpolation = match arguments.next().as_deref() {
        None | Some("directions") => Interpolation::Directions,
        Some("texture") => Interpolation::Texture,
        Some("shader") => Interpolation::Shader,
        Some(other) => return Err(format!("interpolation {other}? shader, texture or directions").into()),
    };
    let sizes = arguments.next().unwrap_or_else(|| "512,1024,2048".to_owned());
    let sizes: Vec<u32> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let gpu = Gpu::open(&GpuParams::default())?;
    let mesh = Mesh::load(&path, 1.0)?;
    let voxel = mesh.aabb().extent().max_element() / (resolution - 6.0);
    let field = Field::build(&mesh, voxel, &FieldParams::default())?;
    let soft = SoftMesh::from_mesh(&mesh);
    let on = GpuField::new(&gpu, &field, interpolation)?;
    // Nothing is cut into parts here.
    let mut there = GpuMesh::new(&gpu, &soft, f64::MAX)?;
    let mut sampler = GpuSampler::new(&gpu)?;
    let mut empty: Vec<f64> = Vec::new();
    for _ in 0..STEPS * TURNS {
        let began = Instant::now();
        sampler.round_trip(&on, &mut there)?;
        empty.push(1e3 * began.elapsed().as_secs_f64());
    }
    let (empty, _) = median_and_p99(&mut empty);
    println!(
        "{}, {interpolation:?}, {} triangles, empty round trip {empty:.4} ms",
        gpu.name(),
        there.triangles()
    );
    println!(
        "| size | question | median ms | p99 ms | mean samples | mean result |\n|---|---|---|---|---|---|"
    );
    let collide = RasterMode::ALL.map(Question::Collide);
    let nearest = [false, true].map(|single_pass| Question::Nearest { single_pass });
    let mut rows = Vec::new();
    for size in sizes {
        let mut raster = GpuRaster::new(&gpu, RasterParams { size, ..RasterParams::default() })?;
        for question in collide.iter().chain(&nearest) {
            let row = time(&mut raster, &on, &there, &mesh, size, *question)?;
            println!(
                "| {size} | {} | {:.4} | {:.4} | {:.0} | {:.6e} |",
                name(row.question),
                row.median,
                row.p99,
                row.samples,
                row.result
            );
            rows.push(row);
        }
    }
    let rows: Vec<String> = rows.iter().map(json).collect();
    println!(
        "{{\"device\":{:?},\"mesh\":{path:?},\"triangles\":{},\"resolution\":{resolution},\
         \"interpolation\":\"{interpolation:?}\",\"empty_ms\":{empty:.5},\"rows\":[{}]}}",
        gpu.name(),
        there.triangles(),
        rows.join(",")
    );
    Ok(())
}

/// All poses of the protocol: from touching to coincident for forces, from touching to one box apart for the closest point.
fn time(
    raster: &mut GpuRaster,
    field: &GpuField,
    there: &GpuMesh,
    mesh: &Mesh,
    size: u32,
    question: Question,
) -> Result<Row, GpuError> {
    let (extent, middle) = (mesh.aabb().extent(), mesh.aabb().centre());
    // Pipelines, pictures and depth maps from every side.
    for side in 0..8 {
        let sign = |bit: i32| if side >> bit & 1 == 1 { 1.0 } else { -1.0 };
        let shift = DVec3::new(sign(0), sign(1), sign(2)) * extent;
        ask(raster, field, there, &Pose::from_translation(shift), question)?;
    }
    let mut times = Vec::with_capacity(STEPS * TURNS);
    let (mut samples, mut result) = (0.0, 0.0);
    for step in 0..STEPS {
        let part = step as f64 / (STEPS - 1) as f64;
        let distance = match question {
            Question::Collide(_) => 1.0 - part,
            Question::Nearest { .. } => 1.0 + part,
        };
        for turn in 0..TURNS {
            let half = TURNS / 2;
            let angle = (turn % half) as f64 / half as f64 * std::f64::consts::TAU;
            let rotation =
                if turn < half { DQuat::from_rotation_y(angle) } else { DQuat::from_rotation_z(angle) };
            let shift = DVec3::X * extent.x * distance;
            let pose = Pose::new(rotation, middle - rotation * middle + shift);
            let began = Instant::now();
            let found = ask(raster, field, there, &pose, question)?;
            times.push(1e3 * began.elapsed().as_secs_f64());
            samples += found.samples as f64;
            result += match question {
                Question::Collide(_) => found.force.area,
                Question::Nearest { .. } => found.deepest.map_or(0.0, |d| d.distance),
            };
        }
    }
    let count = times.len() as f64;
    let (median, p99) = median_and_p99(&mut times);
    Ok(Row { size, question, median, p99, samples: samples / count, result: result / count })
}

fn ask(
    raster: &mut GpuRaster,
    field: &GpuField,
    mesh: &GpuMesh,
    pose: &Pose,
    question: Question,
) -> Result<FieldSummary, GpuError> {
    match question {
        Question::Collide(mode) => {
            raster.collide(field, mesh, pose, &ForceParams::new(1e6), &Twist::ZERO, mode)
        }
        Question::Nearest { single_pass } => raster.nearest(field, mesh, pose, single_pass),
    }
}

fn median_and_p99(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((share * times.len() as f64) as usize).copied().unwrap_or(0.0);
    (at(0.5), at(0.99))
}

fn name(question: Question) -> &'static str {
    match question {
        Question::Collide(RasterMode::Basic) => "collide, basic",
        Question::Collide(RasterMode::EarlyZ) => "collide, early-Z",
        Question::Collide(RasterMode::SinglePass) => "collide, single pass",
        Question::Collide(RasterMode::SinglePassEarlyZ) => "collide, single pass with early-Z",
        Question::Nearest { single_pass: false } => "nearest, three passes",
        Question::Nearest { single_pass: true } => "nearest, single pass",
    }
}

fn json(row: &Row) -> String {
    format!(
        "{{\"size\":{},\"question\":\"{}\",\"median_ms\":{:.5},\"p99_ms\":{:.5},\"samples\":{:.1},\"result\":{:.8e}}}",
        row.size,
        name(row.question),
        row.median,
        row.p99,
        row.samples,
        row.result
    )
}
