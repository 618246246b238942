//! A file into an [`Asset`], every number checked.

use super::error::Problem;
use super::layout::{self, HEADER, MAGIC, Section, Table, VERSION, section_checksum};
use super::record::{self, FieldRecord};
use super::write::position;
use super::{Asset, AssetError, Positions, Stored};
use crate::field::brick::NODES;
use crate::field::encode::Values;
use crate::field::{Encoding, Field};
use crate::math::Aabb;
use crate::mesh::build::MAX_COORDINATE;
use crate::mesh::sliver::is_flat;
use crate::mesh::topology::MAX_TRIANGLES;
use crate::mesh::{Mesh, MeshReport, Topology};
use crate::store::{Bytes, Store};
use bytemuck::{AnyBitPattern, NoUninit};
use glam::DVec3;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Triangle numbers of a field are below this: what a mesh and its caps can have at most.
pub(super) const MAX_TRIANGLE: u32 = 1 << 31;

impl Asset {
    /// Opens a file: checks it and maps it (reads it without the `mmap` feature).
    ///
    /// Other programs must not write to the file or shorten it while it or its field is in use: on most systems a
    /// read behind the new end stops the process. [`Asset::write`] replaces a file by a new one and is safe.
    /// Time: one pass over the file, about 2 ms for 20 MB, parallel; no copy.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, AssetError> {
        let path = path.as_ref();
        if cfg!(target_endian = "big") {
            return Err(AssetError::ByteOrder);
        }
        let bytes =
            Bytes::open(path).map_err(|source| AssetError::Read { file: path.to_path_buf(), source })?;
        open(Arc::new(bytes), path)
    }

    /// Opens the bytes of a file; copies them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AssetError> {
        if cfg!(target_endian = "big") {
            return Err(AssetError::ByteOrder);
        }
        open(Arc::new(Bytes::copy(bytes)), Path::new("memory"))
    }

    /// The key of a file from its header alone; see [`Asset::key`].
    ///
    /// Header and length of the file are checked, its sections are not: open it before trusting it.
    pub fn read_key(path: impl AsRef<Path>) -> Result<u128, AssetError> {
        let path = path.as_ref();
        let failed = |source| AssetError::Read { file: path.to_path_buf(), source };
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut head = Vec::new();
        file.by_ref().take(HEADER as u64).read_to_end(&mut head).map_err(failed)?;
        check_start(&head, path)?;
        let table = (Table::size(&head) - HEADER) as u64;
        file.take(table).read_to_end(&mut head).map_err(failed)?;
        Table::read(&head, length).map(|t| t.key).map_err(|p| damaged(p, path))
    }

    /// The mesh; none when the file has none. Copies it and finds neighbours again: about 5 ms for 100,000 triangles.
    ///
    /// Triangles keep their order, positions are rounded to f32 relative to the middle of the box (within 6e-8 of half
    /// its longest side, on each axis), and so is the box of the mesh's report.
    pub fn mesh(&self) -> Result<Option<Mesh>, AssetError> {
        let (Some(stored), Some(report)) = (&self.mesh, &self.mesh_report) else { return Ok(None) };
        mesh(stored, report).map(Some).map_err(|p| damaged(p, &self.file))
    }
}

pub(super) fn damaged(problem: Problem, file: &Path) -> AssetError {
    AssetError::Damaged { file: file.to_path_buf(), section: problem.section, problem: problem.text }
}

/// Magic and version.
fn check_start(head: &[u8], path: &Path) -> Result<(), AssetError> {
    let not =
        |problem: &str| Err(AssetError::NotAnAsset { file: path.to_path_buf(), problem: problem.to_owned() });
    if head.is_empty() {
        return not("it is empty");
    }
    if !head.starts_with(&MAGIC[..head.len().min(MAGIC.len())]) {
        return not("it does not begin with `PALP`");
    }
    if head.len() < HEADER {
        return not("it ends within its header");
    }
    let found = layout::version(head);
    if found != VERSION {
        return Err(AssetError::Version { file: path.to_path_buf(), found, supported: VERSION });
    }
    Ok(())
}

fn open(bytes: Arc<Bytes>, path: &Path) -> Result<Asset, AssetError> {
    check_start(&bytes[..bytes.len().min(HEADER)], path)?;
    read(bytes, path.to_path_buf()).map_err(|p| damaged(p, path))
}

