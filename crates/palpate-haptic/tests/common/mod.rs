//! Shapes to feel, and whether their meshes meet.
#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "helpers of tests stop and speak like tests; each test uses some of them"
)]

use glam::DVec3;
use palpate::math::Pose;
use palpate::mesh::{Mesh, RawMesh, RepairParams, samples};
use palpate::shape::{Shape, ShapeParams};
use palpate::soft::{Soft, SoftMesh, SoftParams};
use palpate_haptic::Pair;
use std::sync::Arc;

/// A shape with so many voxels along its longest side.
pub(crate) fn shape(raw: RawMesh, voxels: f64) -> Arc<Shape> {
    let mesh = Mesh::new(raw, &RepairParams::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / voxels;
    Arc::new(Shape::build(mesh, voxel, &ShapeParams::default()).unwrap())
}

/// The same with points so many voxels apart.
pub(crate) fn spaced(raw: RawMesh, voxels: f64, apart: f64) -> Arc<Shape> {
    let mesh = Mesh::new(raw, &RepairParams::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / voxels;
    let params = ShapeParams { spacing: Some(apart * voxel), ..ShapeParams::default() };
    Arc::new(Shape::build(mesh, voxel, &params).unwrap())
}

/// A block of 100 x 100 x 40 mm whose top is the plane z = 0, and a ball of 20 mm.
pub(crate) fn block_and_ball() -> Pair {
    let block = samples::moved(samples::cuboid(DVec3::new(0.1, 0.1, 0.04)), DVec3::Z * -0.02);
    Pair::new(shape(block, 160.0), shape(samples::sphere(0.02, 4), 60.0))
}

/// A block as before, and a cube of 20 mm.
pub(crate) fn block_and_cube() -> Pair {
    let block = samples::moved(samples::cuboid(DVec3::new(0.1, 0.1, 0.04)), DVec3::Z * -0.02);
    Pair::new(shape(block, 200.0), shape(samples::cuboid(DVec3::splat(0.02)), 40.0))
}

/// A hole, and a peg that fits it with this play [m].
pub(crate) fn peg_and_hole(play: f64) -> Pair {
    let (peg, hole) = samples::peg_and_hole(play, 64);
    Pair::new(shape(hole, 160.0), shape(peg, 160.0))
}

/// Asks the meshes themselves whether they meet.
pub(crate) struct Meshes {
    a: SoftMesh,
    b: SoftMesh,
    at_rest: Vec<DVec3>,
    query: Soft,
}

impl Meshes {
    pub(crate) fn of(pair: &Pair) -> Self {
        let b = SoftMesh::from_mesh(pair.tool().mesh());
        Self {
            a: SoftMesh::from_mesh(pair.fixed().mesh()),
            at_rest: b.positions().to_vec(),
            b,
            query: Soft::new(),
        }
    }

    pub(crate) fn meet(&mut self, pose: &Pose) -> bool {
        self.b.deform(|i, _| pose.point(self.at_rest[i]));
        !self.query.pairs(&self.a, &self.b, &SoftParams::default()).list.is_empty()
    }
}
