//! The six-point rule: the paper's way to boxes and to a near point, with at most seven leaves.
//!
//! Based on: elfar07, section 3: the six-point test, leaves numbered depth first, and the table of neighbours of the force algorithm.
//! Differs: nothing in what is looked at. Where the paper leaves a choice it is read so:
//! - An octant of no points has no leaf and no number; looking at it costs a descent and no points.
//! - A neighbour of an octant is the one that holds the point beyond the middle of a face, as far from the face as the six points are
//!   from the probe. Where smaller octants meet that face, the others of them are not in the table.
//! - The force algorithm looks at a neighbour of the table if the probe's point on that side is outside the probe's octant, whether or
//!   not it is in that neighbour. A probe in an octant of no points has no row in the table: its neighbours are found by descents.
//!
//! The nearest point it gives may be the wrong one, and boxes may be missed: [`Cloud::nearest`] and [`Cloud::touches`] are exact.

use super::grid::{Place, octant, octant_corner};
use super::nearest::Nearest;
use super::node::bits;
use super::{Cloud, NOWHERE};
use glam::DVec3;

/// No leaf.
const NONE: u32 = u32::MAX;

/// What a query looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Leaves: at most seven.
    pub leaves: usize,
    /// Positions: at most seven times those of a leaf.
    pub points: usize,
}

/// A cloud with the paper's table of neighbours.
#[derive(Clone, Debug)]
pub struct SixPoint<'a> {
    cloud: &'a Cloud,
    table: Table,
}

impl<'a> SixPoint<'a> {
    /// Numbers the leaves depth first and finds the six neighbours of each, for six points at `distance` from a probe [m]: the paper
    /// has the spacing of the points. A distance that is negative or no number counts as 0.
    ///
    /// Cost: six descents for each leaf; 28 bytes for each.
    pub fn build(cloud: &'a Cloud, distance: f64) -> Self {
        Self { cloud, table: Table::build(cloud, distance) }
    }

    /// Number of leaves: their numbers are below this.
    pub fn leaves(&self) -> usize {
        self.table.rows.len()
    }

    /// The numbers of the neighbours of leaf `number`, on the low and high side of x, of y and of z; none on a side where that octant
    /// has no points or is outside the octree.
    pub fn neighbours(&self, number: usize) -> Option<[Option<u32>; 6]> {
        self.table.rows.get(number).map(|row| row.map(|n| (n != NONE).then_some(n)))
    }

    /// Whether `p`, in the cloud's frame [m], is in the closed box of half an edge `half` [m] around a point of its octant or of those
    /// of its six points, and what that took. No, and no work, for a `p` that is not finite.
    ///
    /// Misses boxes of other octants. Seven descents, no allocation.
    pub fn touches(&self, p: DVec3, half: f64) -> (bool, Work) {
        touches(self.cloud, self.table.distance, p, half)
    }

    /// The nearest to `p`, in the cloud's frame [m], of the points of its octant and of the neighbours that its six points cross
    /// towards, and what that took; of those at one distance the lowest id. None where there are no points, or `p` is not finite.
    ///
    /// Never nearer than [`Cloud::nearest`], and in places farther. No allocation.
    pub fn nearest(&self, p: DVec3) -> (Option<Nearest>, Work) {
        nearest(self.cloud, self.table.distance, Some(&self.table), p)
    }
}

/// The neighbours of every leaf of a cloud as it was when this was built.
#[derive(Clone, Debug)]
pub(super) struct Table {
    distance: f64,
    /// By the leaf's place in the cloud's memory.
    numbers: Vec<u32>,
    /// Of each number: its place.
    places: Vec<u32>,
    /// Of each number: the numbers on the low and high side of each axis.
    rows: Vec<[u32; 6]>,
}

impl Table {
    pub(super) fn build(cloud: &Cloud, distance: f64) -> Self {
        let distance = distance.max(0.0);
        let mut table =
            Self { distance, numbers: vec![NONE; cloud.leaves.len()], places: Vec::new(), rows: Vec::new() };
        let mut cubes = Vec::new();
        // Nodes on the way down, and the octant of each that comes next: leaves get their numbers in the order of octants.
        let mut stack = vec![(0, cloud.grid.corner, cloud.grid.log, 0)];
        while let Some((node, corner, log, next)) = stack.last_mut() {
            let n = &cloud.nodes[*node];
            let Some(o) = bits(n.used()).find(|o| *o >= *next) else {
                stack.pop();
                continue;
            };
            *next = o + 1;
            let cube = Cube { corner: octant_corner(*corner, *log, o), log: *log - 1 };
            if n.leaf >> o & 1 == 1 {
                let place = n.leaf_at(o);
                table.numbers[place] = table.places.len() as u32;
                table.places.push(place as u32);
                cubes.push(cube);
            } else {
                stack.push((n.inner_at(o), cube.corner, cube.log, 0));
            }
        }
        table.rows = cubes
            .iter()
            .map(|cube| {
                [0, 1, 2, 3, 4, 5].map(|side| {
                    let at = beyond(cloud, cube, side, distance);
                    find(cloud, at).1.map_or(NONE, |leaf| table.numbers[leaf])
                })
            })
            .collect();
        table
    }
}

/// An octant: its lowest corner [units] and edge [log2 units].
#[derive(Clone, Copy, PartialEq)]
struct Cube {
    corner: Place,
    log: u32,
}

