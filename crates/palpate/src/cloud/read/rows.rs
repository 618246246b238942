//! Rows of numbers in a text into points, in parallel over pieces of whole lines.

use super::{CloudReadError, Input, RawCloud, colour, unit};
use crate::mesh::Place;
use crate::mesh::read_error::shown;
use crate::par;
use glam::{DVec3, Vec3};

/// Bytes that one task reads, up to the end of a line.
const TASK: usize = 1 << 18;

/// What a column holds: 0 to 2 the position, 3 to 5 the normal, 6 to 8 the colour, 9 a colour packed into one number.
pub(super) type Role = Option<u8>;

/// The role of a packed colour.
pub(super) const PACKED: u8 = 9;

/// The roles of named columns, the first of a name; normals and colours only where they are complete.
///
/// Fails with the name of the coordinate that is not there.
pub(super) fn roles<'a>(names: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Role>, &'static str> {
    let mut seen = [false; 10];
    let mut roles: Vec<Role> = Vec::new();
    for name in names {
        let role = role(name).filter(|&r| !std::mem::replace(&mut seen[usize::from(r)], true));
        roles.push(role);
    }
    for (k, name) in ["x", "y", "z"].into_iter().enumerate() {
        if !seen[k] {
            return Err(name);
        }
    }
    let normal = seen[3..6].iter().all(|&s| s);
    let colour = seen[6..9].iter().all(|&s| s);
    for role in &mut roles {
        let keep = match role {
            Some(3..6) => normal,
            Some(6..9) => colour,
            Some(PACKED) => !colour,
            _ => true,
        };
        role.take_if(|_| !keep);
    }
    Ok(roles)
}

/// The role that a name stands for, in upper or lower case; quotes around it and a unit in brackets do not matter.
pub(super) fn role(name: &[u8]) -> Role {
    let name = name.strip_prefix(b"\"").unwrap_or(name);
    let end = name.iter().position(|b| matches!(b, b'"' | b'[' | b'(')).unwrap_or(name.len());
    Some(match name[..end].to_ascii_lowercase().as_slice() {
        b"x" => 0,
        b"y" => 1,
        b"z" => 2,
        b"nx" | b"normal_x" | b"normalx" => 3,
        b"ny" | b"normal_y" | b"normaly" => 4,
        b"nz" | b"normal_z" | b"normalz" => 5,
        b"r" | b"red" | b"diffuse_red" => 6,
        b"g" | b"green" | b"diffuse_green" => 7,
        b"b" | b"blue" | b"diffuse_blue" => 8,
        b"rgb" | b"rgba" => PACKED,
        _ => return None,
    })
}

/// Rows to read, and what their columns hold.
pub(super) struct Rows<'a> {
    /// The whole file, so that an error can count lines.
    pub(super) text: &'a [u8],
    /// The bytes that hold the rows.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) roles: Vec<Role>,
    /// Whether a row has just these columns, or may have more.
    pub(super) exact: bool,
    /// Whether lines that begin with `#` or `//` are passed over.
    pub(super) comments: bool,
    /// What is known of the colours before they are read.
    pub(super) range: colour::Range,
    pub(super) unpack: fn(f64) -> [u8; 3],
}

/// What one task reads.
struct Part {
    points: Vec<DVec3>,
    normals: Vec<Vec3>,
    colours: Vec<[f32; 3]>,
    range: colour::Range,
    skipped: usize,
    /// Place and column of the first word that is not what it should be.
    wrong: Option<(usize, usize)>,
}

