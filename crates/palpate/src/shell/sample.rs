//! The two phases: projections of voxel centres, thinned to an even spacing.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, section 4 [sagardia08].
//! Differs: points are thinned to a spacing α·s across triangles (voxels give points that nearly coincide where triangles meet);
//! of the boundary points of a voxel the one nearest to its centre is taken, not the first.
//!
//! Blocks of voxels are done in eight rounds, such that those of one round do not touch: each block then sees the points of
//! its neighbours from earlier rounds only, and the result does not depend on threads.

use super::faces::Faces;
use super::project::Kkt;
use super::table::{KeyTable, pack, unpack};
use crate::par;
use crate::progress::Progress;
use crate::voxmap::visit::Visitor;
use glam::{DVec3, Vec3};

/// Voxels along a side of a block, as a power of two. Larger: too few blocks for many threads. Smaller: more neighbours to look at.
const BLOCK_BITS: u32 = 4;
const BLOCK: i32 = 1 << BLOCK_BITS;

/// A projection of a voxel's centre on a triangle.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    /// The voxel in its block, and [`BOUNDARY`].
    code: u32,
    triangle: u32,
    position: [f32; 3],
    /// Squared distance from the centre [voxels²].
    away: f32,
}

/// Set for points on the boundary of their triangle.
const BOUNDARY: u32 = 1 << (3 * BLOCK_BITS);

/// The candidates of a run of triangles, by block.
struct Run {
    blocks: KeyTable,
    /// Where those of each block start, and the end.
    starts: Vec<u32>,
    candidates: Vec<Candidate>,
}

/// A point of the shell inside the faces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) position: Vec3,
    pub(super) triangle: u32,
    pub(super) recovered: bool,
}

/// Where voxels are, relative to the shell's origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voxels {
    pub(super) low: DVec3,
    pub(super) size: f64,
    pub(super) dims: [u32; 3],
}

/// What the two phases met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Surface voxels.
    pub(super) voxels: usize,
    /// Projections inside their triangle.
    pub(super) interior: usize,
    /// Projections on the boundary of their triangle.
    pub(super) boundary: usize,
    /// Those of them taken as candidates in the second phase.
    pub(super) second: usize,
}

