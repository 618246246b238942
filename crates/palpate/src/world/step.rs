//! One step of a world.
//!
//! Velocities v at its end satisfy M (v − v*) = h f(v), where v* is without contacts and f the forces of contacts at the end of the
//! step. Newton's method: in each round the contacts that push, and those that slide, are taken anew.

use super::narrow::{Asked, Found, Narrow};
use super::pair::{Pair, Sought, closing, reach};
use super::solve::{Block, Six};
use super::{Body, BodyId, World, WorldError};
use crate::par;
use glam::{DMat3, DVec3};

/// Rounds end when no body's velocity changes by more than this share of what gravity does in a step [1].
const SETTLED: f64 = 1e-4;
/// Square of the linear solver's residual over the first, in rounds after which contacts begin and end anyway, and in the last, which
/// momentum is kept by [1].
const ROUGH: f64 = 1e-6;
const EXACT: f64 = 1e-18;
/// Rounds are solved exactly when the last one changed velocities by less than this many times that [1].
const CALM: f64 = 30.0;
/// Fewer pairs than this are not worth a second thread.
const FEW: usize = 4;

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Near pairs, at the end.
    pub pairs: usize,
    /// Points that were inside another body when the last part of the step began.
    pub contacts: usize,
    /// The deepest of those of the whole step [m].
    pub deepest: f64,
    /// Energy of motion, at the end [J].
    pub kinetic: f64,
    /// Energy of height, 0 at the world's origin [J].
    pub potential: f64,
    /// Parts the step was divided into.
    pub substeps: usize,
    /// Rounds of Newton's method in all.
    pub rounds: usize,
    /// Iterations of the linear solver in all.
    pub iterations: usize,
    /// Velocity that the most unbalanced body still lacks at the end of any part [m/s]: how far it is from converged.
    pub unsettled: f64,
    /// Bodies whose motion overflowed: they were stopped where they were.
    pub non_finite: usize,
}

