//! Files give back what was written, and nothing else: cut, changed or lying ones are refused.

use super::layout::{ENTRY, HEADER, name_of, reseal, u64_at};
use super::*;
use crate::field::analytic::Analytic;
use crate::field::{Encoding, FieldParams, SignMethod};
use crate::mesh::{RawMesh, RepairParams, samples};
use crate::shell::ShellParams;
use crate::tree::{Tree, TreeParams};
use glam::Vec3;
use std::fs;
use std::path::Path;

const SEED: u64 = 0x5eed_0005;

fn mesh_of(raw: RawMesh) -> Mesh {
    Mesh::new(raw, &RepairParams::default()).unwrap()
}

fn build(mesh: &Mesh, voxel: f64, params: &FieldParams) -> Field {
    Field::build(mesh, voxel, params).unwrap()
}

fn shell_of(mesh: &Mesh, field: &Field, spacing: f64) -> Shell {
    Shell::build(mesh, field, spacing, &ShellParams::default()).unwrap()
}

/// Everything of a shell, and the tree over it.
fn points_said(shell: &Shell) -> String {
    let tree = Tree::build(shell, &TreeParams::default());
    format!("{shell:?} {tree:?}")
}

/// A file of a few KiB with every section: an open cube, so that there are caps.
fn small() -> Vec<u8> {
    let mesh = mesh_of(samples::cube_missing_face(0.02));
    let params = FieldParams { keep_triangles: true, padding: 2.0, band: 1.0, ..Default::default() };
    let field = build(&mesh, 0.005, &params);
    let contents = AssetContents {
        key: 7 << 70 | 9,
        mesh: Some(&mesh),
        field: Some(&field),
        shell: Some(&shell_of(&mesh, &field, 0.012)),
        build: "voxel 5 mm, für alle",
        ..Default::default()
    };
    contents.to_bytes().unwrap()
}

/// Points around the box of a field, relative to its origin.
fn points(field: &Field) -> Vec<Vec3> {
    let size = field.lattice().aabb().extent().as_vec3();
    let mut state = SEED;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    (0..400).map(|_| (Vec3::new(unit(), unit(), unit()) * 1.4 - 0.2) * size).collect()
}

/// Bits of the distances at many points, by both ways of sampling.
fn answers(field: &Field) -> (Vec<u32>, Vec<u64>) {
    let points = points(field);
    let mut fast = vec![0.0; points.len()];
    field.distances(&points, &mut fast);
    let slow = points.iter().map(|p| field.sample(field.lattice().origin + p.as_dvec3()));
    let slow = slow.flat_map(|s| [s.distance, s.gradient.x, s.gradient.y, s.gradient.z]);
    (fast.iter().map(|d| d.to_bits()).collect(), slow.map(f64::to_bits).collect())
}

/// Everything a file says, as one text.
fn said(asset: &Asset) -> String {
    let field =
        asset.field().map(|f| (f.lattice, f.report.clone(), f.encoding(), answers(f), f.closest.to_vec()));
    let mesh = asset.mesh().map(|m| m.map(|m| (m.positions, m.triangles, m.report)));
    let shell = asset.shell().map(|s| s.map(|s| points_said(&s)));
    let report = asset.mesh_report();
    format!("{} {:?} {report:?} {field:?} {mesh:?} {shell:?}", asset.key(), asset.build_text())
}

/// The place of a section in a file.
fn section(bytes: &[u8], name: &str) -> std::ops::Range<usize> {
    let entry = bytes[HEADER..].chunks(ENTRY).find(|e| name_of(&e[..8]) == name).unwrap();
    let start = u64_at(entry, 8) as usize;
    start..start + u64_at(entry, 16) as usize
}

#[test]
fn fields_of_every_encoding_come_back_bit_for_bit() {
    let knot = mesh_of(samples::torus_knot(2, 3, 0.05, 0.02, 0.01, 64, 12));
    let open = mesh_of(samples::cube_missing_face(0.05));
    let encodings = [
        Encoding::Float,
        Encoding::Scaled { precision: None },
        Encoding::Scaled { precision: Some(5) },
        Encoding::Layered,
    ];
    for mesh in [&knot, &open] {
        for encoding in encodings {
            for keep_triangles in [false, true] {
                let params = FieldParams { encoding, keep_triangles, ..Default::default() };
                let field = build(mesh, 0.002, &params);
                let contents = AssetContents { key: 5, field: Some(&field), ..Default::default() };
                let asset = Asset::from_bytes(&contents.to_bytes().unwrap()).unwrap();
                let again = asset.field().unwrap();
                assert_eq!(again.report, field.report, "{encoding:?}");
                assert_eq!((again.lattice, again.encoding()), (field.lattice, encoding));
                assert_eq!(*again.closest, *field.closest);
                assert_eq!(answers(again), answers(&field), "{encoding:?}");
                assert!(asset.mesh_report().is_none() && asset.mesh().unwrap().is_none());
                assert_eq!((asset.key(), asset.build_text()), (5, ""));
            }
        }
    }
}

