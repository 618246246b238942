//! Whole shapes as files: writing one, opening one, and building one only if its file is not up to date.

use super::write::temporary_beside;
use super::{Asset, AssetContents, AssetError, cache_key};
use crate::field::{Exact, FieldParams};
use crate::mesh::{Mesh, RawMesh, RepairParams};
use crate::progress::Progress;
use crate::shape::{Shape, ShapeParams, Size};
use crate::tree::Tree;
use std::fs::{self, File};
use std::path::Path;

/// The key of what is built from the bytes of a mesh file, read with `scale` metres per unit, by a `recipe`: every parameter that
/// decides the result, as text.
///
/// 0, which is never reused, for `.gltf` files: they have parts in other files, which the key could not see. `extension` is the
/// file's, in lower case.
pub fn source_key(bytes: &[u8], extension: &str, scale: f64, recipe: &str) -> u128 {
    if extension == "gltf" {
        return 0;
    }
    let version = env!("CARGO_PKG_VERSION");
    cache_key(bytes, &format!("palpate {version} {extension} scale {scale:?} {recipe}"))
}

impl Asset {
    /// The shape in the file: its mesh, field and points as written, the tree built again.
    ///
    /// Of `params` only the tree's, and the threads of the field's, count. About 2 µs a point and 1 µs a triangle, shared by the
    /// threads.
    ///
    /// # Errors
    /// When the file holds no mesh, no field or no points, or is damaged there.
    pub fn shape(&self, params: &ShapeParams, progress: &dyn Progress) -> Result<Shape, AssetError> {
        let missing = |what| AssetError::Missing { file: self.file.clone(), what };
        let field = self.field().cloned().ok_or_else(|| missing("field"))?;
        let mesh = self.mesh()?.ok_or_else(|| missing("mesh"))?;
        let shell = self.shell()?.ok_or_else(|| missing("points"))?;
        progress.stage("tree", 0);
        let tree = Tree::build(&shell, &params.tree);
        progress.stage("surface", 0);
        let capped = FieldParams {
            cap_holes: field.report().caps() > 0,
            threads: params.field.threads,
            ..Default::default()
        };
        let exact =
            Exact::build(&mesh, field.lattice().voxel, &capped).map_err(crate::shape::ShapeError::from)?;
        Ok(Shape::from_parts(mesh, field, exact, tree))
    }
}

impl Shape {
    /// The shape in a `.palp` file: see [`Asset::shape`].
    ///
    /// # Errors
    /// When the file is missing, not an asset, damaged, of another version, or holds no whole shape.
    pub fn open(
        path: impl AsRef<Path>,
        params: &ShapeParams,
        progress: &dyn Progress,
    ) -> Result<Self, AssetError> {
        Asset::open(path)?.shape(params, progress)
    }

    /// The shape in the bytes of such a file, which are copied.
    ///
    /// # Errors
    /// When they are damaged, of another version, or hold no whole shape.
    pub fn from_bytes(
        bytes: &[u8],
        params: &ShapeParams,
        progress: &dyn Progress,
    ) -> Result<Self, AssetError> {
        Asset::from_bytes(bytes)?.shape(params, progress)
    }

    /// Writes mesh, field and points to a `.palp` file, whole or not at all. `key` identifies how it was built: see
    /// [`source_key`]; 0: not to be reused.
    ///
    /// # Errors
    /// When the disk refuses, or on a big-endian machine.
    pub fn write(&self, path: impl AsRef<Path>, key: u128) -> Result<(), AssetError> {
        self.contents(key, false, |contents| Asset::write(path, contents))
    }

    /// The bytes of such a file, from which the same shape comes to the last bit: vertices are in double precision. The same bytes
    /// wherever and whenever the same shape is built.
    ///
    /// # Errors
    /// On a big-endian machine.
    pub fn to_bytes(&self, key: u128) -> std::io::Result<Vec<u8>> {
        self.contents(key, true, |contents| contents.to_bytes())
    }

    fn contents<R>(&self, key: u128, precise: bool, write: impl FnOnce(&AssetContents<'_>) -> R) -> R {
        let program = concat!("palpate ", env!("CARGO_PKG_VERSION"));
        let build = serde_json::json!({ "program": program, "levels": self.tree().levels() }).to_string();
        let shell = self.tree().shell();
        let contents = AssetContents {
            key,
            mesh: Some(self.mesh()),
            precise,
            field: Some(self.field()),
            shell: Some(&shell),
            build: &build,
        };
        write(&contents)
    }

    /// The shape of a mesh file, from the `.palp` file `kept` if that was built from the same bytes with the same parameters, else
    /// built and kept there; and whether it was there. `scale` is metres per unit of the mesh file.
    ///
    /// A place that cannot be written is refused before the work, not after it. A file there that is no asset, of another version
    /// or damaged is replaced.
    ///
    /// # Errors
    /// When the mesh cannot be read, the shape not be built, or the file not be written.
    pub fn cached(
        mesh: impl AsRef<Path>,
        scale: f64,
        size: Size,
        params: &ShapeParams,
        kept: impl AsRef<Path>,
        progress: &dyn Progress,
    ) -> Result<(Self, bool), AssetError> {
        let (source, kept) = (mesh.as_ref(), kept.as_ref());
        let cannot_read = |error| AssetError::Read { file: source.to_path_buf(), source: error };
        let cannot_write = |error| AssetError::Write { file: kept.to_path_buf(), source: error };
        progress.stage("read file", 0);
        let bytes = fs::read(source).map_err(cannot_read)?;
        let extension =
            source.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let key = source_key(&bytes, &extension, scale, &recipe(size, params));
        drop(bytes);
        if key != 0
            && Asset::read_key(kept).ok() == Some(key)
            && let Ok(shape) = Self::open(kept, params, progress)
        {
            return Ok((shape, true));
        }
        // The mesh itself must not be written over.
        if matches!((source.canonicalize(), kept.canonicalize()), (Ok(a), Ok(b)) if a == b) {
            let same = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is the mesh file itself");
            return Err(cannot_write(same));
        }
        let trial = temporary_beside(kept).map_err(cannot_write)?;
        File::create(&trial).and_then(|_| fs::remove_file(&trial)).map_err(cannot_write)?;
        progress.stage("read mesh", 0);
        let mesh = Mesh::new(
            RawMesh::load(source, scale).map_err(crate::mesh::MeshError::from)?,
            &RepairParams::default(),
        )?;
        let voxel = size.voxel(mesh.aabb())?;
        let shape = Self::build_with(mesh, voxel, params, progress)?;
        progress.stage("write file", 0);
        shape.write(kept, key)?;
        Ok((shape, false))
    }
}

/// What decides the result, as text; threads and memory do not.
fn recipe(size: Size, params: &ShapeParams) -> String {
    let mut params = params.clone();
    (params.field.threads, params.shell.threads, params.tree.threads) = (0, 0, 0);
    params.field.max_memory = None;
    format!("shape {size:?} {params:?}")
}
