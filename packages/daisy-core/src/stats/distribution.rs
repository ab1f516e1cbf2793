//! Mean, spread and quantiles of how long things took.

use serde::Serialize;

use super::quantiles::Quantiles;

/// A stream of seconds, summed up as it comes.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    count: u64,
    mean: f64,
    squares: f64,
    largest: f64,
    quantiles: Quantiles,
}

/// What a [`Distribution`] came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DistributionSummary {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// Their mean, 0 if there are none.
    pub mean: f64,
    /// Their standard deviation, 0 if there are none.
    pub deviation: f64,
    /// Half of them are at most this.
    pub median: f64,
    /// 95 % of them are at most this.
    pub p95: f64,
    /// The largest.
    pub largest: f64,
    /// `(from, to, count)`, bars to be drawn over a logarithmic axis.
    pub histogram: Vec<(f64, f64, u64)>,
}

impl Distribution {
    /// Takes a value; what is not a number counts as zero.
    #[inline]
    pub fn push(&mut self, value: f64) {
        let value = if value.is_finite() { value.max(0.0) } else { 0.0 };
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
        self.largest = self.largest.max(value);
        self.quantiles.push(value);
    }

    /// How many values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Half of the values are at most this; 0 if there are none.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantiles.quantile(0.5).unwrap_or(0.0)
    }

    /// How many values exceed a limit; within 1.6 % of the limit once there are many.
    #[must_use]
    pub fn above(&self, limit: f64) -> u64 {
        self.quantiles.above(limit)
    }

    /// What it came to.
    #[must_use]
    pub fn summary(&self) -> DistributionSummary {
        let count = self.count as f64;
        DistributionSummary {
            count: self.count,
            sum: self.mean * count,
            mean: self.mean,
            deviation: if self.count == 0 { 0.0 } else { (self.squares / count).sqrt() },
            median: self.median(),
            p95: self.quantiles.quantile(0.95).unwrap_or(0.0),
            largest: self.largest,
            histogram: self.quantiles.histogram(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_up_what_came() {
        let mut distribution = Distribution::default();
        (1..=100).for_each(|value| distribution.push(f64::from(value)));
        let summary = distribution.summary();
        assert_eq!((summary.count, summary.mean, summary.largest), (100, 50.5, 100.0));
        assert!((summary.sum - 5050.0).abs() < 1e-9);
        assert!((summary.median - 50.5).abs() < 1e-9 && (summary.p95 - 95.05).abs() < 1e-9);
        assert!((summary.deviation - 28.866).abs() < 1e-3);
        assert_eq!(distribution.above(98.5), 2);
    }

    #[test]
    fn nothing_is_zero_and_nonsense_is_no_poison() {
        assert_eq!(Distribution::default().summary(), DistributionSummary::default());
        let mut distribution = Distribution::default();
        [f64::NAN, -3.0, f64::INFINITY, 2.0].into_iter().for_each(|value| distribution.push(value));
        assert_eq!(distribution.summary().sum, 2.0);
    }
}