impl World {
    /// Moves everything by `dt` seconds.
    ///
    /// First order in contact; free bodies fly exactly under gravity and conserve energy and momentum when they spin. Pairs run in
    /// parallel on the current rayon pool, with the same bits for any number of threads. Allocates only for more bodies, near pairs or
    /// contacts than there were before. Refuses a time that is not positive and finite.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, WorldError> {
        self.run(dt, None)
    }

    /// [`World::step`] with contacts that somebody else finds, those of all near pairs of a part at once.
    ///
    /// Where that fails, bodies are where they were, with the velocities they had; what sticks may have moved on by the parts before. Allocates
    /// a list of the pairs for each part besides what `step` does.
    pub fn step_with(&mut self, dt: f64, narrow: &mut dyn Narrow) -> Result<StepReport, WorldError> {
        self.before.clear();
        self.before.extend(self.slots.iter().map(|(_, b)| b.as_ref().map(|b| (b.state, b.held))));
        let told = self.run(dt, Some(narrow));
        if told.is_err() {
            for ((_, body), before) in self.slots.iter_mut().zip(&self.before) {
                if let (Some(body), Some((state, held))) = (body, before) {
                    (body.state, body.held) = (*state, *held);
                }
            }
        }
        told
    }

    fn run(&mut self, dt: f64, mut narrow: Option<&mut dyn Narrow>) -> Result<StepReport, WorldError> {
        if !(dt > 0.0 && dt.is_finite()) {
            return Err(WorldError::Parameter { name: "dt", value: dt });
        }
        self.find_pairs(dt);
        let mut parts = 1.0_f64;
        for pair in &self.pairs {
            if let Some(near) = bodies(&self.slots, pair.key) {
                let way = dt * closing(near, near.map(|b| [b.state.linear, b.state.angular]));
                parts = parts.max(way / reach(near));
            }
        }
        let parts = (parts.ceil() as usize).clamp(1, self.params.max_substeps.max(1));
        let mut report = StepReport { substeps: parts, ..Default::default() };
        for part in 0..parts {
            if part > 0 {
                self.find_pairs(dt / parts as f64);
            }
            let (h, end) = (dt / parts as f64, dt * (part + 1) as f64 / parts as f64);
            let asked = narrow.as_mut().map(|n| &mut **n as &mut dyn Narrow);
            self.substep(h, end, asked, &mut report)?;
        }
        report.pairs = self.pairs.len();
        for (_, body) in self.bodies().filter(|(_, b)| b.is_dynamic()) {
            report.kinetic += body.kinetic();
            report.potential -= body.mass * self.params.gravity.dot(body.centre());
        }
        Ok(report)
    }

    /// Near pairs, in order, with the memory of those that were near before.
    fn find_pairs(&mut self, dt: f64) {
        let (slots, fall) = (&self.slots, self.params.pull() * dt * dt);
        let boxes = slots.iter().map(|(_, b)| Some(b.as_ref()?.bounds(dt).padded(fall)));
        self.broad.sweep(boxes, |i, j| {
            bodies(slots, (i as u32, j as u32)).is_some_and(|[a, b]| {
                let meet = a.state.groups & b.state.meets != 0 && b.state.groups & a.state.meets != 0;
                meet && (a.is_dynamic() || b.is_dynamic())
            })
        });
        core::mem::swap(&mut self.pairs, &mut self.last);
        let mut last = self.last.drain(..).peekable();
        for &key in &self.broad.near {
            while let Some(parted) = last.next_if(|p| p.key < key) {
                self.spare.push(parted);
            }
            let pair = last.next_if(|p| p.key == key).unwrap_or_else(|| {
                let mut pair = self.spare.pop().unwrap_or_default();
                pair.reset(key);
                pair
            });
            self.pairs.push(pair);
        }
        self.spare.extend(last);
    }

    /// A part of `h` seconds that ends at `end`.
    fn substep(
        &mut self,
        h: f64,
        end: f64,
        narrow: Option<&mut dyn Narrow>,
        report: &mut StepReport,
    ) -> Result<(), WorldError> {
        let params = self.params;
        let (slots, solver) = (&mut self.slots, &mut self.solver);
        // Velocities without contacts.
        solver.mass.clear();
        solver.per_mass.clear();
        solver.free.clear();
        solver.aim.clear();
        solver.v.clear();
        for (_, body) in slots.iter() {
            let (mut mass, mut per_mass, mut v) = (Block::ZERO, Block::ZERO, [DVec3::ZERO; 2]);
            let mut free = v;
            if let Some(body) = body {
                v = [body.state.linear, body.state.angular];
                free = v;
                if body.is_dynamic() {
                    let inertia = body.inertia();
                    mass = Block {
                        ll: DMat3::from_diagonal(DVec3::splat(body.mass)),
                        la: DMat3::ZERO,
                        aa: inertia,
                    };
                    free[0] += (params.gravity + body.push.force / body.mass) * h;
                    per_mass = mass.inverse();
                    free[1] += per_mass.aa * body.push.torque * h;
                    free = [0, 1].map(|k| free[k] / (1.0 + h * body.state.drag[k]));
                }
            }
            solver.mass.push(mass);
            solver.per_mass.push(per_mass);
            // Where contacts held it in the last step they do so in this one, or nearly.
            solver.aim.push(if body.as_ref().is_some_and(|b| b.held) { v } else { free });
            solver.free.push(free);
            solver.v.push(v);
        }
        let (free, aim) = (&solver.free, &solver.aim);
        let of = |v: &[Six], key: (u32, u32)| [v[key.0 as usize], v[key.1 as usize]];
        let alone = narrow.is_none();
        for_pairs(&mut self.pairs, |pair| {
            if let Some(near) = bodies(slots, pair.key) {
                pair.seek(near, of(aim, pair.key), of(free, pair.key), h, &params);
                if alone {
                    pair.find(near, params.both);
                }
            }
        });
        if let Some(narrow) = narrow {
            ask(narrow, end, slots, &mut self.pairs, &mut self.found, params.both)?;
        }
        for_pairs(&mut self.pairs, |pair| {
            if let Some(near) = bodies(slots, pair.key) {
                pair.take(near, of(aim, pair.key), h, &params);
            }
        });
        report.contacts = self.pairs.iter().map(|p| p.touching).sum();
        report.deepest = self.pairs.iter().map(|p| p.deepest).fold(report.deepest, f64::max);

        // Rounds, from the velocities before: bodies at rest stay there.
        let (goal, mut rest) = (SETTLED * params.pull() * h, 0.0);
        let (most, mut exact) = (params.max_rounds.max(1), solver.calm);
        solver.lacking(&mut self.pairs, h);
        for round in 1..=most {
            exact |= round == most;
            let tolerance = if exact { EXACT } else { ROUGH };
            report.iterations += solver.solve(tolerance, params.max_iterations.max(1));
            solver.go(&mut self.pairs, h);
            let radius = |i: usize| slots[i].1.as_ref().map_or(0.0, |b: &Body| b.radius);
            rest = solver.unbalanced(radius);
            (report.rounds, solver.calm) = (report.rounds + 1, round <= 2);
            if exact && rest <= goal {
                break;
            }
            exact = rest <= CALM * goal;
        }
        report.unsettled = report.unsettled.max(rest);
        let v = &solver.v;
        for_pairs(&mut self.pairs, |pair| pair.keep(pair.link.relative(v), h));

        // A body that nothing touches falls in a parabola: half a step's gravity less.
        solver.x.clear();
        solver.x.resize(slots.len(), [DVec3::ZERO; 2]);
        for pair in self.pairs.iter().filter(|p| p.wrench != crate::math::Wrench::ZERO) {
            for i in [pair.key.0, pair.key.1] {
                solver.x[i as usize][0] = DVec3::ONE;
            }
        }
        for (i, (_, body)) in slots.iter_mut().enumerate() {
            let Some(body) = body else { continue };
            let [linear, angular]: Six = solver.v[i];
            body.held = solver.x[i][0] != DVec3::ZERO;
            let way = if body.held { linear } else { 0.5 * (linear + body.state.linear) } * h;
            (body.state.linear, body.state.angular) = (linear, angular);
            if body.state.kind != super::Kind::Static {
                report.non_finite += usize::from(!body.advance(h, way));
            }
        }
        Ok(())
    }
}

