//! Two rigid shapes: one is the tool.

use crate::look::Look;
use crate::source::{Led, Opener};
use crate::stage::{Act, Feel, Grip, Node, Now};
use crate::touch::Touch;
use glam::DVec3;
use palpate::math::{Pose, Wrench};
use std::sync::Arc;
use std::time::Instant;

/// Two shapes; body 0 is touched, body 1 is the tool.
pub(crate) struct Pair {
    touch: Touch,
    look: Look,
    centre: DVec3,
    due: Option<Instant>,
    nodes: bool,
    led: bool,
}

impl Pair {
    pub(crate) fn new(touch: Touch) -> Self {
        let centre = touch.shapes()[1].aabb().centre();
        Self { touch, look: Look::default(), centre, due: None, nodes: false, led: false }
    }
}

impl Act for Pair {
    fn step(&mut self, grip: &Grip, now: &mut Now) {
        let told = self.touch.step(&grip.target, self.due.take().unwrap_or_else(Instant::now));
        self.look.tick(self.touch.shapes(), &told.tool, &told.target, told.gap, &mut now.marks);
        now.bodies.resize(2, Pose::IDENTITY);
        (now.bodies[1], now.target) = (told.tool, told.target);
        now.centre = told.tool.point(self.centre);
        // A tool that only lags behind a fast hand in the open feels nothing; one that is stuck has no wall that gives way, and does. Of a
        // device what it is given is shown.
        let felt = self.led || told.touching || !now.marks.is_empty();
        now.wrench = if felt { told.wrench } else { Wrench::ZERO };
        now.depth = self.look.depth;
        now.micros = told.micros;
        now.visited = self.look.visited;
    }

    fn reset(&mut self) {
        self.touch.reset();
    }

    fn lend(&mut self, opener: &Arc<dyn Opener>) -> bool {
        self.touch.lend(opener.clone());
        self.led = true;
        true
    }

    fn is_held(&self) -> bool {
        self.touch.is_held()
    }

    fn prepare(&mut self, due: Instant, feel: &Feel, nodes: bool) {
        self.due = Some(due);
        self.touch.feel(*feel);
        if self.nodes != nodes {
            self.nodes = nodes;
            self.look.record(nodes);
        }
    }

    fn leave(&mut self, due: Instant) -> bool {
        self.touch.leave(due)
    }

    fn tell(&self, now: &mut Now) {
        (now.rig, now.led) = self.touch.state();
        if matches!(now.led, Led::Opening | Led::Lost(_)) {
            now.micros = 0.0;
        }
    }

    fn nodes(&self, level: usize, out: &mut Vec<Node>) {
        self.look.nodes(self.touch.shapes(), level, out);
    }
}
