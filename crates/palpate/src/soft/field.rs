//! A rigid body's distance field against a mesh that deforms: the closest or deepest point, and contacts by area.
//!
//! Based on: Morvan, Reimers, Samset, 2008, sections 3.2 to 3.4 [morvan08], on the CPU.
//! Differs: triangles are bisected to a stated spacing where the field is near, instead of drawn from three sides into pixels; the
//! area of a sample is the share of its triangle that it stands for, from the triangle's own normal (Eq. 8 takes the
//! interpolated one and whole pixels); triangles that the field says are too far are not sampled further.
//!
//! Legend: `M` the rigid body, A here; `N` the mesh, B here; `N_S` the samples; `D_M` the field; `S_i` [`Contact::area`].

use super::field_reach::Reach;
use super::field_sample::{Chunk, Job};
use super::field_vertices::Corners;
use super::{Rigid, SoftMesh};
use crate::contact::{Contact, Contacts};
use crate::math::Pose;
use crate::par;
use glam::{DVec3, Vec3};

/// Triangles in a work item: many items balance, few have full vectors. Results depend on it, so it is one number.
const CHUNK: usize = 1024;
/// Vertices in a work item.
const VERTICES: usize = 4096;

/// Where a mesh is asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// By area: triangles near the field are bisected until no edge is longer than `spacing` [m], and each part is asked for
    /// at its centroid. No point of them is farther than 2/3 `spacing` from a sample.
    Area {
        /// Longest edge of a part [m].
        spacing: f64,
    },
    /// At the vertices alone, each with a third of the area of its triangles: the CPU method that the paper compares with. It
    /// misses what is between them.
    Vertices,
}

/// Why a mesh was not sampled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplingError {
    /// Samples cannot be so far apart.
    #[error("a spacing of {spacing} m; give a positive length, for example the voxel of the field")]
    Spacing {
        /// What was given [m].
        spacing: f64,
    },
    /// A margin that is no number.
    #[error("a margin of {margin} m; give a number, 0 for what is inside")]
    Margin {
        /// What was given [m].
        margin: f64,
    },
}

/// A place on a triangle of the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Number of the triangle.
    pub triangle: u32,
    /// Shares of its corners; they sum to 1 [1].
    pub barycentric: [f32; 3],
    /// Which part of the triangle, by halves: 1 is the whole.
    pub(super) path: u64,
}

impl Place {
    /// A place by its triangle and the shares of its corners.
    pub fn new(triangle: u32, barycentric: [f32; 3]) -> Self {
        Self { triangle, barycentric, path: 1 }
    }
}

/// The point of the mesh that is closest to the body, or deepest in it. The field's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deepest {
    /// Signed distance to the body, negative inside [m].
    pub distance: f64,
    /// Where [m].
    pub point: DVec3,
    /// Derivative of the distance there, outward of the body; near unit, zero where it is not defined [1].
    pub gradient: DVec3,
    /// Where on the mesh.
    pub place: Place,
}

/// What samples of a mesh found in a field. The field's frame; A is the body that has the field, B the mesh.
#[derive(Clone, Debug, Default)]
pub struct FieldContacts {
    /// The closest or deepest sample of all; the one of the first triangle of several. None without triangles that take part.
    pub deepest: Option<Deepest>,
    /// Samples inside, or within the margin, by triangle, or by vertex: `normal` is the field's gradient, `shell_normal` that of the
    /// triangle, `area` what the sample stands for; `id` is the number of the triangle, or of the vertex.
    pub contacts: Contacts,
    /// Where on the mesh each of them is.
    pub places: Vec<Place>,
    /// Points at which the field was asked.
    pub samples: usize,
    /// Triangles and parts of them that are too far away to matter.
    pub culled: usize,
    /// The pose was not finite: there is nothing else here.
    pub non_finite: bool,
    /// There were so many samples that some are farther apart than asked for.
    pub coarse: bool,
    /// Where the mesh was.
    pub field_from_mesh: Pose,
}

/// Samples meshes. Keeps its memory: nothing is allocated for a mesh and a motion like the last ones.
#[derive(Debug, Default)]
pub struct FieldSampler {
    /// Vertices relative to `origin`, in the field's frame [m].
    points: Vec<Vec3>,
    chunks: Vec<Chunk>,
    corners: Corners,
    found: FieldContacts,
}

