//! How far the points of a shape certainly are from another's surface.
//!
//! Every point of a surface is within the coverage radius of one of its points. So if the points of one shape are farther than
//! that from the other surface, the surfaces do not meet.

use super::Query;
use super::least::Open;
use crate::math::{Aabb, Pose};
use crate::shape::Shape;
use glam::DVec3;

/// A ball around a shape's surface: middle in the shape's frame, and radius [m].
pub(super) fn ball(aabb: &Aabb) -> (DVec3, f64) {
    (aabb.centre(), 0.5 * aabb.extent().length() * (1.0 + 1e-12))
}

/// Whether A gives the points that certify: those that cover more tightly.
pub(super) fn finer(a: &Shape, b: &Shape) -> bool {
    a.tree.shell.radius < b.tree.shell.radius
}

impl Query {
    /// The first point found whose distance from the surface of `field` is at most `limit`, measured on the surface; else the
    /// distance no point is nearer than, which is above `limit` [m]. Outside its frame nothing is found.
    ///
    /// For where the field's bounds cannot tell: half a microsecond for each node whose ball they cannot exclude.
    pub(super) fn nearest_within(
        &mut self,
        field: &Shape,
        points: &Shape,
        field_from_points: &Pose,
        limit: f64,
    ) -> Within {
        let tree = &*points.tree;
        let mut floor = f64::INFINITY;
        let Some(frame) = super::frame::Frame::new(&field.field, tree, field_from_points) else {
            return Within::Not(floor);
        };
        // Nodes are dropped a little above the limit, so that an advance is not vanishing.
        let (origin, rounding) = (field.field.lattice().origin, f64::from(frame.rounding));
        let drop = limit + 0.1 * limit.abs();
        self.stack.clear();
        if !tree.is_empty() {
            self.stack.push(Open { level: 0, node: 0, bound: 0.0 });
        }
        let mut guess = None;
        while let Some(open) = self.stack.pop() {
            let (l, node) = (open.level as usize, open.node as usize);
            if l == tree.levels() {
                self.stats.points += 1;
                let q = field.exact.closest(field_from_points.point(tree.position(node)), guess);
                guess = Some(q.triangle);
                if q.distance <= limit {
                    return Within::Found(open.node);
                }
                floor = floor.min(q.distance);
                continue;
            }
            self.stats.nodes += 1;
            let (centre, radius) = tree.ball(l, node);
            let local = frame.point(centre - tree.origin);
            let (mut f, mut lower) = ([0.0f32], [0.0f32]);
            field.far.lower_bounds(&field.field, &[local.as_vec3()], &mut f, &mut lower);
            let mut bound = f64::from(lower[0]) - rounding - radius;
            if bound < drop {
                let q = field.exact.closest(origin + local, guess);
                guess = Some(q.triangle);
                bound = q.distance - rounding - radius;
            }
            if bound >= drop {
                floor = floor.min(bound);
                continue;
            }
            let level = &tree.levels[l];
            for child in level.first[node]..level.first[node + 1] {
                self.stack.push(Open { level: open.level + 1, node: child, bound: 0.0 });
            }
        }
        Within::Not(floor)
    }
}

/// What [`Query::nearest_within`] found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Within {
    /// A point.
    Found(u32),
    /// No point is nearer than this [m].
    Not(f64),
}