/// Points inside faces that keep `spacing` from each other and from `features`. None if cancelled.
pub(super) fn sample(
    faces: &Faces<'_>,
    voxels: &Voxels,
    spacing: f64,
    limit_sq: f32,
    features: &[Vec3],
    progress: &dyn Progress,
) -> Option<(Vec<Kept>, Counts)> {
    let n = faces.len();
    // Even work for two threads and more, also with a dozen large triangles.
    let size = (n / 64).clamp(1, 1024);
    progress.stage("project", n.div_ceil(size) as u64);
    let visitor = Visitor::new(voxels.dims);
    let runs = par::map(n.div_ceil(size), |run| {
        if progress.cancelled() {
            return Run::new();
        }
        let out = Run::of(faces, voxels, &visitor, run * size..n.min((run + 1) * size));
        progress.advance(1);
        out
    });
    if progress.cancelled() {
        return None;
    }

    // Number the blocks, and list the runs that have candidates in each.
    let mut blocks = KeyTable::with_capacity(runs.iter().map(|r| r.blocks.len()).max().unwrap_or(0));
    let mut segments: Vec<(u32, u32, u32)> = Vec::new();
    for (r, run) in runs.iter().enumerate() {
        for (local, &key) in run.blocks.keys().iter().enumerate() {
            segments.push((blocks.insert(key), r as u32, local as u32));
        }
    }
    par::sort_unstable(&mut segments);
    let block_of = |p: Vec3| {
        let u = (p.as_dvec3() - voxels.low) / voxels.size;
        let at = |x: f64, dim: u32| i64::from((x as i32).clamp(0, dim as i32 - 1) >> BLOCK_BITS);
        pack([at(u.x, voxels.dims[0]), at(u.y, voxels.dims[1]), at(u.z, voxels.dims[2])])
    };
    let mut near: Vec<Vec<Vec3>> = vec![Vec::new(); blocks.len()];
    for &p in features {
        let b = blocks.insert(block_of(p)) as usize;
        if b == near.len() {
            near.push(Vec::new());
        }
        near[b].push(p);
    }
    let mut starts = vec![0usize; blocks.len() + 1];
    for s in &segments {
        starts[s.0 as usize + 1] += 1;
    }
    for b in 0..blocks.len() {
        starts[b + 1] += starts[b];
    }

    // Eight rounds.
    let mut rounds: [Vec<u32>; 8] = Default::default();
    for (b, &key) in blocks.keys().iter().enumerate() {
        let [x, y, z] = unpack(key);
        rounds[(x & 1 | (y & 1) << 1 | (z & 1) << 2) as usize].push(b as u32);
    }
    progress.stage("thin", 8);
    let thinning = Thinning { voxels, spacing, limit_sq };
    let mut kept: Vec<Vec<Kept>> = vec![Vec::new(); blocks.len()];
    let mut counts = Counts::default();
    for round in &rounds {
        if progress.cancelled() {
            return None;
        }
        let done = par::map(round.len(), |i| {
            let b = round[i] as usize;
            let lists = segments[starts[b]..starts[b + 1]].iter().map(|s| {
                let (run, local) = (&runs[s.1 as usize], s.2 as usize);
                &run.candidates[run.starts[local] as usize..run.starts[local + 1] as usize]
            });
            thinning.block(blocks.keys()[b], lists, |k| blocks.get(k).map(|b| &near[b as usize][..]))
        });
        for (&b, (points, count)) in round.iter().zip(done) {
            near[b as usize].extend(points.iter().map(|k| k.position));
            kept[b as usize] = points;
            counts.voxels += count.voxels;
            counts.interior += count.interior;
            counts.boundary += count.boundary;
            counts.second += count.second;
        }
        progress.advance(1);
    }
    Some((kept.concat(), counts))
}

impl Run {
    fn new() -> Self {
        Self { blocks: KeyTable::with_capacity(0), starts: vec![0], candidates: Vec::new() }
    }

    /// Projects the centres of all voxels that triangles `range` meet.
    fn of(faces: &Faces<'_>, voxels: &Voxels, visitor: &Visitor, range: core::ops::Range<usize>) -> Self {
        let mut blocks = KeyTable::with_capacity(64);
        let mut found: Vec<(u32, Candidate)> = Vec::new();
        let inverse = 1.0 / voxels.size;
        let (mut last_key, mut last_block) = (u64::MAX, 0);
        for t in range {
            let [a, b, c] = faces.corners(t);
            let low = voxels.low;
            let corners = [(a - low) * inverse, (b - low) * inverse, (c - low) * inverse];
            let kkt = Kkt::new(corners);
            visitor.visit(corners, |first, last, j, k| {
                for i in first..=last {
                    let key = pack([
                        i64::from(i >> BLOCK_BITS),
                        i64::from(j >> BLOCK_BITS),
                        i64::from(k >> BLOCK_BITS),
                    ]);
                    if key != last_key {
                        (last_key, last_block) = (key, blocks.insert(key));
                    }
                    let centre = DVec3::new(f64::from(i) + 0.5, f64::from(j) + 0.5, f64::from(k) + 0.5);
                    let projection = kkt.project(centre);
                    let low = |x: i32| (x & (BLOCK - 1)) as u32;
                    let code = low(k) << (2 * BLOCK_BITS) | low(j) << BLOCK_BITS | low(i);
                    let p = voxels.low + projection.point * voxels.size;
                    let candidate = Candidate {
                        code: if projection.inside { code } else { code | BOUNDARY },
                        triangle: t as u32,
                        position: p.as_vec3().to_array(),
                        away: (projection.point - centre).length_squared() as f32,
                    };
                    found.push((last_block, candidate));
                }
            });
        }
        // By block, in the order found.
        let mut starts = vec![0u32; blocks.len() + 1];
        for (b, _) in &found {
            starts[*b as usize + 1] += 1;
        }
        for b in 0..blocks.len() {
            starts[b + 1] += starts[b];
        }
        let mut next = starts.clone();
        let mut candidates = vec![Candidate::default(); found.len()];
        for (b, c) in found {
            let at = &mut next[b as usize];
            candidates[*at as usize] = c;
            *at += 1;
        }
        Self { blocks, starts, candidates }
    }
}

