//! The referee: exact distance and winding number of a triangle mesh, in f64, sharing no code with the engine.
//!
//! Trusted because each fast answer is compared here with a plain loop over all triangles.

mod boxes;
mod capped;
mod closest;
mod exact;
mod pair;
mod points;
mod stats;
mod tree;
mod tri_tri;
mod winding;

pub use closest::Closest;
pub use pair::{PairOracle, Relation, Separation};
pub use points::{Random, points_in_box};
pub use stats::ErrorStats;

use glam::DVec3;
use rayon::prelude::*;
use tree::Tree;

/// Exact answers about one triangle mesh, in its frame [m]. Any triangles: open, doubled, crossing, without area.
#[derive(Debug)]
pub struct Oracle {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    tree: Tree,
}

/// Why there is no oracle for a mesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OracleError {
    /// Nothing to measure the distance to.
    #[error("the mesh has no triangles")]
    NoTriangles,
    /// An index without a vertex.
    #[error("triangle {triangle} uses vertex {vertex} but the mesh has {vertices} vertices")]
    IndexOutOfRange {
        /// Which triangle.
        triangle: usize,
        /// The index it uses.
        vertex: u32,
        /// How many vertices there are.
        vertices: usize,
    },
    /// A NaN or infinite coordinate in a vertex that is used.
    #[error("vertex {vertex} is at {position}, but must be finite")]
    NotFinite {
        /// Which vertex.
        vertex: u32,
        /// Where it is.
        position: DVec3,
    },
}

