//! How large a set of errors is.

use std::fmt;

/// Statistics of the absolute values of a set of errors, in their unit. All zero for an empty set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorStats {
    /// How many finite errors there were.
    pub count: usize,
    /// How many were NaN or infinite; these are in no other number.
    pub not_finite: usize,
    /// Mean of the absolute values.
    pub mean: f64,
    /// Root of the mean square.
    pub rms: f64,
    /// The smallest error that at least 99 % do not exceed.
    pub p99: f64,
    /// The smallest error that at least 99.9 % do not exceed.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl ErrorStats {
    /// Statistics of `errors`, whose sign does not matter.
    pub fn of(errors: impl IntoIterator<Item = f64>) -> Self {
        let mut not_finite = 0;
        let mut sorted: Vec<f64> = Vec::new();
        for e in errors {
            if e.is_finite() { sorted.push(e.abs()) } else { not_finite += 1 }
        }
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        let Some(&max) = sorted.last() else { return Self { not_finite, ..Self::default() } };
        // In thousandths, so that 0.999 of 1000 is not rounded up to 1000 of them.
        let rank = |thousandths: usize| sorted[(count * thousandths).div_ceil(1000).max(1) - 1];
        // Added from the smallest to the largest, which loses least.
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let rms = (sorted.iter().map(|e| e * e).sum::<f64>() / count as f64).sqrt();
        Self { count, not_finite, mean, rms, p99: rank(990), p999: rank(999), max }
    }

    /// The same errors in another unit: every number times `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            mean: self.mean * factor,
            rms: self.rms * factor,
            p99: self.p99 * factor,
            p999: self.p999 * factor,
            max: self.max * factor,
            ..self
        }
    }
}

impl fmt::Display for ErrorStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, not_finite, mean, rms, p99, p999, max } = self;
        write!(f, "mean {mean:.3e} rms {rms:.3e} p99 {p99:.3e} p99.9 {p999:.3e} max {max:.3e} of {count}")?;
        if *not_finite > 0 { write!(f, ", {not_finite} not finite") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_one_to_thousand() {
        let stats =
            ErrorStats::of((1..=1000).rev().map(|i| if i % 2 == 0 { f64::from(i) } else { -f64::from(i) }));
        assert_eq!(
            (stats.count, stats.mean, stats.p99, stats.p999, stats.max),
            (1000, 500.5, 990.0, 999.0, 1000.0)
        );
        assert!((stats.rms - (1001.0f64 * 2001.0 / 6.0).sqrt()).abs() < 1e-9);
        assert_eq!(stats.scaled(2.0).max, 2000.0);
    }

    #[test]
    fn nothing_and_nan() {
        assert_eq!(ErrorStats::of([]), ErrorStats::default());
        let stats = ErrorStats::of([f64::NAN, 1.0, f64::INFINITY]);
        assert_eq!((stats.count, stats.not_finite, stats.p99, stats.max), (1, 2, 1.0, 1.0));
        assert!(stats.to_string().contains("2 not finite"));
    }
}
