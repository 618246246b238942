//! A cloud as the points of a shape: what queries take against any field.

use super::Surfels;
use crate::shell::Shell;
use crate::tree::{Tree, TreeParams};
use std::sync::Arc;

impl Surfels {
    /// The points as a shell, in the cloud's frame: entry `i` of the shell is entry `i` here, so that [`Surfels::id`] says which point
    /// of the cloud it is.
    ///
    /// The shell's report has the usual spacing, not the least, and the covering radius of the cells: see [`super::SurfelReport`].
    pub fn shell(&self) -> Shell {
        let points: Vec<_> = (0..self.len()).map(|i| self.position(i)).collect();
        let (spacing, radius) = (self.report.spacing, self.report.radius);
        Shell::from_points(&points, &self.normals, &self.areas, spacing, radius)
    }

    /// The points in a tree, for [`crate::Query::contacts_of_points`] and its sisters. [`Surfels::source`] says which point of the
    /// cloud a contact is of. Cost: about 2 µs and 120 bytes a point.
    pub fn tree(&self, params: &TreeParams) -> Arc<Tree> {
        Arc::new(Tree::build(&self.shell(), params))
    }

    /// The id of the point of the cloud that a contact is of: `contact` is [`crate::Contact::id`], `tree` one made of these. Of several
    /// points at one position the lowest: [`super::Cloud::twins`] has the others.
    pub fn source(&self, tree: &Tree, contact: u32) -> Option<u32> {
        let at = tree.source.get(contact as usize)?;
        self.ids.get(*at as usize).copied()
    }
}
