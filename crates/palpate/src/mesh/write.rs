//! Triangles into a file: OBJ, binary STL, binary PLY.

use glam::DVec3;
use std::io::{self, BufWriter, Error, ErrorKind, Write};

/// Writes an OBJ file. Coordinates [m] are written so that reading gives the same bits.
pub fn write_obj(out: impl Write, positions: &[DVec3], triangles: &[[u32; 3]]) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for p in positions {
        writeln!(out, "v {} {} {}", p.x, p.y, p.z)?;
    }
    for t in triangles {
        let [a, b, c] = t.map(|v| u64::from(v) + 1);
        writeln!(out, "f {a} {b} {c}")?;
    }
    out.flush()
}

/// Writes a binary STL file: coordinates [m] rounded to f32, unit normals (zero for a triangle without area).
///
/// Fails when a triangle names a vertex that is not there, or there are more than 2³² − 1 triangles.
pub fn write_stl(out: impl Write, positions: &[DVec3], triangles: &[[u32; 3]]) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let count = u32::try_from(triangles.len())
        .map_err(|_| Error::new(ErrorKind::InvalidInput, "an STL file holds at most 4294967295 triangles"))?;
    // Must not begin with `solid`, which readers take for a text file.
    let mut header = [0u8; 80];
    header[..14].copy_from_slice(b"binary, metres");
    out.write_all(&header)?;
    out.write_all(&count.to_le_bytes())?;
    for (i, t) in triangles.iter().enumerate() {
        let mut corners = [DVec3::ZERO; 3];
        for (corner, &v) in corners.iter_mut().zip(t) {
            *corner = *positions.get(v as usize).ok_or_else(|| missing(i, v, positions.len()))?;
        }
        let [a, b, c] = corners;
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for p in [normal, a, b, c] {
            for x in p.as_vec3().to_array() {
                out.write_all(&x.to_le_bytes())?;
            }
        }
        out.write_all(&[0; 2])?;
    }
    out.flush()
}

/// Writes a binary little-endian PLY file with coordinates as doubles [m], so that reading gives the same bits.
pub fn write_ply(out: impl Write, positions: &[DVec3], triangles: &[[u32; 3]]) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty double x\nproperty double y\n\
         property double z\nelement face {}\nproperty list uchar uint vertex_indices\nend_header\n",
        positions.len(),
        triangles.len()
    )?;
    for p in positions {
        for x in p.to_array() {
            out.write_all(&x.to_le_bytes())?;
        }
    }
    for t in triangles {
        out.write_all(&[3])?;
        for v in t {
            out.write_all(&v.to_le_bytes())?;
        }
    }
    out.flush()
}

fn missing(triangle: usize, vertex: u32, vertices: usize) -> Error {
    let message = format!("triangle {triangle} uses vertex {vertex} but the mesh has {vertices} vertices");
    Error::new(ErrorKind::InvalidInput, message)
}
