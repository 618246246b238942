//! The header of a PLY file: which elements follow, of which properties, in which encoding.

use super::read_error::shown;
use super::text::Text;
use super::{Format, Place, ReadError};

/// How the body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Text,
    Little,
    Big,
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    fn named(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"char" | b"int8" => Self::I8,
            b"uchar" | b"uint8" => Self::U8,
            b"short" | b"int16" => Self::I16,
            b"ushort" | b"uint16" => Self::U16,
            b"int" | b"int32" => Self::I32,
            b"uint" | b"uint32" => Self::U32,
            b"float" | b"float32" => Self::F32,
            b"double" | b"float64" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes in a binary file.
    #[inline]
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The number at the start of `bytes`, exact; None when they are too few.
    #[inline]
    pub(crate) fn read(self, bytes: &[u8], encoding: Encoding) -> Option<f64> {
        let big = encoding == Encoding::Big;
        Some(match self {
            Self::I8 => f64::from(*bytes.first()? as i8),
            Self::U8 => f64::from(*bytes.first()?),
            Self::I16 => f64::from(two(bytes, big)? as i16),
            Self::U16 => f64::from(two(bytes, big)?),
            Self::I32 => f64::from(four(bytes, big)? as i32),
            Self::U32 => f64::from(four(bytes, big)?),
            Self::F32 => f64::from(f32::from_bits(four(bytes, big)?)),
            Self::F64 => {
                let raw = *bytes.first_chunk::<8>()?;
                f64::from_bits(if big { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) })
            }
        })
    }
}

#[inline]
fn two(bytes: &[u8], big: bool) -> Option<u16> {
    let raw = *bytes.first_chunk::<2>()?;
    Some(if big { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) })
}

#[inline]
fn four(bytes: &[u8], big: bool) -> Option<u32> {
    let raw = *bytes.first_chunk::<4>()?;
    Some(if big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
}

/// A number, or a list of numbers when `list` gives the type of its length.
pub(crate) struct Property<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) list: Option<Scalar>,
    pub(crate) value: Scalar,
}

/// `count` records of the same properties.
pub(crate) struct Element<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) count: usize,
    pub(crate) properties: Vec<Property<'a>>,
    /// Line of the header that declares it.
    line: Place,
}

impl Element<'_> {
    /// Bytes of one record in a binary file; None when a list makes them vary.
    pub(crate) fn fixed_size(&self) -> Option<usize> {
        self.properties.iter().map(|p| if p.list.is_some() { None } else { Some(p.value.size()) }).sum()
    }

    /// The name for messages.
    pub(crate) fn title(&self) -> &'static str {
        match self.name {
            b"vertex" => "vertex",
            b"face" => "face",
            b"tristrips" => "strip",
            _ => "element",
        }
    }

    /// An error at the declaration.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> ReadError {
        let problem = format!("element {}: {}", shown(self.name), problem.into());
        ReadError::malformed(Format::Ply, self.line, problem)
    }
}

pub(crate) struct Header<'a> {
    pub(crate) encoding: Encoding,
    pub(crate) elements: Vec<Element<'a>>,
    /// Offset of the first byte behind the header.
    pub(crate) body: usize,
}

impl<'a> Header<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let mut text = Text::new(bytes, 0, Format::Ply);
        let magic = text.word();
        if magic != b"ply" {
            text.at = 0;
            let found = shown(magic);
            return Err(text
                .fail(format!("the file begins with {found}, not with `ply`; check that it is a PLY file")));
        }
        let first_end = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(bytes.len());
        let crlf = bytes[first_end..].starts_with(b"\r\n");
        let mut encoding = None;
        let mut elements: Vec<Element<'a>> = Vec::new();
        loop {
            end_line(&mut text, crlf);
            text.skip_blanks();
            let start = text.at;
            let keyword = text.word();
            text.skip_blanks();
            match keyword {
                b"format" => encoding = Some(format(&mut text)?),
                b"element" => {
                    let name = text.word();
                    text.skip_blanks();
                    let n = text.integer("the number of elements", None)?;
                    let count = usize::try_from(n).map_err(|_| {
                        text.fail(format!("element {} has count {n}; correct it", shown(name)))
                    })?;
                    elements.push(Element { name, count, properties: vec![], line: text.place() });
                }
                b"property" => {
                    let property = property(&mut text)?;
                    let Some(element) = elements.last_mut() else {
                        return Err(text.fail("a property comes before any element; correct the header"));
                    };
                    element.properties.push(property);
                }
                b"comment" | b"obj_info" => {}
                b"end_header" => break,
                b"" if text.at < bytes.len() => {}
                _ => {
                    text.at = start;
                    let problem = match keyword {
                        [] => {
                            "the file ends before `end_header`; it is cut short, export it again".to_owned()
                        }
                        word => format!("found {} in the header; correct it", shown(word)),
                    };
                    return Err(text.fail(problem));
                }
            }
        }
        let Some(encoding) = encoding else {
            let problem = "the header has no `format` line; add `format ascii 1.0` or the binary one";
            return Err(ReadError::malformed(Format::Ply, Place::Header, problem));
        };
        end_line(&mut text, crlf);
        Ok(Self { encoding, elements, body: text.at })
    }
}

/// Moves behind the end of this line. Only a file whose lines end in CR LF loses an LF behind a CR: a binary body may
/// itself begin with that byte.
fn end_line(text: &mut Text<'_>, crlf: bool) {
    text.skip_line();
    if crlf && text.bytes[..text.at].ends_with(b"\r") && text.peek() == Some(b'\n') {
        text.at += 1;
    }
}

fn format(text: &mut Text<'_>) -> Result<Encoding, ReadError> {
    let start = text.at;
    let encoding = match text.word() {
        b"ascii" => Encoding::Text,
        b"binary_little_endian" => Encoding::Little,
        b"binary_big_endian" => Encoding::Big,
        word => {
            text.at = start;
            let found = shown(word);
            return Err(text.fail(format!(
                "format is {found}; expected ascii, binary_little_endian or binary_big_endian"
            )));
        }
    };
    text.skip_blanks();
    match text.word() {
        b"1.0" => Ok(encoding),
        word => Err(text.fail(format!("version is {}; only 1.0 exists, correct the header", shown(word)))),
    }
}

fn property<'a>(text: &mut Text<'a>) -> Result<Property<'a>, ReadError> {
    let scalar = |text: &mut Text<'a>, word: &[u8]| {
        Scalar::named(word).ok_or_else(|| {
            text.fail(format!("property type is {}; expected one like float, int or uchar", shown(word)))
        })
    };
    let mut kind = text.word();
    let mut list = None;
    if kind == b"list" {
        text.skip_blanks();
        let length = text.word();
        list = Some(scalar(text, length)?);
        text.skip_blanks();
        kind = text.word();
    }
    let value = scalar(text, kind)?;
    text.skip_blanks();
    let name = text.word();
    if name.is_empty() {
        return Err(text.fail("a property has no name; correct the header"));
    }
    Ok(Property { name, list, value })
}
