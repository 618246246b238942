//! How the loop fares: times in a histogram, counters, what was felt last.

use serde::Serialize;

/// Buckets of each doubling: quantiles are off by 3 % at most.
const FINE: usize = 32;
/// Doublings from 2^-10 µs on.
const DOUBLINGS: usize = 40;

/// Times, as counts of buckets: fixed memory, no allocation.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: f64,
    worst: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; FINE * DOUBLINGS], total: 0, sum: 0.0, worst: 0.0 }
    }
}

impl Histogram {
    /// Counts a time [µs]. What is no number, or negative, counts as 0.
    pub fn add(&mut self, micros: f64) {
        let x = if micros > 0.0 { micros } else { 0.0 };
        let place = ((x * 1024.0).max(1.0).log2() * FINE as f64) as usize;
        self.counts[place.min(FINE * DOUBLINGS - 1)] += 1;
        self.total += 1;
        self.sum += x;
        self.worst = self.worst.max(x);
    }

    /// The time that this share of all does not exceed, within 3 % [µs]; 0 without any.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = (share.clamp(0.0, 1.0) * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return (2f64.powf((place + 1) as f64 / FINE as f64) / 1024.0).min(self.worst);
            }
        }
        0.0
    }

    /// The longest [µs]; 0 without any.
    pub fn worst(&self) -> f64 {
        self.worst
    }

    /// The usual ones.
    pub fn times(&self) -> Times {
        Times {
            mean: if self.total > 0 { self.sum / self.total as f64 } else { 0.0 },
            p50: self.quantile(0.5),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            worst: self.worst,
        }
    }
}

/// Times [µs].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// What 1 of 100 exceeds.
    pub p99: f64,
    /// What 1 of 1000 exceeds.
    pub p999: f64,
    /// The longest.
    pub worst: f64,
}

/// How the loop fares.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// From the start of a tick to the start of the next.
    pub period: Histogram,
    /// From the reading to the wrench, by the clock.
    pub compute: Histogram,
    /// The same, as processor time of this thread: what is our own work.
    pub work: Histogram,
    /// How much later than asked for the thread woke up.
    pub late: Histogram,
    /// Ticks.
    pub ticks: u64,
    /// Ticks whose own work took longer than a period.
    pub missed_by_us: u64,
    /// Those of them that the machine let begin more than a period late: what was in its caches is gone then.
    pub missed_cold: u64,
    /// Ticks that began more than a period late although our work was done: the machine's doing.
    pub missed_by_machine: u64,
    /// Readings that failed or were no numbers.
    pub bad_readings: u64,
    /// Times that force was taken away because the loop stood still.
    pub trips: u64,
    /// Ticks with contact.
    pub touching: u64,
    /// Least energy of the account, see [`crate::passivity::Passivity`] [J].
    pub least_energy: f64,
    /// Ticks in which force was reduced to keep it passive.
    pub reduced: u64,
    /// Largest force and torque that were sent [N, N m].
    pub largest: [f64; 2],
    /// Largest change of the force from tick to tick [N].
    pub largest_step: f64,
}

/// [`Health`] in numbers, for people and machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Ticks.
    pub ticks: u64,
    /// Ticks in a second [Hz].
    pub rate: f64,
    /// From tick to tick [µs].
    pub period: Times,
    /// From the reading to the wrench, by the clock [µs].
    pub compute: Times,
    /// The same as processor time [µs].
    pub work: Times,
    /// Late wake-ups of the machine [µs].
    pub late: Times,
    /// Ticks whose own work took longer than a period.
    pub missed_by_us: u64,
    /// Those of them that the machine let begin more than a period late: what was in its caches is gone then.
    pub missed_cold: u64,
    /// Ticks that the machine let begin more than a period late.
    pub missed_by_machine: u64,
    /// Readings that failed or were no numbers.
    pub bad_readings: u64,
    /// Times that force was taken away because the loop stood still.
    pub trips: u64,
    /// Ticks with contact.
    pub touching: u64,
    /// Least energy of the account [J].
    pub least_energy: f64,
    /// Ticks in which force was reduced to keep it passive.
    pub reduced: u64,
    /// Largest force sent [N].
    pub largest_force: f64,
    /// Largest torque sent [N m].
    pub largest_torque: f64,
    /// Largest change of the force from tick to tick [N].
    pub largest_step: f64,
}

impl Health {
    /// In numbers.
    pub fn report(&self) -> Report {
        let period = self.period.times();
        Report {
            ticks: self.ticks,
            rate: if period.mean > 0.0 { 1e6 / period.mean } else { 0.0 },
            period,
            compute: self.compute.times(),
            work: self.work.times(),
            late: self.late.times(),
            missed_by_us: self.missed_by_us,
            missed_cold: self.missed_cold,
            missed_by_machine: self.missed_by_machine,
            bad_readings: self.bad_readings,
            trips: self.trips,
            touching: self.touching,
            least_energy: self.least_energy,
            reduced: self.reduced,
            largest_force: self.largest[0],
            largest_torque: self.largest[1],
            largest_step: self.largest_step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_three_percent() {
        let mut h = Histogram::default();
        (1..=10_000).for_each(|i| h.add(f64::from(i) * 0.37));
        for share in [0.01, 0.5, 0.99, 0.999] {
            let want = share * 3700.0;
            assert!((h.quantile(share) - want).abs() < 0.03 * want, "{share}: {} {want}", h.quantile(share));
        }
        assert_eq!(h.times().worst, 3700.0);
        assert_eq!(Histogram::default().times(), Times::default());
        h.add(f64::NAN);
        h.add(1e300);
        assert!(h.quantile(1.0) >= 3700.0);
    }
}
