//! Recordings as bytes: `.palprec`.
//!
//! Little-endian. A header of 32 bytes (magic, version, length and checksum of the rest), then in order: text, origin, up,
//! parts, bodies, ground, frames. Lists start with their length; text is UTF-8 behind its length in bytes. Times and the
//! origin are f64, everything else is f32, positions of the world relative to the origin. Version 2 is version 1 with a sheet as ground
//! and its heights at the end of each frame, 16 bits each; recordings without one are written as version 1.

use super::{About, Body, Frame, Ground, MAX_MARKS, Mark, Part, Recording, RecordingError, Sheet, State};
use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::math::Aabb;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How the name of a recording ends.
pub const EXTENSION: &str = "palprec";

/// Latest version of the format that is written and read; earlier ones are read.
pub const VERSION: u32 = 2;

/// Version of recordings without a sheet.
const PLAIN: u32 = 1;

const MAGIC: [u8; 8] = *b"PALPREC\0";
/// Magic, version, four bytes of zero, length, checksum.
const HEADER: usize = 32;
/// How far the length of a unit vector or quaternion in a file may be from 1: rounding to f32, and engines that let
/// rotations drift.
const UNIT_SLACK: f64 = 1e-2;

/// FNV-1a over words of eight bytes: finds damage, not malice.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xcbf2_9ce4_8422_2325, |hash: u64, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
    })
}

/// Makes length and checksum of a recording's bytes right, as tests with changed bytes need; shorter ones stay.
pub fn reseal(bytes: &mut [u8]) {
    if bytes.len() < HEADER {
        return;
    }
    let (length, sum) = ((bytes.len() - HEADER) as u64, checksum(&bytes[HEADER..]));
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    bytes[24..32].copy_from_slice(&sum.to_le_bytes());
}

