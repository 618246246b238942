//! The engine's own small world as a simulation.

use super::simulation::{Simulation, Step};
use super::{Floor, Physics, Scene};
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::Pose;
use palpate::field::analytic::Analytic;
use palpate::manifold::Collider;
use palpate::world::{BodyId, BodyParams, Kind, Mass, World, WorldParams};
use palpate_view::recording::{Mark, State};

#[derive(Debug)]
pub(super) struct Own {
    world: World,
    ids: Vec<BodyId>,
}

impl Own {
    pub(super) fn new(scene: &Scene, physics: &Physics) -> Result<Self> {
        if physics.restitution != 0.0 {
            bail!(
                "the engine own does not bounce: --restitution {} needs another engine",
                physics.restitution
            );
        }
        let gravity = DVec3::new(0.0, 0.0, -physics.gravity);
        let mut world = World::new(&WorldParams { gravity, ..WorldParams::default() })?;
        let common = BodyParams { friction: physics.friction, ..BodyParams::default() };
        let (shape, pose) = ground(scene)?;
        world
            .add(shape, &BodyParams { kind: Kind::Static, w_from_b: pose, ..common })
            .context("the ground")?;
        let mut ids = Vec::new();
        for start in &scene.starts {
            let mass = Mass::Density(physics.density);
            let params = BodyParams { w_from_b: start.pose, mass, ..common };
            let added = world.add(scene.parts[start.part].shape.clone(), &params);
            ids.push(added.with_context(|| scene.parts[start.part].title.clone())?);
        }
        Ok(Self { world, ids })
    }
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

impl Simulation for Own {
    fn step(&mut self, dt: f64) -> Result<Step> {
        let report = self.world.step(dt)?;
        // The engine has no clock: it cannot say what its narrow phase took.
        Ok(Step { narrow_us: None, deepest: report.deepest, lost: report.non_finite })
    }

    fn read(&self, states: &mut Vec<State>, marks: &mut Vec<Mark>) {
        let first = states.len();
        for id in &self.ids {
            let state = self.world.body(*id).map(|b| b.state());
            let of = |s: &BodyParams| State {
                pose: s.w_from_b,
                linear: s.linear,
                angular: s.angular,
                ..State::default()
            };
            states.push(state.map_or_else(State::default, of));
        }
        for touch in self.world.touches() {
            let ends = [touch.a, touch.b].map(|id| self.ids.iter().position(|i| *i == id));
            for contacts in touch.contacts {
                for contact in contacts.list.iter().filter(|c| c.distance < 0.0) {
                    let depth = f64::from(contact.depth());
                    let point = touch.w_from_a.point(contacts.position(contact));
                    let normal = touch.w_from_a.vector(contact.normal().as_dvec3());
                    marks.push(Mark { point, normal, depth });
                    for end in ends.into_iter().flatten() {
                        let state = &mut states[first + end];
                        state.contacts += 1;
                        state.deepest = state.deepest.max(depth);
                    }
                }
            }
        }
    }

    fn kinetic(&self) -> f64 {
        self.world.bodies().map(|(_, b)| b.kinetic()).sum()
    }
}
