//! Points of a scan from a file, and back into one.
//!
//! A [`RawCloud`] is what a file holds, in the file's frame: positions as f64, so that geo-referenced coordinates
//! around 1e7 m keep their last digits, normals and colours where the file has them, and how many points were left
//! out because they are not finite.
//!
//! ```
//! use palpate::cloud::{CloudFormat, RawCloud};
//!
//! let text = b"# a corner of a part, in millimetres\nx,y,z\n0,0,0\n10,0,0\nnan,0,0\n0,10,0\n";
//! let cloud = RawCloud::from_bytes(text, CloudFormat::Xyz, 1e-3)?;
//! assert_eq!((cloud.points.len(), cloud.skipped), (3, 1));
//! assert_eq!(cloud.points[1].x, 10.0 * 1e-3); // [m]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Formats
//!
//! | format | endings | what is read |
//! |---|---|---|
//! | PLY | `ply` | element `vertex` in text or binary of either byte order, numbers of any type; faces are not looked at |
//! | text | `xyz` `csv` `txt` `asc` `pts` `xyzn` `xyzrgb` | rows of numbers, see below |
//! | PCD | `pcd` | `DATA ascii`, `binary` and `binary_compressed`; organised clouds lose their grid and their NaN |
//! | LAS | `las` `laz` | versions 1.0 to 1.4, all point formats; LAZ needs the feature `laz`, which is on by default |
//! | mesh | `obj` `stl` `off` `gltf` `glb` | the vertices; of an OBJ also those without faces |
//!
//! # Rows of numbers
//!
//! Columns are parted by commas, semicolons, tabs or blanks; lines that begin with `#` or `//` are comments. A first
//! line with one whole number (PTS) is a count and is not relied on. A line of names (`x y z nx ny nz r g b`, in any
//! order and case; also `normal_x`, `red` and the like) says which column is what, also as the last comment before
//! the first row. Without one the first three columns are x, y and z, and the first 64 rows decide about the next three:
//!
//! 1. all in [-1, 1] and of length within 5 % of 1 (or exactly 0, but not all of them): a normal;
//! 2. else all in [0, 65535]: red, green, blue;
//! 3. else nothing.
//!
//! With nine columns or more the other of the two is looked for in columns 7 to 9 by the same rules; a file with a
//! count first and seven columns has an intensity in column 4 and colours behind it (PTS). More columns are not
//! looked at. In the columns that are used each word must be a number, `nan` included: anything else is an error that
//! names the line. Decimal commas are refused.
//!
//! # Colours
//!
//! Bytes stay as they are. Wider numbers are bytes when none is above 255, else of 16 bits; fractions up to 1 are
//! shares of 255.
//!
//! # Bounds
//!
//! Memory stays within a small multiple of the input's size, whatever counts a header declares: up to 20 times for a
//! text file of very short rows. Compressed data may unfold further, up to about 90 times in a PCD and 100 times in a
//! LAZ file. Rows and records are read in parallel, with the same result for any number of threads; LAZ on one thread.

mod colour;
mod error;
mod las;
#[cfg(feature = "laz")]
mod laz;
mod lzf;
mod obj;
mod pcd;
mod ply;
mod records;
mod rows;
#[cfg(test)]
mod tests;
mod write;
mod xyz;

use crate::mesh::{Format, RawMesh};
use crate::progress::{Progress, Silent};
use glam::{DVec3, Vec3};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub use error::CloudReadError;

/// What some editors put before UTF-8 text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Points as a file has them, in its frame and order.
///
/// Read from a file: at least one point, all finite; `normals` and `colours`, where present, are as long as `points`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawCloud {
    /// Positions [m].
    pub points: Vec<DVec3>,
    /// The file's normal of each point, made of length 1; zero where the file's is zero or not finite.
    pub normals: Option<Vec<Vec3>>,
    /// Red, green and blue of each point, 255 is full.
    pub colours: Option<Vec<[u8; 3]>>,
    /// Points of the file that are not finite and were left out.
    pub skipped: usize,
    /// Where the sensor stood [m], when the file says so (PCD).
    pub viewpoint: Option<DVec3>,
}

