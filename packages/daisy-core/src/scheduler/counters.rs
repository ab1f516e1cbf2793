//! How many blocks are where, and the state of a task around it.

use std::sync::Arc;

/// Counts of one task. Each block is in exactly one of the first seven after `total`, at every moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// All blocks of the task.
    pub total: u64,
    /// Blocks that wait for others.
    pub waiting: u64,
    /// Blocks that could start now, those to be tried again included.
    pub ready: u64,
    /// Blocks that a worker holds.
    pub leased: u64,
    /// Blocks that succeeded in this run.
    pub completed: u64,
    /// Blocks that did not have to run: done in an earlier run, masked, or found done by `check_function`.
    pub skipped: u64,
    /// Blocks of which every attempt failed.
    pub failed: u64,
    /// Blocks that cannot run because one that they depend on failed, or because the task was abandoned.
    pub orphaned: u64,

    /// Skipped blocks that were masked out.
    pub masked: u64,
    /// Returns accepted from workers, successes and failures; reclaimed attempts are none.
    pub returns: u64,
    /// Attempts that failed, for whatever reason.
    pub failed_attempts: u64,
    /// Attempts that were reclaimed because they took longer than the timeout.
    pub timeouts: u64,
    /// Reports that were refused.
    pub refused_reports: u64,
    /// Workers asked for.
    pub workers_launched: u64,
    /// Workers that connected.
    pub workers_connected: u64,
    /// Workers that ended without being told to.
    pub worker_deaths: u64,
    /// Workers that ended, or were given up, before they connected.
    pub workers_never_connected: u64,
}

impl Counters {
    /// Blocks that are settled: nothing more will happen to them.
    #[must_use]
    pub const fn settled(&self) -> u64 {
        self.completed + self.skipped + self.failed + self.orphaned
    }

    /// Blocks that may still run.
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        self.waiting + self.ready + self.leased
    }

    /// Whether every block is in exactly one place.
    #[must_use]
    pub const fn is_conserved(&self) -> bool {
        self.total == self.settled() + self.remaining()
    }
}

/// A task during and after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Some blocks may still run.
    Running(Counters),
    /// Every block came to its end.
    Done(Counters),
    /// The task was given up; what was left of it is orphaned.
    Abandoned {
        /// The counts at the end.
        counters: Counters,
        /// Why.
        reason: Arc<str>,
    },
}

impl TaskState {
    /// The counts.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        match self {
            Self::Running(counters) | Self::Done(counters) | Self::Abandoned { counters, .. } => counters,
        }
    }

    /// The counts of a running task; an ended one does not change any more.
    pub(super) const fn running(&mut self) -> Option<&mut Counters> {
        match self {
            Self::Running(counters) => Some(counters),
            Self::Done(_) | Self::Abandoned { .. } => None,
        }
    }

    /// Whether nothing more will happen.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        !matches!(self, Self::Running(_))
    }

    /// Whether every block is completed or did not have to run.
    #[must_use]
    pub const fn has_succeeded(&self) -> bool {
        match self {
            Self::Done(counters) => counters.completed + counters.skipped == counters.total,
            Self::Running(_) | Self::Abandoned { .. } => false,
        }
    }
}
