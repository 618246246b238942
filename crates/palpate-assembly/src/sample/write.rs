//! A sample as a folder: what anyone's assembly looks like on disk.

use super::Sample;
use crate::manifest::{End, Entry, Manifest};
use palpate::Pose;
use palpate::mesh::write_ply;
use std::fs::{self, File};
use std::io;
use std::path::Path;

impl Sample {
    /// Writes a PLY file for each part and an `assembly.json` to a folder, which is made. Reading it gives the same bits.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (i, part) in self.job.parts.iter().enumerate() {
            write_ply(File::create(folder.join(file(i)))?, part.mesh.positions(), part.mesh.triangles())?;
        }
        let turn = |pose: &Pose| pose.rotation.to_array();
        let instances = self.job.instances.iter().map(|i| Entry {
            part: file(i.part),
            name: Some(i.name.clone()),
            position: i.pose.translation.to_array(),
            rotation: turn(&i.pose),
            to: i.to.map(|to| End { position: to.translation.to_array(), rotation: Some(turn(&to)) }),
        });
        let manifest = Manifest { unit: Some("m".into()), instances: instances.collect() };
        let text = serde_json::to_string_pretty(&manifest).map_err(io::Error::other)?;
        fs::write(folder.join("assembly.json"), text + "\n")
    }
}

fn file(part: usize) -> String {
    format!("part-{:04}.ply", part + 1)
}
