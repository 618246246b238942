//! PCD 0.7 of the Point Cloud Library: text, binary and compressed.

use super::records::{ColourColumns, Column, Kind, Records};
use super::rows::{self, PACKED, Role, Rows, line_end, next_line};
use super::{CloudFormat, CloudReadError, Input, RawCloud, colour, lzf};
use crate::mesh::Place;
use crate::mesh::read_error::shown;
use glam::DVec3;

/// How the points are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Text,
    Binary,
    Compressed,
}

/// A field: `count` numbers of a kind for each point.
struct Field {
    kind: Kind,
    count: usize,
    role: Role,
}

struct Header {
    fields: Vec<Field>,
    points: usize,
    encoding: Encoding,
    viewpoint: Option<DVec3>,
    /// First byte behind the header.
    body: usize,
}

/// Whether the file begins as a PCD file does.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    bytes.starts_with(b"# .PCD") || bytes.starts_with(b"VERSION 0.7") || bytes.starts_with(b"VERSION .7")
}

pub(super) fn parse(input: &Input<'_>) -> Result<RawCloud, CloudReadError> {
    let header = header(input)?;
    let count = header.points;
    let body = &input.bytes[header.body..];
    let cloud = match header.encoding {
        Encoding::Text => text(input, &header),
        Encoding::Binary => {
            let stride = header.record()?;
            let room = body.len() / stride;
            if count > room {
                return Err(input.truncated(count as u64, room as u64));
            }
            header.records(body, false)?.read(input)
        }
        Encoding::Compressed => {
            let size = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?) as usize);
            let (Some(packed), Some(unpacked)) = (size(0), size(4)) else {
                return Err(input.truncated(count as u64, 0));
            };
            let place = Place::Byte(header.body);
            let Some(packed) = body[8..].get(..packed) else {
                let problem =
                    format!("{packed} compressed bytes declared, {} there; export it again", body.len() - 8);
                return Err(input.malformed(place, problem));
            };
            let stride = header.record()?;
            if count > unpacked / stride {
                return Err(input.truncated(count as u64, (unpacked / stride) as u64));
            }
            let Some(block) = lzf::unpack(packed, unpacked) else {
                let problem = format!("the compressed data does not give {unpacked} bytes; export it again");
                return Err(input.malformed(place, problem));
            };
            header.records(&block, true)?.read(input)
        }
    }?;
    Ok(RawCloud { viewpoint: header.viewpoint.map(|v| v * input.scale), ..cloud })
}

fn text(input: &Input<'_>, header: &Header) -> Result<RawCloud, CloudReadError> {
    let count = header.points;
    // Two bytes for each number at least, but for the last: refuses a count that would take long to disprove.
    let Some(to) = Some(count)
        .filter(|&n| n <= input.bytes.len() - header.body)
        .and_then(|n| rows::rows_end(input.bytes, header.body, n))
    else {
        let mut there = 0;
        let mut at = header.body;
        while let Some(start) = next_line(input.bytes, at, false) {
            at = line_end(input.bytes, start);
            there += 1;
        }
        return Err(input.truncated(count as u64, there));
    };
    let mut roles: Vec<Role> = Vec::new();
    for field in &header.fields {
        // The header's own length bounds the fields, the row's length the columns of a histogram.
        if roles.len() + field.count > to {
            return Err(
                input.malformed(Place::Header, "more columns than the rows have bytes; correct COUNT")
            );
        }
        roles.push(field.role);
        roles.extend(std::iter::repeat_n(None, field.count - 1));
    }
    let used = roles.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    roles.truncate(used);
    let packed = header.fields.iter().find(|f| f.role == Some(PACKED));
    let unpack = if packed.is_some_and(|f| f.kind.is_float()) { packed_float } else { packed_whole };
    let float = header.fields.iter().any(|f| matches!(f.role, Some(6..9)) && f.kind.is_float());
    let range = colour::Range::of_type(float);
    Rows { text: input.bytes, from: header.body, to, roles, exact: false, comments: false, range, unpack }
        .read(input)
}

