//! Clouds of points: touched directly, without a surface.
//!
//! A [`Cloud`] is an octree over points. It finds the nearest point, tests the boxes around points, and takes points in, out and to
//! other places while it is used.
//!
//! ```
//! use glam::DVec3;
//! use palpate::cloud::{Cloud, CloudParams};
//!
//! let points: Vec<DVec3> = (0..100).map(|i| DVec3::new(0.01 * f64::from(i), 0.0, 0.0)).collect();
//! let mut cloud = Cloud::build(&points, &CloudParams::default())?;
//! let nearest = cloud.nearest(DVec3::new(0.312, 0.004, 0.0)).ok_or("no points")?;
//! assert_eq!(nearest.id, 31); // the index of the point
//! assert!((nearest.distance - 0.00447).abs() < 1e-5); // [m]
//!
//! assert!(cloud.touches(DVec3::new(0.312, 0.004, 0.0), 0.005)); // in the box of half an edge of 5 mm around a point
//! let id = cloud.insert(DVec3::new(0.312, 0.0, 0.0))?;
//! assert_eq!(cloud.nearest(DVec3::new(0.312, 0.004, 0.0)).map(|n| n.id), Some(id));
//! assert!(cloud.remove(id));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod areas;
mod build;
mod close;
mod edit;
mod force;
mod gather;
mod grid;
mod local;
mod nearest;
mod node;
mod normals;
mod orient;
mod proxy;
pub mod read;
mod scene;
mod search;
mod sheet;
mod shell;
mod six_point;
mod slide;
mod slots;
mod solid;
mod spacing;
mod surface;
mod surfels;
mod sweep;
mod touch;
mod winding;

#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod proxy_budget_tests;
#[cfg(test)]
mod proxy_tests;
#[cfg(test)]
mod scene_tests;
#[cfg(test)]
mod shell_tests;
#[cfg(test)]
mod six_tests;
#[cfg(test)]
mod solid_tests;
#[cfg(test)]
mod stray_tests;
#[cfg(test)]
mod surface_tests;
#[cfg(test)]
mod surfels_tests;
#[cfg(test)]
mod tests;

pub use close::{close, close_with};
pub use force::{PointForce, PointForceParams};
pub use nearest::Nearest;
pub use orient::{Component, Facing, Towards};
pub use proxy::{Proxy, ProxyParams, Touch};
pub use read::{CloudFormat, CloudReadError, RawCloud};
pub use scene::{Mode, Model, ModelId, Scene, SceneNearest, TouchParams};
pub use sheet::{sheet, sheet_with};
pub use six_point::{SixPoint, Work};
pub use solid::{Solid, SolidParams, SolidReport};
pub use surface::{Fit, Scratch, Surface};
pub use surfels::{ReconstructError, SurfelParams, SurfelReport, Surfels};
pub use winding::Winding;

use crate::math::Aabb;
use glam::DVec3;
use grid::Grid;
use node::{Leaf, Node, Runs, bits};
use slots::{Slots, touch};
use std::collections::BTreeSet;
use thiserror::Error;

/// Most points a leaf may be allowed to have.
pub const MOST_IN_LEAF: usize = 1024;

/// How a cloud is built.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudParams {
    /// Most different positions in a leaf, 1 to [`MOST_IN_LEAF`]. Searches are fastest from 32 to 100; the paper has 10. Octants of a 2²¹th
    /// of the cloud's cube are not divided, so there, and only there, may be more.
    pub leaf: usize,
    /// What the cloud should be able to hold, in its frame [m]; none: four times the size of the box of the points, about its middle.
    pub region: Option<Aabb>,
    /// Threads of the build; 0: those of the current rayon pool. The result does not depend on it.
    pub threads: usize,
}

impl Default for CloudParams {
    fn default() -> Self {
        Self { leaf: 48, region: None, threads: 0 }
    }
}

impl CloudParams {
    /// Whether every value is in its range.
    pub fn check(&self) -> Result<(), CloudError> {
        if !(1..=MOST_IN_LEAF).contains(&self.leaf) {
            return Err(CloudError::BadLeaf { leaf: self.leaf });
        }
        match self.region {
            Some(r) if !(r.min.is_finite() && r.max.is_finite() && r.min.cmple(r.max).all()) => {
                Err(CloudError::BadRegion { region: r })
            }
            _ => Ok(()),
        }
    }
}

