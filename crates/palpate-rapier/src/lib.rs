//! Detailed shapes of palpate as colliders of the Rapier physics engine.
//!
//! A [`PalpateShape`] is a shape for Rapier's colliders; a [`PalpateDispatcher`], chained before Parry's own, finds its contacts with
//! others of its kind and with every shape of Parry. Sensors, collision groups, continuous collision detection, rays and
//! shape casts work as with Rapier's shapes.
//!
//! ```
//! use palpate::mesh::{Mesh, samples};
//! use palpate_rapier::{PalpateDispatcher, PalpateShape, tuned};
//! use rapier3d::prelude::*;
//!
//! let gear = Mesh::new(samples::gear(12, 4e-3, 1e-2, 1), &Default::default())?;
//! let gear = PalpateShape::new(palpate::Shape::build(gear, 1e-3, &Default::default())?);
//!
//! let mut world = PhysicsWorld::new();
//! world.narrow_phase = NarrowPhase::with_query_dispatcher(PalpateDispatcher::new().chained());
//! world.integration_parameters = tuned(world.integration_parameters, 0.05);
//! world.insert(RigidBodyBuilder::fixed(), ColliderBuilder::cuboid(0.5, 0.1, 0.5));
//! let (body, _) = world.insert(
//!     RigidBodyBuilder::dynamic().translation(Vector::Y * 0.15),
//!     ColliderBuilder::new(gear.into()).density(7800.0),
//! );
//! for _ in 0..120 {
//!     world.step();
//! }
//! assert!(world.bodies[body].translation().y > 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod cast;
mod convert;
mod dispatcher;
mod error;
mod gap;
mod manifolds;
mod parts;
pub mod scene;
mod settings;
mod shape;
mod surface;

pub use cache::{MeshOptions, PrepareError};
pub use convert::mass_properties;
pub use dispatcher::{Chained, PalpateDispatcher};
pub use error::{PalpError, SceneError};
pub use settings::tuned;
pub use shape::{ContactOptions, MANIFOLDS, PalpateShape};
