//! How often a surface goes around a point.
//!
//! Based on: Van Oosterom, Strackee, "The solid angle of a plane triangle", 1983, Eq. 8.

use glam::DVec3;

/// The generalised winding number of the triangles around `p` [1].
///
/// 1 inside a closed surface that is counter-clockwise from outside, 0 outside, −1 inside one that is clockwise; a
/// fraction near the holes of an open one, and on the surface itself. Frame: that of the positions. Error about 1e-15 per
/// triangle away from the surface. Linear in the triangles, no allocation.
///
/// An index out of range is skipped.
pub fn winding_number_exact(positions: &[DVec3], triangles: &[[u32; 3]], p: DVec3) -> f64 {
    let mut sum = 0.0;
    for tri in triangles {
        if let [Some(a), Some(b), Some(c)] = tri.map(|v| positions.get(v as usize)) {
            sum += half_solid_angle(a - p, b - p, c - p);
        }
    }
    sum / std::f64::consts::TAU
}

/// Half the signed solid angle of a triangle seen from the origin [sr]: positive from its back.
#[inline]
fn half_solid_angle(a: DVec3, b: DVec3, c: DVec3) -> f64 {
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let numerator = a.dot(b.cross(c));
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    // In the plane of the triangle the numerator is ±0, and the sign of zero must not choose between ±π.
    if numerator == 0.0 { 0.0 } else { numerator.atan2(denominator) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tetrahedron_is_wound_once_around_its_inside() {
        let p = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let tris = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let flipped = tris.map(|[a, b, c]| [a, c, b]);
        let mut inside = 0;
        for i in 0..1000 {
            let q = DVec3::new(f64::from(i % 10), f64::from(i / 10 % 10), f64::from(i / 100)) * 0.1 + 0.03;
            let expected = if q.element_sum() < 1.0 { 1.0 } else { 0.0 };
            inside += usize::from(expected == 1.0);
            assert!((winding_number_exact(&p, &tris, q) - expected).abs() < 1e-13, "{q}");
            assert!((winding_number_exact(&p, &flipped, q) + expected).abs() < 1e-13, "{q}");
        }
        assert!((150..300).contains(&inside), "{inside}");
    }

    #[test]
    fn an_octant_seen_from_its_corner_is_an_eighth() {
        let p = [DVec3::X, DVec3::Y, DVec3::Z];
        assert!((winding_number_exact(&p, &[[0, 1, 2]], DVec3::ZERO) - 0.125).abs() < 1e-16);
        assert_eq!(winding_number_exact(&p, &[[0, 1, 9]], DVec3::ZERO), 0.0);
    }
}
