//! Parts that fall on a terrain, moved by Rapier with the engine's contacts; one of them can be grabbed.

use crate::stage::{Act, Grip, Now};
use crate::touch::Mark;
use glam::DVec3;
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};
use palpate_haptic::{BodyTool, Gains, Tool};
use palpate_sim::{Engine, Options, Scene};
use std::f64::consts::TAU;

/// Ticks between steps of the engine: 250 steps a second.
const EVERY: f64 = 4.0;
/// Of a tick [s].
const TICK: f64 = 1e-3;
/// The spring between hand and part swings so often [Hz]: a soft one, as what is grabbed is dragged, not felt.
const SPRING: f64 = 4.0;

/// See the module. The body with this number is the tool.
pub(crate) struct Fall {
    scene: Scene,
    number: usize,
    tool: BodyTool,
    gains: Gains,
    /// Of the tool [N].
    weight: DVec3,
}

impl Fall {
    /// # Errors
    /// What the engine refuses.
    pub(crate) fn new(scene: Scene, number: usize) -> Result<Self, String> {
        let tool = begin(&scene, number)?;
        let (mass, _, inertia) =
            scene.bodies.get(number).and_then(palpate_sim::Body::mass).ok_or("the tool has no mass")?;
        let inertia = (inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z) / 3.0;
        // The tool damps itself as much as that needs.
        let k = (TAU * SPRING).powi(2);
        let gains = Gains {
            stiffness: k * mass,
            angular_stiffness: k * inertia,
            damping: 0.0,
            angular_damping: 0.0,
            contact: k * mass,
        };
        let weight = mass * scene.gravity;
        Ok(Self { scene, number, tool, gains, weight })
    }
}

fn begin(scene: &Scene, number: usize) -> Result<BodyTool, String> {
    let options = Options { rate: 1.0 / (EVERY * TICK), ..Options::default() };
    BodyTool::new(Engine::Rapier, scene, number, 0.0, &options).map_err(|e| e.to_string())
}

impl Act for Fall {
    fn step(&mut self, grip: &Grip, now: &mut Now) {
        let held = grip.held && grip.target.is_finite();
        let felt = if held {
            self.tool.tick(&grip.target, &Twist::ZERO, &self.gains, TICK)
        } else {
            self.tool.let_go(TICK)
        };
        let (centre, tool) = (self.tool.centre(), self.number);
        now.bodies.resize(self.scene.bodies.len(), Pose::IDENTITY);
        now.bodies[tool] = felt.pose;
        now.centre = felt.pose.point(centre);
        // About the tool's middle; its weight hangs on the hand, and does not stretch the spring.
        now.wrench = Wrench::ZERO;
        if held && !felt.non_finite {
            now.wrench = felt.wrench.about(grip.target.vector(centre));
            now.wrench.force += self.weight;
        }
        if felt.steps == 0 {
            return;
        }
        now.micros = self.tool.micros();
        for (i, pose) in now.bodies.iter_mut().enumerate().filter(|(i, _)| *i != tool) {
            let at = self.tool.state(i).pose;
            *pose = if at.is_finite() { at } else { Pose::IDENTITY };
        }
        now.marks.clear();
        now.marks.extend(self.tool.marks().iter().map(|m| Mark {
            point: m.point,
            normal: m.normal,
            depth: m.depth,
        }));
        now.depth = self.tool.marks().iter().map(|m| m.depth).fold(0.0, f64::max);
    }

    fn reset(&mut self) {
        if let Ok(tool) = begin(&self.scene, self.number) {
            self.tool = tool;
        }
    }
}
