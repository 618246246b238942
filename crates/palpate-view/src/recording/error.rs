//! What can be wrong with a recording.

use super::VERSION;
use std::path::PathBuf;
use thiserror::Error;

/// Why a recording could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file starts with something else.
    #[error("not a recording: the file does not start with PALPREC")]
    Foreign,
    /// Made by another version.
    #[error("the recording has version {0}, this program reads versions up to {VERSION}; record it again")]
    Version(u32),
    /// Bytes are missing or have changed.
    #[error("the recording is damaged: {0}; record it again")]
    Damaged(String),
    /// A number in the file cannot be.
    #[error("the recording is damaged at byte {at}: {what} is {value}; record it again")]
    Value {
        /// Which number.
        what: &'static str,
        /// Where, from the start of the file.
        at: usize,
        /// What it is.
        value: String,
    },
    /// Does not fit together.
    #[error("the recording does not fit together: {0}")]
    Invalid(String),
    /// The disk refuses.
    #[error("cannot write or read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        error: std::io::Error,
    },
    /// Whatever takes the bytes refuses.
    #[error(transparent)]
    Write(#[from] std::io::Error),
    /// A picture on a page could not be encoded.
    #[error(transparent)]
    Picture(#[from] png::EncodingError),
}
