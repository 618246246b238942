//! The program ended from outside in the middle: no half of a file may be left under the name that was asked for.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, command, cuboid, palpate};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Lines of the table of `a_table_is_whole_or_as_it_was`: names, five poses, and 5,000 between each two.
const ROWS: usize = 1 + 5 + 4 * 5_000;

/// Stages print a line when they end; the temporary file is the other thing that can be seen from outside.
enum Moment<'a> {
    /// A line with this word was printed.
    Said(&'a str),
    /// A temporary file exists.
    Writing(&'a Path),
}

fn signal(child: &mut Child, name: &str) {
    if name == "KILL" {
        return child.kill().unwrap();
    }
    // The shell's own: a small system has no program of that name.
    Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
}

fn has_temporary(folder: &Path) -> bool {
    let is_temporary = |name: &str| name.starts_with('.') && name.ends_with(".tmp");
    fs::read_dir(folder).unwrap().any(|e| is_temporary(&e.unwrap().file_name().to_string_lossy()))
}

/// Runs the program, sends it a signal at a moment, and returns how it ended and what it said. None: it had ended before.
fn interrupt(args: &[&str], name: &str, moment: &Moment<'_>) -> Option<(ExitStatus, String)> {
    let mut child = command(args).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    match moment {
        Moment::Said(word) => {
            for line in lines.by_ref().map(Result::unwrap) {
                said += &line;
                if line.contains(word) {
                    break;
                }
            }
        }
        Moment::Writing(folder) => {
            let end = Instant::now() + Duration::from_secs(120);
            while !has_temporary(folder) && child.try_wait().unwrap().is_none() && Instant::now() < end {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }
    let alive = child.try_wait().unwrap().is_none();
    signal(&mut child, name);
    said.extend(lines.map(Result::unwrap));
    let status = child.wait().unwrap();
    alive.then_some((status, said))
}

/// Ctrl-C ends a long export early: code 2, a message, and no file, whole or part.
#[test]
fn ctrl_c_during_an_export_leaves_nothing() {
    let folder = Folder::new("export");
    let cube = folder.write("cube.obj", cuboid([0.0; 3], [1.0; 3]));
    let npy = folder.path("a.npy");
    let args = ["export", &cube, "--resolution", "400", "--npy", &npy];
    // The stage line of the field's last stage says that the export is under way or about to be.
    let (status, said) = interrupt(&args, "INT", &Moment::Said("assemble")).unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("Ctrl-C"), "{said}");
    assert_eq!(folder.names(), ["cube.obj"]);
}

#[test]
fn a_picture_is_whole_or_as_it_was() {
    let folder = Folder::new("picture");
    let ball = folder.path("ball.palp");
    assert!(palpate(&["build", "sample:sphere", "-o", &ball, "--resolution", "64"]).status.success());
    let picture = folder.path("touch.png");
    let args = ["query", &ball, &ball, "--pose", "0.09 0 0", "--picture", &picture];
    let old = Some(&b"what was there"[..]);
    for (name, code, old) in
        [("INT", Some(2), old), ("TERM", Some(2), None), ("KILL", None, old), ("KILL", None, None)]
    {
        let _ = fs::remove_file(&picture);
        if let Some(old) = old {
            fs::write(&picture, old).unwrap();
        }
        // The last stage before the picture has ended: it is being drawn.
        let (status, said) = interrupt(&args, name, &Moment::Said("far distances")).unwrap();
        assert_eq!(status.code(), code, "{name}: {said}");
        assert!(!status.success());
        assert!(code.is_none() || said.contains("nothing was written"), "{name}: {said}");
        assert_eq!(fs::read(&picture).ok().as_deref(), old, "{name}");
        let names: &[&str] = if old.is_some() { &["ball.palp", "touch.png"] } else { &["ball.palp"] };
        assert_eq!(folder.names(), names, "{name} left something");
    }
}

#[test]
fn a_table_is_whole_or_as_it_was() {
    let folder = Folder::new("table");
    let ball = folder.path("ball.palp");
    assert!(palpate(&["build", "sample:sphere", "-o", &ball, "--resolution", "32"]).status.success());
    let motion = folder.write("motion.csv", "0.3,0,0\n0.6,0,0\n0.3,0.2,0\n0.4,0,0.1\n0.2,0,0\n");
    let (csv, page) = (folder.path("out.csv"), folder.path("page.html"));
    // A table of about 4 MB, which takes a while to write.
    let args = ["clearance", &ball, &ball, "--trajectory", &motion, "--between", "5000", "-o", &csv];
    let inputs = ["ball.palp", "motion.csv"];
    // While it asks, and while it draws the page: nothing is there.
    let with_page = [&args[..], &["--report", &page]].concat();
    for (name, code) in [("INT", Some(2)), ("TERM", Some(2)), ("KILL", None)] {
        for word in ["far distances", "ask"] {
            let (status, said) = interrupt(&with_page, name, &Moment::Said(word)).unwrap();
            assert_eq!(status.code(), code, "{name} {word}: {said}");
            assert!(code.is_none() || said.contains("nothing was written"), "{name} {word}: {said}");
            assert_eq!(folder.names(), inputs, "{name} {word} left something");
        }
    }
    // While it writes: a kill cannot clean up, but the name that was asked for has the old file or the whole new one.
    let mut hits = 0;
    for _ in 0..8 {
        fs::write(&csv, "what was there").unwrap();
        let ended = interrupt(&args, "KILL", &Moment::Writing(&folder.0));
        let text = fs::read(&csv).unwrap();
        let rows = text.iter().filter(|b| **b == b'\n').count();
        let whole = rows == ROWS && text.ends_with(b"\n");
        assert!(text == b"what was there" || whole, "{} bytes, {rows} rows", text.len());
        // Killed in the middle: the temporary file is still there, and shorter than the whole.
        hits += usize::from(ended.is_some() && !whole && has_temporary(&folder.0));
        for name in folder.names().iter().filter(|n| n.ends_with(".tmp")) {
            fs::remove_file(folder.0.join(name)).unwrap();
        }
        if hits == 2 {
            break;
        }
    }
    assert!(hits > 0, "never killed while writing");
    // An interruption that can be heard then finishes its small rest, or leaves the old file; nothing stays beside it.
    fs::write(&csv, "what was there").unwrap();
    interrupt(&args, "TERM", &Moment::Writing(&folder.0));
    let text = fs::read(&csv).unwrap();
    let rows = text.iter().filter(|b| **b == b'\n').count();
    assert!(text == b"what was there" || rows == ROWS, "{rows} rows");
    assert_eq!(folder.names(), ["ball.palp", "motion.csv", "out.csv"]);
}
