//! LAS 1.0 to 1.4: the header, and the points where they are not compressed.
//!
//! A point is three whole numbers; times the header's factor plus its offset, in f64, they are the coordinates: exact to
//! the last bit that the file has, also far from the origin. All points are read, withheld ones too.

use super::records::{ColourColumns, Column, Kind, Records};
use super::{CloudFormat, CloudReadError, Input, RawCloud};
use crate::mesh::Place;
use glam::DVec3;

/// Bytes of a point of each format, without extra bytes.
const SIZES: [usize; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// What is needed of a header.
pub(super) struct Header {
    /// Format of the points, 0 to 10.
    pub(super) format: u8,
    pub(super) compressed: bool,
    /// Bytes of a point.
    pub(super) record: usize,
    pub(super) count: u64,
    /// First byte of the points.
    pub(super) points: usize,
    /// Where the records about the file begin, and how many there are.
    #[cfg_attr(not(feature = "laz"), expect(dead_code, reason = "only what unpacks points looks for them"))]
    pub(super) notes: (usize, u32),
    factor: DVec3,
    offset: DVec3,
}

pub(super) fn parse(input: &Input<'_>) -> Result<RawCloud, CloudReadError> {
    let header = header(input)?;
    input.check_count(header.count)?;
    if header.compressed {
        #[cfg(feature = "laz")]
        return super::laz::parse(input, &header);
        #[cfg(not(feature = "laz"))]
        return Err(CloudReadError::unsupported(
            CloudFormat::Las,
            "it is compressed (LAZ) and this program was built without the feature `laz`; \
             build it with that or save the file as LAS",
        ));
    }
    let block = &input.bytes[header.points..];
    let room = (block.len() / header.record) as u64;
    if header.count > room {
        return Err(input.truncated(header.count, room));
    }
    header.read(block, header.record, header.colours(), header.count as usize, input)
}

impl Header {
    /// Where in a record the colour is.
    pub(super) fn colours(&self) -> Option<usize> {
        match self.format {
            2 => Some(20),
            3 | 5 => Some(28),
            7 | 8 | 10 => Some(30),
            _ => None,
        }
    }

    /// The points in a block of records of `stride` bytes, of which `count` fit in it, with colours at byte `colours` of each.
    pub(super) fn read(
        &self,
        block: &[u8],
        stride: usize,
        colours: Option<usize>,
        count: usize,
        input: &Input<'_>,
    ) -> Result<RawCloud, CloudReadError> {
        let three = |base: usize, kind: Kind| {
            [0, 1, 2].map(|k| Column { base: base + k * kind.size(), stride, kind })
        };
        let records = Records {
            block,
            count,
            big: false,
            points: three(0, Kind::I32),
            normals: None,
            colours: colours.map(|base| ColourColumns::Three(three(base, Kind::U16))),
            transform: Some((self.factor, self.offset)),
        };
        records.read(input)
    }
}

/// `N` bytes at `at`, as far as the header reaches.
pub(super) fn raw<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    raw(bytes, at).map(u16::from_le_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    raw(bytes, at).map(u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    raw(bytes, at).map(u64::from_le_bytes)
}

fn header(input: &Input<'_>) -> Result<Header, CloudReadError> {
    let bytes = input.bytes;
    if !bytes.starts_with(b"LASF") {
        return Err(input
            .malformed(Place::Byte(0), "the file does not begin with `LASF`; check that it is LAS or LAZ"));
    }
    let short = || {
        let problem = format!(
            "the file ends in its header, after {} bytes; it is cut short, export it again",
            bytes.len()
        );
        input.malformed(Place::Header, problem)
    };
    let [major, minor] = raw::<2>(bytes, 24).ok_or_else(short)?;
    if major != 1 || minor > 4 {
        let feature = format!("version {major}.{minor}; 1.0 to 1.4 are read, save it as one of these");
        return Err(CloudReadError::unsupported(CloudFormat::Las, feature));
    }
    let (read, wide) = (|at| u32_at(bytes, at).ok_or_else(short), |at| u64_at(bytes, at).ok_or_else(short));
    let size = usize::from(u16_at(bytes, 94).ok_or_else(short)?);
    let points = read(96)? as usize;
    let notes = read(100)?;
    let [format] = raw::<1>(bytes, 104).ok_or_else(short)?;
    let record = usize::from(u16_at(bytes, 105).ok_or_else(short)?);
    let mut count = u64::from(read(107)?);
    let number = |at| wide(at).map(f64::from_bits);
    let factor = DVec3::new(number(131)?, number(139)?, number(147)?);
    let offset = DVec3::new(number(155)?, number(163)?, number(171)?);
    let least = if minor == 4 { 375 } else { 227 };
    if size < least || bytes.len() < least {
        let problem =
            format!("the header has {size} of {least} bytes or more; it is damaged, export it again");
        return Err(input.malformed(Place::Header, problem));
    }
    // Files of many points leave the old, short count at 0.
    if minor == 4 && count == 0 {
        count = wide(247)?;
    }
    if points < size || points > bytes.len() {
        let problem = format!(
            "points begin at byte {points}, the header ends at {size} and the file at {}; it is damaged or cut short",
            bytes.len()
        );
        return Err(input.malformed(Place::Byte(96), format!("{problem}, export it again")));
    }
    // Bit 7 marks compressed points; bit 6 was set by early compressors.
    let compressed = format & 0xc0 != 0;
    let format = format & 0x3f;
    let Some(&plain) = SIZES.get(usize::from(format)) else {
        let feature = format!("point format {format}; 0 to 10 are read, save it as one of these");
        return Err(CloudReadError::unsupported(CloudFormat::Las, feature));
    };
    if record < plain {
        let problem =
            format!("points of format {format} have {record} bytes and need {plain}; export it again");
        return Err(input.malformed(Place::Byte(105), problem));
    }
    if !(factor.is_finite() && offset.is_finite() && factor.cmpne(DVec3::ZERO).all()) {
        let problem =
            format!("factors are {factor} and offsets {offset}; expected finite numbers, correct them");
        return Err(input.malformed(Place::Byte(131), problem));
    }
    Ok(Header { format, compressed, record, count, points, notes: (size, notes), factor, offset })
}
