//! What was found of a pair.

use glam::DVec3;
use palpate::math::Aabb;
use serde::{Deserialize, Serialize};

/// What a pair is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// They overlap by more than the tolerance.
    Clash,
    /// They are nearer than the clearance.
    Clearance,
    /// They touch, as parts that lie on each other do: by design.
    Contact,
}

impl Kind {
    /// In lower case: `clash`, `clearance`, `contact`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clash => "clash",
            Self::Clearance => "clearance",
            Self::Contact => "contact",
        }
    }

    /// Whether it is one to be mended.
    pub fn is_violation(self) -> bool {
        self != Self::Contact
    }
}

/// Where two parts overlap, in the assembly's frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// Smallest corner of the box around it [m].
    pub min: [f64; 3],
    /// Largest corner [m].
    pub max: [f64; 3],
    /// Centre of the volume [m].
    pub centroid: [f64; 3],
    /// Estimated volume [m³].
    pub volume: f64,
    /// How far off that can be, as far as the grid of the estimate tells [m³].
    pub volume_error: f64,
}

impl Region {
    /// The box [m].
    pub fn aabb(&self) -> Aabb {
        Aabb { min: DVec3::from_array(self.min), max: DVec3::from_array(self.max) }
    }
}

/// What is wrong between two parts, in the assembly's frame: numbers alone, the same wherever it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What it is.
    pub kind: Kind,
    /// Apart: the distance of the surfaces, exact up to rounding. Overlapping: minus the depth, the distance of the deepest point
    /// of one part from the surface of the other; of parts whose surfaces coincide, minus the length of the way out [m].
    pub distance: f64,
    /// Where it is measured: on the first part, and on the second [m].
    pub points: [[f64; 3]; 2],
    /// A short translation of the second part that frees it: exact for its direction, rarely longer than the shortest by more than
    /// a few percent. Zero where they do not overlap [m].
    pub way: [f64; 3],
    /// Where they overlap; none unless they clash.
    pub region: Option<Region>,
    /// When, from 0 to 1 of the motion: the beginning of the clash, else the time of the least distance. None where neither moves.
    pub time: Option<f64>,
}

impl Outcome {
    /// How deep they overlap: 0 where they do not [m].
    pub fn depth(&self) -> f64 {
        (-self.distance).max(0.0)
    }

    /// The place to look at, in the assembly's frame [m].
    pub fn place(&self) -> DVec3 {
        let [a, b] = self.points.map(DVec3::from_array);
        self.region.map_or(0.5 * (a + b), |r| DVec3::from_array(r.centroid))
    }
}

/// A pair and what was found of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The instances, the smaller number first.
    pub pair: [u32; 2],
    /// What it is.
    pub outcome: Outcome,
}
