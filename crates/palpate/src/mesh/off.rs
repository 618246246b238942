//! Object File Format in text: `OFF`, with any of the prefixes for colours, normals and texture coordinates, which are
//! passed over.

use super::read_error::shown;
use super::soup::Soup;
use super::text::Text;
use super::{Format, Place, RawMesh, ReadError};
use glam::DVec3;

/// Shortest vertex line and shortest face line, `0 0 0` and `3 0 1 2` with a line end [bytes].
const VERTEX_BYTES: usize = 6;
const FACE_BYTES: usize = 8;

/// The prefix before `OFF` at the start of the file (`C`, `N`, `ST`, …) and the offset behind the keyword.
pub(super) fn header(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let mut text = Text::new(bytes, 0, Format::Off);
    text.skip_space_and_comments();
    let start = text.at;
    let word = text.word();
    let k = word.windows(3).position(|w| w == b"OFF")?;
    let prefix = &word[..k];
    // `OFF8 6 12`: a count may follow without a blank.
    let clean = word[k + 3..].iter().all(u8::is_ascii_digit);
    (clean && prefix.iter().all(|b| b"STCN4n".contains(b))).then_some((prefix, start + k + 3))
}

/// Reads an OFF file.
pub(super) fn parse(bytes: &[u8], scale: f64) -> Result<RawMesh, ReadError> {
    let mut text = Text::new(bytes, 0, Format::Off);
    text.skip_space_and_comments();
    let Some((prefix, behind)) = header(bytes) else {
        let found = shown(text.word());
        return Err(
            text.fail(format!("the file begins with {found}, not with `OFF`; check that it is an OFF file"))
        );
    };
    if let Some(&b) = prefix.iter().find(|b| b"4n".contains(b)) {
        let what = if b == b'4' { "4 coordinates" } else { "n dimensions" };
        let feature = format!("vertices with {what}; only 3 coordinates are read, export it as plain OFF");
        return Err(ReadError::unsupported(Format::Off, text.place(), feature));
    }
    text.at = behind;
    text.skip_blanks();
    if bytes[text.at..].starts_with(b"BINARY") {
        let feature = "binary OFF is not read; export it as text OFF or as PLY";
        return Err(ReadError::unsupported(Format::Off, text.place(), feature));
    }
    let vertices = count(&mut text, "the number of vertices", VERTEX_BYTES)?;
    let faces = count(&mut text, "the number of faces", FACE_BYTES)?;
    // The number of edges may follow; nobody needs it.
    text.skip_line();
    let mut soup = Soup::new(Format::Off, scale, 0);
    soup.reserve(vertices, faces);
    for i in 0..vertices {
        text.skip_space_and_comments();
        let at = text.at;
        let mut p = [0.0; 3];
        for (value, name) in p.iter_mut().zip(["x", "y", "z"]) {
            text.skip_blanks();
            *value = text.number_of(name, "vertex", i, vertices)?;
        }
        soup.vertex(DVec3::from_array(p), at);
        text.skip_line();
    }
    let mut corners = Vec::new();
    for i in 0..faces {
        text.skip_space_and_comments();
        let at = text.at;
        face(&mut text, &mut corners, i, faces, vertices)?;
        soup.face(&corners, at, || Place::line_of(bytes, at))?;
        text.skip_line();
    }
    soup.finish(|at| Place::line_of(bytes, at))
}

/// `n a b c …`; a colour may follow.
fn face(
    text: &mut Text<'_>,
    corners: &mut Vec<u32>,
    i: usize,
    faces: usize,
    vertices: usize,
) -> Result<(), ReadError> {
    corners.clear();
    let count = text.integer_of("the number of corners", "face", i, faces)?;
    if count < 0 {
        return Err(text.fail(format!("face {i} has {count} corners; a face needs 3 or more")));
    }
    for _ in 0..count {
        text.skip_blanks();
        let start = text.at;
        let index = text.integer_of("a corner", "face", i, faces)?;
        corners.push(u32::try_from(index).map_err(|_| {
            let place = Place::line_of(text.bytes, start);
            ReadError::IndexOutOfRange { file: None, format: Format::Off, place, face: i, index, vertices }
        })?);
    }
    Ok(())
}

/// A count of things that take `least` bytes each, checked against what is left of the file.
fn count(text: &mut Text<'_>, what: &str, least: usize) -> Result<usize, ReadError> {
    text.skip_space_and_comments();
    let start = text.at;
    let n = text.integer(what, None)?;
    // The last line may lack its line end.
    let room = (text.remaining() + 1) / least;
    match usize::try_from(n) {
        Ok(n) if n <= room => Ok(n),
        _ => {
            text.at = start;
            Err(text.fail(format!(
                "{what} is {n} but the file has room for {room}; it is cut short, export it again"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fails;
    use super::*;

    const SQUARE: &str = "OFF\n4 1 4\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n";

    #[test]
    fn headers_comments_and_colours_do_not_change_the_mesh() {
        let plain = parse(SQUARE.as_bytes(), 1.0).unwrap();
        assert_eq!(plain.triangles.len(), 2);
        for (from, to) in [
            ("OFF\n", "  # first\n\n OFF "),
            ("OFF\n", "OFF"),
            ("OFF\n", "COFF\n"),
            ("OFF\n", "STCNOFF # all\n\n"),
            ("4 1 4", "4 1"),
            ("4 1 4", "4 1 4 # counts"),
            ("1 0 0\n", "1 0 0 nan nan nan # normal\n\n"),
            ("4 0 1 2 3\n", "4 0 1 2 3 255 0 0"),
            ("4 0 1 2 3\n", "\r\n4  0\t1 2 3\r\n"),
        ] {
            let text = SQUARE.replacen(from, to, 1);
            assert_eq!(parse(text.as_bytes(), 1.0).unwrap(), plain, "{text:?}");
        }
    }

    #[test]
    fn errors_name_the_line_and_the_value() {
        for (from, to, wanted) in [
            ("OFF", "OF", &["line 1", "`OF`"][..]),
            ("OFF", "4OFF", &["4 coordinates"]),
            ("OFF", "OFF BINARY", &["binary"]),
            ("4 1 4", "four 1 4", &["line 2", "`four`"]),
            ("4 1 4", "-4 1 4", &["line 2", "-4"]),
            ("4 1 4", "999999999999 1 4", &["line 2", "999999999999", "room for"]),
            ("4 1 4", "4 3 4", &["line 8", "face 1 of 3"]),
            ("4 1 4", "4 0 4", &["4 vertices", "0 faces"]),
            ("4 1 4", "5 1 4", &["face 0 of 1", "line 8"]),
            ("1 1 0", "1 x 0", &["line 5", "vertex 2 of 4", "`x`"]),
            ("1 1 0", "1 nan 0", &["line 5", "vertex 2", "NaN"]),
            ("4 0 1 2 3", "4 0 1 2 4", &["line 7", "face 0", "vertex 4", "4 vertices"]),
            ("4 0 1 2 3", "4 0 1 2 -1", &["line 7", "vertex -1"]),
            ("4 0 1 2 3", "2 0 1 2 3", &["line 7", "2 corners"]),
            ("4 0 1 2 3", "5 0 1 2 3", &["line 7", "a corner", "line ends"]),
        ] {
            fails(SQUARE.replacen(from, to, 1).as_bytes(), Format::Off, wanted);
        }
    }
}
