//! Models with their fields, and the protocol's poses.
//!
//! Based on: Morvan, Reimers, Samset, 2008, section 5.1 [morvan08].
//! Differs: the smallest separation is found by the device's own closest points, to an eighth of a voxel; orientations are fewer
//! than 360 about each axis.

use super::Lab;
use anyhow::{Context, Result};
use glam::{DQuat, DVec3};
use palpate::field::{Field, FieldParams};
use palpate::math::Pose;
use palpate::mesh::{Mesh, RawMesh, RepairParams, samples};
use palpate::soft::SoftMesh;
use palpate_gpu::{GpuField, GpuMesh, GpuSampler, Interpolation};
use std::f64::consts::TAU;

/// Steps of the collision set, s = 1.0, 0.9, … 0.0; of the proximity set, s = 1.1, … 2.0.
const COLLISION: usize = 11;
const PROXIMITY: usize = 10;
/// Places looked at for the outermost touch.
const SCAN: u32 = 64;

/// A model, its field, and the same mesh to move in it.
pub(super) struct Model {
    pub(super) name: &'static str,
    pub(super) mesh: Mesh,
    pub(super) soft: SoftMesh,
    pub(super) field: Field,
    /// [m]
    pub(super) extent: DVec3,
    pub(super) middle: DVec3,
}

/// Models of Table 2.
pub(super) const TABLE: [&str; 5] = ["cow", "bunny", "horse", "dragon", "knot"];

/// A model's mesh: from the models folder, or one of about as many triangles; smaller ones for quick runs.
pub(super) fn mesh(lab: &Lab<'_>, name: &str) -> Result<Mesh> {
    let file = match name {
        "cow" => "cow.obj",
        "bunny" => "bunny.obj",
        "horse" => "horse.ply",
        "dragon" => "dragon.ply",
        "nut" => "nut-m16-loose.obj",
        _ => "",
    };
    if let Some(folder) = lab.models.as_ref().filter(|f| !file.is_empty() && f.join(file).is_file()) {
        return Mesh::load(folder.join(file), 1.0).with_context(|| file.to_owned());
    }
    let raw: RawMesh = match (name, lab.quick) {
        ("cow", _) => samples::bumpy_sphere(0.5, 0.05, 6, 4, 1),
        ("bunny", false) => samples::bumpy_sphere(0.05, 0.005, 6, 6, 1),
        ("bunny", true) => samples::bumpy_sphere(0.05, 0.008, 5, 5, 2),
        ("horse", false) => samples::torus_knot(2, 3, 0.06, 0.02, 0.012, 1000, 48),
        ("horse", true) => samples::torus_knot(2, 3, 0.06, 0.02, 0.012, 160, 16),
        ("dragon", false) => samples::torus_knot(3, 5, 0.06, 0.02, 0.008, 3600, 121),
        ("dragon", true) => samples::torus_knot(3, 5, 0.06, 0.02, 0.008, 240, 12),
        ("nut", _) => samples::nut_and_bolt(samples::NUT_AND_BOLT_FINENESS).1,
        ("knot", true) => samples::torus_knot(2, 3, 1.0, 0.4, 0.18, 133, 17),
        _ => samples::torus_knot(2, 3, 1.0, 0.4, 0.18, 2660, 333),
    };
    Ok(Mesh::new(raw, &RepairParams::default())?)
}

impl Model {
    /// With a field of so many voxels along the largest extent.
    pub(super) fn load(lab: &Lab<'_>, name: &'static str, voxels: f64) -> Result<Self> {
        let mesh = mesh(lab, name)?;
        let (extent, middle) = (mesh.aabb().extent(), mesh.aabb().centre());
        let field = Field::build(&mesh, extent.max_element() / voxels, &FieldParams::default())?;
        Ok(Self { name, soft: SoftMesh::from_mesh(&mesh), mesh, field, extent, middle })
    }

    /// Edge of a pixel of a framebuffer of `size` over the field's box [m].
    pub(super) fn pixel(&self, size: u32) -> f64 {
        self.field.lattice().aabb().extent().max_element() / f64::from(size)
    }

    /// The spacing that gives about as many samples as such a framebuffer has pixels on the mesh [m]: a part of longest edge e has
    /// an area of at most 0.43 e², 0.97 pixels² for this one.
    pub(super) fn spacing(&self, size: u32) -> f64 {
        1.5 * self.pixel(size)
    }

    /// Turned about the middle of its box and moved along x [m].
    pub(super) fn at(&self, rotation: DQuat, x: f64) -> Pose {
        Pose::new(rotation, self.middle + DVec3::X * x - rotation * self.middle)
    }
}

/// The two sets: s and a pose each, all orientations of a step, then the next.
pub(super) struct Poses {
    pub(super) first_free: f64,
    pub(super) collision: Vec<(f64, Pose)>,
    pub(super) proximity: Vec<(f64, Pose)>,
}

impl Poses {
    /// The sets of a model with itself, with so many angles about y and as many about z.
    pub(super) fn of(lab: &Lab<'_>, model: &Model, angles: u32) -> Result<Self> {
        let field = GpuField::new(&lab.gpu, &model.field, Interpolation::Shader)?;
        // Coarse: as fine as the voxels, which is what separation is told by.
        let mut mesh = GpuMesh::new(&lab.gpu, &model.soft, 2.0 * model.field.lattice().voxel)?;
        let mut sampler = GpuSampler::new(&lab.gpu)?;
        let mut touches = |pose: &Pose| -> Result<bool> {
            let found = sampler.nearest(&field, &mut mesh, pose)?;
            Ok(found.deepest.is_some_and(|d| d.distance < 0.0))
        };
        let precision = model.field.lattice().voxel / 8.0;
        let apart = model.extent.length();
        let mut first = |rotation: DQuat| -> Result<f64> {
            let at = |i: u32| apart * f64::from(i) / f64::from(SCAN);
            let mut i = SCAN;
            while i > 0 && !touches(&model.at(rotation, at(i - 1)))? {
                i -= 1;
            }
            if i == 0 {
                return Ok(apart);
            }
            let (mut touching, mut free) = (at(i - 1), at(i));
            while free - touching > precision {
                let middle = 0.5 * (touching + free);
                *(if touches(&model.at(rotation, middle))? { &mut touching } else { &mut free }) = middle;
            }
            Ok(free)
        };
        let first_free = first(DQuat::IDENTITY)?;
        let mut own = Vec::new();
        for rotation in turns(angles) {
            // An orientation that reaches farther is placed by its own separation.
            own.push((rotation, first(rotation)?.max(first_free)));
        }
        let mut out = Self { first_free, collision: Vec::new(), proximity: Vec::new() };
        for step in 0..COLLISION {
            let s = (10 - step) as f64 / 10.0;
            out.collision.extend(own.iter().map(|(r, _)| (s, model.at(*r, s * first_free))));
        }
        for step in 0..PROXIMITY {
            let s = (11 + step) as f64 / 10.0;
            out.proximity.extend(own.iter().map(|(r, x)| (s, model.at(*r, s * x))));
        }
        Ok(out)
    }
}

/// Turns about y, then about z; the first of each is none.
pub(super) fn turns(angles: u32) -> Vec<DQuat> {
    let angle = |i: u32| TAU * f64::from(i) / f64::from(angles);
    let about_y = (0..angles).map(|i| DQuat::from_rotation_y(angle(i)));
    about_y.chain((0..angles).map(|i| DQuat::from_rotation_z(angle(i)))).collect()
}

/// Numbers from 0 to 1, the same every time.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn vector(&mut self) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next())
    }
}
