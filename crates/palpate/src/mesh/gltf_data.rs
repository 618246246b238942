//! The parts of a glTF file: JSON, buffers, and the numbers that accessors find in them. Every offset and count is
//! checked against the bytes that are there.

use super::read_error::shown;
use super::{Format, Place, ReadError};
use glam::DVec3;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    asset: Asset,
    #[serde(default)]
    pub(super) extensions_required: Vec<String>,
    pub(super) scene: Option<usize>,
    #[serde(default)]
    pub(super) scenes: Vec<Scene>,
    #[serde(default)]
    pub(super) nodes: Vec<Node>,
    #[serde(default)]
    pub(super) meshes: Vec<MeshEntry>,
    #[serde(default)]
    pub(super) accessors: Vec<Accessor>,
    #[serde(default)]
    buffer_views: Vec<BufferView>,
    #[serde(default)]
    buffers: Vec<Buffer>,
}

#[derive(Deserialize)]
struct Asset {
    version: String,
}

#[derive(Deserialize)]
pub(super) struct Scene {
    #[serde(default)]
    pub(super) nodes: Vec<usize>,
}

#[derive(Deserialize)]
pub(super) struct Node {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) children: Vec<usize>,
    pub(super) mesh: Option<usize>,
    pub(super) matrix: Option<[f64; 16]>,
    pub(super) translation: Option<[f64; 3]>,
    pub(super) rotation: Option<[f64; 4]>,
    pub(super) scale: Option<[f64; 3]>,
}

#[derive(Deserialize)]
pub(super) struct MeshEntry {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) primitives: Vec<Primitive>,
}

