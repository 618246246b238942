//! Two rigid shapes: one is the tool.

use crate::stage::{Act, Grip, Node, Now};
use crate::touch::Touch;
use glam::DVec3;
use palpate::math::Pose;
use palpate::query::Roles;

/// Most nodes that are told for a picture.
const MOST_NODES: usize = 4000;

/// Two shapes; body 0 is touched, body 1 is the tool.
#[derive(Debug)]
pub(crate) struct Pair {
    touch: Touch,
    centre: DVec3,
}

impl Pair {
    pub(crate) fn new(touch: Touch) -> Self {
        let centre = touch.shape().aabb().centre();
        Self { touch, centre }
    }
}

impl Act for Pair {
    fn step(&mut self, grip: &Grip, now: &mut Now) {
        let told = self.touch.step(&grip.target, &mut now.marks);
        now.bodies.resize(2, Pose::IDENTITY);
        now.bodies[1] = told.tool;
        now.centre = told.tool.point(self.centre);
        now.wrench = told.wrench;
        now.depth = told.depth;
        now.micros = told.micros;
        now.visited = told.visited;
    }

    fn reset(&mut self) {
        self.touch.reset();
    }

    fn nodes(&self, now: &Now, level: usize, out: &mut Vec<Node>) {
        let (a, b) = (self.touch.touched(), self.touch.shape());
        let Some(a_from_b) = now.bodies.get(1) else { return };
        // As the query has it: the shape with fewer points gives them.
        let (field, tree, field_from_tree, world_from_tree) = if Roles::Fewer.swapped(a, b) {
            (b.field(), a.tree(), a_from_b.inverse(), Pose::IDENTITY)
        } else {
            (a.field(), b.tree(), *a_from_b, *a_from_b)
        };
        let Some(last) = tree.levels().checked_sub(1) else { return };
        let reaches = |level: usize, node: usize| {
            let (centre, radius) = tree.ball(level, node);
            field.sample(field_from_tree.point(centre)).distance <= radius
        };
        // Nodes of a level have their points in order, so children are those whose points lie within.
        let mut open = vec![0];
        for l in 0..=level.min(last) {
            let told = l == level.min(last);
            let mut inside = Vec::new();
            for node in open {
                let colliding = reaches(l, node);
                if told && out.len() < MOST_NODES {
                    let (centre, radius) = tree.ball(l, node);
                    out.push(Node { centre: world_from_tree.point(centre), radius, colliding });
                }
                if colliding && !told {
                    inside.push(tree.points_of(l, node));
                }
            }
            open = Vec::new();
            if !told {
                let mut at = 0;
                for range in inside {
                    while at < tree.nodes(l + 1) && tree.points_of(l + 1, at).start < range.start {
                        at += 1;
                    }
                    while at < tree.nodes(l + 1) && tree.points_of(l + 1, at).start < range.end {
                        open.push(at);
                        at += 1;
                    }
                }
            }
        }
    }
}