fn packed_whole(value: f64) -> [u8; 3] {
    colour::unpacked(value as u32)
}

/// Either the bits of the float are the colour, then it is tiny or huge, or its value is, as older files have it.
fn packed_float(value: f64) -> [u8; 3] {
    if (1.0..16_777_216.0).contains(&value) {
        packed_whole(value)
    } else {
        colour::unpacked((value as f32).to_bits())
    }
}

impl Header {
    /// Bytes of a point; not 0.
    fn record(&self) -> Result<usize, CloudReadError> {
        let sizes = self.fields.iter().map(|f| f.kind.size().checked_mul(f.count));
        let total = sizes.into_iter().try_fold(0usize, |sum, size| sum.checked_add(size?));
        total.filter(|&t| t > 0).ok_or_else(|| {
            CloudReadError::malformed(
                CloudFormat::Pcd,
                Place::Header,
                "a point has no size; correct SIZE and COUNT",
            )
        })
    }

    /// `planar`: each field of all points behind the other, as compressed files have it. The room was checked.
    fn records<'a>(&self, block: &'a [u8], planar: bool) -> Result<Records<'a>, CloudReadError> {
        let stride = self.record()?;
        let column = |role: u8| {
            let k = self.fields.iter().position(|f| f.role == Some(role))?;
            let before: usize = self.fields[..k].iter().map(|f| f.kind.size() * f.count).sum();
            let Field { kind, count, .. } = self.fields[k];
            Some(if planar {
                Column { base: before * self.points, stride: kind.size() * count, kind }
            } else {
                Column { base: before, stride, kind }
            })
        };
        let three = |role: u8| Some([column(role)?, column(role + 1)?, column(role + 2)?]);
        let points = three(0).ok_or_else(|| {
            CloudReadError::malformed(CloudFormat::Pcd, Place::Header, "no positions; export with x, y and z")
        })?;
        let packed = column(PACKED).filter(|c| c.kind.size() == 4).map(ColourColumns::Packed);
        let colours = three(6).map(ColourColumns::Three).or(packed);
        Ok(Records {
            block,
            count: self.points,
            big: false,
            points,
            normals: three(3),
            colours,
            transform: None,
        })
    }
}

