//! Which worker holds which blocks, and how many it may.

use std::collections::VecDeque;
use std::time::Duration;

use super::event::Now;
use crate::ids::BlockRef;

/// Work that a worker may hold ahead: enough to hide the way there and back, too little to hoard.
const AHEAD: Duration = Duration::from_millis(2);

/// Blocks that must end well after a death before workers hold more than one again. What a dead worker had
/// done and not yet reported is not known; one that holds a single block has nothing unreported, so that a
/// death is charged to the block that was being worked on.
const CAREFUL_BLOCKS: u32 = 256;

/// The right of one worker to one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) block: BlockRef,
    pub(super) attempt: u32,
}

/// The leases of one worker, in the order in which it processes them: only the first is being worked on.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases {
    held: VecDeque<Lease>,
    /// Since when the first one is being worked on.
    pub(super) started: Now,
}

impl Leases {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Lease> {
        self.held.iter()
    }

    #[inline]
    pub(super) fn push(&mut self, lease: Lease, now: Now) {
        if self.held.is_empty() {
            self.started = now;
        }
        self.held.push_back(lease);
    }

    /// Takes the lease of a block; workers report in order, so it is nearly always the first.
    #[inline]
    pub(super) fn take(&mut self, block: BlockRef, now: Now) -> Option<Lease> {
        if self.held.front().is_some_and(|lease| lease.block == block) {
            self.started = now;
            return self.held.pop_front();
        }
        let place = self.held.iter().position(|lease| lease.block == block)?;
        self.held.remove(place)
    }

    /// The lease of a block.
    pub(super) fn find(&self, block: BlockRef) -> Option<&Lease> {
        self.held.iter().find(|lease| lease.block == block)
    }

    /// Takes the lease that is being worked on.
    pub(super) fn take_first(&mut self) -> Option<Lease> {
        self.held.pop_front()
    }

    /// Takes all that is left, last first, so that putting each back in front keeps their order.
    pub(super) fn take_rest(&mut self) -> impl Iterator<Item = Lease> + use<> {
        std::mem::take(&mut self.held).into_iter().rev()
    }
}

/// How long blocks of a task take, and what follows for how many a worker may hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Exponentially weighted mean of the duration; `None` before the first return.
    mean: Option<f64>,
    /// Blocks that must still end well before workers may hold more than one.
    careful_for: u32,
}

impl Pace {
    #[inline]
    pub(super) fn note(&mut self, duration: Duration) {
        self.careful_for = self.careful_for.saturating_sub(1);
        let seconds = duration.as_secs_f64();
        self.mean = Some(match self.mean {
            // Quick to see that blocks became long, slow to believe that they became short.
            Some(mean) if seconds < mean => mean + (seconds - mean) / 8.0,
            Some(mean) => mean + (seconds - mean) / 2.0,
            None => seconds,
        });
    }

    pub(super) const fn note_death(&mut self) {
        self.careful_for = CAREFUL_BLOCKS;
    }

    /// Most blocks that one of `workers` may hold while `ready` are to be had: one, unless blocks are short
    /// and there are enough of them for the others.
    #[inline]
    pub(super) fn credit(&self, capacity: u32, ready: u64, workers: usize) -> usize {
        let Some(mean) = self.mean.filter(|_| self.careful_for == 0) else { return 1 };
        let ahead = (AHEAD.as_secs_f64() / mean.max(1e-9)) as u64;
        let share = ready / (2 * workers.max(1) as u64);
        ahead.min(share).clamp(1, u64::from(capacity.max(1))) as usize
    }
}
