//! Contents into a file, all or nothing.

use super::layout::{self, ALIGN, ENTRY, HEADER, MAGIC, VERSION};
use super::{Asset, AssetContents, AssetError, record};
use crate::field::encode::Values;
use crate::mesh::Mesh;
use crate::mesh::sliver::is_flat;
use crate::par;
use glam::{DVec3, Vec3};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Vertices or triangles per parallel piece.
const CHUNK: usize = 1 << 14;

type Sections<'a> = Vec<([u8; 8], Cow<'a, [u8]>)>;

impl Asset {
    /// Writes `contents` to `path`, replacing what was there.
    ///
    /// Written beside its place and renamed, so that on failure the old file, or none, is there and nothing else.
    /// The same bytes for the same contents. Memory: a copy of the mesh, not of the field.
    pub fn write(path: impl AsRef<Path>, contents: &AssetContents<'_>) -> Result<(), AssetError> {
        let path = path.as_ref();
        let failed = |source: io::Error| AssetError::Write { file: path.to_path_buf(), source };
        if cfg!(target_endian = "big") {
            return Err(AssetError::ByteOrder);
        }
        let temporary = temporary_beside(path).map_err(failed)?;
        let result = File::create(&temporary)
            .and_then(|mut file| contents.write_to(&mut file))
            .and_then(|()| fs::rename(&temporary, path));
        result.map_err(|source| {
            let _ = fs::remove_file(&temporary);
            failed(source)
        })
    }
}

impl AssetContents<'_> {
    /// Writes the bytes of a file. Large arrays are written in one piece each: `out` needs no buffer.
    ///
    /// # Errors
    /// When `out` fails, or on a big-endian machine.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        if cfg!(target_endian = "big") {
            return Err(io::Error::new(io::ErrorKind::Unsupported, AssetError::ByteOrder));
        }
        let sections = self.sections();
        let mut head = vec![0; HEADER + ENTRY * sections.len()];
        let mut at = head.len();
        for (entry, (name, bytes)) in head[HEADER..].chunks_exact_mut(ENTRY).zip(&sections) {
            at = at.next_multiple_of(ALIGN);
            entry[..8].copy_from_slice(name);
            entry[8..16].copy_from_slice(&(at as u64).to_le_bytes());
            entry[16..24].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            let (sum, _) = layout::section_checksum(bytes, |_| true);
            entry[24..32].copy_from_slice(&sum.to_le_bytes());
            at += bytes.len();
        }
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[12..16].copy_from_slice(&(sections.len() as u32).to_le_bytes());
        head[16..24].copy_from_slice(&(at as u64).to_le_bytes());
        head[24..40].copy_from_slice(&self.key.to_le_bytes());
        let sum = layout::head_checksum(&head);
        head[40..48].copy_from_slice(&sum.to_le_bytes());

        out.write_all(&head)?;
        let mut at = head.len();
        for (_, bytes) in &sections {
            let gap = at.next_multiple_of(ALIGN) - at;
            out.write_all(&[0; ALIGN][..gap])?;
            out.write_all(bytes)?;
            at += gap + bytes.len();
        }
        out.flush()
    }

    /// The bytes of a file, in memory.
    ///
    /// # Errors
    /// On a big-endian machine.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }

    fn sections(&self) -> Sections<'_> {
        let mut all: Sections<'_> = Vec::new();
        if !self.build.is_empty() {
            all.push((layout::BUILD, self.build.as_bytes().into()));
        }
        if let Some(mesh) = self.mesh {
            push_mesh(&mut all, mesh, self.precise);
        }
        if let Some(field) = self.field {
            let (step, values): (f32, &[u8]) = match &field.values {
                Values::Float(v) => (1.0, bytemuck::cast_slice(v)),
                Values::Scaled { values, step, .. } => (*step, bytemuck::cast_slice(values)),
            };
            let record = record::write_field(&field.lattice, field.encoding(), step, &field.report);
            all.push((layout::FIELD, record.into()));
            all.push((layout::CELLS, bytemuck::cast_slice::<i32, u8>(&field.directory).into()));
            all.push((layout::NODES, values.into()));
            if !field.closest.is_empty() {
                all.push((layout::CLOSEST, bytemuck::cast_slice::<u32, u8>(&field.closest).into()));
            }
        }
        if let Some(shell) = self.shell {
            all.push((layout::SHELL, record::write_shell(&shell.report, shell.origin).into()));
            all.push((layout::POINTS, bytemuck::cast_slice::<Vec3, u8>(&shell.positions).into()));
            all.push((layout::NORMALS, bytemuck::cast_slice::<Vec3, u8>(&shell.normals).into()));
            all.push((layout::AREAS, bytemuck::cast_slice::<f32, u8>(&shell.areas).into()));
            all.push((layout::POINT_TRIANGLES, bytemuck::cast_slice::<u32, u8>(&shell.triangles).into()));
        }
        all
    }
}

fn push_mesh<'a>(all: &mut Sections<'a>, mesh: &'a Mesh, precise: bool) {
    let origin = mesh.aabb().centre();
    let single = if precise { None } else { rounded(mesh, origin) };
    if let Some(single) = single {
        all.push((layout::MESH, record::write_mesh(&mesh.report, origin).into()));
        all.push((layout::VERTICES, bytemuck::cast_slice::<[f32; 3], u8>(&single).to_vec().into()));
    } else {
        all.push((layout::MESH, record::write_mesh(&mesh.report, DVec3::ZERO).into()));
        let double: Vec<u8> =
            mesh.positions.iter().flat_map(|p| p.to_array()).flat_map(f64::to_le_bytes).collect();
        all.push((layout::VERTICES_DOUBLE, double.into()));
    }
    all.push((layout::TRIANGLES, bytemuck::cast_slice::<[u32; 3], u8>(&mesh.triangles).into()));
}

/// Coordinates relative to `origin` in single precision; none if a triangle would lose its area.
fn rounded(mesh: &Mesh, origin: DVec3) -> Option<Vec<[f32; 3]>> {
    let mut single = vec![[0f32; 3]; mesh.positions.len()];
    par::chunks_mut(&mut single, CHUNK, |chunk, out| {
        for (to, from) in out.iter_mut().zip(&mesh.positions[chunk * CHUNK..]) {
            *to = (*from - origin).as_vec3().to_array();
        }
    });
    keeps_areas(&single, origin, &mesh.triangles).then_some(single)
}

/// Whether every triangle still has an area with rounded coordinates.
fn keeps_areas(single: &[[f32; 3]], origin: DVec3, triangles: &[[u32; 3]]) -> bool {
    let positions: Vec<DVec3> = single.iter().map(|p| position(*p, origin)).collect();
    par::map(triangles.len().div_ceil(CHUNK), |i| {
        triangles[i * CHUNK..triangles.len().min((i + 1) * CHUNK)].iter().all(|t| !is_flat(&positions, *t))
    })
    .into_iter()
    .all(|kept| kept)
}

/// A position from its stored form [m].
pub(super) fn position(stored: [f32; 3], origin: DVec3) -> DVec3 {
    origin + DVec3::from_array(stored.map(f64::from))
}

/// A name in the folder of `path` that no other write of this machine uses.
pub(super) fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .filter(|_| !path.is_dir())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is a folder, not a file name"))?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let hidden = format!(".{}.{}-{count}.tmp", name.to_string_lossy(), std::process::id());
    Ok(path.with_file_name(hidden))
}