fn header(input: &Input<'_>) -> Result<Header, CloudReadError> {
    let bytes = input.bytes;
    let mut names: Vec<&[u8]> = Vec::new();
    let (mut sizes, mut kinds, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut width, mut height, mut points) = (None, 1, None);
    let mut viewpoint = None;
    let mut at = 0;
    let (encoding, body) = loop {
        let Some(start) = next_line(bytes, at, true) else {
            let place = Place::line_of(bytes, bytes.len());
            return Err(
                input.malformed(place, "the file ends before `DATA`; it is cut short, export it again")
            );
        };
        let end = line_end(bytes, start);
        at = end;
        let malformed = |problem: String| input.malformed(Place::line_of(bytes, start), problem);
        let mut words = bytes[start..end].split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let keyword = words.next().unwrap_or_default();
        let number = |word: Option<&[u8]>| {
            let word = word.unwrap_or_default();
            let value = std::str::from_utf8(word).ok().and_then(|w| w.parse::<usize>().ok());
            value.ok_or_else(|| {
                malformed(format!("{} is {}; expected a whole number", shown(keyword), shown(word)))
            })
        };
        match keyword {
            b"VERSION" => {}
            b"FIELDS" | b"COLUMNS" => names = words.collect(),
            b"SIZE" => sizes = words.map(|w| number(Some(w))).collect::<Result<_, _>>()?,
            b"TYPE" => kinds = words.collect::<Vec<_>>(),
            b"COUNT" => counts = words.map(|w| number(Some(w))).collect::<Result<_, _>>()?,
            b"WIDTH" => width = Some(number(words.next())?),
            b"HEIGHT" => height = number(words.next())?,
            b"POINTS" => points = Some(number(words.next())?),
            b"VIEWPOINT" => {
                let mut next = || fast_float2::parse::<f64, _>(words.next().unwrap_or_default()).ok();
                viewpoint = (|| Some(DVec3::new(next()?, next()?, next()?)))();
            }
            b"DATA" => {
                let encoding = match words.next().unwrap_or_default() {
                    b"ascii" => Encoding::Text,
                    b"binary" => Encoding::Binary,
                    b"binary_compressed" => Encoding::Compressed,
                    word => {
                        let found = shown(word);
                        return Err(malformed(format!(
                            "DATA is {found}; expected ascii, binary or binary_compressed"
                        )));
                    }
                };
                // Binary data may itself begin with a line feed: just one line end belongs to the header.
                let feed = if bytes[end..].starts_with(b"\r\n") { 2 } else { 1 };
                break (encoding, (end + feed).min(bytes.len()));
            }
            word => {
                return Err(malformed(format!(
                    "found {} in the header; check that it is a PCD file",
                    shown(word)
                )));
            }
        }
    };
    let points = match (width.map(|w| w.checked_mul(height)), points) {
        (Some(None), _) => {
            return Err(input.malformed(Place::Header, "WIDTH times HEIGHT is too large; correct them"));
        }
        (Some(Some(grid)), Some(points)) if grid != points => {
            let problem = format!("POINTS is {points} but WIDTH times HEIGHT is {grid}; correct the header");
            return Err(input.malformed(Place::Header, problem));
        }
        (Some(Some(grid)), _) => grid,
        (None, Some(points)) => points,
        (None, None) => {
            return Err(input.malformed(Place::Header, "neither POINTS nor WIDTH is given; add POINTS"));
        }
    };
    let n = names.len();
    // Old files may leave out what is usual: one float of four bytes for each field.
    if sizes.is_empty() {
        sizes = vec![4; n];
    }
    if kinds.is_empty() {
        kinds = vec![b"F"; n];
    }
    if counts.is_empty() {
        counts = vec![1; n];
    }
    if [sizes.len(), kinds.len(), counts.len()] != [n; 3] {
        let problem = format!(
            "{n} FIELDS but {} SIZE, {} TYPE and {} COUNT; correct the header",
            sizes.len(),
            kinds.len(),
            counts.len()
        );
        return Err(input.malformed(Place::Header, problem));
    }
    let roles = rows::roles(names.iter().copied()).map_err(|missing| CloudReadError::NoCoordinate {
        file: None,
        format: CloudFormat::Pcd,
        missing,
        found: shown(&names.join(&b' ')),
    })?;
    let mut fields = Vec::with_capacity(n);
    for (k, role) in roles.into_iter().enumerate() {
        let kind = match (kinds[k], sizes[k]) {
            (b"I", 1) => Kind::I8,
            (b"U", 1) => Kind::U8,
            (b"I", 2) => Kind::I16,
            (b"U", 2) => Kind::U16,
            (b"I", 4) => Kind::I32,
            (b"U", 4) => Kind::U32,
            (b"I", 8) => Kind::I64,
            (b"U", 8) => Kind::U64,
            (b"F", 4) => Kind::F32,
            (b"F", 8) => Kind::F64,
            (kind, size) => {
                let problem = format!("field {} has TYPE {} and SIZE {size}", shown(names[k]), shown(kind));
                let problem = format!("{problem}; expected I or U of 1, 2, 4 or 8 bytes or F of 4 or 8");
                return Err(input.malformed(Place::Header, problem));
            }
        };
        // A field without numbers holds nothing; a coordinate must be one number.
        let count = counts[k];
        if count == 0 || (count > 1 && role.is_some()) {
            let problem = format!("field {} has COUNT {count}; expected 1", shown(names[k]));
            return Err(input.malformed(Place::Header, problem));
        }
        fields.push(Field { kind, count, role });
    }
    Ok(Header { fields, points, encoding, viewpoint, body })
}
