//! Parts that fall: where they start, what they fall on, which engine moves them, and what is kept of it.

mod scene;
mod simulation;
mod tell;

pub(crate) use scene::{Floor, Scene, SceneParams};
pub(crate) use simulation::{Engine, Physics, Simulation, start};
pub(crate) use tell::Told;

use crate::progress::Reporter;
use anyhow::{Context, Result};
use palpate::progress::Progress;
use palpate_view::recording::{Frame, MARKS, Mark, State};
use std::time::Instant;

/// States of bodies a recording keeps at most: steps between are left out of it, not of the simulation. 400,000 are 24 MB of file
/// and about 100 MB of table.
const MAX_STATES: usize = 400_000;

/// What a run gave.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) frames: Vec<Frame>,
    /// Steps done.
    pub(crate) steps: usize,
    /// Steps from one frame to the next.
    pub(crate) every: usize,
    /// Mean time of a step [µs].
    pub(crate) step_us: f64,
    /// Mean time of its narrow phase [µs]; none where the engine does not say.
    pub(crate) narrow_us: Option<f64>,
    /// Deepest penetration of all steps [m].
    pub(crate) deepest: f64,
    /// Bodies that passed through the ground.
    pub(crate) fell_through: Vec<bool>,
    /// Whether Ctrl-C ended it.
    pub(crate) interrupted: bool,
    pub(crate) warnings: Vec<String>,
}

/// Steps a simulation `steps` times at `rate` [Hz] and keeps frames. Ctrl-C ends it early; what was done is kept.
///
/// # Errors
/// When the engine refuses.
pub(crate) fn run(
    simulation: &mut dyn Simulation,
    scene: &Scene,
    steps: usize,
    rate: f64,
    reporter: &Reporter,
) -> Result<Run> {
    let bodies = scene.starts.len();
    let every = steps.saturating_mul(bodies).div_ceil(MAX_STATES).max(1);
    let mut run = Run { every, fell_through: vec![false; bodies], ..Run::default() };
    let mut out = vec![false; bodies];
    let mut marks: Vec<Mark> = Vec::new();
    let (mut narrow, mut measured) = (0.0, false);
    // Of the steps since the last frame.
    let (mut deepest, mut slowest) = (0.0_f64, [0.0_f64; 2]);
    run.frames.push(frame(simulation, 0.0, &mut marks));
    reporter.stage("simulate", steps as u64);
    for step in 1..=steps {
        if reporter.cancelled() {
            run.interrupted = true;
            break;
        }
        let begin = Instant::now();
        let done = simulation.step().with_context(|| format!("step {step}"))?;
        let took = 1e6 * begin.elapsed().as_secs_f64();
        run.steps = step;
        run.step_us += took;
        if let Some(us) = done.narrow_us {
            narrow += us;
            measured = true;
            slowest[0] = slowest[0].max(us);
        }
        slowest[1] = slowest[1].max(took);
        deepest = deepest.max(done.deepest);
        run.deepest = run.deepest.max(done.deepest);
        if done.lost > 0 && run.warnings.is_empty() {
            run.warnings.push(format!(
                "a body's motion was not finite at {} s: the engine stopped it there",
                step as f64 / rate
            ));
        }
        if step % every == 0 || step == steps {
            let mut next = frame(simulation, step as f64 / rate, &mut marks);
            (next.deepest, next.narrow_us, next.step_us) =
                (deepest.max(next.deepest), slowest[0], slowest[1]);
            (deepest, slowest) = (0.0, [0.0; 2]);
            // The engine's figure may be of another moment of the step than its contacts: the page and the answer agree.
            run.deepest = run.deepest.max(next.deepest);
            for (i, state) in next.bodies.iter().enumerate() {
                // Judged once, where a body first is below the ground: one that left it at its edge is not beneath it then.
                if !out[i] && scene.below(i, &state.pose) {
                    out[i] = true;
                    run.fell_through[i] = scene.beneath(i, &state.pose);
                }
            }
            run.frames.push(next);
        }
        reporter.advance(1);
    }
    run.step_us /= run.steps.max(1) as f64;
    run.narrow_us = measured.then(|| narrow / run.steps.max(1) as f64);
    Ok(run)
}

fn frame(simulation: &dyn Simulation, time: f64, marks: &mut Vec<Mark>) -> Frame {
    marks.clear();
    let mut frame = Frame { time, ..Frame::default() };
    simulation.read(&mut frame.bodies, marks);
    frame.kinetic = simulation.kinetic();
    frame.contacts = u32::try_from(marks.len()).unwrap_or(u32::MAX);
    frame.deepest = marks.iter().map(|m| m.depth).fold(0.0, f64::max);
    frame.keep(marks, MARKS);
    // What no file can hold is no place: the body is shown where it last was by whoever reads on.
    for state in &mut frame.bodies {
        if !(state.pose.is_finite() && state.linear.is_finite() && state.angular.is_finite()) {
            *state = State::default();
        }
    }
    frame
}

#[cfg(test)]
mod tests;
