//! A job as a folder.

use crate::job::Job;
use crate::manifest::{End, Entry, Manifest};
use palpate::Pose;
use palpate::mesh::write_ply;
use std::fs::{self, File};
use std::io;
use std::path::Path;

impl Job {
    /// Writes a PLY file for each part and an `assembly.json` to a folder, which is made. [`crate::read`] gives the same, to the last bit.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (i, part) in self.parts.iter().enumerate() {
            let (positions, triangles) = part.raw();
            write_ply(File::create(folder.join(file(i)))?, positions, triangles)?;
        }
        let turn = |pose: &Pose| pose.rotation.to_array();
        let instances = self.instances.iter().map(|i| Entry {
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
