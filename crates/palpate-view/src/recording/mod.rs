//! Recordings of motion: which parts moved, how, what they touched, and what it cost.
//!
//! A [`Recording`] is made by whatever simulates, frame after frame, and does not know which engine that was. `file` keeps it
//! as `.palprec`, `csv` as a table; [`player`](crate::player) makes a page that plays it, [`strip`](crate::strip) one picture.

mod csv;
mod error;
mod file;
mod reduce;
mod sheet;
#[cfg(test)]
pub(crate) mod tests;

pub use error::RecordingError;
pub use file::{EXTENSION, VERSION, reseal};
pub use reduce::reduced;
pub use sheet::{MAX_HEIGHTS, Sheet};

use crate::image::Rgb;
use glam::{DVec3, Vec3};
use palpate::Pose;
use palpate::math::Aabb;

/// Contacts a frame keeps, unless said otherwise \[1\]. More: the file and the page grow by 28 bytes each. Fewer: a wide
/// contact looks like a few points.
pub const MARKS: usize = 64;

/// Triangles a part is drawn with, unless said otherwise \[1\]. More: the page grows by about 12 bytes each. Fewer: fine detail
/// is rounded off.
pub const TRIANGLES: usize = 20_000;

/// Largest number of contacts one frame of a file may hold \[1\].
pub const MAX_MARKS: usize = 1 << 16;

/// Colours of bodies that were given none, told apart in light and in dark; they repeat.
pub const PALETTE: [Rgb; 10] = [
    [86, 140, 214],
    [233, 150, 74],
    [98, 178, 116],
    [214, 104, 110],
    [152, 122, 204],
    [86, 184, 190],
    [222, 186, 84],
    [206, 124, 178],
    [132, 152, 172],
    [168, 132, 104],
];

/// A motion: parts, bodies, ground and frames. World frame, f64 in memory; a file keeps f32 relative to `origin`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// What it is and where it comes from.
    pub about: About,
    /// The point that positions in a file are relative to \[m\]; near the motion.
    pub origin: DVec3,
    /// Against gravity; unit.
    pub up: DVec3,
    /// What is drawn, each in its own frame.
    pub parts: Vec<Part>,
    /// What moves; a frame has one state for each.
    pub bodies: Vec<Body>,
    /// What stays.
    pub ground: Ground,
    /// The motion, in order of time.
    pub frames: Vec<Frame>,
}

/// Where a recording comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// A line for the heading.
    pub title: String,
    /// What simulated it.
    pub engine: String,
    /// Steps a second of simulated time \[Hz\].
    pub rate: f64,
    /// The command line that made it.
    pub command: String,
}

/// Triangles for drawing, in the part's own frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// Corners \[m\], in the part's frame.
    pub positions: Vec<Vec3>,
    /// Counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// A colour for each vertex, for example of its segment; empty: that of the body.
    pub colours: Vec<Rgb>,
}

/// Something that moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// What it is called.
    pub name: String,
    /// Which of the parts it looks like.
    pub part: u32,
    /// Its colour where its part has none.
    pub colour: Rgb,
}

/// What bodies fall on, in the world frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Ground {
    /// Nothing.
    #[default]
    Nothing,
    /// The half-space below a point, against a unit normal.
    Plane {
        /// On the plane \[m\].
        point: DVec3,
        /// Out of the ground; unit.
        normal: DVec3,
    },
    /// A box along the axes.
    Cuboid {
        /// Its corners \[m\].
        aabb: Aabb,
    },
    /// One of the parts.
    Part {
        /// Which.
        part: u32,
        /// `w_from_part`.
        pose: Pose,
    },
    /// A grid that waves: the only one that moves.
    Sheet(Sheet),
}

