//! Rotations as vectors: along the axis, as long as the angle.

use glam::{DQuat, DVec3};

/// The shortest turn that `q` is: axis times angle, at most π long [rad].
pub(crate) fn vector(q: DQuat) -> DVec3 {
    let q = if q.w < 0.0 { -q } else { q };
    let s = q.xyz().length();
    // The sine of a small angle is the angle: no division by nearly nothing.
    if s < 1e-9 { 2.0 * q.xyz() } else { q.xyz() * (2.0 * s.atan2(q.w) / s) }
}

/// The rotation about `v` by its length [rad].
pub(crate) fn rotation(v: DVec3) -> DQuat {
    DQuat::from_scaled_axis(v)
}

/// The turn that takes `from` to `to`, in the frame both are seen from [rad].
pub(crate) fn between(from: DQuat, to: DQuat) -> DVec3 {
    vector(to * from.conjugate())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_a_rotation_and_back() {
        for angle in [0.0, 1e-12, 1e-7, 0.1, 1.0, 3.0, 3.1] {
            for axis in [DVec3::X, DVec3::new(1.0, -2.0, 0.5).normalize()] {
                let v = axis * angle;
                assert!((vector(rotation(v)) - v).length() <= 1e-12 + 1e-12 * angle, "{v}");
                assert!(
                    (vector(-rotation(v)) - v).length() <= 1e-12 + 1e-12 * angle,
                    "the same rotation, {v}"
                );
            }
        }
        let (a, b) = (DQuat::from_rotation_x(0.3), DQuat::from_rotation_z(1.1));
        assert!((rotation(between(a, b)) * a).dot(b).abs() > 1.0 - 1e-14);
    }
}
