//! The program as users run it: what it prints, where, and with which exit code.
//!
//! Contracts: `--help` teaches; bad input gives exit code 2, a message that names the input, and no file; `--json` puts
//! exactly one object on standard output; the keys are those of the published list.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const COMMANDS: [&str; 6] = ["inspect", "build", "distance", "export", "report", "bench"];

const INSPECT_KEYS: &str = "vertices triangles boundary_edges nonmanifold_edges duplicate_faces degenerate components \
     watertight volume area aabb suggested_voxel sign_method";
const BUILD_KEYS: &str = "voxel spacing dims bricks points levels bytes seconds stages peak_rss_bytes sign_method \
     sign_confidence caps error_bound_band error_bound_far cached";
const DISTANCE_KEYS: &str = "distances gradients error_bound_band error_bound_far";

/// A folder of its own for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("palpate-cli-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn palpate(args: &[&str]) -> Output {
    palpate_in(&std::env::temp_dir(), args)
}

fn palpate_in(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The one object on standard output of a command that worked; none, with a note, when the engine lacks the part.
fn answer(args: &[&str]) -> Option<Value> {
    let output = palpate(args);
    if stderr(&output).contains("not in this version of palpate") {
        eprintln!("skipped: {}", stderr(&output).trim());
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    let text = stdout(&output);
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(value.is_object(), "{text}");
    Some(value)
}

fn has_keys(value: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(value.get(key).is_some(), "no {key} in {value}");
    }
}

/// Exit code 2, a message on standard error that holds each of `words`, nothing on standard output.
fn refuses(args: &[&str], words: &[&str]) {
    let output = palpate(args);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(stdout(&output), "", "{args:?}");
    assert!(!said.contains("panicked") && !said.contains("internal error"), "{args:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{args:?}: no \"{word}\" in: {said}");
    }
}

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
        // Until meshes can be read the message cannot name the file; the code and the silence hold all the same.
        let output = palpate(&["inspect", input]);
        let words: &[&str] =
            if stderr(&output).contains("not in this version") { &[] } else { &[name.as_str()] };
        refuses(&["inspect", input], words);
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
    let Some(value) = answer(&["inspect", &cube, "--json"]) else { return };
    has_keys(&value, INSPECT_KEYS);
    assert_eq!((value["vertices"].as_u64(), value["triangles"].as_u64()), (Some(8), Some(12)));
    assert_eq!(value["watertight"], true);
    assert!((value["volume"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert!((value["area"].as_f64().unwrap() - 6.0).abs() < 1e-9);
    assert_eq!(value["aabb"]["max"][1], 1.0);
    // The same cube in millimetres: a billionth of the volume.
    let Some(value) = answer(&["inspect", &cube, "--unit", "mm", "--json"]) else { return };
    assert!((value["volume"].as_f64().unwrap() / 1e-9 - 1.0).abs() < 1e-6);
    let text = stdout(&palpate(&["inspect", &cube]));
    assert!(text.contains("cube.obj") && text.contains("triangles"), "{text}");
}

#[test]
fn build_reuses_and_answers() {
    let folder = Folder::new("build");
    let cube = folder.write("cube.obj", CUBE);
    let out = folder.path("cube.palp");
    let build = ["build", &cube, "-o", &out, "--resolution", "40", "--json"];
    let Some(first) = answer(&build) else {
        assert_eq!(folder.names(), ["cube.obj"], "no partial file");
        return;
    };
    has_keys(&first, BUILD_KEYS);
    assert_eq!(first["cached"], false);
    assert!((first["voxel"].as_f64().unwrap() - 1.0 / 34.0).abs() < 1e-9);
    assert!(first["stages"].as_object().unwrap().len() >= 2);
    assert_eq!(folder.names(), ["cube.obj", "cube.palp"]);

    // The same again comes from the file; other parameters and --force do not.
    let bytes = fs::read(&out).unwrap();
    assert_eq!(answer(&build).unwrap()["cached"], true);
    assert_eq!(fs::read(&out).unwrap(), bytes);
    let forced = [&build[..], &["--force", "--threads", "1"]].concat();
    assert_eq!(answer(&forced).unwrap()["cached"], false);
    assert_eq!(fs::read(&out).unwrap(), bytes, "the same bytes for any number of threads");

    // Distances: the middle, a face from outside, a corner from outside.
    let points = folder.write("p.csv", "0.5,0.5,0.5\n1.02,0.5,0.5\n0.5,0.5,0.98\n");
    let value = answer(&["distance", &out, "--points", &points, "--json"]).unwrap();
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

    // A file cut short is refused.
    let short = folder.write("short.palp", &bytes[..bytes.len() / 2]);
    refuses(&["inspect", &short], &["short.palp"]);
}

#[test]
fn too_much_memory_is_refused_with_a_remedy() {
    let folder = Folder::new("memory");
    let cube = folder.write("cube.obj", CUBE);
    let out = folder.path("cube.palp");
    for limit in [["--resolution", "3000", "--max-memory", "20MiB"], ["--voxel", "1nm", "--threads", "1"]] {
        let args = [&["build", &cube, "-o", &out][..], &limit[..]].concat();
        if stderr(&palpate(&args)).contains("not in this version of palpate") {
            eprintln!("skipped: fields cannot be built");
            return;
        }
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
        let args = ["export", &cube, "--resolution", "24", "--iso", name, "--json"];
        if answer(&args).is_none() {
            return;
        }
        assert!(fs::metadata(name).unwrap().len() > 1000);
        let again = answer(&["inspect", name, "--json"]).unwrap();
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
    let value = answer(&[&args[..], &["--cutaway", &cutaway, "--json"]].concat()).unwrap();
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
    let cubes = answer(&["inspect", &voxels, "--json"]).unwrap();
    assert_eq!(cubes["boundary_edges"], 0, "voxels are closed");
}

/// Ctrl-C ends a long export early: code 2, a message, and no file, whole or part.
#[cfg(unix)]
#[test]
fn interruption_leaves_nothing() {
    let folder = Folder::new("interrupt");
    let cube = folder.write("cube.obj", CUBE);
    let npy = folder.path("a.npy");
    let mut child = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["export", &cube, "--resolution", "400", "--npy", &npy])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The stage line of the field's last stage says that the export is under way or about to be.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    for line in lines.by_ref().map(Result::unwrap) {
        said += &line;
        if line.contains("assemble") || line.contains("not in this version") {
            break;
        }
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    said.extend(lines.map(Result::unwrap));
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("Ctrl-C") || said.contains("not in this version"), "{said}");
    assert_eq!(folder.names(), ["cube.obj"]);
}

#[test]
fn no_arguments_write_a_page() {
    let folder = Folder::new("demo");
    let output = palpate_in(&folder.0, &["--json"]);
    if stderr(&output).contains("not in this version of palpate") {
        eprintln!("skipped: {}", stderr(&output).trim());
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    has_keys(&value, BUILD_KEYS);
    has_keys(&value["mesh"], INSPECT_KEYS);
    let html = fs::read_to_string(folder.0.join("palpate-report/index.html")).unwrap();
    assert!(html.matches("data:image/png;base64,").count() >= 5);
    assert!(html.contains("<svg") && html.contains("</html>"));
    assert!(!html.contains("src=\"http"), "the page loads nothing");
}
