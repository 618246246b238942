//! What a tool touches: contacts of a pose, as a force with its derivative or as planes that must not be crossed.

use crate::six::{Matrix, Six, about, derivative_about};
use glam::DVec3;
use palpate::contact::{Contact, Contacts};
use palpate::force::{ContactState, ForceParams, FrictionParams, Twist, derivative, penalty};
use palpate::math::Pose;
use palpate::query::{Query, QueryParams};
use palpate::shape::Shape;
use std::sync::Arc;

/// What a pose of the tool touches, as a force. World frame, about the tool's centre.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Push {
    pub(crate) wrench: Six,
    pub(crate) derivative: Matrix,
    /// Contacts with depth.
    pub(crate) contacts: usize,
    /// Of the deepest [m].
    pub(crate) depth: f64,
}

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

/// The walls that a motion would cross most, one of each kind: by where they face and on which side of the tool they are.
#[derive(Clone, Debug)]
pub(crate) struct Crossed {
    /// How far each kind is crossed [m], and the contact.
    worst: [(f32, u8, u32); KINDS],
}

impl Default for Crossed {
    fn default() -> Self {
        Self { worst: [(f32::INFINITY, 0, 0); KINDS] }
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

/// A shape that stands still and a shape that is the tool.
#[derive(Debug)]
pub struct Pair {
    a: Arc<Shape>,
    b: Arc<Shape>,
    /// For forces.
    query: Query,
    /// For walls.
    walls: Query,
    /// Whether walls were asked for last.
    walled: bool,
    state: ContactState,
    centre: DVec3,
    radius: f64,
}

impl Pair {
    /// `a` stands still, its frame is the world's; `b` is the tool.
    pub fn new(a: Arc<Shape>, b: Arc<Shape>) -> Self {
        let (centre, radius) = b.ball();
        Self {
            a,
            b,
            query: Query::new(),
            walls: Query::new(),
            walled: false,
            state: ContactState::default(),
            centre,
            radius,
        }
    }

    /// The shape that stands still.
    pub fn fixed(&self) -> &Arc<Shape> {
        &self.a
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<Shape> {
        &self.b
    }

    /// Middle of a ball around the tool, in its own frame [m].
    pub fn centre(&self) -> DVec3 {
        self.centre
    }

    /// Radius of that ball [m].
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The smaller voxel of the two fields [m].
    pub fn voxel(&self) -> f64 {
        self.a.field().lattice().voxel.min(self.b.field().lattice().voxel)
    }

    /// The larger voxel of the two: what both can be trusted to a share of [m].
    pub fn coarsest(&self) -> f64 {
        self.a.field().lattice().voxel.max(self.b.field().lattice().voxel)
    }

    /// The contacts of the last step; in the mode without penetration also those that are only near. World frame.
    pub fn contacts(&self) -> &Contacts {
        self.asked().last()
    }

    /// Balls and points that the last query tested.
    pub fn stats(&self) -> palpate::query::Stats {
        self.asked().stats()
    }

    fn asked(&self) -> &Query {
        if self.walled { &self.walls } else { &self.query }
    }

    /// Friction forgets what it held.
    pub(crate) fn forget(&mut self) {
        self.state.clear();
    }

    pub(crate) fn push(&mut self, pose: &Pose, twist: &Twist, force: &ForceParams) -> Push {
        self.walled = false;
        let contacts = self.query.contacts(&self.a, &self.b, pose, &QueryParams::default());
        if contacts.list.is_empty() {
            self.forget();
            return Push::default();
        }
        let found = penalty(contacts, force, pose, Some(twist), Some(&mut self.state));
        // Across the surfaces as it is; along them as if all contacts stuck that stick in part: exact for those is seven times the work.
        let smooth = ForceParams { friction: FrictionParams::default(), ..*force };
        let slope = derivative(contacts, &smooth, pose, None, None);
        let r = pose.vector(self.centre);
        let mut by = derivative_about(&slope, &found.wrench, r);
        if found.used > 0 && found.sticking > 0 {
            stick(
                contacts,
                pose.point(self.centre),
                force.stiffness * found.sticking as f64 / found.used as f64,
                &mut by,
            );
        }
        Push {
            wrench: about(&found.wrench, r),
            derivative: by,
            contacts: found.used,
            depth: contacts.deepest().map_or(0.0, |c| f64::from(c.depth())),
        }
    }

    /// Looks for all walls nearer than `margin`; the least gap, infinite without walls [m].
    pub(crate) fn look(&mut self, pose: &Pose, margin: f64) -> f64 {
        self.walled = true;
        let spread = self.voxel();
        let (first, second) = self.walls.both_again(&self.a, &self.b, pose, margin, spread);
        let least = |c: &Contacts| c.list.iter().fold(f32::INFINITY, |a, c| a.min(c.distance));
        f64::from(least(first).min(least(second)))
    }

    /// How many points the last look found near.
    pub(crate) fn near(&self) -> usize {
        self.walls.last_both().iter().map(|c| c.list.len()).sum()
    }

    /// Which walls a motion by `by` would bring nearer than `gap` [m], the worst of each kind.
    pub(crate) fn crossed(&self, pose: &Pose, by: &Six, gap: f64, out: &mut Crossed) {
        *out = Crossed::default();
        let centre = pose.point(self.centre);
        let (move_by, turn_by) = (crate::six::upper(by).as_vec3(), crate::six::lower(by).as_vec3());
        // Nothing comes nearer than by this.
        let reach = (move_by.length() + turn_by.length() * self.radius as f32) * 1.001;
        for (side, contacts) in self.walls.last_both().into_iter().enumerate() {
            let middle = (centre - contacts.origin).as_vec3();
            let gap = gap as f32;
            for (at, c) in contacts.list.iter().enumerate() {
                if c.distance - gap > reach {
                    continue;
                }
                let arm = glam::Vec3::from_array(c.point) - middle;
                let opens = c.normal().dot(move_by + turn_by.cross(arm));
                // Walls that are nearer than the gap already must open slowly.
                let short = (c.distance - gap).min(0.0);
                let after = opens + (c.distance - gap) - 0.9 * short;
                if after < 0.0 {
                    let place = usize::from(arm.x < 0.0)
                        + 2 * usize::from(arm.y < 0.0)
                        + 4 * usize::from(arm.z < 0.0);
                    let kind = direction(c.normal) * 8 + place;
                    if after < out.worst[kind].0 {
                        out.worst[kind] = (after, side as u8, at as u32);
                    }
                }
            }
        }
    }

    /// The worst of the walls that would be crossed, at most `n` and none that `known` has, by the mesh itself where faces do not lie on each
    /// other: fields are round where the mesh has edges. About 2 µs for each of those.
    pub(crate) fn worst(
        &self,
        pose: &Pose,
        crossed: &mut Crossed,
        n: usize,
        mut add: impl FnMut(Wall) -> bool,
    ) {
        let mut left = n;
        while left > 0 {
            let Some(worst) =
                crossed.worst.iter_mut().filter(|w| w.0 < 0.0).min_by(|a, b| a.0.total_cmp(&b.0))
            else {
                return;
            };
            let (_, side, at) = *worst;
            worst.0 = f32::INFINITY;
            let Some(c) = self.walls.last_both()[usize::from(side)].list.get(at as usize) else {
                continue;
            };
            left -= usize::from(add(self.wall(pose, usize::from(side), c)));
        }
    }

    /// The wall of a point that was one before, if it is still near.
    pub(crate) fn again(&self, pose: &Pose, of: (usize, u32)) -> Option<Wall> {
        let list = &self.walls.last_both().get(of.0)?.list;
        let at = list.binary_search_by_key(&of.1, |c| c.id).ok()?;
        Some(self.wall(pose, of.0, &list[at]))
    }

    fn wall(&self, pose: &Pose, side: usize, c: &Contact) -> Wall {
        let point = self.walls.last_both()[side].position(c);
        let faces = c.normal().dot(c.shell_normal()) * if side == 0 { 1.0 } else { -1.0 };
        let (mut normal, mut gap) = (c.normal().as_dvec3(), f64::from(c.distance));
        if faces > FACING {
            (normal, gap) = self.refined(pose, side == 1, point, normal, gap);
        }
        Wall::new(point, normal, gap, pose.point(self.centre), (side, c.id))
    }

    /// Normal and gap by the mesh itself, outside; as they are where it cannot say.
    fn refined(&self, pose: &Pose, swapped: bool, point: DVec3, normal: DVec3, gap: f64) -> (DVec3, f64) {
        let (shape, p) = if swapped { (&self.b, pose.inverse().point(point)) } else { (&self.a, point) };
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

/// Takes from a derivative what contacts that stick hold along the surface: `stiffness` times what of their motion is not along their normals,
/// averaged over their areas; motions and forces about `centre`.
fn stick(contacts: &Contacts, centre: DVec3, stiffness: f64, out: &mut Matrix) {
    let middle = (centre - contacts.origin).as_vec3();
    let (mut area, mut sums) = (0.0f32, [[0.0f32; 6]; 6]);
    for c in contacts.list.iter().filter(|c| c.distance < 0.0) {
        let (arm, n) = (glam::Vec3::from_array(c.point) - middle, c.normal());
        area += c.area;
        // Motion of the point along each axis: 1, and what turning adds; without its part along the normal.
        for axis in 0..3 {
            let mut e = glam::Vec3::ZERO;
            e[axis] = 1.0;
            let across = e - n * n[axis];
            let lever = arm.cross(across);
            let row = [across.x, across.y, across.z, lever.x, lever.y, lever.z];
            let own = [e.x, e.y, e.z];
            let turn = arm.cross(e);
            let left = [own[0], own[1], own[2], turn.x, turn.y, turn.z];
            for (sum, l) in sums.iter_mut().zip(left) {
                for (s, r) in sum.iter_mut().zip(row) {
                    *s += c.area * l * r;
                }
            }
        }
    }
    if area > 0.0 {
        for (row, sum) in out.iter_mut().zip(sums) {
            for (d, s) in row.iter_mut().zip(sum) {
                *d -= stiffness * f64::from(s / area);
            }
        }
    }
}
