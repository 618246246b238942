//! The thread at 1 kHz: it takes the newest wish of the hand, moves the scene, and gives snapshots.

use crate::shared::{Next, Shared, Snapshot, Wish, lock};
use crate::stage::{Act, Now, Stage};
use crate::wire;
use palpate::math::Pose;
use palpate_haptic::run::wait;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time between ticks.
const TICK: Duration = Duration::from_millis(1);
/// Ticks between snapshots: 62.5 a second.
const SNAPSHOT: u64 = 16;
/// Ticks over which rates are measured.
const WINDOW: u64 = 256;
/// Without clients the loop only looks whether one has come.
const ASLEEP: Duration = Duration::from_millis(20);
/// A loop that is later than this does not catch up: it begins to count anew. With a device in someone's hand no tick is hurried.
const LATE: Duration = Duration::from_millis(20);
/// With such a device the thread looks at the clock for so long before a tick, so that it does not wake late [s].
const SPIN: f64 = 50e-6;
/// Most ticks in which force goes at the end.
const LAST: usize = 20;

/// What is measured of the loop since the last snapshot, or over a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Health {
    /// Ticks a second [Hz].
    pub(crate) rate: f64,
    /// Ticks since the scene began whose own work took longer than a tick.
    pub(crate) missed: u64,
    /// Longest work of a tick since the last snapshot [µs].
    pub(crate) work: f64,
    /// Largest of these since the last snapshot: force [N], torque [N m], depth [m], time of queries [µs].
    pub(crate) force: f64,
    pub(crate) torque: f64,
    pub(crate) depth: f64,
    pub(crate) micros: f64,
}

/// The scene that is moved.
struct Scene {
    stage: Arc<Stage>,
    act: Box<dyn Act>,
    now: Now,
    ticks: u64,
}

impl Scene {
    fn new(Next(stage, act): Next) -> Self {
        let bodies: Vec<Pose> = stage.bodies.iter().map(|b| b.pose).collect();
        Self { stage, act, now: Now { bodies, ..Now::default() }, ticks: 0 }
    }
}

/// Runs until the program ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    let mut scene: Option<Scene> = None;
    let mut resets = 0;
    let mut number = 0;
    let mut health = Health::default();
    let mut window = (Instant::now(), 0u64);
    let mut due = Instant::now();
    while !shared.ends() {
        if lock(&shared.next).is_some() {
            // First force goes, then the next scene comes.
            if scene.as_mut().is_none_or(|s| s.act.leave(due)) {
                scene = lock(&shared.next).take().map(Scene::new);
                health = Health::default();
            } else {
                due += TICK;
                wait(due, SPIN);
                continue;
            }
        }
        let alone = shared.clients.load(Ordering::Relaxed) == 0;
        let asleep = alone && scene.as_ref().is_none_or(|s| !s.act.is_held());
        let Some(s) = scene.as_mut().filter(|_| !asleep) else {
            std::thread::sleep(ASLEEP);
            (due, window) = (Instant::now(), (Instant::now(), 0));
            continue;
        };
        let wish: Wish = *lock(&shared.wish);
        let grip = if wish.generation == s.stage.generation { wish.grip } else { s.stage.grip() };
        if wish.resets != resets {
            resets = wish.resets;
            s.act.reset();
        }
        s.act.prepare(due, &wish.feel, wish.level.is_some() && !alone);
        s.now.target = grip.target;
        let began = Instant::now();
        s.act.step(&grip, &mut s.now);
        let work = began.elapsed();
        s.ticks += 1;
        health.missed += u64::from(work > TICK);
        health.work = health.work.max(work.as_secs_f64() * 1e6);
        health.force = health.force.max(s.now.wrench.force.length());
        health.torque = health.torque.max(s.now.wrench.torque.length());
        health.depth = health.depth.max(s.now.depth);
        health.micros = health.micros.max(s.now.micros);
        window.1 += 1;
        if window.1 == WINDOW {
            health.rate = WINDOW as f64 / window.0.elapsed().as_secs_f64().max(1e-6);
            window = (Instant::now(), 0);
        }
        if s.ticks.is_multiple_of(SNAPSHOT) && !alone {
            number += 1;
            let mut nodes = Vec::new();
            if let Some(level) = wish.level {
                s.act.nodes(level, &mut nodes);
            }
            s.act.tell(&mut s.now);
            let mut deformed = Vec::new();
            s.act.deformed(&mut deformed);
            let time = s.ticks as f64 * TICK.as_secs_f64();
            let told =
                wire::Told { number, stage: &s.stage, time, now: &s.now, nodes: &nodes, deformed: &deformed };
            let bytes = Arc::new(wire::snapshot(&told, &health));
            shared.snapshot.send_replace(Snapshot { number, bytes });
            health = Health { rate: health.rate, missed: health.missed, ..Health::default() };
        }
        due += TICK;
        let held = s.act.is_held();
        if due.elapsed() > if held { TICK } else { LATE } {
            due = Instant::now();
        }
        wait(due, if held { SPIN } else { 0.0 });
    }
    let mut ticks = 0..LAST;
    while ticks.next().is_some() && scene.as_mut().is_some_and(|s| !s.act.leave(Instant::now())) {
        std::thread::sleep(TICK);
    }
}
