//! Built models as `.palp` files: writing, opening, and telling whether one is up to date.

use crate::engine::{self, Model, ModelMesh, Options, Source, Voxels};
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::asset::{Asset, AssetContents, source_key};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

/// Identifies a build: the same source bytes and parameters give the same key. 0, which is never reused, where the
/// source has parts in other files, which the key could not see.
pub(crate) fn key(source: &Source, options: &Options) -> u128 {
    source_key(&source.bytes, &source.extension(), source.scale, &options.recipe())
}

/// Writes a model with its key to `path`, in place: `path` is a temporary that is moved when done.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn write(path: &Path, model: &Model, key: u128) -> Result<()> {
    let voxels = model.voxels.as_ref().map(|v| {
        json!({ "surface": v.surface, "inside": v.inside, "layers": v.layers, "leaks": v.leaks, "bytes": v.bytes })
    });
    let up = model.up.map(|u| u.to_array());
    let program = concat!("palpate ", env!("CARGO_PKG_VERSION"));
    let notes = json!({ "program": program, "voxmap": voxels, "levels": model.info.levels, "notes": model.notes, "up": up });
    let build = notes.to_string();
    let (mesh, field) = (Some(model.mesh()?), Some(model.field()));
    let contents = AssetContents { key, mesh, precise: false, field, shell: model.shell(), build: &build };
    let mut file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    contents.write_to(&mut file).with_context(|| format!("cannot write {}", path.display()))
}

/// The model in `path` when it was built with `key`; none when it was not, or is not whole.
pub(crate) fn current(path: &Path, key: u128) -> Option<Model> {
    if key == 0 || Asset::read_key(path).ok() != Some(key) {
        return None;
    }
    open(path).ok()
}

/// Opens a built asset.
///
/// # Errors
/// When the file is missing, not an asset, damaged, of another version or without a field or a mesh.
pub(crate) fn open(path: &Path) -> Result<Model> {
    let asset = Asset::open(path)?;
    let (Some(report), Some(field)) = (asset.mesh_report(), asset.field()) else {
        bail!("{} holds no mesh and field; build it again with `palpate build`", path.display());
    };
    // Text for people: whatever it is, the rest of the file is sound.
    let notes: Value = serde_json::from_str(asset.build_text()).unwrap_or_default();
    let number = |name: &str| notes["voxmap"][name].as_u64().unwrap_or(0);
    let voxels = notes["voxmap"].is_object().then(|| Voxels {
        surface: number("surface"),
        inside: number("inside"),
        layers: number("layers"),
        leaks: notes["voxmap"]["leaks"].as_bool().unwrap_or(false),
        bytes: number("bytes"),
    });
    let mut mesh_info = engine::mesh_info(report);
    mesh_info.learn(field.report());
    let (field, shell) = (field.clone(), asset.shell_report().cloned());
    let mut model =
        Model::new(ModelMesh::InFile(Box::new((asset, OnceLock::new()))), mesh_info, field, voxels);
    if let Some(report) = shell {
        model.info.learn(&report, notes["levels"].as_u64().unwrap_or(0) as usize);
    }
    let said = notes["notes"].as_array().into_iter().flatten();
    let up = [0, 1, 2].map(|i| notes["up"][i].as_f64().unwrap_or(0.0));
    model.up = DVec3::from_array(up).try_normalize();
    model.notes = said.filter_map(|n| n.as_str().map(str::to_owned)).collect();
    Ok(model)
}
