//! A rigid shape ready for queries: its mesh, its field and its points.

use crate::field::Field;
use crate::math::Aabb;
use crate::mesh::Mesh;
use crate::tree::Tree;
use std::sync::Arc;

/// What one rigid object needs to meet others, in its own frame. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) field: Arc<Field>,
    pub(crate) tree: Arc<Tree>,
}

impl Shape {
    /// A shape of parts that were built from the same mesh.
    pub fn from_parts(mesh: Mesh, field: Field, tree: Tree) -> Self {
        Self { mesh: Arc::new(mesh), field: Arc::new(field), tree: Arc::new(tree) }
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The field.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// The points.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The box of the surface, caps included [m].
    pub fn aabb(&self) -> Aabb {
        self.field.report.surface
    }
}
