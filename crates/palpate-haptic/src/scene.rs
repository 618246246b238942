//! What a tool touches: contacts of a pose, as a force with its derivative. As planes that must not be crossed: `walls.rs`.

use crate::six::{Matrix, Six, about, derivative_about};
use crate::walls::Walls;
use glam::DVec3;
use palpate::contact::Contacts;
use palpate::force::{ContactState, ForceParams, FrictionParams, Twist, derivative, penalty};
use palpate::math::Pose;
use palpate::query::Query;
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

/// Times the cosine of the angle between two faces, from 0 to 1: how much of a point counts.
const FACING: f32 = 4.0;
/// Contacts from which on a derivative is that of some of them.
const MANY: usize = 128;

/// A shape that stands still and a shape that is the tool.
#[derive(Debug)]
pub struct Pair {
    a: Arc<Shape>,
    b: Arc<Shape>,
    /// For forces.
    query: Query,
    /// For walls.
    pub(crate) walls: Walls,
    /// Whether walls were asked for last.
    pub(crate) walled: bool,
    /// What was in touch last: B's points, then A's; areas are weighted, see [`Pair::push`].
    touching: [Contacts; 2],
    states: [ContactState; 2],
    few: Contacts,
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
            walls: Walls::default(),
            walled: false,
            touching: Default::default(),
            states: Default::default(),
            few: Contacts::default(),
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

    /// The contacts of the last step, of the tool's points and of those of what it touches; in the mode without penetration also those that
    /// are only near. World frame. Where a tool gives, areas and depths are weighted by how much they count.
    pub fn contacts(&self) -> [&Contacts; 2] {
        if self.walled {
            self.walls.query().last_both()
        } else {
            let [first, second] = &self.touching;
            [first, second]
        }
    }

    /// Balls and points that the last query tested.
    pub fn stats(&self) -> palpate::query::Stats {
        self.asked().stats()
    }

    fn asked(&self) -> &Query {
        if self.walled { self.walls.query() } else { &self.query }
    }

    /// What the points of both shapes that are inside the other come to: one average over all of them. A point counts for more the deeper it
    /// is, up to a voxel, so that none comes or goes at once; force and derivative are continuous in the pose but for normals at edges.
    pub(crate) fn push(&mut self, pose: &Pose, twist: &Twist, force: &ForceParams) -> Push {
        self.walled = false;
        self.query.both_again(&self.a, &self.b, pose, 0.0, self.voxel());
        let full = 1.0 / self.coarsest() as f32;
        self.query.exchange_both(&mut self.touching);
        // Along the surfaces as if all contacts stuck that stick in part: exact for those is seven times the work.
        let smooth = ForceParams { friction: FrictionParams::default(), ..*force };
        let (centre, r) = (pose.point(self.centre), pose.vector(self.centre));
        let (mut out, mut area) = (Push::default(), 0.0);
        for (contacts, state) in self.touching.iter_mut().zip(&mut self.states) {
            if contacts.list.is_empty() {
                state.clear();
                continue;
            }
            let side = if contacts.swapped { 1.0 } else { -1.0 };
            for c in &mut contacts.list {
                // Surfaces that push each other face each other. Where an edge has got behind another, the nearest face may be one that does not.
                let facing = (side * c.normal().dot(c.shell_normal())).clamp(0.0, 1.0);
                c.area *= (c.depth() * full).min(1.0) * (FACING * facing).min(1.0);
                c.distance *= facing * facing;
            }
            let found = penalty(contacts, force, pose, Some(twist), Some(state));
            if found.used == 0 {
                continue;
            }
            // Neighbours in the list are neighbours on the surface, and the average of some is that of all.
            let few = &mut self.few;
            few.list.clear();
            (few.origin, few.swapped) = (contacts.origin, contacts.swapped);
            let every = contacts.list.len().div_ceil(MANY);
            few.list.extend(contacts.list.iter().step_by(every));
            let slope = derivative(few, &smooth, pose, None, None);
            let mut by = derivative_about(&slope, &found.wrench, r);
            if found.sticking > 0 {
                let share = found.sticking as f64 / found.used as f64;
                stick(few, centre, force.stiffness * share, &mut by);
            }
            // Each direction is an average by its own area.
            area += found.area;
            let share = if area > 0.0 { found.area / area } else { 0.0 };
            let wrench = about(&found.wrench, r);
            for (i, (w, row)) in out.wrench.iter_mut().zip(&mut out.derivative).enumerate() {
                *w += share * (wrench[i] - *w);
                row.iter_mut().zip(&by[i]).for_each(|(d, new)| *d += share * (new - *d));
            }
            out.contacts += found.used;
            out.depth = out.depth.max(contacts.deepest().map_or(0.0, |c| f64::from(c.depth())));
        }
        out
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
