//! What is only shown of two shapes, some ticks apart: where they touch, how deep the hand is, which nodes that question tested.

use crate::stage::Node;
use crate::touch::Mark;
use palpate::math::Pose;
use palpate::query::{Query, QueryParams};
use palpate::shape::Shape;

/// Points this much farther away than the gap that the tool keeps count as touching [voxels].
const TOUCHING: f64 = 0.1;
/// Ticks between looks.
const LOOKS: u32 = 8;
/// Most nodes that are told for a picture.
const MOST_NODES: usize = 4000;

/// The memory of looks.
#[derive(Debug, Default)]
pub(crate) struct Look {
    shown: Query,
    hand: Query,
    ticks: u32,
    /// How deep the hand is inside [m].
    pub(crate) depth: f64,
    /// Nodes that the last look tested.
    pub(crate) visited: usize,
    /// Where the tool was then.
    tool: Pose,
}

impl Look {
    /// Keeps the nodes of the next looks, or not.
    pub(crate) fn record(&mut self, on: bool) {
        self.shown.record(on);
    }

    /// Looks, if it is time: the tool, which keeps `gap` metres away from what it touches, and the hand at `target`.
    pub(crate) fn tick(
        &mut self,
        [a, b]: [&Shape; 2],
        tool: &Pose,
        target: &Pose,
        gap: f64,
        marks: &mut Vec<Mark>,
    ) {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks % LOOKS != 1 {
            return;
        }
        let coarsest = a.field().lattice().voxel.max(b.field().lattice().voxel);
        let params = QueryParams { margin: gap + TOUCHING * coarsest, ..Default::default() };
        // Points of both: where one has few, an edge of the other may be what touches.
        self.shown.both(a, b, tool, &params);
        marks.clear();
        for contacts in self.shown.last_both() {
            marks.extend(contacts.list.iter().map(|c| Mark {
                point: contacts.position(c),
                normal: c.normal().as_dvec3(),
                depth: -f64::from(c.distance),
            }));
        }
        (self.visited, self.tool) = (self.shown.stats().nodes, *tool);
        self.hand.both(a, b, target, &QueryParams::default());
        let deepest = self.hand.last_both().into_iter().filter_map(|c| c.deepest());
        self.depth = deepest.map(|c| f64::from(c.depth())).fold(0.0, f64::max);
    }

    /// The nodes of a level that the last look tested, in the world's frame.
    pub(crate) fn nodes(&self, [a, b]: [&Shape; 2], level: usize, out: &mut Vec<Node>) {
        for v in self.shown.visited().iter().filter(|v| v.level == level).take(MOST_NODES) {
            let (shape, pose) = if v.of_a { (a, Pose::IDENTITY) } else { (b, self.tool) };
            let (centre, radius) = shape.tree().ball(v.level, v.node);
            let body = usize::from(!v.of_a);
            out.push(Node { centre: pose.point(centre), radius, colliding: v.near, body });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;
    use palpate::mesh::{Mesh, samples};

    #[test]
    fn the_nodes_of_all_levels_are_those_that_were_counted() {
        let ball = |r| {
            let mesh = Mesh::new(samples::sphere(r, 4), &Default::default()).unwrap();
            Shape::build(mesh, 1e-3, &Default::default()).unwrap()
        };
        let (a, b) = (ball(0.05), ball(0.02));
        let pose = Pose::from_translation(DVec3::Z * 0.0695);
        let (mut look, mut marks, mut nodes) = (Look::default(), Vec::new(), Vec::new());
        look.record(true);
        look.tick([&a, &b], &pose, &pose, 0.0, &mut marks);
        for level in 0..a.tree().levels().max(b.tree().levels()) {
            look.nodes([&a, &b], level, &mut nodes);
        }
        assert!(!marks.is_empty() && look.depth > 2e-4, "{}", look.depth);
        assert_eq!((nodes.len(), look.visited > 32), (look.visited, true));
        // Where they touch nodes collide, on the far side they do not.
        let near = |n: &&Node| (n.centre - DVec3::Z * 0.05).length() < n.radius;
        assert!(nodes.iter().filter(near).all(|n| n.colliding));
        assert!(nodes.iter().any(|n| !n.colliding) && nodes.iter().any(|n| n.body == 0 && n.colliding));
        look.record(false);
        nodes.clear();
        look.nodes([&a, &b], a.tree().start(), &mut nodes);
        assert!(nodes.is_empty());
    }
}