/// The state at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Simulated time \[s\].
    pub time: f64,
    /// One for each body.
    pub bodies: Vec<State>,
    /// Some of the contacts, see [`Frame::keep`].
    pub marks: Vec<Mark>,
    /// How many contacts there were.
    pub contacts: u32,
    /// Deepest penetration of any contact, 0 without one \[m\].
    pub deepest: f64,
    /// Kinetic energy of all bodies \[J\].
    pub kinetic: f64,
    /// Time of the narrow phase of the step that led here \[µs\]; 0 where the engine does not say.
    pub narrow_us: f64,
    /// Time of that whole step \[µs\].
    pub step_us: f64,
    /// Heights of a [`Sheet`], row after row; empty without one.
    pub heights: Vec<u16>,
}

/// A body at one time, in the world frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// `w_from_part`.
    pub pose: Pose,
    /// Velocity of the centre of mass \[m/s\].
    pub linear: DVec3,
    /// Angular velocity \[rad/s\].
    pub angular: DVec3,
    /// Its contacts.
    pub contacts: u32,
    /// Deepest of them, 0 without one \[m\].
    pub deepest: f64,
}

impl Default for State {
    fn default() -> Self {
        let (linear, angular) = (DVec3::ZERO, DVec3::ZERO);
        Self { pose: Pose::IDENTITY, linear, angular, contacts: 0, deepest: 0.0 }
    }
}

/// A contact to draw, in the world frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Where \[m\].
    pub point: DVec3,
    /// Out of what is touched; unit or zero.
    pub normal: DVec3,
    /// How deep; negative where it is not touching yet \[m\].
    pub depth: f64,
}

impl Frame {
    /// Keeps at most `limit` of `marks`: the deepest, then others spread evenly over the list, so that a wide contact stays wide.
    pub fn keep(&mut self, marks: &[Mark], limit: usize) {
        self.marks.clear();
        if marks.len() <= limit {
            self.marks.extend_from_slice(marks);
            return;
        }
        let deepest = (0..marks.len()).max_by(|i, j| marks[*i].depth.total_cmp(&marks[*j].depth));
        self.marks.extend(deepest.filter(|_| limit > 0).map(|i| marks[i]));
        let rest = limit.saturating_sub(1);
        self.marks.extend((0..rest).map(|k| marks[k * marks.len() / rest]));
    }

    /// Largest speed of a body's centre of mass \[m/s\].
    pub fn speed(&self) -> f64 {
        self.bodies.iter().map(|b| b.linear.length()).fold(0.0, f64::max)
    }
}

impl Part {
    /// The vertices farthest out along the axes and between them.
    fn outer(&self) -> Vec<DVec3> {
        let sign = |k: i32| k as f32 - 1.0;
        let ways = (0..27).map(|d| Vec3::new(sign(d % 3), sign(d / 3 % 3), sign(d / 9)));
        let farthest = |way: Vec3| self.positions.iter().max_by(|a, b| a.dot(way).total_cmp(&b.dot(way)));
        ways.filter(|w| *w != Vec3::ZERO).filter_map(farthest).map(|p| p.as_dvec3()).collect()
    }

    /// The middle and radius of the ball around its box \[m\]; zero without vertices.
    pub(crate) fn ball(&self) -> (DVec3, f64) {
        let aabb = Aabb::of_points(self.positions.iter().map(|p| p.as_dvec3()));
        if self.positions.is_empty() {
            return (DVec3::ZERO, 0.0);
        }
        let centre = aabb.centre();
        let far = |r: f64, p: &Vec3| r.max(p.as_dvec3().distance(centre));
        (centre, self.positions.iter().fold(0.0, far))
    }
}

impl Recording {
    /// Simulated time of the last frame \[s\].
    pub fn seconds(&self) -> f64 {
        self.frames.last().map_or(0.0, |f| f.time)
    }

    /// The box of the bodies in all frames, by 26 outer vertices of each part \[m\]: a few percent too small for round ones. None
    /// without frames or bodies.
    pub fn reach(&self) -> Option<Aabb> {
        let outer: Vec<Vec<DVec3>> = self.parts.iter().map(Part::outer).collect();
        let mut points = self.frames.iter().flat_map(|frame| {
            frame.bodies.iter().zip(&self.bodies).flat_map(|(state, body)| {
                let all = outer.get(body.part as usize).map_or(&[][..], |o| o);
                all.iter().map(|p| state.pose.point(*p))
            })
        });
        let first = points.next()?;
        Some(Aabb::of_points(points.chain([first])))
    }

