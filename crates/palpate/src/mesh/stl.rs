//! STL, binary and text. Triangles come without shared vertices; welding joins them.

use super::read_error::shown;
use super::soup::Soup;
use super::text::Text;
use super::{Format, Place, RawMesh, ReadError};
use glam::{DVec3, Vec3};

/// Header and triangle count of a binary file [bytes].
const HEADER: usize = 84;

/// One triangle of a binary file: normal, three corners, two attribute bytes.
const RECORD: usize = 50;

/// How far into a file `facet` or `endsolid` must show for it to count as text [bytes]. Longer than any solid name seen;
/// a binary header that begins with `solid` is 80 bytes.
const TEXT_WINDOW: usize = 4096;

/// Reads a binary or text STL file.
pub(super) fn parse(bytes: &[u8], scale: f64) -> Result<RawMesh, ReadError> {
    if !counts_agree(bytes) && is_text(bytes) { text(bytes, scale) } else { binary(bytes, scale) }
}

fn count(bytes: &[u8]) -> Option<usize> {
    let count = bytes.get(HEADER - 4..HEADER)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*count)).ok()
}

/// Whether the file is exactly as long as its triangle count says: then it is binary, whatever the header says.
pub(super) fn counts_agree(bytes: &[u8]) -> bool {
    count(bytes).and_then(|n| n.checked_mul(RECORD)?.checked_add(HEADER)) == Some(bytes.len())
}

/// Whether the file begins like a text file. Many binary headers begin with `solid` too, so a keyword must follow.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let body = bytes.trim_ascii_start();
    let window = &body[..body.len().min(TEXT_WINDOW)];
    let holds = |word: &[u8]| window.windows(word.len()).any(|w| w.eq_ignore_ascii_case(word));
    body.get(..5).is_some_and(|w| w.eq_ignore_ascii_case(b"solid"))
        && !window.contains(&0)
        && (body.len() < HEADER || holds(b"facet") || holds(b"endsolid"))
}

fn binary(bytes: &[u8], scale: f64) -> Result<RawMesh, ReadError> {
    let fail = |place, problem: String| Err(ReadError::malformed(Format::Stl, place, problem));
    let Some(count) = count(bytes) else {
        let problem = format!("the file has {} bytes, a binary STL has {HEADER} or more", bytes.len());
        return fail(Place::Byte(bytes.len()), format!("{problem}; it is cut short, export it again"));
    };
    // Padding of zeros or less than one triangle is tolerated; more means that the count is wrong.
    let body = &bytes[HEADER..];
    let room = body.len() / RECORD;
    let fits = count.checked_mul(RECORD).and_then(|n| body.split_at_checked(n));
    let Some((records, rest)) = fits else {
        let problem = format!("the header says {count} triangles but the file has room for {room}");
        return fail(
            Place::Byte(HEADER - 4),
            format!("{problem}; it is cut short or not an STL, export it again"),
        );
    };
    if rest.len() >= RECORD && rest.iter().any(|&b| b != 0) {
        let problem = format!("the header says {count} triangles but the file has bytes for {room}");
        return fail(Place::Byte(HEADER - 4), format!("{problem}; the count is wrong, export it again"));
    }
    let mut soup = Soup::new(Format::Stl, scale, 0);
    soup.reserve(3 * count, count);
    let (records, _) = records.as_chunks::<RECORD>();
    for (i, record) in records.iter().enumerate() {
        let at = HEADER + i * RECORD;
        let (corners, _) = record[12..48].as_chunks::<12>();
        let first = soup.vertices() as u32;
        for (k, corner) in corners.iter().enumerate() {
            let (xyz, _) = corner.as_chunks::<4>();
            let p = Vec3::from_array([0, 1, 2].map(|j| f32::from_le_bytes(xyz[j])));
            soup.vertex(p.as_dvec3(), at + 12 + 12 * k);
        }
        soup.triangle([first, first.wrapping_add(1), first.wrapping_add(2)], at);
    }
    soup.finish(Place::Byte)
}

/// `solid … endsolid`, several in a row. Names may hold anything, normals are not looked at, and a loop of more than
/// three corners is a polygon.
fn text(bytes: &[u8], scale: f64) -> Result<RawMesh, ReadError> {
    let mut text = Text::new(bytes, 0, Format::Stl);
    let mut soup = Soup::new(Format::Stl, scale, 0);
    let mut corners = Vec::new();
    let mut in_solid = false;
    loop {
        text.skip_space();
        let at = text.at;
        let word = text.word();
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        if word.is_empty() {
            break;
        } else if is("solid") || is("endsolid") {
            in_solid = is("solid");
            text.skip_line();
        } else if is("facet") {
            facet(&mut text, &mut soup, &mut corners, at)?;
        } else if is("color") {
            text.skip_line();
        } else {
            text.at = at;
            let word = shown(word);
            return Err(text.fail(format!("found {word} where `facet` or `endsolid` belongs; correct it")));
        }
    }
    if in_solid {
        let found = soup.faces();
        return Err(text.fail(format!(
            "the file ends after {found} facets without `endsolid`; it is cut short, export it again"
        )));
    }
    soup.finish(|at| Place::line_of(bytes, at))
}

