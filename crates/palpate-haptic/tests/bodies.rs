//! Tools that are bodies in a physics engine: what holds in every one of them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests stop where something fails, and tell what they measured"
)]

mod common;

use common::{block_and_ball, block_and_cube};
use glam::{DQuat, DVec3};
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};
use palpate_haptic::sim::{Hand, HandMotion, SimDevice, SimParams};
use palpate_haptic::{BodyTool, Device, DeviceLimits, Felt, Gains, Mapping, Pair, Rig, RigParams, Tool};
use palpate_sim::{
    Body, Engine, Mark, Motion, Options, Scene, SimError, Simulation, State, Step, bullet_program,
};

const DT: f64 = 1e-3;

/// Each check in each engine.
macro_rules! in_every_engine {
    ($($check:ident)*) => {
        mod own {
            $(#[test] fn $check() { super::$check(super::Engine::Own); })*
        }
        mod rapier {
            $(#[test] fn $check() { super::$check(super::Engine::Rapier); })*
        }
        mod bullet {
            $(#[test] fn $check() {
                if super::bullet_program().is_none() {
                    println!("skipped: palpate-bullet is not built");
                    return;
                }
                super::$check(super::Engine::Bullet);
            })*
        }
    };
}

in_every_engine! {
    a_pressed_body_feels_the_spring
    a_light_body_bears_a_stiff_spring
    a_body_follows_in_free_space
    another_body_is_pushed
    bad_targets_move_nothing
    the_engine_has_a_rate_of_its_own
    the_hand_is_never_given_energy
}

fn up(z: f64) -> Pose {
    Pose::from_translation(DVec3::Z * z)
}

/// The tool of a pair at a height, above what stands still.
fn scene(pair: &Pair, motion: Motion, height: f64) -> Scene {
    let mut scene = Scene::default();
    scene.add(Body::new("block", (**pair.fixed()).clone(), Motion::Static, Pose::IDENTITY));
    scene.add(Body::new("tool", (**pair.tool()).clone(), motion, up(height)));
    scene
}

fn tool(engine: Engine, scene: &Scene, rate: f64) -> BodyTool {
    let options = Options { rate, both: true, ..Options::default() };
    BodyTool::new(engine, scene, 1, DeviceLimits::SIGMA7.force, &options).unwrap()
}

fn gains(tool: &BodyTool) -> Gains {
    Gains::of(&DeviceLimits::SIGMA7, 1.0, tool.radius()).unwrap()
}

/// Goes from `from` to `to` within `seconds`, then rests as long; every tick is told to `each`.
fn lower(
    tool: &mut BodyTool,
    gains: &Gains,
    from: f64,
    to: f64,
    seconds: f64,
    mut each: impl FnMut(f64, &Felt),
) {
    let ticks = (seconds / DT) as usize;
    for i in 1..=2 * ticks {
        let share = (i as f64 / ticks as f64).min(1.0);
        let speed = if i <= ticks { (to - from) / seconds } else { 0.0 };
        let motion = Twist { linear: DVec3::Z * speed, angular: DVec3::ZERO };
        let felt = tool.tick(&up(from + share * (to - from)), &motion, gains, DT);
        assert!(!felt.non_finite && felt.pose.is_finite(), "{:?}", tool.fault());
        each(i as f64 * DT, &felt);
    }
}

/// Largest and smallest of numbers.
#[derive(Debug)]
struct Range(f64, f64);

impl Range {
    fn none() -> Self {
        Self(f64::INFINITY, f64::NEG_INFINITY)
    }
    fn add(&mut self, x: f64) {
        *self = Self(self.0.min(x), self.1.max(x));
    }
    fn width(&self) -> f64 {
        self.1 - self.0
    }
}

/// A ball and a cube pressed 4 mm into a block: the handle feels the spring's stretch, along the normal; so does the block; and at rest all
/// of it stands still.
fn a_pressed_body_feels_the_spring(engine: Engine) {
    for (pair, rests) in [(block_and_ball(), 0.02), (block_and_cube(), 0.01)] {
        let mut scene = scene(&pair, Motion::Density(1000.0), rests + 1e-3);
        scene.bodies.iter_mut().for_each(|b| b.friction = 0.0);
        let mut tool = tool(engine, &scene, 1000.0);
        let gains = gains(&tool);
        let (mut forces, mut touching, mut last) = (Range::none(), 0, Felt::default());
        lower(&mut tool, &gains, rests + 1e-3, rests - 4e-3, 0.5, |t, felt| {
            if t > 0.7005 {
                forces.add(felt.wrench.force.z);
                touching += usize::from(felt.contacts > 0);
            }
            last = *felt;
        });
        let stretch = last.pose.translation.z - (rests - 4e-3);
        println!("{engine:?}: stretch {:.4} mm, {forces:?} N, {touching} in touch, {last:?}", 1e3 * stretch);
        let want = gains.stiffness * stretch;
        assert!((last.wrench.force.z - want).abs() < 1e-3 * want, "{:?}", last.wrench);
        // The block's points are 1.2 mm apart: the nearest can lie half of that beside the ball's lowest, 1.8 degrees from it.
        assert!(last.wrench.force.angle_between(DVec3::Z).to_degrees() < 1.8, "{:?}", last.wrench);
        // The block holds the body where it would be without the spring, but for some tenths of a millimetre, as engines give.
        assert!((stretch - 4e-3).abs() < 3e-4, "{stretch}");
        // Nothing moves, so that contacts give what the spring takes; single precision keeps velocities to 1e-7 of those of impacts.
        assert!((last.contact.force - last.wrench.force).length() < 0.02 * want, "{:?}", last.contact);
        assert!(forces.width() < 0.01 * want, "it buzzes: {forces:?}");
        assert!(touching == 300 && last.depth < 3e-4, "{touching} ticks in touch, {last:?}");
    }
}

/// A gram, and ten milligrams, on the stiffest spring: no swing, no noise, in free space and in touch.
fn a_light_body_bears_a_stiff_spring(engine: Engine) {
    let pair = block_and_cube();
    for mass in [1e-3, 1e-5] {
        let mut tool = tool(engine, &scene(&pair, Motion::Mass(mass), 0.03), 1000.0);
        let gains = Gains { stiffness: 5000.0, damping: 5.0, ..gains(&tool) };
        let (mut free, mut rest) = (0.0f64, Range::none());
        lower(&mut tool, &gains, 0.03, 0.008, 0.5, |t, felt| {
            let target = 0.03 - 0.044 * t.min(0.5);
            if (0.1..0.4).contains(&t) {
                free = free.max((felt.pose.translation.z - target).abs());
            }
            if t > 0.8 {
                rest.add(felt.wrench.force.z);
            }
        });
        println!("{engine:?}, {mass} kg: {:.2e} m behind in free space, {rest:?} N at rest", free);
        assert!(free < 2e-5, "{free} m behind");
        // Of milligrams, a step's push is a hundred metres a second: what solvers leave of it is felt.
        let noise = if mass < 1e-3 { 0.1 } else { 0.02 };
        assert!((rest.0 - 10.0).abs() < 0.5 && rest.width() < noise * 10.0, "{rest:?}");
    }
}

/// In free space nothing but inertia is felt: no weight, whichever way the tool is turned, and it comes to where it is sent.
fn a_body_follows_in_free_space(engine: Engine) {
    let pair = block_and_ball();
    let mut tool = tool(engine, &scene(&pair, Motion::Density(2000.0), 0.1), 1000.0);
    let gains = gains(&tool);
    let target =
        Pose::new(DQuat::from_scaled_axis(DVec3::new(0.4, -0.7, 0.2)), DVec3::new(0.02, -0.03, 0.12));
    let mut felt = Felt::default();
    for _ in 0..1500 {
        felt = tool.tick(&target, &Twist::ZERO, &gains, DT);
    }
    println!("{engine:?}: {felt:?}");
    let off = felt.pose.point(tool.centre()).distance(target.point(tool.centre()));
    assert!(off < 1e-6 && felt.pose.rotation.angle_between(target.rotation) < 2e-3, "{felt:?}");
    assert!(felt.wrench.force.length() < 5e-3 && felt.contacts == 0, "{felt:?}");
    // Put elsewhere, it is at rest there.
    tool.place(up(0.2));
    let felt = tool.tick(&up(0.2), &Twist::ZERO, &gains, DT);
    assert!(
        felt.pose.translation.distance(DVec3::Z * 0.2) < 1e-6 && felt.wrench.force.length() < 1e-2,
        "{felt:?}"
    );
    // Let go, it falls: 20 mm in 64 ms.
    for _ in 0..64 {
        tool.let_go(DT);
    }
    let fallen = 0.2 - tool.pose().translation.z;
    assert!((fallen - 0.5 * 9.81 * 0.064f64.powi(2)).abs() < 1e-3, "{fallen}");
}

/// The tool pushes a cube of 200 g across the block: what is felt is the cube's friction.
fn another_body_is_pushed(engine: Engine) {
    let pair = block_and_cube();
    let mut scene = scene(&pair, Motion::Density(1000.0), 0.0105);
    scene.bodies[1].pose.translation.x = -0.03;
    scene.bodies[1].friction = 0.0;
    let cube = Body::new("cube", (**pair.tool()).clone(), Motion::Mass(0.2), up(0.0101));
    let other = scene.add(cube);
    // With points of both, those of the block catch at the cube's rim in Rapier and Bullet when it slides slowly: up to a fifth more force.
    let options = Options { rate: 1000.0, both: engine == Engine::Own, ..Options::default() };
    let mut tool = BodyTool::new(engine, &scene, 1, DeviceLimits::SIGMA7.force, &options).unwrap();
    let gains = gains(&tool);
    let (mut sum, mut count) = (0.0, 0);
    for i in 0..1500 {
        // At 20 mm/s, clear of the block.
        let target = Pose::from_translation(DVec3::new(-0.03 + 2e-5 * f64::from(i), 0.0, 0.0105));
        let felt = tool.tick(&target, &Twist { linear: DVec3::X * 0.02, angular: DVec3::ZERO }, &gains, DT);
        assert!(!felt.non_finite);
        if i > 1000 {
            sum -= felt.wrench.force.x;
            count += 1;
        }
    }
    let (force, x) = (sum / f64::from(count), tool.state(other).pose.translation.x);
    let friction = scene.bodies[other].friction;
    println!("{engine:?}: {force:.3} N, cube at {:.2} mm", 1e3 * x);
    assert!((x - 0.02).abs() < 1e-3, "the cube is at {x}");
    let want = friction * 0.2 * 9.81;
    assert!((force - want).abs() < 0.05 * want, "{force} N, {want} expected");
}

/// Targets that are no numbers move nothing, and neither do times.
fn bad_targets_move_nothing(engine: Engine) {
    let pair = block_and_cube();
    let mut tool = tool(engine, &scene(&pair, Motion::Density(1000.0), 0.02), 1000.0);
    let gains = gains(&tool);
    let wild = Twist { linear: DVec3::splat(f64::INFINITY), angular: DVec3::ZERO };
    for (target, motion, dt) in [
        (Pose::from_translation(DVec3::NAN), Twist::ZERO, DT),
        (up(0.0), wild, DT),
        (up(0.0), Twist::ZERO, 0.0),
        (up(0.0), Twist::ZERO, f64::INFINITY),
    ] {
        let felt = tool.tick(&target, &motion, &gains, dt);
        assert!(felt.non_finite && felt.pose == up(0.02) && felt.wrench == Wrench::ZERO, "{felt:?}");
        tool.place(target);
        if !target.is_finite() {
            assert_eq!(tool.pose(), up(0.02));
        }
        tool.place(up(0.02));
    }
    let felt = tool.tick(&up(0.02), &Twist::ZERO, &gains, DT);
    assert!(!felt.non_finite && felt.wrench.force.length() < 1e-2, "{felt:?}");
    // Far away is a number: it comes there, and no faster than contacts are found.
    let before = felt.pose;
    let felt = tool.tick(&up(1e3), &Twist::ZERO, &gains, DT);
    assert!(felt.pose.translation.distance(before.translation) < 0.25 * tool.radius(), "{felt:?}");
}

/// Four ticks for each step of the engine, or four steps in each tick: the same force, and no stairs on the way down.
fn the_engine_has_a_rate_of_its_own(engine: Engine) {
    let pair = block_and_cube();
    for rate in [250.0, 4000.0] {
        let mut tool = tool(engine, &scene(&pair, Motion::Density(1000.0), 0.03), rate);
        let gains = gains(&tool);
        let (mut last, mut stairs, mut at) = (Felt::default(), 0.0f64, up(0.03));
        lower(&mut tool, &gains, 0.03, 0.008, 0.5, |t, felt| {
            if (0.2..0.4).contains(&t) {
                // 44 mm/s.
                stairs = stairs.max(((at.translation.z - felt.pose.translation.z) - 4.4e-5).abs());
            }
            (last, at) = (*felt, felt.pose);
        });
        println!("{engine:?}, {rate} Hz: uneven by {stairs:.1e} m, {last:?}");
        assert!(stairs < 5e-6, "{stairs}");
        let want = gains.stiffness * 2e-3;
        assert!((last.wrench.force.z - want).abs() < 0.1 * want && last.contacts > 0, "{last:?}");
    }
}

/// Pressing and sliding, with delays up to 5 ms at the device's largest stiffness: the hand is given no more than it put in, and rests where
/// it presses.
fn the_hand_is_never_given_energy(engine: Engine) {
    let press = HandMotion::Press { start: up(0.0125), axis: DVec3::NEG_Z, depth: 0.012, seconds: 1.0 };
    let slide = HandMotion::Slide {
        start: Pose::from_translation(DVec3::new(-0.02, 0.0, 0.0125)),
        axis: DVec3::NEG_Z,
        depth: 0.010,
        travel: DVec3::X * 0.04,
        press_seconds: 0.5,
        seconds: 0.8,
    };
    let pair = block_and_cube();
    for delays in [[0, 0], [1, 0], [3, 2]] {
        for motion in [press.clone(), slide.clone()] {
            let start = motion.at(0.0).0;
            let rests = matches!(motion, HandMotion::Press { .. });
            let mut device = SimDevice::new(SimParams {
                limits: DeviceLimits { stiffness: 5000.0, ..DeviceLimits::SIGMA7 },
                motion,
                hand: Some(Hand { stiffness: 500.0, damping: 2.0, ..Hand::default() }),
                force_delay: delays[0],
                pose_delay: delays[1],
                position_step: 1e-5,
                velocity: false,
                ..SimParams::default()
            })
            .unwrap();
            let mut scene = scene(&pair, Motion::Density(1000.0), 0.0);
            scene.bodies.iter_mut().for_each(|b| b.friction = 0.2);
            scene.bodies[1].pose = start;
            let mapping = Mapping { rotation: DQuat::IDENTITY, scale: 1.0, start: Pose::IDENTITY };
            let params = RigParams { delay: (delays[0] + delays[1]) as usize, ..RigParams::default() };
            let tool = Box::new(tool(engine, &scene, 1000.0));
            let mut rig = Rig::with_tool(tool, &device.limits(), mapping, &params).unwrap();
            let probe = device.probe();
            let (mut wrench, mut given, mut touching, mut speed) = (Wrench::ZERO, 0.0f64, 0, 0.0f64);
            for i in 0..5000 {
                let reading = device.exchange(&wrench).unwrap();
                let told = rig.tick(&reading, DT);
                wrench = told.wrench;
                let state = probe.state();
                given = given.max(state.energy.by_wrench);
                touching += usize::from(told.felt.contacts > 0);
                if i > 4000 {
                    speed = speed.max(state.twist.linear.length());
                }
                assert!(
                    !told.felt.non_finite && wrench.force.length() <= device.limits().force * (1.0 + 1e-9)
                );
            }
            println!("{engine:?} {delays:?}: {given:.1e} J, {touching} in touch, {speed:.1e} m/s");
            assert!(touching > 3000, "{touching}");
            // What is on its way when force first meets the hand cannot be called back, and the tool's own motion, of 8 g, comes back too.
            assert!(given < 3e-3, "{delays:?}: {given} J");
            assert!(!rests || speed < 0.01, "{delays:?}: {speed} m/s");
        }
    }
}

/// An engine that fails in one of two ways after some steps, and can be placed again in one of them.
struct Failing {
    steps: usize,
    dies: bool,
}

impl Simulation for Failing {
    fn step(&mut self) -> Result<Step, SimError> {
        self.steps += 1;
        if self.dies && self.steps > 10 {
            return Err(SimError::Bullet("it ended early".into()));
        }
        Ok(Step::default())
    }
    fn push(&mut self, _: usize, _: &Wrench) -> bool {
        true
    }
    fn place(&mut self, _: usize, pose: &Pose) -> bool {
        self.steps = 0;
        !self.dies && pose.is_finite()
    }
    fn state(&self, _: usize) -> State {
        let z = if !self.dies && self.steps > 10 { f64::NAN } else { 0.02 };
        State { pose: up(z), ..State::default() }
    }
    fn marks(&self, _: &mut Vec<Mark>) {}
}

/// An engine that fails, and one whose numbers end: no force, told so, and the tool is where it was last.
#[test]
fn an_engine_that_fails_is_no_force() {
    let pair = block_and_cube();
    let scene = scene(&pair, Motion::Density(1000.0), 0.02);
    for dies in [true, false] {
        let mut tool = BodyTool::of(Box::new(Failing { steps: 0, dies }), &scene, 1, 1000.0).unwrap();
        let gains = gains(&tool);
        for i in 1..=20 {
            let felt = tool.tick(&up(0.019), &Twist::ZERO, &gains, DT);
            assert_eq!((felt.non_finite, felt.pose), (i > 10, up(0.02)), "tick {i}");
            assert_eq!(felt.wrench.force.length() > 1.0, i <= 10, "tick {i}");
        }
        println!("{:?}", tool.fault());
        assert!(tool.fault().is_some() && tool.let_go(DT).non_finite);
        tool.place(up(0.02));
        assert_eq!(tool.fault().is_some(), dies);
    }
    let no_such = BodyTool::of(Box::new(Failing { steps: 0, dies: true }), &scene, 2, 1000.0);
    let fixed = BodyTool::new(Engine::Own, &scene, 0, 10.0, &Options::default());
    for (error, word) in
        [(no_such.err().unwrap(), "not in the scene"), (fixed.err().unwrap(), "nothing moves it")]
    {
        assert!(error.to_string().contains(word), "{error}");
    }
}
