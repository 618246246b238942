//! Whether two shapes certainly share no point, and how far their surfaces certainly are from each other.
//!
//! Every point of a surface is within the coverage radius of one of its points. So if the points of one shape are farther than
//! that from the other surface, the surfaces do not meet; then only a part wholly inside the other is left, and its points
//! say so.

use super::least::Open;
use super::near::{Near, near};
use super::{Query, Side};
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
    /// 0 if the shapes certainly share no point. Else by how much some point is too near, as far as can be seen: moving B by
    /// less than this makes nothing certain [m].
    ///
    /// Certain up to the sign of the fields, which must be right farther from the surface than their error.
    pub(super) fn uncertain(&mut self, a: &Shape, b: &Shape, a_from_b: &Pose) -> f64 {
        let swapped = finer(a, b);
        let side = Side::new(a, b, a_from_b, swapped);
        let other = Side::new(a, b, a_from_b, !swapped);
        let (field, points) = if swapped { (b, a) } else { (a, b) };
        let (Some(frame), Some(other_frame)) = (&side.frame, &other.frame) else {
            let ((ca, ra), (cb, rb)) = (ball(&a.aabb()), ball(&b.aabb()));
            return (ra + rb - (a_from_b.point(cb) - ca).length()).max(0.0);
        };
        // Farther than its error from the surface a sample has the right sign.
        let error = |side: &Side<'_>, rounding: f32| {
            let r = side.field.report();
            r.error_bound_band + r.lipschitz.max(1.0) * f64::from(rounding)
        };
        let sign = error(&side, frame.rounding);
        let need = points.tree.shell.radius.max(sign) as f32;
        let need = need.next_up().max(f32::MIN_POSITIVE);
        // A point inside, or so near that the other sign is possible: the other way round this excludes parts inside.
        if let Some((_, f)) = self.least(&side, f32::MIN_POSITIVE, f32::NEG_INFINITY) {
            return f64::from(need) - f64::from(f);
        }
        let outside = (error(&other, other_frame.rounding) as f32).next_up();
        if let Some((_, f)) = self.least(&other, outside, f32::NEG_INFINITY) {
            return f64::from(outside) - f64::from(f);
        }
        let mut search = Near {
            frame,
            tree: side.tree,
            tolerance: 0.0,
            share: f32::INFINITY,
            beside: 0.0,
            best: need,
            point: None,
            floor: f32::INFINITY,
            rivals: Near::NO_RIVALS,
            doubtful: None,
            trail: None,
            stats: self.stats,
            stack: &mut self.stack,
        };
        near(side.field, &field.far, &mut search);
        let floor = search.floor;
        self.stats = search.stats;
        if floor >= need { 0.0 } else { f64::from(need - floor).max(f64::from(f32::MIN_POSITIVE)) }
    }

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
