//! Points of a cloud with what they say about the surface they are on: a normal, an area and how flat it is.
//!
//! ```
//! use glam::DVec3;
//! use palpate::cloud::{Cloud, CloudParams, Surfels, SurfelParams};
//!
//! // A ball of 1 m, by points without normals.
//! let turn = 2.399963; // [rad]
//! let points: Vec<DVec3> = (0..4000)
//!     .map(|i| {
//!         let z = (2.0 * f64::from(i) + 1.0) / 4000.0 - 1.0;
//!         let (r, at) = ((1.0 - z * z).sqrt(), turn * f64::from(i));
//!         DVec3::new(r * at.cos(), r * at.sin(), z)
//!     })
//!     .collect();
//! let cloud = Cloud::build(&points, &CloudParams::default())?;
//! let surfels = Surfels::build(&cloud, None, &SurfelParams::default())?;
//! assert!((surfels.report().area / (4.0 * std::f64::consts::PI) - 1.0).abs() < 0.01);
//! let first = surfels.entry(0).ok_or("no point")?;
//! assert!(surfels.normal(first).dot(points[0].as_vec3()) > 0.999); // outward
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::orient::{Component, Towards};
use super::{Cloud, areas, normals, orient};
use crate::par;
use crate::progress::{Progress, Silent};
use glam::{DVec3, Vec3};
use thiserror::Error;

/// Fewest and most neighbours of a point that may be asked for.
pub(super) const NEIGHBOURS: core::ops::RangeInclusive<usize> = 4..=256;

/// How normals and areas are found.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfelParams {
    /// How many of the nearest points make a point's plane, 4 to 256. More: smoother, for noisy scans; fewer: finer detail.
    pub neighbours: usize,
    /// What the surface faces, where that is known: sensors.
    pub towards: Towards,
    /// Threads; 0: those of the current rayon pool. The result does not depend on it.
    pub threads: usize,
}

impl Default for SurfelParams {
    fn default() -> Self {
        Self { neighbours: 16, towards: Towards::Unknown, threads: 0 }
    }
}

impl SurfelParams {
    /// Whether every value is in its range.
    pub fn check(&self) -> Result<(), ReconstructError> {
        if !NEIGHBOURS.contains(&self.neighbours) {
            let value = self.neighbours as f64;
            return Err(ReconstructError::BadParameter { name: "neighbours", value, range: "4 to 256" });
        }
        Ok(())
    }
}

