//! The surface each point stands for, and the largest distance from the surface to a point.
//!
//! Every triangle is cut along the bisectors of the points around it, so that each piece is nearest to one point: the surface's
//! Voronoi diagram, exact up to rounding. Distances to a point are convex, so the farthest place of a piece is a corner of it:
//! the same cut gives the areas and the radius of coverage. Where that exceeds the spacing a point is added, at the farthest
//! corner first, and the triangles around it are cut again.
//!
//! A point stands for the surface of its own side only: on a thin plate the far side's points are left out of the cut, unless
//! there are no others within twice the radius.

use super::cells::{Cut as CellCut, Far, Site, cut, prune};
use super::faces::{Faces, area};
use super::table::{Apart, Cells, KeyTable, pack};
use super::{Entry, Points};
use crate::par;
use crate::progress::Progress;
use glam::{DVec3, Vec2, Vec3};

/// Longest edge of the pieces that triangles are cut into first [spacings]. Larger: more points to compare with each other.
/// Smaller: more borders between pieces, along which cells are cut in two.
const LEAF: f64 = 4.0;
/// Edge of the cells points are found by [spacings].
const CELL: f32 = 2.0;
/// How much farther than the spacing a place may be from all points before one is added there [spacings]. Larger: a larger
/// radius. Smaller: rounding would add points nearer than the spacing.
const SLACK: f64 = 1e-4;
/// Cosine of the largest angle between the normals of a point and of a triangle it may stand for.
const SAME_SIDE: f32 = 0.1;
/// Most rounds of adding points: each adds all it can, so a handful is enough.
const ROUNDS: usize = 64;
/// Points by cell, for finding those near a box.
struct Grid {
    cells: Cells,
    table: KeyTable,
    starts: Vec<u32>,
    /// Position and number of each point, by cell.
    points: Vec<(Vec3, u32)>,
    /// What rounding of cell indices may amount to [m].
    rounding: f32,
}

impl Grid {
    fn build(positions: &[Vec3], cells: Cells, rounding: f32) -> Self {
        let mut order: Vec<(u64, u32)> = vec![(0, 0); positions.len()];
        par::chunks_mut(&mut order, 8192, |chunk, out| {
            for (i, o) in out.iter_mut().enumerate() {
                let at = chunk * 8192 + i;
                *o = (morton(cells.of(positions[at])), at as u32);
            }
        });
        par::sort_unstable(&mut order);
        let mut table = KeyTable::with_capacity(positions.len() / 2);
        let mut starts = Vec::with_capacity(positions.len() / 2);
        let points: Vec<(Vec3, u32)> = order.iter().map(|o| (positions[o.1 as usize], o.1)).collect();
        for (i, o) in order.iter().enumerate() {
            if i == 0 || order[i - 1].0 != o.0 {
                table.insert(pack(cells.of(points[i].0)));
                starts.push(i as u32);
            }
        }
        starts.push(order.len() as u32);
        Self { cells, table, starts, points, rounding }
    }

    /// Sets `out` to the points within `reach` of the box.
    #[inline]
    fn near(&self, low: Vec3, high: Vec3, reach: f32, out: &mut Vec<(Vec3, u32)>) {
        out.clear();
        let reach_sq = reach * reach;
        let a = self.cells.of(low - (reach + self.rounding));
        let b = self.cells.of(high + (reach + self.rounding));
        for k in a[2]..=b[2] {
            for j in a[1]..=b[1] {
                for i in a[0]..=b[0] {
                    let Some(c) = self.table.get(pack([i, j, k])) else { continue };
                    let range = self.starts[c as usize] as usize..self.starts[c as usize + 1] as usize;
                    for &(p, id) in &self.points[range] {
                        let away = (low - p).max(p - high).max(Vec3::ZERO);
                        if away.length_squared() <= reach_sq {
                            out.push((p, id));
                        }
                    }
                }
            }
        }
    }
}

/// Cells along a curve that keeps neighbours together.
fn morton(cell: [i64; 3]) -> u64 {
    let spread = |x: i64| {
        let x = x as u64 & 0x1f_ffff;
        let x = (x | x << 32) & 0x1f_0000_0000_ffff;
        let x = (x | x << 16) & 0x1f_0000_ff00_00ff;
        let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
        let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
        (x | x << 2) & 0x1249_2492_4924_9249
    };
    spread(cell[0]) | spread(cell[1]) << 1 | spread(cell[2]) << 2
}

