//! Distances read as the 2014 paper reads them: from the one voxel that a point lies in.
//!
//! Based on: Sagardia, Stouraitis, Lopes e Silva, 2014, sec. 2.1.1, sec. 2.2 Eq. 4 and 5 [sagardia14].
//! Differs: sign, see [`super::layered`], which holds the formulas and their legend. Voxels of a field are centred on its
//! nodes, because there it stores the distance; voxels of a voxel map are its own. The gradient of Eq. 5 is the central
//! difference of the six neighbouring voxels, the paper does not say how it gets it.
//!
//! All modes jump where a point passes from one voxel to the next. They are here to reproduce and compare: [`Field::sample`] is
//! continuous, needs no normal, and is as accurate as the best of them on the same values.
//!
//! ```
//! use palpate::field::{FieldParams, Encoding, LayeredView};
//! # use palpate::{Field, Mesh, mesh::samples};
//! # use glam::DVec3;
//! let mesh = Mesh::new(samples::sphere(0.05, 4), &Default::default())?;
//! let params = FieldParams { encoding: Encoding::Scaled { precision: Some(5) }, ..Default::default() };
//! let field = Field::build(&mesh, 2e-3, &params)?;
//! let view = LayeredView::new(&field);
//! let p = DVec3::new(0.0, 0.0, 0.051);
//! let d = view.eq4_scaled(p, DVec3::Z).expect("in the grid");
//! assert!((d - 0.001).abs() < 2e-4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Field;
use super::layered::{enclosing_voxel, eq4, eq5};
use crate::voxmap::Voxmap;
use glam::DVec3;

/// What a [`LayeredView`] reads from.
#[derive(Clone, Copy, Debug)]
pub enum Voxels<'a> {
    /// The nodes of a field, each the centre of a voxel.
    Field(&'a Field),
    /// The layers of a voxel map.
    Voxmap(&'a Voxmap),
}

impl<'a> From<&'a Field> for Voxels<'a> {
    fn from(field: &'a Field) -> Self {
        Self::Field(field)
    }
}

impl<'a> From<&'a Voxmap> for Voxels<'a> {
    fn from(voxmap: &'a Voxmap) -> Self {
        Self::Voxmap(voxmap)
    }
}

/// A field or voxel map, evaluated one voxel at a time. Frame: the shape's own.
///
/// Every method gives `None` for a point that is not finite or not in a voxel of the grid, and for a voxel map also beyond
/// its last numbered layer. No allocation.
#[derive(Clone, Copy, Debug)]
pub struct LayeredView<'a> {
    voxels: Voxels<'a>,
}

impl<'a> LayeredView<'a> {
    /// A view of a field or of a voxel map.
    pub fn new(voxels: impl Into<Voxels<'a>>) -> Self {
        Self { voxels: voxels.into() }
    }

    /// Edge of a voxel, s in the paper [m].
    pub fn voxel_size(&self) -> f64 {
        match self.voxels {
            Voxels::Field(field) => field.lattice.voxel,
            Voxels::Voxmap(map) => map.grid().voxel,
        }
    }

    /// Smallest corner of the first voxel [m].
    pub fn origin(&self) -> DVec3 {
        match self.voxels {
            Voxels::Field(field) => field.lattice.origin - 0.5 * field.lattice.voxel,
            Voxels::Voxmap(map) => map.grid().origin,
        }
    }

    /// Eq. 4 with σ = s: the voxel's layer times the voxel size, corrected along `inward_normal_of_point` [m].
    ///
    /// `inward_normal_of_point`: unit normal at `p` of the object whose point it is, into that object. Sign: negative inside.
    /// The layer of a field's voxel is the distance of its centre in whole voxels, rounded. Accuracy: s/2 with a field, √3/2·s in
    /// the surface layer of a voxel map and more beyond, on a plane with that normal; see [`super::layered::eq4`].
    pub fn eq4_voxel_size(&self, p: DVec3, inward_normal_of_point: DVec3) -> Option<f64> {
        let (ijk, centre) = self.voxel(p)?;
        Some(eq4(self.layer(ijk)?, self.voxel_size(), centre, p, inward_normal_of_point))
    }

    /// Eq. 4 with σ = λ: the distance stored for the voxel, corrected along `inward_normal_of_point` [m].
    ///
    /// For a field with [`super::Encoding::Scaled`] that distance is a whole number of λ, rounded (the paper truncates); for the other
    /// encodings it is what they store. `None` for a voxel map, which stores no distance. Sign: negative inside.
    /// Accuracy: λ/2 on a plane with that normal; see [`super::layered::eq4`].
    pub fn eq4_scaled(&self, p: DVec3, inward_normal_of_point: DVec3) -> Option<f64> {
        let (ijk, centre) = self.voxel(p)?;
        let Voxels::Field(field) = self.voxels else { return None };
        let stored = node(field, ijk)?;
        // The layer times σ is what was stored: the term of the local position is left.
        Some(stored + eq4(0, 0.0, centre, p, inward_normal_of_point))
    }

