//! The handle on a run that goes on in its own thread.

use std::time::Duration;

use super::config::RunConfig;
use super::requests::{Request, Told};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{TaskId, WorkerId};
use crate::scheduler::{RunOutcome, TaskState, WorkerView};
use crate::wire::Token;

/// What one worker returned, counted on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerTally {
    /// The task whose blocks it processed.
    pub task: TaskId,
    /// The worker.
    pub worker: WorkerId,
    /// Whether it was started by hand.
    pub external: bool,
    /// Accepted reports, successes and failures.
    pub returns: u64,
    /// Accepted reports of success.
    pub succeeded: u64,
    /// Time that its blocks took, by its own clock.
    pub busy: Duration,
}

impl WorkerTally {
    pub(super) const fn new(task: TaskId, worker: WorkerId, external: bool) -> Self {
        Self { task, worker, external, returns: 0, succeeded: 0, busy: Duration::ZERO }
    }
}

/// Everything that is known when a run has ended.
#[derive(Debug)]
pub struct RunEnd {
    /// What became of each task.
    pub outcome: RunOutcome,
    /// What each worker that ever connected returned, by id.
    pub tallies: Vec<WorkerTally>,
    /// What stopped the run: the store of marks failed.
    pub error: Option<Error>,
}

/// A run that goes on: one thread owns the scheduler and the sockets. Every method may be called from any thread.
#[derive(Debug)]
pub struct Run {
    addresses: Vec<String>,
    token: Token,
}

impl Run {
    /// Binds, and starts the server's thread.
    ///
    /// # Errors
    /// `Address` if the host is not one of this machine or no port is free, `InvalidArgument` if a task requires
    /// more than the whole budget, `Io` if the thread cannot be started.
    pub fn start(_config: RunConfig) -> Result<Self> {
        Err(Error::new(ErrorKind::Protocol, "the server is not there yet"))
    }

    /// Where workers reach the server, as `host:port`, the most likely first.
    #[must_use]
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// The secret that workers must prove to know.
    #[must_use]
    pub const fn token(&self) -> &Token {
        &self.token
    }

    /// Waits for the next thing to do, at most this long. [`Request::Ended`] is the last, and is repeated.
    #[must_use]
    pub fn next_request(&self, _wait: Duration) -> Option<Request> {
        None
    }

    /// Tells the server something. Without effect once the run has ended.
    pub fn tell(&self, _told: Told) {}

    /// State and counts per task, at most `observe_every` old.
    #[must_use]
    pub fn snapshot(&self) -> Vec<TaskState> {
        Vec::new()
    }

    /// Workers that are alive and what they hold, at most `observe_every` old.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerView> {
        Vec::new()
    }

    /// Waits for the end of the run.
    #[must_use]
    pub fn join(self) -> RunEnd {
        let outcome = RunOutcome { tasks: Vec::new(), cancelled: true };
        RunEnd { outcome, tallies: Vec::new(), error: None }
    }
}
