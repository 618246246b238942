//! Depth maps against what they stand for.

use super::*;
use crate::device::GpuParams;
use crate::field::Interpolation;
use crate::kernel::Slot;
use glam::DVec3;
use palpate::field::{Field, FieldParams};
use palpate::mesh::{Mesh, samples};
use palpate::soft::SoftMesh;

/// Reads a depth map back.
const READ: &str = "
@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> numbers: array<f32>;
@compute @workgroup_size(8, 8)
fn read(@builtin(global_invocation_id) id: vec3<u32>) {
    let size = textureDimensions(picture);
    if all(id.xy < size) {
        numbers[id.y * size.x + id.x] = textureLoad(picture, id.xy, 0).x;
    }
}";

fn depths(gpu: &Gpu, view: &TextureView, [x, y]: [u32; 2]) -> Vec<f32> {
    let bytes = 4 * u64::from(x * y);
    let slots = [Slot::Picture { whole: false }, Slot::Write];
    let kernel = Kernel::new(gpu, "read", READ, "read", &slots, false);
    let answer = Answer::new(gpu, "read", bytes);
    let all = [wgpu::BindingResource::TextureView(view), answer.buffer.as_entire_binding()];
    let group = kernel.bind(gpu, &all);
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(x.div_ceil(8), y.div_ceil(8), 1);
    }
    answer
        .take(gpu, encoder, bytes, |b| b.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect())
        .unwrap()
}

/// A ball seen from all six sides: never behind its surface, hardly before it, and nothing beside it.
#[test]
fn depth_maps_of_a_ball() {
    let gpu = match Gpu::open(&GpuParams::default()) {
        Ok(gpu) if gpu.has(Features::FLOAT32_BLENDABLE) => gpu,
        Ok(_) => return println!("skipped: no blending of floats"),
        Err(_) if std::env::var("PALPATE_GPU").as_deref() != Ok("required") => {
            return println!("skipped: no GPU");
        }
        Err(e) => panic!("{e}"),
    };
    let radius = 0.05;
    let ball = Mesh::new(samples::sphere(radius, 4), &Default::default()).unwrap();
    let field = Field::build(&ball, radius / 20.0, &FieldParams::default()).unwrap();
    let soft = SoftMesh::from_mesh(&ball);
    let mesh = GpuMesh::new(&gpu, &soft, 1.0).unwrap();
    for interpolation in [Interpolation::Shader, Interpolation::Directions] {
        let Ok(on) = GpuField::new(&gpu, &field, interpolation) else { continue };
        let mut raster = GpuRaster::new(&gpu, RasterParams { size: 48, pad: 0.5 }).unwrap();
        // From the low sides, from the high ones, and both once more in one picture.
        for mode in [RasterMode::EarlyZ, RasterMode::SinglePassEarlyZ] {
            for side in [-1.0, 1.0] {
                let pose = Pose::from_translation(DVec3::splat(side * 0.03));
                raster.collide(&on, &mesh, &pose, &ForceParams::new(1.0), &Twist::ZERO, mode).unwrap();
            }
        }
        assert_eq!(raster.maps.len(), 8);
        let views = Views::new(on.lattice.dims(), 0.0, 48, false);
        let [columns, rows] = views.size;
        let lattice = on.lattice;
        let (voxel, edge) = (lattice.voxel, f64::from(views.edge));
        let (mut hit, mut missed) = (0, 0);
        for map in &raster.maps {
            let (_, axis, sides) = map.key;
            let tiles = if axis == view::ALL { 3 } else { 1 };
            let picture = depths(&gpu, &map.view, [columns, tiles * rows]);
            for (i, depth) in picture.into_iter().enumerate() {
                let (x, y) = (i as u32 % columns, i as u32 / columns);
                let (k, y) = if tiles == 3 { (y / rows, y % rows) } else { (axis, y) };
                let behind = if tiles == 3 { sides >> k & 1 } else { sides };
                // The box is a cube: any order of the axes shows the same.
                let place = |n: u32| (f64::from(n) + 0.5) * edge * voxel + lattice.origin.x;
                let across = place(x).hypot(place(y));
                let extent = f64::from(lattice.dims()[k as usize]);
                let front = (radius * radius - across * across).max(0.0).sqrt();
                // In voxels from the side it is seen from.
                let low = if behind == 1 { lattice.aabb().max.x - front } else { -front - lattice.origin.x };
                let first = if across < radius { low / voxel } else { extent };
                let traced = f64::from(depth) * extent;
                let limit = if across < radius { first } else { extent };
                assert!(traced <= limit + 0.01, "{interpolation:?} {:?} {x} {y}: {traced} {first}", map.key);
                if across < 0.9 * radius {
                    hit += 1;
                    // Stops a quarter of a voxel away, and more along the line where it is slanted.
                    assert!(
                        traced > first - 2.0,
                        "{interpolation:?} {:?} {x} {y}: {traced} {first}",
                        map.key
                    );
                } else if across > radius + 1.0 * voxel {
                    missed += 1;
                    assert_eq!(depth, 1.0, "{interpolation:?} {:?} {x} {y}", map.key);
                }
            }
        }
        assert!(hit > 1000 && missed > 1000, "{hit} {missed}");
    }
}