impl Oracle {
    /// Copies the mesh and builds a tree over it: about a microsecond and 100 bytes per triangle.
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]]) -> Result<Self, OracleError> {
        if triangles.is_empty() {
            return Err(OracleError::NoTriangles);
        }
        for (triangle, corners) in triangles.iter().enumerate() {
            for &vertex in corners {
                match positions.get(vertex as usize) {
                    None => {
                        let vertices = positions.len();
                        return Err(OracleError::IndexOutOfRange { triangle, vertex, vertices });
                    }
                    Some(p) if !p.is_finite() => return Err(OracleError::NotFinite { vertex, position: *p }),
                    Some(_) => {}
                }
            }
        }
        let tree = Tree::build(positions, triangles);
        Ok(Self { positions: positions.to_vec(), triangles: triangles.to_vec(), tree })
    }

    /// Corners of triangle `t`, counter-clockwise from outside [m].
    pub fn corners(&self, t: usize) -> [DVec3; 3] {
        self.triangles[t].map(|v| self.positions[v as usize])
    }

    /// Number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// Lowest and highest corner of the box of all triangles [m].
    pub fn extent(&self) -> (DVec3, DVec3) {
        let root = self.tree.root();
        (root.min, root.max)
    }

    /// Distance to the nearest triangle, negative where the winding number is at least 1/2 [m].
    ///
    /// Exact to rounding. Cost: a few microseconds for the distance, [`Oracle::winding`] for the sign.
    pub fn signed_distance(&self, p: DVec3) -> f64 {
        let distance = self.closest(p).distance;
        if self.winding(p) >= 0.5 { -distance } else { distance }
    }

    /// [`Oracle::signed_distance`] of every point, in parallel, in the order given.
    pub fn signed_distance_batch(&self, points: &[DVec3]) -> Vec<f64> {
        points.par_iter().map(|&p| self.signed_distance(p)).collect()
    }

    /// [`Oracle::closest`] of every point, in parallel, in the order given.
    pub fn closest_batch(&self, points: &[DVec3]) -> Vec<Closest> {
        points.par_iter().map(|&p| self.closest(p)).collect()
    }

    /// [`Oracle::winding`] of every point, in parallel, in the order given.
    pub fn winding_batch(&self, points: &[DVec3]) -> Vec<f64> {
        points.par_iter().map(|&p| self.winding(p)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate::field::analytic::Analytic;
    use palpate::field::iso::{IsoGrid, iso_surface};
    use palpate::field::source::Source;

    /// Triangles of an analytic shape, `n` cells per edge of the cube of half edge 1.
    pub(super) fn mesh_of(shape: &Analytic, n: i64) -> Oracle {
        let voxel = 2.0 / n as f64;
        let origin = DVec3::new(0.013, 0.007, -0.021) * voxel;
        let grid = IsoGrid { origin, voxel, lower: [-n / 2 - 1; 3], upper: [n / 2 + 1; 3] };
        let mesh =
            iso_surface(&grid, &grid.blocks(), 0.0, |ijk| shape.distance(grid.position(ijk)) as f32).unwrap();
        Oracle::new(&mesh.positions, &mesh.triangles).unwrap()
    }

    /// Triangles without any order: some crossing, some doubled, some without area.
    pub(super) fn soup(seed: u64) -> Oracle {
        let mut random = Random::new(seed);
        let one = DVec3::ONE;
        let mut positions: Vec<_> = (0..120).map(|_| random.point_in(-one, one)).collect();
        positions.extend_from_within(0..10);
        let mut triangles: Vec<[u32; 3]> =
            (0..400).map(|_| std::array::from_fn(|_| random.below(positions.len()) as u32)).collect();
        triangles.extend_from_within(0..30);
        Oracle::new(&positions, &triangles).unwrap()
    }

    #[test]
    fn signed_distance_of_a_fine_torus_is_that_of_the_formula() {
        let torus = Analytic::torus(0.7, 0.25).unwrap();
        let oracle = mesh_of(&torus, 64);
        let points = points_in_box(-DVec3::ONE, DVec3::ONE, 2000, 7);
        let (mut inside, h) = (0, 2.0 / 64.0);
        for (p, d) in points.iter().zip(oracle.signed_distance_batch(&points)) {
            inside += usize::from(d < 0.0);
            // Chords of a cell, at most √3 h long, below a surface of curvature 1/0.25.
            assert!((d - torus.distance(*p)).abs() < 3.0 * h * h / (8.0 * 0.25) * 1.2, "{p}");
        }
        assert!((100..1000).contains(&inside), "{inside} of 2000 points inside");
    }

    #[test]
    fn a_scan_with_holes_gets_the_same_answers_from_tree_and_loop() {
        let Some(folder) = std::env::var_os("PALPATE_MODELS") else {
            println!("skipped: PALPATE_MODELS is not set");
            return;
        };
        let text = std::fs::read_to_string(std::path::Path::new(&folder).join("bunny.obj")).unwrap();
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let kind = words.next();
            let three: Vec<&str> = words.take(3).map(|w| w.split('/').next().unwrap()).collect();
            match kind {
                Some("v") => positions.push(DVec3::from_array([0, 1, 2].map(|i| three[i].parse().unwrap()))),
                Some("f") => triangles.push([0, 1, 2].map(|i| three[i].parse::<u32>().unwrap() - 1)),
                _ => {}
            }
        }
        let oracle = Oracle::new(&positions, &triangles).unwrap();
        let (low, high) = oracle.extent();
        let mut points = points_in_box(low, high, 100, 1);
        points.extend(oracle.points_near_surface(100, 1e-3, 2));
        points.par_iter().for_each(|&p| {
            assert!((oracle.winding(p) - oracle.winding_brute(p)).abs() < 1e-12, "{p}");
            assert_eq!(oracle.closest(p).distance, oracle.closest_brute(p).distance, "{p}");
        });
    }

    #[test]
    fn bad_meshes_are_named() {
        let says = |p: &[DVec3], t: &[[u32; 3]], text: &str| {
            assert!(Oracle::new(p, t).unwrap_err().to_string().contains(text), "{text}");
        };
        says(&[DVec3::ZERO], &[], "no triangles");
        says(&[DVec3::ZERO], &[[0, 0, 1]], "triangle 0 uses vertex 1 but the mesh has 1 vertices");
        says(&[DVec3::ZERO, DVec3::NAN], &[[0, 0, 1]], "vertex 1 is at [NaN");
    }

    #[test]
    fn one_triangle_without_area_has_distances_and_no_winding() {
        let oracle = Oracle::new(&[DVec3::ZERO, DVec3::X], &[[0, 1, 1]]).unwrap();
        assert_eq!(oracle.closest(DVec3::new(0.5, 2.0, 0.0)).distance, 2.0);
        assert_eq!(oracle.winding(DVec3::new(0.5, 2.0, 0.0)), 0.0);
        assert_eq!(oracle.points_near_surface(5, 0.1, 1).len(), 5);
    }
}