    /// Eq. 5: the linear function through the voxel's value with the gradient there [m].
    ///
    /// Sign: negative inside. Accuracy: that of the stored values on a plane; with curvature c also 3/8·s²·c, see
    /// [`super::layered::eq5`]. `None` also where a neighbouring voxel is missing.
    pub fn eq5(&self, p: DVec3) -> Option<f64> {
        let (ijk, centre) = self.voxel(p)?;
        let value = |ijk: [i64; 3]| match self.voxels {
            Voxels::Field(field) => node(field, ijk),
            Voxels::Voxmap(_) => self.layer(ijk).map(|l| f64::from(l) * self.voxel_size()),
        };
        let mut gradient = DVec3::ZERO;
        for axis in 0..3 {
            let (mut below, mut above) = (ijk, ijk);
            below[axis] = below[axis].saturating_sub(1);
            above[axis] = above[axis].saturating_add(1);
            gradient[axis] = (value(above)? - value(below)?) / (2.0 * self.voxel_size());
        }
        Some(eq5(value(ijk)?, gradient, centre, p))
    }

    /// The voxel that holds `p`, and its centre; it may lie outside the grid.
    fn voxel(&self, p: DVec3) -> Option<([i64; 3], DVec3)> {
        p.is_finite().then(|| enclosing_voxel(p, self.origin(), self.voxel_size()))
    }

    /// Number of the voxel's layer, negative inside.
    fn layer(&self, ijk: [i64; 3]) -> Option<i32> {
        match self.voxels {
            Voxels::Field(field) => {
                node(field, ijk).map(|d| (d / field.lattice.voxel).round_ties_even() as i32)
            }
            Voxels::Voxmap(map) => {
                let [i, j, k] = ijk.map(|v| u32::try_from(v).ok());
                map.layer([i?, j?, k?])
            }
        }
    }
}

/// Distance at node `ijk` of a field [m]; `None` outside the grid.
fn node(field: &Field, ijk: [i64; 3]) -> Option<f64> {
    let dims = field.lattice.dims();
    let inside = ijk.iter().zip(dims).all(|(&i, n)| (0..=i64::from(n)).contains(&i));
    let at = DVec3::from_array(ijk.map(|i| i as f64));
    inside.then(|| field.sample(field.lattice.origin + at * field.lattice.voxel).distance)
}

#[cfg(test)]
mod tests {
    use super::super::analytic::Analytic;
    use super::super::source::Source;
    use super::super::source::random::Random;
    use super::super::{Encoding, FieldParams};
    use super::*;
    use crate::mesh::{Mesh, samples};
    use crate::voxmap::VoxmapParams;

    const H: f64 = 0.01;
    const SEED: u64 = 0x5eed_0005;

    fn field(shape: &Analytic, encoding: Encoding) -> Field {
        let params = FieldParams { encoding, ..Default::default() };
        Field::from_source(shape, shape.aabb(), H, &params).unwrap()
    }

    /// Points up to a voxel from the surface, with the exact distance and direction there.
    fn points(shape: &Analytic) -> Vec<(DVec3, f64, DVec3)> {
        let mut random = Random(SEED);
        (0..5_000)
            .map(|_| {
                let on = shape.closest_point(random.point(1.0)).unwrap();
                let p = on + random.range(-H, H) * shape.sample(on + H * random.direction()).gradient;
                let exact = shape.sample(p);
                (p, exact.distance, exact.gradient)
            })
            .collect()
    }

    fn worst(errors: impl Iterator<Item = f64>) -> f64 {
        errors.fold(0.0, |m, e| m.max(e.abs()))
    }

