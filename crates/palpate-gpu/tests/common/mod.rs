//! What tests on a device share.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use glam::{DQuat, DVec3};
use palpate::field::{Field, FieldParams};
use palpate::math::Pose;
use palpate::mesh::{Mesh, RawMesh, samples};
use palpate_gpu::{Gpu, GpuError, GpuParams};

/// The device, or none where the machine has none: tests then pass without testing, unless PALPATE_GPU=required.
pub fn device() -> Option<Gpu> {
    match Gpu::open(&GpuParams::default()) {
        Ok(gpu) => Some(gpu),
        Err(e @ GpuError::NoAdapter { .. }) => {
            assert!(std::env::var("PALPATE_GPU").as_deref() != Ok("required"), "{e}");
            println!("skipped: no GPU");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Numbers in [0, 1), the same for a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next()) * 2.0 - 1.0
    }

    pub fn rotation(&mut self) -> DQuat {
        let axis = self.vector().try_normalize().unwrap_or(DVec3::X);
        DQuat::from_axis_angle(axis, core::f64::consts::TAU * self.next())
    }
}

/// Shapes that differ: smooth, toothed, tangled, threaded; about 0.1 m.
pub fn shapes() -> Vec<(&'static str, Mesh)> {
    let raw: Vec<(&str, RawMesh)> = vec![
        ("bumpy sphere", samples::bumpy_sphere(0.05, 0.008, 6, 4, 1)),
        ("gear", samples::gear(12, 0.008, 0.03, 3)),
        ("knot", samples::torus_knot(2, 3, 0.05, 0.02, 0.012, 160, 24)),
        ("bolt", samples::bolt(10)),
    ];
    raw.into_iter().map(|(name, raw)| (name, Mesh::new(raw, &Default::default()).unwrap())).collect()
}

/// A field of a resolution.
pub fn field(mesh: &Mesh, resolution: f64) -> Field {
    let voxel = mesh.aabb().extent().max_element() / (resolution - 6.0);
    Field::build(mesh, voxel, &FieldParams::default()).unwrap()
}

/// Poses of a mesh against itself, from coincident to well apart, turned in all directions.
pub fn poses(mesh: &Mesh, count: usize, seed: u64) -> Vec<Pose> {
    let mut random = Random::new(seed);
    let (middle, size) = (mesh.aabb().centre(), mesh.aabb().extent().length());
    (0..count)
        .map(|i| {
            let rotation = if i == 0 { DQuat::IDENTITY } else { random.rotation() };
            let way = random.vector().try_normalize().unwrap_or(DVec3::X);
            let apart = 0.7 * size * i as f64 / count as f64;
            Pose::new(rotation, middle - rotation * middle + way * apart)
        })
        .collect()
}
