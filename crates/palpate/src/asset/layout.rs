//! The container: header, table of sections, checksums.
//!
//! | bytes | header |
//! |---|---|
//! | 0..8 | `PALP\r\n\x1a\n`: a transfer that changes line ends breaks it visibly |
//! | 8..12 | version |
//! | 12..16 | number of sections |
//! | 16..24 | length of the file |
//! | 24..40 | cache key |
//! | 40..48 | xxh3-64 of header and table, this field taken as zero |
//! | 48..64 | zero |
//!
//! Each entry of the table has 32 bytes: name (8, filled with zeros), offset (a multiple of 64), length, checksum.
//! A section's checksum is the xxh3-64 of the xxh3-64 of each of its pieces of 1 MiB, so that large ones are
//! checked in parallel.

use super::error::Problem;
use crate::par;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

pub(super) const MAGIC: [u8; 8] = *b"PALP\r\n\x1a\n";
/// The version written and read. Another one means that known sections changed; new sections do not count.
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER: usize = 64;
pub(super) const ENTRY: usize = 32;
/// Sections start at multiples of this: a cache line, and more than any number needs.
pub(super) const ALIGN: usize = 64;
/// Bytes hashed together. Part of the format.
pub(super) const PIECE: usize = 1 << 20;
/// Sections of up to this many pieces are hashed by the calling thread, at 10 GB/s. Fewer: starting the pool, which
/// takes milliseconds on a busy machine, costs more than it saves. More: large files open slower than they could.
const SERIAL_PIECES: usize = 32;
/// Most sections a file may have; far above what is written, and far below what could exhaust memory.
const MAX_SECTIONS: u32 = 1024;

/// A name of a section, filled with zeros.
pub(super) const fn name(text: &[u8]) -> [u8; 8] {
    let mut out = [0; 8];
    let mut i = 0;
    while i < text.len() {
        out[i] = text[i];
        i += 1;
    }
    out
}

pub(super) const MESH: [u8; 8] = name(b"mesh");
pub(super) const VERTICES: [u8; 8] = name(b"vertices");
pub(super) const VERTICES_DOUBLE: [u8; 8] = name(b"vertex64");
pub(super) const TRIANGLES: [u8; 8] = name(b"faces");
pub(super) const FIELD: [u8; 8] = name(b"field");
pub(super) const CELLS: [u8; 8] = name(b"cells");
pub(super) const NODES: [u8; 8] = name(b"nodes");
pub(super) const CLOSEST: [u8; 8] = name(b"closest");
pub(super) const SHELL: [u8; 8] = name(b"shell");
pub(super) const POINTS: [u8; 8] = name(b"points");
pub(super) const NORMALS: [u8; 8] = name(b"normals");
pub(super) const AREAS: [u8; 8] = name(b"areas");
pub(super) const POINT_TRIANGLES: [u8; 8] = name(b"pointtri");
pub(super) const BUILD: [u8; 8] = name(b"build");

/// A section's name as text.
pub(super) fn name_of(name: &[u8]) -> String {
    let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
    name[..end].escape_ascii().to_string()
}

/// Where a section is.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) name: [u8; 8],
    pub(super) range: Range<usize>,
    pub(super) checksum: u64,
}

/// What header and table say.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) key: u128,
    pub(super) sections: Vec<Section>,
}

impl Table {
    /// Bytes that [`Table::read`] needs, from the first [`HEADER`] bytes; at most a few tens of KiB.
    pub(super) fn size(head: &[u8]) -> usize {
        HEADER + ENTRY * u32_at(head, 12).min(MAX_SECTIONS) as usize
    }

