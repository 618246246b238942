//! Reads the two scans of the benchmarks: OBJ with triangles or polygons, binary little-endian PLY with x y z first.

use anyhow::{Context, Result, bail, ensure};
use glam::DVec3;
use palpate::mesh::RawMesh;
use std::path::Path;

/// The mesh in `path`, vertices welded by position so that holes are holes.
pub(super) fn load(path: &Path) -> Result<RawMesh> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mesh = match path.extension().and_then(|e| e.to_str()) {
        Some("obj") => obj(&String::from_utf8_lossy(&bytes)),
        Some("ply") => ply(&bytes),
        _ => bail!("neither .obj nor .ply"),
    };
    let mesh = mesh.with_context(|| format!("in {}", path.display()))?;
    let n = mesh.positions.len() as u32;
    ensure!(mesh.triangles.iter().flatten().all(|&v| v < n), "{}: an index is out of range", path.display());
    Ok(weld(mesh))
}

fn obj(text: &str) -> Result<RawMesh> {
    let mut mesh = RawMesh::default();
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let xyz: Vec<f64> = words.take(3).map(str::parse).collect::<Result<_, _>>()?;
                ensure!(xyz.len() == 3, "line {}: a vertex needs three numbers", number + 1);
                mesh.positions.push(DVec3::from_slice(&xyz));
            }
            Some("f") => {
                let corner =
                    |w: &str| w.split('/').next().unwrap_or("").parse::<u32>().map(|v| v.wrapping_sub(1));
                let ring: Vec<u32> = words.map(corner).collect::<Result<_, _>>()?;
                mesh.triangles.extend(ring.windows(2).skip(1).map(|w| [ring[0], w[0], w[1]]));
            }
            _ => {}
        }
    }
    Ok(mesh)
}

fn ply(bytes: &[u8]) -> Result<RawMesh> {
    let end = bytes.windows(11).position(|w| w == b"end_header\n").context("no end_header")? + 11;
    let header = String::from_utf8_lossy(&bytes[..end]);
    ensure!(header.contains("format binary_little_endian"), "not binary little-endian");
    let count = |name: &str| -> Result<usize> {
        let line = header.lines().find_map(|l| l.strip_prefix("element ")?.strip_prefix(name));
        Ok(line.with_context(|| format!("no element {name}"))?.trim().parse()?)
    };
    let (vertices, faces) = (count("vertex")?, count("face")?);
    let body = &bytes[end..];
    ensure!(body.len() == 12 * vertices + 13 * faces, "length does not fit x y z vertices and triangles");
    let (xyz, corners) = body.split_at(12 * vertices);
    let word = |b: &[u8], i: usize| [b[i], b[i + 1], b[i + 2], b[i + 3]];
    let positions = xyz.as_chunks::<12>().0.iter();
    let positions =
        positions.map(|b| DVec3::from_array([0, 4, 8].map(|i| f32::from_le_bytes(word(b, i)).into())));
    let triangles = corners.as_chunks::<13>().0.iter();
    let triangles = triangles.map(|b| [1, 5, 9].map(|i| u32::from_le_bytes(word(b, i))));
    Ok(RawMesh { positions: positions.collect(), triangles: triangles.collect() })
}

/// Gives equal positions one index and drops triangles that lose a corner by it.
pub(super) fn weld(mesh: RawMesh) -> RawMesh {
    let key = |v: u32| mesh.positions[v as usize].to_array().map(|x| (x + 0.0).to_bits());
    let mut order: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    order.sort_by_key(|&v| (key(v), v));
    let mut first = vec![0; order.len()];
    for group in order.chunk_by(|&a, &b| key(a) == key(b)) {
        group.iter().for_each(|&v| first[v as usize] = group[0]);
    }
    let triangles = mesh.triangles.iter().map(|t| t.map(|v| first[v as usize]));
    let triangles = triangles.filter(|[a, b, c]| a != b && b != c && c != a).collect();
    RawMesh { positions: mesh.positions, triangles }
}
