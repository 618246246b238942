//! Files that keep what was built: one `.palp` container for mesh report, mesh, field and shell.
//!
//! A file is a header, a table of sections and the sections, all little-endian; see `layout.rs`. Opening maps the file
//! and checks every number a query could depend on, so that a field from a file is as valid as one just built.
//! Sections a version does not know are skipped.
//!
//! ```
//! use palpate::asset::{Asset, AssetContents};
//! use palpate::field::FieldParams;
//! use palpate::mesh::{Mesh, RepairParams, samples};
//!
//! let mesh = Mesh::new(samples::cuboid(glam::DVec3::ONE), &RepairParams::default())?;
//! let field = palpate::Field::build(&mesh, 0.1, &FieldParams::default())?;
//! let contents = AssetContents { mesh: Some(&mesh), field: Some(&field), ..Default::default() };
//! let asset = Asset::from_bytes(&contents.to_bytes()?)?;
//! let middle = asset.field().map(|f| f.sample(glam::DVec3::ZERO).distance);
//! assert_eq!(middle, Some(field.sample(glam::DVec3::ZERO).distance));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod layout;
mod read;
mod record;
mod shape;
mod shell;
#[cfg(test)]
mod tests;
mod write;

pub use error::AssetError;
#[doc(hidden)]
pub use layout::reseal;
pub use shape::source_key;

use crate::field::Field;
use crate::mesh::{Mesh, MeshReport};
use crate::shell::{Shell, ShellReport};
use crate::store::{Bytes, Store};
use glam::DVec3;
use std::path::PathBuf;
use std::sync::Arc;

/// What goes into a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssetContents<'a> {
    /// Identifies source and parameters, so that a later build can be spared; see [`cache_key`]. 0: not to be reused.
    pub key: u128,
    /// The mesh with its report. Coordinates are kept as f32 relative to the middle of its box.
    pub mesh: Option<&'a Mesh>,
    /// Coordinates of the mesh are kept as f64 instead: they come back to the last bit, and take 12 bytes more a vertex.
    pub precise: bool,
    /// The field.
    pub field: Option<&'a Field>,
    /// The points on the surface. They are read again only beside the field of the same surface.
    pub shell: Option<&'a Shell>,
    /// How it was built, for people.
    pub build: &'a str,
}

/// An opened `.palp` file.
///
/// The field reads the file's memory in place, and keeps it alive after the `Asset` is gone.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Where it came from, for messages.
    file: PathBuf,
    key: u128,
    build: String,
    mesh_report: Option<MeshReport>,
    mesh: Option<Stored>,
    field: Option<Field>,
    shell: Option<StoredShell>,
    bytes: Arc<Bytes>,
}

/// The mesh as the file has it: three numbers each.
#[derive(Clone, Debug)]
struct Stored {
    /// What positions are relative to [m].
    origin: DVec3,
    positions: Positions,
    triangles: Store<u32>,
}

#[derive(Clone, Debug)]
enum Positions {
    Single(Store<f32>),
    /// Only where rounding to f32 would leave a triangle without area.
    Double(Store<f64>),
}

/// The shell as the file has it.
#[derive(Clone, Debug)]
struct StoredShell {
    origin: DVec3,
    report: ShellReport,
    positions: Store<f32>,
    normals: Store<f32>,
    areas: Store<f32>,
    triangles: Store<u32>,
}

impl Asset {
    /// The key the file was written with; 0: not to be reused.
    pub fn key(&self) -> u128 {
        self.key
    }

    /// How it was built, for people.
    pub fn build_text(&self) -> &str {
        &self.build
    }

    /// What the mesh was and what had been repaired, exactly as written; none when the file has no mesh.
    pub fn mesh_report(&self) -> Option<&MeshReport> {
        self.mesh_report.as_ref()
    }

    /// The field, exactly as written; none when the file has none. A clone shares the file's memory.
    pub fn field(&self) -> Option<&Field> {
        self.field.as_ref()
    }

    /// How dense the points are, as written; none when the file has none. See [`Asset::shell`].
    pub fn shell_report(&self) -> Option<&ShellReport> {
        self.shell.as_ref().map(|s| &s.report)
    }

    /// Size of the file [bytes].
    pub fn file_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// The key for [`AssetContents::key`]: the same for the same source bytes and parameters. Never 0.
///
/// xxh3-128 of both and their lengths. Not cryptographic: it tells results apart, it does not protect them.
pub fn cache_key(source: &[u8], parameters: &str) -> u128 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(&(parameters.len() as u64).to_le_bytes());
    hasher.update(parameters.as_bytes());
    hasher.update(source);
    hasher.digest128().max(1)
}
