//! What the server asks of the Python side, and what it is told by it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::ids::{BlockRef, TaskId, WorkerId};
use crate::scheduler::{KillReason, Refusal, WorkerExit};

/// Notes kept for a reader that is slow; further ones are counted only.
const MOST_NOTES: usize = 10_000;

/// Something that only the Python side can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Start these workers. How each ends, or that it could not be started, is told by [`Told::WorkerExited`].
    Launch {
        /// The task.
        task: TaskId,
        /// The ids that they must register with.
        workers: Vec<WorkerId>,
    },
    /// End the process of a worker. One that is connected has been told to end itself, too.
    Kill {
        /// Which one.
        worker: WorkerId,
        /// Why.
        reason: KillReason,
    },
    /// Ask `check_function` about this block; answer with [`Told::Checked`], or [`Told::Cancel`] if it raised.
    Check {
        /// The block.
        block: BlockRef,
    },
    /// Something to log.
    Note(Note),
    /// A task has ended.
    TaskEnded(TaskId),
    /// The run has ended; nothing follows. [`super::Run::join`] now returns soon.
    Ended,
}

/// Something to log; nothing depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// An attempt of a block failed.
    BlockFailed {
        /// The block.
        block: BlockRef,
        /// Which attempt, counted from 1.
        attempt: u32,
        /// Who had it.
        worker: WorkerId,
        /// Traceback or cause.
        error: Arc<str>,
    },
    /// A report was refused and changed nothing.
    ReportRefused {
        /// Who reported.
        worker: WorkerId,
        /// On which block.
        block: BlockRef,
        /// Why it was refused.
        reason: Refusal,
    },
    /// A peer was turned away.
    PeerRefused {
        /// Its address.
        peer: String,
        /// Why.
        reason: String,
    },
    /// Nothing ended for long: who holds what since when.
    Stalled {
        /// Several lines.
        report: String,
    },
    /// The reader was too slow for this many notes.
    Lost {
        /// How many.
        count: u64,
    },
}

/// Something that the Python side tells the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The process or thread of a worker ended, or could not be started.
    WorkerExited {
        /// Which one.
        worker: WorkerId,
        /// How.
        exit: WorkerExit,
    },
    /// What started a worker is done; the worker may live on, or come later.
    WorkerDetached {
        /// Which one.
        worker: WorkerId,
        /// How what started it ended.
        exit: WorkerExit,
    },
    /// `check_function` answered.
    Checked {
        /// For this block.
        block: BlockRef,
        /// Whether it is done.
        done: bool,
    },
    /// End the run now: no new blocks, workers killed.
    Cancel,
    /// Change the most workers a task may have.
    MaxWorkers {
        /// The task.
        task: TaskId,
        /// The new limit.
        max_workers: u32,
    },
}

/// Requests on their way to the Python side. Notes are bounded here; what else is asked is bounded by the
/// scheduler: workers by `max_workers`, checks by its window.
#[derive(Debug, Default)]
pub(super) struct RequestQueue {
    inner: Mutex<Inner>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    requests: VecDeque<Request>,
    notes: usize,
    lost_notes: u64,
    has_ended: bool,
}

impl RequestQueue {
    /// Appends a request; a launch joins the one before it if that is for the same task.
    pub(super) fn push(&self, request: Request) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.push(request);
        drop(inner);
        self.arrived.notify_one();
    }

    /// The next request, waited for at most this long; [`Request::Ended`] for ever once the run has ended.
    pub(super) fn next(&self, wait: Duration) -> Option<Request> {
        let until = Instant::now() + wait;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(request) = inner.take() {
                return Some(request);
            }
            let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
            inner = self.arrived.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Inner {
    fn push(&mut self, request: Request) {
        match request {
            Request::Launch { task, workers } => match self.requests.back_mut() {
                Some(Request::Launch { task: last, workers: more }) if task == *last => more.extend(workers),
                _ => self.requests.push_back(Request::Launch { task, workers }),
            },
            Request::Note(_) if self.notes >= MOST_NOTES => self.lost_notes += 1,
            request => {
                self.notes += usize::from(matches!(request, Request::Note(_)));
                self.has_ended |= matches!(request, Request::Ended);
                self.requests.push_back(request);
            }
        }
    }

    fn take(&mut self) -> Option<Request> {
        if self.lost_notes > 0 && self.notes == 0 {
            let count = std::mem::take(&mut self.lost_notes);
            return Some(Request::Note(Note::Lost { count }));
        }
        match self.requests.pop_front() {
            None => self.has_ended.then_some(Request::Ended),
            Some(request) => {
                self.notes -= usize::from(matches!(request, Request::Note(_)));
                Some(request)
            }
        }
    }
}
