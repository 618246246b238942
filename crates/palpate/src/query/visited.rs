//! Which nodes a query looked at: kept on request, for pictures and for those who tune trees.

use super::Query;

/// A node of a tree whose ball a query tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visited {
    /// Whether it is of A's tree; else of B's.
    pub of_a: bool,
    /// Of the tree, 0 being the root. Walks begin with [`crate::tree::Tree::start`].
    pub level: usize,
    /// Its number in the level.
    pub node: usize,
    /// Whether its ball may reach below the margin, so that what is below it was looked at: its children; its points on the last
    /// level, or where it is inside as a whole.
    pub near: bool,
}

impl Query {
    /// From now on keeps, or not, which nodes [`Query::contacts`], [`Query::both`] and [`Query::both_again`] test. Kept, a query takes longer
    /// and may allocate; not kept, which is usual, it costs nothing.
    pub fn record(&mut self, on: bool) {
        self.records = on;
        self.visited.clear();
    }

    /// The nodes that the last of those queries tested, as many as [`Query::stats`] counts: those of A's tree first, level by level. Empty
    /// unless [`Query::record`] was asked for.
    pub fn visited(&self) -> &[Visited] {
        &self.visited
    }

    /// What is kept of the first of two directions, before the second is asked.
    pub(super) fn keep_visited(&mut self) -> Vec<Visited> {
        core::mem::take(&mut self.visited)
    }

    /// Puts it before that of the second.
    pub(super) fn join_visited(&mut self, mut first: Vec<Visited>) {
        if !first.is_empty() {
            first.append(&mut self.visited);
            self.visited = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Pose;
    use crate::mesh::{Mesh, RepairParams, samples};
    use crate::query::{QueryParams, Roles};
    use crate::shape::Shape;
    use glam::{DQuat, DVec3};
    use std::collections::HashSet;

    fn knot_and_ball() -> (Shape, Shape) {
        let build = |raw, voxel| {
            Shape::build(Mesh::new(raw, &RepairParams::default()).unwrap(), voxel, &Default::default())
        };
        let knot = build(samples::torus_knot(2, 3, 1.0, 0.4, 0.2, 160, 16), 0.03).unwrap();
        (knot, build(samples::bumpy_sphere(0.7, 0.05, 8, 5, 1), 0.02).unwrap())
    }

    fn poses() -> impl Iterator<Item = Pose> {
        (0..40).map(|i| {
            let t = f64::from(i);
            let turn = DQuat::from_scaled_axis(DVec3::new(0.3, 1.0, -0.4) * (0.7 * t));
            Pose::new(turn, DVec3::new((1.3 * t).sin(), (0.9 * t).cos(), 0.4) * (0.3 + 0.04 * t))
        })
    }

    /// What was recorded is what was counted, and what is below a node was looked at exactly if the node is near.
    #[test]
    fn the_nodes_that_are_kept_are_those_that_were_tested() {
        let (a, b) = knot_and_ball();
        let (mut query, mut plain) = (Query::new(), Query::new());
        query.record(true);
        let (mut near, mut far, mut between) = (0, 0, 0);
        for pose in poses() {
            for (roles, margin) in [(Roles::PointsOfB, 0.0), (Roles::PointsOfA, 0.03)] {
                let params = QueryParams { margin, roles };
                let found = query.contacts(&a, &b, &pose, &params).list.clone();
                assert_eq!(found, plain.contacts(&a, &b, &pose, &params).list);
                assert_eq!((query.stats(), query.visited().len()), (plain.stats(), plain.stats().nodes));
                assert!(plain.visited().is_empty());
                let of_a = roles == Roles::PointsOfA;
                let tree = if of_a { a.tree() } else { b.tree() };
                let (shape, pose) = if of_a { (&b, pose.inverse()) } else { (&a, pose) };
                let all: HashSet<(usize, usize)> =
                    query.visited().iter().map(|v| (v.level, v.node)).collect();
                assert_eq!(all.len(), query.visited().len(), "none twice");
                for v in query.visited() {
                    assert_eq!(v.of_a, of_a);
                    // A referee of its own: the field at the ball's centre. It changes by no more than the way, and a field's steepness is near 1.
                    let (centre, radius) = tree.ball(v.level, v.node);
                    let distance = shape.field().sample(pose.point(centre)).distance;
                    assert!(v.near || distance > radius + margin, "{v:?}: {distance} {radius}");
                    if v.near {
                        near += 1
                    } else {
                        far += 1
                    }
                    if v.level + 1 == tree.levels() {
                        continue;
                    }
                    let points = tree.points_of(v.level, v.node);
                    let below = (0..tree.nodes(v.level + 1))
                        .filter(|n| points.contains(&tree.points_of(v.level + 1, *n).start));
                    let (looked, not): (Vec<usize>, Vec<usize>) =
                        below.partition(|n| all.contains(&(v.level + 1, *n)));
                    if v.near && distance > -0.5 * radius {
                        assert!(not.is_empty(), "{v:?}: children {not:?} were not looked at");
                    } else if !v.near && !looked.is_empty() {
                        // Fewer than fill a vector, between children of others: they are tested in vain.
                        between += 1;
                        assert!(looked.len() <= 4, "{v:?}: {looked:?}");
                    }
                }
                // No contact is below a node that is not near.
                for v in query.visited().iter().filter(|v| !v.near) {
                    let points = tree.points_of(v.level, v.node);
                    assert!(!found.iter().any(|c| points.contains(&(c.id as usize))), "{v:?}");
                }
            }
        }
        assert!(near > 1000 && far > 1000 && between < far / 10, "{near} near, {far} far, {between} between");
    }

    #[test]
    fn both_directions_are_kept_and_a_question_without_a_walk_keeps_none() {
        let (a, b) = knot_and_ball();
        let mut query = Query::new();
        query.record(true);
        let pose = Pose::from_translation(DVec3::new(1.0, 0.2, 0.3));
        query.both(&a, &b, &pose, &QueryParams::default());
        let (of_a, of_b): (Vec<Visited>, Vec<Visited>) = query.visited().iter().partition(|v| v.of_a);
        assert_eq!(of_a.len() + of_b.len(), query.stats().nodes);
        assert!(of_a.len() > 16 && of_b.len() > 16, "{} {}", of_a.len(), of_b.len());
        assert!(query.visited()[..of_a.len()].iter().all(|v| v.of_a));
        assert_eq!(of_a[0].level, a.tree().start());
        // A moment later only points that were near are tested.
        for walks in [true, true, false] {
            query.both_again(&a, &b, &pose, 0.01, 0.02);
            assert_eq!(query.visited().len(), query.stats().nodes);
            assert!(walks || query.visited().is_empty());
        }
        query.both(&a, &b, &pose, &QueryParams::default());
        query.record(false);
        assert!(query.visited().is_empty());
        query.both(&a, &b, &pose, &QueryParams::default());
        assert!(query.visited().is_empty() && query.stats().nodes > 0);
    }
}
