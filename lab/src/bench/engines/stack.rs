//! Stacks of balls (2014 paper, 4.1): how long they stand, of our shapes and of the engines' own.

use super::ball::{RADIUS, RATE, SPACINGS};
use super::ball_rapier::{ball, settings, thing};
use super::rapier::{Ground, plane};
use super::{Found, Lab, line, row};
use crate::bench::svg::{self, Labels, Picture};
use crate::bench::table::Row;
use crate::scenes;
use anyhow::{Context, Result};
use glam::DVec3;
use palpate::{Pose, Shape};
use palpate_rapier::PalpateDispatcher;
use palpate_sim::{Body, Engine, Motion, Options, Scene, start};
use std::fmt::Write as _;

const BALLS: usize = 5;
/// [m/s²]
const GRAVITY: f64 = 9.81;

/// A stack in an engine.
struct Stood {
    /// Height of the uppermost ball after every step until it has fallen [m].
    heights: Vec<f64>,
    /// Mean time of a step [s]; none where it was not measured.
    step: Option<f64>,
    wanted: usize,
}

impl Stood {
    /// How long it stood [s], and whether to the end.
    fn time(&self) -> (f64, bool) {
        let fell = self.heights.iter().position(|z| fallen(*z));
        (fell.map_or(self.wanted, |i| i + 1) as f64 / RATE, fell.is_none())
    }
}

/// The uppermost ball has come down by half a ball.
fn fallen(z: f64) -> bool {
    z < BALLS as f64 - 1.0 || z.is_nan()
}

/// Our shapes in any engine.
fn ours(engine: Engine, shape: &Shape, steps: usize) -> Result<Stood> {
    let mut scene = Scene { gravity: DVec3::Z * -GRAVITY, ..Scene::default() };
    scene.add(scenes::floor(0.0)?);
    for i in 0..BALLS {
        let pose = Pose::from_translation(DVec3::Z * (RADIUS + i as f64));
        scene.add(Body::new(format!("ball {i}"), shape.clone(), Motion::Mass(1.0), pose));
    }
    let mut sim = start(engine, &scene, &Options { rate: RATE, ..Options::default() })?;
    let mut stood = Stood { heights: Vec::new(), step: Some(0.0), wanted: steps };
    let mut spent = 0.0;
    while stood.heights.len() < steps && !stood.heights.last().is_some_and(|z| fallen(*z)) {
        spent += 1e-6 * sim.step()?.step_us;
        stood.heights.push(sim.state(BALLS).pose.translation.z);
    }
    stood.step = Some(spent / stood.heights.len().max(1) as f64);
    Ok(stood)
}

/// How far every other of the engines' own balls is to the side [m]. With none they stand on points, exactly above each other.
const ASIDE: f64 = 1e-6;

/// Rapier's own balls, every other `aside` [m]; with Rapier's defaults, or with what our plug-in advises.
fn own_rapier(steps: usize, aside: f64, defaults: bool) -> Result<Stood> {
    let mut world = Ground::new(&settings(GRAVITY, defaults), &PalpateDispatcher::new(), &plane());
    let mut top = None;
    for i in 0..BALLS {
        let mut ball = thing(None, RADIUS + i as f64, 0.0);
        ball.pose.translation.x = (aside * (i % 2) as f64) as f32;
        top = Some(world.add(&ball));
    }
    let top = top.context("no balls")?;
    let mut heights: Vec<f64> = Vec::new();
    let mut spent = 0.0;
    while heights.len() < steps && !heights.last().is_some_and(|z| fallen(*z)) {
        let begin = std::time::Instant::now();
        world.step();
        spent += begin.elapsed().as_secs_f64();
        heights.push(world.state(top).context("a ball is gone")?.0.translation.z.into());
    }
    Ok(Stood { step: Some(spent / heights.len().max(1) as f64), heights, wanted: steps })
}

/// Bullet's own spheres.
fn own_bullet(lab: &Lab<'_>, steps: usize, aside: f64) -> Result<Stood> {
    let mut text = format!("gravity 0 0 -{GRAVITY}\nrate {RATE}\nseconds {}\n", steps as f64 / RATE);
    text += "body floor\nkind plane 0 0 1 0\nmass 0\nfriction 0.5\n";
    for i in 0..BALLS {
        let (x, z) = (aside * (i % 2) as f64, RADIUS + i as f64);
        let _ = writeln!(
            text,
            "body ball{i}\nkind sphere {RADIUS}\nmass 1\nfriction 0.5\npose {x} 0 {z} 0 0 0 1"
        );
    }
    let (file, poses) = (lab.work.file("stack.scene"), lab.work.file("stack.csv"));
    std::fs::write(&file, text)?;
    let last = lab.bullet_last(&["scene", "--file", &file, "--poses", &poses])?;
    let heights = heights_of(&std::fs::read_to_string(&poses)?, &format!("ball{}", BALLS - 1));
    // A stack that has fallen is no stack: its steps are not counted.
    let whole = !heights.iter().any(|z| fallen(*z));
    let step = last["step_ms_mean"].as_f64().filter(|_| whole).map(|ms| 1e-3 * ms);
    Ok(Stood { heights, step, wanted: steps })
}

