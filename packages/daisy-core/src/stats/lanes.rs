//! How busy each worker was over time.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::timeline::Timeline;
use crate::ids::WorkerId;

/// Workers that get a lane; later ones are counted in the tallies alone.
const MOST_LANES: usize = 2048;

/// A timeline of busy seconds per worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    lanes: FxHashMap<WorkerId, Timeline>,
}

impl Lanes {
    #[inline]
    pub(super) fn add_span(&mut self, worker: WorkerId, from: Duration, to: Duration) {
        let has_room = self.lanes.len() < MOST_LANES;
        match self.lanes.get_mut(&worker) {
            Some(lane) => lane.add_span(from, to),
            None if has_room => self.lanes.entry(worker).or_default().add_span(from, to),
            None => {}
        }
    }

    /// Width of the widest bins: all lanes can be brought to it.
    pub(super) fn width(&self) -> f64 {
        self.lanes.values().map(Timeline::width).fold(0.0, f64::max)
    }

    /// Busy seconds per bin of this width, by worker.
    pub(super) fn bins(&self, width: f64) -> Vec<(WorkerId, Vec<f64>)> {
        let mut bins: Vec<_> =
            self.lanes.iter().map(|(worker, lane)| (*worker, lane.bins_of(width))).collect();
        bins.sort_by_key(|(worker, _)| *worker);
        bins
    }
}
