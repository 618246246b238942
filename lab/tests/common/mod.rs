//! What the tests of this folder share: shapes by name, and voxel sizes.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod pairs;

use palpate::Mesh;
use palpate::mesh::{RawMesh, samples};

/// The sample called `name` at its default fineness.
pub(crate) fn sample(name: &str) -> Mesh {
    repaired(samples::by_name(name).expect(name))
}

/// `raw` as every stage after loading sees it.
pub(crate) fn repaired(raw: RawMesh) -> Mesh {
    Mesh::new(raw, &Default::default()).unwrap()
}

/// A mesh of the models folder; says that it was skipped where there is none.
pub(crate) fn model(file: &str) -> Option<Mesh> {
    let Some(folder) = std::env::var_os("PALPATE_MODELS") else {
        println!("skipped: {file}, because PALPATE_MODELS is not set");
        return None;
    };
    Some(Mesh::load(std::path::Path::new(&folder).join(file), 1.0).unwrap())
}

/// Voxel size with `n` voxels on the largest axis, three of them padding on each side [m].
pub(crate) fn voxel(mesh: &Mesh, n: u32) -> f64 {
    mesh.aabb().extent().max_element() / f64::from(n - 6)
}