/// A place that is too far from all points.
#[derive(Clone, Copy, Debug)]
struct Gap {
    distance: f32,
    position: Vec3,
    triangle: u32,
}

/// What a run of triangles gives to which entries, leaf by leaf.
#[derive(Clone, Debug, Default)]
struct Run {
    /// Number of shares of each leaf.
    counts: Vec<u32>,
    /// Entry and area [m²].
    shares: Vec<(u32, f32)>,
    /// Largest distance from each leaf to a point [spacings].
    radii: Vec<f32>,
    /// How near to each leaf a new point would have to be to change it [spacings].
    reaches: Vec<f32>,
    gaps: Vec<Gap>,
}

/// Areas of all entries, and the radius of coverage [m].
pub(super) struct Cover {
    /// For each entry [m²].
    pub(super) areas: Vec<f64>,
    pub(super) radius: f64,
    /// Points in the order of their cells along a curve.
    pub(super) order: Vec<u32>,
    /// Points added.
    pub(super) added: usize,
}

/// Adds points to `points` until the surface is covered, then measures. None if cancelled.
///
/// `rounding` bounds how far a position moves when it is stored [m].
pub(super) fn cover(
    faces: &Faces<'_>,
    points: &mut Points,
    spacing: f64,
    limit_sq: f32,
    rounding: f64,
    most_points: usize,
    progress: &dyn Progress,
) -> Option<Cover> {
    let n = faces.len();
    let size = (n / 64).clamp(1, 256);
    let mut runs: Vec<Run> = vec![Run::default(); n.div_ceil(size)];
    progress.stage("cover", runs.len() as u64);
    let cells = |edge: f32| Cells { low: faces.aabb.min.as_vec3() - 2.0 * edge, inverse: 1.0 / edge };
    let coarse = cells(CELL * spacing as f32);
    let index_rounding = (faces.aabb.extent().max_element() * 4.0 * f64::from(f32::EPSILON)) as f32;
    let apart_edge = spacing as f32 * 1.001 + 2.0 * index_rounding;
    let first_points = points.len();
    let mut fresh: Option<Grid> = None;
    let mut grid = Grid::build(&points.positions, coarse, index_rounding);
    for _ in 0..ROUNDS {
        let cut = Cut { faces, points, grid: &grid, spacing, limit: 1.0 + SLACK + 4.0 * rounding / spacing };
        par::chunks_mut(&mut runs, 1, |i, run| {
            if !progress.cancelled() {
                run[0] = cut.run(i * size..n.min((i + 1) * size), &run[0], fresh.as_ref());
                progress.advance(1);
            }
        });
        if progress.cancelled() {
            return None;
        }
        // Farthest first; of those at one distance, and of the two triangles beside an edge, the first.
        let mut gaps: Vec<Gap> = runs.iter().flat_map(|r| r.gaps.iter().copied()).collect();
        gaps.sort_by(|a, b| b.distance.total_cmp(&a.distance));
        let mut apart = Apart::new(cells(apart_edge), limit_sq);
        let before = points.len();
        for gap in gaps {
            if points.len() <= most_points && apart.take(gap.position) {
                let normal = faces.normals[gap.triangle as usize];
                points.push(gap.position, &[Entry { normal, triangle: gap.triangle }]);
            }
        }
        if points.len() == before {
            break;
        }
        grid = Grid::build(&points.positions, coarse, index_rounding);
        fresh = Some(Grid::build(&points.positions[before..], coarse, index_rounding));
    }
    let mut areas = vec![0.0; points.entries.len()];
    let mut radius = 0.0f32;
    for run in &runs {
        for &(entry, share) in &run.shares {
            areas[entry as usize] += f64::from(share);
        }
        radius = run.radii.iter().fold(radius, |m, r| m.max(*r));
    }
    // Rounding of the cut itself, a few units of f32.
    let radius = f64::from(radius) * spacing * (1.0 + 1e-5) + rounding;
    let order = grid.points.iter().map(|p| p.1).collect();
    Some(Cover { areas, radius, order, added: points.len() - first_points })
}

