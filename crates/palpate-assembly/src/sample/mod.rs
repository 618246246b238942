//! An assembly made up for tests and demonstrations: clashes, clearances that are too small, motions that end in a clash, and much
//! that looks like one and is none, each at a known place.

mod scenes;

use crate::finding::Kind;
use crate::job::{Builder, Job, Part};
use crate::run::Report;
use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::mesh::RawMesh;
use std::collections::BTreeSet;

/// The clearance for which things are planted [m].
pub const CLEARANCE: f64 = 0.5e-3;

/// Side of the cube that two parts have to themselves [m]: larger than any two, with any motion, turned any way.
const PITCH: f64 = 0.12;

/// Something that a look at the assembly must find.
#[derive(Clone, Debug, PartialEq)]
pub struct Planted {
    /// The instances, the smaller number first.
    pub pair: [u32; 2],
    /// What it is.
    pub kind: Kind,
    /// Its distance, negative inside [m]; none where there is no formula.
    pub distance: Option<f64>,
    /// Volume of the overlap [m³]; none without one, or without a formula.
    pub volume: Option<f64>,
    /// Where it is [m]: a clash within a millimetre, parallel faces anywhere on them.
    pub place: DVec3,
    /// When, if something moves.
    pub time: Option<f64>,
}

/// A job and what is in it.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The parts.
    pub job: Job,
    /// What must be found, sorted by pair; and nothing else must.
    pub planted: Vec<Planted>,
}

/// How many of what is planted were found, of the right kind, and how many were found that are not there.
pub fn compare(planted: &[Planted], report: &Report) -> (usize, usize) {
    let truth: BTreeSet<_> = planted.iter().map(|p| (p.pair, p.kind)).collect();
    let told: BTreeSet<_> = report.ordered(false).iter().map(|f| (f.pair, f.outcome.kind)).collect();
    (truth.intersection(&told).count(), told.difference(&truth).count())
}

/// An assembly of `parts` parts, each with its own mesh but for some that are there twice; the same for the same numbers.
pub fn assembly(parts: usize, seed: u64) -> Sample {
    let mut maker = Maker { random: Random(seed ^ 0x5eed), ..Maker::default() };
    let cells = parts.div_ceil(2).max(1);
    let side = (1..).find(|n: &usize| n.pow(3) >= cells).unwrap_or(1);
    for cell in 0..parts / 2 {
        let at = [cell % side, cell / side % side, cell / side / side].map(|k| k as f64);
        let turn = maker.random.rotation();
        maker.w_from_cell = Pose::new(turn, PITCH * DVec3::from_array(at));
        scenes::scene(&mut maker, cell);
    }
    if parts % 2 == 1 {
        let corner = DVec3::splat(-PITCH);
        maker.w_from_cell = Pose::from_translation(corner);
        maker.add("block", scenes::block(DVec3::splat(0.01), 2), Pose::IDENTITY, None);
    }
    Sample { job: maker.job.finish(), planted: maker.planted }
}

/// What scenes are put together with.
#[derive(Debug, Default)]
struct Maker {
    job: Builder,
    /// Instances so far.
    count: usize,
    planted: Vec<Planted>,
    random: Random,
    w_from_cell: Pose,
}

impl Maker {
    /// Adds a part at a place of the cell, which may move; its number.
    fn add(&mut self, name: &str, raw: RawMesh, cell_from_part: Pose, to: Option<Pose>) -> u32 {
        let name = format!("{name} {}", self.count + 1);
        // Samples are meshes; what is none is left out, and tests would miss it.
        let Ok(part) = Part::new(&name, raw) else { return self.count as u32 };
        let part = self.job.part(part);
        let w = |pose: Pose| self.w_from_cell * pose;
        self.job.place(&name, part, w(cell_from_part), to.map(w));
        self.count += 1;
        self.count as u32 - 1
    }

    /// Notes what the last two parts are to each other, at a place of the cell.
    fn plant(
        &mut self,
        kind: Kind,
        distance: Option<f64>,
        volume: Option<f64>,
        place: DVec3,
        time: Option<f64>,
    ) {
        let last = self.count as u32;
        let pair = [last - 2, last - 1];
        let place = self.w_from_cell.point(place);
        self.planted.push(Planted { pair, kind, distance, volume, place, time });
    }
}

/// Random numbers: splitmix64, the same on every machine.
#[derive(Debug, Default)]
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform from `low` to `high`.
    fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    fn rotation(&mut self) -> DQuat {
        let mut v = || self.range(-1.0, 1.0);
        let axis = DVec3::new(v(), v(), v()).normalize_or(DVec3::Z);
        DQuat::from_axis_angle(axis, self.range(-3.0, 3.0))
    }
}
