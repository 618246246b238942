//! Compressed LAS: the crate `laz` unpacks the points.
//!
//! It trusts its input in places: it reserves memory for as many chunks and bytes of layers as the file declares, some of
//! its arithmetic stops on damaged data, and times can make it call itself until the stack ends. So what it would reserve
//! is checked against the file's size first, it is not let read behind what was checked, times are left out where they
//! have a layer of their own and unpacked here ([`time`]) where not, and a panic inside it is caught and told as an error.

mod rows;
mod time;

use super::las::{Header, u16_at, u32_at, u64_at};
use super::{CloudFormat, CloudReadError, Input, RawCloud};
use crate::mesh::Place;
use ::laz::{DecompressionSelection, LasZipDecompressor, LasZipError, LazItemType, LazVlr};
use rows::Rows;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many times its size compressed data may unfold. Scans do five to twenty times; a drawn grid may do more.
const MOST_TIMES: u64 = 100;
/// Bytes of points that are believed of any file, for small files of such grids.
const ALWAYS: u64 = 16 << 20;
/// Bytes of points unpacked between two looks at whether to stop.
const STEP: usize = 1 << 20;

/// Bytes before the first chunk, which say where the table of chunks is.
const CHUNK_TABLE_PLACE: usize = 8;

/// Whether points are stored in layers: each chunk has its x, then its y, and so on.
fn layered(header: &Header) -> bool {
    header.format >= 6
}

pub(super) fn parse(input: &Input<'_>, header: &Header) -> Result<RawCloud, CloudReadError> {
    let data = (input.bytes.len() - header.points) as u64;
    let most = (ALWAYS + MOST_TIMES * data) / header.record as u64;
    if header.count > most {
        return Err(input.truncated(header.count, most));
    }
    let vlr = note(input, header)?;
    let layers = check_items(input, header, vlr)?;
    check_chunk_table(input, header)?;
    let end = match layers {
        Some(layers) => end_of_chunks(input.bytes, header, layers),
        None => input.bytes.len(),
    };
    // The last line: a program that aborts on panics gets none of this, which is why the checks come before.
    let unpacked = catch_unwind(AssertUnwindSafe(|| unpack(input, header, vlr, end)));
    let kept = unpacked.unwrap_or_else(|_| Err(damaged(input, "the compressed points make no sense")))?;
    let (stride, colours) = kept_layout(header);
    header.read(&kept, stride, colours, header.count as usize, input)
}

/// Bytes kept of each point, its position and colour, and where its colour is among them.
fn kept_layout(header: &Header) -> (usize, Option<usize>) {
    if header.colours().is_some() { (18, Some(12)) } else { (12, None) }
}

fn damaged(input: &Input<'_>, problem: &str) -> CloudReadError {
    input.malformed(Place::Header, format!("{problem}; the file is damaged, export it again"))
}

/// The data of the record that describes the compression.
fn note<'a>(input: &Input<'a>, header: &Header) -> Result<&'a [u8], CloudReadError> {
    /// Bytes before the data of a record.
    const HEAD: usize = 54;
    let bytes = &input.bytes[..header.points];
    let (mut at, count) = header.notes;
    for _ in 0..count {
        let Some(length) = u16_at(bytes, at + 20) else { break };
        let Some(data) = bytes.get(at + HEAD..at + HEAD + usize::from(length)) else { break };
        let user = bytes.get(at + 2..at + 18).unwrap_or_default();
        if user.starts_with(b"laszip encoded") && u16_at(bytes, at + 18) == Some(22204) {
            return Ok(data);
        }
        at += HEAD + data.len();
    }
    Err(damaged(input, "points are compressed but no record says how"))
}

