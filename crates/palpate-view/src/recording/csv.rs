//! Recordings as a table.

use super::{Recording, RecordingError};
use std::io::Write;

/// Names of the columns, in order.
const COLUMNS: &str =
    "time,body,x,y,z,qx,qy,qz,qw,vx,vy,vz,wx,wy,wz,contacts,deepest,kinetic,narrow_us,step_us";

impl Recording {
    /// Writes one row for each frame and body, behind a line of names: time \[s\], the body's name, its pose in the world
    /// (x y z \[m\], qx qy qz qw), velocity of its centre of mass \[m/s\], angular velocity \[rad/s\], its contacts and the deepest
    /// of them \[m\]; the last three are of the whole frame: kinetic energy \[J\],
    /// time of the narrow phase and of the step \[µs\].
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn write_csv(&self, out: &mut dyn Write) -> Result<(), RecordingError> {
        let mut out = std::io::BufWriter::new(out);
        writeln!(out, "{COLUMNS}")?;
        let names: Vec<String> = self.bodies.iter().map(|b| quoted(&b.name)).collect();
        for frame in &self.frames {
            for (state, name) in frame.bodies.iter().zip(&names) {
                let (t, q) = (state.pose.translation, state.pose.rotation);
                let (v, w) = (state.linear, state.angular);
                write!(out, "{},{name}", frame.time)?;
                for x in [t.x, t.y, t.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z, w.x, w.y, w.z] {
                    write!(out, ",{x}")?;
                }
                let (contacts, deepest) = (state.contacts, state.deepest);
                let (narrow, whole) = (frame.narrow_us, frame.step_us);
                writeln!(out, ",{contacts},{deepest},{},{narrow},{whole}", frame.kinetic)?;
            }
        }
        out.flush()?;
        Ok(())
    }
}

/// A field of the table: in quotes where it holds what separates fields.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