#[test]
fn shells_come_back_bit_for_bit_and_make_the_same_tree() {
    for (name, voxel) in [("gear", 1e-3), ("cube-missing-face", 2e-3), ("needle", 4e-4)] {
        let far = DVec3::new(1000.0, -20.0, 3.0);
        let mesh = mesh_of(samples::moved(samples::by_name(name).unwrap(), far));
        let field = build(&mesh, voxel, &FieldParams::default());
        let shell = shell_of(&mesh, &field, 2.0 * voxel);
        let contents = AssetContents { field: Some(&field), shell: Some(&shell), ..Default::default() };
        let bytes = contents.to_bytes().unwrap();
        let asset = Asset::from_bytes(&bytes).unwrap();
        assert_eq!(asset.shell_report(), Some(shell.report()), "{name}");
        let again = asset.shell().unwrap().unwrap();
        assert!(again.len() > 50, "{name}: {}", again.len());
        assert_eq!(points_said(&again), points_said(&shell), "{name}");
        // Beside no field nothing says where the points may be.
        let alone = AssetContents { shell: Some(&shell), ..Default::default() }.to_bytes().unwrap();
        let message = Asset::from_bytes(&alone).unwrap().shell().unwrap_err().to_string();
        assert!(message.contains("no field"), "{message}");
    }
    let field = build(&mesh_of(samples::cuboid(DVec3::ONE)), 0.1, &FieldParams::default());
    let without = AssetContents { field: Some(&field), ..Default::default() }.to_bytes().unwrap();
    let asset = Asset::from_bytes(&without).unwrap();
    assert!(asset.shell_report().is_none() && asset.shell().unwrap().is_none());
}

#[test]
fn meshes_come_back_within_single_precision_and_reports_exactly() {
    for name in ["gear", "cube-missing-face", "sheet", "needle"] {
        let far = DVec3::new(1000.0, -20.0, 3.0);
        let mesh = mesh_of(samples::moved(samples::by_name(name).unwrap(), far));
        let contents = AssetContents { mesh: Some(&mesh), ..Default::default() };
        let asset = Asset::from_bytes(&contents.to_bytes().unwrap()).unwrap();
        assert_eq!(asset.mesh_report(), Some(mesh.report()));
        assert!(asset.field().is_none());
        let again = asset.mesh().unwrap().unwrap();
        assert_eq!(again.triangles, mesh.triangles);
        assert_eq!(again.topology, mesh.topology);
        // Half a unit in the last place of f32, at half the box.
        let limit = mesh.aabb().extent().max_element() * 0.5 * 2f64.powi(-24) * 1.01;
        for (a, b) in again.positions.iter().zip(&mesh.positions) {
            assert!((*a - *b).abs().max_element() <= limit, "{name}: {a} {b}");
        }
        let precise = AssetContents { precise: true, ..contents }.to_bytes().unwrap();
        let again = Asset::from_bytes(&precise).unwrap().mesh().unwrap().unwrap();
        assert_eq!((again.positions, again.triangles), (mesh.positions.clone(), mesh.triangles.clone()));
    }
}

#[test]
fn coordinates_that_single_precision_would_flatten_are_kept_in_double() {
    // A triangle 1e-9 high beside one of a metre: in f32 relative to the box it has no area.
    let positions = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [1.0, 1.0, 0.3],
        [0.7, 0.7, 0.25],
        [0.7, 0.7, 0.25 + 2e-8],
        [0.7 + 1e-8, 0.7, 0.25],
    ];
    let raw = RawMesh {
        positions: positions.map(DVec3::from_array).to_vec(),
        triangles: vec![[0, 1, 2], [1, 3, 2], [4, 5, 6]],
    };
    let mesh = mesh_of(raw);
    assert_eq!(mesh.triangles.len(), 3);
    let bytes = AssetContents { mesh: Some(&mesh), ..Default::default() }.to_bytes().unwrap();
    let again = Asset::from_bytes(&bytes).unwrap().mesh().unwrap().unwrap();
    assert_eq!(section(&bytes, "vertex64").len(), 7 * 24);
    assert_eq!(again.positions, mesh.positions);
}

