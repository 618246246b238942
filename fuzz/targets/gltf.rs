#![no_main]
//! Any bytes as glTF: no panic, and a mesh that comes out is valid.

use libfuzzer_sys::fuzz_target;
use palpate::mesh::{Format, RawMesh};

fuzz_target!(|bytes: &[u8]| {
    let _ = Format::detect(bytes);
    if let Ok(mesh) = RawMesh::from_bytes(bytes, Format::Gltf, 1.0) {
        let n = mesh.positions.len();
        assert!(!mesh.triangles.is_empty() && mesh.triangles.iter().flatten().all(|&v| (v as usize) < n));
        assert!(mesh.positions.iter().all(|p| p.is_finite()));
    }
});
