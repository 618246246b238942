//! A folder of meshes as a job.

use crate::job::{Failure, Job, Part};
use crate::manifest::{self, Manifest};
use palpate::mesh::{Format, RawMesh};
use palpate::progress::Progress;
use palpate::{Pose, par};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadJobError {
    /// The folder or a file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder has no mesh.
    #[error("{} has no parts: OBJ, STL, PLY, glTF, GLB or OFF files, or an assembly.json that names them", folder.display())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
    /// The list of instances is wrong.
    #[error("{}: {problem}", file.display())]
    Manifest {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Wished so.
    #[error("stopped while parts were read")]
    Cancelled,
}

/// The assembly in a folder: every mesh file is a part in its place, or `assembly.json` or `assembly.csv` says which part is where,
/// and how it moves. `scale` is metres per unit of the files.
///
/// Parts that cannot be read are among the failures of the job; the others go on. Parts of equal content share one mesh.
///
/// # Errors
/// A folder that cannot be read or has no parts, or a list of instances that is wrong.
pub fn read(folder: &Path, scale: f64, progress: &dyn Progress) -> Result<Job, ReadJobError> {
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ReadJobError::Io { path, source }
    };
    progress.stage("find parts", 0);
    let listed = manifest::NAMES.iter().map(|n| folder.join(n)).find(|f| f.is_file());
    let mut scale = scale;
    let mut places: Vec<(String, String, Pose, Option<Pose>)> = Vec::new();
    if let Some(file) = listed {
        let text = fs::read_to_string(&file).map_err(at(&file))?;
        let wrong = |problem: String| ReadJobError::Manifest { file: file.clone(), problem };
        let manifest = Manifest::parse(&file.to_string_lossy(), &text).map_err(wrong)?;
        scale = manifest.scale(scale).map_err(wrong)?;
        for entry in manifest.instances {
            let (pose, to) = entry.poses(scale).map_err(wrong)?;
            let name = entry.name.clone().unwrap_or_else(|| stem(&entry.part));
            places.push((entry.part, name, pose, to));
        }
    } else {
        for entry in fs::read_dir(folder).map_err(at(folder))? {
            let path = entry.map_err(at(folder))?.path();
            if path.is_file()
                && Format::from_path(&path).is_some()
                && let Some(name) = path.file_name().map(|n| n.to_string_lossy().into_owned())
            {
                places.push((name.clone(), stem(&name), Pose::IDENTITY, None));
            }
        }
        places.sort_by(|x, y| x.0.cmp(&y.0));
    }
    if places.is_empty() {
        return Err(ReadJobError::Empty { folder: folder.to_path_buf() });
    }
    let mut files: Vec<&str> = places.iter().map(|p| p.0.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    progress.stage("read parts", files.len() as u64);
    let parts = par::map(files.len(), |i| {
        if progress.cancelled() {
            return None;
        }
        let raw = RawMesh::load(folder.join(files[i]), scale).map_err(|e| e.to_string());
        let part = raw.and_then(|raw| Part::new(files[i], raw).map_err(|e| e.to_string()));
        progress.advance(1);
        Some(part)
    });
    let mut job = Job::default();
    let mut by_key: BTreeMap<u128, usize> = BTreeMap::new();
    let mut by_file: BTreeMap<String, usize> = BTreeMap::new();
    let files: Vec<String> = files.into_iter().map(str::to_owned).collect();
    for (file, part) in files.into_iter().zip(parts) {
        match part.ok_or(ReadJobError::Cancelled)? {
            Ok(part) => {
                let at = *by_key.entry(part.key).or_insert(job.parts.len());
                if at == job.parts.len() {
                    job.parts.push(part);
                }
                by_file.insert(file, at);
            }
            Err(problem) => job.failures.push(Failure { part: file, problem }),
        }
    }
    for (file, name, pose, to) in places {
        if let Some(part) = by_file.get(&file) {
            job.place(&name, *part, pose, to);
        }
    }
    job.name_apart();
    Ok(job)
}

/// A file's name without its ending.
fn stem(file: &str) -> String {
    Path::new(file).file_stem().map_or_else(|| file.to_owned(), |s| s.to_string_lossy().into_owned())
}
