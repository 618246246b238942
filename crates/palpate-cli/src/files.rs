//! Writing files so that a failure leaves the old file, or none, but never half of a new one.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Temporary files that exist now; removed when the program is interrupted or fails.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what unfinished writes have left. Safe to call at any time, from any thread.
pub(crate) fn remove_temporaries() {
    if let Ok(mut all) = TEMPORARIES.lock() {
        for path in all.drain(..) {
            let _ = fs::remove_file(path);
        }
    }
}

/// A temporary file beside its final place; removed unless kept.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    target: PathBuf,
}

impl Temporary {
    /// Reserves a name in the folder of `target`.
    ///
    /// # Errors
    /// When that folder does not exist or `target` is a folder.
    pub(crate) fn beside(target: &Path) -> Result<Self> {
        let Some(name) = target.file_name() else {
            bail!("{} is not a file name; name the file to write", target.display());
        };
        if target.is_dir() {
            bail!("{} is a folder; name the file to write", target.display());
        }
        let folder = folder_of(target);
        if !folder.is_dir() {
            bail!(
                "cannot write {}: the folder {} does not exist; create it first",
                target.display(),
                folder.display()
            );
        }
        let hidden = format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id());
        let path = folder.join(hidden);
        if let Ok(mut all) = TEMPORARIES.lock() {
            all.push(path.clone());
        }
        Ok(Self { path, target: target.to_owned() })
    }

    /// Where to write for now.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the finished file to its place, replacing what was there. Returns its size in bytes.
    ///
    /// # Errors
    /// When the file is not there or cannot be moved.
    pub(crate) fn keep(self) -> Result<u64> {
        let size =
            fs::metadata(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?.len();
        fs::rename(&self.path, &self.target)
            .with_context(|| format!("cannot write {}", self.target.display()))?;
        Ok(size)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After `keep` the file is gone and this does nothing.
        let _ = fs::remove_file(&self.path);
        if let Ok(mut all) = TEMPORARIES.lock() {
            all.retain(|p| *p != self.path);
        }
    }
}

/// Writes `target` through `fill`, all or nothing. Returns its size in bytes.
///
/// # Errors
/// When the folder is missing, the disk is full or `fill` fails; then `target` is as it was before.
pub(crate) fn write(target: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<u64> {
    let temporary = Temporary::beside(target)?;
    let file =
        File::create(temporary.path()).with_context(|| format!("cannot write {}", target.display()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    fill(&mut out).with_context(|| format!("cannot write {}", target.display()))?;
    out.flush().with_context(|| format!("cannot write {}", target.display()))?;
    drop(out);
    temporary.keep()
}

/// The folder a path lies in; `.` for a bare name.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The extension in lower case; empty without one.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_keeps_the_old_file_and_leaves_nothing_beside_it() {
        let folder = std::env::temp_dir().join(format!("palpate-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let target = folder.join("a.txt");
        assert_eq!(write(&target, |w| Ok(w.write_all(b"old")?)).unwrap(), 3);
        let failed = write(&target, |w| {
            w.write_all(b"half of the new")?;
            bail!("stop")
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&target).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(write(&folder.join("no/such/b.txt"), |_| Ok(())).is_err());
        assert!(write(&folder, |_| Ok(())).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