    /// Reads header and table of a file of `length` bytes; `head` holds at least [`Table::size`] of them. Magic and
    /// version were checked.
    pub(super) fn read(head: &[u8], length: u64) -> Result<Self, Problem> {
        let wrong = |text: String| Err(Problem::new(b"header", text));
        let count = u32_at(head, 12);
        if count > MAX_SECTIONS {
            return wrong(format!("lists {count} sections; at most {MAX_SECTIONS} are possible"));
        }
        let stated = u64_at(head, 16);
        if stated != length {
            return wrong(format!("says that the file has {stated} bytes, but it has {length}"));
        }
        let end = HEADER + ENTRY * count as usize;
        let Some(head) = head.get(..end) else {
            return wrong(format!("lists {count} sections, which do not fit in {length} bytes"));
        };
        if u64_at(head, 40) != head_checksum(head) {
            return wrong("does not match its checksum".into());
        }
        let mut sections = Vec::with_capacity(count as usize);
        for entry in head[HEADER..].chunks_exact(ENTRY) {
            let mut name = [0; 8];
            name.copy_from_slice(&entry[..8]);
            let (start, size) = (u64_at(entry, 8), u64_at(entry, 16));
            let stop = start.checked_add(size).filter(|e| *e <= length);
            let range = match (usize::try_from(start), stop.map(usize::try_from)) {
                (Ok(start), Some(Ok(stop))) if start >= end && start % ALIGN == 0 => start..stop,
                _ => {
                    let text = format!("is said to be {size} bytes at {start} of a file of {length}");
                    return Err(Problem::new(&name, text));
                }
            };
            sections.push(Section { name, range, checksum: u64_at(entry, 24) });
        }
        Ok(Self { key: u128::from(u64_at(head, 24)) | u128::from(u64_at(head, 32)) << 64, sections })
    }

    pub(super) fn find(&self, name: [u8; 8]) -> Option<&Section> {
        self.sections.iter().find(|s| s.name == name)
    }
}

/// The checksum of header and table.
pub(super) fn head_checksum(head: &[u8]) -> u64 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(&head[..40]);
    hasher.update(&[0; 8]);
    hasher.update(&head[48..]);
    hasher.digest()
}

/// The checksum of a section, and whether every piece passes `check`.
///
/// One pass over the memory: a piece is checked while the cache still holds it.
pub(super) fn section_checksum(bytes: &[u8], check: impl Fn(&[u8]) -> bool + Sync + Send) -> (u64, bool) {
    let pieces = bytes.len().div_ceil(PIECE);
    let one = |i: usize| {
        let piece = &bytes[i * PIECE..bytes.len().min((i + 1) * PIECE)];
        (xxh3_64(piece), check(piece))
    };
    let parts = if pieces > SERIAL_PIECES { par::map(pieces, one) } else { (0..pieces).map(one).collect() };
    let hashes: Vec<u8> = parts.iter().flat_map(|p| p.0.to_le_bytes()).collect();
    (xxh3_64(&hashes), parts.iter().all(|p| p.1))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// The version that a header states.
pub(super) fn version(head: &[u8]) -> u32 {
    u32_at(head, 8)
}

/// Makes length and checksums of a changed file right again, as far as its table can be followed: tests and fuzzing
/// change files and must get past the checksums to reach the other checks.
pub fn reseal(bytes: &mut [u8]) {
    if bytes.len() < HEADER {
        return;
    }
    let length = bytes.len() as u64;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    let end = Table::size(bytes).min(bytes.len() / ENTRY * ENTRY);
    for at in (HEADER..end).step_by(ENTRY) {
        let (start, size) = (u64_at(bytes, at + 8), u64_at(bytes, at + 16));
        let stop = start.checked_add(size).filter(|e| *e <= length);
        if let (Ok(start), Some(Ok(stop))) = (usize::try_from(start), stop.map(usize::try_from)) {
            let (sum, _) = section_checksum(&bytes[start..stop], |_| true);
            bytes[at + 24..at + 32].copy_from_slice(&sum.to_le_bytes());
        }
    }
    let sum = head_checksum(&bytes[..end]);
    bytes[40..48].copy_from_slice(&sum.to_le_bytes());
}
