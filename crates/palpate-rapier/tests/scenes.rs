//! Worlds in files, and what is wrong with files and shapes.

mod common;

use common::{build, cube, fixed, gear, moving, world};
use palpate::asset::AssetContents;
use palpate::mesh::samples;
use palpate::shell::Shell;
use palpate::{Asset, Tree};
use palpate_rapier::{ContactOptions, PalpateDispatcher, PalpateShape, PrepareError, SceneError, scene};
use parry3d::shape::{SharedShape, TriMesh};
use rapier3d::prelude::*;
use std::path::{Path, PathBuf};

/// A folder of its own for a test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// A shape in a file, with or without its points.
fn write(shape: &PalpateShape, file: &Path, points: bool) {
    let core = shape.core();
    let spacing = core.tree().shell_report().spacing;
    let shell = Shell::build(core.mesh(), core.field(), spacing, &Default::default()).expect("points");
    let contents = AssetContents {
        mesh: Some(core.mesh()),
        field: Some(core.field()),
        shell: points.then_some(&shell),
        ..Default::default()
    };
    Asset::write(file, &contents).expect("the folder can be written");
}

#[test]
fn a_world_comes_back() {
    let folder = folder("a_world_comes_back");
    write(&gear(), &folder.join("gear.palp"), true);
    write(&cube(0.2), &folder.join("cube.palp"), false);
    let open = |name: &str| PalpateShape::open(folder.join(name)).expect("it was just written");
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 0.3);
    fixed(&mut world, SharedShape::cuboid(1.0, 0.1, 1.0), Pose::translation(0.0, -0.1, 0.0));
    let options = ContactOptions { both: true, budget: 5000, ..Default::default() };
    let one = moving(&mut world, open("gear.palp").with_options(options), Pose::translation(0.0, 0.1, 0.0));
    let half = open("gear.palp").scaled(0.5).expect("a positive factor");
    let two = moving(&mut world, half, Pose::translation(0.01, 0.2, 0.0));
    let three = moving(&mut world, open("cube.palp"), Pose::translation(0.5, 0.2, 0.0));
    for _ in 0..20 {
        world.step();
    }
    let file = folder.join("world.json");
    scene::save(&world, &file).expect("every shape has a file");
    let mut back = scene::load(&file, &dispatcher).expect("it was just written");
    for body in [one, two, three] {
        assert_eq!(world.bodies[body].position(), back.bodies[body].position());
        assert_eq!(world.bodies[body].linvel(), back.bodies[body].linvel());
    }
    let shape = |w: &PhysicsWorld, body: RigidBodyHandle| {
        let collider = w.bodies[body].colliders()[0];
        w.colliders[collider].shape().as_shape::<PalpateShape>().map(|s| (s.options(), s.file().map(|f| f.1)))
    };
    assert_eq!(shape(&back, one), Some((options, Some(1.0))));
    assert_eq!(shape(&back, two), Some((ContactOptions::default(), Some(0.5))));
    // Both go on alike; impulses of the last step are all that is lost.
    for _ in 0..240 {
        world.step();
        back.step();
    }
    for body in [one, two, three] {
        let (a, b) = (world.bodies[body].translation(), back.bodies[body].translation());
        assert!((a - b).length() < 5e-3 && a.y > 0.01, "{a} {b}");
        let masses = (world.bodies[body].mass(), back.bodies[body].mass());
        assert!((masses.0 - masses.1).abs() < 1e-4 * masses.0, "{masses:?}");
    }
    // The folder may move.
    let moved = folder.with_file_name("a_world_that_moved");
    drop(std::fs::remove_dir_all(&moved));
    std::fs::rename(&folder, &moved).expect("within one folder");
    assert!(scene::load(moved.join("world.json"), &dispatcher).is_ok());
}

#[test]
fn scenes_say_what_is_wrong() {
    let folder = folder("scenes_say_what_is_wrong");
    let dispatcher = PalpateDispatcher::new();
    let mut built = world(&dispatcher, 0.3);
    moving(&mut built, cube(0.2), Pose::IDENTITY);
    let error = scene::to_json(&built, &folder).expect_err("the shape has no file");
    assert!(matches!(error, SceneError::NoFile { collider: 0 }), "{error}");

    let mut compound = world(&dispatcher, 0.3);
    let parts = vec![(Pose::IDENTITY, SharedShape::new(cube(0.2)))];
    moving(&mut compound, SharedShape::compound(parts), Pose::IDENTITY);
    let error = scene::to_json(&compound, &folder).expect_err("a compound cannot be saved");
    assert!(error.to_string().contains("compound"), "{error}");

    let palp = folder.join("cube.palp");
    write(&cube(0.2), &palp, true);
    let mut good = world(&dispatcher, 0.3);
    moving(&mut good, PalpateShape::open(&palp).expect("it was just written"), Pose::IDENTITY);
    let json = scene::to_json(&good, &folder).expect("every shape has a file");
    let load =
        |json: &str| scene::from_json(json, &folder, &dispatcher).map(|_| ()).map_err(|e| e.to_string());
    assert_eq!(load(&json), Ok(()));
    let error = load(&json.replace("\"version\":1", "\"version\":9")).expect_err("another version");
    assert!(error.contains("version 9"), "{error}");
    let error = load(&json.replace("\"scale\":1.0", "\"scale\":-1.0")).expect_err("no scale");
    assert!(error.contains("scale is -1"), "{error}");
    assert!(load("{}").is_err() && load("").is_err() && load(&json[..json.len() / 2]).is_err());

    // The file is of another version, damaged, or gone.
    let bytes = std::fs::read(&palp).expect("it was just written");
    let mut other = bytes.clone();
    // Bytes 8 to 11 of the header.
    other[8] = 99;
    std::fs::write(&palp, other).expect("the folder can be written");
    let error = load(&json).expect_err("another version of the file");
    assert!(
        error.contains("cube.palp") && error.contains("collider 0") && error.contains("version"),
        "{error}"
    );
    std::fs::write(&palp, &bytes[..bytes.len() / 2]).expect("the folder can be written");
    assert!(load(&json).expect_err("cut short").contains("cube.palp"));
    std::fs::remove_file(&palp).expect("it was just written");
    let error = load(&json).expect_err("gone");
    assert!(error.contains("cannot read") && error.contains("cube.palp"), "{error}");
}

