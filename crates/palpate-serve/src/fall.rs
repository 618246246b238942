//! Parts that fall on a terrain, moved by Rapier with the engine's contacts; one of them can be grabbed.

use crate::stage::{Act, Grip, Now};
use crate::touch::Mark;
use glam::{DQuat, DVec3};
use palpate::math::{Pose, Wrench};
use palpate_sim::{Engine, Options, Scene, Simulation, start};
use std::f64::consts::TAU;

/// Ticks between steps of the engine: 250 steps a second.
const EVERY: u64 = 4;
/// The spring between hand and part swings so often [Hz]; critically damped.
const SPRING: f64 = 4.0;
/// Largest acceleration it gives [m/s²].
const MOST: f64 = 150.0;

/// See the module. The body with this number is the tool.
pub(crate) struct Fall {
    scene: Scene,
    tool: usize,
    mass: f64,
    /// Middle of the tool, in its own frame [m], and how hard it is to turn [kg m²].
    centre: DVec3,
    inertia: f64,
    simulation: Box<dyn Simulation>,
    ticks: u64,
}

impl Fall {
    /// # Errors
    /// What the engine refuses.
    pub(crate) fn new(scene: Scene, tool: usize) -> Result<Self, String> {
        let simulation = begin(&scene)?;
        let (mass, centre, inertia) =
            scene.bodies.get(tool).and_then(palpate_sim::Body::mass).ok_or("the tool has no mass")?;
        let inertia = (inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z) / 3.0;
        Ok(Self { scene, tool, mass, centre, inertia, simulation, ticks: 0 })
    }

    /// What the hand does to the tool, about its centre of mass.
    fn pull(&self, grip: &Grip) -> Wrench {
        if !grip.held || !grip.target.is_finite() {
            return Wrench::ZERO;
        }
        let state = self.simulation.state(self.tool);
        let rate = TAU * SPRING;
        let away = grip.target.point(self.centre) - state.pose.point(self.centre);
        let linear = (rate * rate * away - 2.0 * rate * state.linear).clamp_length_max(MOST);
        let turn = grip.target.rotation * state.pose.rotation.conjugate();
        let turn: DQuat = if turn.w < 0.0 { -turn } else { turn };
        let angular = rate * rate * turn.to_scaled_axis() - 2.0 * rate * state.angular;
        Wrench { force: self.mass * linear, torque: self.inertia * angular.clamp_length_max(3000.0) }
    }
}

fn begin(scene: &Scene) -> Result<Box<dyn Simulation>, String> {
    let options = Options { rate: 1e3 / EVERY as f64, ..Options::default() };
    start(Engine::Rapier, scene, &options).map_err(|e| e.to_string())
}

impl Act for Fall {
    fn step(&mut self, grip: &Grip, now: &mut Now) {
        self.ticks += 1;
        if self.ticks % EVERY != 1 {
            return;
        }
        let pull = self.pull(grip);
        self.simulation.push(self.tool, &pull);
        if let Ok(step) = self.simulation.step() {
            now.micros = step.narrow_us.unwrap_or(step.step_us);
        }
        now.bodies = (0..self.scene.bodies.len()).map(|i| self.simulation.state(i).pose).collect();
        now.bodies.iter_mut().filter(|p| !p.is_finite()).for_each(|p| *p = Pose::IDENTITY);
        let mut marks = Vec::new();
        self.simulation.marks(&mut marks);
        now.marks.clear();
        now.marks.extend(marks.iter().map(|m| Mark { point: m.point, normal: m.normal, depth: m.depth }));
        now.centre = now.bodies.get(self.tool).map_or(DVec3::ZERO, |p| p.point(self.centre));
        // What the hand feels is the opposite of what it does.
        now.wrench = Wrench { force: -pull.force, torque: -pull.torque };
        now.depth = marks.iter().map(|m| m.depth).fold(0.0, f64::max);
    }

    fn reset(&mut self) {
        if let Ok(simulation) = begin(&self.scene) {
            self.simulation = simulation;
        }
    }
}