/// Buffers of one thread's cuts.
#[derive(Default)]
struct Scratch {
    near: Vec<(Vec3, u32)>,
    sites: Vec<Site>,
    cut: CellCut,
}

/// What all cuts share.
struct Cut<'a> {
    faces: &'a Faces<'a>,
    points: &'a Points,
    grid: &'a Grid,
    spacing: f64,
    /// Places farther than this from all points are gaps [spacings].
    limit: f64,
}

/// The frame of a leaf: middle, two directions in its plane and its normal.
struct Frame {
    middle: DVec3,
    axes: [DVec3; 3],
}

impl Frame {
    fn of(corners: [DVec3; 3]) -> Self {
        let [a, b, c] = corners;
        let edges = [b - a, c - b, a - c];
        let longest = edges
            .into_iter()
            .fold(DVec3::ZERO, |m, e| if e.length_squared() > m.length_squared() { e } else { m });
        let x = longest.try_normalize().unwrap_or(DVec3::X);
        let n = (b - a).cross(c - a);
        let z = (n - x * n.dot(x)).try_normalize().unwrap_or_else(|| x.any_orthonormal_vector());
        Self { middle: (a + b + c) / 3.0, axes: [x, z.cross(x), z] }
    }

    #[inline(always)]
    fn local(&self, p: DVec3, scale: f64) -> Vec3 {
        let q = (p - self.middle) * scale;
        DVec3::new(q.dot(self.axes[0]), q.dot(self.axes[1]), q.dot(self.axes[2])).as_vec3()
    }

    fn global(&self, p: Vec2, scale: f64) -> DVec3 {
        self.middle + (self.axes[0] * f64::from(p.x) + self.axes[1] * f64::from(p.y)) * scale
    }
}

