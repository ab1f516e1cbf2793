//! What to do: everything the scheduler ever asks for.

use std::sync::Arc;

use crate::ids::{BlockRef, TaskId, WorkerId};

/// Something to do, in the imperative. The caller does it; the scheduler has already accounted for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Give this block to this worker.
    Grant {
        /// Who gets it.
        worker: WorkerId,
        /// The block.
        block: BlockRef,
        /// Which attempt this is, counted from 1; reports must repeat it.
        attempt: u32,
    },
    /// Start a worker for this task, under this id.
    Launch {
        /// The id that it must register with.
        worker: WorkerId,
        /// The task.
        task: TaskId,
    },
    /// Tell a worker that there is nothing left for it: it should end.
    Dismiss {
        /// Which one.
        worker: WorkerId,
    },
    /// End the process of a worker; its connection, if any, is to be closed and its reports are refused.
    Kill {
        /// Which one.
        worker: WorkerId,
        /// Why, for the log.
        reason: KillReason,
    },
    /// Ask `check_function` about this block and answer with `Checked`.
    Check {
        /// The block.
        block: BlockRef,
    },
    /// A block came to its end.
    Settle {
        /// The block.
        block: BlockRef,
        /// How it ended.
        end: BlockEnd,
    },
    /// An attempt of a block failed; the block will be tried again or has failed for good.
    NoteFailure {
        /// The block.
        block: BlockRef,
        /// The attempt that failed, counted from 1.
        attempt: u32,
        /// The worker that had it.
        worker: WorkerId,
        /// Traceback or cause.
        error: Arc<str>,
    },
    /// A report was refused and changed nothing.
    Refuse {
        /// Who reported.
        worker: WorkerId,
        /// What it reported on.
        block: BlockRef,
        /// Why it was refused.
        reason: Refusal,
    },
    /// A task has ended: every block is settled or orphaned.
    EndTask {
        /// The task.
        task: TaskId,
    },
    /// Every task has ended.
    EndRun,
}

/// How a block came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockEnd {
    /// A worker reported success.
    Completed,
    /// Every attempt failed.
    Failed,
    /// `check_function` said that it is done.
    Skipped,
}

/// Why a worker is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KillReason {
    /// Its block ran longer than the task's `timeout`.
    Timeout,
    /// It started but never connected.
    NeverConnected,
    /// Its connection was lost for longer than the grace period.
    ConnectionLost,
    /// The run was cancelled.
    Cancelled,
    /// Its task ended or was abandoned before it could do anything more.
    Unneeded,
}

/// Why a report was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The worker does not hold this block: never granted, reported before, or taken away.
    NotHeld,
    /// The worker holds a later attempt of this block.
    OldAttempt,
    /// The worker is not known, or has been given up.
    UnknownWorker,
}

impl KillReason {
    /// A stable name in snake case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::NeverConnected => "never_connected",
            Self::ConnectionLost => "connection_lost",
            Self::Cancelled => "cancelled",
            Self::Unneeded => "unneeded",
        }
    }
}

impl Refusal {
    /// A stable name in snake case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotHeld => "not_held",
            Self::OldAttempt => "old_attempt",
            Self::UnknownWorker => "unknown_worker",
        }
    }
}
