#![no_main]
//! Any bytes as an asset, as they are and with checksums made right: no panic, and what opens can be used.

use glam::{DVec3, Vec3};
use libfuzzer_sys::fuzz_target;
use palpate::asset::{Asset, AssetContents, reseal};
use palpate::tree::{Tree, TreeParams};

fuzz_target!(|bytes: &[u8]| {
    let _ = Asset::from_bytes(bytes);
    let mut sealed = bytes.to_vec();
    reseal(&mut sealed);
    let Ok(asset) = Asset::from_bytes(&sealed) else { return };
    if let Some(field) = asset.field() {
        let aabb = field.lattice().aabb();
        let size = aabb.extent();
        let mut points = Vec::new();
        for i in 0..64 {
            let share = DVec3::new(f64::from(i & 3), f64::from(i >> 2 & 3), f64::from(i >> 4)) / 2.5 - 0.1;
            let _ = field.sample(aabb.min + share * size);
            points.push((share * size).as_vec3());
        }
        points.push(Vec3::NAN);
        let (mut fast, mut plain) = (vec![0.0; points.len()], vec![0.0; points.len()]);
        field.distances_here(&points, &mut fast);
        field.distances_plain(&points, &mut plain);
        for (a, b) in fast.iter().zip(&plain) {
            assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "{a} {b}");
        }
    }
    let mesh = asset.mesh().ok().flatten();
    if let Some(mesh) = &mesh {
        let count = mesh.positions().len();
        assert!(mesh.triangles().iter().flatten().all(|v| (*v as usize) < count));
        let _ = mesh.mass_properties();
    }
    let shell = asset.shell().ok().flatten();
    if let Some(shell) = &shell {
        let tree = Tree::build(shell, &TreeParams::default());
        assert_eq!(tree.len(), shell.len());
        assert_eq!(shell.is_empty(), tree.levels() == 0);
    }
    // What opened can be written and opened again, with the same content.
    let contents = AssetContents {
        key: asset.key(),
        mesh: mesh.as_ref(),
        field: asset.field(),
        shell: shell.as_ref(),
        build: asset.build_text(),
        ..Default::default()
    };
    if let (Ok(again), true) = (contents.to_bytes(), mesh.is_some() == asset.mesh_report().is_some()) {
        let again = Asset::from_bytes(&again).expect("what was written must open");
        assert_eq!((again.key(), again.build_text()), (asset.key(), asset.build_text()));
        assert_eq!(again.field().map(|f| f.report()), asset.field().map(|f| f.report()));
        let same = again.shell().expect("what was read must be read again").map(|s| s.len());
        assert_eq!(same, shell.map(|s| s.len()));
    }
});
