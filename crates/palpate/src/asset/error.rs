//! Why a file could not be written or opened.

use std::io;
use std::path::PathBuf;

/// Why an asset could not be written or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    /// The system could not read the file.
    #[error("cannot read {}: {source}", .file.display())]
    Read {
        /// Which file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system could not write the file.
    #[error("cannot write {}: {source}", .file.display())]
    Write {
        /// Which file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not begin like an asset.
    #[error("{} is not a .palp file: {problem}; build one from a mesh with `palpate build`", .file.display())]
    NotAnAsset {
        /// Which file.
        file: PathBuf,
        /// What it begins with instead.
        problem: String,
    },
    /// The file has another version of the format.
    #[error(
        "{} has version {found} of the format but this program reads version {supported}; {}",
        .file.display(),
        if .found > .supported { "use a newer palpate or build it again" } else { "build it again" }
    )]
    Version {
        /// Which file.
        file: PathBuf,
        /// The version it states.
        found: u32,
        /// The version this program reads.
        supported: u32,
    },
    /// The file is cut short or changed, or was written by a faulty program.
    #[error("{} is damaged: section `{section}` {problem}; build it again", .file.display())]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// Which part of it.
        section: String,
        /// What is wrong there.
        problem: String,
    },
    /// The file is sound but lacks a part of a shape.
    #[error("{} holds no {what}; build it again with `palpate build`", .file.display())]
    Missing {
        /// Which file.
        file: PathBuf,
        /// What it lacks.
        what: &'static str,
    },
    /// The mesh a shape is to be built from.
    #[error(transparent)]
    Mesh(#[from] crate::mesh::MeshError),
    /// The shape could not be built.
    #[error(transparent)]
    Shape(#[from] crate::shape::ShapeError),
    /// The machine stores numbers the other way round.
    #[error(
        "this machine is big-endian; .palp files are little-endian and read in place, so they cannot be used here"
    )]
    ByteOrder,
}

/// What is wrong with a section; becomes [`AssetError::Damaged`] where the file's name is known.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) section: String,
    pub(super) text: String,
}

impl Problem {
    pub(super) fn new(section: &[u8], text: impl Into<String>) -> Self {
        Self { section: super::layout::name_of(section), text: text.into() }
    }
}