impl Cut<'_> {
    /// Cuts triangles `range`; leaves that no point of `fresh` changes keep what they had.
    fn run(&self, range: core::ops::Range<usize>, before: &Run, fresh: Option<&Grid>) -> Run {
        let mut out = Run::default();
        let mut scratch = Scratch::default();
        let (mut leaf, mut share) = (0, 0);
        for t in range {
            let mut stack = vec![self.faces.corners(t)];
            while let Some(corners) = stack.pop() {
                if let Some([first, second]) = self.halves(corners) {
                    stack.push(second);
                    stack.push(first);
                    continue;
                }
                let count = before.counts.get(leaf).copied().unwrap_or(0) as usize;
                let old = &before.shares[share..share + count];
                if fresh.is_some_and(|f| !self.changes(corners, before.reaches[leaf], f, &mut scratch)) {
                    out.counts.push(count as u32);
                    out.shares.extend_from_slice(old);
                    out.radii.push(before.radii[leaf]);
                    out.reaches.push(before.reaches[leaf]);
                } else {
                    self.leaf(corners, t, &mut scratch, &mut out);
                }
                leaf += 1;
                share += count;
            }
        }
        out
    }

    /// The triangle cut across its longest edge; none if that is short enough.
    fn halves(&self, [a, b, c]: [DVec3; 3]) -> Option<[[DVec3; 3]; 2]> {
        let lengths = [(b - a).length_squared(), (c - b).length_squared(), (a - c).length_squared()];
        let limit = LEAF * self.spacing;
        let longest = lengths[0].max(lengths[1]).max(lengths[2]);
        if longest <= limit * limit || !longest.is_finite() {
            return None;
        }
        let [a, b, c] = if longest == lengths[0] {
            [a, b, c]
        } else if longest == lengths[1] {
            [b, c, a]
        } else {
            [c, a, b]
        };
        let m = 0.5 * (a + b);
        Some([[a, m, c], [m, b, c]])
    }

    /// Whether a point of `fresh` is near enough to a leaf to change it.
    fn changes(&self, corners: [DVec3; 3], reach: f32, fresh: &Grid, scratch: &mut Scratch) -> bool {
        let (low, high) = bounds(corners);
        fresh.near(low, high, reach * self.spacing as f32 + fresh.rounding, &mut scratch.near);
        !scratch.near.is_empty()
    }

    /// Cuts one leaf: its shares, its radius and its gaps.
    fn leaf(&self, corners: [DVec3; 3], triangle: usize, scratch: &mut Scratch, out: &mut Run) {
        let spacing = self.spacing;
        let normal = self.faces.normals[triangle];
        let (low, high) = bounds(corners);
        let reach = (self.limit * spacing) as f32 * 1.001 + self.grid.rounding;
        let frame = Frame::of(corners);
        let scale = 1.0 / spacing;
        let [a, b, c] = corners;
        let flat = [
            frame.local(a, scale).truncate(),
            frame.local(b, scale).truncate(),
            frame.local(c, scale).truncate(),
        ];
        self.grid.near(low, high, reach, &mut scratch.near);
        if scratch.near.is_empty() {
            // Nothing near: a point in the middle, then again.
            let gap = Gap { distance: 2.0, position: frame.middle.as_vec3(), triangle: triangle as u32 };
            out.gaps.push(gap);
            out.radii.push(2.0 * LEAF as f32);
            out.reaches.push(2.0 * LEAF as f32);
            out.counts.push(0);
            return;
        }
        let mut one_sided = true;
        scratch.sites.clear();
        for &(p, id) in &scratch.near {
            scratch.sites.push(Site::new(frame.local(p.as_dvec3(), scale), id));
        }
        prune(flat, &mut scratch.sites);
        for site in &scratch.sites {
            one_sided &= self.side(site.id, normal);
        }
        let limit = (self.limit * self.limit) as f32;
        let first_gap = out.gaps.len();
        cut(flat, &scratch.sites, limit, &mut scratch.cut);
        for &Far { p, distance } in &scratch.cut.far {
            // Once for the three cells that meet there, and the farthest of those that are near each other.
            let position = frame.global(p, spacing).as_vec3();
            let near = |g: &&mut Gap| g.position.distance_squared(position) < (spacing * spacing) as f32;
            match out.gaps[first_gap..].iter_mut().find(near) {
                Some(g) if g.distance >= distance => {}
                Some(g) => (g.distance, g.position) = (distance, position),
                None => out.gaps.push(Gap { distance, position, triangle: triangle as u32 }),
            }
        }
        let radius = scratch.cut.radius;
        out.radii.push(radius);
        out.reaches.push(if one_sided { 1.0001 * radius } else { 2.01 * self.limit as f32 });
        if !one_sided && out.gaps.len() == first_gap {
            // Again with the points of this side alone, from farther away.
            self.grid.near(low, high, 2.0 * reach, &mut scratch.near);
            if scratch.near.iter().any(|(_, id)| self.side(*id, normal)) {
                scratch.sites.clear();
                for &(p, id) in &scratch.near {
                    if self.side(id, normal) {
                        scratch.sites.push(Site::new(frame.local(p.as_dvec3(), scale), id));
                    }
                }
                prune(flat, &mut scratch.sites);
                cut(flat, &scratch.sites, f32::INFINITY, &mut scratch.cut);
            }
        }
        // The cells share the leaf's area.
        let sum: f32 = scratch.cut.shares.iter().map(|s| s.1).sum();
        let exact = area(corners);
        let count = scratch.cut.shares.len();
        for &(site, share) in &scratch.cut.shares {
            let share = if sum > 0.0 { share / sum } else { 1.0 / count as f32 };
            let entry = self.entry(scratch.sites[site as usize].id, normal);
            out.shares.push((entry, (f64::from(share) * exact) as f32));
        }
        out.counts.push(count as u32);
    }

    /// Whether a point may stand for a triangle with this normal.
    #[inline]
    fn side(&self, id: u32, normal: Vec3) -> bool {
        let entries = self.points.entries_of(id);
        normal == Vec3::ZERO
            || entries.iter().any(|e| e.normal == Vec3::ZERO || e.normal.dot(normal) > SAME_SIDE)
    }

    /// The entry of a point that looks most in the direction of `normal`.
    #[inline]
    fn entry(&self, id: u32, normal: Vec3) -> u32 {
        let entries = self.points.entries_of(id);
        let mut best = 0;
        for (i, e) in entries.iter().enumerate() {
            if e.normal.dot(normal) > entries[best].normal.dot(normal) {
                best = i;
            }
        }
        self.points.starts[id as usize] + best as u32
    }
}

fn bounds([a, b, c]: [DVec3; 3]) -> (Vec3, Vec3) {
    (a.min(b).min(c).as_vec3(), a.max(b).max(c).as_vec3())
}
