//! What a tool touches: contacts of a pose, as a force with its derivative or as planes that must not be crossed.

use crate::six::{Matrix, Six, about, derivative_about};
use glam::DVec3;
use palpate::contact::Contacts;
use palpate::force::{ContactState, ForceParams, Twist, derivative, penalty};
use palpate::math::Pose;
use palpate::query::{Query, QueryParams, Roles};
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
    /// Where, in the world.
    point: DVec3,
    /// Whether it is a point of what stands still, in the tool's field.
    swapped: bool,
    /// Whether gap and normal are those of the mesh itself, no longer the field's.
    pub(crate) exact: bool,
}

impl Wall {
    fn new(point: DVec3, normal: DVec3, gap: f64, centre: DVec3, swapped: bool) -> Self {
        let lever = (point - centre).cross(normal);
        let opens = [normal.x, normal.y, normal.z, lever.x, lever.y, lever.z];
        Self { opens, gap, point, swapped, exact: false }
    }
}

/// A shape that stands still and a shape that is the tool.
#[derive(Debug)]
pub struct Pair {
    a: Arc<Shape>,
    b: Arc<Shape>,
    query: Query,
    state: ContactState,
    centre: DVec3,
    radius: f64,
}

impl Pair {
    /// `a` stands still, its frame is the world's; `b` is the tool.
    pub fn new(a: Arc<Shape>, b: Arc<Shape>) -> Self {
        let (centre, radius) = b.ball();
        Self { a, b, query: Query::new(), state: ContactState::default(), centre, radius }
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

    /// The contacts of the last step. World frame.
    pub fn contacts(&self) -> &Contacts {
        self.query.last()
    }

    /// Balls and points that the last query tested.
    pub fn stats(&self) -> palpate::query::Stats {
        self.query.stats()
    }

    /// Friction forgets what it held.
    pub(crate) fn forget(&mut self) {
        self.state.clear();
    }

    pub(crate) fn push(&mut self, pose: &Pose, twist: &Twist, force: &ForceParams) -> Push {
        let contacts = self.query.contacts(&self.a, &self.b, pose, &QueryParams::default());
        if contacts.list.is_empty() {
            self.forget();
            return Push::default();
        }
        let found = penalty(contacts, force, pose, Some(twist), Some(&mut self.state));
        let slope = derivative(contacts, force, pose, Some(twist), Some(&self.state));
        let r = pose.vector(self.centre);
        Push {
            wrench: about(&found.wrench, r),
            derivative: derivative_about(&slope, &found.wrench, r),
            contacts: found.used,
            depth: contacts.deepest().map_or(0.0, |c| f64::from(c.depth())),
        }
    }

    /// All walls nearer than `margin`, into `walls`; the least gap, infinite without walls.
    pub(crate) fn walls(&mut self, pose: &Pose, margin: f64, walls: &mut Vec<Wall>) -> f64 {
        walls.clear();
        let params = QueryParams { margin, roles: Roles::PointsOfB };
        let (first, second) = self.query.both(&self.a, &self.b, pose, &params);
        let centre = pose.point(self.centre);
        let mut least = f64::INFINITY;
        for contacts in [first, second] {
            for c in &contacts.list {
                let gap = f64::from(c.distance);
                let normal = c.normal().as_dvec3();
                walls.push(Wall::new(contacts.position(c), normal, gap, centre, contacts.swapped));
                least = least.min(gap);
            }
        }
        least
    }

    /// The wall by the mesh itself: fields are round where the mesh has edges. Outside only; about 2 µs.
    pub(crate) fn refine(&self, pose: &Pose, wall: &mut Wall) {
        wall.exact = true;
        let (shape, p) =
            if wall.swapped { (&self.b, pose.inverse().point(wall.point)) } else { (&self.a, wall.point) };
        let found = shape.exact().closest(p, None);
        // From the surface to the point; too near, it says nothing.
        let away = p - found.point;
        let outside = wall.gap > 0.0 && found.distance > 1e-3 * self.voxel();
        if !(outside && away.is_finite()) {
            return;
        }
        let out = away / found.distance;
        let normal = if wall.swapped { -pose.vector(out) } else { out };
        *wall = Wall {
            exact: true,
            ..Wall::new(wall.point, normal, found.distance, pose.point(self.centre), wall.swapped)
        };
    }
}