    #[test]
    fn on_a_sphere_each_mode_keeps_its_bound() {
        let sphere = Analytic::sphere(DVec3::new(0.02, 0.03, -0.01), 0.3).unwrap();
        let points = points(&sphere);
        // Half a voxel's diagonal away from the centre, the sphere curves by this.
        let curve = 3.0 / 8.0 * H * H / (0.3 - 2.0 * H) + 1e-8;
        let layered = field(&sphere, Encoding::Layered);
        let view = LayeredView::new(&layered);
        let layers = worst(points.iter().map(|(p, d, n)| view.eq4_voxel_size(*p, *n).unwrap() - d));
        assert!(layers <= 0.5 * H + curve && layers > 0.4 * H, "{layers}");

        let lambda = 1e-4;
        let scaled = field(&sphere, Encoding::Scaled { precision: Some(4) });
        let view = LayeredView::new(&scaled);
        let rounded = worst(points.iter().map(|(p, d, n)| view.eq4_scaled(*p, *n).unwrap() - d));
        assert!(rounded <= 0.5 * lambda * 1.001 + curve && rounded > 0.4 * lambda, "{rounded}");

        let float = field(&sphere, Encoding::Float);
        let view = LayeredView::new(&float);
        let linear = worst(points.iter().map(|(p, d, _)| view.eq5(*p).unwrap() - d));
        // The central difference adds the third derivative: s²/6 of at most 3/(r − 2s)² a component, over half a diagonal.
        let third = H * H / 2.0 / (0.28 * 0.28) * 3f64.sqrt() * 0.87 * H;
        assert!(linear <= curve + third && linear > 0.2 * curve, "{linear} {curve} {third}");
        // The default, which needs no normal and does not jump, keeps the bound of curvature too.
        let default = worst(points.iter().map(|(p, d, _)| float.sample(*p).distance - d));
        assert!(default <= curve && default < layers, "{default}");
    }

    #[test]
    fn layers_of_a_voxel_map_are_within_their_bound_at_the_surface() {
        let mesh = Mesh::new(samples::cuboid(DVec3::new(0.4, 0.31, 0.2)), &Default::default()).unwrap();
        let solid = Analytic::cuboid(DVec3::ZERO, DVec3::new(0.2, 0.155, 0.1)).unwrap();
        let map = Voxmap::build(&mesh, H, &VoxmapParams::default()).unwrap();
        let view = LayeredView::new(&map);
        let (mut hits, mut inside, mut linear) = (0, 0, 0);
        for (p, d, n) in points(&solid) {
            // Beside edges the normal of the point is not the one of all of the voxel's surface.
            if n.abs().max_element() < 1.0 - 1e-12 {
                continue;
            }
            let Some(got) = view.eq4_voxel_size(p, n) else { continue };
            hits += 1;
            inside += usize::from(got < 0.0);
            // Two layers of voxels touch a face that lies between them: one and a half layers off at most.
            assert!((got - d).abs() <= 1.5 * H + 1e-12, "{p}: {got}, truly {d}");
            linear += usize::from(view.eq5(p).is_some_and(|l| (l - d).abs() <= 1.5 * H + 1e-12));
            assert_eq!(view.eq4_scaled(p, n), None, "a voxel map stores no distance");
        }
        assert!(hits > 3_000 && inside > 500 && linear > hits / 2, "{hits} {inside} {linear}");
    }

    #[test]
    fn modes_jump_at_faces_of_voxels_and_nowhere_else() {
        let sphere = Analytic::sphere(DVec3::ZERO, 0.3).unwrap();
        let float = field(&sphere, Encoding::Layered);
        let view = LayeredView::new(&float);
        let mut jumps = 0;
        for (p, _, n) in points(&sphere) {
            let u = (p - view.origin()) / H;
            let mut face = u;
            face.x = u.x.round();
            let at = |u: DVec3| view.eq4_voxel_size(view.origin() + u * H, n).unwrap();
            let across = (at(face + DVec3::X * 1e-9) - at(face - DVec3::X * 1e-9)).abs();
            // One layer less one voxel along the normal, or the other way round.
            assert!(across <= H * (1.0 + n.x.abs()) + 1e-9, "{across}");
            jumps += usize::from(across > 0.05 * H);
            let middle = u.floor() + 0.5;
            let within = (at(middle + 1e-9) - at(middle - 1e-9)).abs();
            assert!(within <= 1e-8 * H, "{within}");
        }
        assert!(jumps > 2_000, "only {jumps} of 5000 faces show a jump");
    }

    #[test]
    fn points_outside_or_not_finite_have_no_voxel() {
        let sphere = Analytic::sphere(DVec3::ZERO, 0.1).unwrap();
        let field = field(&sphere, Encoding::Float);
        let mesh = Mesh::new(samples::sphere(0.1, 3), &Default::default()).unwrap();
        let map = Voxmap::build(&mesh, H, &VoxmapParams::default()).unwrap();
        for view in [LayeredView::new(&field), LayeredView::new(&map)] {
            for p in [DVec3::NAN, DVec3::INFINITY, DVec3::splat(1.0), DVec3::splat(-1e300)] {
                assert_eq!(view.eq4_voxel_size(p, DVec3::Z), None, "{p}");
                assert_eq!(view.eq4_scaled(p, DVec3::Z), None, "{p}");
                assert_eq!(view.eq5(p), None, "{p}");
            }
            assert!(view.eq4_voxel_size(DVec3::new(0.0, 0.0, 0.1), DVec3::Z).is_some());
        }
    }
}