#[test]
fn analytic_fields_and_unsigned_sheets_are_kept() {
    let sphere = Analytic::sphere(DVec3::ZERO, 0.05).unwrap();
    let aabb = crate::math::Aabb { min: DVec3::splat(-0.05), max: DVec3::splat(0.05) };
    let field = Field::from_source(&sphere, aabb, 0.005, &FieldParams::default()).unwrap();
    let sheet = build(&mesh_of(samples::sheet(8)), 0.01, &FieldParams::default());
    for (field, method) in [(field, SignMethod::Analytic), (sheet, SignMethod::Unsigned)] {
        let bytes = AssetContents { field: Some(&field), ..Default::default() }.to_bytes().unwrap();
        let asset = Asset::from_bytes(&bytes).unwrap();
        assert_eq!(asset.field().unwrap().report, field.report);
        assert_eq!(asset.field().unwrap().report.sign_method, method);
    }
}

#[test]
fn files_are_replaced_whole_and_outlive_their_asset() {
    let folder = std::env::temp_dir().join(format!("palpate-asset-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.palp");
    let mesh = mesh_of(samples::cuboid(DVec3::splat(0.02)));
    let [coarse, fine] = [0.004, 0.002].map(|voxel| build(&mesh, voxel, &FieldParams::default()));
    let contents = |key, field| AssetContents { key, field: Some(field), ..Default::default() };
    Asset::write(&path, &contents(1, &coarse)).unwrap();
    let first = Asset::open(&path).unwrap().field().unwrap().clone();
    // The old field still reads the old content after the file was replaced.
    Asset::write(&path, &contents(2, &fine)).unwrap();
    assert_eq!(answers(&first), answers(&coarse));
    assert_eq!(answers(Asset::open(&path).unwrap().field().unwrap()), answers(&fine));
    assert_eq!(Asset::read_key(&path).unwrap(), 2);
    // Failures leave nothing and name the file.
    let nowhere = folder.join("no/b.palp");
    for bad in [&nowhere, &folder] {
        let message = Asset::write(bad, &contents(3, &fine)).unwrap_err().to_string();
        assert!(message.contains(&bad.display().to_string()), "{message}");
        assert!(Asset::open(bad).is_err() && Asset::read_key(bad).is_err());
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_truncation_is_refused() {
    let bytes = small();
    assert!(bytes.len() < 32 << 10, "{} bytes", bytes.len());
    assert!(Asset::from_bytes(&bytes).is_ok());
    let folder = std::env::temp_dir().join(format!("palpate-cut-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("cut.palp");
    for length in 0..bytes.len() {
        let message = Asset::from_bytes(&bytes[..length]).unwrap_err().to_string();
        assert!(message.contains("memory") && message.contains("build"), "{message}");
        if length % 97 == 0 {
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(Asset::open(&path).is_err() && Asset::read_key(&path).is_err(), "{length}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    let longer = [&bytes[..], &[0]].concat();
    assert!(Asset::from_bytes(&longer).is_err());
}

#[test]
fn every_changed_byte_is_refused_or_means_nothing() {
    let bytes = small();
    let right = said(&Asset::from_bytes(&bytes).unwrap());
    let mut silent = 0;
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        if let Ok(asset) = Asset::from_bytes(&changed) {
            assert_eq!(said(&asset), right, "byte {at}");
            silent += 1;
        }
    }
    // Only the gaps between sections mean nothing.
    assert!(silent < 10 * 64, "{silent} bytes changed without notice");
}

/// Lies past the checksums are refused by the section they are in, or change nothing a query could trip over.
#[test]
fn lies_with_right_checksums_never_give_a_field_that_fails() {
    let bytes = small();
    let (mut refused, mut opened) = (0, 0);
    for at in 8..bytes.len() {
        // The big arrays are alike: every seventh byte of those.
        if at > section(&bytes, "cells").start && at % 7 != 0 {
            continue;
        }
        for value in [0, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            reseal(&mut changed);
            match Asset::from_bytes(&changed) {
                Err(_) => refused += 1,
                Ok(asset) => {
                    opened += 1;
                    let _ = said(&asset);
                }
            }
        }
    }
    assert!(refused > 300 && opened > 300, "{refused} refused, {opened} opened");
}

#[test]
fn particular_lies_are_named() {
    let bytes = small();
    let lie = |name: &str, at: usize, new: &[u8]| {
        let mut changed = bytes.clone();
        let start = section(&changed, name).start + at;
        changed[start..start + new.len()].copy_from_slice(new);
        reseal(&mut changed);
        let asset = Asset::from_bytes(&changed).and_then(|a| a.mesh().and(a.shell()).map(|_| ()));
        asset.unwrap_err().to_string()
    };
    for (name, at, new, word) in [
        ("cells", 0, &5i32.to_le_bytes()[..], "no brick"),
        ("cells", 0, &i32::MAX.to_le_bytes(), "no brick"),
        ("cells", 0, &(-2i32).to_le_bytes(), "no brick"),
        ("nodes", 400, &f32::NAN.to_le_bytes(), "not finite"),
        ("nodes", 4, &f32::NEG_INFINITY.to_le_bytes(), "not finite"),
        ("closest", 0, &(u32::MAX - 1).to_le_bytes(), "triangle"),
        ("field", 24, &0f64.to_le_bytes(), "voxels of 0 m"),
        ("field", 24, &f64::NAN.to_le_bytes(), "voxel"),
        ("field", 32, &0u64.to_le_bytes(), "0 cells"),
        ("field", 32, &2u64.to_le_bytes(), "bytes"),
        ("field", 56, &9u64.to_le_bytes(), "encoding 9"),
        ("field", 56, &1u64.to_le_bytes(), "bytes"),
        ("mesh", 24, &9u64.to_le_bytes(), "vertices"),
        ("faces", 0, &8u32.to_le_bytes(), "vertices [8,"),
        ("vertices", 0, &f32::NAN.to_le_bytes(), "vertex 0"),
        ("shell", 24, &0f64.to_le_bytes(), "0 m as spacing"),
        ("shell", 24, &1e-9f64.to_le_bytes(), "as spacing"),
        ("shell", 24, &1f64.to_le_bytes(), "places"),
        ("shell", 32, &f64::NAN.to_le_bytes(), "radius"),
        ("shell", 48, &1u64.to_le_bytes(), "bytes"),
        ("shell", 56, &1u64.to_le_bytes(), "places, not 1"),
        ("points", 0, &f32::NAN.to_le_bytes(), "point 0"),
        ("points", 12, &1f32.to_le_bytes(), "outside"),
        ("normals", 0, &2f32.to_le_bytes(), "at point 0"),
        ("normals", 0, &f32::NAN.to_le_bytes(), "at point 0"),
        ("areas", 4, &(-1f32).to_le_bytes(), "at point 1"),
        ("pointtri", 0, &u32::MAX.to_le_bytes(), "triangle"),
        ("build", 0, &[0xff], "no text"),
    ] {
        let message = lie(name, at, new);
        assert!(message.contains(word) && message.contains("build it again"), "{name} {at}: {message}");
    }
}

#[test]
fn unknown_sections_are_skipped_and_later_versions_are_not_guessed() {
    let bytes = small();
    let right = said(&Asset::from_bytes(&bytes).unwrap());
    // The build text under a name of the future: everything else is as before.
    let mut changed = bytes.clone();
    changed[HEADER..HEADER + 8].copy_from_slice(b"shelltre");
    // Unknown content is not looked at, whatever its checksum.
    changed[section(&bytes, "build").start] ^= 1;
    let mut resealed = changed.clone();
    reseal(&mut resealed);
    resealed[section(&bytes, "build").start] ^= 4;
    let asset = Asset::from_bytes(&resealed).unwrap();
    assert_eq!(said(&asset), right.replace("\"voxel 5 mm, für alle\"", "\"\""));

    let mut future = bytes;
    future[8] = 2;
    reseal(&mut future);
    let message = Asset::from_bytes(&future).unwrap_err().to_string();
    assert!(message.contains("version 2") && message.contains("newer"), "{message}");
    let message = Asset::from_bytes(b"solid cube").unwrap_err().to_string();
    assert!(message.contains("not a .palp file"), "{message}");
}

#[test]
fn keys_follow_source_and_parameters() {
    let key = cache_key(b"abc", "voxel 1");
    assert_eq!(key, cache_key(b"abc", "voxel 1"));
    for other in [cache_key(b"abd", "voxel 1"), cache_key(b"abc", "voxel 2"), cache_key(b"1abc", "voxel ")] {
        assert_ne!(key, other);
    }
    let folder = std::env::temp_dir().join(format!("palpate-key-{}.palp", std::process::id()));
    let contents = AssetContents { key, ..Default::default() };
    Asset::write(Path::new(&folder), &contents).unwrap();
    assert_eq!(Asset::read_key(&folder).unwrap(), key);
    assert_eq!(Asset::open(&folder).unwrap().key(), key);
    fs::remove_file(&folder).unwrap();
}

/// The seeds of the fuzz target are what this version writes; `PALPATE_WRITE_SEEDS=1` writes them anew.
#[test]
fn fuzz_seeds_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/palp");
    let mesh = mesh_of(samples::cuboid(DVec3::splat(0.01)));
    let scaled = FieldParams { encoding: Encoding::Scaled { precision: None }, ..Default::default() };
    let field = build(&mesh, 0.005, &scaled);
    let scaled = AssetContents { key: 3, field: Some(&field), ..Default::default() }.to_bytes().unwrap();
    let only =
        AssetContents { mesh: Some(&mesh), build: "mesh only", ..Default::default() }.to_bytes().unwrap();
    let seeds = [("whole.palp", small()), ("scaled.palp", scaled), ("mesh.palp", only)];
    for (name, bytes) in seeds {
        let path = folder.join(name);
        if std::env::var_os("PALPATE_WRITE_SEEDS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        // Values may differ in the last bit between machines; the layout may not.
        match fs::read(&path) {
            Ok(seed) => assert!(seed.len() == bytes.len() && Asset::from_bytes(&seed).is_ok(), "{name}"),
            Err(e) => eprintln!("skipped: {}: {e}", path.display()),
        }
    }
}

/// A shape comes back from its file as it was, is built once for the same source and parameters, and again for others.
#[test]
fn shapes_are_kept() {
    use crate::progress::Silent;
    use crate::shape::{Shape, ShapeParams, Size};
    let folder = std::env::temp_dir().join(format!("palpate-kept-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (source, kept) = (folder.join("cube.obj"), folder.join("cube.palp"));
    let raw = samples::cuboid(DVec3::new(0.02, 0.03, 0.01));
    crate::mesh::write_obj(fs::File::create(&source).unwrap(), &raw.positions, &raw.triangles).unwrap();
    let ask = |size, params: &ShapeParams| Shape::cached(&source, 1.0, size, params, &kept, &Silent).unwrap();
    let usual = ShapeParams::default();

    let (built, from_file) = ask(Size::Resolution(24), &usual);
    assert!(!from_file);
    let (read, from_file) = ask(Size::Resolution(24), &usual);
    assert!(from_file);
    assert_eq!(format!("{:?}", read.tree()), format!("{:?}", built.tree()));
    assert_eq!(points_said(&built.tree().shell()), points_said(&read.tree().shell()));
    let at = DVec3::new(0.001, 0.002, 0.003);
    assert_eq!(read.field().sample(at), built.field().sample(at));

    // Threads do not decide the result; spacing, size and the source do.
    let mut threads = usual.clone();
    (threads.field.threads, threads.tree.threads) = (2, 1);
    assert!(ask(Size::Resolution(24), &threads).1);
    assert!(!ask(Size::Resolution(24), &ShapeParams { spacing: Some(0.003), ..usual.clone() }).1);
    assert!(!ask(Size::Voxel(0.002), &usual).1);
    fs::write(&source, [fs::read(&source).unwrap(), b"# changed\n".to_vec()].concat()).unwrap();
    assert!(!ask(Size::Voxel(0.002), &usual).1);

    // A damaged file is replaced; a place that cannot be written, and the mesh itself, are refused.
    fs::write(&kept, b"PALP").unwrap();
    assert!(!ask(Size::Voxel(0.002), &usual).1);
    assert!(ask(Size::Voxel(0.002), &usual).1);
    let nowhere = Shape::cached(&source, 1.0, Size::Voxel(0.002), &usual, folder.join("no/x.palp"), &Silent);
    assert!(matches!(nowhere, Err(AssetError::Write { .. })), "{nowhere:?}");
    let itself = Shape::cached(&source, 1.0, Size::Voxel(0.002), &usual, &source, &Silent);
    assert!(matches!(itself, Err(AssetError::Write { .. })), "{itself:?}");
    fs::remove_dir_all(&folder).unwrap();
}
