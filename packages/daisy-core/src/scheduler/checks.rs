//! Blocks about which `check_function` is asked before they run.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

/// Blocks asked about at a time, at least.
pub(super) const WINDOW: usize = 64;

/// The blocks of one task that are being checked, and those that were and must run.
#[derive(Debug, Default)]
pub(super) struct Checks {
    asked: FxHashSet<u64>,
    cleared: VecDeque<u64>,
}

impl Checks {
    /// Notes that the answer for this block is awaited.
    pub(super) fn ask(&mut self, index: u64) {
        self.asked.insert(index);
    }

    /// Takes note of an answer; `false` if nobody asked.
    pub(super) fn answer(&mut self, index: u64) -> bool {
        self.asked.remove(&index)
    }

    /// A checked block that must run.
    pub(super) fn push(&mut self, index: u64) {
        self.cleared.push_back(index);
    }

    /// A checked block that was given out and came back unstarted.
    pub(super) fn put_back(&mut self, index: u64) {
        self.cleared.push_front(index);
    }

    /// The next checked block that must run.
    pub(super) fn take(&mut self) -> Option<u64> {
        self.cleared.pop_front()
    }

    /// How many are awaited.
    pub(super) fn asked(&self) -> usize {
        self.asked.len()
    }

    /// How many were checked and must run.
    pub(super) fn cleared(&self) -> usize {
        self.cleared.len()
    }
}