/// From behind `facet` to behind `endfacet`.
fn facet(text: &mut Text<'_>, soup: &mut Soup, corners: &mut Vec<u32>, at: usize) -> Result<(), ReadError> {
    corners.clear();
    let mut in_loop = false;
    loop {
        text.skip_space();
        let start = text.at;
        let word = text.word();
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        if word.is_empty() {
            let facet = soup.faces();
            return Err(
                text.fail(format!("the file ends inside facet {facet}; it is cut short, export it again"))
            );
        } else if is("vertex") {
            let mut p = [0.0; 3];
            for (value, name) in p.iter_mut().zip(["x", "y", "z"]) {
                text.skip_space();
                *value = text.number(name)?;
            }
            corners.push(u32::try_from(soup.vertices()).unwrap_or(u32::MAX));
            soup.vertex(DVec3::from_array(p), start);
        } else if is("outer") {
            in_loop = true;
        } else if is("endfacet") {
            return soup.face(corners, at, || Place::line_of(text.bytes, at));
        } else if in_loop && !is("loop") && !is("endloop") {
            text.at = start;
            let word = shown(word);
            return Err(text.fail(format!("found {word} where `vertex` or `endloop` belongs; correct it")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TETRA, fails, tetra};
    use super::super::write_stl;
    use super::*;

    fn tetra_bytes() -> Vec<u8> {
        let mut bytes = vec![];
        write_stl(&mut bytes, &tetra().positions, &TETRA).unwrap();
        bytes
    }

    const FACET: &str = "facet normal nan 0 1\n outer loop\n vertex 0 0 0\n vertex 1 0 0\n vertex 0 1 0\n endloop\n endfacet\n";

    #[test]
    fn a_binary_file_may_begin_with_solid_and_have_padding() {
        let plain = parse(&tetra_bytes(), 1.0).unwrap();
        let mut bytes = tetra_bytes();
        bytes[..12].copy_from_slice(b"solid facet ");
        assert_eq!(parse(&bytes, 1.0).unwrap(), plain);
        bytes.extend([7; 49]);
        assert_eq!(parse(&bytes, 1.0).unwrap(), plain);
        bytes.truncate(HEADER + 4 * RECORD);
        bytes.extend([0; 300]);
        assert_eq!(parse(&bytes, 1.0).unwrap(), plain);
    }

    #[test]
    fn text_files_may_hold_several_solids_in_any_case() {
        let one = format!("solid facet vertex\n{FACET}endsolid\n");
        assert_eq!(parse(one.as_bytes(), 1.0).unwrap().triangles.len(), 1);
        let two = format!("{one}\n{}", one.to_uppercase().replace('\n', "\r\n"));
        let mesh = parse(two.as_bytes(), 1e-3).unwrap();
        assert_eq!((mesh.triangles.len(), mesh.positions.len()), (2, 6));
        assert_eq!(mesh.positions[4], DVec3::new(1e-3, 0.0, 0.0));
        let quad = one.replace("endloop", "vertex -1 .5 0\nendloop");
        assert_eq!(parse(quad.as_bytes(), 1.0).unwrap().triangles.len(), 2);
    }

    #[test]
    fn errors_name_the_place_and_the_value() {
        let good = tetra_bytes();
        let with = |at: usize, value: &[u8]| {
            let mut bytes = good.clone();
            bytes[at..at + value.len()].copy_from_slice(value);
            bytes
        };
        fails(&good[..83], Format::Stl, &["83 bytes"]);
        fails(&good[..good.len() - 1], Format::Stl, &["byte 80", "4 triangles", "room for 3"]);
        fails(&with(80, &[255; 4]), Format::Stl, &["byte 80", "4294967295 triangles", "room for 4"]);
        fails(&with(80, &[2, 0, 0, 0]), Format::Stl, &["byte 80", "2 triangles", "bytes for 4"]);
        fails(&with(80, &[0; 4]), Format::Stl, &["0 triangles", "bytes for 4"]);
        fails(&good[..80], Format::Stl, &["80 bytes"]);
        fails(&[0; 84], Format::Stl, &["0 faces"]);
        fails(
            &with(HEADER + RECORD + 16, &f32::NAN.to_le_bytes()),
            Format::Stl,
            &["byte 146", "vertex 3", "NaN"],
        );
        fails(b"solid a\nendsolid a", Format::Stl, &["0 faces"]);
        let text = format!("solid\n{FACET}endsolid");
        for (from, to, wanted) in [
            ("vertex 1 0 0", "vertex 1 0 x", &["line 5", "`x`"][..]),
            ("vertex 1 0 0", "vertex 1 inf 0", &["line 5", "vertex 1", "inf"]),
            ("vertex 1 0 0", "vertices 1 0 0", &["line 5", "`vertices`"]),
            ("vertex 1 0 0", "", &["line 2", "2 corners"]),
            ("endfacet", "", &["line 9", "`endsolid`"]),
            ("facet normal", "facetnormal", &["line 2", "`facetnormal`"]),
            ("endsolid", "", &["line 9", "1 facets", "endsolid"]),
        ] {
            fails(text.replacen(from, to, 1).as_bytes(), Format::Stl, wanted);
        }
    }
}
