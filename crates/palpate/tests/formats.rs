//! Files from elsewhere, odd and broken ones among them: each gives a mesh or an error that helps.

use palpate::cloud::{CloudFormat, RawCloud};
use palpate::mesh::{Format, RawMesh};
use std::path::{Path, PathBuf};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect())
        .expect("the folder can be listed");
    files.sort();
    files
}

fn assert_valid(mesh: &RawMesh, name: &str) {
    let n = mesh.positions.len();
    assert!(!mesh.triangles.is_empty(), "{name}");
    assert!(mesh.triangles.iter().flatten().all(|&v| (v as usize) < n), "{name}");
    assert!(mesh.positions.iter().all(|p| p.is_finite()), "{name}");
}

/// Triangles, or words that the error must say. What the files hold is known from their makers' tests and by eye.
const ANSWERS: [(&str, Result<usize, &[&str]>); 35] = [
    ("7_8ths_cube.stl", Ok(24)),
    ("BoxTextured.glb", Ok(12)),
    ("box.obj", Ok(12)),
    ("busted.STL", Ok(3878)),
    ("cube.OBJ", Ok(12)),
    ("cube_blender_uv.ply", Ok(12)),
    ("cube_compressed.obj", Ok(12)),
    ("cubevt.obj", Ok(12)),
    ("empty.obj", Err(&["0 vertices", "0 faces"])),
    ("empty.stl", Err(&["0 faces"])),
    ("emptyIO_obj_points.obj", Err(&["8 vertices", "point cloud"])),
    ("emptyIO_ply_empty_ascii.ply", Err(&["0 vertices", "0 faces"])),
    ("emptyIO_ply_empty_header.ply", Err(&["0 vertices", "0 faces"])),
    ("emptyIO_ply_points_bin.ply", Err(&["8 vertices", "point cloud"])),
    ("emptyIO_stl_empty_bin.stl", Err(&["0 faces"])),
    ("face_in_group_name.obj", Err(&["1 vertices", "point cloud"])),
    ("featuretype.STL", Ok(3476)),
    ("jacked.obj", Ok(12)),
    ("large_block.STL", Ok(12)),
    ("metadata.ply", Ok(2)),
    ("multi.ply", Ok(2)),
    ("nancolor.obj", Ok(12)),
    ("nested.glb", Ok(36)),
    ("not_convex.obj", Ok(96)),
    ("obj_with_no_face_in_chunk.obj", Ok(1)),
    ("plane.ply", Ok(2)),
    ("points_ascii.ply", Err(&["5 vertices", "point cloud"])),
    ("points_bin.ply", Err(&["5 vertices", "point cloud"])),
    ("polygonfaces.obj", Ok(3)),
    ("singlevn.obj", Ok(2)),
    ("testplate.glb", Ok(264)),
    ("textured_tetrahedron.obj", Ok(4)),
    ("two_objects.obj", Ok(16)),
    ("unit_cube.STL", Ok(12)),
    ("whitespace.off", Ok(12)),
];

#[test]
fn every_model_gives_a_mesh_or_a_clear_error() {
    let Some(models) = std::env::var_os("PALPATE_MODELS").map(PathBuf::from) else {
        println!("skipped: PALPATE_MODELS is not set");
        return;
    };
    let mut known = 0;
    for path in files(&models.join("formats")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let result = RawMesh::load(&path, 1.0);
        match &result {
            Ok(mesh) => {
                println!("{name}: {} triangles", mesh.triangles.len());
                assert_valid(mesh, name);
            }
            Err(error) => {
                println!("{error}");
                assert!(error.to_string().contains(name), "{error}");
            }
        }
        let answer = ANSWERS.iter().find(|a| a.0 == name).map(|a| &a.1);
        known += usize::from(answer.is_some());
        match (answer, &result) {
            (Some(Ok(n)), Ok(mesh)) => assert_eq!(mesh.triangles.len(), *n, "{name}"),
            (Some(Err(words)), Err(e)) => assert!(words.iter().all(|w| e.to_string().contains(w)), "{e}"),
            (Some(_), _) => panic!("{name}: {result:?}"),
            (None, _) => {}
        }
        // The name of the format is not needed where there is something to find.
        let bytes = std::fs::read(&path).unwrap();
        if result.is_ok() {
            assert_eq!(Format::detect(&bytes), Format::from_path(&path), "{name}");
        }
    }
    assert!(known > 30, "only {known} of the known files are there");
    let mut big = 0;
    for path in files(&models).into_iter().filter(|p| Format::from_path(p).is_some()) {
        assert_valid(&RawMesh::load(&path, 1.0).unwrap(), &path.display().to_string());
        big += 1;
    }
    assert!(big > 10, "only {big} models are there");
}

/// Inputs that once made a reader panic, kept for good: every reader must answer each.
#[test]
fn inputs_that_crashed_a_reader_no_longer_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crashers");
    for path in files(&folder) {
        let bytes = std::fs::read(&path).unwrap();
        for format in Format::ALL {
            if let Ok(mesh) = RawMesh::from_bytes(&bytes, format, 1.0) {
                assert_valid(&mesh, &path.display().to_string());
            }
        }
        for format in CloudFormat::ALL {
            if let Ok(cloud) = RawCloud::from_bytes(&bytes, format, 1.0) {
                assert!(cloud.points.iter().all(|p| p.is_finite()), "{}", path.display());
            }
        }
    }
}
