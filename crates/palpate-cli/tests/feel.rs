//! `palpate feel`, as a user runs it: answer and log say the same, and what cannot be felt is refused.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, answer, command, has_keys, number, palpate, refuses, stderr, stdout};
use std::fmt::Write;
use std::fs;

const SMALL: [&str; 4] = ["--resolution", "64", "--seconds", "1.5"];

/// Runs the program on the peg above its hole.
fn peg<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["feel", "sample:hole", "sample:peg"][..], &SMALL, more].concat()
}

#[test]
fn a_simulated_hand_presses_and_the_log_says_so() {
    let folder = Folder::new("press");
    let log = folder.path("log.csv");
    let out = answer(&peg(&["-o", &log, "--motion", "press"]));
    has_keys(&out, "ticks rate period compute work missed_by_us largest_force least_energy mode log");
    assert_eq!(out["mode"], "held");
    let text = fs::read_to_string(&log).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len() as f64, number(&out["ticks"]));
    assert!(rows.len() > 200, "{} ticks", rows.len());
    let force = |r: &Vec<f64>| {
        ["force_x", "force_y", "force_z"].map(|n| r[column(n)].powi(2)).iter().sum::<f64>().sqrt()
    };
    let largest = rows.iter().map(force).fold(0.0, f64::max);
    assert!((largest - number(&out["largest_force"])).abs() < 1e-9 && largest > 0.1, "{largest} N");
    let touching = rows.iter().filter(|r| r[column("contacts")] > 0.0).count();
    assert_eq!(touching as f64, number(&out["touching"]));
    assert!(rows.windows(2).all(|w| w[1][0] > w[0][0]), "time goes on");
    assert!(folder.names() == ["log.csv"]);
}

#[test]
fn a_recorded_motion_is_felt_in_either_mode() {
    let folder = Folder::new("replay");
    let mut text = String::from("t,x,y,z,qx,qy,qz,qw\n");
    for i in 0..=20 {
        let _ = writeln!(text, "{},0,0,{},0,0,0,1", 0.05 * f64::from(i), -5e-4 * f64::from(i));
    }
    let path = folder.write("hand.csv", text);
    for mode in ["held", "soft"] {
        let out = answer(&peg(&["--device", "replay", "--path", &path, "--mode", mode]));
        assert_eq!(out["mode"], mode);
        assert!(number(&out["ticks"]) > 200.0 && number(&out["bad_readings"]) == 0.0);
    }
    let out = palpate(&peg(&["-q", "--device", "replay", "--path", &path]));
    for word in ["compute", "missed by us", "late wake-ups", "energy"] {
        assert!(stdout(&out).contains(word), "{}", stdout(&out));
    }
}

/// The tool as a body of an engine: pressed against the hole's rim it pushes back, and answers say whose body it is.
fn felt_as_a_body(engine: &str) {
    let folder = Folder::new(&format!("body-{engine}"));
    let log = folder.path("log.csv");
    // Beside the hole, so that the peg meets the plate.
    let off = ["--pose", "0.007 0 0.001", "--depth", "2mm", "--density", "3000", "-o", &log];
    let out = answer(&peg(&[&["--body", engine][..], &off].concat()));
    has_keys(&out, "ticks compute body density mode");
    assert!(out["body"] == engine && out["mode"].is_null() && number(&out["density"]) == 3000.0, "{out}");
    assert!(number(&out["touching"]) > 100.0 && number(&out["largest_force"]) > 0.5, "{out}");
    let text = fs::read_to_string(&log).unwrap();
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let last: Vec<f64> = text.lines().last().unwrap().split(',').map(|x| x.parse().unwrap()).collect();
    assert!(last[column("tool_z")].abs() < 2e-4 && last[column("target_z")] < -3e-4, "{last:?}");
}

#[test]
fn the_tool_can_be_a_body_of_our_world() {
    felt_as_a_body("own");
    let out = palpate(&peg(&["-q", "--body", "own"]));
    assert!(stdout(&out).contains("a body of the engine own, 1000 kg/m³"), "{}", stdout(&out));
    assert_eq!(answer(&peg(&[]))["body"], "free");
}

#[test]
fn the_tool_can_be_a_body_of_rapier() {
    if cfg!(feature = "engines") {
        felt_as_a_body("rapier");
    } else {
        refuses(&peg(&["--body", "rapier"]), &["not built in"]);
    }
}

#[test]
fn the_tool_can_be_a_body_of_bullet() {
    let out = palpate(&peg(&["-q", "--body", "bullet"]));
    if stderr(&out).contains("palpate-bullet is not built") {
        println!("skipped: palpate-bullet is not built");
        return;
    }
    felt_as_a_body("bullet");
}

#[test]
fn what_cannot_be_felt_is_refused() {
    let folder = Folder::new("refused");
    let bad = folder.write("bad.csv", "t,x,y,z\n0,0,0,nothing\n");
    refuses(&peg(&["--pose", "0 0 -0.01 0 0.7 0 0.7"]), &["inside", "--pose"]);
    refuses(&peg(&["--device", "replay"]), &["--path"]);
    refuses(&peg(&["--device", "replay", "--path", &bad]), &["bad.csv", "line"]);
    refuses(&peg(&["--device", "haply", "--address", "127.0.0.1:1"]), &["127.0.0.1:1", "answer"]);
    refuses(&peg(&["--rate", "5"]), &["--rate"]);
    refuses(&peg(&["--friction", "-1"]), &["--friction"]);
    refuses(&peg(&["--density", "0"]), &["--density"]);
    refuses(&peg(&["--body", "own", "--mode", "soft"]), &["--mode", "--body"]);
    let lost =
        command(&peg(&["--body", "bullet"])).env("PALPATE_BULLET", folder.path("none")).output().unwrap();
    assert!(lost.status.code() == Some(2) && stderr(&lost).contains("palpate-bullet is not built"));
    let long = ["feel", "sample:hole", "sample:peg", "--rate", "10000", "-o", "x.csv", "--seconds", "100000"];
    refuses(&long, &["too long"]);
    refuses(&peg(&["-o", &folder.path("no/such/log.csv")]), &["does not exist"]);
}