/// The order in which the candidates of a block are asked: by voxel, those with three even coordinates first, then with three odd
/// ones, with two, with one; in a voxel by triangle, forward in voxels with mostly even coordinates, else backward.
///
/// The first two sets are a body-centred lattice, the next ones fill its faces. Of a plate thinner than the spacing each side
/// then gets about half of the room, whether one voxel meets both sides or two do; in plain order one side would take it all
/// and leave nothing to the other.
#[inline]
fn key(code: u32, index: usize) -> u64 {
    const ODD: u32 = 1 | 1 << BLOCK_BITS | 1 << (2 * BLOCK_BITS);
    let odd = code & ODD;
    let set = (odd | odd >> (BLOCK_BITS - 1) | odd >> (2 * BLOCK_BITS - 2)) & 7;
    // By set, bits x y z: 0, 7, then 3 5 6, then 1 2 4.
    let rank = 0x1437_2650_u32 >> (4 * set) & 15;
    let voxel = rank << (3 * BLOCK_BITS) | code & (BOUNDARY - 1);
    let boundary = if code & BOUNDARY == 0 { 0 } else { ON_BOUNDARY };
    let index = index as u32;
    boundary | u64::from(voxel) << 32 | u64::from(if set.count_ones() >= 2 { !index } else { index })
}

/// Set in keys of candidates on the boundary of their triangle.
const ON_BOUNDARY: u64 = 1 << 63;

/// The index of the candidate with this key. There are fewer than 2³¹.
#[inline]
fn place(key: u64) -> usize {
    let index = key as u32;
    (if index >> 31 == 1 { !index } else { index }) as usize
}

/// What the blocks share.
struct Thinning<'a> {
    voxels: &'a Voxels,
    spacing: f64,
    limit_sq: f32,
}

