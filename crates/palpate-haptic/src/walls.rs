//! What a tool must not cross: the planes of all points of both shapes that are near.

use crate::scene::Pair;
use crate::six::{Six, lower, upper};
use glam::{DVec3, Vec3};
use palpate::contact::{Contact, Contacts};
use palpate::math::Pose;
use palpate::query::Query;

/// A plane that a point of the tool, or of what is around it, must not cross.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wall {
    /// The motion of the tool that opens the gap: normal, and what turning adds, about the tool's centre.
    pub(crate) opens: Six,
    /// Signed distance [m].
    pub(crate) gap: f64,
    /// Whose point it is: 0 of the tool, 1 of what stands still; and its number.
    pub(crate) of: (usize, u32),
}

impl Wall {
    fn new(point: DVec3, normal: DVec3, gap: f64, centre: DVec3, of: (usize, u32)) -> Self {
        let lever = (point - centre).cross(normal);
        Self { opens: [normal.x, normal.y, normal.z, lever.x, lever.y, lever.z], gap, of }
    }
}

/// Directions that walls are told apart by, times the places.
const KINDS: usize = 24 * 8;
/// Cosine of the angle between two faces from which on they lie on each other.
const FACING: f32 = -0.98;
/// Walls whose gaps are tested together.
const LANES: usize = 8;

/// Eight planes: normals, levers about the tool's centre, distances [m].
type Block = [[f32; LANES]; 7];
/// Planes that nothing crosses.
const BEYOND: Block = {
    let mut block = [[0.0; LANES]; 7];
    block[6] = [f32::INFINITY; LANES];
    block
};

/// All near points of both shapes as planes, by the fields, eight in a block: a motion is tested against eight at a time.
#[derive(Debug, Default)]
struct Planes {
    blocks: Vec<Block>,
    /// Least distance in each block [m].
    least: Vec<f32>,
    /// Points of the tool; those of the other shape come after them.
    first: usize,
}

impl Planes {
    fn fill(&mut self, both: [&Contacts; 2], centre: DVec3) {
        self.first = both[0].list.len();
        let count = (self.first + both[1].list.len()).div_ceil(LANES);
        self.blocks.clear();
        self.blocks.resize(count, BEYOND);
        self.least.clear();
        self.least.resize(count, f32::INFINITY);
        let mut at = 0;
        for contacts in both {
            let middle = (centre - contacts.origin).as_vec3();
            for c in &contacts.list {
                let lever = (Vec3::from_array(c.point) - middle).cross(c.normal());
                let (Some(block), Some(least)) =
                    (self.blocks.get_mut(at / LANES), self.least.get_mut(at / LANES))
                else {
                    return;
                };
                let lane = at % LANES;
                for (row, value) in block.iter_mut().zip([
                    c.normal[0],
                    c.normal[1],
                    c.normal[2],
                    lever.x,
                    lever.y,
                    lever.z,
                    c.distance,
                ]) {
                    row[lane] = value;
                }
                *least = least.min(c.distance);
                at += 1;
            }
        }
    }

    /// Calls `crossed` with every plane that a motion brings nearer than `gap` by more than `slack`, and by how much. No point moves farther
    /// than `reach` [m].
    fn crossed(&self, by: [f32; 6], [gap, slack, reach]: [f32; 3], mut crossed: impl FnMut(usize, f32)) {
        for (at, (block, least)) in self.blocks.iter().zip(&self.least).enumerate() {
            if *least - gap > reach {
                continue;
            }
            let [nx, ny, nz, lx, ly, lz, d] = block;
            let mut after = [0.0f32; LANES];
            let mut any = false;
            for i in 0..LANES {
                let along = nx[i] * by[0] + ny[i] * by[1] + nz[i] * by[2];
                let turned = lx[i] * by[3] + ly[i] * by[4] + lz[i] * by[5];
                // Walls that are nearer than the gap already must open slowly.
                let room = d[i] - gap;
                let slow = 0.1 * room;
                after[i] = along + turned + if room > slow { room } else { slow } + slack;
                any |= after[i] < 0.0;
            }
            if any {
                for (i, a) in after.into_iter().enumerate().filter(|(_, a)| *a < 0.0) {
                    crossed(at * LANES + i, a);
                }
            }
        }
    }
}

/// The walls around a tool: what the last look found.
#[derive(Debug, Default)]
pub(crate) struct Walls {
    query: Query,
    /// Of the pose before a trial.
    kept: [Contacts; 2],
    planes: Planes,
    /// Whether the planes are those of the last look.
    known: bool,
    kept_known: bool,
    /// How far each kind of wall is crossed [m], and which: one of each, by where it faces and on which side of the tool it is.
    worst: Vec<(f32, u32)>,
}

impl Walls {
    pub(crate) fn query(&self) -> &Query {
        &self.query
    }
}

/// Which of 24 directions a normal is nearest to, by the order of its axes and signs.
fn direction(n: [f32; 3]) -> usize {
    let [x, y, z] = n.map(f32::abs);
    let axis = if x >= y && x >= z {
        0
    } else if y >= z {
        1
    } else {
        2
    };
    let sign = usize::from(n[axis] < 0.0);
    let others = usize::from(n[(axis + 1) % 3] < 0.0) + 2 * usize::from(n[(axis + 2) % 3] < 0.0);
    (axis * 2 + sign) * 4 + others
}

