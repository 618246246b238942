//! XYZ, CSV, TXT and PTS: what the columns are; the rows are read in `rows`.

use super::rows::{self, Role, Rows, is_comment, line_end, next_line, words};
use super::{CloudFormat, CloudReadError, Input, RawCloud, colour};
use crate::mesh::Place;
use crate::mesh::read_error::shown;

/// Rows that decide what columns without names are.
const PROBED: usize = 64;
/// More columns than anyone writes; those behind are not looked at.
const MOST_COLUMNS: usize = 256;
/// Bytes that tell the format.
const WINDOW: usize = 4096;

pub(super) fn parse(input: &Input<'_>) -> Result<RawCloud, CloudReadError> {
    let text = input.bytes;
    if let Some(at) = text[..text.len().min(WINDOW)].iter().position(|&b| b == 0) {
        let problem = "found a byte 0, this is no text; give the file the ending of its format";
        return Err(input.malformed(Place::Byte(at), problem));
    }
    let Plan { from, roles } = plan(text)?;
    let range = colour::Range::default();
    Rows { text, from, to: text.len(), roles, exact: false, comments: true, range, unpack: |_| [0; 3] }
        .read(input)
}

/// Whether text is rows of three numbers or more, as far as its first lines tell.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(WINDOW)];
    if head.contains(&0) {
        return false;
    }
    // A line that the window cuts off tells nothing.
    let last = head.iter().rposition(|b| matches!(b, b'\n' | b'\r')).unwrap_or(0);
    let head = if head.len() < bytes.len() { &head[..last] } else { head };
    let Ok(Plan { from, roles }) = plan(head) else { return false };
    let Some(start) = next_line(head, from, true) else { return false };
    let row = words(&head[start..line_end(head, start)], MOST_COLUMNS);
    row.len() >= roles.len()
        && roles.iter().zip(row).all(|(role, word)| role.is_none() || number(word).is_some())
}

/// Where the rows begin and what their columns hold, up to the last that is used.
struct Plan {
    from: usize,
    roles: Vec<Role>,
}

fn plan(text: &[u8]) -> Result<Plan, CloudReadError> {
    let malformed = |at, problem: String| {
        Err(CloudReadError::malformed(CloudFormat::Xyz, Place::line_of(text, at), problem))
    };
    let mut from = 0;
    let mut counted = false;
    let (mut row, first) = loop {
        let Some(start) = next_line(text, from, true) else {
            return Err(CloudReadError::NoPoints { file: None, format: CloudFormat::Xyz, skipped: 0 });
        };
        let row = words(&text[start..line_end(text, start)], MOST_COLUMNS);
        let lone = matches!(row[..], [word] if !word.is_empty() && word.iter().all(u8::is_ascii_digit));
        if counted || !lone {
            break (start, row);
        }
        counted = true;
        from = line_end(text, start);
    };
    let named = if first.iter().all(|w| number(w).is_none()) {
        from = line_end(text, row);
        if first.iter().all(|w| rows::role(w).is_none()) {
            let found = shown(first.first().copied().unwrap_or_default());
            return malformed(
                row,
                format!("expected numbers or names of columns but found {found}; correct it"),
            );
        }
        let roles = rows::roles(first.iter().copied()).map_err(|missing| CloudReadError::NoCoordinate {
            file: None,
            format: CloudFormat::Xyz,
            missing,
            found: shown(&text[row..from]),
        })?;
        let Some(start) = next_line(text, from, true) else {
            return Err(CloudReadError::NoPoints { file: None, format: CloudFormat::Xyz, skipped: 0 });
        };
        row = start;
        Some(roles)
    } else {
        comment_before(text, row)
            .map(|line| words(line, MOST_COLUMNS))
            .filter(|names| names.len() == first.len())
            .and_then(|names| rows::roles(names.into_iter()).ok())
    };
    let line = &text[row..line_end(text, row)];
    if line.contains(&b';') && line.contains(&b',') {
        let problem = format!("{} has commas and semicolons; write numbers with decimal points", shown(line));
        return malformed(row, problem);
    }
    let columns = words(line, MOST_COLUMNS).len();
    if columns < 3 {
        let problem = format!("{} has {columns} columns; a point needs x, y and z", shown(line));
        return malformed(row, problem);
    }
    let mut roles = named.unwrap_or_else(|| guess(text, row, columns, counted));
    // A single number for a colour has no meaning that all agree on here.
    roles.iter_mut().filter(|r| **r == Some(rows::PACKED)).for_each(|r| *r = None);
    let used = roles.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    roles.truncate(used);
    Ok(Plan { from, roles })
}

/// The comment on the line before the one that begins at `row`, without its mark.
fn comment_before(text: &[u8], row: usize) -> Option<&[u8]> {
    let before = text[..row].trim_ascii_end();
    let start = before.iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |n| n + 1);
    let line = before[start..].trim_ascii_start();
    is_comment(line).then(|| {
        let name = line.iter().position(|b| !matches!(b, b'#' | b'/' | b' ' | b'\t'));
        &line[name.unwrap_or(line.len())..]
    })
}

/// What columns without names hold, by the rules that the module's documentation states.
fn guess(text: &[u8], row: usize, columns: usize, counted: bool) -> Vec<Role> {
    let mut roles: Vec<Role> = (0..columns).map(|c| u8::try_from(c).ok().filter(|&c| c < 3)).collect();
    let mut set = |first: usize, role: u8| {
        roles[first..first + 3].iter_mut().zip(role..).for_each(|(slot, role)| *slot = Some(role));
    };
    let mut probed: Vec<Vec<f64>> = Vec::new();
    let mut at = row;
    while let Some(start) = next_line(text, at, true).filter(|_| probed.len() < PROBED) {
        at = line_end(text, start);
        let values = words(&text[start..at], 9);
        probed.push(values.into_iter().map(|w| number(w).unwrap_or(f64::NAN)).collect());
    }
    let three = |first: usize| probed.iter().map(move |row| row.get(first..first + 3).unwrap_or(&[f64::NAN]));
    let normal = |first: usize| {
        let length = |n: &[f64]| n.iter().map(|v| v * v).sum::<f64>().sqrt();
        let fits = |n: &[f64]| {
            n.iter().all(|v| v.abs() <= 1.0) && (length(n) == 0.0 || (length(n) - 1.0).abs() <= 0.05)
        };
        three(first).all(fits) && three(first).any(|n| length(n) > 0.0)
    };
    let colour = |first: usize| three(first).all(|c| c.iter().all(|v| (0.0..=65535.0).contains(v)));
    match columns {
        ..=5 => {}
        7 if counted && colour(4) => set(4, 6),
        7 if counted => {}
        _ if normal(3) => {
            set(3, 3);
            if columns >= 9 && colour(6) {
                set(6, 6);
            }
        }
        _ if colour(3) => {
            set(3, 6);
            if columns >= 9 && normal(6) {
                set(6, 3);
            }
        }
        _ => {}
    }
    roles
}

fn number(word: &[u8]) -> Option<f64> {
    fast_float2::parse::<f64, _>(word).ok()
}
