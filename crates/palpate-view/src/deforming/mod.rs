//! Motions of meshes that deform: where every vertex is in each frame, which triangles meet, and where.
//!
//! A [`Deforming`] is made by whatever moves the vertices and finds the pairs; [`page`] makes a page that plays it in 3D,
//! [`picture`] and [`film_strip`] pictures.

mod page;
mod strip;
#[cfg(test)]
mod tests;

pub use page::page;
pub use strip::{film_strip, picture};

use crate::image::Rgb;
use crate::recording::{Mark, RecordingError};
use glam::{DVec3, Vec3};

/// Places of vertices a page holds at most, 6 bytes each before base64: 3.5 million make a page of about 28 MB. More: browsers get
/// slow to open it. Fewer: motions of fine meshes get jerky.
pub const MAX_PLACES: usize = 3_500_000;

/// Segments on a page at most, 12 bytes each before base64; of frames with more than their share some are left out.
const MAX_SEGMENTS: usize = 600_000;

/// Colour of triangles that meet one of another mesh.
pub const HOT: Rgb = [232, 64, 44];
/// Colour of triangles that meet one of their own mesh, and none of another.
pub const OWN: Rgb = [176, 92, 214];

/// Meshes that deform, frame after frame, in one frame that all share \[m\].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deforming {
    /// A line for the heading.
    pub title: String,
    /// The command line that made it.
    pub command: String,
    /// Up on the page and in pictures; unit.
    pub up: DVec3,
    /// What moves.
    pub meshes: Vec<DeformingMesh>,
    /// The motion, in order of steps.
    pub frames: Vec<DeformingFrame>,
    /// What is drawn below the view, a value for each frame.
    pub curves: Vec<Curve>,
}

/// Triangles whose vertices move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeformingMesh {
    /// What it is called.
    pub name: String,
    /// Its colour where nothing meets.
    pub colour: Rgb,
    /// Vertices; a frame has a place for each.
    pub vertices: usize,
    /// Counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// All meshes at one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeformingFrame {
    /// Which step.
    pub step: u32,
    /// When it is shown \[s\].
    pub time: f64,
    /// Of each mesh.
    pub states: Vec<DeformingState>,
    /// Pairs of triangles that meet, of one mesh with itself included.
    pub pairs: u32,
    /// Where they do \[m\]; a point has twice the same end.
    pub segments: Vec<[Vec3; 2]>,
    /// Some of the contacts, with normals.
    pub marks: Vec<Mark>,
}

/// A mesh at one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeformingState {
    /// Where the vertices are \[m\].
    pub positions: Vec<Vec3>,
    /// Triangles that meet one of another mesh, sorted, each once.
    pub hits: Vec<u32>,
    /// Triangles that meet one of their own mesh, sorted, each once.
    pub own: Vec<u32>,
    /// Triangles that were switched off since the frame before, or on again; before the first all are on.
    pub switched: Vec<u32>,
}

/// A number over the motion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// What it is.
    pub name: String,
    /// What its numbers are.
    pub unit: Unit,
    /// One for each frame.
    pub values: Vec<f64>,
}

/// What the numbers of a curve are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// How many.
    #[default]
    Count,
    /// Lengths \[m\].
    Length,
    /// Times \[µs\].
    Time,
}

impl Deforming {
    /// Segments of a frame that a page shows at most.
    fn segment_limit(&self) -> usize {
        (MAX_SEGMENTS / self.frames.len().max(1)).max(16)
    }

    /// Segments that a page leaves out, because there are more than 600,000 in all; others show where triangles meet, in every frame.
    pub fn segments_left_out(&self) -> usize {
        let limit = self.segment_limit();
        self.frames.iter().map(|f| f.segments.len().saturating_sub(limit)).sum()
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
        for (i, mesh) in self.meshes.iter().enumerate() {
            let n = mesh.vertices;
            if let Some(t) = mesh.triangles.iter().position(|t| t.iter().any(|v| *v as usize >= n)) {
                return bad(format!("triangle {t} of mesh {i} uses a vertex the mesh does not have ({n})"));
            }
        }
        let mut before = f64::NEG_INFINITY;
        for (i, frame) in self.frames.iter().enumerate() {
            if !(frame.time.is_finite() && frame.time >= before) {
                return bad(format!("frame {i} is at {} s, not after the one before", frame.time));
            }
            before = frame.time;
            if frame.states.len() != self.meshes.len() {
                let (states, meshes) = (frame.states.len(), self.meshes.len());
                return bad(format!("frame {i} has {states} states for {meshes} meshes"));
            }
            for (k, (state, mesh)) in frame.states.iter().zip(&self.meshes).enumerate() {
                if state.positions.len() != mesh.vertices {
                    let (places, vertices) = (state.positions.len(), mesh.vertices);
                    return bad(format!("frame {i} has {places} places for {vertices} vertices of mesh {k}"));
                }
                if let Some(v) = state.positions.iter().position(|p| !p.is_finite()) {
                    return bad(format!("vertex {v} of mesh {k} is nowhere in frame {i}"));
                }
                let count = mesh.triangles.len();
                let mut all = [&state.hits, &state.own, &state.switched].into_iter().flatten();
                if let Some(t) = all.find(|t| **t as usize >= count) {
                    return bad(format!("frame {i} names triangle {t} of mesh {k}, which has {count}"));
                }
            }
            let ends = frame.segments.iter().flatten().all(|p| p.is_finite());
            let seen = |m: &Mark| m.point.is_finite() && m.normal.is_finite() && m.depth.is_finite();
            if !ends || !frame.marks.iter().all(seen) {
                return bad(format!("frame {i} has a number that is not finite"));
            }
        }
        for curve in &self.curves {
            if curve.values.len() != self.frames.len() || !curve.values.iter().all(|x| x.is_finite()) {
                return bad(format!("the curve {} has not a number for each frame", curve.name));
            }
        }
        Ok(())
    }
}

/// Steps from one kept frame to the next, so that a page of `steps` steps of meshes with `vertices` vertices in all holds no more than
/// [`MAX_PLACES`]; two frames it always has.
pub fn every(steps: usize, vertices: usize) -> usize {
    let most = (MAX_PLACES / vertices.max(1)).max(2);
    // The last step is kept besides.
    steps.saturating_sub(1).div_ceil(most - 1).max(1)
}
