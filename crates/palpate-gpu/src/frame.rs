//! A question's numbers as kernels read them, and their answer as the engine tells it.

use crate::field::GpuField;
use crate::mesh::GpuMesh;
use crate::sampler::Told;
use glam::{DMat3, DVec3};
use palpate::field::Lattice;
use palpate::force::{Direction, Force, ForceParams, Law, Twist};
use palpate::math::{Pose, Wrench};
use palpate::soft::{Deepest, FieldSummary, Place};

/// Smallest creep speed [m/s], as in the engine.
const LEAST_CREEP: f64 = 1e-9;
/// Bits of `counts.w` in `mesh.wgsl`.
const MOVING: u32 = 1;
const VELOCITIES: u32 = 2;
const OWN_NORMAL: u32 = 4;
/// Most divisions of a part, as in `mesh.wgsl`.
const MOST: f64 = 64.0;

/// The numbers of one question, as `Frame` in `mesh.wgsl`, and what turns sums into newtons.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) numbers: [[f32; 4]; 8],
    /// Force of one unit on the device [N].
    unit: f64,
    coarse: bool,
    /// Parts of triangles in all.
    items: usize,
}

impl Frame {
    /// None where a number is not finite.
    pub(crate) fn new(
        field: &GpuField,
        mesh: &GpuMesh,
        field_from_mesh: &Pose,
        margin: f64,
        params: &ForceParams,
        motion: &Twist,
    ) -> Option<Self> {
        let f = &params.friction;
        let numbers =
            [params.stiffness, params.damping, f.dynamic_coefficient, f.static_coefficient, f.creep];
        let finite =
            field_from_mesh.is_finite() && motion.is_finite() && numbers.iter().all(|n| n.is_finite());
        if !finite {
            return None;
        }
        let lattice = &field.lattice;
        let scale = 1.0 / lattice.voxel;
        let rotation = DMat3::from_quat(field_from_mesh.rotation);
        // Of the mesh's own origin.
        let shift = (field_from_mesh.point(mesh.origin) - lattice.origin) * scale;
        let rows = [0, 1, 2].map(|i| {
            let r = rotation.row(i) * scale;
            [r.x as f32, r.y as f32, r.z as f32, shift[i] as f32]
        });
        let positive = |v: f64| if v > 0.0 { v } else { 0.0 };
        let (stiffness, damping) = (positive(params.stiffness), positive(params.damping));
        let unit = if stiffness > 0.0 { stiffness } else { damping };
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let middle = lattice.aabb().centre();
        let linear = motion.at(middle - field_from_mesh.translation) * scale;
        let angular = motion.angular;
        let reach =
            shift.length() + mesh.size * scale + f64::from(field.range[1].abs().max(field.range[0].abs()));
        let rounding = 8.0 * f64::from(f32::EPSILON) * reach;
        let slack = f64::from(field.steep) * rounding + f64::from(field.stored);
        let spacing = (mesh.spacing * scale).max(rounding);
        let velocities = mesh.speeds.is_some();
        let moves = *motion != Twist::ZERO || velocities;
        let mut flags = 0;
        flags |= if moves { MOVING } else { 0 };
        flags |= if velocities { VELOCITIES } else { 0 };
        flags |= if params.direction == Direction::Shell { OWN_NORMAL } else { 0 };
        let friction = positive(f.dynamic_coefficient);
        let creep = f.creep.max(LEAST_CREEP) * scale;
        let counts = [mesh.clusters, mesh.layout.stride, mesh.layout.offset, flags].map(f32::from_bits);
        let numbers = [
            rows[0],
            rows[1],
            rows[2],
            [linear.x as f32, linear.y as f32, linear.z as f32, (damping / unit) as f32],
            [angular.x as f32, angular.y as f32, angular.z as f32, friction as f32],
            [(stiffness / unit) as f32, creep as f32, spacing as f32, held(margin * scale)],
            [slack as f32, 0.0, 0.0, 0.0],
            counts,
        ];
        let coarse =
            spacing > mesh.spacing * scale * (1.0 + 1e-9) || 2.0 * mesh.size > MOST * 255.0 * mesh.spacing;
        Some(Self { numbers, unit, coarse, items: mesh.items_used })
    }

    /// The answer in the field's frame [m, N].
    pub(crate) fn summary(
        &self,
        told: &Told,
        field: &GpuField,
        field_from_mesh: &Pose,
        params: &ForceParams,
        forces: bool,
    ) -> FieldSummary {
        let lattice = &field.lattice;
        let voxel = lattice.voxel;
        let deepest = (told.deepest[0] != u32::MAX).then(|| Deepest {
            distance: f64::from(told.point[3]) * voxel,
            point: lattice.origin + vector(told.point) * voxel,
            gradient: vector(told.gradient),
            place: Place::new(told.gradient[3].to_bits(), [told.shares[0], told.shares[1], told.shares[2]]),
        });
        let [used, sliding, samples, sampled] = told.counts.map(|n| n as usize);
        let sums = Sums { force: told.force, torque: told.torque, used, sliding };
        let mut force = sums.in_newtons(lattice, field_from_mesh, params, self.unit);
        if !forces {
            force = Force::default();
        }
        FieldSummary {
            deepest,
            force,
            samples,
            culled: self.items.saturating_sub(sampled),
            farther_than: None,
            non_finite: false,
            coarse: self.coarse,
        }
    }
}

/// What kernels sum: force and area, torque about the middle of the box and normal forces, in voxels and units; contacts.
pub(crate) struct Sums {
    pub(crate) force: [f32; 4],
    pub(crate) torque: [f32; 4],
    pub(crate) used: usize,
    pub(crate) sliding: usize,
}

impl Sums {
    /// The force on what is at `a_from_b`, about its origin. `unit`: what one unit of the device is, over a voxel³ [N].
    pub(crate) fn in_newtons(
        &self,
        lattice: &Lattice,
        a_from_b: &Pose,
        params: &ForceParams,
        unit: f64,
    ) -> Force {
        let voxel = lattice.voxel;
        let area = f64::from(self.force[3]) * voxel * voxel;
        let scale = match params.law {
            Law::Integrated => 1.0,
            Law::Averaged if area > 0.0 => 1.0 / area,
            Law::Averaged => 0.0,
        };
        // Depth in voxels, area in voxels².
        let newton = unit * voxel.powi(3) * scale;
        let wrench =
            Wrench { force: vector(self.force) * newton, torque: vector(self.torque) * newton * voxel };
        let wrench = wrench.about(a_from_b.translation - lattice.aabb().centre());
        let normal_force = f64::from(self.torque[3]) * newton;
        if !(wrench.force.is_finite() && wrench.torque.is_finite() && normal_force.is_finite()) {
            return Force { non_finite: true, ..Force::default() };
        }
        let rubs = params.friction.static_coefficient > 0.0 || params.friction.dynamic_coefficient > 0.0;
        let (used, sliding) = (self.used, self.sliding);
        let sticking = if rubs { used - sliding.min(used) } else { 0 };
        Force { wrench, area, normal_force, used, sliding, sticking, ..Force::default() }
    }
}

fn vector(v: [f32; 4]) -> DVec3 {
    DVec3::new(v[0].into(), v[1].into(), v[2].into())
}

/// A margin in f32 that stays finite.
fn held(margin: f64) -> f32 {
    margin.clamp(-1e30, 1e30) as f32
}