impl FieldSampler {
    /// Without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Samples `mesh` in the field of `rigid`: the closest or deepest point, and what is inside or nearer than `margin` [m].
    ///
    /// With [`Sampling::Area`] no sample that its spacing asks for and that is within the margin is left out. `deepest` is above the
    /// least value on the mesh by at most 2/3 spacing × the field's steepness, and by at most 2/3 spacing and twice its error.
    /// Distances are those of the field, with its error, read in f32. A spacing below what f32 tells apart at the mesh's distance
    /// counts as that. Past two million samples on 1024 triangles the rest stays as it is (`coarse`).
    ///
    /// The same bits for any number of threads. Triangles that do not take part, and vertices farther than 1e18 m, are left out. A
    /// pose that is not finite finds nothing and sets a flag.
    ///
    /// Cost: about 20 ns a triangle and 150 ns a contact; triangles are shared out to the threads of the current pool.
    pub fn find<'a>(
        &mut self,
        rigid: impl Into<Rigid<'a>>,
        mesh: &SoftMesh,
        field_from_mesh: &Pose,
        sampling: Sampling,
        margin: f64,
    ) -> Result<&FieldContacts, SamplingError> {
        let rigid = rigid.into();
        if margin.is_nan() {
            return Err(SamplingError::Margin { margin });
        }
        let spacing = match sampling {
            Sampling::Area { spacing } if spacing.is_nan() || spacing <= 0.0 => {
                return Err(SamplingError::Spacing { spacing });
            }
            Sampling::Area { spacing } => spacing,
            Sampling::Vertices => 0.0,
        };
        self.clear(field_from_mesh);
        if !field_from_mesh.is_finite() {
            self.found.non_finite = true;
            return Ok(&self.found);
        }
        let origin = rigid.origin(field_from_mesh.point(mesh.origin()));
        self.found.contacts.origin = origin;
        self.place(mesh, field_from_mesh, origin);
        let [low, high] = mesh.bounds();
        let middle = field_from_mesh.point(mesh.origin());
        // Of coordinates and of distances.
        let largest = (middle - origin).length().max(rigid.sample(middle).distance.abs());
        let farthest = largest + f64::from(low.abs().max(high.abs()).length());
        let reach = Reach::new(&rigid, farthest);
        let job = Job {
            rigid,
            origin,
            points: &self.points,
            mesh,
            rotation: field_from_mesh.rotation,
            reach,
            spacing: (spacing as f32).max(reach.least_spacing()),
            margin: margin as f32,
        };
        match sampling {
            Sampling::Area { .. } => by_area(&job, &mut self.chunks, &mut self.found),
            Sampling::Vertices => self.corners.find(&job, &mut self.found),
        }
        Ok(&self.found)
    }

    /// What was found last.
    pub fn found(&self) -> &FieldContacts {
        &self.found
    }

    fn clear(&mut self, field_from_mesh: &Pose) {
        let mut contacts = core::mem::take(&mut self.found.contacts);
        let mut places = core::mem::take(&mut self.found.places);
        contacts.list.clear();
        places.clear();
        contacts.swapped = false;
        let field_from_mesh = *field_from_mesh;
        self.found = FieldContacts { contacts, places, field_from_mesh, ..FieldContacts::default() };
    }

    /// The vertices in the field's frame.
    fn place(&mut self, mesh: &SoftMesh, field_from_mesh: &Pose, origin: DVec3) {
        let positions = mesh.positions();
        self.points.resize(positions.len(), Vec3::ZERO);
        let rotation = glam::DMat3::from_quat(field_from_mesh.rotation);
        let shift = field_from_mesh.translation - origin;
        par::chunks_mut(&mut self.points, VERTICES, |i, points| {
            for (to, from) in points.iter_mut().zip(&positions[i * VERTICES..]) {
                *to = (rotation * *from + shift).as_vec3();
            }
        });
    }
}

fn by_area(job: &Job<'_>, chunks: &mut Vec<Chunk>, found: &mut FieldContacts) {
    chunks.resize_with(job.mesh.triangles().len().div_ceil(CHUNK), Chunk::default);
    par::chunks_mut(chunks, 1, |i, chunk| {
        chunk.iter_mut().for_each(|c| c.measure(job, i * CHUNK, CHUNK));
    });
    // One bound for all, so that what a chunk does not sample does not depend on when it comes.
    let least = chunks.iter().fold(f32::INFINITY, |m, c| m.min(c.least()));
    par::chunks_mut(chunks, 1, |_, chunk| chunk.iter_mut().for_each(|c| c.refine(job, least)));
    let deepest = chunks.iter().filter_map(|c| c.best.as_ref());
    let deepest = deepest.reduce(|a, b| if b.before(a) { b } else { a });
    found.deepest = deepest.map(|leaf| {
        let point = job.origin + leaf.point.as_dvec3();
        let sample = job.rigid.sample(point);
        Deepest { distance: sample.distance, point, gradient: sample.gradient, place: leaf.place }
    });
    for chunk in chunks {
        found.contacts.list.extend_from_slice(&chunk.contacts);
        found.places.extend(chunk.leaves.iter().map(|leaf| leaf.place));
        found.samples += chunk.samples;
        found.culled += chunk.culled;
        found.coarse |= chunk.coarse;
    }
}

/// A contact of a sample at `point` relative to the origin, at this distance, with the field's gradient there.
pub(super) fn contact(
    point: Vec3,
    distance: f32,
    gradient: DVec3,
    id: u32,
    own: DVec3,
    area: f64,
) -> Contact {
    // On a medial axis the mesh's own normal says where outside is.
    let normal = gradient.try_normalize().unwrap_or(-own);
    Contact {
        point: point.to_array(),
        distance,
        normal: normal.as_vec3().to_array(),
        id,
        shell_normal: own.as_vec3().to_array(),
        area: area as f32,
    }
}

#[cfg(test)]
#[path = "field_tests.rs"]
mod tests;
