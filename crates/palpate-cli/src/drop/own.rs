//! The engine's own small world as a simulation.

use super::simulation::{Simulation, Step};
use super::{Floor, Physics, Scene};
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::mesh::{RepairParams, samples};
use palpate::shape::ShapeParams;
use palpate::world::{BodyId, BodyParams, Kind, Mass, World, WorldParams};
use palpate::{Mesh, Pose, Shape};
use palpate_view::recording::{Mark, State};

/// Side of the slab that stands for a plane, beyond what the bodies start over [sizes of the largest part].
const SIDE: f64 = 7.0;
/// Thickness of that slab [sizes].
const THICK: f64 = 2.0;
/// Spacing of the slab's points [sizes]. Larger: each pushes for more surface than touches it. Smaller: slower.
const SPACING: f64 = 1.0 / 20.0;
/// Voxel of a slab [sizes]: its field is flat, so a coarse one is exact.
const VOXEL: f64 = 1.0 / 8.0;

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
            .add(&shape, &BodyParams { kind: Kind::Static, w_from_b: pose, ..common })
            .context("the ground")?;
        let mut ids = Vec::new();
        for start in &scene.starts {
            let mass = Mass::Density(physics.density);
            let params = BodyParams { w_from_b: start.pose, mass, ..common };
            let added = world.add(&scene.parts[start.part].shape, &params);
            ids.push(added.with_context(|| scene.parts[start.part].title.clone())?);
        }
        Ok(Self { world, ids })
    }
}

/// The ground as a shape, with points as fine as its contacts need.
fn ground(scene: &Scene) -> Result<(Shape, Pose)> {
    let size = scene.size;
    let cuboid = |extent: DVec3| -> Result<Shape> {
        let mesh = Mesh::new(samples::cuboid(extent), &RepairParams::default())?;
        let params = ShapeParams { spacing: Some(SPACING * size), ..ShapeParams::default() };
        Ok(Shape::build(mesh, VOXEL * size, &params)?)
    };
    match &scene.floor {
        Floor::Plane => {
            let side = SIDE * size + 2.0 * scene.width;
            let extent = DVec3::new(side, side, THICK * size);
            Ok((cuboid(extent)?, Pose::from_translation(DVec3::Z * -0.5 * extent.z)))
        }
        Floor::Cuboid(aabb) => Ok((cuboid(aabb.extent())?, Pose::from_translation(aabb.centre()))),
        Floor::Solid { shape, pose, .. } => Ok((shape.clone(), *pose)),
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
