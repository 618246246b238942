//! Volume, centre of mass and inertia by exact integration.
//!
//! Each triangle spans a tetrahedron with a reference point; the signed tetrahedra of a closed surface add up to its inside
//! (the divergence theorem). The reference is the middle of the box, so that a mesh far from the origin loses no digits.

use super::Mesh;
use crate::math::Aabb;
use crate::par;
use glam::{DMat3, DVec3};

/// Triangles summed together. Fixed, so that the sum does not depend on the number of threads.
const CHUNK: usize = 1 << 14;

/// Volume below this share of the box's cube counts as none, and a centre of mass cannot be found from it [1]. Rounding of a
/// flat sheet stays below 1e-15; a plate of 1 m² as thin as 1 nm has 1e-9.
const NO_VOLUME: f64 = 1e-13;

/// Mass properties of a solid of density 1 kg/m³, in the mesh's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Signed volume [m³]: negative if the surface is clockwise from outside.
    pub volume: f64,
    /// Centre of mass [m].
    pub centre: DVec3,
    /// Inertia about the centre, axes of the mesh's frame, for density 1 [m⁵]: multiply by the density.
    pub inertia: DMat3,
}

impl Mesh {
    /// Volume, centre of mass and inertia of the inside.
    ///
    /// Exact for a closed mesh up to rounding (relative error about 1e-13, also 1 km from the origin). Parts that overlap
    /// count twice, cavities count off. For an open mesh it is what the surface and the cones from its holes to the middle
    /// of its box enclose: close its holes first for an answer that means something. A surface without volume (a sheet)
    /// has the centroid of its area as centre and no inertia. Linear in the triangles, parallel, no allocation to speak of.
    pub fn mass_properties(&self) -> MassProperties {
        mass_properties(&self.positions, &self.triangles)
    }
}

/// The mass properties of triangles whose indices are in range; see [`Mesh::mass_properties`].
pub(crate) fn mass_properties(positions: &[DVec3], triangles: &[[u32; 3]]) -> MassProperties {
    if positions.is_empty() {
        return MassProperties { volume: 0.0, centre: DVec3::ZERO, inertia: DMat3::ZERO };
    }
    let aabb = Aabb::of_points(positions.iter().copied());
    let origin = aabb.centre();
    let sums = par::map(triangles.len().div_ceil(CHUNK), |i| {
        let end = triangles.len().min((i + 1) * CHUNK);
        triangles[i * CHUNK..end]
            .iter()
            .fold(Sums::ZERO, |sums, tri| sums.add_triangle(tri.map(|v| positions[v as usize] - origin)))
    });
    let sums = sums.into_iter().fold(Sums::ZERO, Sums::add);

    let extent = aabb.extent().max_element();
    if sums.volume.abs() <= NO_VOLUME * extent * extent * extent {
        let centre = origin + if sums.area > 0.0 { sums.area_moment / sums.area } else { DVec3::ZERO };
        return MassProperties { volume: sums.volume, centre, inertia: DMat3::ZERO };
    }
    // Second moments about the centre, then inertia = trace·1 − moments.
    let centre = sums.moment / sums.volume;
    let about_centre = sums.second - outer(centre, centre * sums.volume);
    let trace = about_centre.x_axis.x + about_centre.y_axis.y + about_centre.z_axis.z;
    let inertia = DMat3::from_diagonal(DVec3::splat(trace)) - about_centre;
    MassProperties { volume: sums.volume, centre: origin + centre, inertia }
}

/// Integrals over the tetrahedra, about the reference point.
#[derive(Clone, Copy)]
struct Sums {
    volume: f64,
    /// ∫ x dV.
    moment: DVec3,
    /// ∫ x xᵀ dV.
    second: DMat3,
    area: f64,
    /// ∫ x dA.
    area_moment: DVec3,
}

impl Sums {
    /// No tetrahedra. (The default of a matrix is the identity, not this.)
    const ZERO: Self =
        Self { volume: 0.0, moment: DVec3::ZERO, second: DMat3::ZERO, area: 0.0, area_moment: DVec3::ZERO };

    fn add_triangle(self, [a, b, c]: [DVec3; 3]) -> Self {
        let volume = a.dot(b.cross(c)) / 6.0;
        let s = a + b + c;
        let second = (outer(a, a) + outer(b, b) + outer(c, c) + outer(s, s)) * (volume / 20.0);
        let area = 0.5 * (b - a).cross(c - a).length();
        self.add(Self { volume, moment: s * (0.25 * volume), second, area, area_moment: s * (area / 3.0) })
    }

