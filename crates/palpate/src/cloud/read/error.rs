//! What can be wrong with a point cloud that a user hands in.

use super::CloudFormat;
use crate::mesh::{Place, ReadError};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a point cloud could not be read. Each message names the file (when there is one), the place, the value and
/// the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloudReadError {
    /// The file system refused.
    #[error("{}: cannot be read ({source}); check the path and its permissions", file.display())]
    Read {
        /// The file asked for.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The unit scale is not a positive finite number.
    #[error("scale is {scale} metres per file unit; give a finite number above 0, such as 0.001 for mm")]
    Scale {
        /// The scale given [m per file unit].
        scale: f64,
    },
    /// Neither the name nor the content tells the format.
    #[error(
        "{}format not recognised; give a PLY, XYZ, CSV, PTS, PCD, LAS or LAZ file, or a mesh (OBJ, STL, OFF, glTF)",
        Named(file)
    )]
    UnknownFormat {
        /// The file, when the cloud came from one.
        file: Option<PathBuf>,
    },
    /// There are no bytes.
    #[error("{}{format}: the file is empty (0 bytes); export it again", Named(file))]
    Empty {
        /// The file, when the cloud came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: CloudFormat,
    },
    /// The content breaks the rules of its format.
    #[error("{}{format} {place}: {problem}", Named(file))]
    Malformed {
        /// The file, when the cloud came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: CloudFormat,
        /// Where in the file.
        place: Place,
        /// What was found, and what to do.
        problem: String,
    },
    /// The header promises more points than there is data for.
    #[error(
        "{}{format}: the header says {declared} points but the file has data for {room}; \
         it is cut short or damaged, export it again",
        Named(file)
    )]
    Truncated {
        /// The file, when the cloud came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: CloudFormat,
        /// Points that the header declares.
        declared: u64,
        /// Points that there is data for, at most.
        room: u64,
    },
    /// A coordinate is not among the fields.
    #[error("{}{format}: no field `{missing}` among {found}; export with positions x, y and z", Named(file))]
    NoCoordinate {
        /// The file, when the cloud came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: CloudFormat,
        /// The field that is not there: `x`, `y` or `z`.
        missing: &'static str,
        /// The fields that are there.
        found: String,
    },
    /// The content is valid but needs something this reader does not have.
    #[error("{}{format}: {feature}", Named(file))]
    Unsupported {
        /// The file, when the cloud came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: CloudFormat,
        /// What is missing, and what to do.
        feature: String,
    },
    /// No point is left.
    #[error("{}{format}: {}", Named(file), Nothing(*skipped))]
    NoPoints {
        /// The file, when the cloud came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: CloudFormat,
        /// Points that are there but not finite.
        skipped: usize,
    },
    /// More points than an index can name.
    #[error("{}{format}: {points} points; a cloud holds at most 4294967295, cut it into tiles", Named(file))]
    TooMany {
        /// The file, when the cloud came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: CloudFormat,
        /// How many there are.
        points: u64,
    },
    /// The mesh that was to give its vertices could not be read.
    #[error(transparent)]
    Mesh(#[from] ReadError),
    /// The caller's [`Progress`](crate::progress::Progress) asked to stop.
    #[error("reading was cancelled; nothing was kept")]
    Cancelled,
}

impl CloudReadError {
    /// The same error, naming `path` as its file.
    #[must_use]
    pub(super) fn in_file(mut self, path: &Path) -> Self {
        match &mut self {
            Self::UnknownFormat { file }
            | Self::Empty { file, .. }
            | Self::Malformed { file, .. }
            | Self::Truncated { file, .. }
            | Self::NoCoordinate { file, .. }
            | Self::Unsupported { file, .. }
            | Self::NoPoints { file, .. }
            | Self::TooMany { file, .. } => *file = Some(path.to_path_buf()),
            Self::Mesh(_) => {}
            Self::Read { .. } | Self::Scale { .. } | Self::Cancelled => {}
        }
        match self {
            Self::Mesh(e) => Self::Mesh(e.in_file(path)),
            other => other,
        }
    }

    pub(super) fn malformed(format: CloudFormat, place: Place, problem: impl Into<String>) -> Self {
        Self::Malformed { file: None, format, place, problem: problem.into() }
    }

    pub(super) fn unsupported(format: CloudFormat, feature: impl Into<String>) -> Self {
        Self::Unsupported { file: None, format, feature: feature.into() }
    }

    pub(super) fn truncated(format: CloudFormat, declared: u64, room: u64) -> Self {
        Self::Truncated { file: None, format, declared, room }
    }

    /// What a reader of meshes said about a part that both kinds share.
    pub(super) fn of_mesh(error: ReadError, format: CloudFormat) -> Self {
        match error {
            ReadError::Malformed { file, place, problem, .. } => {
                Self::Malformed { file, format, place, problem }
            }
            ReadError::NoTriangles { file, vertices, .. } if vertices > 0 => {
                let feature = format!(
                    "{vertices} vertices but 0 faces; points alone are read from OBJ, PLY, XYZ, PCD and LAS files"
                );
                Self::Unsupported { file, format, feature }
            }
            ReadError::NoTriangles { file, .. } => Self::NoPoints { file, format, skipped: 0 },
            other => Self::Mesh(other),
        }
    }
}

/// `path: `, or nothing for a cloud from memory.
struct Named<'a>(&'a Option<PathBuf>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(path) => write!(f, "{}: ", path.display()),
            None => Ok(()),
        }
    }
}

/// Why there is no point, by the number of those left out.
struct Nothing(usize);

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0 points: nothing to load; export the cloud again"),
            n => write!(f, "none of {n} points is finite; check the units and the export"),
        }
    }
}
