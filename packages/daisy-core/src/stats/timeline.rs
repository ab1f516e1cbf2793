//! Amounts over time, in bins that double as time goes on.

use std::time::Duration;

/// Bins, at most.
const MOST_BINS: usize = 512;
/// Width of a bin at first.
const FIRST_WIDTH: f64 = 0.01;

/// An amount per bin of time. All bins are equally wide.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    width: f64,
    bins: Vec<f64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { width: FIRST_WIDTH, bins: Vec::new() }
    }
}

impl Timeline {
    /// Adds an amount at a moment.
    #[inline]
    pub(super) fn add(&mut self, at: Duration, amount: f64) {
        let bin = self.reach(at.as_secs_f64());
        self.bins[bin] += amount;
    }

    /// Adds the seconds from `from` to `to`, each to its bin.
    pub(super) fn add_span(&mut self, from: Duration, to: Duration) {
        let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
        let last = self.reach(to);
        let first = ((from / self.width) as usize).min(last);
        for bin in first..=last {
            let (begin, end) = (bin as f64 * self.width, (bin + 1) as f64 * self.width);
            self.bins[bin] += (to.min(end) - from.max(begin)).max(0.0);
        }
    }

    /// The bin of a moment; makes room for it.
    #[inline]
    fn reach(&mut self, seconds: f64) -> usize {
        while seconds >= self.width * MOST_BINS as f64 {
            self.coarsen();
        }
        let bin = ((seconds / self.width) as usize).min(MOST_BINS - 1);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0.0);
        }
        bin
    }

    fn coarsen(&mut self) {
        self.bins = self.bins.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.width *= 2.0;
    }

    /// The amounts, in bins of at least this width.
    pub(super) fn bins_of(&self, width: f64) -> Vec<f64> {
        let mut copy = self.clone();
        while copy.width < width {
            copy.coarsen();
        }
        copy.bins
    }

    /// Seconds per bin.
    pub(super) const fn width(&self) -> f64 {
        self.width
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_memory_is_bounded(
            moments in proptest::collection::vec((0.0f64..1e5, 0.0f64..1e3), 1..100),
        ) {
            let (mut counts, mut spans) = (Timeline::default(), Timeline::default());
            for (begin, length) in &moments {
                let (from, to) = (Duration::from_secs_f64(*begin), Duration::from_secs_f64(begin + length));
                counts.add(from, 1.0);
                spans.add_span(from, to);
            }
            prop_assert!(counts.bins.len() <= MOST_BINS && spans.bins.len() <= MOST_BINS);
            prop_assert_eq!(counts.bins.iter().sum::<f64>(), moments.len() as f64);
            let total: f64 = moments.iter().map(|(_, length)| length).sum();
            prop_assert!((spans.bins.iter().sum::<f64>() - total).abs() < 1e-6 * (1.0 + total));
            let wider = spans.bins_of(spans.width() * 4.0);
            prop_assert!((wider.iter().sum::<f64>() - total).abs() < 1e-6 * (1.0 + total));
        }
    }
}