#[derive(Deserialize)]
pub(super) struct Primitive {
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, usize>,
    pub(super) indices: Option<usize>,
    pub(super) mode: Option<u32>,
    #[serde(default)]
    pub(super) extensions: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accessor {
    pub(super) buffer_view: Option<usize>,
    #[serde(default)]
    byte_offset: usize,
    component_type: u32,
    pub(super) count: usize,
    r#type: String,
    #[serde(default)]
    normalized: bool,
    sparse: Option<Sparse>,
}

#[derive(Deserialize)]
struct Sparse {
    count: usize,
    indices: SparsePart,
    values: SparsePart,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SparsePart {
    buffer_view: usize,
    #[serde(default)]
    byte_offset: usize,
    /// Given for the indices only.
    component_type: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BufferView {
    buffer: usize,
    #[serde(default)]
    byte_offset: usize,
    byte_length: usize,
    byte_stride: Option<usize>,
    #[serde(default)]
    extensions: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Buffer {
    uri: Option<String>,
    byte_length: usize,
}

/// A glTF file with its buffers.
pub(super) struct Data<'a> {
    pub(super) document: Document,
    buffers: Vec<Cow<'a, [u8]>>,
}

fn fail(kind: &'static str, index: usize, problem: impl std::fmt::Display) -> ReadError {
    let problem = format!("{problem}; the file is damaged, export it again");
    ReadError::malformed(Format::Gltf, Place::Element(kind, index), problem)
}

impl<'a> Data<'a> {
    /// Parses the JSON and gets every buffer.
    pub(super) fn open(bytes: &'a [u8], folder: Option<&Path>) -> Result<Self, ReadError> {
        let (json, mut chunk) = if bytes.starts_with(b"glTF") { chunks(bytes)? } else { (bytes, None) };
        let document: Document = serde_json::from_slice(json).map_err(|e| {
            let problem =
                format!("the JSON cannot be read: {e}; check that it is a glTF 2.0 file, export it again");
            ReadError::malformed(Format::Gltf, Place::Line(e.line()), problem)
        })?;
        if !document.asset.version.starts_with("2.") {
            let version = shown(document.asset.version.as_bytes());
            let feature = format!("version {version} is not read; export it as glTF 2.0");
            return Err(ReadError::unsupported(Format::Gltf, Place::Header, feature));
        }
        let mut buffers = Vec::new();
        for (i, buffer) in document.buffers.iter().enumerate() {
            let found = match &buffer.uri {
                Some(uri) => resolve(uri, i, folder)?,
                // Only the first buffer of a GLB is its binary chunk.
                None => Cow::Borrowed(if i == 0 { chunk.take().unwrap_or(&[]) } else { &[] }),
            };
            if found.len() < buffer.byte_length {
                let problem =
                    format!("{} bytes are declared but {} are there", buffer.byte_length, found.len());
                return Err(fail("buffer", i, problem));
            }
            buffers.push(found);
        }
        Ok(Self { document, buffers })
    }

    /// Bytes of all buffers together.
    pub(super) fn size(&self) -> usize {
        self.buffers.iter().map(|b| b.len()).sum()
    }

    /// The positions of an accessor in file units.
    pub(super) fn positions(&self, accessor: usize) -> Result<Vec<DVec3>, ReadError> {
        let entry = self.accessor(accessor, "VEC3")?;
        let kind = entry.component_type;
        let read = |bytes: &[u8], size: usize| {
            let mut p = [0.0; 3];
            for (k, value) in p.iter_mut().enumerate() {
                *value = component(kind, entry.normalized, &bytes[k * size..]);
            }
            DVec3::from_array(p)
        };
        let size = match kind {
            5120..=5123 | 5126 => size_of_component(kind),
            _ => None,
        };
        let size =
            size.ok_or_else(|| fail("accessor", accessor, format!("positions have component type {kind}")))?;
        let mut out = Vec::new();
        match entry.buffer_view {
            Some(view) => {
                let items = self.items(view, entry.byte_offset, entry.count, 3 * size, accessor)?;
                out.extend(items.map(|bytes| read(bytes, size)));
            }
            // Zeros, which `sparse` replaces; the count has no bytes to be checked against.
            None => {
                if entry.count > self.size() {
                    let count = entry.count;
                    return Err(fail(
                        "accessor",
                        accessor,
                        format!("{count} positions without a buffer view"),
                    ));
                }
                out.resize(entry.count, DVec3::ZERO);
            }
        }
        if let Some(sparse) = &entry.sparse {
            let (at, with) = (&sparse.indices, &sparse.values);
            let kind = at.component_type.unwrap_or(0);
            let at_size =
                index_size(kind).ok_or_else(|| fail("accessor", accessor, "sparse indices have no type"))?;
            let at = self.items(at.buffer_view, at.byte_offset, sparse.count, at_size, accessor)?;
            let with = self.items(with.buffer_view, with.byte_offset, sparse.count, 3 * size, accessor)?;
            for (i, bytes) in at.map(|b| component(kind, false, b) as usize).zip(with) {
                let count = out.len();
                *out.get_mut(i).ok_or_else(|| {
                    fail("accessor", accessor, format!("sparse index {i} but there are {count} positions"))
                })? = read(bytes, size);
            }
        }
        Ok(out)
    }

    /// The indices of an accessor.
    pub(super) fn indices(&self, accessor: usize) -> Result<Vec<u32>, ReadError> {
        let entry = self.accessor(accessor, "SCALAR")?;
        let kind = entry.component_type;
        let size = index_size(kind)
            .ok_or_else(|| fail("accessor", accessor, format!("indices have component type {kind}")))?;
        let Some(view) = entry.buffer_view.filter(|_| entry.sparse.is_none()) else {
            return Err(fail("accessor", accessor, "indices without a plain buffer view"));
        };
        let items = self.items(view, entry.byte_offset, entry.count, size, accessor)?;
        Ok(items.map(|bytes| component(kind, false, bytes) as u32).collect())
    }

    fn accessor(&self, index: usize, shape: &str) -> Result<&Accessor, ReadError> {
        let count = self.document.accessors.len();
        let found = self.document.accessors.get(index);
        let entry =
            found.ok_or_else(|| fail("accessor", index, format!("the file has {count} accessors")))?;
        if entry.r#type != shape {
            let found = shown(entry.r#type.as_bytes());
            return Err(fail("accessor", index, format!("its type is {found} where {shape} belongs")));
        }
        Ok(entry)
    }

    /// `count` pieces of `size` bytes, `offset` into a buffer view.
    fn items(
        &self,
        view: usize,
        offset: usize,
        count: usize,
        size: usize,
        accessor: usize,
    ) -> Result<impl Iterator<Item = &[u8]>, ReadError> {
        let views = &self.document.buffer_views;
        let entry = views.get(view).ok_or_else(|| {
            fail("accessor", accessor, format!("it uses buffer view {view} but the file has {}", views.len()))
        })?;
        if let Some(name) = entry.extensions.keys().find(|e| e.ends_with("meshopt_compression")) {
            let feature =
                format!("its data is stored with {name}, which is not read; export it without compression");
            return Err(ReadError::unsupported(Format::Gltf, Place::Element("bufferView", view), feature));
        }
        let buffer: &[u8] = self.buffers.get(entry.buffer).ok_or_else(|| {
            let count = self.buffers.len();
            fail("bufferView", view, format!("it uses buffer {} but the file has {count}", entry.buffer))
        })?;
        let end = entry.byte_offset.checked_add(entry.byte_length);
        let bytes = end.and_then(|end| buffer.get(entry.byte_offset..end)).ok_or_else(|| {
            let (from, length, have) = (entry.byte_offset, entry.byte_length, buffer.len());
            fail("bufferView", view, format!("{length} bytes from {from} on, but its buffer has {have}"))
        })?;
        let stride = entry.byte_stride.unwrap_or(size);
        if stride < size {
            return Err(fail(
                "bufferView",
                view,
                format!("byteStride is {stride} but an element has {size} bytes"),
            ));
        }
        let rest = bytes.get(offset..).unwrap_or(&[]);
        // The last element needs no padding up to the stride.
        let room = rest.len().checked_sub(size).map_or(0, |n| n / stride + 1);
        if count > room {
            let problem = format!("count is {count} but its buffer view has room for {room}");
            return Err(fail("accessor", accessor, problem));
        }
        Ok((0..count).map(move |i| &rest[i * stride..][..size]))
    }
}

fn size_of_component(kind: u32) -> Option<usize> {
    Some(match kind {
        5120 | 5121 => 1,
        5122 | 5123 => 2,
        5125 | 5126 => 4,
        _ => return None,
    })
}

fn index_size(kind: u32) -> Option<usize> {
    if matches!(kind, 5121 | 5123 | 5125) { size_of_component(kind) } else { None }
}

/// The number at the start of `bytes`, which are as many as its type needs.
fn component(kind: u32, normalized: bool, bytes: &[u8]) -> f64 {
    let two = || bytes.first_chunk().copied().unwrap_or_default();
    let four = || bytes.first_chunk().copied().unwrap_or_default();
    let one = bytes.first().copied().unwrap_or_default();
    let (value, most) = match kind {
        5120 => (f64::from(one as i8), f64::from(i8::MAX)),
        5121 => (f64::from(one), f64::from(u8::MAX)),
        5122 => (f64::from(i16::from_le_bytes(two())), f64::from(i16::MAX)),
        5123 => (f64::from(u16::from_le_bytes(two())), f64::from(u16::MAX)),
        5125 => (f64::from(u32::from_le_bytes(four())), f64::from(u32::MAX)),
        _ => return f64::from(f32::from_le_bytes(four())),
    };
    if normalized { (value / most).max(-1.0) } else { value }
}

/// The JSON and the binary chunk of a GLB.
fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), ReadError> {
    let short = |at: usize| {
        let problem = format!("the file ends after {} bytes inside a chunk; it is cut short", bytes.len());
        ReadError::malformed(Format::Gltf, Place::Byte(at), format!("{problem}, export it again"))
    };
    let word = |at: usize| {
        let raw = bytes.get(at..).and_then(|b| b.first_chunk::<4>()).ok_or_else(|| short(at))?;
        Ok::<u32, ReadError>(u32::from_le_bytes(*raw))
    };
    let (version, length) = (word(4)?, word(8)? as usize);
    if version != 2 {
        let feature = format!("GLB version {version} is not read; export it as glTF 2.0");
        return Err(ReadError::unsupported(Format::Gltf, Place::Byte(4), feature));
    }
    if length > bytes.len() {
        let problem = format!("the header says {length} bytes but the file has {}", bytes.len());
        let problem = format!("{problem}; it is cut short, export it again");
        return Err(ReadError::malformed(Format::Gltf, Place::Byte(8), problem));
    }
    let (mut json, mut binary) = (None, None);
    let mut at = 12;
    while at < length {
        let (size, kind) = (word(at)? as usize, word(at + 4)?);
        let end = (at + 8).checked_add(size);
        let chunk = end.and_then(|end| bytes.get(at + 8..end)).ok_or_else(|| short(at))?;
        match kind {
            0x4e4f_534a if json.is_none() => json = Some(chunk),
            0x004e_4942 if binary.is_none() => binary = Some(chunk),
            _ => {}
        }
        at += 8 + size;
    }
    match json {
        Some(json) => Ok((json, binary)),
        None => {
            let problem = "the file has no JSON chunk; it is damaged, export it again";
            Err(ReadError::malformed(Format::Gltf, Place::Byte(12), problem))
        }
    }
}

/// The bytes that a buffer's address stands for: inside the address, or a file below `folder`.
fn resolve(uri: &str, buffer: usize, folder: Option<&Path>) -> Result<Cow<'static, [u8]>, ReadError> {
    if let Some(data) = uri.strip_prefix("data:") {
        let coded = data.split_once(";base64,").map(|(_, coded)| coded);
        let bytes = coded.and_then(|coded| from_base64(coded.as_bytes()));
        return bytes.map(Cow::Owned).ok_or_else(|| fail("buffer", buffer, "its data is not valid base64"));
    }
    let name = shown(uri.as_bytes());
    let Some(folder) = folder else {
        let feature =
            format!("its data is in another file, {name}; load the mesh from a path or export it as GLB");
        return Err(ReadError::unsupported(Format::Gltf, Place::Element("buffer", buffer), feature));
    };
    // Only below the folder: a mesh must not make its reader open any file on the machine.
    let relative = from_percent(uri).map(PathBuf::from);
    let below =
        relative.filter(|p| p.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)));
    let Some(path) = below.filter(|_| !uri.contains(':')) else {
        let problem =
            format!("its data is in {name}, which is not a file below the mesh's folder; move it there");
        return Err(ReadError::malformed(Format::Gltf, Place::Element("buffer", buffer), problem));
    };
    let path = folder.join(path);
    fs::read(&path).map(Cow::Owned).map_err(|source| ReadError::Read { file: path, source })
}

