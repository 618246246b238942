//! `palpate assembly`: the real program looks at many parts and writes what it says.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, command, cuboid, has_keys, palpate, refuses, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// The one object on standard output, and the exit code.
fn answer(args: &[&str]) -> (Value, i32) {
    let out = palpate(&[args, &["--json"]].concat());
    (serde_json::from_str(&stdout(&out)).unwrap(), out.status.code().unwrap())
}

#[test]
fn planted_clashes_are_found_written_and_pictured_and_a_second_run_is_the_same() {
    let folder = Folder::new("assembly");
    let out = folder.path("check");
    let args = ["assembly", "sample:32", "-o", &out, "--threads", "2"];
    let (value, code) = answer(&args);
    assert_eq!(code, 1, "{value}");
    has_keys(
        &value,
        "parts instances pairs clearance tolerance clashes clearances contacts findings failures",
    );
    let planted = &value["planted"];
    assert_eq!((&planted["found"], &planted["invented"]), (&planted["count"], &0.into()));
    let findings = value["findings"].as_array().unwrap();
    let number = |name: &str| value[name].as_u64().unwrap() as usize;
    assert_eq!(findings.len(), number("clashes") + number("clearances"));
    assert!(findings.len() > 5 && number("contacts") > 0);
    let files = ["findings.csv", "findings.json", "assembly.html"];
    let read = || files.map(|f| fs::read(folder.path(&format!("check/{f}"))).unwrap());
    let first = read();
    assert_eq!(String::from_utf8_lossy(&first[0]).lines().count(), 1 + findings.len());
    let page = String::from_utf8_lossy(&first[2]).into_owned();
    assert_eq!(page.matches("data:image/png").count(), 1 + findings.len());
    assert!(page.contains("class=\"sorts\"") && !page.contains("http://") && !page.contains("https://"));
    // Again: all is known, and every file the same.
    let (again, code) = answer(&args);
    assert_eq!((code, &again["run"]["known_pairs"]), (1, &again["pairs"]));
    assert!(read() == first);
    // With a kill in between: the journal cut in its middle.
    let journal = folder.path("check/findings.journal");
    let bytes = fs::read(&journal).unwrap();
    fs::write(&journal, &bytes[..bytes.len() / 2]).unwrap();
    let (_, code) = answer(&args[..4]);
    assert_eq!(code, 1);
    assert!(read() == first);
}

#[test]
fn exit_codes_and_broken_parts() {
    let folder = Folder::new("codes");
    let parts = folder.path("parts");
    fs::create_dir_all(&parts).unwrap();
    refuses(&["assembly", &parts], &["no parts"]);
    refuses(&["assembly", &folder.path("none")], &["none"]);
    refuses(&["assembly", "sample:0"], &["sample"]);
    refuses(&["assembly", "sample:4", "--clearance", "1mm", "--tolerance", "2mm"], &["tolerance"]);
    let cube = |x: f64| cuboid([x, 0.0, 0.0], [x + 10.0, 10.0, 10.0]);
    fs::write(folder.path("parts/a.obj"), cube(0.0)).unwrap();
    fs::write(folder.path("parts/b.obj"), cube(10.0)).unwrap();
    fs::write(folder.path("parts/c.obj"), cube(30.0)).unwrap();
    let args = ["assembly", &parts, "--unit", "mm", "--clearance", "0.5mm"];
    let (value, code) = answer(&args);
    assert_eq!(
        (code, &value["contacts"], &value["findings"]),
        (0, &1.into(), &Value::Array(vec![])),
        "{value}"
    );
    let (value, _) = answer(&[&args[..], &["--contacts"]].concat());
    assert_eq!(value["findings"][0]["kind"], "contact");
    // A clash, and a part that is none.
    fs::write(folder.path("parts/d.obj"), cube(39.0)).unwrap();
    let (value, code) = answer(&args);
    assert_eq!(code, 1);
    assert!((value["findings"][0]["depth"].as_f64().unwrap() - 1e-3).abs() < 1e-8, "{value}");
    fs::write(folder.path("parts/e.stl"), "no mesh").unwrap();
    let (value, code) = answer(&args);
    assert_eq!((code, &value["failures"][0]["part"]), (2, &"e.stl".into()));
    assert_eq!(value["clashes"], 1, "the rest goes on");
}

#[test]
fn a_killed_run_goes_on_and_writes_the_same_files() {
    let folder = Folder::new("killed");
    let whole = folder.path("whole");
    let killed = folder.path("killed");
    let look = |out: &str| palpate(&["assembly", "sample:48:9", "--pictures", "2", "--quiet", "-o", out]);
    assert_eq!(look(&whole).status.code(), Some(1));
    // Ended as soon as something is in the journal: some pairs are known then, and most are not.
    let mut child = command(&["assembly", "sample:48:9", "--quiet", "-o", &killed])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = format!("{killed}/findings.journal");
    while child.try_wait().unwrap().is_none() && fs::metadata(&journal).map_or(0, |m| m.len()) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!Path::new(&format!("{killed}/findings.csv")).exists(), "it was killed before its end");
    assert_eq!(look(&killed).status.code(), Some(1));
    for file in ["findings.csv", "findings.json", "assembly.html", "findings.journal"] {
        let [x, y] = [&whole, &killed].map(|f| fs::read(format!("{f}/{file}")).unwrap());
        assert!(x == y, "{file}");
    }
}
