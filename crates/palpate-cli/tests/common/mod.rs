//! What tests of the program share: running it, reading its answers, folders, shapes.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own for one test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let program = env!("CARGO_CRATE_NAME");
        let path = std::env::temp_dir().join(format!("palpate-{program}-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut all: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The program, about to run.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
    command.current_dir(std::env::temp_dir()).args(args).stdin(Stdio::null());
    command
}

pub fn palpate(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

pub fn palpate_in(folder: &Path, args: &[&str]) -> Output {
    command(args).current_dir(folder).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The one object that a command, run with `--json`, puts on standard output before it ends with `code`.
pub fn answer_with(code: i32, args: &[&str]) -> Value {
    let output = palpate(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
    let text = stdout(&output);
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(value.is_object(), "{text}");
    value
}

/// The one object on standard output of a command that worked.
pub fn answer(args: &[&str]) -> Value {
    answer_with(0, args)
}

pub fn has_keys(value: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(value.get(key).is_some(), "no {key} in {value}");
    }
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

pub fn vector(value: &Value) -> [f64; 3] {
    [0, 1, 2].map(|i| number(&value[i]))
}

/// Exit code 2, a message on standard error that holds each of `words`, nothing on standard output.
pub fn refuses(args: &[&str], words: &[&str]) {
    let output = palpate(args);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(stdout(&output), "", "{args:?}");
    assert!(!said.contains("panicked") && !said.contains("internal error"), "{args:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{args:?}: no \"{word}\" in: {said}");
    }
}

/// A closed box from `min` to `max` as OBJ text.
pub fn cuboid(min: [f64; 3], max: [f64; 3]) -> String {
    let mut text = String::new();
    for i in 0..8 {
        let at = |axis: usize, bit: bool| if bit { max[axis] } else { min[axis] };
        // The order of corners of the faces below.
        let (x, y, z) = ([1, 2, 5, 6].contains(&i), [2, 3, 6, 7].contains(&i), i >= 4);
        text += &format!("v {} {} {}\n", at(0, x), at(1, y), at(2, z));
    }
    text + "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"
}
