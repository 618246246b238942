//! `palpate drop`: the real program lets parts fall and writes what it says.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, answer, command, has_keys, number, palpate, refuses, stdout, vector};
use palpate_view::recording::{Ground, Recording};
use std::fs;

/// Half of the height of sample:cuboid [m].
const HALF: f64 = 0.02;

#[test]
fn a_block_falls_rests_and_is_recorded() {
    let folder = Folder::new("block");
    let out = folder.path("fall");
    let args =
        ["drop", "sample:cuboid", "--resolution", "48", "--seconds", "1.5", "--height", "5cm", "-o", &out];
    let value = answer(&args);
    has_keys(
        &value,
        "engine rate seconds steps bodies deepest mean_step_us mean_narrow_us fell_through files",
    );
    assert_eq!((&value["engine"], &value["steps"]), (&"own".into(), &360.into()));
    assert_eq!(value["fell_through"], 0);
    let body = &value["bodies"][0];
    assert!(number(&body["rest_speed"]) < 1e-2, "{body}");
    let z = vector(&body["position"])[2];
    // A ball would roll on for ever; a block lies, and sinks by a little under its weight.
    assert!((z - HALF).abs() < 1e-3, "{z}");
    // One step of the impact at 1 m/s is 4 mm.
    assert!((1e-6..5e-3).contains(&number(&value["deepest"])), "{value}");
    for file in value["files"].as_array().unwrap() {
        assert!(fs::metadata(file.as_str().unwrap()).unwrap().len() > 1000, "{file}");
    }
    let recording = Recording::load(folder.path("fall/motion.palprec")).unwrap();
    assert_eq!((recording.frames.len(), recording.bodies.len()), (361, 1));
    assert!(matches!(recording.ground, Ground::Plane { .. }));
    // Free fall until it touches: z = 0.07 - g t²/2.
    let frame = &recording.frames[20];
    let t = frame.time;
    let fallen = 0.05 + HALF - frame.bodies[0].pose.translation.z;
    assert!((fallen - 4.905 * t * t).abs() < 0.02 * 4.905 * t * t, "{fallen} at {t}");
    assert!(recording.frames.last().unwrap().contacts > 0);
    let table = fs::read_to_string(folder.path("fall/motion.csv")).unwrap();
    assert_eq!(table.lines().count(), 362);
    assert!(table.starts_with("time,body,x,y,z,qx,qy,qz,qw,vx,vy,vz,wx,wy,wz,contacts,deepest"));
    let page = fs::read_to_string(folder.path("fall/motion.html")).unwrap();
    assert!(page.contains("palpate drop sample:cuboid --onto plane --engine own") && page.contains("webgl2"));
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert_eq!(&fs::read(folder.path("fall/motion.png")).unwrap()[1..4], b"PNG");
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["motion.csv", "motion.html", "motion.palprec", "motion.png"], "nothing else is left");
}

#[test]
fn many_parts_on_a_box_are_the_same_for_the_same_seed() {
    let base =
        ["drop", "sample:cuboid", "sample:sphere", "--resolution", "24", "--seconds", "0.4", "--rate", "120"];
    let more = ["--count", "2", "--onto", "box", "--random-rotation", "--seed"];
    let run = |seed: &str| answer(&[&base[..], &more, &[seed]].concat());
    let (a, b, c) = (run("7"), run("7"), run("8"));
    assert_eq!(a["bodies"].as_array().unwrap().len(), 4);
    assert_eq!(a["bodies"], b["bodies"]);
    assert_ne!(a["bodies"], c["bodies"]);
    assert_eq!(a["bodies"][1]["name"], "sphere 1");
    assert_eq!(a["files"].as_array().unwrap().len(), 0);
}

#[test]
fn words_for_people_name_what_happened() {
    let output = palpate(&["drop", "sample:sphere", "--resolution", "24", "--seconds", "0.2", "-q"]);
    assert!(output.status.success());
    let said = stdout(&output);
    for word in ["sphere on a plane", "engine", "own, 240 steps a second", "200 ms, 48 steps", "-o FOLDER"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

/// Rapier moves parts as the own engine does, and bounces.
#[test]
fn rapier_moves_them_too() {
    let args = ["drop", "sample:cuboid", "--resolution", "48", "--seconds", "1.5", "--height", "5cm"];
    let value = answer(&[&args[..], &["--engine", "rapier", "--restitution", "0.2"]].concat());
    assert_eq!((&value["engine"], &value["fell_through"]), (&"rapier".into(), &0.into()));
    let body = &value["bodies"][0];
    assert!(number(&body["rest_speed"]) < 1e-2, "{body}");
    assert!((vector(&body["position"])[2] - HALF).abs() < 1e-3, "{body}");
    assert!(number(&value["mean_narrow_us"]) > 0.0, "{value}");
}

/// Where Bullet is not built, the program says how.
#[test]
fn bullet_is_asked_for_where_it_is() {
    let out = command(&["drop", "sample:sphere", "--engine", "bullet", "--seconds", "0.1"])
        .env("PALPATE_BULLET", "no-such-program")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{told}");
    assert!(told.contains("palpate-bullet is not built") && told.contains("cmake"), "{told}");
}

#[test]
fn what_cannot_be_is_refused() {
    let ball = ["drop", "sample:sphere", "--resolution", "24", "--seconds", "0.1"];
    let with = |more: &[&'static str]| [&ball[..], more].concat();
    refuses(&["drop"], &["PART"]);
    refuses(&with(&["--engine", "magic"]), &["magic"]);
    refuses(&with(&["--restitution", "0.5"]), &["does not bounce", "0.5"]);
    refuses(&with(&["--restitution", "2"]), &["from 0 to 1"]);
    refuses(&with(&["--friction", "-1"]), &["0 or more"]);
    refuses(&with(&["--density", "0"]), &["above 0"]);
    refuses(&with(&["--gravity", "nan"]), &["0 or more"]);
    refuses(&with(&["--rate", "0"]), &["above 0"]);
    refuses(&with(&["--rate", "1e12"]), &["steps", "are possible"]);
    refuses(&with(&["--onto", "no-such.stl"]), &["ground", "no-such.stl"]);
    refuses(&with(&["--onto", "sample:nothing"]), &["nothing"]);
    refuses(&with(&["--count", "0"]), &["count"]);
    refuses(&["drop", "no-such.obj"], &["no-such.obj"]);
    refuses(&["drop", "sample:sheet", "--resolution", "24"], &["sheet", "volume"]);
    let folder = Folder::new("refused");
    let file = folder.write("a.txt", "x");
    refuses(&["drop", "sample:sphere", "--resolution", "24", "-o", &file], &["a.txt"]);
}

/// Ctrl-C ends the simulation; what was simulated is written, whole.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_simulated() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let folder = Folder::new("stopped");
    let out = folder.path("fall");
    let args =
        ["drop", "sample:sphere", "--resolution", "32", "--seconds", "100000", "--rate", "200", "-o", &out];
    let mut child = command(&args).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // The line of the stage before says that simulation begins.
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while said.read_line(&mut line).unwrap() > 0 && !line.contains("set up") {}
    std::thread::sleep(std::time::Duration::from_millis(300));
    Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    said.read_to_string(&mut line).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{line}");
    assert!(text.contains("stopped by Ctrl-C") && text.contains("is kept"), "{text}");
    let recording = Recording::load(folder.path("fall/motion.palprec")).unwrap();
    assert!(!recording.frames.is_empty() && recording.seconds() < 100_000.0);
}
