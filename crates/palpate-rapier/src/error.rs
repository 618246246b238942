//! What can be wrong with files and scenes.

use palpate::asset::AssetError;
use std::io;
use std::path::PathBuf;

/// Why a `.palp` file is no collider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PalpError {
    /// Missing, damaged, or of another version.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// A part that is needed is not in the file.
    #[error("{} holds no {what}; build it again with `palpate build`", .file.display())]
    Incomplete {
        /// Which file.
        file: PathBuf,
        /// What it lacks.
        what: &'static str,
    },
    /// What the file holds makes no shape.
    #[error("{} makes no shape: {problem}; build it again with `palpate build`", .file.display())]
    Unusable {
        /// Which file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// Why a scene could not be saved or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// A shape was built, not opened: there is no file to refer to.
    #[error(
        "collider {collider} has a shape without a file; write it to a .palp file and use PalpateShape::open"
    )]
    NoFile {
        /// Index of the collider.
        collider: u32,
    },
    /// Rapier cannot write the shape.
    #[error(
        "collider {collider} has a {shape}, which cannot be saved; attach its parts as colliders of their own"
    )]
    Unsaved {
        /// Index of the collider.
        collider: u32,
        /// What it is.
        shape: &'static str,
    },
    /// A file that the scene refers to cannot be used.
    #[error("collider {collider}: {source}")]
    Palp {
        /// Index of the collider.
        collider: u32,
        /// What is wrong with the file.
        source: PalpError,
    },
    /// The scene refers to a collider or a scale that it does not have.
    #[error("collider {collider}: {problem}; the scene was changed by hand or damaged")]
    Damaged {
        /// Index of the collider.
        collider: u32,
        /// What is wrong.
        problem: String,
    },
    /// Another version of the format.
    #[error("the scene has version {found} of the format but this program reads version {supported}")]
    Version {
        /// The version it states.
        found: u32,
        /// The version this program reads.
        supported: u32,
    },
    /// Not JSON, or not a scene.
    #[error("not a scene: {0}")]
    Json(#[from] serde_json::Error),
    /// The system could not read or write the scene.
    #[error("cannot use {}: {source}", .file.display())]
    File {
        /// Which file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
