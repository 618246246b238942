//! What can be wrong with a mesh that a user hands in.

use super::Format;
use glam::DVec3;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a mesh could not be read. Each message names the file (when there is one), the element, the value and the
/// remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
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
    #[error("{}format not recognised; give an OBJ, STL, PLY, OFF, glTF or GLB file", Named(file))]
    UnknownFormat {
        /// The file, when the mesh came from one.
        file: Option<PathBuf>,
    },
    /// The content breaks the rules of its format.
    #[error("{}{format} {place}: {problem}", Named(file))]
    Malformed {
        /// The file, when the mesh came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: Format,
        /// Where in the file.
        place: Place,
        /// What was found, and what to do.
        problem: String,
    },
    /// The content is valid but needs something this reader does not have.
    #[error("{}{format} {place}: {feature}", Named(file))]
    Unsupported {
        /// The file, when the mesh came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: Format,
        /// Where in the file.
        place: Place,
        /// What is missing, and what to do.
        feature: String,
    },
    /// A face names a vertex that does not exist.
    #[error(
        "{}{format} {place}: face {face} uses vertex {index} but there are {vertices} vertices; \
         the file is damaged or cut short, export it again",
        Named(file)
    )]
    IndexOutOfRange {
        /// The file, when the mesh came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: Format,
        /// Where in the file.
        place: Place,
        /// Number of the face, counted from 0.
        face: usize,
        /// The index as the file writes it.
        index: i64,
        /// How many vertices there are to choose from.
        vertices: usize,
    },
    /// A vertex of a face is NaN or infinite.
    #[error(
        "{}{format} {place}: vertex {vertex} is ({}, {}, {}) and a face uses it; \
         coordinates must be finite [m], correct the vertex or remove its faces",
        Named(file), value.x, value.y, value.z
    )]
    NotFinite {
        /// The file, when the mesh came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: Format,
        /// Where in the file.
        place: Place,
        /// Number of the vertex, counted as the format counts.
        vertex: usize,
        /// Its coordinates in file units.
        value: DVec3,
    },
    /// There is nothing to build a surface from.
    #[error("{}{format}: {}", Named(file), Nothing(*vertices))]
    NoTriangles {
        /// The file, when the mesh came from one.
        file: Option<PathBuf>,
        /// The format it was read as.
        format: Format,
        /// How many vertices the file has.
        vertices: usize,
    },
}

impl ReadError {
    /// The same error, naming `path` as its file.
    #[must_use]
    pub(crate) fn in_file(mut self, path: &Path) -> Self {
        match &mut self {
            Self::UnknownFormat { file }
            | Self::Malformed { file, .. }
            | Self::Unsupported { file, .. }
            | Self::IndexOutOfRange { file, .. }
            | Self::NotFinite { file, .. }
            | Self::NoTriangles { file, .. } => *file = Some(path.to_path_buf()),
            Self::Read { .. } | Self::Scale { .. } => {}
        }
        self
    }

    pub(super) fn malformed(format: Format, place: Place, problem: impl Into<String>) -> Self {
        Self::Malformed { file: None, format, place, problem: problem.into() }
    }

    pub(super) fn unsupported(format: Format, place: Place, feature: impl Into<String>) -> Self {
        Self::Unsupported { file: None, format, place, feature: feature.into() }
    }
}

/// Where in a file something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A line of a text file, counted from 1.
    Line(usize),
    /// An offset into a binary file [bytes].
    Byte(usize),
    /// A numbered element of the format, counted from 0.
    Element(&'static str, usize),
    /// The header, before any element.
    Header,
}

impl Place {
    /// The line that holds byte `at` of `text`. Scans from the start: for error messages only.
    pub(crate) fn line_of(text: &[u8], at: usize) -> Self {
        let before = &text[..at.min(text.len())];
        let mut lines = 1;
        for (i, &b) in before.iter().enumerate() {
            // CRLF is one line end, a lone CR (old Mac files) is one too.
            lines += usize::from(b == b'\n' || (b == b'\r' && text.get(i + 1) != Some(&b'\n')));
        }
        Self::Line(lines)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(n) => write!(f, "line {n}"),
            Self::Byte(n) => write!(f, "byte {n}"),
            Self::Element(kind, n) => write!(f, "{kind} {n}"),
            Self::Header => f.write_str("header"),
        }
    }
}

/// `path: `, or nothing for a mesh from memory.
struct Named<'a>(&'a Option<PathBuf>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(path) => write!(f, "{}: ", path.display()),
            None => Ok(()),
        }
    }
}

/// Why there is no surface, by the number of vertices.
struct Nothing(usize);

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0 vertices and 0 faces: nothing to load; export the mesh again"),
            n => write!(
                f,
                "{n} vertices but 0 faces: a point cloud without faces; reconstruct a surface first"
            ),
        }
    }
}

/// A piece of the file for a message: printable, at most [`SHOWN`] characters.
pub(crate) fn shown(word: &[u8]) -> String {
    /// Long enough for a number or keyword, short enough for one line.
    const SHOWN: usize = 32;
    let text: String = String::from_utf8_lossy(&word[..word.len().min(4 * SHOWN)])
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .take(SHOWN)
        .collect();
    if text.len() < word.len() { format!("`{text}…`") } else { format!("`{text}`") }
}
