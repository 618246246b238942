//! Vectors and matrices of six: three numbers of a translation or force, three of a rotation or torque.

use glam::{DMat3, DVec3};
use palpate::force::{Derivative, Twist};
use palpate::math::{Pose, Wrench};

/// A small motion of the tool: of its centre [m], and a rotation vector about it [rad]. World frame.
pub(crate) type Six = [f64; 6];
/// Row by row.
pub(crate) type Matrix = [[f64; 6]; 6];

pub(crate) fn six(upper: DVec3, lower: DVec3) -> Six {
    [upper.x, upper.y, upper.z, lower.x, lower.y, lower.z]
}

pub(crate) fn upper(v: &Six) -> DVec3 {
    DVec3::new(v[0], v[1], v[2])
}

pub(crate) fn lower(v: &Six) -> DVec3 {
    DVec3::new(v[3], v[4], v[5])
}

pub(crate) fn dot(a: &Six, b: &Six) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(crate) fn is_finite(v: &Six) -> bool {
    v.iter().all(|x| x.is_finite())
}

/// The rotation vector that turns `from` into `to`, the short way [rad].
pub(crate) fn turn(from: &Pose, to: &Pose) -> DVec3 {
    let q = to.rotation * from.rotation.conjugate();
    (if q.w < 0.0 { -q } else { q }).to_scaled_axis()
}

/// `pose` after a small motion of the point `centre` of the tool (in the tool's frame).
pub(crate) fn moved(pose: &Pose, centre: DVec3, by: &Six) -> Pose {
    let at = pose.point(centre) + upper(by);
    let rotation = (glam::DQuat::from_scaled_axis(lower(by)) * pose.rotation).normalize();
    Pose { rotation, translation: at - rotation * centre }
}

/// A wrench about the tool's origin, about the point that lies `r` from it.
pub(crate) fn about(wrench: &Wrench, r: DVec3) -> Six {
    let w = wrench.about(r);
    six(w.force, w.torque)
}

/// The derivative of a wrench, both about the tool's origin, as the one about the point that lies `r` from it, by motions of that point.
pub(crate) fn derivative_about(d: &Derivative, wrench: &Wrench, r: DVec3) -> Matrix {
    let cross = |v: DVec3| {
        DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0))
    };
    let rx = cross(r);
    // The origin moves by d - θ × r = d + r × θ.
    let ft = d.force_by_translation;
    let fr = d.force_by_rotation + ft * rx;
    // About the point: torque - r × force; r turns along.
    let tt = d.torque_by_translation - rx * ft;
    let tr = d.torque_by_rotation + d.torque_by_translation * rx - rx * fr - cross(wrench.force) * rx;
    core::array::from_fn(|row| {
        let (left, right) = if row < 3 { (ft, fr) } else { (tt, tr) };
        let (l, r) = (left.row(row % 3), right.row(row % 3));
        [l.x, l.y, l.z, r.x, r.y, r.z]
    })
}

/// The motion of the point that lies `r` from the tool's origin.
pub(crate) fn twist_about(twist: &Twist, r: DVec3) -> Six {
    six(twist.at(r), twist.angular)
}

/// Solves `m x = b` by elimination with pivots; none where the matrix has no inverse, or numbers are not finite.
#[expect(clippy::needless_range_loop, reason = "rows and columns of a matrix")]
pub(crate) fn solve(mut m: Matrix, mut b: Six) -> Option<Six> {
    for k in 0..6 {
        let mut p = k;
        for i in k + 1..6 {
            if m[i][k].abs() > m[p][k].abs() {
                p = i;
            }
        }
        m.swap(k, p);
        b.swap(k, p);
        let pivot = m[k][k];
        if pivot.is_nan() || pivot.abs() < 1e-300 {
            return None;
        }
        for i in k + 1..6 {
            let f = m[i][k] / pivot;
            for j in k..6 {
                m[i][j] -= f * m[k][j];
            }
            b[i] -= f * b[k];
        }
    }
    for k in (0..6).rev() {
        let mut sum = b[k];
        for j in k + 1..6 {
            sum -= m[k][j] * b[j];
        }
        b[k] = sum / m[k][k];
    }
    is_finite(&b).then_some(b)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop where something fails")]
    use super::*;
    use glam::DQuat;

    #[test]
    fn what_is_solved_gives_the_right_side_again() {
        let mut n = 1u64;
        let mut next = || {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (n >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        for _ in 0..200 {
            let m: Matrix = core::array::from_fn(|_| core::array::from_fn(|_| next()));
            let b: Six = core::array::from_fn(|_| next());
            let x = solve(m, b).unwrap();
            for (row, want) in m.iter().zip(b) {
                assert!(
                    (dot(row, &x) - want).abs() < 1e-9 * (1.0 + x.iter().fold(0.0f64, |a, v| a.max(v.abs())))
                );
            }
        }
        assert_eq!(solve([[0.0; 6]; 6], [1.0; 6]), None);
        assert_eq!(solve([[f64::NAN; 6]; 6], [1.0; 6]), None);
    }

    #[test]
    fn moving_a_point_moves_just_that_point() {
        let pose = Pose::new(DQuat::from_rotation_x(0.7), DVec3::new(1.0, 2.0, 3.0));
        let centre = DVec3::new(0.1, -0.2, 0.3);
        let by = [0.01, 0.02, -0.03, 0.2, -0.1, 0.3];
        let after = moved(&pose, centre, &by);
        assert!((after.point(centre) - pose.point(centre) - upper(&by)).length() < 1e-15);
        assert!((turn(&pose, &after) - lower(&by)).length() < 1e-14);
    }
}