impl Pair {
    /// Looks for all walls nearer than `margin`; the least gap, infinite without walls [m].
    pub(crate) fn look(&mut self, pose: &Pose, margin: f64) -> f64 {
        self.walled = true;
        let spread = self.voxel();
        let (a, b) = (self.fixed().clone(), self.tool().clone());
        let walls = &mut self.walls;
        walls.known = false;
        let (first, second) = walls.query.both_again(&a, &b, pose, margin, spread);
        let least = |c: &Contacts| c.list.iter().fold(f32::INFINITY, |a, c| a.min(c.distance));
        f64::from(least(first).min(least(second)))
    }

    /// [`Pair::look`] at a pose that may not be taken: [`Pair::back`] goes back to the walls of the one before.
    pub(crate) fn try_look(&mut self, pose: &Pose, margin: f64) -> f64 {
        let walls = &mut self.walls;
        walls.query.exchange_both(&mut walls.kept);
        walls.kept_known = walls.known;
        self.look(pose, margin)
    }

    /// See [`Pair::try_look`].
    pub(crate) fn back(&mut self) {
        let walls = &mut self.walls;
        walls.query.exchange_both(&mut walls.kept);
        // Nobody has asked about the pose that was tried.
        walls.known = walls.kept_known;
    }

    /// How many points the last look found near.
    pub(crate) fn near(&self) -> usize {
        self.walls.query.last_both().iter().map(|c| c.list.len()).sum()
    }

    /// Finds the walls that a motion by `by` would bring nearer than `gap` by more than `slack` [m], the worst of each kind, and adds the
    /// worst `n` of those by the mesh itself where faces do not lie on each other: fields are round where the mesh has edges. About 2 µs
    /// for each of those. `known`: which walls need not be added.
    pub(crate) fn crossed(
        &mut self,
        pose: &Pose,
        by: &Six,
        [gap, slack]: [f64; 2],
        n: usize,
        known: impl Fn((usize, u32)) -> bool,
        mut add: impl FnMut(Wall),
    ) {
        let (centre, radius) = (pose.point(self.centre()), self.radius() as f32);
        let Walls { query, planes, known: filled, worst, .. } = &mut self.walls;
        let both = query.last_both();
        if !core::mem::replace(filled, true) {
            planes.fill(both, centre);
        }
        worst.clear();
        worst.resize(KINDS, (0.0, 0));
        let find = |at: usize| {
            let side = usize::from(at >= planes.first);
            (side, both[side], both[side].list.get(at - side * planes.first))
        };
        let (move_by, turn_by) = (upper(by).as_vec3(), lower(by).as_vec3());
        let by = [move_by.x, move_by.y, move_by.z, turn_by.x, turn_by.y, turn_by.z];
        // Nothing comes nearer than by this.
        let reach = (move_by.length() + turn_by.length() * radius) * 1.001;
        planes.crossed(by, [gap as f32, slack as f32, reach], |at, after| {
            let (side, contacts, Some(c)) = find(at) else { return };
            let arm = Vec3::from_array(c.point) - (centre - contacts.origin).as_vec3();
            let place =
                usize::from(arm.x < 0.0) + 2 * usize::from(arm.y < 0.0) + 4 * usize::from(arm.z < 0.0);
            let kind = &mut worst[direction(c.normal) * 8 + place];
            if after < kind.0 && !known((side, c.id)) {
                *kind = (after, at as u32);
            }
        });
        worst.retain(|w| w.0 < 0.0);
        worst.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for (_, at) in self.walls.worst.iter().take(n) {
            let side = usize::from(*at as usize >= self.walls.planes.first);
            let at = *at as usize - side * self.walls.planes.first;
            if let Some(c) = self.walls.query.last_both()[side].list.get(at) {
                add(self.wall(pose, side, c));
            }
        }
    }

    /// The wall of a point that was one before, if it is still near.
    pub(crate) fn again(&self, pose: &Pose, of: (usize, u32)) -> Option<Wall> {
        let list = &self.walls.query.last_both().get(of.0)?.list;
        let at = list.binary_search_by_key(&of.1, |c| c.id).ok()?;
        Some(self.wall(pose, of.0, &list[at]))
    }

    fn wall(&self, pose: &Pose, side: usize, c: &Contact) -> Wall {
        let point = self.walls.query.last_both()[side].position(c);
        let faces = c.normal().dot(c.shell_normal()) * if side == 0 { 1.0 } else { -1.0 };
        let (mut normal, mut gap) = (c.normal().as_dvec3(), f64::from(c.distance));
        if faces > FACING {
            (normal, gap) = self.refined(pose, side == 1, point, normal, gap);
        }
        Wall::new(point, normal, gap, pose.point(self.centre()), (side, c.id))
    }

    /// Normal and gap by the mesh itself, outside; as they are where it cannot say.
    fn refined(&self, pose: &Pose, swapped: bool, point: DVec3, normal: DVec3, gap: f64) -> (DVec3, f64) {
        let (shape, p) =
            if swapped { (self.tool(), pose.inverse().point(point)) } else { (self.fixed(), point) };
        let Some(found) = shape.exact().closest_within(p, gap + shape.field().lattice().voxel) else {
            return (normal, gap);
        };
        // From the surface to the point; too near, it says nothing.
        let away = p - found.point;
        if !(gap > 0.0 && found.distance > 1e-3 * self.voxel() && away.is_finite()) {
            return (normal, gap);
        }
        let out = away / found.distance;
        (if swapped { -pose.vector(out) } else { out }, found.distance)
    }
}