fn read(bytes: Arc<Bytes>, file: PathBuf) -> Result<Asset, Problem> {
    let table = Table::read(&bytes, bytes.len() as u64)?;
    let parts = Parts { bytes: &bytes, table: &table };
    let build = match parts.plain(layout::BUILD)? {
        Some(text) => match std::str::from_utf8(text) {
            Ok(text) => text.to_owned(),
            Err(e) => {
                return Err(Problem::new(
                    &layout::BUILD,
                    format!("is no text from byte {}", e.valid_up_to()),
                ));
            }
        },
        None => String::new(),
    };
    let (mesh_report, mesh) = match parts.plain(layout::MESH)? {
        Some(record) => {
            let (report, origin) = record::read_mesh(layout::MESH, record)?;
            let stored = parts.mesh(&report, origin)?;
            (Some(report), Some(stored))
        }
        None => (None, None),
    };
    let field = match parts.plain(layout::FIELD)? {
        Some(record) => Some(parts.field(record::read_field(layout::FIELD, record)?)?),
        None => None,
    };
    let shell = match parts.plain(layout::SHELL)? {
        Some(record) => {
            let (report, origin) = record::read_shell(layout::SHELL, record)?;
            Some(parts.shell(report, origin)?)
        }
        None => None,
    };
    let key = table.key;
    Ok(Asset { file, key, build, mesh_report, mesh, field, shell, bytes })
}

/// The file being read.
pub(super) struct Parts<'a> {
    bytes: &'a Arc<Bytes>,
    table: &'a Table,
}

impl Parts<'_> {
    /// The bytes of a section, its checksum found right; none when it is not there.
    fn plain(&self, name: [u8; 8]) -> Result<Option<&[u8]>, Problem> {
        let Some(section) = self.table.find(name) else { return Ok(None) };
        self.check(section, |_| true)?;
        Ok(Some(&self.bytes[section.range.clone()]))
    }

    /// Checks a section and that its pieces pass `valid`.
    fn check(&self, section: &Section, valid: impl Fn(&[u8]) -> bool + Sync + Send) -> Result<bool, Problem> {
        let (sum, valid) = section_checksum(&self.bytes[section.range.clone()], valid);
        if sum != section.checksum {
            return Err(Problem::new(&section.name, "does not match its checksum"));
        }
        Ok(valid)
    }

    /// An array of `count` numbers that pass `valid` (given pieces of the section); `what` names the rule.
    pub(super) fn array<T: AnyBitPattern + NoUninit>(
        &self,
        name: [u8; 8],
        count: usize,
        what: &str,
        valid: impl Fn(&[T]) -> bool + Sync + Send,
    ) -> Result<Store<T>, Problem> {
        let wrong = |text: String| Problem::new(&name, text);
        let section = self.table.find(name).ok_or_else(|| wrong("is missing".into()))?;
        // Length first: then every piece is a whole number of values, as pieces are of any power of two.
        if Some(section.range.len()) != count.checked_mul(size_of::<T>()) {
            let size = section.range.len();
            return Err(wrong(format!("has {size} bytes, not {count} values of {}", size_of::<T>())));
        }
        let store = Store::in_file(self.bytes, section.range.clone())
            .ok_or_else(|| wrong("is not aligned".into()))?;
        let valid = self.check(section, |piece| bytemuck::try_cast_slice(piece).is_ok_and(&valid))?;
        if valid { Ok(store) } else { Err(wrong(what.to_owned())) }
    }

    /// The mesh's arrays. Values are checked when the mesh is asked for: most users of a field never do.
    fn mesh(&self, report: &MeshReport, origin: DVec3) -> Result<Stored, Problem> {
        let positions = if self.table.find(layout::VERTICES_DOUBLE).is_some() {
            Positions::Double(self.array(layout::VERTICES_DOUBLE, 3 * report.vertices, "", |_| true)?)
        } else {
            Positions::Single(self.array(layout::VERTICES, 3 * report.vertices, "", |_| true)?)
        };
        let triangles = self.array(layout::TRIANGLES, 3 * report.triangles, "", |_| true)?;
        Ok(Stored { origin, positions, triangles })
    }

    fn field(&self, record: FieldRecord) -> Result<Field, Problem> {
        let FieldRecord { lattice, encoding, step, mut report } = record;
        let size = if encoding == Encoding::Float { 4 } else { 2 };
        let length = self.table.find(layout::NODES).map_or(0, |s| s.range.len());
        // Background nodes, then whole bricks, all within the range of directory entries.
        let count = length / size;
        let corners = lattice.corner_count();
        let in_bricks = count.checked_sub(corners).filter(|n| n % NODES == 0 && count <= i32::MAX as usize);
        let Some(in_bricks) = in_bricks else {
            let text =
                format!("has {length} bytes, which is not {corners} background nodes and whole bricks");
            return Err(Problem::new(&layout::NODES, text));
        };
        let values = match encoding {
            Encoding::Float => Values::Float(self.array(
                layout::NODES,
                count,
                "has distances that are not finite",
                all_finite,
            )?),
            _ => Values::Scaled { values: self.array(layout::NODES, count, "", |_| true)?, step, encoding },
        };
        let is_brick = |entry: &i32| match usize::try_from(*entry) {
            Ok(base) => base >= corners && base < count && (base - corners) % NODES == 0,
            Err(_) => *entry == -1,
        };
        let rule = "has an entry that is no brick";
        let directory: Store<i32> =
            self.array(layout::CELLS, lattice.cell_count(), rule, |e| e.iter().all(is_brick))?;
        let closest = if self.table.find(layout::CLOSEST).is_some() {
            let known = |t: &u32| *t == u32::MAX || *t < MAX_TRIANGLE;
            self.array(layout::CLOSEST, in_bricks, "has a triangle that cannot be", |t| t.iter().all(known))?
        } else {
            Vec::new().into()
        };
        report.bricks = in_bricks / NODES;
        report.bytes = values.bytes() + 4 * directory.len() + 4 * closest.len();
        Ok(Field { lattice, directory, values, closest, report })
    }
}

