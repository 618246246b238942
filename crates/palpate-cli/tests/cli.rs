//! The program as users run it: what it prints, where, and with which exit code.
//!
//! Contracts: `--help` teaches; bad input gives exit code 2, a message that names the input, and no file; `--json` puts
//! exactly one object on standard output; the keys are those of the published list.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, answer, has_keys, palpate, palpate_in, refuses, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const COMMANDS: [&str; 8] =
    ["inspect", "build", "distance", "export", "report", "query", "clearance", "bench"];

const INSPECT_KEYS: &str = "vertices triangles boundary_edges nonmanifold_edges duplicate_faces degenerate components \
     watertight volume area aabb suggested_voxel sign_method";
const BUILD_KEYS: &str = "voxel spacing dims bricks points levels bytes seconds stages peak_rss_bytes sign_method \
     sign_confidence caps error_bound_band error_bound_far cached";
const DISTANCE_KEYS: &str = "distances gradients error_bound_band error_bound_far";

const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
    f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

#[test]
fn help_of_each_command_teaches() {
    let whole = palpate(&["--help"]);
    assert_eq!(whole.status.code(), Some(0));
    for command in COMMANDS {
        assert!(stdout(&whole).contains(command), "{command}");
        let output = palpate(&[command, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{command}");
        let text = stdout(&output);
        assert!(text.contains("Usage:"), "{command}");
        assert!(text.contains(&format!("palpate {command}")), "{command} has no example:\n{text}");
    }
    assert!(stdout(&palpate(&["--version"])).starts_with("palpate "));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let folder = Folder::new("usage");
    let cube = folder.write("cube.obj", CUBE);
    refuses(&["frobnicate"], &["frobnicate"]);
    refuses(&["inspect"], &["MESH"]);
    refuses(&["build", &cube], &["--output"]);
    refuses(&["export", &cube], &["--iso"]);
    let out = folder.path("x.palp");
    for (option, value, word) in [
        ("--voxel", "0", "positive"),
        ("--voxel", "-1mm", "--voxel"),
        ("--voxel", "big", "0.5mm"),
        ("--resolution", "3", "--resolution"),
        ("--unit", "parsec", "unit"),
        ("--max-memory", "lots", "2GiB"),
        ("--band", "nan", "voxels"),
        ("--encoding", "magic", "scaled"),
        ("--precision", "3", "--encoding scaled"),
    ] {
        refuses(&["build", &cube, "-o", &out, option, value], &[word]);
    }
    refuses(&["build", &cube, "-o", &out, "--voxel", "1mm", "--resolution", "64"], &["--resolution"]);
    refuses(&["export", &cube, "--slice", &folder.path("a.jpg")], &["a.jpg", ".png"]);
    refuses(&["export", &cube, "--iso", &folder.path("a.xyz")], &["a.xyz", ".obj"]);
    refuses(&["export", &cube, "--slice", &folder.path("a.png"), "--at", "1.5"], &["--at"]);
    assert_eq!(folder.names(), ["cube.obj"]);
}

#[test]
fn missing_files_are_named() {
    let folder = Folder::new("missing");
    let (mesh, asset, points) = (folder.path("no.obj"), folder.path("no.palp"), folder.path("no.csv"));
    let out = folder.path("out.palp");
    refuses(&["inspect", &mesh], &["no.obj"]);
    refuses(&["inspect", &asset], &["no.palp"]);
    refuses(&["build", &mesh, "-o", &out], &["no.obj"]);
    refuses(&["distance", &asset, "--points", &points], &["no.csv"]);
    let given = folder.write("p.csv", "0,0,0\n");
    refuses(&["distance", &asset, "--points", &given], &["no.palp"]);
    refuses(&["export", &asset, "--nrrd", &folder.path("a.nrrd")], &["no.palp"]);
    refuses(&["report", &mesh, "-o", &folder.path("a.html")], &["no.obj"]);
    refuses(&["inspect", &folder.0.display().to_string()], &["folder"]);
    assert_eq!(folder.names(), ["p.csv"]);
}

#[test]
fn garbage_is_refused_and_leaves_no_file() {
    let folder = Folder::new("garbage");
    let out = folder.path("out.palp");
    let garbage: Vec<u8> = (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut inputs = vec![
        folder.write("empty.obj", ""),
        folder.write("points.obj", "v 0 0 0\nv 1 0 0\n"),
        folder.write("range.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"),
        folder.write("nan.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
        folder.write("flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n"),
        folder.write("zero.off", "OFF\n0 0 0\n"),
        folder.write("short.stl", [b'x'; 90]),
        folder.write("lying.ply", "ply\nformat ascii 1.0\nelement vertex 99999999999\nend_header\n"),
    ];
    for extension in ["obj", "stl", "ply", "glb", "off", "gltf"] {
        inputs.push(folder.write(&format!("garbage.{extension}"), &garbage));
    }
    let before = folder.names();
    for input in &inputs {
        let name = Path::new(input).file_name().unwrap().to_str().unwrap().to_owned();
        let words: &[&str] = &[name.as_str()];
        // Points without faces are a scan, which can be inspected.
        if name == "points.obj" {
            assert!(stdout(&palpate(&["inspect", input])).contains("points without faces"));
        } else {
            refuses(&["inspect", input], words);
        }
        refuses(&["build", input, "-o", &out], words);
        refuses(&["report", input, "-o", &folder.path("page.html")], words);
    }
    for (name, bytes) in
        [("empty.palp", &[][..]), ("garbage.palp", &garbage[..]), ("short.palp", &garbage[..7])]
    {
        let asset = folder.write(name, bytes);
        refuses(&["inspect", &asset], &[]);
        refuses(&["export", &asset, "--npy", &folder.path("a.npy")], &[]);
        fs::remove_file(&asset).unwrap();
    }
    assert_eq!(folder.names(), before, "no partial files");
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let folder = Folder::new("places");
    let cube = folder.write("cube.obj", CUBE);
    let nowhere = folder.path("no/such/folder/x.palp");
    refuses(&["build", &cube, "-o", &nowhere], &["x.palp", "does not exist"]);
    refuses(&["build", &cube, "-o", &folder.0.display().to_string()], &["folder"]);
    refuses(&["build", &cube, "-o", &cube], &["mesh itself"]);
    assert_eq!(fs::read_to_string(&cube).unwrap(), CUBE);
    assert_eq!(folder.names(), ["cube.obj"]);
}

#[test]
fn errors_with_json_are_one_object_too() {
    let output = palpate(&["inspect", "/no/such/mesh.obj", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(value["error"].as_str().unwrap().contains("mesh.obj"));
}

#[test]
fn wrong_points_are_named_by_line() {
    let folder = Folder::new("points");
    let cube = folder.write("cube.obj", CUBE);
    for (text, words) in [
        ("0,0,0\n1,2\n", ["line 2", "x,y,z"]),
        ("x,y,z\n", ["line 1", "header"]),
        ("1,2,inf\n", ["line 1", "finite"]),
        ("\n# nothing\n", ["no points", "p.csv"]),
    ] {
        let points = folder.write("p.csv", text);
        refuses(&["distance", &cube, "--points", &points], &words);
    }
}

#[test]
fn bench_says_how_to_build_the_laboratory() {
    // A link in a folder of its own has no laboratory beside it. (A copy could still be open for writing in a child
    // that another test starts at this moment.)
    let program = Path::new(env!("CARGO_BIN_EXE_palpate"));
    let folder = program.with_file_name(format!("palpate-cli-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let link = folder.join(program.file_name().unwrap());
    fs::hard_link(program, &link).unwrap();
    let output = Command::new(&link).args(["bench", "generation"]).output();
    fs::remove_dir_all(&folder).unwrap();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cargo build --release -p palpate-lab"), "{}", stderr(&output));
}

#[test]
fn inspect_a_cube() {
    let folder = Folder::new("inspect");
    let cube = folder.write("cube.obj", CUBE);
    let value = answer(&["inspect", &cube]);
    has_keys(&value, INSPECT_KEYS);
    assert_eq!((value["vertices"].as_u64(), value["triangles"].as_u64()), (Some(8), Some(12)));
    assert_eq!(value["watertight"], true);
    assert!((value["volume"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert!((value["area"].as_f64().unwrap() - 6.0).abs() < 1e-9);
    assert_eq!(value["aabb"]["max"][1], 1.0);
    // The same cube in millimetres: a billionth of the volume.
    let value = answer(&["inspect", &cube, "--unit", "mm"]);
    assert!((value["volume"].as_f64().unwrap() / 1e-9 - 1.0).abs() < 1e-6);
    let text = stdout(&palpate(&["inspect", &cube]));
    assert!(text.contains("cube.obj") && text.contains("triangles"), "{text}");
}

#[test]
fn build_reuses_and_answers() {
    let folder = Folder::new("build");
    let cube = folder.write("cube.obj", CUBE);
    let out = folder.path("cube.palp");
    let build = ["build", &cube, "-o", &out, "--resolution", "40"];
    let first = answer(&build);
    has_keys(&first, BUILD_KEYS);
    assert_eq!(first["cached"], false);
    assert!((first["voxel"].as_f64().unwrap() - 1.0 / 34.0).abs() < 1e-9);
    assert!(first["stages"].as_object().unwrap().len() >= 2);
    assert_eq!(folder.names(), ["cube.obj", "cube.palp"]);

    // The same again comes from the file; other parameters and --force do not.
    let bytes = fs::read(&out).unwrap();
    assert_eq!(answer(&build)["cached"], true);
    assert_eq!(fs::read(&out).unwrap(), bytes);
    let forced = [&build[..], &["--force", "--threads", "1"]].concat();
    assert_eq!(answer(&forced)["cached"], false);
    assert_eq!(fs::read(&out).unwrap(), bytes, "the same bytes for any number of threads");

    // Distances: the middle, a face from outside, a corner from outside.
    let points = folder.write("p.csv", "0.5,0.5,0.5\n1.02,0.5,0.5\n0.5,0.5,0.98\n");
    let value = answer(&["distance", &out, "--points", &points]);
    has_keys(&value, DISTANCE_KEYS);
    let bound = value["error_bound_far"].as_f64().unwrap().max(value["error_bound_band"].as_f64().unwrap());
    for (i, expected) in [-0.5, 0.02, -0.02].into_iter().enumerate() {
        let d = value["distances"][i].as_f64().unwrap();
        assert!((d - expected).abs() <= bound + 1e-6, "point {i}: {d} instead of {expected}, bound {bound}");
    }
    assert!(value["gradients"][1][0].as_f64().unwrap() > 0.9, "outward");
    let lines = stdout(&palpate(&["distance", &out, "--points", &points]));
    assert_eq!(lines.lines().count(), 3);
    assert_eq!(lines.lines().next().unwrap().split(',').count(), 4);

    // Witnesses: points of the mesh itself. A file without triangles cannot give them.
    refuses(&["distance", &out, "--points", &points, "--witness"], &["--triangles"]);
    let kept = folder.path("kept.palp");
    answer(&["build", &cube, "-o", &kept, "--resolution", "40", "--triangles"]);
    let value = answer(&["distance", &kept, "--points", &points, "--witness"]);
    has_keys(&value, "distances points triangles");
    for (i, (distance, axis, at)) in [(0.02, 0, 1.0), (-0.02, 2, 1.0)].into_iter().enumerate() {
        assert!((value["distances"][i + 1].as_f64().unwrap() - distance).abs() < 1e-6);
        assert!((value["points"][i + 1][axis].as_f64().unwrap() - at).abs() < 1e-6);
        assert!(value["triangles"][i + 1].as_u64().unwrap() < 12);
    }
    let lines = stdout(&palpate(&["distance", &cube, "--points", &points, "--witness"]));
    assert_eq!(lines.lines().next().unwrap().split(',').count(), 5);

    // A file cut short is refused.
    let short = folder.write("short.palp", &bytes[..bytes.len() / 2]);
    refuses(&["inspect", &short], &["short.palp"]);
}

#[test]
fn too_much_memory_is_refused_with_a_remedy() {
    let folder = Folder::new("memory");
    let cube = folder.write("cube.obj", CUBE);
    let out = folder.path("cube.palp");
    for limit in [
        ["--resolution", "3000", "--max-memory", "20MiB"],
        ["--resolution", "256", "--max-memory", "1MiB"],
        ["--voxel", "1nm", "--threads", "1"],
    ] {
        let args = [&["build", &cube, "-o", &out][..], &limit[..]].concat();
        refuses(&args, &["cube.obj", "use ", " m or more"]);
    }
    assert_eq!(folder.names(), ["cube.obj"]);
}

#[test]
fn export_writes_every_kind() {
    let folder = Folder::new("export");
    let cube = folder.write("cube.obj", CUBE);
    let names = ["iso.obj", "iso.ply", "iso.stl"].map(|n| folder.path(n));
    let [nrrd, npy, slice, voxels, cutaway] =
        ["a.nrrd", "a.npy", "z.png", "v.obj", "c.png"].map(|n| folder.path(n));
    for name in &names {
        let args = ["export", &cube, "--resolution", "24", "--iso", name];
        answer(&args);
        assert!(fs::metadata(name).unwrap().len() > 1000);
        let again = answer(&["inspect", name]);
        let volume = again["volume"].as_f64().unwrap();
        assert!((0.9..1.1).contains(&volume), "the surface of the field is the cube again: {volume}");
    }
    let args = [
        "export",
        &cube,
        "--resolution",
        "24",
        "--nrrd",
        &nrrd,
        "--npy",
        &npy,
        "--slice",
        &slice,
        "--voxels",
        &voxels,
    ];
    let value = answer(&[&args[..], &["--cutaway", &cutaway]].concat());
    assert_eq!(value["written"].as_array().unwrap().len(), 5);
    let dims: Vec<u64> = value["dims"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap()).collect();
    let values = dims.iter().product::<u64>() * 4;
    let (nrrd, npy) = (fs::read(nrrd).unwrap(), fs::read(npy).unwrap());
    assert!(nrrd.starts_with(b"NRRD0004\n") && npy.starts_with(b"\x93NUMPY"));
    let tail = |bytes: &[u8]| bytes[bytes.len() - values as usize..].to_vec();
    assert_eq!(tail(&nrrd), tail(&npy));
    for picture in [slice, cutaway] {
        assert!(fs::read(picture).unwrap().starts_with(b"\x89PNG"));
    }
    let cubes = answer(&["inspect", &voxels]);
    assert_eq!(cubes["boundary_edges"], 0, "voxels are closed");
}

#[test]
fn the_demo_writes_a_page() {
    let folder = Folder::new("demo");
    let output = palpate_in(&folder.0, &["demo", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    has_keys(&value, BUILD_KEYS);
    has_keys(&value["mesh"], INSPECT_KEYS);
    let html = fs::read_to_string(folder.0.join("palpate-report/index.html")).unwrap();
    assert!(html.matches("data:image/png;base64,").count() >= 5);
    assert!(html.contains("<svg") && html.contains("</html>"));
    assert!(!html.contains("src=\"http"), "the page loads nothing");
}

#[test]
fn a_kept_file_answers_like_the_mesh_it_came_from() {
    let folder = Folder::new("kept");
    let gear = ["sample:gear", "--resolution", "64"];
    let points = folder.write("p.csv", "0,0,0\n0.01,0.02,0.003\n0.03,0,0.001\n0.2,-0.1,0.4\n-0.0325,0,0\n");
    for encoding in ["float", "scaled", "layered"] {
        let out = folder.path(&format!("{encoding}.palp"));
        let build = [&["build"][..], &gear, &["--encoding", encoding, "-o", &out]].concat();
        let built = answer(&build);
        assert_eq!(built["file_bytes"].as_u64(), Some(fs::metadata(&out).unwrap().len()));
        let ask =
            |from: &[&str]| stdout(&palpate(&[&["distance"][..], from, &["--points", &points]].concat()));
        let fresh = ask(&[&gear[..], &["--encoding", encoding]].concat());
        assert_eq!(fresh.lines().count(), 5);
        assert_eq!(ask(&[&out]), fresh, "{encoding}: the same bits from the file as from the mesh");
        // The iso-surface comes from the field alone and is the same too.
        let [one, two] = ["a.ply", "b.ply"].map(|n| folder.path(n));
        palpate(&["export", &out, "--iso", &one]);
        palpate(&[&["export"][..], &gear, &["--encoding", encoding, "--iso", &two]].concat());
        assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap(), "{encoding}");
        // What the field says of the mesh is kept as well.
        let (kept, mesh) = (answer(&["inspect", &out]), answer(&["inspect", gear[0]]));
        assert_eq!(kept, mesh);
    }
    let page = folder.path("gear.html");
    answer(&["report", &folder.path("float.palp"), "-o", &page]);
    assert!(fs::read_to_string(&page).unwrap().matches("data:image/png;base64,").count() >= 5);
}

#[test]
fn layers_are_counted_and_kept() {
    let folder = Folder::new("layers");
    let (cube, out) = (folder.write("cube.obj", CUBE), folder.path("cube.palp"));
    let build = ["build", &cube, "-o", &out, "--voxel", "0.1", "--layers", "2"];
    for cached in [false, true] {
        let value = answer(&build);
        assert_eq!(value["cached"], cached);
        let map = &value["voxmap"];
        assert_eq!((map["layers"].as_u64(), map["leaks"].as_bool()), (Some(2), Some(false)), "{value}");
        // Ten voxels along an edge; a face on the border of voxels belongs to both.
        let (surface, inside) =
            (map["surface_voxels"].as_u64().unwrap(), map["inside_voxels"].as_u64().unwrap());
        assert!((488..=1800).contains(&surface) && (512..=1000).contains(&inside), "{surface} {inside}");
    }
    assert!(stdout(&palpate(&build)).contains("cached"));
}

#[test]
fn a_damaged_file_is_refused_but_built_again() {
    let folder = Folder::new("damaged");
    let (cube, out) = (folder.write("cube.obj", CUBE), folder.path("cube.palp"));
    let build = ["build", &cube, "-o", &out, "--resolution", "32"];
    answer(&build);
    let right = fs::read(&out).unwrap();
    for (at, word) in [(3, "not a .palp"), (8, "version"), (100, "header"), (right.len() - 40, "checksum")] {
        let mut wrong = right.clone();
        wrong[at] ^= 0x11;
        fs::write(&out, &wrong).unwrap();
        refuses(&["inspect", &out], &["cube.palp", word, "build"]);
        let value = answer(&build);
        assert_eq!(value["cached"], false, "byte {at}");
        assert!(fs::read(&out).unwrap() == right);
    }
}

#[test]
fn sizes_from_a_millimetre_to_a_kilometre_give_the_same_field() {
    let folder = Folder::new("sizes");
    let cube = folder.write("cube.obj", CUBE);
    let mut bricks = Vec::new();
    for (unit, metres) in [("mm", 1e-3), ("m", 1.0), ("km", 1e3)] {
        let out = folder.path("cube.palp");
        let value = answer(&["build", &cube, "-o", &out, "--unit", unit, "--resolution", "48"]);
        bricks.push(value["bricks"].as_u64().unwrap());
        let outside = 1.1 * metres;
        let points = folder.write("p.csv", format!("{outside:e},{h:e},{h:e}\n", h = 0.5 * metres));
        let value = answer(&["distance", &out, "--points", &points]);
        let (d, bound) =
            (value["distances"][0].as_f64().unwrap(), value["error_bound_far"].as_f64().unwrap());
        assert!((d - 0.1 * metres).abs() <= bound && bound < metres, "{unit}: {d} ± {bound}");
    }
    assert!(bricks.iter().all(|b| *b == bricks[0] && *b > 0), "{bricks:?}");
}

#[test]
fn one_triangle_has_a_field_without_inside() {
    let folder = Folder::new("one");
    let one = folder.write("one.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    let (out, page) = (folder.path("one.palp"), folder.path("one.html"));
    let value = answer(&["build", &one, "-o", &out, "--resolution", "40"]);
    assert_eq!(value["sign_method"], "unsigned");
    let points = folder.write("p.csv", "0.2,0.2,0.05\n0.2,0.2,-0.05\n");
    let value = answer(&["distance", &out, "--points", &points]);
    for i in 0..2 {
        let d = value["distances"][i].as_f64().unwrap();
        assert!((d - 0.05).abs() < value["error_bound_band"].as_f64().unwrap(), "{d}");
    }
    assert!(stdout(&palpate(&["inspect", &one])).contains("encloses nothing"));
    answer(&["report", &one, "-o", &page, "--resolution", "40"]);
    // A voxel map and a picture of it, but no surface at zero to export.
    refuses(&["export", &out, "--iso", &folder.path("iso.obj")], &["no surface", "--level"]);
    assert_eq!(folder.names(), ["one.html", "one.obj", "one.palp", "p.csv"]);
}

/// Every file of the folder named by `PALPATE_MODELS` and of its `formats`: a field or a clear refusal.
#[test]
fn every_model_gives_a_field_or_a_reason() {
    let Ok(models) = std::env::var("PALPATE_MODELS") else {
        eprintln!("skipped: PALPATE_MODELS names no folder of models");
        return;
    };
    let folder = Folder::new("models");
    let out = folder.path("x.palp");
    let (mut built, mut refused) = (0, 0);
    for sub in ["", "formats"] {
        let Ok(files) = fs::read_dir(Path::new(&models).join(sub)) else { continue };
        for path in files.map(|e| e.unwrap().path()).filter(|p| p.is_file()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let output = palpate(&["build", path.to_str().unwrap(), "-o", &out, "--resolution", "32"]);
            let said = stderr(&output);
            match output.status.code() {
                Some(0) => built += 1,
                Some(2) => {
                    refused += 1;
                    assert!(said.contains(&name) && !said.contains("internal error"), "{said}");
                }
                code => panic!("{name}: {code:?} {said}"),
            }
            let _ = fs::remove_file(&out);
            assert_eq!(folder.names(), [""; 0], "{name} left something");
        }
    }
    assert!(built > 0, "{built} built, {refused} refused");
    eprintln!("{built} built, {refused} refused");
}
