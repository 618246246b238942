//! What the tool is: free, or a body of an engine.

use crate::drop::Engine;
use anyhow::{Context, Result};
use glam::DVec3;
use palpate::Pose;
use palpate_haptic::{BodyTool, Pair};
use palpate_sim::{Body, Motion, Options, Scene};

/// What the tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Bodies {
    /// Nothing but a shape on a spring
    Free,
    /// A body of the small world of this engine itself
    Own,
    /// A body of Rapier
    Rapier,
    /// A body of Bullet
    Bullet,
}

/// What a body is made of, and how it is moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stuff {
    /// [kg/m³]
    pub(crate) density: f64,
    /// Coulomb coefficient of both shapes [1].
    pub(crate) friction: f64,
    /// Steps in a second [Hz].
    pub(crate) rate: f64,
    /// What the device gives at most [N].
    pub(crate) force: f64,
}

impl Bodies {
    fn engine(self) -> Option<Engine> {
        match self {
            Self::Free => None,
            Self::Own => Some(Engine::Own),
            Self::Rapier => Some(Engine::Rapier),
            Self::Bullet => Some(Engine::Bullet),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.engine().map_or("free", Engine::name)
    }

    /// Whether it can be had here, before anything is built.
    pub(crate) fn check(self) -> Result<()> {
        self.engine().map_or(Ok(()), Engine::check)
    }

    /// The tool of a pair as a body at `start`, above the other one, which stands still; none: it is free. Its weight is carried, so that there is
    /// no gravity.
    ///
    /// # Errors
    /// When the engine refuses.
    pub(crate) fn tool(self, pair: &Pair, start: Pose, stuff: &Stuff) -> Result<Option<BodyTool>> {
        let Some(engine) = self.engine() else { return Ok(None) };
        let friction = stuff.friction;
        let mut scene = Scene { gravity: DVec3::ZERO, ..Scene::default() };
        let fixed = Body::new("A", (**pair.fixed()).clone(), Motion::Static, Pose::IDENTITY);
        scene.add(Body { friction, ..fixed });
        let tool = Body::new("B", (**pair.tool()).clone(), Motion::Density(stuff.density), start);
        let tool = scene.add(Body { friction, ..tool });
        let options = Options { rate: stuff.rate, both: true, ..Options::default() };
        let tool = BodyTool::new(engine.sim(), &scene, tool, stuff.force, &options);
        tool.map(Some).with_context(|| format!("the engine {}", engine.name()))
    }
}
