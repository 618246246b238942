//! A ground that waves: a grid whose heights each frame has anew.

use super::{Frame, Ground, Recording, RecordingError};
use glam::DVec3;

/// Most heights of one frame \[1\].
pub const MAX_HEIGHTS: usize = 1 << 22;

/// A grid of points over a parallelogram, at a height along [`Recording::up`] that each frame has for every point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    /// The first point, at height 0 \[m\].
    pub corner: DVec3,
    /// From it to the last of its row, and to that of its column \[m\].
    pub edges: [DVec3; 2],
    /// Points of a row and of a column; at least two.
    pub counts: [u32; 2],
    /// What the smallest and the largest number of [`Frame::heights`] stand for \[m\].
    pub range: [f64; 2],
}

impl Sheet {
    /// Points of the grid.
    pub fn points(&self) -> usize {
        self.counts.iter().map(|n| *n as usize).product()
    }

    /// Heights as a frame keeps them, row after row: off by at most a 131070th of the range \[m\]; held to the range.
    pub fn heights(&self, heights: impl IntoIterator<Item = f64>) -> Vec<u16> {
        let [low, high] = self.range;
        let scale = if high > low { 65535.0 / (high - low) } else { 0.0 };
        heights.into_iter().map(|h| ((h - low) * scale).round().clamp(0.0, 65535.0) as u16).collect()
    }

    /// Where a point is at height 0 \[m\].
    pub fn place(&self, i: u32, j: u32) -> DVec3 {
        let share = |k: u32, n: u32| f64::from(k) / f64::from(n.max(2) - 1);
        self.corner + self.edges[0] * share(i, self.counts[0]) + self.edges[1] * share(j, self.counts[1])
    }

    /// The surface of a frame, in the world frame \[m\], and its triangles.
    pub(crate) fn surface(&self, up: DVec3, frame: &Frame) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let [nx, ny] = self.counts;
        let [low, high] = self.range;
        let places = (0..ny).flat_map(|j| (0..nx).map(move |i| self.place(i, j)));
        let heights = frame.heights.iter().map(|h| low + (high - low) * f64::from(*h) / 65535.0);
        let positions: Vec<DVec3> = places.zip(heights).map(|(p, h)| p + up * h).collect();
        let squares = (0..ny - 1).flat_map(|j| (0..nx - 1).map(move |i| j * nx + i));
        let triangles = squares.flat_map(|a| [[a, a + 1, a + nx + 1], [a, a + nx + 1, a + nx]]).collect();
        (positions, triangles)
    }

    /// The same with every `step`-th point of a row and a column, and which those are.
    pub(crate) fn thinned(&self, step: u32) -> (Self, Vec<usize>) {
        let last = self.counts.map(|n| (n - 1) / step * step);
        let share = |k: usize| f64::from(last[k]) / f64::from(self.counts[k] - 1);
        let edges = [self.edges[0] * share(0), self.edges[1] * share(1)];
        let rows = (0..=last[1]).step_by(step as usize);
        let chosen = rows.flat_map(|j| {
            (0..=last[0]).step_by(step as usize).map(move |i| (j * self.counts[0] + i) as usize)
        });
        (Self { edges, counts: last.map(|n| n / step + 1), ..*self }, chosen.collect())
    }

    pub(super) fn is_sound(&self) -> bool {
        let finite = self.corner.is_finite() && self.edges.iter().all(|e| e.is_finite());
        let [low, high] = self.range;
        let count = self.counts.iter().map(|n| u64::from(*n)).product::<u64>();
        finite
            && low.is_finite()
            && high.is_finite()
            && low <= high
            && self.counts.iter().all(|n| *n >= 2)
            && count <= MAX_HEIGHTS as u64
    }
}

impl Recording {
    /// The ground, where it is a sheet.
    pub fn sheet(&self) -> Option<&Sheet> {
        match &self.ground {
            Ground::Sheet(sheet) => Some(sheet),
            _ => None,
        }
    }

    /// Whether each frame has a height for each point of the sheet, and none without one.
    pub(super) fn check_heights(&self) -> Result<(), RecordingError> {
        let wanted = self.sheet().map_or(0, Sheet::points);
        match self.frames.iter().position(|f| f.heights.len() != wanted) {
            None => Ok(()),
            Some(i) => Err(RecordingError::Invalid(format!(
                "frame {i} has {} heights for a sheet of {wanted} points",
                self.frames[i].heights.len()
            ))),
        }
    }
}