    /// Whether everything refers to something that is there and every number is finite.
    ///
    /// # Errors
    /// Names what does not and where.
    pub fn check(&self) -> Result<(), RecordingError> {
        let bad = |what: String| Err(RecordingError::Invalid(what));
        if !(self.up.is_finite() && (self.up.length() - 1.0).abs() < 1e-3) {
            return bad(format!("up is {}, not a unit vector", self.up));
        }
        if !(self.origin.is_finite() && self.about.rate.is_finite() && self.about.rate >= 0.0) {
            return bad("origin or rate is not finite".into());
        }
        for (i, part) in self.parts.iter().enumerate() {
            let n = part.positions.len();
            if let Some(v) = part.positions.iter().position(|p| !p.is_finite()) {
                return bad(format!("vertex {v} of part {i} is not finite"));
            }
            if let Some(t) = part.triangles.iter().position(|t| t.iter().any(|v| *v as usize >= n)) {
                return bad(format!("triangle {t} of part {i} uses a vertex the part does not have ({n})"));
            }
            if !part.colours.is_empty() && part.colours.len() != n {
                return bad(format!("part {i} has {} colours for {n} vertices", part.colours.len()));
            }
        }
        for (i, body) in self.bodies.iter().enumerate() {
            if body.part as usize >= self.parts.len() {
                return bad(format!("body {i} uses part {} of {}", body.part, self.parts.len()));
            }
        }
        self.check_ground()?;
        self.check_heights()?;
        let mut before = f64::NEG_INFINITY;
        for (i, frame) in self.frames.iter().enumerate() {
            if frame.bodies.len() != self.bodies.len() {
                return bad(format!(
                    "frame {i} has {} states for {} bodies",
                    frame.bodies.len(),
                    self.bodies.len()
                ));
            }
            if !(frame.time.is_finite() && frame.time >= before) {
                return bad(format!("frame {i} is at {} s, not after the one before", frame.time));
            }
            before = frame.time;
            let numbers = [frame.deepest, frame.kinetic, frame.narrow_us, frame.step_us];
            let finite = |s: &State| {
                s.pose.is_finite() && s.linear.is_finite() && s.angular.is_finite() && s.deepest.is_finite()
            };
            if let Some(b) = frame.bodies.iter().position(|s| !finite(s)) {
                return bad(format!("body {b} of frame {i} is nowhere: a number is not finite"));
            }
            let seen = |m: &Mark| m.point.is_finite() && m.normal.is_finite() && m.depth.is_finite();
            if !numbers.iter().all(|x| x.is_finite()) || !frame.marks.iter().all(seen) {
                return bad(format!("frame {i} has a number that is not finite"));
            }
            if frame.marks.len() > MAX_MARKS {
                return bad(format!(
                    "frame {i} has {} contacts to draw, above {MAX_MARKS}",
                    frame.marks.len()
                ));
            }
        }
        Ok(())
    }

    fn check_ground(&self) -> Result<(), RecordingError> {
        let sound = match self.ground {
            Ground::Nothing => true,
            Ground::Plane { point, normal } => {
                point.is_finite() && normal.is_finite() && (normal.length() - 1.0).abs() < 1e-3
            }
            Ground::Cuboid { aabb } => {
                aabb.min.is_finite() && aabb.max.is_finite() && aabb.min.cmple(aabb.max).all()
            }
            Ground::Part { part, pose } => pose.is_finite() && (part as usize) < self.parts.len(),
            Ground::Sheet(sheet) => sheet.is_sound(),
        };
        if sound { Ok(()) } else { Err(RecordingError::Invalid(format!("ground is {:?}", self.ground))) }
    }
}
