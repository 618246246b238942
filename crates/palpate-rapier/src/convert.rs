//! Numbers between Rapier's precision and palpate's.

use glam::{DMat3, DQuat, DVec3};
use parry3d::mass_properties::MassProperties;
use parry3d::math::{Pose, Real, Vector};

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

/// Mass [kg], its centre [m] and the inertia about it [kg m²], for Rapier.
///
/// The axes are found of an inertia of about 1: those of small parts, below 1e-7 kg m², Parry takes as equal.
pub fn mass_properties(mass: f64, centre: DVec3, inertia: DMat3) -> MassProperties {
    let size = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
    let (centre, mass) = (narrow(centre), mass as Real);
    let of_one = MassProperties::with_inertia_matrix(centre, mass, (inertia * (1.0 / size)).as_mat3());
    let (principal, axes) = (of_one.principal_inertia() * size as Real, of_one.principal_inertia_local_frame);
    MassProperties::with_principal_inertia_frame(centre, mass, principal, axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inertias_of_every_size_are_kept() {
        let turn = DMat3::from_quat(DQuat::from_scaled_axis(DVec3::new(0.3, -0.8, 0.5)));
        for size in [1e-12, 1e-8, 1e-4, 1.0, 1e4] {
            for turn in [DMat3::IDENTITY, turn] {
                let inertia =
                    turn * DMat3::from_diagonal(DVec3::new(1.0, 9.0, 8.5) * size) * turn.transpose();
                let kept = mass_properties(1.0, DVec3::X, inertia).reconstruct_inertia_matrix();
                let off =
                    (kept.as_dmat3() - inertia).to_cols_array().map(f64::abs).into_iter().fold(0.0, f64::max);
                assert!(off < 1e-5 * size, "{kept} for {inertia}");
            }
        }
    }
}
