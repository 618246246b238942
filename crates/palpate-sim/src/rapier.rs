//! Rapier with palpate's contacts.

use crate::{Body, Mark, Options, Scene, SimError, Simulation, State, Step};
use glam::DQuat;
use palpate::field::analytic::Analytic;
use palpate::manifold::Collider;
use palpate::{Pose, Wrench};
use palpate_rapier::{ContactOptions, PalpateDispatcher, PalpateShape, mass_properties, tuned};
use rapier3d::geometry::{ColliderBuilder, ColliderHandle, NarrowPhase, SharedShape};
use rapier3d::math::{Pose as Place, Vector};
use rapier3d::pipeline::PhysicsWorld;
use rapier3d::prelude::{RigidBody, RigidBodyBuilder, RigidBodyHandle};
use std::time::Instant;

/// Most that contacts are made stiffer [1]: beyond it they are rigid within a step, and single precision ends.
const STIFFEST: f64 = 1e6;

pub(crate) struct Rapier {
    world: PhysicsWorld,
    handles: Vec<(RigidBodyHandle, ColliderHandle)>,
}

fn place(pose: &Pose) -> Place {
    Place::from_parts(pose.translation.as_vec3(), pose.rotation.as_quat())
}

fn wide(place: &Place) -> Pose {
    let q = place.rotation;
    Pose::new(DQuat::from_xyzw(q.x.into(), q.y.into(), q.z.into(), q.w.into()), place.translation.as_dvec3())
}

/// A solid of ours as one of Rapier's, and its place in the body's frame.
fn solid(solid: &Analytic) -> Option<(SharedShape, Pose)> {
    Some(match solid {
        Analytic::HalfSpace { normal, offset, .. } => {
            (SharedShape::halfspace(normal.as_vec3()), Pose::from_translation(*normal * *offset))
        }
        Analytic::Box { centre, half_extents, .. } => {
            let h = half_extents.as_vec3();
            (SharedShape::cuboid(h.x, h.y, h.z), Pose::from_translation(*centre))
        }
        Analytic::Sphere { centre, radius, .. } => {
            (SharedShape::ball(*radius as f32), Pose::from_translation(*centre))
        }
        Analytic::Capsule { a, b, radius, .. } => {
            (SharedShape::capsule(a.as_vec3(), b.as_vec3(), *radius as f32), Pose::IDENTITY)
        }
        Analytic::Transform { rotation, translation, shape, .. } => {
            let (shape, pose) = self::solid(shape)?;
            (shape, Pose { rotation: *rotation, translation: *translation } * pose)
        }
        _ => return None,
    })
}

/// How many times stiffer contacts are than Rapier makes them, in which the lightest body sinks under a load [N] as under its weight [1].
fn stiffer(scene: &Scene, load: f64) -> f64 {
    let masses = scene.bodies.iter().filter_map(|b| Some(b.mass()?.0));
    (load / (9.81 * masses.fold(f64::INFINITY, f64::min))).clamp(1.0, STIFFEST)
}

impl Rapier {
    pub(crate) fn new(scene: &Scene, options: &Options) -> Result<Self, SimError> {
        let mut world = PhysicsWorld::new();
        let dispatcher = PalpateDispatcher::new();
        world.narrow_phase = NarrowPhase::with_query_dispatcher(dispatcher.chained());
        world.gravity = scene.gravity.as_vec3();
        world.integration_parameters = tuned(world.integration_parameters, scene.size() as f32);
        let parameters = &mut world.integration_parameters;
        parameters.dt = (1.0 / options.rate) as f32;
        for softness in [&mut parameters.contact_softness, &mut parameters.static_contact_softness] {
            softness.natural_frequency *= stiffer(scene, options.load).sqrt() as f32;
        }
        if options.iterations > 0 {
            world.integration_parameters.num_solver_iterations = options.iterations;
        }
        world.physics_pipeline.counters.enable();
        let mut contact = ContactOptions { both: options.both, ..ContactOptions::default() };
        contact.choice = options.choice.unwrap_or(contact.choice);
        let mut handles = Vec::new();
        for (index, b) in scene.bodies.iter().enumerate() {
            let refuse =
                |reason: &str| SimError::Body { index, name: b.name.clone(), reason: reason.to_owned() };
            let (shape, inside): (SharedShape, Pose) = match &b.collider {
                Collider::Shape(shape) if options.hulls => {
                    let points: Vec<Vector> = shape.mesh().positions().iter().map(|p| p.as_vec3()).collect();
                    let hull = SharedShape::convex_hull(&points).ok_or_else(|| refuse("it has no hull"))?;
                    (hull, Pose::IDENTITY)
                }
                Collider::Shape(shape) => {
                    (PalpateShape::new(shape.clone()).with_options(contact).into(), Pose::IDENTITY)
                }
                Collider::Solid(s) => solid(s).ok_or_else(|| refuse("this solid has no twin in Rapier"))?,
            };
            handles.push(world.insert(body(b), collider(b, shape, &inside)));
        }
        Ok(Self { world, handles })
    }