impl Rows<'_> {
    pub(super) fn read(&self, input: &Input<'_>) -> Result<RawCloud, CloudReadError> {
        input.progress.stage("read points", (self.to - self.from) as u64);
        let mut pieces = Vec::new();
        let mut from = self.from;
        while from < self.to {
            let to = line_end(&self.text[..self.to], from.saturating_add(TASK).min(self.to));
            pieces.push((from, to));
            from = to;
        }
        let parts = par::map(pieces.len(), |k| {
            if input.progress.cancelled() {
                return None;
            }
            let (from, to) = pieces[k];
            let part = self.part(from, to, input.scale);
            input.progress.advance((to - from) as u64);
            Some(part)
        });
        // In order, so that the first error of the file is the one told, whoever found one first.
        let parts: Option<Vec<Part>> = parts.into_iter().collect();
        let parts = parts.ok_or(CloudReadError::Cancelled)?;
        if let Some((at, column)) = parts.iter().find_map(|p| p.wrong) {
            return Err(self.wrong(input, at, column));
        }
        let total: usize = parts.iter().map(|p| p.points.len()).sum();
        input.check_count(total as u64)?;
        let factor = parts.iter().fold(self.range, |r, p| r.join(p.range)).factor();
        let mut cloud = RawCloud { points: Vec::with_capacity(total), ..Default::default() };
        let mut normals = self.has(3).then(|| Vec::with_capacity(total));
        let mut colours = (self.has(6) || self.has(PACKED)).then(|| Vec::with_capacity(total));
        for mut part in parts {
            cloud.points.append(&mut part.points);
            cloud.skipped += part.skipped;
            if let Some(all) = &mut normals {
                all.append(&mut part.normals);
            }
            if let Some(all) = &mut colours {
                all.extend(part.colours.iter().map(|&c| colour::bytes(c, factor)));
            }
        }
        Ok(RawCloud { normals, colours, ..cloud })
    }

    fn has(&self, role: u8) -> bool {
        self.roles.contains(&Some(role))
    }

    fn part(&self, from: usize, to: usize, scale: f64) -> Part {
        let (normals, colours, packed) = (self.has(3), self.has(6), self.has(PACKED));
        let guess = (to - from) / (8 * self.roles.len().max(1));
        let mut part = Part {
            points: Vec::with_capacity(guess),
            normals: Vec::with_capacity(if normals { guess } else { 0 }),
            colours: Vec::with_capacity(if colours || packed { guess } else { 0 }),
            range: self.range,
            skipped: 0,
            wrong: None,
        };
        let bytes = &self.text[..to];
        let mut at = from;
        let mut v = [0.0; 10];
        while let Some(start) = next_line(bytes, at, self.comments) {
            match self.row(bytes, start, &mut v) {
                Ok(end) => at = end,
                Err(wrong) => {
                    part.wrong = Some(wrong);
                    break;
                }
            }
            let p = DVec3::new(v[0], v[1], v[2]) * scale;
            if !p.is_finite() {
                part.skipped += 1;
                continue;
            }
            part.points.push(p);
            if normals {
                part.normals.push(unit(DVec3::new(v[3], v[4], v[5])));
            }
            if packed {
                part.colours.push((self.unpack)(v[usize::from(PACKED)]).map(f32::from));
            } else if colours {
                let c = [v[6] as f32, v[7] as f32, v[8] as f32];
                part.range.add(c);
                part.colours.push(c);
            }
        }
        part
    }

    /// Reads the row that begins at `at` and returns where its line ends, or place and column of what is wrong.
    #[inline]
    fn row(&self, bytes: &[u8], mut at: usize, v: &mut [f64; 10]) -> Result<usize, (usize, usize)> {
        for (column, role) in self.roles.iter().enumerate() {
            at = skip_blanks(bytes, at);
            match role {
                Some(k) => match fast_float2::parse_partial::<f64, _>(&bytes[at..]) {
                    Ok((value, n)) if n > 0 && ends_word(bytes, at + n) => {
                        v[usize::from(*k)] = value;
                        at += n;
                    }
                    _ => return Err((at, column)),
                },
                None => {
                    let end = word_end(bytes, at);
                    // Between commas a word may be missing, at the end of a line it may not.
                    if end == at && !matches!(bytes.get(at), Some(b',' | b';')) {
                        return Err((at, column));
                    }
                    at = end;
                }
            }
            at = skip_blanks(bytes, at);
            at += usize::from(matches!(bytes.get(at), Some(b',' | b';')));
        }
        if self.exact && !matches!(bytes.get(at), None | Some(b'\n' | b'\r')) {
            return Err((at, self.roles.len()));
        }
        Ok(line_end(bytes, at))
    }

    #[cold]
    fn wrong(&self, input: &Input<'_>, at: usize, column: usize) -> CloudReadError {
        let word = &self.text[at..word_end(self.text, at).min(self.to)];
        let found = match (word.is_empty(), self.text.get(at)) {
            (false, _) => format!("found {}; correct it", shown(word)),
            (true, Some(b',' | b';')) => "it is empty; fill it in or leave the row out".to_owned(),
            (true, Some(_)) => "the line ends; complete it".to_owned(),
            (true, None) => "the file ends; it is cut short, export it again".to_owned(),
        };
        let problem = format!("expected a number in column {} but {found}", column + 1);
        input.malformed(Place::line_of(self.text, at), problem)
    }
}

/// The first byte of the next line that is neither empty nor a comment, from `at`, which is in no word; None at the end.
#[inline]
pub(super) fn next_line(bytes: &[u8], mut at: usize, comments: bool) -> Option<usize> {
    loop {
        while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)) {
            at += 1;
        }
        let rest = bytes.get(at..).filter(|r| !r.is_empty())?;
        if !(comments && is_comment(rest)) {
            return Some(at);
        }
        at = line_end(bytes, at);
    }
}

pub(super) fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#") || line.starts_with(b"//")
}

/// Where the line of byte `at` ends: at its line feed or carriage return, or behind the last byte.
#[inline]
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|b| matches!(b, b'\n' | b'\r')).map_or(bytes.len(), |n| at + n)
}

/// Where `rows` lines that are not empty end, from `from`; None when there are fewer.
pub(super) fn rows_end(bytes: &[u8], from: usize, rows: usize) -> Option<usize> {
    let mut at = from;
    for _ in 0..rows {
        at = line_end(bytes, next_line(bytes, at, false)?);
    }
    Some(at)
}

#[inline]
fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | 0x0b | 0x0c)) {
        at += 1;
    }
    at
}

#[inline]
fn ends_word(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at), None | Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | b',' | b';'))
}

#[inline]
fn word_end(bytes: &[u8], mut at: usize) -> usize {
    while !ends_word(bytes, at) {
        at += 1;
    }
    at
}

/// The words of a line, at most `most`, parted as those of a row are.
pub(super) fn words(line: &[u8], most: usize) -> Vec<&[u8]> {
    let mut out = Vec::new();
    let mut at = skip_blanks(line, 0);
    while at < line.len() && out.len() < most {
        let end = word_end(line, at);
        out.push(&line[at..end]);
        at = skip_blanks(line, end);
        at += usize::from(matches!(line.get(at), Some(b',' | b';')));
        at = skip_blanks(line, at);
    }
    out
}
