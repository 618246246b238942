#![no_main]
//! Any bytes as a glTF scene: no panic, every use names a mesh and has a place, and a mesh that comes out is valid.

use libfuzzer_sys::fuzz_target;
use palpate::mesh::MeshInstances;

fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = MeshInstances::from_bytes(bytes, 1e-3) else { return };
    for instance in &read.instances {
        assert!(instance.mesh < read.meshes.len());
        assert!(instance.pose.is_finite(), "{:?}", instance.pose);
        assert!((instance.pose.rotation.length() - 1.0).abs() < 1e-9);
    }
    for used in 0..read.meshes.len() {
        assert!(read.instances.iter().any(|i| i.mesh == used));
    }
    for mesh in read.meshes.iter().filter_map(|(_, mesh)| mesh.as_ref().ok()) {
        let n = mesh.positions.len();
        assert!(!mesh.triangles.is_empty() && mesh.triangles.iter().flatten().all(|&v| (v as usize) < n));
        assert!(mesh.positions.iter().all(|p| p.is_finite()));
    }
});
