//! Shapes and worlds that the tests share.
#![allow(dead_code, reason = "each test uses some of it")]

use glam::DVec3;
use palpate::mesh::{Mesh, RawMesh, samples};
use palpate_rapier::{PalpateDispatcher, PalpateShape, tuned};
use parry3d::shape::{Shape, SharedShape};
use rapier3d::prelude::*;

pub(crate) fn build(raw: RawMesh, voxel: f64) -> PalpateShape {
    let mesh = Mesh::new(raw, &Default::default()).expect("a sample is a mesh");
    PalpateShape::new(palpate::Shape::build(mesh, voxel, &Default::default()).expect("a sample is a shape"))
}

/// A sample with its z axis turned to Rapier's y.
pub(crate) fn upright(mut raw: RawMesh) -> RawMesh {
    for p in &mut raw.positions {
        *p = DVec3::new(p.x, p.z, -p.y);
    }
    raw
}

/// 12 teeth, 0.28 m across and 0.06 m high, around y.
pub(crate) fn gear() -> PalpateShape {
    build(upright(samples::gear(12, 0.02, 0.06, 1)), 0.008)
}

/// 0.5 m across, around y.
pub(crate) fn ring() -> PalpateShape {
    build(upright(samples::torus(0.2, 0.05, 48, 24)), 0.012)
}

pub(crate) fn bumpy() -> PalpateShape {
    build(samples::bumpy_sphere(0.15, 0.01, 6, 4, 3), 0.01)
}

pub(crate) fn cube(side: f64) -> PalpateShape {
    build(samples::cuboid(DVec3::splat(side)), side / 16.0)
}

/// An empty world with our contacts, for parts of `size` [m].
pub(crate) fn world(dispatcher: &PalpateDispatcher, size: f32) -> PhysicsWorld {
    let mut world = PhysicsWorld::new();
    world.narrow_phase = NarrowPhase::with_query_dispatcher(dispatcher.chained());
    world.integration_parameters = tuned(world.integration_parameters, size);
    world
}

pub(crate) fn fixed(world: &mut PhysicsWorld, shape: impl Into<SharedShape>, pose: Pose) -> ColliderHandle {
    world.insert(RigidBodyBuilder::fixed().pose(pose), ColliderBuilder::new(shape.into()).friction(0.6)).1
}

/// A body that never sleeps.
pub(crate) fn moving(world: &mut PhysicsWorld, shape: impl Into<SharedShape>, pose: Pose) -> RigidBodyHandle {
    let body = RigidBodyBuilder::dynamic().pose(pose).can_sleep(false);
    world.insert(body, ColliderBuilder::new(shape.into()).density(1000.0).friction(0.6)).0
}

/// Deepest of the shape's points in a solid of Parry, by Parry's own projection: negative inside [m].
pub(crate) fn deepest(shape: &PalpateShape, at: &Pose, other: &dyn Shape, other_at: &Pose) -> f32 {
    let tree = shape.core().tree();
    (0..tree.len())
        .map(|i| other.distance_to_point(other_at, *at * tree.position(i).as_vec3(), false))
        .fold(f32::INFINITY, f32::min)
}

/// Random numbers, the same on every machine: splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn range(&mut self, low: f32, high: f32) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        low + (high - low) * ((z >> 40) as f32 / (1u64 << 24) as f32)
    }

    pub(crate) fn pose(&mut self, spread: f32) -> Pose {
        let mut vector = |s: f32| Vector::new(self.range(-s, s), self.range(-s, s), self.range(-s, s));
        Pose::new(vector(spread), vector(3.0))
    }
}