/// Why a cloud could not be built or changed.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CloudError {
    /// A leaf of no points, or of too many.
    #[error("a leaf of {leaf} points: use 1 to {MOST_IN_LEAF}")]
    BadLeaf {
        /// The number given.
        leaf: usize,
    },
    /// A region that is no box.
    #[error("the region from {} to {} is no box: give finite corners, the lower one first", region.min, region.max)]
    BadRegion {
        /// The one given [m].
        region: Aabb,
    },
    /// Points have 32-bit numbers.
    #[error("{points} points are more than the {} a cloud can have: divide it", Cloud::MOST_POINTS)]
    TooManyPoints {
        /// How many were given.
        points: usize,
    },
    /// Too large for single precision about its middle.
    #[error("the points lie up to {extent} m apart: a cloud may be 1e16 m large; is it in the right unit?")]
    TooLarge {
        /// Largest extent [m].
        extent: f64,
    },
    /// A coordinate is NaN or infinite.
    #[error("the point {point} is not finite")]
    NotFinite {
        /// The point.
        point: DVec3,
    },
    /// A point that the octree cannot grow to.
    #[error(
        "the point {point} is outside the {reach} m around {origin} that this cloud can hold: build it with a `region`"
    )]
    OutOfReach {
        /// The point [m].
        point: DVec3,
        /// Middle of the cloud [m].
        origin: DVec3,
        /// How far from it points may be along each axis [m].
        reach: f64,
    },
    /// A number that no point has.
    #[error("there is no point {id}")]
    NoSuchPoint {
        /// The number given.
        id: u32,
    },
    /// A parameter of touch or force is out of range.
    #[error("{name} is {value}; it must be {range}")]
    BadParameter {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// The work was stopped.
    #[error("cancelled")]
    Cancelled,
}

/// Points in an octree, in a frame of their own [m].
///
/// A point is named by its id: its index in the list the cloud was built from, or what [`Cloud::insert`] gave. Positions are kept as
/// multiples of [`CloudReport::rounding`] about the middle of the cloud, so that geo-referenced points lose nothing to their large
/// coordinates; answers are exact for the positions as kept.
///
/// Clones have memory of their own.
#[derive(Clone, Debug)]
pub struct Cloud {
    grid: Grid,
    /// Most different positions in a leaf.
    most: usize,
    /// The first is the root; it is a node even when it has few points.
    nodes: Vec<Node>,
    node_runs: Runs,
    leaves: Vec<Leaf>,
    leaf_runs: Runs,
    /// Positions and who is there, leaf by leaf.
    slots: Slots,
    /// The slot of each id, or [`SHARED`] and its group; [`NOWHERE`] for ids of no point.
    slot_of: Vec<u32>,
    /// Ids of no point, to be given again.
    idle: Vec<u32>,
    /// Positions that several points share.
    groups: Vec<Group>,
    /// Groups of none.
    idle_groups: Vec<u32>,
    /// Number of points, twins included.
    count: usize,
    spacing: f64,
    skipped: usize,
}

/// The slot of a point that is not there.
const NOWHERE: u32 = u32::MAX;

/// Marks groups among slots.
const SHARED: u32 = 1 << 31;

/// Points at one position. The lowest id is the one in the slot.
#[derive(Clone, Debug, Default)]
struct Group {
    slot: u32,
    ids: BTreeSet<u32>,
}

/// What a cloud is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CloudReport {
    /// Points.
    pub points: usize,
    /// Different positions.
    pub positions: usize,
    /// Points of the list that were not finite and were left out; their ids are no points.
    pub skipped: usize,
    /// Leaves that have points.
    pub leaves: usize,
    /// Octants that are divided.
    pub nodes: usize,
    /// Divisions from the root to the deepest leaf.
    pub depth: usize,
    /// Median distance from a position to the nearest other one when the cloud was built [m]; 0 for less than two.
    pub spacing: f64,
    /// Positions are multiples of this about the middle: off by at most half of it along each axis, three times that for points that were
    /// inserted far outside the box of the build [m].
    pub rounding: f64,
    /// Memory besides 12 bytes for each position [bytes].
    pub overhead: usize,
}

impl CloudReport {
    /// Memory of a point besides its position [bytes].
    pub fn bytes_per_point(&self) -> f64 {
        self.overhead as f64 / (self.points.max(1)) as f64
    }
}

impl Cloud {
    /// Most points of a cloud.
    pub const MOST_POINTS: usize = (i32::MAX - 64) as usize;

