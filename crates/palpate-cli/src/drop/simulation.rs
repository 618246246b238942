//! A scene in the engine that moves it.

use super::{Floor, Scene};
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::Pose;
use palpate::field::analytic::Analytic;
use palpate::manifold::Collider;
use palpate_sim::{Body, Motion, Options, Scene as World, SimError, Simulation as Engines};
use palpate_view::recording::{Mark, State};

/// Which engine moves the bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// The small world of this engine itself
    Own,
    /// Rapier with this engine's contacts
    Rapier,
    /// Bullet with this engine's contacts
    Bullet,
}

impl Engine {
    pub(crate) fn name(self) -> &'static str {
        self.sim().name()
    }

    /// As simulations know it.
    pub(crate) fn sim(self) -> palpate_sim::Engine {
        match self {
            Self::Own => palpate_sim::Engine::Own,
            Self::Rapier => palpate_sim::Engine::Rapier,
            Self::Bullet => palpate_sim::Engine::Bullet,
        }
    }

    /// Whether it can run here at all, before anything is built.
    pub(crate) fn check(self) -> Result<()> {
        if self == Self::Bullet && palpate_sim::bullet_program().is_none() {
            bail!(SimError::NoBullet);
        }
        if self == Self::Rapier && !cfg!(feature = "engines") {
            bail!(SimError::NotBuiltIn(self.name()));
        }
        Ok(())
    }
}

/// What bodies are made of and what pulls them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Physics {
    /// Downward, along -z [m/s²].
    pub(crate) gravity: f64,
    /// Coulomb coefficient of every pair [1].
    pub(crate) friction: f64,
    /// Share of the speed that an impact gives back [1].
    pub(crate) restitution: f64,
    /// [kg/m³]
    pub(crate) density: f64,
    /// Steps in a second [Hz].
    pub(crate) rate: f64,
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// Time of the narrow phase [µs]; none where the engine does not say.
    pub(crate) narrow_us: Option<f64>,
    /// Deepest penetration in it [m].
    pub(crate) deepest: f64,
    /// Bodies whose motion was not finite.
    pub(crate) lost: usize,
}

/// A scene in an engine, ready to step. World frame, z up, metres.
pub(crate) trait Simulation: Send {
    /// Goes on by one step.
    ///
    /// # Errors
    /// When the engine refuses.
    fn step(&mut self) -> Result<Step>;

    /// Adds the state of every body, in the scene's order, and every contact that touches.
    fn read(&self, states: &mut Vec<State>, marks: &mut Vec<Mark>);

    /// Energy of motion of all bodies [J].
    fn kinetic(&self) -> f64;
}

/// An engine and what it does not say.
struct Running {
    engine: Box<dyn Engines>,
    world: World,
}

/// Puts a scene into an engine. The ground is its first body.
///
/// # Errors
/// When the engine is not part of this program, or refuses the scene.
pub(crate) fn start(engine: Engine, scene: &Scene, physics: &Physics) -> Result<Box<dyn Simulation>> {
    engine.check()?;
    if engine == Engine::Own && physics.restitution != 0.0 {
        bail!("the engine own does not bounce: --restitution {} needs another engine", physics.restitution);
    }
    let mut world = World { gravity: DVec3::new(0.0, 0.0, -physics.gravity), ..World::default() };
    let (friction, restitution) = (physics.friction, physics.restitution);
    let (collider, pose) = ground(scene)?;
    // Engines multiply restitutions, or take the mean: the ground's is 1 or the same.
    let of_ground = if engine == Engine::Bullet { 1.0 } else { restitution };
    let base = Body::new("ground", collider, Motion::Static, pose);
    world.add(Body { friction, restitution: of_ground, ..base });
    for (start, name) in scene.starts.iter().zip(&scene.names) {
        let shape = scene.parts[start.part].shape.clone();
        let body = Body::new(name, shape, Motion::Density(physics.density), start.pose);
        world.add(Body { friction, restitution, ..body });
    }
    let options = Options { rate: physics.rate, both: engine == Engine::Own, ..Options::default() };
    let engine = palpate_sim::start(engine.sim(), &world, &options).context("the scene")?;
    Ok(Box::new(Running { engine, world }))
}

/// The ground: plane and box by formula, another as the shape it is.
fn ground(scene: &Scene) -> Result<(Collider, Pose)> {
    match &scene.floor {
        Floor::Plane => Ok((Analytic::half_space(DVec3::Z, 0.0)?.into(), Pose::IDENTITY)),
        Floor::Cuboid(aabb) => {
            let solid = Analytic::cuboid(aabb.centre(), 0.5 * aabb.extent())?;
            Ok((solid.into(), Pose::IDENTITY))
        }
        Floor::Solid { shape, pose, .. } => Ok((shape.clone().into(), *pose)),
    }
}

impl Simulation for Running {
    fn step(&mut self) -> Result<Step> {
        let step = self.engine.step()?;
        Ok(Step { narrow_us: step.narrow_us, deepest: step.deepest, lost: step.lost })
    }

    fn read(&self, states: &mut Vec<State>, marks: &mut Vec<Mark>) {
        let first = states.len();
        for i in 1..self.world.bodies.len() {
            let s = self.engine.state(i);
            let state = State { pose: s.pose, linear: s.linear, angular: s.angular, ..State::default() };
            states.push(state);
        }
        let mut found = Vec::new();
        self.engine.marks(&mut found);
        for m in found {
            for body in m.bodies.into_iter().filter_map(|b| b.checked_sub(1)) {
                if let Some(state) = states.get_mut(first + body) {
                    state.contacts += 1;
                    state.deepest = state.deepest.max(m.depth);
                }
            }
            marks.push(Mark { point: m.point, normal: m.normal, depth: m.depth });
        }
    }

    fn kinetic(&self) -> f64 {
        let of = |(i, b): (usize, &Body)| {
            let (mass, _, inertia) = b.mass()?;
            let s = self.engine.state(i);
            let spin = s.pose.rotation.inverse() * s.angular;
            Some(0.5 * (mass * s.linear.length_squared() + spin.dot(inertia * spin)))
        };
        self.world.bodies.iter().enumerate().filter_map(of).sum()
    }
}