impl Cube {
    fn holds(&self, place: Place) -> bool {
        (0..3).all(|a| (place[a] - self.corner[a]) >> self.log == 0)
    }
}

/// The point beyond the middle of a face: side 0 is that of low x, 1 of high x, 2 of low y and so on.
fn beyond(cloud: &Cloud, cube: &Cube, side: usize, distance: f64) -> Place {
    let half = (1i64 << cube.log) / 2;
    let mut at = cube.corner.map(|c| c + half);
    let away = whole(distance / cloud.grid.unit);
    at[side / 2] = if side.is_multiple_of(2) {
        cube.corner[side / 2] - away.max(1)
    } else {
        cube.corner[side / 2] + 2 * half + away
    };
    at
}

/// A number of units as a whole one, within what octants can be compared with.
fn whole(x: f64) -> i64 {
    // NaN becomes 0, what is too large the largest.
    x.clamp(-1e15, 1e15).floor() as i64
}

/// The unit that holds a place of the cloud's frame [m].
fn unit_of(cloud: &Cloud, p: DVec3) -> Place {
    let v = (p - cloud.grid.origin) / cloud.grid.unit;
    // Points lie on whole units, so half a unit below one belongs to it.
    [v.x, v.y, v.z].map(|x| whole(x + 0.5))
}

/// The smallest octant that holds a place, and its leaf if it has points; the root when it is outside.
fn find(cloud: &Cloud, at: Place) -> (Option<Cube>, Option<usize>) {
    if !cloud.grid.holds(at) {
        return (None, None);
    }
    let (mut node, mut corner, mut log) = (0, cloud.grid.corner, cloud.grid.log);
    loop {
        let n = &cloud.nodes[node];
        let o = octant(at, corner, log);
        corner = octant_corner(corner, log, o);
        log -= 1;
        if n.inner >> o & 1 == 0 {
            return (Some(Cube { corner, log }), (n.leaf >> o & 1 == 1).then(|| n.leaf_at(o)));
        }
        node = n.inner_at(o);
    }
}

/// One of the six points: side 0 is at low x, 1 at high x, and so on.
fn around(p: DVec3, side: usize, distance: f64) -> DVec3 {
    let step = DVec3::AXES[side / 2] * distance;
    if side.is_multiple_of(2) { p - step } else { p + step }
}

/// Up to seven different leaves.
#[derive(Default)]
struct Few {
    leaves: [usize; 7],
    len: usize,
}

impl Few {
    fn add(&mut self, leaf: Option<usize>) {
        let Some(leaf) = leaf else { return };
        if self.len < 7 && !self.leaves[..self.len].contains(&leaf) {
            self.leaves[self.len] = leaf;
            self.len += 1;
        }
    }
}

/// As [`SixPoint::touches`].
pub(super) fn touches(cloud: &Cloud, distance: f64, p: DVec3, half: f64) -> (bool, Work) {
    let mut work = Work::default();
    let Some(local) = cloud.local(p) else { return (false, work) };
    let (mut few, half) = (Few::default(), half as f32);
    few.add(find(cloud, unit_of(cloud, p)).1);
    for side in 0..6 {
        few.add(find(cloud, unit_of(cloud, around(p, side, distance))).1);
    }
    for leaf in &few.leaves[..few.len] {
        work.leaves += 1;
        let leaf = &cloud.leaves[*leaf];
        for slot in leaf.start..leaf.start + u32::from(leaf.len) {
            work.points += 1;
            let q = cloud.slots.position(slot);
            if (0..3).all(|a| (q[a] - local[a]).abs() <= half) {
                return (true, work);
            }
        }
    }
    (false, work)
}

/// As [`SixPoint::nearest`]; without a table neighbours are found by descents, which gives the same.
pub(super) fn nearest(
    cloud: &Cloud,
    distance: f64,
    table: Option<&Table>,
    p: DVec3,
) -> (Option<Nearest>, Work) {
    let mut work = Work::default();
    let Some(local) = cloud.local(p) else { return (None, work) };
    let (cube, leaf) = find(cloud, unit_of(cloud, p));
    let Some(cube) = cube else { return (None, work) };
    let mut few = Few::default();
    few.add(leaf);
    let row = table.zip(leaf).and_then(|(t, leaf)| Some((t, t.rows.get(*t.numbers.get(leaf)? as usize)?)));
    for side in 0..6 {
        if cube.holds(unit_of(cloud, around(p, side, distance))) {
            continue;
        }
        few.add(match row {
            Some((t, row)) => t.places.get(row[side] as usize).map(|place| *place as usize),
            None => find(cloud, beyond(cloud, &cube, side, distance)).1,
        });
    }
    let mut best = (f32::INFINITY, NOWHERE, u32::MAX);
    for leaf in &few.leaves[..few.len] {
        work.leaves += 1;
        let leaf = &cloud.leaves[*leaf];
        for slot in leaf.start..leaf.start + u32::from(leaf.len) {
            work.points += 1;
            let q = cloud.slots.position(slot);
            let (x, y, z) = (q[0] - local[0], q[1] - local[1], q[2] - local[2]);
            let new = (x * x + y * y + z * z, slot, cloud.slots.id(slot));
            if new.0 < best.0 || (new.0 == best.0 && new.2 < best.2) {
                best = new;
            }
        }
    }
    ((best.1 != NOWHERE).then(|| cloud.found(best.1, p)), work)
}
