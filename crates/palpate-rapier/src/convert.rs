//! Numbers between Rapier's precision and palpate's.

use glam::{DQuat, DVec3};
use parry3d::math::{Pose, Vector};

/// A vector or point in double precision.
pub(crate) fn wide(v: Vector) -> DVec3 {
    v.as_dvec3()
}

/// A vector or point in Rapier's precision.
pub(crate) fn narrow(v: DVec3) -> Vector {
    v.as_vec3()
}

/// A pose in double precision, its rotation made unit.
pub(crate) fn wide_pose(pose: &Pose) -> palpate::Pose {
    let q = pose.rotation;
    let rotation = DQuat::from_xyzw(q.x.into(), q.y.into(), q.z.into(), q.w.into());
    palpate::Pose::new(rotation, wide(pose.translation))
}
