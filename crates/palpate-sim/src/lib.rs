//! One scene, any engine: bodies of palpate's shapes moved by palpate's own world, by Rapier, or by Bullet in a process of its own.
//!
//! World frame, SI units. A [`Scene`] says what there is; [`start`] puts it into an engine; a [`Simulation`] steps it and tells where
//! everything is. [`depth::Referee`] measures penetration the same way for all of them.

mod bullet;
pub mod depth;
mod own;
#[cfg(feature = "rapier")]
mod rapier;
mod scene;

pub use bullet::program as bullet_program;
pub use scene::{Body, Motion, Scene};

use glam::DVec3;
use palpate::manifold::Choice;
use palpate::{Pose, Wrench, world::WorldError};
use thiserror::Error;

/// Who moves the bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// [`palpate::world`]: penalty forces, implicit; impacts do not bounce.
    Own,
    /// Rapier with our contacts.
    Rapier,
    /// Bullet with our contacts, in the program `palpate-bullet`.
    Bullet,
}

impl Engine {
    /// All, in the order they are shown.
    pub const ALL: [Self; 3] = [Self::Own, Self::Rapier, Self::Bullet];

    /// As commands spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Rapier => "rapier",
            Self::Bullet => "bullet",
        }
    }
}

/// How contacts are found, for engines that have a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Steps in a second [Hz].
    pub rate: f64,
    /// Which contacts become points of manifolds; none: what the plug-in finds best.
    pub choice: Option<Choice>,
    /// Ask both shapes of a pair for points.
    pub both: bool,
    /// Rounds of the solver; 0: what the engine, or the plug-in, finds best.
    pub iterations: usize,
    /// Shapes as convex hulls of the engine's own, with mass and inertia of the shapes: what an engine does without us. The own world has
    /// none.
    pub hulls: bool,
    /// What bodies are pressed with besides their weight [N]: contacts that give are stiff enough for it. Bullet's do not give.
    pub load: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { rate: 240.0, choice: None, both: false, iterations: 0, hulls: false, load: 0.0 }
    }
}

/// Where a body is and how it moves, in the world's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Of the shape's frame.
    pub pose: Pose,
    /// Of the centre of mass [m/s].
    pub linear: DVec3,
    /// [rad/s]
    pub angular: DVec3,
}

/// A contact that an engine was given, in the world's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mark {
    /// [m]
    pub point: DVec3,
    /// Unit; the way the later body of the two is pushed.
    pub normal: DVec3,
    /// Positive inside [m].
    pub depth: f64,
    /// The two bodies, as the scene numbers them.
    pub bodies: [usize; 2],
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Time of the whole step [µs].
    pub step_us: f64,
    /// Time of its narrow phase [µs]; none where the engine does not say.
    pub narrow_us: Option<f64>,
    /// Deepest contact the engine was given [m].
    pub deepest: f64,
    /// Bodies whose motion is not finite.
    pub lost: usize,
}

/// A scene in an engine.
pub trait Simulation: Send {
    /// Goes on by one step of the rate it was started with.
    fn step(&mut self) -> Result<Step, SimError>;
    /// Gives a body a wrench at its centre of mass, in the world's frame, for every step until told otherwise; one that is not finite is none.
    /// False where nothing moves the body, or where the engine cannot.
    fn push(&mut self, _body: usize, _wrench: &Wrench) -> bool {
        false
    }
    /// Puts a body at rest at `w_from_b`; false, and nothing changes, where nothing moves the body, the pose is not finite, or the engine cannot.
    fn place(&mut self, _body: usize, _pose: &Pose) -> bool {
        false
    }
    /// The state of a body, as the scene numbers them.
    fn state(&self, body: usize) -> State;
    /// Adds the contacts of the last step that have depth.
    fn marks(&self, marks: &mut Vec<Mark>);
}

/// Why a scene does not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// A body is refused.
    #[error("body {index} ({name}): {reason}")]
    Body {
        /// Its number in the scene.
        index: usize,
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// The engine is not in this program.
    #[error("the engine {0} is not built in")]
    NotBuiltIn(&'static str),
    /// The program `palpate-bullet` is not where it is looked for.
    #[error(
        "palpate-bullet is not built. With CMake and libbullet-dev: cmake -S integrations/bullet -B target/bullet && cmake --build target/bullet; \
         or name it in PALPATE_BULLET"
    )]
    NoBullet,
    /// It ended, or said something else than expected.
    #[error("palpate-bullet: {0}")]
    Bullet(String),
    /// Files for another process could not be written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A shape could not be handed over.
    #[error("{0}")]
    Asset(String),
    /// The own world refuses.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A number of the options is out of its range.
    #[error("rate is {0} Hz; it must be positive and finite")]
    Rate(f64),
    /// The same.
    #[error("load is {0} N; it must be finite, and not negative")]
    Load(f64),
}

/// Puts a scene into an engine.
pub fn start(engine: Engine, scene: &Scene, options: &Options) -> Result<Box<dyn Simulation>, SimError> {
    if !(options.rate > 0.0 && options.rate.is_finite()) {
        return Err(SimError::Rate(options.rate));
    }
    if !(options.load >= 0.0 && options.load.is_finite()) {
        return Err(SimError::Load(options.load));
    }
    scene.check()?;
    match engine {
        Engine::Own => Ok(Box::new(own::Own::new(scene, options)?)),
        #[cfg(feature = "rapier")]
        Engine::Rapier => Ok(Box::new(rapier::Rapier::new(scene, options)?)),
        #[cfg(not(feature = "rapier"))]
        Engine::Rapier => Err(SimError::NotBuiltIn("rapier")),
        Engine::Bullet => Ok(Box::new(bullet::Bullet::new(scene, options)?)),
    }
}