/// Decodes `%20` and the like; None when the result is no text.
fn from_percent(uri: &str) -> Option<String> {
    let mut out = Vec::with_capacity(uri.len());
    let mut bytes = uri.bytes();
    while let Some(b) = bytes.next() {
        out.push(if b == b'%' {
            let digit = |b: Option<u8>| char::from(b?).to_digit(16);
            (digit(bytes.next())? * 16 + digit(bytes.next())?) as u8
        } else {
            b
        });
    }
    String::from_utf8(out).ok().filter(|s| !s.contains('\0'))
}

/// Decodes base64 in either alphabet, padded or not; None when it is not valid.
fn from_base64(coded: &[u8]) -> Option<Vec<u8>> {
    let coded = coded.strip_suffix(b"==").or_else(|| coded.strip_suffix(b"=")).unwrap_or(coded);
    let mut out = Vec::with_capacity(coded.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0u32, 0);
    for &b in coded {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    // A single character left over cannot come from whole bytes.
    (held < 6).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_and_percent_codes_are_decoded() {
        for (coded, plain) in
            [("", &b""[..]), ("TQ==", b"M"), ("TWE=", b"Ma"), ("TWFu", b"Man"), ("-_-_", b"\xfb\xff\xbf")]
        {
            assert_eq!(from_base64(coded.as_bytes()).as_deref(), Some(plain), "{coded}");
        }
        for bad in ["T", "TW u", "T===", "TWFuT"] {
            assert_eq!(from_base64(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(from_percent("a%20b%2fc").as_deref(), Some("a b/c"));
        assert_eq!(from_percent("%f"), None);
    }
}