/// A file format that points can come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloudFormat {
    /// PLY, binary or text.
    Ply,
    /// Rows of numbers: XYZ, CSV, TXT, PTS.
    Xyz,
    /// Point Cloud Data of the Point Cloud Library, version 0.7.
    Pcd,
    /// ASPRS LAS, plain or compressed (LAZ).
    Las,
    /// Wavefront OBJ, with or without faces.
    Obj,
    /// STL, binary or text.
    Stl,
    /// Object File Format, text.
    Off,
    /// glTF 2.0, as JSON or as GLB.
    Gltf,
}

impl CloudFormat {
    /// All formats.
    pub const ALL: [Self; 8] =
        [Self::Ply, Self::Xyz, Self::Pcd, Self::Las, Self::Obj, Self::Stl, Self::Off, Self::Gltf];

    /// The format that a file name's extension stands for, in upper or lower case; None for an unknown one.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "xyz" | "csv" | "txt" | "asc" | "pts" | "xyzn" | "xyzrgb" => Self::Xyz,
            "pcd" => Self::Pcd,
            "las" | "laz" => Self::Las,
            _ => Self::of_mesh(Format::from_path(path)?),
        })
    }

    /// The format that the content looks like; None when it looks like no cloud.
    ///
    /// Sure for PLY, PCD, LAS, GLB, OFF and binary STL; a good guess for the others. Looks at the first 4 KiB only.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
        if bytes.starts_with(b"LASF") {
            return Some(Self::Las);
        }
        if pcd::looks_like(bytes) {
            return Some(Self::Pcd);
        }
        if let Some(format) = Format::detect(bytes) {
            return Some(Self::of_mesh(format));
        }
        xyz::looks_like(bytes).then_some(Self::Xyz)
    }

    fn of_mesh(format: Format) -> Self {
        match format {
            Format::Obj => Self::Obj,
            Format::Stl => Self::Stl,
            Format::Ply => Self::Ply,
            Format::Gltf => Self::Gltf,
            Format::Off => Self::Off,
        }
    }

    /// The format of meshes that is read as a mesh, for its vertices.
    fn as_mesh(self) -> Option<Format> {
        match self {
            Self::Stl => Some(Format::Stl),
            Self::Off => Some(Format::Off),
            Self::Gltf => Some(Format::Gltf),
            Self::Ply | Self::Xyz | Self::Pcd | Self::Las | Self::Obj => None,
        }
    }
}

impl fmt::Display for CloudFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ply => "PLY",
            Self::Xyz => "XYZ",
            Self::Pcd => "PCD",
            Self::Las => "LAS",
            Self::Obj => "OBJ",
            Self::Stl => "STL",
            Self::Off => "OFF",
            Self::Gltf => "glTF",
        })
    }
}

impl RawCloud {
    /// The points of a file. The format comes from its extension or, if that is unknown, from its content.
    ///
    /// `scale` is metres per file unit (1.0 for a file in metres, see [`unit_scale`](crate::mesh::unit_scale)).
    /// Reads the whole file into memory.
    pub fn load(path: impl AsRef<Path>, scale: f64) -> Result<Self, CloudReadError> {
        Self::load_with(path, scale, &Silent)
    }

    /// As [`RawCloud::load`], reporting bytes read and bytes or points understood; stops with
    /// [`CloudReadError::Cancelled`] when asked to.
    pub fn load_with(
        path: impl AsRef<Path>,
        scale: f64,
        progress: &dyn Progress,
    ) -> Result<Self, CloudReadError> {
        let path = path.as_ref();
        let bytes = read_file(path, progress)
            .map_err(|source| CloudReadError::Read { file: path.to_path_buf(), source })?
            .ok_or(CloudReadError::Cancelled)?;
        let format = CloudFormat::from_path(path)
            .or_else(|| CloudFormat::detect(&bytes))
            .ok_or_else(|| CloudReadError::UnknownFormat { file: Some(path.to_path_buf()) })?;
        if format == CloudFormat::Gltf {
            // It may name other files, which are looked for beside it.
            let mesh = RawMesh::load(path, scale).map_err(|e| CloudReadError::of_mesh(e, format));
            return mesh.and_then(|m| vertices(m, format)).map_err(|e| e.in_file(path));
        }
        parse(&Input { bytes: &bytes, scale, format, progress }).map_err(|e| e.in_file(path))
    }