/// Whether all values are finite: the exponent of others has all bits set. No branch, so that it runs at the speed of
/// memory.
fn all_finite(values: &[f32]) -> bool {
    values.iter().fold(0, |m, v| (v.to_bits() & 0x7fff_ffff).max(m)) < f32::INFINITY.to_bits()
}

fn mesh(stored: &Stored, report: &MeshReport) -> Result<Mesh, Problem> {
    let (name, positions): (_, Vec<DVec3>) = match &stored.positions {
        Positions::Single(p) => (
            layout::VERTICES,
            bytemuck::cast_slice(p).iter().map(|p: &[f32; 3]| position(*p, stored.origin)).collect(),
        ),
        Positions::Double(p) => (
            layout::VERTICES_DOUBLE,
            bytemuck::cast_slice(p)
                .iter()
                .map(|p: &[f64; 3]| stored.origin + DVec3::from_array(*p))
                .collect(),
        ),
    };
    // Written so that NaN fails.
    let sound = |p: &DVec3| p.abs().max_element() <= MAX_COORDINATE && p.is_finite();
    if let Some(v) = positions.iter().position(|p| !sound(p)) {
        return Err(Problem::new(&name, format!("has vertex {v} at {}", positions[v])));
    }
    let triangles: Vec<[u32; 3]> = bytemuck::cast_slice(&stored.triangles).to_vec();
    let count = positions.len();
    let wrong = |text: String| Err(Problem::new(&layout::TRIANGLES, text));
    if triangles.is_empty() || triangles.len() >= MAX_TRIANGLES {
        return wrong(format!("has {} triangles", triangles.len()));
    }
    let inside = |t: &[u32; 3]| t.iter().all(|v| (*v as usize) < count);
    if let Some(t) = triangles.iter().position(|t| !inside(t)) {
        return wrong(format!("has triangle {t} with vertices {:?} of {count}", triangles[t]));
    }
    if let Some(t) = triangles.iter().position(|t| is_flat(&positions, *t)) {
        return wrong(format!("has triangle {t} without area"));
    }
    let topology = Topology::build(&triangles, count);
    let report = MeshReport { aabb: Aabb::of_points(positions.iter().copied()), ..report.clone() };
    Ok(Mesh { positions, triangles, topology, report, closed: Default::default() })
}
