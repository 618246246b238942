//! A world of Rapier with one thing on a ground, with Rapier's own shapes or with ours.

use glam::{DMat3, DVec3};
use palpate_rapier::{PalpateDispatcher, tuned};
use rapier3d::dynamics::CoefficientCombineRule;
use rapier3d::parry::mass_properties::MassProperties;
use rapier3d::prelude::*;

/// What a world is made with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Along −z [m/s²].
    pub(super) gravity: f64,
    /// [Hz]
    pub(super) rate: f64,
    /// Largest side of what moves [m].
    pub(super) size: f64,
    /// Rapier's defaults, which pass over pairs that hardly moved, instead of what our plug-in advises. Both know the size.
    pub(super) defaults: bool,
}

/// A body that moves.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    pub(super) shape: SharedShape,
    pub(super) pose: Pose,
    /// [kg]
    pub(super) mass: f64,
    /// About the origin of the shape, which is its centre of mass [kg m²].
    pub(super) inertia: DMat3,
    /// Friction and restitution [1].
    pub(super) surface: (f64, f64),
}

/// A world with a timed narrow phase. Nothing in it sleeps.
pub(super) struct Ground {
    pub(super) world: PhysicsWorld,
}

impl Ground {
    /// With a ground that bounces whatever the other does: restitutions are multiplied, as in Bullet. The dispatcher keeps what it built.
    pub(super) fn new(
        settings: &Settings,
        dispatcher: &PalpateDispatcher,
        ground: &(SharedShape, Pose),
    ) -> Self {
        let mut world = PhysicsWorld::new();
        world.narrow_phase = NarrowPhase::with_query_dispatcher(dispatcher.chained());
        world.gravity = Vector::Z * -settings.gravity as f32;
        let plain = world.integration_parameters;
        let ours = tuned(plain, settings.size as f32);
        world.integration_parameters = if settings.defaults {
            let normalized_max_linear_velocity = ours.normalized_max_linear_velocity;
            IntegrationParameters { length_unit: ours.length_unit, normalized_max_linear_velocity, ..plain }
        } else {
            ours
        };
        world.integration_parameters.dt = (1.0 / settings.rate) as f32;
        world.physics_pipeline.counters.enable();
        let fixed = RigidBodyBuilder::fixed().pose(ground.1);
        let rule = CoefficientCombineRule::Multiply;
        let collider = ColliderBuilder::new(ground.0.clone()).friction(0.5);
        world.insert(fixed, collider.restitution(1.0).restitution_combine_rule(rule));
        Self { world }
    }

    pub(super) fn add(&mut self, thing: &Thing) -> RigidBodyHandle {
        let body = RigidBodyBuilder::dynamic().pose(thing.pose).can_sleep(false);
        let mass =
            MassProperties::with_inertia_matrix(Vector::ZERO, thing.mass as f32, thing.inertia.as_mat3());
        let collider = ColliderBuilder::new(thing.shape.clone())
            .mass_properties(mass)
            .friction(thing.surface.0 as f32)
            .restitution(thing.surface.1 as f32);
        self.world.insert(body, collider).0
    }

    /// One step; time of its narrow phase [µs].
    pub(super) fn step(&mut self) -> f64 {
        self.world.step();
        1e3 * self.world.physics_pipeline.counters.cd.narrow_phase_time.time_ms()
    }

    /// Pose and velocities [m/s, rad/s]; none for a body that is not there.
    pub(super) fn state(&self, body: RigidBodyHandle) -> Option<(Pose, DVec3, DVec3)> {
        let b = self.world.bodies.get(body)?;
        Some((*b.position(), b.linvel().as_dvec3(), b.angvel().as_dvec3()))
    }
}

/// Everything below z = 0.
pub(super) fn plane() -> (SharedShape, Pose) {
    (SharedShape::halfspace(Vector::Z), Pose::IDENTITY)
}
