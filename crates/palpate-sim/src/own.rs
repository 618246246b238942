//! Palpate's own world.

use crate::{Mark, Motion, Options, Scene, SimError, Simulation, State, Step};
use palpate::world::{BodyId, BodyParams, Kind, Mass, World, WorldParams};
use std::time::Instant;

pub(crate) struct Own {
    world: World,
    ids: Vec<BodyId>,
    dt: f64,
}

impl Own {
    pub(crate) fn new(scene: &Scene, options: &Options) -> Result<Self, SimError> {
        let mut params = WorldParams { gravity: scene.gravity, both: options.both, ..WorldParams::default() };
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
