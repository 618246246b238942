//! Palpate's own world.

use crate::{Mark, Motion, Options, Scene, SimError, Simulation, State, Step};
use glam::DVec3;
use palpate::world::{BodyId, BodyParams, Kind, Mass, World, WorldParams};
use palpate::{Pose, Wrench};
use std::time::Instant;

pub(crate) struct Own {
    world: World,
    ids: Vec<BodyId>,
    dt: f64,
}

impl Own {
    pub(crate) fn new(scene: &Scene, options: &Options) -> Result<Self, SimError> {
        let mut params = WorldParams {
            gravity: scene.gravity,
            both: options.both,
            load: options.load,
            ..WorldParams::default()
        };
        if options.iterations > 0 {
            params.max_rounds = options.iterations;
        }
        let mut world = World::new(&params)?;
        let mut ids = Vec::new();
        for (index, b) in scene.bodies.iter().enumerate() {
            let refuse = |reason: String| SimError::Body { index, name: b.name.clone(), reason };
            if options.hulls {
                return Err(refuse("the engine own has no hulls".into()));
            }
            if b.restitution != 0.0 {
                return Err(refuse("the engine own does not bounce: restitution must be 0".into()));
            }
            let (kind, mass) = match b.mass() {
                None => (Kind::Static, Mass::Density(1000.0)),
                Some((mass, centre, inertia)) => (Kind::Dynamic, Mass::Given { mass, centre, inertia }),
            };
            let body = BodyParams {
                kind,
                mass,
                w_from_b: b.pose,
                linear: b.linear,
                angular: b.angular,
                friction: b.friction,
                ..BodyParams::default()
            };
            debug_assert_eq!(kind == Kind::Static, b.motion == Motion::Static);
            ids.push(world.add(b.collider.clone(), &body).map_err(|e| refuse(e.to_string()))?);
        }
        Ok(Self { world, ids, dt: 1.0 / options.rate })
    }

    /// A body that forces move, and how it is.
    fn moving(&self, body: usize) -> Option<(BodyId, BodyParams)> {
        let id = *self.ids.get(body)?;
        let state = *self.world.body(id)?.state();
        (state.kind == Kind::Dynamic).then_some((id, state))
    }
}

impl Simulation for Own {
    fn step(&mut self) -> Result<Step, SimError> {
        let begin = Instant::now();
        let report = self.world.step(self.dt)?;
        Ok(Step {
            step_us: 1e6 * begin.elapsed().as_secs_f64(),
            narrow_us: None,
            deepest: report.deepest,
            lost: report.non_finite,
        })
    }

    fn push(&mut self, body: usize, wrench: &Wrench) -> bool {
        let Some((id, _)) = self.moving(body) else { return false };
        let finite = wrench.force.is_finite() && wrench.torque.is_finite();
        self.world.push(id, if finite { wrench } else { &Wrench::ZERO }).is_ok()
    }

    fn place(&mut self, body: usize, pose: &Pose) -> bool {
        let Some((id, state)) = self.moving(body) else { return false };
        let rest = BodyParams { w_from_b: *pose, linear: DVec3::ZERO, angular: DVec3::ZERO, ..state };
        self.world.set(id, &rest).is_ok()
    }

    fn state(&self, body: usize) -> State {
        let state = self.ids.get(body).and_then(|id| self.world.body(*id)).map(|b| *b.state());
        state.map_or_else(State::default, |s| State {
            pose: s.w_from_b,
            linear: s.linear,
            angular: s.angular,
        })
    }

    fn marks(&self, marks: &mut Vec<Mark>) {
        for touch in self.world.touches() {
            let place = |id: BodyId| self.ids.iter().position(|i| *i == id).unwrap_or(usize::MAX);
            let bodies = [place(touch.a), place(touch.b)];
            for contacts in touch.contacts {
                marks.extend(contacts.list.iter().filter(|c| c.distance < 0.0).map(|c| Mark {
                    point: touch.w_from_a.point(contacts.position(c)),
                    normal: touch.w_from_a.vector(c.normal().as_dvec3()),
                    depth: f64::from(c.depth()),
                    bodies,
                }));
            }
        }
    }
}