/// Checks that the compression is of just what a point has, so that pieces fit their places.
///
/// Returns how many layers a chunk has where points are stored in layers.
fn check_items(input: &Input<'_>, header: &Header, vlr: &[u8]) -> Result<Option<usize>, CloudReadError> {
    use LazItemType::{
        Byte, Byte14, GpsTime, Point10, Point14, RGB12, RGB14, RGBNIR14, WavePacket13, WavePacket14,
    };
    // Item, its bytes, its layers.
    let base: &[(LazItemType, u16, usize)] = match header.format {
        0 => &[(Point10, 20, 0)],
        1 => &[(Point10, 20, 0), (GpsTime, 8, 0)],
        2 => &[(Point10, 20, 0), (RGB12, 6, 0)],
        3 => &[(Point10, 20, 0), (GpsTime, 8, 0), (RGB12, 6, 0)],
        4 => &[(Point10, 20, 0), (GpsTime, 8, 0), (WavePacket13, 29, 0)],
        5 => &[(Point10, 20, 0), (GpsTime, 8, 0), (RGB12, 6, 0), (WavePacket13, 29, 0)],
        6 => &[(Point14, 30, 9)],
        7 => &[(Point14, 30, 9), (RGB14, 6, 1)],
        8 => &[(Point14, 30, 9), (RGBNIR14, 8, 2)],
        9 => &[(Point14, 30, 9), (WavePacket14, 29, 1)],
        _ => &[(Point14, 30, 9), (RGBNIR14, 8, 2), (WavePacket14, 29, 1)],
    };
    let mut expected = base.to_vec();
    let layered = layered(header);
    let plain: u16 = base.iter().map(|i| i.1).sum();
    // The header's check makes it no less than the format needs.
    let extra = (header.record as u16).saturating_sub(plain);
    if extra > 0 {
        expected.push(if layered { (Byte14(extra), extra, extra.into()) } else { (Byte(extra), extra, 0) });
    }
    let compressor = u16_at(vlr, 0);
    if !matches!((layered, compressor), (false, Some(1 | 2)) | (true, Some(3))) {
        let format = header.format;
        let feature = match compressor {
            Some(kind) => {
                format!("point format {format} compressed in way {kind}; save it with a recent LASzip")
            }
            None => return Err(damaged(input, "the record about the compression is empty")),
        };
        return Err(CloudReadError::unsupported(CloudFormat::Las, feature));
    }
    let items = u16_at(vlr, 32).map(usize::from);
    let fits = items == Some(expected.len())
        && expected.iter().enumerate().all(|(k, (item, size, _))| {
            let at = 34 + 6 * k;
            let version = if layered { 3..=4 } else { 1..=2 };
            u16_at(vlr, at) == Some(u16::from(*item))
                && u16_at(vlr, at + 2) == Some(*size)
                && u16_at(vlr, at + 4).is_some_and(|v| version.contains(&v))
        });
    if !fits {
        return Err(damaged(
            input,
            &format!("the compressed parts are not those of point format {}", header.format),
        ));
    }
    Ok(layered.then(|| expected.iter().map(|i| i.2).sum()))
}

/// Refuses a table of more chunks than the file has bytes for; memory is reserved for as many as it declares.
fn check_chunk_table(input: &Input<'_>, header: &Header) -> Result<(), CloudReadError> {
    let bytes = input.bytes;
    let table = |at: usize| {
        // Negative stands for none, as does a place before the points.
        let start = usize::try_from(u64_at(bytes, at)?.cast_signed()).ok()?;
        (start > header.points).then_some(start)
    };
    let start = table(header.points).or_else(|| table(bytes.len().saturating_sub(8)));
    let chunks = start.and_then(|start| u32_at(bytes, start.checked_add(4)?));
    let most = bytes.len() / header.record.min(20);
    match chunks {
        Some(chunks) if chunks as usize > most => {
            Err(damaged(input, &format!("a table of {chunks} chunks, the file has room for {most}")))
        }
        _ => Ok(()),
    }
}