/// Heights of a body, from lines of step, time, body, x, y, z, …; the start is not a step.
fn heights_of(csv: &str, body: &str) -> Vec<f64> {
    let cells = csv.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let own = cells.filter(|c| c.get(2) == Some(&body) && c.first() != Some(&"0"));
    own.filter_map(|c| c.get(5)?.parse().ok()).collect()
}

/// Five balls on each other, without sleep, in each engine.
pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let (mut found, mut lines) = (Found::default(), Vec::new());
    let seconds = if lab.options.quick { 5.0 } else { 30.0 };
    let steps = (seconds * RATE) as usize;
    let mut add = |name: &str, engine: Engine, points: Option<usize>, stood: &Stood, peer: Option<f64>| {
        let (time, whole) = stood.time();
        let said = if whole { "stands to the end" } else { "falls" };
        let made = points.map_or_else(|| "the engine's own".to_owned(), |n| format!("{n} points each"));
        let case = format!("stack of {BALLS} {name}, {}", engine.name());
        let note = format!("{made}; {said}, of {seconds} s");
        // More is better: no ratio, which would say the opposite of a time.
        let theirs = peer.map(|p| (engine.name().to_owned(), p));
        let (peer, theirs) = theirs.map_or((None, None), |(n, p)| (Some(n), Some(p)));
        found.rows.push(Row { peer, theirs, ..row(&case, "stands", "s", time, &note) });
        if let Some(step) = stood.step {
            found.rows.push(row(&case, "step", "s", step, note).finish());
        }
        let course = stood.heights.iter().enumerate().map(|(i, z)| ((i + 1) as f64 / RATE, *z));
        let seen = course.take(5 * RATE as usize).step_by(4).collect();
        lines.push(line(format!("{name}, {}", engine.name()), lines.len(), points.is_none(), seen));
        time
    };
    // As they are, and out of a balance that no body has.
    let mut bullet = None;
    for (name, aside) in [("own balls", 0.0), ("own balls 1 µm aside", ASIDE)] {
        add(name, Engine::Rapier, None, &own_rapier(steps, aside, true)?, None);
        if lab.bullet.is_some() {
            bullet = Some(add(name, Engine::Bullet, None, &own_bullet(lab, steps, aside)?, None));
        }
    }
    // Rapier's defaults keep contacts of balls that moved less than 50 mm as they were, which holds a stack.
    let stood = own_rapier(steps, ASIDE, false)?;
    let rapier = Some(add("own balls 1 µm aside, found anew", Engine::Rapier, None, &stood, None));
    for (name, spacing) in SPACINGS {
        let shape = ball(spacing)?;
        for engine in lab.engines() {
            let peer = match engine {
                Engine::Own => None,
                Engine::Rapier => rapier,
                Engine::Bullet => bullet,
            };
            add(
                &format!("{name} balls"),
                engine,
                Some(shape.tree().len()),
                &ours(engine, &shape, steps)?,
                peer,
            );
        }
    }
    let labels = Labels {
        title: format!(
            "{BALLS} balls on each other at 200 Hz, without sleep: height of the uppermost centre"
        ),
        x: "time [s]".into(),
        y: "height [m]".into(),
        marks: Vec::new(),
    };
    found.pictures.push(Picture { name: "engines-stack.svg".into(), svg: svg::plot(&labels, &lines) });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_stands_until_its_top_has_come_down_by_half_a_ball() {
        let stood = |heights: &[f64]| Stood { heights: heights.to_vec(), step: None, wanted: 400 };
        assert_eq!(stood(&[4.5, 4.49]).time(), (2.0, true));
        assert_eq!(stood(&[4.5, 4.2, 3.99, 3.0]).time(), (3.0 / RATE, false));
        assert_eq!(stood(&[4.5, f64::NAN]).time(), (2.0 / RATE, false));
    }

    #[test]
    fn heights_are_those_of_one_body_after_the_start() {
        let csv = "step,time,body,x,y,z,qx\n0,0,b,0,0,9,0\n0,0,a,0,0,8,0\n1,0.1,b,0,0,7.5,0\n1,0.1,a,0,0,6,0\n2,0.2,b,0,0,5,0\n";
        assert_eq!(heights_of(csv, "b"), [7.5, 5.0]);
        assert!(heights_of(csv, "c").is_empty());
    }
}
