//! The worker's side of a connection.

use std::time::Duration;

use super::Token;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::WorkerId;
use crate::measurement::Measurement;
use crate::plan::BlockLayout;
use crate::scheduler::Outcome;

/// What a worker must know to reach its driver.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Addresses as `host:port`; the first that answers the handshake is kept.
    pub addresses: Vec<String>,
    /// The secret of the run.
    pub token: Token,
    /// Name of the task whose blocks this worker processes.
    pub task: String,
    /// The id that the driver launched it under; `None` for one that was started by hand.
    pub worker: Option<WorkerId>,
    /// Most blocks that it can hold at once, at least 1; 64 is a good number.
    pub capacity: u32,
    /// Whether the process is this worker's alone: it is then ended when the driver is gone, when a block is long
    /// over its timeout, or when the driver says so. `false` for workers that are threads.
    pub owns_process: bool,
}

/// What the server tells a worker that it accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Welcome {
    /// The worker's id.
    pub worker: WorkerId,
    /// Where the blocks of its task are; ROIs and block ids follow from the index in a [`Grant`].
    pub layout: BlockLayout,
    /// Time one block may take; `None`: no limit.
    pub timeout: Option<Duration>,
    /// Whether reports should carry a [`Measurement`].
    pub measures: bool,
    /// Time between signs of life.
    pub heartbeat: Duration,
    /// How long a lost connection is tried again before the driver counts as gone.
    pub reconnect_grace: Duration,
}

/// The right to process one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Dense index of the block in its task.
    pub index: u64,
    /// Which attempt this is, counted from 1; the report must repeat it.
    pub attempt: u32,
}

/// What [`WorkerClient::acquire_timeout`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// A block to process.
    Grant(Grant),
    /// Nothing yet.
    TimedOut,
    /// There will be no more: dismissed, drained, closed, or the server ended.
    Ended,
}

/// A worker's connection to its driver; usable from several threads at once.
#[derive(Debug)]
pub struct WorkerClient {
    welcome: Welcome,
}

impl WorkerClient {
    /// Connects, proves the token, registers, and starts the threads that keep the connection alive.
    ///
    /// # Errors
    /// `Address` if no address answers, `Authentication` or `Protocol` if the handshake fails, `Refused` if the
    /// server does not want this worker.
    pub fn connect(_config: &WorkerConfig) -> Result<Self> {
        Err(Error::new(ErrorKind::Protocol, "the worker client is not there yet"))
    }

    /// What the server said at registration.
    #[must_use]
    pub const fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Waits for a block; `None` if there will be no more.
    ///
    /// # Errors
    /// `ConnectionLost` if the driver is gone.
    pub fn acquire(&self) -> Result<Option<Grant>> {
        Ok(None)
    }

    /// Takes a block that is here already; never waits and never fails.
    #[must_use]
    pub fn try_acquire(&self) -> Option<Grant> {
        None
    }

    /// Waits for a block for at most this long.
    ///
    /// # Errors
    /// As [`WorkerClient::acquire`].
    pub fn acquire_timeout(&self, _wait: Duration) -> Result<Acquired> {
        Ok(Acquired::Ended)
    }

    /// Reports on a block. Buffered: sent at once if no other block is at hand, else within about a millisecond.
    ///
    /// # Errors
    /// `ConnectionLost` if the driver is gone, `Refused` after [`WorkerClient::close`].
    pub fn report(
        &self,
        _grant: Grant,
        _outcome: Outcome,
        _duration: Duration,
        _measurement: Option<Measurement>,
    ) -> Result<()> {
        Ok(())
    }

    /// Takes no more blocks: gives back those not started. `acquire` then answers `None`.
    pub fn drain(&self) {}

    /// Sends what is left, says good-bye and waits (at most a few seconds) until the server has read it all.
    pub fn close(&self) {}
}
