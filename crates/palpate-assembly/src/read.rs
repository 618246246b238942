//! A folder of meshes, or a scene, as a job.

use crate::job::{Builder, Job, Part};
use crate::manifest::{self, Manifest};
use palpate::mesh::{Format, MeshInstances, RawMesh, ReadError};
use palpate::progress::Progress;
use palpate::{Pose, par};
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
    /// The scene is damaged.
    #[error(transparent)]
    Scene(#[from] ReadError),
    /// A file that is no scene.
    #[error("{} is neither a folder nor a glTF or GLB file; name the folder that holds the parts", file.display())]
    NoAssembly {
        /// The file.
        file: PathBuf,
    },
    /// Wished so.
    #[error("stopped while parts were read")]
    Cancelled,
}

/// The assembly in a folder, or in a glTF or GLB file.
///
/// In a folder every mesh file is a part in its place, or `assembly.json` or `assembly.csv` says which part is where, and how it
/// moves. In a scene every node with a mesh is a part. `scale` is metres per unit of the files; of a scene, whose unit is the metre
/// by its standard, it is usually 1.
///
/// Parts that cannot be read are among the failures of the job; the others go on. Parts of equal content share one mesh.
///
/// # Errors
/// A folder or a scene that cannot be read or has no parts, or a list of instances that is wrong.
pub fn read(path: &Path, scale: f64, progress: &dyn Progress) -> Result<Job, ReadJobError> {
    if path.is_dir() || !path.exists() {
        return folder(path, scale, progress);
    }
    if Format::from_path(path) != Some(Format::Gltf) {
        return Err(ReadJobError::NoAssembly { file: path.to_path_buf() });
    }
    progress.stage("read parts", 0);
    let scene = MeshInstances::load(path, scale)?;
    if scene.instances.is_empty() {
        return Err(ReadJobError::Empty { folder: path.to_path_buf() });
    }
    let named = scene.meshes.into_iter().map(|(name, raw)| (name, raw.map_err(|e| e.to_string())));
    let named: Vec<_> = named.collect();
    let parts = par::map(named.len(), |i| {
        let (name, raw) = &named[i];
        raw.clone().and_then(|raw| Part::new(name, raw).map_err(|e| e.to_string()))
    });
    let mut job = Builder::default();
    let names = named.into_iter().map(|(name, _)| name);
    let index = share(&mut job, names.zip(parts));
    for instance in scene.instances {
        if let Some(part) = index[instance.mesh] {
            let name = if instance.name.is_empty() { "part" } else { &instance.name };
            job.place(name, part, instance.pose, None);
        }
    }
    Ok(job.finish())
}

/// Adds parts to a job; where each is, or none for one that is among the failures.
fn share(
    job: &mut Builder,
    parts: impl Iterator<Item = (String, Result<Part, String>)>,
) -> Vec<Option<usize>> {
    let mut add = |(name, part): (String, Result<Part, String>)| {
        part.map_err(|problem| job.fail(&name, problem)).ok().map(|part| job.part(part))
    };
    parts.map(&mut add).collect()
}

fn folder(folder: &Path, scale: f64, progress: &dyn Progress) -> Result<Job, ReadJobError> {
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
    let parts: Option<Vec<Result<Part, String>>> = parts.into_iter().collect();
    let parts = parts.ok_or(ReadJobError::Cancelled)?;
    let mut job = Builder::default();
    let names: Vec<String> = files.iter().map(|f| (*f).to_owned()).collect();
    let index = share(&mut job, names.iter().cloned().zip(parts));
    for (file, name, pose, to) in places {
        let part = names.binary_search(&file).ok().and_then(|i| index[i]);
        if let Some(part) = part {
            job.place(&name, part, pose, to);
        }
    }
    Ok(job.finish())
}

/// A file's name without its ending.
fn stem(file: &str) -> String {
    Path::new(file).file_stem().map_or_else(|| file.to_owned(), |s| s.to_string_lossy().into_owned())
}
