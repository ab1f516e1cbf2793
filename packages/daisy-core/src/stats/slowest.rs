//! The blocks that took longest.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::Serialize;

use crate::ids::WorkerId;

/// Blocks that are kept.
const MOST_KEPT: usize = 10;

/// A block that took much longer than the others of its task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Straggler {
    /// Index of the block.
    pub index: u64,
    /// How long it took.
    pub seconds: f64,
    /// Who had it.
    pub worker: u64,
}

/// The slowest of a stream of blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Slowest {
    /// The fastest of them on top.
    heap: BinaryHeap<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry(Straggler);

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.seconds.total_cmp(&self.0.seconds).then(self.0.index.cmp(&other.0.index))
    }
}

impl Slowest {
    #[inline]
    pub(super) fn push(&mut self, index: u64, seconds: f64, worker: Option<WorkerId>) {
        if self.heap.len() >= MOST_KEPT {
            if self.heap.peek().is_some_and(|fastest| fastest.0.seconds >= seconds) {
                return;
            }
            self.heap.pop();
        }
        self.heap.push(Entry(Straggler {
            index,
            seconds,
            worker: worker.map_or(u64::MAX, |worker| worker.0),
        }));
    }

    /// Those that took longer than `limit`, the slowest first.
    pub(super) fn above(&self, limit: f64) -> Vec<Straggler> {
        let mut kept: Vec<Straggler> = self.heap.iter().map(|entry| entry.0).collect();
        kept.retain(|straggler| straggler.seconds > limit);
        kept.sort_by(|one, other| other.seconds.total_cmp(&one.seconds).then(one.index.cmp(&other.index)));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_kept_in_order() {
        let mut slowest = Slowest::default();
        for index in 0..1000u64 {
            slowest.push(index, (index * 7919 % 1000) as f64, Some(WorkerId(1)));
        }
        let seconds: Vec<f64> = slowest.above(991.5).iter().map(|straggler| straggler.seconds).collect();
        assert_eq!(seconds, [999.0, 998.0, 997.0, 996.0, 995.0, 994.0, 993.0, 992.0]);
    }
}
