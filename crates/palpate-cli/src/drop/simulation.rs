//! What every engine must do for `palpate drop`.

use super::Scene;
use super::own::Own;
use anyhow::{Result, bail};
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
        match self {
            Self::Own => "own",
            Self::Rapier => "rapier",
            Self::Bullet => "bullet",
        }
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
    /// Goes on by `dt` seconds.
    ///
    /// # Errors
    /// When the engine refuses.
    fn step(&mut self, dt: f64) -> Result<Step>;

    /// Adds the state of every body, in the scene's order, and every contact that touches.
    fn read(&self, states: &mut Vec<State>, marks: &mut Vec<Mark>);

    /// Energy of motion of all bodies [J].
    fn kinetic(&self) -> f64;
}

/// Puts a scene into an engine.
///
/// # Errors
/// When the engine is not part of this program, or refuses the scene.
pub(crate) fn start(engine: Engine, scene: &Scene, physics: &Physics) -> Result<Box<dyn Simulation>> {
    match engine {
        Engine::Own => Ok(Box::new(Own::new(scene, physics)?)),
        Engine::Rapier | Engine::Bullet => {
            bail!("the engine {} is not built in; use --engine own", engine.name())
        }
    }
}
