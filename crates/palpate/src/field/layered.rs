//! The evaluations of a distance from one voxel that the paper uses, kept to reproduce and compare them.
//!
//! Based on: Sagardia, Stouraitis, Lopes e Silva, 2014, sec. 2.1.1 Eq. 1, sec. 2.2 Eq. 4 and 5 [sagardia14].
//! Differs: sign. The paper's V and v are positive inside; here layers, values and results are negative inside, as
//! everywhere in palpate, so that distance = -V and layer = -v. The gradient of Eq. 5 is per metre, which drops
//! the paper's factor 1/s (right only for a gradient per voxel step). Eq. 1 truncates towards zero as in the
//! paper's example.
//!
//! | paper | here |
//! |---|---|
//! | V(P), positive inside | -distance |
//! | v(P), positive inside | -layer |
//! | n, inward normal of the other object's point | `inward_normal_of_point` |
//! | C, e = C - P | `voxel_centre`, `voxel_centre - p` |
//! | σ = s or λ | `sigma` |
//!
//! All three jump where a point passes from one voxel to the next, so they have no Lipschitz constant and cannot
//! prune a search exactly; trilinear sampling is the default for that reason.

use glam::DVec3;

/// Factor λ = 10^-`decimals` between a truncated distance and metres (Eq. 1) [m].
pub fn eq1_lambda(decimals: u32) -> f64 {
    10f64.powi(-decimals.min(300).cast_signed())
}

/// The distance as a whole number of `lambda`, truncated towards zero (Eq. 1).
///
/// Sign: as `distance`, negative inside. `layer * lambda` is nearer to zero than `distance` by less than `lambda`.
/// Saturates at the range of i32; 0 for NaN.
pub fn eq1(distance: f64, lambda: f64) -> i32 {
    // A float to integer cast truncates, saturates and maps NaN to 0.
    (distance / lambda) as i32
}

/// Signed distance of `p` from the value of the voxel it lies in (Eq. 4) [m].
///
/// `layer`: value of the voxel, negative inside; `sigma`: metres per unit of it: the voxel size s when it counts
/// layers of voxels, λ when it is a distance truncated by [`eq1`]. `inward_normal_of_point`: unit normal at `p` of
/// the object whose point it is, into that object; where two surfaces touch this is the outward normal of the
/// voxel's object. Frame: the voxels'. Sign: negative inside.
///
/// Accuracy on a plane whose outward normal is `inward_normal_of_point`: λ with σ = λ; half the voxel diagonal,
/// √3/2 s, in the surface layer with σ = s. Elsewhere the normal being tilted by an angle t against the gradient
/// adds up to √3/2·s·2 sin(t/2), and curvature c adds up to 3/8·s²·c.
pub fn eq4(layer: i32, sigma: f64, voxel_centre: DVec3, p: DVec3, inward_normal_of_point: DVec3) -> f64 {
    let local = inward_normal_of_point.dot(voxel_centre - p);
    f64::from(layer) * sigma - local
}

/// Signed distance of `p` by the linear function around the centre of its voxel (Eq. 5) [m].
///
/// `value_at_centre`: signed distance there, negative inside [m]; `gradient_at_centre`: outward, per metre [1].
/// Frame: the voxels'. Sign: negative inside. Accuracy: exact for a plane; 3/8·s²·c within the voxel where the
/// second derivatives of the distance are at most c [1/m]; √3·s where the voxel lies across a medial axis.
pub fn eq5(value_at_centre: f64, gradient_at_centre: DVec3, voxel_centre: DVec3, p: DVec3) -> f64 {
    value_at_centre + gradient_at_centre.dot(p - voxel_centre)
}

/// The voxel that holds `p` and its centre, voxel (0, 0, 0) having its lowest corner at `origin`.
///
/// A point on the face of two voxels belongs to the higher one. Indices saturate; 0 for NaN.
pub fn enclosing_voxel(p: DVec3, origin: DVec3, voxel: f64) -> ([i64; 3], DVec3) {
    let low = ((p - origin) / voxel).floor();
    (low.to_array().map(|i| i as i64), origin + voxel * (low + 0.5))
}

#[cfg(test)]
mod tests {
    use super::super::analytic::Analytic;
    use super::super::source::Source;
    use super::super::source::random::Random;
    use super::*;

    const VOXEL: f64 = 0.01;
    const SEED: u64 = 0x5eed_0004;

    /// Errors of Eq. 4 with σ = s (surface layer only), Eq. 4 with σ = λ, and Eq. 5, at points of the surface
    /// layer and around it; the point's inward normal is the outward one of the surface, tilted by `tilt` [rad].
    fn errors(shape: &Analytic, tilt: f64, lambda: f64) -> [Vec<f64>; 3] {
        let mut random = Random(SEED);
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..20_000 {
            let far = shape.closest_point(random.point(1.0)).unwrap();
            let p = far + random.point(1.5 * VOXEL);
            let (_, centre) = enclosing_voxel(p, DVec3::new(0.1, 0.2, 0.3), VOXEL);
            let (here, there) = (shape.sample(p), shape.sample(centre));
            let axis = here.gradient.any_orthonormal_vector();
            let normal = glam::DQuat::from_axis_angle(axis, tilt) * here.gradient;
            // A surface voxel: the plane through the closest point meets the cube.
            if there.distance.abs() <= 0.5 * VOXEL * there.gradient.abs().element_sum() {
                all[0].push(eq4(0, VOXEL, centre, p, normal) - here.distance);
            }
            all[1].push(eq4(eq1(there.distance, lambda), lambda, centre, p, normal) - here.distance);
            all[2].push(eq5(there.distance, there.gradient, centre, p) - here.distance);
        }
        assert!(all[0].len() > 4_000, "only {} points in surface voxels", all[0].len());
        all
    }

