//! The worker's side of a connection.
//!
//! Three parties share one `Shared`: the worker's own threads, which acquire and report; a *reader* thread, which
//! takes what comes and connects again when the connection is lost; and a *pulse* thread, which does what is to be
//! done when time passes. The last two need nothing of the worker's threads, so that a worker that is busy in
//! foreign code, a lock of its interpreter held, is alive all the same.

mod connect;
mod ending;
#[cfg(unix)]
mod notice;
mod pulse;
mod reader;
mod shared;
mod state;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[cfg(unix)]
pub use notice::Terms;

use super::message::{Grant, Report, Welcome};
use super::token::{Token, fill_random};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::WorkerId;
use crate::measurement::Measurement;
use crate::scheduler::Outcome;
use shared::Shared;
use state::End;

/// Longest error text that travels; the whole of it is in the worker's log.
const MOST_ERROR_BYTES: usize = 8 << 10;

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
pub struct WorkerClient {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The process that connected.
    process: u32,
}

impl WorkerClient {
    /// Connects, proves the token, registers, and starts the threads that keep the connection alive.
    ///
    /// # Errors
    /// `Address` if no address answers, `Authentication` or `Protocol` if the handshake fails, `Refused` if the
    /// server does not want this worker.
    pub fn connect(config: &WorkerConfig) -> Result<Self> {
        if config.addresses.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "a worker has no address of its driver")
                .with_context("got", "no addresses")
                .with_context("expected", "at least one host:port"));
        }
        let mut incarnation = [0; 16];
        fill_random(&mut incarnation)?;
        let registered = connect::reach_first(config)?.register(config, incarnation, Vec::new())?;
        let mut config = config.clone();
        // One that was started by hand comes back, after a lost connection, as who it was made.
        config.worker = Some(registered.welcome.worker);
        let (shared, stream, frames) = Shared::new(config, incarnation, registered);
        let shared = Arc::new(shared);
        let reader = Arc::clone(&shared);
        let pulse = Arc::clone(&shared);
        let threads = vec![
            std::thread::Builder::new()
                .name("daisy-reader".into())
                .spawn(move || reader::run(&reader, stream, frames))?,
            std::thread::Builder::new().name("daisy-pulse".into()).spawn(move || pulse::run(&pulse))?,
        ];
        Ok(Self { shared, threads: Mutex::new(threads), process: std::process::id() })
    }

    /// What the server said at registration.
    #[must_use]
    pub fn welcome(&self) -> &Welcome {
        &self.shared.welcome
    }

    /// Waits for a block; `None` if there will be no more.
    ///
    /// # Errors
    /// `ConnectionLost` if the driver is gone.
    pub fn acquire(&self) -> Result<Option<Grant>> {
        loop {
            match self.acquire_timeout(Duration::from_secs(3600))? {
                Acquired::Grant(grant) => return Ok(Some(grant)),
                Acquired::Ended => return Ok(None),
                Acquired::TimedOut => {}
            }
        }
    }

    /// Takes a block that is here already; never waits and never fails, and has the server send none.
    #[inline]
    #[must_use]
    pub fn try_acquire(&self) -> Option<Grant> {
        self.shared.lock().start_next()
    }

    /// Waits for a block for at most this long.
    ///
    /// # Errors
    /// As [`WorkerClient::acquire`].
    pub fn acquire_timeout(&self, wait: Duration) -> Result<Acquired> {
        let until = Instant::now() + wait;
        let mut state = self.shared.lock();
        if state.ask() {
            drop(state);
            self.shared.ask();
            state = self.shared.lock();
        }
        loop {
            if let Some(grant) = state.start_next() {
                return Ok(Acquired::Grant(grant));
            }
            match &state.end {
                // What a worker that leaves has to say yet is said by `close`.
                None if state.is_draining() => return Ok(Acquired::Ended),
                None => {}
                Some(End::Gone(error)) => return Err(error.to_error()),
                Some(_) => return Ok(Acquired::Ended),
            }
            if state.is_draining() {
                return Ok(Acquired::Ended);
            }
            if state.can_send() {
                drop(state);
                self.shared.flush();
                state = self.shared.lock();
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Acquired::TimedOut);
            }
            state = self.shared.wait_for_grant(state, left);
        }
    }

    /// Reports on a block. Buffered: sent at once if no other block is at hand, else within about a millisecond.
    ///
    /// # Errors
    /// `ConnectionLost` if the driver is gone, `Refused` after [`WorkerClient::close`] or for a block that this
    /// worker did not acquire.
    #[inline]
    pub fn report(
        &self,
        grant: Grant,
        outcome: Outcome,
        duration: Duration,
        measurement: Option<Measurement>,
    ) -> Result<()> {
        let outcome = shorten(outcome);
        let mut state = self.shared.lock();
        if state.gave_back() {
            return Ok(()); // it was given back, and this process is about to end
        }
        state.finish(grant)?;
        state.note_duration(duration);
        let is_due = state.push_report(Report { grant, outcome, duration, measurement });
        let needs_pulse = !is_due && state.arm_flush();
        drop(state);
        if is_due {
            self.shared.flush();
        } else if needs_pulse {
            self.shared.wake_pulse();
        }
        Ok(())
    }

    /// Takes no more blocks: gives back those not started. `acquire` then answers `None`.
    pub fn drain(&self) {
        self.shared.drain();
    }

    /// Gives back everything, the block that is being processed too, free of charge, and says good-bye. For a
    /// worker whose process ends now.
    pub fn leave(&self) {
        self.shared.give_back_all();
        self.close();
    }

    /// Sends what is left, says good-bye and waits (at most a few seconds) until the server has read it all.
    /// Safe to call more than once.
    pub fn close(&self) {
        if std::process::id() != self.process {
            // A forked child shares the socket, but has neither the threads nor the right to say good-bye.
            return;
        }
        self.shared.close();
        let mut threads = self.threads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A thread that panicked has said so itself; there is nothing to add while closing.
            thread.join().ok();
        }
    }
}

/// Connects to a driver and has both sides prove the token, and nothing more; how long it took.
///
/// # Errors
/// `Address` if it does not answer, `Authentication` or `Protocol` if it is not the driver of this token.
pub fn check_address(address: &str, token: &Token) -> Result<Duration> {
    let began = Instant::now();
    let config = WorkerConfig {
        addresses: vec![address.to_owned()],
        token: token.clone(),
        task: String::new(),
        worker: None,
        capacity: 1,
        owns_process: false,
    };
    connect::reach(&config)?;
    Ok(began.elapsed())
}

/// Keeps the end of a long error text, where the exception is.
fn shorten(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed { error } if error.len() > MOST_ERROR_BYTES => {
            let mut from = error.len() - MOST_ERROR_BYTES;
            while !error.is_char_boundary(from) {
                from += 1;
            }
            Outcome::Failed { error: format!("[…]{}", &error[from..]).into() }
        }
        other => other,
    }
}

impl Drop for WorkerClient {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for WorkerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerClient").field("worker", &self.shared.welcome.worker).finish_non_exhaustive()
    }
}
