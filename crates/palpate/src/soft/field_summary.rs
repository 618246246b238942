//! What a mesh in a field comes to, in a few numbers: the same from the CPU and from a GPU.

use super::{Deepest, FieldContacts, MeshMotion, SoftMesh};
use crate::force::{Force, ForceParams};

/// The deepest or closest point of a mesh in a field, and the force on it. Frames and signs as in [`FieldContacts`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FieldSummary {
    /// The closest or deepest sample. None without triangles that take part, or where all are farther than was looked.
    pub deepest: Option<Deepest>,
    /// On the mesh, about the origin of its frame, in the field's frame. Zero where only the closest point was asked for.
    pub force: Force,
    /// Points at which the field was asked.
    pub samples: usize,
    /// Triangles and parts of them that are too far away to matter.
    pub culled: usize,
    /// Nothing of the mesh is nearer to the body than this [m], where that is all that is known.
    pub farther_than: Option<f64>,
    /// The pose was not finite: there is nothing else here.
    pub non_finite: bool,
    /// Some samples are farther apart than asked for.
    pub coarse: bool,
}

impl FieldContacts {
    /// These contacts and their force, in a few numbers. Friction is without memory; see [`FieldContacts::force`].
    pub fn summary(&self, mesh: &SoftMesh, params: &ForceParams, motion: &MeshMotion<'_>) -> FieldSummary {
        FieldSummary {
            deepest: self.deepest,
            force: self.force(mesh, params, motion, None, None),
            samples: self.samples,
            culled: self.culled,
            farther_than: None,
            non_finite: self.non_finite,
            coarse: self.coarse,
        }
    }
}