impl Thinning<'_> {
    /// Both phases in one block.
    fn block<'c, 'n>(
        &self,
        block: u64,
        lists: impl Iterator<Item = &'c [Candidate]> + Clone,
        neighbour: impl Fn(u64) -> Option<&'n [Vec3]>,
    ) -> (Vec<Kept>, Counts) {
        let mut counts = Counts::default();
        let mut kept = Vec::new();
        let total: usize = lists.clone().map(<[Candidate]>::len).sum();
        if total == 0 {
            return (kept, counts);
        }
        let [x, y, z] = unpack(block);
        let size = self.voxels.size;
        let corner = self.voxels.low + DVec3::new(x as f64, y as f64, z as f64) * (f64::from(BLOCK) * size);
        let mut grid = Local::new(corner, f64::from(BLOCK) * size, size, self.spacing, self.limit_sq);
        for n in 0..27 {
            let c = [x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1];
            if c.iter().any(|v| *v < 0) {
                continue;
            }
            for &p in neighbour(pack(c)).unwrap_or(&[]) {
                grid.import(p);
            }
        }

        // Phase one, voxel by voxel: what is inside its triangle.
        let all: Vec<&Candidate> = lists.flatten().collect();
        let mut order: Vec<u64> = all.iter().enumerate().map(|(i, c)| key(c.code, i)).collect();
        order.sort_unstable();
        let interior = order.partition_point(|o| *o < ON_BOUNDARY);
        counts.interior = interior;
        counts.boundary = total - interior;
        let mut projected = [0u64; 1 << (3 * BLOCK_BITS - 6)];
        for o in &order[..interior] {
            let c = all[place(*o)];
            let bit = &mut projected[c.code as usize / 64];
            counts.voxels += usize::from(*bit >> (c.code % 64) & 1 == 0);
            *bit |= 1 << (c.code % 64);
            if grid.take(Vec3::from_array(c.position)) {
                kept.push(Kept {
                    position: Vec3::from_array(c.position),
                    triangle: c.triangle,
                    recovered: false,
                });
            }
        }
        // Phase two: boundary points of voxels without.
        for group in order[interior..].chunk_by(|a, b| a >> 32 == b >> 32) {
            let code = all[place(group[0])].code & !BOUNDARY;
            if projected[code as usize / 64] >> (code % 64) & 1 == 1 {
                continue;
            }
            let nearest = group.iter().map(|o| all[place(*o)]);
            let Some(c) = nearest.reduce(|a, b| if b.away < a.away { b } else { a }) else { continue };
            counts.voxels += 1;
            counts.second += 1;
            if grid.take(Vec3::from_array(c.position)) {
                kept.push(Kept {
                    position: Vec3::from_array(c.position),
                    triangle: c.triangle,
                    recovered: true,
                });
            }
        }
        (kept, counts)
    }
}

/// The points in and around a block, in cells of at least the spacing.
struct Local {
    low: Vec3,
    inverse: f32,
    side: usize,
    limit_sq: f32,
    heads: Vec<u32>,
    points: Vec<(Vec3, u32)>,
}

const NONE: u32 = u32::MAX;

impl Local {
    fn new(corner: DVec3, edge: f64, voxel: f64, spacing: f64, limit_sq: f32) -> Self {
        // Cells a little larger than the spacing, for the rounding of their indices. A projection may be 0.37 voxels beyond
        // its voxel.
        let cell = 1.01 * spacing + 1e-6 * corner.abs().max_element();
        let margin = 0.4 * voxel + 1.05 * cell;
        let side = ((edge + 2.0 * margin) / cell).ceil() as usize + 1;
        Self {
            low: (corner - margin).as_vec3(),
            inverse: (1.0 / cell) as f32,
            side,
            limit_sq,
            heads: vec![NONE; side * side * side],
            points: Vec::new(),
        }
    }

    /// Adds a point of a neighbour if it is near enough to matter.
    fn import(&mut self, p: Vec3) {
        let u = (p - self.low) * self.inverse;
        let side = self.side as f32;
        if u.min_element() >= 0.0 && u.max_element() < side {
            let at = (u.z as usize * self.side + u.y as usize) * self.side + u.x as usize;
            self.push(p, at);
        }
    }

    fn push(&mut self, p: Vec3, at: usize) {
        self.points.push((p, self.heads[at]));
        self.heads[at] = self.points.len() as u32 - 1;
    }

    /// Takes `p` unless a point is too near; whether it was.
    #[inline]
    fn take(&mut self, p: Vec3) -> bool {
        let u = (p - self.low) * self.inverse;
        let last = self.side - 2;
        let (x, y, z) =
            ((u.x as usize).clamp(1, last), (u.y as usize).clamp(1, last), (u.z as usize).clamp(1, last));
        for k in z - 1..=z + 1 {
            for j in y - 1..=y + 1 {
                let row = (k * self.side + j) * self.side + x;
                for &head in &self.heads[row - 1..=row + 1] {
                    let mut at = head;
                    while at != NONE {
                        let (q, next) = self.points[at as usize];
                        if p.distance_squared(q) < self.limit_sq {
                            return false;
                        }
                        at = next;
                    }
                }
            }
        }
        self.push(p, (z * self.side + y) * self.side + x);
        true
    }
}
