//! What happened: everything the scheduler is ever told.

use std::sync::Arc;
use std::time::Duration;

use crate::ids::{BlockRef, TaskId, WorkerId};

/// Time since the run began. The caller reads the clock; the scheduler never does.
pub type Now = Duration;

/// Something that happened, in the past tense.
#[derive(Clone, Debug)]
pub enum Event {
    /// A worker finished the handshake and registered for a task. For a worker that the scheduler asked
    /// for, for one that lost its connection and is back, and for one started by hand (`external`).
    WorkerConnected {
        /// The worker; external ones get theirs from [`super::Scheduler::next_worker_id`].
        worker: WorkerId,
        /// The task whose blocks it processes.
        task: TaskId,
        /// Most blocks it can hold at once; 0: it is given none before it has asked ([`Event::WorkerReady`]).
        capacity: u32,
        /// Whether it was started by hand: nothing is known of its process.
        external: bool,
    },
    /// A worker that registered without asking for blocks asks for them.
    WorkerReady {
        /// Which one.
        worker: WorkerId,
        /// Most blocks it can hold at once, at least 1.
        capacity: u32,
    },
    /// A worker reported on a block.
    Reported {
        /// Who reports.
        worker: WorkerId,
        /// The block.
        block: BlockRef,
        /// The attempt that it was granted, counted from 1.
        attempt: u32,
        /// How it went.
        outcome: Outcome,
        /// Time the block took in the worker.
        duration: Duration,
    },
    /// A worker gives blocks back that it did not start, free of charge (a drain, or a failed send).
    Returned {
        /// Who gives them back.
        worker: WorkerId,
        /// The blocks.
        blocks: Vec<BlockRef>,
    },
    /// A worker takes no more blocks; it finishes what it runs and leaves.
    WorkerDraining {
        /// Which one.
        worker: WorkerId,
    },
    /// The connection of a worker is gone; it may come back within the grace period.
    WorkerDisconnected {
        /// Which one.
        worker: WorkerId,
    },
    /// The process or thread of a worker ended, or could not be started.
    WorkerExited {
        /// Which one.
        worker: WorkerId,
        /// How it ended.
        exit: WorkerExit,
    },
    /// What started a worker is done, as `sbatch` is when the job is queued; the worker lives on, or comes later.
    /// From here on its connection alone says how it is; if that is lost already, this is how it ended.
    WorkerDetached {
        /// Which one.
        worker: WorkerId,
        /// How what started it ended.
        exit: WorkerExit,
    },
    /// `check_function` has answered for a block.
    Checked {
        /// The block.
        block: BlockRef,
        /// Whether it is done already.
        done: bool,
    },
    /// Time passed: look at the deadlines.
    Ticked,
    /// The user wants no more blocks to start (Ctrl-C, an error of the run).
    Cancelled,
    /// The most workers a task may have was changed.
    MaxWorkersChanged {
        /// The task.
        task: TaskId,
        /// The new limit, at least 0.
        max_workers: u32,
    },
}

/// What a worker reports of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The function returned, and did not set another status.
    Succeeded,
    /// The function raised, or set the status to failed.
    Failed {
        /// The traceback as text, kept short by the worker.
        error: Arc<str>,
    },
}

/// How the process or thread of a worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerExit {
    /// Whether it ended as it should (code 0, or cancelled by us).
    pub clean: bool,
    /// Whether something outside ended it, such as a job engine that needed the place. Nothing is counted against its
    /// task then, if it had not connected yet.
    pub outside: bool,
    /// Exit code, signal name, or why it could not be started; one line.
    pub cause: Arc<str>,
    /// Last lines of its error output, if known.
    pub log_tail: Arc<str>,
}
