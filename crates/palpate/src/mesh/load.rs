//! Files and bytes into a [`RawMesh`].

use super::{RawMesh, ReadError, gltf, obj, off, ply, stl};
use std::fmt;
use std::fs;
use std::path::Path;

/// What some editors put before UTF-8 text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A mesh file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Wavefront OBJ.
    Obj,
    /// STL, binary or text.
    Stl,
    /// PLY, binary or text.
    Ply,
    /// glTF 2.0, as JSON or as GLB.
    Gltf,
    /// Object File Format, text.
    Off,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Obj, Self::Stl, Self::Ply, Self::Gltf, Self::Off];

    /// The format that a file name's extension stands for, in upper or lower case; None for an unknown one.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "obj" => Self::Obj,
            "stl" => Self::Stl,
            "ply" => Self::Ply,
            "gltf" | "glb" => Self::Gltf,
            "off" => Self::Off,
            _ => return None,
        })
    }

    /// The format that the content looks like; None when it looks like no mesh.
    ///
    /// Sure for GLB, PLY, OFF and binary STL; a good guess for the others. Looks at the first 4 KiB only.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        /// Enough for the comments that exporters put before the first statement [bytes].
        const WINDOW: usize = 4096;
        let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
        let head = &bytes[..bytes.len().min(WINDOW)];
        if bytes.starts_with(b"glTF") {
            return Some(Self::Gltf);
        }
        if bytes.starts_with(b"ply\n") || bytes.starts_with(b"ply\r") {
            return Some(Self::Ply);
        }
        if stl::counts_agree(bytes) || stl::is_text(bytes) {
            return Some(Self::Stl);
        }
        if off::header(head).is_some() {
            return Some(Self::Off);
        }
        let body = head.trim_ascii_start();
        if body.starts_with(b"{") && body.windows(3).any(|w| w == b"\"as" || w == b"\"me" || w == b"\"no") {
            return Some(Self::Gltf);
        }
        let statement = |line: &[u8]| {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
            matches!(words.next(), Some(b"v" | b"f" | b"vn" | b"vt" | b"mtllib" | b"usemtl" | b"o" | b"g"))
                && words.next().is_some()
        };
        let is_obj = !head.contains(&0) && head.split(|&b| b == b'\n' || b == b'\r').any(statement);
        is_obj.then_some(Self::Obj)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Obj => "OBJ",
            Self::Stl => "STL",
            Self::Ply => "PLY",
            Self::Gltf => "glTF",
            Self::Off => "OFF",
        })
    }
}

/// Metres per unit, for `m`, `cm`, `mm`, `um`, `km`, `in` and `ft`; None for another name.
pub fn unit_scale(name: &str) -> Option<f64> {
    Some(match name {
        "m" => 1.0,
        "cm" => 0.01,
        "mm" => 0.001,
        "um" | "µm" => 1e-6,
        "km" => 1000.0,
        "in" => 0.0254,
        "ft" => 0.3048,
        _ => return None,
    })
}

impl RawMesh {
    /// The triangles of a file. The format comes from its extension or, if that is unknown, from its content.
    ///
    /// `scale` is metres per file unit (1.0 for a file in metres, see [`unit_scale`]). The result has at least one
    /// triangle, every index is in range and every position is finite; vertices are as the file has them, not
    /// welded. Polygons are cut into triangles. Reads the whole file into memory.
    pub fn load(path: impl AsRef<Path>, scale: f64) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| ReadError::Read { file: path.to_path_buf(), source })?;
        let format = Format::from_path(path)
            .or_else(|| Format::detect(&bytes))
            .ok_or_else(|| ReadError::UnknownFormat { file: Some(path.to_path_buf()) })?;
        read(&bytes, format, scale, path.parent()).map_err(|e| e.in_file(path))
    }

    /// The triangles of a file in memory; promises what [`RawMesh::load`] promises.
    ///
    /// A glTF file must have its buffers inside. Memory stays within a small multiple of the input's size, whatever
    /// counts it declares; only a glTF scene may repeat its meshes, up to 2²⁶ vertices and corners.
    pub fn from_bytes(bytes: &[u8], format: Format, scale: f64) -> Result<Self, ReadError> {
        read(bytes, format, scale, None)
    }
}

/// `folder`: where files named by this one are looked for.
fn read(bytes: &[u8], format: Format, scale: f64, folder: Option<&Path>) -> Result<RawMesh, ReadError> {
    // Also refuses NaN.
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(ReadError::Scale { scale });
    }
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    if bytes.is_empty() {
        let problem = "the file is empty (0 bytes); export it again";
        return Err(ReadError::malformed(format, super::Place::Byte(0), problem));
    }
    match format {
        Format::Obj => obj::parse(bytes, scale),
        Format::Stl => stl::parse(bytes, scale),
        Format::Ply => ply::parse(bytes, scale),
        Format::Gltf => gltf::parse(bytes, scale, folder),
        Format::Off => off::parse(bytes, scale),
    }
}