    fn add(self, o: Self) -> Self {
        Self {
            volume: self.volume + o.volume,
            moment: self.moment + o.moment,
            second: self.second + o.second,
            area: self.area + o.area,
            area_moment: self.area_moment + o.area_moment,
        }
    }
}

/// a bᵀ.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes;

    fn close(a: DMat3, b: DMat3, tolerance: f64) -> bool {
        let size = b.to_cols_array().iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        (a - b).to_cols_array().iter().all(|x| x.abs() <= tolerance * size)
    }

    #[test]
    fn a_box_has_its_closed_form_anywhere_and_at_any_scale() {
        // 1 km away the vertices themselves are rounded to 1e-13 m, hence the larger tolerance.
        for (offset, tolerance) in [(0.0, 1e-14), (1000.0, 1e-11)] {
            for scale in [1e-3, 1.0, 1e3] {
                let size = DVec3::new(1.0, 2.0, 3.0) * scale;
                let (mut p, tris) = shapes::cube();
                let at = DVec3::new(offset, -offset, 0.5 * offset);
                p.iter_mut().for_each(|p| *p = *p * size + at);
                let m = mass_properties(&p, &tris);
                let v = size.element_product();
                let s = size * size;
                let inertia = DMat3::from_diagonal(DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y) * (v / 12.0));
                let tolerance = tolerance * (1.0 / scale).max(1.0);
                assert!((m.volume - v).abs() <= tolerance * v, "{offset} {scale}: {}", m.volume - v);
                assert!((m.centre - at - 0.5 * size).length() <= tolerance * size.length());
                assert!(close(m.inertia, inertia, tolerance), "{offset} {scale}");
            }
        }
    }

    #[test]
    fn a_tetrahedron_has_its_closed_form() {
        let p = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let m = mass_properties(&p, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]);
        // ∫ x² = 1/60 and ∫ xy = 1/120 about the corner, less 1/6 · 1/16 for the shift to the centre.
        let (d, o) = (1.0 / 80.0, 1.0 / 480.0);
        let inertia = DMat3::from_cols_array(&[d, o, o, o, d, o, o, o, d]);
        assert!((m.volume - 1.0 / 6.0).abs() < 1e-16 && (m.centre - 0.25).length() < 1e-15);
        assert!(close(m.inertia, inertia, 1e-14), "{}", m.inertia);
    }

    #[test]
    fn a_sphere_converges_at_second_order() {
        let error = |n: u32| {
            let (p, tris) = shapes::sphere(n, 2 * n);
            let m = mass_properties(&p, &tris);
            let exact = 8.0 / 15.0 * std::f64::consts::PI;
            assert!(m.centre.length() < 1e-14);
            (m.inertia.x_axis.x - exact).abs() / exact
        };
        let (coarse, fine) = (error(32), error(64));
        assert!(fine < 5e-3 && (3.8..4.2).contains(&(coarse / fine)), "{coarse} {fine}");
    }

    #[test]
    fn parts_add_by_the_parallel_axis_theorem() {
        let (p, tris) = shapes::cube();
        let one = mass_properties(&p, &tris);
        let shift = DVec3::new(3.0, -2.0, 1.0);
        let both: Vec<_> = p.iter().copied().chain(p.iter().map(|p| p + shift)).collect();
        let tris2: Vec<_> = tris.iter().copied().chain(tris.iter().map(|t| t.map(|v| v + 8))).collect();
        let m = mass_properties(&both, &tris2);
        let h = 0.5 * shift;
        let expected =
            (one.inertia + DMat3::from_diagonal(DVec3::splat(h.length_squared())) - outer(h, h)) * 2.0;
        assert!((m.volume - 2.0).abs() < 1e-14 && (m.centre - one.centre - h).length() < 1e-14);
        assert!(close(m.inertia, expected, 1e-14));
    }

    #[test]
    fn a_flat_sheet_has_the_centroid_of_its_area() {
        let p = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::Y].map(|p| p + 0.1);
        let m = mass_properties(&p, &[[0, 1, 2], [0, 2, 3]]);
        assert!((m.centre - DVec3::new(0.6, 0.6, 0.1)).length() < 1e-15);
        assert_eq!((m.inertia, mass_properties(&[], &[]).centre), (DMat3::ZERO, DVec3::ZERO));
    }
}