    /// A cloud of no points yet, for those of `region` (or within 4 m of the origin).
    pub fn empty(params: &CloudParams) -> Result<Self, CloudError> {
        Self::build(&[], params)
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Ids are below this.
    pub fn id_end(&self) -> u32 {
        self.slot_of.len() as u32
    }

    /// Makes room for `more` insertions or moves, about 50 bytes each, so that they need not wait for the system to give memory: for loops
    /// that must keep time. Otherwise it comes as it is needed, which takes up to milliseconds now and then. A clone has no such room.
    pub fn reserve(&mut self, more: usize) {
        let more = more.min(Self::MOST_POINTS - self.count);
        // A leaf that grows moves, and leaves room behind that only others of its size take.
        self.slots.reserve(2 * more);
        touch(&mut self.slot_of, more, NOWHERE);
        touch(&mut self.idle, more, 0);
        touch(&mut self.nodes, more / 16, Node::default());
        touch(&mut self.leaves, more / 2, Leaf::default());
    }

    /// Where a point is, as kept, in the cloud's frame [m]; none for an id of no point.
    pub fn position(&self, id: u32) -> Option<DVec3> {
        self.slot(id).map(|slot| self.at(slot))
    }

    /// The slot of a point.
    fn slot(&self, id: u32) -> Option<u32> {
        match *self.slot_of.get(id as usize)? {
            NOWHERE => None,
            at if at & SHARED == 0 => Some(at),
            at => Some(self.groups[(at & !SHARED) as usize].slot),
        }
    }

    /// Points at the same position as `id`, which are found under the lowest id of them; itself alone for most.
    pub fn twins(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        let at = self.slot_of.get(id as usize).copied().filter(|at| *at != NOWHERE);
        let several = at.filter(|at| at & SHARED != 0).map(|at| &self.groups[(at & !SHARED) as usize].ids);
        let alone = at.filter(|at| at & SHARED == 0).map(|_| id);
        several.into_iter().flatten().copied().chain(alone)
    }

    /// Median distance from a position to the nearest other one when the cloud was built [m]; 0 for less than two.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// A box around all points, on each side at most 1/256 of the octree's edge larger than the smallest; empty without points [m].
    pub fn aabb(&self) -> Aabb {
        let root = &self.nodes[0];
        if root.used() == 0 {
            return Aabb::EMPTY;
        }
        let span = root.span(self.grid.corner, self.grid.log);
        let metres = |p: [i64; 3]| DVec3::new(p[0] as f64, p[1] as f64, p[2] as f64) * self.grid.unit;
        Aabb { min: self.grid.origin + metres(span.low), max: self.grid.origin + metres(span.high) }
    }

    /// What the cloud is made of. Cost: a walk over all nodes.
    pub fn report(&self) -> CloudReport {
        let mut report = CloudReport {
            points: self.count,
            skipped: self.skipped,
            spacing: self.spacing,
            rounding: self.grid.unit,
            ..Default::default()
        };
        let mut stack = vec![(0usize, 1usize)];
        while let Some((node, depth)) = stack.pop() {
            let n = &self.nodes[node];
            report.nodes += 1;
            report.depth = report.depth.max(depth);
            for o in bits(n.leaf) {
                report.leaves += 1;
                report.positions += usize::from(self.leaves[n.leaf_at(o)].len);
            }
            stack.extend(bits(n.inner).map(|o| (n.inner_at(o), depth + 1)));
        }
        let lists =
            4 * (self.slot_of.len() + self.idle.len()) + self.node_runs.bytes() + self.leaf_runs.bytes();
        // A tree set takes its memory in pieces of about 64 bytes for up to eleven ids.
        let twins =
            self.groups.iter().map(|g| size_of::<Group>() + 64 * g.ids.len().div_ceil(6)).sum::<usize>();
        let nodes = size_of::<Node>() * self.nodes.len() + size_of::<Leaf>() * self.leaves.len();
        report.overhead = nodes + lists + twins + self.slots.bytes() - 12 * report.positions;
        report
    }

    /// Where a slot is, in the cloud's frame [m].
    fn at(&self, slot: u32) -> DVec3 {
        let [x, y, z] = self.slots.position(slot);
        self.grid.origin + DVec3::new(x.into(), y.into(), z.into())
    }

    /// A place in the cloud's frame, relative to its origin, as searches have it; none when it is not finite. What is farther than squares
    /// of single precision can tell is taken to where they can: nothing of a cloud is out there.
    fn local(&self, p: DVec3) -> Option<[f32; 3]> {
        /// [m]
        const FARTHEST: f64 = 4e18;
        let v = (p - self.grid.origin).clamp(DVec3::splat(-FARTHEST), DVec3::splat(FARTHEST));
        p.is_finite().then(|| v.as_vec3().to_array())
    }

    /// How far single precision may move a probe at `local`, generously [m].
    fn blur(local: [f32; 3]) -> f64 {
        let largest = local.iter().fold(0f32, |m, x| m.max(x.abs()));
        f64::from(largest) * 2f64.powi(-22)
    }
}
