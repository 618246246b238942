//! Turns triangles of any origin into a [`Mesh`].

use super::check::{MeshReport, Repairs};
use super::error::MeshError;
use super::orient::orient;
use super::sliver::drop_flat;
use super::stitch::stitch;
use super::topology::{MAX_TRIANGLES, Topology};
use super::weld::weld;
use super::{Mesh, RawMesh};
use crate::math::Aabb;
use crate::par;
use glam::DVec3;

/// Largest coordinate [m]: its cube still fits single precision, which is used inside a shape's frame.
pub(crate) const MAX_COORDINATE: f64 = 1e12;

/// How a mesh is repaired.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairParams {
    /// Vertices closer than this share of the diagonal of the mesh's box become one [1]; 0: only equal ones. At most 0.01.
    ///
    /// Larger: gaps between patches close. Smaller: fine detail survives. The default is below what single precision files
    /// resolve (6e-8), and above the rounding of a transform in double precision.
    pub weld: f64,
}

impl Default for RepairParams {
    fn default() -> Self {
        Self { weld: 1e-9 }
    }
}

impl RepairParams {
    /// Whether the values can be used.
    ///
    /// # Errors
    /// [`MeshError::BadWeld`] for a tolerance that is not between 0 and 0.01.
    pub fn check(&self) -> Result<(), MeshError> {
        // Written so that NaN fails.
        if (0.0..=0.01).contains(&self.weld) { Ok(()) } else { Err(MeshError::BadWeld { value: self.weld }) }
    }
}

impl Mesh {
    /// The mesh of `raw`, repaired: vertices welded, triangles without area, unused vertices and doubled faces dropped,
    /// boundaries that lie on each other joined, each part facing the same way and outward. [`Mesh::report`] says what was done.
    ///
    /// A part that is closed, or open but no sheet, faces outward after; one inside another keeps its orientation relative to
    /// the outermost part around it, so that cavities stay cavities. Of a face that is there twice, in either
    /// orientation, the first stays. Order of vertices and triangles is kept. Same result for any number of threads.
    /// Near-linear time, about 100 bytes a triangle while it runs.
    ///
    /// # Errors
    /// A coordinate that is not finite or beyond 1e12 m, an index out of range, no triangle, no triangle with an area, or
    /// parameters that [`RepairParams::check`] refuses.
    pub fn new(raw: RawMesh, params: &RepairParams) -> Result<Self, MeshError> {
        params.check()?;
        let RawMesh { mut positions, mut triangles } = raw;
        let used = check_input(&positions, &triangles)?;
        let mut repairs = Repairs::default();

        // Weld what the triangles use; a stray vertex must not set the tolerance.
        let aabb = Aabb::of_points(positions.iter().zip(&used).filter(|(_, u)| **u).map(|(p, _)| *p));
        let diagonal = aabb.extent().length();
        let welded = weld(&mut positions, &used, params.weld * diagonal, diagonal);
        if let Some(first) = &welded {
            repairs.welded_vertices = (0..).zip(first).filter(|(v, f)| v != *f).count();
            par::chunks_mut(&mut triangles, CHUNK, |_, part| {
                part.iter_mut().for_each(|t| *t = t.map(|v| first[v as usize]));
            });
        }

        let before = triangles.len();
        repairs.degenerate = drop_flat(&positions, &mut triangles);
        if triangles.is_empty() {
            return Err(MeshError::AllDegenerate { count: before });
        }
        if welded.is_some() || repairs.degenerate > 0 || used.contains(&false) {
            drop_unused(&mut positions, &mut triangles);
        }

        let mut topology = Topology::build(&triangles, positions.len());
        repairs.duplicate_faces = drop_doubles(&mut triangles, &topology);
        if repairs.duplicate_faces > 0 {
            topology = Topology::build(&triangles, positions.len());
        }
        repairs.stitched_edges = stitch(&positions, &mut triangles, &mut topology, diagonal);
        repairs.flipped_faces = orient(&positions, &mut triangles, &mut topology);

        let report = MeshReport::of(&positions, &triangles, &topology, repairs);
        Ok(Self { positions, triangles, topology, report, closed: Default::default() })
    }
}

/// Triangles per parallel piece.
const CHUNK: usize = 1 << 14;

/// Which vertices the triangles use, if all values are sound.
pub(super) fn check_input(positions: &[DVec3], triangles: &[[u32; 3]]) -> Result<Vec<bool>, MeshError> {
    if triangles.is_empty() {
        return Err(MeshError::Empty);
    }
    if triangles.len() >= MAX_TRIANGLES {
        return Err(MeshError::TooManyTriangles { count: triangles.len() });
    }
    for (vertex, p) in positions.iter().enumerate() {
        // Written so that NaN fails.
        if !(p.abs().max_element() <= MAX_COORDINATE && p.is_finite()) {
            for value in p.to_array() {
                if !value.is_finite() {
                    return Err(MeshError::NonFinite { vertex, value });
                }
                if value.abs() > MAX_COORDINATE {
                    return Err(MeshError::TooLarge { vertex, value });
                }
            }
        }
    }
    let count = positions.len();
    let mut used = vec![false; count];
    for (triangle, tri) in triangles.iter().enumerate() {
        for &vertex in tri {
            match used.get_mut(vertex as usize) {
                Some(used) => *used = true,
                None => return Err(MeshError::IndexOutOfRange { triangle, vertex, count }),
            }
        }
    }
    Ok(used)
}

/// Removes vertices that no triangle uses; keeps the order of the others.
fn drop_unused(positions: &mut Vec<DVec3>, triangles: &mut [[u32; 3]]) {
    let mut number = vec![u32::MAX; positions.len()];
    triangles.as_flattened().iter().for_each(|&v| number[v as usize] = 0);
    let mut count = 0;
    for v in 0..positions.len() {
        if number[v] == 0 {
            number[v] = count;
            positions[count as usize] = positions[v];
            count += 1;
        }
    }
    positions.truncate(count as usize);
    par::chunks_mut(triangles, CHUNK, |_, part| {
        part.iter_mut().for_each(|t| *t = t.map(|v| number[v as usize]));
    });
}

/// Removes all but the first of the triangles with the same corners; their number.
fn drop_doubles(triangles: &mut Vec<[u32; 3]>, topology: &Topology) -> usize {
    // A double shares all its edges with its twin: across each lies the twin, or too many faces to tell.
    let mut suspects: Vec<([u32; 3], u32)> = Vec::new();
    for (t, across) in topology.neighbours.iter().enumerate() {
        let mut twins = across.iter().filter(|&&n| n != Topology::NONMANIFOLD);
        let twin = twins.next();
        if twin != Some(&Topology::BOUNDARY) && twins.all(|n| Some(n) == twin) {
            let mut corners = triangles[t];
            corners.sort_unstable();
            suspects.push((corners, t as u32));
        }
    }
    suspects.sort_unstable();
    let mut doubles: Vec<u32> = suspects.windows(2).filter(|w| w[0].0 == w[1].0).map(|w| w[1].1).collect();
    doubles.sort_unstable();
    let count = doubles.len();
    let mut doubles = doubles.into_iter().peekable();
    if count > 0 {
        let mut t = 0;
        triangles.retain(|_| {
            let is_double = doubles.next_if_eq(&t).is_some();
            t += 1;
            !is_double
        });
    }
    count
}