    /// The points of a file in memory; promises what [`RawCloud::load`] promises.
    pub fn from_bytes(bytes: &[u8], format: CloudFormat, scale: f64) -> Result<Self, CloudReadError> {
        parse(&Input { bytes, scale, format, progress: &Silent })
    }
}

/// What a reader is given.
struct Input<'a> {
    bytes: &'a [u8],
    /// Metres per file unit.
    scale: f64,
    format: CloudFormat,
    progress: &'a dyn Progress,
}

impl Input<'_> {
    fn malformed(&self, place: crate::mesh::Place, problem: impl Into<String>) -> CloudReadError {
        CloudReadError::malformed(self.format, place, problem)
    }

    fn truncated(&self, declared: u64, room: u64) -> CloudReadError {
        CloudReadError::truncated(self.format, declared, room)
    }

    /// Refuses more points than u32 can count.
    fn check_count(&self, points: u64) -> Result<(), CloudReadError> {
        if points <= u64::from(u32::MAX) {
            return Ok(());
        }
        Err(CloudReadError::TooMany { file: None, format: self.format, points })
    }

    fn stop(&self) -> Result<(), CloudReadError> {
        if self.progress.cancelled() { Err(CloudReadError::Cancelled) } else { Ok(()) }
    }
}

fn parse(input: &Input<'_>) -> Result<RawCloud, CloudReadError> {
    let Input { scale, format, .. } = *input;
    // Also refuses NaN.
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(CloudReadError::Scale { scale });
    }
    let bytes = input.bytes.strip_prefix(MARK).unwrap_or(input.bytes);
    if bytes.is_empty() {
        return Err(CloudReadError::Empty { file: None, format });
    }
    let input = &Input { bytes, ..*input };
    if let Some(mesh) = format.as_mesh() {
        let mesh = RawMesh::from_bytes(bytes, mesh, scale).map_err(|e| CloudReadError::of_mesh(e, format))?;
        return vertices(mesh, format);
    }
    let cloud = match format {
        CloudFormat::Ply => ply::parse(input),
        CloudFormat::Pcd => pcd::parse(input),
        CloudFormat::Las => las::parse(input),
        CloudFormat::Obj => obj::parse(input),
        _ => xyz::parse(input),
    }?;
    cloud.checked(format)
}

fn vertices(mesh: RawMesh, format: CloudFormat) -> Result<RawCloud, CloudReadError> {
    RawCloud { points: mesh.positions, ..Default::default() }.checked(format)
}

impl RawCloud {
    /// Takes out what is not finite, also after scaling, and refuses a cloud of which nothing is left.
    fn checked(mut self, format: CloudFormat) -> Result<Self, CloudReadError> {
        let count = self.points.len();
        if !self.points.iter().all(|p| p.is_finite()) {
            let keep: Vec<bool> = self.points.iter().map(|p| p.is_finite()).collect();
            retain(&mut self.points, &keep);
            if let Some(normals) = &mut self.normals {
                retain(normals, &keep);
            }
            if let Some(colours) = &mut self.colours {
                retain(colours, &keep);
            }
        }
        self.skipped += count - self.points.len();
        self.viewpoint = self.viewpoint.filter(|v| v.is_finite());
        let points = self.points.len();
        if u32::try_from(points).is_err() {
            return Err(CloudReadError::TooMany { file: None, format, points: points as u64 });
        }
        if points == 0 {
            return Err(CloudReadError::NoPoints { file: None, format, skipped: self.skipped });
        }
        Ok(self)
    }
}

/// Keeps the items whose flag is set, in order.
fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    items.retain(|_| flags.next().is_some_and(|&k| k));
}

/// A direction of length 1, or zero for one that has none.
fn unit(n: DVec3) -> Vec3 {
    n.normalize_or_zero().as_vec3()
}

/// The bytes of a file; None when reading was cancelled.
fn read_file(path: &Path, progress: &dyn Progress) -> io::Result<Option<Vec<u8>>> {
    /// Small enough to stop at once, large enough not to matter [bytes].
    const STEP: u64 = 4 << 20;
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    progress.stage("read file", size);
    let mut bytes = Vec::new();
    let room = usize::try_from(size).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
    loop {
        if progress.cancelled() {
            return Ok(None);
        }
        let n = file.by_ref().take(STEP).read_to_end(&mut bytes)?;
        if n == 0 {
            return Ok(Some(bytes));
        }
        progress.advance(n as u64);
    }
}
