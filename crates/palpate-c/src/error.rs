//! What a caller is told: a code and a message.

use palpate::asset::AssetError;
use palpate::field::FieldError;
use palpate::force::ForceError;
use palpate::mesh::MeshError;
use palpate::shape::ShapeError;
use palpate::shell::ShellError;

/// Room for a message, its closing zero included [bytes]. Paths in messages may be long; what does not fit is cut.
pub const MESSAGE: usize = 508;

/// How a call ended: `palp_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// A pointer that must not be null is.
    NullPointer = 1,
    /// A handle that was never given out, or null.
    BadHandle = 2,
    /// The handle's object was freed.
    Freed = 3,
    /// The handle is of another kind.
    WrongKind = 4,
    /// An argument is out of its range.
    BadArgument = 5,
    /// A pose, a motion or a contact is not finite: there is no answer.
    NonFinite = 6,
    /// The system could not read or write a file.
    Io = 7,
    /// A file is not what it should be, or damaged.
    BadFile = 8,
    /// A `.palp` file of another version.
    Version = 9,
    /// The triangles are no mesh.
    BadMesh = 10,
    /// A shape could not be built with these parameters.
    Build = 11,
    /// The caller's progress function asked to stop.
    Cancelled = 12,
    /// A buffer is too small; what fits was written.
    TooSmall = 13,
    /// A fault of the library, caught at its border.
    Panic = 14,
}

impl Status {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::Ok,
        Self::NullPointer,
        Self::BadHandle,
        Self::Freed,
        Self::WrongKind,
        Self::BadArgument,
        Self::NonFinite,
        Self::Io,
        Self::BadFile,
        Self::Version,
        Self::BadMesh,
        Self::Build,
        Self::Cancelled,
        Self::TooSmall,
        Self::Panic,
    ];

    /// Its name in the header.
    pub fn name(self) -> &'static core::ffi::CStr {
        match self {
            Self::Ok => c"PALP_OK",
            Self::NullPointer => c"PALP_NULL_POINTER",
            Self::BadHandle => c"PALP_BAD_HANDLE",
            Self::Freed => c"PALP_FREED",
            Self::WrongKind => c"PALP_WRONG_KIND",
            Self::BadArgument => c"PALP_BAD_ARGUMENT",
            Self::NonFinite => c"PALP_NON_FINITE",
            Self::Io => c"PALP_IO",
            Self::BadFile => c"PALP_BAD_FILE",
            Self::Version => c"PALP_VERSION",
            Self::BadMesh => c"PALP_BAD_MESH",
            Self::Build => c"PALP_BUILD",
            Self::Cancelled => c"PALP_CANCELLED",
            Self::TooSmall => c"PALP_TOO_SMALL",
            Self::Panic => c"PALP_PANIC",
        }
    }
}

/// `palp_error`: how a call ended, and a message for people.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Error {
    /// A [`Status`].
    pub code: i32,
    /// UTF-8, closed by a zero; empty for [`Status::Ok`].
    pub message: [u8; MESSAGE],
}

impl Default for Error {
    fn default() -> Self {
        Self { code: 0, message: [0; MESSAGE] }
    }
}

impl Error {
    /// The message.
    pub fn text(&self) -> String {
        let end = self.message.iter().position(|b| *b == 0).unwrap_or(MESSAGE);
        String::from_utf8_lossy(&self.message[..end]).into_owned()
    }
}

/// Why a call did not do what was asked.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(Status::BadArgument, message)
    }

    /// The message as the header promises it: cut between characters, closed by a zero.
    pub(crate) fn bytes(&self) -> [u8; MESSAGE] {
        let mut out = [0; MESSAGE];
        let end = (0..MESSAGE).rev().find(|i| self.message.is_char_boundary(*i)).unwrap_or(0);
        for (to, from) in out.iter_mut().zip(&self.message.as_bytes()[..end]) {
            // A zero within would end the text.
            *to = if *from == 0 { b'?' } else { *from };
        }
        out
    }
}

impl From<MeshError> for Failure {
    fn from(e: MeshError) -> Self {
        use palpate::mesh::ReadError;
        let status = match &e {
            MeshError::Read(ReadError::Read { .. }) => Status::Io,
            MeshError::Read(ReadError::Scale { .. }) | MeshError::BadThickness { .. } => Status::BadArgument,
            MeshError::Read(_) => Status::BadFile,
            _ => Status::BadMesh,
        };
        Self::new(status, e.to_string())
    }
}

impl From<ShapeError> for Failure {
    fn from(e: ShapeError) -> Self {
        let status = match &e {
            ShapeError::Field(FieldError::Cancelled) | ShapeError::Shell(ShellError::Cancelled) => {
                Status::Cancelled
            }
            ShapeError::BadScale { .. } | ShapeError::ScaleRange { .. } => Status::BadArgument,
            _ => Status::Build,
        };
        Self::new(status, e.to_string())
    }
}

impl From<AssetError> for Failure {
    fn from(e: AssetError) -> Self {
        let status = match e {
            AssetError::Mesh(e) => return e.into(),
            AssetError::Shape(e) => return e.into(),
            AssetError::Read { .. } | AssetError::Write { .. } => Status::Io,
            AssetError::Version { .. } => Status::Version,
            _ => Status::BadFile,
        };
        Self::new(status, e.to_string())
    }
}

impl From<ForceError> for Failure {
    fn from(e: ForceError) -> Self {
        Self::argument(e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        let f = Failure::argument("é".repeat(MESSAGE));
        let e = Error { code: 5, message: f.bytes() };
        assert_eq!(e.text(), "é".repeat((MESSAGE - 1) / 2));
        assert_eq!(e.message[MESSAGE - 1], 0);
        assert_eq!(Error { code: 5, message: Failure::argument("a\0b").bytes() }.text(), "a?b");
    }

    #[test]
    fn every_status_has_its_number_and_name() {
        for (i, s) in Status::ALL.into_iter().enumerate() {
            assert_eq!(s as usize, i);
            assert!(s.name().to_str().unwrap().starts_with("PALP_"));
        }
    }
}
