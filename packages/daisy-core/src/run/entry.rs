//! The handle on a run that goes on in its own thread.

use std::fmt;
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::board::Board;
use super::config::RunConfig;
use super::driver::Driver;
use super::files::raise_limit;
use super::listen::{Listening, listen};
use super::marking::Marking;
use super::record::Record;
use super::requests::{Request, RequestQueue, Told};
use super::server::{Parts, serve};
use crate::error::{Error, ErrorKind, Result};
use crate::scheduler::{RunOutcome, Scheduler, TaskState, WorkerView};
use crate::stats::RunStats;
use crate::wire::{Token, new_server};

/// Things told that may wait for the server.
const MOST_TOLD: usize = 1024;

/// Everything that is known when a run has ended.
#[derive(Debug)]
pub struct RunEnd {
    /// What became of each task.
    pub outcome: RunOutcome,
    /// What was counted and measured.
    pub stats: RunStats,
    /// What stopped the run: the store of marks failed.
    pub error: Option<Error>,
}

/// A run that goes on: one thread owns the scheduler and the sockets. Every method may be called from any thread.
///
/// Dropped without [`Run::join`], the run is cancelled.
pub struct Run {
    addresses: Vec<String>,
    token: Token,
    requests: Arc<RequestQueue>,
    board: Arc<Board>,
    told: mpsc::Sender<Told>,
    end: Mutex<blocking::Receiver<RunEnd>>,
}

impl Run {
    /// Binds, and starts the server's thread.
    ///
    /// # Errors
    /// `Address` if the host is not one of this machine or no port is free, `InvalidArgument` if a task requires
    /// more than the whole budget, `Io` if the thread cannot be started.
    pub fn start(config: RunConfig) -> Result<Self> {
        let reconnect_grace = config.settings.reconnect_grace;
        let record = Record::new(&config.pipeline, &config.prior);
        let scheduler = Scheduler::new(config.pipeline, config.settings, config.prior)?;
        raise_limit();
        let Listening { sockets, addresses, is_secured } = listen(&config.listen)?;
        let (tls, certificate) = is_secured.then(new_server).transpose()?.unzip();
        let token = Token::generate()?.with_certificate(certificate);
        let (requests, board) = (Arc::new(RequestQueue::default()), Arc::new(Board::default()));
        board.publish(&scheduler);
        let (told, hears) = mpsc::channel(MOST_TOLD);
        let (sends_end, end) = blocking::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (board_there, requests_there, token_there) =
            (Arc::clone(&board), Arc::clone(&requests), token.clone());
        std::thread::Builder::new().name("daisy-server".into()).spawn(move || {
            let marking = Marking::new(config.marks);
            let parts = Parts {
                driver: Driver::new(scheduler, marking, record, board_there, Arc::clone(&requests_there)),
                sockets,
                token: token_there,
                tls,
                measures: config.measures,
                reconnect_grace,
                heartbeat: config.heartbeat,
                observe_every: config.observe_every,
                stall_after: config.stall_after,
                told: hears,
                end: sends_end,
            };
            let local = tokio::task::LocalSet::new();
            if let Err(error) = local.block_on(&runtime, serve(parts)) {
                // The sockets could not be watched; `join` finds that no outcome came.
                eprintln!("daisy: the server could not start: {error}");
            }
            requests_there.push(Request::Ended);
        })?;
        Ok(Self { addresses, token, requests, board, told, end: Mutex::new(end) })
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
    pub fn next_request(&self, wait: Duration) -> Option<Request> {
        self.requests.next(wait)
    }

    /// Tells the server something; waits if it has not heard the last 1024 things yet. Without effect once the run
    /// has ended. Not to be called from asynchronous code.
    pub fn tell(&self, told: Told) {
        // A server that does not listen any more has ended, and nothing can change its outcome.
        self.told.blocking_send(told).ok();
    }

    /// State and counts per task, at most `observe_every` old.
    #[must_use]
    pub fn snapshot(&self) -> Vec<TaskState> {
        self.board.states()
    }

    /// Workers that are alive and what they hold, at most `observe_every` old.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerView> {
        self.board.workers()
    }

    /// Waits for the end of the run.
    #[must_use]
    pub fn join(self) -> RunEnd {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).recv();
        end.unwrap_or_else(|_| RunEnd {
            outcome: RunOutcome { tasks: Vec::new(), cancelled: true },
            stats: RunStats::default(),
            error: Some(Error::new(ErrorKind::Io, "the server's thread ended before the run")),
        })
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}
