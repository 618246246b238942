//! Compressed points that lie one behind the other, as those of formats 0 to 5 do.
//!
//! The crate's own reader of them would take its own times (see [`super::time`]) and stops where a table of chunks ends
//! before the points do; this one takes ours, and such a table is an error.

use super::Limited;
use super::time::Times;
use ::laz::las::{v1, v2};
use ::laz::laszip::ChunkTable;
use ::laz::record::{RecordDecompressor, SequentialPointRecordDecompressor};
use ::laz::{LasZipError, LazItem, LazItemType, LazVlr};
use std::io;

/// How many points are in which chunk.
enum Chunks {
    /// All points in one.
    One,
    /// As many in each.
    Fixed(u64),
    /// As the table says.
    Table(ChunkTable),
}

/// Reads points one behind the other.
pub(super) struct Rows<'a> {
    points: SequentialPointRecordDecompressor<'a, Limited<'a>>,
    items: Vec<LazItem>,
    chunks: Chunks,
    /// The chunk that is read next.
    chunk: usize,
    /// Points left in the one that is read now.
    left: u64,
}

impl<'a> Rows<'a> {
    /// `source` is at the first byte behind the header and what belongs to it.
    pub(super) fn new(mut source: Limited<'a>, vlr: &LazVlr, chunked: bool) -> Result<Self, LasZipError> {
        let chunks = if !chunked {
            Chunks::One
        } else if vlr.uses_variable_size_chunks() {
            Chunks::Table(ChunkTable::read_from(&mut source, vlr)?)
        } else {
            Chunks::Fixed(vlr.chunk_size().into())
        };
        Ok(Self {
            points: SequentialPointRecordDecompressor::new(source),
            items: vlr.items().clone(),
            chunks,
            chunk: 0,
            left: 0,
        })
    }

    /// What the points are read from.
    pub(super) fn source(&mut self) -> &mut Limited<'a> {
        self.points.get_mut()
    }

    /// Unpacks one point into as many bytes as it has.
    pub(super) fn next(&mut self, out: &mut [u8]) -> io::Result<()> {
        if self.left == 0 {
            self.begin_chunk()?;
        }
        self.left -= 1;
        self.points.decompress_next(out)
    }

    fn begin_chunk(&mut self) -> io::Result<()> {
        let points = match &self.chunks {
            Chunks::One => Some(u64::MAX),
            Chunks::Fixed(points) => Some(*points),
            Chunks::Table(table) => table.as_ref().get(self.chunk).map(|entry| entry.point_count),
        };
        let Some(points) = points.filter(|&n| n > 0) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the table of chunks has too few points"));
        };
        (self.left, self.chunk) = (points, self.chunk + 1);
        self.points.reset();
        for item in &self.items {
            add(&mut self.points, item)?;
        }
        Ok(())
    }
}

/// Adds what unpacks an item.
fn add<'a>(
    points: &mut SequentialPointRecordDecompressor<'a, Limited<'a>>,
    item: &LazItem,
) -> io::Result<()> {
    let first = item.version() == 1;
    match item.item_type() {
        LazItemType::Point10 if first => points.add_field_decompressor(v1::LasPoint0Decompressor::default()),
        LazItemType::Point10 => points.add_field_decompressor(v2::LasPoint0Decompressor::default()),
        LazItemType::GpsTime if first => points.add_field_decompressor(v1::LasGpsTimeDecompressor::default()),
        LazItemType::GpsTime => points.add_field_decompressor(Times::default()),
        LazItemType::RGB12 if first => points.add_field_decompressor(v1::LasRGBDecompressor::default()),
        LazItemType::RGB12 => points.add_field_decompressor(v2::LasRGBDecompressor::default()),
        LazItemType::WavePacket13 => points.add_field_decompressor(v1::LasWavepacketDecompressor::default()),
        LazItemType::Byte(n) if first => {
            points.add_field_decompressor(v1::LasExtraByteDecompressor::new(n.into()));
        }
        LazItemType::Byte(n) => points.add_field_decompressor(v2::LasExtraByteDecompressor::new(n.into())),
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "an item of another format")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop where something fails")]
    use super::*;
    use crate::mesh::shapes::Random;
    use ::laz::{LasZipCompressor, LazItemRecordBuilder, LazVlrBuilder};
    use std::io::Cursor;

    const POINTS: usize = 5000;
    /// Points of the chunks of the file whose chunks differ.
    const UNEQUAL: [usize; 4] = [1, 2700, 299, 2000];

    /// Packed records, of which every byte is random where it may be.
    fn packed(items: Vec<LazItem>, seed: u64, fixed: Option<u32>) -> (LazVlr, Vec<u8>, Vec<u8>) {
        let vlr = LazVlrBuilder::new(items);
        let vlr = match fixed {
            Some(points) => vlr.with_fixed_chunk_size(points),
            None => vlr.with_variable_chunk_size(),
        }
        .build();
        let mut random = Random(seed);
        let size = vlr.items_size() as usize;
        let mut records = vec![0; size * POINTS];
        for i in 0..records.len() {
            // Most bytes are those of the point before.
            let keep = i >= size && random.below(4) > 0;
            records[i] = if keep { records[i - size] } else { random.below(100) as u8 };
        }
        let mut writer = LasZipCompressor::new(Cursor::new(Vec::new()), vlr.clone()).unwrap();
        if fixed.is_some() {
            writer.compress_many(&records).unwrap();
        } else {
            let mut at = 0;
            for n in UNEQUAL {
                writer.compress_many(&records[at * size..(at + n) * size]).unwrap();
                writer.finish_current_chunk().unwrap();
                at += n;
            }
        }
        writer.done().unwrap();
        (vlr, writer.into_inner().into_inner(), records)
    }

    fn unpacked(vlr: &LazVlr, bytes: &[u8], n: usize) -> io::Result<Vec<u8>> {
        let source = |at| Limited { bytes, at, end: bytes.len() };
        let mut rows = Rows::new(source(0), vlr, true).map_err(|e| io::Error::other(e.to_string()))?;
        *rows.source() = source(super::super::CHUNK_TABLE_PLACE as u64);
        let mut out = vec![0; vlr.items_size() as usize * n];
        out.chunks_exact_mut(vlr.items_size() as usize).try_for_each(|record| rows.next(record))?;
        Ok(out)
    }

    #[test]
    fn points_of_every_format_come_back_from_equal_and_unequal_chunks() {
        for format in 0..6 {
            for fixed in [Some(999), Some(100_000), None] {
                let items = LazItemRecordBuilder::default_for_point_format_id(format, 3).unwrap();
                let (vlr, bytes, records) = packed(items, u64::from(format) + 1, fixed);
                assert!(
                    unpacked(&vlr, &bytes, POINTS).unwrap() == records,
                    "format {format}, chunks {fixed:?}"
                );
            }
        }
    }

    #[test]
    fn a_table_that_ends_before_the_points_is_an_error() {
        let items = LazItemRecordBuilder::default_for_point_format_id(1, 0).unwrap();
        let (vlr, bytes, _) = packed(items, 5, None);
        assert!(unpacked(&vlr, &bytes, POINTS + 1).unwrap_err().to_string().contains("too few points"));
    }
}