    fn worst(errors: &[f64]) -> f64 {
        errors.iter().fold(0.0, |m, e| m.max(e.abs()))
    }

    #[test]
    fn on_a_plane_each_keeps_its_bound() {
        let mut random = Random(SEED);
        for _ in 0..5 {
            let plane = Analytic::half_space(random.direction(), random.range(-0.2, 0.2)).unwrap();
            let lambda = 1e-4;
            let [layers, scaled, linear] = errors(&plane, 0.0, lambda);
            // The worst surface voxel is the one the plane only just meets.
            let (worst_layers, limit) = (worst(&layers), 3f64.sqrt() / 2.0 * VOXEL + 1e-12);
            assert!(worst_layers > 0.5 * VOXEL && worst_layers < limit, "{worst_layers}");
            let worst_scaled = worst(&scaled);
            assert!(worst_scaled > 0.9 * lambda && worst_scaled < lambda + 1e-12, "{worst_scaled}");
            assert!(worst(&linear) < 1e-14, "{}", worst(&linear));
        }
    }

    #[test]
    fn layers_across_an_axis_aligned_plane_are_one_voxel_apart() {
        // Solid below z = 0.004 with voxels of 0.01: the surface layer has its centre at 0.005, the layers below
        // (negative, inside) and above follow at one voxel each, so the error is the same in all.
        let centre = |k: i32| DVec3::new(0.0, 0.0, (f64::from(k) + 0.5) * VOXEL);
        for k in -3..=3 {
            for z in [0.001, 0.005, 0.0099] {
                let p = DVec3::new(0.002, -0.004, f64::from(k) * VOXEL + z);
                let d = eq4(k, VOXEL, centre(k), p, DVec3::Z);
                assert!((d - (p.z - 0.004) + 0.001).abs() < 1e-15, "layer {k}: {d}");
            }
        }
    }

    #[test]
    fn on_a_sphere_curvature_and_tilt_add_what_is_stated() {
        let sphere = Analytic::sphere(DVec3::new(0.02, 0.03, -0.01), 0.2).unwrap();
        let (lambda, tilt) = (1e-5, 0.3f64);
        let curve = 3.0 / 8.0 * VOXEL * VOXEL / (0.2 - 3.0 * VOXEL);
        let turn = 3f64.sqrt() / 2.0 * VOXEL * 2.0 * (0.5 * tilt).sin();
        let [layers, scaled, linear] = errors(&sphere, 0.0, lambda);
        assert!(
            worst(&layers) < 3f64.sqrt() / 2.0 * VOXEL + curve
                && worst(&scaled) < lambda + curve
                && worst(&linear) < curve
        );
        // The distance to a convex body lies above its tangents, so Eq. 5 underestimates it.
        assert!(linear.iter().all(|&e| e < 1e-14) && worst(&linear) > 0.2 * curve);
        let [_, tilted, _] = errors(&sphere, tilt, lambda);
        assert!(worst(&tilted) < lambda + curve + turn && worst(&tilted) > 0.5 * turn, "{}", worst(&tilted));
    }

    #[test]
    fn signs_are_ours() {
        // One voxel deep inside, at its centre: both are negative. The paper's V would be positive.
        assert!(eq4(-1, VOXEL, DVec3::ZERO, DVec3::ZERO, DVec3::Z) < 0.0);
        assert!(eq5(-VOXEL, DVec3::Z, DVec3::ZERO, DVec3::ZERO) < 0.0);
        // Outwards the distance grows.
        let out = DVec3::new(0.0, 0.0, 0.004);
        assert!((eq4(0, VOXEL, DVec3::ZERO, out, DVec3::Z) - 0.004).abs() < 1e-18);
        assert!((eq5(0.0, DVec3::Z, DVec3::ZERO, out) - 0.004).abs() < 1e-18);
    }

    #[test]
    fn eq1_is_the_papers_example_and_never_panics() {
        assert_eq!(eq1(1.61803, eq1_lambda(3)), 1618);
        assert_eq!(eq1(-1.61803, eq1_lambda(3)), -1618);
        assert_eq!(eq1(f64::NAN, 1e-3), 0);
        assert_eq!(eq1(f64::NEG_INFINITY, 1e-3), i32::MIN);
        assert_eq!(eq1(1.0, eq1_lambda(u32::MAX)), i32::MAX);
        assert_eq!(eq1(0.0, 0.0), 0);
    }

    #[test]
    fn enclosing_voxel_holds_the_point() {
        let mut random = Random(SEED);
        for _ in 0..1000 {
            let (p, origin) = (random.point(1.0), random.point(1.0));
            let (ijk, centre) = enclosing_voxel(p, origin, VOXEL);
            assert!((p - centre).abs().max_element() <= 0.5 * VOXEL + 1e-15);
            let again = origin + VOXEL * (DVec3::from_array(ijk.map(|i| i as f64)) + 0.5);
            assert!(again.distance(centre) < 1e-15);
        }
        assert_eq!(enclosing_voxel(DVec3::NAN, DVec3::ZERO, 1.0).0, [0; 3]);
    }
}
