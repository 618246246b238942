//! A small world of rigid bodies that meet: penalty forces, no joints.
//!
//! Each step solves for velocities and contact forces that suit each other at its end (implicit Euler), over all bodies at once. Stiff
//! contacts neither ring nor explode, at any rate from about 60 Hz up, and impacts do not bounce. World frame, SI units.
//!
//! ```
//! use glam::DVec3;
//! use palpate::field::analytic::Analytic;
//! use palpate::mesh::{Mesh, RepairParams, samples};
//! use palpate::world::{BodyParams, Kind, World, WorldParams};
//! use palpate::{Pose, Shape};
//!
//! let ground = Analytic::half_space(DVec3::Z, 0.0)?;
//! let ball = Mesh::new(samples::sphere(0.02, 4), &RepairParams::default())?;
//! let ball = Shape::build(ball, 1e-3, &Default::default())?;
//!
//! let mut world = World::new(&WorldParams::default())?;
//! world.add(ground, &BodyParams { kind: Kind::Static, ..Default::default() })?;
//! let w_from_b = Pose::from_translation(DVec3::Z * 0.05);
//! let id = world.add(ball, &BodyParams { w_from_b, ..Default::default() })?;
//! for _ in 0..240 {
//!     world.step(1.0 / 240.0)?;
//! }
//! // It lies on the ground, sunk by 0.002 of its radius, and some more between its points, which are 2 mm apart.
//! let z = world.body(id).ok_or("it is there")?.centre().z;
//! assert!((z - 0.0199).abs() < 1e-4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
mod broad;
mod narrow;
mod pair;
mod solve;
mod step;

pub use body::{Body, BodyParams, Kind, Mass};
pub use narrow::{Asked, CpuNarrow, Found, Narrow, NarrowError};
pub use step::StepReport;

use crate::contact::Contacts;
use crate::manifold::Collider;
use crate::math::{Pose, Wrench};
use broad::Broad;
use glam::DVec3;
use pair::Pair;
use solve::Solver;
use thiserror::Error;

/// What holds for all bodies of a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldParams {
    /// Acceleration of everything [m/s²].
    pub gravity: DVec3,
    /// How deep a ball lies in a plane under its own weight, over its radius [1]. The stiffness of a pair follows: m g / (π s² r³), of
    /// the heavier mass m and the smaller size r (half of the cubic root of the box's volume; dynamic bodies only), with 9.81 m/s² for
    /// g where there is no gravity. Flat faces then sink by s² of their height or so, a cube's corner by 1.5 s^⅔ of its size.
    pub sink: f64,
    /// What bodies are pressed with besides their weight [N]: a pair whose weight m g is less is as stiff as one that weighs so much.
    pub load: f64,
    /// Stiffness of all pairs instead [N/m³].
    pub stiffness: Option<f64>,
    /// Damping of a ball that lies in a plane as above, over the critical one [1]. Flat faces are damped more.
    pub damping: f64,
    /// Contacts do not push bodies apart faster than this, however deep they are [m/s].
    pub separation: f64,
    /// Points of both bodies of a pair, each with half of its force; else those of the one with fewer, in half of the time, which can miss
    /// a corner of the other between them.
    pub both: bool,
    /// A step is divided so that no body moves farther against another than 0.3 of the radius of the largest ball inside either, at
    /// most into this many. Faster ones still stop at what they would reach in a part: contacts are found that far ahead, with the
    /// surface taken as plane from there on, so that they may stop at what they would just have passed.
    pub max_substeps: usize,
    /// Most rounds of a step, in each of which contacts may begin, end, stick and slide.
    pub max_rounds: usize,
    /// Most iterations of the linear solver in a round.
    pub max_iterations: usize,
}

impl Default for WorldParams {
    fn default() -> Self {
        Self {
            gravity: DVec3::new(0.0, 0.0, -9.81),
            sink: 2e-3,
            load: 0.0,
            stiffness: None,
            damping: 1.0,
            separation: 1.0,
            both: true,
            max_substeps: 8,
            max_rounds: 10,
            max_iterations: 200,
        }
    }
}

impl WorldParams {
    /// Whether every value is finite and positive; `load` and `damping` may be 0, and `separation` infinite.
    pub fn check(&self) -> Result<(), WorldError> {
        let values = [
            ("gravity", 1.0 + self.gravity.length()),
            ("sink", self.sink),
            ("load", if self.load == 0.0 { 1.0 } else { self.load }),
            ("stiffness", self.stiffness.unwrap_or(1.0)),
            ("damping", if self.damping == 0.0 { 1.0 } else { self.damping }),
            ("separation", if self.separation == f64::INFINITY { 1.0 } else { self.separation }),
        ];
        match values.into_iter().find(|(_, v)| !(*v > 0.0 && v.is_finite())) {
            Some((name, value)) => Err(WorldError::Parameter { name, value }),
            None => Ok(()),
        }
    }

    /// Gravity, or what stands for it where there is none [m/s²].
    fn pull(&self) -> f64 {
        let g = self.gravity.length();
        if g > 0.0 { g } else { 9.81 }
    }
}

/// Why something is refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum WorldError {
    /// A number is out of its range.
    #[error("{name} is {value}; it must be finite and in its range")]
    Parameter {
        /// Which.
        name: &'static str,
        /// Its value, or its length.
        value: f64,
    },
    /// A dynamic body has no mass, or an inertia that no body has.
    #[error(
        "mass is {mass} kg; mass and inertia must be positive, finite and symmetric: close the mesh, or give them"
    )]
    Mass {
        /// The mass [kg].
        mass: f64,
    },
    /// The shape has no extent.
    #[error("the shape is empty")]
    Empty,
    /// The body was removed.
    #[error("there is no body {0:?}")]
    NoBody(BodyId),
    /// Whoever was asked for contacts did not find them.
    #[error("contacts were not found: {0}")]
    Narrow(String),
}

