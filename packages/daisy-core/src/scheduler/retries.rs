//! Blocks that are to be tried again.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::ids::WorkerId;

/// How far down the queue to look for a block that failed on another worker.
const LOOK_AHEAD: usize = 64;

/// What is remembered of a block that failed at least once.
#[derive(Clone, Copy, Debug)]
struct Tried {
    failures: u32,
    by: WorkerId,
}

/// The blocks of one task that failed at least once and are not settled.
#[derive(Debug, Default)]
pub(super) struct Retries {
    tried: FxHashMap<u64, Tried>,
    queue: VecDeque<u64>,
}

impl Retries {
    /// The attempt that comes next for a block, from 1.
    #[inline]
    pub(super) fn next_attempt(&self, index: u64) -> u32 {
        if self.tried.is_empty() { 1 } else { self.tried.get(&index).map_or(1, |tried| tried.failures + 1) }
    }

    /// Notes a failed attempt; how many there have been.
    pub(super) fn note_failure(&mut self, index: u64, by: WorkerId) -> u32 {
        let tried = self.tried.entry(index).or_insert(Tried { failures: 0, by });
        tried.failures += 1;
        tried.by = by;
        tried.failures
    }

    /// Whether this block failed before.
    #[inline]
    pub(super) fn is_known(&self, index: u64) -> bool {
        !self.tried.is_empty() && self.tried.contains_key(&index)
    }

    /// Puts a block in line for another attempt.
    pub(super) fn push(&mut self, index: u64) {
        self.queue.push_back(index);
    }

    /// Forgets a settled block.
    #[inline]
    pub(super) fn forget(&mut self, index: u64) {
        if !self.tried.is_empty() {
            self.tried.remove(&index);
        }
    }

    /// How many wait for another attempt.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// The next block for this worker: the first that failed on another one, or any if it is `alone`.
    pub(super) fn take(&mut self, worker: WorkerId, alone: bool) -> Option<u64> {
        if alone {
            return self.queue.pop_front();
        }
        let place = self
            .queue
            .iter()
            .take(LOOK_AHEAD)
            .position(|index| self.tried.get(index).is_none_or(|tried| tried.by != worker))?;
        self.queue.remove(place)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.tried.clear();
        self.queue.clear();
    }
}