#[test]
fn files_without_a_mesh_are_refused() {
    let file = folder("files_without_a_mesh").join("field.palp");
    let cube = cube(0.2);
    let contents = AssetContents { field: Some(cube.core().field()), ..Default::default() };
    Asset::write(&file, &contents).expect("the folder can be written");
    let error = PalpateShape::open(&file).expect_err("no mesh");
    assert!(error.to_string().contains("holds no mesh"), "{error}");
}

/// A shape without points touches nothing, and nothing panics.
#[test]
fn shapes_without_points() {
    let none = Shell::from_points(&[], &[], &[], 0.1, 0.1);
    let empty = cube(0.3).core().with_tree(Tree::build(&none, &Default::default()));
    let empty = PalpateShape::new(empty);
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 0.3);
    fixed(&mut world, SharedShape::cuboid(1.0, 0.1, 1.0), Pose::translation(0.0, -0.1, 0.0));
    let body = moving(&mut world, empty.clone(), Pose::translation(0.0, 0.2, 0.0));
    let other = moving(&mut world, empty, Pose::translation(0.1, 0.3, 0.0));
    for _ in 0..60 {
        world.step();
    }
    assert!(world.bodies[body].translation().y < -1.0 && world.bodies[other].position().is_finite());
}

#[test]
fn meshes_are_built_once() {
    let dispatcher = PalpateDispatcher::new();
    let raw = samples::terrain_slab(2.0, 0.1, 24, 5);
    let points: Vec<Vector> =
        raw.positions.iter().map(|p| Vector::new(p.x as f32, p.z as f32, -p.y as f32)).collect();
    let mesh = || SharedShape::new(TriMesh::new(points.clone(), raw.triangles.clone()).expect("a mesh"));
    let (ground, copy) = (mesh(), mesh());
    dispatcher.prepare(&ground, Some(0.03)).expect("a closed mesh");
    assert_eq!(dispatcher.built(), 1);
    let mut world = world(&dispatcher, 0.3);
    fixed(&mut world, ground, Pose::IDENTITY);
    fixed(&mut world, copy, Pose::translation(10.0, 0.0, 0.0));
    let one = moving(&mut world, gear(), Pose::translation(0.0, 0.4, 0.0));
    let two = moving(&mut world, gear(), Pose::translation(10.0, 0.4, 0.0));
    for _ in 0..120 {
        world.step();
    }
    assert_eq!(dispatcher.built(), 1);
    let (one, two) = (world.bodies[one].translation(), world.bodies[two].translation());
    assert!((one.y - two.y).abs() < 0.02 && one.y > -0.2 && one.y < 0.3, "{one} {two}");
    dispatcher.clear();
    assert_eq!(dispatcher.built(), 0);
}

#[test]
fn what_cannot_be_built_is_said() {
    let dispatcher = PalpateDispatcher::new();
    assert_eq!(dispatcher.prepare(&SharedShape::ball(0.0), None), Err(PrepareError::Nothing));
    assert!(dispatcher.prepare(&SharedShape::ball(1.0), None).is_ok());
    let flat = vec![Vector::ZERO, Vector::X, Vector::X * 2.0];
    if let Ok(line) = TriMesh::new(flat, vec![[0, 1, 2]]) {
        let error = dispatcher.prepare(&SharedShape::new(line), None).expect_err("a triangle without area");
        assert!(matches!(error, PrepareError::Mesh(_)), "{error}");
    }
    let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[x, z]| Vector::new(x, 0.0, z));
    let sheet = TriMesh::new(square.to_vec(), vec![[0, 2, 1], [0, 3, 2]]).expect("two triangles");
    let error = dispatcher.prepare(&SharedShape::new(sheet), Some(-1.0)).expect_err("no voxel");
    assert!(matches!(error, PrepareError::Shape(_)), "{error}");
    // Against it, ours finds nothing, without a panic.
    let mut world = world(&dispatcher, 0.3);
    fixed(&mut world, SharedShape::ball(0.0), Pose::IDENTITY);
    moving(&mut world, build(samples::cuboid(glam::DVec3::splat(0.2)), 0.02), Pose::IDENTITY);
    world.step();
}
