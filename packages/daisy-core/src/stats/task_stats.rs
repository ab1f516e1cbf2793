//! How long the blocks of a task took and what they used.

use serde::Serialize;

use super::distribution::{Distribution, DistributionSummary};
use super::slowest::{Slowest, Straggler};
use super::tally::Tally;
use super::trend::Trend;
use crate::ids::WorkerId;
use crate::measurement::Measurement;

/// A block is a straggler if it took more than so many times the median.
const STRAGGLER_FACTOR: f64 = 3.0;

/// Sums over measured blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredTotals {
    /// Blocks that were measured.
    pub blocks: u64,
    /// Seconds on the clock.
    pub wall_seconds: f64,
    /// Seconds of processor time.
    pub cpu_seconds: f64,
    /// Largest resident memory of any worker.
    pub peak_rss_bytes: u64,
    /// Bytes read.
    pub io_read_bytes: u64,
    /// Bytes written.
    pub io_write_bytes: u64,
}

/// What the blocks of one task took, over the returns of this run that succeeded, in the order in which they
/// came back.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskStats {
    /// Name of the task.
    pub task: String,
    /// Accepted returns: `succeeded + failed`.
    pub blocks_processed: u64,
    /// What was returned.
    #[serde(flatten)]
    pub tally: Tally,
    /// Seconds per block: as measured, or by the worker's clock where nothing was measured.
    pub seconds: DistributionSummary,
    /// Change of those seconds from block to block, by least squares; `None` for fewer than two.
    pub slope: Option<f64>,
    /// Blocks that took more than three times the median: how many.
    pub straggler_count: u64,
    /// The slowest of them.
    pub stragglers: Vec<Straggler>,
    /// What was measured, with `resource_tracking`.
    pub measured: MeasuredTotals,
}

/// [`TaskStats`] while they grow.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskRecorder {
    seconds: Distribution,
    trend: Trend,
    slowest: Slowest,
    measured: MeasuredTotals,
}

impl TaskRecorder {
    /// Takes a block that succeeded.
    #[inline]
    pub(super) fn push(
        &mut self,
        index: u64,
        worker: Option<WorkerId>,
        clock_seconds: f64,
        measurement: Option<&Measurement>,
    ) {
        let seconds = measurement.map_or(clock_seconds, |measurement| measurement.wall_seconds);
        self.seconds.push(seconds);
        self.trend.push(seconds);
        self.slowest.push(index, seconds, worker);
        let Some(measurement) = measurement else { return };
        let totals = &mut self.measured;
        totals.blocks += 1;
        totals.wall_seconds += measurement.wall_seconds;
        totals.cpu_seconds += measurement.cpu_seconds;
        totals.peak_rss_bytes = totals.peak_rss_bytes.max(measurement.peak_rss_bytes);
        totals.io_read_bytes = totals.io_read_bytes.saturating_add(measurement.io_read_bytes);
        totals.io_write_bytes = totals.io_write_bytes.saturating_add(measurement.io_write_bytes);
    }

    pub(super) fn finish(&self, task: &str, tally: Tally) -> TaskStats {
        let limit = self.seconds.median() * STRAGGLER_FACTOR;
        TaskStats {
            task: task.to_owned(),
            blocks_processed: tally.returns(),
            tally,
            seconds: self.seconds.summary(),
            slope: self.trend.slope(),
            straggler_count: self.seconds.above(limit),
            stragglers: self.slowest.above(limit),
            measured: self.measured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stragglers_are_told_from_the_rest() {
        let mut recorder = TaskRecorder::default();
        for index in 0..100 {
            let seconds = if index % 40 == 7 { 10.0 } else { 1.0 + index as f64 / 1000.0 };
            recorder.push(index, Some(WorkerId(2)), seconds, None);
        }
        let stats = recorder.finish("a", Tally::default());
        assert_eq!(stats.straggler_count, 3);
        assert_eq!(stats.stragglers.iter().map(|s| s.index).collect::<Vec<_>>(), [7, 47, 87]);
        assert_eq!(stats.measured.blocks, 0, "nothing was measured, and nothing is said to be");
    }

    #[test]
    fn measurements_are_summed_and_take_the_place_of_the_clock() {
        let mut recorder = TaskRecorder::default();
        for (wall, rss) in [(1.0, 30), (2.0, 50), (3.0, 40)] {
            let measurement = Measurement {
                wall_seconds: wall,
                cpu_seconds: 2.0 * wall,
                peak_rss_bytes: rss,
                io_read_bytes: 5,
                ..Measurement::default()
            };
            recorder.push(0, None, 100.0, Some(&measurement));
        }
        let stats = recorder.finish("a", Tally::default());
        assert_eq!((stats.seconds.mean, stats.slope), (2.0, Some(1.0)));
        let expected = MeasuredTotals {
            blocks: 3,
            wall_seconds: 6.0,
            cpu_seconds: 12.0,
            peak_rss_bytes: 50,
            io_read_bytes: 15,
            io_write_bytes: 0,
        };
        assert_eq!(stats.measured, expected);
    }
}