impl Recording {
    /// The bytes of a `.palprec` file. Rounding: positions and rotations to f32, relative to `origin`.
    ///
    /// # Errors
    /// Of [`Recording::check`], and when a number is beyond f32.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordingError> {
        self.check()?;
        let mut out = Writer { bytes: vec![0; HEADER], origin: self.origin, beyond: false };
        out.bytes[..8].copy_from_slice(&MAGIC);
        let version = if self.sheet().is_some() { VERSION } else { PLAIN };
        out.bytes[8..12].copy_from_slice(&version.to_le_bytes());
        for text in [&self.about.title, &self.about.engine, &self.about.command] {
            out.text(text);
        }
        out.wide(&[self.about.rate]);
        out.wide(&self.origin.to_array());
        out.vector(self.up);
        out.count(self.parts.len());
        for part in &self.parts {
            out.text(&part.name);
            out.count(part.positions.len());
            part.positions.iter().flat_map(|p| p.to_array()).for_each(|x| out.float(f64::from(x)));
            out.count(part.triangles.len());
            part.triangles.iter().flatten().for_each(|v| out.whole(*v));
            out.count(part.colours.len());
            part.colours.iter().for_each(|c| out.bytes.extend(c));
        }
        out.count(self.bodies.len());
        for body in &self.bodies {
            out.text(&body.name);
            out.whole(body.part);
            out.bytes.extend(body.colour);
        }
        match self.ground {
            Ground::Nothing => out.whole(0),
            Ground::Plane { point, normal } => {
                out.whole(1);
                out.place(point);
                out.vector(normal);
            }
            Ground::Cuboid { aabb } => {
                out.whole(2);
                out.place(aabb.min);
                out.place(aabb.max);
            }
            Ground::Part { part, pose } => {
                out.whole(3);
                out.whole(part);
                out.pose(&pose);
            }
            Ground::Sheet(sheet) => {
                out.whole(4);
                out.place(sheet.corner);
                sheet.edges.iter().for_each(|e| out.vector(*e));
                sheet.counts.iter().for_each(|n| out.whole(*n));
                sheet.range.iter().for_each(|x| out.float(*x));
            }
        }
        out.count(self.frames.len());
        for frame in &self.frames {
            out.wide(&[frame.time]);
            out.whole(frame.contacts);
            [frame.deepest, frame.kinetic, frame.narrow_us, frame.step_us].iter().for_each(|x| out.float(*x));
            for s in &frame.bodies {
                out.pose(&s.pose);
                out.vector(s.linear);
                out.vector(s.angular);
                out.whole(s.contacts);
                out.float(s.deepest);
            }
            out.count(frame.marks.len());
            for mark in &frame.marks {
                out.place(mark.point);
                out.vector(mark.normal);
                out.float(mark.depth);
            }
            frame.heights.iter().for_each(|h| out.bytes.extend(h.to_le_bytes()));
        }
        if out.beyond {
            return Err(RecordingError::Invalid("a number is too large for a file".into()));
        }
        let mut bytes = out.bytes;
        reseal(&mut bytes);
        Ok(bytes)
    }

    /// A recording from the bytes of a file. Every number is checked: what is returned passes [`Recording::check`].
    ///
    /// # Errors
    /// Says what is wrong and where. Memory stays below a small multiple of the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordingError> {
        if bytes.get(..8) != Some(&MAGIC[..]) {
            return Err(RecordingError::Foreign);
        }
        let mut from = Reader { bytes, at: 8, origin: DVec3::ZERO };
        match from.whole()? {
            PLAIN..=VERSION => {}
            other => return Err(RecordingError::Version(other)),
        }
        from.whole()?;
        let (length, sum) = (from.long()?, from.long()?);
        let rest = bytes.get(HEADER..).unwrap_or_default();
        if length != rest.len() as u64 {
            let text = format!("{} bytes instead of {length} after its header", rest.len());
            return Err(RecordingError::Damaged(text));
        }
        if sum != checksum(rest) {
            return Err(RecordingError::Damaged("its checksum does not fit".into()));
        }
        let recording = from.recording()?;
        if from.at != bytes.len() {
            let text = format!("{} bytes too many at its end", bytes.len() - from.at);
            return Err(RecordingError::Damaged(text));
        }
        recording.check()?;
        Ok(recording)
    }

    /// Writes a file, all or nothing: what was there stays until the new one is whole.
    ///
    /// # Errors
    /// Of [`Recording::to_bytes`], or when the disk refuses.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), RecordingError> {
        let path = path.as_ref();
        let bytes = self.to_bytes()?;
        let failed = |error| RecordingError::Io { path: path.to_owned(), error };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside: PathBuf = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let written = File::create(&beside)
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written.map_err(failed)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Of [`Recording::from_bytes`], or when it cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let failed = |error| RecordingError::Io { path: path.to_owned(), error };
        Self::from_bytes(&fs::read(path).map_err(failed)?)
    }
}

struct Writer {
    bytes: Vec<u8>,
    origin: DVec3,
    /// A number did not fit.
    beyond: bool,
}

impl Writer {
    fn whole(&mut self, x: u32) {
        self.bytes.extend(x.to_le_bytes());
    }

    fn count(&mut self, n: usize) {
        self.beyond |= u32::try_from(n).is_err();
        self.whole(n as u32);
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }

    fn wide(&mut self, all: &[f64]) {
        all.iter().for_each(|x| self.bytes.extend(x.to_le_bytes()));
    }

    fn float(&mut self, x: f64) {
        self.beyond |= !(x as f32).is_finite();
        self.bytes.extend((x as f32).to_le_bytes());
    }

    fn vector(&mut self, v: DVec3) {
        v.to_array().iter().for_each(|x| self.float(*x));
    }

    fn place(&mut self, p: DVec3) {
        self.vector(p - self.origin);
    }