/// Names a body for as long as it is in its world; no other body has it later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BodyId {
    index: u32,
    generation: u32,
}

/// What two near bodies do to each other; see [`World::touches`].
#[derive(Clone, Copy, Debug)]
pub struct Touch<'a> {
    /// The first body.
    pub a: BodyId,
    /// The second.
    pub b: BodyId,
    /// Where A is likely to be at the end of the step, or on the way there: where contacts are sought.
    pub w_from_a: Pose,
    /// In A's frame there: of bodies that fall deeper than they are in the end. Those of the first direction and of the second, which is empty unless [`WorldParams::both`] and both are shapes; also such that are near only.
    pub contacts: [&'a Contacts; 2],
    /// On B, about its centre of mass, world axes, at the end of the step.
    pub wrench: Wrench,
}

/// Bodies and what is between them.
///
/// A step takes the current rayon pool for its pairs; its result does not depend on the number of threads.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "pairs are large, and change lists in every step")]
pub struct World {
    params: WorldParams,
    slots: Vec<(u32, Option<Body>)>,
    broad: Broad,
    /// Near pairs, sorted; memory for them, and for such that are no longer near.
    pairs: Vec<Box<Pair>>,
    last: Vec<Box<Pair>>,
    spare: Vec<Box<Pair>>,
    solver: Solver,
    /// Memory of steps with somebody else's contacts: what was found, and bodies as they were.
    found: Vec<Found>,
    before: Vec<Option<(BodyParams, bool)>>,
}

impl World {
    /// A world without bodies.
    pub fn new(params: &WorldParams) -> Result<Self, WorldError> {
        params.check()?;
        Ok(Self { params: *params, ..Self::default() })
    }

    /// Its parameters.
    pub fn params(&self) -> &WorldParams {
        &self.params
    }

    /// Adds a body: a shape, whose clones share memory, or a solid by formula, for example a half-space as ground. Two solids do not
    /// meet; a dynamic one needs its mass given.
    pub fn add(&mut self, collider: impl Into<Collider>, params: &BodyParams) -> Result<BodyId, WorldError> {
        let body = Body::new(collider.into(), params)?;
        let index = self.slots.iter().position(|s| s.1.is_none()).unwrap_or(self.slots.len());
        if index == self.slots.len() {
            self.slots.push((0, None));
        }
        self.slots[index].1 = Some(body);
        Ok(BodyId { index: index as u32, generation: self.slots[index].0 })
    }

    /// Takes a body out; none if it is not there.
    pub fn remove(&mut self, id: BodyId) -> Option<Body> {
        self.body(id)?;
        let slot = &mut self.slots[id.index as usize];
        slot.0 = slot.0.wrapping_add(1);
        self.pairs.retain(|p| p.key.0 != id.index && p.key.1 != id.index);
        slot.1.take()
    }

    /// A body; none if it was removed.
    pub fn body(&self, id: BodyId) -> Option<&Body> {
        let (generation, body) = self.slots.get(id.index as usize)?;
        body.as_ref().filter(|_| *generation == id.generation)
    }

    /// All bodies, in a fixed order.
    pub fn bodies(&self) -> impl Iterator<Item = (BodyId, &Body)> {
        let named = self.slots.iter().enumerate();
        named.filter_map(|(i, (g, b))| Some((BodyId { index: i as u32, generation: *g }, b.as_ref()?)))
    }

    /// Sets pose, velocities, friction, drag and groups; kind and mass stay. A body that jumps forgets where it stuck.
    pub fn set(&mut self, id: BodyId, state: &BodyParams) -> Result<(), WorldError> {
        let body = self.body_mut(id)?;
        let (kind, mass) = (body.state.kind, body.state.mass);
        let state = BodyParams { kind, mass, ..*state }.checked()?;
        let jumps = body.state.w_from_b != state.w_from_b;
        body.state = state;
        let met = |p: &&mut Box<Pair>| p.key.0 == id.index || p.key.1 == id.index;
        self.pairs.iter_mut().filter(met).filter(|_| jumps).for_each(|p| p.reset(p.key));
        Ok(())
    }

    /// Sets what pushes a body besides gravity and contacts, from now on: world frame, about the centre of mass.
    pub fn push(&mut self, id: BodyId, wrench: &Wrench) -> Result<(), WorldError> {
        let value = wrench.force.length() + wrench.torque.length();
        if !value.is_finite() {
            return Err(WorldError::Parameter { name: "wrench", value });
        }
        self.body_mut(id)?.push = *wrench;
        Ok(())
    }

    fn body_mut(&mut self, id: BodyId) -> Result<&mut Body, WorldError> {
        self.body(id).ok_or(WorldError::NoBody(id))?;
        self.slots[id.index as usize].1.as_mut().ok_or(WorldError::NoBody(id))
    }

    /// Near bodies and their contacts in the last part of the last step, in a fixed order.
    pub fn touches(&self) -> impl Iterator<Item = Touch<'_>> {
        let id = |i: u32| BodyId { index: i, generation: self.slots[i as usize].0 };
        self.pairs.iter().map(move |p| Touch {
            a: id(p.key.0),
            b: id(p.key.1),
            w_from_a: p.w_from_a,
            contacts: p.contacts(),
            wrench: p.wrench,
        })
    }
}
