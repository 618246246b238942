//! A model and its parts: its mesh, its points, and the shape that queries need.

use super::build::points;
use super::{FieldInfo, MeshInfo, Model, ModelMesh, Options, Voxels, field_info};
use crate::progress::Reporter;
use anyhow::{Context, Result};
use palpate::field::{Exact, FieldParams};
use palpate::progress::Progress;
use palpate::tree::TreeParams;
use palpate::{Field, Mesh, Shape, Shell, Tree};
use palpate_view::units;

impl Model {
    pub(crate) fn new(mesh: ModelMesh, mesh_info: MeshInfo, field: Field, voxels: Option<Voxels>) -> Self {
        let (info, frame) = (field_info(&field), field.lattice().aabb());
        Self {
            mesh,
            mesh_info,
            info,
            frame,
            voxels,
            notes: Vec::new(),
            up: None,
            field,
            points: None,
            exact: None,
        }
    }

    /// The points, for a file; none where there are none or they are still in one.
    pub(crate) fn shell(&self) -> Option<&Shell> {
        self.points.as_ref().map(|p| &p.shell)
    }

    /// What queries need: the points are those of the model, or new ones if it has none or `options` ask for another
    /// spacing, which is noted.
    ///
    /// # Errors
    /// When the file is damaged there, or points of that spacing cannot be made.
    pub(crate) fn into_shape(
        mut self,
        options: &Options,
        reporter: &Reporter,
    ) -> Result<(Shape, FieldInfo, Vec<String>)> {
        let other = |have: f64| options.spacing.is_some_and(|s| (s / have - 1.0).abs() > 1e-9);
        self.mesh()?;
        let (mesh, asset) = match self.mesh {
            ModelMesh::Built(mesh) => (*mesh, None),
            ModelMesh::InFile(both) => {
                let (asset, kept) = *both;
                (kept.into_inner().context("the file holds no mesh; build it again")?, Some(asset))
            }
        };
        let kept = asset.as_ref().and_then(|a| a.shell_report().map(|r| r.spacing));
        let tree = match (self.points.take(), asset) {
            (Some(points), _) => points.tree,
            (None, Some(asset)) if kept.is_some_and(|s| !other(s)) => {
                reporter.stage("tree of points", 0);
                let shell = asset.shell()?.context("the file holds no points; build it again")?;
                let params = TreeParams { threads: options.threads, ..TreeParams::default() };
                Tree::build(&shell, &params)
            }
            (None, _) => {
                match kept {
                    Some(spacing) => self.notes.push(format!(
                        "its points are {} apart in the file; those of --spacing were made now",
                        units::length(spacing)
                    )),
                    None => self.notes.push(
                        "it holds no points; they were made now: build it again to keep them".to_owned(),
                    ),
                }
                points(&mesh, &self.field, options, reporter, &mut self.notes)?.tree
            }
        };
        self.info.learn(tree.shell_report(), tree.levels());
        let exact = match self.exact {
            Some(exact) => exact,
            None => {
                reporter.stage("surface", 0);
                let params = FieldParams {
                    cap_holes: self.field.report().caps() > 0,
                    threads: options.threads,
                    ..FieldParams::default()
                };
                Exact::build(&mesh, self.field.lattice().voxel, &params)?
            }
        };
        reporter.stage("far distances", 0);
        Ok((Shape::from_parts(mesh, self.field, exact, tree), self.info, self.notes))
    }

    /// The cleaned mesh.
    ///
    /// # Errors
    /// When the file it lies in is damaged there.
    pub(crate) fn mesh(&self) -> Result<&Mesh> {
        match &self.mesh {
            ModelMesh::Built(mesh) => Ok(mesh),
            ModelMesh::InFile(both) => {
                let (asset, kept) = &**both;
                if kept.get().is_none()
                    && let Some(mesh) = asset.mesh()?
                {
                    let _ = kept.set(mesh);
                }
                kept.get().context("the file holds no mesh; build it again")
            }
        }
    }
}
