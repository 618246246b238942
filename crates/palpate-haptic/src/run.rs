//! The loop itself: ticks at a fixed rate, each counted.

use crate::clock::thread_time;
use crate::device::{Device, DeviceError, Reading};
use crate::health::Health;
use crate::rig::{Rig, Told};
use crate::watch::Watch;
use palpate::math::Wrench;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How the loop runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunParams {
    /// Ticks in a second [Hz]; 10 to 10,000.
    pub rate: f64,
    /// Ends after so long [s]; none: when it is told to.
    pub seconds: Option<f64>,
    /// Force is taken away when the loop gives no sign for so long [s].
    pub patience: f64,
    /// How long before a tick the thread stops sleeping and waits by looking at the clock [s]: it wakes late otherwise, but a processor is
    /// busy meanwhile.
    pub spin: f64,
}

impl Default for RunParams {
    fn default() -> Self {
        Self { rate: 1000.0, seconds: None, patience: 3e-3, spin: 50e-6 }
    }
}

impl RunParams {
    /// Whether the loop can run so.
    pub fn check(&self) -> Result<(), DeviceError> {
        let ranges = [
            ("rate", self.rate, 10.0..=10_000.0),
            ("time", self.seconds.unwrap_or(1.0), 0.0..=1e9),
            ("patience", self.patience, 1e-3..=1.0),
            ("time of spinning", self.spin, 0.0..=1.0),
        ];
        for (name, value, range) in ranges {
            if !range.contains(&value) {
                return Err(DeviceError::BadLimit { name, value });
            }
        }
        Ok(())
    }
}

/// A tick, for whoever looks on.
#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    /// Seconds since the loop began.
    pub seconds: f64,
    /// What the device told; none if it did not.
    pub reading: Option<&'a Reading>,
    /// What came of it.
    pub told: &'a Told,
    /// From the reading to the wrench [µs].
    pub micros: f64,
    /// What is touched: contacts of the last query.
    pub rig: &'a Rig,
}

/// Runs until `stop`, the time is over, or `each`, which is called after every tick and must be quick, says false.
///
/// On the caller's thread. A device that fails is asked again each tick, with no force; it gets force again, slowly, when it answers.
/// At the end the device is given no force.
pub fn run(
    device: &mut dyn Device,
    rig: &mut Rig,
    params: &RunParams,
    stop: &AtomicBool,
    each: &mut dyn FnMut(&Tick<'_>) -> bool,
) -> Result<Health, DeviceError> {
    params.check()?;
    let mut health = Health::default();
    let period = Duration::from_secs_f64(1.0 / params.rate);
    let watch = device.guard().map(|guard| Watch::new(guard, Duration::from_secs_f64(params.patience)));
    let began = Instant::now();
    let mut next = began;
    let mut last: Option<Instant> = None;
    let mut wrench = Wrench::ZERO;
    let mut told = Told::default();
    while !stop.load(Ordering::Relaxed) && params.seconds.is_none_or(|s| began.elapsed().as_secs_f64() < s) {
        wait(next, params.spin);
        let woke = Instant::now();
        if let Some(last) = last.replace(woke) {
            health.period.add(micros(woke - last));
        }
        let late = woke.saturating_duration_since(next);
        health.late.add(micros(late));
        health.missed_by_machine += u64::from(late > period);
        if watch.as_ref().is_some_and(Watch::tripped) {
            health.trips += 1;
            rig.cut();
            wrench = Wrench::ZERO;
        }
        let reading = device.exchange(&wrench);
        if let Some(watch) = &watch {
            watch.beat(wrench != Wrench::ZERO);
        }
        let (start, work) = (Instant::now(), thread_time());
        let dt = 1.0 / params.rate;
        let before = wrench;
        wrench = match &reading {
            Ok(reading) => {
                told = rig.tick(reading, dt);
                health.bad_readings += u64::from(!reading.is_finite());
                told.wrench
            }
            Err(_) => {
                health.bad_readings += 1;
                told = Told { wrench: rig.lost(dt), ..told };
                told.wrench
            }
        };
        let compute = start.elapsed();
        count(&mut health, compute, work, period);
        tell(&mut health, &told, &before, rig);
        let tick = Tick {
            seconds: (woke - began).as_secs_f64(),
            reading: reading.as_ref().ok(),
            told: &told,
            micros: micros(compute),
            rig,
        };
        if !each(&tick) {
            break;
        }
        next += period;
        // Ticks that are over are over: the next one is not hurried.
        let now = Instant::now();
        if now > next + period {
            next = now;
        }
    }
    let _ = device.exchange(&Wrench::ZERO);
    Ok(health)
}

fn count(health: &mut Health, compute: Duration, work: Option<Duration>, period: Duration) {
    let own = match (work, thread_time()) {
        (Some(from), Some(to)) => to.saturating_sub(from),
        _ => compute,
    };
    health.ticks += 1;
    health.compute.add(micros(compute));
    health.work.add(micros(own));
    health.missed_by_us += u64::from(own > period);
}

fn tell(health: &mut Health, told: &Told, before: &Wrench, rig: &Rig) {
    health.touching += u64::from(told.felt.contacts > 0);
    health.reduced += u64::from(told.share < 1.0);
    health.least_energy = rig.passivity().least();
    let (force, torque) = (told.wrench.force.length(), told.wrench.torque.length());
    health.largest = [health.largest[0].max(force), health.largest[1].max(torque)];
    health.largest_step = health.largest_step.max((told.wrench.force - before.force).length());
}

/// Sleeps, then looks at the clock until it is time.
fn wait(until: Instant, spin: f64) {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let spin = Duration::from_secs_f64(spin);
        if left > spin {
            std::thread::sleep(left - spin);
        } else {
            core::hint::spin_loop();
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