/// Has somebody else find the contacts of all pairs.
fn ask(
    narrow: &mut dyn Narrow,
    end: f64,
    slots: &[(u32, Option<Body>)],
    pairs: &mut [Box<Pair>],
    found: &mut Vec<Found>,
    both: bool,
) -> Result<(), WorldError> {
    if pairs.is_empty() {
        return Ok(());
    }
    let id = |index: u32| BodyId { index, generation: slots[index as usize].0 };
    let asked: Vec<Asked<'_>> = pairs
        .iter()
        .filter_map(|pair| {
            let [a, b] = bodies(slots, pair.key)?;
            let Sought { a_from_b, margin, .. } = pair.sought;
            let (bodies, colliders) = ([id(pair.key.0), id(pair.key.1)], [&a.collider, &b.collider]);
            Some(Asked { bodies, colliders, a_from_b, margin, both })
        })
        .collect();
    found.resize_with(found.len().max(asked.len()), Found::default);
    let told = narrow.find(end, &asked, &mut found[..asked.len()]);
    told.map_err(|e| WorldError::Narrow(e.to_string()))?;
    // Every near pair has its bodies, so there is one answer for each.
    pairs.iter_mut().zip(found).for_each(|(pair, found)| pair.hear(found));
    Ok(())
}

pub(super) fn for_pairs(pairs: &mut [Box<Pair>], f: impl Fn(&mut Pair) + Sync + Send) {
    if pairs.len() < FEW {
        pairs.iter_mut().for_each(|p| f(p));
    } else {
        par::chunks_mut(pairs, 1, |_, p| p.iter_mut().for_each(|p| f(p)));
    }
}

/// The bodies of two places.
fn bodies(slots: &[(u32, Option<Body>)], (a, b): (u32, u32)) -> Option<[&Body; 2]> {
    Some([slots[a as usize].1.as_ref()?, slots[b as usize].1.as_ref()?])
}
