//! Wavefront OBJ: `v` and `f` statements; everything else (normals, materials, groups, curves) is passed over.

use super::read_error::shown;
use super::soup::Soup;
use super::text::Text;
use super::{Format, Place, RawMesh, ReadError};
use glam::DVec3;

/// Typical bytes of an OBJ file per vertex and per triangle; only sets the first allocation.
const BYTES_PER_ELEMENT: usize = 48;

/// Reads an OBJ file. One pass, no allocation per line.
pub(super) fn parse(bytes: &[u8], scale: f64) -> Result<RawMesh, ReadError> {
    let mut text = Text::new(bytes, 0, Format::Obj);
    let mut soup = Soup::new(Format::Obj, scale, 1);
    soup.reserve(bytes.len() / (2 * BYTES_PER_ELEMENT), bytes.len() / BYTES_PER_ELEMENT);
    let mut corners = Vec::new();
    while text.at < bytes.len() {
        text.skip_blanks();
        let at = text.at;
        // A keyword is a whole word, so a group called `f` or a `vn` is not taken for one.
        let ends_word = matches!(bytes.get(at + 1), None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'\\'));
        match text.peek() {
            Some(b'v') if ends_word => {
                text.at += 1;
                vertex(&mut text, &mut soup, at)?;
            }
            Some(b'f') if ends_word => {
                text.at += 1;
                face(&mut text, &mut soup, &mut corners, at)?;
            }
            _ => {}
        }
        text.skip_joined_line();
    }
    soup.finish(|at| Place::line_of(bytes, at))
}

/// `v x y z`; a weight or a colour may follow and is not looked at.
#[inline]
fn vertex(text: &mut Text<'_>, soup: &mut Soup, at: usize) -> Result<(), ReadError> {
    let mut p = [0.0; 3];
    for (value, name) in p.iter_mut().zip(["x", "y", "z"]) {
        text.skip_blanks();
        *value = text.number(name)?;
    }
    soup.vertex(DVec3::from_array(p), at);
    Ok(())
}

/// `f a b c …`, each corner `v`, `v/vt`, `v//vn` or `v/vt/vn`; negative numbers count back from the last vertex.
#[inline]
fn face(text: &mut Text<'_>, soup: &mut Soup, corners: &mut Vec<u32>, at: usize) -> Result<(), ReadError> {
    corners.clear();
    loop {
        text.skip_blanks();
        if text.line_done() {
            break;
        }
        let start = text.at;
        let index = text.integer("a corner", Some(b'/'))?;
        text.word();
        corners.push(resolve(index, soup).map_err(|problem| {
            text.at = start;
            match problem {
                Refused::Zero => {
                    let word = shown(text.word());
                    text.at = start;
                    text.fail(format!(
                        "face {} has corner {word}; vertices are numbered from 1",
                        soup.faces()
                    ))
                }
                Refused::Range => ReadError::IndexOutOfRange {
                    file: None,
                    format: Format::Obj,
                    place: text.place(),
                    face: soup.faces(),
                    index,
                    vertices: soup.vertices(),
                },
            }
        })?);
    }
    soup.face(corners, at, || Place::line_of(text.bytes, at))
}

enum Refused {
    Zero,
    Range,
}

/// The vertex, counted from 0. Beyond the last vertex so far is allowed here: it may still come.
#[inline]
fn resolve(index: i64, soup: &Soup) -> Result<u32, Refused> {
    let from_zero = match index {
        0 => return Err(Refused::Zero),
        1.. => index - 1,
        _ => soup.vertices() as i64 + index,
    };
    u32::try_from(from_zero).map_err(|_| Refused::Range)
}

#[cfg(test)]
mod tests {
    use super::super::tests::fails;
    use super::*;

    fn load(text: &str) -> RawMesh {
        parse(text.as_bytes(), 1.0).unwrap()
    }

    const CORNERS: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

    #[test]
    fn every_way_to_write_a_face_means_the_same() {
        let plain = load(&format!("{CORNERS}f 1 2 3\nf 1 3 4\n"));
        for faces in [
            "f 1/1 2/2 3/3\nf 1//1 3//1 4//1",
            "f 1/1/1 2// 3/\nf +1 3 4",
            "f -4 -3 -2\r\nf -4 -2 -1\r\n",
            "f 1 \\\n2 \\\r\n 3\nf\\\n1 3\\ \n4",
            "  f\t1  2 3 # why\n\tf 1 3 4   ",
            "g f 1 2 3\no v\ns off\nusemtl f\nf 1 2 3\nfo 1 2 3\nvn nan 0 0\nvt 0 0\nl 1 2\nf 1 3 4",
            "f 1 2 3 4",
            "# C:\\dir\\\nf 1 2 3 4",
        ] {
            assert_eq!(load(&format!("{CORNERS}{faces}")), plain, "{faces:?}");
            let crlf = format!("{CORNERS}{faces}").replace("\r\n", "\n").replace('\n', "\r\n");
            assert_eq!(load(&crlf), plain, "{crlf:?}");
        }
    }

    #[test]
    fn vertices_may_follow_their_faces_and_carry_more_than_a_place() {
        let mesh = load("f 1 2 3\nv 0 0 0 1\nv 1 0 0 nan nan nan\nv +.5e1 -1. 1E-2 0.1 0.2 0.3 1");
        assert_eq!(mesh.triangles, [[0, 1, 2]]);
        assert_eq!(mesh.positions[2], DVec3::new(5.0, -1.0, 0.01));
    }

    #[test]
    fn unused_vertices_that_are_not_finite_are_left_out() {
        let mesh = load("v nan 0 0\nv 0 0 0\nv 1 0 0\nv inf 0 0\nv 0 1 0\nf 2 3 5");
        assert_eq!((mesh.positions.len(), mesh.triangles), (3, vec![[0, 1, 2]]));
    }

    #[test]
    fn errors_name_the_line_and_the_value() {
        for (text, wanted) in [
            ("v 0 0\n", &["line 1", "number for z", "line ends"][..]),
            ("v 0 0 zero\n", &["line 1", "`zero`"]),
            ("# a\n\nv 0 0 1,5\n", &["line 3", "`1,5`"]),
            ("v 0 0", &["line 1", "file ends"]),
            ("v 0 0 0\nv\nf 1 1 1", &["line 2", "number for x"]),
            ("v 0 0 0\nf", &["line 2", "0 corners"]),
            ("v 0 0 0\nf 1 1 2\n", &["line 2", "face 0", "vertex 2", "1 vertices"]),
            ("v 0 0 0\nf 1 1 -2\n", &["line 2", "vertex -2", "1 vertices"]),
            ("v 0 0 0\nf 1 1 99999999999999999999\n", &["line 2", "1 vertices"]),
            ("v 0 0 0\r\nf 1 0 1\r\n", &["line 2", "`0`", "from 1"]),
            ("v 0 0 0\nf 1 1\n", &["line 2", "2 corners"]),
            ("v 0 0 0\nf 1 1 b\n", &["line 2", "`b`"]),
            ("v 0 0 0\nv nan 0 1\nf 1 2 1\n", &["line 2", "vertex 2", "NaN"]),
            ("v 0 0 0\nv 0 -inf 1\nf 1 2 1\n", &["line 2", "-inf"]),
            ("v 0 0 0\nv 0 1e999 1\nf 1 2 1\n", &["line 2", "inf"]),
            ("v 0 0 0\n", &["1 vertices", "0 faces"]),
            ("\u{1}\u{2}garbage\n\0\0\0", &["0 vertices"]),
        ] {
            fails(text.as_bytes(), Format::Obj, wanted);
        }
    }
}
