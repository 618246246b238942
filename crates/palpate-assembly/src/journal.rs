//! What was found so far, on disk: one line of JSON for each pair, written as soon as it is known.

use crate::finding::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The file's name in the folder of a run.
pub(crate) const NAME: &str = "findings.journal";

#[derive(Serialize, Deserialize)]
struct Line {
    /// Of parts, places and parameters, in hexadecimal digits.
    key: String,
    /// What was found; null: nothing.
    found: Option<Outcome>,
}

/// An open journal. Lines are written whole: one that a kill or a full disk cut short is dropped and done again.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    state: Mutex<(File, u64)>,
    /// What runs before had found, by key.
    pub(crate) known: BTreeMap<u128, Option<Outcome>>,
}

impl Journal {
    /// Opens the journal in a folder, or begins one.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        let bytes = match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        let mut known = BTreeMap::new();
        let mut good = 0;
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            // What is no line of ours ends what can be trusted.
            let Some(text) = line.strip_suffix(b"\n") else { break };
            let Ok(line_read) = serde_json::from_slice::<Line>(text) else { break };
            let Ok(key) = u128::from_str_radix(&line_read.key, 16) else { break };
            known.insert(key, line_read.found);
            good += line.len() as u64;
        }
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        file.set_len(good)?;
        file.seek(SeekFrom::Start(good))?;
        Ok(Self { path, state: Mutex::new((file, good)), known })
    }

    /// Adds what was found of a pair. On failure the file ends with the last whole line.
    pub(crate) fn add(&self, key: u128, found: &Option<Outcome>) -> io::Result<()> {
        let text = line(key, found)?;
        let mut state = self.state.lock().map_err(|_| io::Error::other("another thread failed"))?;
        let (file, end) = &mut *state;
        if let Err(error) = file.write_all(text.as_bytes()) {
            let _ = file.set_len(*end).and_then(|()| file.seek(SeekFrom::Start(*end)));
            return Err(error);
        }
        *end += text.len() as u64;
        Ok(())
    }

    /// Replaces the file by the lines of a finished run, sorted: what no pair needs any more goes.
    pub(crate) fn finish(self, all: &BTreeMap<u128, Option<Outcome>>) -> io::Result<()> {
        let mut text = String::new();
        for (key, found) in all {
            text += &line(*key, found)?;
        }
        let temporary = self.path.with_extension(format!("{}.tmp", std::process::id()));
        let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

fn line(key: u128, found: &Option<Outcome>) -> io::Result<String> {
    let line = Line { key: format!("{key:032x}"), found: *found };
    Ok(serde_json::to_string(&line).map_err(io::Error::other)? + "\n")
}
