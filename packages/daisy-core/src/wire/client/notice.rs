//! Leaving before one is made to: at a signal, or shortly before the time of the job is over.

use std::io::{PipeReader, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::WorkerClient;
use super::ending;
use super::shared::Shared;
use crate::error::Result;

/// Engines may give notice this much earlier than they were asked to.
const EARLIEST: Duration = Duration::from_secs(65);
/// A signal so soon after another is the same notice: engines signal a process and its group.
const SAME_NOTICE: Duration = Duration::from_millis(500);
/// How often a worker that was given notice looks whether its block has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Part of the time left that is kept for giving back and leaving.
const RESERVE: f64 = 0.2;
const LONGEST_RESERVE: Duration = Duration::from_secs(30);
/// Longest single wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// On what terms the engine lets a worker run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long after now the engine will end the process; `None`: not known.
    pub walltime: Option<Duration>,
    /// How long before that the worker is to take no more blocks.
    pub notice: Duration,
    /// How long after a signal the engine will kill the process, at any other time.
    pub grace: Duration,
    /// Numbers of the signals that are notice; others do not concern this worker.
    pub signals: Vec<u8>,
}

impl WorkerClient {
    /// Starts the thread that leaves in time: when a signal's number comes from `signals`, no more blocks are taken, the one
    /// being processed is finished if the time allows and given back otherwise, and in that case the process ends
    /// with code 0. A second signal makes it leave at once.
    ///
    /// # Errors
    /// `Io` if the thread cannot be started.
    pub fn watch_notice(self: &Arc<Self>, terms: Terms, signals: PipeReader) -> Result<()> {
        let began = Instant::now();
        let client = Arc::clone(self);
        let ends_at = terms.walltime.map(|left| began + left);
        std::thread::Builder::new().name("daisy-notice".into()).spawn(move || {
            Watch { client: &client, terms, ends_at, signals }.run();
        })?;
        Ok(())
    }
}

struct Watch<'a> {
    client: &'a WorkerClient,
    terms: Terms,
    ends_at: Option<Instant>,
    signals: PipeReader,
}

impl Watch<'_> {
    fn run(mut self) {
        let Some(is_signal) = self.wait_for_notice() else { return };
        self.leave_in_time(is_signal);
        // Signals still come, and their handler must find the pipe open as long as the connection lives.
        while self.wait_for_signal(LONGEST_WAIT).is_some() {}
    }

    /// Takes no more blocks, and ends the process if the one at hand cannot be finished.
    fn leave_in_time(&mut self, is_signal: bool) {
        let noticed_at = Instant::now();
        let left = self.time_left(noticed_at, is_signal);
        let leave_at = noticed_at + left - left.mul_f64(RESERVE).min(LONGEST_RESERVE);
        let why = if is_signal { "a signal" } else { "its time is nearly over" };
        eprintln!("daisy: worker takes no more blocks ({why}), {:.0} s are left", left.as_secs_f64());
        self.client.drain();
        while let Some(ready_at) = expected_end(&self.client.shared) {
            let now = Instant::now();
            if now >= leave_at || ready_at > leave_at {
                break;
            }
            let is_again = self.wait_for_signal(LOOK_EVERY).is_none_or(|came| came);
            if is_again && now >= noticed_at + SAME_NOTICE {
                break;
            }
        }
        if expected_end(&self.client.shared).is_some() {
            self.client.leave();
            ending::end_process(0, "it leaves, and gives back the block that it cannot finish in time");
        }
    }

    /// Waits for notice; whether it is a signal. `None` if there is nothing left to wait for.
    fn wait_for_notice(&mut self) -> Option<bool> {
        loop {
            let now = Instant::now();
            let own = self.ends_at.map(|end| end.checked_sub(self.terms.notice).unwrap_or(now));
            let wait = own.map_or(LONGEST_WAIT, |at| at.saturating_duration_since(now).min(LONGEST_WAIT));
            if self.wait_for_signal(wait)? {
                return Some(true);
            }
            if own.is_some_and(|at| at <= Instant::now()) {
                return Some(false);
            }
        }
    }

    /// Whether a signal came within this time; `None` if none can come any more.
    fn wait_for_signal(&mut self, wait: Duration) -> Option<bool> {
        let limit = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&limit)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Some(false),
            Ok(_) => {
                let mut numbers = [0; 64];
                match self.signals.read(&mut numbers) {
                    Ok(0) | Err(_) => None,
                    Ok(count) => {
                        Some(numbers[..count].iter().any(|number| self.terms.signals.contains(number)))
                    }
                }
            }
            Err(_) => None,
        }
    }

    /// How long the engine lets the process live from now on.
    fn time_left(&self, now: Instant, is_signal: bool) -> Duration {
        let Some(end) = self.ends_at else { return self.terms.grace };
        let left = end.saturating_duration_since(now);
        if is_signal && left > self.terms.notice + EARLIEST {
            // This is not about the end of the job's time: preemption, or someone wants the worker gone.
            return self.terms.grace;
        }
        left
    }
}

/// When the block that is being processed may be expected to end; `None` if there is none. One of which nothing
/// is known is hoped to end in time.
fn expected_end(shared: &Shared) -> Option<Instant> {
    let state = shared.lock();
    let started = state.oldest_start()?;
    Some(state.mean_duration().map_or(started, |mean| started + mean))
}