    /// A body that forces move.
    fn moving(&mut self, body: usize) -> Option<&mut RigidBody> {
        let handle = self.handles.get(body)?.0;
        self.world.bodies.get_mut(handle).filter(|b| b.is_dynamic())
    }
}

fn body(b: &Body) -> RigidBodyBuilder {
    let builder = if b.mass().is_some() { RigidBodyBuilder::dynamic() } else { RigidBodyBuilder::fixed() };
    builder.pose(place(&b.pose)).linvel(b.linear.as_vec3()).angvel(b.angular.as_vec3()).can_sleep(false)
}

fn collider(b: &Body, shape: SharedShape, inside: &Pose) -> ColliderBuilder {
    let builder = ColliderBuilder::new(shape)
        .position(place(inside))
        .friction(b.friction as f32)
        .restitution(b.restitution as f32);
    match b.mass() {
        None => builder,
        Some((mass, centre, inertia)) => builder.mass_properties(mass_properties(mass, centre, inertia)),
    }
}

impl Simulation for Rapier {
    fn step(&mut self) -> Result<Step, SimError> {
        let begin = Instant::now();
        self.world.step();
        let step_us = 1e6 * begin.elapsed().as_secs_f64();
        let narrow = self.world.physics_pipeline.counters.cd.narrow_phase_time.time_ms();
        let mut step = Step { step_us, narrow_us: Some(1e3 * narrow), ..Step::default() };
        for pair in self.world.narrow_phase.contact_pairs() {
            for point in pair.manifolds().iter().flat_map(|m| &m.points) {
                step.deepest = step.deepest.max(f64::from(-point.dist));
            }
        }
        step.lost = (0..self.handles.len()).filter(|i| !self.state(*i).pose.is_finite()).count();
        Ok(step)
    }

    fn push(&mut self, body: usize, wrench: &Wrench) -> bool {
        let Some(b) = self.moving(body) else { return false };
        b.reset_forces(true);
        b.reset_torques(true);
        if wrench.force.is_finite() && wrench.torque.is_finite() {
            b.add_force(wrench.force.as_vec3(), true);
            b.add_torque(wrench.torque.as_vec3(), true);
        }
        true
    }

    fn place(&mut self, body: usize, pose: &Pose) -> bool {
        let Some(b) = self.moving(body).filter(|_| pose.is_finite()) else { return false };
        b.set_position(place(pose), true);
        b.set_linvel(Vector::ZERO, true);
        b.set_angvel(Vector::ZERO, true);
        true
    }

    fn state(&self, body: usize) -> State {
        let Some(b) = self.handles.get(body).and_then(|h| self.world.bodies.get(h.0)) else {
            return State::default();
        };
        State { pose: wide(b.position()), linear: b.linvel().as_dvec3(), angular: b.angvel().as_dvec3() }
    }

    fn marks(&self, marks: &mut Vec<Mark>) {
        let number = |c: ColliderHandle| self.handles.iter().position(|h| h.1 == c);
        for pair in self.world.narrow_phase.contact_pairs() {
            let (Some(i), Some(j)) = (number(pair.collider1), number(pair.collider2)) else { continue };
            let Some(first) = self.world.colliders.get(pair.collider1) else { continue };
            let at = first.position();
            for manifold in pair.manifolds() {
                let normal = at.rotation * manifold.local_n1;
                for point in manifold.points.iter().filter(|p| p.dist < 0.0) {
                    let on_first: Vector = at.transform_point(point.local_p1);
                    let sign = if i < j { 1.0 } else { -1.0 };
                    marks.push(Mark {
                        point: on_first.as_dvec3(),
                        normal: normal.as_dvec3() * sign,
                        depth: f64::from(-point.dist),
                        bodies: [i.min(j), i.max(j)],
                    });
                }
            }
        }
    }
}