    fn pose(&mut self, pose: &Pose) {
        self.place(pose.translation);
        pose.rotation.to_array().iter().for_each(|x| self.float(*x));
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    origin: DVec3,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], RecordingError> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.bytes.len());
        let Some(end) = end else {
            return Err(RecordingError::Damaged(format!("it ends at byte {}", self.bytes.len())));
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], RecordingError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    fn whole(&mut self) -> Result<u32, RecordingError> {
        Ok(u32::from_le_bytes(self.fixed()?))
    }

    fn long(&mut self) -> Result<u64, RecordingError> {
        Ok(u64::from_le_bytes(self.fixed()?))
    }

    fn value<T>(&self, what: &'static str, size: usize, value: String) -> Result<T, RecordingError> {
        Err(RecordingError::Value { what, at: self.at.saturating_sub(size), value })
    }

    /// The length of a list whose entries take at least `each` bytes: it cannot promise more than is there.
    fn count(&mut self, what: &'static str, each: usize) -> Result<usize, RecordingError> {
        let n = self.whole()? as usize;
        let room = (self.bytes.len() - self.at) / each.max(1);
        if n > room { self.value(what, 4, format!("{n}, with room for {room}")) } else { Ok(n) }
    }

    fn text(&mut self, what: &'static str) -> Result<String, RecordingError> {
        let n = self.count(what, 1)?;
        match std::str::from_utf8(self.take(n)?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => self.value(what, n, "not text".into()),
        }
    }

    fn wide(&mut self, what: &'static str) -> Result<f64, RecordingError> {
        let x = f64::from_le_bytes(self.fixed()?);
        if x.is_finite() { Ok(x) } else { self.value(what, 8, x.to_string()) }
    }

    fn float(&mut self, what: &'static str) -> Result<f64, RecordingError> {
        let x = f32::from_le_bytes(self.fixed()?);
        if x.is_finite() { Ok(f64::from(x)) } else { self.value(what, 4, x.to_string()) }
    }

    fn vector(&mut self, what: &'static str) -> Result<DVec3, RecordingError> {
        Ok(DVec3::new(self.float(what)?, self.float(what)?, self.float(what)?))
    }

    fn unit(&mut self, what: &'static str) -> Result<DVec3, RecordingError> {
        let v = self.vector(what)?;
        if (v.length() - 1.0).abs() < UNIT_SLACK {
            Ok(v.normalize())
        } else {
            self.value(what, 12, format!("{v}, not of length 1"))
        }
    }

    fn place(&mut self, what: &'static str) -> Result<DVec3, RecordingError> {
        let p = self.origin + self.vector(what)?;
        if p.is_finite() { Ok(p) } else { self.value(what, 12, p.to_string()) }
    }

    fn pose(&mut self, what: &'static str) -> Result<Pose, RecordingError> {
        let translation = self.place(what)?;
        let [x, y, z] = self.vector(what)?.to_array();
        let q = DQuat::from_xyzw(x, y, z, self.float(what)?);
        if (q.length() - 1.0).abs() < UNIT_SLACK {
            Ok(Pose::new(q, translation))
        } else {
            self.value(what, 16, format!("turned by {q}, not of length 1"))
        }
    }

    fn colour(&mut self) -> Result<[u8; 3], RecordingError> {
        self.fixed()
    }

    fn recording(&mut self) -> Result<Recording, RecordingError> {
        let (title, engine, command) = (self.text("title")?, self.text("engine")?, self.text("command")?);
        let about = About { title, engine, rate: self.wide("rate")?, command };
        let origin = DVec3::new(self.wide("origin")?, self.wide("origin")?, self.wide("origin")?);
        self.origin = origin;
        let up = self.unit("up")?;
        let mut parts = Vec::new();
        for _ in 0..self.count("number of parts", 16)? {
            parts.push(self.part()?);
        }
        let mut bodies = Vec::new();
        for _ in 0..self.count("number of bodies", 11)? {
            let (name, part) = (self.text("name of a body")?, self.whole()?);
            bodies.push(Body { name, part, colour: self.colour()? });
        }
        let ground = self.ground()?;
        let heights = if let Ground::Sheet(sheet) = &ground { sheet.points() } else { 0 };
        // Seven of a pose, six of velocities, two of contacts.
        let least = 32 + 60 * bodies.len() + 2 * heights;
        let mut frames = Vec::new();
        for _ in 0..self.count("number of frames", least)? {
            frames.push(self.frame(bodies.len(), heights)?);
        }
        Ok(Recording { about, origin, up, parts, bodies, ground, frames })
    }

    fn part(&mut self) -> Result<Part, RecordingError> {
        let name = self.text("name of a part")?;
        let mut positions = Vec::new();
        for _ in 0..self.count("number of vertices", 12)? {
            positions.push(self.vector("vertex")?.as_vec3());
        }
        let mut triangles = Vec::new();
        for _ in 0..self.count("number of triangles", 12)? {
            let t = [self.whole()?, self.whole()?, self.whole()?];
            if t.iter().any(|v| *v as usize >= positions.len()) {
                let value = format!("{t:?} of {} vertices", positions.len());
                return self.value("triangle", 12, value);
            }
            triangles.push(t);
        }
        let mut colours = Vec::new();
        for _ in 0..self.count("number of colours", 3)? {
            colours.push(self.colour()?);
        }
        Ok(Part { name, positions, triangles, colours })
    }

    fn ground(&mut self) -> Result<Ground, RecordingError> {
        match self.whole()? {
            0 => Ok(Ground::Nothing),
            1 => Ok(Ground::Plane { point: self.place("ground")?, normal: self.unit("ground's normal")? }),
            2 => {
                let (min, max) = (self.place("ground")?, self.place("ground")?);
                Ok(Ground::Cuboid { aabb: Aabb { min, max } })
            }
            3 => Ok(Ground::Part { part: self.whole()?, pose: self.pose("ground")? }),
            4 => {
                let corner = self.place("sheet")?;
                let edges = [self.vector("edge of a sheet")?, self.vector("edge of a sheet")?];
                let counts = [self.whole()?, self.whole()?];
                let range = [self.float("height of a sheet")?, self.float("height of a sheet")?];
                let sheet = Sheet { corner, edges, counts, range };
                if !sheet.is_sound() {
                    return self.value("sheet", 16, format!("{counts:?} points, heights {range:?}"));
                }
                Ok(Ground::Sheet(sheet))
            }
            other => self.value("kind of ground", 4, other.to_string()),
        }
    }

    fn frame(&mut self, bodies: usize, heights: usize) -> Result<Frame, RecordingError> {
        let (time, contacts) = (self.wide("time")?, self.whole()?);
        let (deepest, kinetic) = (self.float("penetration")?, self.float("kinetic energy")?);
        let (narrow_us, step_us) = (self.float("time of the narrow phase")?, self.float("time of a step")?);
        let mut states = Vec::with_capacity(bodies);
        for _ in 0..bodies {
            let pose = self.pose("pose")?;
            let (linear, angular) = (self.vector("velocity")?, self.vector("angular velocity")?);
            let (contacts, deepest) = (self.whole()?, self.float("penetration of a body")?);
            states.push(State { pose, linear, angular, contacts, deepest });
        }
        let count = self.count("number of contacts", 28)?;
        if count > MAX_MARKS {
            return self.value("number of contacts", 4, format!("{count}, above {MAX_MARKS}"));
        }
        let mut marks = Vec::with_capacity(count);
        for _ in 0..count {
            let (point, normal) = (self.place("contact")?, self.vector("normal of a contact")?);
            marks.push(Mark { point, normal, depth: self.float("depth of a contact")? });
        }
        let heights = self.take(2 * heights)?.chunks_exact(2).map(|h| u16::from_le_bytes([h[0], h[1]]));
        let heights = heights.collect();
        Ok(Frame { time, bodies: states, marks, contacts, deepest, kinetic, narrow_us, step_us, heights })
    }
}