/// Where the last chunk of layers ends that lies in the file whole. Memory is reserved for a layer as long as declared.
fn end_of_chunks(bytes: &[u8], header: &Header, layers: usize) -> usize {
    // Behind the place of the chunk table.
    let mut end = header.points + CHUNK_TABLE_PLACE;
    loop {
        // A plain point, the number of points, the lengths of the layers, the layers.
        let lengths = end + header.record + 4;
        let mut next = lengths + 4 * layers;
        for k in 0..layers {
            let Some(length) = u32_at(bytes, lengths + 4 * k) else { return end };
            next = next.saturating_add(length as usize);
        }
        if next > bytes.len() {
            return end;
        }
        end = next;
    }
}

/// Position and colour of all points, as plain records have them.
fn unpack(input: &Input<'_>, header: &Header, vlr: &[u8], end: usize) -> Result<Vec<u8>, CloudReadError> {
    let chunked = layered(header) || u16_at(vlr, 0) != Some(1);
    let vlr = LazVlr::from_buffer(vlr).map_err(|e| damaged(input, &e.to_string()))?;
    let source = Limited { bytes: input.bytes, at: header.points as u64, end: input.bytes.len() };
    let mut points =
        Points::new(source, vlr, layered(header), chunked).map_err(|e| damaged(input, &e.to_string()))?;
    // The chunk table, which lies behind the chunks, was read or could not be, and left the source somewhere. Points begin
    // behind its place, where there is one.
    let place = if chunked { CHUNK_TABLE_PLACE } else { 0 };
    *points.source() = Limited { bytes: input.bytes, at: (header.points + place) as u64, end };
    input.progress.stage("unpack", header.count);
    let step = (STEP / header.record).max(1) as u64;
    let mut block = vec![0; header.count.min(step) as usize * header.record];
    let mut kept = Vec::new();
    let mut left = header.count;
    while left > 0 {
        input.stop()?;
        let n = left.min(step);
        let records = &mut block[..n as usize * header.record];
        if let Err(error) = records.chunks_exact_mut(header.record).try_for_each(|record| points.next(record))
        {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                return Err(input.truncated(header.count, header.count - 1));
            }
            return Err(damaged(input, &error.to_string()));
        }
        for record in records.chunks_exact(header.record) {
            kept.extend_from_slice(&record[..12]);
            if let Some(at) = header.colours() {
                kept.extend_from_slice(&record[at..at + 6]);
            }
        }
        input.progress.advance(n);
        left -= n;
    }
    Ok(kept)
}

/// What reads points, by how they lie.
enum Points<'a> {
    /// In layers, of which only those of positions and colours are unpacked.
    Layers(LasZipDecompressor<'a, Limited<'a>>),
    Rows(Rows<'a>),
}

impl<'a> Points<'a> {
    fn new(source: Limited<'a>, vlr: LazVlr, layered: bool, chunked: bool) -> Result<Self, LasZipError> {
        if layered {
            let wanted = DecompressionSelection(DecompressionSelection::Z | DecompressionSelection::RGB);
            return LasZipDecompressor::selective(source, vlr, wanted).map(Self::Layers);
        }
        Rows::new(source, &vlr, chunked).map(Self::Rows)
    }

    fn source(&mut self) -> &mut Limited<'a> {
        match self {
            Self::Layers(points) => points.get_mut(),
            Self::Rows(points) => points.source(),
        }
    }

    /// Unpacks one point; fields that were not wanted stay as they were at the first point of a chunk.
    fn next(&mut self, record: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Layers(points) => points.decompress_one(record),
            Self::Rows(points) => points.next(record),
        }
    }
}

/// Bytes up to an end that can be moved.
struct Limited<'a> {
    bytes: &'a [u8],
    at: u64,
    end: usize,
}

impl Read for Limited<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(self.at).unwrap_or(usize::MAX).min(self.end);
        let n = out.len().min(self.end - from);
        out[..n].copy_from_slice(&self.bytes[from..from + n]);
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Limited<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => (self.bytes.len() as u64).checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        // Nothing is behind the end; whoever is told so stays where it was and can go on without.
        self.at = at.filter(|&at| at <= self.bytes.len() as u64).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