/// Why points gave no surface.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReconstructError {
    /// A surface has at least three places.
    #[error("the cloud has {positions} different positions; a surface needs at least 3")]
    TooFew {
        /// How many there are.
        positions: usize,
    },
    /// A parameter is out of range.
    #[error("{name} is {value}; it must be {range}")]
    BadParameter {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// Points on lines, or scattered in space.
    #[error(
        "only {share:.2} of the points lie on a surface: the others are in a line or fill space; make a sheet of them"
    )]
    NoSurface {
        /// Share of points that have a plane [1].
        share: f64,
    },
    /// The points do not enclose anything.
    #[error(
        "the points enclose nothing: just inside {share:.2} of them the winding number says outside; make a sheet, or mend the normals"
    )]
    Open {
        /// Share of the surface where inside and outside are not as the normals say [1].
        share: f64,
    },
    /// A sheet that would fall to pieces.
    #[error(
        "a sheet of {thickness} m does not hold together between these points; use {least:.3e} m or more"
    )]
    TooThin {
        /// The thickness given [m].
        thickness: f64,
        /// One that holds [m].
        least: f64,
    },
    /// The grid would be larger than allowed.
    #[error(
        "a voxel of {voxel:.3e} m needs about {needed} bytes but {allowed} are allowed; use {suggested:.3e} m or more, or allow more memory"
    )]
    TooMuchMemory {
        /// Edge of a voxel [m].
        voxel: f64,
        /// Estimated need [bytes].
        needed: u64,
        /// The limit [bytes].
        allowed: u64,
        /// A size that fits [m].
        suggested: f64,
    },
    /// The surface that was found is no mesh.
    #[error("the surface found is no mesh: {0}")]
    Mesh(#[from] crate::mesh::MeshError),
    /// The surface has too many triangles.
    #[error(transparent)]
    Iso(#[from] crate::field::iso::IsoError),
    /// The shape or field around the mesh could not be built.
    #[error(transparent)]
    Shape(#[from] crate::shape::ShapeError),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// What is known about the points, in the frame of the cloud.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfelReport {
    /// Different positions.
    pub entries: usize,
    /// Positions whose normal was given; the others' were estimated.
    pub given: usize,
    /// Positions whose neighbours lie on a line or fill space rather than a surface, and stray ones: their normals mean little.
    pub unplanar: usize,
    /// Sum of the areas [m²].
    pub area: f64,
    /// Usual distance of neighbours: the root of the median area [m].
    pub spacing: f64,
    /// No place of a cell away from borders is farther from its point than this [m]: the covering radius, but for holes.
    pub radius: f64,
    /// Positions at a border: their neighbours leave one side free.
    pub border: usize,
    /// Root of the mean square of the distances of points, but for stray ones, from the planes of their neighbours: noise and
    /// curvature [m].
    pub roughness: f64,
    /// Parts that no neighbours connect, in the order of their first point, and which way they face.
    pub components: Vec<Component>,
}

impl SurfelReport {
    /// How sure the orientation is: the mean of the components', by their area [1].
    pub fn confidence(&self) -> f64 {
        let all: f64 = self.components.iter().map(|c| c.area).sum();
        let sum: f64 = self.components.iter().map(|c| c.area * c.confidence).sum();
        if all > 0.0 { sum / all } else { 0.0 }
    }
}

/// Oriented points with areas, one for each different position of a cloud, in the cloud's frame.
///
/// Entries are in the order of the octree: those that follow each other are near each other. Later changes of the cloud do not
/// change it.
#[derive(Clone, Debug)]
pub struct Surfels {
    /// What positions are relative to [m].
    pub(super) origin: DVec3,
    /// As the cloud keeps them [m].
    pub(super) points: Vec<Vec3>,
    /// The lowest id at each position.
    pub(super) ids: Vec<u32>,
    /// Unit.
    pub(super) normals: Vec<Vec3>,
    /// [1]
    pub(super) variation: Vec<f32>,
    /// Whether neighbours lie on a surface.
    pub(super) planar: Vec<bool>,
    /// Whether the point is no neighbour of its neighbours.
    pub(super) stray: Vec<bool>,
    /// [m²]
    pub(super) areas: Vec<f32>,
    /// Usual distance of the points around each [m]; along a line that of the second nearest, for stray ones that of the points they
    /// are nearest to.
    pub(super) scale: Vec<f32>,
    /// Distance of the second nearest other point [m].
    pub(super) second: Vec<f32>,
    /// The entry of each id, or [`NONE`].
    entry_of: Vec<u32>,
    pub(super) report: SurfelReport,
}

/// The entry of an id of no point; the end of a list of neighbours.
pub(super) const NONE: u32 = u32::MAX;

impl Surfels {
    /// Normals and areas of the points of `cloud`.
    ///
    /// `given` are normals by id, in the cloud's frame, of any length: kept as they are but normalised. Where there is none, or it is
    /// zero or not finite, it is estimated: the direction in which the nearest points, weighted, spread least. Estimated normals agree
    /// with given ones and with each other across neighbours; which way a connected part faces is decided by, in this order: given
    /// normals, sensors, what it encloses, the outside of its bend, and the positive end of the axis it faces most; the report
    /// says which.
    ///
    /// Areas are those of the cells of points in their tangent planes and sum to the area of the surface, within 1 % for smooth ones.
    /// At a border, which points do not tell, cells end a quarter of a spacing beyond it.
    ///
    /// Normals are off by about half a spacing over the radius of curvature, in radians, where points lie irregularly; far less where
    /// regularly. Cost: about 5 µs and 150 bytes a point, shared by the threads; a third of it, finding which way normals face, runs on
    /// one.
    pub fn build(
        cloud: &Cloud,
        given: Option<&[DVec3]>,
        params: &SurfelParams,
    ) -> Result<Self, ReconstructError> {
        Self::build_with(cloud, given, params, &Silent)
    }

    /// As [`Surfels::build`], reporting progress.
    pub fn build_with(
        cloud: &Cloud,
        given: Option<&[DVec3]>,
        params: &SurfelParams,
        progress: &dyn Progress,
    ) -> Result<Self, ReconstructError> {
        params.check()?;
        par::with_threads(params.threads, || build(cloud, given.unwrap_or(&[]), params, progress))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there are none; there are always three at least.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The entry of a point of the cloud; that of its position for one of several at one.
    pub fn entry(&self, id: u32) -> Option<usize> {
        self.entry_of.get(id as usize).filter(|e| **e != NONE).map(|e| *e as usize)
    }

    /// The id of the point that entry `i` stands for; of several at one position the lowest.
    pub fn id(&self, i: usize) -> u32 {
        self.ids[i]
    }

    /// Where entry `i` is, in the cloud's frame [m].
    pub fn position(&self, i: usize) -> DVec3 {
        self.origin + self.points[i].as_dvec3()
    }

    /// Outward unit normal of entry `i`.
    pub fn normal(&self, i: usize) -> Vec3 {
        self.normals[i]
    }

    /// Surface that entry `i` stands for [m²]; points at one position share it.
    pub fn area(&self, i: usize) -> f32 {
        self.areas[i]
    }

    /// How far from flat the surface is at entry `i`: 0 on a plane, 1/3 in the midst of points that fill space [1].
    pub fn variation(&self, i: usize) -> f32 {
        self.variation[i]
    }

    /// Whether the neighbours of entry `i` lie on a surface, not on a line and not scattered, and it is one
    /// of theirs.
    pub fn is_planar(&self, i: usize) -> bool {
        self.planar[i] && !self.stray[i]
    }

    /// What is known about them.
    pub fn report(&self) -> &SurfelReport {
        &self.report
    }
}

fn build(
    cloud: &Cloud,
    given: &[DVec3],
    params: &SurfelParams,
    progress: &dyn Progress,
) -> Result<Surfels, ReconstructError> {
    let sites = Sites::of(cloud);
    let n = sites.points.len();
    if n < 3 {
        return Err(ReconstructError::TooFew { positions: n });
    }
    let stop = || if progress.cancelled() { Err(ReconstructError::Cancelled) } else { Ok(()) };
    progress.stage("normals", n as u64);
    let (fits, graph) = normals::fit(cloud, &sites, params.neighbours, progress);
    stop()?;
    let mut normals: Vec<Vec3> = fits.iter().map(|f| f.normal).collect();
    let mut known = vec![false; n];
    // Of several points at one position the lowest id with a normal has its way.
    for (id, g) in given.iter().enumerate().take(cloud.id_end() as usize).rev() {
        // By its largest coordinate first: squares of very long and very short ones are not finite, or nothing.
        let size = g.abs().max_element();
        let unit = (*g / size).try_normalize().filter(|_| g.is_finite() && size > 0.0).map(DVec3::as_vec3);
        if let (Some(unit), Some(e)) = (unit, sites.entry_of.get(id).filter(|e| **e != NONE)) {
            (normals[*e as usize], known[*e as usize]) = (unit, true);
        }
    }
    progress.stage("orient", 0);
    let components =
        orient::orient(&sites, &graph, &fits, &known, &params.towards, cloud.grid.origin, &mut normals);
    stop()?;
    progress.stage("areas", n as u64);
    let cells = areas::cells(cloud, &sites, &graph, &fits, &normals, progress);
    stop()?;
    let mut sorted: Vec<f32> = cells.iter().map(|c| c.area).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let squares: f64 = fits.iter().filter(|f| !f.stray).map(|f| f64::from(f.residual).powi(2)).sum();
    let strays = fits.iter().filter(|f| f.stray).count();
    // Cells at borders may be long along them, beyond what points tell.
    let reach = |border: bool| cells.iter().filter(move |c| c.border == border).map(|c| f64::from(c.reach));
    let radius = reach(false).reduce(f64::max).or_else(|| reach(true).reduce(f64::max)).unwrap_or(0.0);
    let report = SurfelReport {
        entries: n,
        given: known.iter().filter(|k| **k).count(),
        unplanar: fits.iter().filter(|f| !f.planar || f.stray).count(),
        area: cells.iter().map(|c| f64::from(c.area)).sum(),
        spacing: f64::from(sorted[n / 2]).max(0.0).sqrt().max(cloud.spacing()),
        radius,
        border: cells.iter().filter(|c| c.border).count(),
        roughness: (squares / (n - strays).max(1) as f64).sqrt(),
        components,
    };
    Ok(Surfels {
        origin: cloud.grid.origin,
        normals,
        variation: fits.iter().map(|f| f.variation).collect(),
        planar: fits.iter().map(|f| f.planar).collect(),
        stray: fits.iter().map(|f| f.stray).collect(),
        areas: cells.iter().map(|c| c.area).collect(),
        scale: fits.iter().map(|f| f.scale).collect(),
        second: fits.iter().map(|f| f.second).collect(),
        points: sites.points,
        ids: sites.ids,
        entry_of: sites.entry_of,
        report,
    })
}

/// The different positions of a cloud, in the order of the octree.
#[derive(Clone, Debug, Default)]
pub(super) struct Sites {
    /// Relative to the cloud's origin [m].
    pub(super) points: Vec<Vec3>,
    pub(super) ids: Vec<u32>,
    /// The entry of each slot, or [`NONE`].
    pub(super) entry_at: Vec<u32>,
    /// The entry of each id, or [`NONE`].
    pub(super) entry_of: Vec<u32>,
}

impl Sites {
    pub(super) fn of(cloud: &Cloud) -> Self {
        let mut sites = Self {
            entry_at: vec![NONE; cloud.slots.len()],
            entry_of: vec![NONE; cloud.id_end() as usize],
            ..Default::default()
        };
        let mut stack = vec![(0usize, false)];
        while let Some((at, is_leaf)) = stack.pop() {
            if is_leaf {
                let leaf = cloud.leaves[at];
                for slot in leaf.start..leaf.start + u32::from(leaf.len) {
                    sites.entry_at[slot as usize] = sites.points.len() as u32;
                    sites.points.push(Vec3::from_array(cloud.slots.position(slot)));
                    sites.ids.push(cloud.slots.id(slot));
                }
                continue;
            }
            let node = &cloud.nodes[at];
            for o in (0..8).rev() {
                if node.leaf >> o & 1 == 1 {
                    stack.push((node.leaf_at(o), true));
                } else if node.inner >> o & 1 == 1 {
                    stack.push((node.inner_at(o), false));
                }
            }
        }
        for id in 0..cloud.id_end() {
            if let Some(slot) = cloud.slot(id) {
                sites.entry_of[id as usize] = sites.entry_at[slot as usize];
            }
        }
        sites
    }
}
