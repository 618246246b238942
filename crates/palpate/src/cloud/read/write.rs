//! Points into a file: binary PLY, or rows of numbers.

use super::{CloudFormat, RawCloud};
use std::fs::{self, File};
use std::io::{self, BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

impl RawCloud {
    /// Writes the points [m], with normals and colours where there are any: binary PLY or rows of numbers, by the
    /// extension; `csv` has commas.
    ///
    /// Positions are f64, normals f32, written so that reading gives the same bits. On failure the old file, or none,
    /// is there. Fails for other extensions and when normals or colours are not as many as the points.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let format = CloudFormat::from_path(path);
        if !matches!(format, Some(CloudFormat::Ply | CloudFormat::Xyz)) {
            let message =
                format!("{}: points are written as ply, xyz, txt or csv; change the ending", path.display());
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let lengths = [self.normals.as_ref().map(Vec::len), self.colours.as_ref().map(Vec::len)];
        if let Some(n) = lengths.into_iter().flatten().find(|&n| n != self.points.len()) {
            let message = format!("{} points but {n} normals or colours; give as many", self.points.len());
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let commas = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let temporary = temporary_beside(path)?;
        let result = File::create(&temporary).and_then(|file| {
            let mut out = BufWriter::with_capacity(1 << 16, file);
            if format == Some(CloudFormat::Ply) {
                self.write_ply(&mut out)?;
            } else {
                self.write_rows(&mut out, if commas { ',' } else { ' ' })?;
            }
            out.flush()
        });
        let result = result.and_then(|()| fs::rename(&temporary, path));
        if result.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        result
    }

    /// Writes binary little-endian PLY to `out`; see [`RawCloud::save`].
    fn write_ply(&self, out: &mut impl Write) -> io::Result<()> {
        write!(
            out,
            "ply\nformat binary_little_endian 1.0\nelement vertex {}\n\
             property double x\nproperty double y\nproperty double z\n",
            self.points.len()
        )?;
        if self.normals.is_some() {
            out.write_all(b"property float nx\nproperty float ny\nproperty float nz\n")?;
        }
        if self.colours.is_some() {
            out.write_all(b"property uchar red\nproperty uchar green\nproperty uchar blue\n")?;
        }
        out.write_all(b"end_header\n")?;
        for (i, p) in self.points.iter().enumerate() {
            for v in p.to_array() {
                out.write_all(&v.to_le_bytes())?;
            }
            if let Some(n) = self.normals.as_ref().and_then(|n| n.get(i)) {
                for v in n.to_array() {
                    out.write_all(&v.to_le_bytes())?;
                }
            }
            if let Some(c) = self.colours.as_ref().and_then(|c| c.get(i)) {
                out.write_all(c)?;
            }
        }
        Ok(())
    }

    /// Writes rows with a line of names first, as a comment but in CSV, where it is usual.
    fn write_rows(&self, out: &mut impl Write, by: char) -> io::Result<()> {
        let mut names = vec!["x", "y", "z"];
        names.extend(self.normals.is_some().then_some(["nx", "ny", "nz"]).into_iter().flatten());
        names.extend(self.colours.is_some().then_some(["r", "g", "b"]).into_iter().flatten());
        let mark = if by == ',' { "" } else { "# " };
        writeln!(out, "{mark}{}", names.join(&by.to_string()))?;
        for (i, p) in self.points.iter().enumerate() {
            write!(out, "{}{by}{}{by}{}", p.x, p.y, p.z)?;
            if let Some(n) = self.normals.as_ref().and_then(|n| n.get(i)) {
                write!(out, "{by}{}{by}{}{by}{}", n.x, n.y, n.z)?;
            }
            if let Some([r, g, b]) = self.colours.as_ref().and_then(|c| c.get(i)) {
                write!(out, "{by}{r}{by}{g}{by}{b}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// A name in the folder of `path` that no other write of this machine uses.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .filter(|_| !path.is_dir())
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "it is a folder, not a file name"))?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let hidden = format!(".{}.{}-{count}.tmp", name.to_string_lossy(), std::process::id());
    Ok(path.with_file_name(hidden))
}
