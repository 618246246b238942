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
    /// Why it did not.
    pub error: Option<&'a DeviceError>,
    /// What came of it.
    pub told: &'a Told,
    /// From the reading to the wrench [µs].
    pub micros: f64,
    /// What is touched: contacts of the last query.
    pub rig: &'a Rig,
}

/// What a tick does but for the waiting, for loops of one's own: [`run`] is one. It watches over the device while it lives.
#[derive(Debug)]
pub struct Ticker {
    /// How the loop fares.
    pub health: Health,
    watch: Option<Watch>,
    began: Instant,
    last: Option<Instant>,
    period: Duration,
    /// What the device is given in the next exchange, in its own frame.
    wrench: Wrench,
    told: Told,
    reading: Result<Reading, DeviceError>,
    micros: f64,
    /// Whether this tick began more than a period late.
    late: bool,
}

impl Ticker {
    /// For ticks of this device. The rig may become another while there is no force.
    pub fn new(device: &dyn Device, params: &RunParams) -> Result<Self, DeviceError> {
        params.check()?;
        let patience = Duration::from_secs_f64(params.patience);
        Ok(Self {
            health: Health::default(),
            watch: device.guard().map(|guard| Watch::new(guard, patience)),
            began: Instant::now(),
            last: None,
            period: Duration::from_secs_f64(1.0 / params.rate),
            wrench: Wrench::ZERO,
            told: Told::default(),
            reading: Ok(Reading::default()),
            micros: 0.0,
            late: false,
        })
    }

    /// One tick, which should have begun at `due`. A device that fails is given no force; it gets force again, slowly, when it answers.
    pub fn tick(&mut self, device: &mut dyn Device, rig: &mut Rig, due: Instant) {
        let dt = self.begin(rig, due);
        self.exchange(device);
        let (start, work) = (Instant::now(), thread_time());
        let before = self.wrench;
        match &self.reading {
            Ok(reading) => {
                self.told = rig.tick(reading, dt);
                self.health.bad_readings += u64::from(!reading.is_finite());
            }
            Err(_) => {
                self.health.bad_readings += 1;
                self.told.wrench = rig.lost(dt);
            }
        }
        self.wrench = self.told.wrench;
        let compute = start.elapsed();
        self.micros = micros(compute);
        let missed = count(&mut self.health, compute, work, self.period);
        self.health.missed_cold += u64::from(missed && self.late);
        tell(&mut self.health, &self.told, &before, rig);
    }

    /// A tick in which the tool stays and force goes, within [`crate::governor::FADE`] seconds; true: the device has been given none.
    pub fn fade(&mut self, device: &mut dyn Device, rig: &mut Rig, due: Instant) -> bool {
        let dt = self.begin(rig, due);
        let gone = self.wrench == Wrench::ZERO;
        self.exchange(device);
        self.wrench = rig.lost(dt);
        self.told.wrench = self.wrench;
        gone && self.wrench == Wrench::ZERO
    }

    /// What the last tick was like.
    pub fn last<'a>(&'a self, rig: &'a Rig) -> Tick<'a> {
        Tick {
            seconds: self.last.map_or(0.0, |t| (t - self.began).as_secs_f64()),
            reading: self.reading.as_ref().ok(),
            error: self.reading.as_ref().err(),
            told: &self.told,
            micros: self.micros,
            rig,
        }
    }

    /// Counts how late it is, and whether the force was taken away meanwhile.
    fn begin(&mut self, rig: &mut Rig, due: Instant) -> f64 {
        let woke = Instant::now();
        if let Some(last) = self.last.replace(woke) {
            self.health.period.add(micros(woke - last));
        }
        let late = woke.saturating_duration_since(due);
        self.health.late.add(micros(late));
        self.late = late > self.period;
        self.health.missed_by_machine += u64::from(self.late);
        if self.watch.as_ref().is_some_and(Watch::tripped) {
            self.health.trips += 1;
            rig.cut();
            self.wrench = Wrench::ZERO;
        }
        self.period.as_secs_f64()
    }

    fn exchange(&mut self, device: &mut dyn Device) {
        self.reading = device.exchange(&self.wrench);
        if let Some(watch) = &self.watch {
            watch.beat(self.wrench != Wrench::ZERO);
        }
    }
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
    let mut ticker = Ticker::new(device, params)?;
    let period = ticker.period;
    let began = ticker.began;
    let mut next = began;
    while !stop.load(Ordering::Relaxed) && params.seconds.is_none_or(|s| began.elapsed().as_secs_f64() < s) {
        wait(next, params.spin);
        ticker.tick(device, rig, next);
        if !each(&ticker.last(rig)) {
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
    Ok(ticker.health)
}

/// Whether our own work took longer than a period.
fn count(health: &mut Health, compute: Duration, work: Option<Duration>, period: Duration) -> bool {
    let own = match (work, thread_time()) {
        (Some(from), Some(to)) => to.saturating_sub(from),
        _ => compute,
    };
    health.ticks += 1;
    health.compute.add(micros(compute));
    health.work.add(micros(own));
    health.missed_by_us += u64::from(own > period);
    own > period
}

fn tell(health: &mut Health, told: &Told, before: &Wrench, rig: &Rig) {
    health.touching += u64::from(told.felt.contacts > 0);
    health.reduced += u64::from(told.share < 1.0);
    health.least_energy = rig.passivity().least();
    let (force, torque) = (told.wrench.force.length(), told.wrench.torque.length());
    health.largest = [health.largest[0].max(force), health.largest[1].max(torque)];
    health.largest_step = health.largest_step.max((told.wrench.force - before.force).length());
}

/// Sleeps, and for the last `spin` seconds looks at the clock, until it is time.
pub fn wait(until: Instant, spin: f64) {
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
